"""The interface between endpoints and transports.

An endpoint creates requests and reads responses; a transport sends the requests and returns the responses. Neither
depends on the code of the other.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib import parse as urls

if TYPE_CHECKING:
    from .durations import Timeout


class ImpliedHeader(str):
    """The value of a header that the library adds by default.

    A header of the user's HTTP client takes precedence, and a content type is dropped if there is no content.
    """

    __slots__ = ()


RequestInit: TypeAlias = Mapping[str, Any]
"""The members of a request besides the URL: method, headers, body, signal, timeout, and members that users add."""

has_scheme: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
"""Whether a URL is absolute."""

_USERINFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")
_PORTS: Final = {"http": 80, "https": 443}


class HttpResponse(Protocol):
    """An HTTP response of the HTTP library in use.

    It has further members of the class of that library.
    """

    @property
    def status_code(self) -> int:
        """The HTTP status."""
        ...

    @property
    def reason_phrase(self) -> str:
        """The reason phrase of the response, or the usual one for its status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are case-insensitive."""
        ...

    @property
    def content(self) -> bytes:
        """The decompressed body. Raises RuntimeError if it was not read."""
        ...

    @property
    def text(self) -> str:
        """The body as a string, decoded in the charset of the response, else UTF-8."""
        ...

    @property
    def charset_encoding(self) -> str | None:
        """The charset of the content type; None if it has none."""
        ...

    @property
    def url(self) -> Any:
        """The URL of the response, an object of the HTTP library; `str()` returns it as a string."""
        ...

    @property
    def request(self) -> Any:
        """The request of this response, an object of the HTTP library, without credentials."""
        ...

    @property
    def extensions(self) -> MutableMapping[str, Any]:
        """Further data of the transport."""
        ...

    def json(self, **options: Any) -> Any:
        """Decode the body as JSON; the options are those of `json.loads`."""
        ...


class BlockingClient(Protocol):
    """A synchronous HTTP client of a user: an `httpx.Client`, an `httpx2.Client`, or a subclass."""

    def send(self, request: Any, /) -> HttpResponse:
        """Send a request and return its response."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class AwaitingClient(Protocol):
    """An asyncio HTTP client of a user: an `httpx.AsyncClient`, an `httpx2.AsyncClient`, or a subclass."""

    def send(self, request: Any, /) -> Coroutine[Any, Any, HttpResponse]:
        """Send a request and return its response."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class Transport:
    """The base class of transports, which send the requests of endpoints: one for blocking code, one for asyncio."""

    closed_by_stream = False
    """True if this transport serves one call and is closed together with its streamed response."""

    def read(self, response: Any, error: RuntimeError) -> Any:
        """Read the body of a response whose content raised `error` as not read yet; an awaitable under asyncio."""
        raise error

    def streamed(self, response: object) -> object:
        """Return the response for a user of an endpoint with `content="stream"`; its body is not read yet."""
        raise NotImplementedError


class BlockingTransport(Transport):
    """A transport whose requests block the thread until the response is there."""

    def send(self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False) -> Any:
        """Send a request and return the response, with its body read unless `stream`.

        Raises NetworkError with the final `status` if it is outside 200–299, and with 500 for any other failure;
        AbortError if `init["signal"]` is aborted before or meanwhile; ValueError for an invalid URL.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the connections that the transport itself has opened; the next request opens new ones."""


class AwaitingTransport(Transport):
    """A transport for asyncio."""

    traces = False
    """True once a connection reported an event of a request, as those of a pool do."""

    def send(
        self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False
    ) -> Coroutine[Any, Any, Any]:
        """Send a request; the coroutine returns the response, with its body read unless `stream`.

        Raises NetworkError with the final `status` if it is outside 200–299, and with 500 for any other failure;
        AbortError if `init["signal"]` is aborted before or meanwhile; ValueError for an invalid URL.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connections that the transport itself has opened; the next request opens new ones."""


def joined(base: str, rest: str) -> str:
    """Append a path or query to a base URL, with exactly one slash before a path."""
    return base + rest if not rest or rest[0] in "?#" else f"{base.removesuffix('/')}/{rest.removeprefix('/')}"


def public_url(url: str) -> str:
    """Return a URL without user name and password."""
    return _USERINFO.sub(r"\1", url)


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL in normal form. Raises ValueError for an invalid host or port."""
    parts = urls.urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname, parts.port or _PORTS.get(scheme)


def origin_text(url: str) -> str:
    """Return the origin of a URL without credentials, for messages."""
    parts = urls.urlsplit(url)
    return str(urls.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", "")))
