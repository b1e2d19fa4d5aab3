"""Requests in flight: each is sent once for all who want the same, and all of them get its outcome."""

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

    from ..base.response import Page, Response
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.request import Identity, Request
    from ..cache.store import Store
    from ..cache.validators import Validators
    from ..http.cancellation import Cancellation

# --- single flight ---------------------------------------------------------------------------------------------------


T = TypeVar("T")

#: How often a waiter looks whether the event loop that owes it the outcome still runs, in milliseconds.
LOOP_CHECK = 100.0


class SharedFuture(Generic[T]):
    """A value or an error that arrives once; any number of threads and tasks of any loops may wait for it.

    The store's lock guards it, so that settling and joining exclude each other.
    """

    __slots__ = ("_event", "_futures", "_is_raised", "_wakers", "done", "error", "loop", "store", "thread", "value")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self.loop: AbstractEventLoop | None = None
        self.thread: int | None = None
        self._event: threading.Event | None = None
        self._futures: list[Future[None]] | None = None
        self._is_raised = False
        self._wakers: list[Callable[[], object]] | None = None

    def when_done(self, wake: Callable[[], object]) -> None:
        """Calls the function once the outcome is there, in whatever thread; at once where it is."""
        with self.store.lock:
            if not self.done:
                self._wakers = [*(self._wakers or ()), wake]
                return
        wake()

    def settle(self, value: Any = None, error: BaseException | None = None) -> bool:
        """Hand the outcome to all who wait; False when there was one already."""
        with self.store.lock:
            if self.done:
                return False
            self.value = value
            self.error = error
            self.done = True
            is_awaited = self._event is not None or self._futures or self._wakers
        if is_awaited:
            try:
                self._wake()
            except BaseException:  # whatever comes between: who waits would wait for ever
                self._wake()
                raise
        return True

    def _wake(self) -> None:
        if self._event is not None:
            self._event.set()
        for future in self._futures or ():
            wake_future(future)
        for wake in self._wakers or ():
            wake()
        self._event = self._futures = self._wakers = None

    def result(self) -> T:
        """The value of a settled future; raises its error, to each caller an exception of their own."""
        if self.error is not None:
            raise self.raised_to_caller(self.error)
        return self.value  # type: ignore[return-value]  # set together with `done`

    def raised_to_caller(self, error: BaseException) -> BaseException:
        """What is raised to one caller for an error of this future: itself to the first one, then copies."""
        with self.store.lock:
            first, self._is_raised = not self._is_raised, True
        return error if first else copy_with_traceback(error)

    def own(self, *, blocking: bool) -> None:
        """This thread, or its running loop, owes the outcome from now on."""
        if blocking:
            self.thread = get_ident()
        else:
            self.loop = asyncio.get_running_loop()

    @property
    def orphaned(self) -> bool:
        """The event loop that would bring the outcome does not run any more."""
        return self.loop is not None and not self.loop.is_running()

    @property
    def owned_here(self) -> bool:
        """A blocking wait in this thread would wait for itself: the thread, or its running loop, owes the outcome."""
        if self.loop is not None:
            return running_loop() is self.loop
        return self.thread == get_ident()

    def wait(self) -> T:
        """Block this thread until the outcome is there; AbortError when the loop that owes it has ended."""
        with self.store.lock:
            if self.done:
                return self.result()
            event = self._event
            if event is None:
                event = self._event = threading.Event()
        while not block(self.store.scheduler, event, None if self.loop is None else LOOP_CHECK):
            if self.orphaned:
                self.settle(error=orphan_error())
        return self.result()

    async def wait_async(self) -> T:
        """Await the outcome in the running loop, whichever thread or loop brings it."""
        loop = asyncio.get_running_loop()
        with self.store.lock:
            if self.done:
                return self.result()
            future = loop.create_future()
            if self._futures is None:
                self._futures = [future]
            else:
                self._futures.append(future)
        try:
            if self.loop is None or self.loop is loop:
                await future
            else:
                while not self.done:
                    await asyncio.wait((future,), timeout=LOOP_CHECK / 1000)
                    if self.orphaned:
                        self.settle(error=orphan_error())
        finally:
            if not self.done:
                self._forget_future(future)
        return self.result()

    def forget_waiters(self) -> None:
        """This is a forked process: who waited is in the parent."""
        self._event = self._futures = self._wakers = None

    def _forget_future(self, future: Future[None]) -> None:
        with self.store.lock:
            if self._futures and future in self._futures:
                self._futures.remove(future)


