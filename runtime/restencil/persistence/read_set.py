"""The cells that a read touches, found level by level without building objects, and those of them that are missing.

A `ReadSet` is a reader for schemas, so that it follows any schema that a read follows. It collects the requested cells
and opens them on demand, so that missing rows can be loaded in between, one level at a time.
"""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..base.values import INVALID, UNDEFINED, ReadOnlyList
from ..cache.denormalize import Tracer
from ..cache.reader import named_pk
from ..cache.tables import EMPTY
from ..schema.collection import Collection
from ..schema.entity import EntitySchema
from ..schema.protocol import Schema
from ..schema.stored import record_of
from .hydration import MOST_ABSENT
from .row_codec import kept_pks

if TYPE_CHECKING:
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath, State
    from ..storage.protocol import IndexEntry
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .schema_fingerprint import SchemaRegistry


Node: TypeAlias = EntitySchema | Collection


class References(NamedTuple):
    """References to cells of one table: their schema, and whether a stored value contained them."""

    node: Node
    from_storage: bool
    pks: Mapping[str, None]


class ReadSet(Tracer):
    """Collects the cells that a read of a state touches, one level of references after another.

    `loaded` has by table the primary keys of cells that were loaded from the storage.
    """

    def __init__(self, state: State, args: tuple[Any, ...], loaded: Mapping[str, set[str]]) -> None:
        super().__init__(state, args)
        self._loaded = loaded
        self._from_storage = False
        """Whether the visited value was loaded from the storage."""
        self._is_own = False
        """Whether a response of this process is read: what its records refer to shows as its key if it is unknown."""
        self._seen: dict[Node, set[str]] = {}
        self._next: dict[tuple[Node, bool], dict[str, None]] = {}
        """The references that are not opened yet."""
        self.requested: dict[str, dict[str, None]] = {}
        """By table, the primary keys whose presence was queried, without a reference to them."""
        self.index: dict[IndexEntry, None] = {}
        """The requested index entries."""
        self.whole: dict[str, None] = {}
        """The tables that were read completely."""

    # -- the walk ----------------------------------------------------------------------------------------------------

    def begin(self, schema: Schema, stored: object, *, from_storage: bool, is_own: bool) -> None:
        """Begin the walk at a stored value; `is_own` tells whether it is a response of this process."""
        self._from_storage, self._is_own = from_storage, is_own
        self.visit(schema, stored)

    @property
    def ahead(self) -> list[References]:
        """The references that were found since the last level."""
        return [References(node, from_storage, pks) for (node, from_storage), pks in self._next.items()]

    def next_level(self) -> list[References]:
        """Return the next level of references, for `open`."""
        level = self.ahead
        self._next = {}
        return level

    def open(self, references: References) -> list[str]:
        """Visit the values of cells; return the primary keys that are absent."""
        node = references.node
        table, get = node.table_key, self.state.get
        if not node.has_inside:
            return [pk for pk in references.pks if get(table, pk) is UNDEFINED]
        absent: list[str] = []
        found: dict[str, Any] = {}
        for pk in references.pks:
            stored = get(table, pk)
            if stored is UNDEFINED:
                absent.append(pk)
            elif stored is not INVALID:
                found[pk] = stored
        loaded: Any = EMPTY if self._is_own and not node.is_collection else self._loaded.get(table, EMPTY)
        self._from_storage = True
        self._inside(node, [record_of(stored) for pk, stored in found.items() if pk in loaded])
        self._from_storage = False
        self._inside(node, [record_of(stored) for pk, stored in found.items() if pk not in loaded])
        return absent

    @property
    def opened(self) -> Iterable[tuple[Node, Sized[str]]]:
        """All references, by their schema."""
        return self._seen.items()

    @property
    def touched(self) -> Iterator[EntityPath]:
        """All cells that were referred to or requested."""
        for table, pks in self.requested.items():
            yield from ((table, pk) for pk in pks)
        for node, seen in self._seen.items():
            yield from ((node.table_key, pk) for pk in seen)

    def _note(self, node: Node, pks: Iterable[str]) -> None:
        seen = self._seen.get(node)
        if seen is None:
            seen = self._seen[node] = set()
        new = dict.fromkeys(pk for pk in pks if pk not in seen)
        if new:
            seen.update(new)
            place = node, self._from_storage
            known = self._next.get(place)
            if known is None:
                self._next[place] = new
            else:
                known.update(new)

    def _inside(self, node: Node, stored: list[Any]) -> None:
        for schema, entries in node.inside(stored):
            self.items(schema, entries)

    # -- the reader for schemas ------------------------------------------------------------------------------------

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        return self.visit(schema, stored)

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """Visit values of one schema; primary keys are collected at once."""
        entity = None if schema is None else schema.entity
        if entity is not None:
            self._note(entity, [entry for entry in stored if type(entry) is str])
        for entry in stored:
            if entity is None or type(entry) is not str:
                self.visit(schema, entry)
        return ReadOnlyList()

    def entity(self, schema: EntitySchema, pk: Any) -> Any:
        if type(pk) is str:
            self._note(schema, (pk,))
        return UNDEFINED

    def collection(self, schema: Collection, pk: str) -> object:
        self._note(schema, (pk,))
        return UNDEFINED

    def stored(self, table: str, pk: str) -> Any:
        self.requested.setdefault(table, {})[pk] = None
        return self.state.get(table, pk)

    def by_index(self, table: str, field: str, value: str) -> str | None:
        self.index[table, field, value] = None
        return super().by_index(table, field, value)

    def table_exists(self, table: str) -> bool:
        self.whole[table] = None
        return self.state.has_table(table)


