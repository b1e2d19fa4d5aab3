"""Instances of dataclasses, attrs classes, pydantic models and msgspec structs, known by the marks of their classes.

None of those libraries is imported: where there is an instance, its library is there already.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Callable
from typing import Any

from ..base.values import UNDEFINED, kind_of


def is_foreign(value: Any) -> bool:
    """Whether a value is an instance of one of the kinds, and no stream: some libraries write theirs with attrs."""
    kind: Any = kind_of(value)
    if any(callable(getattr(kind, name, None)) for name in ("read", "__next__", "__aiter__")):
        return False
    return (
        hasattr(kind, "__dataclass_fields__")
        or hasattr(kind, "__attrs_attrs__")
        or hasattr(kind, "__struct_encode_fields__")
        or is_pydantic(kind)
    )


def is_pydantic(kind: Any) -> bool:
    """Whether a class is a pydantic model."""
    return hasattr(kind, "__pydantic_validator__") and hasattr(kind, "model_dump")


def members_of(value: Any, encode: Callable[[Any], Any], mode: str = "json") -> Any:
    """The members of an instance of one of the kinds, `UNDEFINED` for any other value.

    A pydantic model gives them by alias, those that are unset left out, and in the `mode` of its own; a msgspec struct
    under the names that it is encoded with. `encode` converts what msgspec does not know.
    """
    kind: Any = kind_of(value)
    if not is_foreign(value):
        return UNDEFINED
    if hasattr(kind, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(kind, "__attrs_attrs__"):
        fields = kind.__attrs_attrs__
        return {getattr(field, "alias", None) or field.name: getattr(value, field.name) for field in fields}
    if is_pydantic(kind):
        return value.model_dump(mode=mode, by_alias=True, exclude_unset=True)
    kept = (bytes, datetime.datetime)
    return sys.modules["msgspec"].to_builtins(value, builtin_types=kept, enc_hook=encode)
