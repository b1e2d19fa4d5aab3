"""JSON pointers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Part, Where


def token(key: str) -> str:
    """Escape a key for a pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def keys(pointer: str) -> list[str]:
    """Return the keys and indices of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer(path: Iterable[str | int]) -> str:
    """Return the pointer with these keys and indices."""
    return "".join(f"/{token(str(key))}" for key in path)


def within(where: Where, *path: str | int) -> Where:
    """Return the place of a nested part."""
    return Where(where.file, where.pointer + pointer(path))


def child(part: Part, value: Any, *path: str | int) -> Part:
    """Return a nested part."""
    return Part(value, within(part.where, *path))


def has(tree: Any, at: str) -> bool:
    """Return whether a pointer leads to an existing part."""
    for key in keys(at):
        if is_table(tree) and key in tree:
            tree = tree[key]
        elif is_list(tree) and key.isdigit() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return False
    return True
