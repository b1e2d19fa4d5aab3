"""Schemas of record classes: they normalize the entities inside a record, and build the record on read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base.errors import ConversionError, ProcessingError
from ..base.values import DICT, INVALID, MAPPING, UNDEFINED, is_mapping, read_only
from .protocol import Echo, Reader, Schema, ValueTypes, Writer
from .record import Model, Record, new_instance, set_members, set_record, wire_members
from .relation import Relation, object_schema_in, relations_of, replace_relations, shown_relations


class RecordSchema(Schema):
    """The schema of a record class without identity.

    A record is stored inside the value that contains it, with entities replaced by their primary keys.
    """

    is_envelope = False
    shape = "an object"

    def __init__(self, model: Model) -> None:
        self.model = model
        self.cls: type[Record] = model.cls

    @property
    def title(self) -> str:
        return self.cls.__name__

    @property
    def wire_model(self) -> Any:
        return self.cls

    @property
    def plain_members(self) -> list[tuple[str, ...]]:
        entities = {relation.in_json for relation in self.model.relations}
        return [(field.in_json,) for field in self.model.fields.values() if field.in_json not in entities]

    def children(self) -> Iterable[Schema | None]:
        return [relation.node for relation in self.model.relations]

    def fingerprint(self, of: Callable[[Schema | None], object]) -> Any:
        return ["record", {relation.in_json: of(relation.node) for relation in self.model.relations}]

    def value_types(self, of: ValueTypes) -> None:
        of.record(self.model)

    def own_relations(self) -> tuple[Relation, ...]:
        """The fields of the class that contain entities."""
        return tuple(relations_of(self.model))

    def written_children(self) -> Iterable[object]:
        for declared in self.model.fields.values():
            yield declared.schema if declared.schema is not None else object_schema_in(self.model, declared)

    # -- normalization -------------------------------------------------------------------------------------------------

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not isinstance(value, MAPPING):
            return self.normalize_scalar(value, writer)
        record: dict[str, Any] = {**value}
        for relation in self.model.relations:
            name = relation.in_json
            if name in record:
                record[name] = writer.visit(relation.node, record[name], record, name)
        return record

    # -- denormalization -----------------------------------------------------------------------------------------------

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if not isinstance(stored, DICT):
            return read_only(stored)
        shown = shown_relations(self.model, stored, None, reader)
        return INVALID if shown is None else self._built(stored, shown)

    def echo(self, value: Any, echo: Echo) -> Any:
        if isinstance(value, Record):
            value = wire_members(value)
        if not isinstance(value, MAPPING):
            return read_only(value)
        shown: dict[str, Any] = {}
        for relation in self.model.relations:
            if relation.in_json in value:
                found = echo.visit(relation.node, value[relation.in_json])
                shown[relation.name] = None if found is UNDEFINED else found
        return self._built(value, shown)

    def _built(self, record: Mapping[str, Any], shown: Mapping[str, Any]) -> object:
        """Build the object for a record, given the values of its relations."""
        model = self.model
        try:
            members = model.attributes(record)
        except ConversionError:
            raise
        except ProcessingError as error:
            raise ConversionError(str(error)) from error
        replace_relations(model, members, shown)
        instance = new_instance(self.cls)
        set_members(instance, members)
        set_record(instance, record)
        return instance

    # -- without a store -----------------------------------------------------------------------------------------------

    def nested(self, value: object) -> object:
        return self.cls.from_js(value) if is_mapping(value) else read_only(value)

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        """The object with primary keys in place of its entities; `UNDEFINED` if the value is not an object."""
        if not is_mapping(value):
            return UNDEFINED
        found: dict[str, Any] = {**value}
        for relation in self.model.relations:
            entry = value.get(relation.in_json)
            if entry is not None and relation.node is not None:
                found[relation.in_json] = relation.node.keys(entry, decode=decode)
        return UNDEFINED if UNDEFINED in found.values() else found


Model.new_node = RecordSchema
