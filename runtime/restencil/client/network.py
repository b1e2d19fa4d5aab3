"""The manager that sends requests, coalesces equal ones, and stores their responses."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..base.durations import milliseconds
from ..base.errors import AbortError, AuthError, ResetError, RestencilError
from ..base.fork import reset_in_child
from ..base.freshness import freshness_headers_in
from ..base.json_text import decode_json
from ..base.lazy_imports import asyncio
from ..base.logs import STORE, debug, logger
from ..base.steps import drive, drive_async
from ..base.values import UNDEFINED
from ..cache.actions import Fetch, Freshen, Meta, Reset, SetError, SetResponse
from ..http.cancellation import cancellable
from .conditional_requests import place_of, renewed, terms_of, validators_of
from .fetcher import Fetcher, FetchingCore, refreshing
from .in_flight import InFlight, orphan_error
from .managers import Manager, Next, core_of, serves_one

if TYPE_CHECKING:
    from ..base.durations import Duration
    from ..base.freshness import Terms, Validators
    from ..base.steps import CallContext, StepsOf
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store import Store


#: The `resets` of a response that must not be stored; the count of resets of a store is never negative.
DROPPED: Final = -1

_CREATED: Final = 201
"""The status of a response after something was created."""


class _Core(FetchingCore, Protocol):
    """The members of the controller's core that this manager uses."""

    @property
    def store(self) -> Store: ...
    @property
    def sends_alone(self) -> bool: ...
    def dispatch(self, action: Action, /) -> Any: ...


