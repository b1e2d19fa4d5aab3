"""The types of the language: words, forms, and the positions in which each is allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from restencil_generator.spec import model as d
from restencil_generator.spec.source.nodes import MappingNode, Node, SequenceNode


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar:
    """A type that is one word.

    `zero` is its default, `expected` its name in messages, `python` the module (None for built-in types) and the name
    of its Python type, `others` its names in other languages. A zero is `honest` if it cannot be
    taken for a value of the server: an empty string is, a datetime in 1970 is not.
    """

    zero: d.Json
    expected: str
    python: tuple[str | None, str]
    help: str
    others: tuple[str, ...] = ()
    in_path: bool = False
    """Whether a path parameter has this type if the entity's field of the same name has it."""
    converted: bool = False
    """Whether a read returns something else than the JSON."""
    honest: bool = False
    word: bool = True
    """Whether the word is a type in every position; `bytes` is a type only in a multipart body."""


SCALARS: Final[Mapping[d.ScalarName, Scalar]] = {
    "string": Scalar("", "a string", (None, "str"), "A string.", ("str", "text"), in_path=True, honest=True),
    "integer": Scalar(0, "an integer", (None, "int"), "An integer.", ("int", "long"), in_path=True, honest=True),
    "number": Scalar(0.0, "a number", (None, "float"), "A number.", ("float", "double"), in_path=True, honest=True),
    "boolean": Scalar(False, "true or false", (None, "bool"), "`true` or `false`.", ("bool",), honest=True),
    "datetime": Scalar(
        "1970-01-01T00:00:00Z",
        "a date with a time such as '2020-01-31T12:00:00Z'",
        ("datetime", "datetime"),
        "A date with a time, as an RFC 3339 string. The offset is kept; a string without one is read as UTC.",
        ("timestamp",),
        in_path=True,
        converted=True,
    ),
    "date": Scalar(
        "1970-01-01",
        "a date such as '2020-01-31'",
        ("datetime", "date"),
        "A date, as an RFC 3339 string.",
        in_path=True,
        converted=True,
    ),
    "time": Scalar(
        "00:00:00",
        "a time such as '12:00:00'",
        ("datetime", "time"),
        "A time of day, as an RFC 3339 string.",
        in_path=True,
        converted=True,
    ),
    "decimal": Scalar(
        "0",
        "a number, or one as a string such as '1.50'",
        ("decimal", "Decimal"),
        "A number that keeps its digits, as JSON number or text.",
        in_path=True,
        converted=True,
    ),
    "uuid": Scalar(
        "00000000-0000-0000-0000-000000000000",
        "a UUID such as '00000000-0000-0000-0000-000000000000'",
        ("uuid", "UUID"),
        "A UUID, as a string.",
        in_path=True,
        converted=True,
    ),
    "any": Scalar(None, "any JSON", ("typing", "Any"), "Any JSON.", ("json",), honest=True),
    "bytes": Scalar("", "a string", ("restencil", "File"), "A file: a field of a multipart body.", word=False),
}

SCALAR_WORDS: Final = tuple(name for name, scalar in SCALARS.items() if scalar.word)
"""The scalars that are types in every position."""

ABBREVIATED: Final[Mapping[str, str]] = {
    **{other: name for name, scalar in SCALARS.items() for other in scalar.others},
    **dict.fromkeys(("dict", "map", "mapping"), "{values: …}"),
    **dict.fromkeys(("list", "array"), "[…]"),
    "object": "{object: {…}}",
}
"""Type names of other languages, with hints for specs."""

_FORM_WORDS: Final = ("values", "union", "collection", "all", "invalidate", "query", "entity", "object")
LIST_FORMS: Final = ("one_of", "enum")
"""The words that make a mapping a form only if their value is a list of two or more; else they are names."""

FORMS: Final = (*_FORM_WORDS, *LIST_FORMS)
"""The words that make a mapping in type position a form, which has its own section: see `form_section`."""

ALTERNATIVE_FORMS: Final = ("values", "object", "entity", "enum", "const")
"""The forms that an alternative of `one_of` may have."""

RESERVED: Final = frozenset((*SCALARS, *_FORM_WORDS, "null"))
"""Words that cannot name an entity, object or enum."""


def form_word(node: Node | None) -> str | None:
    """Return the word that makes a mapping a form; None for other mappings and other nodes."""
    if not isinstance(node, MappingNode):
        return None
    for word in LIST_FORMS:
        listed = node.get(word)
        if isinstance(listed, SequenceNode) and len(listed.items) > 1:
            return word
    return next((key for key in node.entries if key in _FORM_WORDS), None)


def form_section(word: str) -> str:
    """Return the section with the keys of a form."""
    return f"{word}_form"


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """A position of types: its name in messages, and the forms, named types and lists that it allows.

    `zero` means that a field has the default of its type if none is given, `files` that `bytes` is allowed, `bare` that
    an object may be written without the word `object`, `flat` that lists contain only scalars, `must` that a word may
    end with `!`. `alternatives` are the forms that are allowed in `one_of`.
    """

    shown: str
    forms: tuple[str, ...]
    named: tuple[str, ...] = ("enum", "object", "entity")
    lists: bool = True
    zero: bool = False
    files: bool = False
    bare: bool = False
    flat: bool = False
    must: bool = False
    alternatives: tuple[str, ...] = ("values", "object", "enum", "const")


POSITIONS: Final[Mapping[str, Position]] = {
    "entity_field": Position(
        "a field of an entity",
        ("values", "union", "collection", "entity", "object", *LIST_FORMS),
        zero=True,
        must=True,
        alternatives=ALTERNATIVE_FORMS,
    ),
    "object_field": Position(
        "a field of an object",
        ("values", "union", "entity", "object", *LIST_FORMS),
        zero=True,
        must=True,
        alternatives=ALTERNATIVE_FORMS,
    ),
    "schema": Position("a schema", FORMS, bare=True, alternatives=ALTERNATIVE_FORMS),
    "returns": Position("'returns'", ("values", "union", "object", *LIST_FORMS)),
    "body_field": Position("a body", ("values", "union", "object", *LIST_FORMS)),
    "form_field": Position("a form", ("values", "object", "enum"), named=("enum", "object")),
    "file_field": Position("a multipart body", ("values", "object", *LIST_FORMS), named=("enum", "object"), files=True),
    "path_param": Position("a path parameter", ("enum",), named=("enum",), flat=True),
    "search_param": Position(
        "a search parameter",
        ("values", "object", *LIST_FORMS),
        named=("enum", "object"),
        alternatives=("enum", "const"),
    ),
    "header_param": Position(
        "a header parameter", LIST_FORMS, named=("enum",), flat=True, alternatives=("enum", "const")
    ),
    "client_header": Position(
        "a header parameter of the spec", LIST_FORMS, named=("enum",), flat=True, alternatives=("enum", "const")
    ),
    "client_param": Position(
        "a search parameter of the spec", LIST_FORMS, named=("enum",), flat=True, alternatives=("enum", "const")
    ),
    "server_variable": Position("a variable of a server", ("enum",), named=("enum",), lists=False),
}
