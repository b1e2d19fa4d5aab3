"""What the lifecycle of a request and the transports beneath it know of each other.

An endpoint makes a request and reads a response; a transport sends the one and brings the other. Neither knows the
other's code: this page is what both were told.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib import parse as urls

if TYPE_CHECKING:
    from .durations import Timeout


class ImpliedHeader(str):
    """The value of a header that the library adds where nobody says otherwise.

    It gives way: to what a user's client says by itself, and, of a content type, to there being no content.
    """

    __slots__ = ()


RequestInit: TypeAlias = Mapping[str, Any]
"""What is sent besides the URL, by name: method, headers, body, signal, timeout and what users add."""

has_scheme: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
"""Whether a URL is absolute."""

_USERINFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")
_PORTS: Final = {"http": 80, "https": 443}


class HttpResponse(Protocol):
    """An HTTP response, as the HTTP library in use gives it.

    Besides these members it has whatever that library's own class has.
    """

    @property
    def status_code(self) -> int:
        """The HTTP status."""
        ...

    @property
    def reason_phrase(self) -> str:
        """The words that came with the status, or the usual ones for it."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are compared without case."""
        ...

    @property
    def content(self) -> bytes:
        """The body, decompressed. Raises RuntimeError where it was not read."""
        ...

    @property
    def text(self) -> str:
        """The body as text, in the charset that the response names, else UTF-8."""
        ...

    @property
    def charset_encoding(self) -> str | None:
        """The charset that the content type names."""
        ...

    @property
    def url(self) -> Any:
        """Where the response came from, as the HTTP library writes URLs; `str()` gives its text."""
        ...

    @property
    def request(self) -> Any:
        """The request that this answers, as the HTTP library has it, without credentials."""
        ...

    @property
    def extensions(self) -> MutableMapping[str, Any]:
        """What the transport has to say besides."""
        ...

    def json(self, **options: Any) -> Any:
        """The body as JSON; the options are those of `json.loads`."""
        ...


class BlockingClient(Protocol):
    """A client for blocking code, as a user may pass one: an `httpx.Client`, an `httpx2.Client`, or a subclass."""

    def send(self, request: Any, /) -> HttpResponse:
        """The response to a request."""
        ...

    def close(self) -> None:
        """Gives up its connections."""
        ...


class AwaitingClient(Protocol):
    """A client for asyncio, as a user may pass one: an `httpx.AsyncClient`, an `httpx2.AsyncClient`, or a subclass."""

    def send(self, request: Any, /) -> Coroutine[Any, Any, HttpResponse]:
        """The response to a request, to be awaited."""
        ...

    async def aclose(self) -> None:
        """Gives up its connections."""
        ...


class Transport:
    """Sends the requests of endpoints. There are two kinds, for blocking code and for asyncio."""

    closed_by_stream = False
    """True once a streamed response closes this transport, which serves one call."""

    def read(self, response: Any, error: RuntimeError) -> Any:
        """The body of a response whose content was not there yet, as `error` says; an awaitable where it must wait."""
        raise error

    def streamed(self, response: Any) -> Any:
        """The response as the user gets it whose endpoint has `content="stream"`: its body is still to be read."""
        raise NotImplementedError


class BlockingTransport(Transport):
    """A transport whose requests block the thread until the response is there."""

    def send(self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False) -> Any:
        """Sends what `init` says and returns the response, its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (`status` is it) and for any failure on the way (500),
        AbortError where `init["signal"]` is aborted before or meanwhile, ValueError for a URL that cannot be requested.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Gives up what the transport itself has opened; the next request opens it anew."""


class AwaitingTransport(Transport):
    """A transport of asyncio: what waits is awaited."""

    def send(
        self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False
    ) -> Coroutine[Any, Any, Any]:
        """Sends what `init` says; the coroutine gives the response, its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (`status` is it) and for any failure on the way (500),
        AbortError where `init["signal"]` is aborted before or meanwhile, ValueError for a URL that cannot be requested.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Gives up what the transport itself has opened; the next request opens it anew."""


def joined(base: str, rest: str) -> str:
    """What stands behind a base URL at its place: one slash between them, whether one, both or neither brings it."""
    return base + rest if not rest or rest[0] in "?#" else f"{base.removesuffix('/')}/{rest.removeprefix('/')}"


def public_url(url: str) -> str:
    """A URL without user name and password."""
    return _USERINFO.sub(r"\1", url)


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of a URL, however they are written. Raises ValueError for a host or port that is none."""
    parts = urls.urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname, parts.port or _PORTS.get(scheme)


def origin_text(url: str) -> str:
    """The origin of a URL as it may be shown."""
    parts = urls.urlsplit(url)
    return str(urls.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", "")))
