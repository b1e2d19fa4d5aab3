"""The JSON Schema (draft 2020-12) of the spec language, for editors: `restencil schema` prints it.

It is generated from the table of the language, with everything that JSON Schema can express for a single section: keys
with descriptions, forms, words, strings. Checks across sections (a name that must exist, two names that clash) are left
to the analysis; a test compares the two and lists what only the analysis finds.
"""

from __future__ import annotations

import json
from typing import Final

from restencil_generator.spec.grammar import keys, patterns
from restencil_generator.spec.grammar.keys import BODY_WORDS, SECTIONS
from restencil_generator.spec.grammar.schema_parts import (
    LETTER,
    NAME,
    NULL,
    PYTHON_NAME,
    WORD,
    Schema,
    alternative_name,
    fields_name,
    form_name,
    list_of_one,
    name,
    pattern,
    ref,
    table,
    type_name,
)
from restencil_generator.spec.grammar.type_words import (
    FORMS,
    LIST_FORMS,
    POSITIONS,
    RESERVED,
    SCALAR_WORDS,
    form_section,
)
from restencil_generator.spec.grammar.value_kinds import (
    MAX_DURATION,
    Alternatives,
    Fields,
    Members,
    Type,
    required_type,
)
from restencil_generator.spec.model import EXTENDERS, NOT_BY_DEFAULT, STANDARD
from restencil_generator.spec.names import CLIENT_ARGUMENTS, CLIENT_MEMBERS, KEYWORDS, RESOURCE_MEMBERS

FILE_NAME: Final = "spec.schema.json"
"""The file next to this module that contains the schema in wheels and sdists; `hatch_build.py` adds it."""

_PATH: Final = r"(?:[^\x00-\x20\x7f\\:?(){}*+]|\\[^\x00-\x20\x7f]|:[A-Za-z][A-Za-z0-9_]*(?![A-Za-z0-9_:])\??(?!:))*"

_NULLABLE: Final = {row.kind.position for row in keys.ROWS if isinstance(row.kind, Fields) and row.kind.nullable}
"""Positions whose fields may be null, which resets an inherited field."""


def schema_text() -> str:
    """Return the JSON Schema of the spec language, as `restencil schema` prints it."""
    return json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"


