"""`All`: the schema of all usable entities of a type in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..base.values import INVALID, UNDEFINED, ReadOnlyList, Sentinel
from .containers import Attribute, OverItem, Union, items_of
from .entity import EntitySchema
from .protocol import Echo, Reader, Writer, check_shape, definitions
from .stored import record_of

_WHOLE: Final = ()
"""The stored form of the list: reads take the items from the tables."""


class All(OverItem):
    """A list of all usable entities of one type, or of all types of a mapping, in insertion order.

    `All(User)`, or `All({"link": Link, "post": Post}, "type")`: the attribute (the name of a field, or a function of
    value, parent and key) selects the entity of an item of a response. Raises TypeError for a mapping without it.

    As a member of an object it is stored as the list of its response, which reads ignore.
    """

    fingerprint_name = "all"
    shape = "a list"

    def __init__(self, definition: object, schema_attribute: Attribute | None = None) -> None:
        super().__init__(definition, schema_attribute, "All")

    def define(self, definition: Any) -> None:
        """Merge a mapping into the mapping, replacing equal keys, or replace the single entity.

        Raises TypeError for a mapping if this has a single entity, and the other way round.
        """
        item = self.item if self._attribute is None and isinstance(definition, Mapping) else None
        if isinstance(item, Union):  # a union inside: as if its mapping had been given
            self._raw, self._attribute = item.raw, item.attribute
        has_mapping = self._attribute is not None
        if has_mapping != isinstance(definition, Mapping):
            have, got = ("a mapping", "a single entity") if has_mapping else ("a single entity", "a mapping")
            raise TypeError(f"All.define: this schema was created with {have}, but define() got {got}")
        self._raw = {**self._raw, **definition} if has_mapping else definition
        self.__dict__.pop("item", None)
        definitions.changed()

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not isinstance(value, list):
            check_shape(self, value, writer, self.shape)
        for schema in self.listed():
            writer.open_table(schema.table_key)  # an empty list is a result too
        stored = [writer.visit(self.item, entry, parent, key) for entry in items_of(value)]
        return UNDEFINED if parent is None or key is None else [entry for entry in stored if entry is not None]

    def echo(self, value: Any, echo: Echo) -> Any:
        if not isinstance(value, (list, Mapping)):
            return value
        found = (echo.item(self.item, entry) for entry in items_of(value))
        return ReadOnlyList([entry for entry in found if entry is not UNDEFINED])

    def listed(self) -> list[EntitySchema]:
        """The entity types whose tables are read, in mapping order."""
        return [] if self.item is None else [*self.item.entities.values()]

    def query_key(self, args: tuple[object, ...], reader: Reader) -> object:
        return _WHOLE

    def denormalize(self, stored: object, reader: Reader) -> Any:
        tables: dict[str, list[EntitySchema]] = {}
        for schema in self.listed():
            tables.setdefault(schema.table_key, []).append(schema)
        if not [table for table in tables if reader.table_exists(table)]:
            return INVALID
        found: list[Any] = []
        for table, schemas in tables.items():
            for pk in reader.table(table):
                schema = schemas[0] if len(schemas) == 1 else self._shown_as(schemas, reader.stored(table, pk))
                entity = reader.entity(schema, pk)
                if entity is not UNDEFINED and entity is not INVALID:
                    found.append(entity)
        return ReadOnlyList(found)

    def _shown_as(self, schemas: list[EntitySchema], stored: object) -> EntitySchema:
        """The type of a record, of several that share a table; each record is listed once."""
        chosen = None
        if self.item is not None and len(self.item.entities) > 1 and not isinstance(stored, Sentinel):
            chosen = self.item.select(record_of(stored), None, None)[1]
        return chosen if isinstance(chosen, EntitySchema) and chosen in schemas else schemas[0]
