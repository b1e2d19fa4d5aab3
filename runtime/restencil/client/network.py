"""Requests in flight: started once, joined by all who want the same, written to the store when answered (§9)."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from ..base.errors import AbortError, NetworkError, ResetError
from ..base.lazy import asyncio, logger, logging, uuid
from ..base.steps import HookCall, drive, drive_async, enter, leave
from ..cache.actions import Fetch, Meta, Reset, SetError, SetResponse
from ..http.cancellation import cancellable
from .in_flight import Flight, Pause, Promise, Wait, orphan_error
from .manager import Manager, Next, serves_one

if TYPE_CHECKING:
    from ..base.steps import Step
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint
    from .controller import AnyController
    from .retry import Retries


#: The `resets` of a response that must not reach the store: no store was ever reset so often.
DROPPED: Final = -1

#: In place of a response: while a retry waited, the flight was answered from elsewhere, so nothing more is sent.
_ANSWERED: Final[Any] = object()

#: True within a token refresh: its requests neither refresh nor wait for those that do (§13.2).
_refreshing: Final[ContextVar[bool]] = ContextVar("restencil_refreshing", default=False)


class NetworkManager(Manager):
    """Runs fetches. Lifetimes, in milliseconds, hold for endpoints that set none of their own (§7.4, §9.1).

    At most one request of an endpoint without side effect is in flight per key and URL, across all controllers of a
    store, in whatever threads and tasks; further fetches get the same outcome (§9.2). Mutations are always sent.
    """

    def __init__(self, data_expiry_length: float = 60_000, error_expiry_length: float = 1_000) -> None:
        for name, length in (("data_expiry_length", data_expiry_length), ("error_expiry_length", error_expiry_length)):
            if not length >= 0:
                raise ValueError(f"{name} of NetworkManager must not be negative: {length}")
        self.data_expiry_length = data_expiry_length
        self.error_expiry_length = error_expiry_length
        self._controller: AnyController | None = None
        self._open = False
        self._policies: dict[int, Retries] = {}
        _managers.add(self)

    def init(self, controller: AnyController, /) -> None:
        """Results are written from now on (§9.7). RuntimeError where the manager serves another controller."""
        serves_one(self, self._controller if self._open else None, controller)
        self._controller = controller
        self._open = True

    def cleanup(self) -> None:
        """Results of what is in flight are not written any more; who waits for them gets AbortError (§9.6, §9.7)."""
        controller = self._controller
        if controller is None or not self._open:
            return
        self._open = False
        store = controller.store
        with store.lock:
            taken = [flight for flight in store.pending.values() if flight.manager is self]
            for flight in taken:
                flight.resets = DROPPED
        for flight in taken:
            _drop(flight)
            flight.cancel()

    def forked(self) -> None:
        """This is a forked process: what others have in flight stays with the parent, and no one waits for it here."""
        controller = self._controller
        if controller is None:
            return
        store = controller.store
        for flight in [flight for flight in store.pending.values() if flight.manager is self]:
            if not flight.owned_here:
                flight.resets = DROPPED
                flight.forget_waiters()
                _drop(flight)
        store.refreshes = {hook: last for hook, last in store.refreshes.items() if last.done or last.owned_here}

    def handle(self, action: Action, next: Next, /) -> Any:
        """Starts fetches, completes those whose response or error passes, and rejects them on a reset."""
        if isinstance(action, SetResponse) or isinstance(action, SetError):  # noqa: SIM101 - twice as fast as a tuple
            return self._receive(action, next)
        if isinstance(action, Fetch):
            return self._start(action, next)
        if isinstance(action, Reset):
            return self._reset(action, next)
        return next(action)

    def data_length(self, request: Request) -> float:
        """How long data of this endpoint stays fresh, in milliseconds (§7.4)."""
        length = request.rules.data_expiry_length
        return self.data_expiry_length if length is None else length

    def error_length(self, request: Request) -> float:
        """How long an error of this endpoint is kept, in milliseconds (§7.4)."""
        length = request.rules.error_expiry_length
        return self.error_expiry_length if length is None else length

    def run(self, flight: Flight, transport: BlockingTransport) -> Any:
        """The request of one flight from its first byte until its response is in the store, blocking."""
        endpoint = flight.endpoint
        if self._may_repeat(endpoint):
            return drive(self._repeating(flight), transport)
        token = enter(transport)
        try:
            try:
                response = endpoint.perform(flight.request.args, transport, flight.identity[1])
            except BaseException as error:
                if self._fails(flight, error):
                    raise
                return flight.result()
            return self._land(flight, response)
        finally:
            leave(token)

    async def run_async(self, flight: Flight, transport: AwaitingTransport) -> None:
        """`run` as a task of its own; the outcome is the flight's, and no error is raised but those that end a task."""
        flight.task = asyncio.current_task()
        flight.cancellation = cancellable()
        endpoint = flight.endpoint
        try:
            if self._may_repeat(endpoint):
                await drive_async(self._repeating(flight), transport)
                return
            enter(transport)
            try:
                response = await endpoint.perform_async(flight.request.args, transport, flight.identity[1])
            except BaseException as error:
                if self._fails(flight, error):
                    raise
            else:
                self._land(flight, response)
        except Exception as error:
            flight.fail(error)

    def _may_repeat(self, endpoint: Endpoint[..., Any]) -> bool:
        """Whether a request may be sent more than once: after a pause, or with another token."""
        return not (endpoint.retries is None and self._attached().retries is None and endpoint.refresh is None)

    def _repeating(self, flight: Flight) -> Generator[Step, Any, Any]:
        try:
            response = yield from self._exchange(flight, self._attached())
        except BaseException as error:
            if self._fails(flight, error):
                raise
            return flight.result()
        return flight.result() if response is _ANSWERED else self._land(flight, response)

    def _land(self, flight: Flight, response: Any) -> Any:
        """Writes the response to the store; the value of the fetch."""
        request, store, controller = flight.request, flight.store, self._attached()
        date = store.clock()
        meta = Meta(flight.fetched_at, date, date + self.data_length(request))
        action = SetResponse(
            request,
            response,
            meta,
            flight.fetch_id,
            flight.resets,
            date + self.error_length(request),
        )
        answered = flight.done
        if answered or not controller.is_direct:
            value = controller.dispatch(action)
            return flight.result() if answered else value
        # As the action would go through the managers, none of which has anything to do with it.
        try:
            value = store.apply(action)
        except BaseException as error:
            flight.settle(error=error)
            raise
        flight.settle(value)
        return value

    def _fails(self, flight: Flight, error: BaseException) -> bool:
        """Writes the error to the store; False where the flight has got its outcome from elsewhere."""
        answered = flight.done
        if flight.resets != DROPPED:
            self._fail(flight, self._attached(), error)
        return not (answered and isinstance(error, Exception))

    def abandon(self, flight: Flight) -> None:
        """The request of this flight is not wanted any more: as if it had been aborted at this moment (§9.4)."""
        if not flight.done:
            self._fail(flight, self._attached(), AbortError("the request was cancelled"))
            flight.resets = DROPPED
            flight.settle(error=AbortError("the request was cancelled"))

    # what passes

    def _start(self, action: Fetch, next: Next) -> Flight:
        flight = self.start(action.request, action.fetch_id, action.meta.fetched_at)
        if action.request.rules.simulated:
            next(action)
            if flight.resets == DROPPED:  # closed in this very moment, by another thread
                _drop(flight)
        return flight

    def start(self, request: Request, fetch_id: int, fetched_at: float) -> Flight:
        """A new flight, or the one in flight that a fetch of this identity joins (§9.2)."""
        controller = self._attached()
        if not self._open:
            raise RuntimeError("this controller is closed; open() it before the next fetch")
        store = controller.store
        mutation, identity = request.rules.side_effect, request.identity
        with store.lock:
            joined_by_others = False
            if not mutation and not _refreshing.get():
                other: Flight | None = store.flights.get(identity)
                if other is not None and other.joinable(blocking=controller.is_blocking):
                    other.callers += 1
                    return other
                joined_by_others = other is None or not other.alive
            flight = Flight(self, store, request, identity, fetch_id, fetched_at)
            store.pending[fetch_id] = flight
            if joined_by_others:
                store.flights[identity] = flight
        return flight

    def _receive(self, action: SetResponse | SetError, next: Next) -> Any:
        store = self._attached().store
        flight: Flight | None
        if action.fetch_id is not None:
            flight = store.pending.get(action.fetch_id)
        else:
            flight = self._awaited(store, action)
        try:
            value = next(action)
        except BaseException as error:
            if flight is not None:
                flight.settle(error=error)
            raise
        if flight is not None:
            flight.settle(value, action.error if isinstance(action, SetError) else None)
        return value

    def _reset(self, action: Action, next: Next) -> Any:
        result = next(action)
        store = self._attached().store
        with store.lock:
            taken = [f for f in store.pending.values() if not f.mutation and f.resets != store.resets]
        for flight in taken:
            flight.settle(error=ResetError(f"the store was reset while {flight.identity[0]!r} was being fetched"))
        return result

    # flights

    def _attached(self) -> AnyController:
        if self._controller is None:
            raise RuntimeError("this NetworkManager belongs to no controller; give it as Controller(managers=[…])")
        return self._controller

    def _awaited(self, store: Store, action: SetResponse | SetError) -> Flight | None:
        """The fetch that a response from elsewhere completes: the one of the same key and URL (§9.2)."""
        if not store.flights:
            return None
        return store.flights.get(action.request.identity)

    def _fail(self, flight: Flight, controller: AnyController, error: BaseException) -> None:
        if not isinstance(error, Exception):
            cause, error = error, AbortError("the request was cancelled")
            error.__cause__ = cause
        date = flight.store.now()
        meta = Meta(flight.fetched_at, date, date + self.error_length(flight.request))
        key = flight.identity[0]
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s failed after %d ms: %s", key, date - flight.fetched_at, type(error).__name__)
        controller.dispatch(SetError(flight.request, error, meta, flight.fetch_id, flight.resets))

    # retries and refresh

    def _exchange(self, flight: Flight, controller: AnyController) -> Generator[Step, Any, Any]:
        endpoint: Endpoint[..., Any] = flight.endpoint
        retries = self._retries(endpoint, controller)
        if retries is None and endpoint.refresh is None:
            return (yield from endpoint.steps(flight.request.args))
        if retries is not None:
            from .retry import repeatable

            if not repeatable(endpoint):
                endpoint = _with_idempotency_key(endpoint)
            if retries.budget is not None:
                retries.budget.earn()
        attempt = 0
        refreshed = _refreshing.get()
        while True:
            started = flight.store.next_id()
            try:
                return (yield from endpoint.steps(flight.request.args))
            except NetworkError as error:
                if error.status == 401 and endpoint.refresh is not None and not refreshed:
                    refreshed = True
                    renewed = yield from self._refresh(controller, endpoint, error, started)
                    if renewed and wanted(flight):
                        continue
                    raise
                delay = None if retries is None else retries.delay(attempt, error, flight.store.now())
                if delay is None or not wanted(flight):
                    raise
                attempt += 1
                logger.info("%s: %s, retry %d in %d ms", flight.identity[0], type(error).__name__, attempt, delay)
            yield Pause(flight.store.scheduler, delay, endpoint.signal)
            if not wanted(flight):
                return _ANSWERED

    def _retries(self, endpoint: Endpoint[..., Any], controller: AnyController) -> Retries | None:
        asked: int | Retries | None = endpoint.retries
        if asked is None:
            asked = controller.retries
        if not asked:
            return None
        if isinstance(asked, int):
            policy = self._policies.get(asked)
            if policy is None:
                from .retry import Retries

                policy = self._policies[asked] = Retries(asked)
            asked = policy
        return asked if asked.applies_to(endpoint) else None

    def _refresh(
        self, controller: AnyController, endpoint: Endpoint[..., Any], error: NetworkError, started: int
    ) -> Generator[Step, Any, bool]:
        """Renews the token once for all requests that started before that was done (§13.2)."""
        store, blocking = controller.store, controller.is_blocking
        hook: Any = endpoint.refresh
        identity = getattr(hook, "__func__", hook)
        while True:
            with store.lock:
                last: Refresh | None = store.refreshes.get(identity)
                if last is None or (last.done and (last.abandoned or last.finished < started)):
                    mine = store.refreshes[identity] = Refresh(store, blocking=blocking)
                    break
            if last.done:
                return last.renewed
            if blocking and last.owned_here:
                mine = Refresh(store, blocking=blocking)
                break
            yield Wait(last)
        outer = _refreshing.get()
        _refreshing.set(True)
        try:
            mine.renewed = bool((yield HookCall(endpoint.name, "refresh", hook, (error,))))
        except AbortError:
            mine.abandoned = True
            raise
        except Exception:
            logger.exception("refresh of endpoint %r failed; its 401 stands", endpoint.name)
        except BaseException:
            mine.abandoned = True
            raise
        finally:
            _refreshing.set(outer)
            mine.finished = store.next_id()
            mine.settle()
        return mine.renewed


