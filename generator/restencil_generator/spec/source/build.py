"""Building of trees from the parser's events, without recursion, so that no input can overflow the stack."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn

from restencil_generator.diagnostics.model import Place, Problem, visible
from restencil_generator.spec.source.yaml import NotYaml


class Builder(abc.ABC):
    """Builder of the documents of a file: anchors, aliases, and limits. Subclasses know what a node is."""

    MAX_DEPTH: ClassVar[int]
    """Maximum depth of nested collections."""
    MAX_NODES_BY_ALIAS: ClassVar[int]
    """Maximum number of nodes that all aliases may expand to."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.roots: list[Any] = []
        self.stack: list[Any] = []
        """The open collections."""
        self._before: list[int] = []  # for each of them, the number of nodes before it
        self._anchors: dict[str, Any] = {}
        self._sizes: dict[int, int] = {}  # of anchored collections, with aliases expanded
        self._open: set[int] = set()  # the anchored ones that are open
        self._size = 0  # the number of nodes so far, with aliases expanded
        self._expanded = 0

    @abc.abstractmethod
    def scalar(self, event: Any) -> Any:
        """Return the node of a scalar."""

    @abc.abstractmethod
    def collection(self, event: Any, *, is_mapping: bool) -> Any:
        """Return an empty mapping or sequence."""

    @abc.abstractmethod
    def place(self, node: Any, event: Any) -> None:
        """Add a scalar, or the node of an alias, to the innermost open collection, as an item, a key or a value."""

    @abc.abstractmethod
    def opened(self, node: Any, event: Any) -> None:
        """Handle the start of a collection, before it is the innermost one."""

    @abc.abstractmethod
    def closed(self, node: Any, event: Any) -> None:
        """Handle the end of a collection, after which it is no longer the innermost one."""

    def build(self, next_event: Callable[[], Any]) -> None:
        """Read events up to the end, or up to another document if `is_done`."""
        while True:
            event = next_event()
            kind = type(event).__name__
            if kind == "ScalarEvent":
                self._size += 1
                node = self.scalar(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = node
                self.place(node, event)
            elif kind == "MappingStartEvent" or kind == "SequenceStartEvent":
                self._begin(event, self.collection(event, is_mapping=kind == "MappingStartEvent"))
            elif kind == "MappingEndEvent" or kind == "SequenceEndEvent":
                node, before = self.stack.pop(), self._before.pop()
                if id(node) in self._open:
                    self._open.discard(id(node))
                    self._sizes[id(node)] = self._size - before
                self.closed(node, event)
            elif kind == "AliasEvent":
                self.place(self._alias(event), event)
            elif kind == "DocumentStartEvent":
                self._anchors.clear()
                if self.roots and self.is_done():
                    return
            elif kind == "StreamEndEvent":
                return

    def is_done(self) -> bool:
        """Return whether another document is not read."""
        return False

    def _begin(self, event: Any, node: Any) -> None:
        self._size += 1
        if len(self.stack) >= self.MAX_DEPTH:
            message = f"collections are nested more than {self.MAX_DEPTH} deep"
            self._refuse("yaml-depth", message, event, "flatten this part")
        if event.anchor is not None:
            self._anchors[event.anchor] = node
            self._open.add(id(node))
        self.opened(node, event)
        self.stack.append(node)
        self._before.append(self._size - 1)

    def _alias(self, event: Any) -> Any:
        name = visible(event.anchor[:60])
        node = self._anchors.get(event.anchor, _NONE)
        if node is _NONE:
            message = f"there is no anchor &{name} before this alias"
            self._refuse("yaml-alias", message, event, "define the anchor")
        if id(node) in self._open:
            message = f"the alias *{name} refers to a node that contains it"
            self._refuse("yaml-alias", message, event, "write the value instead of the alias")
        nodes = self._sizes.get(id(node), 1)
        self._size += nodes
        self._expanded += nodes
        if self._expanded > self.MAX_NODES_BY_ALIAS:
            message = f"the aliases represent more than {self.MAX_NODES_BY_ALIAS:,} nodes"
            self._refuse("yaml-alias", message, event, "write the values instead of aliases")
        return node

    def mark_place(self, event: Any) -> Place:
        """Return the place at which an event begins."""
        mark = event.start_mark
        return Place(self.file, mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)

    def _refuse(self, code: str, message: str, event: Any, hint: str) -> NoReturn:
        raise NotYaml(Problem(code, message, self.mark_place(event), hint))


_NONE: Final = object()
