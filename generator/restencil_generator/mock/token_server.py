"""The token servers of a spec's `oauth2` schemes: they issue tokens for any non-empty credentials."""

from __future__ import annotations

import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from restencil_generator.mock.auth import authorization
from restencil_generator.mock.call import Reply

if TYPE_CHECKING:
    from starlette.requests import Request

    from restencil_generator.spec.model import Auth, Json, OAuth2

LIFE = 3600
"""The lifetime of a token, in seconds."""


class TokenServers:
    """Responds at the path of each `token_url`, whatever its host."""

    def __init__(self, auth: Auth | None) -> None:
        schemes = () if auth is None else auth.schemes
        self._servers = {_path(scheme.oauth2): scheme.oauth2 for scheme in schemes if scheme.oauth2 is not None}
        self._count = itertools.count(1)

    def at(self, path: str) -> OAuth2 | None:
        """Return the token server at a path."""
        return self._servers.get(path)

    def reply(self, server: OAuth2, request: Request, body: bytes) -> Reply:
        """Return the response to a token request; errors are those of RFC 6749."""
        if request.method != "POST":
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "invalid_request", {"Allow": "POST"})
        form = dict(parse_qsl(body.decode("utf-8", "replace")))
        if form.get("grant_type") != server.grant:
            return _refused(HTTPStatus.BAD_REQUEST, "unsupported_grant_type")
        shown = bool(form.get("client_id") and form.get("client_secret"))
        if server.client_auth == "basic":
            shown = authorization(request) == "basic"
        if not shown and server.grant == "client_credentials":
            return _refused(HTTPStatus.UNAUTHORIZED, "invalid_client", {"WWW-Authenticate": 'Basic realm="mock"'})
        if server.grant == "refresh_token" and not form.get("refresh_token"):
            return _refused(HTTPStatus.BAD_REQUEST, "invalid_grant")
        number = next(self._count)
        content: dict[str, Json] = {"access_token": f"token-{number}", "token_type": "Bearer", "expires_in": LIFE}
        if server.scopes:
            content["scope"] = " ".join(server.scopes)
        if server.grant == "refresh_token":
            content["refresh_token"] = f"refresh-{number}"
        return Reply(HTTPStatus.OK, content, {"Cache-Control": "no-store"})


def _path(server: OAuth2) -> str:
    return urlsplit(server.token_url).path or "/"


def _refused(status: int, error: str, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, {"error": error}, headers or {})
