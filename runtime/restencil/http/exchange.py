"""Builds and sends an outgoing request, follows its redirects, and reads its response."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ..base.calls import CROSS_ORIGIN_BODY
from ..base.errors import NetworkError
from ..base.response import ORDER
from ..base.steps import Wait, drive, drive_async
from ..base.transport import origin_of
from .bodies import rewind
from .build import build_request
from .cancellation import current_cancellation
from .cookies import add_cookies, keep_cookies, protect_jar
from .deadlines import limit_steps
from .failures import (
    NOT_REPEATED,
    body_left_origin,
    body_not_repeatable,
    endless_redirects,
    failure_of,
    method_became_get,
    rejected,
    status_error,
    unusable_location,
)
from .limits import BodyLimit, limit_of_body, read, read_async
from .outgoing import OutgoingRequest, current_request
from .redaction import redact_error, redact_response, redacted
from .secrets import remove_credentials, sends_body_elsewhere

if TYPE_CHECKING:

    from ..base.steps import StepsOf
    from ..base.transport import AwaitingTransport, BlockingTransport
    from .library import AnyClient, AsyncClient, Client, RawRequest, RawResponse

# --- event hooks -----------------------------------------------------------------------------------------------------
#
# An HTTP client may send several requests for one call, because its `auth` answers challenges. It returns only the last
# response, and for a redirect to an invalid URL not even that. The hooks get every request and response before `auth`.
# They do nothing for requests that the user sends through the same client.


class BodyNotRepeatableError(Exception):
    """Raised if the HTTP client sends a request again whose body cannot be read a second time."""

    def __init__(self, obstacle: str, response: RawResponse) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle
        self.response = response


def receive(outgoing: OutgoingRequest, response: RawResponse) -> None:
    """Limit the body of a response and store its cookies; a second call does nothing."""
    if response.extensions.get(ORDER) is outgoing:
        return
    response.extensions[ORDER] = outgoing
    outgoing.last_response = response
    if not outgoing.is_bare:
        keep_cookies(outgoing, response)
    BodyLimit(outgoing.transport.library, response, outgoing.transport.limit, outgoing.deadline)


def _before(request: RawRequest) -> None:
    outgoing = current_request.get()
    if outgoing is None:
        return
    obstacle = rewind(request)
    if obstacle is not None and outgoing.last_response is not None:
        raise BodyNotRepeatableError(obstacle, outgoing.last_response)
    outgoing.last_response = None


def _after(response: RawResponse) -> None:
    outgoing = current_request.get()
    if outgoing is not None:
        receive(outgoing, response)


async def _before_async(request: RawRequest) -> None:
    _before(request)


async def _after_async(response: RawResponse) -> None:
    _after(response)


Hooks: TypeAlias = tuple[tuple[str, Any], tuple[str, Any]]
"""Event hooks of a client, each with the name of its event; the HTTP library does not specify their types."""

BLOCKING_HOOKS: Final[Hooks] = (("request", _before), ("response", _after))
"""The event hooks of a blocking client."""

AWAITED_HOOKS: Final[Hooks] = (("request", _before_async), ("response", _after_async))
"""The event hooks of an async client."""


def add_hooks(client: AnyClient, hooks: Hooks) -> None:
    """Add the hooks to a client, after those of the user, unless it has them already."""
    present = client.event_hooks
    for event, hook in hooks:
        if hook not in present[event]:
            present[event].append(hook)


# --- redirects -------------------------------------------------------------------------------------------------------
#
# The HTTP library determines the next request of a redirect (`next_request`). Redirects are followed here, because the
# libraries silently change a mutation to GET, send a body and unknown headers to any origin, and read bodies of any
# size.


MAX_REDIRECTS: Final = 20
_NOT_MODIFIED: Final = 304


def _following_request(outgoing: OutgoingRequest, response: RawResponse) -> RawRequest:
    """Return the next request of a redirect. Raises StatusError if it cannot or must not be sent."""
    following = response.next_request
    if following is None:  # httpx2 returns None for a Location that is not a URL; httpx has raised
        raise unusable_location(outgoing, response, ValueError("it cannot be parsed"))
    if following.url.scheme not in ("http", "https"):
        raise unusable_location(outgoing, response, ValueError(f"its scheme is {following.url.scheme!r}"))
    lost_change = method_became_get(outgoing, response, following)
    if lost_change is not None:
        raise lost_change
    if sends_body_elsewhere(response.request, following) and not outgoing.init.get(CROSS_ORIGIN_BODY):
        raise body_left_origin(outgoing, response, following)
    if following.method != response.request.method:
        following.headers.pop("content-type", None)  # the request has no content now
    obstacle = rewind(following)
    if obstacle is not None:
        raise body_not_repeatable(outgoing, response, obstacle)
    return following


def _reading(response: RawResponse) -> Wait:
    """Return a step that reads the whole body of a limited response."""
    return Wait(lambda: read(response), lambda: read_async(response))


def _sending(client: AnyClient, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> Wait:
    """Return a step that sends the next request of a redirect."""
    return Wait(
        lambda: _answer(client, outgoing, request, auth), lambda: _answer_async(client, outgoing, request, auth)
    )


def follow_redirects(client: AnyClient, outgoing: OutgoingRequest, response: RawResponse) -> StepsOf[RawResponse]:
    """Steps that follow redirects and return the final response. Raises NetworkError if it is an error response."""
    library = outgoing.transport.library
    redirect = outgoing.init.get("redirect") or "follow"
    origin = origin_of(str(response.request.url))
    at_home = True
    followed = 0
    while response.has_redirect_location and redirect != "manual":
        yield _reading(response)
        if redirect == "error":
            raise status_error(outgoing, response, "redirected, which request_init['redirect'] = 'error' forbids")
        followed += 1
        if followed > MAX_REDIRECTS:
            raise endless_redirects(outgoing, MAX_REDIRECTS)
        following = _following_request(outgoing, response)
        at_home = at_home and origin_of(str(following.url)) == origin
        outgoing.is_conditional = outgoing.is_conditional and at_home
        if not at_home:
            remove_credentials(library, following)
        add_cookies(client, outgoing, following, at_home=at_home)
        limit_steps(following, outgoing.deadline)
        try:
            response = yield _sending(client, outgoing, following, library.use_client_default if at_home else None)
        except library.unreachable as error:
            raise unusable_location(outgoing, response, error) from error
    accepted = 200 <= response.status_code < 300 or (response.status_code == _NOT_MODIFIED and outgoing.is_conditional)
    if accepted and outgoing.stream:
        limit = limit_of_body(response)
        if limit is not None:
            limit.whole = False
    else:
        yield _reading(response)
    if not accepted:
        raise rejected(outgoing, response)
    return response


# --- one exchange ----------------------------------------------------------------------------------------------------

log: Final = logging.getLogger("restencil.transport")
_SENT: Final = "%s %s: %d after %d ms, sent with %s"


def _answer(client: Any, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> RawResponse:
    """Send a request of the HTTP library, with the client's own credentials unless `auth` is None."""
    try:
        response = client.send(request, stream=True, auth=auth, follow_redirects=False)
        receive(outgoing, response)  # a client with an overridden `send` may not call the hooks
        return response  # type: ignore[no-any-return]  # the client is Any
    except Exception as error:
        return _stopped(outgoing, error)


