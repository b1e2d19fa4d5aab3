"""What waits for its commit, in order; all of it is guarded by the store's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import INVALID, UNDEFINED
from ..cache.tables import EMPTY
from ..schema.stored import record_of
from .rebase import Held, folded
from .row_codec import is_collection, left_of

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..cache.tables import Cell
    from ..cache.write_set import Joins
    from ..storage.protocol import Place, StoredRow
    from .change_capture import ChangeCapture
    from .connection import StorageConnection
    from .pending_write import PendingWrite
    from .stored_forms import Forms

_MOST_ROWS = 50_000
_MOST_BYTES = 32 * 1024 * 1024
"""So much may wait; of more only the names are kept."""


class Base(NamedTuple):
    """A row as the storage has it."""

    held: Held | None
    """In memory's form; None where there is none that can be used."""
    rev: int
    shape: str


class WriteQueue:
    """Actions that were carried out in memory and are not committed yet."""

    def __init__(self, contents: StoreState, connection: StorageConnection, forms: Forms, tap: ChangeCapture) -> None:
        self._contents = contents
        self._connection = connection
        self._forms = forms
        self._tap = tap
        self._captured: deque[list[Any] | PendingWrite] = deque()
        """What was handed over and is still to be worked out."""
        self._last: list[Any] | PendingWrite | None = None
        """What was taken last."""
        self._is_draining = False
        self._queue: deque[PendingWrite] = deque()
        self._taken = 0
        self._cells: dict[str, dict[str, list[PendingWrite]]] = {}
        """By table and primary key, the actions that wrote a cell, as far as they were sorted."""
        self._unsorted: list[PendingWrite] = []
        self.rows = 0
        """How many rows wait."""
        self.row_size: float = 0
        """How many bytes of JSON the rows of the last commit had on average."""
        self.bases: dict[Cell, Base] = {}
        """Rows that what waits was not merged with when it came: it is laid over them."""
        self.names: dict[Place, None] = {}
        """Of what was too much to keep: it is dropped from the storage, first of all."""
        self.used: dict[Place, None] = {}
        """What was used since the last commit."""

    def __bool__(self) -> bool:
        return bool(self._captured or self._queue or self.names)

    @property
    def queue(self) -> deque[PendingWrite]:
        """All that waits, in order."""
        if self._captured:
            self.settle()
        return self._queue

    def take(self, captured: list[Any] | PendingWrite) -> None:
        """An action was carried out; being told so twice is being told so once."""
        if captured is self._last or (self._captured and self._captured[-1] is captured):
            return
        self._captured.append(captured)
        self._last = captured
        self.rows += _rows_of(captured)
        if self.rows > _MOST_ROWS or self.rows * self.row_size > _MOST_BYTES:
            self._keep_names()

    def settle(self, most: int | None = None) -> bool:
        """Works out what was handed over, or so much of it; whether that is all."""
        captured = self._captured
        if not captured or self._is_draining:  # a function of the user's asks in between
            return True
        try:
            self._is_draining = True
            for _ in range(len(captured) if most is None else min(most, len(captured))):
                rows = _rows_of(captured[0])
                pending = self._tap.worked_out(captured[0])
                # An interrupt may come anywhere: then this is done once more, and nothing is lost or there twice.
                captured[0] = pending
                self.rows += pending.rows - rows
                if not pending.is_empty and (not pending.order or pending not in self._queue):
                    self._taken += 1
                    pending.order = self._taken
                    self._queue.append(pending)
                if not pending.is_empty and pending not in self._unsorted[-1:]:
                    self._unsorted.append(pending)
                captured.popleft()
        finally:
            self._is_draining = False
        return not captured

    def _keep_names(self) -> None:
        """Too much waits: the values are let go of and their names kept; what invalidates stays."""
        self._connection.read_no_more()
        kept: deque[PendingWrite] = deque()
        for pending in self.queue:
            cells = pending.all_cells()
            self.names.update(dict.fromkeys(cells))
            self._tap.tainted.update(cells)
            self.names.update(dict.fromkeys(pending.results))
            self.names.update(pending.drop)
            pending.keep_invalidations()
            if pending.sweeps or pending.results:
                for key in pending.results:
                    self.names.pop(key, None)
                kept.append(pending)
        self._queue, self.rows = kept, 0
        self._cells.clear()
        self._unsorted.clear()
        self.bases.clear()

    def pop(self, pending: PendingWrite) -> None:
        """An action waits no more; it is the first."""
        if self._queue and self._queue[0] is pending:
            self._unsort(pending)
            self.rows -= pending.rows
            self._queue.popleft()

    def forget(self, pending: PendingWrite) -> None:
        """What an action wrote waits no more, only its changes of all results."""
        self.rows -= pending.rows
        self._unsort(pending)
        pending.forget_values()

    def leave_out(self, pending: PendingWrite) -> None:
        """Nothing of an action is stored, nor is anything older shown in its place."""
        self.rows -= pending.rows
        self._unsort(pending)
        pending.leave_out()

    def clear(self) -> None:
        """Nothing waits any more."""
        self._captured.clear()
        self._queue.clear()
        self._cells.clear()
        self._unsorted.clear()
        self.bases.clear()
        self.names.clear()
        self.used.clear()
        self.rows = 0

    # -- what waits for a place

    def _sort(self) -> None:
        """Finds out what was written by whom; that is left to who asks for it."""
        self.settle()
        for pending in self._unsorted:
            for table, written in pending.cells.items():
                of_table = self._cells.setdefault(table, {})
                for pk in written:
                    found = of_table.setdefault(pk, [])
                    if not found or found[-1].order < pending.order:  # else it was sorted before an interrupt
                        found.append(pending)
        self._unsorted.clear()

    def _unsort(self, pending: PendingWrite) -> None:
        """What an action wrote waits no more."""
        if pending in self._unsorted:
            self._sort()
        for table, written in pending.cells.items():
            of_table = self._cells.get(table, {})
            for pk in written:
                found = of_table.get(pk)
                if found is not None:
                    if pending in found:
                        found.remove(pending)
                    if not found:
                        del of_table[pk]

    def is_pending(self, cell: Cell) -> bool:
        """Whether a cell waits for its commit."""
        if self._captured or self._unsorted:
            self._sort()
        return cell[1] in self._cells.get(cell[0], EMPTY)

    def is_joined(self, cell: Cell) -> bool:
        """Whether what waits joins a collection, or takes something out of it."""
        if not is_collection(cell[0]):
            return False
        try:
            with self._contents.hooks:
                return bool(self.of_cell(cell))
        except Exception:
            self._connection.hook_failed(cell)
            return False

    def is_pending_key(self, key: str) -> bool:
        """Whether a result waits for its commit."""
        return any(key in pending.results for pending in self.queue)

    def keys(self) -> Iterator[str]:
        """The keys of results that wait for their commit."""
        for pending in self.queue:
            yield from pending.results

    def date_of(self, key: str) -> float | None:
        """When the latest result came that waits for its commit; None where none does."""
        return max((pending.results[key].times.date for pending in self.queue if key in pending.results), default=None)

    def of_cell(self, cell: Cell) -> list[PendingWrite]:
        """The actions that have anything to say of a cell, in order."""
        if self._captured or self._unsorted:
            self._sort()
        wrote = self._cells.get(cell[0], EMPTY).get(cell[1], ())
        if not is_collection(cell[0]):
            return [*wrote]
        joins = [pending for pending in self.queue if pending.joins and pending not in wrote and pending.concerns(cell)]
        return sorted([*wrote, *joins], key=_order_of)

    # -- what waits, laid over what the storage has

    def met(self, cell: Cell, row: StoredRow | None) -> None:
        """A row was met that memory does not know, or that another process has written."""
        if row is None or not row.rev:
            self.bases[cell] = Base(None, 0, "")
            return
        held = None
        if self._forms.is_readable(row):
            try:
                held = self._forms.held(row, self._connection.known.inward(row.times), self._contents.base.get(*cell))
            except ValueError:
                held = None  # it is no JSON: what is written replaces it
        self.bases[cell] = Base(held, row.rev, row.shape if held is not None else "")
        left = left_of(row.value) if held is not None else ()
        if left:
            self._connection.known.left[cell] = left
        else:
            self._connection.known.left.pop(cell, None)

    def doubt(self) -> None:
        """What was merged with what memory had is not to be sent: what waits is laid over what the storage has."""
        for pending in self.queue:
            for cell in pending.all_cells():
                table, pk = cell
                if is_collection(table):  # what joined it is laid over what is there, so that has to be known
                    self.bases.pop(cell, None)
                    self._connection.known.doubted.setdefault(table, {})[pk] = -1
                else:
                    self.bases[cell] = Base(None, 0, "")

    def over(self, cell: Cell, held: Held | None) -> Held | None:
        """What memory is to hold where a row was loaded: what waits is laid over it. Users' functions may raise."""
        known = self._connection.known
        self.bases[cell] = Base(held, known.rev(*cell) or 0, known.shape(*cell))
        return self.folded(cell, self.of_cell(cell))

    def folded(self, cell: Cell, actions: Iterable[PendingWrite]) -> Held | None:
        """What comes of the row that was met and what these actions brought. Users' functions may raise."""
        base = self.bases.get(cell)
        with self._contents.hooks:
            return folded(cell, None if base is None else base.held, actions, self.as_it_moves)

    def as_it_moves(self, action: PendingWrite, joins: Joins) -> Joins:
        """A move as records tell it that were met in the storage, where memory knew others. Filters may raise."""
        met = [cell for cell in joins.moved if cell in self.bases]
        if not met or joins.told is None:
            return joins
        records = dict(joins.moved)
        for cell in met:
            earlier = [other for other in self.of_cell(cell) if other.order < action.order]
            was = folded(cell, self.bases[cell].held, earlier)
            records[cell] = _record_of(was), _record_of(folded(cell, was, (action,)))
        return joins._replace(moved=records, change=joins.told(records))

    def moved(self, cells: Iterable[Cell]) -> dict[Cell, Held] | None:
        """Lists in memory as what waits leaves them that moves these entities, of which rows were met now.

        None where nothing moves them. Those of which no row was met are unknown from now on.
        """
        tables = {
            joins.table: None
            for pending in self.queue
            for joins in pending.joins
            if joins.moved and any(cell in joins.moved for cell in cells)
        }
        if not tables:
            return None
        found: dict[Cell, Held] = {}
        for table in tables:
            for pk in [*self._contents.base.entities.get(table, EMPTY)]:
                cell = table, pk
                if cell not in self.bases:
                    self._connection.known.forget(table, pk)
                    continue
                try:
                    held = self.folded(cell, self.of_cell(cell))
                except Exception:
                    self._connection.hook_failed(cell)
                    continue
                if held is not None:
                    found[cell] = held
        return found

    def committed(self, cell: Cell, held: Held, rev: int, shape: str) -> None:
        """A row was committed: what still waits for it, and was not merged with this, is laid over it."""
        if self.bases.pop(cell, None) is not None and self.of_cell(cell):
            self.bases[cell] = Base(held, rev, shape)

    def is_key_in_memory(self, key: str) -> bool:
        """Whether memory holds anything under a key."""
        base = self._contents.base
        return key in base.results or key in base.key_metas

    def is_in_memory(self, cell: Cell) -> bool:
        """Whether memory holds a cell."""
        return self._contents.base.get(*cell) is not UNDEFINED


def _record_of(held: Held | None) -> Any:
    return None if held is None or held.stored is INVALID else record_of(held.stored)


def _rows_of(captured: list[Any] | PendingWrite) -> int:
    """How many rows an action wrote."""
    rows: int = captured[0] if isinstance(captured, list) else captured.rows
    return rows


def _order_of(pending: PendingWrite) -> int:
    return pending.order
