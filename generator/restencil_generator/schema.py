"""The JSON Schema (draft 2020-12) of the spec language, for editors: `restencil schema` prints it.

It says all that a JSON Schema can say of one place: keys, forms, words, texts. What takes a second place to judge (a
name that must exist, two names that clash) is left to the check; a test keeps the two in step and lists what only the
check finds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from restencil_generator.check import AUTH_KINDS, LANGUAGE, TAKEN_PACKAGES, TOP_KEYS
from restencil_generator.check_endpoints import MEMBERS
from restencil_generator.check_resources import CONTENTS, ENDPOINT_KEYS, RESOURCE_KEYS, STYLES
from restencil_generator.check_settings import ERROR_POLICIES, OPTION_KEYS, SECRET_HEADERS
from restencil_generator.check_types import CONST_EXCLUDES, FIELD_KEYS, FORMS_IN, KEYS_IN, Position
from restencil_generator.declaration import EXTENDERS, STANDARD
from restencil_generator.names import (
    CLIENT_MEMBERS,
    FORM_WORDS,
    KEYWORDS,
    RESERVED_TYPES,
    RESOURCE_MEMBERS,
    SCALAR_WORDS,
    WIRE_NAMES,
)
from restencil_generator.reading import MAX_DURATION

Schema: TypeAlias = "dict[str, Any]"

FILE: Final = Path(__file__).with_name("spec.schema.json")
"""The schema as a file, for editors to name. A test keeps it equal to what this module makes."""

# Letters of other scripts are left to the check: patterns have no common way to name them.
_LETTER: Final = r"[^\x00-@\[-`{-\x7f]"
_WORD: Final = r"[^\x00-/:-@\[-^`{-\x7f]"
_NAME: Final = f"{_LETTER}{_WORD}*"
_HTTP_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PYTHON: Final = rf"{_LETTER}{_WORD}*|_{_WORD}*"
_PATH: Final = r"(?:[^\x00-\x20\x7f\\:?(){}*+]|\\[^\x00-\x20\x7f]|:[A-Za-z][A-Za-z0-9_]*(?![A-Za-z0-9_:])\??(?!:))*"


def schema_text() -> str:
    """The JSON Schema of the spec language, as `restencil schema` prints it."""
    return json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"


def language_schema() -> Schema:
    """The JSON Schema of the spec language."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:restencil:spec:{LANGUAGE}",
        "title": f"restencil spec, language version {LANGUAGE}",
        **_mapping(_top(), TOP_KEYS, required=("restencil", "package")),
        "$defs": _definitions(),
    }


def _top() -> dict[str, Schema]:
    return {
        "restencil": _said({"type": "integer", "const": LANGUAGE}, "The version of the spec language."),
        "package": _said(_name(not_one_of=(*KEYWORDS, *TAKEN_PACKAGES)), "The import name of the generated package."),
        "title": _said(_TEXT, "The name of the API."),
        "description": _said(_TEXT, "What the API is, for the package's docstring."),
        "client": _said(_ref("class_name"), "The name of the client, where the one derived from 'package' is taken."),
        "url_prefix": _said(_ref("url"), "Stands before every path."),
        "wire_names": _said({"enum": list(WIRE_NAMES)}, "How names look in JSON."),
        "auth": _ref("auth"),
        "endpoint": _said(_ref("reference"), "The base endpoint class of all resources."),
        "headers": _ref("headers"),
        "options": _ref("options"),
        "enums": _said(_table(_ref("enum"), _ref("type_name")), "Known values, by name."),
        "objects": _said(_table(_fields("object field"), _ref("type_name")), "Plain nested values, by name."),
        "entities": _said(_table(_ref("entity"), _ref("type_name")), "Records with an identity, by name."),
        "resources": _said(_table(_ref("resource"), _ref("resource_name")), "What the API serves, by name."),
    }


