"""The two HTTP libraries, httpx and httpx2: which of them is in use, and what of it the exchange uses.

No other file names them. A `Library` holds names of one, and the classes made of it: what a client is handed comes from
its own library. Neither is imported before the first client is opened: that takes longer than all else here. Type
checkers read the names as those of httpx; httpx2 has the same.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, KeysView
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from ..base.bodies import BodyStart, not_repeated
from ..base.values import described

if TYPE_CHECKING:
    import ssl

    import httpx
    from httpx import URL as _URL
    from httpx import AsyncByteStream as _AsyncByteStream
    from httpx import Auth as _Auth
    from httpx import Headers as _Headers
    from httpx import Request as _Request
    from httpx import SyncByteStream as _SyncByteStream
else:
    # The classes below get their base from the library that they are made for.
    _URL = _AsyncByteStream = _Auth = _Headers = _Request = _SyncByteStream = object

Client: TypeAlias = "httpx.Client"
AsyncClient: TypeAlias = "httpx.AsyncClient"
AnyClient: TypeAlias = "httpx.Client | httpx.AsyncClient"
RawRequest: TypeAlias = "httpx.Request"
RawResponse: TypeAlias = "httpx.Response"
RawHeaders: TypeAlias = "httpx.Headers"
Url: TypeAlias = "httpx.URL"

T = TypeVar("T")

LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries, in the order in which they are looked for where nobody chose."""

_INSTALLED_BY: Final = {"httpx": "pip install httpx", "httpx2": "pip install 'restencil[httpx2]'"}

NOT_REPEATED: Final = "restencil_not_repeated"
"""The extension of a response that holds why its request was not sent again."""


