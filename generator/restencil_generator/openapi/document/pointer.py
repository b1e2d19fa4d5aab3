"""JSON pointers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Part, Where


def token(key: str) -> str:
    """A key, escaped for a pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def keys(pointer: str) -> list[str]:
    """The keys and indices that a pointer consists of."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer(path: Iterable[str | int]) -> str:
    """The pointer that consists of these keys and indices."""
    return "".join(f"/{token(str(key))}" for key in path)


def within(where: Where, *path: str | int) -> Where:
    """The place that these keys and indices lead to."""
    return Where(where.file, where.pointer + pointer(path))


def child(part: Part, value: Any, *path: str | int) -> Part:
    """A part of a part."""
    return Part(value, within(part.where, *path))


def has(tree: Any, at: str) -> bool:
    """Whether a pointer leads to something."""
    for key in keys(at):
        if is_table(tree) and key in tree:
            tree = tree[key]
        elif is_list(tree) and key.isdigit() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return False
    return True
