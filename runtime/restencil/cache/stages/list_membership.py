"""The stages of lists: they update known lists after a mutation of their members, and extend lists by pages.

The arguments of a list are filters for its members. Arguments that are fields of the entity, or parameters of the
mutation, can be evaluated; a list with other arguments is left unchanged, and expires. When an entity joins or leaves a
list, its total is updated, and its pages become stale, as their items may have moved.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ...base.values import INVALID, UNDEFINED, is_dict, is_mapping, same_json
from ...schema.collection import (
    PagedCollection,
    append,
    find_collection,
    identity_of_text,
    list_result,
    matches_argument,
    search_text,
    without,
)
from ...schema.stored import entries_of, known_record
from ..tables import ListBinding, ResultMeta, Tables
from ..write_set import EditList
from .races import contents_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from ...schema.collection import Collection
    from ...schema.entity import EntitySchema
    from ...schema.protocol import Subject
    from ..tables import EntityPath, State
    from ..transaction import Transaction


def update_lists(tx: Transaction) -> None:
    """Update lists by the response of a mutation of their members.

    In generated packages, a list is updated exactly, by the response only, or becomes stale; optimistic responses and
    endpoints that are written by hand are lenient.
    """
    followed: set[EntityPath] = set()
    undecided: set[EntityPath] = set()
    is_exact = tx.request.rules.strict and type(tx.underlying) is Tables
    contradicted = cache(partial(_contradicted, tx.underlying))  # once for all records of the response
    schema = tx.request.rules.schema
    for subject in [*tx.renamed, *(() if schema is None else schema.subjects(tx.result))]:
        update = ExactListUpdate(tx, subject, contradicted) if is_exact else LenientListUpdate(tx, subject)
        update.run()
        followed |= update.followed
        undecided |= update.undecided
    tx.followed = followed - undecided


def _contradicted(underlying: State, path: EntityPath, schema: EntitySchema) -> frozenset[str]:
    """Return the arguments of a list that a record of it contradicts, as it has another value there.

    The server does not select by equality: the argument is an alias (`me`), a slug, or no filter at all (`size`).
    """
    stored = (
        underlying.get(schema.table_key, entry) for entry in entries_of(underlying.get(*path)) if type(entry) is str
    )
    records = [record for record in map(known_record, stored) if record is not None]
    return frozenset(
        name
        for name, value in identity_of_text(path[1]).items()
        if any(matches_argument(schema, name, value, record, {}) is False for record in records)
    )


def _always(pk: str) -> bool:
    return True


class _ListUpdate:
    """The update of the lists of one entity's table after a mutation of the entity."""

    def __init__(self, tx: Transaction, subject: Subject) -> None:
        self.tx, self.subject = tx, subject
        self.writer, self.change, self.underlying = tx.writer, tx.change, tx.underlying
        self.table = subject.schema.table_key
        self.was = tx.writer.record_before(self.table, subject.pk)
        self.now = tx.writer.stored_record(self.table, subject.pk)
        self.followed: set[EntityPath] = set()
        """The lists that are certainly equal to those of the server now."""
        self.undecided: set[EntityPath] = set()
        """The lists that may differ from those of the server."""
        args = tx.request.args
        self.params: Mapping[str, Any] = args[0] if args and is_mapping(args[0]) else {}

    def run(self) -> None:
        """Update all lists of the entity's table."""
        if self.now is None and self.was is None and self.underlying.get(self.table, self.subject.pk) is INVALID:
            return
        if not self.concerns_lists():
            return
        by_path: dict[EntityPath, list[ListBinding]] = {}
        for listing in self.underlying.listings(self.table):
            by_path.setdefault(listing.cell, []).append(listing)
        for path, listings in by_path.items():
            if listings[0].collection.follows:
                existing = self.writer.stored_collection(*path)
                if existing is not None:
                    self.update(path, existing, listings)
        siblings = self.tx.request.rules.siblings
        if self.now is not None and self.writer.write_set is not None and siblings is not None:
            self._update_stored(find_collection(siblings.list_schema))

    def concerns_lists(self) -> bool:
        """Return whether the mutation of the entity may change lists."""
        raise NotImplementedError

    def update(self, path: EntityPath, existing: object, listings: list[ListBinding]) -> None:
        """Updates one list, which these keys contain."""
        raise NotImplementedError

    def _update_stored(self, collection: Collection | None) -> None:
        """Record the lenient update of lists that are only in the storage."""
        entry = None if collection is None or not collection.follows else self.entry(collection)
        if collection is None or entry is None or self.table not in ListBinding(("", ""), collection, "", ()).entities:
            return

        def accepts(pk: str) -> bool:
            now = self.fits(collection, pk, self.now)
            return now is not None and (self.was is None or now is not self.fits(collection, pk, self.was))

        def change(pk: str, items: Any) -> Any:
            if not self.fits(collection, pk, self.now):
                return without(items, [entry])
            return items if collection.is_map else append(items, [entry])

        self.writer.note_joins(EditList(collection.table_key, None, accepts, change))

    def entry(self, collection: Collection) -> Any:
        """Return the entity as an item of a list; in a list of several entity classes, items contain their name."""
        item = collection.item
        return None if item is None else item.reference(self.subject.schema, self.subject.pk)

    def fits(self, collection: Collection, pk: str, record: Mapping[str, object] | None) -> bool | None:
        """Return whether a record belongs to a list; None if an argument of the list cannot be evaluated."""
        if collection.apart != self.subject.apart:
            return None  # its endpoint selects by more than its arguments
        fits: bool | None = True
        for name, value in identity_of_text(pk).items():
            if collection.non_filter_argument_keys(name):
                return None
            one = matches_argument(self.subject.schema, name, value, record, self.params)
            if one is None:
                return None
            fits = fits and one
        return fits and record is not None

    def add(self, path: EntityPath, existing: Any, entry: Any) -> None:
        """Add the entity to a list."""
        self._edit(path, existing, lambda items: append(items, [entry]))

    def remove(self, path: EntityPath, existing: object, entry: object) -> None:
        """Remove the entity from a list."""
        self._edit(path, existing, lambda items: without(items, [entry]))

    def _edit(self, path: EntityPath, existing: Any, change: Callable[[Any], Any]) -> None:
        def change_of(pk: str, items: object) -> Any:
            return change(items)

        self.writer.change_collection(*path, change(existing))
        self.writer.note_joins(EditList(*path, _always, change_of))

    def count(self, listings: list[ListBinding], moved: int) -> None:
        """Change the totals of a list by the number of members that it gained or lost."""
        change = self.change
        for listing in listings:
            meta = change.key_meta(listing.key)
            if moved and listing.total and meta is not None and not meta.invalidated:
                result = change.result(listing.key)
                if result is not UNDEFINED:
                    change.results[listing.key] = _counted(result, listing.total, moved)


