"""The JSON Schema (draft 2020-12) of the spec language, for editors: `restencil schema` prints it.

It is made from the language's table and says all that a JSON Schema can say of one place: keys, what each is for,
forms, words, texts. What takes a second place to judge (a name that must exist, two names that clash) is left to the
check; a test keeps the two in step and lists what only the check finds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from restencil_generator.spec.grammar import keys, value_kinds
from restencil_generator.spec.grammar.keys import FORMS, PLACES, POSITIONS, RESERVED, SCALAR_WORDS, form_place
from restencil_generator.spec.grammar.read import MAX_DURATION
from restencil_generator.spec.model import ASKED_FOR, EXTENDERS, STANDARD
from restencil_generator.spec.names import CLIENT_ARGUMENTS, CLIENT_MEMBERS, KEYWORDS, RESOURCE_MEMBERS

Schema: TypeAlias = "dict[str, Any]"

FILE_NAME: Final = "spec.schema.json"
"""The file beside this module that holds the schema in wheels and sdists; `hatch_build.py` adds it."""

# Letters of other scripts are left to the check: patterns have no common way to name them.
_LETTER: Final = r"[^\x00-@\[-`{-\x7f]"
_WORD: Final = r"[^\x00-/:-@\[-^`{-\x7f]"
_NAME: Final = f"{_LETTER}{_WORD}*"
_PYTHON: Final = rf"{_LETTER}{_WORD}*|_{_WORD}*"
_PATH: Final = r"(?:[^\x00-\x20\x7f\\:?(){}*+]|\\[^\x00-\x20\x7f]|:[A-Za-z][A-Za-z0-9_]*(?![A-Za-z0-9_:])\??(?!:))*"


def schema_text() -> str:
    """The JSON Schema of the spec language, as `restencil schema` prints it."""
    return json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"


def language_schema() -> Schema:
    """The JSON Schema of the spec language."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:restencil:spec:{keys.VERSION}",
        "title": f"restencil spec, language version {keys.VERSION}",
        **_place("spec"),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Schema]:
    """The parts that others refer to: places, types by position, and small words."""
    found: dict[str, Schema] = {
        "name": _name(),
        "class_name": _name(KEYWORDS),
        "type_name": _name((*KEYWORDS, *RESERVED)),
        "resource_name": _name(CLIENT_MEMBERS),
        "text": {"type": "string", "minLength": 1},
        "reference": _pattern(rf"python:(?:{_PYTHON})(?:\.(?:{_PYTHON}))*:(?:{_PYTHON})")
        | {"not": {"pattern": rf"[:.](?:{'|'.join(sorted(KEYWORDS))})(?:[:.]|$)"}},
        "duration": _length(""),
        "some_duration": _length("(?=.*[1-9])"),
        "scheme_name": _name(CLIENT_ARGUMENTS - {"token"} | KEYWORDS | {keys.NO_AUTH}),
        "headers": _headers(),
        "enum": _enum(),
        "one_entity": {"anyOf": [_ref("type_name"), _ref("union_form"), _ref("entity_form")]},
        "path": _pattern(_PATH),
        "body": _body(),
        "endpoints": _endpoints(),
    }
    for name, place in PLACES.items():
        if name == "spec" or name == "body":
            continue
        if name in POSITIONS:
            types = [
                _ref(_type_name(name)),
                _place(name, name),
                *_must(name),
                *([_NULL] if name in _TAKEN_BACK else []),
            ]
            found[_fields_name(name)] = _table({"anyOf": types}, _ref("name"))
        elif not _in_positions(name):
            found[name] = {"description": _plain(place.help), **_place(name)}
    for position, facts in POSITIONS.items():
        found[_type_name(position)] = _type(position)
        if "one_of" in facts.forms:
            found[_alternative_name(position)] = _alternative(position)
    return found


# --------------------------------------------------------------------------------------------------------------- places


def _place(name: str, position: str = "") -> Schema:
    """A mapping with the keys of a place, and what its rules say."""
    rows = keys.rows(name)
    properties = {
        key: _property(row, position) for key, row in rows.items() if row.position in ("", position) or not position
    }
    required = [key for key, row in rows.items() if row.required]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    rules = [_RULES[type(rule)](rule) for rule in PLACES[name].rules]
    return schema | ({"allOf": rules} if rules else {})


