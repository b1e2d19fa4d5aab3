"""Background work: what a scheduler is, and the default one on daemon threads (§9.7).

A store has one scheduler. Work that nobody waits for (background fetches) is spawned, timers (polling, garbage
collection, waiting before a retry) are set with `call_later`, and everything that blocks goes through `block`, so that
a test can replace time itself.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

__all__ = ["Handle", "Scheduler", "ThreadScheduler", "block", "sleep"]

logger = logging.getLogger("restencil")

Work = Callable[[], object]


class Handle(Protocol):
    """A timer that is set."""

    def cancel(self) -> None:
        """The work is not done any more; a timer that fired already stays as it is."""


class Scheduler(Protocol):
    """Where background work runs (§9.7); a user may bring one of their own.

    A scheduler may also have `wait(event, timeout)` (milliseconds or None) -> bool: threads then block through it.
    """

    def spawn(self, work: Work, /) -> object:
        """Do the work soon, elsewhere; it may block."""

    def call_later(self, delay: float, work: Work, /) -> Handle:
        """Do the work after `delay` milliseconds; it does not block."""
        raise NotImplementedError


@runtime_checkable
class _Waiting(Protocol):
    def wait(self, event: threading.Event, timeout: float | None, /) -> bool: ...


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
    """The default: a daemon thread for each spawned work, one more for all timers, started when first needed.

    Daemon threads never delay the interpreter's exit. What a work raises is logged, never printed.
    """

    def __init__(self) -> None:
        self._timers: list[_Timer] = []
        self._changed = threading.Condition()
        self._order = itertools.count()
        self._thread: threading.Thread | None = None

    def spawn(self, work: Work, /) -> None:
        """Run the work on a daemon thread of its own."""
        threading.Thread(target=_guarded, args=(work,), name="restencil-background", daemon=True).start()

    def call_later(self, delay: float, work: Work, /) -> Handle:
        """Run the work on the timer thread after `delay` milliseconds of real time."""
        timer = _Timer(time.monotonic() + max(0.0, delay) / 1000, next(self._order), work)
        with self._changed:
            heapq.heappush(self._timers, timer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="restencil-timers", daemon=True)
                self._thread.start()
            elif self._timers[0] is timer:
                self._changed.notify()
        return timer

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
                _guarded(work)


def _guarded(work: Work) -> None:
    try:
        work()
    except Exception:
        logger.exception("background work failed")


def block(scheduler: Scheduler, event: threading.Event, timeout: float | None = None) -> bool:
    """Wait in this thread until the event is set, at most `timeout` milliseconds; says whether it is set."""
    if isinstance(scheduler, _Waiting):
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
