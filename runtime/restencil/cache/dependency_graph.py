"""Records what each built object was built from, so that a change drops exactly the objects that depend on it.

What was built is kept as *nodes*. A node knows the nodes that were built with it; a changed cell drops the nodes that
read it and, from there upwards, all that were built with those. So a warm read is a look-up, whatever the size of the
result, and a write costs what depends on it.
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
"""How many composed results are kept; the oldest goes first."""


class Node:
    """Something that was built, and the nodes that were built with it."""

    __slots__ = ("alive", "home", "parents", "slot", "value")

    source: Any = None
    """The stored value that it was computed from, if comparing it shows whether the node is still valid."""
    args: str | None = None
    """The arguments that it was computed with, where they matter."""

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


def args_text(args: tuple[Any, ...]) -> str:
    """Arguments as a string that is different for different arguments."""
    try:
        return json.dumps(args, sort_keys=True, default=repr)
    except (TypeError, ValueError):
        return repr(args)


def linked(parents: Node | list[Node] | None, node: Node) -> Node | list[Node]:
    """The parents with one more; dead ones give way, so that the list stays as long as what is alive."""
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
    """All nodes of one store's view, and who depends on which cell."""

    def __init__(self) -> None:
        self.definitions = definitions.count
        self.entities: dict[str, dict[Any, dict[str, Node]]] = {}
        """By table and reader (an entity class, a kind of collection): the nodes by primary key."""
        self.results: dict[Any, Node] = {}
        self.truncated: dict[Node, list[Node]] = {}
        """Nodes that were cut off at the greatest depth: each was built for one other node alone and goes with it."""
        self.touched: dict[Node, Shown] = {}
        """The cells that some nodes were built with, nested ones included, where a read asked for them."""
        self.verified: set[Node] = set()
        """Nodes all of whose inputs are known to be as in the storage, if there is one."""
        self._readers: dict[str, dict[str, Node | list[Node]]] = {}
        self._links = 0
        self._sweep_at = 1024
        self.unlinked: dict[str, list[Any]] = {}
        """By table: in turns a node, and the primary keys of all cells that it was built with (`waiting`)."""
        self._dropped = 0
        self._table_readers: dict[str, Node | list[Node]] = {}

    def clear(self) -> None:
        """A schema was redefined: nothing that was built counts any more."""
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

    def home(self, table: str, reader: Any) -> dict[str, Node]:
        """The nodes of one table that this reader built."""
        readers = self.entities.get(table)
        if readers is None:
            readers = self.entities[table] = {}
        found = readers.get(reader)
        if found is None:
            found = readers[reader] = {}
        return found

    def knows(self, table: str) -> bool:
        """Whether anything was ever built from the table."""
        return table in self.entities or table in self._readers or table in self.unlinked

    def link_cell(self, table: str, pk: str, node: Node) -> None:
        """The node was built with what this cell holds, or with its being empty."""
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
        """Cells that only dead nodes were built with are forgotten; looked for as rarely as there are few of them."""
        for table, readers in self._readers.items():
            self._readers[table] = {pk: found for pk, found in readers.items() if _lives(found)}
        self._links = sum(map(len, self._readers.values()))
        self._sweep_at = max(1024, 2 * self._links)

    def waiting(self, table: str) -> list[Any]:
        """Nodes, each before the primary keys of a table that it was built from, if all of these are stored.

        They are linked when one of these cells changes: until then a long list costs one entry. (Benchmark: push 10
        items onto a list of 10,000, and read the list.)
        """
        found = self.unlinked.get(table)
        if found is None:
            found = self.unlinked[table] = []
        return found

    def _link(self, table: str, changed: set[str] | None = None) -> list[Node]:
        """Links what waits, but for those that were built with one of the changed cells: these are returned."""
        dead: list[Node] = []
        waiting = self.unlinked.pop(table, ())
        for node, pks in zip(waiting[::2], waiting[1::2], strict=True):
            if node.alive and changed is not None and _intersects(changed, pks):
                dead.append(node)
            elif node.alive:
                for pk in pks:
                    if type(pk) is str:
                        self.link_cell(table, pk, node)
        return dead

    def link_table(self, table: str, node: Node) -> None:
        """The node was built with the list of all that the table holds."""
        self._table_readers[table] = linked(self._table_readers.get(table), node)

    def drop_cells(self, cells: list[EntityPath], *, fresh: bool = False) -> None:
        """The cells changed: drops what depends on them; `fresh` ones held nothing before."""
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
        """An entity came into the table or became unusable: drops the lists of all that it holds."""
        dead: list[Node] = []
        _extend(dead, self._table_readers.pop(table, None))
        self.drop(dead)

    def drop(self, dead: list[Node]) -> None:
        """Drops these nodes and all that were built with them."""
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
        """Dead nodes do not wait to be linked; looked for as rarely as there are few of them."""
        self._dropped = -sum(map(len, self.unlinked.values()))
        for waiting in self.unlinked.values():
            pairs = zip(waiting[::2], waiting[1::2], strict=True)
            waiting[:] = [place for pair in pairs if pair[0].alive for place in pair]

    def bound_results(self) -> None:
        """Keeps the number of composed results bounded."""
        results = self.results
        while len(results) > MAX_RESULTS:
            self.drop([results[next(iter(results))]])

    def dependents(self, table: str, pk: str) -> list[Any]:
        """The slots of what is built from a cell, nearest first (for explanations)."""
        self._link(table)
        found: list[Node] = []
        _extend(found, self._readers.get(table, {}).get(pk))
        found += [home[pk] for home in self.entities.get(table, {}).values() if pk in home]
        seen: dict[int, Node] = {}
        while found:
            node = found.pop(0)
            if node.alive and id(node) not in seen:
                seen[id(node)] = node
                _extend(found, node.parents)
        return [node.slot for node in seen.values()]


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
