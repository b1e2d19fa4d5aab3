"""Credentials never cross an origin: what a request that a redirect led to keeps of its headers.

The HTTP libraries take `Authorization` away at another origin and keep every other header, so a key in `X-Api-Key`
would follow; and they let all of them come back where a second redirect leads home again.
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
    """The scheme, host and port of a URL."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)


def sends_body_elsewhere(request: RawRequest, following: RawRequest) -> bool:
    """True for a redirected request that sends a body to another origin than the one that redirected it."""
    headers = following.headers
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return has_body and origin_of(following.url) != origin_of(request.url)


def remove_credentials(library: Library, request: RawRequest) -> None:
    """Keeps only those headers of a request that describe its content and connection."""
    headers = request.headers
    for name in list(headers):
        if not name.startswith("content-") and name not in CONNECTION_HEADERS:
            del headers[name]
    headers["accept"] = "*/*"
    headers["user-agent"] = library.user_agent
