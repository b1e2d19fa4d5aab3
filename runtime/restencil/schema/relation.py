"""Relations: the fields of a class that contain entities, directly or inside other objects."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ..base.errors import ConversionError
from ..base.values import DICT, INVALID, LIST, MAPPING, UNDEFINED
from .codec import MAPS, Codec, bare, item_of
from .containers import Values
from .notation import Lazy, schema_of
from .protocol import EntityNode, Reader, Schema, nested_value
from .record import Field, Model, Record, class_record, to_wire
from .stored import is_falsy


class Relation:
    """A field of an entity that has a schema."""

    def __init__(self, model: Model, name: str, raw: Any) -> None:
        declared = model.fields.get(name)
        self.name = name
        self.in_json = model.to_json.get(name, name)
        self._raw = raw
        decode, encode = model.conversions_of(name)
        self.codec = Codec(decode or self._decoded, encode or self._encoded)
        """The conversion of values outside of a store."""
        self.raises = declared is not None and declared.required
        default = None if declared is None else declared.default
        self.needed = self.raises or (
            declared is not None
            and (declared.factory is not None or default is not UNDEFINED)
            and not is_falsy(declared.default_value())
        )

    def in_body(self, instance: Record, stored: Any) -> Any:
        """Return the value of the field in a request body: its objects, or primary keys if some are unknown."""
        shown = getattr(instance, self.name, None)
        is_known = shown is not None and (not isinstance(shown, (DICT, LIST)) or len(shown) == len(stored))
        keys = UNDEFINED if is_known or self.node is None else self.node.keys(stored)
        if keys is not UNDEFINED:
            return keys
        return self._encoded(shown)

    def _decoded(self, value: object) -> object:
        return nested_value(self.node, value)

    def _encoded(self, value: object) -> object:
        return to_wire(value, None if self.node is None else self.node.wire_model)

    @property
    def is_collection(self) -> bool:
        """Whether the value is a collection, which is stored in a table of its own."""
        return self.node is not None and self.node.is_collection

    @property
    def leads_to_entities(self) -> bool:
        """Whether a value can contain entities; False if the schema is a conversion."""
        return self.node is None or not self.node.is_leaf

    @cached_property
    def node(self) -> Schema | None:
        """The schema of the field, resolved at first use."""
        return schema_of(self._raw)

    @property
    def is_resolved(self) -> bool:
        """Whether `node` was used; until then nothing was normalized or denormalized with the schema."""
        return "node" in self.__dict__

    def shown(self, entry: Any, cls: type[Any], pk: str | None, reader: Reader) -> Any:
        """Denormalize a stored value of the field; `UNDEFINED` for a missing, `INVALID` for an unusable object.

        Raises ConversionError if the value cannot be converted, with the class, primary key, field and value.
        """
        try:
            return entry if entry is None else reader.visit(self.node, entry)
        except ConversionError as error:
            raise self.failure(entry, cls, pk, error) from error.__cause__ or error

    def failure(self, entry: object, cls: type[object], pk: str | None, error: ConversionError) -> ConversionError:
        """The error for a stored value of the field that cannot be converted."""
        failure = ConversionError(
            f"field {self.name!r} of {cls.__name__} {pk!r} does not decode: {entry!r:.100} "
            f"({error.__cause__ or error!s:.100}); give the field the schema that fits what the server sends"
        )
        failure.field = self.name
        return failure


# -- which fields are relations ----------------------------------------------------------------------------------------


def relations_of(model: Model) -> Iterator[Relation]:
    """Yield the fields of a record class that contain entities; all other fields have a codec."""
    for name, declared in model.fields.items():
        raw = declared.schema if declared.schema is not None else object_schema_in(model, declared)
        if leads_to_entities(raw):
            yield Relation(model, name, raw)


def object_schemas(model: Model, names: Iterable[str]) -> dict[str, Any]:
    """Return the schemas, by field name, of the given fields whose types contain records with entities in them."""
    found = {name: object_schema_in(model, model.fields[name]) for name in sorted(names)}
    return {name: raw for name, raw in found.items() if leads_to_entities(raw)}


def object_schema_in(model: Model, declared: Field) -> Any:
    """Return the schema of a field whose annotation contains a record class; None for other fields."""
    if declared.encode is not None or declared.name in model.setting("encode", {}):
        return None
    return _object_schema(model.kinds.get(declared.name))


def _object_schema(kind: object) -> object:
    """Return the schema of an annotation that contains a record class, in the same places as `codec_of` looks into."""
    kind = bare(kind)
    item = item_of(kind)
    if item is not None:
        schema = _object_schema(item)
        if schema is None:
            return None
        return Values(schema) if typing.get_origin(kind) in MAPS else [schema]
    model = class_record(kind) if isinstance(kind, type) else None
    return kind if model is not None and not isinstance(model.node, EntityNode) else None


def leads_to_entities(raw: object) -> bool:
    """Whether a value of a declared schema can contain entities; a lazy reference counts as an entity."""
    waiting: list[Any] = [raw]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Lazy | EntityNode):
            return True
        if isinstance(one, LIST):
            waiting += one
        elif isinstance(one, MAPPING):
            waiting += one.values()
        else:
            schema = schema_of(one)
            if isinstance(schema, EntityNode):
                return True
            waiting += () if schema is None else schema.written_children()
    return False


def shown_relations(
    model: Model, record: Mapping[str, object], pk: str | None, reader: Reader
) -> dict[str, Any] | None:
    """Denormalize the relations of a record, by field name; None if a required entity is unusable."""
    shown: dict[str, Any] = {}
    is_usable = True
    for relation in model.relations:
        if relation.in_json in record:
            found = relation.shown(record[relation.in_json], model.cls, pk, reader)
            if found is INVALID and relation.needed:
                is_usable = False
            elif found is not UNDEFINED or not relation.raises:
                shown[relation.name] = None if found is INVALID or found is UNDEFINED else found
    return shown if is_usable else None


def replace_relations(model: Model, members: dict[str, Any], shown: Mapping[str, object]) -> None:
    """Replace stored values by denormalized relations in the members of an instance."""
    for relation in model.relations:
        if relation.name in shown:
            members[relation.name] = shown[relation.name]
        else:
            members.pop(relation.name, None)
