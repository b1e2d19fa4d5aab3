"""The senders: they send requests through a client of the HTTP library, the user's or one that is opened here."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from ..base.errors import NetworkError
from ..base.fork import reset_in_child
from ..base.lazy_imports import asyncio
from ..base.steps import drive, drive_async, receiver
from .build import build_request
from .cancellation import current_cancellation
from .cookies import protect_jar
from .deadlines import open_async_client, open_client
from .failures import NOT_REPEATED, failure_of, unusable_location
from .hooks import BodyNotRepeatableError, add_async_hooks, add_hooks, receive
from .limits import read, read_async
from .outgoing import Sender, current_request
from .redaction import redact_error, redact_response, redacted, watch_loggers
from .redirects import follow_redirects

if TYPE_CHECKING:
    from ..base.transport import BlockingTransport
    from .cancellation import TracedTransport
    from .library import AnyClient, AsyncClient, Client, Library, RawRequest, RawResponse
    from .outgoing import OutgoingRequest
    from .user_agent import Agent

log: Final = logging.getLogger("restencil.transport")
_CONDITIONAL: Final = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")
_SENT: Final = "%s %s: %d after %d ms, sent with %s"


# --- one request -----------------------------------------------------------------------------------------------------


class _Send:
    """A step that sends a request of the HTTP library."""

    __slots__ = ("_auth", "_client", "_outgoing", "_request")

    def __init__(self, client: Any, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> None:
        self._client = client
        self._outgoing = outgoing
        self._request = request
        self._auth = auth

    def take(self, transport: object) -> RawResponse:
        try:
            return _received(self._outgoing, self._client.send(self._request, **self._options()))
        except Exception as error:
            return _stopped(self._outgoing, error)

    async def take_async(self, transport: object) -> RawResponse:
        try:
            return _received(self._outgoing, await self._client.send(self._request, **self._options()))
        except Exception as error:
            return _stopped(self._outgoing, error)

    def _options(self) -> dict[str, Any]:
        return {"stream": True, "auth": self._auth, "follow_redirects": False}


def _received(outgoing: OutgoingRequest, response: RawResponse) -> RawResponse:
    receive(outgoing, response)  # a client whose `send` is the user's own may call no hooks
    return response


def _stopped(outgoing: OutgoingRequest, error: Exception) -> RawResponse:
    """The last response to a request that cannot be repeated. Raises any other error, or what it means."""
    if isinstance(error, BodyNotRepeatableError):
        error.response.extensions[NOT_REPEATED] = error.obstacle
        return error.response
    library, redirect = outgoing.sender.library, outgoing.last_response
    unreadable = isinstance(error, (library.RequestError, library.InvalidURL, UnicodeError))
    if unreadable and redirect is not None and redirect.has_redirect_location:
        # httpx reads the Location before it returns the response.
        raise unusable_location(outgoing, redirect, error) from error
    raise error


def _first_step(client: AnyClient, outgoing: OutgoingRequest, transport: object) -> _Send:
    """The step that sends the first request of an outgoing one. Raises ValueError for what cannot be sent."""
    request = build_request(client, outgoing)
    _make_conditional(request, outgoing, transport)
    return _Send(client, outgoing, request, None if outgoing.is_bare else outgoing.sender.library.use_client_default)


def _make_conditional(request: RawRequest, outgoing: OutgoingRequest, transport: object) -> None:
    """Adds the condition under which the cache needs a response, unless the user set one or forbids a cached one."""
    recipient = receiver.get()
    if recipient is None or recipient.condition is None or recipient.transport is not transport or outgoing.is_bare:
        return
    headers = request.headers
    if not headers.keys().isdisjoint(_CONDITIONAL) or "no-cache" in headers.get("cache-control", "").lower():
        return
    name, value = recipient.condition
    headers[name] = value
    outgoing.is_conditional = name != "If-Match"


def _is_final(outgoing: OutgoingRequest, response: RawResponse) -> bool:
    """True for a success whose body is to be read: no redirect, no error, no stream."""
    if log.isEnabledFor(logging.DEBUG):
        headers = redacted(response.request.headers)
        log.debug(_SENT, outgoing.init.get("method"), outgoing.public, response.status_code, outgoing.elapsed, headers)
    return 200 <= response.status_code < 300 and not outgoing.stream


def _finished(outgoing: OutgoingRequest, response: RawResponse, transport: object) -> RawResponse:
    """The final response as the user may see it; the receiver of a call gets it too."""
    outgoing.end()
    redact_response(outgoing, response)
    recipient = receiver.get()
    if recipient is not None and recipient.transport is transport:
        recipient.answer = response
    return response


def _redacted_failure(outgoing: OutgoingRequest, error: BaseException) -> NetworkError:
    """The NetworkError for a failure, without secrets in it or its causes."""
    raised = error if isinstance(error, NetworkError) else failure_of(outgoing, error)
    for failure in (error, error.__cause__, error.__context__):
        if failure is not None:
            redact_error(outgoing, failure)
    response: Any = raised.response
    if response is not None:
        redact_response(outgoing, response)
    return raised


# --- blocking code ---------------------------------------------------------------------------------------------------


class SyncSender(Sender):
    """Sends requests for blocking code: through the given client, never closed here, or one opened when needed."""

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
        watch_loggers(library)
        self._client = given
        self._lock = threading.Lock()
        self._owner: SyncSender | None = None
        reset_in_child.add(self)

    def sibling(self) -> SyncSender:
        """A sender through the client of this one, which alone opens and closes it, that keeps cookies of its own."""
        given = None if self.owns else self._client
        made = SyncSender(self.library, given, self._base, self.limit, self.agent, keeps_cookies=True)
        made._owner = self
        return made

    def forked(self) -> None:
        """Replaces an opened client in a forked process: its connections belong to the parent."""
        self._lock = threading.Lock()
        if self.owns and self._client is not None:
            _inherited.append(self._client)
            self._client = None

    @property
    def client(self) -> Client:
        """The client that requests go through."""
        if self._owner is not None:
            return self._owner.client
        with self._lock:
            if self._client is None:
                self._client = open_client(self.library)
            return self._client

    def send(self, outgoing: OutgoingRequest, transport: BlockingTransport) -> RawResponse:
        """The final response to a request of this transport. Raises NetworkError, ValueError."""
        client = self._client or self.client
        token = None
        try:
            if not self.owns and self.jar is not None:
                protect_jar(client)
            add_hooks(client)
            token = current_request.set(outgoing)
            response = _first_step(client, outgoing, transport).take(transport)
            if _is_final(outgoing, response):
                read(response)
            else:
                steps = follow_redirects(
                    client, outgoing, response, lambda request, auth: _Send(client, outgoing, request, auth)
                )
                response = cast("RawResponse", drive(steps, transport))
            return _finished(outgoing, response, transport)
        except self.failures as error:
            raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
        finally:
            # No call of a function of ours is here, so that an interruption at a call leaves nothing set.
            if token is not None:
                current_request.reset(token)

    def close(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        with self._lock:
            client, self._client = (self._client, None) if self.owns else (None, self._client)
        if client is not None:
            client.close()


_inherited: Final[list[Client]] = []
"""Clients of a parent process: kept, so that nothing closes them here."""


# --- asyncio ---------------------------------------------------------------------------------------------------------


class AsyncSender(Sender):
    """Sends requests for asyncio: through the given client, or one for each loop, as connections belong to one."""

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
        watch_loggers(library)
        self._client = given
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    def sibling(self) -> AsyncSender:
        """A sender through the clients of this one, which opens and closes them, that keeps cookies of its own."""
        made = AsyncSender(self.library, self._client, self._base, self.limit, self.agent, keeps_cookies=True)
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

    async def send(self, outgoing: OutgoingRequest, transport: TracedTransport) -> RawResponse:
        """The final response to a request of this transport. Raises NetworkError, ValueError."""
        client = self._client or self.client
        token = None
        try:
            if not self.owns and self.jar is not None:
                protect_jar(client)
            add_async_hooks(client)
            token = current_request.set(outgoing)
            step = _first_step(client, outgoing, transport)
            cancellation = current_cancellation()
            if cancellation is None:
                response = await self._final(client, outgoing, step, transport)
            else:
                assert outgoing.request is not None
                cancellation.enter(transport, outgoing.request.extensions)
                try:
                    response = await self._final(client, outgoing, step, transport)
                finally:
                    cancellation.leave()
            return _finished(outgoing, response, transport)
        except self.failures as error:
            raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
        finally:
            try:
                if token is not None:
                    current_request.reset(token)
            except ValueError:
                pass  # an abandoned coroutine is closed in another context, where there is nothing to restore

    async def _final(
        self, client: AsyncClient, outgoing: OutgoingRequest, step: _Send, transport: TracedTransport
    ) -> RawResponse:
        response = await step.take_async(transport)
        if _is_final(outgoing, response):
            return await read_async(response)
        steps = follow_redirects(
            client, outgoing, response, lambda request, auth: _Send(client, outgoing, request, auth)
        )
        return cast("RawResponse", await drive_async(steps, transport))

    async def aclose(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        own = self._clients.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.aclose()