def orphan_error() -> AbortError:
    """What a waiter gets when the loop or controller that ran its request has gone."""
    return AbortError("the event loop or controller that ran this shared request has ended; call again to send it anew")


def wake_future(future: Future[None]) -> None:
    """Let the waiter of this future go on, from any thread."""
    loop = future.get_loop()
    if running_loop() is loop:
        _resolve(future)
        return
    try:
        loop.call_soon_threadsafe(_resolve, future)
    except RuntimeError:
        pass  # that loop is closed: no one waits there any more


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class WaitFor:
    """A step: wait for a future that someone else settles."""

    __slots__ = ("_future",)

    def __init__(self, future: SharedFuture[Any]) -> None:
        self._future = future

    def take(self, transport: BlockingTransport) -> Any:
        """Blocks until it is settled."""
        return self._future.wait()

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Awaits until it is settled."""
        return await self._future.wait_async()


class SingleFlight:
    """Token renewals under way, at most one for each key. The store's lock guards them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._flights: dict[Hashable, SharedFuture[Any]] = {}
        reset_in_child.add(self)

    def flight(self, key: Hashable) -> SharedFuture[Any] | None:
        """The flight for this key that will have an outcome."""
        with self._store.lock:
            present = self._flights.get(key)
            return None if present is None or present.done or present.orphaned else present

    def join_or_lead(self, key: Hashable, *, blocking: bool) -> tuple[SharedFuture[Any], bool]:
        """The flight for this key, and whether the caller has to do the work and call `end`."""
        with self._store.lock:
            present = self.flight(key)
            if present is not None:
                return present, False
            started = self._flights[key] = SharedFuture[Any](self._store)
            started.own(blocking=blocking)
            return started, True

    def end(
        self, key: Hashable, flight: SharedFuture[Any], value: Any = None, error: BaseException | None = None
    ) -> None:
        """All who wait get this outcome; those who come later begin anew.

        If the work was interrupted, they get an AbortError, so that one of them begins anew.
        """
        with self._store.lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
        if error is not None and (isinstance(error, AbortError) or not isinstance(error, Exception)):
            error = AbortError("the renewal of a token was interrupted")
        flight.settle(value, error)

    def forked(self) -> None:
        """What other threads were doing stays with the parent."""
        self._flights = {key: flight for key, flight in self._flights.items() if flight.owned_here}


def renewals_of(store: Store) -> SingleFlight:
    """The token renewals of all clients of a store."""
    with store.lock:
        found: SingleFlight = store.in_flight.renewals or SingleFlight(store)
        store.in_flight.renewals = found
        return found


# --- requests --------------------------------------------------------------------------------------------------------


class Sender(Protocol):
    """Who sends requests and writes their responses to the store: a network manager."""

    @property
    def is_alone(self) -> bool:
        """Whether no other manager sees the responses pass."""
        ...

    def send(self, in_flight: InFlight, transport: BlockingTransport, /) -> Any:
        """The request from its first byte until its response is in the store, blocking; the value of the fetch."""
        ...

    async def send_async(self, in_flight: InFlight, transport: AwaitingTransport, /) -> None:
        """The request until its response is in the store, as a task; the promise gets the outcome."""
        ...

    def abandon(self, in_flight: InFlight, /) -> None:
        """The request is not wanted any more: it fails as if it had been aborted at this moment."""
        ...


class SharedRequest(PendingRequest, Protocol):
    """What a request takes from other processes."""

    def withdraw(self) -> None:
        """The server is to be asked in any case."""
        ...


