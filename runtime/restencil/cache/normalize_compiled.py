"""Compiled normalization functions of frequent schemas, with the same results as their `normalize` methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..base.code import Source
from ..base.values import UNDEFINED, kind_of
from ..schema.containers import List, Object
from ..schema.entity import EntityModel, EntitySchema, many_pks, usable_pk
from ..schema.protocol import Schema, Writer, definitions
from ..schema.relation import Relation
from .compiling import COMPILED, PAYS, finished, resolved, written_out

Normalizer: TypeAlias = Callable[[Any, Any, "str | None", Writer], Any]

_DEPTH: Final = 3
"""The maximum depth of entities whose code is inlined into the function of an enclosing schema."""

_LINES: Final = 400
"""The number of lines of a function from which on no further entities are inlined."""

_MANY: Final = 16
"""The number of items from which on a joint read of primary keys is faster. (Benchmark: a flat list of 1,000.)"""


def normalizer(schema: Schema, value: Any) -> Normalizer:
    """Return the function that normalizes values of a schema: its method, or a compiled one if it is used often."""
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
    """Compile a function with the same result as `schema.normalize` for a dict or list."""
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
        """The entities that are collected in lists, with the number in the names of their lists."""
        self._inside: list[Schema] = []
        scope = source.scope
        scope.update(UNDEFINED=UNDEFINED, many_pks=many_pks, usable_pk=usable_pk)

    def opening(self) -> list[str]:
        """Return the first statements of the function."""
        models = [(place, self.source.name(model, "model")) for model, place in self._lists.items()]
        return [f"pks_{place}, records_{place} = writer.collect({model})" for place, model in models]

    def value(self, schema: Schema | None, value: str, parent: str, key: str, sink: str) -> None:
        """Write code for the stored form of a variable; `sink` is a statement with `{}` for the stored form."""
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
        """Write the branches for a value that is not of the kind that the schema expects."""
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
        """Return whether only the primary keys of its records are read."""
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
