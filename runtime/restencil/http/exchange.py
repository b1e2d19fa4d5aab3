"""One exchange: an outgoing request is built, sent, redirected where it leads, and its response read."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.errors import NetworkError
from ..base.steps import drive, drive_async
from .build import build_request
from .cancellation import current_cancellation
from .cookies import protect_jar
from .failures import NOT_REPEATED, failure_of, unusable_location
from .hooks import AWAITED_HOOKS, BLOCKING_HOOKS, BodyNotRepeatableError, add_hooks, receive
from .limits import read, read_async
from .outgoing import current_request
from .redaction import redact_error, redact_response, redacted
from .redirects import follow_redirects

if TYPE_CHECKING:
    from ..base.transport import BlockingTransport
    from .cancellation import TracedTransport
    from .library import AsyncClient, Client, RawRequest, RawResponse
    from .outgoing import OutgoingRequest

log: Final = logging.getLogger("restencil.transport")
_SENT: Final = "%s %s: %d after %d ms, sent with %s"


# --- one request -----------------------------------------------------------------------------------------------------


class _Send:
    """A step that sends a request of the HTTP library, with the client's own credentials unless `auth` is None."""

    __slots__ = ("_auth", "_client", "_outgoing", "_request")

    def __init__(self, client: Any, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> None:
        self._client = client
        self._outgoing = outgoing
        self._request = request
        self._auth = auth

    def take(self, transport: object) -> RawResponse:
        try:
            response = self._client.send(self._request, stream=True, auth=self._auth, follow_redirects=False)
            receive(self._outgoing, response)  # a client whose `send` is the user's own may call no hooks
            return response  # type: ignore[no-any-return]  # as its client gives it
        except Exception as error:
            return _stopped(self._outgoing, error)

    async def take_async(self, transport: object) -> RawResponse:
        try:
            response = await self._client.send(self._request, stream=True, auth=self._auth, follow_redirects=False)
            receive(self._outgoing, response)
            return response  # type: ignore[no-any-return]  # as its client gives it
        except Exception as error:
            return _stopped(self._outgoing, error)


def _stopped(outgoing: OutgoingRequest, error: Exception) -> RawResponse:
    """The last response to a request that cannot be repeated. Raises any other error, or what it means."""
    if isinstance(error, BodyNotRepeatableError):
        error.response.extensions[NOT_REPEATED] = error.obstacle
        return error.response
    library, redirect = outgoing.transport.library, outgoing.last_response
    unreadable = isinstance(error, (library.RequestError, library.InvalidURL, UnicodeError))
    if unreadable and redirect is not None and redirect.has_redirect_location:
        # httpx reads the Location before it returns the response.
        raise unusable_location(outgoing, redirect, error) from error
    raise error


def _is_final(outgoing: OutgoingRequest, response: RawResponse) -> bool:
    """True for a success whose body is to be read: no redirect, no error, no stream."""
    if log.isEnabledFor(logging.DEBUG):
        headers = redacted(response.request.headers)
        log.debug(_SENT, outgoing.init.get("method"), outgoing.public, response.status_code, outgoing.elapsed, headers)
    return 200 <= response.status_code < 300 and not outgoing.stream


def _finished(outgoing: OutgoingRequest, response: RawResponse) -> RawResponse:
    """The final response as the user may see it; its call keeps it too."""
    outgoing.end()
    redact_response(outgoing, response)
    if outgoing.call is not None:
        outgoing.call.response = response
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


def send(client: Client, outgoing: OutgoingRequest) -> RawResponse:
    """The final response to a request, through this client. Raises NetworkError, ValueError."""
    transport = outgoing.transport
    token = None
    try:
        if outgoing.has_own_cookies:
            protect_jar(client)
        add_hooks(client, BLOCKING_HOOKS)
        token = current_request.set(outgoing)
        auth = None if outgoing.is_bare else transport.library.use_client_default
        response = _Send(client, outgoing, build_request(client, outgoing), auth).take(transport)
        if _is_final(outgoing, response):
            read(response)
        else:
            steps = follow_redirects(client, outgoing, response, partial(_Send, client, outgoing))
            response = cast("RawResponse", drive(steps, cast("BlockingTransport", transport)))
        return _finished(outgoing, response)
    except transport.library.failures as error:
        raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
    finally:
        # No call of a function of ours is here, so that an interruption at a call leaves nothing set.
        if token is not None:
            current_request.reset(token)


async def send_async(client: AsyncClient, outgoing: OutgoingRequest) -> RawResponse:
    """The final response to a request, through this client. Raises NetworkError, ValueError."""
    transport = cast("TracedTransport", outgoing.transport)
    token = None
    try:
        if outgoing.has_own_cookies:
            protect_jar(client)
        add_hooks(client, AWAITED_HOOKS)
        token = current_request.set(outgoing)
        request = build_request(client, outgoing)
        auth = None if outgoing.is_bare else outgoing.transport.library.use_client_default
        step = _Send(client, outgoing, request, auth)
        cancellation = current_cancellation()
        if cancellation is None:
            response = await _final(client, outgoing, step, transport)
        else:
            cancellation.enter(transport, request.extensions)
            try:
                response = await _final(client, outgoing, step, transport)
            finally:
                cancellation.leave()
        return _finished(outgoing, response)
    except outgoing.transport.library.failures as error:
        raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
    finally:
        try:
            if token is not None:
                current_request.reset(token)
        except ValueError:
            pass  # an abandoned coroutine is closed in another context, where there is nothing to restore


async def _final(
    client: AsyncClient, outgoing: OutgoingRequest, step: _Send, transport: TracedTransport
) -> RawResponse:
    response = await step.take_async(transport)
    if _is_final(outgoing, response):
        return await read_async(response)
    steps = follow_redirects(client, outgoing, response, partial(_Send, client, outgoing))
    return cast("RawResponse", await drive_async(steps, transport))
