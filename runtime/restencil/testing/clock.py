"""Virtual time: a clock, and threads and an event loop that run in its time, one step at a time."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import selectors
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, TypeVarTuple, overload

from .. import Store
from ..base import durations
from ..base.scheduler import sleep

if TYPE_CHECKING:
    from contextvars import Context

    from ..base.durations import Duration
    from ..cache.gc import ImmortalGCPolicy

__all__ = ["FakeClock", "Task"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: A coroutine, or a function that returns one.
Async: TypeAlias = Coroutine[Any, Any, T] | Callable[[], Coroutine[Any, Any, T]]


class Task(Generic[T]):
    """Work started by `FakeClock.start`; its `state` is "pending", "resolved" (`value`) or "rejected" (`error`)."""

    def __init__(self) -> None:
        self.state = "pending"
        self.value: T | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether the work has ended, with a value or with an error."""
        return self.state != "pending"

    def result(self) -> T:
        """Return the value of the work. Raises its error if it failed, and RuntimeError while it is pending."""
        if self.error is not None:
            raise self.error
        if self.state == "pending":
            raise RuntimeError("this task is pending; advance the clock until it ends")
        return self.value  # type: ignore[return-value]  # set when it was resolved

    def __repr__(self) -> str:
        return f"<Task {self.state}>"

    def resolve(self, value: T) -> None:
        """End the work with a value."""
        self.state, self.value = "resolved", value

    def reject(self, error: BaseException) -> None:
        """End the work with an error."""
        self.state, self.error = "rejected", error


class _Abandoned(BaseException):
    """Ends a waiting thread when its clock is closed."""


class _Timer:
    __slots__ = ("cancelled", "due", "order", "work")

    def __init__(self, due: float, order: int, work: Callable[[], object]) -> None:
        self.due = due
        self.order = order
        self.work = work
        self.cancelled = False

    def __lt__(self, other: _Timer) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.cancelled = True


