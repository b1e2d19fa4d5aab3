"""Type guards for parsed values."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value is an object; its keys are strings, because parsing creates no others."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list."""
    return type(value) is list
