"""Optimistic updates: the expected changes of pending mutations, layered over the base state and never part of it.

The *view* is the base state with the updates of all pending mutations over it, in start order. It is updated by the
first read that needs it; an optimistic update is recomputed only if something that it read or wrote has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base.errors import AbortOptimistic, ProcessingError, kept
from ..base.logs import logger
from ..base.values import UNDEFINED, Meta, Sentinel, same_json
from ..schema.stored import is_partial, record_of
from .actions import Fetch
from .tables import ChangeSet, EntityPath, ListBinding, ResultMeta, State, Tables

Token = tuple[str, ...]
"""A dependency of an update: a cell, the members of a table, an index entry, a key's result, or the updated lists."""


class Recorder:
    """A state that records the dependencies of its reads."""

    def __init__(self, state: State, tokens: set[Token]) -> None:
        self._state = state
        self._tokens = tokens

    def get(self, table: str, pk: str) -> Any:
        self._tokens.add(("cell", table, pk))
        return self._state.get(table, pk)

    def meta(self, table: str, pk: str) -> Meta | None:
        self._tokens.add(("cell", table, pk))
        return self._state.meta(table, pk)

    def result(self, key: str) -> Any:
        self._tokens.add(("key", key))
        return self._state.result(key)

    def key_meta(self, key: str) -> ResultMeta | None:
        self._tokens.add(("key", key))
        return self._state.key_meta(key)

    def by_index(self, table: str, field: str, value: str) -> str | None:
        self._tokens.add(("index", table, field, value))
        return self._state.by_index(table, field, value)

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        self._tokens.add(("cell", table, pk))
        return self._state.indexed(table, pk)

    def pks(self, table: str) -> Iterator[str]:
        self._tokens.add(("table", table))
        return self._state.pks(table)

    def has_table(self, table: str) -> bool:
        self._tokens.add(("table", table))
        return self._state.has_table(table)

    def listings(self, entity: str) -> list[ListBinding]:
        self._tokens.add(("followers", entity))
        return self._state.listings(entity)


def tokens_of(change: ChangeSet, grown: Iterable[str] = ()) -> set[Token]:
    """Return the dependencies that a change affects; `grown` are the tables that gain or lose members."""
    tokens: set[Token] = {("cell", *cell) for cell in change.cells()}
    tokens.update(("table", table) for table in grown)
    tokens.update(("index", *place, text) for place, entries in change.indexes.items() for text in entries)
    tokens.update(("key", key) for key in (*change.results, *change.key_metas))
    for listing in change.list_bindings:
        if listing.collection.follows:
            tokens.update(("followers", entity) for entity in listing.entities)
    return tokens


def _grown(change: ChangeSet) -> set[str]:
    """Return the tables that have more members with this change than without."""
    underlying = change.underlying
    return {table for table in change.entities if not underlying.has_table(table)} | {
        table for table, pk in change.cells() if underlying.get(table, pk) is UNDEFINED
    }


class OptimisticUpdate:
    """One pending mutation and its expected changes."""

    def __init__(self, action: Fetch) -> None:
        self.action = action
        self.change: ChangeSet | None = None
        self.reads: set[Token] = set()

    @property
    def tables(self) -> Iterable[str]:
        """The tables that the update writes or creates."""
        return self.change.entities if self.change is not None else ()

    def depends_on(self, changed: set[Token]) -> bool:
        """Return whether the update must be recomputed after these changes."""
        return self.change is None or not changed.isdisjoint(self.reads)


Respond = Callable[[Fetch, State], ChangeSet]
"""Normalizes the optimistic response of an action over a state, as if it was received."""