def language_schema() -> Schema:
    """Return the JSON Schema of the spec language."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:restencil:spec:{keys.VERSION}",
        "title": f"restencil spec, language version {keys.VERSION}",
        **_section("spec"),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Schema]:
    """Return the definitions: sections, types by position, and small strings."""
    found: dict[str, Schema] = {
        "name": name(),
        "class_name": name(KEYWORDS),
        "type_name": name((*KEYWORDS, *RESERVED)),
        "resource_name": name(CLIENT_MEMBERS),
        "text": {"type": "string", "minLength": 1},
        "reference": pattern(rf"python:(?:{PYTHON_NAME})(?:\.(?:{PYTHON_NAME}))*:(?:{PYTHON_NAME})")
        | {"not": {"pattern": rf"[:.](?:{'|'.join(sorted(KEYWORDS))})(?:[:.]|$)"}},
        "duration": _length(""),
        "some_duration": _length("(?=.*[1-9])"),
        "scheme_name": name(CLIENT_ARGUMENTS - {"token"} | KEYWORDS | {keys.NO_AUTH}),
        "headers": _headers(),
        "enum": _enum(),
        "one_entity": {"anyOf": [ref("type_name"), ref("union_form"), ref("entity_form")]},
        "path": pattern(_PATH),
        "body": _body(),
        "endpoints": _endpoints(),
    }
    for section, it in SECTIONS.items():
        if section in ("spec", "body"):
            continue
        if section in POSITIONS:
            null = [NULL] if section in _NULLABLE else []
            types = [ref(type_name(section)), _section(section, section), *required_type(section), *null]
            found[fields_name(section)] = table({"anyOf": types}, ref("name"))
        elif not _differs_by_position(section):
            found[section] = {"description": _plain(it.help), **_section(section)}
    for position, allowed in POSITIONS.items():
        found[type_name(position)] = _type(position)
        if "one_of" in allowed.forms:
            found[alternative_name(position)] = _alternative(position)
        for word in (*allowed.forms, *(allowed.alternatives if "one_of" in allowed.forms else ())):
            section = form_section(word)
            if word in FORMS and _differs_by_position(section):
                found[form_name(position, word)] = {
                    "description": _plain(SECTIONS[section].help),
                    **_section(section, position),
                }
            elif word in FORMS:
                found[form_name(position, word)] = ref(section)
    return found


# ------------------------------------------------------------------------------------------------------------- sections


def _section(section: str, position: str = "") -> Schema:
    """Return the schema of a mapping with the keys of a section, and of its rules."""
    rows = keys.rows(section)
    properties = {
        key: _property(row, position) for key, row in rows.items() if row.position in ("", position) or not position
    }
    required = [key for key, row in rows.items() if row.required]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    rules = [rule.json_schema() for rule in SECTIONS[section].rules]
    return schema | ({"allOf": rules} if rules else {})


def _property(row: keys.Row, position: str) -> Schema:
    schema: Schema = {"description": _plain(row.help), **row.kind.json_schema(position)}
    if row.default not in (None, "", False):
        schema["default"] = row.default
    return schema


def _plain(text: str) -> str:
    """Remove Markdown markup from a help text."""
    return text.replace("`", "'")


def _differs_by_position(section: str) -> bool:
    """Return whether the schema of a section depends on the position: of a form that contains types or such keys."""
    return any(
        (isinstance(row.kind, Members | Alternatives) or (isinstance(row.kind, Type) and not row.kind.position))
        or row.position
        for row in keys.rows(section).values()
    )


# ---------------------------------------------------------------------------------------------------------- definitions


def _length(ahead: str) -> Schema:
    """Return the schema of a duration; `ahead` is a lookahead for a non-zero digit if zero is not allowed."""
    milliseconds: Schema = {"type": "integer", "minimum": 1 if ahead else 0, "maximum": MAX_DURATION}
    text = pattern(f"{ahead}(?:[0-9]{{1,15}}ms|[0-9]{{1,12}}s|[0-9]{{1,10}}m|[0-9]{{1,8}}h)")
    return {"anyOf": [milliseconds, text]}


def _headers() -> Schema:
    secrets = ["".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in word) for word in patterns.SECRET_HEADERS]
    names = pattern(patterns.HTTP_WORD) | {"not": pattern("|".join(secrets))}
    return table(pattern(patterns.HEADER_VALUE), names)


def _enum() -> Schema:
    value: Schema = {"type": ["string", "integer"]}
    constants = table(value, pattern(rf"(?:{LETTER}|[0-9]){WORD}*")) | {"minProperties": 1}
    return {"anyOf": [{"type": "array", "items": value, "minItems": 1, "uniqueItems": True}, constants]}


def _body() -> Schema:
    words = sorted(set(KEYWORDS) | (RESERVED - set(BODY_WORDS)))
    wrappers = keys.rows("body")
    wrapped = [{"required": [word], "properties": {word: {"type": "object"}}} for word in wrappers]
    return {
        "anyOf": [
            NULL,
            name(words),
            list_of_one(ref(type_name("body_field"))),
            *(
                {"type": "object", "properties": {word: _property(row, "")}, "additionalProperties": False}
                | {"required": [word]}
                for word, row in wrappers.items()
            ),
            ref(form_name("body_field", "one_of")),
            {"allOf": [ref(fields_name("body_field")), {"not": {"maxProperties": 1, "anyOf": wrapped}}]},
        ]
    }


def _endpoints() -> Schema:
    standard = {"allOf": [ref("endpoint"), {"not": {"required": ["extends"]}}]}
    names = [member for member in (*STANDARD, *EXTENDERS) if member not in NOT_BY_DEFAULT]
    return {
        "type": "object",
        "propertyNames": name(RESOURCE_MEMBERS),
        "properties": dict.fromkeys(names, standard),
        "additionalProperties": ref("endpoint"),
    }


# ---------------------------------------------------------------------------------------------------------------- types


def _type(position: str) -> Schema:
    """Return the schema of a type in a position."""
    it = POSITIONS[position]
    this = ref(type_name(position))
    help = "A scalar, an enum, an object or an entity; '?' makes it optional."
    options: list[Schema] = [{"description": help, **_word(position, "?")}]
    if it.lists:
        options.append(list_of_one(this))
    options += [ref(form_name(position, form)) for form in FORMS if form in it.forms]
    if it.bare:
        words = [form for form in FORMS if form not in LIST_FORMS]
        options.append(table(this, name() | {"not": {"enum": words}}))
    return {"anyOf": options}


def _alternative(position: str) -> Schema:
    """Return the schema of an alternative of `one_of`."""
    options: list[Schema] = [_word(position, ""), list_of_one(ref(type_name(position)))]
    options += [ref(form_name(position, form)) for form in POSITIONS[position].alternatives if form != "const"]
    const = {"const": _property(keys.rows("object_field")["const"], "")}
    options.append({"type": "object", "properties": const, "additionalProperties": False, "required": ["const"]})
    return {"anyOf": options}


def _word(position: str, mark: str) -> Schema:
    """Return the schema of a type that is a word; `mark` may follow it."""
    words = sorted(RESERVED - set(SCALAR_WORDS) - ({"bytes"} if POSITIONS[position].files else set()))
    marked = [f"{word}{mark}" for word in words] if mark else []
    return pattern(rf"{NAME}\{mark}?" if mark else NAME) | {"not": {"enum": [*words, *marked]}}