class Refresh(Promise[None]):
    """One run of a `refresh` hook; `finished` orders its end among the starts of requests."""

    __slots__ = ("abandoned", "finished", "renewed")

    def __init__(self, store: Store, *, blocking: bool) -> None:
        super().__init__(store)
        self.own(blocking=blocking)
        self.renewed = False
        self.abandoned = False
        self.finished = 0


def _drop(flight: Flight) -> None:
    """Ends a flight whose outcome does not count any more."""
    store, error = flight.store, orphan_error()
    if flight.mutation:
        # Its optimistic response goes: other controllers of the store would show it for ever.
        now = Meta(flight.fetched_at, store.now(), store.now())
        store.apply(SetError(flight.request, error, now, flight.fetch_id, DROPPED))
    flight.settle(error=error)


def wanted(flight: Flight) -> bool:
    """No one has answered the flight in the network's place: a response from elsewhere, a reset, the end."""
    return not flight.done


def _with_idempotency_key(endpoint: Endpoint[..., Any]) -> Endpoint[..., Any]:
    init: dict[str, Any] = getattr(endpoint, "request_init", None) or {}
    headers: dict[str, str] = init.get("headers") or {}
    if any(name.lower() == "idempotency-key" for name in headers):
        return endpoint  # the user knows better what is one and the same
    return endpoint.extend(request_init={**init, "headers": {**headers, "Idempotency-Key": str(uuid.uuid4())}})


_managers: Final[WeakSet[NetworkManager]] = WeakSet()


def _after_fork() -> None:
    for manager in list(_managers):
        manager.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
