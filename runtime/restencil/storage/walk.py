"""What a read touches: a walk through schemas and what is stored, level by level, that builds nothing.

A `Walk` is handed to schemas as their reader, so it follows any schema that a read follows. It notes what it is asked
for and opens it when it is told to: so what is not known yet can be loaded in between, all of a level at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.errors import RestencilError
from ..base.values import UNDEFINED, ReadOnlyList, Sentinel, is_mapping, text_of
from ..schema.entity import EntitySchema
from ..schema.notation import Conversion
from ..schema.protocol import CollectionNode, EntityNode, Schema
from ..schema.stored import record_of

if TYPE_CHECKING:
    from ..cache.tables import Cell, State
    from .protocol import IndexEntry

Reference: TypeAlias = "tuple[EntityNode | CollectionNode, str, bool]"
"""What refers to a cell: as what it is read, its primary key, and whether the referring value came from the storage."""


class Walk:
    """Notes what a read of a state touches, one level of references after another."""

    def __init__(self, state: State, args: tuple[Any, ...], is_loaded: Callable[[str, str], bool]) -> None:
        self.state = state
        self.args = args
        self.asking: set[int] = set()
        """The objects whose query keys are being asked for."""
        self._is_loaded = is_loaded
        self._from_storage = False
        """Whether the value that is being walked through came from the storage."""
        self._seen: set[tuple[Schema, str]] = set()
        self.next: list[Reference] = []
        """What was referred to and not opened yet."""
        self.asked: dict[Cell, None] = {}
        """The cells that were asked for without being referred to: whether there is such an entity."""
        self.index: dict[IndexEntry, None] = {}
        """The index entries that were asked for."""
        self.whole: dict[str, bool] = {}
        """The tables of which all was asked for; whether by a value that came from the storage."""

    # -- the way -----------------------------------------------------------------------------------------------------

    def begin(self, schema: Schema, stored: Any, *, from_storage: bool) -> None:
        """The walk begins at a stored value."""
        self._from_storage = from_storage
        self.visit(schema, stored)

    def turn(self) -> list[Reference]:
        """The next level: what was referred to since the last one was asked for."""
        level, self.next = self.next, []
        return level

    def open(self, reference: Reference) -> Any:
        """Walks through what lies in a cell, and gives it."""
        schema, pk, _ = reference
        table = schema.table_key
        stored = self.state.get(table, pk)
        if isinstance(stored, Sentinel):
            return stored
        self._from_storage = self._is_loaded(table, pk)
        if isinstance(schema, EntitySchema):
            self._relations(schema, record_of(stored))
        elif isinstance(schema, CollectionNode):
            self._guarded(schema.opened, stored, self)
        return stored

    @property
    def touched(self) -> Iterator[Cell]:
        """All cells that were referred to or asked for."""
        yield from self.asked
        for schema, pk in self._seen:
            if isinstance(schema, EntityNode | CollectionNode):
                yield schema.table_key, pk

    def _note(self, schema: EntityNode | CollectionNode, pk: Any) -> None:
        if type(pk) is str and (schema, pk) not in self._seen:
            self._seen.add((schema, pk))
            self.next.append((schema, pk, self._from_storage))

    def _relations(self, schema: EntitySchema, record: Any) -> None:
        if is_mapping(record):
            for relation in schema.model.relations:
                entry = record.get(relation.in_json)
                if entry is not None:
                    self.visit(relation.node, entry)

    def _guarded(self, follow: Callable[..., Any], *args: Any) -> None:
        """What does not convert is said when it is read."""
        try:
            follow(*args)
        except RestencilError:
            pass

    # -- a reader: what schemas ask --------------------------------------------------------------------------------

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        return self.visit(schema, stored)

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        if schema is None or stored is None or isinstance(stored, Sentinel) or isinstance(schema, Conversion):
            return UNDEFINED
        if isinstance(schema, EntitySchema) and type(stored) is str:
            self._note(schema, stored)
        else:
            self._guarded(schema.denormalize, stored, self)
        return UNDEFINED

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        for entry in stored:
            self.visit(schema, entry)
        return ReadOnlyList()

    def entity(self, schema: EntityNode, pk: Any) -> Any:
        self._note(schema, pk)
        return UNDEFINED

    def entity_from_record(self, schema: EntityNode, record: Mapping[str, Any]) -> Any:
        if isinstance(schema, EntitySchema):
            self._relations(schema, record)
        return UNDEFINED

    def collection(self, schema: CollectionNode, pk: str) -> Any:
        self._note(schema, pk)
        return UNDEFINED

    def computed(self, schema: Schema, value: Any, compute: Callable[[], Any]) -> Any:
        return UNDEFINED

    def has(self, table: str, pk: str) -> bool:
        self.asked[table, pk] = None
        return self.state.get(table, pk) is not UNDEFINED

    def stored(self, table: str, pk: str) -> Any:
        self.asked[table, pk] = None
        return self.state.get(table, pk)

    def by_index(self, table: str, field: str, value: str) -> str | None:
        self.index[table, field, value] = None
        pk = self.state.by_index(table, field, value)
        if pk is None:
            return None
        stored = self.stored(table, pk)
        if not isinstance(stored, Sentinel) and text_of(record_of(stored).get(field)) != value:
            return None
        return pk

    def table_exists(self, table: str) -> bool:
        self.whole[table] = self._from_storage or self.whole.get(table, False)
        return self.state.has_table(table)

    def table(self, table: str) -> Iterator[str]:
        return self.state.pks(table)
