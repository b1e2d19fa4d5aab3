"""The queue of writes that wait for their commit, and their rebase onto rows of other processes (locked)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import INVALID
from ..cache.marking import mark_record
from ..cache.merge import StoredEntry, apply, differs, requested_by
from ..cache.staleness import StaleSet
from ..cache.tables import EMPTY
from ..cache.write_set import EditList
from ..schema.stored import is_collection, record_of
from .pending_write import deletion_of
from .stale_marks import load_mark_of
from .stored_forms import entry_of, record_in

if TYPE_CHECKING:
    from ..base.values import Meta
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..storage.protocol import Place, StoredResult, StoredRow
    from .change_capture import ChangeCapture
    from .connection import StorageConnection
    from .pending_write import PendingWrite
    from .schema_fingerprint import SchemaRegistry
    from .timeline import Timeline

_MOST_ROWS = 50_000
_MOST_BYTES = 32 * 1024 * 1024
"""The bounds of the queue; beyond them, values are dropped and only their names are kept."""


class Base(NamedTuple):
    """A stored row that pending writes are rebased onto."""

    held: StoredEntry | None
    """Its value in the form of memory; None if there is no usable one."""
    rev: int
    shape: str


class WriteQueue:
    """Writes that are in memory and not committed yet, in order."""

    def __init__(
        self, store_state: StoreState, connection: StorageConnection, registry: SchemaRegistry, capture: ChangeCapture
    ) -> None:
        self._store_state = store_state
        self._connection = connection
        self._registry = registry
        self._capture = capture
        self._captured: deque[PendingWrite] = deque()
        """Captured actions that are not decoded yet."""
        self._last: PendingWrite | None = None
        """The action that was added last."""
        self._is_draining = False
        self._queue: deque[PendingWrite] = deque()
        self._taken = 0
        self._cells: dict[str, dict[str, list[PendingWrite]]] = {}
        """By table and primary key, the actions that wrote a cell."""
        self.rows = 0
        """The number of pending rows."""
        self.row_size: float = 0
        """The average size of the rows of the last commit, in bytes of JSON."""
        self.bases: dict[EntityPath, Base] = {}
        """Stored rows that pending writes are rebased onto, as they were not merged with them in memory."""
        self.used: dict[Place, None] = {}
        """Rows and results that were used since the last commit."""

    def __bool__(self) -> bool:
        return bool(self._captured or self._queue)

    @property
    def actions(self) -> deque[PendingWrite]:
        """All pending writes, decoded and in order."""
        self.drain_capture()
        return self._queue

    @property
    def deletions(self) -> int:
        """The number of rows and results that wait to be deleted (without the lock)."""
        return sum(len(pending.drop) for pending in self._queue.copy())

    def take(self, pending: PendingWrite) -> None:
        """Add the captured writes of an action; adding them twice has no effect."""
        if pending is self._last or (self._captured and self._captured[-1] is pending):
            return
        if pending.stale is not None and pending.event is None:
            pending.event = self._connection.known.timeline.event(self._store_state.last_number)
        self._captured.append(pending)
        self._last = pending
        self.rows += pending.rows
        if self.rows > _MOST_ROWS or self.rows * self.row_size > _MOST_BYTES:
            self._keep_names()

    def drain_capture(self, most: int | None = None) -> bool:
        """Decode captured actions, at most `most`; True if none are left."""
        captured = self._captured
        if not captured or self._is_draining:  # called by a user's function during a decode
            return True
        try:
            self._is_draining = True
            for _ in range(len(captured) if most is None else min(most, len(captured))):
                # An interrupt may come anywhere: then this is repeated, and nothing is lost or added twice.
                pending = captured[0]
                self._capture.decode(pending)
                if not pending.cells:
                    self._uncount(pending)
                if not pending.is_empty and (not pending.order or pending not in self._queue):
                    self._taken += 1
                    pending.order = self._taken
                    self._queue.append(pending)
                self._sort(pending)
                captured.popleft()
        finally:
            self._is_draining = False
        return not captured

    def _keep_names(self) -> None:
        """Replace the values of pending writes beyond the bounds by one deletion of their places.

        Invalidations and stale marks stay.
        """
        self._connection.read_no_more()
        actions = [*self.actions]
        places: dict[Place, None] = {}
        for pending in actions:
            for names in (pending.all_cells(), pending.results, pending.drop):
                places.update(dict.fromkeys(names))
        deletion = deletion_of(places, self._store_state.clock())
        self._queue.appendleft(deletion)  # before the values are dropped, as an interrupt may come anywhere
        for pending in actions:
            self._connection.known.only_here.update(pending.all_cells())
            pending.keep_invalidations()
            pending.rows = 0
        kept = [one for one in actions if one.bulk_invalidations or one.results or one.stale is not None]
        self._queue, self.rows = deque((deletion, *kept)), 0
        self._cells.clear()
        self.bases.clear()

    def pop(self, pending: PendingWrite) -> None:
        """Remove an action from the queue, if it is still there."""
        if pending in self._queue:
            self._unsort(pending)
            self._uncount(pending)
            self._queue.remove(pending)

    def leave_out(self, pending: PendingWrite) -> None:
        """Store nothing of an action, and delete older stored versions of what it wrote."""
        self._uncount(pending)
        self._unsort(pending)
        pending.leave_out()

    def _uncount(self, pending: PendingWrite) -> None:
        """Subtract the rows of an action from the pending ones."""
        self.rows -= pending.rows
        pending.rows = 0

    def clear(self) -> None:
        """Drop all pending writes."""
        for pending in self.actions:
            if pending.event is not None:
                self._connection.known.timeline.drop(pending.event)
        self._captured.clear()
        self._queue.clear()
        self._cells.clear()
        self.bases.clear()
        self.used.clear()
        self.rows = 0

    # -- pending writes by place

    def _sort(self, pending: PendingWrite) -> None:
        """Add an action to the index by cell."""
        for table, written in pending.cells.items():
            of_table = self._cells.setdefault(table, {})
            for pk in written:
                found = of_table.setdefault(pk, [])
                if not found or found[-1].order < pending.order:  # else it was added before an interrupt
                    found.append(pending)

    def _unsort(self, pending: PendingWrite) -> None:
        """Remove an action from the index by cell."""
        for table, written in pending.cells.items():
            of_table = self._cells.get(table, {})
            for pk in written:
                found = of_table.get(pk)
                if found is not None:
                    if pending in found:
                        found.remove(pending)
                    if not found:
                        del of_table[pk]

    def is_pending(self, cell: EntityPath) -> bool:
        """Whether a cell has a pending write."""
        self.drain_capture()
        return cell[1] in self._cells.get(cell[0], EMPTY)

    def is_joined(self, cell: EntityPath) -> bool:
        """Whether a cell is a collection that pending writes change, in memory or not."""
        if not is_collection(cell[0]):
            return False
        try:
            with self._store_state.hooks:
                return bool(self.of_cell(cell))
        except Exception:
            self._connection.hook_failed(cell)
            return False

    def is_pending_key(self, key: str) -> bool:
        """Whether the result of a key has a pending write."""
        return any(key in pending.results for pending in self.actions)

    def keys(self) -> Iterator[str]:
        """Yield the keys of pending results."""
        for pending in self.actions:
            yield from pending.results

    def date_of(self, key: str) -> float | None:
        """Return the time when the latest pending result of a key was received; None if there is none."""
        return max((pending.results[key].meta.date for pending in self.actions if key in pending.results), default=None)

    def of_cell(self, cell: EntityPath) -> list[PendingWrite]:
        """Return the pending writes that change a cell, in order."""
        self.drain_capture()
        wrote = self._cells.get(cell[0], EMPTY).get(cell[1], ())
        if not is_collection(cell[0]):
            return [*wrote]
        joins = [
            pending for pending in self.actions if pending.joins and pending not in wrote and pending.concerns(cell)
        ]
        return sorted([*wrote, *joins], key=_order_of)

    def invalidated(self, result: StoredResult, times: Meta | None) -> tuple[StoredResult, Meta | None]:
        """Apply pending bulk invalidations to a loaded result and its times in memory, None if it is too old."""
        pending = [one for action in self.actions for one in action.bulk_invalidations]
        if times is None or not pending:
            return result, times
        with self._store_state.hooks:
            for invalidation in pending:
                result, times = invalidation.applied(result, times)
        return result, times

    # -- rebase onto stored rows

    def met(self, cell: EntityPath, row: StoredRow | None) -> None:
        """Note a stored row that memory does not know; pending writes are rebased onto it."""
        if row is None or not row.rev:
            self.bases[cell] = Base(None, 0, "")
            return
        timeline = self._connection.known.timeline
        load_mark_of(self._store_state.base.marks, row, timeline.number_of_event)
        self._store_state.hot_results.clear()
        number = timeline.number_of(row.whole_rev)
        times = self._connection.inward(row.times, row.whole_rev)
        try:
            held, left = entry_of(self._registry, row, times, number, record_in(self._store_state.base, cell))
        except ValueError:
            held, left = None, ()  # it is invalid JSON: pending writes replace it
        self.bases[cell] = Base(held, row.rev, row.shape if held is not None else "")
        self._mark_overlaps(cell)
        if left:
            self._connection.known.left_out[cell] = left
        else:
            self._connection.known.left_out.pop(cell, None)

    def mark_unverified(self) -> None:
        """Base no pending writes on values of memory, which may be wrong; they are rebased onto stored rows."""
        for pending in self.actions:
            for cell in pending.all_cells():
                table, pk = cell
                if is_collection(table):  # edits of a collection need its stored row
                    self.bases.pop(cell, None)
                    self._connection.known.unverified.setdefault(table, {})[pk] = -1
                else:
                    self.bases[cell] = Base(None, 0, "")

    def over(self, cell: EntityPath, held: StoredEntry | None) -> StoredEntry | None:
        """Rebase pending writes onto a loaded row and return the value for memory. Users' functions may raise."""
        known = self._connection.known
        self.bases[cell] = Base(held, known.rev(*cell) or 0, known.shape(*cell))
        self._mark_overlaps(cell)
        return self.rebased(cell, self.of_cell(cell))

    def rebased(self, cell: EntityPath, actions: Iterable[PendingWrite]) -> StoredEntry | None:
        """Rebase these actions onto the stored row of a cell. Users' functions may raise."""
        actions = [*actions]
        with self._store_state.hooks:
            return self._rebased(cell, self._base(cell, actions), actions, moves=True)

    def _mark_overlaps(self, cell: EntityPath) -> None:
        """Mark a row as stale if two processes requested it at once with different responses: the order is unknown."""
        base, timeline = self.bases[cell], self._connection.known.timeline
        if base.held is None:
            return
        action: PendingWrite | None
        try:
            with self._store_state.hooks:
                overlapping = (one for one in self.of_cell(cell) if _overlaps(one, cell, base, timeline))
                action = next(overlapping, None)  # its mark also covers later ones that did not know of the row
        except Exception:
            self._connection.hook_failed(cell)
            action = self.actions[-1] if self.actions else None
        if action is None:
            return
        stale = StaleSet("another process has requested it at the same time")
        if is_collection(cell[0]):
            stale.cells.add(cell)
        else:
            # The other one may have created or deleted it.
            is_change = action.request is not None and action.request.rules.side_effect
            mark_record(stale, self._store_state.base, cell, existence=is_change)
        number = self._store_state.next_number()
        self._store_state.base.marks.add(stale, number)
        self._store_state.hot_results.clear()
        if action.stale is None:
            action.stale = stale
        else:
            action.stale.update(stale)
        if action.event is None:
            action.event = timeline.event(number)

    def _base(self, cell: EntityPath, actions: list[PendingWrite]) -> StoredEntry | None:
        """Return the stored row; a request that knew its commit counts as later, even if clocks disagree."""
        base = self.bases.get(cell)
        if base is None or base.held is None or not actions:
            return None if base is None else base.held
        number = actions[0].times.fetched_at
        if base.held.times.fetched_at <= number or self._connection.known.timeline.commit_of(number) < base.rev:
            return base.held
        return requested_by(base.held, number)

    def _rebased(
        self, cell: EntityPath, held: StoredEntry | None, actions: Iterable[PendingWrite], *, moves: bool = False
    ) -> StoredEntry | None:
        """Merge the operations of these actions with a row. `moves`: lists use stored records of moved entities."""
        for action in actions:
            for piece in action.pieces(*cell):
                if moves and isinstance(piece, EditList) and piece.moved:
                    piece = self.as_it_moves(action, piece)
                held = apply(piece, cell[1], held, action.times)
        return held

    def as_it_moves(self, action: PendingWrite, joins: EditList) -> EditList:
        """Return a move that uses stored records, if memory did not have these. Filters may raise."""
        met = [cell for cell in joins.moved if cell in self.bases]
        if not met or joins.change_of is None:
            return joins
        records = dict(joins.moved)
        for cell in met:
            earlier = [other for other in self.of_cell(cell) if other.order < action.order]
            was = self._rebased(cell, self._base(cell, earlier or [action]), earlier)
            records[cell] = _record_of(was), _record_of(self._rebased(cell, was, (action,)))
        return joins._replace(moved=records, change=joins.change_of(records))

    def forget_moved(self, cells: Iterable[EntityPath]) -> None:
        """Load the lists again that pending writes move these entities between, as their rows were just loaded."""
        tables = {
            joins.table
            for pending in self.actions
            for joins in pending.joins
            if joins.moved and any(cell in joins.moved for cell in cells)
        }
        known = self._connection.known
        for table in tables:
            for pk in self._store_state.base.entities.get(table, EMPTY):
                self.bases.pop((table, pk), None)
                known.forget(table, pk)
                known.changed[table, pk] = None
                self._store_state.has_unverified = True

    def committed(self, cell: EntityPath, held: StoredEntry, rev: int, shape: str) -> None:
        """Note a committed row; pending writes of its cell are rebased onto it."""
        base = self.bases.pop(cell, None)
        if base is not None and self.of_cell(cell):
            self.bases[cell] = Base(held, rev, shape)


def _overlaps(action: PendingWrite, cell: EntityPath, base: Base, timeline: Timeline) -> bool:
    """Whether a pending write contradicts a stored row that its request did not know. Users' functions may raise."""
    held = base.held
    if held is None or action.request is None or not action.request.rules.strict:
        return False
    if timeline.commit_of(action.times.fetched_at) >= base.rev:
        return False
    return any(differs(piece, cell[1], held, action.times) for piece in action.pieces(*cell))


def _record_of(held: StoredEntry | None) -> Any:
    return None if held is None or held.stored is INVALID else record_of(held.stored)


def _order_of(pending: PendingWrite) -> int:
    return pending.order