def _property(row: keys.Row, position: str) -> Schema:
    schema: Schema = {"description": _plain(row.help), **_of_kind(row.kind, position)}
    if row.default not in (None, "", False):
        schema["default"] = row.default
    if row.deprecated:
        schema["deprecated"] = True
    return schema


def _plain(text: str) -> str:
    """A help text without the marks that Markdown has."""
    return text.replace("`", "'")


def _exactly_one(rule: value_kinds.ExactlyOne) -> Schema:
    return {"oneOf": [{"required": [key]} for key in rule.keys]}


def _one_or_more(rule: value_kinds.OneOrMore) -> Schema:
    return _any_given(rule.keys)


def _only_with(rule: value_kinds.OnlyWith) -> Schema:
    given: Schema = {"required": [rule.key]}
    return {"if": {"properties": {rule.other: {"enum": [*rule.values]}}}, "then": given, "else": {"not": given}}


def _only_with_mapping(rule: value_kinds.OnlyWithMapping) -> Schema:
    given: Schema = {"required": [rule.key]}
    return {"if": {"properties": {rule.other: {"type": "object"}}}, "then": given, "else": {"not": given}}


def _mapping_with(rule: value_kinds.MappingWith) -> Schema:
    def kind(type: str) -> Schema:
        return {"properties": {rule.key: {"type": type}}}

    return {"if": {"required": [rule.other]}, "then": kind("object"), "else": kind("string")}


def _not_both(rule: value_kinds.NotBoth) -> Schema:
    both = {key: {"const": True} for key in (rule.one, rule.other)}
    return {"not": {"properties": both, "required": list(both)}}


def _excludes(rule: value_kinds.Excludes) -> Schema:
    return {"if": {"required": [rule.key]}, "then": {"not": _any_given(rule.others)}}


def _any_given(keys: Iterable[str]) -> Schema:
    return {"anyOf": [{"required": [key]} for key in keys]}


def _together(rule: value_kinds.Together) -> Schema:
    keys = (rule.first, rule.second)
    return {"anyOf": [{"required": [*keys]}, {"required": [rule.instead], "not": _any_given(keys)}]}


def _only_of(rule: value_kinds.OnlyOf) -> Schema:
    return {"if": {"not": _any_given(rule.keys)}, "then": {"not": _any_given(rule.others)}}


def _parameter_unless(rule: value_kinds.ParameterUnless) -> Schema:
    flagged: Schema = {"required": [rule.flag], "properties": {rule.flag: {"const": True}}}
    return {"if": {"not": flagged}, "then": {"properties": {rule.key: {"pattern": r"^(?:[^\\:]|\\.)*:"}}}}


_RULES: Final[Mapping[type[Any], Callable[[Any], Schema]]] = {
    value_kinds.ExactlyOne: _exactly_one,
    value_kinds.OneOrMore: _one_or_more,
    value_kinds.OnlyWith: _only_with,
    value_kinds.OnlyBeside: lambda rule: {"dependentRequired": {rule.key: [rule.other]}},
    value_kinds.NotBoth: _not_both,
    value_kinds.OnlyWithMapping: _only_with_mapping,
    value_kinds.Together: _together,
    value_kinds.OnlyOf: _only_of,
    value_kinds.ParameterUnless: _parameter_unless,
    value_kinds.Excludes: _excludes,
    value_kinds.MappingWith: _mapping_with,
}


# ---------------------------------------------------------------------------------------------------------- small parts

