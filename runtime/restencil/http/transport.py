"""The seam to HTTP: the forms of bodies, what an answer is, and the transports that requests go through.

A transport sends a request for an endpoint through an httpx client, its own or the user's. Everything that needs httpx
stands in `restencil.exchange`, which the first request or client imports: that takes longer than all the rest.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ..base.errors import NetworkError
from ..base.lazy import asyncio, urls
from ..base.steps import Outcome
from ..base.values import described, is_list, is_sequence
from ..endpoint.path import scalar_text

if TYPE_CHECKING:
    from typing import Self

    import httpx

    from ..base.abort import AbortSignal
    from ..base.scheduler import Scheduler
    from .adapter import AsyncSender, Order, SyncSender

Headers: TypeAlias = dict[str, str]
Prepare: TypeAlias = Callable[[str, Headers], Any]

URL_EXTENSION: Final = "restencil_url"
"""The extension of an answer that holds its URL without what must not be shown."""
SIGNAL_EXTENSION: Final = "restencil_signal"
"""The extension of a streamed answer that holds the signal of its request."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
_USERINFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")
_UNTEXTUAL: Final = re.compile("text|xml|html|javascript|css|csv|urlencoded").search


class Form(dict[str, Any]):
    """A body sent as `application/x-www-form-urlencoded`; a list gives its field several times, None none."""

    def encoded(self) -> bytes:
        """The body's bytes. Raises TypeError for a nested dict."""
        return urls.urlencode(self._pairs()).encode("ascii")

    def _pairs(self) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        for name, value in self.items():
            for item in value if is_sequence(value) else (value,):
                if item is None:
                    continue
                text = scalar_text(item)
                if text is None:
                    raise TypeError(f"form field {name!r} is {described(item)}, which has no text in a form")
                pairs.append((name, text))
        return pairs


class Multipart(dict[str, Any]):
    """A body sent as `multipart/form-data`.

    A value that is bytes, an open file or a tuple `(file name, content[, content type])` is a file; others are text.
    A list gives its field several times, None none.
    """

    def split(self) -> tuple[dict[str, list[str]], list[tuple[str, Any]]]:
        """The text fields and the files. Raises TypeError for a value that is neither."""
        fields: dict[str, list[str]] = {}
        files: list[tuple[str, Any]] = []
        for name, value in self.items():
            for item in value if is_list(value) else (value,):
                if is_file(item):
                    files.append((name, item))
                elif item is not None:
                    text = scalar_text(item)
                    if text is None:
                        raise TypeError(f"multipart field {name!r} is {described(item)}; expected text or a file")
                    fields.setdefault(name, []).append(text)
        return fields, files


def is_file(value: Any) -> bool:
    """True for what a multipart body sends as a file: bytes, an open file, a tuple of name, content and type."""
    return isinstance(value, bytes | tuple) or hasattr(value, "read")


def content_type_of(response: Any) -> str:
    """The content type of an answer in lower case, empty where it has none."""
    return str(response.headers.get("content-type", "")).lower()


def is_binary(content_type: str) -> bool:
    """True for a content type that is given and names nothing textual (§3.4)."""
    return bool(content_type) and _UNTEXTUAL(content_type) is None


def content_of(response: Any) -> bytes | Awaitable[bytes]:
    """The body of an answer, read where that has not happened yet; an awaitable where it must be awaited."""
    try:
        return cast(bytes, response.content)
    except RuntimeError as error:
        from .adapter import late_content

        return late_content(response, error)


def text_of(response: Any, content: bytes) -> str:
    """The body as text, in the charset that the answer names, else UTF-8; bytes that do not decode are replaced."""
    try:
        return content.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def url_of(response: Any) -> str:
    """Where an answer came from, without credentials; for messages."""
    known = getattr(response, "extensions", {}).get(URL_EXTENSION)
    if isinstance(known, str):
        return known
    try:
        return public_url(str(response.request.url))
    except (AttributeError, RuntimeError):
        return ""


def public_url(url: str) -> str:
    """A URL without user name and password."""
    return _USERINFO.sub(r"\1", url)


