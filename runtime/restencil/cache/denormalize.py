"""Denormalization of stored forms into objects, each memoized until something that it depends on changes.

`Denormalization` is the interpreter, which defines the results of reads and which schemas use as their reader;
`denormalize_compiled` has compiled functions with the same results. `CellTrace` finds the dependencies of a read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base.errors import RestencilError
from ..base.logs import logger
from ..base.values import INVALID, SCALARS, UNDEFINED, ReadOnlyList, Sentinel, read_only, same_json, text_of
from ..schema.collection import Collection
from ..schema.entity import EntitySchema
from ..schema.protocol import Reader, Schema, definitions
from ..schema.stored import is_partial, record_of
from .dependency_graph import Composed, DependencyGraph, Node, args_text, linked
from .tables import WHOLE_TABLE, EntityPath, State

if TYPE_CHECKING:
    from .tables import Shown


class _Restart(Exception):
    """Raised if an entity that a cycle already refers to turns out to be unusable."""


class StateReader:
    """The part of a reader that looks values up in a state."""

    def __init__(self, state: State, args: tuple[Any, ...]) -> None:
        self.state = state
        self.args = args
        self.asking: set[int] = set()
        """The objects whose query keys are being computed."""

    def stored(self, table: str, pk: str) -> Any:
        """Return the stored value: a record or its instance, a collection, INVALID (deleted) or UNDEFINED (unknown)."""
        return self.state.get(table, pk)

    def has(self, table: str, pk: str) -> bool:
        """Whether the table has an entry, INVALID counts as one."""
        return self.stored(table, pk) is not UNDEFINED

    def table(self, table: str) -> Iterator[str]:
        """The primary keys of a table in order of arrival."""
        return self.state.pks(table)

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """Return the primary key for a value in an index; None if there is none, or if the record has changed since."""
        pk = self.state.by_index(table, field, value)
        stored = UNDEFINED if pk is None else self.stored(table, pk)
        if not isinstance(stored, Sentinel) and text_of(record_of(stored).get(field)) != value:
            return None
        return pk


class Tracer(StateReader, Reader):
    """A reader that follows what a value refers to, without building objects."""

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        """Follow one value; a read itself raises the error of one that cannot be converted."""
        if schema is not None and stored is not None and not isinstance(stored, Sentinel) and not schema.is_leaf:
            with suppress(RestencilError):
                schema.denormalize(stored, self)
        return UNDEFINED

    def entity_from_record(self, schema: EntitySchema, record: Mapping[str, object]) -> object:
        """Follow a record that was never normalized."""
        for inner, entries in schema.inside([record]):
            self.items(inner, entries)
        return UNDEFINED

    def computed(self, schema: Schema, value: object, compute: Callable[[], object]) -> object:
        """Follow nothing: a computed value depends only on the value and the arguments."""
        return UNDEFINED


class CellTrace(Tracer):
    """Finds the cells that a value is built from, without building objects.

    Cells below the maximum depth of nested objects are not followed, as in `Denormalization`.
    """

    reads_tables = False
    """Whether the members of a table were read."""

    def __init__(self, state: State, args: tuple[Any, ...]) -> None:
        super().__init__(state, args)
        self.cells: dict[EntityPath, set[EntityPath | None]] = {}
        """By cell, the records and lists that contain it; None is the value itself."""
        self._place: EntityPath | None = None
        self._opened: set[tuple[Any, EntityPath]] = set()
        self._next: list[tuple[EntitySchema, EntityPath, Any]] = []

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        """Trace a whole value, level by level."""
        self.visit(schema, stored)
        depth = 0
        while self._next:
            level, self._next = self._next, []
            for node, self._place, record in level:
                if depth < node.model.max_depth:
                    for inner, entries in node.inside([record]):
                        self.items(inner, entries)
            depth += 1
        return UNDEFINED

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """Trace the items of a list."""
        node = None if schema is None else schema.entity
        for entry in stored:
            if node is not None and type(entry) is str:
                self.entity(node, entry)
            else:
                self.visit(schema, entry)
        return ReadOnlyList()

    def entity(self, schema: EntitySchema, pk: Any) -> Any:
        """Record the cell of an entity, which is followed with the next level."""
        path = schema.table_key, pk
        self._note(path)
        if schema.model.relations and (schema.cls, path) not in self._opened:
            self._opened.add((schema.cls, path))
            stored = self.state.get(*path)
            if not isinstance(stored, (Sentinel, list)):
                self._next.append((schema, path, record_of(stored)))
        return UNDEFINED

    def collection(self, schema: Collection, pk: str) -> object:
        """Record the cell of a collection, and trace its items."""
        path, identity = (schema.table_key, pk), schema.identity()
        self._note(path)
        stored = self.state.get(*path)
        if isinstance(stored, Sentinel) or is_partial(stored) or (identity, path) in self._opened:
            return UNDEFINED
        self._opened.add((identity, path))
        outside, self._place = self._place, path
        self.visit(schema.inner, stored)
        self._place = outside
        return UNDEFINED

    def has(self, table: str, pk: str) -> bool:
        """Whether the table has an entry, INVALID counts as one."""
        self._note((table, pk))
        return self.state.get(table, pk) is not UNDEFINED

    def table_exists(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        self.reads_tables = True
        return self.state.has_table(table)

    def table(self, table: str) -> Iterator[str]:
        """The primary keys of a table in order of arrival."""
        self.reads_tables = True
        self._note((table, WHOLE_TABLE))
        return self.state.pks(table)

    def _note(self, path: EntityPath) -> None:
        places = self.cells.get(path)
        if places is None:
            self.cells[path] = {self._place}
        else:
            places.add(self._place)


class Denormalization(StateReader):
    """One read of a state, which memoizes objects in `memo` if it is given.

    `shared` is the memo of the view for a read of another state (base, snapshot), `differs` returns which cells of that
    state differ from the view: objects that depend on none of them are shared with the view.
    """

    scope: Any = ""
    used_args = False
    current: Node | None = None
    """The node that is being built."""
    depth = 0
    """The current depth of nested entities."""
    _shared: DependencyGraph | None = None
    _differs: Callable[[str, str], bool] | None = None
    truncated = False
    """Whether part of the current object stays a primary key, because it is nested too deeply."""

    def __init__(
        self,
        state: State,
        args: tuple[Any, ...] = (),
        memo: DependencyGraph | None = None,
        *,
        shared: DependencyGraph | None = None,
        differs: Callable[[str, str], bool] | None = None,
    ) -> None:
        super().__init__(state, args)
        if memo is not None and memo.definitions != definitions.count:
            memo.clear()
        self._own = memo if memo is not None else DependencyGraph()
        if shared is not None:
            self._shared = shared
            self._differs = differs
        self.building: dict[tuple[Any, str], Any] = {}
        """By class and primary key, the instance that is being built, which cycles refer to, and its node."""
        self.closed: set[tuple[Any, str]] = set()
        """The entities that cycles refer to."""
        self.unusable: set[tuple[Any, str]] = set()
        """Those of these entities that turned out to be unusable."""
        self.built: list[Node] = []
        """The nodes that this read has built."""
        self._cut: list[Node] = []

    # -- entry points ----------------------------------------------------------------------------------------------

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        """Return the object for a stored form; values without a cell are memoized under `slot`."""
        if schema is None or stored is UNDEFINED or stored is INVALID or stored is None:
            return stored
        while True:
            self.built.clear()  # objects of earlier reads stay valid
            try:
                if slot is None or schema.own_table is not None:
                    return schema.denormalize(stored, self)
                return self._result(schema, stored, slot)
            except _Restart:
                self._abandon()
            except BaseException:
                self._abandon()
                raise

    def cells(self, schema: Schema, stored: object, slot: object) -> Shown:
        """Return the cells that a value is built from, memoized with the value until it is dropped."""
        node = self._kept(schema, stored, slot)
        found = None if node is None else self._own.touched.get(node)
        if found is not None:
            return found
        trace = CellTrace(self.state, self.args)
        trace.read(schema, stored)
        if node is not None and node.alive:
            self._own.touched[node] = trace.cells
        return trace.cells

    def prove(self, schema: Schema, stored: object, slot: object) -> None:
        """Record that all inputs of a memoized value are known, so that it may be returned until it is dropped."""
        node = self._kept(schema, stored, slot)
        if node is not None:
            self._own.verified.add(node)

    def _kept(self, schema: Schema, stored: object, slot: object) -> Node | None:
        own = self._own
        table = schema.own_table
        if table is not None:
            return own.home(table, schema.identity()).get(stored) if type(stored) is str else None
        return own.results.get((slot, schema))

    def _abandon(self) -> None:
        """Forget the nodes of this read, because some contain an instance that will never be complete."""
        self._own.drop(self.built)
        self.building.clear()
        self._cut.clear()
        self.current, self.depth, self.truncated = None, 0, False

    def _result(self, schema: Schema, stored: Any, slot: object) -> object:
        home: dict[Any, Node] = self._own.results
        place = (slot, schema)
        self.scope = slot
        node = home.get(place)
        if node is not None and node.args is not None and node.args != args_text(self.args):
            self._own.drop([node])
            node = None
        if node is not None:
            if node.source is stored or (not isinstance(stored, list) and same_json(node.source, stored)):
                return node.value
            self._own.drop([node])
        node = Composed(home, place, stored)
        outside, self.current = self.current, node
        self.built.append(node)
        self.used_args = False
        node.value = value = self.visit(schema, stored)
        if self.used_args:
            node.args = args_text(self.args)
        self.current = outside
        home[place] = node
        self._own.bound_results()
        return value

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        """Return the object for one stored value."""
        if schema is None:
            return stored if type(stored) in SCALARS else read_only(stored)
        if stored is None or stored is UNDEFINED or stored is INVALID:
            return stored
        return schema.denormalize(stored, self)

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """Return the objects for the items of a list, without missing and invalid ones; `None` stays."""
        found = [self.visit(schema, entry) for entry in stored]
        return ReadOnlyList([entry for entry in found if entry is not UNDEFINED and entry is not INVALID])

    # -- tables ----------------------------------------------------------------------------------------------------

    def table_exists(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        if self.current is not None:
            self._own.link_table(table, self.current)
        return self.state.has_table(table)

    # -- entities and collections ----------------------------------------------------------------------------------

    def entity(self, schema: EntitySchema, pk: Any) -> Any:
        """Return the instance for a primary key; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        table, cls = schema.table_key, schema.cls
        stored = self.state.get(table, pk)
        current = self.current
        if stored is UNDEFINED or stored is INVALID or type(stored) is cls:
            if current is not None:
                self._own.link_cell(table, pk, current)
            return stored
        home = self._own.home(table, cls)
        node = home.get(pk)
        if node is not None:
            if current is not None and node.parents is not current:
                node.parents = linked(node.parents, current)
            return node.value
        place = (cls, pk)
        building = self.building.get(place)
        if building is not None:
            self.closed.add(place)
            instance, node = building
            if instance is None:
                raise schema.not_built(pk, "refers to itself")
            if current is not None:
                node.parents = linked(node.parents, current)
            return INVALID if place in self.unusable else instance
        if self._shared is not None and self._is_the_views(schema, pk):
            return self._taken(self._shared, schema, home, pk)
        return self._build(schema, pk, stored, home, place)

    def _is_the_views(self, schema: Schema, pk: str) -> bool:
        """Return whether all dependencies of an object are the same in this state and the view."""
        differs = self._differs
        trace = CellTrace(self.state, self.args)
        trace.read(schema, pk)
        return differs is not None and not trace.reads_tables and not any(differs(*cell) for cell in trace.cells)

    def _taken(self, shared: DependencyGraph, schema: Schema, home: dict[str, Node], pk: str) -> object:
        """Return the object of the view; this state keeps it, even if the view changes."""
        node = Node(home, pk)
        node.parents = self.current
        node.value = value = Denormalization(self.state, self.args, shared).read(schema, pk)
        home[pk] = node
        return value

    def _build(self, schema: EntitySchema, pk: str, stored: object, home: dict[str, Node], place: Any) -> Any:
        if self.depth >= schema.model.max_depth:
            if schema.model.whole:
                raise schema.not_built(pk, f"is nested {schema.model.max_depth} entities deep")
            self.truncated = True
            _warn_depth(schema)
            return pk
        current = self.current
        node = Node(home, pk)
        if current is not None:
            node.parents = current
        self.current = node
        self.built.append(node)
        self.depth += 1
        truncated_outside, self.truncated = self.truncated, False
        try:
            value = schema.instance(record_of(stored), pk, self, partial(self._register, place, node))
        finally:
            self.depth -= 1
            self.current = current
            self.building.pop(place, None)
        if place in self.unusable or place in self.closed:
            value = self.ringed(schema, pk, place, node, value)
        node.value = value
        self.keep(node, schema.table_key, pk)
        self.truncated = self.truncated or truncated_outside
        return value

    def ringed(self, schema: EntitySchema, pk: str, place: Any, node: Node, value: object) -> object:
        """Complete an entity of a cycle; if it turns out to be unusable, the read is restarted."""
        if place in self.unusable:
            self._link_all(schema, pk, node)
            return INVALID
        if value is INVALID:
            self.unusable.add(place)
            raise _Restart
        return value

    def _link_all(self, schema: EntitySchema, pk: str, node: Node) -> None:
        """Link an unusable entity of a cycle to all its cells, as the reason was found before the restart."""
        trace = CellTrace(self.state, self.args)
        trace.read(schema, pk)
        for table, key in trace.cells:
            if key == WHOLE_TABLE:
                self._own.link_table(table, node)
            else:
                self._own.link_cell(table, key, node)

    def keep(self, node: Node, table: str, pk: str) -> None:
        """Memoize an object if it is complete."""
        if self.truncated and self.depth:
            # Truncated because of the start of this read: a read that starts here must return more. Objects that
            # contain it still depend on it.
            self._own.link_cell(table, pk, node)
            self._cut.append(node)
        else:
            node.home[pk] = node
            if not self.depth and self._cut:
                self._own.truncated[node], self._cut = self._cut, []

    def _register(self, place: Any, node: Node, instance: Any) -> None:
        """Register an instance that is being built, which cycles then refer to."""
        self.building[place] = (instance, node)

    def entity_from_record(self, schema: EntitySchema, record: Mapping[str, object]) -> object:
        """Return the instance for a record that was never normalized."""
        return schema.instance(record, None, self, None)

    def collection(self, schema: Collection, pk: str) -> object:
        """Return the list or dict of a stored collection; all collection schemas over one entity share it."""
        table = schema.table_key
        stored = self.state.get(table, pk)
        current = self.current
        if stored is UNDEFINED or stored is INVALID or is_partial(stored):
            if current is not None:
                self._own.link_cell(table, pk, current)
            return UNDEFINED if is_partial(stored) else stored
        home = self._own.home(table, schema.identity())
        node = home.get(pk)
        if node is None:
            if self._shared is not None and self._is_the_views(schema, pk):
                return self._taken(self._shared, schema, home, pk)
            node = Node(home, pk)
            self.current = node
            self.built.append(node)
            truncated_outside, self.truncated = self.truncated, False
            node.value = self.visit(schema.inner, stored)
            self.current = current
            again = home.get(pk)
            if again is None:
                self.keep(node, table, pk)
            else:
                node = again  # its items led back to it, and it was built there
            self.truncated = self.truncated or truncated_outside
        if current is not None and node.parents is not current:
            node.parents = linked(node.parents, current)
        return node.value

    def computed(self, schema: Schema, value: object, compute: Callable[[], object]) -> object:
        """Return the result of a `Query`: the identical object for the identical value and arguments."""
        home: dict[Any, Node] = self._own.results
        self.used_args = True
        place = (self.scope, args_text(self.args), schema)
        node = home.get(place)
        if node is not None and node.source is value:
            return node.value
        node = Composed(home, place, value)
        node.value = read_only(compute())
        home[place] = node
        return node.value


_warned: set[type] = set()


def _warn_depth(schema: EntitySchema) -> None:
    if schema.cls not in _warned:
        _warned.add(schema.cls)
        logger.warning(
            "%s is nested more than %s entities deep; deeper fields stay primary keys (raise max_entity_depth, or read "
            "the deeper entities by themselves)",
            schema.table_key,
            schema.model.max_depth,
        )