class Library:
    """What the exchange uses of one HTTP library, and the classes made of it, once."""

    def __init__(self, module: Any) -> None:
        self.name: str = module.__name__
        self.version: str = module.__version__
        #: How the library introduces itself to servers.
        self.user_agent = f"python-{self.name}/{self.version}"
        #: The name of the package that opens its connections.
        self.core = core = self.name.replace("httpx", "httpcore")
        #: Loggers that show the URL of each request, or the headers of each response.
        self.loggers = (
            self.name,
            *(f"{core}.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
            "hpack.hpack",
            "hpack.table",
        )

        self.Client: type[httpx.Client] = module.Client
        self.AsyncClient: type[httpx.AsyncClient] = module.AsyncClient
        #: Clients whose methods nobody overrides.
        self.own_kinds: tuple[type, ...] = (module.Client, module.AsyncClient)
        self.URL: type[httpx.URL] = module.URL
        self.Headers: type[httpx.Headers] = module.Headers
        self.Cookies: type[httpx.Cookies] = module.Cookies
        self.Request: type[httpx.Request] = module.Request
        self.Response: type[httpx.Response] = module.Response
        self.ByteStream: type[httpx.ByteStream] = module.ByteStream
        self.SyncByteStream: type[httpx.SyncByteStream] = module.SyncByteStream
        self.AsyncByteStream: type[httpx.AsyncByteStream] = module.AsyncByteStream
        self.BaseTransport: type[httpx.BaseTransport] = module.BaseTransport
        self.AsyncBaseTransport: type[httpx.AsyncBaseTransport] = module.AsyncBaseTransport
        self.MockTransport: type[httpx.MockTransport] = module.MockTransport
        self.create_ssl_context: Callable[[], ssl.SSLContext] = module.create_ssl_context
        self.use_client_default: Any = module.USE_CLIENT_DEFAULT
        self.no_content = self.ByteStream(b"")

        #: A URL that cannot be requested.
        self.InvalidURL: type[Exception] = module.InvalidURL
        self.RequestError: type[httpx.RequestError] = module.RequestError
        self.TransportError: type[Exception] = module.TransportError
        #: Its errors of a connection, by name; those of its core have the same names.
        self.transport_errors: dict[str, type[Exception]] = {
            name: kind
            for name, kind in vars(module).items()
            if isinstance(kind, type) and issubclass(kind, module.TransportError)
        }
        self.DecodingError: type[Exception] = module.DecodingError
        self.ResponseNotRead: type[Exception] = module.ResponseNotRead
        self.TimeoutException: type[Exception] = module.TimeoutException
        self.ReadTimeout: type[httpx.ReadTimeout] = module.ReadTimeout
        self.ConnectError: type[httpx.ConnectError] = module.ConnectError
        #: How a timeout is called in messages, by the step of the request that took too long.
        self.timeouts: dict[type[BaseException], str] = {
            module.ConnectTimeout: "connect",
            module.ReadTimeout: "read",
            module.WriteTimeout: "write",
            module.PoolTimeout: "pool",
        }
        #: Failures on the way of a request or of its response.
        self.failures: tuple[type[Exception], ...] = (
            module.RequestError,
            module.StreamError,
            module.InvalidURL,
            OSError,
            UnicodeError,
        )
        #: A URL whose place no request can reach; a host that has no name in the network is a UnicodeError.
        self.unreachable: tuple[type[Exception], ...] = (module.UnsupportedProtocol, module.InvalidURL, UnicodeError)

        self.ParsedUrl = self._made(_ParsedUrl, module.URL)
        #: A URL as the library takes it. Raises `InvalidURL`.
        self.parsed_url: Callable[[str], _ParsedUrl] = lru_cache(maxsize=512)(self.ParsedUrl)
        self.SentHeaders = self._made(_SentHeaders, module.Headers)
        self.CompleteRequest = self._made(_CompleteRequest, module.Request)
        self.GuardedAuth = self._made(_GuardedAuth, module.Auth)
        self.no_auth = self._made(_NoAuth, module.Auth)()
        self.Sent = self._made(_Sent, module.SyncByteStream)
        self.SentAsync = self._made(_SentAsync, module.AsyncByteStream)
        self.Guarded = self._made(_Guarded, module.SyncByteStream)
        self.GuardedAsync = self._made(_GuardedAsync, module.AsyncByteStream)

        self._subclasses: dict[type, Any] = {}

    def subclass(self, form: type[T], base: type) -> type[T]:
        """The class `form` as a subclass of a class of this library; made once."""
        made = self._subclasses.get(form)
        if made is None:
            made = self._subclasses[form] = type(form.__name__, (form, base), {"__doc__": form.__doc__})
        return cast("type[T]", made)

    def _made(self, form: type[T], base: type) -> type[T]:
        """The class that `form` describes, over the class of the same purpose of this library."""
        name = form.__name__.strip("_")
        # A response that is pickled knows its request: classes are found by the name of their library, see below.
        place = {"__module__": __name__, "__qualname__": f"{self.name}.{name}", "__doc__": form.__doc__}
        return cast("type[T]", type(name, (form, base), place))

    def __repr__(self) -> str:
        return f"<{self.name} {self.version}>"


_libraries: Final[dict[str, Library]] = {}
_lock: Final = threading.Lock()


def _library(name: str) -> Library:
    """The one library of this name, whose module is there."""
    found = _libraries.get(name)
    if found is None:
        with _lock:
            found = _libraries[name] = _libraries.get(name) or Library(sys.modules[name])
    return found


def __getattr__(name: str) -> Library:
    """`httpx` and `httpx2` are the libraries."""
    if name in LIBRARIES:
        return library_named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- which library ---------------------------------------------------------------------------------------------------


def library_behind(thing: object) -> Library | None:
    """The library that this object's class is from, or one of its bases; None for an object of neither.

    It goes by the class's own module, and never imports: the library of a client is there already, and the name of
    one may lead to the other (`httpx2.alias_httpx()`).
    """
    for kind in thing.__class__.__mro__:
        name = kind.__module__.partition(".")[0]
        if name in LIBRARIES and name in sys.modules:
            return _library(sys.modules[name].__name__)
    return None


def library_of(thing: object) -> Library:
    """The library of a client or a response. Raises TypeError for an object of neither library."""
    library = library_behind(thing)
    if library is None:
        raise TypeError(f"{described(thing)} is of neither httpx nor httpx2")
    return library


def check_name(name: str, source: str) -> None:
    """Raises ValueError for what is no library's name; `source` says where it was given."""
    if name not in LIBRARIES:
        raise ValueError(f"{source} is 'httpx' or 'httpx2', not {name!r}")


def library_named(name: str | None) -> Library:
    """The library of this name, imported; without a name httpx, or httpx2 where there is no httpx.

    Raises ImportError, with the command that installs it, for one that is not there.
    """
    for wanted in LIBRARIES if name is None else (name,):
        try:
            module = import_module(wanted)
        except ModuleNotFoundError as error:
            if error.name != wanted:
                raise  # it is there, and lacks something itself
        else:
            return _library(module.__name__)
    if name is None:
        raise ImportError(
            f"requests are sent with httpx or httpx2, and neither is installed; {_INSTALLED_BY['httpx']}", name="httpx"
        )
    raise ImportError(f"requests are to be sent with {name}, which is not installed; {_INSTALLED_BY[name]}", name=name)


def is_asynchronous(client: object) -> bool:
    """True for an `AsyncClient`, False for a `Client`. Raises TypeError for anything else."""
    library = library_behind(client)
    if library is not None:
        if isinstance(client, library.Client):
            return False
        if isinstance(client, library.AsyncClient):
            return True
    raise TypeError(
        f"client is a Client or an AsyncClient of httpx or httpx2, or of a subclass of one, not {described(client)}"
    )


def check_client(client: object, *, blocking: bool) -> None:
    """Raises TypeError for a client of the other world, or for what is no client."""
    if is_asynchronous(client) is blocking:
        given, wanted = ("an AsyncClient", "a Client") if blocking else ("a Client", "an AsyncClient")
        other = "the asynchronous controller or client" if blocking else "the one for blocking code"
        raise TypeError(f"client is {given} of {library_of(client).name}, where {wanted} is wanted; or use {other}")


# --- auth ------------------------------------------------------------------------------------------------------------


class _NoAuth(_Auth):
    """What the HTTP library comes to by itself where nobody is to be authenticated, with fewer steps: "direct call"."""

    def sync_auth_flow(self, request: RawRequest) -> Generator[RawRequest, RawResponse]:
        yield request

    async def async_auth_flow(self, request: RawRequest) -> AsyncGenerator[RawRequest, RawResponse]:
        yield request


class _GuardedAuth(_Auth):
    """The auth of a user's client, which may look at responses of its own: those are guarded as all others are."""

    def __init__(self, auth: httpx.Auth, guard: Callable[[RawResponse], object]) -> None:
        self._auth = auth
        self._guard = guard

    def sync_auth_flow(self, request: RawRequest) -> Generator[RawRequest, RawResponse]:
        flow = self._auth.sync_auth_flow(request)
        with contextlib.closing(flow), contextlib.suppress(StopIteration):
            request = next(flow)
            while True:
                response = yield request
                self._guard(response)
                request = flow.send(response)
                if _cannot_repeat(request, response):
                    return

    async def async_auth_flow(self, request: RawRequest) -> AsyncGenerator[RawRequest, RawResponse]:
        flow = self._auth.async_auth_flow(request)
        async with contextlib.aclosing(flow):
            with contextlib.suppress(StopAsyncIteration):
                request = await anext(flow)
                while True:
                    response = yield request
                    self._guard(response)
                    request = await flow.asend(response)
                    if _cannot_repeat(request, response):
                        return


def _cannot_repeat(request: RawRequest, response: RawResponse) -> bool:
    """The response stands where the body of its request cannot be sent again, and says so."""
    obstacle = rewind(request)
    if obstacle is not None:
        response.extensions[NOT_REPEATED] = not_repeated(obstacle)
    return obstacle is not None


# --- URLs, headers, requests -----------------------------------------------------------------------------------------


class _ParsedUrl(_URL):
    """A URL that was put into words once; each request asks for its text more than once: "direct call"."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._text = super().__str__()
        self.host_header = self.netloc

    def __str__(self) -> str:
        return self._text


class _SentHeaders(_Headers):
    """The headers of a request, which the HTTP library looks up one by one, known until one changes: "direct call"."""

    def __init__(self, headers: RawHeaders, items: dict[str, str] | None) -> None:
        super().__init__(headers, headers.encoding if items is None else "ascii")
        self._items = items

    def keys(self) -> KeysView[str]:
        return super().keys() if self._items is None else self._items.keys()

    def __getitem__(self, key: str) -> str:
        if self._items is not None and key in self._items:
            return self._items[key]
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: str) -> None:
        self._items = None
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._items = None
        super().__delitem__(key)

    def update(self, headers: Any = None) -> None:  # type: ignore[override]  # as the libraries have it
        self._items = None
        super().update(headers)


class _CompleteRequest(_Request):
    """A request of which everything is known, so that nothing is looked for, and its content is joined when it is asked
    for: a tenth of "direct call".
    """

    def __init__(
        self, method: str, url: Url, headers: RawHeaders, stream: httpx.ByteStream, extensions: dict[str, Any]
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.stream = stream
        self.extensions = extensions

    @property
    def content(self) -> bytes:
        return self.read()


# --- bodies ----------------------------------------------------------------------------------------------------------


class _Sent(_SyncByteStream):
    """A body that is read while it is sent."""

    def __init__(self, stream: httpx.SyncByteStream, start: BodyStart) -> None:
        self._stream = stream
        self.start = start
        self.begun = False

    def __iter__(self) -> Iterator[bytes]:
        self.begun = True
        yield from self._stream


class _SentAsync(_AsyncByteStream):
    """A body that is read while the asynchronous client sends it."""

    def __init__(self, stream: httpx.AsyncByteStream, start: BodyStart) -> None:
        self._stream = stream
        self.start = start
        self.begun = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.begun = True
        async for chunk in self._stream:
            yield chunk


def rewind(request: RawRequest) -> str | None:
    """Puts the body of a request that was sent back to its start; what cannot be read again, in words, or None."""
    stream = request.stream
    return stream.start.rewind() if isinstance(stream, _Sent | _SentAsync) and stream.begun else None


class BodyGuard(Protocol):
    """What stands between a body that arrives and whoever reads it."""

    whole: bool
    """The body is put together in place, so that it never stands in memory twice."""

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk of the body unfolds into. Raises for a body that may not be read further."""
        ...


class _Guarded(_SyncByteStream):
    """The body of a response whose chunks go through a guard."""

    def __init__(self, stream: httpx.SyncByteStream, guard: BodyGuard) -> None:
        self._stream = stream
        self._guard = guard

    @property
    def elapsed(self) -> Any:
        """How long the request took, which httpx2 asks of the stream; httpx is told by it."""
        return getattr(self._stream, "elapsed", None)

    def __iter__(self) -> Iterator[bytes]:
        pieces = self._guard.pieces
        if not self._guard.whole:
            for chunk in self._stream:
                yield from pieces(chunk)
            return
        body = io.BytesIO()
        for chunk in self._stream:
            for piece in pieces(chunk):
                body.write(piece)
        yield body.getvalue()

    def close(self) -> None:
        self._stream.close()


class _GuardedAsync(_AsyncByteStream):
    """The body of a response of the asynchronous client whose chunks go through a guard."""

    def __init__(self, stream: httpx.AsyncByteStream, guard: BodyGuard) -> None:
        self._stream = stream
        self._guard = guard

    @property
    def elapsed(self) -> Any:
        """How long the request took, which httpx2 asks of the stream; httpx is told by it."""
        return getattr(self._stream, "elapsed", None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._guard.pieces
        if not self._guard.whole:
            async for chunk in self._stream:
                for piece in pieces(chunk):
                    yield piece
            return
        body = io.BytesIO()
        async for chunk in self._stream:
            for piece in pieces(chunk):
                body.write(piece)
        yield body.getvalue()

    async def aclose(self) -> None:
        await self._stream.aclose()
