"""The inferred spec as ordered plain values, with comments and origins by path.

Nodes are identified by their key paths, also in conflicts and `--ours`: `("entities", "Order", "fields", "total")`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Scalar: TypeAlias = None | bool | int | float | str
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

NodePath: TypeAlias = tuple[str, ...]
"""The keys from the root to a node; an item of a list has its index, as a string."""

CHECK: Final = "check: "
"""The prefix of comments that mark a guess."""


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The part of the document that a node comes from.

    Nodes of two imports with the same `identity` are the same node, even if they are renamed. It is `GET /orders/{id}`
    for an endpoint, `/orders/{id}` for a resource (for a group `group:` and its origin), `wire:` and the JSON name for
    a field, parameter or member, and for a type `type:` and the place of its first use. `pointer` is the JSON pointer
    into `file` (`""` is the document itself) for messages about the node.
    """

    identity: str
    pointer: str = ""
    file: str = ""


@dataclasses.dataclass(slots=True)
class Tree:
    """A spec as plain values.

    `value` has the top-level keys in their written order. `head` are the lines of the comment at the top, without `# `.
    `comments` are written at the end of the first line of their node; comments for unknown paths have no effect.
    """

    value: dict[str, Value] = dataclasses.field(default_factory=dict[str, "Value"])
    head: list[str] = dataclasses.field(default_factory=list[str])
    comments: dict[NodePath, str] = dataclasses.field(default_factory=dict[NodePath, str])
    origins: dict[NodePath, Origin] = dataclasses.field(default_factory=dict[NodePath, Origin])

    def get(self, path: NodePath) -> Value:
        """Return the value of a node. Raises `KeyError` if it does not exist."""
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
        """Return whether a path has a node."""
        try:
            self.get(path)
        except KeyError:
            return False
        return True

    def remove(self, path: NodePath) -> None:
        """Remove a node with all comments and origins in it. Raises `KeyError` if it does not exist."""
        parent: Any = self.get(path[:-1])
        self.get(path)
        del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
        for table in (self.comments, self.origins):
            for inner in [each for each in table if each[: len(path)] == path]:
                del table[inner]

    def origin(self, path: NodePath) -> Origin:
        """Return the origin of a node, or of the nearest enclosing one; that of the document if there is none."""
        enclosing = (self.origins.get(path[:length]) for length in range(len(path), 0, -1))
        return next(filter(None, enclosing), Origin(""))

    def nodes(self) -> Iterator[tuple[NodePath, Value]]:
        """Yield each node with its key path, outer ones first, in the order of the file."""
        yield from _nodes((), self.value)

    def checks(self) -> list[tuple[NodePath, str]]:
        """Return the nodes with a comment that marks a guess, each with what to check, in the order of the file."""
        marked = {path: text for path, text in self.comments.items() if CHECK in text}
        return [(path, marked[path].partition(CHECK)[2]) for path, _ in self.nodes() if path in marked]


def shown(path: NodePath) -> str:
    """Return a key path as in messages, `--ours` and `--theirs`: `entities.Order.fields.total`."""
    return ".".join(path)


def _nodes(path: NodePath, value: Value) -> Iterator[tuple[NodePath, Value]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _nodes((*path, str(key)), item)
