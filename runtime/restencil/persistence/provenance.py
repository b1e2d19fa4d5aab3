"""The provenance of values in memory: which were loaded from storage, are unusable, or are unverified."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from ..base.values import UNDEFINED
from ..cache.staleness import ELSEWHERE
from .stale_marks import load_mark_of, load_marks

if TYPE_CHECKING:
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import ChangeSet, EntityPath
    from ..storage.protocol import Loaded, TableInfo
    from .connection import StorageConnection
    from .pending_write import PendingWrite
    from .row_codec import LeftOut, Validator
    from .write_behind import WriteBehind


class Provenance:
    """Where the values in memory came from, besides their revs (locked)."""

    def __init__(
        self, store: Store, store_state: StoreState, connection: StorageConnection, write_behind: WriteBehind
    ) -> None:
        self._store = store
        self._store_state = store_state
        self._connection = connection
        self._write_behind = write_behind
        self.key_shapes = connection.known.key_shapes
        """By key, the schema fingerprint of the endpoint of a result in memory."""
        self.left_out: dict[EntityPath, LeftOut] = connection.known.left_out
        """The members that were left out of stored rows."""
        self.whole = connection.known.whole
        self.changed = connection.known.changed
        self.unverified = connection.known.unverified
        """By table and primary key, the last known rev of unverified rows in memory; -1 for one of another epoch."""
        self.unverified_keys = connection.known.unverified_keys
        self.generation: int = 0
        """Counts changes of memory by other processes; a read that began before starts over."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything, as memory is empty."""
        self.loaded: dict[str, set[str]] = {}
        """By table, the loaded primary keys that were not written here since."""
        self.loaded_keys: set[str] = set()
        self.validators: dict[str, tuple[int, Validator]] = {}
        """By key, the validator of a loaded result with its rev, until the key is written here."""
        self.dangling: set[EntityPath] = set()
        """Cells that responses of this process refer to, but that are not stored."""
        self.unusable: set[EntityPath] = set()
        """Stored rows that cannot be used: without members, written by other classes, too old, or invalid JSON."""
        self.unusable_keys: set[str] = set()
        self.listed: set[str] = set()
        """Tables that a response of this process listed completely."""
        self.infos: dict[str, TableInfo] = {}
        self.indexed: dict[str, set[tuple[str, str]]] = {}
        """By table, the loaded index entries, as field and value."""
        self.indexed_meanwhile: set[str] = set()
        """Tables whose index entries were loaded while writes of this process waited."""
        self.memory_only: set[EntityPath] = set()
        """Stale cells in memory without a usable stored row."""
        self.has_earlier = False
        """Whether memory may have values of an earlier epoch, whose references may dangle."""
        self.absent = 0
        for kept in (self.key_shapes, self.left_out, self.whole, self.changed, self.unverified, self.unverified_keys):
            kept.clear()
        self.generation += 1

    # -- changes of memory -----------------------------------------------------------------------------------------

    def wrote(self, pending: PendingWrite) -> None:
        """Note the writes of an action of this process."""
        if self.loaded:
            for table, written in pending.tables:
                known = self.loaded.get(table)
                if known:
                    known.difference_update(written)
        if self.loaded_keys or self.unusable_keys:
            for key, value, meta, _, _ in pending.keys:
                if meta is not None and meta.error is None:
                    # A result that a function of `update` changed still counts as loaded.
                    self.loaded_keys.discard(key)
                    self.validators.pop(key, None)
                    self.unusable_keys.discard(key)
                if value is not UNDEFINED:
                    self.validators.pop(key, None)
        if pending.listed:
            self.listed |= pending.listed

    def writes(self, change: ChangeSet) -> None:
        """Prepare a write to cells that only memory has: it will be rebased onto the stored rows alone."""
        for table, pk in self.memory_only.intersection(change.cells()):
            self.memory_only.discard((table, pk))
            self._connection.known.forget(table, pk)
            self.unverified.setdefault(table, {})[pk] = -1

    def changed_elsewhere(self, cells: Iterable[EntityPath], keys: Iterable[str]) -> None:
        """Compare cells and keys with the storage before memory uses them: another process has written them."""
        known, base = self._connection.known, self._store_state.base
        for table, pk in cells:
            rev = known.rev(table, pk)
            self.unusable.discard((table, pk))
            if rev is not None and base.get(table, pk) is not UNDEFINED:
                known.outdated((table, pk), rev)
            else:
                known.forget(table, pk)
                self.changed[table, pk] = None
        for key in keys:
            self.unverified_keys[key] = known.key_revs.pop(key, self.unverified_keys.get(key, -1))
        self.generation += 1
        self._store_state.has_unverified = True

    def forget(self, cells: list[EntityPath]) -> None:
        """Forget the revisions of cells that memory does not have, as another process has written them."""
        memo = self._store_state.memo
        for cell in cells:
            self._connection.known.forget(*cell)
            self.unusable.discard(cell)
        if cells:
            is_shown = any(memo.knows(table) for table, _ in cells)  # a reference to a row that was never stored
            memo.drop_cells(cells)
            self.generation += 1
            if is_shown:
                self._store.changed()

    def forget_keys(self, keys: Iterable[str]) -> None:
        """Forget the revisions of results that memory does not have, as another process has written them."""
        for key in keys:
            self._connection.known.key_revs.pop(key, None)
            self.unusable_keys.discard(key)
            self.generation += 1

    def forget_whole(self, table: str) -> None:
        """Load a table again before its rows are listed."""
        if table in self.whole:
            self.whole.discard(table)
            self._store_state.memo.drop_table(table)
            self._store_state.hot_results.clear()
            self.generation += 1

    def take_marks(self, loaded: Loaded) -> None:
        """Write the loaded stale marks to memory."""
        marks, number_of_event = self._store_state.base.marks, self._connection.known.timeline.number_of_event
        if loaded.marks:
            load_marks(marks, loaded.marks, number_of_event)
            self._store_state.hot_results.clear()
        for row in loaded.rows:
            load_mark_of(marks, row, number_of_event)

    def mark_memory_only(self, cell: EntityPath) -> None:
        """Mark a cell as stale that only memory has; the next response to its requests is stored completely."""
        self._store_state.mark_stale([cell], ELSEWHERE)
        records = self._store_state.response_records
        for key in [key for key, record in records.items() if record.touches((cell[0],))]:
            del records[key]
        self.memory_only.add(cell)

    def evicted(self, cells: Iterable[EntityPath], keys: Iterable[str]) -> None:
        """Forget cells and keys that memory has evicted."""
        self.memory_only.difference_update(cells)
        for table, pk in cells:
            self.whole.discard(table)
            self.indexed.pop(table, None)  # memory has evicted its index entries as well
            self.unusable.discard((table, pk))
            self.left_out.pop((table, pk), None)
            known = self.loaded.get(table)
            if known:
                known.discard(pk)
            self.changed.pop((table, pk), None)
            if self.unverified:
                self.unverified.get(table, {}).pop(pk, None)
        for key in keys:
            self.loaded_keys.discard(key)
            self.validators.pop(key, None)
            self.unusable_keys.discard(key)
            self.key_shapes.pop(key, None)
            self.unverified_keys.pop(key, None)

    def mark_unverified(self, *, is_epoch: bool) -> None:
        """Mark all of memory as unverified; with `is_epoch`, as the storage began a new epoch."""
        known, base = self._connection.known, self._store_state.base
        for table, pks in base.entities.items():
            revs, before = known.revs.get(table, {}), self.unverified.get(table, {})
            self.unverified[table] = {
                pk: -1 if is_epoch else revs[pk] if pk in revs else before.get(pk, -1)
                for pk in pks
                if not self._write_behind.queue.is_pending((table, pk))
            }
        for key in {**base.results, **base.key_metas}:
            rev = known.key_revs.get(key, self.unverified_keys.get(key, -1))
            self.unverified_keys[key] = -1 if is_epoch else rev
        for kept in (known.revs, known.key_revs, known.odd_shapes):
            kept.clear()
        for more in (self.changed, self.dangling, self.unusable, self.unusable_keys):
            more.clear()
        for by_table in (self.whole, self.infos, self.indexed):
            by_table.clear()
        self._write_behind.queue.mark_unverified()
        self.has_earlier = self.has_earlier or is_epoch
        self.absent = 0
        self.generation += 1
        self._store_state.has_unverified = True

    def mark_keys_unverified(self, keys: Iterable[str]) -> None:
        """Mark keys as unverified, as the storage may have later results."""
        self.unverified_keys.update((key, 0) for key in keys)
        self._store_state.has_unverified = self._store_state.has_unverified or bool(self.unverified_keys)

    def update_has_unverified(self) -> None:
        """Update whether anything in memory is unverified."""
        if self.indexed_meanwhile and not self._write_behind.queue:
            for table in self.indexed_meanwhile:
                self.indexed.pop(table, None)
            self.indexed_meanwhile.clear()
        self._store_state.has_unverified = bool(self.changed or self.some_unverified(1) or self.unverified_keys)

    def take_changed(self, number: int) -> list[EntityPath]:
        """Return at most `number` cells that other processes have changed, and remove them from these."""
        found = list(islice(self.changed, number))
        for cell in found:
            del self.changed[cell]
        return found

    def some_unverified(self, number: int) -> list[EntityPath]:
        """Return at most `number` unverified cells."""
        return list(islice(((table, pk) for table, pks in self.unverified.items() for pk in pks), number))

    def some_unverified_keys(self, number: int) -> list[str]:
        """Return at most `number` unverified keys."""
        return list(islice(self.unverified_keys, number))
