"""Protection of the mock server against web pages of other origins: host names, CORS and content types."""

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

_BYTE: Final = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_LOOPBACK: Final = rf"(?:(?:[a-z0-9-]+\.)*localhost\.?|127(?:\.{_BYTE}){{3}}|\[(?:::1|(?:0{{1,4}}:){{7}}0{{0,3}}1)\])"
_ORIGIN: Final = rf"https?://{_LOOPBACK}(?::[0-9]+)?"
_is_loopback = re.compile(_LOOPBACK, re.IGNORECASE).fullmatch


_HOST: Final = re.compile(r"(\[[0-9a-f:.]*\]|[^:\[\]]*)(:[0-9]*)?")
_WITHOUT_PREFLIGHT: Final = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")


class HostGuard:
    """Rejects requests to other names than loopback ones, to prevent DNS rebinding.

    A web page may let the name of its own host point to this machine, but then the header `Host` has that name. `more`
    are additional names, such as the address that the server listens on.
    """

    def __init__(self, app: ASGIApp, more: Iterable[str] = ()) -> None:
        self._app = app
        self._more = frozenset(name.lower() for name in more)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Request(scope).headers.get("host", "") if scope["type"] == "http" else ""
        found = _HOST.fullmatch(host.lower())
        name, port = found.groups() if found is not None else (host, None)
        if scope["type"] != "http" or _is_loopback(name) or name.strip("[]") in self._more:
            await self._app(scope, receive, send)
            return
        what = f"the host {host!r} is not a name of this machine" if host else "the request has no header `Host`"
        message = f"{what}; send requests to http://localhost{port or ''}"
        refusal = JSONResponse({"error": "misdirected_request", "message": message}, HTTPStatus.MISDIRECTED_REQUEST)
        await refusal(scope, receive, send)


def with_cors(app: ASGIApp) -> ASGIApp:
    """Return an application whose responses only web pages of this machine may read."""
    return CORSMiddleware(
        app,
        allow_origin_regex=_ORIGIN,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["*"],
        max_age=600,
    )


def check_content_type(request: Request, endpoint: Endpoint) -> None:
    """Reject JSON that a browser sends as text or as a form, which pages of any origin may do without a preflight."""
    if endpoint.body is None or endpoint.body.kind != "json":
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_browser = "origin" in request.headers or "sec-fetch-site" in request.headers
    if is_browser and kind in _WITHOUT_PREFLIGHT:
        sent = f"as {kind}" if kind else "without a content type"
        message = f"the body came from a browser {sent}; send it with the header Content-Type: application/json"
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)
