"""The transports that send the requests of endpoints through an HTTP client, with credentials.

The first request imports `exchange`, because it imports the HTTP library, which takes long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Coroutine
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast
from weakref import WeakKeyDictionary

from ..base.durations import Timeout, timeout_of
from ..base.fork import reset_in_child
from ..base.lazy_imports import asyncio
from ..base.scheduler import ThreadScheduler, WaitingScheduler
from ..base.steps import Steps, drive, drive_async
from ..base.transport import (
    AwaitingClient,
    AwaitingTransport,
    BlockingClient,
    BlockingTransport,
    Transport,
    has_scheme,
    joined,
)
from .auth import Preparation
from .outgoing import NOBODY, Agent, OutgoingRequest

if TYPE_CHECKING:
    from http.cookiejar import CookieJar
    from types import ModuleType
    from typing import Self

    from ..base.abort import AbortSignal
    from ..base.durations import Duration
    from ..base.scheduler import Scheduler
    from ..base.transport import RequestInit
    from .auth import Ready
    from .library import AsyncClient, Client, Library, RawResponse
    from .streaming import StreamedResponse


HTTP_VARIABLE: Final = "RESTENCIL_HTTP"
"""The environment variable with the name of the HTTP library, used without the argument `http`."""


class Settings(TypedDict, total=False):
    """The arguments of a transport of either kind."""

    http: str | None
    base_url: str
    timeout: Duration | Timeout | None
    max_response_bytes: int | None
    preparation: Preparation | None
    agent: Agent
    request_id: str | None
    keeps_cookies: bool


class _HttpTransport(Transport):
    """Base of both transports: library, base URL, timeout (ms), size limit of bodies, and reading of responses.

    The library is that of the client; without a client it is named by `http`, by the environment, or is an installed
    one.
    """

    def __init__(
        self,
        client: object,
        *,
        http: str | None = None,
        base_url: str = "",
        timeout: Duration | Timeout | None = None,
        max_response_bytes: int | None = None,
        preparation: Preparation | None = None,
        agent: Agent = NOBODY,
        request_id: str | None = None,
        keeps_cookies: bool = True,
    ) -> None:
        self._given: Any = client
        self.owns_client = client is None
        """Whether this transport, or the one that it is a sibling of, opens the HTTP client."""
        self._http = _chosen(http)
        if client is not None:
            from .library import check_client

            check_client(client, blocking=isinstance(self, BlockingTransport))
        if max_response_bytes is not None and max_response_bytes < 0:
            raise ValueError(f"max_response_bytes is {max_response_bytes!r}; expected a number that is not negative")
        self.base_url = str(base_url)
        self.timeout: float | Timeout | None = None if timeout is None else timeout_of(timeout, "timeout")
        self.limit = max_response_bytes
        self._preparation = preparation
        self.agent = agent
        self.request_id = request_id
        """The response header with the request id, if it is not one of the usual ones."""
        self._lock = threading.Lock()
        self._for_one_call = False
        self._keeps_cookies = keeps_cookies
        self._owner: Self | None = None
        """For a sibling, the transport that opens and closes the HTTP client."""

    def sibling(self, preparation: Preparation | None, *, own_cookies: bool) -> Self:
        """Return a transport with other credentials over the same HTTP client, which this transport closes.

        With `own_cookies` it has a separate cookie jar; else it shares that of this transport.
        """
        made = copy(self)
        made._preparation = preparation
        made._lock = threading.Lock()
        made._owner = self
        made._keeps_cookies = True
        if own_cookies:
            made.__dict__.pop("jar", None)
        else:
            made.__dict__["jar"] = self.jar
        return made

    @cached_property
    def jar(self) -> CookieJar | None:
        """The cookies of responses to this transport, so that transports with one HTTP client do not share cookies.

        None if the user's client stores them itself.
        """
        from http.cookiejar import CookieJar

        return CookieJar() if self._keeps_cookies else None

    @property
    def base(self) -> str:
        """The base URL of relative URLs: that of the transport, else that of the user's client."""
        return self.base_url or str(getattr(self._given, "base_url", ""))

    def absolute(self, url: str) -> str:
        """Return a URL joined with the base URL if it is relative; unchanged without a base URL."""
        base = self.base
        return joined(base, url) if base and not has_scheme(url) else url

    @cached_property
    def library(self) -> Library:
        """The HTTP library of the client. Raises ImportError if it is not installed."""
        from .library import library_named, library_of
        from .redaction import watch_loggers

        found = library_named(self._http) if self._given is None else library_of(self._given)
        watch_loggers(found)
        return found

    @cached_property
    def _exchange(self) -> ModuleType:
        """The module that sends requests. The first request imports it, as it needs the HTTP library."""
        from . import exchange

        return exchange

    def _prepared(self, preparation: Preparation, url: str, init: RequestInit, timeout: Any, stream: bool) -> Steps:
        """Steps that prepare and send a request, and return its response."""

        def send(url: str, init: RequestInit, ready: Ready) -> object:
            return self._send(url, init, ready, timeout, stream)

        return preparation.steps(url, init, send)

    def _send(self, url: str, init: RequestInit, prepared: Any, timeout: Any, stream: bool) -> object:
        """Send a prepared request and return the response, or an awaitable of it."""
        raise NotImplementedError

    def read(self, response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
        """Return the body of a response whose `content` raised `error`; an awaitable of it with asyncio."""
        from .streaming import unread_content

        return unread_content(response, error)

    def streamed(self, response: Any) -> StreamedResponse:
        """Return the response for the user, whose body is not read yet."""
        from .streaming import StreamedResponse

        return StreamedResponse(response, self if self._for_one_call else None)


def _chosen(http: str | None) -> str | None:
    """Return the name of the library from the argument or the environment; None without one.

    Raises ValueError for an unknown name.
    """
    name, source = (http, "http") if http is not None else (os.environ.get(HTTP_VARIABLE) or None, HTTP_VARIABLE)
    if name is not None:
        from .library import check_name

        check_name(name, source)
    return name


def library_for(http: str | None) -> Library:
    """Import and return the library of this name, or of the environment, or an installed one.

    Raises ValueError for an unknown name, and ImportError for a library that is not installed.
    """
    from .library import library_named

    return library_named(_chosen(http))


class SyncTransport(_HttpTransport, BlockingTransport):
    """Sends requests through a blocking client: the user's, which it never closes, or one that it opens when needed.

    `client` is a Client of httpx or httpx2; without it, `http` is the name of the library. `timeout` is in
    milliseconds. `max_response_bytes` limits a body after decompression (None: 256 MB for one that is read whole).
    The additions of the `preparation` never appear in errors and logs. Requests that can be aborted run on threads of
    the `scheduler`. With `for_one_call` only one call uses the transport.
    """

    def __init__(
        self,
        client: BlockingClient | None = None,
        *,
        scheduler: Scheduler | None = None,
        for_one_call: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(client, **settings)
        self.scheduler: Scheduler = (
            scheduler if isinstance(scheduler, ThreadScheduler | WaitingScheduler) else ThreadScheduler()
        )
        """Runs requests on separate threads; it must be one through which threads can wait for them."""
        self._opened: Client | None = None
        self._for_one_call = for_one_call
        reset_in_child.add(self)

    def forked(self) -> None:
        """Replace an opened client in a forked process, because its connections belong to the parent."""
        self._lock = threading.Lock()
        if self._opened is not None:
            _inherited.append(self._opened)
            self._opened = None

    @property
    def client(self) -> Client:
        """The HTTP client that sends the requests."""
        if self._given is not None:
            given: Client = self._given
            return given
        if self._owner is not None:
            return self._owner.client
        with self._lock:
            if self._opened is None:
                from .deadlines import open_client

                self._opened = open_client(self.library)
            return self._opened

    def send(
        self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False
    ) -> RawResponse:
        """Send a request and return the response, with its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (as its `status`) and for a failed connection (500),
        AbortError if `init["signal"]` is aborted before or meanwhile, and ValueError for an invalid URL.
        """
        signal: AbortSignal | None = init.get("signal")
        if signal is not None:
            signal.raise_if_aborted()
        preparation = self._preparation
        if preparation is None:
            return self._send(url, init, None, timeout, stream)
        received: RawResponse = drive(self._prepared(preparation, url, init, timeout, stream), self)
        return received

    def _send(
        self, url: str, init: RequestInit, prepared: Ready | None, timeout: float | Timeout | None, stream: bool
    ) -> RawResponse:
        outgoing = OutgoingRequest(self, url, init, prepared, timeout, stream=stream)
        signal: AbortSignal | None = init.get("signal")
        if signal is None:
            received: RawResponse = self._exchange.send(self.client, outgoing)
            return received
        from .abort import AbortableRequest

        return AbortableRequest(lambda: self._exchange.send(self.client, outgoing), signal, self.scheduler).wait()

    def send_bare(self, url: str, init: RequestInit, timeout: float | Timeout) -> RawResponse:
        """Send a request to a server other than the API, such as that of tokens, without credentials or cookies."""
        outgoing = OutgoingRequest(self, url, init, None, timeout, is_bare=True)
        received: RawResponse = self._exchange.send(self.client, outgoing)
        return received

    def close(self) -> None:
        """Close the HTTP client if this transport opened it; the next request opens another one."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


class AsyncTransport(_HttpTransport, AwaitingTransport):
    """Sends requests through an async client: the user's, which it never closes, or one it opens for the running loop.

    `client` is an AsyncClient of httpx or httpx2; without it, `http` is the name of the library. It needs asyncio.
    `timeout` is in milliseconds. `max_response_bytes` limits a body after decompression (None: 256 MB for one that is
    read whole). The additions of the `preparation` never appear in errors and logs.
    """

    def __init__(self, client: AwaitingClient | None = None, **settings: Unpack[Settings]) -> None:
        super().__init__(client, **settings)
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    @property
    def client(self) -> AsyncClient:
        """The HTTP client that sends the requests: the user's, or one for the running loop, which owns connections."""
        if self._given is not None:
            given: AsyncClient = self._given
            return given
        if self._owner is not None:
            return self._owner.client
        loop = asyncio.get_running_loop()
        opened = self._opened.get(loop)
        if opened is None:
            from .deadlines import open_async_client

            opened = self._opened[loop] = open_async_client(self.library)
        return opened

    def send(
        self, url: str, init: RequestInit, *, timeout: float | Timeout | None = None, stream: bool = False
    ) -> Coroutine[Any, Any, RawResponse]:
        """Send a request; the coroutine returns the response, with its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (as its `status`) and for a failed connection (500),
        AbortError if `init["signal"]` is aborted before or meanwhile, and ValueError for an invalid URL.
        """
        signal: AbortSignal | None = init.get("signal")
        if signal is not None:
            signal.raise_if_aborted()
        preparation = self._preparation
        if preparation is None:
            return self._send(url, init, None, timeout, stream)
        return drive_async(self._prepared(preparation, url, init, timeout, stream), self)

    def _send(
        self, url: str, init: RequestInit, prepared: Ready | None, timeout: float | Timeout | None, stream: bool
    ) -> Coroutine[Any, Any, RawResponse]:
        outgoing = OutgoingRequest(self, url, init, prepared, timeout, stream=stream)
        sending: Coroutine[Any, Any, RawResponse] = self._exchange.send_async(self.client, outgoing)
        signal: AbortSignal | None = init.get("signal")
        if signal is None:
            return sending
        from .abort import unless_aborted

        return unless_aborted(sending, signal)

    def send_bare(self, url: str, init: RequestInit, timeout: float | Timeout) -> Coroutine[Any, Any, RawResponse]:
        """Send a request to a server other than the API, such as that of tokens, without credentials or cookies."""
        outgoing = OutgoingRequest(self, url, init, None, timeout, is_bare=True)
        sending: Coroutine[Any, Any, RawResponse] = self._exchange.send_async(self.client, outgoing)
        return sending

    async def aclose(self) -> None:
        """Close the HTTP client if this transport opened it; the next request opens another one."""
        opened = None if self._owner is not None else self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.aclose()


def transport_for(client: object) -> SyncTransport | AsyncTransport:
    """Return the transport of a direct call: over the user's client, or one that opens a client for this call.

    Raises TypeError for an object that is not an HTTP client.
    """
    if client is None:
        return SyncTransport(for_one_call=True)
    from .library import is_asynchronous

    # Direct calls through one client belong to the same user, so the client itself stores their cookies.
    if is_asynchronous(client):
        return AsyncTransport(cast("AwaitingClient", client), keeps_cookies=False)
    return SyncTransport(cast("BlockingClient", client), keeps_cookies=False)


_inherited: Final[list[Client]] = []
"""HTTP clients of the parent process, referenced so that garbage collection does not close them."""
