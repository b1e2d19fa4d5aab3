"""Leases share one request between processes: a request takes a lease on its key, and equal requests wait.

A request holds its lease from before it is sent until its response is committed, which ends the lease. Other processes
wait for a log entry that contains the key. One thread renews all held leases, and periodically checks whether those
that requests wait for are free: a holder may be gone, or its request may have failed.
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
    from .log_consumer import Waiters
    from .read_through import ReadThrough
    from .schema_fingerprint import SchemaRegistry

_RENEWED: Final = 1.0
"""The interval of renewals of a lease while its request is in flight, in s."""
_TRIES: Final = 5
"""Attempts to load a result while other processes write all the time."""
_LOOKS: Final = 0.1
"""The interval of checks whether leases that requests wait for are free, in s."""
_LAP: Final = 1_000.0
"""The longest wait of a request before it checks again, in ms, as a notification may have been missed."""
_LISTENS: Final = 0.01
"""The interval between reads of the log of a local storage while a request waits, in s."""


class Lease(NamedTuple):
    """A lease that one request holds or waits for."""

    name: str
    owner: str
    """The owner, different for each request: a late release does not end the lease of this process's next request."""
    key: str


class _Held:
    """A lease that a request holds."""

    __slots__ = ("is_waiting", "lease", "until", "was_lost")

    def __init__(self, lease: Lease, until: float) -> None:
        self.lease = lease
        self.until = until
        """The end of the lease unless it is renewed, in s of the monotonic clock."""
        self.was_lost = False
        """Whether it was not renewed in time, and another process may have taken it."""
        self.is_waiting: Callable[[], bool] | None = None
        """Whether its response still waits for the commit that ends it; None before there is a response."""

    @property
    def is_over(self) -> bool:
        """Whether a commit has ended it."""
        return self.is_waiting is not None and not self.is_waiting()

    @property
    def is_sure(self) -> bool:
        """Whether no other process can have taken it."""
        return not self.was_lost and time.monotonic() < self.until


