"""Waiting for time to pass: timers of event loops, and a pause within the steps of a request."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..base.lazy import asyncio
from ..base.scheduler import ThreadScheduler, sleep
from .promise import wake_future

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from ..base.abort import AbortSignal
    from ..base.scheduler import Handle, Scheduler
    from ..base.transport import AwaitingTransport, BlockingTransport


def set_timer(scheduler: Scheduler, loop: AbstractEventLoop, delay: float, work: Callable[[], object]) -> Handle:
    """A timer for code that runs in this loop: the loop's own, unless the store's scheduler was replaced.

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
        """The work is not done any more."""
        with self._lock:
            self._cancelled = True
            handle = self._handle
        if handle is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(handle.cancel)


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
        timer = set_timer(self._scheduler, loop, self._delay, wake)
        try:
            await future
        finally:
            timer.cancel()
            if remove is not None:
                remove()
        if signal is not None:
            signal.raise_if_aborted()
