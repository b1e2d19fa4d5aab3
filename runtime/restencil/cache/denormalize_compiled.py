"""Compiled denormalization of stored forms into objects, with the same results as the interpreter `Denormalization`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..base.code import Source
from ..base.errors import ConversionError
from ..base.values import INVALID, SCALARS, UNDEFINED, ReadOnlyDict, ReadOnlyList, kind_of, read_only
from ..schema.codec import UNCHANGING
from ..schema.collection import Collection
from ..schema.containers import List, Object, Union, Values
from ..schema.derived import Query
from ..schema.entity import EntityModel, EntitySchema, left_out
from ..schema.notation import Conversion
from ..schema.one_of import OneOf
from ..schema.protocol import Schema, definitions
from ..schema.record import new_instance, set_members, set_record
from ..schema.relation import Relation
from .compiling import COMPILED, PAYS, finished, resolved, written_out
from .denormalize import Denormalization
from .dependency_graph import DependencyGraph, Node, linked
from .tables import EMPTY, State, Tables

Denormalizer: TypeAlias = Callable[[Any, Denormalization], Any]
Builder: TypeAlias = Callable[["CompiledDenormalization", str, Any, "dict[str, Node]", "Node | None"], Any]


class CompiledDenormalization(Denormalization):
    """One read of the tables with the memo of the view, by compiled functions for schemas that have them."""

    state: Tables

    def __init__(self, state: Tables, args: tuple[Any, ...], memo: DependencyGraph) -> None:
        super().__init__(state, args, memo)
        self.tables = state.entities
        self.memo = memo
        self.unlinked = memo.unlinked

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        """Return the object for one stored value."""
        if schema is None:
            return stored if type(stored) in SCALARS else read_only(stored)
        if stored is None or stored is UNDEFINED or stored is INVALID:
            return stored
        return (schema.denormalizer or _denormalizer(schema, stored))(stored, self)

    def entity(self, schema: EntitySchema, pk: Any) -> Any:
        """Return the instance for a primary key; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        stored = self.tables.get(schema.table_key, EMPTY).get(pk)
        if type(stored) is not dict:
            return super().entity(schema, pk)
        home = self.memo.home(schema.table_key, schema.cls)
        node = home.get(pk)
        current = self.current
        if node is not None:
            if current is not None and node.parents is not current:
                node.parents = linked(node.parents, current)
            return node.value
        build = schema.builder
        if build is None:
            schema.reads += 1
            if schema.reads < PAYS:
                return super().entity(schema, pk)
            build = compile_entity(schema)
        return build(self, pk, stored, home, current)

    def interpreted(self, schema: EntitySchema, pk: str, current: Node | None) -> object:
        """Return the entity by the interpreter, which handles cycles and depth; `current` is its parent node."""
        outside, self.current = self.current, current
        try:
            return super().entity(schema, pk)
        finally:
            self.current = outside

    def inside(self, node: Node, operation: Callable[..., object], *args: object) -> object:
        """Call an operation while a compiled function builds the entity of a node, which becomes the current node."""
        outside, self.current = self.current, node
        self.depth += 1
        try:
            return operation(*args)
        finally:
            self.current = outside
            self.depth -= 1


def reader_of(state: State, args: tuple[object, ...], memo: DependencyGraph) -> Denormalization:
    """Return a reader of the view, which is compiled if the state is the tables themselves."""
    if type(state) is Tables:
        return CompiledDenormalization(state, args, memo)
    return Denormalization(state, args, memo)


def _denormalizer(schema: Schema, stored: Any) -> Denormalizer:
    if type(schema) not in COMPILED or type(schema) is EntitySchema:
        schema.denormalizer = schema.denormalize
        return schema.denormalize
    kind = kind_of(stored)
    schema.reads += len(stored) if kind is list else 1
    if schema.reads < PAYS:
        return schema.denormalize
    found = schema.denormalizer = compile_denormalizer(schema)
    definitions.compiled.add(schema)
    return found


def compile_denormalizer(schema: Schema) -> Denormalizer:
    """Compile a function with the same result as `schema.denormalize`."""
    source = Source()
    body = _Statements(source)
    with source.block("def denormalize(stored, reader):"):
        source.put("current = reader.current")
        body.value(schema, "stored", "current", "return {}")
    function: Denormalizer = finished(source, "denormalize", schema)
    return function


