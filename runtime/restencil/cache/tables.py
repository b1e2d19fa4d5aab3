"""The state of a store: mutable tables, and change sets that are layered over them.

An *entity path* is `(table, pk)` of an entity or collection. `Tables` holds the base state. A `ChangeSet` holds the
writes of one action only; it is committed as a whole when the action succeeds, or used as an optimistic layer over the
tables. Both implement `State`, so normalization and reads work on either.
"""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ..base.values import INVALID, UNDEFINED, Meta, Sentinel, text_of
from ..schema.collection import PagedCollection, find_collection
from ..schema.stored import is_collection, record_of
from .staleness import EntityPath as EntityPath
from .staleness import StaleMarks

if TYPE_CHECKING:
    from ..base.freshness import Terms
    from ..schema.entity import EntitySchema
    from ..schema.protocol import Schema
    from .request import Request, Rules

WHOLE_TABLE: Final = ""
"""The primary key that represents all entities of a table."""
_UNSAID: Final = frozenset({"contents", "is_complete", "number", "rules", "terms"})


EMPTY: Final[Mapping[str, Any]] = {}


class Whole(NamedTuple):
    """The last response with a complete record: its request's number, its expiry (ms), and the record's fields.

    For a list that was loaded from a storage, the last response with its membership.
    """

    number: float
    """The request number, which is compared with stale marks."""
    expires_at: float
    fields: AbstractSet[str]
    fetched_at: float
    """When that request was sent (ms): the same as `number`, unless another process sent it."""
    later: Mapping[str, float] = EMPTY
    """When later requests were sent (ms) whose responses contained some of the fields, by field."""


class Contents(NamedTuple):
    """The records and lists of a response, as primary keys by table."""

    received: Mapping[str, AbstractSet[str]]
    """The records and lists that the response contained."""
    referred: Mapping[str, AbstractSet[str]]
    """The records that the response refers to by primary key only."""
    names_another: bool = False
    """Whether its record had another value in a field that its URL names, as this server does not compare them."""

    def joined(self, other: Contents) -> Contents:
        """Return the union of this and another response."""
        return Contents(_joined(self.received, other.received), _joined(self.referred, other.referred))


def _joined(
    one: Mapping[str, AbstractSet[str]], other: Mapping[str, AbstractSet[str]]
) -> Mapping[str, AbstractSet[str]]:
    return {table: one.get(table, frozenset()) | other.get(table, frozenset()) for table in {**one, **other}}


Shown: TypeAlias = "Mapping[EntityPath, Sized[EntityPath | None]]"
"""The records and lists that a result shows, each with those that contain it; None is the result itself."""


