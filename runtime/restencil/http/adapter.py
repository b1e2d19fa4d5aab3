"""The HTTP library behind small primitives: clients, requests, sending, reading, failures. No other file names it.

It is imported with the first request or client: that takes longer than all the rest of this library. What a request
may and may not do (redirects, cookies, limits, what is shown) is decided above, in the library's own terms.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Container,
    Generator,
    Iterator,
    KeysView,
    Mapping,
)
from dataclasses import dataclass, field
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, Protocol, TypeAlias, cast
from urllib.parse import urlencode

import httpx

from ..base.bodies import BodyStart, not_repeated
from ..base.transport import ImpliedHeader
from .codings import accepted

Client: TypeAlias = httpx.Client
AsyncClient: TypeAlias = httpx.AsyncClient
AnyClient: TypeAlias = httpx.Client | httpx.AsyncClient
RawRequest: TypeAlias = httpx.Request
RawResponse: TypeAlias = httpx.Response
RawHeaders: TypeAlias = httpx.Headers
Url: TypeAlias = httpx.URL

#: Failures on the way of a request or of its response.
FAILURES: Final = (httpx.RequestError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)
#: Failures while the body of a response is read piece by piece.
READ_FAILURES: Final = (httpx.RequestError,)
#: A URL whose place cannot be reached by any request; a host that has no name in the network is a UnicodeError.
UNREACHABLE: Final = (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError)
#: A URL that cannot be requested.
InvalidUrl: Final = httpx.InvalidURL
#: How a timeout is called in messages, by the step of the request that took too long.
_TIMEOUTS: Final[Mapping[type[Exception], str]] = {
    httpx.ConnectTimeout: "connect",
    httpx.ReadTimeout: "read",
    httpx.WriteTimeout: "write",
    httpx.PoolTimeout: "pool",
}
#: Loggers that show the URL of each request, or the headers of each response.
LOGGERS: Final = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "hpack.hpack",
    "hpack.table",
)
#: How the HTTP library introduces itself to servers.
USER_AGENT: Final = f"python-httpx/{httpx.__version__}"

#: The extension of a response that holds why its request was not sent again.
NOT_REPEATED: Final = "restencil_not_repeated"
_CODING: Final = b"content-encoding"
_GUARD: Final = "restencil_guard"
_NO_CONTENT: Final = httpx.ByteStream(b"")
_OWN_KINDS: Final = (httpx.Client, httpx.AsyncClient)
"""Clients whose methods nobody overrides."""


# --- clients ---------------------------------------------------------------------------------------------------------


def is_asynchronous(client: object) -> bool:
    """True for an `httpx.AsyncClient`, False for an `httpx.Client`. Raises TypeError for anything else."""
    if isinstance(client, httpx.Client):
        return False
    if isinstance(client, httpx.AsyncClient):
        return True
    raise TypeError(f"client is an httpx.Client or an httpx.AsyncClient, not {type(client).__name__}")


class _Nothing(DefaultCookiePolicy):
    """The policy of a jar that stores nothing."""

    def set_ok(self, cookie: Any, request: Any) -> bool:
        return False


def open_client() -> Client:
    """A client for blocking code that keeps no cookies."""
    return httpx.Client(cookies=CookieJar(_Nothing()))


def open_async_client() -> AsyncClient:
    """A client for asyncio that keeps no cookies."""
    return httpx.AsyncClient(cookies=CookieJar(_Nothing()))


class _NoAuth(httpx.Auth):
    """What the HTTP library comes to by itself where nobody is to be authenticated, with fewer steps: "direct call"."""

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        yield request


_no_auth: Final = _NoAuth()


class _GuardedAuth(httpx.Auth):
    """The auth of a user's client, which may look at responses of its own: those are guarded as all others are."""

    def __init__(self, auth: httpx.Auth, guard: Callable[[RawResponse], object]) -> None:
        self._auth = auth
        self._guard = guard

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        flow = self._auth.sync_auth_flow(request)
        with contextlib.closing(flow), contextlib.suppress(StopIteration):
            request = next(flow)
            while True:
                response = yield request
                self._guard(response)
                request = flow.send(response)
                if _cannot_repeat(request, response):
                    return

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
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


def _cannot_repeat(request: httpx.Request, response: httpx.Response) -> bool:
    """The response stands where the body of its request cannot be sent again, and says so."""
    obstacle = rewind(request)
    if obstacle is not None:
        response.extensions[NOT_REPEATED] = not_repeated(obstacle)
    return obstacle is not None


