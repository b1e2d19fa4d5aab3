"""Requests that can be aborted: a caller stops waiting as soon as the signal is aborted."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.lazy_imports import asyncio
from ..base.scheduler import block

if TYPE_CHECKING:
    from ..base.abort import AbortSignal
    from ..base.scheduler import Scheduler
    from .library import RawResponse

SIGNAL_EXTENSION: Final = "restencil_signal"
"""The extension of a response that holds the signal of its request."""


def _with_signal(response: RawResponse, signal: AbortSignal) -> RawResponse:
    response.extensions[SIGNAL_EXTENSION] = signal
    return response


class AbortableRequest:
    """A request that runs in a separate thread, so that its caller can stop waiting at once.

    A blocking request cannot be interrupted from another thread. The thread of an aborted request ends when the
    response arrives, which is then closed unread, or when the request times out.
    """

    def __init__(self, send: Callable[[], RawResponse], signal: AbortSignal, scheduler: Scheduler) -> None:
        self._send = send
        self._signal = signal
        self._scheduler = scheduler
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._abandoned = False
        self._response: RawResponse | None = None
        self._error: BaseException | None = None

    def _work(self) -> None:
        try:
            response = self._send()
        except BaseException as error:
            self._error = error
        else:
            with self._lock:
                self._response = response
                abandoned = self._abandoned
            if abandoned:
                response.close()
        self._done.set()

    def wait(self) -> RawResponse:
        """Wait for the response and return it. Raises AbortError as soon as the signal is aborted."""
        forget = self._signal.add_listener(self._done.set)
        context = copy_context()
        try:
            self._scheduler.spawn(lambda: context.run(self._work))
            block(self._scheduler, self._done)
        finally:
            forget()
        if self._signal.aborted:
            with self._lock:
                self._abandoned = True
                response = self._response
            if response is not None:
                response.close()
            raise self._signal.error()
        if self._error is not None:
            raise self._error
        return _with_signal(cast("RawResponse", self._response), self._signal)


async def unless_aborted(sending: Coroutine[Any, Any, RawResponse], signal: AbortSignal) -> RawResponse:
    """Await a request. Interrupts it and raises AbortError as soon as the signal is aborted."""
    try:
        with ends_when_aborted(signal):
            return _with_signal(await sending, signal)
    finally:
        sending.close()  # if it was aborted before it began


@contextlib.contextmanager
def ends_when_aborted(signal: AbortSignal | None) -> Generator[None]:
    """Interrupt the block in the running task with AbortError as soon as the signal is aborted."""
    if signal is None:
        yield
        return
    signal.raise_if_aborted()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    waits = True
    gave_up = False

    def give_up() -> None:
        nonlocal gave_up
        if waits:
            gave_up = True
            task.cancel()

    forget = signal.add_listener(lambda: loop.call_soon_threadsafe(give_up))
    try:
        yield
    except asyncio.CancelledError:
        if gave_up and task.uncancel() == 0:
            raise signal.error() from None
        raise
    finally:
        waits = False
        forget()