class ResultMeta:
    """The metadata of an endpoint's result: times in ms, error, invalidation."""

    __slots__ = (
        "contents",
        "date",
        "error",
        "error_policy",
        "expires_at",
        "fetched_at",
        "invalidated",
        "is_complete",
        "number",
        "prev_expires_at",
        "rules",
        "terms",
    )

    def __init__(
        self,
        meta: Meta,
        *,
        prev_expires_at: float | None = None,
        error: BaseException | None = None,
        error_policy: str | None = None,
        invalidated: bool = False,
        terms: Terms | None = None,
        rules: Rules | None = None,
        contents: Contents | None = None,
        is_complete: bool = False,
        number: float | None = None,
    ) -> None:
        self.fetched_at, self.date, self.expires_at = meta
        self.number = meta.fetched_at if number is None else number
        """The number of the request, which is compared with stale marks."""
        self.contents = contents
        """The records and lists of the response; None if they do not matter."""
        self.is_complete = is_complete
        """Whether the response contained all records that it refers to."""
        self.terms = terms
        """The lifetimes that the server declared; None if they are not used."""
        self.prev_expires_at = prev_expires_at
        self.error = error
        self.error_policy = error_policy
        self.invalidated = invalidated
        self.rules = rules
        """The rules of the endpoint; None if they are unknown in this process."""

    @property
    def times(self) -> Meta:
        """The three times of the response, in ms."""
        return Meta(self.fetched_at, self.date, self.expires_at)

    def with_expiry(self, expires_at: float, *, invalidated: bool | None = None) -> ResultMeta:
        """Return a copy with another expiry, in ms; if it becomes invalidated, without the error."""
        # Without the constructor, as many keys may change at once. (Benchmark: a look at every key.)
        made: ResultMeta = object.__new__(ResultMeta)
        made.fetched_at, made.date, made.expires_at = self.fetched_at, self.date, expires_at
        made.number, made.prev_expires_at = self.number, self.prev_expires_at
        made.error = None if invalidated else self.error
        made.error_policy = None if invalidated else self.error_policy
        made.invalidated = self.invalidated if invalidated is None else invalidated
        made.rules, made.contents, made.is_complete = self.rules, self.contents, self.is_complete
        made.terms = None if self.terms is None else self.terms._replace(fresh_until=expires_at)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the members that are set, by name."""
        members = {name: getattr(self, name) for name in self.__slots__ if name not in _UNSAID}
        return {name: value for name, value in sorted(members.items()) if value is not None and value is not False}


class State(Protocol):
    """The read interface of a state."""

    def get(self, table: str, pk: str) -> Any:
        """Return the stored value: a record or its instance, a collection, INVALID (deleted) or UNDEFINED (unknown)."""
        ...

    def meta(self, table: str, pk: str) -> Meta | None:
        """Return the times of an entity or collection; None if unknown."""
        ...

    def result(self, key: str) -> Any:
        """Return the normalized result of an endpoint key, or UNDEFINED."""
        ...

    def key_meta(self, key: str) -> ResultMeta | None:
        """Return the metadata of an endpoint key; None if unknown."""
        ...

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """Return the primary key that an index contains for a value; None if there is none."""
        ...

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        """Return the index entries of an entity, as field and value."""
        ...

    def pks(self, table: str) -> Iterator[str]:
        """Return the primary keys of a table in insertion order."""
        ...

    def has_table(self, table: str) -> bool:
        """Return whether anything was ever written to the table."""
        ...

    def listings(self, entity: str) -> list[ListBinding]:
        """Return the keys of results with lists of a table's entities."""
        ...


class ListBinding(NamedTuple):
    """The key of a result that contains a list or a page of one; `total` is the path of the total number of items."""

    cell: EntityPath
    collection: Any
    key: str
    total: tuple[str, ...]
    is_page: bool = False
    exact: frozenset[str] | None = None
    """The arguments that filter the list exactly; None: those that are fields of the entity."""
    has_more: bool = False
    """Whether the result has members besides its lists and their total."""

    @property
    def entities(self) -> tuple[str, ...]:
        """The tables of the list's items."""
        item: Schema = self.collection.item
        return tuple(dict.fromkeys(one.table_key for one in item.entities.values()))


_LISTINGS: Final = 64
"""The number of keys of a list from which on removed keys are looked for and forgotten."""


