"""The keywords of JSON Schema, also misspelled ones."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard, cast

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Finding, Part, Scalar, Schema, SchemaType, Where
from restencil_generator.openapi.document.pointer import keys, token

TYPES: Final = frozenset(("string", "integer", "number", "boolean", "array", "object"))

MEANT: Final[Mapping[str, tuple[SchemaType, str]]] = {
    **dict.fromkeys(("str", "text", "char", "varchar", "html", "markdown", "enum"), ("string", "")),
    **{name: ("string", name) for name in ("date", "time", "uuid", "email", "uri", "url", "byte", "binary")},
    **dict.fromkeys(("datetime", "date-time", "timestamp", "date_time"), ("string", "date-time")),
    "guid": ("string", "uuid"),
    **dict.fromkeys(("file", "blob", "stream"), ("string", "binary")),
    **dict.fromkeys(("int", "int16", "int32", "int64", "uint", "uint32", "uint64"), ("integer", "")),
    **dict.fromkeys(("long", "short", "bigint"), ("integer", "")),
    **dict.fromkeys(("float", "float32", "float64", "double", "decimal", "numeric", "real"), ("number", "")),
    "bool": ("boolean", ""),
    **dict.fromkeys(("dict", "dictionary", "map", "hash", "hashmap", "json", "struct"), ("object", "")),
    **dict.fromkeys(("list", "tuple", "set", "collection"), ("array", "")),
    **dict.fromkeys(("any", "mixed"), ("any", "")),
}
"""The meaning of types that no version of JSON Schema has, in lower case."""

_BY_FORMAT: Final[Mapping[str, SchemaType]] = {
    **dict.fromkeys(("int16", "int32", "int64", "uint32", "uint64"), "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("date-time", "date", "time", "uuid", "byte", "binary", "password"), "string"),
    **dict.fromkeys(("email", "uri", "url", "hostname", "ipv4", "ipv6"), "string"),
}
"""The types of schemas that only have a format."""

_BOUNDS: Final = (
    "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip

NUMERAL: Final = r"(?:0|[1-9]\d*)"
"""The part of a pattern by which ASP.NET says that a number may also be sent as its digits: it is a number."""

STRUCTURE: Final = frozenset(
    ("$ref", "$dynamicRef", "type", "properties", "items", "prefixItems", "additionalProperties", "patternProperties",
     "enum", "const", "allOf", "oneOf", "anyOf", "format", "required", "discriminator")
)  # fmt: skip
"""Keywords that determine the type of a value; all others are annotations or bounds."""

NOTHING: Final = object()
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
MOST_ALTERNATIVES: Final = 60
MOST_JOINED: Final = 50_000
MAX_COMBINATIONS: Final = 1_000
DEEPEST: Final = 60
"""Limits for combinations of schemas; no real document comes near."""

UNCOUNTED: Final = 10**9
"""The number of alternatives above which they are not counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Joined:
    """The value of a synthetic part: a schema that combines all of these (`allOf`)."""

    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class OneOf:
    """The value of a synthetic part: a schema that is one of these."""

    parts: tuple[Part, ...]


def supposed(value: dict[str, Any]) -> str:
    """Return the type of a schema that declares none."""
    if any(is_table(value.get(key)) for key in ("properties", "additionalProperties", "patternProperties")):
        return "object"
    if is_table(value.get("items")) or is_list(value.get("items")) or is_list(value.get("prefixItems")):
        return "array"
    written = value.get("enum")
    values: list[Any] = written if is_list(written) else [value["const"]] if "const" in value else []
    kinds = {kind_of_value(each) for each in values if each is not None}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"integer", "number"}:
        return "number"
    form = value.get("format")
    return _BY_FORMAT.get(form, "any") if isinstance(form, str) else "any"


def format_of(value: dict[str, Any]) -> str:
    """Return the format of a schema, which may be in its type."""
    form = value.get("format")
    if isinstance(form, str) and form:
        return form
    kind = value.get("type")
    return MEANT.get(kind.strip().lower(), ("any", ""))[1] if isinstance(kind, str) and kind not in TYPES else ""


