"""What a change makes stale: docs/reference/semantics.md, "What a change makes stale".

A change is a call of an endpoint with a side effect. What its response brings whole is certain, and so are the lists
that follow it; all else that it may have changed is stale. These rules hold for generated packages.
"""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from ..base.values import INVALID, UNDEFINED
from ..schema.notation import schema_of
from .freshness import record_path_of
from .marking import mark_lists, mark_record
from .reach import tables_of
from .staleness import EVERY_RECORD, StaleSet, paths_above

if TYPE_CHECKING:
    from .tables import EntityPath, ListBinding
    from .transaction import Transaction

_GONE: Final = frozenset({404, 409, 410, 412})
"""Answers to a change which say that its record is not what was known."""

_SERVER_ERROR: Final = 500


class ChangeEffects(NamedTuple):
    """The tables and records that a change touched, and what it makes stale."""

    tables: tuple[str, ...]
    records: frozenset[EntityPath]
    stale: StaleSet


def changed(tx: Transaction) -> ChangeEffects:
    """What a change makes stale whose response was written."""
    effects = _Effects(tx)
    return effects.of_response(tx.followed) if tx.request.rules.mutation.marks_changes else effects.done()


def failed(tx: Transaction, status: int | None) -> ChangeEffects:
    """What a change makes stale that got no response (None), or an error; after a 5xx it may have been made."""
    effects = _Effects(tx)
    if not tx.request.rules.mutation.marks_changes:
        return effects.done()
    if status is None or status >= _SERVER_ERROR:
        return effects.of_nothing(is_certain=False)
    if status in _GONE:
        effects.mark_named(existence=True)
    return effects.done()


def unread(tx: Transaction) -> ChangeEffects:
    """What a change makes stale that was made, and whose response could not be read."""
    effects = _Effects(tx)
    return effects.of_nothing(is_certain=True) if tx.request.rules.mutation.marks_changes else effects.done()


def gone(tx: Transaction) -> StaleSet:
    """What is stale because the address of a record was answered by 404 or 410."""
    effects = _Effects(tx, event=f"its record is not there: {tx.request.label}")
    if tx.request.rules.mutation.marks_changes:
        effects.mark_named(existence=True)
    return effects.stale


def elsewhere(tx: Transaction) -> ChangeEffects:
    """What a change makes stale in another store: all that it touched, as if its response had brought nothing."""
    effects = _Effects(tx)
    if tx.request.rules.mutation.marks_changes:
        effects.of_nothing(is_certain=False)
        effects.stale.lists.update(effects.tables)  # those of reads under way, too
    for table in effects.tables:
        for pk in tx.change.entities.get(table, ()):
            effects.mark_record((table, pk), existence=True)
    return effects.done()