class Tables:
    """The base state: data without optimistic updates, edited in place."""

    def __init__(self) -> None:
        self.entities: dict[str, dict[str, Any]] = {}
        self.metas: dict[str, dict[str, Meta]] = {}
        self.latest: dict[str, float] = {}
        """By table, the latest fetch time (ms) of its contents: later responses need no check for newer data."""
        self.results: dict[str, Any] = {}
        self.key_metas: dict[str, ResultMeta] = {}
        self.partial: dict[str, dict[str, Whole]] = {}
        """By table and primary key, the last response with the complete record, if a later one contained a part."""
        self.marks = StaleMarks()
        self.set_as: dict[EntitySchema, None] = {}
        """The entity schemas of values that users set."""
        self.unstored: set[EntityPath | str] = set()
        """Cells and keys with data of responses that no storage or dump may contain."""
        self.indexes: dict[str, dict[str, dict[str, str]]] = {}
        self.answered_lists: dict[EntityPath, Any] = {}
        """The stored lists of full responses."""
        self._listings: dict[str, dict[EntityPath, dict[str, ListBinding]]] = {}
        """By table of entities and cell of a list: the keys of results that contain the list."""

    def get(self, table: str, pk: str) -> Any:
        found = self.entities.get(table)
        return UNDEFINED if found is None else found.get(pk, UNDEFINED)

    def meta(self, table: str, pk: str) -> Meta | None:
        found = self.metas.get(table)
        return None if found is None else found.get(pk)

    def result(self, key: str) -> Any:
        return self.results.get(key, UNDEFINED)

    def key_meta(self, key: str) -> ResultMeta | None:
        return self.key_metas.get(key)

    def _answered(self, key: str, meta: ResultMeta | None) -> bool:
        return key in self.results or (meta is not None and meta.error is None and not meta.invalidated)

    def answered_keys(self) -> list[str]:
        """Return the keys of all stored responses; the response of an `All` has only metadata and no result."""
        return [key for key in {**self.results, **self.key_metas} if self._answered(key, self.key_metas.get(key))]

    def by_index(self, table: str, field: str, value: str) -> str | None:
        return self.indexes.get(table, EMPTY).get(field, EMPTY).get(value)

    def pks(self, table: str) -> Iterator[str]:
        return iter(self.entities.get(table, EMPTY))

    def has_table(self, table: str) -> bool:
        return table in self.entities

    def listings(self, entity: str) -> list[ListBinding]:
        found = self._listings.get(entity)
        if not found:
            return []
        return [listing for keys in found.values() for listing in keys.values()]

    def note_listing(self, listing: ListBinding) -> None:
        """Note that a result contains a list."""
        for entity in listing.entities:
            keys = self._listings.setdefault(entity, {}).setdefault(listing.cell, {})
            if listing.key not in keys and len(keys) >= _LISTINGS:
                for key in [key for key in keys if key not in self.key_metas]:
                    del keys[key]
            keys[listing.key] = listing

    def differing(self, table: str, change: ChangeSet) -> list[EntityPath]:
        """Return the cells of a table whose value the change replaces."""
        known = change.differing.get(table)
        if known is not None:
            return [(table, pk) for pk in known]
        stored = self.entities.get(table, EMPTY)
        return [(table, pk) for pk, value in change.entities[table].items() if stored.get(pk) is not value]

    def commit(self, change: ChangeSet) -> list[str]:
        """Apply a change, whose dicts may become tables; return the tables that are new or have more members."""
        grown = [table for table, written in change.entities.items() if self._commit_table(table, written, change)]
        for cell in change.full_lists:
            self.answered_lists[cell] = self.get(*cell)
        for cell in change.pages:  # also of an empty page, which shows that the list has ended
            self.answered_lists.pop(cell, None)
        for listing in change.list_bindings:
            self.note_listing(listing)
        self.results.update(change.results)
        self.key_metas.update(change.key_metas)
        for (table, name), entries in change.indexes.items():
            index = self.indexes.setdefault(table, {}).setdefault(name, {})
            for text, found in entries.items():
                if found is None:
                    index.pop(text, None)
                else:
                    index[text] = found
        return grown

    def whole(self, table: str, pk: str) -> Whole | None:
        """Return the last response with the complete record, as far as known; None if there is no record, or a list."""
        stored = self.entities.get(table, EMPTY).get(pk)
        if stored is None or isinstance(stored, Sentinel | list):
            return None
        found = self.partial.get(table, EMPTY).get(pk)
        if found is not None:
            return found
        meta = self.metas[table][pk]
        return Whole(meta.fetched_at, meta.expires_at, record_of(stored).keys(), meta.fetched_at)

    def number(self, cell: EntityPath, meta: Meta) -> float:
        """Return the number of the last request whose response contained part of a record or list with these times."""
        found = self.partial.get(cell[0], EMPTY).get(cell[1])
        return meta.fetched_at if found is None or found.number == found.fetched_at else found.number

    def whole_number(self, cell: EntityPath, meta: Meta) -> float:
        """Return the number of the last request whose response contained a list, or the complete record."""
        whole = None if is_collection(cell[0]) else self.whole(*cell)
        return self.number(cell, meta) if whole is None else whole.number

    def length_in_response(self, cell: EntityPath, shown: Any) -> int | None:
        """Return the length of a list in its full response; None without one, or if the `shown` list differs."""
        noted = self.answered_lists.get(cell)
        return len(noted) if noted is not None and noted is shown else None

    def _commit_table(self, table: str, written: dict[str, Any], change: ChangeSet) -> bool:
        """Apply the writes to one table; return whether it is new or has more members."""
        wholes, partial = self.partial.get(table), change.partial.get(table, EMPTY)
        if wholes:
            for pk in written if len(written) < len(wholes) else [*wholes]:
                if pk in written and pk not in partial:
                    wholes.pop(pk, None)
        if partial:
            self.partial.setdefault(table, {}).update(partial)
        times = dict.fromkeys(written, change.times)
        latest = change.times.fetched_at
        others = change.metas.get(table)
        if others:
            times.update(others)
            latest = max(meta.fetched_at for meta in times.values())
        stored = self.entities.get(table)
        if stored is None:
            self.entities[table], self.metas[table], self.latest[table] = written, times, latest
            return True
        self.metas[table].update(times)
        if latest > self.latest[table]:
            self.latest[table] = latest
        known = change.differing.get(table)
        if known is not None:
            written = {pk: written[pk] for pk in known}
        size = len(stored)
        stored.update(written)
        return len(stored) != size

    def remove(self, cells: Iterable[EntityPath]) -> None:
        """Remove entities and collections with their times and index entries."""
        for table, pk in cells:
            for name, text in self.indexed(table, pk):
                self.indexes[table][name].pop(text, None)
            self.entities[table].pop(pk, None)
            self.partial.get(table, {}).pop(pk, None)
            self.answered_lists.pop((table, pk), None)
            if is_collection(table):
                for lists in self._listings.values():
                    lists.pop((table, pk), None)
            self.metas[table].pop(pk, None)

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        """Return the index entries of an entity, as field and value."""
        indexes = self.indexes.get(table)
        if not indexes:
            return []
        stored = self.get(table, pk)
        if isinstance(stored, Sentinel):  # a deleted entity keeps its entries, but not its fields
            return [(name, text) for name, entries in indexes.items() for text, found in entries.items() if found == pk]
        record = record_of(stored)
        texts = [(name, text_of(record.get(name))) for name in indexes]
        return [(name, text) for name, text in texts if indexes[name].get(text) == pk]