def _definitions() -> dict[str, Schema]:
    definitions: dict[str, Schema] = {
        "name": _name(),
        "class_name": _name(not_one_of=KEYWORDS),
        "type_name": _name(not_one_of=(*KEYWORDS, *RESERVED_TYPES)),
        "resource_name": _name(not_one_of=CLIENT_MEMBERS),
        "entity_name": _name(not_one_of=(*KEYWORDS, *RESERVED_TYPES)),
        "text": {"type": "string", "minLength": 1},
        "texts": {"type": "array", "items": _ref("text"), "uniqueItems": True},
        "url": _pattern(r"[^\x00-\x20\x7f]*"),
        "reference": _said(
            _pattern(rf"python:(?:{_PYTHON})(?:\.(?:{_PYTHON}))*:(?:{_PYTHON})"),
            "Hand-written code: python:module:name.",
        )
        | {"not": {"pattern": rf"[:.](?:{'|'.join(sorted(KEYWORDS))})(?:[:.]|$)"}},
        "deprecated": _said({"type": ["boolean", "string"]}, "true, or the reason."),
        "duration": _duration(""),
        "some_duration": _duration("(?=.*[1-9])"),
        "headers": _said(_headers(), "Static headers; secrets never stand in a spec."),
        "auth": {"anyOf": [_auth(kind) for kind in AUTH_KINDS]},
        "options": _options(),
        "enum": _enum(),
        "union": _union("union"),
        "all": {"anyOf": [_mapping({"all": _ref("entity_name")}, required=("all",)), _union("all")]},
        "collection": _collection(),
        "nested_collection": _collection(nest=_table(_ref("text"), _ref("name"))),
        "entity_in_place": _entity_in_place(),
        "one_entity": {"anyOf": [_ref("entity_name"), _ref("union"), _ref("entity_in_place")]},
        "entity": _mapping(_entity_keys()) | {"anyOf": [{"required": ["fields"]}, {"required": ["extends"]}]},
        "path": _pattern(_PATH),
        "body": _body(),
        "pagination": _pagination(),
        "resource": _resource(),
        "endpoint": _mapping(_endpoint_keys(), ENDPOINT_KEYS),
        "example": _mapping({"params": {"type": "object"}, "body": {}, "response": {}}),
    }
    for position in FORMS_IN:
        definitions[_type_name(position)] = _type(position)
        if KEYS_IN[position]:
            definitions[_type_name(position).replace("_type", "_fields")] = _fields_definition(position)
    return definitions


# ---------------------------------------------------------------------------------------------------------- small parts

_TEXT: Final[Schema] = {"type": "string"}
_NULL: Final[Schema] = {"type": "null"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _said(schema: Schema, description: str) -> Schema:
    return {"description": description, **schema}


def _pattern(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _name(not_one_of: Iterable[str] = ()) -> Schema:
    schema = _pattern(_NAME)
    words = sorted(set(not_one_of))
    return schema | {"not": {"enum": words}} if words else schema


def _mapping(properties: Mapping[str, Schema], order: Iterable[str] = (), required: Iterable[str] = ()) -> Schema:
    """A mapping of known keys, in the order of the language's own table."""
    known = {key: properties[key] for key in (order or properties)}
    schema: Schema = {"type": "object", "properties": known, "additionalProperties": False}
    return schema | {"required": list(required)} if required else schema


def _table(values: Schema, names: Schema) -> Schema:
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _duration(ahead: str) -> Schema:
    digits = "[0-9]{1,15}ms|[0-9]{1,12}s|[0-9]{1,10}m|[0-9]{1,8}h"
    return _said(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1 if ahead else 0, "maximum": MAX_DURATION},
                _pattern(f"{ahead}(?:{digits})"),
            ]
        },
        "Milliseconds, or a number with ms, s, m or h: 30s.",
    )


def _headers() -> Schema:
    secrets = ["".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in name) for name in sorted(SECRET_HEADERS)]
    names = _pattern(_HTTP_WORD) | {"not": _pattern("|".join(secrets))}
    return {"type": "object", "propertyNames": names, "additionalProperties": _pattern(r"[\t\x20-\x7e]*")}


def _auth(kind: str) -> Schema:
    values: dict[str, Schema] = {
        "header": _pattern(_HTTP_WORD),
        "cookie": _pattern(_HTTP_WORD),
        "query": _ref("text"),
    }
    env = _said(_pattern("[A-Za-z_][A-Za-z0-9_]*"), "The environment variable that holds the secret.")
    return _mapping({kind: values.get(kind, {"const": True}), "env": env}, required=(kind,))


def _options() -> Schema:
    values: dict[str, Schema] = {
        "data_expiry_length": _ref("duration"),
        "error_expiry_length": _ref("duration"),
        "poll_frequency": _ref("some_duration"),
        "invalid_if_stale": {"type": "boolean"},
        "error_policy": {"anyOf": [{"enum": list(ERROR_POLICIES)}, _ref("reference")]},
        "timeout": _ref("some_duration"),
        "retries": {"type": "integer", "minimum": 0, "maximum": MAX_DURATION},
    }
    return _mapping({key: {"anyOf": [value, _NULL]} for key, value in values.items()}, OPTION_KEYS)