_OWN_PLACE: Final = (EntitySchema, Collection)
"""Schemas whose cell is usually determined by the arguments of a call."""


class Misses:
    """Finds rows and results that a read needs and memory does not know, and dangling references (locked)."""

    def __init__(
        self, store_state: StoreState, connection: StorageConnection, registry: SchemaRegistry, hydrator: Hydrator
    ) -> None:
        self._store_state = store_state
        self._connection = connection
        self._registry = registry
        self._hydrator = hydrator

    def misses_key(self, key: str, *, waits: bool) -> bool:
        """Whether the stored result of a key is unknown; see `of` for `waits`."""
        if key in self._connection.known.key_revs:
            return False
        base = self._store_state.base
        return waits or not (key in base.results or key in base.key_metas)

    def of(self, wanted: Iterable[tuple[str, Any, Iterable[str]]], *, waits: bool) -> dict[EntityPath, Any]:
        """Return the unknown cells of these tables, with their schemas.

        Without `waits`, as for a remote storage in an event loop, cells that memory has are used unchanged.
        """
        known, entities, secrets = self._connection.known.revs, self._store_state.base.entities, self._registry.secrets
        found: dict[EntityPath, Any] = {}
        for table, node, pks in wanted:
            revs = known.get(table, EMPTY)
            unknown = [pk for pk in pks if pk not in revs]
            if not unknown or not self._registry.keeps_table(table):
                continue
            held, is_whole = entities.get(table, EMPTY), table in self._hydrator.whole
            if is_whole or not waits:
                unknown = [pk for pk in unknown if (waits if pk in held else not is_whole)]
            found.update(dict.fromkeys([(table, pk) for pk in kept_pks(table, unknown, secrets)], node))
        return found

    def ahead(self, request: Request, *, waits: bool) -> dict[EntityPath, Any]:
        """Return the cell that the arguments of a read identify, which is loaded together with its result."""
        schema, store_state = request.rules.schema, self._store_state
        if not isinstance(schema, _OWN_PLACE):
            return {}
        if type(schema) is EntitySchema:  # (Benchmark: `cached()` of an entity, cold.)
            pk = named_pk(schema, request.args)
            if pk is not None:
                return self.of(((schema.table_key, schema, (pk,)),), waits=waits)
        walk = ReadSet(store_state.base, (), self._hydrator.loaded)
        try:
            with store_state.hooks:
                schema.query_key(request.rules.entity_args(request.args), walk)
        except Exception:
            return {}  # the read itself raises the error
        return self.of(((table, schema, pks) for table, pks in walk.requested.items()), waits=waits)

    def is_all(self, request: Request, cell: EntityPath) -> bool:
        """Whether a read needs only the cell that was loaded with its key: an entity without references.

        (Benchmark: `cached()` of an entity, cold.)
        """
        base, hydrator, key, (table, pk) = self._store_state.base, self._hydrator, request.key, cell
        schema = request.rules.schema
        if type(schema) is not EntitySchema or type(base.get(table, pk)) is not schema.model.cls:
            return False
        if base.results.get(key, pk) != pk or key in hydrator.validators:
            return False
        return self._store_state.shows_base and self._connection.known.rev(table, pk) is not None

    def of_index(self, wanted: Iterable[IndexEntry]) -> list[IndexEntry]:
        """Return the index entries that were not loaded yet."""
        found: list[IndexEntry] = []
        for entry in wanted:
            table, field, text = entry
            if (field, text) not in self._hydrator.indexed.get(table, ()) and self._registry.keeps_table(table):
                found.append(entry)
        return found

    def misses_whole(self, table: str) -> bool:
        """Whether a table may have stored rows that memory does not know."""
        return table not in self._hydrator.whole and self._registry.keeps_table(table)

    def has_dangling_reference(self, references: References, absent: list[str]) -> bool:
        """Whether a stored value refers to a row that is missing or incomplete."""
        node, from_storage, _ = references
        table, hydrator = node.table_key, self._hydrator
        if absent and not from_storage:  # a response of this process refers to rows that it did not contain
            if len(hydrator.dangling) > MOST_ABSENT:
                hydrator.dangling.clear()
            hydrator.dangling.update([(table, pk) for pk in absent])
        return from_storage and any(self._is_dangling(table, pk) for pk in absent)

    def _is_dangling(self, table: str, pk: str) -> bool:
        """Whether a stored reference to an absent row dangles because the row was lost or is unusable."""
        hydrator = self._hydrator
        if (table, pk) in hydrator.unusable or hydrator.has_earlier or not self._registry.keeps((table, pk)):
            return True
        if self._connection.known.rev(table, pk) is None and table not in hydrator.whole:
            return True
        info = hydrator.infos.get(table)
        return info is not None and info.incomplete and info.lost and (table, pk) not in hydrator.dangling

    def incomplete_lists(self, walk: ReadSet) -> list[EntityPath]:
        """Return the loaded lists of a read that have items whose rows were looked up and are missing or unusable."""
        known, get = self._connection.known, walk.state.get
        found: list[EntityPath] = []
        for node, seen in walk.opened:
            table = node.table_key
            for pk in self._hydrator.loaded.get(table, EMPTY) if node.is_collection else ():
                if pk not in seen:
                    continue
                items = ReadSet(walk.state, (), self._hydrator.loaded)
                items.open(References(node, True, {pk: None}))
                if any(
                    get(one.table_key, item) is UNDEFINED
                    and known.rev(one.table_key, item) is not None
                    and self._is_dangling(one.table_key, item)
                    for one, _, pks in items.ahead
                    for item in pks
                ):
                    found.append((table, pk))
        return found

    def is_dangling_in(self, table: str) -> bool:
        """Whether a list of all rows of a table would be incomplete."""
        hydrator = self._hydrator
        if table in hydrator.listed:
            return False
        if not self._registry.keeps_table(table):
            return False
        info, get = hydrator.infos.get(table), self._store_state.base.get
        if info is not None and info.incomplete:
            return True
        return any(cell[0] == table and get(*cell) is UNDEFINED for cell in hydrator.unusable)
