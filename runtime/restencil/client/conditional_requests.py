"""Conditional requests: revalidation of stored responses, `If-Match` of mutations, and the order of mutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..base.calls import CONDITIONS
from ..base.durations import Timeout, timeout_of, whole_of
from ..base.errors import PreconditionFailedError, TimeoutExceededError
from ..base.freshness import Terms, Validators, condition_of, lifetime_of, may_be_stored, source_at
from ..base.steps import current_call
from ..base.transport import public_url
from ..cache.policy import INFINITE
from ..endpoint.call import Call

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from ..base.errors import NetworkError
    from ..base.steps import StepsOf
    from ..base.transport import RequestInit
    from ..cache.request import Request
    from ..cache.store import Store
    from .in_flight import InFlight

_OK: Final = 200
_SECOND: Final = 1000


# --- revalidation ----------------------------------------------------------------------------------------------------


def source_of(request: Request) -> Hashable:
    """Return the key of the representation in a response: the URL, and the headers of the call that may change it."""
    view: Any = request.endpoint.view_options
    headers: Mapping[str, Any] = {} if view is None else view.headers
    varied = tuple(pair for name, pair in sorted(headers.items()) if name not in CONDITIONS)
    given = () if request.options is None else tuple(sorted(request.options.headers.items()))
    return source_at(request.url, given, varied)


def known_validators(in_flight: InFlight) -> Validators | None:
    """Return the validators of the stored response, if this request may be sent with them, else None."""
    request, store = in_flight.request, in_flight.store
    if not request.rules.read.conditional or request.needs_body:
        return None
    witness = store.witness(request.key, whole=False)
    validators = None if witness is None else witness.validators
    if validators is None or validators.condition is None or validators.source != source_of(request):
        return None
    if store.in_flight.by_id.get(in_flight.fetch_id) is not in_flight:
        return None  # its response is not stored
    return None if store.witness(request.key) is None else validators


def validators_of(in_flight: InFlight, headers: Mapping[str, str], before: Validators | None = None) -> Validators:
    """Return the validators of a response; `before` are those of the stored response that a 304 confirms."""
    request, answer = in_flight.request, in_flight.response
    is_whole = request.rules.read.conditional and answer.status_code == _OK and request.key == f"GET {request.url}"
    condition = condition_of(headers) if before is not None or is_whole else None
    return Validators(headers, source_of(request), place_of(answer), condition, may_be_stored(headers))


def place_of(answer: Any) -> str:
    """Return the URL of a response after redirects, without its query, which may differ in each request."""
    return str(answer.request.url).partition("?")[0]


def renewed(before: Validators, headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return the headers of a stored response updated with those of a 304."""
    kept = {name: value for name, value in before.headers.items() if name != "age"}
    return {**kept, **(headers or {})}


def terms_of(headers: Mapping[str, str], bounds: tuple[float, float], begun: float, otherwise: float) -> Terms:
    """Return the freshness of data by the headers of its response; `begun` is when the request started, in ms.

    `otherwise` is when the data becomes stale if the headers do not specify it. The freshness lifetime is limited to
    `bounds`, the minimum and maximum of the endpoint in ms.
    """
    lifetime = lifetime_of(headers)
    least, most = bounds
    fresh = otherwise - begun if lifetime.fresh is None else lifetime.fresh * _SECOND
    until = begun + min(most, max(least, fresh))
    shown = INFINITE if lifetime.shown is None else 0.0 if not lifetime.shown else until + lifetime.shown * _SECOND
    excused = None if lifetime.excused is None else until + lifetime.excused * _SECOND
    return Terms(until, shown, excused, lifetime.must_revalidate)


# --- mutations -------------------------------------------------------------------------------------------------------


def refuse_unseen(store: Store, request: Request) -> None:
    """Raise ValueError for a mutation that requires an `If-Match` if the ETag is unknown."""
    rules = request.rules
    if (
        rules.mutation.concurrency is None
        or not rules.mutation.concurrency.is_required
        or rules.mutation.method not in _CHANGES
    ):
        return
    endpoint: Any = request.endpoint
    options: Any = request.options
    if store.tagged(request)[1] is None and Call(endpoint, request.args, options).header("if-match") is None:
        raise ValueError(
            f"{request.label}: no ETag of this entity is stored, but its concurrency requires one; "
            "call get(...) before the change"
        )


_CHANGES: Final = frozenset({"PUT", "PATCH", "DELETE"})


