"""Denormalization: stored forms become objects, each built once and kept until something it depends on changes (§6).

What was built is kept as *nodes*. A node knows the nodes that were built with it; a changed cell drops the nodes that
read it and, from there upwards, all that were built with those, and nothing else. So a warm read is a look-up, whatever
the size of the result, and a write costs what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import ConversionError, ProcessingError
from ..base.lazy import json, logger
from ..base.values import INVALID, SCALARS, UNDEFINED, ReadOnlyList, Sentinel, read_only, same_json, text_of
from ..schema.collection import Collection
from ..schema.entity import EntitySchema
from ..schema.protocol import definitions
from ..schema.record import set_members, set_record
from .tables import EMPTY, Cell, record_of

if TYPE_CHECKING:
    from ..schema.entity import Entity, EntityModel, Relation
    from ..schema.protocol import Schema
    from .tables import State


WHOLE: Final = ""
"""Where a primary key stands: all that a table holds."""

MAX_RESULTS: Final = 4096
"""How many composed results are kept; the oldest goes first."""


class Node:
    """Something that was built, and the nodes that were built with it."""

    __slots__ = ("alive", "home", "parents", "slot", "value")

    source: Any = None
    """What it was computed from, where that tells whether it still holds."""
    args: str | None = None
    """The arguments that it was computed with, where they matter (§5.10)."""

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
    """Arguments as a text that tells them apart."""
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


class Memo:
    """All nodes of one store's view, and who depends on which cell."""

    def __init__(self) -> None:
        self.definitions = definitions.count
        self.entities: dict[str, dict[Any, dict[str, Node]]] = {}
        """By table and by what reads it (an entity class, a kind of collection): the nodes by primary key."""
        self.results: dict[Any, Node] = {}
        self.cut: dict[Node, list[Node]] = {}
        """Nodes that were cut off at the greatest depth: each was built for one other node alone and goes with it."""
        self.touched: dict[Node, list[Cell]] = {}
        """The cells that some nodes were built with, nested ones included, where a read asked for them."""
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
            self.cut,
            self.touched,
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
        """Nodes, each before the keys of all cells of a table that it was built with, all of which hold something.

        They are linked when one of these cells changes: until then a long list costs one entry.
        """
        found = self.unlinked.get(table)
        if found is None:
            found = self.unlinked[table] = []
        return found

    def _link(self, table: str) -> None:
        waiting = self.unlinked.pop(table, ())
        for node, pks in zip(waiting[::2], waiting[1::2], strict=True):
            if node.alive:
                for pk in pks:
                    if type(pk) is str:
                        self.link_cell(table, pk, node)

    def link_table(self, table: str, node: Node) -> None:
        """The node was built with the list of all that the table holds."""
        self._table_readers[table] = linked(self._table_readers.get(table), node)

    def drop_cells(self, cells: list[Cell], *, fresh: bool = False) -> None:
        """The cells changed: drops what depends on them; `fresh` ones held nothing before."""
        dead: list[Node] = []
        if self.unlinked and not fresh:
            for table in {table for table, _ in cells}:
                self._link(table)
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
                if self.cut:
                    dead += self.cut.pop(node, ())
                if self.touched:
                    self.touched.pop(node, None)
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


def _lives(found: Node | list[Node]) -> bool:
    return any(node.alive for node in found) if isinstance(found, list) else found.alive


def _extend(nodes: list[Node], more: Node | list[Node] | None) -> None:
    if isinstance(more, list):
        nodes += more
    elif more is not None:
        nodes.append(more)


class _Restart(Exception):
    """An entity that a cycle had already been closed with turned out unusable."""


