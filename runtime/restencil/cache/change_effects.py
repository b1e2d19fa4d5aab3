"""The effects of mutations on freshness: docs/reference/semantics.md, "What a change makes stale".

A mutation is a call of an endpoint with a side effect. Complete records in its response are fresh, and so are the lists
that were updated with them; all other data that it may have changed becomes stale. These rules apply to generated
packages.
"""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from ..base.values import INVALID, text_of
from ..schema.collection import identity_of_text
from ..schema.entity import as_entity
from ..schema.stored import entries_of, entry_pk, is_collection, known_record
from .addressed import cell_of, entities_of, entities_of_creation, entity_of_result, entity_schema
from .marking import mark_lists, mark_record
from .staleness import ANY_RESOURCE, EVERY_RECORD, paths_above

if TYPE_CHECKING:
    from .request import Rules
    from .tables import EntityPath, ListBinding
    from .transaction import Transaction

_GONE: Final = frozenset({404, 409, 410, 412})
"""Response statuses of a mutation which mean that its stored record is outdated."""

_MANY: Final = 16
"""The number of records of one mutation from which on they share the mark of the results below their paths."""

SELF: Final = "self"
"""The name in `expires` of the entity that a mutation addresses."""


def changed(tx: Transaction) -> None:
    """Mark what a mutation makes stale whose response was written."""
    effects = _Effects(tx)
    effects.mark_expired()
    effects.note_changes()
    if effects.marks_changes:
        effects.of_response(tx.followed)
        effects.mark_values()


def failed(tx: Transaction, status: int | None) -> None:
    """Mark what a mutation makes stale that was refused with this status; None: the server may have processed it."""
    effects = _Effects(tx)
    if status is None:
        effects.mark_expired()
    if status is None or status in _GONE:
        effects.note_changes()
    if effects.marks_changes and (status is None or status in _GONE):
        if status is None or not named_cells(tx):  # a creation that conflicts shows that there is a record more
            effects.of_nothing(is_certain=False)
        else:
            effects.mark_named(existence=True)
        effects.mark_values()


def unread(tx: Transaction) -> None:
    """Mark what a successful mutation makes stale whose response could not be read."""
    effects = _Effects(tx)
    effects.mark_expired()
    effects.note_changes()
    if effects.marks_changes:
        effects.of_nothing(is_certain=True)
        effects.mark_values()


def gone(tx: Transaction) -> None:
    """Mark what becomes stale because a read had a 404 or 410 response, if its URL is that of a record."""
    siblings = tx.request.rules.siblings
    effects = _Effects(tx)
    if effects.marks_changes and siblings is not None and siblings.is_item(tx.request.url):
        tx.stale.event = f"its record does not exist: {tx.request.label}"
        effects.mark_named(existence=True)


def elsewhere(tx: Transaction) -> None:
    """Mark what a mutation makes stale in another store: all data that it touched, as if the response was empty."""
    effects = _Effects(tx)
    effects.mark_expired()
    effects.note_changes()
    if effects.marks_changes:
        effects.of_nothing(is_certain=False)
        effects.mark_values()
        tx.stale.lists.update(effects.tables)  # also lists whose requests are in flight
    written = [(table, pk) for table, records in tx.change.entities.items() for pk in records]
    lists = [cell for cell in written if is_collection(cell[0])]
    for cell in [*(cell for cell in written if not is_collection(cell[0])), *effects.left_out(lists)]:
        effects.mark_record(cell, existence=True)


def named_cells(tx: Transaction) -> list[EntityPath]:
    """Return the records that a request names; none if it creates records, or marks no changes."""
    rules = tx.request.rules
    creates = rules.schema is not None and rules.schema.is_creation
    return [] if creates or not rules.mutation.marks_changes else [*map(cell_of, tx.addressed)]


def tables_changed(rules: Rules) -> tuple[str, ...]:
    """Return the entities that requests of an endpoint change: those of its response, or else of its resource."""
    return rules.tables or rules.item_tables


