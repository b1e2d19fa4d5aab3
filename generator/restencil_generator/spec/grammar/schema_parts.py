"""Small parts of the JSON Schema of the language, and the names under which its larger parts are referred to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

Schema: TypeAlias = "dict[str, Any]"

NULL: Final[Schema] = {"type": "null"}

# Letters of other scripts are left to the analysis: patterns have no common way to name them.
LETTER: Final = r"[^\x00-@\[-`{-\x7f]"
WORD: Final = r"[^\x00-/:-@\[-^`{-\x7f]"
NAME: Final = f"{LETTER}{WORD}*"
PYTHON_NAME: Final = rf"{LETTER}{WORD}*|_{WORD}*"


def ref(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def pattern(regex: str) -> Schema:
    """A string that matches as a whole."""
    return {"type": "string", "pattern": f"^(?:{regex})$"}


def name(not_one_of: Iterable[str] = ()) -> Schema:
    """A Python name, but for some words."""
    words = sorted(set(not_one_of))
    return pattern(NAME) | ({"not": {"enum": words}} if words else {})


def table(values: Schema, names: Schema) -> Schema:
    """A mapping from free keys."""
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def list_of_one(item: Schema) -> Schema:
    """A list of one item, as types of lists are written: `[X]`."""
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 1}


def any_given(keys: Iterable[str]) -> Schema:
    """A mapping that has one of these keys."""
    return {"anyOf": [{"required": [key]} for key in keys]}


def type_name(position: str) -> str:
    """The definition of the types of a position."""
    return f"{position}_type"


def fields_name(position: str) -> str:
    """The definition of a mapping from names to fields in a position."""
    return f"{position}s"


def alternative_name(position: str) -> str:
    """The definition of the types of a position that a value may be one of."""
    return f"{position}_alternative"


def form_name(position: str, word: str) -> str:
    """The definition of a form of types in a position."""
    return f"{position}_{word}"
