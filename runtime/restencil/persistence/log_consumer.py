"""Consumes the log of commits: applies the changes of other processes to memory, and handles gaps and resets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from ..base.errors import ResetError
from ..base.logs import logger
from ..base.values import UNDEFINED
from ..cache.request_log import Answered
from ..cache.staleness import NEVER
from ..cache.transition import RecordKeys, StartOver
from ..schema.stored import is_collection
from .stale_marks import ANYTHING, stale_of
from .storage_query import StorageQuery, StorageWork

if TYPE_CHECKING:
    from ..cache.persistence_port import PendingRequest
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..storage.protocol import Changes, Entry, Loaded
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .write_behind import WriteBehind


class Waiters:
    """The requests that wait for the responses of other processes, by key."""

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        """Start over in a forked process: the waiting requests are in the parent."""
        self._lock = threading.Lock()
        self._waiting: dict[str, list[PendingRequest]] = {}

    def add(self, key: str, wanted: PendingRequest) -> None:
        """Add a request that waits for a key."""
        with self._lock:
            self._waiting.setdefault(key, []).append(wanted)

    def remove(self, key: str, wanted: PendingRequest) -> None:
        """Remove a request that no longer waits."""
        with self._lock:
            others = [other for other in self._waiting.get(key, ()) if other is not wanted]
            if others:
                self._waiting[key] = others
            else:
                self._waiting.pop(key, None)

    def wake(self, keys: Iterable[str] | None) -> None:
        """Wake the requests that wait for these keys, or all if None, as other processes have written them."""
        if not self._waiting:
            return
        with self._lock:
            found = [*self._waiting] if keys is None else keys
            wake = [wanted for key in found for wanted in self._waiting.get(key, ())]
        for wanted in wake:
            wanted.wake()


_TRIES: Final = 8
"""Attempts to load rows of the same commit as the entries of the log that were read."""
_GONE: Final = "part of the log was removed"
_STEP: Final = 1_000.0
"""The step of the wall clock, in ms, from which times in memory are not trusted."""


class LogConsumer:
    """Applies commits of the log to memory (locked)."""

    def __init__(
        self,
        store: Store,
        store_state: StoreState,
        connection: StorageConnection,
        write_behind: WriteBehind,
        hydrator: Hydrator,
        waiters: Waiters,
    ) -> None:
        self._waiters = waiters
        self._store = store
        self._store_state = store_state
        self._connection = connection
        self._write_behind = write_behind
        self._hydrator = hydrator
        self.clocks: Callable[[], float] = _wall_over_monotonic
        """The wall clock minus the monotonic clock, in ms."""
        self._offset = self.clocks()

    # -- the position in the log -------------------------------------------------------------------------------------

    def reach(self, loaded: Loaded) -> StorageWork[bool]:
        """Apply all commits up to that of the loaded rows; False if these cannot be used."""
        known = self._connection.known
        for _ in range(_TRIES):
            if loaded.epoch == known.epoch and loaded.number <= known.number:
                return True
            epoch = known.epoch
            if not (yield from self.catch_up()) or known.epoch != epoch:
                return False
        return False

    def catch_up(self) -> StorageWork[bool]:
        """Apply all commits up to the newest one; False if the storage does not respond."""
        known = self._connection.known
        found: Changes | None = yield StorageQuery(lambda storage: storage.changes(known.number, 0))
        return found is not None and (yield from self.take(found))

    def take(self, found: Changes) -> StorageWork[bool]:
        """Apply new entries of the log; False if the storage stops responding meanwhile."""
        known = self._connection.known
        if found.reset > known.reset:
            self._was_reset(found)
            return True
        if found.epoch != known.epoch:
            known.epoch = found.epoch
            yield from self._skip("the storage was reset", found.number, is_epoch=True)
            return True
        if found.number < known.number and not found.lost:
            return True  # another thread has applied more since it was read
        entries = [entry for entry in found.entries if entry.number > known.number]
        if self._is_torn(found, entries):
            yield from self._skip(_GONE, found.number, is_epoch=found.number < known.number)
            return True
        if entries:
            self._apply(entries)
        return True

    def _is_torn(self, found: Changes, entries: list[Entry]) -> bool:
        """Whether entries are missing between the position in the log and its newest commit."""
        known = self._connection.known
        if found.lost:
            return True
        if any(entry.everything and not self._connection.is_own(entry) for entry in entries):
            return True
        numbers = [entry.number for entry in entries]
        return numbers != list(range(known.number + 1, known.number + 1 + len(numbers)))

    # -- entries -----------------------------------------------------------------------------------------------------

    def _apply(self, entries: list[Entry]) -> None:
        """Apply the marks of other stores' commits, and have the rows and results that they name compared."""
        known, connection, hydrator = self._connection.known, self._connection, self._hydrator
        others = [entry for entry in entries if not connection.is_own(entry)]
        for entry in entries:
            if connection.is_own(entry):  # finished first, so that none of its cells is pending
                self._write_behind.number(entry)
        known.number = entries[-1].number
        connection.count["entries"] += len(others)
        self._mark(entries)
        for entry in others:
            self._take_entry(entry)
            if entry.same:
                hydrator.renew(entry)
        self._waiters.wake([key for entry in others for key in entry.keys])

    def _take_entry(self, entry: Entry) -> None:
        """Have what memory has of the changes of an entry compared with the storage, and forget revisions of others."""
        base, hydrator, known = self._store_state.base, self._hydrator, self._connection.known
        written = *entry.changed.items(), *entry.gone.items()
        changed = [(table, pk) for table, pks in written for pk in pks]
        # An unchanged row says nothing about a value that only memory has.
        changed += [(table, pk) for table, pks in entry.same.items() for pk in pks if (table, pk) in known.only_here]
        bases = self._write_behind.queue.bases
        for cell in changed:
            if cell in bases and bases[cell].rev < entry.number:
                del bases[cell]  # pending writes are rebased onto the row as it is now
        keys = {key for key in entry.keys if key in base.results or key in base.key_metas}
        held = {cell for cell in changed if base.get(*cell) is not UNDEFINED}
        for table in {table for table, pk in changed if (table, pk) not in held}:
            hydrator.forget_whole(table)  # its order is that of the storage
        if entry.keys:
            # One of them may be an empty list of a table, for which there is no other entry.
            for table in [table for table in hydrator.whole if table not in base.entities]:
                hydrator.forget_whole(table)
        if keys or any(is_collection(table) for table, _ in held):
            hydrator.changed_elsewhere(changed, keys)  # all that it brought shows at once
        else:
            hydrator.changed_elsewhere(held, keys)
            hydrator.forget([cell for cell in changed if cell not in held])
        for table in (*entry.changed, *entry.same, *entry.gone):
            hydrator.indexed.pop(table, None)
        hydrator.forget_keys(key for key in entry.keys if key not in keys)
        self._store_state.hot_results.clear()

    def _skip(self, reason: str, number: int, *, is_epoch: bool = False) -> StorageWork[None]:
        """Handle a gap in the log: continue at this commit, with all of memory unverified."""
        known = self._connection.known
        before = 0 if is_epoch else known.number
        self._break(reason, is_epoch=is_epoch)
        known.number = number
        if is_epoch:
            known.timeline.begin(number)
        yield from self._miss_events(before, number)

    def _miss_events(self, before: int, number: int) -> StorageWork[None]:
        """Handle the missed stale marks of commits after `before`, up to `number`.

        If any of these commits set one, everything that was requested before now may be stale.
        """
        store_state, timeline = self._store_state, self._connection.known.timeline
        loaded: Loaded | None = yield StorageQuery(lambda storage: storage.load((), (), (), (), (ANYTHING,)))
        timeline.misses(number)
        if loaded is None or loaded.marks.get(ANYTHING, 0) > before:
            store_state.base.marks.miss_events(store_state.next_number())
            timeline.event_elsewhere(store_state.last_number, number)
            store_state.hot_results.clear()

    def _mark(self, entries: Iterable[Entry]) -> None:
        """Apply the stale marks of other stores, as an event of now."""
        known, store_state = self._connection.known, self._store_state
        base = store_state.base
        for entry in entries:
            if not self._connection.is_own(entry):
                self._note_overlaps(entry)
            if entry.stale and not self._connection.is_own(entry):
                stale = stale_of(entry.stale, self._number_of_key, self._number_of_list)
                base.marks.add(stale, store_state.next_number())
                known.timeline.event_elsewhere(store_state.last_number, entry.number)
                store_state.hot_results.clear()
                self._store.changed()
            known.timeline.knows(entry.number, taken=True)

    def _note_overlaps(self, entry: Entry) -> None:
        """Note the records of another store's commit as those of a response that overlaps with all requests in flight.

        The time when that store sent its request is unknown. Only commits of mutations have a mark on a path.
        """
        store_state = self._store_state
        in_flight = [one.fetched_at for one in store_state.in_flight.by_id.values()]
        if not in_flight:
            return
        written = *entry.changed.items(), *entry.same.items(), *entry.gone.items()
        answered = Answered(
            number=NEVER,
            is_change=any(kind == "path" for kind, *_ in entry.stale),
            label="another process has sent it",
            records=frozenset((table, pk) for table, pks in written if not is_collection(table) for pk in pks),
            tables=frozenset(),
            lists={},
            plain_lists=frozenset(),
            key="",
            results=frozenset(entry.keys),
        )
        store_state.request_log.add(answered, store_state.last_number, in_flight)

    def _number_of_key(self, key: str) -> float | None:
        """Return the number of a result in memory; NEVER while it waits for its commit, None if it is not stored."""
        if not self._write_behind.capture.keeps_key(key):
            return None
        meta = self._store_state.base.key_meta(key)
        return NEVER if meta is None or self._write_behind.queue.is_pending_key(key) else meta.number

    def _number_of_list(self, table: str, pk: str) -> float | None:
        """Return the number of a list in memory; NEVER while it waits for its commit, None if it is not stored."""
        if not self._write_behind.capture.keeps_list((table, pk)):
            return None
        base = self._store_state.base
        meta = base.meta(table, pk)
        is_pending = self._write_behind.queue.is_pending((table, pk))
        return NEVER if meta is None or is_pending else base.number((table, pk), meta)

    # -- breaks and resets -------------------------------------------------------------------------------------------

    def clock_stepped(self) -> bool:
        """Whether the wall clock was set since the last call: times in memory may be wrong (without the lock)."""
        offset, self._offset = self._offset, self.clocks()
        return abs(self._offset - offset) > _STEP

    def broken(self, reason: str) -> None:
        """Handle a gap in the changes of others, with the reason for the log."""
        self._break(reason, is_epoch=False)

    def _break(self, reason: str, *, is_epoch: bool) -> None:
        """Mark all of memory as unverified and every key as stale, until they are compared with the storage."""
        store_state = self._store_state
        logger.info("data in memory is compared with the storage before it is used: %s", reason)
        self._connection.count["breaks"] += 1
        if is_epoch:
            self._write_behind.give_up()
        self._hydrator.mark_unverified(is_epoch=is_epoch)
        store_state.response_records.clear()  # a 304 would confirm what the storage may have lost
        base = store_state.base
        expired = {key: meta.with_expiry(1) for key, meta in base.key_metas.items() if meta.expires_at > 1}
        store_state.commit(RecordKeys(expired))
        store_state.hot_results.clear()
        self._store.changed()
        self._waiters.wake(None)

    def _was_reset(self, found: Changes) -> None:
        """Reset this store, as another process was reset, for example by a logout."""
        known, store = self._connection.known, self._store
        known.begin_epoch(found.epoch, found.reset, found.number)
        self._write_behind.drop_all()
        self._write_behind.capture.clear()
        self._hydrator.begin_anew()
        self._store_state.commit(StartOver())
        store.changed()
        self._waiters.wake(None)
        for request in [*store.in_flight.by_id.values()]:
            if not request.mutation and request.resets != store.resets:
                name = request.request.label
                request.settle(
                    error=ResetError(f"the store was reset by another process while {name!r} was being fetched")
                )


def _wall_over_monotonic() -> float:
    return (time.time() - time.monotonic()) * 1000