class _Effects:
    def __init__(self, tx: Transaction, event: str | None = None) -> None:
        request, rules, writer = tx.request, tx.request.rules, tx.writer
        self._tx, self._request, self._writer = tx, request, writer
        self._siblings = rules.siblings
        item = None if rules.siblings is None else rules.siblings.item_schema
        own = tables_of(rules.schema)
        self.tables = own or tables_of(schema_of(item))
        self.stale = StaleSet(event or f"a change was sent since: {request.label}")
        creates = rules.schema is not None and rules.schema.is_creation
        named = [] if creates or not rules.mutation.marks_changes else tx.addressed
        self._named: list[EntityPath] = [(gone.schema.table_key, gone.pk) for gone in named]
        self._path = request.path

    def done(self, records: Iterable[EntityPath] = ()) -> ChangeEffects:
        if self.stale and self._request.rules.mutation.marks_changes:
            self.stale.errors.update(self.tables)
            self._mark_values()
        return ChangeEffects(self.tables, frozenset([*self._named, *records]), self.stale)

    # -- what is marked ------------------------------------------------------------------------------------------------

    def mark_record(self, cell: EntityPath, *, existence: bool) -> None:
        mark_record(self.stale, self._writer.underlying, cell, existence=existence)

    def mark_named(self, *, existence: bool) -> None:
        for cell in self._named:
            self.mark_record(cell, existence=existence)
            if existence:
                self._mark_subpaths(cell)

    def _mark_lists(self, table: str, followed: Sized[EntityPath]) -> None:
        """All lists of an entity are stale but those that followed the change."""
        mark_lists(self.stale, self._writer.underlying, table, followed=followed)

    def _mark_lists_of_nested(self, followed: Sized[EntityPath]) -> None:
        """The response may nest records of other entities that were not known: the change may have created them."""
        for table, written in self._writer.change.entities.items():
            is_new = table not in self.tables and any(
                stored is not INVALID and self._writer.underlying.get(table, pk) is UNDEFINED
                for pk, stored in written.items()
            )
            if is_new:
                self._mark_lists(table, followed)

    def _listings(self, table: str) -> list[ListBinding]:
        return self._writer.underlying.listings(table)

    def _mark_values(self) -> None:
        """Results that show no entity are stale, except below the path of another record."""
        siblings, schema = self._siblings, self._request.rules.schema
        if siblings is None:
            return
        gets = (siblings.get_request(*cell, self._writer.record_before(*cell)) for cell in self._named)
        records = {record_path_of(self._request, is_nested=False), *(None if get is None else get.path for get in gets)}
        records.discard(None)
        if not records and not (schema is not None and schema.is_creation):
            records.add(EVERY_RECORD)
        self.stale.values.update((siblings.resource, place) for place in (None, *records))

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def of_response(self, followed: Sized[EntityPath]) -> ChangeEffects:
        writer, schema = self._writer, self._request.rules.schema
        if schema is not None and schema.removes:
            return self._of_deletion()
        self._mark_lists_of_nested(followed)
        received = {
            (table, pk): stored for table in self.tables for pk, stored in writer.change.entities.get(table, {}).items()
        }
        gone = [cell for cell, stored in received.items() if stored is INVALID]
        present = [cell for cell, stored in received.items() if stored is not INVALID]
        for cell in gone:
            self._removed(cell)
        if not present:
            if not gone:
                return self.of_nothing(is_certain=True)
            self._same_address(gone=gone)
            return self.done(gone)
        whole = frozenset(cell for cell in present if self._writer.is_whole_in_response(*cell))
        for table in self.tables:
            if any(cell[0] == table for cell in whole):
                self._mark_lists(table, followed)
        is_creation = schema is not None and schema.is_creation
        for cell in [cell for cell in present if cell not in whole]:
            self.mark_record(cell, existence=is_creation or bool(gone))
        if schema is not None and schema.adds and not is_creation:
            for table in self.tables:
                self._mark_lists(table, ())
        for cell in [cell for cell in self._named if cell not in received]:
            self.mark_record(cell, existence=False)
        self._same_address(whole, followed, gone)
        return self.done(received)

    def of_nothing(self, *, is_certain: bool) -> ChangeEffects:
        """The response brought nothing, or there was none; where it is not `is_certain`, it may have removed."""
        schema = self._request.rules.schema
        if schema is not None and schema.removes and is_certain:
            return self._of_deletion()
        adds = schema is not None and schema.adds
        if self._named:
            self.mark_named(existence=adds or not is_certain)
            if not is_certain:
                self.stale.arguments.update(pk for _, pk in self._named)
        if adds:
            for table in self.tables:
                self._mark_lists(table, ())
        elif not self._named:
            self._all()
        self._same_address()
        return self.done()

    def _all(self) -> None:
        """The change names no record: it may have changed them all."""
        self.stale.tables.update(self.tables)
        for table in self.tables:
            self._mark_lists(table, ())
        if self._siblings is not None:
            self.stale.resources.add(self._siblings.resource)
        if self._path is not None:
            self.stale.trees.update(paths_above(self._path)[:1])  # it may have removed any of them

    def _of_deletion(self) -> ChangeEffects:
        deleted = [(schema.table_key, pk) for schema, pk in self._tx.deleted]
        for cell in deleted:
            self._removed(cell)
        if not deleted:
            self._all()
        self._same_address(gone=deleted)
        return self.done(deleted)

    def _removed(self, cell: EntityPath) -> None:
        """A record is gone: collections that it leaves stay fresh; all else that shows it, or is under it, is stale."""
        stale, (table, pk) = self.stale, cell
        stale.cells.add(cell)
        left = {listing.cell for listing in self._listings(table)}
        left.difference_update([listing.cell for listing in self._listings(table) if listing.is_page])
        mark_lists(stale, self._writer.underlying, table, followed=left)
        stale.arguments.add(pk)
        self._mark_subpaths(cell)

    def _mark_subpaths(self, cell: EntityPath) -> None:
        """Results under the path of a record that is gone, or may be, are stale."""
        get = None if self._siblings is None else self._siblings.get_request(*cell, self._writer.record_before(*cell))
        for path in (self._path, None if get is None else get.path):
            if path is not None:
                self.stale.trees.add(path)

    def _same_address(
        self, whole: Sized[EntityPath] = (), followed: Sized[EntityPath] = (), gone: Sized[EntityPath] = ()
    ) -> None:
        """What stands at the path of the change is stale, and so are the records at that path and above it.

        Exempt is what is certain: records that were brought whole or are `gone`, and lists that followed.
        """
        path = self._path
        if path is None:
            return
        stale, number = self.stale, self._writer.meta.fetched_at
        stale.paths.add(path)
        schema = self._request.rules.schema
        if not whole and not (schema is not None and schema.adds):
            stale.trees.add(path)  # nothing says what the call did: it may have changed what lies below
        at = self._records_at(path)
        own_key = None if self._siblings is None else self._siblings.item_key(self._request.args)
        if own_key is not None and at and all(cell in whole for cell in at):
            stale.spared[own_key] = number
        for listing in [listing for table in self.tables for listing in self._listings(table)]:
            if listing.cell in followed:
                meta = self._writer.underlying.key_meta(listing.key)
                stale.spared[listing.key] = number if meta is None else meta.number
        for cell in [*at, *(cell for place in paths_above(path) for cell in self._records_at(place))]:
            if cell not in whole and cell not in gone:
                self.mark_record(cell, existence=False)

    def _records_at(self, path: str) -> list[EntityPath]:
        return [] if self._siblings is None else [(model.key, pk) for model, pk in self._siblings.items_at(path)]