class InFlight(SharedFuture[Any]):
    """The promise of a fetch, kept when the response is in the store or the request has failed.

    `identity` begins with key and URL; `fetch_id` names its actions; `resets` is the store's count of resets when it
    started. `callers` counts those who wait: the last one who leaves aborts the request. It is `detached` where nobody
    waits.
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
        """The HTTP response that came last, for all who wait; None as long as there is none, and without HTTP."""
        self.parsed: tuple[Any, Any] | None = None
        """The response and its parsed body, where hooks of the endpoint make them; for paging."""
        self.attempts = 1
        self.seen: str | None = None
        """The ETag of the entity that a change is of, as it was known when the change was called."""
        self.sharing: SharedRequest | None = None
        """What it takes from other processes; None: the server is asked."""
        self.known: Validators | None = None
        """The validators that it is sent with."""
        self.mark: bytes | None = None
        """A digest of the response, to recognize it under its key."""

    def joinable(self, *, blocking: bool) -> bool:
        """Another fetch of the same identity may wait for this one, blocking its thread or as a task."""
        if not self.alive:
            return False
        if not self.claimed:
            return True
        if blocking:
            return not self.owned_here
        return self.task is None or self.task is not asyncio.current_task()

    def settle(self, value: Any = None, error: BaseException | None = None) -> bool:
        """Hand the outcome to all who wait, False when there was one already; no one joins any more."""
        with self.store.lock:
            if not self.done:
                self.forget()
            return super().settle(value, error)

    def recognizes(self, content: bytes, /) -> bool:
        """Whether this body was answered before, and nothing of what it brought has changed since."""
        store, rules = self.store, self.request.rules
        is_read = not (self.mutation or rules.mutation.has_body) and self.endpoint.plan.key_is_address
        if not is_read or not self.sender.is_alone or store.in_flight.by_id.get(self.fetch_id) is not self:
            return False
        digest = hashlib.sha256(self.identity[1].encode())
        digest.update(content)
        self.mark = digest.digest()
        return store.witness(self.request.key, self.mark) is not None

    def forget(self) -> None:
        """No one joins this request any more, whatever becomes of it."""
        store = self.store
        with store.lock:
            if store.in_flight.joinable.get(self.identity) is self:
                del store.in_flight.joinable[self.identity]
            store.in_flight.by_id.pop(self.fetch_id, None)
            store.in_flight.mutations.discard(self.fetch_id)

    @property
    def alive(self) -> bool:
        """It will still be answered, and the response counts."""
        return not self.done and self.resets == self.store.resets and not self.orphaned

    @property
    def is_sent(self) -> bool:
        """Someone has taken it upon themselves to send it."""
        return self.claimed or self._has_thread

    def is_wanted(self) -> bool:
        """No one has settled it in the network's place: a response from elsewhere, a reset, the end."""
        return not self.done

    def claim(self, thread: int | None = None) -> bool:
        """True for the first who asks: that one sends the request, blocking this thread or in a loop."""
        with self.store.lock:
            first = not self.claimed
            self.claimed = True
            if first:
                self.thread = thread
        return first

    def claim_thread(self) -> bool:
        """True for the first who asks: that one sees to it that a thread sends the request."""
        with self.store.lock:
            first = not self._has_thread
            self._has_thread = True
        return first

    def fail(self, error: Exception) -> None:
        """Fails the request; if nobody waited for it, logs a warning."""
        if self.detached:
            logger.warning("background fetch of %s failed: %s", self.identity[0], reason_of(error))
        self.settle(error=error)

    def leave(self) -> None:
        """A caller gives up waiting; the last one aborts the request unless it runs in the background."""
        with self.store.lock:
            self.callers -= 1
            if self.callers > 0 or self.detached or self.done or self.task is None:
                return
            self.forget()
        self.sender.abandon(self)
        self.cancel()

    def cancel(self) -> None:
        """Abort the task of the request, in whatever loop it runs; a request of a thread goes on."""
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


def response_of(in_flight: Any, value: Any) -> Response[Any]:
    """What a fetch was answered with; `in_flight` is whatever a manager gave in place of a request."""
    from ..base.response import Response, members_of

    if not isinstance(in_flight, InFlight):
        return Response(value=value)
    return Response(value=value, attempts=in_flight.attempts, **members_of(in_flight.response))


def page_of(in_flight: Any, value: Any, items: Sequence[Any], position: Any, next_position: Any) -> Page[Any]:
    """What a fetch of one page was answered with."""
    from ..base.response import Page, members_of

    members = members_of(in_flight.response) if isinstance(in_flight, InFlight) else {}
    attempts = in_flight.attempts if isinstance(in_flight, InFlight) else 1
    return Page(value=value, items=items, position=position, next_position=next_position, attempts=attempts, **members)


class Completer(Protocol):
    """Who sees a request in flight to its end: the core of a controller."""

    def complete(self, in_flight: Any, /) -> Any:
        """The value of the fetch, once it is in the store; a coroutine of it in code for asyncio."""
        ...


class Completion:
    """A step: send or join a request in flight, and wait until its response is in the store."""

    __slots__ = ("_completer", "_in_flight")

    def __init__(self, completer: Completer, in_flight: Any) -> None:
        self._completer = completer
        self._in_flight = in_flight

    def take(self, transport: BlockingTransport) -> Any:
        """Blocks until then."""
        return self._completer.complete(self._in_flight)

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Awaits until then."""
        return await self._completer.complete(self._in_flight)
