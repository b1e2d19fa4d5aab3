"""Small parts of the JSON Schema of the language, and the names of its definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

Schema: TypeAlias = "dict[str, Any]"

NULL: Final[Schema] = {"type": "null"}

# Letters of other scripts are left to the analysis: JSON Schema patterns have no portable way to match them.
LETTER: Final = r"[^\x00-@\[-`{-\x7f]"
WORD: Final = r"[^\x00-/:-@\[-^`{-\x7f]"
NAME: Final = f"{LETTER}{WORD}*"
PYTHON_NAME: Final = rf"{LETTER}{WORD}*|_{WORD}*"


def ref(name: str) -> Schema:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def pattern(regex: str) -> Schema:
    """Return the schema of a string that matches as a whole."""
    return {"type": "string", "pattern": f"^(?:{regex})$"}


def name(not_one_of: Iterable[str] = ()) -> Schema:
    """Return the schema of a Python name, except some words."""
    words = sorted(set(not_one_of))
    return pattern(NAME) | ({"not": {"enum": words}} if words else {})


def table(values: Schema, names: Schema) -> Schema:
    """Return the schema of a mapping with free keys."""
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def list_of_one(item: Schema) -> Schema:
    """Return the schema of a list of one item, as list types are written: `[X]`."""
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 1}


def any_given(keys: Iterable[str]) -> Schema:
    """Return the schema of a mapping that has one of these keys."""
    return {"anyOf": [{"required": [key]} for key in keys]}


def type_name(position: str) -> str:
    """Return the definition of the types in a position."""
    return f"{position}_type"


def fields_name(position: str) -> str:
    """Return the definition of a mapping from names to fields in a position."""
    return f"{position}s"


def alternative_name(position: str) -> str:
    """Return the definition of the alternatives of `one_of` in a position."""
    return f"{position}_alternative"


def form_name(position: str, word: str) -> str:
    """Return the definition of a form of types in a position."""
    return f"{position}_{word}"
