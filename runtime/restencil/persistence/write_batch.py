"""The batch of a commit: complete actions, merged and encoded, and what has to be read before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from ..base.logs import logger
from ..base.values import INVALID, text_of
from ..cache.merge import StoredEntry, whole_of
from ..cache.tables import EMPTY
from ..schema.stored import is_collection, record_of
from ..storage.protocol import MOST_PLACES, Batch, Entry, StoredResult, StoredRow
from .pending_write import PendingWrite, Result
from .row_codec import NOTHING_LEFT, Unstorable, encoded_whole
from .schema_fingerprint import ANY_SHAPE, fingerprint_of, fingerprint_of_endpoint, joined_shape
from .stale_marks import marks_of, spared_by
from .stored_forms import cell_json, is_alike, result_json

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..storage.protocol import IndexEntry, Mark, Place, Spared
    from .connection import StorageConnection
    from .schema_fingerprint import SchemaRegistry
    from .write_queue import WriteQueue


_LARGEST: Final = 8 * 1024 * 1024
"""The largest response that is stored, in bytes of JSON."""


class BatchRow(NamedTuple):
    """The row that a commit writes to a cell."""

    held: StoredEntry
    rev: int
    shape: str
    is_same: bool
    """Whether its value is unchanged, and only its times are new."""
    is_rebased: bool
    """Whether it was rebased onto the stored row, so that memory may have another value."""


class WriteBatch:
    """Actions that are committed together."""

    def __init__(self, actions: list[PendingWrite], used: list[Place]) -> None:
        self.actions = actions
        self.used = used
        self.sent: Batch | None = None
        """The batch that was sent without a response so far; it is sent again unchanged until its outcome is known."""
        self.epoch = 0
        self.joined: dict[EntityPath, None] = {}
        """Collections that the actions edit, but did not write in memory."""
        self.versions: dict[str, int] = {}
        """By table, the version at which its primary keys were scanned."""
        self.rows: dict[EntityPath, BatchRow] = {}
        self.results: dict[str, Result] = {}
        self.with_stored_validators: dict[str, int] = {}
        """By key, the number of cells of a response that is stored with its validator."""
        self.given_up: set[EntityPath] = set()
        """Cells whose values could not be determined; their stored rows are deleted."""
        self.unstorable: set[Place] = set()
        self.is_too_big = False
        self.row_size: float = 0
        """The average size of its rows, in bytes of JSON."""

    def cells(self) -> dict[EntityPath, list[PendingWrite]]:
        """Return the cells that the actions change, each with its actions."""
        found: dict[EntityPath, list[PendingWrite]] = {}
        for action in self.actions:
            for table, written in action.cells.items():
                for pk in written:
                    found.setdefault((table, pk), []).append(action)
        for cell in self.joined:
            if cell not in found:
                found[cell] = [action for action in self.actions if action.concerns(cell)]
        return found

    # -- rows and results (locked)

    def make(self, store_state: StoreState, connection: StorageConnection, queue: WriteQueue) -> None:
        """Compute the row of each cell and the result of each key."""
        self.epoch = connection.known.epoch
        self.rows.clear()
        self.results = {}
        for cell, actions in self.cells().items():
            if cell in self.given_up:
                continue
            row = self._row(cell, actions, connection, queue)
            if row is not None:
                self.rows[cell] = row
        for action in self.actions:
            for key, result in action.results.items():
                self.results[key] = result
        self.with_stored_validators = dict(
            with_stored_validators(self.results, {cell: row.held for cell, row in self.rows.items()}, store_state)
        )

    def _row(
        self, cell: EntityPath, actions: list[PendingWrite], connection: StorageConnection, queue: WriteQueue
    ) -> BatchRow | None:
        known, (table, pk) = connection.known, cell
        last, base = actions[-1], queue.bases.get(cell)
        rev = known.rev(table, pk)
        shape = "" if rev is None else known.shape(table, pk)
        is_same = bool(rev) and base is None and all(action.is_confirmation for action in actions)
        is_rebased = base is not None or (rev is None and known.is_unverified(cell))
        if is_rebased:
            try:
                if is_collection(table):  # also actions that edit it, but not in memory
                    actions = [action for action in self.actions if action in actions or action.concerns(cell)]
                held = queue.rebased(cell, actions)
            except Exception:
                connection.hook_failed(cell)
                self.given_up.add(cell)
                return None
            if held is None or (cell in self.joined and base is not None and held == base.held):
                return None  # the edits do not change it
            rev, shape = (0, "") if base is None else (base.rev, base.shape)
        else:
            whole = last.partial.get(table, EMPTY).get(pk)
            held = StoredEntry(last.cells[table][pk], last.times_of(table, pk), whole)
        if is_collection(table) or held.stored is INVALID:
            shape = ""
        else:
            for action in actions:
                for node in action.nodes_of(table, pk):
                    own = fingerprint_of(node.model)
                    shape = joined_shape(shape, own) if shape else own
        return BatchRow(held, rev or 0, shape, is_same, is_rebased)

    # -- as JSON (without the lock)

    def encoded(self, connection: StorageConnection, registry: SchemaRegistry) -> Batch | None:
        """Return the encoded batch with a new commit id; None if there is nothing to commit.

        Places without an exact JSON form are added to `unstorable`.
        """
        known = connection.known
        self.unstorable.clear()
        times = self.actions[-1].times if self.actions else None
        number = None if times is None else times.fetched_at
        rows: list[StoredRow] = []
        misses: set[str] = set()
        changed: dict[str, list[str]] = {}
        same: dict[str, list[str]] = {}
        size = 0
        for cell, row in self.rows.items():
            table, pk = cell
            if not (registry.keeps_list if is_collection(table) else registry.keeps)(cell):
                misses.add(table)
                continue
            try:
                whole = whole_of(row.held)
                details = encoded_whole(whole, row.held.times.date) if _needs_whole(row) else None
                value = cell_json(registry, table, row.held.stored, known.left_out.get(cell, NOTHING_LEFT), details)
            except Unstorable:
                self.unstorable.add(cell)
                continue
            size += 0 if value is None else len(value)
            whole_rev = known.timeline.commit_of(whole.number)
            rows.append(StoredRow(table, pk, row.rev, 0, known.outward(row.held.times), row.shape, value, whole_rev))
            is_same = row.is_same and row.held.times == times and whole.number == number
            (same if is_same else changed).setdefault(table, []).append(pk)
        results = self._results(connection, registry)
        size += sum(len(result.value or b"") for result in results)
        self.row_size = size / max(1, len(rows))
        self.is_too_big = size > _LARGEST
        drop, gone = self._dropped()
        index = self._index(registry)
        listed: set[str] = set()
        release: list[str] = []
        for action in self.actions:
            listed |= action.listed
            misses |= action.misses
            release += action.release
        stale, spared = self._stale(known.timeline.commit_of)
        entry = Entry(
            0,
            connection.writer,
            None if times is None else known.outward(times),
            changed,
            same,
            gone,
            [*(result.key for result in results), *(place for place in drop if isinstance(place, str))],
            False,
            connection.next_commit_id(),
            (*stale, *spared),
            -1 if number is None else known.timeline.commit_of(number),
        )
        if not (rows or results or drop or index or listed or misses or release or stale or self.used):
            return None
        return Batch(
            self.epoch,
            rows,
            results,
            drop,
            index,
            dict(self.versions),
            sorted(listed),
            sorted(misses),
            self.used,
            release,
            entry,
            tuple(stale),
            spared,
        )

    def _stale(self, commit_of: Callable[[float], int]) -> tuple[dict[Mark, None], dict[Mark, Spared]]:
        """Return the stale marks of the actions, and what their broad marks spare."""
        made = [action.stale for action in self.actions if action.stale is not None]
        events = [(marks_of(stale), spared_by(stale, commit_of)) for stale in made]
        stale: dict[Mark, None] = {}
        spared: dict[Mark, Spared] = {}
        for marks, certain in events:
            for mark, how in certain.items():
                if mark not in spared and all(
                    mark in others or marked.keys().isdisjoint(how.against) for marked, others in events
                ):
                    spared[mark] = how
            stale.update(marks)
        for _, table, pk in [mark for mark in spared if mark[2]]:
            if ("row", table, pk) in stale:
                del spared["spared", table, pk]
        return stale, spared

    def _index(self, registry: SchemaRegistry) -> dict[IndexEntry, str]:
        """Return the index entries of the rows; of two rows with the same value, the one that was written last has it.

        Entries of other values are not deleted: another process may have changed them to another record by now, and a
        lookup ignores a record with another value.
        """
        found: dict[IndexEntry, str] = {}
        indexed = {table: names for table in {table for table, _ in self.rows} if (names := registry.indexes(table))}
        for action in self.actions if indexed else ():
            for table, names in indexed.items():
                for pk in action.cells.get(table, EMPTY):
                    row = self.rows.get((table, pk))
                    if row is None or row.held.stored is INVALID or not registry.keeps((table, pk)):
                        continue
                    record = record_of(row.held.stored)
                    found.update(
                        ((table, name, text_of(record[name])), pk) for name in names if record.get(name) is not None
                    )
        return found

    def _results(self, connection: StorageConnection, registry: SchemaRegistry) -> list[StoredResult]:
        results: list[StoredResult] = []
        for key, result in self.results.items():
            try:
                value = result_json(registry, result, self.with_stored_validators.get(key))
            except Unstorable:
                self.unstorable.add(key)
                continue
            if result.rules is None:
                shape = connection.known.key_shapes.get(key) or ANY_SHAPE
            else:
                shape = fingerprint_of_endpoint(result.rules)
            outward = connection.known.outward(result.meta.times)
            requested_rev = connection.known.timeline.commit_of(result.meta.number)
            results.append(StoredResult(key, 0, outward, shape, result.meta.invalidated, value, requested_rev))
        return results

    def _dropped(self) -> tuple[list[Place], dict[str, list[str]]]:
        drop: dict[Place, None] = dict.fromkeys(self.given_up)
        for action in self.actions:
            drop.update(action.drop)
        written: list[Place] = [*self.rows, *self.results]
        for place in written:
            drop.pop(place, None)
        gone: dict[str, list[str]] = {}
        for place in drop:
            if not isinstance(place, str):
                gone.setdefault(place[0], []).append(place[1])
        return [*drop], gone

    def writers_of(self, places: set[Place]) -> list[PendingWrite]:
        """Return the actions that wrote one of these places."""
        return [
            action
            for action in self.actions
            if any((place in action.results if isinstance(place, str) else action.concerns(place)) for place in places)
        ]


def _needs_whole(row: BatchRow) -> bool:
    """Whether the response that last contained the complete record is not evident from the times of the row."""
    stored, times, whole = row.held
    if whole is None or stored is INVALID or row.shape == "":
        return False
    is_of_times = whole.fetched_at == times.fetched_at and whole.expires_at == times.expires_at
    return not is_of_times or bool(whole.later) or len(whole.fields) != len(record_of(stored))


def with_stored_validators(
    results: Mapping[str, Result], rows: Mapping[EntityPath, StoredEntry], store_state: StoreState
) -> Iterator[tuple[str, int]]:
    """Yield the keys whose results are stored with validators, each with the number of cells of its response (locked).

    Their rows are all in memory and equal to the rows that are stored.
    """
    found = {key: result for key, result in results.items() if result.validators is not None}
    if not found:
        return
    base, of_times = store_state.base, Counter(held.times[:2] for held in rows.values())
    for key, result in found.items():
        record = store_state.response_records.get(key)
        if record is None or record.validators is not result.validators or not record.holds(key, base):
            continue
        written, times = dict(record.cells()), result.meta.times[:2]
        if of_times[times] == len(written) and all(
            cell in rows and rows[cell].times[:2] == times and is_alike(stored, rows[cell].stored)
            for cell, stored in written.items()
        ):
            yield key, len(written)


# -- reads before a commit ------------------------------------------------------------------------------------------


class ConflictReads:
    """Loads the rows that a batch depends on: those of unknown revision, and lists that it edits."""

    def __init__(self, store_state: StoreState, connection: StorageConnection, queue: WriteQueue) -> None:
        self._store_state = store_state
        self._connection = connection
        self._queue = queue

    def look_through(self, batch: WriteBatch) -> bool:
        """Load the rows that a batch depends on; False if the storage does not respond."""
        connection, bases = self._connection, self._queue.bases
        with connection.lock:
            needed = [*self.unread(batch), *self._overlapping(batch)]
            self._forget_overlaps(batch)
            joins: dict[str, list[PendingWrite]] = {}
            for pending in batch.actions:
                for join in pending.joins:
                    if join.pk is None and join.table not in batch.versions:
                        joins.setdefault(join.table, []).append(pending)
        for table, actions in joins.items():
            found = self._members(table)
            if found is None:
                return False
            batch.versions[table] = found[0]
            with connection.lock:
                for pk in found[1]:
                    cell = table, pk
                    if any(pending.writes(cell) for pending in batch.actions) or not self._joins(cell, actions):
                        continue
                    batch.joined[cell] = None
                    if cell not in bases:
                        needed.append(cell)
        return self._load([*dict.fromkeys(needed)]) and self._load(self._moved(batch))

    def unread(self, batch: WriteBatch) -> list[EntityPath]:
        """Return the cells of a batch whose stored rows are unknown, also because others have changed them since."""
        known, bases = self._connection.known, self._queue.bases
        if not (known.only_here or known.unverified or batch.joined):
            return []
        return [
            cell
            for cell in batch.cells()
            if cell not in bases and (cell in batch.joined or cell in known.only_here or known.is_unverified(cell))
        ]

    def _overlapping(self, batch: WriteBatch) -> list[EntityPath]:
        """Return rows that other stores wrote while the response that now replaces them was in flight."""
        known, bases = self._connection.known, self._queue.bases
        found: list[EntityPath] = []
        for pending in batch.actions if known.came_meanwhile else ():
            commit = known.timeline.commit_of(pending.times.fetched_at)
            found += (
                cell for cell in pending.all_cells() if known.came_meanwhile.get(cell, 0) > commit and cell not in bases
            )
        return found

    def _forget_overlaps(self, batch: WriteBatch) -> None:
        """Forget rows that were known to all later pending writes and requests in flight when these were sent."""
        known = self._connection.known
        if not known.came_meanwhile:
            return
        numbers = [one.fetched_at for one in self._store_state.in_flight.by_id.values()]
        numbers += (pending.times.fetched_at for pending in islice(self._queue.actions, len(batch.actions), None))
        oldest = known.timeline.commit_of(min(numbers)) if numbers else known.last
        known.came_meanwhile = {cell: rev for cell, rev in known.came_meanwhile.items() if rev > oldest}

    def _moved(self, batch: WriteBatch) -> list[EntityPath]:
        """Return lists in memory that moved an entity by another record than the stored one."""
        with self._connection.lock:
            bases, tables = self._queue.bases, set[str]()
            for pending in batch.actions:
                tables.update(joins.table for joins in pending.joins if any(cell in bases for cell in joins.moved))
            return [cell for cell in batch.cells() if cell[0] in tables and cell not in bases] if tables else []

    def _joins(self, cell: EntityPath, actions: Iterable[PendingWrite]) -> bool:
        """Whether any of these actions changes a collection."""
        try:
            with self._store_state.hooks:
                return any(pending.concerns(cell) for pending in actions)
        except Exception:
            logger.exception("%s %s: a filter failed, so nothing is added to the list", *cell)
            return False

    def _members(self, table: str) -> tuple[int, list[str]] | None:
        """Return the version and the primary keys of a table; None if the storage does not respond."""
        loaded = self._connection.work(lambda storage: storage.load((), (), (), (table,)))
        if loaded is None:
            return None
        info = loaded.tables.get(table)
        version = 0 if info is None else info.version
        members: list[str] = []
        for page in self._connection.pages(table) if version else ():
            if page is None:
                return None
            members += page
        return version, members

    def _load(self, cells: list[EntityPath]) -> bool:
        return all(self._load_some(cells[at : at + MOST_PLACES]) for at in range(0, len(cells), MOST_PLACES))

    def _load_some(self, cells: list[EntityPath]) -> bool:
        loaded = self._connection.work(lambda storage: storage.load(cells))
        if loaded is None:
            return False
        found = {(row.table, row.pk): row for row in loaded.rows}
        with self._connection.lock:
            for cell in cells:
                if cell not in self._queue.bases:
                    self._queue.met(cell, found.get(cell))
        return True
