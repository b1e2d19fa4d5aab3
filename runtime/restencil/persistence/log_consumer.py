"""Consumes the log of commits: applies the changes of other processes to memory, and handles gaps and resets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from ..base.errors import ResetError
from ..base.logs import logger
from ..base.values import UNDEFINED
from ..cache.request_log import Answered
from ..cache.staleness import NEVER
from ..cache.tables import WHOLE_TABLE
from ..cache.transition import RecordKeys, RemoveEntries, StartOver
from ..schema.stored import is_collection
from ..storage.protocol import MOST_PLACES
from .stale_marks import ANYTHING, stale_of
from .storage_query import StorageQuery, StorageWork

if TYPE_CHECKING:
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..storage.protocol import Changes, Entry, Loaded
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .waiters import Waiters
    from .write_behind import WriteBehind

_TRIES: Final = 8
"""Attempts to load rows of the same commit as the entries of the log that were read."""
_MOST_ROWS: Final = 2_000
"""The most changed rows that are loaded at once; the rest is evicted."""
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
        return not entries or (yield from self._take_entries(entries))

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

    def _take_entries(self, entries: list[Entry]) -> StorageWork[bool]:
        """Load the changed rows and results that memory has, and apply them as one change."""
        known, connection = self._connection.known, self._connection
        epoch = known.epoch
        for _ in range(_TRIES):
            self._number_own(entries)
            plan = _Plan(self._store_state, self._hydrator, self._write_behind, connection, self._waiters, entries)
            if not (plan.cells or plan.keys):
                self._carry_out(plan, None, entries)
                return True
            cells, keys, last = [*plan.cells], [*plan.keys], entries[-1].number
            loaded: Loaded | None = yield StorageQuery(lambda storage: storage.load(cells, keys))  # noqa: B023
            if loaded is None:
                return False
            if known.epoch != epoch or known.number >= last:
                return True  # another thread was faster
            if loaded.epoch == epoch and loaded.number == last:
                self._carry_out(plan, loaded, entries)
                return True
            more: Changes | None = yield StorageQuery(lambda storage: storage.changes(last, 0))  # noqa: B023
            if more is None:
                return False
            if known.epoch != epoch or known.number >= last:
                return True
            if more.epoch != epoch or more.reset > known.reset or more.lost:
                return (yield from self.take(more))
            late = [entry for entry in more.entries if entry.number > last]
            met = {place for entry in late for place in _places(entry)}
            if more.number >= loaded.number and met.isdisjoint(plan.cells) and met.isdisjoint(plan.keys):
                self._carry_out(plan, loaded, entries)  # later entries did not change the loaded rows
                return True
            entries = [entry for entry in (*entries, *late) if entry.number > known.number]
            if self._is_torn(more, entries):
                yield from self._skip(_GONE, more.number)
                return True
        yield from self._skip("the log grows faster than it is read", entries[-1].number)
        return True

    def _skip(self, reason: str, number: int, *, is_epoch: bool = False) -> StorageWork[None]:
        """Handle a gap in the log: continue at this commit, with all of memory unverified."""
        known = self._connection.known
        before = 0 if is_epoch else known.number
        self._break(reason, is_epoch=is_epoch)
        known.skip(number)
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

    def _number_own(self, entries: Iterable[Entry]) -> None:
        """Finish own commits that are in the log, so that later changes of others are not ignored as pending cells."""
        for entry in entries:
            if self._connection.is_own(entry):
                self._write_behind.number(entry)

    def _carry_out(self, plan: _Plan, loaded: Loaded | None, entries: list[Entry]) -> None:
        known, connection, hydrator = self._connection.known, self._connection, self._hydrator
        is_own = self._connection.is_own
        for entry in entries:
            if not is_own(entry):
                connection.count["entries"] += 1
            known.applied(entry.number, frozenset() if is_own(entry) else frozenset(_places(entry)))
        self._mark(entries)
        self._forget_unseen(plan)
        if plan.over:
            store_state = self._store_state
            store_state.commit(RemoveEntries(plan.over, ()))
        # Rows that others inserted come before those written here meanwhile: the order is loaded again.
        is_between = known.last >= entries[0].number
        if connection.storage.inline and (self._write_behind.is_open or is_between):
            for table in hydrator.whole.intersection(plan.tables):
                hydrator.whole.discard(table)
                self._store_state.memo.drop_table(table)
        elif is_between:
            base = self._store_state.base
            born = {table for table, pk in plan.cells if base.get(table, pk) is UNDEFINED}
            hydrator.unordered |= hydrator.whole.intersection(born)
        if loaded is not None:
            hydrator.take_changes(plan.cells, loaded, plan.keys, plan.same)
        elif plan.same:
            hydrator.take_changes((), None, (), plan.same)
        if plan.gone:
            hydrator.dropped(plan.gone)
        self._waiters.wake([key for entry in entries if not is_own(entry) for key in entry.keys])

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
        places = list(_places(entry))
        cells = {place for place in places if not isinstance(place, str) and place[1] != WHOLE_TABLE}
        answered = Answered(
            number=NEVER,
            is_change=any(kind == "path" for kind, *_ in entry.stale),
            label="another process has sent it",
            records=frozenset(cell for cell in cells if not is_collection(cell[0])),
            tables=frozenset(),
            lists={},
            plain_lists=frozenset(),
            key="",
            results=frozenset(place for place in places if isinstance(place, str)),
        )
        store_state.request_log.add(answered, store_state.last_number, in_flight)

    def _number_of_key(self, key: str) -> float | None:
        """Return the number of a result in memory; NEVER while it waits for its commit, None if it is not stored."""
        if not self._write_behind.capture.keeps_key(key):
            return None
        meta = self._store_state.base.key_meta(key)
        return NEVER if meta is None or self._write_behind.is_pending_key(key) else meta.number

    def _number_of_list(self, table: str, pk: str) -> float | None:
        """Return the number of a list in memory; NEVER while it waits for its commit, None if it is not stored."""
        if not self._write_behind.capture.keeps_list((table, pk)):
            return None
        base = self._store_state.base
        meta = base.meta(table, pk)
        return NEVER if meta is None or self._write_behind.is_pending((table, pk)) else base.number((table, pk), meta)

    def _forget_unseen(self, plan: _Plan) -> None:
        """Forget the revisions of changed rows and results that memory does not have."""
        known, memo, hydrator = self._connection.known, self._store_state.memo, self._hydrator
        for table, pk in plan.unseen:
            known.forget(table, pk)
            hydrator.unusable.discard((table, pk))
        for key in plan.unseen_keys:
            known.key_revs.pop(key, None)
            hydrator.unusable_keys.discard(key)
        for table in (*plan.tables, *plan.renewed):
            hydrator.indexed.pop(table, None)
        for table in plan.tables:
            if table not in hydrator.whole:
                continue
            if any(other == table for other, _ in plan.unseen):
                hydrator.whole.discard(table)
                memo.drop_table(table)
        if plan.keys or plan.unseen_keys:
            # One of them may be an empty list of a table, for which there is no other entry.
            for table in [table for table in hydrator.whole if table not in self._store_state.base.entities]:
                hydrator.whole.discard(table)
                memo.drop_table(table)
        if plan.unseen:
            is_shown = any(memo.knows(table) for table, _ in plan.unseen)  # a reference to a row that was never stored
            memo.drop_cells(plan.unseen)
            if is_shown:
                self._store.changed()
        if plan.unseen or plan.unseen_keys or plan.tables or plan.renewed:
            self._store_state.hot_results.clear()
            hydrator.generation += 1

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


class _Plan:
    """The effects of log entries on memory: rows and results to load, to forget, and to get newer times."""

    def __init__(
        self,
        store_state: StoreState,
        hydrator: Hydrator,
        write_behind: WriteBehind,
        connection: StorageConnection,
        waiters: Waiters,
        entries: Iterable[Entry],
    ) -> None:
        self._base = store_state.base
        self._hydrator = hydrator
        self._write_behind = write_behind
        self._waiters = waiters
        self._is_held = store_state.retention.is_held
        self.cells: dict[EntityPath, None] = {}
        """Rows to load."""
        self.keys: dict[str, None] = {}
        """Results to load."""
        self.over: list[EntityPath] = []
        """Changed rows beyond the bound, which are evicted."""
        self.same: dict[EntityPath, Entry] = {}
        """Rows with new times and the same value, each with the entry that contains the times."""
        self.gone: dict[EntityPath, None] = {}
        self.unseen: list[EntityPath] = []
        """Changed rows that memory does not have."""
        self.unseen_keys: list[str] = []
        self.tables: dict[str, None] = {}
        """The tables with changed rows."""
        self.renewed: dict[str, None] = {}
        """The tables with rows that have newer times; their index entries may have changed."""
        for entry in entries:
            if not connection.is_own(entry):
                self._take(entry)
        for cell in self.cells:
            self.same.pop(cell, None)
        self._bound()

    def _take(self, entry: Entry) -> None:
        base = self._base
        changed = [(table, pk) for table, pks in entry.changed.items() for pk in pks]
        keys = [key for key in entry.keys if self._holds_key(key)]
        is_shown = bool(keys) or any(
            is_collection(table) and base.get(table, pk) is not UNDEFINED for table, pk in changed
        )
        for cell in changed:
            table, pk = cell
            self.tables[table] = None
            self.gone.pop(cell, None)
            if is_shown or base.get(table, pk) is not UNDEFINED or table in self._hydrator.whole:
                self.cells[cell] = None
            else:
                self.unseen.append(cell)
        for key in entry.keys:
            if self._holds_key(key):
                self.keys[key] = None
            else:
                self.unseen_keys.append(key)
        for table, pks in entry.gone.items():
            for pk in pks:
                self.cells.pop((table, pk), None)
                self.gone[table, pk] = None
        for table, pks in entry.same.items():
            self.renewed[table] = None
            self.same.update(((table, pk), entry) for pk in pks)

    def _holds_key(self, key: str) -> bool:
        """Whether the result of a key is needed at once: it is in memory, or a request waits for it."""
        if key in self._base.results or key in self._base.key_metas:
            return True
        return key in self._waiters and key in self._hydrator.key_shapes

    def _bound(self) -> None:
        """Move rows beyond the bound to `over`; rows that live reads hold come first."""
        most = min(_MOST_ROWS, MOST_PLACES - len(self.keys))
        if len(self.cells) <= most:
            return
        held = [cell for cell in self.cells if self._is_held(cell)]
        others = [cell for cell in self.cells if not self._is_held(cell)]
        ordered = [*held, *others]
        self.cells = dict.fromkeys(ordered[:most])
        self.over = ordered[most:]
        self.unseen += self.over


def _places(entry: Entry) -> Iterable[EntityPath | str]:
    for cells in (entry.changed, entry.same, entry.gone):
        for table, pks in cells.items():
            yield table, WHOLE_TABLE
            for pk in pks:
                yield table, pk
    yield from entry.keys


def _wall_over_monotonic() -> float:
    return (time.time() - time.monotonic()) * 1000
