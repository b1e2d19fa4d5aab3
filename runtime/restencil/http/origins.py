"""Removal of credentials from requests that are redirected to another origin.

The HTTP libraries remove only `Authorization` at another origin, so a key in `X-Api-Key` would be sent there; and they
restore all headers if a second redirect returns to the first origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from .library import Library, RawRequest, Url

Provenance: TypeAlias = tuple[str, str, int | None]

_PORTS: Final = {"http": 80, "https": 443}

CONNECTION_HEADERS: Final = ("host", "transfer-encoding", "accept-encoding", "connection")
"""Headers that describe the connection."""


def origin_of(url: Url) -> Provenance:
    """Return the scheme, host and port of a URL."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)


def sends_body_elsewhere(request: RawRequest, following: RawRequest) -> bool:
    """Return whether a redirected request sends a body to another origin than the one that redirected it."""
    headers = following.headers
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return has_body and origin_of(following.url) != origin_of(request.url)


def remove_credentials(library: Library, request: RawRequest) -> None:
    """Remove all headers of a request except those that describe its content and connection."""
    headers = request.headers
    for name in list(headers):
        if not name.startswith("content-") and name not in CONNECTION_HEADERS:
            del headers[name]
    headers["accept"] = "*/*"
    headers["user-agent"] = library.user_agent