class ChangeSet:
    """The writes of one action, over the state that they were computed from.

    `times` are the times of the action, and of everything that it writes without times of its own in `metas`.
    """

    def __init__(self, underlying: State, times: Meta) -> None:
        self.underlying = underlying
        self.times = times
        self.entities: dict[str, dict[str, Any]] = {}
        self.metas: dict[str, dict[str, Meta]] = {}
        self.results: dict[str, Any] = {}
        self.key_metas: dict[str, ResultMeta] = {}
        self.indexes: dict[tuple[str, str], dict[str, str | None]] = {}
        self.complete_tables: set[str] = set()
        self.collections: set[str] = set()
        """The written tables that contain lists or maps of primary keys instead of records."""
        self.differing: dict[str, list[str]] = {}
        """By table, the primary keys whose written value is not the stored object; other tables are compared.

        Benchmarks: merging into a full store; fetched again, 1 % of the records changed.
        """
        self.full_lists: dict[EntityPath, Any] = {}
        """The collections that the response contains completely, with their schemas."""
        self.pages: dict[EntityPath, Any] = {}
        """The collections that the response contains a page of, with their schemas."""
        self.partial: dict[str, dict[str, Whole]] = {}
        """By table and primary key, the last response with the complete record, if it is not this one."""
        self.list_bindings: list[ListBinding] = []
        """The new bindings of lists to keys."""

    def over(self, underlying: State) -> ChangeSet:
        """Return this change over another state."""
        moved = ChangeSet(underlying, self.times)
        moved.entities, moved.metas, moved.indexes = self.entities, self.metas, self.indexes
        moved.results, moved.key_metas, moved.partial = self.results, self.key_metas, self.partial
        return moved

    def get(self, table: str, pk: str) -> Any:
        found = self.entities.get(table)
        if found is not None:
            stored = found.get(pk, UNDEFINED)
            if stored is not UNDEFINED:
                return stored
        return self.underlying.get(table, pk)

    def meta(self, table: str, pk: str) -> Meta | None:
        if pk in self.entities.get(table, EMPTY):
            return self.times_of(table, pk)
        return self.underlying.meta(table, pk)

    def times_of(self, table: str, pk: str) -> Meta:
        """Return the times of a written entity or collection."""
        found: Meta = self.metas.get(table, EMPTY).get(pk, self.times)
        return found

    def result(self, key: str) -> Any:
        return self.results[key] if key in self.results else self.underlying.result(key)

    def key_meta(self, key: str) -> ResultMeta | None:
        return self.key_metas[key] if key in self.key_metas else self.underlying.key_meta(key)

    def by_index(self, table: str, field: str, value: str) -> str | None:
        written = self.indexes.get((table, field), EMPTY)
        if value in written:
            found: str | None = written[value]
            return found
        return self.underlying.by_index(table, field, value)

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        written = {name: entries for (other, name), entries in self.indexes.items() if other == table}
        own = [(name, value) for name, entries in written.items() for value, found in entries.items() if found == pk]
        underlying = self.underlying.indexed(table, pk)
        return [*own, *((name, value) for name, value in underlying if value not in written.get(name, EMPTY))]

    def pks(self, table: str) -> Iterator[str]:
        underlying = self.underlying
        written = self.entities.get(table)
        if written is None:
            return underlying.pks(table)
        return self._joined(underlying, table, written)

    @staticmethod
    def _joined(underlying: State, table: str, written: Mapping[str, Any]) -> Iterator[str]:
        yield from underlying.pks(table)
        for pk in written:
            if underlying.get(table, pk) is UNDEFINED:
                yield pk

    def has_table(self, table: str) -> bool:
        return table in self.entities or self.underlying.has_table(table)

    def listings(self, entity: str) -> list[ListBinding]:
        return self.underlying.listings(entity)

    def cells(self) -> Iterable[EntityPath]:
        """Iterate over the paths of the written entities and collections."""
        return ((table, pk) for table, written in self.entities.items() for pk in written)

    def write(self, table: str, pk: str, stored: object, meta: Meta) -> None:
        """Write one entity or collection with its times."""
        written = self.entities.get(table)
        if written is None:
            self.entities[table] = {pk: stored}
        else:
            written[pk] = stored
            self.differing.pop(table, None)
        if meta is not self.times:
            self.metas.setdefault(table, {})[pk] = meta
        elif table in self.metas:
            self.metas[table].pop(pk, None)

    def open_table(self, table: str) -> None:
        """Create a table, even if it is empty, because the response was the complete list of its entities."""
        self.complete_tables.add(table)
        if table not in self.entities:
            self.entities[table] = {}

    def write_index(self, table: str, names: Iterable[str], pk: str, old: object, new: object) -> list[str]:
        """Update the index entries of a changed record; return the indexed fields that it does not have."""
        missing: list[str] = []
        was: Mapping[str, Any] = EMPTY if isinstance(old, Sentinel) else record_of(old)
        comes: Mapping[str, Any] = record_of(new)
        if old is INVALID:  # a deleted entity kept its entries, so that lookups find that it is deleted
            for name, value in self.indexed(table, pk):
                self.indexes.setdefault((table, name), {})[value] = None
        for name in names:
            before, after = was.get(name), comes.get(name)
            entries = self.indexes.setdefault((table, name), {})
            if before is not None and before != after and self.by_index(table, name, text_of(before)) == pk:
                entries[text_of(before)] = None
            if after is None:
                missing.append(name)
            else:
                entries[text_of(after)] = pk
        return missing


# -- which lists the result of a key contains --------------------------------------------------------------------------


def bind_lists(change: ChangeSet, request: Request) -> None:
    """Record the key of a response that contained lists."""
    rules = request.rules
    change.list_bindings += (binding_of(cell, collection, request) for cell, collection in change.full_lists.items())
    for cell, collection in change.pages.items():
        if isinstance(collection, PagedCollection):
            change.list_bindings.append(
                ListBinding(cell, collection, request.key, rules.lists.total, True, rules.lists.exact_filters)
            )


def binding_of(cell: EntityPath, collection: object, request: Request) -> ListBinding:
    """Return the binding of a list to the key of the request whose result contains it."""
    rules = request.rules
    is_own = collection is find_collection(rules.schema)
    exact = rules.lists.exact_filters if is_own else None
    total = rules.lists.total if is_own else ()  # a nested list is not what the total counts
    is_page = is_own and rules.lists.pages
    return ListBinding(cell, collection, request.key, total, is_page, exact, _has_more(rules.schema, total))


def _has_more(schema: Schema | None, total: tuple[str, ...]) -> bool:
    """Return whether an object has members besides its lists and the total."""
    return schema is not None and any(path != total for path in schema.plain_members)
