"""Instances of dataclasses, attrs classes, pydantic models and msgspec structs, detected by their class attributes.

None of these libraries is imported here: if there is an instance, its library was imported already.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Callable
from typing import Any

from ..base.values import UNDEFINED, kind_of


def is_foreign(value: object) -> bool:
    """Whether a value is an instance of such a class, but not a stream: some libraries define streams with attrs."""
    kind: Any = kind_of(value)
    if any(callable(getattr(kind, name, None)) for name in ("read", "__next__", "__aiter__")):
        return False
    return (
        hasattr(kind, "__dataclass_fields__")
        or hasattr(kind, "__attrs_attrs__")
        or hasattr(kind, "__struct_encode_fields__")
        or is_pydantic(kind)
    )


def is_pydantic(kind: object) -> bool:
    """Whether a class is a pydantic model."""
    return hasattr(kind, "__pydantic_validator__") and hasattr(kind, "model_dump")


def members_of(value: Any, encode: Callable[[Any], Any], mode: str = "json") -> Any:
    """Return the members of an instance of such a class; `UNDEFINED` for all other values.

    Members of a pydantic model are named by alias, unset ones are omitted, and `mode` is passed to `model_dump`.
    Members of a msgspec struct have their encoded names; `encode` converts values that msgspec cannot encode.
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
