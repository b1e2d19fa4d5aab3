"""Hydrates memory from storage: loaded rows and results are merged with the values in memory.

Not a mutation: no listener runs, equal values keep identity, older revisions are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..base.logs import logger
from ..base.values import (
    INVALID,
    UNDEFINED,
    Meta,
    ReadOnlyDict,
    ReadOnlyList,
    Sentinel,
    is_dict,
    is_list,
    kind_of,
    read_only,
    same_json,
)
from ..cache.merge import StoredEntry, apply
from ..cache.staleness import ELSEWHERE
from ..cache.tables import EMPTY, WHOLE_TABLE, ChangeSet, ResultMeta
from ..cache.transition import RecordKeys, RemoveEntries, WriteChange
from ..cache.write_set import MergeRecord
from ..schema.record import class_record
from ..schema.stored import is_collection, is_partial, record_of
from .connection import arrived
from .pending_write import deletion_of
from .provenance import Provenance
from .row_codec import NOTHING_LEFT, many_row_values, result_parts, whole_of
from .stored_forms import entry_of, is_alike, record_in, write_entry

if TYPE_CHECKING:
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath, Tables
    from ..cache.transition import Transition
    from ..schema.protocol import Schema
    from ..storage.protocol import Entry, IndexEntry, Loaded, StoredResult, StoredRow
    from .connection import StorageConnection
    from .row_codec import ResultParts
    from .schema_fingerprint import SchemaRegistry
    from .write_behind import WriteBehind

MOST_ABSENT: Final = 65_536
"""The most rows that are remembered as absent; beyond that, all are forgotten and loaded again."""


class Intake:
    """Loaded rows and results that are written to memory at once; with `is_one_change`, all of them as one change."""

    __slots__ = ("evicted", "gone", "new", "other")

    def __init__(self, base: Tables, *, is_one_change: bool = False) -> None:
        self.other = ChangeSet(base, _NO_TIMES)
        """Entries that replace values in memory."""
        self.new = self.other if is_one_change else ChangeSet(base, _NO_TIMES)
        """Entries that memory does not have."""
        self.gone: dict[str, ResultMeta] = {}
        """Results that were invalidated."""
        self.evicted: list[str] = []
        """Keys that memory evicts, as no endpoint has read them here and their schema is unknown."""


class Hydrator(Provenance):
    """Hydrates memory from storage (locked)."""

    def __init__(
        self,
        store: Store,
        store_state: StoreState,
        connection: StorageConnection,
        write_behind: WriteBehind,
        registry: SchemaRegistry,
    ) -> None:
        super().__init__(store, store_state, connection, write_behind)
        self._registry = registry
        self._met: list[EntityPath] = []
        """Loaded rows of cells with pending writes."""

    # -- times -----------------------------------------------------------------------------------------------------

    def times(self, meta: Meta, requested_rev: int) -> Meta | None:
        """Convert times of the storage to the store's time, never in the future; None if older than `max_age`."""
        times = self._connection.inward(meta, requested_rev)
        return None if self._store.now() - times.date > self._connection.storage.max_age else times

    # -- rows ------------------------------------------------------------------------------------------------------

    def intake(self, *, is_one_change: bool) -> Intake:
        """Return a new intake, for `put`."""
        return Intake(self._store_state.base, is_one_change=is_one_change)

    def take_rows(
        self, cells: Collection[EntityPath], loaded: Loaded, nodes: Mapping[EntityPath, object], intake: Intake
    ) -> None:
        """Add the loaded rows of these cells to an intake, and note those that are absent."""
        known, entities = self._connection.known, self._store_state.base.entities
        found = {row[:2]: row for row in loaded.rows}
        self.infos.update(loaded.tables)
        self.take_marks(loaded)
        is_new = len(cells) > 1 and not (self.unverified or self._write_behind.queue)
        came: dict[str, list[StoredRow]] = {}
        for cell in cells:
            table, pk = cell
            row = found.get(cell)
            if row is not None and is_new and pk not in entities.get(table, EMPTY):
                came.setdefault(table, []).append(row)
                continue
            rev = known.rev(table, pk)
            if row is None:
                if rev is None:
                    self._is_absent(cell, intake)
            elif rev is None or row.rev > rev:
                self._take_row(row, nodes.get(cell), rev is not None, intake)
        for table, rows in came.items():
            if not self._take_new(table, rows, nodes, intake.new):
                for row in rows:
                    self._take_row(row, nodes.get((table, row.pk)), False, intake)
        self._connection.count["loaded_rows"] += len(loaded.rows)

    def put(self, intake: Intake) -> None:
        """Write an intake to memory; listeners are notified of changed values."""
        store_state, new, other = self._store_state, intake.new, intake.other
        if new is not other and (new.entities or new.results or new.key_metas):
            store_state.take_in(new)
        if other.entities or other.results or other.key_metas:
            self._tell(WriteChange(other))
        if intake.gone:
            self._tell(RecordKeys(intake.gone, drops_results=True))
        if intake.evicted:
            store_state.commit(RemoveEntries((), intake.evicted))
        if self._met:
            met, self._met = self._met, []
            self._write_behind.queue.forget_moved(met)
            self.generation += 1
        store_state.hot_results.clear()

    def _tell(self, transition: Transition) -> None:
        self.generation += 1
        self._store_state.commit(transition)
        self._store.changed()

    def _is_absent(self, cell: EntityPath, intake: Intake) -> None:
        """Note that the storage has no row for a cell."""
        table, pk = cell
        known = self._connection.known
        unverified = self.unverified.get(table, {}).pop(pk, None)
        if self.absent >= MOST_ABSENT:
            self._forget_absent()
        known.note(table, pk, 0, "")
        self.absent += 1
        if unverified is None:
            return
        if self._write_behind.queue.is_pending(cell):  # it was merged with a value that only memory had
            held = self._write_behind.over(cell, StoredEntry(UNDEFINED, _NO_TIMES))
            self._met.append(cell)
            if held.stored is not UNDEFINED:
                write_entry(intake.other, cell, held)
                return
        if cell not in known.only_here:
            self.mark_memory_only(cell)

    def _forget_absent(self) -> None:
        """Forget which rows are absent, unless memory has a value."""
        known, base = self._connection.known, self._store_state.base
        for table, revs in known.revs.items():
            gone = [pk for pk, rev in revs.items() if not rev and base.get(table, pk) is UNDEFINED]
            for pk in gone:
                del revs[pk]
            self._store_state.memo.drop_cells([(table, pk) for pk in gone])
        self.absent = 0

    def _take_new(self, table: str, rows: list[StoredRow], nodes: Mapping[EntityPath, Any], new: ChangeSet) -> bool:
        """Add rows that memory does not have, without pending writes; False if `_take_row` has to add each.

        (Benchmark: `cached()` of a list of 1,000, cold.)
        """
        known = self._connection.known
        times_of = {moment: self.times(*moment) for moment in {(row.times, row.whole_rev) for row in rows}}
        texts = [row.value for row in rows if row.value is not None]
        if len(texts) < max(len(rows), 2) or None in times_of.values() or self.left_out:
            return False
        are_readable = all(self._registry.readable(table, shape) for shape in {row.shape for row in rows})
        values = many_row_values(texts) if are_readable else None
        if values is None:
            return False
        numbers = {rev: known.timeline.number_of(rev) for _, rev in times_of}
        met = None
        to_store: Callable[[dict[str, Any]], Any] | None = None
        written, metas, wholes = dict[str, Any](), dict[str, Any](), new.partial.setdefault(table, {})
        for row, value in zip(rows, values, strict=True):
            pk, times = row.pk, times_of[row.times, row.whole_rev]
            node = nodes.get((table, pk))
            if node is not met:
                met, to_store = node, None if node is None or node.entity is None else node.entity.to_store
            assert times is not None
            written[pk] = value if to_store is None else to_store(value)
            metas[pk] = times
            wholes[pk] = whole_of(value, None, times, numbers[row.whole_rev])
            known.note(table, pk, row.rev, row.shape)
        new.entities.setdefault(table, {}).update(written)
        new.metas.setdefault(table, {}).update(metas)
        self._came_meanwhile(rows)
        if self.unusable:
            self.unusable.difference_update([(table, pk) for pk in written])
        if self.dangling:
            self.dangling.difference_update([(table, pk) for pk in written])
        self.loaded.setdefault(table, set()).update(written)
        return True

    def _came_meanwhile(self, rows: list[StoredRow]) -> None:
        """Note rows that are loaded while requests are in flight."""
        if self._store_state.in_flight.by_id:
            self._connection.known.came_meanwhile.update([((row.table, row.pk), row.rev) for row in rows])

    def _take_row(self, row: StoredRow, node: Any, was_known: bool, intake: Intake) -> None:
        """Add one row that is newer than the rev in memory."""
        table, pk = cell = row.table, row.pk
        base, known = self._store_state.base, self._connection.known
        before, is_pending = base.get(table, pk), self._write_behind.queue.is_pending(cell)
        is_joined = not is_pending and self._write_behind.queue.is_joined(cell)
        unverified = self.unverified.get(table, {}).pop(pk, None)
        known.note(table, pk, row.rev, row.shape)
        self._came_meanwhile([row])
        if unverified == row.rev and not is_pending and not is_joined:
            _confirm(self._store_state.base, cell, self._store.now())
            return
        loaded = self._entry_of(row, record_in(base, cell))
        if loaded is None:
            self._note_unusable(row)
            if before is not UNDEFINED and not is_pending:
                self.mark_memory_only(cell)  # others have another value of it
            return
        self.unusable.discard(cell)
        self.dangling.discard(cell)
        earlier: Meta | None = base.meta(table, pk)
        value, times, whole = loaded
        lacks = bool(self._registry.rules(table).missing(self.left_out.get(cell, NOTHING_LEFT)))
        if is_pending or is_joined:
            stored, times, whole = self._write_behind.over(
                cell, StoredEntry(_stored(value, node, before), times, whole)
            )
            if is_pending:
                self._met.append(cell)
                self.forget_whole(table)  # its order is that of the storage
        elif before is UNDEFINED or earlier is None:
            stored = _stored(value, node, before)
        elif unverified is not None and not (row.rev > unverified >= 0 or (times.date >= earlier.date and not lacks)):
            self.mark_memory_only(cell)
            return
        elif not was_known and unverified is None:
            stored, times, whole = _joined(base, cell, StoredEntry(value, times, whole), node)
        else:
            stored = _stored(value, node, before)
        if not is_pending:
            self.loaded.setdefault(table, set()).add(pk)
        if is_alike(before, stored):
            stored = before
        change = intake.new if before is UNDEFINED or stored is before else intake.other
        write_entry(change, cell, StoredEntry(stored, times, whole))

    def _note_unusable(self, row: StoredRow) -> None:
        """Note that memory cannot use a row: a write replaces it, or is merged with it if it only lacks members."""
        cell = row.table, row.pk
        self.unusable.add(cell)
        self._connection.known.note(*cell, 0 if cell in self.left_out else row.rev, "")

    def forget_lists(self, cells: list[EntityPath]) -> None:
        """Remove loaded lists from memory that cannot be used, as they cannot be shown with all of their items.

        Results whose responses contained such a list are stale; the records of others show without it.
        """
        revs = {cell: self._connection.known.rev(*cell) for cell in cells}
        self._store_state.commit(RemoveEntries(cells, ()))
        self._store_state.retention.evicted.difference_update(cells)
        self._store_state.mark_stale(cells, ELSEWHERE)
        for cell, rev in revs.items():
            self.unusable.add(cell)
            self._connection.known.note(*cell, rev or 0, "")

    def _entry_of(self, row: StoredRow, held: StoredEntry | None) -> StoredEntry | None:
        """Return the entry of a row in the form of memory; None if it is unusable."""
        cell = row.table, row.pk
        self.left_out.pop(cell, None)
        times = self.times(row.times, row.whole_rev)
        number = self._connection.known.timeline.number_of(row.whole_rev)
        try:
            loaded, left = entry_of(self._registry, row, times or _NO_TIMES, number, held)
        except ValueError:
            self._note_broken(cell)
            return None
        if left:
            self.left_out[cell] = left
            if held is None and self._registry.rules(row.table).missing(left):
                return None
        return loaded if times is not None else None

    def _note_broken(self, place: EntityPath | str) -> None:
        if self._connection.storage.writable:
            self._write_behind.queue.take(deletion_of((place,), self._store.now()))
            self._write_behind.thread.wake()
        self._connection.errors["ValueError"] += 1
        logger.warning("a row or result in the storage is not valid JSON; it is ignored and deleted")

    def load_again(self, table: str) -> None:
        """Forget unusable rows of a table, so that they are loaded again after another class was registered."""
        for cell in [cell for cell in self.unusable if cell[0] == table]:
            self.unusable.discard(cell)
            self._connection.known.forget(*cell)

    def take_whole(self, table: str, pks: list[str], *, is_known: bool) -> None:
        """Note that memory has all rows of a table: stored rows in their order, then pending ones."""
        base, store_state = self._store_state.base, self._store_state
        self.whole.add(table)
        store_state.retention.evicted.discard((table, WHOLE_TABLE))
        held = base.entities.get(table)
        if held is not None:
            ordered = {pk: held[pk] for pk in pks if pk in held}
            ordered.update(held)
            held.clear()
            held.update(ordered)
            store_state.memo.drop_table(table)
            store_state.hot_results.clear()
        elif is_known:
            change = ChangeSet(base, _NO_TIMES)
            change.entities[table] = {}
            store_state.take_in(change)

    def take_index(self, entries: Sequence[IndexEntry], loaded: Loaded) -> None:
        """Write loaded index entries to memory."""
        if not entries:
            return
        base = self._store_state.base
        change = ChangeSet(base, _NO_TIMES)
        for entry in entries:
            table, field, text = entry
            self.indexed.setdefault(table, set()).add((field, text))
            pk = loaded.index.get(entry)
            if self._write_behind.queue:
                self.indexed_meanwhile.add(table)
            if pk is not None and (not self._write_behind.queue or base.by_index(table, field, text) is None):
                change.indexes.setdefault((table, field), {})[text] = pk
        if change.indexes:
            self._store_state.take_in(change)

    # -- changes of other processes --------------------------------------------------------------------------------

    def renew(self, entry: Entry) -> None:
        """Write the newer times of the unchanged rows of an entry to memory, as one change."""
        intake = Intake(self._store_state.base, is_one_change=True)
        for table, pks in entry.same.items():
            for pk in pks:
                self._renew((table, pk), entry, intake.other)
        self.put(intake)

    def _renew(self, cell: EntityPath, entry: Entry, other: ChangeSet) -> None:
        """Write the newer times of an unchanged row to memory."""
        table, pk = cell
        base, known = self._store_state.base, self._connection.known
        stored = base.get(table, pk)
        here = None if entry.times is None else self.times(entry.times, entry.requested_rev)
        rev = known.rev(table, pk)
        if (
            rev is None
            or rev >= entry.number
            or self._write_behind.queue.is_pending(cell)
            or cell in self.unusable
            or here is None
        ):
            return  # the row is unknown, or was written here since
        if stored is UNDEFINED:
            known.forget(table, pk)
            return
        known.note(table, pk, entry.number, known.shape(table, pk))
        is_partly_stored = not is_collection(table) and (
            bool(self._registry.rules(table).missing(self.left_out.get(cell, NOTHING_LEFT)))
            or not self._registry.keeps_whole(table, {pk: stored})
        )
        if is_partly_stored:
            return  # its other members may be older, or not be there
        whole = None
        if not isinstance(stored, Sentinel):
            whole = whole_of(record_of(stored), None, here, known.timeline.number_of(entry.requested_rev))
        write_entry(other, cell, StoredEntry(stored, here, whole))

    # -- results -----------------------------------------------------------------------------------------------------

    def take_results(self, keys: Iterable[str], loaded: Loaded, intake: Intake, *, plain: bool = False) -> None:
        """Add the loaded results of these keys to an intake, and note those that are absent."""
        found = {result.key: result for result in loaded.results}
        for key in keys:
            self.take_result(key, found.get(key), intake, is_plain=plain)

    def take_result(self, key: str, result: StoredResult | None, intake: Intake, *, is_plain: bool = False) -> None:
        """Add the result of a key to an intake."""
        shape = self.key_shapes.get(key)
        known, base = self._connection.known, self._store_state.base
        rev, unverified = known.key_revs.get(key), self.unverified_keys.pop(key, None)
        meta, waits = base.key_meta(key), self._write_behind.queue.date_of(key)
        if unverified is not None and waits is not None:
            self.unverified_keys[key] = unverified  # it is compared once the pending result is committed
        if result is None:
            was_there = (bool(rev) or unverified is not None) and waits is None
            self._take_no_result(key, meta, was_there=was_there, into=intake.other)
            return
        if result.stale_rev > max(0, result.requested_rev):
            base.marks.load("keys", key, known.timeline.number_of_event(result.stale_rev))
        if rev is not None and result.rev <= rev:
            return
        known.key_revs[key] = result.rev
        result, times = self._write_behind.queue.invalidated(result, self.times(result.times, result.requested_rev))
        if waits is not None and (times is None or times.date <= waits):
            return
        if shape is None and times is not None and not result.invalidated:
            # No endpoint has read the key here, so its schema is unknown: the next read loads it.
            del known.key_revs[key]
            if meta is not None or base.result(key) is not UNDEFINED:
                intake.evicted.append(key)
            return
        is_usable = times is not None and (result.invalidated or result.shape in ("*", shape))
        parts = self._parts_under(key, result, times, is_plain) if times and is_usable else None
        if times is None or parts is None:
            self.unusable_keys.add(key)
            if meta is not None and meta.expires_at > 1:
                intake.other.key_metas[key] = meta.with_expiry(1)
            return
        self.unusable_keys.discard(key)
        if unverified is not None and meta is not None and unverified != result.rev and times.date < meta.date:
            self.validators.pop(key, None)
            if meta.expires_at > 1:
                intake.other.key_metas[key] = meta.with_expiry(1)
            return  # memory is newer: the storage has lost that result, or gets it soon; it stays and is stale
        self._put_result(result, times, parts, intake)

    def _put_result(self, result: StoredResult, times: Meta, parts: ResultParts, intake: Intake) -> None:
        """Add a usable result to an intake."""
        key, (value, terms, _, contents) = result.key, parts
        timeline = self._connection.known.timeline
        self.loaded_keys.add(key)
        base = self._store_state.base
        before, meta = base.result(key), base.key_meta(key)
        is_failed = meta is not None and meta.error is not None and meta.date > times.date
        prev_expires_at = None if meta is None else meta.expires_at
        base.marks.answered_elsewhere(key, times.date)
        made = ResultMeta(
            times,
            prev_expires_at=prev_expires_at,
            invalidated=result.invalidated,
            terms=terms,
            rules=None if meta is None else meta.rules,
            contents=contents,
            number=timeline.number_of(result.requested_rev),
        )
        if result.invalidated:
            if not is_failed:
                intake.gone[key] = made
            return
        change = intake.new if meta is None and before is UNDEFINED else intake.other
        if value is not UNDEFINED:
            change.results[key] = before if before is not UNDEFINED and same_json(before, value) else value
        if not is_failed:
            change.key_metas[key] = made

    def _take_no_result(self, key: str, meta: ResultMeta | None, *, was_there: bool, into: ChangeSet) -> None:
        """Note that the storage has no result for a key."""
        self._connection.known.key_revs[key] = 0
        if was_there and meta is not None:
            into.key_metas[key] = meta.with_expiry(1)  # another process dropped it, and may know why

    def _parts_under(self, key: str, result: StoredResult, times: Meta, is_plain: bool) -> ResultParts | None:
        """Decode the parts of a result; None if it is invalid JSON."""
        try:
            parts = result_parts(result.value, times)
        except ValueError:
            self._note_broken(key)
            return None
        if parts.validator is not None:
            self.validators[key] = result.rev, parts.validator
        plain = is_plain or isinstance(self._store_state.base.result(key), _READ_ONLY)
        return parts._replace(value=read_only(parts.value)) if plain else parts


