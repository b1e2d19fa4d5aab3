"""Background work: the protocol of schedulers, and the default scheduler with daemon threads.

A store has one scheduler. Background work such as fetches is started with `spawn`, timers (polling, garbage collection,
delays before retries) are set with `call_later`, and all blocking calls use `block`, so that tests can replace the
time.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from .fork import reset_in_child
from .logs import logger

__all__ = ["Handle", "Scheduler", "ThreadScheduler", "WaitingScheduler", "block", "sleep"]

Work = Callable[[], object]


class Handle(Protocol):
    """A timer that is set."""

    def cancel(self) -> None:
        """Cancel the timer; a timer that has fired already is not affected."""


class Scheduler(Protocol):
    """Runs background work and timers; users may provide their own."""

    def spawn(self, work: Work, /) -> object:
        """Run the work soon, in another thread or task; it may block."""

    def call_later(self, delay: float, work: Work, /) -> Handle:
        """Run the work after `delay` milliseconds; it does not block."""
        raise NotImplementedError


@runtime_checkable
class WaitingScheduler(Protocol):
    """A scheduler whose threads also wait through it, so that it knows when there is nothing left to do."""

    def wait(self, event: threading.Event, timeout: float | None, /) -> bool:
        """Block until the event is set, at most `timeout` milliseconds; return whether it is set."""
        ...


class _Timer:
    __slots__ = ("cancelled", "due", "order", "work")

    def __init__(self, due: float, order: int, work: Work) -> None:
        self.due = due
        self.order = order
        self.work: Work | None = work
        self.cancelled = False

    def __lt__(self, other: _Timer) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.cancelled = True
        self.work = None


class ThreadScheduler:
    """The default scheduler: a daemon thread for each spawned work, and one for all timers, started when needed.

    Daemon threads never delay the exit of the interpreter. Errors of background work are logged.
    """

    def __init__(self) -> None:
        self._timers: list[_Timer] = []
        self._changed = threading.Condition()
        self._order = itertools.count()
        self._thread: threading.Thread | None = None
        reset_in_child.add(self)

    def spawn(self, work: Work, /) -> None:
        """Run the work on a daemon thread of its own."""
        threading.Thread(target=_logged, args=(work,), name="restencil-background", daemon=True).start()

    def forked(self) -> None:
        """Start new threads in a forked process, which has none of its parent's; timers that are set fire here too."""
        self._changed = threading.Condition()
        self._thread = None
        if self._timers:
            self._start_timers()

    def call_later(self, delay: float, work: Work, /) -> Handle:
        """Run the work on the timer thread after `delay` milliseconds of real time."""
        timer = _Timer(time.monotonic() + max(0.0, delay) / 1000, next(self._order), work)
        with self._changed:
            heapq.heappush(self._timers, timer)
            if self._thread is None:
                self._start_timers()
            elif self._timers[0] is timer:
                self._changed.notify()
        return timer

    def _start_timers(self) -> None:
        self._thread = threading.Thread(target=self._run, name="restencil-timers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._timers and self._timers[0].cancelled:
                    heapq.heappop(self._timers)
                if not self._timers:
                    self._thread = None
                    return
                wait = self._timers[0].due - time.monotonic()
                if wait > 0:
                    self._changed.wait(min(wait, threading.TIMEOUT_MAX))
                    continue
                work = heapq.heappop(self._timers).work
            if work is not None:
                _logged(work)


def _logged(work: Work) -> None:
    try:
        work()
    except BaseException:  # no caller could handle it, and the thread has to go on with other work
        logger.exception("background work failed")


def block(scheduler: Scheduler, event: threading.Event, timeout: float | None = None) -> bool:
    """Wait in this thread until the event is set, at most `timeout` milliseconds; return whether it is set."""
    if isinstance(scheduler, WaitingScheduler):
        return scheduler.wait(event, timeout)
    return event.wait(None if timeout is None else timeout / 1000)


def sleep(scheduler: Scheduler, delay: float, wake: threading.Event | None = None) -> None:
    """Pause this thread for `delay` milliseconds of the scheduler's time, or until `wake` is set."""
    event = threading.Event() if wake is None else wake
    timer = scheduler.call_later(delay, event.set)
    try:
        block(scheduler, event)
    finally:
        timer.cancel()
