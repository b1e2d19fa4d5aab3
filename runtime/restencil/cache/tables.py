"""The state of a store as tables that are edited in place, and changes that are laid over them.

An *entity path* is `(table, pk)` of an entity or collection. `Tables` holds the base state. A `ChangeSet` holds what
one action writes and nothing else; it is committed as a whole when the action succeeded, or laid over the tables as an
optimistic layer. Both implement `State`, so normalization and reads work on either.
"""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ..base.values import INVALID, UNDEFINED, Meta, Sentinel, text_of
from ..schema.collection import PagedCollection, find_collection
from ..schema.stored import record_of
from .staleness import EntityPath as EntityPath
from .staleness import StaleMarks

if TYPE_CHECKING:
    from ..schema.protocol import EntityNode, Schema
    from .request import Request, Rules
    from .validators import Terms

WHOLE_TABLE: Final = ""
"""As a primary key: all entities of the table."""
_UNSAID: Final = frozenset({"contents", "is_complete", "number", "rules", "terms"})


EMPTY: Final[Mapping[str, Any]] = {}


class Whole(NamedTuple):
    """The response that last brought a record whole: its request's number, when it expires (ms), and its fields.

    Of a list that came from a storage, the response that brought its membership.
    """

    number: float
    """Marks are compared with it."""
    expires_at: float
    fields: AbstractSet[str]
    fetched_at: float
    """When that request was sent (ms): the number, but where another process has sent it."""
    later: Mapping[str, float] = EMPTY
    """Of later requests whose responses brought some of its fields, when these were sent."""


class Contents(NamedTuple):
    """What a response contained, each as primary keys by table."""

    received: Mapping[str, AbstractSet[str]]
    """The records and lists that were in it."""
    referred: Mapping[str, AbstractSet[str]]
    """The records to which it refers by their primary key alone."""

    def joined(self, other: Contents) -> Contents:
        """Return what this response and another one contained."""
        return Contents(_joined(self.received, other.received), _joined(self.referred, other.referred))


def _joined(
    one: Mapping[str, AbstractSet[str]], other: Mapping[str, AbstractSet[str]]
) -> Mapping[str, AbstractSet[str]]:
    return {table: one.get(table, frozenset()) | other.get(table, frozenset()) for table in {**one, **other}}


Shown: TypeAlias = "Mapping[EntityPath, Sized[EntityPath | None]]"
"""The records and lists that a result shows, each with those in which it stands; None for the result itself."""


class ResultMeta:
    """What the store knows of an endpoint's result besides the result: times in ms, error, invalidation."""

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
        """That of the request, which marks are compared with."""
        self.contents = contents
        """What the response contained; None if it does not matter."""
        self.is_complete = is_complete
        """Whether the response brought all that it refers to."""
        self.terms = terms
        """How long the data is good, as the server says it; None where it is not asked."""
        self.prev_expires_at = prev_expires_at
        self.error = error
        self.error_policy = error_policy
        self.invalidated = invalidated
        self.rules = rules
        """Those of the endpoint that was answered, as far as it is known here."""

    @property
    def times(self) -> Meta:
        """The three times of the response, in ms."""
        return Meta(self.fetched_at, self.date, self.expires_at)

    def with_expiry(self, expires_at: float, *, invalidated: bool | None = None) -> ResultMeta:
        """What is known with another expiry, in ms; of an invalidated key the error is forgotten."""
        # One by one, as many keys may change at once. (Benchmark: a look at every key.)
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
        """The members that are set, by their names."""
        members = {name: getattr(self, name) for name in self.__slots__ if name not in _UNSAID}
        return {name: value for name, value in sorted(members.items()) if value is not None and value is not False}