def auth_of(client: AnyClient, url: str, guard: Callable[[RawResponse], object]) -> Any:
    """The `auth` of a request that goes to this URL in its own right, which no redirect led to: the client's own.

    `guard` is called with each response that it looks at, before it does.
    """
    if client.auth is not None:
        return _GuardedAuth(client.auth, guard)
    if type(client) in _OWN_KINDS and "@" not in url:
        return _no_auth
    return httpx.USE_CLIENT_DEFAULT


def auth_after_redirect(
    client: AnyClient, url: Url, guard: Callable[[RawResponse], object], *, same_origin: bool
) -> Any:
    """The `auth` of a request that a redirect led to: the client's own, and none at another origin."""
    return auth_of(client, str(url), guard) if same_origin else None


# --- URLs and headers ------------------------------------------------------------------------------------------------


class ParsedUrl(httpx.URL):
    """A URL that was put into words once; each request asks for its text more than once: "direct call"."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._text = super().__str__()
        self.host_header = self.netloc

    def __str__(self) -> str:
        return self._text


@lru_cache(maxsize=512)
def parsed_url(url: str) -> ParsedUrl:
    """A URL as the HTTP library takes it. Raises `InvalidUrl`."""
    return ParsedUrl(url)


def with_client_params(client: AnyClient, url: Url) -> Url:
    """The URL with the client's own search parameters, which those in the URL override."""
    params = client.params
    if not params:
        return url
    given = url.params
    added = [(name, value) for name, value in params.multi_items() if name not in given]
    if not added:
        return url
    query = url.query.decode("ascii")
    return url.copy_with(query=f"{query}&{urlencode(added)}".lstrip("&").encode("ascii"))


def merged_headers(default: list[tuple[bytes, bytes]], own: Mapping[str, str], host: bytes) -> RawHeaders:
    """The client's headers with those of a request over them, and the host.

    An implied `Accept` stands over the HTTP library's own one, not over one that the user gave the client.
    """
    wanted = next((value for name, value in default if name.lower() == b"accept"), b"*/*")
    names = {
        name.lower()
        for name, value in own.items()
        if not (isinstance(value, ImpliedHeader) and wanted != b"*/*" and name.lower() == "accept")
    }
    own = {name: value for name, value in own.items() if name.lower() in names}
    defaults = [
        (
            (name, accepted(value.decode("latin-1")).encode("latin-1"))
            if name.lower() == b"accept-encoding"
            else (name, value)
        )
        for name, value in default
        if name.lower().decode("latin-1") not in names
    ]
    merged = httpx.Headers([*cast("list[tuple[Any, Any]]", defaults), *own.items()])
    return merged if "host" in merged else httpx.Headers([(b"Host", host), *merged.raw])


class SentHeaders(httpx.Headers):
    """The headers of a request, which the HTTP library looks up one by one, known until one changes: "direct call"."""

    def __init__(self, headers: httpx.Headers, items: dict[str, str] | None) -> None:
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

    def update(self, headers: Any = None) -> None:  # type: ignore[override]  # as httpx has it
        self._items = None
        super().update(headers)


def add_cookies(request: RawRequest, jar: CookieJar) -> None:
    """Adds the cookies of the jar that belong to the URL of this request, behind those that it has."""
    given = request.headers.pop("cookie", None)
    httpx.Cookies(jar).set_cookie_header(request)
    if given is not None:
        added = request.headers.get("cookie")
        request.headers["cookie"] = f"{given}; {added}" if added else given


def sets_cookies(response: RawResponse) -> bool:
    """True for a response with cookies to be kept."""
    return any(name.lower() == b"set-cookie" for name, _ in response.headers.raw)


def take_cookies(response: RawResponse, jar: CookieJar) -> None:
    """Puts the cookies of a response into the jar."""
    httpx.Cookies(jar).extract_cookies(response)


# --- requests --------------------------------------------------------------------------------------------------------