_READ_ONLY: Final = (ReadOnlyList, ReadOnlyDict)
_NO_TIMES: Final = Meta(0, 0, 0)


def _confirm(base: Tables, cell: EntityPath, now: float) -> None:
    """Keep the value of a cell that equals the stored one; its times are moved out of the future."""
    table, pk = cell
    times = base.meta(table, pk)
    if times is not None:
        base.metas[table][pk] = arrived(times, now)


def _stored(value: Any, node: Schema | None, before: Any) -> object:
    """Convert a value to the form of its table: an instance if the class of its reads is known."""
    if not is_dict(value) or is_partial(value):
        return value
    entity = None if node is None else node.entity
    if entity is not None:
        return entity.to_store(value)
    if before is not UNDEFINED and not isinstance(before, (dict, list, Sentinel)):
        model: Any = class_record(kind_of(before))
        return value if model is None else model.stored(value)
    return value


def _joined(base: Tables, cell: EntityPath, loaded: StoredEntry, node: Schema | None) -> StoredEntry:
    """Merge a loaded row with a value in memory from a response that is not stored."""
    table, pk = cell
    before, value = StoredEntry(base.get(table, pk), base.metas[table][pk], base.whole(table, pk)), loaded.stored
    entity = None if node is None else node.entity
    if entity is not None and is_dict(value) and not is_list(before.stored) and before.stored is not INVALID:
        joined = apply(MergeRecord(entity, value, keeps_whole=True), pk, before, loaded.times)
        assert joined is not None
        return joined
    if before.times.fetched_at > loaded.times.fetched_at:
        return before
    return loaded._replace(stored=_stored(value, node, before.stored))
