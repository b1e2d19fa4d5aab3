"""Promises that threads and tasks wait for: a request in flight, a token refresh (§9.2, §9.6)."""

from __future__ import annotations

import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..base.errors import AbortError
from ..base.lazy import asyncio, logger
from ..base.scheduler import ThreadScheduler, block, sleep
from ..http.cancellation import Cancellation

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Task
    from collections.abc import Callable

    from ..base.abort import AbortSignal
    from ..base.scheduler import Handle, Scheduler
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.request import Request
    from ..cache.store import Store
    from .network import NetworkManager

T = TypeVar("T")

#: How often a waiter looks whether the event loop that owes it an answer still runs, in milliseconds.
LOOP_CHECK = 100.0


class Promise(Generic[T]):
    """A value or an error that arrives once; any number of threads and tasks of any loops may wait for it.

    `lock` is the store's: settling and joining exclude each other.
    """

    __slots__ = ("_event", "_futures", "done", "error", "loop", "store", "thread", "value")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self.loop: AbstractEventLoop | None = None
        self.thread: int | None = None
        self._event: threading.Event | None = None
        self._futures: list[Future[None]] | None = None

    def settle(self, value: Any = None, error: BaseException | None = None) -> bool:
        """Hand the outcome to all who wait; False when there was one already."""
        with self.store.lock:
            if self.done:
                return False
            self.value = value
            self.error = error
            self.done = True
            event, self._event = self._event, None
            futures, self._futures = self._futures, None
        if event is not None:
            event.set()
        for future in futures or ():
            wake_future(future)
        return True

    def result(self) -> T:
        """The value of a settled outcome; raises its error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # set together with `done`

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
            return asyncio._get_running_loop() is self.loop
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
                self._forget(future)
        return self.result()

    def forget_waiters(self) -> None:
        """This is a forked process: who waited is in the parent."""
        self._event = self._futures = None

    def _forget(self, future: Future[None]) -> None:
        with self.store.lock:
            if self._futures and future in self._futures:
                self._futures.remove(future)


def orphan_error() -> AbortError:
    """What a waiter gets when the loop or controller that ran its request has gone (§9.6)."""
    return AbortError("the event loop or controller that ran this shared request has ended; call again to send it anew")


def wake_future(future: Future[None]) -> None:
    """Let the waiter of this future go on, from any thread."""
    loop = future.get_loop()
    if asyncio._get_running_loop() is loop:
        _resolve(future)
        return
    try:
        loop.call_soon_threadsafe(_resolve, future)
    except RuntimeError:
        pass  # that loop is closed: no one waits there any more


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Flight(Promise[Any]):
    """A fetch from its start until its response is in the store (§9.2).

    `identity` is (key, URL); `fetch_id` names its actions; `resets` is the store's count of resets when it started.
    `callers` counts those who wait: the last one who leaves aborts the request.
    """

    __slots__ = (
        "__weakref__",
        "callers",
        "cancellation",
        "claimed",
        "detached",
        "endpoint",
        "fetch_id",
        "fetched_at",
        "identity",
        "launched",
        "manager",
        "mutation",
        "request",
        "resets",
        "task",
    )

    def __init__(
        self,
        manager: NetworkManager,
        store: Store,
        request: Request,
        identity: tuple[str, str],
        fetch_id: int,
        fetched_at: float,
    ) -> None:
        # The members of Promise are set here: a flight is made for every fetch.
        self.store = store
        self.done = False
        self.value = None
        self.error = None
        self.loop = None
        self.thread = None
        self._event = None
        self._futures = None
        self.manager = manager
        self.endpoint: Any = request.endpoint
        self.request = request
        self.identity = identity
        self.fetch_id = fetch_id
        self.fetched_at = fetched_at
        self.mutation = request.rules.side_effect
        self.resets = store.resets
        self.callers = 1
        self.claimed = False
        self.launched = False
        self.detached = False
        self.task: Task[None] | None = None
        self.cancellation: Cancellation | None = None

    def joinable(self, *, blocking: bool) -> bool:
        """Another fetch of the same identity may wait for this one, blocking its thread or as a task (§9.2, §9.6)."""
        if not self.alive:
            return False
        if not self.claimed:
            return True
        if blocking:
            return not self.owned_here
        return self.task is None or self.task is not asyncio.current_task()

    def settle(self, value: Any = None, error: BaseException | None = None) -> bool:
        """Hand the outcome to all who wait; no one joins any more."""
        store = self.store
        with store.lock:
            # As `forget` does, which takes a lock of its own.
            if store.flights.get(self.identity) is self:
                del store.flights[self.identity]
            store.pending.pop(self.fetch_id, None)
            if self._event is not None or self._futures is not None or self.done:
                return super().settle(value, error)
            self.value = value
            self.error = error
            self.done = True
        return True

    def forget(self) -> None:
        """No one joins this flight any more, whatever becomes of it."""
        store = self.store
        with store.lock:
            if store.flights.get(self.identity) is self:
                del store.flights[self.identity]
            store.pending.pop(self.fetch_id, None)

    @property
    def alive(self) -> bool:
        """It will still be answered, and the answer counts."""
        return not self.done and self.resets == self.store.resets and not self.orphaned

    def claim(self) -> bool:
        """True for the first who asks: that one runs the request."""
        with self.store.lock:
            first = not self.claimed
            self.claimed = True
        return first

    def launch(self) -> bool:
        """True for the first who asks: that one sees to it that a thread runs the request."""
        with self.store.lock:
            first = not self.launched
            self.launched = True
        return first

    def fail(self, error: Exception) -> None:
        """The request has failed; where nobody waited for it, the log is told (§9.7)."""
        if self.detached:
            logger.warning("background fetch of %s failed: %s", self.identity[0], error)
        self.settle(error=error)

    def ended(self, task: Task[None]) -> None:
        """The task of the request is over; one that was cancelled before its first step has told no one yet."""
        if not self.done:
            self.manager.abandon(self)

    def leave(self) -> None:
        """A caller gives up waiting; the last one aborts the request unless it runs in the background."""
        with self.store.lock:
            self.callers -= 1
            if self.callers > 0 or self.detached or self.done or self.task is None:
                return
            self.forget()
        self.manager.abandon(self)
        self.cancel()

    def is_left(self) -> bool:
        """The caller who was to run the request leaves before it began; False where others wait for it."""
        with self.store.lock:
            self.callers -= 1
            return self.callers <= 0

    def cancel(self) -> None:
        """Abort the task that runs the request, in whatever loop it runs; a request of a thread goes on."""
        task, loop = self.task, self.loop
        if task is None or loop is None:
            return
        if asyncio._get_running_loop() is loop:
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


class Wait:
    """A step: wait for a promise that someone else keeps."""

    __slots__ = ("_promise",)

    def __init__(self, promise: Promise[Any]) -> None:
        self._promise = promise

    def take(self, transport: BlockingTransport) -> Any:
        """Blocks until it is kept."""
        return self._promise.wait()

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Awaits until it is kept."""
        return await self._promise.wait_async()