def compile_entity(schema: EntitySchema) -> Builder:
    """Compile a function that builds an entity from its record, with all nested objects."""
    model = schema.model
    definitions.compiled.add(schema)
    source = Source()
    body = _Statements(source)
    name = source.name(schema, "schema")
    fits = model.validate is None and not schema.model.whole
    deepest = _deepest(schema) if fits else None
    with source.block("def build(reader, pk, record, home, current):"):
        if not fits:
            source.put(f"return reader.interpreted({name}, pk, current)")
        elif deepest is None or deepest < 0:
            body.ring(schema)
        else:
            with source.block(f"if reader.depth > {deepest}:"):
                source.put(f"return reader.interpreted({name}, pk, current)")
            body.node()
            body.outside = "node"
            body.instance(model)
            source.put("node.value = instance", "home[pk] = node", "return instance")
    build: Builder = finished(source, "build", schema)
    schema.builder = build
    return build


def _deepest(schema: EntitySchema, above: tuple[Schema, ...] = ()) -> int | None:
    """Return how many entities may contain an entity so that none of its content is nested too deeply.

    None if its schema refers back to itself, or if a schema that it refers to is not known.
    """
    if schema in above:
        return None
    deepest = schema.model.max_depth - 1
    for relation in schema.model.relations:
        inner = _deepest_inside(resolved(relation), (*above, schema))
        if inner is None:
            return None
        deepest = min(deepest, inner - 1)
    return deepest


def _deepest_inside(schema: Schema | None | Relation, above: tuple[Schema, ...]) -> int | None:
    if isinstance(schema, EntitySchema):
        return _deepest(schema, above)
    if schema is None or isinstance(schema, Conversion):
        return 64
    if not isinstance(schema, _TRANSPARENT) or schema in above:
        return None
    found = [_deepest_inside(child, (*above, schema)) for child in schema.children()]
    return None if None in found else min((deepest for deepest in found if deepest is not None), default=64)


_TRANSPARENT: Final = (List, Object, Values, Union, OneOf, Collection, Query)


def _leads_nowhere(relation: Relation) -> str:
    """Return the condition that a record has no entities in a relation."""
    value = f"record.get({relation.in_json!r})"
    return f"({value} is None or {value} == [])" if isinstance(resolved(relation), List) else f"{value} is None"