class ExactListUpdate(_ListUpdate):
    """Updates lists by the values of the response only, if all their arguments filter exactly; others become stale."""

    def __init__(
        self, tx: Transaction, subject: Subject, contradicted: Callable[[EntityPath, EntitySchema], Container[str]]
    ) -> None:
        super().__init__(tx, subject)
        self._contradicted = contradicted

    def concerns_lists(self) -> bool:
        """Return whether the response contained the complete record, or deleted it."""
        return self.now is None or self.writer.is_whole_in_response(self.table, self.subject.pk)

    def update(self, path: EntityPath, existing: object, listings: list[ListBinding]) -> None:
        """Updates one list, which these keys contain."""
        first = listings[0]
        collection, entry = first.collection, self.entry(first.collection)
        before = self.underlying.get(*path)
        held = entry in entries_of(before)
        holds = held if existing is before else entry in entries_of(existing)
        record = None if self.now is None else self.writer.record_in_response(self.table, self.subject.pk)
        is_sorted, fits = self._fits_exactly(first, path[1], record)
        is_page = any(listing.is_page for listing in listings)
        # An unknown entity may be on another page; one that did not fit before comes from elsewhere.
        is_there = is_page and not self.subject.is_new and self._fits_exactly(first, path[1], self.was)[1] is not False
        if self.now is None:
            if holds:
                self.remove(path, existing, entry)
                holds = False
        elif fits is None or entry is None or (fits and collection.is_map and not (holds and self._is_unchanged())):
            self.undecided.add(path)  # the server may derive the keys of a map from any field
        elif fits and not holds and not is_there:
            self.add(path, existing, entry)
            holds = True
        elif holds and not fits:
            self.remove(path, existing, entry)
            holds = False
        (self.undecided if is_sorted or is_page else self.followed).add(path)
        # A value beside the list may depend on all records of the entity.
        self.tx.stale.keys.update(listing.key for listing in listings if listing.has_more)
        self.count(listings, int(holds) - int(held))

    def _is_unchanged(self) -> bool:
        """Return whether the response contained the record as it was known."""
        return self.was is not None and same_json(self.was, self.now)

    def _fits_exactly(
        self, listing: ListBinding, pk: str, record: Mapping[str, object] | None
    ) -> tuple[bool, bool | None]:
        """Return whether a list has arguments that sort it, and whether a record belongs to it; None: unknown."""
        collection = listing.collection
        if (record is None and self.now is not None) or collection.apart != self.subject.apart:
            return False, None  # the path of a list that is kept apart selects by more than the arguments
        is_sorted, fits = False, True
        for name, value in identity_of_text(pk).items():
            if collection.non_filter_argument_keys(name):
                is_sorted = True
                continue
            if listing.exact is not None and name not in listing.exact:
                return is_sorted, None
            one = matches_argument(self.subject.schema, name, value, record, self.params)
            is_contradicted = name in self._contradicted(listing.cell, self.subject.schema)
            if one is None or is_contradicted or (not one and self._contradicts_own(name, value)):
                return is_sorted, None
            fits = fits and one
        return is_sorted, fits and record is not None

    def _contradicts_own(self, name: str, value: object) -> bool:
        """Return whether the mutation has this argument, and its record another value that it did not change."""
        given = self.params.get(name)
        is_own = given is not None and search_text(given) == value
        return is_own and matches_argument(self.subject.schema, name, value, self.was, {}) is not True


