"""Conversion of schemas to types; the tables of objects and enums."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Final

from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.json_types import is_table
from restencil_generator.openapi.document.model import Document, Finding, Part, Schema, Where
from restencil_generator.openapi.infer.names.inflection import pascal_case, snake_case
from restencil_generator.openapi.infer.names.types import TypeNames, member_names, type_names
from restencil_generator.openapi.infer.records import Member, Record, Shapes
from restencil_generator.openapi.infer.resources import Entity
from restencil_generator.openapi.infer.schema_usage import Survey
from restencil_generator.openapi.spec_tree import Origin, Scalar, Value

STRINGS: Final = {
    "date-time": "datetime", "datetime": "datetime", "date": "date", "time": "time", "uuid": "uuid", "guid": "uuid",
    "decimal": "decimal",
}  # fmt: skip
"""Formats of strings with their own types."""

MOMENTS: Final = frozenset(("unix-time", "unixtime", "timestamp"))
"""Formats of numbers that count from 1970."""

MILLISECONDS: Final = 10**11
"""Examples of such numbers above this limit are milliseconds."""

DEEPEST: Final = 40
"""The maximum nesting of inline types; deeper ones are any JSON."""

PARAMETERS: Final = frozenset(("string", "integer", "number", "boolean", "datetime", "date", "time", "uuid", "decimal"))
"""Types of parameters, or of items of list parameters."""

IDS: Final = frozenset(("string", "integer", "uuid"))
"""Types of primary keys, which may replace an entity in unions."""


@dataclasses.dataclass(frozen=True, slots=True)
class Typed:
    """A type of the spec, without the mark for null."""

    value: Value
    nullable: bool = False
    format: str = ""
    """The format of a datetime other than RFC 3339."""
    entity: bool = False

    @property
    def text(self) -> str:
        """The type as a string, equal for equal types."""
        return json.dumps([self.value, self.format], sort_keys=True)


ANY: Final = Typed("any")


class Types:
    """Conversion of schemas to types; objects and enums are added to tables, entities are given."""

    def __init__(
        self,
        document: Document,
        shapes: Shapes,
        found: Survey,
        names: TypeNames,
        certain: bool | None,
        wire_of: Callable[[str, str], str | None],
    ) -> None:
        self.document = document
        self.shapes = shapes
        self.survey = found
        self.names = names
        self.certain = certain
        """Whether undeclared properties are required; None if the document declares it for others."""
        self.objects: dict[str, Value] = {}
        self.enums: dict[str, Value] = {}
        self.origins: dict[tuple[str, ...], Origin] = {}
        self.checks: dict[tuple[str, ...], str] = {}
        self.entities: dict[Where, Entity] = {}
        self.wire_of = wire_of
        """Returns the JSON name to declare for a Python name, None if `wire_names` implies it."""
        self._named: dict[Where, str] = {}
        self._data: dict[str, str] = {}
        self._open: set[Where] = set()
        self._depth = 0
        self._field = "value"
        """The JSON name of the member whose type is being converted."""
        self.circles = Circles()

    # ----------------------------------------------------------------------------------------------------------- types

    def of(self, part: Part, owner: str, scope: frozenset[str] | None = None) -> Typed:
        """Return the type of a schema.

        `owner` is used to name unnamed types; `scope` are the parameters of the path, or None if entities whose key
        includes path parameters cannot be identified.
        """
        return self.of_schema(self.document.schema(part), owner, scope)

    def of_schema(self, schema: Schema, owner: str, scope: frozenset[str] | None = None) -> Typed:
        """Return the type of a schema that is already read."""
        if schema.at in self._open or self._depth > DEEPEST:
            return dataclasses.replace(ANY, nullable=schema.nullable)
        known = self.entities.get(schema.at)
        if known is not None:
            return self._entity(known, schema, scope)
        self._depth += 1
        try:
            typed = contained(
                self.document.findings.append,
                f"the schema of {owner}",
                schema.where,
                lambda: self._of(schema, owner, scope),
                ANY,
            )
        finally:
            self._depth -= 1
        return dataclasses.replace(typed, nullable=True) if schema.nullable and not typed.nullable else typed

    def _entity(self, known: Entity, schema: Schema, scope: frozenset[str] | None) -> Typed:
        known.nested.add(schema.at)
        if known.scope and not (scope is not None and known.scope <= scope):
            return Typed(self.data_of(known), schema.nullable)
        return Typed(known.name, schema.nullable, entity=True)

    def _of(self, schema: Schema, owner: str, scope: frozenset[str] | None) -> Typed:
        if schema.type == "one_of":
            return self._one_of(schema, owner)
        if schema.enum and len(schema.enum) > 1:
            return Typed(self._enum(schema, owner))
        if schema.type == "string":
            return _string(schema)
        if schema.type in ("integer", "number"):
            return _number(schema)
        if schema.type == "boolean":
            return Typed("boolean")
        if schema.type == "array":
            return self._array(schema, owner, scope)
        if schema.type == "object":
            return self._mapping(schema, owner)
        return ANY

    def _array(self, schema: Schema, owner: str, scope: frozenset[str] | None) -> Typed:
        self._open.add(schema.at)
        try:
            parts = schema.prefix or ((schema.items,) if schema.items is not None else ())
            inner = [self.of(part, owner, scope) for part in parts]
        finally:
            self._open.discard(schema.at)
        if not inner:
            return Typed(["any"])
        item = inner[0] if len(inner) == 1 else self._several(inner)
        return Typed([self.item(item)])

    def item(self, typed: Typed) -> Value:
        """Return a type as the item of a list or mapping, which supports no format, and null only for named types."""
        value = "integer" if typed.format.startswith("unix") else "string" if typed.format else typed.value
        return f"{value}?" if typed.nullable and isinstance(value, str) and value != "any" else value

    def _mapping(self, schema: Schema, owner: str) -> Typed:
        if self.shapes.record(schema) is not None:
            return Typed(self._object(schema, owner))
        if schema.values is None:
            return Typed({"values": "any"})
        self._open.add(schema.at)
        try:
            return Typed({"values": self.item(self.of(schema.values, owner))})
        finally:
            self._open.discard(schema.at)

    def parameter(self, part: Part, name: str) -> Typed:
        """Return the type of a parameter: a scalar or enum, a list of them, an object or mapping; else a string."""
        field, self._field = self._field, name
        try:
            typed = self.of(part, pascal_case(name))
        finally:
            self._field = field
        plain = dataclasses.replace(typed, nullable=False, entity=False)
        if typed.entity:
            return Typed("string")
        value = plain.value
        if isinstance(value, list):
            inner = str(value[0]).removesuffix("?") if isinstance(value[0], str) else ""
            if isinstance(value[0], dict) and "enum" in value[0]:
                return plain
            return Typed([inner]) if inner in PARAMETERS or inner in self.enums else Typed(["string"])
        if isinstance(value, dict):
            if "enum" in value:
                return plain
            if "values" in value:
                return plain if value["values"] in (*PARAMETERS, "any") else Typed({"values": "any"})
            return self._parameter_choice(value)
        return plain if value == "any" or self._is_scalar(value) or self.is_object(value) else Typed("string")

    def _parameter_choice(self, value: dict[str, Value]) -> Typed:
        """Return the type of a parameter with alternatives: of scalars and lists of them, else any."""
        alternatives = value.get("one_of")
        if not isinstance(alternatives, list) or "attribute" in value:
            return ANY
        scalars = [each for each in alternatives if self._is_scalar(each)]
        if "string" in scalars:  # such as a UUID or a string, or a list of either
            strings: list[Value] = ["string"]
            alternatives = [strings if isinstance(each, list) else each for each in alternatives]
        lists = [each for each in alternatives if isinstance(each, list) and self._is_scalar(each[0])]
        if len(scalars) + len(lists) < len(alternatives):
            return ANY
        if len(lists) == 1 and ("string" in scalars or all(each == lists[0][0] for each in scalars)):
            return Typed(lists[0])  # a list with one item is sent like its item
        if not lists and "string" in scalars:
            return Typed("string")
        return Typed({"one_of": alternatives}) if len(lists) < 2 else ANY

    def is_object(self, value: Value) -> bool:
        """Return whether a type is an object of the table."""
        return isinstance(value, str) and value in self.objects

    def _is_scalar(self, value: Value) -> bool:
        if isinstance(value, str):
            return value in PARAMETERS or value in self.enums
        return isinstance(value, dict) and "enum" in value

    # --------------------------------------------------------------------------------------------------------- choices

    def _one_of(self, schema: Schema, owner: str) -> Typed:
        self._open.add(schema.at)
        try:
            parts = [(part, self.document.schema(part)) for part in schema.alternatives]
            is_tagged = self._has_discriminator(schema, [each for _, each in parts])
            as_data = not is_tagged and Mixture(self).is_one([each for _, each in parts])
            typed: list[tuple[Typed, Schema]] = []
            for _, each in parts:
                known = self.entities.get(each.at)
                if known is not None and as_data:
                    typed.append((Typed(self.data_of(known), each.nullable), each))
                else:
                    typed.append((self.of_schema(each, self._alternative(owner, each)), each))
        finally:
            self._open.discard(schema.at)
        is_nested = any(_choices(each.value) or (each.entity and each.nullable) for each, _ in typed)
        several = self._several([each for each, _ in typed], is_distinguished=not is_nested)
        if is_tagged and isinstance(several.value, dict) and "one_of" in several.value:
            return self._with_attribute(schema, several, typed)
        return several

    def _has_discriminator(self, schema: Schema, alternatives: list[Schema]) -> bool:
        """Return whether a discriminator distinguishes all alternatives, which are objects with it."""
        found = schema.discriminator
        if found is None:
            return False
        if self.document.names_required and not all(found.property in each.required for each in alternatives):
            return False  # a record without it would be none of them
        return all(found.property in each.properties for each in alternatives)

    def _alternative(self, owner: str, schema: Schema) -> str:
        """Return a name for an alternative without a name."""
        for part in schema.properties.values():
            inner = self.document.schema(part)
            value = inner.const if inner.const is not None else inner.enum[0] if len(inner.enum) == 1 else None
            if isinstance(value, str) and value:
                return owner + pascal_case(value)
        return owner + pascal_case(schema.title) if schema.title else owner

    def _several(self, typed: list[Typed], *, is_distinguished: bool = False) -> Typed:
        """Combine alternatives to one type. `is_distinguished` if entities can be distinguished from other objects."""
        nullable = any(each.nullable for each in typed)
        if len({each.text for each in typed}) == 1:
            return dataclasses.replace(typed[0], nullable=nullable)
        values: dict[str, Typed] = {}
        for each in typed:
            plain = dataclasses.replace(each, nullable=False)
            for value in _choices(each.value):
                is_entity = any(value == known.name for known in self.entities.values())
                values.setdefault(Typed(value).text, Typed(value, entity=is_entity))
            if not _choices(each.value):
                values.setdefault(plain.text, plain)
        found = list(values.values())
        if any(each.value == "any" for each in found):
            return Typed("any", nullable)
        entities = [each for each in found if each.entity]
        if len(found) == 1:
            return dataclasses.replace(found[0], nullable=nullable)
        if len(entities) == 1 and all(each.entity or _is_id(each.value) for each in found):
            # If it is only the id, the record may not be known.
            return dataclasses.replace(entities[0], nullable=True)
        unions = [each for each in found if _is_form(each.value, "union")]
        if len(unions) == 1 and all(each is unions[0] or _is_id(each.value) for each in found):
            return dataclasses.replace(unions[0], nullable=True)
        others = [each for each in found if self.is_object(each.value) or _is_form(each.value, "values")]
        if unions or (entities and (others or len(entities) > 1) and not is_distinguished):
            return Typed("any", nullable)
        return Typed({"one_of": [self.item(each) for each in found]}, nullable)

    def _with_attribute(self, schema: Schema, several: Typed, typed: list[tuple[Typed, Schema]]) -> Typed:
        found = schema.discriminator
        assert found is not None
        attribute = snake_case(found.property)
        by_at = {each.at: str(one.value) for one, each in typed if isinstance(one.value, str)}
        values: dict[str, Value] = {}
        for value, part in found.mapping.items():
            name = by_at.get(self.document.schema(part).at)
            if name is not None:
                values[value] = name
        for one, each in typed:
            constant = self.constant(Member((each.properties[found.property],), True, True))
            if isinstance(constant, str) and isinstance(one.value, str):
                values = {key: name for key, name in values.items() if name != one.value} | {constant: one.value}
            elif one.value not in values.values() and isinstance(one.value, str):
                values[each.name or one.value] = one.value
        assert isinstance(several.value, dict)
        if all(one.entity for one, _ in typed):
            return Typed({"union": values, "attribute": attribute}, several.nullable)
        form: dict[str, Value] = {**several.value, "attribute": attribute}
        if any(key != value for key, value in values.items()):
            form["values"] = values
        return Typed(form, several.nullable)

    # ----------------------------------------------------------------------------------------------------------- enums

    def _enum(self, schema: Schema, owner: str) -> Value:
        if schema.name:
            if schema.at not in self._named:
                values = _enum_values(schema)
                name = next(
                    (each for each in type_names(schema.name)[:1] if self.enums.get(each) == values), None
                ) or self.names.claim(_identity(schema.at), *type_names(schema.name), sent=False)
                self._named[schema.at] = name
                self.enums[name] = values
                self.origins["enums", name] = _origin(schema)
            return self._named[schema.at]
        key = (snake_case(self._field), schema.enum)
        if len(self.survey.enums.get(key, ())) > 1 or isinstance(_enum_values(schema), dict):
            return self._shared_enum(schema, key, owner)
        return {"enum": list(schema.enum)}

    def _shared_enum(self, schema: Schema, key: tuple[str, tuple[str | int, ...]], owner: str) -> Value:
        """Return the name of an unnamed enum that has constants or is used in several places."""
        identity = f"type:{key[0]}:{json.dumps(key[1])}"
        for name, values in self.enums.items():
            if self.origins.get(("enums", name), Origin("")).identity == identity and values == _enum_values(schema):
                return name
        names, values = (pascal_case(key[0]), owner), _enum_values(schema)
        if isinstance(values, list) and self.names.are_taken(identity, *names):
            return {"enum": list(schema.enum)}  # others with its name have different values
        name = self.names.claim(identity, *names, sent=False)
        self.enums[name] = _enum_values(schema)
        self.origins["enums", name] = Origin(identity, schema.where.pointer, schema.where.file)
        return name

    # --------------------------------------------------------------------------------------------------------- objects

    def _object(self, schema: Schema, owner: str) -> str:
        if schema.at in self._named:
            return self._named[schema.at]
        if not schema.name:
            return self._inline(schema, owner)
        sent = schema.at in self.survey.sent
        name = self.names.claim(_identity(schema.at), *type_names(schema.name), sent=sent)
        self._named[schema.at] = name
        self.objects[name] = {}
        self.origins["objects", name] = _origin(schema)
        record = self.shapes.record(schema)
        assert record is not None
        depth, self._depth = self._depth, 0
        try:
            self.objects[name] = self.fields(record, name, name, sent=schema.at in self.survey.sent)
        finally:
            self._depth = depth
        return name

    def _inline(self, schema: Schema, owner: str) -> str:
        self._open.add(schema.at)
        try:
            record = self.shapes.record(schema)
            assert record is not None
            fields = self.fields(record, owner, "", sent=schema.at in self.survey.sent)
        finally:
            self._open.discard(schema.at)
        for candidate in (owner, f"{owner}Data"):
            if self.objects.get(candidate) == fields:
                self._named[schema.at] = candidate
                return candidate
        name = self.names.claim(_identity(schema.at), owner, sent=schema.at in self.survey.sent)
        self._named[schema.at] = name
        self.objects[name] = fields
        self.origins["objects", name] = _origin(schema)
        self.circles.rename("", name)
        return name

    def data_of(self, known: Entity) -> str:
        """Return the object used for an entity if its key cannot be known."""
        if known.name not in self._data:
            name = self.names.claim(f"type:{known.name}:data", f"{known.name}Data")
            self._data[known.name] = name
            self.objects[name] = {}
            sent = any(each is known and at in self.survey.sent for at, each in self.entities.items())
            self.objects[name] = self.fields(known.record, name, name, sent=sent)
            self.origins["objects", name] = Origin(f"type:{known.name}:data")
        return self._data[known.name]

    # ---------------------------------------------------------------------------------------------------------- fields

    def fields(self, record: Record, owner: str, table: str, *, sent: bool) -> dict[str, Value]:
        """Return the fields of a record, in order. `sent` marks fields that bodies require; `table` is its object."""
        names = member_names(record.members)
        found: dict[str, Value] = {}
        is_distinguished = any(source.at in self.survey.alternatives for source in record.sources)
        for wire, member in record.members.items():
            name = names[wire]
            typed, check = self.member(member, owner, wire)
            optional = self.is_optional(member, typed)
            held = typed.value if isinstance(typed.value, str) and not (optional or typed.entity) else ""
            if (held in self.objects or (held and held == table)) and self.circles.closes(table, held):
                self._finding_of_circle(member, table, wire)
                optional = True
            constant = self.constant(member) if is_distinguished and member.everywhere else None
            must = sent and member.required and not optional
            read_only = is_read_only(self, record, member)
            found[name] = self.field(
                wire, name, member, typed, optional=optional, must=must, read_only=read_only, constant=constant
            )
            if check and table:
                self.checks["objects", table, name] = check
            if table:
                self.origins["objects", table, name] = self.origin_of(wire, member)
        return found

    def origin_of(self, wire: str, member: Member) -> Origin:
        """Return the origin of a member."""
        where = member.parts[0].where
        return Origin(f"wire:{wire}", where.pointer, where.file)

    def member(self, member: Member, owner: str, wire: str) -> tuple[Typed, str]:
        """Return the type of a member of a record, and what to check about it."""
        field, self._field = self._field, wire
        try:
            typed = [self.of(part, owner + pascal_case(wire)) for part in member.parts]
        finally:
            self._field = field
        if len(typed) == 1:
            return typed[0], ""
        if len({each.text for each in typed}) == 1:
            return dataclasses.replace(typed[0], nullable=any(each.nullable for each in typed)), ""
        one = self._several(typed)
        if one.entity:
            return one, ""
        lists = [each for each in typed if isinstance(each.value, list)]
        if len(lists) > 1:
            one = Typed("any", one.nullable)
        return one, "check: its type differs from response to response"

    def is_optional(self, member: Member, typed: Typed) -> bool:
        """Return whether a member may be null or absent."""
        if typed.nullable or not member.everywhere:
            return True
        return not (member.required if self.certain is None else self.certain or member.required)

    def field(
        self,
        wire: str,
        name: str,
        member: Member,
        typed: Typed,
        *,
        optional: bool,
        must: bool,
        read_only: bool,
        constant: Scalar = None,
    ) -> Value:
        """Return the declaration of a field."""
        schema = self.document.schema(member.parts[0])
        extras: dict[str, Value] = {}
        if (spelled := self.wire_of(name, wire)) is not None:
            extras["wire"] = spelled
        if schema.default is not None and fits(schema.default, typed.value, self.enums):
            extras["default"] = schema.default
        if text := self.description(member.parts[0], schema, wire):
            extras["description"] = text
        if read_only:
            extras["read_only"] = True
        elif schema.write_only:
            extras["write_only"] = True
            extras.pop("default", None)
        if schema.deprecated:
            extras["deprecated"] = True
        if constant is not None:
            extras.pop("default", None)
            return {"const": constant, **extras}
        return declared(typed, optional=optional, must=must and not read_only, extras=extras)

    def constant(self, member: Member) -> Scalar:
        """Return the constant value of a member, which distinguishes an alternative."""
        found = [_constant(self.document.schema(part)) for part in member.parts]
        return found[0] if all(value == found[0] for value in found) else None

    def description(self, part: Part, schema: Schema, wire: str) -> str:
        """Return the description of a member or of the scalar it refers to; else a title that differs from its name."""
        value: Mapping[str, object] = part.value if is_table(part.value) else {}
        named = "$ref" in value and (schema.type in ("object", "one_of") or len(schema.enum) > 1)
        if named and not any(key in value for key in ("description", "title")):
            return ""
        text = schema.description.strip() or schema.title.strip()
        return "" if snake_case(text) == snake_case(wire) else text

    def _finding_of_circle(self, member: Member, table: str, wire: str) -> None:
        message = f"{wire} of {table} contains it without an end; it is read as optional"
        self.document.findings.append(Finding("object-cycle", message, member.parts[0].where, "note"))


def is_read_only(types: Types, record: Record, member: Member) -> bool:
    """Return whether a member is never sent: read-only, except what a record that is only sent requires."""
    if member.required and all(types.survey.is_only_sent(source) for source in record.sources):
        return False
    return types.document.schema(member.parts[0]).read_only


class Mixture:
    """Detection of unions in which an entity cannot be distinguished from other objects."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def is_one(self, alternatives: list[Schema]) -> bool:
        """Return whether alternatives contain an entity and other objects, and no constant distinguishes them."""
        objects = {self._identity(each): each for each in alternatives if each.type in ("object", "one_of")}
        if len(objects) < 2 or not any(each.at in self.types.entities for each in objects.values()):
            return False
        constants = [self._constants(each) for each in objects.values()]
        return any(
            not any(one[wire] != other[wire] for wire in one.keys() & other.keys())
            for one, other in itertools.combinations(constants, 2)
        )

    def _identity(self, schema: Schema) -> object:
        known = self.types.entities.get(schema.at)
        return schema.at if known is None else known.name

    def _constants(self, schema: Schema) -> dict[str, Scalar]:
        """Return the members of an object that have a constant value."""
        known = self.types.entities.get(schema.at)
        record = self.types.shapes.record(schema) if known is None else known.record
        members = list(record.members.items()) if record is not None else []
        found = {wire: self.types.constant(member) for wire, member in members if member.everywhere}
        return {wire: value for wire, value in found.items() if value is not None}


