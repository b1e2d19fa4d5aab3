"""The transports that send the requests of endpoints: through which client, and with which credentials.

`exchange`, which needs the HTTP library, is imported by the first request, as that takes longer than all the rest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from weakref import WeakKeyDictionary

from ..base.calls import USE
from ..base.durations import Timeout, timeout_of
from ..base.fork import reset_in_child
from ..base.lazy_imports import asyncio
from ..base.steps import Outcome, Steps, drive, drive_async
from ..base.transport import (
    AwaitingClient,
    BlockingClient,
    BlockingTransport,
    Transport,
    has_scheme,
    joined,
    public_url,
)
from .auth import Preparation, Renewable, renewing
from .cancellation import TracedTransport
from .outgoing import outgoing_request
from .user_agent import NOBODY, Agent

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

Headers: TypeAlias = dict[str, str]
Prepare: TypeAlias = Preparation | Callable[[str, Headers], Any]
"""Gives the URL and the headers of a request as they are sent; under asyncio it may be a coroutine function."""

HTTP_VARIABLE: Final = "RESTENCIL_HTTP"
"""The environment variable that names the HTTP library where no argument does."""


class _HttpTransport(Transport):
    """What transports of both kinds have: library, base URL, timeout (ms), limit of size, reading of responses.

    The library is that of the client; without one that of the name `http`, of the environment, or an installed one.
    """

    request_id: str | None = None
    """The header in which the API names its requests, if it is none of the usual ones."""

    def __init__(
        self,
        client: object,
        *,
        http: str | None,
        base_url: str,
        timeout: Duration | Timeout | None,
        max_response_bytes: int | None,
        prepare: Prepare | None,
        agent: Agent,
        keeps_cookies: bool,
    ) -> None:
        self._given: Any = client
        self.owns_client = client is None
        """Whether the HTTP client is opened here, or by the transport that this one is a sibling of."""
        self._http = _chosen(http)
        if client is not None:
            from .library import check_client

            check_client(client, blocking=isinstance(self, BlockingTransport))
        if max_response_bytes is not None and max_response_bytes < 0:
            raise ValueError(f"max_response_bytes is not negative: {max_response_bytes!r}")
        self.base_url = str(base_url)
        self.timeout: float | Timeout | None = None if timeout is None else timeout_of(timeout, "timeout")
        self.limit = max_response_bytes
        self._prepare = prepare
        self.agent = agent
        self._lock = threading.Lock()
        self._for_one_call = False
        self._keeps_cookies = keeps_cookies
        self._owner: Self | None = None
        """Of a sibling, the transport that opens and closes the HTTP client."""

    def sibling(self, prepare: Prepare | None, *, own_cookies: bool) -> Self:
        """A transport over the same HTTP client, which this one closes, with other credentials.

        It keeps cookies of its own, or shares those of this one.
        """
        made = copy(self)
        made._prepare = prepare
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
        """The cookies of the responses that came through here, so that those who share a client share no cookies.

        None if the user's client keeps them itself.
        """
        from http.cookiejar import CookieJar

        return CookieJar() if self._keeps_cookies else None

    @property
    def base(self) -> str:
        """The base of relative URLs: that of the transport, else that of the user's client."""
        return self.base_url or str(getattr(self._given, "base_url", ""))

    def absolute(self, url: str) -> str:
        """The absolute URL of one that may be relative; it stays so without a base URL here or in the user's client."""
        base = self.base
        return joined(base, url) if base and not has_scheme(url) else url

    @cached_property
    def library(self) -> Library:
        """The library that requests go through. Raises ImportError if it is not installed."""
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

    def _placed(self, url: str, init: RequestInit) -> tuple[str, RequestInit]:
        """The request at the place of the client's API, with what the client gives all its requests."""
        prepare = self._prepare
        if not isinstance(prepare, Preparation):
            return url, init
        return prepare.add_parameters(prepare.locate(url), init)

    def _prepared(self, url: str, init: RequestInit) -> Ready | Steps:
        """The request as it is sent, or the steps that give it."""
        prepare = self._prepare
        if isinstance(prepare, Preparation):
            return prepare.of(url, _headers(init), init.get(USE))
        return _outcome(Outcome(public_url(url), "prepare", cast("Any", prepare)(url, _headers(init))))

    def _repeating(
        self,
        url: str,
        init: RequestInit,
        prepared: Renewable,
        timeout: float | Timeout | None,
        stream: bool,
    ) -> Steps:
        """Steps: the response to a request, which is sent once more where its token was renewed after a 401."""

        def send(ready: Ready) -> Any:
            return self._send(url, init, ready, timeout, stream)

        return renewing(prepared, init.get("body"), send, lambda: self._prepared(url, init))

    def _send(self, url: str, init: RequestInit, prepared: Any, timeout: Any, stream: bool) -> Any:
        """The response to a request that is ready to go out, or an awaitable of it."""
        raise NotImplementedError

    def read(self, response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
        """The body of a response whose content was read too early; an awaitable under asyncio."""
        from .streaming import unread_content

        return unread_content(response, error)

    def streamed(self, response: Any) -> StreamedResponse:
        """The response for the user, its body still to be read."""
        from .streaming import StreamedResponse

        return StreamedResponse(response, self if self._for_one_call else None)


def _chosen(http: str | None) -> str | None:
    """The name of the library in an argument, else in the environment; None without one.

    Raises ValueError for a name that is no library's.
    """
    name, source = (http, "http") if http is not None else (os.environ.get(HTTP_VARIABLE) or None, HTTP_VARIABLE)
    if name is not None:
        from .library import check_name

        check_name(name, source)
    return name


def library_for(http: str | None) -> Library:
    """The library of this name, of the environment, or the one that is installed; it is imported.

    Raises ValueError for a name that is no library's, ImportError for one that is not installed.
    """
    from .library import library_named

    return library_named(_chosen(http))


def _headers(init: RequestInit) -> Headers:
    return dict(init.get("headers") or ())


def _outcome(prepared: Outcome) -> Steps:
    return (yield prepared)


class SyncTransport(_HttpTransport, BlockingTransport):
    """Sends requests through a client for blocking code: the user's, never closed here, or one opened when needed.

    `client` is a Client of httpx or httpx2, `http` names the library of the one that is opened without it. `timeout` is
    in milliseconds, `max_response_bytes` limits a body after decompression (None: 256 MB for one that is read whole).
    `prepare(url, headers)` gives the URL and the headers that are really sent; what it adds never shows in errors and
    logs. Requests that can be aborted run on threads of the `scheduler`. With `for_one_call` no other call will use
    it.
    """

    def __init__(
        self,
        client: BlockingClient | None = None,
        *,
        http: str | None = None,
        base_url: str = "",
        timeout: Duration | Timeout | None = None,
        max_response_bytes: int | None = None,
        prepare: Prepare | None = None,
        agent: Agent = NOBODY,
        keeps_cookies: bool = True,
        scheduler: Scheduler | None = None,
        for_one_call: bool = False,
    ) -> None:
        super().__init__(
            client,
            http=http,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=prepare,
            agent=agent,
            keeps_cookies=keeps_cookies,
        )
        self._scheduler = scheduler
        self._opened: Client | None = None
        self._for_one_call = for_one_call
        reset_in_child.add(self)

    def forked(self) -> None:
        """Lets go of an opened client in a forked process, as its connections belong to the parent."""
        self._lock = threading.Lock()
        if self._opened is not None:
            _inherited.append(self._opened)
            self._opened = None

    @property
    def client(self) -> Client:
        """The client that requests go through."""
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
        """Sends a request and returns the response, its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (`status` is it) and for any failed connection (500),
        AbortError where `init["signal"]` is aborted before or meanwhile, ValueError for a URL that cannot be requested.
        """
        signal: AbortSignal | None = init.get("signal")
        if signal is not None:
            signal.raise_if_aborted()
        if self._prepare is None:
            return self._send(url, init, None, timeout, stream)
        url, init = self._placed(url, init)
        prepared = self._prepared(url, init)
        if not isinstance(prepared, tuple):
            prepared = cast("Ready", drive(prepared, self))
        if type(prepared) is not Renewable:
            return self._send(url, init, prepared, timeout, stream)
        return cast("RawResponse", drive(self._repeating(url, init, prepared, timeout, stream), self))

    def _send(
        self, url: str, init: RequestInit, prepared: Ready | None, timeout: float | Timeout | None, stream: bool
    ) -> RawResponse:
        outgoing = outgoing_request(self, url, init, prepared, timeout, stream=stream)
        signal: AbortSignal | None = init.get("signal")
        if signal is None:
            received: RawResponse = self._exchange.send(self.client, outgoing)
            return received
        from .abort import AbortableRequest

        return AbortableRequest(lambda: self._exchange.send(self.client, outgoing), signal, self._scheduler).wait()

    def send_bare(self, url: str, init: RequestInit, timeout: float | Timeout) -> RawResponse:
        """The response to a request to someone else than the API, which takes nothing of the client along."""
        outgoing = outgoing_request(self, url, init, None, timeout, is_bare=True)
        received: RawResponse = self._exchange.send(self.client, outgoing)
        return received

    def close(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncTransport(_HttpTransport, TracedTransport):
    """Sends requests through a client for asyncio: the user's, never closed here, or one opened for the running loop.

    `client` is an AsyncClient of httpx or httpx2, `http` names the library of the one that is opened without it. It
    runs on asyncio. `timeout` is in milliseconds, `max_response_bytes` limits a body after decompression (None: 256 MB
    for one that is read whole). `prepare(url, headers)`, which may be a coroutine function, gives the URL and the
    headers that are really sent; what it adds never shows in errors and logs.
    """

    def __init__(
        self,
        client: AwaitingClient | None = None,
        *,
        http: str | None = None,
        base_url: str = "",
        timeout: Duration | Timeout | None = None,
        max_response_bytes: int | None = None,
        prepare: Prepare | None = None,
        agent: Agent = NOBODY,
        keeps_cookies: bool = True,
    ) -> None:
        super().__init__(
            client,
            http=http,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=prepare,
            agent=agent,
            keeps_cookies=keeps_cookies,
        )
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    @property
    def client(self) -> AsyncClient:
        """The client that requests go through: the user's, or one for the running loop: connections belong to one."""
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
        """Sends a request; the coroutine gives the response, its body read unless `stream`.

        Raises NetworkError for a final status outside 200–299 (`status` is it) and for any failed connection (500),
        AbortError where `init["signal"]` is aborted before or meanwhile, ValueError for a URL that cannot be requested.
        """
        signal: AbortSignal | None = init.get("signal")
        if signal is not None:
            signal.raise_if_aborted()
        if self._prepare is None:
            return self._send(url, init, None, timeout, stream)
        return self._send_prepared(url, init, timeout, stream)

    async def _send_prepared(
        self, url: str, init: RequestInit, limit: float | Timeout | None, stream: bool
    ) -> RawResponse:
        url, init = self._placed(url, init)
        prepared = self._prepared(url, init)
        if not isinstance(prepared, tuple):
            prepared = cast("Ready", await drive_async(prepared, self))
        if type(prepared) is not Renewable:
            return await self._send(url, init, prepared, limit, stream)
        return cast("RawResponse", await drive_async(self._repeating(url, init, prepared, limit, stream), self))

    def _send(
        self, url: str, init: RequestInit, prepared: Ready | None, timeout: float | Timeout | None, stream: bool
    ) -> Coroutine[Any, Any, RawResponse]:
        outgoing = outgoing_request(self, url, init, prepared, timeout, stream=stream)
        sending: Coroutine[Any, Any, RawResponse] = self._exchange.send_async(self.client, outgoing)
        signal: AbortSignal | None = init.get("signal")
        if signal is None:
            return sending
        from .abort import unless_aborted

        return unless_aborted(sending, signal)

    def send_bare(self, url: str, init: RequestInit, timeout: float | Timeout) -> Coroutine[Any, Any, RawResponse]:
        """The response to a request to someone else than the API, which takes nothing of the client along."""
        outgoing = outgoing_request(self, url, init, None, timeout, is_bare=True)
        sending: Coroutine[Any, Any, RawResponse] = self._exchange.send_async(self.client, outgoing)
        return sending

    async def aclose(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        opened = None if self._owner is not None else self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def transport_for(client: object) -> SyncTransport | AsyncTransport:
    """The transport of a direct call: over the user's client, or one that opens a client for this call.

    Raises TypeError for an object that is no client.
    """
    if client is None:
        return SyncTransport(for_one_call=True)
    from .library import is_asynchronous

    # Several endpoints that are called directly are one user's, as the client is, which keeps their cookies.
    if is_asynchronous(client):
        return AsyncTransport(cast("AwaitingClient", client), keeps_cookies=False)
    return SyncTransport(cast("BlockingClient", client), keeps_cookies=False)


_inherited: Final[list[Client]] = []
"""Clients of a parent process: kept, so that nothing closes them here."""
