"""Type guards for parsed values."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value is an object; its keys are strings, because parsing creates no others."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list."""
    return type(value) is list


def texts(value: object) -> tuple[str, ...]:
    """Return the strings in a list; nothing for any other value."""
    return tuple(each for each in value if isinstance(each, str)) if is_list(value) else ()