def media_of(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the format of a string with encoded content: another media type, or the bytes of a file."""
    media = value.get("contentMediaType")
    if not isinstance(media, str) or schema.type not in ("any", "string"):
        return {}
    if value.get("format"):
        return {"type": "string", "content_type": media}
    if value.get("contentEncoding") in ("base64", "base64url"):
        return {"type": "string", "content_type": media, "format": "byte"}
    is_text = media.startswith("text/") or "json" in media or "xml" in media
    return {"type": "string", "content_type": media, "format": "" if is_text else "binary"}


def is_structural(part: Part) -> bool:
    """Return whether a part determines the type of a value, rather than only annotating it."""
    if isinstance(part.value, Joined | OneOf):
        return True
    return is_table(part.value) and not STRUCTURE.isdisjoint(part.value)


def constrains(part: Part) -> bool:
    """Return whether an alternative determines the type of a value, rather than which properties go together."""
    value = part.value
    if not is_table(value):
        return isinstance(value, Joined | OneOf)
    if "required" in value and "properties" not in value:
        return not STRUCTURE.isdisjoint(value.keys() - {"required", "type"})
    return not STRUCTURE.isdisjoint(value)


def combined(one: Schema, other: Schema, join: Callable[[tuple[Part, ...]], Part]) -> Schema:
    """Combine two schemas of one type; the schemas of a property in both are combined with `join`."""
    properties = dict(one.properties)
    for name, part in other.properties.items():
        known = properties.get(name)
        properties[name] = part if known is None else join((known, part))
    items = one.items or other.items
    if one.items is not None and other.items is not None:
        items = join((one.items, other.items))
    enum = one.enum or other.enum
    if one.enum and other.enum:
        both = set(one.enum) & set(other.enum)
        enum = cast("tuple[str, ...]", tuple(value for value in one.enum if value in both)) or one.enum
    return dataclasses.replace(
        one,
        format=one.format or other.format,
        nullable=one.nullable and other.nullable,
        enum=enum,
        enum_names=one.enum_names if enum == one.enum else (),
        const=one.const if one.const is not None else other.const,
        properties=properties,
        required=one.required | other.required,
        values=one.values or other.values,
        items=items,
        prefix=one.prefix or other.prefix,
        discriminator=one.discriminator or other.discriminator,
        content_type=one.content_type or other.content_type,
        title=one.title or other.title,
        description=one.description or other.description,
        deprecated=one.deprecated or other.deprecated,
        read_only=one.read_only or other.read_only,
        write_only=one.write_only or other.write_only,
        default=one.default if one.default is not None else other.default,
        examples=one.examples or other.examples,
        bounds={**one.bounds, **other.bounds},
    )


def is_default(value: object, schema: Schema) -> bool:
    """Return whether a value is valid as the default of a schema."""
    return fits(value, schema.type) and (not schema.enum or value in schema.enum)


def is_made_of(part: Part, where: Where) -> bool:
    """Return whether an alternative is the schema at a place, or is combined from it."""
    parts = part.value.parts if isinstance(part.value, Joined) else (part,)
    return any(each.where == where for each in parts)


_NO_NAMES: Final = frozenset(
    (
        "properties",
        "items",
        "schema",
        "content",
        "allOf",
        "oneOf",
        "anyOf",
        "additionalProperties",
        "paths",
        "responses",
    )
)


def name_of(where: Where) -> str:
    """Return the name of a component schema; an empty string for other schemas."""
    path = keys(where.pointer)
    if "&" in where.pointer or not _NO_NAMES.isdisjoint(path[-2:]):
        return ""
    if not path:
        return where.file.rpartition("/")[2].rpartition(".")[0]
    named = len(path) <= 2 or path[:2] == ["components", "schemas"] or path[-2] in ("$defs", "definitions")
    return path[-1] if (named and len(path) <= 3) or path[-2:-1] in (["$defs"], ["definitions"]) else ""


def shape(value: object) -> str:
    """Describe a value in a word or two."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if is_table(value):
        return "an object"
    return "a list" if is_list(value) else f"the number {value}"


def malformed(where: Where, expected: str, value: object) -> Finding:
    """Return a finding about a part that is not what OpenAPI expects there."""
    return Finding("malformed", f"expected {expected}, not {shape(value)}; it is ignored", where)


def last_key(where: Where) -> str:
    path = [key for key in keys(where.pointer) if key not in ("enum", "schema", "items", "beside")]
    return path[-1] if path else where.file


def is_scalar(value: object) -> TypeGuard[Scalar]:
    return isinstance(value, str | int | float | bool)


def is_null(value: object) -> bool:
    if not is_table(value):
        return False
    written = value.get("type")
    return (
        written in ("null", ["null"])
        or (value.get("enum") == [None] and "type" not in value)
        or ("const" in value and value["const"] is None)
    )


def kind_of_value(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "array" if is_list(value) else "object"


def fits(value: object, kind: str) -> bool:
    """Return whether a value has a type."""
    if kind in ("any", "one_of"):
        return True
    found = kind_of_value(value)
    is_whole = isinstance(value, float) and value.is_integer()
    return found == kind or (kind == "number" and found == "integer") or (kind == "integer" and is_whole)


def as_text(value: Scalar) -> Scalar:
    """Return a value of a string enum as a string: YAML reads some unquoted words as numbers and booleans."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value


def enum_names(value: dict[str, Any], written: list[Any], values: list[Scalar]) -> tuple[str, ...]:
    for key in ("x-enum-varnames", "x-enumNames"):
        names = value.get(key)
        if is_list(names) and len(names) == len(written) == len(values) and len(set(map(str, names))) == len(names):
            texts = [name for name in names if isinstance(name, str) and _NAME.match(name)]
            if len(texts) == len(names):
                return tuple(texts)
    return ()


def bounds(value: dict[str, Any]) -> dict[str, Any]:
    found = {key: value[key] for key in _BOUNDS if is_scalar(value.get(key))}
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(found.get(exclusive), bool) and found.pop(exclusive) and plain in found:
            found[exclusive] = found.pop(plain)
    return found


def as_reference(target: str) -> str:
    """Return the target of a discriminator's mapping as a reference: it may be only the name of a schema."""
    if "#" in target or "/" in target or target.endswith((".json", ".yaml", ".yml")):
        return target
    return f"#/components/schemas/{token(target)}"
