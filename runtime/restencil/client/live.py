"""Reads that stay: subscribed while someone holds them, heard of on every change (§12.3)."""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..base.errors import AbortError, ResetError
from ..base.lazy import asyncio
from ..base.scheduler import block
from ..cache.actions import Subscribe, Unsubscribe
from ..cache.reading import ExpiryStatus
from ..endpoint.live import AnyLiveRead, AsyncLiveRead, LiveRead
from .in_flight import Landing

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..base.steps import Step
    from ..cache.reading import EndpointState, Reading
    from ..endpoint.endpoint import Endpoint
    from .controller import AnyController, AsyncController, Controller

R = TypeVar("R")

_NOTHING: Any = object()


class Ties:
    """What an open live read is tied to, apart from the read itself: it may be dropped without having been closed.

    The next change of the store then finds that no one is there any more, and cuts them. (A finalizer could do so at
    once, but it runs in any thread, whatever locks that holds.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._undo: list[Callable[[], object]] | None = []
        self._release: Callable[[], object] | None = None

    def add(self, undo: Callable[[], object]) -> None:
        """Something to undo at the end."""
        with self._lock:
            if self._undo is not None:
                self._undo.append(undo)
                return
        undo()

    def hold(self, release: Callable[[], object]) -> None:
        """What is held now, in place of what was held before."""
        with self._lock:
            former = release if self._undo is None else self._release
            if self._undo is not None:
                self._release = release
        if former is not None:
            former()

    def cut(self) -> None:
        """The end; a second one does nothing."""
        with self._lock:
            undo, self._undo = self._undo, None
            release, self._release = self._release, None
        for step in undo or ():
            step()
        if release is not None:
            release()


class WatchedRead(AnyLiveRead[R]):
    """A live read over a store: looks at it whenever it changes, and fetches what that calls for."""

    def __init__(self, controller: AnyController, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        self._controller = controller
        self._request = endpoint.request(args)
        self._lock = threading.RLock()
        self._opened = False
        self._closed = False
        self._ties = Ties()
        self._held: Any = _NOTHING
        self._decided: tuple[Any, ...] | None = None
        self._shown: Any = _NOTHING
        self._raised: BaseException | None = None

    @property
    def data(self) -> R | None:
        """What the store has now, stale or not, or None."""
        reading = self._read()
        data: R | None = reading.data if reading.found else None
        return data

    @property
    def state(self) -> EndpointState[R]:
        """Data, error and loading; starts the fetch that a read would start, and waits for nothing (§8.3, DLE read)."""
        reading = self._read()
        if self._revise(reading):
            self._controller.fetch_in_background(self._request)
        return self._controller.state_of(self._request)

    def close(self) -> None:
        """Ends the subscription and lets go of the data; iteration stops. A second call does nothing."""
        self._closed = True
        self._ties.cut()
        self._wake()

    def revalidate(self) -> None:
        """Fetches in the background if the data is stale (§12.5)."""
        if not self._closed and self._read().needs_fetch:
            self._controller.refetch(self._request)

    @abstractmethod
    def _wake(self) -> None:
        """Something changed: whoever waits looks again."""

    def _open(self) -> None:
        with self._lock:
            if self._opened or self._closed:
                return
            self._opened = True
        controller, request = self._controller, self._request
        this, ties = weakref.ref(self), self._ties

        def changed() -> None:
            live = this()
            if live is not None:
                live._wake()
            else:
                ties.cut()

        ties.add(controller.store.add_listener(changed))
        controller.track_live(self)
        if not request.inactive and controller.keeps_up_to_date(request):
            controller.dispatch(Subscribe(request))
            ties.add(lambda: controller.dispatch(Unsubscribe(request)))

    def _read(self) -> Reading:
        return self._controller.store.read(self._request)

    def _revise(self, reading: Reading) -> bool:
        """This reading calls for a fetch; decided once for each, so time alone never changes the decision (§8.3)."""
        forced = reading.expiry_status is ExpiryStatus.Invalid
        token = (reading.expires_at, forced, self._controller.store.resets)
        if token == self._decided:
            return False
        self._decided = token
        return reading.needs_fetch

    def _keep(self, reading: Reading) -> None:
        """Holds what is shown, and lets go of what was shown before (§14)."""
        if self._request.inactive or reading.data is self._held:
            return
        self._held = reading.data
        store = self._controller.store
        self._ties.hold(store.hold(self._request.key, store.paths(self._request)))

    def _look(self) -> Generator[Step, Any, bool]:
        """One look at the store, with the fetch it calls for: True when there is something new to show."""
        reading = self._read()
        fetches = self._revise(reading)
        if fetches and not reading.suspends:
            self._controller.fetch_in_background(self._request)
        elif fetches:
            failure: Exception | None = None
            try:
                yield Landing(self._controller, self._controller.start_fetch(self._request))
            except ResetError:
                return (yield from self._look())
            except AbortError:
                if self._closed:
                    return False
                self._decided = None
                raise
            except Exception as error:
                failure = error
            reading = self._read()
            if reading.error is None and not reading.found:
                if failure is None and self._controller.was_overtaken(reading, self._request.key):
                    self._decided = None
                    return (yield from self._look())
                raise self._controller.unusable_data(self._request, failure)
            if not reading.needs_fetch:
                self._revise(reading)
        self._keep(reading)
        recorded = reading.error
        if recorded is not None and not (reading.found and reading.needs_fetch):
            if recorded is self._raised:
                return False
            self._raised = recorded
            raise recorded.with_traceback(None)
        self._raised = None
        if self._request.inactive or not reading.found or reading.data is self._shown:
            return False
        self._shown = reading.data
        return True


class BlockingLiveRead(WatchedRead[R], LiveRead[R]):
    """The live read of a Controller: waits for changes on an event."""

    _controller: Controller

    def __init__(self, controller: Controller, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(controller, endpoint, args)
        self._event = threading.Event()

    def __enter__(self) -> Self:
        self._open()
        return self

    def __next__(self) -> R:
        self._open()
        controller = self._controller
        while not self._closed:
            self._event.clear()
            if controller.wait_for(self._look()):
                shown: R = self._shown
                return shown
            if not self._closed:
                block(controller.store.scheduler, self._event)
        raise StopIteration

    def _wake(self) -> None:
        self._event.set()


class AwaitingLiveRead(WatchedRead[R], AsyncLiveRead[R]):
    """The live read of an AsyncController: waits for changes on an event of the running loop."""

    _controller: AsyncController

    def __init__(self, controller: AsyncController, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(controller, endpoint, args)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._open()
        return self

    async def __anext__(self) -> R:
        self._loop = asyncio.get_running_loop()
        self._open()
        while not self._closed:
            self._changed.clear()
            if await self._controller.wait_for(self._look()):
                shown: R = self._shown
                return shown
            if not self._closed:
                await self._changed.wait()
        raise StopAsyncIteration

    def _wake(self) -> None:
        loop = self._loop
        if loop is None:
            return
        if asyncio._get_running_loop() is loop:
            self._changed.set()
        elif not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._changed.set)
            except RuntimeError:
                pass  # the loop was closed meanwhile; no one waits there