class ChangeQueue:
    """The position of a mutation in the queue of its entity, and its `If-Match`, if the endpoint has `concurrency`.

    Mutations of an entity are sent one after the other, each with the ETag in the response of the previous one.
    """

    __slots__ = ("_in_flight", "_outer", "_queue")

    def __init__(self, in_flight: InFlight) -> None:
        store = in_flight.store
        self._in_flight = in_flight
        outer = current_call.get()
        self._outer: object = None if outer is None else outer.owner
        """The request whose hook called this one, if any, which must not be waited for."""
        with store.lock:
            turns = store.in_flight.turns
            for cell in [cell for cell, queue in turns.items() if all(other.done for other in queue)]:
                del turns[cell]
            place, _ = store.tagged(in_flight.request)
            self._queue: list[InFlight] = [] if place is None else turns.setdefault(place, [])
            self._queue.append(in_flight)

    def begin(self, call: Call) -> StepsOf[Call]:
        """Steps: wait for all earlier mutations of the same entity.

        Returns the call with the rest of its timeout. Raises TimeoutExceededError if that is exceeded.
        """
        timeout = _timeout_of(call.endpoint, self._in_flight.transport)
        waited = yield from self._turn(None if timeout is None else whole_of(timeout))
        return _within(call, timeout, waited)

    def _turn(self, limit: float | None) -> StepsOf[float]:
        """Steps: wait for earlier mutations, except that in which this one was called; return how long, in ms."""
        from .timers import wait_for

        queue, in_flight, store = self._queue, self._in_flight, self._in_flight.store
        begun = store.now()
        while True:
            with store.lock:
                earlier = reversed(queue[: queue.index(in_flight)])
                before = next((other for other in earlier if not other.done and other is not self._outer), None)
            waited = store.now() - begun
            if before is None or (before.owned_here and in_flight.loop is None):
                return waited
            left = None if limit is None else limit - waited
            if left is not None and left <= 0:
                raise TimeoutExceededError(
                    f"{in_flight.request.label}: no response within {limit:g} ms (it waited for an earlier change of "
                    "the same entity, and was not sent)",
                    url=public_url(in_flight.request.url),
                    method=in_flight.request.rules.mutation.method,
                )
            yield from wait_for(before, left, in_flight.endpoint.signal)

    def condition(self) -> tuple[str, str] | None:
        """Return the `If-Match` header of an attempt as name and value, from the latest response; None without ETag."""
        in_flight = self._in_flight
        tag = in_flight.store.tagged(in_flight.request)[1] or in_flight.seen
        return None if tag is None else ("If-Match", tag)

    def failed(self, error: NetworkError) -> None:
        """Add a hint to the error of a failed attempt if its precondition failed."""
        if isinstance(error, PreconditionFailedError):
            hint = "the server's data changed since it was read; read it again, and decide whether to repeat the change"
            if self._in_flight.may_be_done:
                hint = "an earlier attempt may have made the change; read the data again to check"
            concurrency = self._in_flight.request.rules.mutation.concurrency
            if concurrency is not None and concurrency.field is None and not concurrency.is_required:
                hint += "; until then, changes are sent without If-Match and overwrite changes of others"
            error.args = (f"{error.args[0]}; {hint}", *error.args[1:])


def change_queue_of(in_flight: InFlight) -> ChangeQueue | None:
    """Return the position in the queue of an endpoint with `concurrency`; None unless it is PUT, PATCH or DELETE."""
    rules = in_flight.request.rules
    return ChangeQueue(in_flight) if rules.side_effect and rules.mutation.method in _CHANGES else None


def _timeout_of(endpoint: Any, transport: Any) -> float | Timeout | None:
    """Return the timeout of a call: that of its `request_init`, of its endpoint, or of the transport."""
    for timeout in (_init_of(endpoint).get("timeout"), endpoint.timeout, transport.timeout):
        if timeout is not None:
            found: float | Timeout = timeout_of(timeout, "timeout of request_init")
            return found
    return None


def _within(call: Call, timeout: float | Timeout | None, waited: float) -> Call:
    """Return the call with the rest of its timeout after it waited so many ms."""
    whole = None if timeout is None else whole_of(timeout)
    if whole is None or not waited:
        return call
    rest = max(1.0, whole - waited)
    left: float | Timeout = rest
    if isinstance(timeout, Timeout):
        left = Timeout(rest, timeout.connect, timeout.read, timeout.write, timeout.pool)
    return call.with_timeout(left)


def _init_of(endpoint: object) -> RequestInit:
    found: RequestInit = getattr(endpoint, "request_init", None) or {}
    return found