_NULL: Final[Schema] = {"type": "null"}
_TAKEN_BACK: Final = {
    row.kind.position for row in keys.ROWS if isinstance(row.kind, value_kinds.Fields) and row.kind.back
}
"""Positions whose fields may be null, which takes an inherited one back."""


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _pattern(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _name(not_one_of: Iterable[str] = ()) -> Schema:
    schema = _pattern(_NAME)
    words = sorted(set(not_one_of))
    return schema | {"not": {"enum": words}} if words else schema


def _table(values: Schema, names: Schema) -> Schema:
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _length(ahead: str) -> Schema:
    """A duration; `ahead` looks for a digit that is not zero where it must not be empty."""
    whole: Schema = {"type": "integer", "minimum": 1 if ahead else 0, "maximum": MAX_DURATION}
    return {"anyOf": [whole, _pattern(f"{ahead}(?:[0-9]{{1,15}}ms|[0-9]{{1,12}}s|[0-9]{{1,10}}m|[0-9]{{1,8}}h)")]}


def _headers() -> Schema:
    secrets = ["".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in name) for name in keys.SECRET_HEADERS]
    names = _pattern(keys.HTTP_WORD) | {"not": _pattern("|".join(secrets))}
    return _table(_pattern(keys.HEADER_VALUE), names)


def _enum() -> Schema:
    value: Schema = {"type": ["string", "integer"]}
    constants = _table(value, _pattern(rf"(?:{_LETTER}|[0-9]){_WORD}*")) | {"minProperties": 1}
    return {"anyOf": [{"type": "array", "items": value, "minItems": 1, "uniqueItems": True}, constants]}


def _body() -> Schema:
    words = sorted(set(KEYWORDS) | (RESERVED - set(keys.BODY_WORDS)))
    wrappers = keys.rows("body")
    wrapped = [{"required": [word], "properties": {word: {"type": "object"}}} for word in wrappers]
    body_field = _of_kind(value_kinds.Fields("body_field"), "")
    return {
        "anyOf": [
            _NULL,
            _name(words),
            {"type": "array", "items": _ref(_type_name("body_field")), "minItems": 1, "maxItems": 1},
            *(
                {"type": "object", "properties": {word: _property(row, "")}, "additionalProperties": False}
                | {"required": [word]}
                for word, row in wrappers.items()
            ),
            _form("one_of", "body_field"),
            {"allOf": [body_field, {"not": {"maxProperties": 1, "anyOf": wrapped}}]},
        ]
    }


def _endpoints() -> Schema:
    standard = {"allOf": [_ref("endpoint"), {"not": {"required": ["extends"]}}]}
    names = [name for name in (*STANDARD, *EXTENDERS) if name not in ASKED_FOR]
    return {
        "type": "object",
        "propertyNames": _name(RESOURCE_MEMBERS),
        "properties": dict.fromkeys(names, standard),
        "additionalProperties": _ref("endpoint"),
    }


# ---------------------------------------------------------------------------------------------------------------- types


def _type_name(position: str) -> str:
    return f"{position}_type"


def _fields_name(position: str) -> str:
    return f"{position}s"


def _alternative_name(position: str) -> str:
    return f"{position}_alternative"


_IN_POSITIONS: Final = (value_kinds.Type, value_kinds.Members, value_kinds.Alternatives)


def _in_positions(place: str) -> bool:
    """Whether a place looks different in each position: that of a form which holds types, or has a key of one."""
    return any(
        (isinstance(row.kind, _IN_POSITIONS) and not getattr(row.kind, "position", "")) or row.position
        for row in keys.rows(place).values()
    )


def _type(position: str) -> Schema:
    """A type as it may stand in a position."""
    facts = POSITIONS[position]
    this = _ref(_type_name(position))
    said = "A scalar, an enum, an object or an entity; '?' makes it optional."
    options: list[Schema] = [{"description": said, **_word(position, "?")}]
    if facts.lists:
        options.append(_list_of(this))
    options += [_form(form, position) for form in FORMS if form in facts.forms]
    if facts.bare:
        words = [form for form in FORMS if form not in keys.LIST_FORMS]
        options.append(_table(this, _name() | {"not": {"enum": words}}))
    return {"anyOf": options}


def _alternative(position: str) -> Schema:
    """One of the types that a value is one of."""
    facts = POSITIONS[position]
    options: list[Schema] = [_word(position, ""), _list_of(_ref(_type_name(position)))]
    options += [_form(form, position) for form in facts.alternatives if form != "const"]
    const = {"const": _property(keys.rows("object_field")["const"], "")}
    options.append({"type": "object", "properties": const, "additionalProperties": False, "required": ["const"]})
    return {"anyOf": options}