def entities_changed(rules: Rules) -> set[str]:
    """Return the entities whose records requests of an endpoint may change or delete.

    None for a creation: items that it adds to a list only move others to later pages. Endpoints that are written by
    hand may change any, although they set no other marks.
    """
    is_creation = rules.schema is not None and rules.schema.is_creation
    changes_nothing = rules.strict and not rules.mutation.marks_changes
    return set() if is_creation or changes_nothing else {*rules.tables, *rules.item_tables}


def _moved(listing: ListBinding, before: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Return whether a field of a record has the value of a list's argument of that name only before, or only now."""
    arguments = identity_of_text(listing.cell[1])
    return any(
        name in now and (text_of(before.get(name)) == text_of(value)) is not (text_of(now[name]) == text_of(value))
        for name, value in arguments.items()
    )


class _Place(NamedTuple):
    """A path, with the records whose `get` has it."""

    path: str
    records: list[EntityPath]
    unknown: list[str]
    """The tables of such records that the path does not identify."""
    is_item: bool
    """Whether one of them is a record of the resource of the mutation."""
    has_other_paths: bool
    """Whether that record may have other paths, as this one does not contain its primary key."""


class _Effects:
    def __init__(self, tx: Transaction) -> None:
        request, rules, writer = tx.request, tx.request.rules, tx.writer
        self._tx, self._request, self._writer = tx, request, writer
        self._siblings = rules.siblings
        self.tables = tables_changed(rules)
        self.marks_changes = rules.mutation.marks_changes
        self._stale, self._path = tx.stale, request.path
        self._named = named_cells(tx)

    # -- marks ---------------------------------------------------------------------------------------------------------

    def mark_expired(self) -> None:
        """Mark what `expires` names: reads, requested or not, and with `self` the addressed record and its `get`."""
        names, siblings, request = self._request.rules.mutation.expires, self._siblings, self._request
        if siblings is None or not names:
            return
        if SELF in names:
            self._stale.cells.update(map(cell_of, self._tx.addressed))
            if request.item_key is not None:
                self._stale.keys.add(request.item_key)
        others = [name for name in names if name != SELF]
        places, tables = siblings.expired_reads(request.args, others, request.locator)
        self._stale.reads |= places
        self._stale.tables |= tables
        self._stale.changes |= tables

    def note_changes(self) -> None:
        """Note the entities whose records may have been changed or deleted; a creation may replace one."""
        writer, entities = self._writer, entities_changed(self._request.rules)
        written = writer.change.entities
        if entities:
            self._stale.changes.update(entities, (table for table in written if not is_collection(table)))
        for table in self.tables:
            if any(writer.record_before(table, pk) is not None for pk in written.get(table, ())):
                self._stale.changes.add(table)

    def mark_record(self, cell: EntityPath, *, existence: bool) -> None:
        may_be_new = self._writer.record_before(*cell) is None
        is_unidentified = cell[0] in self._unidentified  # lists may contain it without its primary key
        existence = existence or may_be_new or is_unidentified
        mark_record(self._stale, self._writer.underlying, cell, existence=existence)

    @cached_property
    def _unidentified(self) -> set[str]:
        """The tables of the entities whose records may have no primary key."""
        rules = self._request.rules
        entities = [*entities_of(rules.resource_item), *entities_of(rules.schema)]
        return {schema.table_key for schema in entities if schema.model.pk_optional}

    def mark_named(self, *, existence: bool) -> None:
        """Mark the records that the mutation names, and the results below their paths."""
        for cell in self._named:
            self.mark_record(cell, existence=existence)
        self._mark_subpaths(self._named)

    def _mark_lists(self, table: str, followed: Sized[EntityPath]) -> None:
        """Mark all lists of an entity as stale, except those that were updated with the mutation."""
        mark_lists(self._stale, self._writer.underlying, table, followed=followed)

    def _mark_nested(self, followed: Sized[EntityPath]) -> None:
        """Mark what records of other entities in the response, new, changed or left out, may have joined or left."""
        writer = self._writer
        entities = writer.change.entities
        received = {(table, pk) for table, written in entities.items() if is_collection(table) for pk in written}
        known = {*followed, *received}
        for table, written in entities.items():
            if table in self.tables or is_collection(table):
                continue
            if not writer.is_certain:
                for pk in written:
                    self.mark_record((table, pk), existence=False)
            records = [(writer.record_before(table, pk), known_record(stored)) for pk, stored in written.items()]
            if any(before is None and record is not None for before, record in records):
                self._mark_lists(table, known)
                continue
            changes = [(before, now) for before, now in records if before is not None and now is not None]
            left = [one.cell for one in self._listings(table) if any(_moved(one, *change) for change in changes)]
            self._stale.cells.update(cell for cell in left if cell not in known)
        for cell in self.left_out(received):
            self._stale.cells.add(cell)  # the mutation has deleted or moved it
            self._mark_lists(cell[0], known)

    def left_out(self, received: Iterable[EntityPath]) -> Iterator[EntityPath]:
        """Yield the records that were in these lists before, and are neither there nor elsewhere in the response."""
        writer, reach = self._writer, self._request.rules.reach
        for table, pk in received:
            items = () if reach is None else reach.collections.get(table, ())
            if len(items) == 1:
                now = writer.change.entities[table][pk]
                elsewhere = writer.change.entities.get(items[0], {})
                before, kept = entries_of(writer.underlying.get(table, pk)), {entry_pk(one) for one in entries_of(now)}
                for one in {entry_pk(one) for one in before}.difference(kept, elsewhere):
                    if one is not None:
                        yield items[0], one

    def _listings(self, table: str) -> list[ListBinding]:
        return self._writer.underlying.listings(table)

    def mark_values(self) -> None:
        """Mark recorded errors as stale, and results without entities that are below no other record's path.

        Those above the path of the mutation are stale as well, whatever their resource.
        """
        self._stale.values.update((table, None) for table in self.tables)
        siblings, schema, resource = self._siblings, self._request.rules.schema, self._request.rules.resource
        if siblings is None or resource is None:
            return
        own = self._record_place
        known = () if own is None else own.records
        records = set[str]() if own is None else {EVERY_RECORD if own.has_other_paths else own.path}
        for cell in self._named:
            if cell not in known:
                records |= self._paths_of(cell, self._writer.record_before(*cell))
        if not records and not (schema is not None and schema.is_creation):
            records.add(EVERY_RECORD)
        self._stale.values.update((resource, place) for place in (None, *records))
        self._stale.values.update((ANY_RESOURCE, place.path) for place in self._above[1:])

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def of_response(self, followed: Sized[EntityPath]) -> None:
        writer, schema = self._writer, self._request.rules.schema
        if schema is not None and schema.removes:
            self._of_deletion()
            return
        self._mark_nested(followed)
        received = {
            (table, pk): stored for table in self.tables for pk, stored in writer.change.entities.get(table, {}).items()
        }
        gone = [cell for cell, stored in received.items() if stored is INVALID]
        present = [cell for cell, stored in received.items() if stored is not INVALID]
        self._mark_removed(gone)
        if not present:
            if gone:
                self._same_address(gone=gone)
            else:
                self.of_nothing(is_certain=True)
            return
        whole = frozenset(cell for cell in present if self._is_whole(cell))
        changed = {cell for cell in whole if cell in self._named and writer.record_before(*cell) is not None}
        # A list below a record that did not exist had a 404, or was empty; what else a creation changes is not known.
        self._mark_subtrees(whole if self._tx.is_created else whole - changed)
        for table in self.tables:
            if any(cell[0] == table for cell in whole):
                self._mark_lists(table, followed)
        is_creation = schema is not None and schema.is_creation
        self._mark_other_subtrees(whole, is_creation=is_creation or self._tx.is_created)
        uncertain = [cell for cell in present if cell not in whole]
        for cell in uncertain:
            self.mark_record(cell, existence=is_creation or self._tx.is_created or bool(gone))
        if schema is not None and schema.adds and not is_creation:
            for table in self.tables:
                self._mark_lists(table, ())
        missing = [cell for cell in self._named if cell not in received]
        for cell in missing:
            self.mark_record(cell, existence=False)
        self._mark_subpaths([*uncertain, *missing])
        if not self._named and not (schema is not None and (schema.adds or as_entity(schema) is not None)):
            self._all()  # a response with several records does not tell about others
            followed = ()
        self._same_address(whole, followed, gone)

    def _is_whole(self, cell: EntityPath) -> bool:
        """Return whether the response has all known fields of a record that the item of the resource declares.

        The response may be a summary of it: then the fields that it does not have may have changed as well.
        """
        if not self._writer.is_whole_in_response(*cell):
            return False
        before, received = self._writer.record_before(*cell), self._writer.record_in_response(*cell)
        if before is None or received is None:
            return True
        rules = self._request.rules
        for schema in entities_of(rules.resource_item):
            if schema.table_key == cell[0]:
                required = rules.required_fields(schema.model)
                if not required & before.keys() <= received.keys():
                    return False
        return True

    def of_nothing(self, *, is_certain: bool) -> None:
        """Mark what is stale without response data; if not `is_certain`, the server may not have applied it."""
        schema = self._request.rules.schema
        if schema is not None and schema.removes and is_certain:
            self._of_deletion()
            return
        adds = self._tx.is_created or (schema is not None and schema.adds)
        if self._named:
            self.mark_named(existence=adds or not is_certain)
            if not is_certain:
                self._stale.arguments.update(pk for _, pk in self._named)
            if schema is not None and schema.removes:
                self._stale.deletions.update(table for table, _ in self._named)
        if adds:
            for table in self.tables:
                self._mark_lists(table, ())
            sent = [*map(cell_of, entities_of_creation(self._request, self._writer))]
            self._stale.cells.update(sent)  # they may have existed, so that it replaced them
            self._mark_subtrees(sent)
            if not sent and self._path is not None:
                self._stale.values.add((ANY_RESOURCE, self._path))  # what was not found below the new record
            self._mark_other_paths()
        elif not self._named:
            self._all()
        self._same_address()

    def _all(self) -> None:
        """Mark all records, as the mutation identifies none."""
        self._stale.tables.update(self.tables)
        self._stale.deletions.update(self.tables)  # it may have deleted any of them
        for table in self.tables:
            self._mark_lists(table, ())
        if self._siblings is not None:
            self._stale.resources.add(self._siblings.resource)
        if self._path is not None:
            self._stale.trees.update(paths_above(self._path)[:-1][:1])  # `POST /import` is not about all of a host
            self._mark_other_paths()

    def _of_deletion(self) -> None:
        deleted = [*map(cell_of, self._tx.deleted)]
        self._mark_removed(deleted)
        if not deleted and self._named:
            self.mark_named(existence=True)
        elif not deleted:
            self._all()
        self._same_address(gone=deleted)

    def _mark_removed(self, cells: Sized[EntityPath]) -> None:
        """Mark what shows deleted records, or is below their paths, except collections that they were removed from."""
        stale = self._stale
        for table, pk in cells:
            stale.cells.add((table, pk))
            left = {listing.cell for listing in self._listings(table)}
            left.difference_update([listing.cell for listing in self._listings(table) if listing.is_page])
            mark_lists(stale, self._writer.underlying, table, followed=left)
            stale.arguments.add(pk)
            stale.deletions.add(table)
        self._mark_subpaths(cells)

    def _mark_subpaths(self, cells: Sized[EntityPath]) -> None:
        """Mark results below the paths of records, which may show something of them that the response did not."""
        if not cells:
            return
        self._mark_subtrees(cells)
        if self._path is not None:
            self._stale.trees.add(self._path)
        if self._record_place is not None and not set(cells).isdisjoint(self._named):
            self._stale.trees.add(self._record_place.path)
        self._mark_other_paths()

    def _mark_subtrees(self, cells: Iterable[EntityPath]) -> None:
        """Mark results below the paths of these records, and of their siblings if they are many."""
        writer, paths = self._writer, set[str]()
        for cell in cells:
            paths |= self._paths_of(cell, writer.record_before(*cell) or writer.record_in_response(*cell))
        self._mark_trees(paths)

    def _mark_trees(self, paths: set[str]) -> None:
        """Mark results at these paths and below; of many, at the paths above them."""
        if len(paths) > _MANY:  # a store keeps a limited number of marks, so many records share one
            paths = {above for path in paths for above in paths_above(path)[:1]}
        self._stale.trees |= paths

    def _paths_of(self, cell: EntityPath, record: Mapping[str, object] | None) -> set[str]:
        """Return the paths of the `get` of a record, of all resources."""
        gets = () if self._siblings is None else self._siblings.get_requests(*cell, record)
        return {get.path for get in gets if get.path is not None}

    def _same_address(
        self,
        whole: frozenset[EntityPath] = frozenset(),
        followed: Sized[EntityPath] = (),
        gone: Sized[EntityPath] = (),
    ) -> None:
        """Mark the results at the path of the mutation, and the records at that path and above it.

        Except records that were complete in the response or are deleted (`gone`), and lists that were updated.
        """
        path = self._path
        if path is None:
            return
        stale, number = self._stale, self._writer.meta.fetched_at
        stale.paths.add(path)
        schema = self._request.rules.schema
        if not whole and not (schema is not None and schema.adds):
            stale.trees.add(path)  # the effect of the call is unknown: it may have changed results below its path
        at = self._above[0].records if self._above else ()
        if at and whole.issuperset(at) and self._request.item_key is not None:
            stale.spared[self._request.item_key] = number
        for listing in [listing for table in self.tables for listing in self._listings(table)]:
            if listing.cell in followed:
                meta = self._writer.underlying.key_meta(listing.key)
                stale.spared[listing.key] = number if meta is None else meta.number
        for place in self._above:
            for cell in place.records:
                if cell not in whole and cell not in gone:
                    self.mark_record(cell, existence=False)
            for table in place.unknown if place.path != path else ():
                stale.tables.add(table)
                mark_lists(stale, self._writer.underlying, table, filtered_only=True)

    @cached_property
    def _above(self) -> list[_Place]:
        """The path of the mutation and those above it."""
        path, siblings = self._path, self._siblings
        found: list[_Place] = []
        if path is None or siblings is None:
            return found
        for place, requests in siblings.items_at([path, *paths_above(path)]).items():
            records: list[EntityPath] = []
            unknown: list[str] = []
            is_item = has_other_paths = False
            for get, named in requests:
                rules = get.rules
                returned = entity_of_result(entity_schema(rules.schema), self._writer.underlying.result(get.key))
                known = [*map(cell_of, returned)] or named
                records += known
                unknown += () if known else rules.tables
                if rules.resource == siblings.resource:
                    is_item = True
                    is_named = rules.reach is None or not rules.reach.unnamed
                    has_other_paths = bool(rules.params.path_names) and not is_named
            found.append(_Place(place, records, unknown, is_item, has_other_paths))
        return found

    @cached_property
    def _record_place(self) -> _Place | None:
        """The path of the resource's record that the path of the mutation is, or is below."""
        return next((place for place in self._above if place.is_item), None)

    def _mark_other_subtrees(self, cells: Sized[EntityPath], *, is_creation: bool) -> None:
        """Mark the results below the other paths, before and now, of records that are complete in the response."""
        if len(cells) > _MANY:
            self._mark_other_paths()
            return
        writer, paths = self._writer, set[str]()
        for cell in cells:
            before, now = writer.record_before(*cell), writer.record_in_response(*cell)
            if before is None and not is_creation:
                paths |= self._other_paths(cell[0], None)
            elif before != now:
                paths = paths.union(*(self._other_paths(cell[0], one) for one in (before, now) if one is not None))
        self._mark_trees(paths)

    def _mark_other_paths(self) -> None:
        """Mark the results below all paths of records of the resource that do not contain their primary key.

        Except for a read, whose own result is one of them: it would be requested without end.
        """
        if self._request.rules.side_effect:
            self._stale.trees.update(*(self._other_paths(table, None) for table in self.tables))

    def _other_paths(self, table: str, record: Mapping[str, object] | None) -> set[str]:
        """Return the paths of a record that do not contain its primary key; None: of any record."""
        siblings, path = self._siblings, self._path
        return set() if siblings is None or path is None else siblings.other_paths(table, path, record)
