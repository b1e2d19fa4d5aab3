"""The connection of a store to its storage, which turns errors into states, and the version map."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ..base.errors import StorageCorrupt, StorageDown, StorageError, StorageOff
from ..base.logs import logger
from ..base.values import Meta
from .timeline import Timeline

if TYPE_CHECKING:
    from threading import RLock

    from ..storage.protocol import Batch, Entry, Opened, Outcome, Page, Storage
    from .pending_write import PendingWrite
    from .row_codec import LeftOut

T = TypeVar("T")

_LOADS: Final = 3
"""Consecutive failed loads until reads stop using the storage."""
_PAGE: Final = 1_000
"""Names per page of a scan."""
LEASE_LENGTH: Final = 3_000.0
"""The length of a lease, in ms; after so long without contact, the changes of other processes are unknown."""
_SHORTEST: Final = 1.0
_LONGEST: Final = 30.0
"""Bounds of the delay before a storage that is down is tried again, in s; each failure doubles the delay."""


class VersionMap:
    """The revision of each stored row and result that memory knows; guarded by the store's lock.

    A cell is *verified* (its revision is in `revs`), *pending* (a local write waits for its commit), *unverified*
    (memory holds a value whose revision was lost) or *unknown*. Keys have the same states.
    """

    def __init__(self, numbers: tuple[Callable[[], float], Callable[[], float]]) -> None:
        self.timeline = Timeline(*numbers)
        """Maps local request numbers to commits."""
        self.revs: dict[str, dict[str, int]] = {}
        """By table and primary key, the rev of the row in memory; 0 for a row that is known to be absent."""
        self.key_revs: dict[str, int] = {}
        self.key_shapes: dict[str, str] = {}
        """By key, the schema fingerprint of the endpoint of a result in memory."""
        self.unverified: dict[str, dict[str, int]] = {}
        """By table and primary key, the last known rev of an unverified row, to compare with the storage."""
        self.unverified_keys: dict[str, int] = {}
        """By key, the last known rev of an unverified result; 0 if none was known, so that memory may be right."""
        self.changed: dict[tuple[str, str], None] = {}
        """Cells that the storage has another row of, to be loaded."""
        self.shapes: dict[str, str] = {}
        """By table, the usual schema fingerprint of its rows."""
        self.odd_shapes: dict[tuple[str, str], str] = {}
        """The schema fingerprints of rows that differ from the usual one of their table."""
        self.whole: set[str] = set()
        """Tables whose stored rows are all in memory, in the order of the storage."""
        self.left_out: dict[tuple[str, str], LeftOut] = {}
        """The members that were left out of rows."""
        self.only_here: set[tuple[str, str] | str] = set()
        """Cells and keys whose value in memory is never stored, until memory evicts them or the key is stored again."""
        self.came_meanwhile: dict[tuple[str, str], int] = {}
        """The revs of rows that were loaded while requests were in flight, whose responses may be older or newer."""
        self.epoch = 0
        self.reset = 0
        self.number = 0
        """The newest commit that was applied to memory."""
        self.last = 0
        """The newest known commit, of this or another store."""
        self.offset: float = 0
        """The storage's time minus the store's, in ms."""

    def begin(self, opened: Opened) -> None:
        """Forget all revisions after the storage was opened; unverified cells and keys stay unverified."""
        self.offset = opened.offset
        self._begin(opened.epoch, opened.reset, opened.number)

    def begin_epoch(self, epoch: int, reset: int, number: int) -> None:
        """Forget all revisions at the start of a new epoch; the clock offset stays."""
        self._begin(epoch, reset, number)
        for kept in (self.unverified, self.unverified_keys, self.changed):
            kept.clear()

    def _begin(self, epoch: int, reset: int, number: int) -> None:
        self.epoch, self.reset, self.number, self.last = epoch, reset, number, number
        for kept in (self.revs, self.key_revs, self.shapes, self.odd_shapes, self.came_meanwhile):
            kept.clear()
        self.timeline.begin(number)

    def numbered(self, number: int) -> bool:
        """Note the number of an own commit; True if no commits of others are between it and the previous one."""
        self.last = max(self.last, number)
        is_next = number == self.number + 1
        if is_next:
            self.number = number
        self.timeline.knows(number, taken=is_next)
        return is_next

    def is_unverified(self, cell: tuple[str, str]) -> bool:
        """Whether the value of a cell in memory may be wrong."""
        found = self.unverified.get(cell[0])
        return found is not None and cell[1] in found

    def rev(self, table: str, pk: str) -> int | None:
        """Return the rev of a cell in memory; None if it is unknown."""
        found = self.revs.get(table)
        return None if found is None else found.get(pk)

    def shape(self, table: str, pk: str) -> str:
        """Return the schema fingerprint of the row of a known cell."""
        found = self.odd_shapes.get((table, pk))
        return self.shapes.get(table, "") if found is None else found

    def note(self, table: str, pk: str, rev: int, shape: str) -> None:
        """Note the rev and schema fingerprint of a row that is now in memory."""
        self.revs.setdefault(table, {})[pk] = rev
        if self.unverified:
            self.unverified.get(table, {}).pop(pk, None)
        if self.shapes.setdefault(table, shape) != shape:
            self.odd_shapes[table, pk] = shape
        elif self.odd_shapes:
            self.odd_shapes.pop((table, pk), None)

    def outdated(self, cell: tuple[str, str], rev: int) -> None:
        """Load a cell again, as memory has the row of this rev and the storage has a later one."""
        self.unverified.setdefault(cell[0], {})[cell[1]] = rev
        self.forget(*cell)
        self.changed[cell] = None

    def outward(self, times: Meta) -> Meta:
        """Convert times of memory to times of the storage; 0 and 1 are markers and stay."""
        offset = self.offset
        return times if not offset else Meta(*(time if time <= 1 else time + offset for time in times))

    def forget(self, table: str, pk: str) -> None:
        """Forget the rev and schema fingerprint of a row."""
        self.revs.get(table, {}).pop(pk, None)
        self.odd_shapes.pop((table, pk), None)


class PersistenceEvents(Protocol):
    """The persistence of a store: the callbacks that its parts use."""

    def opened(self) -> None:
        """Handle that the storage was opened (locked)."""
        ...

    def answers_again(self) -> None:
        """Handle that a storage responds again after it was down: changes of other processes may have been missed."""
        ...

    def drain_capture(self) -> object:
        """Decode the captured actions (locked)."""
        ...

    def wrote(self, pending: PendingWrite) -> None:
        """Handle what an action has written, before it is decoded (locked)."""
        ...

    def drained(self) -> None:
        """Handle an empty write queue (locked)."""
        ...

    def look(self) -> None:
        """Read the log, as a commit found another epoch (without the lock)."""
        ...

    def maintain(self) -> None:
        """Maintain the storage after the thread has written, or every `poll` ms (without the lock)."""
        ...


class StorageConnection:
    """The storage of a store, and its state. It is opened at first use.

    The state is `on`, `down` (it does not respond, or rejects commits), or `off` (it is not used).
    """

    def __init__(
        self,
        storage: Storage,
        lock: RLock,
        now: Callable[[], float],
        numbers: tuple[Callable[[], float], Callable[[], float]],
        events: PersistenceEvents,
    ) -> None:
        self.storage = storage
        self.lock = lock
        """The lock of the store."""
        self.known = VersionMap(numbers)
        self.count: Counter[str] = Counter()
        """Counts of loads, commits and leases since the store was created, named as in `StorageStats`."""
        self.errors: Counter[str] = Counter()
        """The number of errors, by class."""
        self.origin = ""
        """The origin of the API, without user info; "" if no client has one."""
        self.state = "on"
        self.reason = ""
        self.writer = uuid.uuid4().hex
        """The random id of this store in this process."""
        self._commits = 0
        self.given_up: set[int] = set()
        """Ids of commits without a response that are not sent again."""
        self.is_open = False
        self.is_resetting = False
        """Whether a reset is pending: until it is done, nothing is read from the storage."""
        self.events = events
        self._now = now
        poll = storage.poll if storage.inline else 0
        self._longest_silence = max(LEASE_LENGTH, 2 * poll) / 1_000
        self._contact = inf
        """When the log was last read, in s of the monotonic clock; inf until the storage is opened."""
        self._is_lost = False
        self._failed_loads = 0
        self._is_read = True
        """Whether reads use the storage even while it is down: it is local and only rejects commits."""
        self._wait = _SHORTEST
        self._until = 0.0
        self._failed_at = 0.0
        """When the storage last failed while it was down, or went down, in s of the monotonic clock."""
        self.write_lock = threading.RLock()
        """Held while the storage is written to or opened; its holder never waits for the store's lock."""

    def begin_anew(self) -> None:
        """Become a new writer for the storage: with a new id, and without commits so far."""
        self.writer = uuid.uuid4().hex
        self._commits = 0
        self.given_up.clear()
        self.write_lock = threading.RLock()

    def drain_capture(self) -> None:
        """Decode the captured actions, before the version map is used (locked)."""
        self.events.drain_capture()

    def inward(self, times: Meta, requested_rev: int) -> Meta:
        """Convert times of the storage to the store's time.

        `requested_rev` is the newest commit that was known when the request was sent. Times are clamped, as clocks may
        differ: none is later than now, since a committed response was requested before all future requests of this
        store, and `fetched_at` is not before the last event that the request knew.
        """
        offset, event = self.known.offset, self.known.timeline.last_event(requested_rev)
        if offset:
            times = Meta(*(time if time <= 1 else time - offset for time in times))
        times = arrived(times, self._now())
        return times if times.fetched_at >= event else times._replace(fetched_at=event)

    # -- calls to the storage

    @property
    def may_be_read(self) -> bool:
        """Whether reads may use the storage: it is on, only rejects commits, or is due to be tried again."""
        if self.is_resetting:
            return False
        return self.state == "on" or (self.state == "down" and (self._is_read or time.monotonic() >= self._until))

    @property
    def may_be_written(self) -> bool:
        """Whether a lease may be requested: the storage is on, or was down for long enough to be tried again."""
        return self.may_be_read and self.remaining() <= 0

    def read_no_more(self) -> None:
        """Stop reads while commits fail: stored values are older than those that reads have returned already."""
        self._is_read = False

    def remaining(self) -> float:
        """Return the time until the storage may be used again, in s."""
        return 0.0 if self.state != "down" else max(0.0, self._until - time.monotonic())

    def load(self, work: Callable[[Storage], T], began: float | None = None) -> T | None:
        """Return the result of a read; None if it fails. After three failures the storage is `down`.

        `began` is when a read began whose outcome `work` only gives, by the monotonic clock in s.
        """
        if not self.may_be_read:
            return None
        return self._ask(work, is_load=True, began=began)

    def lease(self, work: Callable[[Storage], T]) -> T | None:
        """Return the result of a call about leases, which delays a read; None if it fails."""
        if not self.may_be_written:
            return None
        return self._ask(work, is_load=True, writes=True)

    def reset(self) -> int:
        """Begin a new epoch, even in a storage that is off; return it. Raises StorageError if that fails."""
        unopened: Exception | None = None
        began = time.monotonic()
        try:
            try:
                if not self.is_open:
                    self._open()
            except Exception as error:
                unopened = error  # an empty storage may reset without being open; else this is the cause
            with self.write_lock:
                epoch = self.storage.reset()
        except Exception as error:
            cause = unopened or error
            self._failed(cause, is_load=False, writes=True)
            if isinstance(cause, StorageError):
                raise cause from None
            raise StorageDown(f"the reset could not be written ({type(cause).__name__}: {cause})") from cause
        finally:
            if self.state == "off":
                self.let_go()
        self._answered(began, writes=True)
        return epoch

    def is_own(self, entry: Entry) -> bool:
        """Whether an entry of the log is a commit of this store; abandoned commits count as those of another store."""
        return entry.writer == self.writer and entry.commit_id not in self.given_up

    def next_commit_id(self) -> int:
        """Return an id for a commit, higher than all earlier ids of this writer."""
        self._commits += 1
        return self._commits

    def send(self, batch: Batch) -> Outcome | None:
        """Commit a batch and return its outcome; None if the storage does not respond."""
        return self.work(lambda storage: storage.commit(batch), writes=True)

    def opened(self) -> bool:
        """Open the storage unless it is open; False if that fails."""
        return self.is_open or self.work(lambda storage: True) is True

    def work(self, work: Callable[[Storage], T], *, writes: bool = False) -> T | None:
        """Return the result of a call with the write lock held; None if it fails, and the storage is `down` then.

        The lock ensures that no SQLite transaction is open while its thread waits for the store's lock, and that a
        fork waits for the end of the call. With `writes`, the call may fail while reads of a local storage do not.
        """
        return None if self.state == "off" else self._ask(work, is_load=False, writes=writes)

    def pages(self, table: str | None) -> Iterator[list[str] | None]:
        """Yield pages of the primary keys of a table, or of the keys of all results if `table` is None.

        Called by the thread that writes. If the storage does not respond, the last page is None.
        """
        after: str | None = None

        def scan(storage: Storage) -> Page:
            return storage.scan(table, after, _PAGE)

        while True:
            page = self.work(scan)
            yield None if page is None else page.items
            if page is None or page.next is None:
                return
            after = page.next

    def _ask(
        self, work: Callable[[Storage], T], *, is_load: bool, writes: bool = False, began: float | None = None
    ) -> T | None:
        began = time.monotonic() if began is None else began
        try:
            if not self.is_open:
                self._open()
            if is_load:
                found = work(self.storage)
            else:
                with self.write_lock:
                    found = work(self.storage)
        except Exception as error:
            self._failed(error, is_load=is_load, writes=writes)
            return None
        finally:
            if self.state == "off":
                self.let_go()  # another thread may have opened it again
        self._answered(began, writes=writes)
        return found

    def _open(self) -> None:
        with self.write_lock:
            if self.is_open:
                return
            opened = self.storage.open(self.origin, self._now)
        with self.lock:
            if not self.is_open:
                self.known.begin(opened)
                self.is_open = True
                self.touched()
                self.events.opened()

    # -- contact

    def touched(self) -> None:
        """Note that the log was read just now."""
        self._contact = time.monotonic()
        self._is_lost = False

    def lost_touch(self) -> bool:
        """Whether the log was not read for longer than a lease is valid; True only once per silence."""
        if self._is_lost or time.monotonic() - self._contact <= self._longest_silence:
            return False
        self._is_lost = True
        return True

    def calibrate(self) -> bool:
        """Measure the clock offset again, and open the storage if needed; False if it does not respond."""
        opened = self.load(lambda storage: storage.open(self.origin, self._now))
        if opened is not None:
            with self.lock:
                self.known.offset = opened.offset
        return opened is not None

    # -- state

    def _failed(self, error: Exception, *, is_load: bool, writes: bool) -> None:
        name = type(error).__name__
        self.errors[name] += 1
        if isinstance(error, StorageOff):
            self.turn_off(str(error))
            return
        is_refused = writes and self.storage.inline and self.is_open  # a local storage may still be readable
        if is_load and not is_refused:
            self._failed_loads += 1
            if self._failed_loads < _LOADS and (self.state == "on" or self._is_read):
                return
        self._is_read = self._is_read and is_refused
        self._failed_at = time.monotonic()
        if self.state == "on":
            kind = "" if isinstance(error, StorageDown | StorageCorrupt) else f"{name}: "
            # Before it is logged, so that no other thread logs it too.
            self.state, self.reason = "down", f"{kind}{error}"
            logger.warning("the storage does not respond; the store continues in memory only: %s", self.reason)
        self._until = self._failed_at + self._wait * random.uniform(0.8, 1.2)
        self._wait = min(2 * self._wait, _LONGEST)

    def hook_failed(self, cell: tuple[str, str]) -> None:
        """Log that a user's function failed while a write was rebased onto a row."""
        logger.exception("%s %s is not stored, because its merge function failed", *cell)

    def before_fork(self) -> None:
        """Take the write lock and close a local storage before a fork; the store's lock is held."""
        self.write_lock.acquire()
        if self.storage.inline and self.is_open:
            try:
                self.storage.close()
            except Exception:
                logger.exception("the storage could not be closed before a fork")

    def let_go(self) -> None:
        """Close the storage; errors are logged."""
        try:
            self.storage.close()
        except Exception:
            logger.exception("the storage could not be closed")

    def turn_off(self, reason: str, *, logs: bool = True) -> None:
        """Stop using the storage."""
        if self.state != "off":
            self.state, self.reason = "off", reason
            if logs:
                logger.warning("the storage is not used: %s", reason)

    def _answered(self, began: float, *, writes: bool) -> None:
        if self.state == "down" and began <= self._failed_at:
            return  # the answer may be from before the outage
        self._failed_loads = 0
        if self._is_read and not writes:
            return
        was_read, self._is_read = self._is_read, True
        if self.state == "down":
            self.state, self.reason = "on", ""
            self._wait = _SHORTEST
            logger.warning("the storage responds again")
            if not was_read:  # else the log was followed all the time
                self.events.answers_again()


def arrived(times: Meta, now: float) -> Meta:
    """Move times that are in the future to `now`; the lifetime stays the same."""
    if times.fetched_at <= now and times.date <= now:
        return times
    length = times.expires_at - times.date
    return Meta(min(times.fetched_at, now), min(times.date, now), now + length if times.expires_at > 1 else length)
