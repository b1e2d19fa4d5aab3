"""The senders: they carry orders out through a client of the HTTP library, the user's or one that is opened here."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary, WeakSet

from ..base.answers import ORDER
from ..base.errors import NetworkError
from ..base.lazy import asyncio
from ..base.steps import drive, drive_async, receiver
from .adapter import (
    auth_of,
    open_async_client,
    open_client,
    request_extensions,
    send,
    send_async,
    with_client_params,
)
from .bodies import request_with
from .cancellation import current_cancellation
from .credentials import CREDENTIALS, give_cookies, keep_cookies, kept_elsewhere, redirect_headers, watch_jar
from .deadlines import deadline
from .disclosure import disclose, disclose_failure
from .failures import failed
from .limits import read, read_async
from .outgoing import Sender
from .redaction import redacted, shown_url
from .redirects import REDIRECTS, settled

if TYPE_CHECKING:
    from ..base.transport import BlockingTransport
    from .cancellation import TracedTransport
    from .library import AnyClient, AsyncClient, Client, Library, RawRequest, RawResponse
    from .outgoing import Order
    from .user_agent import Agent

log: Final = logging.getLogger("restencil.transport")
_CONDITIONAL: Final = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")
_SENT: Final = "%s %s: %d after %d ms, sent with %s"


def _first_request(client: AnyClient, order: Order) -> RawRequest:
    """The first request of an order, as the client itself would build it but for cookies. Raises ValueError."""
    init, library = order.init, order.sender.library
    redirect, credentials = init.get("redirect"), init.get("credentials")
    if redirect is not None and redirect not in REDIRECTS:
        raise ValueError(f"redirect is 'follow', 'error' or 'manual', not {redirect!r}")
    if credentials is not None and credentials not in CREDENTIALS:
        raise ValueError(f"credentials is 'omit', 'same-origin' or 'include', not {credentials!r}")
    try:
        url = library.parsed_url(order.url)
    except library.InvalidURL as error:
        raise ValueError(f"not a URL that can be requested: {order.public!r} ({error})") from error
    request = request_with(
        library,
        client,
        str(init.get("method") or "GET").upper(),
        url if order.apart else with_client_params(client, url),
        order.sender.headers(client, order.headers, url.host_header),
        init.get("body"),
        request_extensions(client, order.timeout),
    )
    if order.apart:
        redirect_headers(library, request, order.headers, same_origin=False)
        request.headers.update(order.headers)
    else:
        give_cookies(client, order, request, at_home=True)
    order.request = request
    return request


def _make_conditional(request: RawRequest, order: Order, transport: object) -> None:
    """Adds the condition on which there is to be an answer, unless the user set one, or wants one in any case."""
    told = receiver.get()
    if told is None or told.condition is None or told.transport is not transport or order.apart:
        return
    headers = request.headers
    if not headers.keys().isdisjoint(_CONDITIONAL) or "no-cache" in headers.get("cache-control", "").lower():
        return
    name, value = told.condition
    headers[name] = value
    order.is_conditional = name != "If-Match"


def _auth_of(client: AnyClient, order: Order) -> Any:
    """The `auth` of the first request of an order: that of the client, unless it goes to someone else."""
    library = order.sender.library
    return library.no_auth if order.apart else auth_of(library, client, order.url, order.guard)


def _is_settled(response: RawResponse, order: Order) -> bool:
    """True for a response of which nothing is to be followed, handed on unread, or refused."""
    response.extensions[ORDER] = order
    if not order.apart:
        keep_cookies(order, response)
    if log.isEnabledFor(logging.DEBUG):
        method, headers = order.init.get("method"), redacted(response.request.headers)
        log.debug(_SENT, method, order.public, response.status_code, order.elapsed, headers)
    return 200 <= response.status_code < 300 and not order.stream


def _answered(order: Order, response: RawResponse, transport: object) -> RawResponse:
    """The response to an order as whoever asked may see it; who wants to know the answer of a call is told."""
    order.end()
    disclose(order, response)
    told = receiver.get()
    if told is not None and told.transport is transport:
        told.answer = response
    return response


def _disclosed(order: Order, error: BaseException) -> NetworkError:
    """The error of an order, with what may be shown of its request."""
    raised = error if isinstance(error, NetworkError) else failed(order, error)
    for failure in (error, error.__cause__, error.__context__):
        if failure is not None:
            disclose_failure(order, failure)
    response: Any = raised.response
    if response is not None:
        disclose(order, response)
    return raised


class SyncSender(Sender):
    """Carries orders out for blocking code: through the given client, never closed here, or one opened when needed."""

    def __init__(
        self,
        library: Library,
        given: Client | None,
        base: str,
        limit: int | None,
        agent: Agent,
        *,
        keeps_cookies: bool,
    ) -> None:
        super().__init__(library, given, base, limit, agent, keeps_cookies=keeps_cookies)
        self._client = given
        self._lock = threading.Lock()
        self._beside: SyncSender | None = None
        _sync_senders.add(self)

    def beside(self) -> SyncSender:
        """A sender through the client of this one, which alone opens and closes it, that keeps cookies of its own."""
        given = None if self.owns else self._client
        made = SyncSender(self.library, given, self._base, self.limit, self._agent, keeps_cookies=True)
        made._beside = self
        return made

    def forked(self) -> None:
        """This is a forked process: a client that was opened has the parent's connections, so a new one follows."""
        self._lock = threading.Lock()
        if self.owns and self._client is not None:
            _inherited.append(self._client)
            self._client = None

    @property
    def client(self) -> Client:
        """The client that requests go through."""
        if self._beside is not None:
            return self._beside.client
        with self._lock:
            if self._client is None:
                self._client = open_client(self.library)
            return self._client

    def carry_out(self, order: Order, transport: BlockingTransport) -> RawResponse:
        """The response to an order of this transport. Raises NetworkError, ValueError."""
        client = self._client or self.client
        elsewhere = hidden = limited = None
        try:
            if not self.owns and self.jar is not None:
                watch_jar(client)
                elsewhere = kept_elsewhere.set(True)
            hidden = shown_url.set(order.shown or "")
            limited = deadline.set(order.deadline)
            request = _first_request(client, order)
            _make_conditional(request, order, transport)
            response = send(client, request, _auth_of(client, order))
            if _is_settled(response, order):
                order.guard(response)
                read(response)
            else:
                response = cast("RawResponse", drive(settled(client, order, response), transport))
            return _answered(order, response, transport)
        except self.failures as error:
            raise _disclosed(order, error) from error.__cause__ if isinstance(error, NetworkError) else error
        finally:
            # No call of a function of ours stands here, so that an interruption at a call leaves nothing set.
            if elsewhere is not None:
                kept_elsewhere.reset(elsewhere)
            if hidden is not None:
                shown_url.reset(hidden)
            if limited is not None:
                deadline.reset(limited)

    def close(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        with self._lock:
            client, self._client = (self._client, None) if self.owns else (None, self._client)
        if client is not None:
            client.close()


_sync_senders: Final[WeakSet[SyncSender]] = WeakSet()
_inherited: Final[list[Client]] = []
"""Clients of a parent process: kept, so that nothing closes them here."""


def _after_fork() -> None:
    for sender in list(_sync_senders):
        sender.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class AsyncSender(Sender):
    """Carries orders out for asyncio: through the given client, or one for each loop, as connections belong to one."""

    def __init__(
        self,
        library: Library,
        given: AsyncClient | None,
        base: str,
        limit: int | None,
        agent: Agent,
        *,
        keeps_cookies: bool,
    ) -> None:
        super().__init__(library, given, base, limit, agent, keeps_cookies=keeps_cookies)
        self._client = given
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    def beside(self) -> AsyncSender:
        """A sender through the clients of this one, which opens and closes them, that keeps cookies of its own."""
        made = AsyncSender(self.library, self._client, self._base, self.limit, self._agent, keeps_cookies=True)
        made._clients = self._clients
        return made

    @property
    def client(self) -> AsyncClient:
        """The client that requests go through: the user's, or one for the running loop."""
        if self._client is not None:
            return self._client
        loop = asyncio.get_running_loop()
        own = self._clients.get(loop)
        if own is None:
            own = self._clients[loop] = open_async_client(self.library)
        return own

    async def carry_out(self, order: Order, transport: TracedTransport) -> RawResponse:
        """The response to an order of this transport. Raises NetworkError, ValueError."""
        client = self._client or self.client
        elsewhere = hidden = limited = None
        try:
            if not self.owns and self.jar is not None:
                watch_jar(client)
                elsewhere = kept_elsewhere.set(True)
            hidden = shown_url.set(order.shown or "")
            limited = deadline.set(order.deadline)
            request = _first_request(client, order)
            _make_conditional(request, order, transport)
            cancellation = current_cancellation()
            if cancellation is None:
                response = await self._answer(client, order, request, transport)
            else:
                cancellation.enter(transport, request.extensions)
                try:
                    response = await self._answer(client, order, request, transport)
                finally:
                    cancellation.leave()
            return _answered(order, response, transport)
        except self.failures as error:
            raise _disclosed(order, error) from error.__cause__ if isinstance(error, NetworkError) else error
        finally:
            try:
                if elsewhere is not None:
                    kept_elsewhere.reset(elsewhere)
                if hidden is not None:
                    shown_url.reset(hidden)
                if limited is not None:
                    deadline.reset(limited)
            except ValueError:
                pass  # a coroutine that was given up is closed in another context, where there is nothing to restore

    async def _answer(
        self, client: AsyncClient, order: Order, request: RawRequest, transport: TracedTransport
    ) -> RawResponse:
        response = await send_async(client, request, _auth_of(client, order))
        if _is_settled(response, order):
            order.guard(response)
            return await read_async(response)
        return cast("RawResponse", await drive_async(settled(client, order, response), transport))

    async def aclose(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        own = self._clients.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.aclose()
