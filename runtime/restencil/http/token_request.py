"""Requests to a token server.

Credentials are sent only to its URL: the request has no headers, cookies or parameters of the user's client, redirects
are not followed, and errors contain neither the request nor the response.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib import parse as urls

from ..base.durations import Timeout
from ..base.errors import AuthError, NetworkError, StatusError
from ..base.response import status_line

if TYPE_CHECKING:
    from ..base.transport import RequestInit
    from .schemes import TokenServer

MAX_WAIT: Final = 30_000
"""The maximum time in milliseconds that a token server may take."""

_TIMEOUT: Final = Timeout(total=MAX_WAIT)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}").fullmatch
"""The form of error codes in RFC 6749; any other string may contain a secret."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]+").fullmatch


class Credentials(NamedTuple):
    """The credentials of a client for a token server; their repr is empty."""

    client_id: str | None
    client_secret: str | None
    refresh_token: str | None

    def __repr__(self) -> str:
        return "Credentials(…)"


class Granted(NamedTuple):
    """The tokens of a response; `expires_in` is in seconds."""

    access_token: str
    refresh_token: str | None
    expires_in: float | None

    def __repr__(self) -> str:
        return "Granted(…)"


class TokenRequest:
    """A step that requests a token. Raises AuthError, and ValueError for a request that cannot be sent."""

    __slots__ = ("_init", "_server")

    def __init__(self, server: TokenServer, credentials: Credentials) -> None:
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        form = {"grant_type": server.grant, **dict(server.params)}
        if server.scopes:
            form["scope"] = " ".join(server.scopes)
        if server.grant == "refresh_token" and credentials.refresh_token is not None:
            form["refresh_token"] = credentials.refresh_token
        if server.client_auth == "basic" and credentials.client_id and credentials.client_secret:
            # RFC 6749, 2.3.1: both are form-encoded before they are joined.
            pair = ":".join(urls.quote_plus(part) for part in credentials[:2] if part)
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
        else:
            named = {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
            form |= {name: text for name, text in named.items() if text}
        body = urls.urlencode(form).encode("ascii")
        self._server = server
        self._init: RequestInit = {
            "method": "POST",
            "headers": headers,
            "body": body,
            "redirect": "manual",
            "credentials": "omit",
        }

    def take(self, transport: Any) -> Granted:
        """Wait for the response and return its tokens."""
        try:
            return self._granted(transport.send_bare(self._server.url, self._init, _TIMEOUT))
        except NetworkError as error:
            failure = self._failure(error)
        raise failure from None

    async def take_async(self, transport: Any) -> Granted:
        """Await the response and return its tokens."""
        try:
            return self._granted(await transport.send_bare(self._server.url, self._init, _TIMEOUT))
        except NetworkError as error:
            failure = self._failure(error)
        raise failure from None

    def _granted(self, response: Any) -> Granted:
        """Return the tokens in a response. Raises AuthError if it has no access token."""
        content = _json(response)
        if content is None:
            raise self._error(f"{status_line(response)}: the response is not a JSON object", response.status_code)
        token, refresh_token = content.get("access_token"), content.get("refresh_token")
        if not isinstance(token, str) or not _TOKEN(token):
            reason = _reason(content) or "the response has no access_token"
            raise self._error(f"{response.status_code} {reason}", response.status_code)
        renewed = refresh_token if isinstance(refresh_token, str) and refresh_token else None
        return Granted(token, renewed, _seconds(content.get("expires_in")))

    def _failure(self, error: NetworkError) -> AuthError:
        if isinstance(error, AuthError):
            return error
        if not isinstance(error, StatusError):
            problem = str(error).removeprefix(f"POST {self._server.url}: ")
            return self._error(problem, 500, elapsed=error.elapsed)
        response: Any = error.response
        if response.has_redirect_location:
            problem = (
                f"{status_line(response)}: redirects of token requests are not followed; set the final URL as token_url"
            )
        else:
            problem = f"{error.status} {_reason(_json(response)) or response.reason_phrase}"
        return self._error(problem.rstrip(), error.status, elapsed=error.elapsed, retry_after=error.retry_after)

    def _error(self, problem: str, status: int, *, elapsed: float = 0.0, retry_after: float | None = None) -> AuthError:
        url = self._server.url
        text = f"no token from {url.partition('?')[0]}: {problem}"
        return AuthError(text, status=status, url=url, method="POST", elapsed=elapsed, retry_after=retry_after)


def _json(response: Any) -> dict[str, Any] | None:
    try:
        content: Any = json.loads(response.content)
    except (RuntimeError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def _reason(content: Mapping[str, object] | None) -> str:
    """Return the error code of the server; empty if it may contain a secret."""
    error = None if content is None else content.get("error")
    return error if isinstance(error, str) and _PLAIN(error) else ""


def _seconds(value: object) -> float | None:
    """Return the lifetime of a token in seconds; None if it is missing or invalid."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < math.inf else None
