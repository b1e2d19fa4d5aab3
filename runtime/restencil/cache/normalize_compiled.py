"""Responses into tables by compiled functions; `Normalization` is the interpreter that says what they do.

A compiled function writes nothing: it collects the primary keys and records that it meets, in the order in which it
meets them. `settle` writes them, a table at a time, because most of that can be asked of many records at once: whether
one of them came twice, is stored already, or differs from what is stored.
"""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from ..base.code import Source
from ..base.values import INVALID, UNDEFINED, holds_containers, kind_of, same_json
from ..schema.containers import List, Object
from ..schema.entity import EntityModel, EntitySchema, many_pks, usable_pk
from ..schema.protocol import EntityNode, Schema, definitions
from ..schema.record import new_instance, set_members
from ..schema.relation import Relation
from .compiling import COMPILED, PAYS, finished, resolved, written_out
from .completeness import note_part
from .normalize import Normalization
from .tables import EMPTY, Tables

if TYPE_CHECKING:
    from .tables import State

Normalizer: TypeAlias = Callable[[Any, Any, "str | None", Normalization], Any]
Records: TypeAlias = "list[dict[str, Any]]"

_DEPTH: Final = 3
"""How deep entities are written into the function of the schema around them."""

_LINES: Final = 400
"""A function that is as long as this takes no further entity in."""

_BY_VALUE: Final = 2
"""The version of the format in which the text depends on nothing but values."""

_MANY: Final = 16
"""From so many items on it pays to ask all for their primary keys at once. (Benchmark: a flat list of 1,000.)"""

_members_of: Final[Callable[[Any], dict[str, Any]]] = attrgetter("__dict__")
_copy: Final[Callable[[dict[str, Any]], dict[str, Any]]] = dict[str, Any].copy