class NetworkManager(Manager):
    """Runs fetches. Lifetimes (milliseconds, `"5m"`, a timedelta) apply to endpoints that set none.

        Controller(managers=[NetworkManager(data_expiry_length=300_000), SubscriptionManager()])

    At most one request of an endpoint without side effect is in flight per key and URL, across all controllers,
    threads and tasks of a store; further fetches get the same outcome. Mutations are always sent. Raises ValueError for
    a negative lifetime.
    """

    def __init__(self, data_expiry_length: Duration = 60_000, error_expiry_length: Duration = 1_000) -> None:
        self.data_expiry_length: float = milliseconds(data_expiry_length, "data_expiry_length of NetworkManager")
        self.error_expiry_length: float = milliseconds(error_expiry_length, "error_expiry_length of NetworkManager")
        for name in ("data_expiry_length", "error_expiry_length"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} of NetworkManager must not be negative: {getattr(self, name)}")
        self._core: _Core | None = None
        self._open = False
        self.fetcher = Fetcher()
        reset_in_child.add(self)

    def init(self, controller: Any, /) -> None:
        """Store results from now on. Raises RuntimeError if the manager serves another controller."""
        core: _Core = core_of(controller)
        serves_one(self, self._core if self._open else None, core)
        self._core = core
        self._open = True

    def cleanup(self) -> None:
        """Drop the requests in flight: results are not stored, and callers that wait for them raise AbortError."""
        core = self._core
        if core is None or not self._open:
            return
        self._open = False
        store = core.store
        with store.lock:
            mine = [in_flight for in_flight in store.in_flight.by_id.values() if in_flight.sender is self]
            for in_flight in mine:
                in_flight.resets = DROPPED
        for in_flight in mine:
            _drop(in_flight)
            in_flight.cancel()

    def forked(self) -> None:
        """Drop, in a forked process, the requests in flight that the parent sends."""
        core = self._core
        if core is None:
            return
        store = core.store
        for in_flight in [in_flight for in_flight in store.in_flight.by_id.values() if in_flight.sender is self]:
            if not in_flight.owned_here:
                in_flight.resets = DROPPED
                in_flight.forget_waiters()
                _drop(in_flight)

    def handle(self, action: Action, next: Next, /) -> Any:
        """Start fetches, complete those with a response or error, and reject them on a reset."""
        if isinstance(action, SetResponse) or isinstance(action, SetError):  # noqa: SIM101 - twice as fast as a tuple
            return self._receive(action, next)
        if isinstance(action, Fetch):
            return self._start(action, next)
        if isinstance(action, Freshen):
            return self._receive_again(action, next)
        if isinstance(action, Reset):
            return self._reset(action, next)
        return next(action)

    def data_length(self, request: Request) -> float:
        """Return how long data of this request's endpoint stays fresh, in milliseconds."""
        length = request.rules.read.data_expiry_length
        return self.data_expiry_length if length is None else length

    def error_length(self, request: Request) -> float:
        """Return how long an error of this request's endpoint stays fresh, in milliseconds."""
        length = request.rules.read.error_expiry_length
        return self.error_expiry_length if length is None else length

    # the sender of requests in flight

    def send(self, in_flight: InFlight, transport: BlockingTransport, /) -> Any:
        """Send the request, store its response, and return the value of the fetch, blocking."""
        in_flight.transport = transport
        try:
            return drive(self._sending(in_flight), transport)
        except BaseException as error:
            raise in_flight.raised_to_caller(error)  # noqa: B904 - itself or a copy

    async def send_async(self, in_flight: InFlight, transport: AwaitingTransport, /) -> None:
        """Send the request and store its response, as a task, which raises only errors that are no `Exception`."""
        try:
            in_flight.task = asyncio.current_task()
            in_flight.cancellation = cancellable()
            in_flight.transport = transport
            await drive_async(self._sending(in_flight), transport)
        except Exception as error:
            in_flight.fail(error)
        except BaseException:
            self.abandon(in_flight)
            raise

    @property
    def is_alone(self) -> bool:
        """Whether no other manager handles responses."""
        return self._attached().sends_alone

    def abandon(self, in_flight: InFlight, /) -> None:
        """Let the request fail with AbortError, because it is not needed anymore."""
        if not in_flight.done:
            in_flight.may_be_done |= in_flight.is_sent
            self._dispatch_error(in_flight, AbortError("the request was cancelled"))
            in_flight.resets = DROPPED
            in_flight.settle(error=AbortError("the request was cancelled"))

    # actions
    def _start(self, action: Fetch, next: Next) -> InFlight:
        """Return a new request in flight, or the present one of the same identity, which the fetch joins."""
        core = self._attached()
        if not self._open:
            raise RuntimeError("this controller is closed; open() it before the next fetch")
        store, request, fetch_id, within = core.store, action.request, action.fetch_id, action.within
        mutation, identity = request.rules.side_effect, request.identity
        with store.lock:
            joined_by_others = False
            if not mutation and request.rules.read.is_stored and not refreshing.get():
                other: InFlight | None = store.in_flight.joinable.get(identity)
                if other is not None and not store.is_unmarked_since(request, other.fetched_at):
                    other = None  # a change came after it was sent
                if other is not None and other.joinable(blocking=core.is_blocking):
                    other.callers += 1
                    if within is None and other.sharing is not None:
                        other.sharing.withdraw()
                    return other
                joined_by_others = other is None or not other.alive
            started = InFlight(self, store, request, identity, fetch_id, action.meta.fetched_at)
            if within is not None and store.is_persistent and not mutation:
                from .coalescing import Coalescing

                started.sharing = Coalescing(started, within)
            store.in_flight.by_id[fetch_id] = started
            if mutation:
                store.in_flight.mutations.add(fetch_id)
                if request.rules.mutation.concurrency is not None:
                    started.seen = store.tagged(request)[1]
            if joined_by_others:
                store.in_flight.joinable[identity] = started
        if request.rules.is_optimistic:
            next(action)
            if started.resets == DROPPED:  # closed meanwhile by another thread
                _drop(started)
        return started

    def _receive(self, action: SetResponse | SetError, next: Next) -> object:
        store = self._attached().store
        completed: InFlight | None
        if action.fetch_id is not None:
            completed = store.in_flight.by_id.get(action.fetch_id)
        else:
            # A response from another source completes the fetch of the same key and URL.
            completed = store.in_flight.joinable.get(action.request.identity) if store.in_flight.joinable else None
            if completed is not None and isinstance(action, SetResponse):
                action = action.replaced(wanted=True)
        try:
            value = next(action)
        except BaseException as error:
            if completed is not None:
                completed.settle(error=_for_others(error))
            raise
        if completed is not None:
            completed.settle(value, action.error if isinstance(action, SetError) else None)
        return value

    def _receive_again(self, action: Freshen, next: Next) -> object:
        value = next(action)
        completed: InFlight | None = self._attached().store.in_flight.by_id.get(action.fetch_id)
        if completed is not None and value is not UNDEFINED:
            completed.settle(value)
        return value

    def _reset(self, action: Action, next: Next) -> object:
        store = self._attached().store
        try:
            return next(action)
        finally:
            with store.lock:
                rejected = [f for f in store.in_flight.by_id.values() if not f.mutation and f.resets != store.resets]
            for in_flight in rejected:
                requested = in_flight.request.label
                in_flight.settle(error=ResetError(f"the store was reset while {requested!r} was being fetched"))

    # outcomes of requests

    def _attached(self) -> _Core:
        if self._core is None:
            raise RuntimeError("this NetworkManager has no controller; pass it as Controller(managers=[…])")
        return self._core

    def _write(self, in_flight: InFlight, call: CallContext, core: _Core) -> Any:
        """Store the response, and return the value of the fetch."""
        request, store = in_flight.request, in_flight.store
        answer: Any = in_flight.response
        date = store.clock()
        headers = None if answer is None else freshness_headers_in(answer.headers.raw)
        validators = None if headers is None else validators_of(in_flight, headers)
        meta, terms = self._times(in_flight, date, headers)
        settled = in_flight.done
        request.answer = answer  # for messages
        try:
            value, response = UNDEFINED, call.value
            if call.is_identical:
                if not settled and in_flight.mark is not None:
                    value = store.apply(
                        Freshen(request, in_flight.mark, meta, in_flight.fetch_id, in_flight.resets, validators, terms)
                    )
                if value is UNDEFINED:
                    response = decode_json(in_flight.response.content)
            if value is UNDEFINED:
                action = SetResponse(
                    request,
                    response,
                    meta,
                    in_flight.fetch_id,
                    in_flight.resets,
                    date + self.error_length(request),
                    mark=in_flight.mark,
                    validators=validators,
                    terms=terms,
                    # A custom `fetch` may have replaced the value.
                    assumed=response is not None and response is call.assumed,
                    created=answer is not None and answer.status_code == _CREATED,
                )
                value = core.dispatch(action)
                if settled:
                    return in_flight.result()
        except BaseException as error:
            if not isinstance(error, RestencilError):  # it may not have been stored
                self._dispatch_error(in_flight, AbortError("the request was cancelled"))
            in_flight.settle(error=_for_others(error))
            raise
        finally:
            request.answer = None
        if not in_flight.done:  # by the action, or by a manager that replaced it
            in_flight.settle(value)
        return value

    def _times(self, in_flight: InFlight, date: float, headers: Mapping[str, str] | None) -> tuple[Meta, Terms | None]:
        """Return the times of a response received at `date`, and its HTTP freshness if the endpoint uses that."""
        request = in_flight.request
        expires_at = date + self.data_length(request)
        bounds = request.rules.read.server_lifetime
        if bounds is None:
            return Meta(in_flight.fetched_at, date, expires_at), None
        terms = terms_of(headers or {}, bounds, in_flight.fetched_at, expires_at)
        meta = Meta(in_flight.fetched_at, date, terms.fresh_until)
        return meta, None if request.rules.side_effect else terms

    def _freshen(self, in_flight: InFlight, known: Validators, core: _Core) -> bool:
        """Freshen the stored response; return False if a part of it is not stored anymore."""
        request, store = in_flight.request, in_flight.store
        answer: Any = in_flight.response
        date = store.clock()
        headers = renewed(known, freshness_headers_in(answer.headers.raw))
        if place_of(answer) != known.place:
            return False
        meta, terms = self._times(in_flight, date, headers)
        validators = validators_of(in_flight, headers, known)
        action = Freshen(request, known.mark, meta, in_flight.fetch_id, in_flight.resets, validators, terms)
        value = core.dispatch(action)
        if value is UNDEFINED:
            return False
        debug(STORE, "%s: not modified", request.key)
        in_flight.settle(value)
        return True

    def _write_error(self, in_flight: InFlight, error: BaseException) -> bool:
        """Store the error; return False if the fetch already has an outcome from another source."""
        settled = in_flight.done
        if in_flight.resets != DROPPED:
            self._dispatch_error(in_flight, error)
        return not (settled and isinstance(error, Exception))

    def _dispatch_error(self, in_flight: InFlight, error: BaseException) -> None:
        error = _for_others(error)
        date = in_flight.store.now()
        # An error of a token server is stored as stale, so that it never prevents another try.
        expires_at = 1 if isinstance(error, AuthError) else date + self.error_length(in_flight.request)
        meta = Meta(in_flight.fetched_at, date, expires_at)
        key = in_flight.identity[0]
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s failed after %d ms: %s", key, date - in_flight.fetched_at, type(error).__name__)
        action = SetError(in_flight.request, error, meta, in_flight.fetch_id, in_flight.resets, in_flight.may_be_done)
        self._attached().dispatch(action)

    def _sending(self, in_flight: InFlight) -> StepsOf[Any]:
        """Steps: send the request, store its response, and return the value of the fetch."""
        sharing, core = in_flight.sharing, self._attached()
        try:
            try:
                if sharing is not None:
                    if (yield from in_flight.store.sharing(in_flight.request, in_flight.fetch_id, sharing)):
                        return in_flight.result()
                    in_flight.fetched_at = in_flight.store.next_number()  # the request is newer than all changes so far
                call = yield from self.fetcher.steps(in_flight, core)
                if call is not None and call.is_not_modified and in_flight.known is not None:
                    if self._freshen(in_flight, in_flight.known, core) or not in_flight.is_wanted():
                        return in_flight.result()
                    call = yield from self.fetcher.steps(in_flight, core, whole=True)
            except BaseException as error:
                if self._write_error(in_flight, error):
                    raise
                return in_flight.result()
            return in_flight.result() if call is None else self._write(in_flight, call, core)
        finally:
            if sharing is not None:
                in_flight.store.shared(in_flight.fetch_id)


def _for_others(error: BaseException) -> Exception:
    """Return the error for other callers that wait for a request: AbortError if `error` ends a thread or task."""
    if isinstance(error, Exception):
        return error
    aborted = AbortError("the request was cancelled")
    aborted.__cause__ = error
    return aborted


def _drop(in_flight: InFlight) -> None:
    """End a fetch with an outcome that is dropped."""
    store, error = in_flight.store, orphan_error()
    if in_flight.mutation:
        # Roll its optimistic response back: other controllers of the store would show it forever.
        now = Meta(in_flight.fetched_at, store.now(), store.now())
        store.apply(SetError(in_flight.request, error, now, in_flight.fetch_id, DROPPED, may_be_done=True))
    in_flight.settle(error=error)