class Circles:
    """The objects that each object always contains, to prevent objects that contain themselves endlessly."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}

    def closes(self, table: str, target: str) -> bool:
        """Return whether an object that contains another one would close a cycle; if not, record the relation."""
        if table and self._reaches(target, table):
            return True
        self._held.setdefault(table, set()).add(target)
        return False

    def rename(self, old: str, new: str) -> None:
        """Record the name of an object that had none yet."""
        self._held.setdefault(new, set()).update(self._held.pop(old, ()))

    def _reaches(self, start: str, goal: str) -> bool:
        pending, seen = [start], set[str]()
        while pending:
            name = pending.pop()
            if name == goal:
                return True
            if name not in seen:
                seen.add(name)
                pending += self._held.get(name, ())
        return False


def declared(typed: Typed, *, optional: bool, must: bool = False, extras: Mapping[str, Value] | None = None) -> Value:
    """Return a field: only its type if there are no other keys."""
    more: dict[str, Value] = dict(extras or {})
    if typed.format:
        more = {"format": typed.format, **more}
    if isinstance(typed.value, str):
        mark = "" if typed.value == "any" and optional else "?" if optional else "!" if must else ""
        return {"type": typed.value + mark, **more} if more else typed.value + mark
    if optional:
        more = {"optional": True, **more}
    elif must:
        more = {"required": True, **more}
    return {"type": typed.value, **more} if more else typed.value


def with_key(written: Value, key: str, value: Value) -> Value:
    """Return a declaration with an additional key."""
    if isinstance(written, dict) and "type" in written:
        return {**written, key: value}
    return {"type": written, key: value}


def _string(schema: Schema) -> Typed:
    text = schema.format.lower()
    if text in ("date-time-rfc-2822", "rfc2822", "date-time-rfc2822"):
        return Typed("datetime", format="rfc2822")
    return Typed(STRINGS.get(text, "string"))


def _number(schema: Schema) -> Typed:
    if schema.format.lower() in MOMENTS:
        examples = [each for each in schema.examples if isinstance(each, int | float) and not isinstance(each, bool)]
        return Typed("datetime", format="unix_ms" if any(each > MILLISECONDS for each in examples) else "unix")
    return Typed("decimal" if schema.format.lower() == "decimal" else schema.type)


def _enum_values(schema: Schema) -> Value:
    if schema.enum_names and len(schema.enum_names) == len(schema.enum):
        named: dict[str, Value] = {}
        named.update(zip(map(snake_case, schema.enum_names), schema.enum, strict=True))
        return named
    return list(schema.enum)


def _constant(schema: Schema) -> Scalar:
    value: Scalar = schema.const if schema.const is not None else schema.enum[0] if len(schema.enum) == 1 else None
    return None if isinstance(value, float) or schema.nullable else value


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and value in IDS


def _choices(value: Value) -> list[Value]:
    found = value.get("one_of") if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _is_form(value: Value, word: str) -> bool:
    return isinstance(value, dict) and word in value


def fits(default: object, typed: Value, enums: Mapping[str, Value]) -> bool:
    """Return whether a default fits a type; only defaults of scalars are imported."""
    if isinstance(typed, dict):
        listed = typed.get("enum")
        return isinstance(listed, list) and default in listed
    if not isinstance(typed, str):
        return False
    if typed in enums:
        values = enums[typed]
        return default in (values.values() if isinstance(values, dict) else values)  # type: ignore[operator]  # an enum is one of both
    kinds: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}
    if typed == "boolean":
        return isinstance(default, bool)
    return isinstance(default, kinds.get(typed, ())) and not isinstance(default, bool)


def _identity(at: Where) -> str:
    return f"type:{at.file and at.file.rpartition('/')[2]}#{at.pointer}"


def _origin(schema: Schema) -> Origin:
    return Origin(_identity(schema.at), schema.at.pointer, schema.at.file)
