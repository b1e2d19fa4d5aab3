"""The read set: the cells that a read touches, found level by level without building objects.

A `ReadSet` is a reader for schemas, so that it follows any schema that a read follows. It collects the requested cells
and opens them on demand, so that missing rows can be loaded in between, one level at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..base.values import INVALID, UNDEFINED, ReadOnlyList
from ..cache.denormalize import Tracer
from ..cache.tables import EMPTY
from ..schema.collection import Collection as CollectionSchema
from ..schema.entity import EntitySchema
from ..schema.protocol import Schema
from ..schema.stored import record_of

if TYPE_CHECKING:
    from ..cache.tables import EntityPath, State
    from ..storage.protocol import IndexEntry

Node: TypeAlias = EntitySchema | CollectionSchema


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
    def opened(self) -> Iterable[tuple[Node, Collection[str]]]:
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

    def collection(self, schema: CollectionSchema, pk: str) -> object:
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
