"""Conversion of types to schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from restencil_generator.spec import model as d

Schema: TypeAlias = "dict[str, Any]"
Version: TypeAlias = Literal["3.0", "3.1"]

_SCALARS: Final[Mapping[str, Schema]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "decimal": {"type": "string", "format": "decimal"},
    "uuid": {"type": "string", "format": "uuid"},
    "any": {},
    "bytes": {"type": "string", "format": "binary"},
}
_FORMATS: Final[Mapping[str, Schema]] = {
    "unix": {"type": "integer", "format": "unix-time"},
    "unix_ms": {"type": "integer", "format": "unix-time", "example": 1_700_000_000_000},
    "rfc2822": {"type": "string", "format": "date-time-rfc-2822"},
}
_KINDS: Final[Mapping[type, str]] = {str: "string", int: "integer", bool: "boolean", float: "number"}


@dataclasses.dataclass(frozen=True, slots=True)
class Types:
    """Converts types to schemas for one version of OpenAPI. Named types are references to `components`."""

    spec: d.Spec
    version: Version

    def components(self) -> dict[str, Schema]:
        """Return the schemas of all named types, and of their bodies if these are needed."""
        found: dict[str, Schema] = {}
        for name, one in self.spec.enums.items():
            found[name] = self._values([member.value for member in one.members])
        for name, object in self.spec.objects.items():
            found[name] = self._returned(object.fields)
            if object.body_name is not None:
                found[object.body_name] = self.sent_object(object.fields)
        for name, entity in self.spec.entities.items():
            found[name] = self._returned(entity.all_fields, entity.description, entity.deprecated)
            if entity.body_name is not None:
                found[entity.body_name] = self._body_of(entity.all_fields, partial=False)
            if entity.partial_body_name is not None:
                found[entity.partial_body_name] = self._body_of(entity.all_fields, partial=True)
        return dict(sorted(found.items()))

    # ----------------------------------------------------------------------------------------------------------- types

    def of(self, type: d.Type, *, sent: bool = False) -> Schema:
        """Return the schema of a type, for a body if it is `sent`."""
        match type:
            case d.Scalar(name, format):
                return dict(_FORMATS.get(format or "", _SCALARS[name]))
            case d.Const(value):
                return self._const(value)
            case d.InlineEnum(values):
                return self._values(values)
            case d.EnumRef(name) | d.ObjectRef(name) | d.EntityRef(name):
                return self._named(type, name, sent=sent)
            case d.Optional(item):
                return self.nullable(self.of(item, sent=sent))
            case d.ListOf(item):
                return {"type": "array", "items": self.of(item, sent=sent)}
            case d.ValuesOf(item):
                return {"type": "object", "additionalProperties": self.of(item, sent=sent)}
            case d.ObjectType(members):
                return self.sent_object(members) if sent else self._returned(members)
            case d.UnionOf(choices, _, wire):
                return self._choices([d.EntityRef(choice.entity) for choice in choices], wire, choices, sent=sent)
            case d.OneOf(alternatives, _, wire, values):
                return self._choices(alternatives, wire, values, sent=sent)
            case d.AnyOf(items):
                return self._any([self.of(item, sent=sent) for item in items])
            case _:
                return self._stored(type, sent=sent)

    def _stored(self, type: d.Type, *, sent: bool) -> Schema:
        """Return the schema of a type that the store keeps as one unit."""
        match type:
            case d.CollectionOf(of) | d.PageOf(of):
                return self.of(of, sent=sent)
            case d.AllOf(of):
                return {"type": "array", "items": self.of(of)}
            case d.AdderOf(d.CollectionOf(d.ListOf(item) | d.ValuesOf(item)), how):
                item_schema = self.of(item, sent=sent)
                return {"type": "object", "additionalProperties": item_schema} if how == "assign" else item_schema
            case d.QueryOf(_, _, returns) if returns is not None:
                return self.of(returns)
            case _:
                return {}

    def _named(self, type: d.Type, name: str, *, sent: bool) -> Schema:
        if not sent or isinstance(type, d.EnumRef):
            return _ref(name)
        if isinstance(type, d.ObjectRef):
            return _ref(self.spec.objects[name].body_name or name)
        return self._any([_ref(self.spec.entities[name].body_name or name), self.key_of(name)])

    def key_of(self, entity: str) -> Schema:
        """Return the schema of an entity's primary key."""
        declared = self.spec.entities[entity]
        field = declared.field(declared.pk[0]) if len(declared.pk) == 1 else None
        return {"type": "string"} if field is None else self.of(field.type)

    def _choices(self, alternatives: Sequence[d.Type], wire: str, values: Sequence[d.Choice], *, sent: bool) -> Schema:
        schemas: list[Schema] = []
        for one in alternatives:
            if isinstance(one, d.EntityRef) and sent:
                schema = _ref(self.spec.entities[one.name].body_name or one.name)
            else:
                schema = self.of(one, sent=sent)
            if schema not in schemas:
                schemas.append(schema)
        found: Schema = {"oneOf": schemas}
        if wire and all("$ref" in schema for schema in schemas):
            mapping = {str(choice.value): self._target(choice.entity, sent=sent) for choice in values}
            found["discriminator"] = {"propertyName": wire} | ({"mapping": mapping} if mapping else {})
        return found

    def _target(self, name: str, *, sent: bool) -> str:
        declared = self.spec.entities.get(name) or self.spec.objects.get(name)
        body = declared.body_name if sent and declared is not None else None
        return str(_ref(body or name)["$ref"])

    def _any(self, schemas: list[Schema]) -> Schema:
        once = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
        return once[0] if len(once) == 1 else {"anyOf": once}

    def _const(self, value: d.Literals) -> Schema:
        kind = {"type": _KINDS[type(value)]}
        return kind | ({"enum": [value]} if self.version == "3.0" else {"const": value})

    def _values(self, values: Sequence[str | int]) -> Schema:
        kinds = {_KINDS[type(value)] for value in values}
        return ({"type": kinds.pop()} if len(kinds) == 1 else {}) | {"enum": list(values)}

    def nullable(self, schema: Schema) -> Schema:
        """Return a schema that also allows null."""
        if not schema:
            return {}
        if self.version == "3.0":
            return {"allOf": [schema], "nullable": True} if "$ref" in schema else {**schema, "nullable": True}
        if isinstance(schema.get("type"), str) and "const" not in schema:
            more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            return {**schema, "type": [schema["type"], "null"], **more}
        return {"anyOf": [schema, {"type": "null"}]}

    # ---------------------------------------------------------------------------------------------------------- objects

    def _returned(self, fields: Sequence[d.Field], description: str = "", deprecated: str | None = None) -> Schema:
        """Return an object schema for responses."""
        kept = [field for field in fields if not field.write_only]
        required = [field.wire for field in kept if not isinstance(field.type, d.Optional) and not field.param]
        return self._object({field.wire: self.field(field) for field in kept}, required, description, deprecated)

    def sent_object(self, fields: Sequence[d.Field], *, partial: bool = False) -> Schema:
        """Return an object schema for bodies."""
        kept = [field for field in fields if field.is_sent]
        required = [field.wire for field in kept if field.required and not partial]
        return self._object({field.wire: self.field(field, sent=True) for field in kept}, required)

    def _body_of(self, fields: Sequence[d.Field], *, partial: bool) -> Schema:
        """Return the body schema of an entity: only fields that bodies require are required."""
        kept = [field for field in fields if field.is_sent]
        required = [field.wire for field in kept if field.must and not partial]
        return self._object({field.wire: self.field(field, sent=True) for field in kept}, required)

    def _object(
        self, properties: Schema, required: list[str], description: str = "", deprecated: str | None = None
    ) -> Schema:
        schema: Schema = {"type": "object"}
        if description:
            schema["description"] = description
        if deprecated is not None:
            schema["deprecated"] = True
        schema["properties"] = properties
        if required:
            schema["required"] = required
        return schema

    def field(self, field: d.Field, *, sent: bool = False) -> Schema:
        """Return the schema of a field with its description, default and annotations."""
        type = d.formatted(field.type, field.format) if field.format is not None else field.type
        if sent and field.sends_key and (entity := next(d.entities_in(type), None)) is not None:
            schema = self.key_of(entity)
        else:
            schema = self.of(type, sent=sent)
        more: Schema = {}
        if field.description:
            more["description"] = field.description
        if field.deprecated is not None:
            more["deprecated"] = True
        if field.read_only and not sent:
            more["readOnly"] = True
        if field.write_only and sent:
            more["writeOnly"] = True
        if _has_plain_default(field):
            more["default"] = field.default
        if more and "$ref" in schema and self.version == "3.0":
            return {"allOf": [schema], **more}
        return schema | more


def _has_plain_default(field: d.Field) -> bool:
    """Return whether the spec gives a default that is the same in JSON."""
    bare = field.type.item if isinstance(field.type, d.Optional) else field.type
    kinds = {"string": str, "boolean": bool, "integer": int, "number": int | float}
    kind: Any = kinds.get(bare.name) if isinstance(bare, d.Scalar) else None
    if not field.written_default or kind is None or not isinstance(field.default, kind):
        return False
    return isinstance(field.default, bool) is (kind is bool)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
