"""The inferred spec as plain values in order, with comments and origins by path.

Nodes are named by their key paths, as conflicts and `--ours` name them: `("entities", "Order", "fields", "total")`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Scalar: TypeAlias = None | bool | int | float | str
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

NodePath: TypeAlias = tuple[str, ...]
"""The keys that lead to a node; an item of a list has its index, as text."""

CHECK: Final = "check: "
"""How a comment begins that marks a guess."""


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """What of the document a node comes from.

    Two nodes of two imports are the same node where their `identity` is the same, whatever they are called. It is
    `GET /orders/{id}` for an endpoint, `/orders/{id}` for a resource (for a group `group:` and what made it one),
    `wire:` and the name in JSON for a field, parameter or member, and for a type `type:` and the place where it is used
    first. `pointer` is the JSON pointer into `file` (`""` is the document itself) at which a message about the node
    shows.
    """

    identity: str
    pointer: str = ""
    file: str = ""


@dataclasses.dataclass(slots=True)
class Tree:
    """A spec as plain values.

    `value` holds the keys of the top in the order in which they are written. `head` are the lines of the comment at the
    very top, without `# `. `comments` are written behind the line on which their node begins; a key path that names no
    node has no effect.
    """

    value: dict[str, Value] = dataclasses.field(default_factory=dict[str, "Value"])
    head: list[str] = dataclasses.field(default_factory=list[str])
    comments: dict[NodePath, str] = dataclasses.field(default_factory=dict[NodePath, str])
    origins: dict[NodePath, Origin] = dataclasses.field(default_factory=dict[NodePath, Origin])

    def get(self, path: NodePath) -> Value:
        """The value of a node. Raises `KeyError` where there is none."""
        value: Value = self.value
        for key in path:
            try:
                if isinstance(value, dict):
                    value = value[key]
                elif isinstance(value, list):
                    value = value[int(key)]
                else:
                    raise KeyError(key)
            except (IndexError, KeyError, ValueError):
                raise KeyError(shown(path)) from None
        return value

    def has(self, path: NodePath) -> bool:
        """Whether there is a node of a path."""
        try:
            self.get(path)
        except KeyError:
            return False
        return True

    def remove(self, path: NodePath) -> None:
        """Takes a node out, and the comments and origins of all below it. Raises `KeyError` where there is none."""
        parent: Any = self.get(path[:-1])
        self.get(path)
        del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
        for table in (self.comments, self.origins):
            for inner in [each for each in table if each[: len(path)] == path]:
                del table[inner]

    def nodes(self) -> Iterator[tuple[NodePath, Value]]:
        """Each node with its key path, outer ones first, in the order of the file."""
        yield from _nodes((), self.value)

    def checks(self) -> list[tuple[NodePath, str]]:
        """The nodes whose comment marks a guess, each with what is to be checked, in the order of the file."""
        marked = {path: text for path, text in self.comments.items() if CHECK in text}
        return [(path, marked[path].partition(CHECK)[2]) for path, _ in self.nodes() if path in marked]


def shown(path: NodePath) -> str:
    """A key path as messages show it, and as `--ours` and `--theirs` take it: `entities.Order.fields.total`."""
    return ".".join(path)


def _nodes(path: NodePath, value: Value) -> Iterator[tuple[NodePath, Value]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _nodes((*path, str(key)), item)
