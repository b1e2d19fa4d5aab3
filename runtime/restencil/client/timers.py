"""Timers of event loops, and pauses within the steps of a request."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from ..base.lazy_imports import asyncio
from ..base.scheduler import ThreadScheduler, block, sleep
from .in_flight import LOOP_CHECK, wake_future

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from ..base.abort import AbortSignal
    from ..base.scheduler import Handle, Scheduler
    from ..base.steps import StepsOf
    from ..base.transport import AwaitingTransport, BlockingTransport
    from .in_flight import InFlight


def set_timer(scheduler: Scheduler, loop: AbstractEventLoop, delay: float, work: Callable[[], object]) -> Handle:
    """Set a timer from within this loop: one of the loop, unless the store has a custom scheduler.

    `delay` is in milliseconds.
    """
    if isinstance(scheduler, ThreadScheduler):
        return loop.call_later(max(0.0, delay) / 1000, work)
    return scheduler.call_later(delay, work)


class RemoteTimer:
    """A timer of an event loop, set and cancelled from other threads; `delay` is in milliseconds."""

    __slots__ = ("_cancelled", "_handle", "_lock", "_loop", "_work")

    def __init__(self, loop: AbstractEventLoop, delay: float, work: Callable[[], object]) -> None:
        self._loop = loop
        self._work = work
        self._lock = threading.Lock()
        self._cancelled = False
        self._handle: Handle | None = None
        loop.call_soon_threadsafe(self._set, delay)

    def _set(self, delay: float) -> None:
        with self._lock:
            if not self._cancelled:
                self._handle = self._loop.call_later(max(0.0, delay) / 1000, self._work)

    def cancel(self) -> None:
        """Cancel the timer."""
        with self._lock:
            self._cancelled = True
            handle = self._handle
        if handle is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(handle.cancel)


class Waker(Protocol):
    """A source of events that end a pause early."""

    def add_listener(self, listener: Callable[[], object], /) -> Callable[[], object]:
        """Call the listener to end the pause; return a function that removes it."""
        ...

    def was_woken(self) -> bool:
        """Whether it ended the pause."""
        ...


class Pause:
    """A step: wait `delay` milliseconds of the scheduler's time. Raises AbortError if the signal is aborted.

    A waker may end it early; then the step returns True. Without a delay it waits for the waker or the signal.
    """

    __slots__ = ("_delay", "_scheduler", "_signal", "_waker")

    def __init__(
        self, scheduler: Scheduler, delay: float | None, signal: AbortSignal | None, waker: Waker | None = None
    ) -> None:
        self._scheduler = scheduler
        self._delay = delay
        self._signal = signal
        self._waker = waker

    def _listening(self, wake: Callable[[], object]) -> list[Callable[[], object]]:
        return [source.add_listener(wake) for source in (self._signal, self._waker) if source is not None]

    def _ended(self) -> bool:
        if self._signal is not None:
            self._signal.raise_if_aborted()
        return self._waker is not None and self._waker.was_woken()

    def take(self, transport: BlockingTransport) -> bool:
        """Block for that time."""
        wake = threading.Event()
        listening = self._listening(wake.set)
        try:
            if self._delay is None:
                block(self._scheduler, wake)
            else:
                sleep(self._scheduler, self._delay, wake)
        finally:
            for remove in listening:
                remove()
        return self._ended()

    async def take_async(self, transport: AwaitingTransport) -> bool:
        """Wait for that time."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def wake() -> None:
            wake_future(future)

        listening = self._listening(wake)
        timer = None if self._delay is None else set_timer(self._scheduler, loop, self._delay, wake)
        try:
            await future
        finally:
            if timer is not None:
                timer.cancel()
            for remove in listening:
                remove()
        return self._ended()


def wait_for(change: InFlight, limit: float | None, signal: AbortSignal | None) -> StepsOf[None]:
    """Steps: wait until a change has an outcome, for at most `limit` ms; call it again if it has none then."""
    # An event loop that has ended does not settle its requests, so that has to be checked meanwhile.
    span = limit if change.loop is None else LOOP_CHECK if limit is None else min(LOOP_CHECK, limit)
    yield Pause(change.store.scheduler, span, signal, change)
    if change.orphaned:
        change.sender.abandon(change)