class LenientListUpdate(_ListUpdate):
    """Updates lists whose arguments can be evaluated, by all known data of the entity; others expire."""

    def concerns_lists(self) -> bool:
        """Return whether the record has changed."""
        return self.was is None or self.now is None or not same_json(self.was, self.now)

    def update(self, path: EntityPath, existing: object, listings: list[ListBinding]) -> None:
        """Updates one list, which these keys contain."""
        collection = listings[0].collection
        was, now = self.fits(collection, path[1], self.was), self.fits(collection, path[1], self.now)
        entry = self.entry(collection)
        held, holds = entry in entries_of(self.underlying.get(*path)), entry in entries_of(existing)
        joins = self.now is not None and now and not was and not holds
        if now is None or was is None or (joins and (collection.is_map or entry is None)):
            # It is not known whether it belongs there, or at which place.
            self.count(listings, int(holds and self.now is not None) - int(held and self.was is not None))
            self._expire(listings, expires=True)
            return
        if joins:
            self.add(path, existing, entry)
        elif self.now is not None and holds and not now:
            self.remove(path, existing, entry)
        if self.was is None and not self.subject.is_new:
            # It was not known before: whether it was on the list of the server, only the server knows.
            self.count(listings, -1 if held and not now else 0)
            self._expire(listings, expires=(now and not held) or self.now is None)
        elif now is not was:
            self.count(listings, int(now) - int(was))
            self._expire(listings, expires=False)

    def _expire(self, listings: list[ListBinding], *, expires: bool) -> None:
        """Expire pages, and with `expires` also the lists; an optimistic response makes nothing stale."""
        change = self.change
        for listing in listings if type(self.underlying) is Tables else ():
            meta = change.key_meta(listing.key)
            is_page = isinstance(listing.collection, PagedCollection)
            if meta is not None and not meta.invalidated and (expires or is_page) and meta.expires_at > 1:
                change.key_metas[listing.key] = meta.with_expiry(1)


def _counted(result: object, path: tuple[str, ...], moved: int) -> object:
    """Return a result with the number at a path changed by `moved`."""
    if not path:
        return max(0, result + moved) if type(result) is int else result
    if not is_dict(result) or path[0] not in result:
        return result
    return {**result, path[0]: _counted(result[path[0]], path[1:], moved)}


def extend_list(tx: Transaction) -> None:
    """Update the list that a page belongs to.

    The list may become as fresh as its last page, unless it was made stale, or its last fetch failed. Data that was
    fetched after the page stays unchanged.
    """
    request, change, page = tx.request, tx.change, tx.result
    rules, write_set = request.rules, tx.writer.write_set
    assert rules.lists.list_key is not None
    key = rules.lists.list_key(*request.args)
    declared = list_result(rules.schema, page, request.args) if isinstance(page, dict) else UNDEFINED
    if write_set is not None:
        write_set.page = key
    stored, meta = change.result(key), change.key_meta(key)
    if stored is UNDEFINED or meta is None or meta.date > change.times.date:
        return
    if isinstance(stored, dict) and declared is not UNDEFINED:
        change.results[key] = declared
    if meta.error is not None or meta.expires_at <= 1:
        return
    if not rules.strict:
        change.key_metas[key] = ResultMeta(change.times, prev_expires_at=meta.expires_at, rules=meta.rules)
        return
    contents = contents_of(tx.writer)
    change.key_metas[key] = ResultMeta(
        meta.times.with_page(change.times),
        prev_expires_at=meta.expires_at,
        rules=meta.rules,
        contents=None if meta.contents is None or contents is None else meta.contents.joined(contents),
        is_complete=meta.is_complete and not tx.writer.referred,
        number=min(meta.number, change.times.fetched_at),
    )