class _Worker:
    """A thread that runs only during a step of the clock, until it waits through the clock or ends."""

    def __init__(self, clock: FakeClock, work: Callable[[], object]) -> None:
        self.clock = clock
        self._work = work
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._event: threading.Event | None = None
        self._timed_out = False
        self.abandoned = False
        self.ended = False

    @property
    def runnable(self) -> bool:
        return not self.ended and (self._event is None or self._event.is_set() or self._timed_out or self.abandoned)

    def proceed(self) -> None:
        """Run the thread until it waits or ends."""
        if self._thread is None:
            if self.abandoned:
                self.ended = True
                return
            self._thread = threading.Thread(target=self._run, name="restencil-fake", daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._paused.acquire()

    def wait(self, event: threading.Event, timeout: float | None) -> bool:
        """Wait for an event, in the thread of this worker; return False after `timeout` virtual milliseconds."""
        if event.is_set():
            return True
        self._event = event
        timer = None if timeout is None else self.clock.call_later(timeout, self._time_out)
        self._paused.release()
        self._go.acquire()
        self._event = None
        self._timed_out = False
        if timer is not None:
            timer.cancel()
        if self.abandoned:
            raise _Abandoned
        return event.is_set()

    def _time_out(self) -> None:
        self._timed_out = True

    def _run(self) -> None:
        _current.worker = self
        try:
            self._work()
        except _Abandoned:
            pass
        finally:
            self.ended = True
            self._paused.release()


class _Current(threading.local):
    worker: _Worker | None = None


_current = _Current()


class FakeClock:
    """A clock and a scheduler for stores under test: `Store(clock=clock, scheduler=clock)`, or `clock.store()`.

    `start` is the initial time in milliseconds; calling the clock returns the current time. `loop` is an asyncio event
    loop in the same virtual time, on which the work of asynchronous controllers runs.

    Raises ValueError for a start before 2, since the time 1 marks data that is stale or was never there.
    """

    def __init__(self, start: float = 1_000_000) -> None:
        if not start >= 2:
            raise ValueError(f"start is {start!r}; expected 2 or more, since the time 1 marks stale data")
        self._now = float(start)
        self._order = itertools.count()
        self._timers: list[_Timer] = []
        self._workers: list[_Worker] = []
        self._loop: _VirtualLoop | None = None
        self._driver: int | None = None

    def __call__(self) -> float:
        return self._now

    def __repr__(self) -> str:
        return f"<FakeClock at {self._now} ms, {len(self._timers)} timers, {len(self._workers)} threads>"

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of this clock, created at first use."""
        return self._virtual_loop()

    def store(
        self, *, max_entities: int | None = None, gc: ImmortalGCPolicy | None = None, validate: str = "strict"
    ) -> Store:
        """Return a store in the time of this clock that rejects responses which do not match their declarations.

        `validate` is the argument of `Store`; `"off"` accepts such responses, as stores do by default.
        """
        return Store(clock=self, scheduler=self, max_entities=max_entities, gc=gc, validate=validate)

    # the scheduler

    def spawn(self, work: Callable[[], object], /) -> None:
        """Run background work on a thread of the clock when the clock settles."""
        self._workers.append(_Worker(self, work))

    def call_later(self, delay: float, work: Callable[[], object], /) -> _Timer:
        """Call `work` after `delay` virtual milliseconds, unless the returned timer is cancelled."""
        return self.call_at(self._now + max(0.0, delay), work)

    def call_at(self, due: float, work: Callable[[], object], /) -> _Timer:
        """Call `work` at the virtual time `due` in milliseconds, unless the returned timer is cancelled."""
        timer = _Timer(round(due, 3), next(self._order), work)
        heapq.heappush(self._timers, timer)
        return timer

    def wait(self, event: threading.Event, timeout: float | None = None, /) -> bool:
        """Block until the event is set, at most `timeout` virtual milliseconds; return whether it is set.

        In a thread of the clock, the other threads continue meanwhile; in the thread of a test, time jumps to the next
        timer.
        """
        worker = _current.worker
        if worker is not None:
            return worker.wait(event, timeout)
        if self._driver is not None and self._driver != threading.get_ident():
            return event.wait(None if timeout is None else timeout / 1000)
        deadline = None if timeout is None else self._now + timeout
        return self._jump_until(event.is_set, deadline)

    def sleep(self, delay: Duration) -> None:
        """Wait for `delay` virtual milliseconds (or `"30s"`, or a timedelta), in any thread."""
        sleep(self, durations.milliseconds(delay, "delay"))

    # stepping

    @overload
    def start(self, work: Async[T]) -> Task[T]: ...
    @overload
    def start(self, work: Callable[[], T]) -> Task[T]: ...
    def start(self, work: Any) -> Task[Any]:
        """Start work that may wait: a function on a thread of the clock, a coroutine (function) on its event loop.

        It runs when the clock settles, advances, or waits.
        """
        task: Task[Any] = Task()
        if asyncio.iscoroutine(work):
            self._begin(work, task)
        else:
            self.spawn(lambda: self._attempt(work, task))
        return task

    def settle(self) -> None:
        """Run all threads, tasks and timers that are ready now."""
        self.advance(0)

    def advance(self, milliseconds: Duration) -> None:
        """Advance the time by milliseconds, `"30s"`, or a timedelta.

        Timers fire in order, each at its own time, including those at the end. Raises RuntimeError in a thread of the
        clock itself (of `start`, or one that sends a request there); use `sleep` there.
        """
        target = self._now + durations.milliseconds(milliseconds, "milliseconds")
        with self._driving():
            self._settle()
            while self._next_due() <= target:
                self._now = max(self._now, self._next_due())
                self._settle()
        self._now = max(self._now, target)

    @overload
    def run(self, work: Async[T]) -> T: ...
    @overload
    def run(self, work: Callable[[], T]) -> T: ...
    def run(self, work: Any) -> Any:
        """Run work that may wait, while time jumps from timer to timer; return its value or raise its error.

        Raises RuntimeError if it waits for an event that no timer, thread or task can set.
        """
        task: Task[Any] = self.start(work)
        self._jump_until(lambda: task.done, None)
        return task.result()

    def call(self, work: Callable[[], T]) -> T:
        """Call a function inside the event loop of the clock: one that does not wait but needs a running loop."""

        async def inside() -> T:
            return work()

        return self.run(inside())

    def close(self) -> None:
        """End the waiting threads and tasks, and close the event loop."""
        with self._driving():
            for worker in list(self._workers):
                worker.abandoned = True
            if self._loop is not None:
                for pending in asyncio.all_tasks(self._loop):
                    pending.cancel()
            self._settle()
            self._timers.clear()
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._loop = None

    # inside

    def _virtual_loop(self) -> _VirtualLoop:
        if self._loop is None:
            self._loop = _VirtualLoop(self)
        return self._loop

    def _begin(self, coroutine: Coroutine[Any, Any, T], task: Task[T]) -> None:
        loop = self._virtual_loop()

        async def attempt() -> None:
            try:
                task.resolve(await coroutine)
            except BaseException as error:
                task.reject(error)
                if isinstance(error, asyncio.CancelledError):
                    raise

        loop.call_soon_threadsafe(loop.keep, attempt())

    def _attempt(self, work: Callable[[], object], task: Task[Any]) -> None:
        try:
            value = work()
        except Exception as error:
            task.reject(error)
        except BaseException as error:
            task.reject(error)
            raise
        else:
            if asyncio.iscoroutine(value):
                self._begin(value, task)
            else:
                task.resolve(value)

    def _next_due(self) -> float:
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        return self._timers[0].due if self._timers else float("inf")

    def _settle(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        """Run one thread, the ready tasks or one timer at the current time; return False if none is ready."""
        for worker in list(self._workers):
            if worker.runnable:
                worker.proceed()
                if worker.ended:
                    self._workers.remove(worker)
                return True
        if self._loop is not None and self._loop.run_ready():
            return True
        if self._next_due() <= self._now:
            heapq.heappop(self._timers).work()
            return True
        return False

    @contextmanager
    def _driving(self) -> Generator[None, None, None]:
        """Make this thread the one that advances the clock; other threads that wait do so in real time."""
        worker = _current.worker
        if worker is not None and worker.clock is self:
            raise RuntimeError(
                "this thread is one of the clock's own: the clock waits for it, so it cannot move the clock; let time "
                "pass here with clock.sleep(delay), and call advance, settle, run and close in the test's own thread"
            )
        outer, here = self._driver, threading.get_ident()
        if outer is not None and outer != here:
            raise RuntimeError("another thread moves this clock at the moment")
        self._driver = here
        try:
            yield
        finally:
            self._driver = outer

    def _jump_until(self, reached: Callable[[], bool], deadline: float | None) -> bool:
        with self._driving():
            while True:
                while not reached() and self._step():
                    pass
                if reached():
                    return True
                due = self._next_due()
                if deadline is not None and due > deadline:
                    self._now = max(self._now, deadline)
                    return False
                if due == float("inf"):
                    raise RuntimeError(
                        "this waits for an event that will never happen: no timer is set, and no thread or task can go "
                        "on; does the mock server respond to the request?"
                    )
                self._now = max(self._now, due)


class _VirtualHandle(asyncio.TimerHandle):
    def fire(self) -> None:
        if not self.cancelled():
            self._run()


class _IdleSelector(selectors.DefaultSelector):
    """A selector that stops its loop when nothing is ready, instead of sleeping."""

    loop: _VirtualLoop | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if self.loop is not None:
            if ready:
                self.loop.progressed = True
            elif timeout is None or timeout > 0:
                self.loop.stop()
            else:
                self.loop.progressed = True
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in the time of a FakeClock; it runs only during a step of the clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._entering = True
        self.progressed = False
        self._kept: set[asyncio.Task[None]] = set()
        selector = _IdleSelector()
        super().__init__(selector)
        selector.loop = self
        self._entering = False

    def keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Create a task of a coroutine, with a reference to it until it ends."""
        task = self.create_task(coroutine)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    def time(self) -> float:
        return self._clock() / 1000

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = _VirtualHandle(when, callback, args, self, context)
        self._clock.call_at(when * 1000, lambda: self.call_soon_threadsafe(handle.fire))
        return handle

    def is_running(self) -> bool:
        """True also between two steps of the clock: callbacks that are scheduled then run in a later step."""
        return super().is_running() or not (self._entering or self.is_closed())

    def run_ready(self) -> bool:
        """Run the ready callbacks; return False if there were none, or if the loop is running already."""
        if self._entering:
            return False
        self.progressed = False
        self._entering = True
        try:
            self.run_forever()
        finally:
            self._entering = False
        return self.progressed

    def run_until_complete(self, future: Any) -> Any:
        self._entering = True
        try:
            return super().run_until_complete(future)
        finally:
            self._entering = False

    def close(self) -> None:
        self._entering = True
        super().close()
