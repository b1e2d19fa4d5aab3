"""Single flight: what many want at the same time is done once, and all of them get its outcome."""

from __future__ import annotations

import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..base.errors import AbortError, copy_with_traceback
from ..base.fork import reset_in_child
from ..base.lazy_imports import asyncio, running_loop
from ..base.scheduler import block

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Callable, Hashable

    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.store import Store

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
