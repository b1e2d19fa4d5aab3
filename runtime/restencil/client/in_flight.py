"""Requests in flight: equal requests are coalesced into one, with the same outcome for all callers."""

from __future__ import annotations

import hashlib
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..base.errors import AbortError, copy_with_traceback, reason_of
from ..base.fork import reset_in_child
from ..base.lazy_imports import asyncio, running_loop
from ..base.logs import logger
from ..base.scheduler import block
from ..cache.persistence_port import PendingRequest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Task
    from collections.abc import Callable, Hashable, Sequence

    from ..base.freshness import Validators
    from ..base.response import Page, Response
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.request import Identity, Request
    from ..cache.store import Store
    from ..http.cancellation import Cancellation

# --- single flight ---------------------------------------------------------------------------------------------------


T = TypeVar("T")

#: How often a waiter checks whether the event loop that settles the future is still running, in milliseconds.
LOOP_CHECK = 100.0


class SharedFuture(Generic[T]):
    """A future for a value or an error, which any number of threads, and tasks of any event loops, may wait for.

    The store's lock guards it, so that settling and joining exclude each other.
    """

    __slots__ = ("_is_raised", "_wakers", "done", "error", "loop", "store", "thread", "value")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self.loop: AbstractEventLoop | None = None
        self.thread: int | None = None
        self._is_raised = False
        self._wakers: list[Callable[[], object]] = []

    def add_listener(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` when the future is settled, in any thread, at once if it is already; return how to remove it."""
        with self.store.lock:
            is_done = self.done
            if not is_done:
                self._wakers.append(wake)
        if is_done:
            wake()

        def remove() -> None:
            with self.store.lock:
                if wake in self._wakers:
                    self._wakers.remove(wake)

        return remove

    def was_woken(self) -> bool:
        """Whether the future is settled, which ends a `Pause` for it."""
        return self.done

    def settle(self, value: Any = None, error: BaseException | None = None) -> bool:
        """Set the outcome and wake all waiters; return False if there was an outcome already."""
        with self.store.lock:
            if self.done:
                return False
            self.value = value
            self.error = error
            self.done = True
            wakers, self._wakers = self._wakers, []
        try:
            for wake in wakers:
                wake()
        except BaseException:  # even if interrupted: the waiters would wait forever
            for wake in wakers:
                wake()
            raise
        return True

    def result(self) -> T:
        """Return the value of a settled future, or raise its error, a separate exception for each caller."""
        if self.error is not None:
            raise self.raised_to_caller(self.error)
        return self.value  # type: ignore[return-value]  # set together with `done`

    def raised_to_caller(self, error: BaseException) -> BaseException:
        """Return the exception to raise for an error of this future: itself for the first caller, then copies."""
        with self.store.lock:
            first, self._is_raised = not self._is_raised, True
        return error if first else copy_with_traceback(error)

    def own(self, *, blocking: bool) -> None:
        """Make this thread, or its running loop, the owner, which has to settle the future."""
        if blocking:
            self.thread = get_ident()
        else:
            self.loop = asyncio.get_running_loop()

    @property
    def orphaned(self) -> bool:
        """Whether the event loop that has to settle the future is not running anymore."""
        return self.loop is not None and not self.loop.is_running()

    @property
    def owned_here(self) -> bool:
        """Whether this thread, or its running loop, has to settle the future: a blocking wait would deadlock."""
        if self.loop is not None:
            return running_loop() is self.loop
        return self.thread == get_ident()

    def wait(self) -> T:
        """Block this thread until the future is settled. Raises AbortError if the loop that settles it has ended."""
        event = threading.Event()
        remove = self.add_listener(event.set)
        try:
            while not block(self.store.scheduler, event, None if self.loop is None else LOOP_CHECK):
                if self.orphaned:
                    self.settle(error=orphan_error())
        finally:
            remove()
        return self.result()

    async def wait_async(self) -> T:
        """Await the outcome in the running loop, whichever thread or loop settles the future."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        remove = self.add_listener(lambda: wake_future(future))
        try:
            if self.loop is None or self.loop is loop:
                await future
            else:
                while not self.done:
                    await asyncio.wait((future,), timeout=LOOP_CHECK / 1000)
                    if self.orphaned:
                        self.settle(error=orphan_error())
        finally:
            remove()
        return self.result()

    def forget_waiters(self) -> None:
        """Forget all waiters in a forked process, because they are in the parent."""
        self._wakers = []


def orphan_error() -> AbortError:
    """Return the error of waiters if the loop or controller that ran the request has ended."""
    return AbortError("the event loop or controller that ran this shared request has ended; call again to repeat it")


def wake_future(future: Future[None]) -> None:
    """Wake the waiter of an asyncio future, from any thread."""
    loop = future.get_loop()
    if running_loop() is loop:
        _resolve(future)
        return
    try:
        loop.call_soon_threadsafe(_resolve, future)
    except RuntimeError:
        pass  # that loop is closed, so no task waits


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class SingleFlight:
    """Token renewals in flight, at most one for each key. The store's lock guards them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._flights: dict[Hashable, SharedFuture[Any]] = {}
        reset_in_child.add(self)

    def flight(self, key: Hashable) -> SharedFuture[Any] | None:
        """Return the renewal in flight for this key, or None."""
        with self._store.lock:
            present = self._flights.get(key)
            return None if present is None or present.done or present.orphaned else present

    def join_or_lead(self, key: Hashable, *, blocking: bool) -> tuple[SharedFuture[Any], bool]:
        """Return the renewal for this key, and whether the caller has to do the work and call `end`."""
        with self._store.lock:
            present = self.flight(key)
            if present is not None:
                return present, False
            started = self._flights[key] = SharedFuture[Any](self._store)
            started.own(blocking=blocking)
            return started, True

    def end(
        self, key: Hashable, flight: SharedFuture[Any], value: object = None, error: BaseException | None = None
    ) -> None:
        """End a renewal with an outcome for all waiters; later callers start a new one.

        If the work was interrupted, waiters raise an AbortError, so that one of them starts a new renewal.
        """
        with self._store.lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
        if error is not None and (isinstance(error, AbortError) or not isinstance(error, Exception)):
            error = AbortError("the renewal of a token was interrupted")
        flight.settle(value, error)

    def forked(self) -> None:
        """Drop, in a forked process, the renewals of other threads of the parent."""
        self._flights = {key: flight for key, flight in self._flights.items() if flight.owned_here}


def renewals_of(store: Store) -> SingleFlight:
    """Return the token renewals of all clients of a store."""
    with store.lock:
        found: SingleFlight = store.in_flight.renewals or SingleFlight(store)
        store.in_flight.renewals = found
        return found


# --- requests --------------------------------------------------------------------------------------------------------


class Sender(Protocol):
    """The sender of requests, which stores their responses: a network manager."""

    @property
    def is_alone(self) -> bool:
        """Whether no other manager handles responses."""
        ...

    def send(self, in_flight: InFlight, transport: BlockingTransport, /) -> Any:
        """Send the request, store its response, and return the value of the fetch, blocking."""
        ...

    async def send_async(self, in_flight: InFlight, transport: AwaitingTransport, /) -> None:
        """Send the request and store its response, as a task; the outcome is that of `in_flight`."""
        ...

    def abandon(self, in_flight: InFlight, /) -> None:
        """Let the request fail with AbortError, because it is not needed anymore."""
        ...


class SharedRequest(PendingRequest, Protocol):
    """The coalescing of a request with those of other processes."""

    def withdraw(self) -> None:
        """Send the request in any case, whatever other processes receive."""
        ...


class InFlight(SharedFuture[Any]):
    """The future of a fetch, settled when the response is stored or the request has failed.

    `identity` begins with key and URL; `fetch_id` identifies its actions; `resets` is the store's count of resets when
    it started. `callers` counts the waiting callers: the last one to leave aborts the request. It is `detached` if it
    runs in the background.
    """

    __slots__ = (
        "__weakref__",
        "_has_thread",
        "attempts",
        "callers",
        "cancellation",
        "claimed",
        "detached",
        "endpoint",
        "fetch_id",
        "fetched_at",
        "identity",
        "known",
        "mark",
        "may_be_done",
        "mutation",
        "parsed",
        "request",
        "resets",
        "response",
        "seen",
        "sender",
        "sharing",
        "task",
        "transport",
    )

    def __init__(
        self,
        sender: Sender,
        store: Store,
        request: Request,
        identity: Identity,
        fetch_id: int,
        fetched_at: float,
    ) -> None:
        super().__init__(store)
        self.sender = sender
        self.endpoint: Any = request.endpoint
        self.request = request
        self.identity = identity
        self.fetch_id = fetch_id
        self.fetched_at = fetched_at
        self.mutation = request.rules.side_effect
        self.resets = store.resets
        self.callers = 1
        self.claimed = False
        self.detached = False
        self.task: Task[Any] | None = None
        self.cancellation: Cancellation | None = None
        self._has_thread = False
        self.transport: Any = None
        self.response: Any = None
        """The last HTTP response, for all callers; None before the first one, and without HTTP."""
        self.parsed: tuple[Any, Any] | None = None
        """The response and its parsed body, if hooks of the endpoint create them; for pagination."""
        self.attempts = 1
        self.may_be_done = False
        """For a mutation: whether the server may have processed an attempt so far."""
        self.seen: str | None = None
        """For a mutation with `concurrency`: the ETag of its entity when it was called."""
        self.sharing: SharedRequest | None = None
        """The coalescing with requests of other processes; None: the request is always sent."""
        self.known: Validators | None = None
        """The validators of the stored response, sent as a condition."""
        self.mark: bytes | None = None
        """A digest of the response, to recognize it under its key."""

    def joinable(self, *, blocking: bool) -> bool:
        """Whether another fetch of the same identity may wait for this one, blocking its thread or as a task."""
        if not self.alive:
            return False
        if not self.claimed:
            return True
        if blocking:
            return not self.owned_here
        return self.task is None or self.task is not asyncio.current_task()

    def settle(self, value: object = None, error: BaseException | None = None) -> bool:
        """Set the outcome, so that no fetch joins anymore; return False if there was an outcome already."""
        with self.store.lock:
            if not self.done:
                self.forget()
            return super().settle(value, error)

    def recognizes(self, content: bytes, /) -> bool:
        """Whether this body equals that of the stored response, and the data of that has not changed since."""
        store, rules = self.store, self.request.rules
        is_read = not (self.mutation or rules.mutation.has_body) and self.endpoint.plan.key_is_address
        if not is_read or not self.sender.is_alone or store.in_flight.by_id.get(self.fetch_id) is not self:
            return False
        digest = hashlib.sha256(self.identity[1].encode())
        digest.update(content)
        self.mark = digest.digest()
        return store.witness(self.request.key, self.mark) is not None

    def forget(self) -> None:
        """Remove the request from those in flight, so that no fetch joins it."""
        store = self.store
        with store.lock:
            if store.in_flight.joinable.get(self.identity) is self:
                del store.in_flight.joinable[self.identity]
            store.in_flight.by_id.pop(self.fetch_id, None)
            store.in_flight.mutations.discard(self.fetch_id)

    @property
    def alive(self) -> bool:
        """Whether it will be settled, with an outcome that is not dropped."""
        return not self.done and self.resets == self.store.resets and not self.orphaned

    @property
    def is_sent(self) -> bool:
        """Whether a caller or thread has claimed it, and so sends it."""
        return self.claimed or self._has_thread

    def is_wanted(self) -> bool:
        """Whether it was not settled by anything else than its response, such as another source or a reset."""
        return not self.done

    def claim(self, thread: int | None = None) -> bool:
        """Claim the request; return True for the first caller, which has to send it, blocking or in a loop."""
        with self.store.lock:
            first = not self.claimed
            self.claimed = True
            if first:
                self.thread = thread
        return first

    def claim_thread(self) -> bool:
        """Claim the request for a thread; return True for the first caller, which has to start the thread."""
        with self.store.lock:
            first = not self._has_thread
            self._has_thread = True
        return first

    def fail(self, error: Exception) -> None:
        """Let the request fail; log a warning if it ran in the background."""
        if self.detached:
            logger.warning("background fetch of %s failed: %s", self.identity[0], reason_of(error))
        self.settle(error=error)

    def leave(self) -> None:
        """Remove a waiting caller; the last one aborts the request unless it runs in the background."""
        with self.store.lock:
            self.callers -= 1
            if self.callers > 0 or self.detached or self.done or self.task is None:
                return
            self.forget()
        self.sender.abandon(self)
        self.cancel()

    def cancel(self) -> None:
        """Cancel the task of the request in its event loop; a request on a thread continues."""
        task, loop = self.task, self.loop
        if task is None or loop is None:
            return
        if running_loop() is loop:
            if task is not asyncio.current_task():
                self._cancel_here(task)
        else:
            try:
                loop.call_soon_threadsafe(self._cancel_here, task)
            except RuntimeError:
                pass  # the loop is closed, and the task with it

    def _cancel_here(self, task: Task[None]) -> None:
        if self.cancellation is None:
            task.cancel()
        else:
            self.cancellation.cancel(task)


def response_of(in_flight: object, value: object) -> Response[Any]:
    """Return the response of a fetch; without HTTP members if a manager returned something else than a request."""
    from ..base.response import Response

    return Response(value=value, **_http_members(in_flight))


def page_of(in_flight: Any, value: Any, items: Sequence[Any], position: Any, next_position: Any) -> Page[Any]:
    """Return the response of a fetch of one page."""
    from ..base.response import Page

    members = _http_members(in_flight)
    return Page(value=value, items=items, position=position, next_position=next_position, **members)


def _http_members(in_flight: object) -> dict[str, Any]:
    from ..base.response import members_of

    if not isinstance(in_flight, InFlight):
        return {}
    return {"attempts": in_flight.attempts, **members_of(in_flight.response)}