class StreamedResponse:
    """An answer whose body has not been read yet: `with endpoint(…) as answer: for chunk in answer.iter_bytes(): …`

    The body is read through one of the iterators, once; leaving the context, or `close()`/`aclose()`, gives the
    connection back. The body may be limited in size: past `max_response_bytes` iterating raises NetworkError. The
    signal of the request holds for the body too: once it is aborted, the next chunk is an AbortError, for which the
    asynchronous iterators do not wait.
    """

    def __init__(self, response: httpx.Response, transport: SyncTransport | AsyncTransport | None = None) -> None:
        self.response = response
        self._owner = transport if transport is not None and transport.for_one_call else None
        if self._owner is not None:
            self._owner.handed_over = True
        self._limit = transport.max_response_bytes if transport is not None else None
        self._signal: AbortSignal | None = response.extensions.get(SIGNAL_EXTENSION)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """The answer's headers; names are compared without case."""
        return self.response.headers

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The body, decompressed, in chunks. Raises NetworkError where the connection breaks or the limit is passed."""
        with _reported(self.response), contextlib.closing(self.response):
            seen = 0
            for chunk in self.response.iter_bytes(chunk_size):
                if self._signal is not None:
                    self._signal.raise_if_aborted()
                seen += len(chunk)
                check_size(self.response, seen, self._limit)
                yield chunk

    def iter_lines(self) -> Iterator[str]:
        """The body as text, line by line, without the line ends."""
        return _lines(self.response, self.iter_bytes())

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self.iter_bytes())

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """`iter_bytes` of the asynchronous client."""
        with _reported(self.response):
            try:
                seen = 0
                chunks = aiter(self.response.aiter_bytes(chunk_size))
                while True:
                    with _unless_aborted(self._signal):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    seen += len(chunk)
                    check_size(self.response, seen, self._limit)
                    yield chunk
            finally:
                await self.response.aclose()

    async def aiter_lines(self) -> AsyncIterator[str]:
        """`iter_lines` of the asynchronous client."""
        splitter = _LineSplitter(self.response)
        async for chunk in self.aiter_bytes():
            for line in splitter.feed(chunk):
                yield line
        for line in splitter.end():
            yield line

    async def aread(self) -> bytes:
        """`read` of the asynchronous client."""
        return b"".join([chunk async for chunk in self.aiter_bytes()])

    def close(self) -> None:
        """Gives the connection back; the body is not read further."""
        self.response.close()
        if isinstance(self._owner, SyncTransport):
            self._owner.close()

    async def aclose(self) -> None:
        """`close` of the asynchronous client."""
        await self.response.aclose()
        if isinstance(self._owner, AsyncTransport):
            await self._owner.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<StreamedResponse {self.status}>"


class _LineSplitter:
    def __init__(self, response: httpx.Response) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder(response.charset_encoding or "utf-8")("replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> list[str]:
        lines = (self._rest + self._decoder.decode(chunk)).splitlines(keepends=True)
        # A "\r" at the end may be the first half of "\r\n".
        self._rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        return [line.splitlines()[0] for line in lines]

    def end(self) -> list[str]:
        return (self._rest + self._decoder.decode(b"", True)).splitlines()


def _lines(response: httpx.Response, chunks: Iterable[bytes]) -> Iterator[str]:
    splitter = _LineSplitter(response)
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.end()


@contextlib.contextmanager
def _reported(response: httpx.Response) -> Generator[None]:
    from .adapter import RequestError

    try:
        yield
    except RequestError as error:
        url = url_of(response)
        raise NetworkError(f"{url}: {reason(error)}", url=url) from error


@contextlib.contextmanager
def _unless_aborted(signal: AbortSignal | None) -> Generator[None]:
    """What the running task awaits in this block ends with AbortError as soon as the signal is aborted."""
    if signal is None:
        yield
        return
    signal.raise_if_aborted()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    waits = True
    gave_up = False

    def give_up() -> None:
        nonlocal gave_up
        if waits:
            gave_up = True
            task.cancel()

    forget = signal.add_listener(lambda: loop.call_soon_threadsafe(give_up))
    try:
        yield
    except asyncio.CancelledError:
        if gave_up and task.uncancel() == 0:
            raise signal.error() from None
        raise
    finally:
        waits = False
        forget()


def check_size(response: httpx.Response, seen: int, limit: int | None) -> None:
    """Raises NetworkError for a body of which more was seen than the limit allows."""
    if limit is not None and seen > limit:
        url = url_of(response)
        raise NetworkError(
            f"{url}: the body is larger than max_response_bytes, which is {limit} after decompression",
            response=response,
            url=url,
        )


def reason(error: BaseException) -> str:
    """What an error says, its type where it says nothing."""
    return str(error) or type(error).__name__


# --- the transports --------------------------------------------------------------------------------------------------


class _Transport:
    """What both transports know: base URL, timeout (ms), limit of size, and who closes the client."""

    def __init__(
        self,
        *,
        base_url: str,
        timeout: float | None,
        max_response_bytes: int | None,
        prepare: Prepare | None,
    ) -> None:
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout is a positive number of milliseconds, not {timeout!r}")
        if max_response_bytes is not None and max_response_bytes < 0:
            raise ValueError(f"max_response_bytes is not negative: {max_response_bytes!r}")
        self.base_url = str(base_url)
        self.timeout = timeout
        self.max_response_bytes = max_response_bytes
        self._prepare = prepare
        self._lock = threading.Lock()
        self.handed_over = False
        """True once a streamed answer has taken over the closing of a transport that serves one call."""
        self.for_one_call = False

    def _order(
        self,
        sender: SyncSender | AsyncSender,
        url: str,
        init: Mapping[str, Any],
        prepared: tuple[str, Headers] | None,
        timeout: float | None,
        stream: bool,
    ) -> Order:
        if prepared is not None:
            address, headers = prepared
        else:
            address, own = url, init.get("headers")
            headers = cast("Headers", own) if type(own) is dict else _headers(init)
        limit = init.get("timeout")
        if limit is None:
            limit = timeout if timeout is not None else self.timeout
        absolute = public = address if _SCHEME(address) else _resolved(address, sender.base)
        if prepared is not None:
            # What was added to the query may be a secret; where the request really goes is none.
            path, _, query = absolute.partition("?")
            given = url.partition("?")[2]
            if query != given:
                public = f"{path}?{given}" if given else path
        if "@" in public:
            public = public_url(public)
        shown = None if prepared is None or public == absolute else public
        return sender.order(sender, absolute, public, shown, init, headers, limit, stream)


def _headers(init: Mapping[str, Any]) -> Headers:
    return dict(init.get("headers") or ())


def _resolved(url: str, base: str) -> str:
    """The absolute URL of a relative one. Raises ValueError without a base."""
    if not base:
        raise ValueError(
            f"the URL {url!r} is relative and there is no base URL: set url_prefix on the endpoint, "
            "or base_url on the controller or client"
        )
    if not url or url.startswith("?"):
        return base + url
    return f"{base.removesuffix('/')}/{url.removeprefix('/')}"


class SyncTransport(_Transport):
    """Sends requests through an `httpx.Client`: the user's, never closed here, or one opened at the first request.

    `timeout` is in milliseconds, `max_response_bytes` limits a body after decompression. `prepare(url, headers)` gives
    the URL and the headers that are really sent; what it adds never shows in errors and logs. Requests that can be
    aborted run on threads of the `scheduler`.
    """

    def __init__(
        self,
        client: httpx.Client | None = None,
        *,
        base_url: str = "",
        timeout: float | None = None,
        max_response_bytes: int | None = None,
        prepare: Prepare | None = None,
        scheduler: Scheduler | None = None,
    ) -> None:
        super().__init__(
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=prepare,
        )
        self._given = client
        self._scheduler = scheduler
        self._sender: SyncSender | None = None

    @property
    def client(self) -> httpx.Client:
        """The client that requests go through."""
        return self._sending().client

    def _sending(self) -> SyncSender:
        from .adapter import SyncSender

        with self._lock:
            if self._sender is None:
                self._sender = SyncSender(self._given, self.base_url, self.max_response_bytes)
            return self._sender

    def send(
        self, url: str, init: Mapping[str, Any], *, timeout: float | None = None, stream: bool = False
    ) -> httpx.Response:
        """Sends what `init` says and returns the answer, its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (`status` is it) and for any failure on the way (500),
        AbortError where `init["signal"]` is aborted before or meanwhile, ValueError for a URL that cannot be requested.
        """
        signal = cast("AbortSignal | None", init.get("signal"))
        if signal is not None:
            signal.raise_if_aborted()
        prepared: tuple[str, Headers] | None = None
        if self._prepare is not None:
            prepared = Outcome(public_url(url), "prepare", self._prepare(url, _headers(init))).run(self)
        sender = self._sender or self._sending()
        order = self._order(sender, url, init, prepared, timeout, stream)
        if signal is None:
            return sender.carry_out(order)
        response = _Abortable(lambda: sender.carry_out(order), signal, self._scheduler).wait()
        response.extensions[SIGNAL_EXTENSION] = signal
        return response

    def close(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        if self._sender is not None:
            self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Abortable:
    """A request in a thread of its own, so that whoever waits for it can be released at once.

    httpx has no way to interrupt a request from another thread. The thread of an aborted request ends by itself: with
    the answer, which is closed unread, or with the timeout.
    """

    def __init__(self, send: Callable[[], httpx.Response], signal: AbortSignal, scheduler: Scheduler | None) -> None:
        self._send = send
        self._signal = signal
        self._scheduler = scheduler
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._abandoned = False
        self._response: httpx.Response | None = None
        self._error: BaseException | None = None

    def _work(self) -> None:
        try:
            response = self._send()
        except BaseException as error:
            self._error = error
        else:
            with self._lock:
                self._response = response
                abandoned = self._abandoned
            if abandoned:
                response.close()
        self._done.set()

    def wait(self) -> httpx.Response:
        """The answer. Raises AbortError as soon as the signal is aborted."""
        forget = self._signal.add_listener(self._done.set)
        context = copy_context()
        try:
            if self._scheduler is None:
                threading.Thread(
                    target=context.run, args=(self._work,), name="restencil-abortable", daemon=True
                ).start()
                self._done.wait()
            else:
                from ..base.scheduler import block

                self._scheduler.spawn(lambda: context.run(self._work))
                block(self._scheduler, self._done)
        finally:
            forget()
        if self._signal.aborted:
            with self._lock:
                self._abandoned = True
                response = self._response
            if response is not None:
                response.close()
            raise self._signal.error()
        if self._error is not None:
            raise self._error
        return cast("httpx.Response", self._response)


class AsyncTransport(_Transport):
    """Sends requests through an `httpx.AsyncClient`; everything else is as in `SyncTransport`.

    It runs on asyncio. `prepare` may be a coroutine function.
    """

    def __init__(
        self,
        client: httpx.AsyncClient | None = None,
        *,
        base_url: str = "",
        timeout: float | None = None,
        max_response_bytes: int | None = None,
        prepare: Prepare | None = None,
    ) -> None:
        super().__init__(
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=prepare,
        )
        self._given = client
        self._sender: AsyncSender | None = None
        self.traces = False
        """True once a connection of the client has told what it does: the client has a pool (`restencil.guard`)."""

    @property
    def client(self) -> httpx.AsyncClient:
        """The client that requests go through: the user's, or one for the running loop: connections belong to one."""
        return self._sending().client

    def _sending(self) -> AsyncSender:
        from .adapter import AsyncSender

        with self._lock:
            if self._sender is None:
                self._sender = AsyncSender(self._given, self.base_url, self.max_response_bytes, self)
            return self._sender

    def send(
        self, url: str, init: Mapping[str, Any], *, timeout: float | None = None, stream: bool = False
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Sends what `init` says and returns the answer, its body read unless `stream`.

        Raises what `SyncTransport.send` raises.
        """
        signal = cast("AbortSignal | None", init.get("signal"))
        if signal is not None:
            signal.raise_if_aborted()
        if signal is not None or self._prepare is not None:
            return self._send_prepared(url, init, timeout, stream, signal)
        sender = self._sender or self._sending()
        return sender.carry_out(self._order(sender, url, init, None, timeout, stream))

    async def _send_prepared(
        self, url: str, init: Mapping[str, Any], limit: float | None, stream: bool, signal: AbortSignal | None
    ) -> httpx.Response:
        prepared: tuple[str, Headers] | None = None
        if self._prepare is not None:
            prepared = await Outcome(public_url(url), "prepare", self._prepare(url, _headers(init))).run_async(self)
        sender = self._sender or self._sending()
        order = self._order(sender, url, init, prepared, limit, stream)
        if signal is None:
            return await sender.carry_out(order)
        response = await sender.carry_out_unless_aborted(order, signal)
        response.extensions[SIGNAL_EXTENSION] = signal
        return response

    async def aclose(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        if self._sender is not None:
            await self._sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def transport_for(client: object) -> SyncTransport | AsyncTransport:
    """The transport of a direct call: over the user's client, or one that opens a client for this call (§3.1).

    Raises TypeError for something that is no client.
    """
    if client is None:
        transport = SyncTransport()
        transport.for_one_call = True
        return transport
    from .adapter import is_asynchronous

    if is_asynchronous(client):
        return AsyncTransport(cast("httpx.AsyncClient", client))
    return SyncTransport(cast("httpx.Client", client))