class CompiledNormalization(Normalization):
    """One pass over one response, by compiled functions for the kinds that have them."""

    underlying: Tables
    many: ClassVar[int] = 24
    """From so many records of a table on they are asked of together, which has a price of its own.

    Benchmarks: normalize the parsed response into an empty store, and merging into a full one.
    """

    _collected: dict[EntityModel, tuple[list[str], Records]] | None = None
    _shared = False
    """Whether two classes of one table were collected: then nothing waits longer than one visit."""

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        """The stored form of one value."""
        kind = kind_of(value)
        if (kind is dict or kind is list) and schema is not None:
            stored = (schema.normalizer or _normalizer(schema, value))(value, parent, key, self)
            if self._shared:
                self.settle()
            return stored
        return super().visit(schema, value, parent, key)

    # -- what compiled functions collect ---------------------------------------------------------------------------

    def collect(self, model: EntityModel) -> tuple[list[str], Records]:
        """Two lists, for the primary keys and the records of an entity, which a compiled function appends to."""
        collected = self._collected
        if collected is None:
            collected = self._collected = {}
        found = collected.get(model)
        if found is None:
            for other in collected:
                if other.key == model.key:
                    self._shared = True
            found = collected[model] = [], []
        if self._shared:
            self.settle()
        return found

    def arrived(self, model: EntityModel, pk: str, record: dict[str, Any]) -> None:
        """Collects one record, unless it is all that there is so far: that is written at once."""
        if self._collected is None:
            self._write(model, [pk], [record])
        else:
            pks, records = self.collect(model)
            pks.append(pk)
            records.append(record)

    def settle(self) -> None:
        """Writes what was collected; so does everything that writes or looks at what was written."""
        collected = self._collected
        if collected is not None:
            for model, (pks, records) in collected.items():
                if pks:
                    self._write(model, pks, records)
                    pks.clear()
                    records.clear()

    def stored_record(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The record as it stands at this point of the pass, None where there is none."""
        self.settle()
        return super().stored_record(table, pk)

    def is_stored(self, table: str, pk: str) -> bool:
        """Whether the table has an entry at this point of the pass; INVALID counts as one."""
        self.settle()
        return super().is_stored(table, pk)

    def write_entity(self, schema: EntityNode, pk: str, record: dict[str, Any]) -> None:
        """Stores a record, merged with those of this entity that are there."""
        self.settle()
        super().write_entity(schema, pk, record)

    def write_invalid(self, table: str, pk: str) -> None:
        """Marks an entity as deleted or unusable; that wins over whatever is stored."""
        self.settle()
        super().write_invalid(table, pk)

    # -- writing what was collected --------------------------------------------------------------------------------

    def _write(self, model: EntityModel, pks: list[str], records: Records) -> None:
        table, change, underlying = model.key, self.change, self.underlying
        if self.null_rules is not None and self.is_certain:
            records = [self.null_rules.with_nulls(model, record) for record in records]
        if self.write_set is not None:
            self.write_set.written += model.node, (*pks,)
        written = change.entities.get(table)
        if written is None:
            written = change.entities[table] = {}
        elif change.differing:
            change.differing.pop(table, None)
        stored = underlying.entities.get(table, EMPTY)
        if len(pks) >= self.many:
            pks, records = self._write_many(model, pks, records, written, stored)
        fetched_at = self.meta.fetched_at
        times = underlying.metas[table] if underlying.latest.get(table, 0) > fetched_at else EMPTY
        cls, hidden, copied, ready, merges = model.writing
        owns_response = copied or self.owns_response
        for place, pk in enumerate(pks):
            record = records[place]
            again = pk in written
            before: Any = stored.get(pk, UNDEFINED)
            if before is UNDEFINED and not again:
                if not ready:
                    written[pk] = record if owns_response else {**record}
                elif holds_containers(record) or not hidden.isdisjoint(record):
                    written[pk] = model.stored({**record})
                else:
                    written[pk] = made = new_instance(cls)
                    set_members(made, record if owns_response else {**record})
            elif again or merges or before is INVALID or (times and fetched_at < times[pk].fetched_at):
                super().write_entity(model.node, pk, record if copied else {**record})
            else:
                existing: dict[str, Any] = before if kind_of(before) is dict else before.__dict__
                if same_json(existing, record):
                    written[pk] = before
                else:
                    self._lay_over(model, pk, record, before, written)

    def _lay_over(
        self, model: EntityModel, pk: str, record: dict[str, Any], before: Any, written: dict[str, Any]
    ) -> None:
        """Writes a record that differs over the one before."""
        existing: dict[str, Any] = before if kind_of(before) is dict else before.__dict__
        merged = {**existing, **record}
        unchanged = len(merged) != len(record) and same_json(existing, merged)
        written[pk] = before if unchanged else model.stored(merged)
        if len(merged) != len(record):
            note_part(self.change, self.rules, model.node, pk, record, merged)
        self.passed(model.key)[pk] = record if self.owns_response or model.relations else {**record}

    def _write_many(
        self, model: EntityModel, pks: list[str], records: Records, written: dict[str, Any], stored: Mapping[str, Any]
    ) -> tuple[list[str], Records]:
        """Writes the records together where they are new or all stored; else returns what is left to be written."""
        arrived: dict[str, Any]
        if not (written or stored):
            arrived = dict(zip(pks, self._kept(model, records), strict=True))
            if len(arrived) == len(pks):
                self.change.entities[model.key] = arrived
                return [], []
        arrived = dict(zip(pks, records, strict=True))
        if len(arrived) != len(pks):
            if model.merges or not _agree(arrived, pks, records):
                return pks, records
            pks, records = list(arrived), list(arrived.values())
        # Nothing came twice, so the records do not meet one another.
        if written and not written.keys().isdisjoint(arrived):
            return pks, records
        if not stored or stored.keys().isdisjoint(arrived):
            written.update(zip(pks, self._kept(model, records), strict=True))
            return [], []
        return pks, records

    def _kept(self, model: EntityModel, records: Records) -> Iterable[Any]:
        """What the table is to hold for records that are new."""
        if model.relations:
            return records
        own = records if self.owns_response else map(_copy, records)
        if not model.direct:
            return own
        names: set[str] = set()
        if any(map(holds_containers, records)) or not model.members.isdisjoint(names.union(*records)):
            return [model.stored({**record}) for record in records]
        made = list(map(new_instance, repeat(model.cls, len(records))))
        deque(map(set_members, made, own), 0)
        return made


def _agree(arrived: Mapping[str, Any], pks: list[str], records: Records) -> bool:
    """Whether all records of an entity that came several times are equal.

    Of records that are, one text of all is nearly always the same. (Benchmark: fetch of a page of 50.)
    """
    try:
        if marshal.dumps([*map(arrived.__getitem__, pks)], _BY_VALUE) == marshal.dumps(records, _BY_VALUE):
            return True
    except ValueError:  # one of them holds what is no JSON
        pass
    return all(map(same_json, map(arrived.__getitem__, pks), records))


def normalization(underlying: State) -> type[Normalization]:
    """What normalizes over this state: compiled functions look into the tables themselves."""
    return CompiledNormalization if type(underlying) is Tables else Normalization


def _normalizer(schema: Schema, value: Any) -> Normalizer:
    if type(schema) not in COMPILED or (isinstance(schema, EntitySchema) and not _has_default_hooks(schema.model)):
        schema.normalizer = schema.normalize
        return schema.normalize
    kind = kind_of(value)
    schema.uses += len(value) if kind is list else 1
    if schema.uses < PAYS:
        return schema.normalize
    found = schema.normalizer = compile_normalizer(schema)
    definitions.compiled.add(schema)
    return found


def _has_default_hooks(model: EntityModel) -> bool:
    """Whether nothing but the merge of a record that is stored already can be the user's code, or goes wrong."""
    plain = model.process is None and model.validate is None and not model.settings.get("abstract")
    return plain and model.pk_name is not None and not model.indexes


def compile_normalizer(schema: Schema) -> Normalizer:
    """The function that does what `schema.normalize` does, for a value that is a dict or list."""
    source = Source()
    body = _Statements(source)
    with source.block("def normalize(value, parent, key, writer):"):
        source.put("visit, written = writer.visit, writer.written")
        start = source.mark()
        body.value(schema, "value", "parent", "key", "return {}")
        source.insert(start, body.opening())
    function: Normalizer = finished(source, "normalize", schema)
    return function


class _Statements:
    """Writes the statements that normalize values."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._models: set[EntityModel] = set()
        self._lists: dict[EntityModel, int] = {}
        """The entities that are collected in lists, with the number that tells their lists apart."""
        self._inside: list[Schema] = []
        scope = source.scope
        scope.update(UNDEFINED=UNDEFINED, many_pks=many_pks, usable_pk=usable_pk)

    def opening(self) -> list[str]:
        """The statements that the function begins with."""
        models = [(place, self.source.name(model, "model")) for model, place in self._lists.items()]
        return [f"pks_{place}, records_{place} = writer.collect({model})" for place, model in models]

    def value(self, schema: Schema | None, value: str, parent: str, key: str, sink: str) -> None:
        """The stored form of the value in a variable goes where `sink` says, a statement with `{}` for it."""
        kind = type(schema)
        if schema is None:
            self.source.put(sink.format(value))
        elif self._inside and self.source.deep:
            self._interpreted(schema, value, parent, key, sink)
        elif isinstance(schema, EntitySchema) and self._fits(schema):
            self._entity(schema, value, parent, key, sink)
        elif isinstance(schema, List) and kind in COMPILED and schema not in self._inside:
            self._list(schema, value, parent, key, sink)
        elif isinstance(schema, Object) and kind in COMPILED and schema not in self._inside:
            self._object(schema, value, parent, key, sink)
        else:
            self._interpreted(schema, value, parent, key, sink)

    def _interpreted(self, schema: Schema, value: str, parent: str, key: str, sink: str) -> None:
        name = self.source.name(schema, "schema")
        operation = f"{name}.normalize({value}, {parent}, {key}, writer)"
        if self._inside and schema is self._inside[0]:
            plain = f"type({value}) is dict or type({value}) is list"
            operation = (
                f"normalize({value}, {parent}, {key}, writer) if {plain} else visit({name}, {value}, {parent}, {key})"
            )
        elif self._inside:
            operation = f"visit({name}, {value}, {parent}, {key})"
        self.source.put(sink.format(operation))

    def _otherwise(self, schema: Schema, value: str, parent: str, key: str, sink: str) -> None:
        """The branches for a value that is not of the kind that the schema expects."""
        source, name = self.source, self.source.name(schema, "schema")
        with source.block(f"elif {value} is None:"):
            source.put(sink.format("None"))
        with source.block(f"elif type({value}) is dict or type({value}) is list:"):
            source.put(sink.format(f"{name}.normalize({value}, {parent}, {key}, writer)"))
        with source.block("else:"):
            source.put(sink.format(f"visit({name}, {value}, {parent}, {key})"))

    def _fits(self, schema: EntitySchema) -> bool:
        if not _has_default_hooks(schema.model):
            return False
        if any(model.key == schema.model.key and model is not schema.model for model in self._models):
            return False  # two classes of one table: what one of them collects has to be written before the other's
        inner = [inside for inside in self._inside if isinstance(inside, EntitySchema)]
        return schema not in inner and len(inner) < _DEPTH and len(self.source.lines) < _LINES

    def _list(self, schema: List, value: str, parent: str, key: str, sink: str) -> None:
        source = self.source
        item, out = source.variable("item"), source.variable("out")
        self._inside.append(schema)
        with source.block(f"if type({value}) is list:"):
            source.put(f"{out} = []")
            rest = value
            if isinstance(schema.item, EntitySchema) and self._fits(schema.item) and self._is_leaf(schema.item.model):
                rest = f"{value} if not {out} else ()"
                with source.block(f"if len({value}) >= {_MANY}:"):
                    place = self._lists.setdefault(schema.item.model, len(self._lists))
                    self._models.add(schema.item.model)
                    source.put(f"{out} = many_pks({value}, {schema.item.model.pk_name!r})")
                    with source.block(f"if {out}:"):
                        source.put(f"pks_{place} += {out}", f"records_{place} += {value}")
            with source.block(f"for {item} in {rest}:"):
                self.value(schema.item, item, parent, key, f"{out}.append({{}})")
            if not schema.keeps_null:
                source.put(f"{out} = [{item} for {item} in {out} if {item} is not None]")
            source.put(sink.format(out))
        self._otherwise(schema, value, parent, key, sink)
        self._inside.pop()

    @staticmethod
    def _is_leaf(model: EntityModel) -> bool:
        """Whether nothing is asked of its records but their primary keys."""
        return not (model.relations or model.merges)

    def _object(self, schema: Object, value: str, parent: str, key: str, sink: str) -> None:
        source = self.source
        record = source.variable("record")
        self._inside.append(schema)
        with source.block(f"if type({value}) is dict:"):
            source.put(f"{record} = {{**{value}}}")
            for name, member in schema.members.items():
                found = source.variable("found")
                with source.block(f"if {name!r} in {record}:"):
                    source.put(f"{found} = {record}[{name!r}]")
                    self.value(member, found, value, repr(name), f"{found} = {{}}")
                    if type(member) in COMPILED:
                        source.put(f"{record}[{name!r}] = {found}")
                        continue
                    with source.block(f"if {found} is UNDEFINED:"):
                        source.put(f"del {record}[{name!r}]")
                    with source.block("else:"):
                        source.put(f"{record}[{name!r}] = {found}")
            source.put(sink.format(record))
        self._otherwise(schema, value, parent, key, sink)
        self._inside.pop()

    def _entity(self, schema: EntitySchema, value: str, parent: str, key: str, sink: str) -> None:
        source, model = self.source, schema.model
        node = source.name(schema, "schema")
        pk = source.variable("pk")
        self._models.add(model)
        self._inside.append(schema)
        with source.block(f"if type({value}) is dict:"):
            with source.block("try:"):
                source.put(f"{pk} = {value}[{model.pk_name!r}]")
            with source.block("except KeyError:"):
                source.put(f"{pk} = None")
            with source.block(f"if type({pk}) is not str:"):
                source.put(f"{pk} = str({pk}) if type({pk}) is int else usable_pk({pk})")
            with source.block(f"elif not {pk} or {pk} == 'None' or {pk} == 'undefined' or not {pk}.isascii():"):
                source.put(f"{pk} = usable_pk({pk})")
            with source.block(f"if {pk} is None:"):
                source.put(sink.format(f"{node}.normalize({value}, {parent}, {key}, writer)"))
            # An object that is met again is merged once, and one that holds itself has been entered already. In what
            # was decoded for this pass, there are none. (Benchmark: fetch of one object of 364, nested 6 deep.)
            if model.merges or _has_cycle(model):
                place = source.variable("place")
                met = f"written.get({place} := (id({value}), {model.key!r})) == {pk}"
                with source.block(f"elif not writer.owns_response and {met}:"):
                    source.put(sink.format(pk))
                with source.block("else:"):
                    with source.block("if not writer.owns_response:"):
                        source.put(f"written[{place}] = {pk}")
                    self._related(model, value, pk)
                    source.put(sink.format(pk))
            else:
                with source.block("else:"):
                    if model.relations:
                        self._related(model, value, pk)
                    else:
                        self._collect(model, value, pk)
                    source.put(sink.format(pk))
        self._otherwise(schema, value, parent, key, sink)
        self._inside.pop()

    def _related(self, model: EntityModel, value: str, pk: str) -> None:
        source = self.source
        record = source.variable("record")
        source.put(f"{record} = {{**{value}}}")
        outside = None
        for relation in model.relations:
            name = relation.in_json
            schema = resolved(relation)
            if outside is None and not (schema is None or (isinstance(schema, Schema) and written_out(schema))):
                outside = source.variable("outside")
                source.put(f"{outside} = writer.enclosing")
            with source.block(f"if {name!r} in {record}:"):
                if outside is not None:
                    source.put(f"writer.enclosing = ({record}, {name!r})")
                found = source.variable("found")
                source.put(f"{found} = {record}[{name!r}]")
                if isinstance(schema, Relation):
                    # The schema that it refers to may not be defined yet: it is resolved when there is a value.
                    node = f"{source.name(relation, 'relation')}.node"
                    source.put(f"{record}[{name!r}] = visit({node}, {found}, {record}, {name!r})")
                else:
                    self.value(schema, found, record, repr(name), f"{record}[{name!r}] = {{}}")
        if outside is not None:
            source.put(f"writer.enclosing = {outside}")
        self._collect(model, record, pk)

    def _collect(self, model: EntityModel, record: str, pk: str) -> None:
        if len(self._inside) == 1 and _has_cycle(model):
            itself = self.source.name(model, "model")
            self.source.put(
                f"pks, records = writer.collect({itself})", f"pks.append({pk})", f"records.append({record})"
            )
            return
        if len(self._inside) == 1:
            self.source.put(f"writer.arrived({self.source.name(model, 'model')}, {pk}, {record})")
            return
        place = self._lists.setdefault(model, len(self._lists))
        self.source.put(f"pks_{place}.append({pk})", f"records_{place}.append({record})")


def _has_cycle(model: EntityModel) -> bool:
    """Whether a record can hold, at any depth, what makes it matter that it was visited before.

    That is itself, or something that user code takes part in; where it is not known, it can.
    """
    seen: set[Schema] = set()
    waiting: list[Schema | None | Relation] = [resolved(relation) for relation in model.relations]
    while waiting:
        schema = waiting.pop()
        if schema is None or schema in seen:
            continue
        if isinstance(schema, Relation) or type(schema) not in COMPILED:
            return True
        seen.add(schema)
        if isinstance(schema, EntitySchema):
            if schema.model is model or not _has_default_hooks(schema.model):
                return True
            waiting += map(resolved, schema.model.relations)
        else:
            waiting += schema.children()
    return False
