"""One request for all processes: a request takes a lease on its key, and the same request elsewhere waits.

A request holds its lease from before it is sent until its response is committed, which ends the lease. Other processes
wait for a log entry that names the key. One thread renews all held leases, and checks now and then whether those that
requests wait for are free: a holder may be gone, or its request may have failed.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ..base.logs import logger
from ..storage.protocol import leases_of
from .connection import LEASE_LENGTH
from .storage_query import StorageStep

if TYPE_CHECKING:
    from ..base.steps import Steps
    from ..cache.persistence_port import PendingRequest
    from ..cache.request import Request
    from ..storage.protocol import Storage
    from .connection import StorageConnection
    from .read_through import ReadThrough
    from .schema_fingerprint import SchemaRegistry
    from .waiters import Waiters

_RENEWED: Final = 1.0
"""It is renewed after so many seconds, as long as its request is in flight."""
_TRIES: Final = 5
"""Where others write all the time, what is loaded may be newer than memory can be at once; then it is loaded again."""
_LOOKS: Final = 0.1
"""So often it is looked whether leases are free that someone waits for, in s."""
_LAP: Final = 1_000.0
"""A waiting request looks again after so many ms, as a notification may have been missed."""
_LISTENS: Final = 0.01
"""The interval between reads of the log of a local storage while a request waits, in s."""


class Lease(NamedTuple):
    """What one request holds, or waits for."""

    name: str
    owner: str
    """One for each request: a lease that is given back late is not taken from the next one of this process."""
    key: str


class _Held:
    """A lease that a request holds."""

    __slots__ = ("lease", "until", "was_lost")

    def __init__(self, lease: Lease, until: float) -> None:
        self.lease = lease
        self.until = until
        """Nobody else has it before, by the clock that never steps, in s."""
        self.was_lost = False
        """It was not renewed in time, and another one had it then."""

    @property
    def is_sure(self) -> bool:
        """Whether no other process can have taken it."""
        return not self.was_lost and time.monotonic() < self.until


class Leases:
    """The leases that requests of one store hold, and its requests that wait for those of other processes."""

    def __init__(
        self, connection: StorageConnection, read_through: ReadThrough, registry: SchemaRegistry, waiters: Waiters
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._read_through = read_through
        self._waiters = waiters
        self.forked()

    def forked(self) -> None:
        """Starts over in a forked process: leases and waiting requests are in the parent."""
        self._lock = threading.Lock()
        self._open: set[int] = set()
        """The fetches that take part, from before they ask for a lease until they are done."""
        self._held: dict[int, _Held] = {}
        self._committing: list[tuple[Lease, Callable[[], bool]]] = []
        self._to_give: list[Lease] = []
        self._waiters.forked()
        self._looking: dict[int, tuple[Lease, PendingRequest]] = {}
        """By fetch, what is to be taken as soon as it is free."""
        self._wakes: threading.Event | None = None

    def steps(self, request: Request, fetch_id: int, wanted: PendingRequest) -> Steps:
        """Steps before a request is sent: True if there is an outcome without it.

        After False it is to be sent; `done` is called in any case, once it was answered or has failed.
        """
        connection = self._connection
        wait = connection.storage.lease_wait
        if wait <= 0 or not connection.storage.writable or not self._registry.keeps_result(request.key, request.rules):
            return False
        lease = Lease(_name_of(request), f"{connection.writer}:{fetch_id}", request.key)
        with self._lock:
            self._open.add(fetch_id)
        self._waiters.add(request.key, wanted)
        try:
            return (yield from self._shared(request, fetch_id, wanted, lease, wait))
        finally:
            self._waiters.remove(request.key, wanted)

    def _shared(self, request: Request, fetch_id: int, wanted: PendingRequest, lease: Lease, left: float) -> Steps:
        """Steps: takes the lease, or waits for its holder at most for `left` ms."""
        connection, end = self._connection, time.monotonic() + left / 1000
        is_waiting, is_current = False, True
        while connection.may_be_written:
            held = self._held.get(fetch_id)  # the thread may have got it
            if held is None:
                if is_waiting and (yield from self._is_answered(request, wanted, is_current=is_current)):
                    return True
                if (yield from self._take(fetch_id, lease)) is None:
                    return False
                held = self._held.get(fetch_id)
            if held is not None:
                if (yield from self._is_answered(request, wanted)):
                    return True
                if held.is_sure:
                    return False
                with self._lock:  # it took so long to look that another one may have asked, and been answered
                    self._held.pop(fetch_id, None)
            lap = min(left, (end - time.monotonic()) * 1000, _LAP)
            if wanted.requires_network or lap <= 0:
                return False
            is_known = is_waiting or request.key in connection.known.key_revs
            if not is_waiting:
                is_waiting = True
                connection.count.leases_waited_for += 1
            if held is None and is_known:
                self._looks(fetch_id, lease, wanted)
                is_current = yield wanted.wait(lap)
                left -= 0 if is_current else lap
                self._looking.pop(fetch_id, None)
        return False

    def _take(self, fetch_id: int, lease: Lease) -> Steps:
        """Steps: whether the lease is ours; None if the storage does not answer."""

        def ask(storage: Storage) -> bool:
            since = time.monotonic()
            got = storage.lease(lease.name, lease.owner, LEASE_LENGTH)
            if got:  # noted here, as who waits for this may be cancelled
                with self._lock:
                    self._hold(fetch_id, lease, since)
            return got

        return (yield StorageStep(self._connection.lease, self._read_through.loader, ask))

    def _is_answered(self, request: Request, wanted: PendingRequest, *, is_current: bool = False) -> Steps:
        """Steps: whether there is an outcome now; `is_current`: memory has what others wrote."""
        for attempt in range(_TRIES):
            if attempt or not is_current:
                yield from self._read_through.catching_up()
            yield from self._read_through.steps(request)
            if wanted.is_over:
                return True
            if wanted.accept_cached():
                self._connection.count.requests_saved += 1
                return True
            rev = self._connection.known.key_revs.get(request.key)
            if rev == 0 or (rev is not None and attempt > 0):
                return False  # nothing is stored that can be used
        return False

    # -- who waits

    def _looks(self, fetch_id: int, lease: Lease, wanted: PendingRequest) -> None:
        """From now on the lease is taken when it is free."""
        with self._lock:
            is_first = not self._looking
            self._looking[fetch_id] = lease, wanted
            self._work(at_once=is_first)

    # -- what is held

    @property
    def are_held(self) -> bool:
        """Whether any is held."""
        return bool(self._held)

    def committing(self, fetch_id: int | None, is_waiting: Callable[[], bool]) -> str | None:
        """The lease of a fetch whose response waits for its commit, which ends the lease; None if there is none."""
        with self._lock:
            held = None if fetch_id is None else self._held.pop(fetch_id, None)
            if held is None:
                return None
            self._committing.append((held.lease, is_waiting))
        return held.lease.name

    def done(self, fetch_id: int) -> None:
        """A fetch was answered or has failed: what it holds still is given back."""
        if fetch_id not in self._open:
            return
        with self._lock:
            self._open.discard(fetch_id)
            self._looking.pop(fetch_id, None)
            held = self._held.pop(fetch_id, None)
            if held is not None:
                self._to_give.append(held.lease)
                self._work(at_once=True)

    def _hold(self, fetch_id: int, lease: Lease, since: float) -> None:
        """Notes the lease of a fetch, requested at that time (locked by `_lock`)."""
        is_wanted = fetch_id in self._open
        if not is_wanted:
            self._to_give.append(lease)
        elif fetch_id not in self._held:
            self._connection.count.leases += 1
            self._held[fetch_id] = _Held(lease, since + LEASE_LENGTH / 1000)
        self._work(at_once=not is_wanted)

    # -- the thread

    def _work(self, *, at_once: bool) -> None:
        """There is something to be done for the thread (locked by `_lock`)."""
        if self._wakes is None:
            self._wakes = threading.Event()
            threading.Thread(target=self._run, args=(self._wakes,), name="restencil-leases", daemon=True).start()
        elif at_once:
            self._wakes.set()

    def _run(self, wakes: threading.Event) -> None:
        """Renews what is held, gives back what is not, takes what is free; ends when there is nothing of that."""
        renews = time.monotonic() + _RENEWED
        looks = time.monotonic() + _LOOKS
        while True:
            wakes.clear()
            with self._lock:
                to_give, self._to_give = self._to_give, []
                if not (to_give or self._held or self._committing or self._looking):
                    self._wakes = None
                    return
            try:
                if to_give:
                    self._ask(to_give, 0)
                    self._waiters.wake([lease.key for lease in to_give])
                if time.monotonic() >= renews:
                    self._renew()
                    renews = time.monotonic() + _RENEWED
                if self._looking and time.monotonic() >= looks:
                    self._look()
                    looks = time.monotonic() + _LOOKS
                if self._looking and self._connection.storage.inline:
                    self._read_through.take_news()
            except Exception:
                logger.exception("the thread of leases failed; it goes on")
            wakes.wait(self._pause(renews, looks))

    def _pause(self, renews: float, looks: float) -> float:
        if not self._looking:
            return max(0.0, renews - time.monotonic())
        if self._connection.storage.inline:
            return _LISTENS
        return max(0.0, min(renews, looks) - time.monotonic())

    def _renew(self) -> None:
        """Renews what is held, and what ends with a commit that is still to come."""
        with self._lock:
            held, committing = [*self._held.values()], [*self._committing]
        leases = [one.lease for one in held] + [lease for lease, is_waiting in committing if is_waiting()]
        since = time.monotonic()
        found = self._ask(leases, LEASE_LENGTH)
        for one, is_kept in zip(held, found or (), strict=False):
            if is_kept:
                one.until = since + LEASE_LENGTH / 1000
            else:
                one.was_lost = True
        with self._lock:
            committing = [*self._committing]
        ended = [lease for lease, is_waiting in committing if not is_waiting()]
        renewed = set(leases)
        self._ask([lease for lease in ended if lease in renewed], 0)  # the commit came first, and had ended it
        with self._lock:
            self._committing = [one for one in self._committing if one[0] not in ended]

    def _look(self) -> None:
        """Takes free leases for the requests that wait, and wakes these; all of them if the storage does not answer."""
        with self._lock:
            looking = [*self._looking.items()]
        since = time.monotonic()
        found = self._ask([lease for _, (lease, _) in looking], LEASE_LENGTH)
        wake = [wanted for _, (_, wanted) in looking] if found is None else []
        with self._lock:
            for (fetch_id, (lease, wanted)), is_free in zip(looking, found or (), strict=False):
                if is_free:
                    self._hold(fetch_id, lease, since)
                    wake.append(wanted)
        for wanted in wake:
            wanted.wake()

    def _ask(self, leases: Sequence[Lease], length: float) -> list[bool] | None:
        """Takes or renews leases; None if the storage does not answer."""
        wanted = [(lease.name, lease.owner) for lease in leases]
        return self._connection.lease(lambda storage: leases_of(storage, wanted, length)) if wanted else None

    def close(self) -> None:
        """Gives all leases back; waiting requests are sent."""
        with self._lock:
            held = [*(one.lease for one in self._held.values()), *self._to_give]
            self._held.clear()
            self._to_give.clear()
            self._committing.clear()
        with suppress(Exception):
            self._ask(held, 0)

    def closed(self) -> None:
        """The storage is not used any more."""
        self._waiters.wake(None)


def _name_of(request: Request) -> str:
    text = f"{request.key}\0{request.url}"
    return str(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