class _Statements:
    """Writes the statements that denormalize values."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.outside = ""
        """The node that calls out of the function must pass to the reader, if the reader does not have it."""
        self._inside: list[Schema] = []
        source.scope.update(
            ConversionError=ConversionError,
            EMPTY=EMPTY,
            INVALID=INVALID,
            Node=Node,
            ReadOnlyDict=ReadOnlyDict,
            ReadOnlyList=ReadOnlyList,
            SCALARS=SCALARS,
            UNDEFINED=UNDEFINED,
            compile_entity=compile_entity,
            left_out=left_out,
            linked=linked,
            new_instance=new_instance,
            read_only=read_only,
            set_members=set_members,
            set_record=set_record,
        )

    def value(self, schema: Schema | None, value: str, node: str, sink: str) -> None:
        """Write code for the object of a stored form in a variable; `sink` receives it, and `node` is its parent."""
        if type(schema) in COMPILED and schema not in self._inside and not self.source.deep:
            self._inside.append(schema)  # type: ignore[arg-type]  # None is none of the kinds
            if isinstance(schema, List):
                self._list(schema, value, node, sink)
            elif isinstance(schema, Object):
                self._object(schema, value, node, sink)
            elif isinstance(schema, EntitySchema):
                self._entity(schema, value, node, sink)
            self._inside.pop()
        elif schema is None:
            self.source.put(sink.format(f"{value} if type({value}) in SCALARS else read_only({value})"))
        else:
            self.source.put(sink.format(self._out("reader.visit", self.source.name(schema, "schema"), value)))

    def _out(self, *call: str) -> str:
        """Return the code of a call out of the function, from an operation and its arguments."""
        operation, *arguments = call
        if self.outside:
            return f"reader.inside({self.outside}, {', '.join(call)})"
        return f"{operation}({', '.join(arguments)})"

    def _otherwise(self, schema: Schema, value: str, sink: str) -> None:
        source, name = self.source, self.source.name(schema, "schema")
        with source.block(f"elif {value} is None or {value} is UNDEFINED or {value} is INVALID:"):
            source.put(sink.format(value))
        with source.block("else:"):
            source.put(sink.format(self._out(f"{name}.denormalize", value, "reader")))

    def _list(self, schema: List, value: str, node: str, sink: str) -> None:
        source, item = self.source, schema.item
        entry, out, found = source.variable("entry"), source.variable("out"), source.variable("found")
        with source.block(f"if isinstance({value}, list):"):
            source.put(f"{out} = []")
            if isinstance(item, EntitySchema):
                with source.block(f"if {value}:"):
                    self._entities(item, value, node, entry, out, found)
            else:
                with source.block(f"for {entry} in {value}:"):
                    self.value(item, entry, node, f"{found} = {{}}")
                    with source.block(f"if {found} is not UNDEFINED and {found} is not INVALID:"):
                        source.put(f"{out}.append({found})")
            source.put(f"{out} = ReadOnlyList({out})", sink.format(out))
        self._otherwise(schema, value, sink)

    def _entities(self, item: EntitySchema, value: str, node: str, entry: str, out: str, found: str) -> None:
        """Write a loop over primary keys."""
        source, model = self.source, item.model
        schema, cls = source.name(item, "schema"), source.name(model.cls, "cls")
        table = source.variable("table")
        source.put(f"{table} = reader.tables.get({model.key!r}, EMPTY)")
        if model.direct:
            with source.block(f"for {entry} in {value}:"):
                with source.block(f"if type({entry}) is str:"):
                    source.put(f"{found} = {table}.get({entry})")
                    with source.block(f"if type({found}) is {cls}:"):
                        source.put(f"{out}.append({found})", "continue")
                source.put(f"{found} = {self._out('reader.visit', schema, entry)}")
                with source.block(f"if {found} is not UNDEFINED and {found} is not INVALID:"):
                    source.put(f"{out}.append({found})")
            with source.block(f"if {node} is not None:"):
                waiting = source.variable("waiting")
                source.put(f"{waiting} = reader.unlinked.get({model.key!r})")
                with source.block(f"if {waiting} is None:"):
                    source.put(f"{waiting} = reader.memo.waiting({model.key!r})")
                source.put(f"{waiting} += ({node}, {value})")
            return
        nodes = self._nodes(item)
        with source.block(f"for {entry} in {value}:"):
            self._related(item, entry, node, found, table, nodes)
            with source.block(f"if {found} is not UNDEFINED and {found} is not INVALID:"):
                source.put(f"{out}.append({found})")

    def _entity(self, schema: EntitySchema, value: str, node: str, sink: str) -> None:
        """Write code for the object of one primary key."""
        source, model = self.source, schema.model
        found, table = source.variable("found"), source.variable("table")
        source.put(f"{table} = reader.tables.get({model.key!r}, EMPTY)")
        if model.direct:
            name = source.name(schema, "schema")
            with source.block(f"if type({value}) is str:"):
                source.put(f"{found} = {table}.get({value})")
                with source.block(f"if type({found}) is not {source.name(model.cls, 'cls')}:"):
                    source.put(f"{found} = {self._out('reader.entity', name, value)}")
                with source.block(f"elif {node} is not None:"):
                    source.put(f"reader.memo.link_cell({model.key!r}, {value}, {node})")
            with source.block("else:"):
                source.put(f"{found} = {self._out('reader.visit', name, value)}")
        else:
            self._related(schema, value, node, found, table, self._nodes(schema))
        source.put(sink.format(found))

    def _nodes(self, schema: EntitySchema) -> tuple[str, str]:
        """Return the variables of an entity's nodes, and of the function that builds its instances."""
        source, model = self.source, schema.model
        home, build = source.variable("home"), source.variable("build")
        name = source.name(schema, "schema")
        source.put(f"{home} = reader.memo.home({model.key!r}, {source.name(model.cls, 'cls')})")
        source.put(f"{build} = {name}.builder or compile_entity({name})")
        return home, build

    def _related(
        self, schema: EntitySchema, entry: str, node: str, found: str, table: str, nodes: tuple[str, str]
    ) -> None:
        """The object for a primary key goes into `found`; where it has been built already it is only linked."""
        source, (home, build) = self.source, nodes
        name, built = source.name(schema, "schema"), source.variable("built")
        with source.block(f"if type({entry}) is str:"):
            source.put(f"{built} = {home}.get({entry})")
            with source.block(f"if {built} is not None:"):
                with source.block(f"if {node} is not None and {built}.parents is not {node}:"):
                    source.put(f"{built}.parents = linked({built}.parents, {node})")
                source.put(f"{found} = {built}.value")
            with source.block("else:"):
                source.put(f"{found} = {table}.get({entry})")
                with source.block(f"if type({found}) is dict:"):
                    source.put(f"{found} = {build}(reader, {entry}, {found}, {home}, {node})")
                with source.block("else:"):
                    source.put(f"{found} = {self._out('reader.entity', name, entry)}")
        with source.block("else:"):
            source.put(f"{found} = {self._out('reader.visit', name, entry)}")

    def _object(self, schema: Object, value: str, node: str, sink: str) -> None:
        source = self.source
        out = source.variable("out")
        names = {json_name: name for name, json_name in schema.wire.items()}
        members = source.name(frozenset(schema.members), "members")
        renames = source.name(names, "names")
        # Members whose object is unusable make the whole unusable: the statements form a loop that runs once.
        with source.block(f"if type({value}) is dict:"):
            with source.block("while True:"):
                everything = f"entry if type(entry) in SCALARS or name in {members} else read_only(entry)"
                if names:
                    each = f"{renames}.get(name, name): {everything}"
                    source.put(f"{out} = {{{each} for name, entry in {value}.items()}}")
                else:
                    with source.block(f"if {members}.issuperset({value}):"):
                        source.put(f"{out} = {{**{value}}}")
                    with source.block("else:"):
                        source.put(f"{out} = {{name: {everything} for name, entry in {value}.items()}}")
                for json_name, member in schema.members.items():
                    found, entry = source.variable("found"), source.variable("entry")
                    with source.block(f"if {json_name!r} in {value}:"):
                        source.put(f"{entry} = {value}[{json_name!r}]")
                        self.value(member, entry, node, f"{found} = {{}}")
                        with source.block(f"if {found} is INVALID:"):
                            source.put(f"{out} = INVALID", "break")
                        absent = f"None if {found} is UNDEFINED else {found}"
                        source.put(f"{out}[{names.get(json_name, json_name)!r}] = {absent}")
                source.put(f"{out} = ReadOnlyDict({out})", "break")
            source.put(sink.format(out))
        self._otherwise(schema, value, sink)

    def node(self) -> None:
        """Write code that creates the node of an instance, linked to its parent."""
        # Benchmark: denormalize it all cold. `Node(home, pk)` says the same, by a call more for each entity.
        self.source.put("node = new_instance(Node)", "node.home = home", "node.slot = pk", "node.parents = current")
        self.source.put("node.alive = True")

    def ring(self, schema: EntitySchema) -> None:
        """The body of a function that builds an entity which may lead back to itself, as the interpreter does it.

        Benchmark: fetch of one object of 364, nested 6 deep.
        """
        source, model = self.source, schema.model
        name, cls = source.name(schema, "schema"), source.name(model.cls, "cls")
        source.put(f"place = {cls}, pk")
        with source.block(f"if place in reader.building or reader.depth >= {schema.model.max_depth}:"):
            source.put(f"return reader.interpreted({name}, pk, current)")
        self.node()
        with source.block(f"if {' and '.join(map(_leads_nowhere, model.relations))}:"):
            # The greater part of every tree: no circle can close here.
            self.instance(model, ends=True)
            source.put("node.value = instance", "home[pk] = node", "return instance")
        source.put("outside, truncated = reader.current, reader.truncated")
        source.put("reader.current, reader.truncated = node, False", "reader.depth += 1", "reader.built.append(node)")
        with source.block("try:"):
            self.instance(model, "reader.building[place] = instance, node")
        with source.block("finally:"):
            source.put("reader.depth -= 1", "reader.current = outside", "reader.building.pop(place, None)")
        with source.block("if place in reader.unusable or place in reader.closed:"):
            source.put(f"instance = reader.ringed({name}, pk, place, node, instance)")
        source.put("node.value = instance")
        with source.block("if reader.truncated or not reader.depth:"):
            source.put(f"reader.keep(node, {model.key!r}, pk)")
        with source.block("else:"):
            source.put("home[pk] = node")
        with source.block("if truncated:"):
            source.put("reader.truncated = True")
        source.put("return instance")

    def instance(self, model: EntityModel, begun: str = "", *, ends: bool = False) -> None:
        """The instance of a record; `begun` is said once it is there, before anything is in it.

        Where it `ends` here, its relations are all empty.
        """
        source = self.source
        cls = source.name(model.cls, "cls")
        source.put(f"instance = new_instance({cls})", "set_record(instance, record)")
        if begun:
            source.put("set_members(instance, {})", begun)
        if not (model.codecs or model.relations):
            self._members(model)
            source.put("set_members(instance, members)")
            return
        with source.block("try:"):
            self._members(model)
            # As in an object: what makes the entity unusable leaves the loop that runs once.
            with source.block("while True:"):
                for relation in model.relations:
                    if not ends:
                        self._relation(relation, model)
                    elif isinstance(resolved(relation), List):
                        with source.block(f"if record.get({relation.in_json!r}) is not None:"):
                            source.put(f"members[{relation.name!r}] = ReadOnlyList()")
                source.put("set_members(instance, members)", "break")
        with source.block("except ConversionError as error:"):
            source.put(f"instance = left_out({cls}, pk, error)")

    def _members(self, model: EntityModel) -> None:
        source = self.source
        banned = source.name(model.banned, "banned")
        relations = frozenset(relation.in_json for relation in model.relations)
        itself = source.name(model, "model")
        inside = source.name(relations, "relations")
        renames = source.name(model.to_python, "names")
        name = f"{renames}.get(name, name)"
        with source.block(f"if not {banned}.isdisjoint(record):"):
            source.put(f"members = {itself}.attributes(record, pk)")
        with source.block("else:"):
            if model.to_python:
                each = f"entry if type(entry) in SCALARS or name in {inside} else read_only(entry)"
                source.put(f"members = {{{name}: {each} for name, entry in record.items()}}")
            else:
                # A copy of all is quicker than one by one. (Benchmark: fetch of a page of 50.)
                source.put("members = {**record}")
                other = f"if type(entry) not in SCALARS and name not in {inside}:"
                with source.block("for name, entry in record.items():"), source.block(other):
                    source.put("members[name] = read_only(entry)")
            self._decode(model, itself)

    def _decode(self, model: EntityModel, itself: str) -> None:
        source = self.source
        for name, codec in model.codecs.items():
            entry = source.variable("entry")
            source.put(f"{entry} = members.get({name!r})")
            with source.block(f"if {entry} is not None:"):
                conversion = source.name(codec, "codec")
                otherwise = f"members[{name!r}] = {itself}.decode({name!r}, {conversion}, {entry}, pk)"
                if codec.decode not in UNCHANGING:
                    source.put(otherwise)
                    continue
                with source.block("try:"):
                    source.put(f"members[{name!r}] = {source.name(codec.decode, 'decode')}({entry})")
                with source.block("except Exception:"):
                    source.put(otherwise)

    def _relation(self, relation: Relation, model: EntityModel) -> None:
        source = self.source
        name, entry, found = relation.in_json, source.variable("entry"), source.variable("found")
        cls = source.name(model.cls, "cls")
        schema = resolved(relation)
        with source.block(f"if {name!r} in record:"):
            source.put(f"{entry} = record[{name!r}]")
            if isinstance(schema, Schema) and written_out(schema):
                self.value(schema, entry, "node", f"{found} = {{}}")
            else:
                shown = self._out(f"{source.name(relation, 'relation')}.shown", entry, cls, "pk", "reader")
                source.put(f"{found} = {shown}")
            with source.block(f"if {found} is INVALID:"):
                if relation.needed:
                    source.put("instance = INVALID", "break")
                else:
                    source.put(f"members[{relation.name!r}] = None")
            with source.block(f"elif {found} is UNDEFINED:"):
                if relation.raises:
                    source.put(f"members.pop({relation.name!r}, None)")
                else:
                    source.put(f"members[{relation.name!r}] = None")
            with source.block("else:"):
                source.put(f"members[{relation.name!r}] = {found}")
