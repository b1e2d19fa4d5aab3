"""Sends a request, again where retries and a renewed token allow it, and gives what it came to. It stores nothing."""

from __future__ import annotations

import enum
import logging
import uuid
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ..base.bodies import BodyStart, say_not_repeated
from ..base.errors import NetworkError
from ..base.logs import RETRY
from ..base.steps import CallContext
from ..endpoint.call import Call
from .conditional_requests import ConditionalRequests
from .refresh import refresh_token, refreshing

if TYPE_CHECKING:
    from ..base.steps import StepsOf
    from ..cache.validators import Validators
    from ..endpoint.endpoint import Endpoint
    from .in_flight import InFlight
    from .retry import Retries


class OutcomeKind(enum.Enum):
    """What a request came to, where it did not fail."""

    VALUE = "value"
    ASSUMED = "assumed"
    """The response to a change has no content, so its value is what was sent."""
    NOT_MODIFIED = "not modified"
    """The server says that its last response is still valid (304)."""
    IDENTICAL = "identical"
    """The body is that of the last response, and nothing of that has changed in the store; its value is not made."""
    SETTLED = "settled"
    """While a retry waited, the fetch got its value from elsewhere, so nothing more is sent."""


class FetchOutcome(NamedTuple):
    """What a request came to; its response is `InFlight.response`."""

    kind: OutcomeKind
    value: Any = None
    """The value of the response, not stored yet."""
    validators: Validators | None = None
    """Those that the server confirmed."""


class FetchingCore(Protocol):
    """What sending a request depends on of the controller that it is sent for."""

    is_blocking: ClassVar[bool]

    @property
    def retries(self) -> int | Retries | None: ...


class Fetcher:
    """Sends requests of one controller; requests with the same number of retries share a budget."""

    def __init__(self) -> None:
        self._policies: dict[int, Retries] = {}

    def steps(self, in_flight: InFlight, core: FetchingCore, *, whole: bool = False) -> StepsOf[FetchOutcome]:
        """Steps: sends the request as often as its retries allow.

        With `whole` it is sent without a condition, so that there is a response in any case. Raises NetworkError and
        what hooks of the endpoint raise.
        """
        store, request = in_flight.store, in_flight.request
        endpoint: Endpoint[..., Any] = in_flight.endpoint
        call = Call.of(request, in_flight.identity[1])
        retries = self._retries(endpoint, core)
        if retries is not None:
            call = _recognizable(call, endpoint)
            if retries.budget is not None:
                retries.budget.earn()
        may_read_files = request.args and (request.rules.mutation.has_body or not request.rules.mutation.method)
        start = BodyStart(request.args[-1]) if may_read_files else None
        attempt, started = 0, 0
        refreshed = endpoint.refresh is None or refreshing.get()
        conditions = ConditionalRequests(in_flight, asks_whole=whole or request.needs_body)
        if conditions.is_ordered:
            call = yield from conditions.begin(call)
        while True:
            if not refreshed:
                started = store.next_id()
            in_flight.attempts = attempt + 1
            try:
                context = CallContext(in_flight, conditions.attempt(), in_flight.recognizes)
                try:
                    value = yield from call.steps(context)
                finally:
                    in_flight.response, in_flight.parsed = context.response, context.parsed
                if context.is_not_modified:
                    return FetchOutcome(OutcomeKind.NOT_MODIFIED, validators=conditions.known)
                return FetchOutcome(_kind_of(context, value), value)
            except NetworkError as error:
                error.attempts = in_flight.attempts
                conditions.failed(error)
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
                return FetchOutcome(OutcomeKind.SETTLED)

    def _retries(self, endpoint: Endpoint[..., Any], core: FetchingCore) -> Retries | None:
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
        return given if given.applies_to(endpoint) else None


def _kind_of(context: CallContext, value: Any) -> OutcomeKind:
    """What kind of outcome a response with this value is."""
    if context.is_identical:
        return OutcomeKind.IDENTICAL
    # A `fetch` of the user's own may have made something else of it.
    return OutcomeKind.ASSUMED if value is not None and value is context.assumed else OutcomeKind.VALUE


def _recognizable(call: Call, endpoint: Endpoint[..., Any]) -> Call:
    """A call that may be sent twice: by its `Idempotency-Key` where the server may not repeat it otherwise."""
    from .retry import repeatable

    if repeatable(endpoint) or call.header("idempotency-key") is not None:
        return call
    return call.with_header("Idempotency-Key", str(uuid.uuid4()))


def _rewound(start: BodyStart | None, error: NetworkError) -> bool:
    """Puts the body of a request back to its start; if that is not possible, the error says that it is not repeated."""
    obstacle = None if start is None else start.rewind()
    if obstacle is not None:
        say_not_repeated(error, obstacle)
    return obstacle is None