async def _answer_async(client: Any, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> RawResponse:
    """Send a request through an async client, as `_answer` does."""
    try:
        response = await client.send(request, stream=True, auth=auth, follow_redirects=False)
        receive(outgoing, response)
        return response  # type: ignore[no-any-return]  # the client is Any
    except Exception as error:
        return _stopped(outgoing, error)


def _stopped(outgoing: OutgoingRequest, error: Exception) -> RawResponse:
    """Return the last response if its request cannot be repeated. Raises other errors, or a StatusError for them."""
    if isinstance(error, BodyNotRepeatableError):
        error.response.extensions[NOT_REPEATED] = error.obstacle
        return error.response
    library, redirect = outgoing.transport.library, outgoing.last_response
    unreadable = isinstance(error, (library.RequestError, library.InvalidURL, UnicodeError))
    if unreadable and redirect is not None and redirect.has_redirect_location:
        # httpx parses the Location before it returns the response.
        raise unusable_location(outgoing, redirect, error) from error
    raise error


def _is_final(outgoing: OutgoingRequest, response: RawResponse) -> bool:
    """Return whether a response is a success whose body must be read: not a redirect, an error or a stream."""
    if log.isEnabledFor(logging.DEBUG):
        headers = redacted(response.request.headers)
        log.debug(_SENT, outgoing.init.get("method"), outgoing.public, response.status_code, outgoing.elapsed, headers)
    return 200 <= response.status_code < 300 and not outgoing.stream


def _finished(outgoing: OutgoingRequest, response: RawResponse) -> RawResponse:
    """Remove secrets from the final response, store it in its call, and return it."""
    outgoing.end()
    redact_response(outgoing, response)
    if outgoing.call is not None:
        outgoing.call.response = response
    return response


def _redacted_failure(outgoing: OutgoingRequest, error: BaseException) -> NetworkError:
    """Return the NetworkError for a failure, after removing secrets from it and its causes."""
    raised = error if isinstance(error, NetworkError) else failure_of(outgoing, error)
    for failure in (error, error.__cause__, error.__context__):
        if failure is not None:
            redact_error(outgoing, failure)
    response: Any = raised.response
    if response is not None:
        redact_response(outgoing, response)
    return raised


def send(client: Client, outgoing: OutgoingRequest) -> RawResponse:
    """Send a request through this client and return the final response. Raises NetworkError and ValueError."""
    transport = outgoing.transport
    token = None
    try:
        if outgoing.has_own_cookies:
            protect_jar(client)
        add_hooks(client, BLOCKING_HOOKS)
        token = current_request.set(outgoing)
        auth = None if outgoing.is_bare else transport.library.use_client_default
        response = _answer(client, outgoing, build_request(client, outgoing), auth)
        if _is_final(outgoing, response):
            read(response)
        else:
            steps = follow_redirects(client, outgoing, response)
            response = cast("RawResponse", drive(steps, cast("BlockingTransport", transport)))
        return _finished(outgoing, response)
    except transport.library.failures as error:
        raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
    finally:
        # There are no calls of our functions here, so that an interruption at a call leaves nothing set.
        outgoing.call = outgoing.last_response = None  # its response refers to it
        if token is not None:
            current_request.reset(token)


async def send_async(client: AsyncClient, outgoing: OutgoingRequest) -> RawResponse:
    """Send a request through this client and return the final response. Raises NetworkError and ValueError."""
    token = None
    try:
        if outgoing.has_own_cookies:
            protect_jar(client)
        add_hooks(client, AWAITED_HOOKS)
        token = current_request.set(outgoing)
        request = build_request(client, outgoing)
        auth = None if outgoing.is_bare else outgoing.transport.library.use_client_default
        cancellation = current_cancellation()
        if cancellation is None:
            response = await _final(client, outgoing, request, auth)
        else:
            cancellation.enter(cast("AwaitingTransport", outgoing.transport), request.extensions)
            try:
                response = await _final(client, outgoing, request, auth)
            finally:
                cancellation.leave()
        return _finished(outgoing, response)
    except outgoing.transport.library.failures as error:
        raise _redacted_failure(outgoing, error) from error.__cause__ if isinstance(error, NetworkError) else error
    finally:
        outgoing.call = outgoing.last_response = None
        try:
            if token is not None:
                current_request.reset(token)
        except ValueError:
            pass  # an abandoned coroutine is closed in another context, where there is nothing to restore


async def _final(client: AsyncClient, outgoing: OutgoingRequest, request: RawRequest, auth: Any) -> RawResponse:
    response = await _answer_async(client, outgoing, request, auth)
    if _is_final(outgoing, response):
        return await read_async(response)
    steps = follow_redirects(client, outgoing, response)
    return cast("RawResponse", await drive_async(steps, cast("AwaitingTransport", outgoing.transport)))