def _enum() -> Schema:
    value = {"type": ["string", "integer"]}
    return {
        "anyOf": [
            {"type": "array", "items": value, "minItems": 1, "uniqueItems": True},
            {
                "type": "object",
                "propertyNames": _pattern(rf"(?:{_LETTER}|[0-9]){_WORD}*"),
                "additionalProperties": value,
                "minProperties": 1,
            },
        ]
    }


# ----------------------------------------------------------------------------------------------------- types and fields


def _type_name(position: Position) -> str:
    return f"{position.replace(' ', '_')}_type"


def _type(position: Position) -> Schema:
    """A type as it may stand in a position."""
    this = _ref(_type_name(position))
    words = sorted(RESERVED_TYPES - set(SCALAR_WORDS) - ({"bytes"} if position == "file field" else set()))
    word = _pattern(rf"{_NAME}\??") | {"not": {"enum": [*words, *(f"{word}?" for word in words)]}}
    options: list[Schema] = [_said(word, "A scalar, an enum, an object or an entity; '?' makes it optional.")]
    if position != "parameter":
        options.append({"type": "array", "items": this, "minItems": 1, "maxItems": 1})
    options.extend(_form(form, position, this) for form in FORM_WORDS if form in FORMS_IN[position])
    if position == "schema":
        names = _name() | {"not": {"enum": list(FORM_WORDS)}}
        options.append({"type": "object", "propertyNames": names, "additionalProperties": this})
    return {"anyOf": options}


def _form(word: str, position: Position, this: Schema) -> Schema:
    match word:
        case "values":
            return _mapping({"values": this}, required=("values",))
        case "object":
            members = {"type": "object", "propertyNames": _ref("name"), "additionalProperties": this}
            return _mapping({"object": members}, required=("object",))
        case "union" | "all":
            return _ref(word)
        case "collection":
            return _ref("nested_collection" if position == "entity field" else "collection")
        case "invalidate":
            return _mapping({"invalidate": _ref("one_entity")}, required=("invalidate",))
        case "query":
            of = {"anyOf": [_ref("collection"), _ref("all")]}
            returns = _ref(_type_name("returns"))
            return _mapping(
                {"query": of, "process": _ref("reference"), "returns": returns}, required=("query", "process")
            )
        case _:
            return _ref("entity_in_place")


def _union(word: str) -> Schema:
    choices = {"type": "object", "additionalProperties": _ref("entity_name"), "minProperties": 1}
    field = _ref("text") | {"not": {"pattern": "^python:"}}
    attribute = _said({"anyOf": [field, _ref("reference")]}, "The field that tells the entities apart, or a function.")
    return _mapping({word: choices, "attribute": attribute}, required=(word, "attribute"))


def _entity_in_place() -> Schema:
    schema = _mapping({"entity": _ref("entity_name"), **_entity_keys()}, required=("entity",))
    return schema | {"anyOf": [{"required": ["fields"]}, {"required": ["extends"]}]}


def _collection(**more: Schema) -> Schema:
    items = {"type": "array", "items": _ref("one_entity"), "minItems": 1, "maxItems": 1}
    of = {"anyOf": [items, _mapping({"values": _ref("one_entity")}, required=("values",))]}
    return _mapping({"collection": of, "non_filter_arguments": _ref("texts"), **more}, required=("collection",))


def _fields(position: Position) -> Schema:
    return _ref(_type_name(position).replace("_type", "_fields"))


def _fields_definition(position: Position) -> Schema:
    """A mapping from names to fields, each a type or a mapping that describes it."""
    values: dict[str, Schema] = {
        "type": _ref(_type_name(position)),
        "const": {"type": ["string", "integer", "boolean"]},
        "default": _said({}, "As in JSON, with Python names."),
        "wire": _said(_ref("text"), "Its name in JSON."),
        "optional": _said({"type": "boolean"}, "It may be null or absent."),
        "description": _TEXT,
        "deprecated": _ref("deprecated"),
        "read_only": _said({"type": "boolean"}, "It is left out of bodies."),
        "decode": _ref("reference"),
        "encode": _ref("reference"),
    }
    keys = [key for key in FIELD_KEYS if key in KEYS_IN[position]]
    fixed = [key for key in keys if key not in CONST_EXCLUDES]
    described = [
        _mapping(values, [key for key in keys if key != "const"], ("type",)),
        _mapping(values, fixed, ("const",)),
    ]
    return _table({"anyOf": [_ref(_type_name(position)), *described]}, _ref("name"))


# -------------------------------------------------------------------------------------------------- entities, resources