def _word(position: str, mark: str) -> Schema:
    """A type that is a word; `mark` may stand behind it."""
    words = sorted(RESERVED - set(SCALAR_WORDS) - ({"bytes"} if POSITIONS[position].files else set()))
    marked = [f"{word}{mark}" for word in words] if mark else []
    return _pattern(rf"{_NAME}\{mark}?" if mark else _NAME) | {"not": {"enum": [*words, *marked]}}


def _must(position: str) -> list[Schema]:
    """The type of a field that bodies must hold, where there are such fields."""
    if not POSITIONS[position].must:
        return []
    words = sorted(RESERVED - set(SCALAR_WORDS))
    return [_pattern(f"{_NAME}!") | {"not": {"enum": [f"{word}!" for word in words]}}]


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 1}


def _form(form: str, position: str) -> Schema:
    place = form_place(form)
    if not _in_positions(place):
        return _ref(place)
    return {"description": _plain(PLACES[place].help)} | _place(place, position)


# --------------------------------------------------------------------------------------------------------------- kinds


def _of_kind(kind: value_kinds.Kind, position: str) -> Schema:
    """The schema of a kind; `position` is that of the form which holds it."""
    return KINDS[type(kind)](kind, position)


def _text(kind: value_kinds.Text, position: str) -> Schema:
    if kind.pattern is None:
        return {"type": "string"} if kind.empty else _ref("text")
    schema = _pattern(kind.pattern.regex)
    return schema if kind.empty else schema | {"minLength": 1}


def _python_name(kind: value_kinds.Name, position: str) -> Schema:
    if kind.taken:
        return _name((*KEYWORDS, *kind.taken))
    return _ref("name" if kind.keyword else "class_name")


def _texts(kind: value_kinds.Texts, position: str) -> Schema:
    items: Schema = {"enum": list(kind.words)} if kind.words else _ref("text")
    if kind.pattern is not None:
        items = _pattern(kind.pattern.regex)
    schema: Schema = {"type": "array", "items": items, "uniqueItems": True}
    if kind.least:
        schema["minItems"] = kind.least
    if {"get_list", *EXTENDERS} <= set(kind.words):  # what hangs on the list comes with the list
        schema |= {"if": {"contains": {"enum": list(EXTENDERS)}}, "then": {"contains": {"const": "get_list"}}}
    return schema


def _either(kind: value_kinds.Either, position: str) -> Schema:
    has_code = any(isinstance(form, value_kinds.Code) for form in kind.kinds)
    forms = [_of_kind(form, position) for form in kind.kinds]
    if has_code:  # what begins like a reference is read as one
        forms = [form | {"not": {"pattern": "^python:"}} if form == _ref("text") else form for form in forms]
    return {"anyOf": forms}


def _tables(kind: value_kinds.Table, position: str) -> Schema:
    if kind.names == "endpoint_name":
        return _ref("endpoints")
    values = _of_kind(kind.values, position)
    return _table(values, _ref(kind.names)) if kind.names else {"type": "object", "additionalProperties": values}


def _pairs(kind: value_kinds.Pairs, position: str) -> Schema:
    text: Schema = {"type": "string"} if kind.pattern is None else _pattern(kind.pattern.regex)
    names: Schema = {"enum": list(kind.names)} if kind.names else {"not": {"enum": [*kind.secrets, *kind.taken]}}
    return _table(text, names)


def _use(kind: value_kinds.Use, position: str) -> Schema:
    names: Schema = {"type": "array", "items": _ref("name"), "minItems": 1, "uniqueItems": True}
    together = names | {"items": _ref("scheme_name")}
    listed: Schema = names | {"items": {"anyOf": [_ref("name"), together]}}
    return listed if kind.whole else {"anyOf": [_NULL, _ref("name"), listed]}


def _choices(kind: value_kinds.Choices, position: str) -> Schema:
    return {"type": "object", "additionalProperties": _ref("type_name"), "minProperties": 1}


def _items(kind: value_kinds.Items, position: str) -> Schema:
    one = _ref("one_entity")
    values: Schema = {"type": "object", "properties": {"values": one}, "additionalProperties": False}
    listed: Schema = {"type": "array", "items": one, "minItems": 1, "maxItems": 1}
    return {"anyOf": [listed, values | {"required": ["values"]}]}


