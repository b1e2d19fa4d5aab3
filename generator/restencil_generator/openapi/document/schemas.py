"""Reader of schemas: resolves references, flattens `allOf`, limits alternatives.

A schema is read on demand, and once. Invalid parts of it count as absent, with a finding; a schema that cannot be read
is `any`. A schema that combines several others (`allOf`, keywords next to `$ref`, properties next to `oneOf`) is a
`Joined` one, which is identified by the set of its parts, so that cycles end.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.json_schema import (
    DEEPEST,
    MAX_COMBINATIONS,
    MEANT,
    MOST_ALTERNATIVES,
    MOST_JOINED,
    NOTHING,
    NUMERAL,
    STRUCTURE,
    TYPES,
    UNCOUNTED,
    Joined,
    OneOf,
    as_reference,
    as_text,
    bounds,
    combined,
    constrains,
    enum_names,
    fits,
    format_of,
    is_default,
    is_made_of,
    is_null,
    is_scalar,
    is_structural,
    kind_of_value,
    last_key,
    malformed,
    media_of,
    name_of,
    supposed,
)
from restencil_generator.openapi.document.json_types import is_list, is_table, texts
from restencil_generator.openapi.document.model import (
    Discriminator,
    Finding,
    Part,
    Schema,
    SchemaType,
    Where,
)
from restencil_generator.openapi.document.pointer import child, within
from restencil_generator.openapi.document.refs import References


class Schemas:
    """Reader of schemas. With `modern`, keywords next to `$ref` are used, as in 3.1 and later."""

    def __init__(self, references: References, report: Callable[[Finding], None], *, modern: bool) -> None:
        self._references = references
        self._report = report
        self._modern = modern
        self._read: dict[Where, Schema] = {}
        self._reading: set[Where] = set()
        self._joins = 0
        self._counted: dict[Where, int] = {}

    def read(self, part: Part) -> Schema:
        """Return the schema of a part, which may be a reference; always the same one for the same part."""
        schema = self._read.get(part.where)
        if schema is not None:
            return schema
        if part.where in self._reading or len(self._reading) > DEEPEST:
            return Schema(part.where, part.where)
        self._reading.add(part.where)
        try:
            unread = Schema(part.where, part.where)
            schema = contained(
                self._report, f"the schema {self._named(part.where)}", part.where, lambda: self._schema(part), unread
            )
        finally:
            self._reading.discard(part.where)
        self._read[part.where] = schema
        return schema

    # ------------------------------------------------------------------------------------------------------- references

    def _schema(self, part: Part) -> Schema:
        if isinstance(part.value, Joined):
            return self._joined(part, part.value.parts)
        if isinstance(part.value, OneOf):
            return self._choice(part, {}, None, part.value.parts, Schema(part.where, part.where))
        if part.value is True or part.value is False:
            return Schema(part.where, part.where)
        if not is_table(part.value):
            if part.value is not None or part.where.pointer:
                self._malformed(part.where, "a schema", part.value)
            return Schema(part.where, part.where)
        if isinstance(part.value.get("$ref"), str):
            return self._referring(part, part.value)
        if "allOf" in part.value and (combinations := self._combinations(part)) > MAX_COMBINATIONS:
            message = f"the schema {self._named(part.where)} means {combinations:,} alternatives; read as any"
            self._found("allof-conflict", message, part.where)
            return self._noted(Schema(part.where, part.where, name_of(part.where)), part.value, part.where)
        return self._written(part, part.value)

    def _combinations(self, part: Part, depth: int = 0) -> int:
        """Return the number of combinations of all alternatives in a schema; at most `UNCOUNTED`."""
        known = self._counted.get(part.where)
        if known is not None or depth > DEEPEST:
            return known or 1
        self._counted[part.where] = 1  # a cycle adds nothing
        value, count = part.value, 1
        if is_table(value) and isinstance(value.get("$ref"), str):
            target = self._references.target(value["$ref"], part.where) if value["$ref"][:1] == "#" else None
            count = 1 if target is None else self._combinations(target, depth + 1)
        elif is_table(value):
            for key in ("allOf", "oneOf", "anyOf"):
                listed = value.get(key)
                each = [
                    self._combinations(child(part, inner, key, index), depth + 1)
                    for index, inner in enumerate(listed if is_list(listed) else ())
                ]
                count *= max(math.prod(each) if key == "allOf" else sum(each), 1)
                count = min(count, UNCOUNTED)
        self._counted[part.where] = count
        return count

    def _referring(self, part: Part, value: dict[str, Any]) -> Schema:
        siblings = {key: inner for key, inner in value.items() if key != "$ref"}
        if not self._modern:
            siblings = {key: siblings[key] for key in ("description", "deprecated") if key in siblings}
        target = self._references.follow(Part({"$ref": value["$ref"]}, part.where))
        if target is None:
            return self._noted(Schema(part.where, part.where), siblings, part.where)
        if not STRUCTURE.isdisjoint(siblings.keys() - {"type"}):
            return self._joined(part, (target, Part(siblings, within(part.where, "beside"), made=True)))
        return self._noted(self.read(target), siblings, part.where)

    def _noted(self, schema: Schema, value: Mapping[str, Any], where: Where) -> Schema:
        """Add the annotations next to a reference to its schema."""
        notes = self._notes(value, where, schema)
        return dataclasses.replace(schema, where=where, **notes) if notes else schema

    # ------------------------------------------------------------------------------------------------- one written form

    def _written(self, part: Part, value: dict[str, Any]) -> Schema:
        where = part.where
        every = self._parts(part, value, "allOf")
        if every:
            return self._every(part, value, every)
        either = self._parts(part, value, "oneOf")
        key = "oneOf" if any(constrains(each) for each in either) else "anyOf"
        if key == "anyOf":
            either = self._parts(part, value, "anyOf")
        base = Schema(where, where, name_of(where))
        types, nullable = self._types(part, value)
        if either and any(constrains(each) for each in either):
            rest = {inner: each for inner, each in value.items() if inner not in ("oneOf", "anyOf", "discriminator")}
            structural = not STRUCTURE.isdisjoint(rest) and (types != ["any"] or "enum" in rest)
            if types == ["object"] and not any(word in rest for word in ("properties", "additionalProperties")):
                structural = False
            siblings = Part(rest, within(where, key, "beside"), made=True) if structural else None
            schema = self._choice(part, value, siblings, either, base)
            return dataclasses.replace(schema, nullable=schema.nullable or nullable)
        if len(types) > 1:
            each = [
                Part({**value, "type": name}, Where(where.file, f"{where.pointer}/type/{name}"), True) for name in types
            ]
            for one in each:
                one.value.pop("enum", None)
            if "enum" in value:
                self._found("enum-mixed", f"the enum {self._named(where)} has values of several types", where)
            notes = self._notes(value, where, base)
            return dataclasses.replace(base, type="one_of", nullable=nullable, alternatives=tuple(each), **notes)
        (kind,) = types
        schema = dataclasses.replace(base, type=cast("SchemaType", kind), nullable=nullable)
        return self._filled(part, value, schema)

    def _types(self, part: Part, value: dict[str, Any]) -> tuple[list[str], bool]:
        """Return the types that a schema allows, `any` if it declares none, and whether null is one of them."""
        nullable = value.get("nullable") is True or value.get("x-nullable") is True
        written = value.get("type", NOTHING)
        names: list[Any] = written if is_list(written) else [] if written is NOTHING else [written]
        found: list[str] = []
        for name in names:
            if name == "null" or name is None:
                nullable = True
            elif not isinstance(name, str):
                self._malformed(within(part.where, "type"), "a type", name)
            else:
                kind = name if name in TYPES else self._meant(part, name)
                if kind not in found:
                    found.append(kind)
        if "any" in found:
            found = []
        if "number" in found and "integer" in found:
            found.remove("integer")
        if len(found) > 1 and NUMERAL in str(value.get("pattern")):
            found = [kind for kind in found if kind != "string"]
        return found or [supposed(value)], nullable

    def _meant(self, part: Part, name: str) -> str:
        plain = name.strip().lower()
        kind = plain if plain in TYPES else MEANT.get(plain, ("any", ""))[0]
        if plain != "file":
            self._found(
                "type-unknown",
                f"{quoted(name)} is not a type of JSON Schema; read as {kind}",
                within(part.where, "type"),
            )
        return kind

    def _filled(self, part: Part, value: dict[str, Any], schema: Schema) -> Schema:
        """Return a schema of one type with its annotations and constraints."""
        more: dict[str, Any] = {"format": format_of(value), "bounds": bounds(value)}
        if schema.type == "object" or (schema.type == "any" and "required" in value):
            more |= self._members(part, value)
        if schema.type == "array":
            more |= self._items(part, value)
        enum = self._enum(part, value, schema)
        if enum is not None:
            more |= enum
        more |= media_of(value, schema)
        more["discriminator"] = self._discriminator(part, value)
        schema = dataclasses.replace(schema, **more)
        return dataclasses.replace(schema, **self._notes(value, part.where, schema))

    def _members(self, part: Part, value: dict[str, Any]) -> dict[str, Any]:
        written = value.get("properties")
        if written is not None and not is_table(written):
            self._malformed(within(part.where, "properties"), "properties", written)
        properties: dict[str, Part] = {}
        for name, inner in written.items() if is_table(written) else ():
            if inner is not False:
                properties[name] = child(part, {} if inner is None else inner, "properties", name)
        required = value.get("required")
        if required is not None and not is_list(required):
            self._malformed(within(part.where, "required"), "a list of names", required)
        names = frozenset(texts(required))
        return {"properties": properties, "required": names, "values": self._values(part, value)}

    def _values(self, part: Part, value: dict[str, Any]) -> Part | None:
        for key in ("additionalProperties", "unevaluatedProperties"):
            inner = value.get(key)
            if inner is True or is_table(inner):
                return child(part, inner, key)
        patterns = value.get("patternProperties")
        if is_table(patterns) and patterns:
            each = [child(part, inner, "patternProperties", name) for name, inner in patterns.items()]
            return (
                each[0] if len(each) == 1 else Part(OneOf(tuple(each)), within(part.where, "patternProperties"), True)
            )
        return None

    def _items(self, part: Part, value: dict[str, Any]) -> dict[str, Any]:
        items, prefix = value.get("items"), value.get("prefixItems")
        key = "prefixItems"
        if is_list(items):
            key, prefix, items = "items", items, value.get("additionalItems")
        found: dict[str, Any] = {}
        if is_list(prefix):
            found["prefix"] = tuple(child(part, inner, key, index) for index, inner in enumerate(prefix))
        if is_table(items):
            found["items"] = child(part, items, "items" if key == "prefixItems" else "additionalItems")
        elif items is not None and not isinstance(items, bool):
            self._malformed(within(part.where, "items"), "a schema", items)
        return found

    # ----------------------------------------------------------------------------------------------------------- values

    def _enum(self, part: Part, value: dict[str, Any], schema: Schema) -> dict[str, Any] | None:
        """Read `enum` and `const`."""
        if "const" in value:
            const = value["const"]
            if const is None:
                return {"nullable": True}
            return {"const": const} if is_scalar(const) and fits(const, schema.type) else None
        written = value.get("enum", NOTHING)
        if written is NOTHING:
            return None
        where = within(part.where, "enum")
        if not is_list(written):
            self._malformed(where, "a list of values", written)
            return None
        if not written:
            self._found("enum-empty", f"the enum {self._named(part.where)} has no values; read as {schema.type}", where)
            return None
        found: dict[str, Any] = {"nullable": True} if None in written else {}
        values = list(
            dict.fromkeys(as_text(each) if schema.type == "string" else each for each in written if is_scalar(each))
        )
        whole = len([each for each in written if each is not None and not is_scalar(each)]) == 0
        kinds = {kind_of_value(each) for each in values}
        if whole and kinds in ({"string"}, {"integer"}) and kinds == {schema.type}:
            found["enum"] = tuple(values)
            found["enum_names"] = enum_names(value, written, values)
        elif values or not whole:
            types = " and ".join(sorted(kinds)) if whole else "objects or lists"
            message = f"the enum {self._named(part.where)} has values that are {types}; read as {schema.type}"
            self._found("enum-mixed", message, where)
        if whole and len(values) == 1 and fits(values[0], schema.type):
            found["const"] = values[0]
        return found

    def _notes(self, value: Mapping[str, Any], where: Where, schema: Schema) -> dict[str, Any]:
        """Read the annotations of a schema: description, default, examples."""
        notes: dict[str, Any] = {}
        for key, name in (("title", "title"), ("description", "description")):
            if isinstance(value.get(key), str) and value[key].strip():
                notes[name] = value[key]
        for key, name in (("deprecated", "deprecated"), ("readOnly", "read_only"), ("writeOnly", "write_only")):
            if value.get(key) is True:
                notes[name] = True
        if value.get("nullable") is True or value.get("x-nullable") is True:
            notes["nullable"] = True
        examples = [value["example"]] if "example" in value else []
        examples += value["examples"] if is_list(value.get("examples")) else []
        if examples:
            notes["examples"] = tuple(examples)
        if value.get("default") is not None:
            default = value["default"]
            if is_default(default, schema):
                notes["default"] = default
            else:
                message = f"the default {quoted(str(default))} does not fit {schema.type}; it is left out"
                self._found("default-misfit", message, within(where, "default"))
        return notes

    def _discriminator(self, part: Part, value: dict[str, Any]) -> Discriminator | None:
        written = value.get("discriminator")
        if isinstance(written, str) and written:
            return Discriminator(written, {})
        if not is_table(written) or not isinstance(written.get("propertyName"), str):
            return None
        table = written.get("mapping")
        mapping = {
            name: child(part, {"$ref": as_reference(target)}, "discriminator", "mapping", name)
            for name, target in (table.items() if is_table(table) else ())
            if isinstance(target, str)
        }
        default = written.get("defaultMapping")
        other = (
            child(part, {"$ref": as_reference(default)}, "discriminator", "defaultMapping")
            if isinstance(default, str)
            else None
        )
        return Discriminator(written["propertyName"], mapping, other)

    # --------------------------------------------------------------------------------------------- several in one place

    def _parts(self, part: Part, value: dict[str, Any], key: str) -> list[Part]:
        written = value.get(key)
        if written is None:
            return []
        if not is_list(written):
            self._malformed(within(part.where, key), "a list of schemas", written)
            return []
        return [child(part, inner, key, index) for index, inner in enumerate(written) if is_table(inner)]

    def _every(self, part: Part, value: dict[str, Any], every: list[Part]) -> Schema:
        rest = {key: inner for key, inner in value.items() if key != "allOf"}
        if "discriminator" in rest and "properties" not in rest and rest.get("type") in (None, "object"):
            rest.pop("type", None)
        if rest.get("type") == "object" and not any(
            key in rest for key in ("properties", "additionalProperties", "required")
        ):
            rest.pop("type")
        parts = list(every)
        if not STRUCTURE.isdisjoint(rest):
            # Annotations of the whole are added once, at the end; this is its structure.
            parts.append(Part(rest, Where(part.where.file, f"{part.where.pointer}/allOf/beside"), made=True))
        schema = self._joined(part, tuple(parts))
        return self._noted(schema, rest, part.where)

    def _joined(self, part: Part, parts: tuple[Part, ...]) -> Schema:
        """Return the schema that combines all parts."""
        notes: list[Part] = []
        several: dict[Where, Part] = {}
        for each in self._flattened(parts, set()):
            (several.setdefault(each.where, each) if is_structural(each) else notes.append(each))
        own = Schema(part.where, part.where, name_of(part.where))
        several.pop(part.where, None)
        each_one = list(several.values())
        if not each_one:
            schema = own
        elif len(each_one) == 1:
            schema = self.read(each_one[0])
        else:
            schema = self._merged(each_one, own)
        for note in notes:
            if is_table(note.value):
                schema = self._noted(schema, note.value, part.where)
        return schema

    def _flattened(self, parts: tuple[Part, ...], seen: set[Where]) -> list[Part]:
        """Return the parts with references followed, and joined parts replaced by their own parts."""
        found: list[Part] = []
        for part in parts:
            if isinstance(part.value, Joined):
                found += self._flattened(part.value.parts, seen)
                continue
            plain = is_table(part.value) and set(part.value) == {"$ref"}
            target = self._references.follow(part) if plain else part
            if target is None or target.where in seen:
                continue
            if target.where in self._reading and target is not part and not target.made:
                self._found("ref-cycle", f"{self._named(target.where)} contains itself in allOf", part.where)
                continue
            seen.add(target.where)
            found.append(target)
        return found

    def _merged(self, parts: list[Part], own: Schema) -> Schema:
        """Merge several schemas into one."""
        schemas = self._few(parts, own)
        for index, schema in enumerate(schemas):
            if schema.type == "one_of":
                others = tuple(each for inner, each in enumerate(parts) if inner != index)
                if any(is_made_of(other, own.at) for other in schema.alternatives):
                    schemas[index] = Schema(schema.at, schema.where)  # one of its alternatives has it as parent
                    continue
                alternatives = tuple(self._join((*others, each)) for each in schema.alternatives[:MOST_ALTERNATIVES])
                return dataclasses.replace(schema, at=own.at, where=own.at, name=own.name, alternatives=alternatives)
        merged = schemas[0]
        for schema in schemas[1:]:
            merged = self._intersection(merged, schema, own.at)
        return dataclasses.replace(merged, at=own.at, where=own.at, name=own.name)

    def _few(self, parts: list[Part], own: Schema) -> list[Schema]:
        """Read the schemas of parts, without alternatives if they have too many combinations."""
        schemas = [self.read(each) for each in parts]
        combinations = math.prod(len(schema.alternatives) for schema in schemas if schema.type == "one_of")
        if combinations <= MOST_ALTERNATIVES:
            return schemas
        message = f"the alternatives {self._named(own.at)} have {combinations:,} combinations; what all share is read"
        self._found("allof-conflict", message, own.at)
        return [schema if schema.type != "one_of" else Schema(schema.at, schema.where) for schema in schemas]

    def _join(self, parts: tuple[Part, ...]) -> Part:
        """Return a synthetic part whose place is the same for the same parts."""
        each = self._flattened(parts, set())
        if len(each) == 1:
            return each[0]
        self._joins += 1
        if self._joins > MOST_JOINED:
            return Part(True, parts[0].where, made=True)
        ordered = sorted(each, key=lambda part: part.where)
        where = Where(ordered[0].where.file if ordered else "", "&".join(part.where.pointer for part in ordered))
        return Part(Joined(tuple(each)), where, made=True)

    def _intersection(self, one: Schema, other: Schema, where: Where) -> Schema:
        """Return the intersection of two schemas: the narrower type if one contains the other, else any."""
        if one.type == "any" or other.type == "any":
            first, second = (other, one) if one.type == "any" else (one, other)
            return combined(first, second, self._join)
        if one.type == other.type:
            return combined(one, other, self._join)
        if {one.type, other.type} == {"integer", "number"}:
            return combined(
                one if one.type == "integer" else other, other if one.type == "integer" else one, self._join
            )
        self._found(
            "allof-conflict",
            f"the value {self._named(where)} is {one.type} and {other.type} at once; read as any",
            where,
        )
        return dataclasses.replace(
            one, type="any", format="", enum=(), const=None, properties={}, items=None, values=None
        )

    def _choice(
        self,
        part: Part,
        value: dict[str, Any],
        siblings: Part | None,
        parts: list[Part] | tuple[Part, ...],
        own: Schema,
    ) -> Schema:
        """Return the schema of alternatives, each combined with the keywords next to them."""
        nullable = False
        found: dict[Where, Part] = {}
        for each in parts:
            target = each
            if is_table(each.value) and set(each.value) == {"$ref"}:
                followed = self._references.follow(each)
                target = each if followed is None else followed
            if is_null(target.value):
                nullable = True
            elif constrains(target) or not is_table(target.value) or not target.value:
                found.setdefault(target.where, target)
        alternatives = list(found.values())
        if siblings is not None:
            alternatives = [self._join((siblings, each)) for each in alternatives] or [siblings]
        if len(alternatives) == 1:
            schema = self.read(alternatives[0])
            schema = dataclasses.replace(schema, where=own.where, nullable=schema.nullable or nullable)
        else:
            kind: SchemaType = "one_of" if alternatives else "any"
            schema = dataclasses.replace(own, type=kind, nullable=nullable, alternatives=tuple(alternatives))
            discriminator = self._discriminator(part, value)
            schema = dataclasses.replace(schema, discriminator=discriminator)
        return self._noted(schema, value, part.where)

    # --------------------------------------------------------------------------------------------------------- findings

    def _named(self, where: Where) -> str:
        """Return the name of a schema for messages."""
        return f"of {quoted(name_of(where) or last_key(where))}"

    def _malformed(self, where: Where, expected: str, value: object) -> None:
        self._report(malformed(where, expected, value))

    def _found(self, code: str, message: str, where: Where) -> None:
        self._report(Finding(code, message, where))