class State(Protocol):
    """The questions that a state answers."""

    def get(self, table: str, pk: str) -> Any:
        """What the table holds: a record, an instance that is one, a collection, INVALID, or UNDEFINED."""
        ...

    def meta(self, table: str, pk: str) -> Meta | None:
        """The times of an entity or collection."""
        ...

    def result(self, key: str) -> Any:
        """The normalized result of an endpoint key, or UNDEFINED."""
        ...

    def key_meta(self, key: str) -> ResultMeta | None:
        """The times, error and invalidation of an endpoint key."""
        ...

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """The primary key that an index holds for a value."""
        ...

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        """The index entries that lead to an entity, as field and value."""
        ...

    def pks(self, table: str) -> Iterator[str]:
        """The primary keys of a table in order of arrival."""
        ...

    def has_table(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        ...

    def listings(self, entity: str) -> list[ListBinding]:
        """The keys that hold lists of the entities of a table."""
        ...


class ListBinding(NamedTuple):
    """A key whose result holds a list, or a page of one: where it says how many there are in all, if it does."""

    cell: EntityPath
    collection: Any
    key: str
    total: tuple[str, ...]
    is_page: bool = False
    exact: frozenset[str] | None = None
    """The arguments that decide exactly what is in it; None: those that are fields of the entity."""
    has_more: bool = False
    """Whether the result has members beside its lists that say something of them, but for the total."""

    @property
    def entities(self) -> tuple[str, ...]:
        """The tables of its items."""
        item: Schema = self.collection.item
        return tuple(dict.fromkeys(one.table_key for one in item.entities.values()))


_LISTINGS: Final = 64
"""A list that is held under more keys than this is looked through for those that are gone."""


class Tables:
    """The base state: built from real data only, edited in place."""

    def __init__(self) -> None:
        self.entities: dict[str, dict[str, Any]] = {}
        self.metas: dict[str, dict[str, Meta]] = {}
        self.latest: dict[str, float] = {}
        """The last moment (ms) that anything in a table was fetched at: what is fetched later overtakes nothing."""
        self.results: dict[str, Any] = {}
        self.key_metas: dict[str, ResultMeta] = {}
        self.partial: dict[str, dict[str, Whole]] = {}
        """By table and primary key: the response that last brought a record whole, where the last one did not."""
        self.marks = StaleMarks()
        self.set_as: dict[EntityNode, None] = {}
        """The entities that values were set as, by users."""
        self.unstored: set[EntityPath | str] = set()
        """Cells and keys with something of answers that no storage and no dump has."""
        self.indexes: dict[str, dict[str, dict[str, str]]] = {}
        self.answered_lists: dict[EntityPath, tuple[Any, int, bool]] = {}
        """Lists as they were answered: what was stored, its length, and whether pages extended it since."""
        self._listings: dict[str, dict[EntityPath, dict[str, ListBinding]]] = {}
        """Under which keys the lists of a table's entities are held."""

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
        """The keys of all responses that are stored; that of an `All` leaves its times and no result."""
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

    def _note_listing(self, listing: ListBinding) -> None:
        for entity in listing.entities:
            keys = self._listings.setdefault(entity, {}).setdefault(listing.cell, {})
            if listing.key not in keys and len(keys) >= _LISTINGS:
                for key in [key for key in keys if key not in self.key_metas]:
                    del keys[key]
            keys[listing.key] = listing

    def differing(self, table: str, change: ChangeSet) -> list[EntityPath]:
        """The cells of a table that the change gives another value."""
        known = change.differing.get(table)
        if known is not None:
            return [(table, pk) for pk in known]
        stored = self.entities.get(table, EMPTY)
        return [(table, pk) for pk, value in change.entities[table].items() if stored.get(pk) is not value]

    def commit(self, change: ChangeSet) -> list[str]:
        """Takes a change over, whose dicts may become tables; returns those that are new or have more members."""
        extended: list[EntityPath] = []
        if change.pages:
            extended += (cell for cell in change.pages if self.as_answered(cell, self.get(*cell)) is not None)
        grown = [table for table, written in change.entities.items() if self._commit_table(table, written, change)]
        for cell in change.full_lists:
            self._note_whole(cell, is_extended=False)
        for cell in extended:
            self._note_whole(cell, is_extended=True)
        for listing in change.list_bindings:
            self._note_listing(listing)
        self._commit_whole(change)
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

    def _commit_whole(self, change: ChangeSet) -> None:
        """Takes over which responses last brought records whole."""
        for table, written in change.entities.items():
            wholes, partial = self.partial.get(table), change.partial.get(table, EMPTY)
            if wholes:
                for pk in written if len(written) < len(wholes) else [*wholes]:
                    if pk in written and pk not in partial:
                        wholes.pop(pk, None)
            if partial:
                self.partial.setdefault(table, {}).update(partial)

    def whole(self, table: str, pk: str) -> Whole | None:
        """The response that last brought a record whole, as far as its fields tell; None for no record."""
        stored = self.get(table, pk)
        if isinstance(stored, Sentinel):
            return None
        found = self.partial.get(table, EMPTY).get(pk)
        if found is not None:
            return found
        meta = self.metas[table][pk]
        return Whole(meta.fetched_at, meta.expires_at, record_of(stored).keys(), meta.fetched_at)

    def number(self, cell: EntityPath, meta: Meta) -> float:
        """The number of the request that last brought anything of a record, or a list, that has these times."""
        found = self.partial.get(cell[0], EMPTY).get(cell[1])
        return meta.fetched_at if found is None or found.number == found.fetched_at else found.number

    def _note_whole(self, cell: EntityPath, *, is_extended: bool) -> None:
        stored = self.get(*cell)
        self.answered_lists[cell] = stored, len(stored), is_extended

    def as_answered(self, cell: EntityPath, shown: Any) -> tuple[int, bool] | None:
        """The length of a list that shows what its answer, and pages since, had; whether there were any of those."""
        noted = self.answered_lists.get(cell)
        if noted is None or noted[0] is not shown or noted[1] != len(shown):
            return None
        return noted[1:]

    def _commit_table(self, table: str, written: dict[str, Any], change: ChangeSet) -> bool:
        """Takes over what is written to one table; whether that is new or has more members."""
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
        """Takes entities and collections out, with their times and what leads to them."""
        for table, pk in cells:
            for name, text in self.indexed(table, pk):
                self.indexes[table][name].pop(text, None)
            self.entities[table].pop(pk, None)
            self.partial.get(table, {}).pop(pk, None)
            self.answered_lists.pop((table, pk), None)
            if table[:1] in ("[", "{"):
                for lists in self._listings.values():
                    lists.pop((table, pk), None)
            self.metas[table].pop(pk, None)

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        """The index entries that lead to an entity, as field and value."""
        indexes = self.indexes.get(table)
        if not indexes:
            return []
        stored = self.get(table, pk)
        if isinstance(stored, Sentinel):  # what was deleted keeps its entries, and says nothing of them any more
            return [(name, text) for name, entries in indexes.items() for text, found in entries.items() if found == pk]
        record = record_of(stored)
        texts = [(name, text_of(record.get(name))) for name in indexes]
        return [(name, text) for name, text in texts if indexes[name].get(text) == pk]


class ChangeSet:
    """What one action writes, over the state that it was computed from.

    `times` are the action's; they are those of all that it writes, except where `metas` has others.
    """

    __slots__ = (
        "collections",
        "complete_tables",
        "differing",
        "entities",
        "full_lists",
        "indexes",
        "key_metas",
        "list_bindings",
        "metas",
        "pages",
        "partial",
        "results",
        "times",
        "underlying",
    )

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
        """The tables that it writes lists or maps of primary keys to, and no records."""
        self.differing: dict[str, list[str]] = {}
        """By table, the primary keys whose written value is not the stored object; other tables are compared.

        Benchmarks: merging into a full store; fetched again, 1 % of the records changed.
        """
        self.full_lists: dict[EntityPath, Any] = {}
        """Collections that the response is the whole of, with their schemas."""
        self.pages: dict[EntityPath, Any] = {}
        """Collections that the response is a page of, with their schemas."""
        self.partial: dict[str, dict[str, Whole]] = {}
        """By table and primary key: the response that last had the whole record, if that is not this one."""
        self.list_bindings: list[ListBinding] = []
        """What it says of keys that hold lists."""

    def over(self, underlying: State) -> ChangeSet:
        """This change over another state."""
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
        """The times of an entity or collection that it writes."""
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
        """The entities and collections that it writes."""
        return ((table, pk) for table, written in self.entities.items() for pk in written)

    def write(self, table: str, pk: str, stored: Any, meta: Meta) -> None:
        """Writes one entity or collection with its times."""
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
        """Makes the table known, whether or not anything is in it: the response was a list of all that it holds."""
        self.complete_tables.add(table)
        if table not in self.entities:
            self.entities[table] = {}

    def write_index(self, table: str, names: Iterable[str], pk: str, old: Any, new: Any) -> list[str]:
        """Keeps the index entries of a record that changes; returns the indexed fields that it does not have."""
        missing: list[str] = []
        was: Mapping[str, Any] = EMPTY if isinstance(old, Sentinel) else record_of(old)
        comes: Mapping[str, Any] = record_of(new)
        if old is INVALID:  # what was deleted kept its entries, so that who looks for it learns that it is gone
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
    """Records under which key a response contained lists."""
    rules = request.rules
    change.list_bindings += (binding_of(cell, collection, request) for cell, collection in change.full_lists.items())
    for cell, collection in change.pages.items():
        if isinstance(collection, PagedCollection):
            change.list_bindings.append(
                ListBinding(cell, collection, request.key, rules.lists.total, True, rules.lists.exact_filters)
            )


def binding_of(cell: EntityPath, collection: Any, request: Request) -> ListBinding:
    """The key of a request as the place of a list that is in its result."""
    rules = request.rules
    is_own = collection is find_collection(rules.schema)
    exact = rules.lists.exact_filters if is_own else None
    is_page, has_more = is_own and rules.lists.pages, is_own and _has_more(rules.schema, rules.lists.total)
    return ListBinding(cell, collection, request.key, rules.lists.total, is_page, exact, has_more)


def _has_more(schema: Schema | None, total: tuple[str, ...]) -> bool:
    """Whether an object has members beside its lists, other than the total."""
    return schema is not None and any((name,) != total for name in schema.plain_members)