def _source(kind: value_kinds.Source, position: str) -> Schema:
    places = [form_place(word) for word in kind.forms]
    return {"anyOf": [_place(place, "schema") if _in_positions(place) else _ref(place) for place in places]}


def _type_of(kind: value_kinds.Type, position: str) -> Schema:
    name = kind.position or position
    return {"anyOf": [_ref(_type_name(name)), *_must(name)]} if kind.must else _ref(_type_name(name))


def _errors(kind: value_kinds.Errors, position: str) -> Schema:
    shape: Schema = {"anyOf": [_NULL, {"const": "any"}, _ref("type_name"), _ref("error_choice")]}
    return _table(shape, _pattern(keys.ERROR_STATUS))


def _fields(kind: value_kinds.Fields, position: str) -> Schema:
    fields = _ref(_fields_name(kind.position))
    return {"anyOf": [fields, _NULL]} if kind.back else fields


def _response(kind: value_kinds.Response, position: str) -> Schema:
    return {"anyOf": [_NULL, _ref(_type_name("schema"))]}


KINDS: Final[Mapping[type[value_kinds.Kind], Callable[[Any, str], Schema]]] = {
    value_kinds.Text: _text,
    value_kinds.Flag: lambda kind, position: {"type": "boolean"},
    value_kinds.Yes: lambda kind, position: {"const": True},
    value_kinds.No: lambda kind, position: {"const": False},
    value_kinds.Whole: lambda kind, position: {"type": "integer", "minimum": kind.least, "maximum": MAX_DURATION},
    value_kinds.Version: lambda kind, position: {"type": "integer", "const": kind.number},
    value_kinds.Duration: lambda kind, position: _ref("some_duration" if kind.least else "duration"),
    value_kinds.Word: lambda kind, position: {"enum": list(kind.words)},
    value_kinds.Literal: lambda kind, position: {"type": ["string", "integer", "boolean"]},
    value_kinds.Code: lambda kind, position: _ref("reference"),
    value_kinds.Reason: lambda kind, position: {"type": ["boolean", "string"]},
    value_kinds.Name: _python_name,
    value_kinds.Texts: _texts,
    value_kinds.Headers: lambda kind, position: _ref("headers"),
    value_kinds.Pairs: _pairs,
    value_kinds.Json: lambda kind, position: {"type": "object"} if kind.mapping else {},
    value_kinds.Section: lambda kind, position: _ref(kind.place),
    value_kinds.OrNull: lambda kind, position: {"anyOf": [_of_kind(kind.kind, position), _NULL]},
    value_kinds.Either: _either,
    value_kinds.Table: _tables,
    value_kinds.EnumValues: lambda kind, position: _ref("enum"),
    value_kinds.EntityName: lambda kind, position: _ref("type_name"),
    value_kinds.EntityOrChoices: lambda kind, position: {"anyOf": [_ref("type_name"), _choices(kind, position)]},
    value_kinds.Type: _type_of,
    value_kinds.Names: lambda kind, position: _table(_ref("text"), _ref("name")),
    value_kinds.Alternatives: lambda kind, position: {
        "type": "array",
        "items": _ref(_alternative_name(position)),
        "minItems": 2,
    },
    value_kinds.SomeValues: lambda kind, position: {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "minItems": 2,
        "uniqueItems": True,
    },
    value_kinds.Fields: _fields,
    value_kinds.Members: lambda kind, position: _table(_ref(_type_name(position)), _ref("name")),
    value_kinds.Choices: _choices,
    value_kinds.OneEntity: lambda kind, position: _ref("one_entity"),
    value_kinds.Items: _items,
    value_kinds.Source: _source,
    value_kinds.Nest: lambda kind, position: _table(_ref("text"), _ref("name")),
    value_kinds.PathText: lambda kind, position: _ref("path"),
    value_kinds.Body: lambda kind, position: _ref("body"),
    value_kinds.Errors: _errors,
    value_kinds.Use: _use,
    value_kinds.Response: _response,
}
"""The schema of each kind, in the position of the form which holds it."""