class Denormalization:
    """One read of a state. With a memo it keeps what it builds; without one it builds for itself.

    `shared` is the memo of the view for a read of another state (base, snapshot), `differs` tells which cells of that
    state are not the view's: what depends on none of them is taken from the view, so that it is one object in both.
    """

    scope: Any = ""
    used_args = False
    reads_tables = False
    current: Node | None = None
    """What is being built."""
    depth = 0
    """How many entities are being built in each other."""
    _shared: Memo | None = None
    _differs: Callable[[str, str], bool] | None = None
    _trace: dict[Cell, None] | None = None
    _truncated = False

    def __init__(
        self,
        state: State,
        args: tuple[Any, ...] = (),
        memo: Memo | None = None,
        *,
        shared: Memo | None = None,
        differs: Callable[[str, str], bool] | None = None,
        trace: dict[Cell, None] | None = None,
    ) -> None:
        self.state = state
        self.args = args
        if memo is not None and memo.definitions != definitions.count:
            memo.clear()
        self.asking: set[int] = set()
        """The objects whose query keys are being asked for."""
        self._own = memo if memo is not None else Memo()
        if shared is not None:
            self._shared = shared
            self._differs = differs
        if trace is not None:
            self._trace = trace
        self._building: dict[tuple[Any, str], Any] = {}
        self._closed: set[tuple[Any, str]] = set()
        self._unusable: set[tuple[Any, str]] = set()
        self._built: list[Node] = []
        self._cut: list[Node] = []

    # -- entrances -------------------------------------------------------------------------------------------------

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        """What a stored form is for readers; composed values are kept under `slot` as long as they hold."""
        if schema is None or stored is UNDEFINED or stored is INVALID or stored is None:
            return stored
        while True:
            self._built.clear()  # what earlier reads handed out stays
            try:
                if slot is None or isinstance(schema, (EntitySchema, Collection)):
                    return schema.denormalize(stored, self)
                return self._result(schema, stored, slot)
            except _Restart:
                self._abandon()
            except BaseException:
                self._abandon()
                raise

    def touched(self, schema: Schema, stored: Any, slot: Any) -> list[Cell] | None:
        """The cells that what was read last was built with, where that was noted and still holds."""
        node = self._kept(schema, stored, slot)
        return None if node is None else self._own.touched.get(node)

    def note_touched(self, schema: Schema, stored: Any, slot: Any, cells: list[Cell]) -> None:
        """Notes the cells that it was built with, for as long as it holds."""
        node = self._kept(schema, stored, slot)
        if node is not None:
            self._own.touched[node] = cells

    def _kept(self, schema: Schema, stored: Any, slot: Any) -> Node | None:
        own = self._own
        if isinstance(schema, EntitySchema):
            return own.home(schema.model.key, schema.model.cls).get(stored) if type(stored) is str else None
        if isinstance(schema, Collection):
            return own.home(schema.table_key, schema.identity()).get(stored) if type(stored) is str else None
        return own.results.get((slot, schema))

    def ready(self, table: str) -> Mapping[str, Any]:
        """What lies in a table, where this read may hand instances out as they lie there."""
        return EMPTY

    def _abandon(self) -> None:
        """Forgets what this read built: some of it was built with an instance that will never be complete."""
        self._own.drop(self._built)
        self._building.clear()
        self._cut.clear()
        self.current, self.depth, self._truncated = None, 0, False

    def _result(self, schema: Schema, stored: Any, slot: Any) -> Any:
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
        self._built.append(node)
        self.used_args = False
        node.value = value = self.visit(schema, stored)
        if self.used_args:
            node.args = args_text(self.args)
        self.current = outside
        home[place] = node
        self._own.bound_results()
        return value

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        """The object for one stored value (§5.1)."""
        if schema is None:
            return stored if type(stored) in SCALARS else read_only(stored)
        if stored is None or stored is UNDEFINED or stored is INVALID:
            return stored
        return schema.denormalize(stored, self)

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """The objects for the items of a list; missing and invalid ones are dropped, `None` stays (§5.2)."""
        found = [self.visit(schema, entry) for entry in stored]
        return ReadOnlyList([entry for entry in found if entry is not UNDEFINED and entry is not INVALID])

    # -- tables ----------------------------------------------------------------------------------------------------

    def has(self, table: str, pk: str) -> bool:
        """Whether the table has an entry, INVALID counts as one; the reader depends on it."""
        self._note(table, pk)
        return self.state.get(table, pk) is not UNDEFINED

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """The primary key that an index holds for a value; a record that has another value by now is not found."""
        pk = self.state.by_index(table, field, value)
        stored = UNDEFINED if pk is None else self.state.get(table, pk)
        if not isinstance(stored, Sentinel) and text_of(record_of(stored).get(field)) != value:
            return None
        return pk

    def table_exists(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        self.reads_tables = True
        if self.current is not None:
            self._own.link_table(table, self.current)
        return self.state.has_table(table)

    def table(self, table: str) -> Iterator[str]:
        """The primary keys of a table in order of arrival."""
        self.reads_tables = True
        if self._trace is not None:
            self._trace[table, WHOLE] = None
        return self.state.pks(table)

    def _note(self, table: str, pk: str) -> None:
        if self._trace is not None:
            self._trace[table, pk] = None

    # -- entities and collections ----------------------------------------------------------------------------------

    def entity(self, schema: EntitySchema, pk: Any) -> Any:
        """The instance for a primary key; `UNDEFINED` when missing, `INVALID` when unusable."""
        model = schema.model
        table = model.key
        if self._trace is not None:
            self._note(table, pk)
        stored = self.state.get(table, pk)
        current = self.current
        if stored is UNDEFINED or stored is INVALID or type(stored) is model.cls:
            if current is not None:
                self._own.link_cell(table, pk, current)
            return stored
        home = self._own.home(table, model.cls)
        node = home.get(pk)
        if node is not None:
            if current is not None and node.parents is not current:
                node.parents = linked(node.parents, current)
            return node.value
        place = (model.cls, pk)
        building = self._building.get(place)
        if building is not None:
            self._closed.add(place)
            instance, node = building
            if current is not None:
                node.parents = linked(node.parents, current)
            return INVALID if place in self._unusable else instance
        if self._shared is not None and self._is_the_views(schema, pk):
            return self._taken(self._shared, schema, home, pk)
        return self._build(schema, pk, stored, home, place)

    def _is_the_views(self, schema: Schema, pk: str) -> bool:
        """Whether nothing that the object depends on differs between this state and the view."""
        differs = self._differs
        cells: dict[Cell, None] = {}
        trace = Denormalization(self.state, self.args, trace=cells)
        trace.read(schema, pk)
        return differs is not None and not trace.reads_tables and not any(differs(*cell) for cell in cells)

    def _taken(self, shared: Memo, schema: Schema, home: dict[str, Node], pk: str) -> Any:
        """The view's object; it stays what this state has, also when the view goes on."""
        node = home[pk] = Node(home, pk)
        node.parents = self.current
        node.value = value = Denormalization(self.state, self.args, shared).read(schema, pk)
        return value

    def _build(self, schema: EntitySchema, pk: str, stored: Any, home: dict[str, Node], place: Any) -> Any:
        model = schema.model
        if self.depth >= model.max_depth:
            self._truncated = True
            _warn_depth(model)
            return pk
        current = self.current
        node = Node(home, pk)
        if current is not None:
            node.parents = current
        self.current = node
        self._built.append(node)
        self.depth += 1
        truncated_outside, self._truncated = self._truncated, False
        try:
            value = self._instance(model, pk, record_of(stored), place, node)
        finally:
            self.depth -= 1
            self.current = current
            self._building.pop(place, None)
        if place in self._unusable:
            value = INVALID
            if self._trace is None:
                self._link_all(schema, pk, node)
        elif value is INVALID and place in self._closed:
            self._unusable.add(place)
            raise _Restart
        node.value = value
        self._keep(node, model.key, pk)
        self._truncated = self._truncated or truncated_outside
        return value

    def _link_all(self, schema: EntitySchema, pk: str, node: Node) -> None:
        """Links an unusable member of a ring to all that it is about: why it is unusable was met before the restart."""
        cells: dict[Cell, None] = {}
        Denormalization(self.state, self.args, trace=cells).read(schema, pk)
        for table, key in cells:
            if key == WHOLE:
                self._own.link_table(table, node)
            else:
                self._own.link_cell(table, key, node)

    def _keep(self, node: Node, table: str, pk: str) -> None:
        if self._truncated and self.depth:
            # Cut off by where the read began: a read that begins here must see more. What was built with it still
            # depends on it.
            self._own.link_cell(table, pk, node)
            self._cut.append(node)
        else:
            node.home[pk] = node
            if not self.depth and self._cut:
                self._own.cut[node], self._cut = self._cut, []

    def _instance(self, model: EntityModel, pk: str | None, record: Mapping[str, Any], place: Any, node: Any) -> Any:
        cls = model.cls
        if model.create_if_valid is not None:
            instance = model.create_if_valid(record)
            if instance is None:
                return INVALID
        else:
            if model.validate is not None and model.validate(record):
                return INVALID
            if model.from_js is not None:
                instance = model.from_js(record)
            else:
                instance = cls.__new__(cls)
                set_members(instance, {})
        set_record(instance, record)
        if place is not None:
            self._building[place] = (instance, node)
        made = model.from_js is not None or model.create_if_valid is not None
        members: dict[str, Any] = vars(instance) if made else model.attributes(record, pk)
        for relation in model.relations:
            name = relation.in_json
            if name not in record:
                continue
            entry = record[name]
            found = self.related(relation, entry, cls, pk)
            if found is INVALID:
                if relation.needed:
                    return INVALID
                found = None
            elif found is UNDEFINED:
                if relation.raises:
                    members.pop(relation.name, None)
                    continue
                found = None
            members[relation.name] = found
        if not made:
            set_members(instance, members)
        return instance

    def related(self, relation: Relation, entry: Any, cls: type[Entity], pk: str | None) -> Any:
        """What an entity shows in a field with a schema. Raises ProcessingError where a value does not convert."""
        try:
            return entry if entry is None else self.visit(relation.node, entry)
        except ConversionError as error:
            raise ProcessingError(
                f"field {relation.name!r} of {cls.__name__} {pk!r} does not decode: {entry!r} ({error.__cause__}); "
                "give the field the schema that fits what the server sends"
            ) from error.__cause__

    def entity_from_record(self, schema: EntitySchema, record: Mapping[str, Any]) -> Any:
        """The instance for an un-normalized value (§5.3)."""
        return self._instance(schema.model, None, record, None, self.current)

    def collection(self, schema: Collection, pk: str) -> Any:
        """The list or dict of a stored collection; collections over one entity share it (§6.2)."""
        table = schema.table_key
        if self._trace is not None:
            self._note(table, pk)
        stored = self.state.get(table, pk)
        current = self.current
        if stored is UNDEFINED or stored is INVALID:
            if current is not None:
                self._own.link_cell(table, pk, current)
            return stored
        home = self._own.home(table, schema.identity())
        node = home.get(pk)
        if node is None:
            if self._shared is not None and self._is_the_views(schema, pk):
                return self._taken(self._shared, schema, home, pk)
            node = Node(home, pk)
            self.current = node
            self._built.append(node)
            truncated_outside, self._truncated = self._truncated, False
            node.value = self.visit(schema.inner, stored)
            self.current = current
            again = home.get(pk)
            if again is None:
                self._keep(node, table, pk)
            else:
                node = again  # its items led back to it, and it was built there
            self._truncated = self._truncated or truncated_outside
        if current is not None and node.parents is not current:
            node.parents = linked(node.parents, current)
        return node.value

    def computed(self, schema: Schema, value: Any, compute: Callable[[], Any]) -> Any:
        """What a `Query` makes of a value: the identical result for the identical value and args (§5.10)."""
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


def _warn_depth(model: EntityModel) -> None:
    if model.cls not in _warned:
        _warned.add(model.cls)
        logger.warning(
            "%s is nested more than %s entities deep; deeper fields stay primary keys (raise max_entity_depth, or read "
            "the deeper entities by themselves)",
            model.key,
            model.max_depth,
        )