def _entity_keys() -> dict[str, Schema]:
    return {
        "fields": _fields("entity field"),
        "pk": {"anyOf": [_ref("text"), _ref("texts") | {"minItems": 1}]},
        "key": _said(_ref("text"), "The name of its table."),
        "extends": _ref("entity_name"),
        "abstract": {"type": "boolean"},
        "indexes": _ref("texts"),
        "validate": _ref("reference"),
        "description": _TEXT,
        "deprecated": _ref("deprecated"),
    }


def _body() -> Schema:
    words = sorted(set(KEYWORDS) | (RESERVED_TYPES - {"any", "bytes"}))
    wrapped = [{"required": [word], "properties": {word: {"type": "object"}}} for word in ("form", "multipart")]
    return {
        "anyOf": [
            _NULL,
            _name(not_one_of=words),
            {"type": "array", "items": _ref(_type_name("body field")), "minItems": 1, "maxItems": 1},
            _mapping({"form": _fields("form field")}, required=("form",)),
            _mapping({"multipart": _fields("file field")}, required=("multipart",)),
            {"allOf": [_fields("body field"), {"not": {"maxProperties": 1, "anyOf": wrapped}}]},
        ]
    }


def _pagination() -> Schema:
    keys: dict[str, Schema] = {
        "style": {"enum": list(STYLES)},
        "next": _said(
            {"anyOf": [_ref("text") | {"not": {"pattern": "^header:"}}, _pattern(f"header:{_HTTP_WORD}")]},
            "Where the next cursor is: a path in the response, header:NAME, or last.<field>.",
        ),
        "size": _mapping(
            {"param": _ref("name"), "value": {"type": "integer", "minimum": 1, "maximum": MAX_DURATION}},
            required=("param", "value"),
        ),
        "remove_cursor": _ref("reference"),
    }
    cursor = {"properties": {"style": {"const": "cursor"}}}
    return _mapping(keys, required=("style",)) | {
        "if": cursor,
        "then": {"required": ["next"]},
        "else": {"not": {"required": ["next"]}},
    }


def _settings() -> dict[str, Schema]:
    return {
        "url_prefix": _ref("url"),
        "headers": _ref("headers"),
        "options": _ref("options"),
        "body": _ref("body"),
        "params": _fields("parameter"),
        "search_params": _fields("search"),
        "pagination_field": _ref("name"),
        "pagination": _ref("pagination"),
        "description": _TEXT,
        "deprecated": _ref("deprecated"),
    }


def _resource() -> Schema:
    extenders = {"contains": {"enum": list(EXTENDERS)}}
    members = {"type": "array", "items": {"enum": list(MEMBERS)}, "uniqueItems": True}
    standard = {"allOf": [_ref("endpoint"), {"not": {"required": ["extends"]}}]}
    endpoints = {
        "type": "object",
        "propertyNames": _name(not_one_of=RESOURCE_MEMBERS),
        "properties": dict.fromkeys((*STANDARD, *EXTENDERS), standard),
        "additionalProperties": _ref("endpoint"),
    }
    collection = _mapping({"non_filter_arguments": _ref("texts")}, required=("non_filter_arguments",))
    keys = _settings() | {
        "path": _said(
            {"allOf": [_ref("path"), {"pattern": r"^(?:[^\\:]|\\.)*:"}]}, "The path of one entity, with a parameter."
        ),
        "schema": _ref("one_entity"),
        "class": _ref("class_name"),
        "members": members | {"if": extenders, "then": {"contains": {"const": "get_list"}}},
        "endpoint": _ref("reference"),
        "collection": {"anyOf": [_ref("reference"), collection]},
        "optimistic": {"type": "boolean"},
        "endpoints": endpoints,
        "examples": {"type": "object", "additionalProperties": _ref("example")},
    }
    return _mapping(keys, RESOURCE_KEYS, ("path", "schema"))


def _endpoint_keys() -> dict[str, Schema]:
    no_schema = {"anyOf": [{"enum": list(SCALAR_WORDS)}, {"type": "string", "pattern": r"\?$"}]}
    schema = {"allOf": [_ref(_type_name("schema")), {"not": no_schema}]}
    return _settings() | {
        "extends": _said(_ref("text"), "The member that it starts from."),
        "path": _ref("path"),
        "method": _pattern(_HTTP_WORD),
        "schema": {"anyOf": [_NULL, schema]},
        "returns": _said(_ref(_type_name("returns")), "The type of the value, where 'process' changes it."),
        "content": {"enum": list(CONTENTS)},
        "side_effect": {"type": "boolean"},
        "process": _ref("reference"),
        "update": _ref("reference"),
        "get_optimistic_response": _ref("reference"),
    }