class Landing:
    """A step: run or join a flight, and wait until its response is in the store."""

    __slots__ = ("_controller", "_flight")

    def __init__(self, controller: Any, flight: Any) -> None:
        self._controller = controller
        self._flight = flight

    def take(self, transport: BlockingTransport) -> Any:
        """Blocks until then."""
        return self._controller.land_flight(self._flight)

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Awaits until then."""
        return await self._controller.land_flight(self._flight)


class Pause:
    """A step: let `delay` milliseconds of the scheduler's time pass; AbortError when the signal is aborted."""

    __slots__ = ("_delay", "_scheduler", "_signal")

    def __init__(self, scheduler: Scheduler, delay: float, signal: AbortSignal | None) -> None:
        self._scheduler = scheduler
        self._delay = delay
        self._signal = signal

    def take(self, transport: BlockingTransport) -> None:
        """Blocks for that long."""
        wake = threading.Event()
        signal = self._signal
        remove = None if signal is None else signal.add_listener(wake.set)
        try:
            sleep(self._scheduler, self._delay, wake)
        finally:
            if remove is not None:
                remove()
        if signal is not None:
            signal.raise_if_aborted()

    async def take_async(self, transport: AwaitingTransport) -> None:
        """Awaits for that long."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def wake() -> None:
            wake_future(future)

        signal = self._signal
        remove = None if signal is None else signal.add_listener(wake)
        timer = later(self._scheduler, loop, self._delay, wake)
        try:
            await future
        finally:
            timer.cancel()
            if remove is not None:
                remove()
        if signal is not None:
            signal.raise_if_aborted()


def later(scheduler: Scheduler, loop: AbstractEventLoop, delay: float, work: Callable[[], object]) -> Handle:
    """A timer of the asynchronous world: the loop's own, unless the store's scheduler was replaced (§9.7)."""
    if isinstance(scheduler, ThreadScheduler):
        return loop.call_later(max(0.0, delay) / 1000, work)
    return scheduler.call_later(delay, work)