class _CompleteRequest(httpx.Request):
    """A request of which everything is known, so that nothing is looked for, and its content is joined when it is asked
    for: a tenth of "direct call".
    """

    def __init__(
        self, method: str, url: httpx.URL, headers: httpx.Headers, stream: httpx.ByteStream, extensions: dict[str, Any]
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.stream = stream
        self.extensions = extensions

    @property
    def content(self) -> bytes:
        return self.read()


def shown_request(request: RawRequest, url: Url, shown: Container[str]) -> RawRequest:
    """A request that stands for one that was sent, at this URL; only these headers have kept their value.

    It is that request itself where it holds nothing else: "fetch through the cache".
    """
    hidden = [name for name in request.headers if name not in shown]
    if not hidden and url is request.url:
        return request
    headers = httpx.Headers(request.headers)
    for name in hidden:
        headers[name] = "[redacted]"
    stream: Any = request.stream
    return _CompleteRequest(request.method, url, headers, stream, {})


def request_of_failure(error: BaseException) -> RawRequest | None:
    """The request that a failure of the HTTP library is about, where it knows one."""
    return getattr(error, "_request", None) if isinstance(error, httpx.RequestError) else None


def request_extensions(timeout: float | None) -> dict[str, Any]:
    """The extensions of a request that has a timeout of its own, in milliseconds."""
    return {} if timeout is None else {"timeout": httpx.Timeout(timeout / 1000).as_dict()}


def complete_request(
    method: str, url: Url, headers: RawHeaders, content: bytes, extensions: dict[str, Any]
) -> RawRequest:
    """A request whose body is known and whose headers say all that there is to say."""
    return _CompleteRequest(method, url, headers, httpx.ByteStream(content) if content else _NO_CONTENT, extensions)


def streaming_request(
    client: AnyClient, method: str, url: Url, headers: RawHeaders, body: Any, extensions: dict[str, Any]
) -> RawRequest:
    """A request whose body is read while it is sent: an open file or an iterable of bytes."""
    start = BodyStart(body)
    if start.length is not None:
        headers.setdefault("Content-Length", str(start.length))
    if hasattr(body, "read") and isinstance(client, httpx.AsyncClient):
        body = _File(body)
    request = httpx.Request(method, url, headers=headers, content=body, extensions=extensions)
    return _repeatable(client, request, start)


class _File:
    """An open file as the asynchronous client takes it: each time it is iterated, it is read from where it stands."""

    def __init__(self, file: Any) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := self._file.read(65_536):
            yield chunk


def multipart_request(
    client: AnyClient,
    method: str,
    url: Url,
    headers: RawHeaders,
    fields: dict[str, list[str]],
    files: list[tuple[str, Any]],
    extensions: dict[str, Any],
) -> RawRequest:
    """A request whose body is `multipart/form-data` of these text fields and files."""
    # Without a file httpx would send a urlencoded form: a part without file name is a text field all the same.
    parts: Any = files or [(name, (None, text)) for name, texts in fields.items() for text in texts]
    data = fields if files else None
    start = BodyStart({name: [file] for name, file in files})
    request = httpx.Request(method, url, headers=headers, data=data, files=parts, extensions=extensions)
    return _repeatable(client, request, start)


def _repeatable(client: AnyClient, request: httpx.Request, start: BodyStart) -> httpx.Request:
    """The request, whose body is put back to its start where the HTTP library sends it again."""
    asynchronous = isinstance(client, httpx.AsyncClient)
    wanted = httpx.AsyncByteStream if asynchronous else httpx.SyncByteStream
    stream: Any = request.stream
    if isinstance(stream, wanted):  # else the HTTP library says what is wrong
        request.stream = (_SentAsync if asynchronous else _Sent)(cast(Any, stream), start)
    return request


class _Sent(httpx.SyncByteStream):
    """A body that is read while it is sent."""

    def __init__(self, stream: httpx.SyncByteStream, start: BodyStart) -> None:
        self._stream = stream
        self.start = start
        self.begun = False

    def __iter__(self) -> Iterator[bytes]:
        self.begun = True
        yield from self._stream


class _SentAsync(httpx.AsyncByteStream):
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


# --- sending and reading ---------------------------------------------------------------------------------------------


def send(client: Client, request: RawRequest, auth: Any) -> RawResponse:
    """The response to this very request, its body still to be read; redirects are not followed."""
    return client.send(request, stream=True, auth=auth, follow_redirects=False)


def send_async(client: AsyncClient, request: RawRequest, auth: Any) -> Awaitable[RawResponse]:
    """The response to this very request, to be awaited, its body still to be read; redirects are not followed."""
    return client.send(request, stream=True, auth=auth, follow_redirects=False)


def content_coding(response: RawResponse) -> str:
    """How the body is packed that is still to come, as the response says."""
    if response.is_stream_consumed:
        return ""
    return ",".join(value.decode("latin-1") for name, value in response.headers.raw if name.lower() == _CODING)


def is_read(response: RawResponse) -> bool:
    """True for a response whose body came with it."""
    return response.is_stream_consumed


class BodyGuard(Protocol):
    """What stands between a body that arrives and whoever reads it."""

    whole: bool
    """The body is put together in place, so that it never stands in memory twice."""

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk of the body unfolds into. Raises for a body that may not be read further."""
        ...


def guard_body(response: RawResponse, guard: BodyGuard, *, packed: bool) -> None:
    """A body that is still to come goes through the guard. One that was `packed` is so no more for whoever reads it."""
    asynchronous = isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = (_GuardedAsync if asynchronous else _Guarded)(cast(Any, response.stream), guard)
    response.extensions[_GUARD] = guard
    if packed:
        del response.headers["content-encoding"]


def guard_of(response: RawResponse) -> Any:
    """The guard of the body of this response, if it has one."""
    return response.extensions.get(_GUARD)


class _Guarded(httpx.SyncByteStream):
    """The body of a response whose chunks go through a guard."""

    def __init__(self, stream: httpx.SyncByteStream, guard: BodyGuard) -> None:
        self._stream = stream
        self._guard = guard

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


class _GuardedAsync(httpx.AsyncByteStream):
    """The body of a response of the asynchronous client whose chunks go through a guard."""

    def __init__(self, stream: httpx.AsyncByteStream, guard: BodyGuard) -> None:
        self._stream = stream
        self._guard = guard

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


def bad_coding(problem: str) -> Exception:
    """What a response raises whose body is not packed as it says."""
    return httpx.DecodingError(problem)


def unread_content(response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
    """The body of a response whose content was asked for before it was read. Raises `error` where it is another one."""
    if not isinstance(error, httpx.ResponseNotRead):
        raise error
    if isinstance(response.stream, httpx.SyncByteStream):
        return cast(bytes, response.read())
    return cast("Awaitable[bytes]", response.aread())


def bad_redirect(error: BaseException) -> RawResponse | None:
    """The redirect that leads to no URL, where this failure of the HTTP library is about one.

    The library looks at the place where a redirect leads before anyone else sees the response.
    """
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "_build_redirect_request":
            found = trace.tb_frame.f_locals.get("response")
            return found if isinstance(found, httpx.Response) else None
        trace = trace.tb_next
    return None


def overdue() -> Exception:
    """What a response raises that takes longer than it may."""
    return httpx.ReadTimeout("the answer did not arrive within the timeout")


def overdue_step(error: BaseException) -> str | None:
    """The step of a request that took longer than it may: connect, read, write or pool; None for another failure."""
    return _TIMEOUTS.get(type(error), "read") if isinstance(error, httpx.TimeoutException) else None


def is_broken_connection(error: BaseException) -> bool:
    """True for a failure of the connection, false for an answer that came and cannot be read."""
    return isinstance(error, httpx.TransportError | OSError)


# --- for tests of users ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A request as `answering_client` shows it; header names are in lower case."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """The response that `answering_client` gives."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


def _shown(request: httpx.Request, content: bytes) -> Request:
    return Request(request.method, str(request.url), dict(request.headers), content)


def _given(response: Response) -> httpx.Response:
    return httpx.Response(response.status, headers=dict(response.headers), content=response.content)


@contextlib.contextmanager
def _as_httpx_errors(request: httpx.Request) -> Generator[None]:
    try:
        yield
    except TimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except ConnectionError as error:
        raise httpx.ConnectError(str(error), request=request) from error


def answering_client(respond: Callable[[Request], Response], base_url: str = "") -> Client:
    """A client whose requests are answered by a function; ConnectionError and TimeoutError are failures on the way."""

    def handle(request: httpx.Request) -> httpx.Response:
        with _as_httpx_errors(request):
            return _given(respond(_shown(request, request.read())))

    return httpx.Client(transport=httpx.MockTransport(handle), base_url=base_url)


def answering_async_client(
    respond: Callable[[Request], Response | Awaitable[Response]], base_url: str = ""
) -> AsyncClient:
    """An asynchronous client whose requests are answered by a function, which may be a coroutine function;
    ConnectionError and TimeoutError are failures on the way.
    """

    async def handle(request: httpx.Request) -> httpx.Response:
        with _as_httpx_errors(request):
            response = respond(_shown(request, await request.aread()))
            return _given(await response if inspect.isawaitable(response) else response)

    return httpx.AsyncClient(transport=httpx.MockTransport(handle), base_url=base_url)