class Leases:
    """The leases that requests of one store hold, and its requests that wait for leases of other processes."""

    def __init__(
        self, connection: StorageConnection, read_through: ReadThrough, registry: SchemaRegistry, waiters: Waiters
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._read_through = read_through
        self._waiters = waiters
        self.forked()

    def forked(self) -> None:
        """Start over in a forked process: leases and waiting requests are in the parent."""
        self._lock = threading.Lock()
        self._open: set[int] = set()
        """The fetches that use leases, from before they request one until they are done."""
        self._held: dict[int, _Held] = {}
        """By fetch, its lease, until it is released or a commit has ended it."""
        self._to_give: list[Lease] = []
        self._waiters.forked()
        self._looking: dict[int, tuple[Lease, PendingRequest]] = {}
        """By fetch, the lease to take as soon as it is free."""
        self._wakes: threading.Event | None = None

    def steps(self, request: Request, fetch_id: int, wanted: PendingRequest) -> Steps:
        """Return steps that run before a request is sent; their result is True if there is an outcome without it.

        After False, send the request. Call `done` in any case, after its response or failure.
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
        """Return steps that take the lease, or wait for the response of its holder for at most `left` ms."""
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
                with self._lock:  # the check took so long that another process may have sent the request meanwhile
                    self._held.pop(fetch_id, None)
            lap = min(left, (end - time.monotonic()) * 1000, _LAP)
            if wanted.requires_network or lap <= 0:
                return False
            is_known = is_waiting or request.key in connection.known.key_revs
            if not is_waiting:
                is_waiting = True
                connection.count["leases_waited_for"] += 1
            if held is None and is_known:
                self._looks(fetch_id, lease, wanted)
                is_current = yield wanted.wait(lap)
                left -= 0 if is_current else lap
                self._looking.pop(fetch_id, None)
        return False

    def _take(self, fetch_id: int, lease: Lease) -> Steps:
        """Return steps that request the lease; their result is None if the storage does not respond."""

        def ask(storage: Storage) -> bool:
            since = time.monotonic()
            got = storage.lease(lease.name, lease.owner, LEASE_LENGTH)
            if got:  # noted here, as the task that waits for this may be cancelled
                with self._lock:
                    self._hold(fetch_id, lease, since)
            return got

        return (yield StorageStep(self._connection.lease, self._read_through.loader, ask))

    def _is_answered(self, request: Request, wanted: PendingRequest, *, is_current: bool = False) -> Steps:
        """Return steps that check for an outcome; with `is_current`, all commits of others are already applied."""
        for attempt in range(_TRIES):
            if attempt or not is_current:
                yield from self._read_through.catching_up()
            if (yield from self._read_through.reading(request, lambda is_known: _accepts(wanted, is_known=is_known))):
                self._connection.count["requests_saved"] += 1
                return True
            if wanted.is_over:
                return True
            rev = self._connection.known.key_revs.get(request.key)
            if rev == 0 or (rev is not None and attempt > 0):
                return False  # no usable result is stored
        return False

    # -- waiting requests

    def _looks(self, fetch_id: int, lease: Lease, wanted: PendingRequest) -> None:
        """Let the thread take the lease when it is free."""
        with self._lock:
            is_first = not self._looking
            self._looking[fetch_id] = lease, wanted
            self._work(at_once=is_first)

    # -- held leases

    @property
    def are_held(self) -> bool:
        """Whether any lease is held."""
        return bool(self._held)

    def committing(self, fetch_id: int | None, is_waiting: Callable[[], bool]) -> str | None:
        """Return the name of the lease of a fetch, which the commit of its response ends; None if there is none."""
        with self._lock:
            held = None if fetch_id is None else self._held.get(fetch_id)
            if held is None or held.is_waiting is not None:
                return None
            held.is_waiting = is_waiting
        return held.lease.name

    def done(self, fetch_id: int) -> None:
        """Release the lease of a fetch after its response or failure, unless a commit ends it."""
        if fetch_id not in self._open:
            return
        with self._lock:
            self._open.discard(fetch_id)
            self._looking.pop(fetch_id, None)
            held = self._held.get(fetch_id)
            if held is not None and held.is_waiting is None:
                del self._held[fetch_id]
                self._to_give.append(held.lease)
                self._work(at_once=True)

    def _hold(self, fetch_id: int, lease: Lease, since: float) -> None:
        """Note the lease of a fetch, requested at the time `since` (locked by `_lock`)."""
        is_wanted = fetch_id in self._open
        if not is_wanted:
            self._to_give.append(lease)
        elif fetch_id not in self._held:
            self._connection.count["leases"] += 1
            self._held[fetch_id] = _Held(lease, since + LEASE_LENGTH / 1000)
        self._work(at_once=not is_wanted)

    # -- the thread

    def _work(self, *, at_once: bool) -> None:
        """Start or wake the thread (locked by `_lock`)."""
        if self._wakes is None:
            self._wakes = threading.Event()
            threading.Thread(target=self._run, args=(self._wakes,), name="restencil-leases", daemon=True).start()
        elif at_once:
            self._wakes.set()

    def _run(self, wakes: threading.Event) -> None:
        """Renew held leases, release ended ones and take free ones, until none are left."""
        renews = time.monotonic() + _RENEWED
        looks = time.monotonic() + _LOOKS
        while True:
            wakes.clear()
            with self._lock:
                to_give, self._to_give = self._to_give, []
                if not (to_give or self._held or self._looking):
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
                logger.exception("an iteration of the lease thread failed; the thread continues")
            wakes.wait(self._pause(renews, looks))

    def _pause(self, renews: float, looks: float) -> float:
        if not self._looking:
            return max(0.0, renews - time.monotonic())
        if self._connection.storage.inline:
            return _LISTENS
        return max(0.0, min(renews, looks) - time.monotonic())

    def _renew(self) -> None:
        """Renew held leases, except those that a commit has ended."""
        with self._lock:
            all_held = [*self._held.items()]
        held = [one for _, one in all_held if not one.is_over]
        since = time.monotonic()
        found = self._ask([one.lease for one in held], LEASE_LENGTH)
        for one, is_kept in zip(held, found or (), strict=False):
            if is_kept:
                one.until = since + LEASE_LENGTH / 1000
            else:
                one.was_lost = True
        ended = {fetch_id: one for fetch_id, one in all_held if one.is_over}
        self._ask([one.lease for one in ended.values() if one in held], 0)  # the commit came before the renewal
        with self._lock:
            for fetch_id in ended:
                self._held.pop(fetch_id, None)

    def _look(self) -> None:
        """Take free leases for waiting requests and wake these; wake all if the storage does not respond."""
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
        """Take or renew leases for `length` ms, or release them if it is 0; None if the storage does not respond."""
        wanted = [(lease.name, lease.owner) for lease in leases]
        return self._connection.lease(lambda storage: leases_of(storage, wanted, length)) if wanted else None

    def close(self) -> None:
        """Release all leases."""
        with self._lock:
            held = [*(one.lease for one in self._held.values()), *self._to_give]
            self._held.clear()
            self._to_give.clear()
        with suppress(Exception):
            self._ask(held, 0)

    def closed(self) -> None:
        """Wake all waiting requests, as the storage is no longer used; they are sent."""
        self._waiters.wake(None)


def _accepts(wanted: PendingRequest, *, is_known: bool) -> bool:
    return not wanted.is_over and wanted.accept_cached(is_known=is_known)


def _name_of(request: Request) -> str:
    text = f"{request.key}\0{request.url}"
    return str(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
