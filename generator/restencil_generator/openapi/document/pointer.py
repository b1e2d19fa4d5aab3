"""JSON pointers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def objects_in(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in a tree, with its pointer."""
    todo: list[tuple[str, Any]] = [("", tree)]
    while todo:
        at, value = todo.pop()
        if is_table(value):
            yield at, value
            todo += [(f"{at}/{token(key)}", inner) for key, inner in value.items()]
        elif is_list(value):
            todo += [(f"{at}/{index}", inner) for index, inner in enumerate(value)]


def part_at(root: Part, at: str) -> Part | None:
    """Return the part at a pointer, within a part; None if it does not exist."""
    value: Any = root.value
    for key in keys(at):
        if is_table(value) and key in value:
            value = value[key]
        elif is_list(value) and key.isdecimal() and len(key) < 9 and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return child(root, value, *keys(at))
