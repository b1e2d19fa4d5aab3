"""Live reads, which are subscribed while they are open and notified of every change of the store."""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ..base.errors import AbortError, ResetError
from ..base.lazy_imports import asyncio, running_loop
from ..base.scheduler import block
from ..cache.actions import Subscribe, Unsubscribe
from ..cache.policy import INFINITE, STALE, Decision, ExpiryStatus, Reading
from ..endpoint.iterators import AnyLiveRead, AsyncLiveRead, LiveRead
from .core import fetch_stale, fetched, recorded, stale_requests, unusable_data, was_overtaken

if TYPE_CHECKING:

    from ..base.scheduler import Handle
    from ..base.steps import StepsOf
    from ..cache.policy import EndpointState
    from ..cache.request import Request
    from .async_core import AsyncCore
    from .core import Core
    from .sync_core import SyncCore

R = TypeVar("R")

_NOTHING: Any = object()
_FETCHES: Final = frozenset({Decision.GIVE_AND_REFETCH, Decision.WAIT})


class Ties:
    """The cleanup functions of an open live read, separate from it so that it can be garbage collected without `close`.

    The listener of the store then finds that the read is gone, and calls `cut` at the next change. A finalizer could do
    this at once, but runs in any thread, which may hold locks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._undo: list[Callable[[], object]] | None = []
        self._release: Callable[[], object] | None = None

    def add(self, undo: Callable[[], object]) -> None:
        """Add a cleanup function, which is called at once if `cut` was called already."""
        with self._lock:
            if self._undo is not None:
                self._undo.append(undo)
                return
        undo()

    def hold(self, release: Callable[[], object]) -> None:
        """Replace the function that releases the held data, and call the previous one."""
        with self._lock:
            former = release if self._undo is None else self._release
            if self._undo is not None:
                self._release = release
        if former is not None:
            former()

    def cut(self) -> None:
        """Call all cleanup functions; a second call does nothing."""
        with self._lock:
            undo, self._undo = self._undo, None
            release, self._release = self._release, None
        for step in undo or ():
            step()
        if release is not None:
            release()


class WatchedRead(AnyLiveRead[R]):
    """A live read, which reads the store again after each change and fetches if necessary."""

    def __init__(self, core: Core, request: Request) -> None:
        self._core = core
        self._request = request
        self._lock = threading.RLock()
        self._opened = False
        self._closed = False
        self._ties = Ties()
        self._held: Any = _NOTHING
        self._decided: tuple[Any, ...] | None = None
        self._shown: Any = _NOTHING
        self._raised: BaseException | None = None
        self._watches_time = request.rules.strict
        """Whether it fetches again when its data expires, as in generated packages."""
        self._refetch: Any = None
        """The last request in flight while stale data is shown, whose value is not shown yet."""
        self._expiry: tuple[float, Handle] | None = None
        """When the shown data expires (ms of the store's clock), and the timer for that."""

    @property
    def data(self) -> R | None:
        """The stored data, stale or not, or None. Never sends a request."""
        data: R | None = self._read().usable_data
        return data

    @property
    def state(self) -> EndpointState[R]:
        """Data, error and loading; starts a fetch if a read would, without waiting for it."""
        reading = self._read()
        if self._decide(reading) in _FETCHES:
            fetch_stale(self._core, self._request, reading)
        state: EndpointState[R] = self._core.state(self._request)
        return state

    def close(self) -> None:
        """End the subscription, release the data and stop iteration. A second call does nothing."""
        self._closed = True
        if self._expiry is not None:
            self._expiry[1].cancel()
        self._ties.cut()
        self._wake()

    def revalidate(self) -> None:
        """Fetch in the background if the data is stale. Errors are stored and logged, never raised."""
        reading = self._read()
        if not self._closed and reading.needs_fetch:
            for request in stale_requests(self._request, reading):
                self._core.refetch(request)

    @abstractmethod
    def _wake(self) -> None:
        """Wake up the iterator, which reads the store again."""

    def _open(self) -> None:
        with self._lock:
            if self._opened or self._closed:
                return
            self._opened = True
        core, request = self._core, self._request
        this, ties = weakref.ref(self), self._ties

        def changed() -> None:
            live = this()
            if live is not None:
                live._wake()
            else:
                ties.cut()

        ties.add(core.store.add_listener(changed))
        core.track(self)
        if not request.inactive and core.keeps_up_to_date(request):
            core.dispatch(Subscribe(request))
            ties.add(lambda: core.dispatch(Unsubscribe(request)))

    def _read(self) -> Reading:
        return self._core.store.read(self._request)

    def _decide(self, reading: Reading) -> Decision | None:
        """Return what to do about this reading, or None if that was decided before."""
        forced = reading.expiry_status is ExpiryStatus.Invalid
        expired = self._watches_time and reading.needs_fetch
        token = (reading.expires_at, forced, expired, reading.cause, self._core.store.resets)
        if token == self._decided:
            return None
        is_first, self._decided = self._decided is None, token
        if not (is_first or forced or reading.date is None) and 1 < reading.expires_at <= reading.date:
            return None  # it was stale when received, and so would the next response be: fetching would never end
        if not (is_first or forced) and reading.may_be_unchanged:
            return None  # nothing changed since it was shown; the same would happen again
        return reading.decision

    def _keep(self, reading: Reading) -> None:
        """Hold the shown data so that it is not evicted, and release the previous data."""
        if self._request.inactive or reading.data is self._held:
            return
        self._held = reading.data
        store = self._core.store
        self._ties.hold(store.hold(self._request.key, store.paths(self._request)))

    def _look(self) -> StepsOf[bool]:
        """Steps: read the store, and fetch if necessary; return True if there is new data to show."""
        reading: Reading | None = yield from self._core.store.looking(self._request, self._core.store.read)
        while reading is not None:
            decision = self._decide(reading)
            self._watch_expiry(reading)
            if decision is Decision.GIVE_AND_REFETCH or (decision is Decision.WAIT and self._shows_stale(reading)):
                self._refetch_stale(reading)
                break
            if decision is not Decision.WAIT:
                reading = self._refetched(reading)
                break
            fetched = yield from self._fetch()
            if fetched is not None:
                reading = fetched
                break
            reading = None if self._closed else self._read()
        return reading is not None and self._shows(reading)

    def _shows_stale(self, reading: Reading) -> bool:
        """Whether stored data is shown, at any age, while it is fetched again."""
        return self._watches_time and reading.found and reading.expiry_status is not ExpiryStatus.Invalid

    def _refetch_stale(self, reading: Reading) -> None:
        """Fetch the stale parts of a reading in the background."""
        sent = fetch_stale(self._core, self._request, reading)
        if reading.references or len(sent) != 1:
            return
        self._refetch, this = sent[0], weakref.ref(self)

        def arrived() -> None:
            live = this()
            if live is not None:
                live._wake()

        self._refetch.add_listener(arrived)

    def _refetched(self, reading: Reading) -> Reading:
        """Return the reading, or one with the outcome of the last request if the store does not have it anymore.

        A bounded store may have evicted a part of its value, and an error may have expired at once.
        """
        sent = self._refetch
        if sent is None or not sent.done:
            return reading
        self._refetch = None
        if reading.error is not None:
            return Reading(reading.data, reading.expiry_status, reading.expires_at, Decision.RAISE, error=reading.error)
        if reading.found or sent.error is not None or not reading.may_be_unchanged:
            return reading
        return Reading(sent.value, reading.expiry_status, reading.expires_at, Decision.GIVE)

    def _watch_expiry(self, reading: Reading) -> None:
        """Set a timer to read the store again when the shown data expires."""
        store = self._core.store
        if not self._watches_time or reading.needs_fetch or not store.now() <= reading.expires_at < INFINITE:
            return
        if self._expiry is not None:
            if self._expiry[0] == reading.expires_at:
                return
            self._expiry[1].cancel()
        this = weakref.ref(self)

        def expired() -> None:
            live = this()
            if live is not None and not live._closed:
                live._wake()

        # One more millisecond, because data is still fresh at the moment of its expiry.
        timer = self._core.call_later(reading.expires_at - store.now() + 1, expired)
        self._expiry = reading.expires_at, timer

    def _fetch(self) -> StepsOf[Reading | None]:
        """Steps: fetch, and return the reading after it; None if the store has to be read again."""
        core, request = self._core, self._request
        failure: Exception | None = None
        value: Any = None
        try:
            value = yield from fetched(core, request)
        except ResetError:
            return None
        except AbortError:
            if self._closed:
                return None
            self._decided = None
            raise
        except Exception as error:
            failure = error
        reading = yield from core.store.looking(request, core.store.read)
        if reading.error is None and not reading.found:
            if failure is None and value is not None and reading.expires_at == STALE:
                # A bounded store evicted a part at once: show the response itself, as fetching again would not help.
                self._decide(reading)
                return Reading(value, reading.expiry_status, reading.expires_at, Decision.GIVE)
            if failure is None and was_overtaken(core, request, reading):
                self._decided = None
                return None
            raise failure or unusable_data(request)
        if not reading.needs_fetch:
            self._decide(reading)
        return reading

    def _shows(self, reading: Reading) -> bool:
        """Whether this reading has new data to show. Raises its error, unless that was raised before."""
        self._keep(reading)
        if reading.decision is Decision.RAISE or (reading.error is not None and not reading.found):
            if reading.error is self._raised:
                return False
            self._raised = reading.error
            raise recorded(reading)
        self._raised = None
        if self._request.inactive or not reading.found or reading.data is self._shown:
            return False
        self._shown = reading.data
        return True


class BlockingLiveRead(WatchedRead[R], LiveRead[R]):
    """The live read of a Controller: waits for changes on an event."""

    _core: SyncCore

    def __init__(self, core: SyncCore, request: Request) -> None:
        super().__init__(core, request)
        self._event = threading.Event()

    def __enter__(self) -> Self:
        self._open()
        return self

    def __next__(self) -> R:
        self._open()
        core = self._core
        while not self._closed:
            self._event.clear()
            if core.wait_for(self._look()):
                shown: R = self._shown
                return shown
            if not self._closed:
                block(core.store.scheduler, self._event)
        raise StopIteration

    def _wake(self) -> None:
        self._event.set()


class AwaitingLiveRead(WatchedRead[R], AsyncLiveRead[R]):
    """The live read of an AsyncController: waits for changes on an event of the running loop."""

    _core: AsyncCore

    def __init__(self, core: AsyncCore, request: Request) -> None:
        super().__init__(core, request)
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
            if await self._core.wait_for(self._look()):
                shown: R = self._shown
                return shown
            if not self._closed:
                await self._changed.wait()
        raise StopAsyncIteration

    def _wake(self) -> None:
        loop = self._loop
        if loop is None:
            return
        if running_loop() is loop:
            self._changed.set()
        elif not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._changed.set)
            except RuntimeError:
                pass  # the loop was closed meanwhile, so no task waits
