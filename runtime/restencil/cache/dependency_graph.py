"""Dependencies of memoized objects, so that a change drops exactly the objects that depend on it.

Memoized objects are *nodes*. A node references its parents, the nodes that were built with it; a changed cell drops the
nodes that read it and all their ancestors. So a warm read is one lookup for results of any size, and the cost of a
write is proportional to the number of dependents.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..base.values import UNDEFINED
from ..schema.protocol import definitions
from .tables import EntityPath

if TYPE_CHECKING:
    from .tables import Shown

MAX_RESULTS: Final = 4096
"""The maximum number of memoized results; the oldest is dropped first."""


class Node:
    """A memoized object, and its parents: the nodes that were built with it."""

    __slots__ = ("alive", "home", "parents", "slot", "value")

    source: Any = None
    """The stored value that it was computed from, if comparing it shows whether the node is still valid."""
    args: str | None = None
    """The arguments that it was computed with, if they matter."""

    def __init__(self, home: dict[Any, Any], slot: Any) -> None:
        self.home = home
        self.slot = slot
        self.value: Any = UNDEFINED
        self.parents: Node | list[Node] | None = None
        self.alive = True


class Composed(Node):
    """A value that a schema composes, which has no cell of its own."""

    __slots__ = ("args", "source")

    def __init__(self, home: dict[Any, Any], slot: Any, source: Any) -> None:
        super().__init__(home, slot)
        self.source = source
        self.args = None


def args_text(args: tuple[object, ...]) -> str:
    """Convert arguments to a string that differs for different arguments."""
    try:
        return json.dumps(args, sort_keys=True, default=repr)
    except (TypeError, ValueError):
        return repr(args)


def linked(parents: Node | list[Node] | None, node: Node) -> Node | list[Node]:
    """Return the parents with one more; dropped parents are removed, so that the list is bounded by the live ones."""
    if parents is None or parents is node:
        return node
    if isinstance(parents, Node):
        return [parents, node] if parents.alive else node
    if parents[-1] is not node:
        if len(parents) >= 8 and len(parents) & (len(parents) - 1) == 0:
            parents[:] = [parent for parent in parents if parent.alive]
        parents.append(node)
    return parents


class DependencyGraph:
    """All nodes of one store's view, and their dependencies on cells."""

    def __init__(self) -> None:
        self.definitions = definitions.count
        self.entities: dict[str, dict[Any, dict[str, Node]]] = {}
        """By table and reader (an entity class or a kind of collection), the nodes by primary key."""
        self.results: dict[Any, Node] = {}
        self.truncated: dict[Node, list[Node]] = {}
        """Nodes that were truncated at the maximum depth: each belongs to one other node and is dropped with it."""
        self.touched: dict[Node, Shown] = {}
        """The cells of nodes, including nested ones, if a read needed them."""
        self.verified: set[Node] = set()
        """Nodes whose inputs are all known to be the same in the storage, if there is one."""
        self._readers: dict[str, dict[str, Node | list[Node]]] = {}
        self._links = 0
        self._sweep_at = 1024
        self.unlinked: dict[str, list[Any]] = {}
        """By table, alternately a node and the primary keys of all cells that it was built with (`waiting`)."""
        self._dropped = 0
        self._table_readers: dict[str, Node | list[Node]] = {}

    def clear(self) -> None:
        """Drop all nodes, for example because a schema was redefined."""
        self.definitions = definitions.count
        for kept in (
            self.entities,
            self.results,
            self.truncated,
            self.touched,
            self.verified,
            self._readers,
            self.unlinked,
            self._table_readers,
        ):
            kept.clear()

    def home(self, table: str, reader: object) -> dict[str, Node]:
        """Return the nodes of one table and reader, by primary key."""
        readers = self.entities.get(table)
        if readers is None:
            readers = self.entities[table] = {}
        found = readers.get(reader)
        if found is None:
            found = readers[reader] = {}
        return found

    def knows(self, table: str) -> bool:
        """Return whether anything was built from the table."""
        return table in self.entities or table in self._readers or table in self.unlinked

    def link_cell(self, table: str, pk: str, node: Node) -> None:
        """Record that a node was built with the value, or the absence, of a cell."""
        readers = self._readers.get(table)
        if readers is None:
            readers = self._readers[table] = {}
        found = readers.get(pk)
        if found is None:
            readers[pk] = node
            self._links += 1
            if self._links > self._sweep_at:
                self._sweep()
        elif found is not node:
            readers[pk] = linked(found, node)

    def _sweep(self) -> None:
        """Forget cells without live nodes; the next sweep runs once the number of links has doubled."""
        for table, readers in self._readers.items():
            self._readers[table] = {pk: found for pk, found in readers.items() if _lives(found)}
        self._links = sum(map(len, self._readers.values()))
        self._sweep_at = max(1024, 2 * self._links)

    def waiting(self, table: str) -> list[Any]:
        """Return the deferred edges of a table: alternately nodes, and the primary keys that they were built from.

        They are linked when one of these cells changes; until then a list needs one entry. (Benchmark: denormalize it
        all cold.)
        """
        found = self.unlinked.get(table)
        if found is None:
            found = self.unlinked[table] = []
        return found

    def _link(self, table: str, changed: set[str]) -> list[Node]:
        """Link deferred edges of a table, except of nodes that depend on a changed cell: these are returned."""
        dead: list[Node] = []
        waiting = self.unlinked.pop(table, ())
        for node, pks in zip(waiting[::2], waiting[1::2], strict=True):
            if node.alive and _intersects(changed, pks):
                dead.append(node)
            elif node.alive:
                for pk in pks:
                    if type(pk) is str:
                        self.link_cell(table, pk, node)
        return dead

    def link_table(self, table: str, node: Node) -> None:
        """Record that a node was built with the list of all members of a table."""
        self._table_readers[table] = linked(self._table_readers.get(table), node)

    def drop_cells(self, cells: list[EntityPath], *, fresh: bool = False) -> None:
        """Drop the dependents of changed cells; `fresh`: the cells were empty before."""
        dead: list[Node] = []
        if self.unlinked and not fresh:
            for table in {table for table, _ in cells}:
                if table in self.unlinked:
                    dead += self._link(table, {pk for other, pk in cells if other == table})
        for table, pk in cells:
            readers = self._readers.get(table)
            if readers is not None:
                _extend(dead, readers.pop(pk, None))
            nodes = self.entities.get(table)
            if nodes is not None:
                for home in nodes.values():
                    node = home.get(pk)
                    if node is not None:
                        dead.append(node)
        self.drop(dead)

    def drop_table(self, table: str) -> None:
        """Drop lists of all members of a table, because its members have changed."""
        readers = self._table_readers.pop(table, None)
        if readers is not None:
            self.drop(readers if isinstance(readers, list) else [readers])

    def drop(self, dead: list[Node]) -> None:
        """Drop these nodes and all nodes that were built with them."""
        while dead:
            node = dead.pop()
            if node.alive:
                node.alive = False
                self._dropped += 1
                if node.home.get(node.slot) is node:
                    del node.home[node.slot]
                _extend(dead, node.parents)
                if self.truncated:
                    dead += self.truncated.pop(node, ())
                if self.touched:
                    self.touched.pop(node, None)
                if self.verified:
                    self.verified.discard(node)
                node.parents = node.value = None
                if isinstance(node, Composed):
                    node.source = None

        if self._dropped >= 1024 and self.unlinked:
            self._forget_dead()

    def _forget_dead(self) -> None:
        """Forget deferred edges of dropped nodes; this runs rarely if there are few of them."""
        self._dropped = -sum(map(len, self.unlinked.values()))
        for waiting in self.unlinked.values():
            pairs = zip(waiting[::2], waiting[1::2], strict=True)
            waiting[:] = [place for pair in pairs if pair[0].alive for place in pair]

    def bound_results(self) -> None:
        """Drop the oldest results over the bound."""
        results = self.results
        while len(results) > MAX_RESULTS:
            self.drop([results[next(iter(results))]])


def _intersects(changed: set[str], pks: list[Any]) -> bool:
    try:
        return not changed.isdisjoint(pks)
    except TypeError:  # not all of them are primary keys
        return any(type(pk) is str and pk in changed for pk in pks)


def _lives(found: Node | list[Node]) -> bool:
    return any(node.alive for node in found) if isinstance(found, list) else found.alive


def _extend(nodes: list[Node], more: Node | list[Node] | None) -> None:
    if isinstance(more, list):
        nodes += more
    elif more is not None:
        nodes.append(more)
