"""The connection of a store to its storage: opened at first use, it turns errors into states; and the version map."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ..base.errors import StorageCorrupt, StorageDown, StorageError, StorageOff
from ..base.logs import logger
from ..base.values import Meta
from .timeline import Timeline

if TYPE_CHECKING:
    from threading import RLock

    from ..storage.protocol import Batch, Entry, Opened, Outcome, Page, Storage, StoredRow
    from .row_codec import LeftOut

T = TypeVar("T")

_LOADS: Final = 3
"""So many loads may fail one after another before no read asks any more."""
_PAGE: Final = 1_000
"""So many names are asked for at once."""
LEASE_LENGTH: Final = 3_000.0
"""The length of a lease, in ms; after so long without contact, the changes of other processes are unknown."""
_SHORTEST: Final = 1.0
_LONGEST: Final = 30.0
"""A storage that is down is asked again after so many seconds, each time after twice as many."""


class Counters:
    """What was done, since the store was made."""

    def __init__(self) -> None:
        self.loads = 0
        self.loaded_rows = 0
        self.holes = 0
        self.commits = 0
        self.committed_rows = 0
        self.moved = 0
        self.fenced = 0
        self.entries = 0
        self.breaks = 0
        self.leases = 0
        self.leases_waited_for = 0
        self.requests_saved = 0
        self.unstorable = 0
        self.errors: dict[str, int] = {}


class VersionMap:
    """Version map: the revision of each stored row and result that memory knows; guarded by the store's lock.

    A cell is *verified* (its revision is in `revs`), *pending* (a local write waits for its commit), *unverified*
    (memory holds a value whose revision was lost) or *unknown*. The same is true of keys.
    """

    def __init__(self, numbers: tuple[Callable[[], float], Callable[[], float]]) -> None:
        self.timeline = Timeline(*numbers)
        """Which commits were known when."""
        self.revs: dict[str, dict[str, int]] = {}
        """By table and primary key, the rev that memory has; 0 for what is known to be absent."""
        self.key_revs: dict[str, int] = {}
        self.key_shapes: dict[str, str] = {}
        """The shapes of the endpoints of results that memory has."""
        self.unverified: dict[str, dict[str, int]] = {}
        """The revs before a break of what memory holds: to be compared with the storage."""
        self.unverified_keys: dict[str, int] = {}
        """The same of keys; 0 if none was known, so that memory may be right."""
        self.shapes: dict[str, str] = {}
        """The usual shape of the rows of a table."""
        self.odd_shapes: dict[tuple[str, str], str] = {}
        """Those of rows that have another one."""
        self.versions: dict[str, int] = {}
        """The versions of tables whose primary keys are all known, in `members`."""
        self.members: dict[str, list[str]] = {}
        self.unordered: set[str] = set()
        """Tables whose rows are all in memory, though not in the order of the storage."""
        self.left_out: dict[tuple[str, str], LeftOut] = {}
        """The members that were left out of rows."""
        self.came_meanwhile: dict[tuple[str, str], int] = {}
        """The revs of rows that were loaded while requests were under way, whose responses may be older or newer."""
        self.epoch = 0
        self.reset = 0
        self.number = 0
        """The newest commit that memory has taken in."""
        self.last = 0
        """The newest commit that is known of, be it one of this store."""
        self.offset: float = 0
        """The storage's time minus the store's, in ms."""

    def begin(self, opened: Opened) -> None:
        """Forgets all revisions; what is unverified stays so."""
        self.offset = opened.offset
        self._begin(opened.epoch, opened.reset, opened.number)

    def begin_epoch(self, epoch: int, reset: int, number: int) -> None:
        """Forgets all revisions, as the namespace began a new epoch; the clocks stay."""
        self._begin(epoch, reset, number)
        self.unverified.clear()
        self.unverified_keys.clear()

    def _begin(self, epoch: int, reset: int, number: int) -> None:
        self.epoch, self.reset, self.number, self.last = epoch, reset, number, number
        for kept in (self.revs, self.key_revs, self.shapes, self.odd_shapes, self.came_meanwhile):
            kept.clear()
        self.versions.clear()
        self.members.clear()
        self.timeline.begin(number)

    def numbered(self, number: int) -> bool:
        """Notes the number of an own commit; whether it is the next one, without commits of others in between."""
        self.last = max(self.last, number)
        is_next = number == self.number + 1
        if is_next:
            self.number = number
        self.timeline.knows(number, taken=is_next)
        return is_next

    def is_unverified(self, cell: tuple[str, str]) -> bool:
        """Whether memory holds something of a cell that may be wrong."""
        found = self.unverified.get(cell[0])
        return found is not None and cell[1] in found

    def rev(self, table: str, pk: str) -> int | None:
        """The rev of a cell in memory; None if it is unknown."""
        found = self.revs.get(table)
        return None if found is None else found.get(pk)

    def shape(self, table: str, pk: str) -> str:
        """The shape that the row of a known cell has."""
        found = self.odd_shapes.get((table, pk))
        return self.shapes.get(table, "") if found is None else found

    def note(self, table: str, pk: str, rev: int, shape: str) -> None:
        """Memory has the row of this rev."""
        self.revs.setdefault(table, {})[pk] = rev
        if self.unverified:
            self.unverified.get(table, {}).pop(pk, None)
        if self.shapes.setdefault(table, shape) != shape:
            self.odd_shapes[table, pk] = shape
        elif self.odd_shapes:
            self.odd_shapes.pop((table, pk), None)

    def note_rows(self, table: str, rows: Sequence[StoredRow]) -> None:
        """Memory has these rows, at least one, of a table."""
        usual = self.shapes.setdefault(table, rows[0].shape)
        if self.odd_shapes or self.unverified or any(row.shape != usual for row in rows):
            for row in rows:
                self.note(table, row.pk, row.rev, row.shape)
        else:
            self.revs.setdefault(table, {}).update([(row.pk, row.rev) for row in rows])

    def outward(self, times: Meta) -> Meta:
        """Times of memory in those of the storage; 0 and 1 are markers."""
        offset = self.offset
        return times if not offset else Meta(*(time if time <= 1 else time + offset for time in times))

    def forget(self, table: str, pk: str) -> None:
        """The row is unknown again."""
        self.revs.get(table, {}).pop(pk, None)
        self.odd_shapes.pop((table, pk), None)


class ConnectionEvents(Protocol):
    """The owner of a connection: what the connection asks it, and what it notifies it of."""

    @property
    def origin_of_clients(self) -> str:
        """The place of the API, as the storage names it."""
        ...

    def opened(self) -> None:
        """The storage was opened (locked)."""
        ...

    def answers_again(self) -> None:
        """A storage that was down answers: the changes of others in between are unknown."""
        ...

    def drain_capture(self) -> object:
        """Decodes what actions captured (locked)."""
        ...


class StorageConnection:
    """The storage of a store, and its state.

    `on`, `down` (it does not answer now, or takes no commits), or `off` (it is not used).
    """

    def __init__(
        self,
        storage: Storage,
        lock: RLock,
        now: Callable[[], float],
        numbers: tuple[Callable[[], float], Callable[[], float]],
        events: ConnectionEvents,
    ) -> None:
        self.storage = storage
        self.lock = lock
        """The store's."""
        self.known = VersionMap(numbers)
        self.count = Counters()
        self.state = "on"
        self.reason = ""
        self.writer = ""
        """The random id of this store in this process."""
        self._commits = 0
        self.given_up: set[int] = set()
        """Ids of commits that got no answer and are not sent again."""
        self.is_open = False
        self.is_resetting = False
        """Whether a reset has still to reach it: until then nothing is read from it."""
        self._events = events
        self._now = now
        poll = storage.poll if storage.inline else 0
        self._longest_silence = max(LEASE_LENGTH, 2 * poll) / 1_000
        self._contact = inf
        """When the storage last said what others wrote, in s; it says nothing before it is opened."""
        self._is_lost = False
        self._failed_loads = 0
        self._is_read = True
        """Whether reads use it also while it is down: it is local and only takes no commits."""
        self._wait = _SHORTEST
        self._until = 0.0
        self.write_lock = threading.RLock()
        """Held while the storage is written to or opened; while it is held, the store's lock is never waited for."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """This store in this process is someone new to the storage."""
        self.writer = uuid.uuid4().hex
        self._commits = 0
        self.given_up.clear()
        self.write_lock = threading.RLock()

    def drain_capture(self) -> None:
        """Decodes what actions captured, before the version map is used (locked)."""
        self._events.drain_capture()

    def inward(self, times: Meta, requested_rev: int) -> Meta:
        """Times of the storage in the store's time, by the commit that was known when they were requested.

        None is later than now, as what another store has committed was requested before all that is requested here from
        now on; and none is earlier than the last event that this request knew. Clocks may say otherwise.
        """
        offset, event = self.known.offset, self.known.timeline.last_event(requested_rev)
        if offset:
            times = Meta(*(time if time <= 1 else time - offset for time in times))
        times = arrived(times, self._now())
        return times if times.fetched_at >= event else times._replace(fetched_at=event)

    # -- asking

    @property
    def may_be_read(self) -> bool:
        """Whether a read is to ask it: it is on, takes only no commits, or was down for long enough to look again."""
        if self.is_resetting:
            return False
        return self.state == "on" or (self.state == "down" and (self._is_read or time.monotonic() >= self._until))

    @property
    def may_be_written(self) -> bool:
        """Whether a lease is to be asked of it: nothing is the matter, or has been for some time."""
        return self.may_be_read and self.remaining() <= 0

    def read_no_more(self) -> None:
        """While it takes no commits it is not read either: what it would show is older than what was shown."""
        self._is_read = False

    def remaining(self) -> float:
        """The time until it may be used again, in s."""
        return 0.0 if self.state != "down" else max(0.0, self._until - time.monotonic())

    def load(self, work: Callable[[Storage], T]) -> T | None:
        """The result of a read; None if the storage does not answer, which is `down` after three failures."""
        if not self.may_be_read:
            return None
        return self._ask(work, is_load=True)

    def lease(self, work: Callable[[Storage], T]) -> T | None:
        """The result of a call about leases, on which a read waits; None if the storage does not answer."""
        if not self.may_be_written:
            return None
        return self._ask(work, is_load=True, writes=True)

    def commit(self, work: Callable[[Storage], T]) -> T | None:
        """The result of a commit; see `work`."""
        return None if self.state == "off" else self._ask(work, is_load=False, writes=True)

    def reset(self) -> int:
        """Begins a new epoch, also in a storage that is off. Raises StorageError if it cannot."""
        unopened: Exception | None = None
        try:
            try:
                if not self.is_open:
                    self._open()
            except Exception as error:
                unopened = error  # a storage in which nothing can lie has nothing to reset
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
        self._answered(writes=True)
        return epoch

    def is_own(self, entry: Entry) -> bool:
        """Whether an entry of the log is a commit of this store; one that was given up is like one of another store."""
        return entry.writer == self.writer and entry.commit_id not in self.given_up

    def next_commit_id(self) -> int:
        """An id for a commit, higher than all that this writer gave before."""
        self._commits += 1
        return self._commits

    def send(self, batch: Batch) -> Outcome | None:
        """The outcome of a batch; None if the storage does not answer."""
        return self.commit(lambda storage: storage.commit(batch))

    def opened(self) -> bool:
        """Whether it is open, or could be opened now."""
        return self.is_open or self.work(lambda storage: True) is True

    def work(self, work: Callable[[Storage], T]) -> T | None:
        """The result of a call by the thread that writes; None if the storage does not answer, which is `down` then.

        That holds no transaction of SQLite open while it waits for the store's lock, and a fork waits for its end.
        """
        if self.state == "off":
            return None
        return self._ask(work, is_load=False)

    def pages(self, table: str | None) -> Iterator[list[str] | None]:
        """The primary keys of a table, or for None the keys of all results, page by page, for the thread that writes.

        None, which is the last, where the storage does not answer now.
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

    def _ask(self, work: Callable[[Storage], T], *, is_load: bool, writes: bool = False) -> T | None:
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
                self.let_go()  # once more: another thread may have opened it again
        self._answered(writes=writes)
        return found

    def _open(self) -> None:
        with self.write_lock:
            if self.is_open:
                return
            opened = self.storage.open(self._events.origin_of_clients, self._now)
        with self.lock:
            if not self.is_open:
                self.known.begin(opened)
                self.is_open = True
                self.touched()
                self._events.opened()

    # -- contact

    def touched(self) -> None:
        """The storage has just said what others wrote."""
        self._contact = time.monotonic()
        self._is_lost = False

    def lost_touch(self) -> bool:
        """Whether the storage said nothing of what others wrote for longer than a lease lasts; True once."""
        if self._is_lost or time.monotonic() - self._contact <= self._longest_silence:
            return False
        self._is_lost = True
        return True

    def calibrate(self) -> bool:
        """Compares the clocks again, and opens the storage if needed; False if it does not answer."""
        opened = self.load(lambda storage: storage.open(self._events.origin_of_clients, self._now))
        if opened is not None:
            with self.lock:
                self.known.offset = opened.offset
        return opened is not None

    # -- how it is

    def _failed(self, error: Exception, *, is_load: bool, writes: bool) -> None:
        name = type(error).__name__
        errors = self.count.errors
        errors[name] = errors.get(name, 0) + 1
        if isinstance(error, StorageOff):
            self.turn_off(str(error))
            return
        is_refused = writes and self.storage.inline and self.is_open  # that says nothing of reads
        if is_load and not is_refused:
            self._failed_loads += 1
            if self._failed_loads < _LOADS and (self.state == "on" or self._is_read):
                return
        self._is_read = self._is_read and is_refused
        if self.state == "on":
            kind = "" if isinstance(error, StorageDown | StorageCorrupt) else f"{name}: "
            self.reason = f"{kind}{error}"
            logger.warning("the storage does not answer, memory goes on alone: %s", self.reason)
            self.state = "down"
        self._until = time.monotonic() + self._wait * random.uniform(0.8, 1.2)
        self._wait = min(2 * self._wait, _LONGEST)

    def hook_failed(self, cell: tuple[str, str]) -> None:
        """Logs that a user's function failed while a write was rebased onto a row."""
        logger.exception("%s %s is not stored: a function that merges it failed", *cell)

    def before_fork(self) -> None:
        """Closes a local storage before a fork, with the store's lock held."""
        self.write_lock.acquire()
        if self.storage.inline and self.is_open:
            try:
                self.storage.close()
            except Exception:
                logger.exception("the storage could not be closed before a fork")

    def let_go(self) -> None:
        """Nothing of it stays open."""
        try:
            self.storage.close()
        except Exception:
            logger.exception("the storage could not be closed")

    def turn_off(self, reason: str, *, logs: bool = True) -> None:
        """It is not used any more."""
        if self.state != "off":
            self.state, self.reason = "off", reason
            if logs:
                logger.warning("the storage is not used: %s", reason)

    def _answered(self, *, writes: bool) -> None:
        self._failed_loads = 0
        if self._is_read and not writes:
            return
        was_read, self._is_read = self._is_read, True
        if self.state == "down":
            self.state, self.reason = "on", ""
            self._wait = _SHORTEST
            logger.warning("the storage answers again")
            if not was_read:  # else the log was read all the time
                self._events.answers_again()


def arrived(times: Meta, now: float) -> Meta:
    """Times with none in the future; the lifetime stays."""
    if times.fetched_at <= now and times.date <= now:
        return times
    length = times.expires_at - times.date
    return Meta(min(times.fetched_at, now), min(times.date, now), now + length if times.expires_at > 1 else length)
