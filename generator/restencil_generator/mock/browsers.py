"""What keeps web pages of other origins away from a mock server: host names, CORS and content types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from restencil_generator.mock.errors import Refusal
from restencil_generator.spec.model import Endpoint

_LOOPBACK: Final = r"(?:localhost|[a-z0-9-]+\.localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])"
_ORIGIN: Final = rf"https?://{_LOOPBACK}(?::[0-9]+)?"
_is_loopback = re.compile(_LOOPBACK, re.IGNORECASE).fullmatch


class HostGuard:
    """Answers requests to loopback names alone, so that no name of an attacker's can lead a browser here.

    A web page may let the name of its own host point to this machine (DNS rebinding); the header `Host` tells. `more`
    are further names, such as the address that the server was told to listen on.
    """

    def __init__(self, app: ASGIApp, more: Iterable[str] = ()) -> None:
        self._app = app
        self._more = frozenset(name.lower() for name in more)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Request(scope).headers.get("host", "") if scope["type"] == "http" else ""
        name = re.sub(r":[0-9]+\Z", "", host).lower()
        if scope["type"] != "http" or _is_loopback(name) or name.strip("[]") in self._more:
            await self._app(scope, receive, send)
            return
        port = host.removeprefix(host[: len(name)])
        message = f"the host {host!r} is no name of this machine; send requests to http://localhost{port}"
        refusal = JSONResponse({"error": "misdirected_request", "message": message}, HTTPStatus.MISDIRECTED_REQUEST)
        await refusal(scope, receive, send)


def with_cors(app: ASGIApp) -> ASGIApp:
    """An application whose responses web pages of this machine may read, and no others."""
    return CORSMiddleware(
        app,
        allow_origin_regex=_ORIGIN,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["*"],
        max_age=600,
    )


def check_content_type(request: Request, endpoint: Endpoint) -> None:
    """Rejects JSON that a browser sends as text: a page of any origin may send that without being asked first."""
    if endpoint.body is None or endpoint.body.kind != "json":
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_browser = "origin" in request.headers or "sec-fetch-site" in request.headers
    if is_browser and kind in ("", "text/plain"):
        sent = f"as {kind}" if kind else "without a content type"
        message = f"the body came from a browser {sent}; send it with the header Content-Type: application/json"
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)