class OptimisticUpdates:
    """The queue of pending mutations, in start order, and the resulting view."""

    def __init__(self, base: Tables, respond: Respond) -> None:
        self._base = base
        self._respond = respond
        self.updates: list[OptimisticUpdate] = []
        self._changed: set[Token] = set()
        self.stale = False
        """Whether the view must be updated before it is read."""
        self.written: dict[EntityPath, Any] = {}
        """By cell, what updates write, as of the last refresh."""
        self._opened: set[str] = set()
        """The tables that updates write or create, as of the last refresh."""
        self.top: State = base

    @property
    def actions(self) -> list[Fetch]:
        """The pending actions in start order."""
        return [update.action for update in self.updates]

    def push(self, action: Fetch) -> None:
        """Add a mutation that starts."""
        update = OptimisticUpdate(action)
        self.stale = True
        if not (self.updates and self.updates[-1].action is action):
            self.updates.append(update)

    def remove(self, fetch_id: int | None) -> bool:
        """Remove a mutation that ended; return whether it was pending."""
        for position, update in enumerate(self.updates):
            if update.action.fetch_id == fetch_id:
                if update.change is not None:
                    self._changed |= tokens_of(update.change, _grown(update.change))
                self.stale = True
                del self.updates[position]
                return True
        return False

    def begin_anew(self) -> None:
        """Mark all updates for recomputation, because an interruption may have left them incomplete."""
        self.stale = True
        for update in self.updates:
            update.change = None

    def base_changed(self, tokens: Iterable[Token]) -> None:
        """Record changes of the base state."""
        if self.updates:
            self._changed.update(tokens)
            self.stale = True

    def had_already(self, table: str, pks: Iterable[str]) -> bool:
        """Return whether new members of the base are already in the view of the table, at the same position."""
        if not self.top.has_table(table):
            return False
        gained = {pk for pk in pks if self._base.get(table, pk) is UNDEFINED}
        above = {pk for name, pk in self.written if name == table and self._base.get(table, pk) is UNDEFINED}
        return self.top.has_table(table) and gained <= above and (not gained or len(above) == 1)

    def refresh(self) -> tuple[list[EntityPath], set[str]]:
        """Update the view; return the cells that changed in it, and the tables with new or removed members."""
        self.stale = False  # first of all: optimistic responses may read the store
        underlying: State = self._base
        try:
            for update in self.updates:
                old = update.change
                if update.depends_on(self._changed):
                    update.change = self._computed(update, underlying, old)
                    self._changed |= _differences(old, update.change)
                elif old is not None and old.underlying is not underlying:
                    update.change = old.over(underlying)
                underlying = update.change if update.change is not None else underlying
        except BaseException:
            self.stale = True
            raise
        self._changed = set()
        self.top = underlying
        before, self.written = self.written, self._writes()
        cells: list[EntityPath] = []
        opened, self._opened = self._opened, {table for update in self.updates for table in update.tables}
        tables = {table for table in opened ^ self._opened if not self._base.has_table(table)}
        for cell in before.keys() | self.written.keys():
            real = self._base.get(*cell)
            was, now = before.get(cell, real), self.written.get(cell, real)
            if now is real and was is not now and _equal(was, now):
                # The server confirmed the optimistic value: readers keep their objects.
                self._base.entities[cell[0]][cell[1]] = was
            elif was is not now:
                if _equal(was, now):
                    self._keep(cell, was)  # the same for what another update expects
                else:
                    cells.append(cell)
                if was is UNDEFINED or now is UNDEFINED or (real is UNDEFINED):
                    tables.add(cell[0])
        return cells, tables

    def _keep(self, cell: EntityPath, stored: object) -> None:
        """Replace an equal record in the topmost update that writes its path."""
        table, pk = cell
        for update in reversed(self.updates):
            if update.change is not None and pk in update.change.entities.get(table, ()):
                update.change.entities[table][pk] = self.written[cell] = stored
                return

    def _writes(self) -> dict[EntityPath, Any]:
        written: dict[EntityPath, Any] = {}
        for update in self.updates:
            if update.change is not None:
                for table, cells in update.change.entities.items():
                    for pk, stored in cells.items():
                        written[table, pk] = stored
        return written

    def _computed(self, update: OptimisticUpdate, underlying: State, old: ChangeSet | None) -> ChangeSet:
        action = update.action
        update.reads = set()
        seen = Recorder(underlying, update.reads)
        try:
            change = self._respond(action, seen)
        except AbortOptimistic:
            change = ChangeSet(underlying, action.meta)
        except Exception as error:
            # An optimistic response that fails is shown at the mutation's key; the request goes on.
            label = action.request.label
            logger.exception("%s: the optimistic response failed; the request continues", label)
            failure = error if isinstance(error, ProcessingError) else None
            if failure is None:
                failure = ProcessingError(f"{label}: the optimistic response failed: {error}")
                failure.__cause__ = error
            change = ChangeSet(underlying, action.meta)
            change.key_metas[action.key] = ResultMeta(action.meta, error=kept(failure))
        change.underlying = underlying
        update.reads |= tokens_of(change)
        if old is not None:
            _keep_equal(old, change)
        return change


def _keep_equal(old: ChangeSet, new: ChangeSet) -> None:
    # A recomputed record that is equal to its former self is that object, and so is what was built from it.
    for table, cells in new.entities.items():
        former = old.entities.get(table)
        if former:
            for pk, stored in cells.items():
                was = former.get(pk)
                if _equal(was, stored):
                    cells[pk] = was
    for key, result in new.results.items():
        if key in old.results and same_json(old.results[key], result):
            new.results[key] = old.results[key]


def _equal(left: Any, right: Any) -> bool:
    """Return whether two stored forms are equal records, or equal lists or maps of primary keys."""
    same_kind = type(left) is type(right) or (isinstance(left, list) and isinstance(right, list))
    if isinstance(left, Sentinel) or not same_kind or is_partial(left) is not is_partial(right):
        return False
    return same_json(record_of(left), record_of(right))


def _differences(old: ChangeSet | None, new: ChangeSet) -> set[Token]:
    if old is None:
        return tokens_of(new, _grown(new))
    tokens = tokens_of(old, _grown(old)) ^ tokens_of(new, _grown(new))
    for table, cells in new.entities.items():
        former = old.entities.get(table, {})
        tokens.update(("cell", table, pk) for pk, stored in cells.items() if former.get(pk) is not stored)
        tokens.update(("cell", table, pk) for pk in cells if old.times_of(table, pk) != new.times_of(table, pk))
    tokens.update(("key", key) for key, result in new.results.items() if old.results.get(key) is not result)
    tokens.update(("key", key) for key in new.key_metas)
    for place, entries in new.indexes.items():
        were = old.indexes.get(place, {})
        tokens.update(("index", *place, text) for text, pk in entries.items() if were.get(text) != pk)
    return tokens
