"""Sending requests, with retries and token renewal. Responses are not stored here."""

from __future__ import annotations

import logging
import uuid
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from ..base.bodies import BodyStart, say_not_repeated
from ..base.errors import SERVER_ERROR, AbortError, NetworkError, response_status
from ..base.logs import RETRY, logger
from ..base.response import answered_method
from ..base.steps import CallContext, Outcome, Wait
from ..endpoint.call import Call
from .conditional_requests import change_queue_of, known_validators
from .in_flight import renewals_of

if TYPE_CHECKING:
    from ..base.steps import StepsOf
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint
    from .in_flight import InFlight
    from .retry import Retries

# --- renewed tokens --------------------------------------------------------------------------------------------------


#: True within a token refresh, whose requests neither refresh tokens nor wait for a refresh.
refreshing: Final[ContextVar[bool]] = ContextVar("restencil_refreshing", default=False)


def refresh_token(
    store: Store, endpoint: Endpoint[..., Any], error: NetworkError, started: int, *, blocking: bool
) -> StepsOf[bool]:
    """Steps: renew the token once for all requests that started before that; return False if it failed.

    `error` is the 401, `started` the id from the store when its request began.
    """
    hook: Any = endpoint.refresh
    identity = getattr(hook, "__func__", hook)
    renewals, refreshed = renewals_of(store), store.in_flight.refreshed
    while True:
        ended, renewed = refreshed.get(identity, (0, False))
        if ended > started:
            return renewed
        flight, leads = renewals.join_or_lead(identity, blocking=blocking)
        if leads:
            break
        if blocking and flight.owned_here:  # within the hook, which must not wait for itself
            return (yield from _renewed(endpoint, hook, error))
        with suppress(AbortError):  # it was interrupted: try again
            yield Wait(flight.wait, flight.wait_async)
    try:
        renewed = yield from _renewed(endpoint, hook, error)
        with store.lock:
            refreshed[identity] = store.next_id(), renewed
    except BaseException as failure:
        renewals.end(identity, flight, error=failure)
        raise
    renewals.end(identity, flight)
    return renewed


def _renewed(endpoint: Endpoint[..., Any], hook: Any, error: NetworkError) -> StepsOf[bool]:
    """Steps: call the hook, and return whether it renewed the token; its errors are logged."""
    outer = refreshing.get()
    refreshing.set(True)
    try:
        return bool((yield Outcome(f"refresh of endpoint {endpoint.name!r}", hook(error))))
    except AbortError:
        raise
    except Exception:
        logger.exception("refresh of endpoint %r failed; its 401 is raised", endpoint.name)
        return False
    finally:
        refreshing.set(outer)


# --- requests --------------------------------------------------------------------------------------------------------


class FetchingCore(Protocol):
    """The members of the controller's core that sending requests uses."""

    is_blocking: ClassVar[bool]

    @property
    def retries(self) -> int | Retries | None: ...


class Fetcher:
    """Sends requests of one controller; requests with the same number of retries share a budget."""

    def __init__(self) -> None:
        self._policies: dict[int, Retries] = {}

    def steps(self, in_flight: InFlight, core: FetchingCore, *, whole: bool = False) -> StepsOf[CallContext | None]:
        """Steps: send the request, with its retries, and return the context of the successful call, with its value.

        Returns None if the fetch got its value from another source while a retry waited, so that no retry was sent.
        With `whole` it is sent without a condition, so that the response has a body. Raises NetworkError and errors of
        the endpoint's hooks.
        """
        store, request = in_flight.store, in_flight.request
        endpoint: Endpoint[..., Any] = in_flight.endpoint
        options: Any = request.options
        call = Call(endpoint, request.args, options, in_flight.identity[1])
        retries = None if endpoint.retries is None and not core.retries else self._retries(endpoint, core)
        if retries is not None:
            call = _recognizable(call, endpoint)
        may_read_files = request.args and (request.rules.mutation.has_body or not request.rules.mutation.method)
        start = BodyStart(request.args[-1]) if may_read_files else None
        attempt, started = 0, 0
        refreshed = endpoint.refresh is None or refreshing.get()
        queue = None if request.rules.mutation.concurrency is None else change_queue_of(in_flight)
        if queue is not None:
            call = yield from queue.begin(call)
        while True:
            if not refreshed:
                started = store.next_id()
            in_flight.attempts = attempt + 1
            try:
                if queue is not None:
                    condition = queue.condition()
                else:
                    known = in_flight.known = None if whole else known_validators(in_flight)
                    condition = None if known is None else known.condition
                context = CallContext(in_flight, condition, in_flight.recognizes)
                yield from _attempt(in_flight, call, context)
                return context
            except NetworkError as error:
                error.attempts = in_flight.attempts
                if queue is not None:
                    queue.failed(error)
                if error.status == 401 and not refreshed:
                    refreshed = True
                    renewed = yield from refresh_token(store, endpoint, error, started, blocking=core.is_blocking)
                    if renewed and in_flight.is_wanted() and _rewound(start, error):
                        continue
                    raise
                delay = None if retries is None else retries.delay(attempt, error, store.now())
                if delay is None or not in_flight.is_wanted() or not _rewound(start, error):
                    raise
                attempt += 1
                logging.getLogger(RETRY).info(
                    "%s: %s, retry %d in %d ms", in_flight.identity[0], type(error).__name__, attempt, delay
                )
            from .timers import Pause

            yield Pause(store.scheduler, delay, endpoint.signal)
            if not in_flight.is_wanted():
                return None

    def _retries(self, endpoint: Endpoint[..., Any], core: FetchingCore) -> Retries | None:
        """Return the retry policy of this endpoint, and add to its budget; None without retries."""
        given: int | Retries | None = endpoint.retries
        if given is None:
            given = core.retries
        if not given:
            return None
        if isinstance(given, int):
            policy = self._policies.get(given)
            if policy is None:
                from .retry import Retries

                policy = self._policies[given] = Retries(given)
            given = policy
        if not given.applies_to(endpoint):
            return None
        if given.budget is not None:
            given.budget.earn()
        return given


def _attempt(in_flight: InFlight, call: Call, context: CallContext) -> StepsOf[None]:
    """Steps: send a request once; note its response, and after a failure whether it may be processed."""
    try:
        yield from call.steps(context)
    except BaseException as error:
        method = in_flight.request.rules.mutation.method
        in_flight.may_be_done |= context.was_sent and not _is_refused(error, method)
        raise
    finally:
        in_flight.response, in_flight.parsed = context.response, context.parsed


def _is_refused(error: BaseException, method: str) -> bool:
    """Return whether a request of this method has a 4xx response, which says that the server did not process it.

    A redirect to a GET does not say that: it is followed only after the request was processed.
    """
    status, response = response_status(error), getattr(error, "response", None)
    return status is not None and 400 <= status < SERVER_ERROR and answered_method(response) in (method, "")


def _recognizable(call: Call, endpoint: Endpoint[..., Any]) -> Call:
    """Return the call, with an `Idempotency-Key` if it could not be repeated safely otherwise."""
    from .retry import repeatable

    if repeatable(endpoint) or call.header("idempotency-key") is not None:
        return call
    return call.with_header("Idempotency-Key", str(uuid.uuid4()))


def _rewound(start: BodyStart | None, error: NetworkError) -> bool:
    """Rewind the body of a request for a retry; return False if that is impossible, and add the reason to the error."""
    obstacle = None if start is None else start.rewind()
    if obstacle is not None:
        say_not_repeated(error, obstacle)
    return obstacle is None
