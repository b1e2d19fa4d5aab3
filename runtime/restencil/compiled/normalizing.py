"""Responses into tables by compiled functions; `Normalization` is the interpreter that says what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..normalize import Normalization
from ..records import set_members
from ..schema.base import Schema, definitions
from ..schema.containers import List, Object
from ..schema.entity import UNUSABLE, EntityModel, EntitySchema, Relation, usable_pk
from ..tables import EMPTY, Tables
from ..values import INVALID, UNDEFINED, alike, kind_of, same_json
from .source import COMPILED, PAYS, Source, holds_containers, resolved, written_out

if TYPE_CHECKING:
    from ..tables import State

Normalizer: TypeAlias = Callable[[Any, Any, "str | None", Normalization], Any]

_DEPTH: Final = 3
"""How deep entities are written into the function of the schema around them."""

_LINES: Final = 400
"""A function that is as long as this takes no further entity in."""


class CompiledNormalization(Normalization):
    """One pass over one response, by compiled functions where that pays."""

    below: Tables

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        """The stored form of one value (§5.1: first match)."""
        kind = kind_of(value)
        if (kind is dict or kind is list) and schema is not None:
            return (schema.normalizer or _normalizer(schema, value))(value, parent, key, self)
        return super().visit(schema, value, parent, key)

    def opened(self, model: EntityModel) -> tuple[Any, ...]:
        """Of a table that is written to: what this pass writes, what is stored, what came before, and the times stored.

        These are None where nothing in the table was fetched later than this response.
        """
        table, below = model.key, self.below
        entities = self.change.entities
        written = entities.get(table)
        if written is None:
            written = entities[table] = {}
        overtakes = below.latest.get(table, 0) <= self.meta.fetched_at
        times = None if overtakes else below.metas.get(table, EMPTY)
        return written, below.entities.get(table, EMPTY), self.passed(table), times


def _laid_over(model: EntityModel, before: Any, existing: dict[str, Any], record: dict[str, Any]) -> Any:
    """What is stored where a record that differs is laid over the one before (§5.4)."""
    merged = {**existing, **record}
    if len(merged) != len(record) and same_json(existing, merged):
        return before
    return model.stored(merged)


def normalization(below: State) -> type[Normalization]:
    """What normalizes over this state: compiled functions look into the tables themselves."""
    return CompiledNormalization if type(below) is Tables else Normalization


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
    source = Source(schema)
    body = _Normalizing(source)
    with source.block("def normalize(value, parent, key, run):"):
        source.put("visit, written, adopts, fetched_at = run.visit, run.written, run.adopts, run.meta.fetched_at")
        opened = source.mark()
        body.value(schema, "value", "parent", "key", "return {}")
        source.insert(opened, [f"{table} = None" for table in body.tables.values()])
    function: Normalizer = source.function("normalize")
    return function


class _Normalizing:
    """Writes the statements that normalize values."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tables: dict[EntityModel, str] = {}
        self._inside: list[Schema] = []
        scope = source.scope
        scope.update(
            INVALID=INVALID,
            UNDEFINED=UNDEFINED,
            UNUSABLE=UNUSABLE | {None},
            laid_over=_laid_over,
            alike=alike,
            usable_pk=usable_pk,
            new=object.__new__,
            set_members=set_members,
            holds_containers=holds_containers,
        )

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
        operation = f"{name}.normalize({value}, {parent}, {key}, run)"
        if self._inside:
            operation = f"visit({name}, {value}, {parent}, {key})"
        self.source.put(sink.format(operation))

    def _otherwise(self, schema: Schema, value: str, parent: str, key: str, sink: str) -> None:
        """The branches for a value that is not of the kind that the schema expects."""
        source, name = self.source, self.source.name(schema, "schema")
        with source.block(f"elif {value} is None:"):
            source.put(sink.format("None"))
        with source.block(f"elif type({value}) is dict or type({value}) is list:"):
            source.put(sink.format(f"{name}.normalize({value}, {parent}, {key}, run)"))
        with source.block("else:"):
            source.put(sink.format(f"visit({name}, {value}, {parent}, {key})"))

    def _fits(self, schema: EntitySchema) -> bool:
        if not _has_default_hooks(schema.model):
            return False
        inner = [inside for inside in self._inside if isinstance(inside, EntitySchema)]
        return schema not in inner and len(inner) < _DEPTH and len(self.source.lines) < _LINES

    def _list(self, schema: List, value: str, parent: str, key: str, sink: str) -> None:
        source = self.source
        item, out = source.variable("item"), source.variable("out")
        self._inside.append(schema)
        with source.block(f"if type({value}) is list:"):
            source.put(f"{out} = []")
            with source.block(f"for {item} in {value}:"):
                self.value(schema.item, item, parent, key, f"{out}.append({{}})")
            if not schema.keeps_null:
                source.put(f"{out} = [{item} for {item} in {out} if {item} is not None]")
            source.put(sink.format(out))
        self._otherwise(schema, value, parent, key, sink)
        self._inside.pop()

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
        self._inside.append(schema)
        with source.block(f"if type({value}) is dict:"):
            source.put(f"{pk} = {value}.get({model.pk_name!r})")
            with source.block(f"if type({pk}) is not str:"):
                source.put(f"{pk} = str({pk}) if type({pk}) is int else usable_pk({pk})")
            with source.block(f"if {pk} in UNUSABLE:"):
                source.put(sink.format(f"{node}.normalize({value}, {parent}, {key}, run)"))
            if _has_cycle(model):
                place = source.variable("place")
                with source.block(f"elif written.get({place} := (id({value}), {model.key!r})) == {pk}:"):
                    source.put(sink.format(pk))
                with source.block("else:"):
                    source.put(f"written[{place}] = {pk}")
                    self._related(model, value, pk)
                    source.put(sink.format(pk))
            else:
                with source.block("else:"):
                    if model.relations:
                        self._related(model, value, pk)
                    else:
                        self._write(model, value, pk, copied=False)
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
                source.put(f"{outside} = run.enclosing")
            with source.block(f"if {name!r} in {record}:"):
                if outside is not None:
                    source.put(f"run.enclosing = ({record}, {name!r})")
                found = source.variable("found")
                source.put(f"{found} = {record}[{name!r}]")
                if isinstance(schema, Relation):
                    # What it stands for cannot be told yet: it is asked for when there is a value.
                    node = f"{source.name(relation, 'relation')}.node"
                    source.put(f"{record}[{name!r}] = visit({node}, {found}, {record}, {name!r})")
                else:
                    self.value(schema, found, record, repr(name), f"{record}[{name!r}] = {{}}")
        if outside is not None:
            source.put(f"run.enclosing = {outside}")
        self._write(model, record, pk, copied=True)

    def _write(self, model: EntityModel, record: str, pk: str, *, copied: bool) -> None:
        source = self.source
        table = self.tables.setdefault(model, f"table_{len(self.tables)}")
        stored = f"stored_{table}"
        known = source.name(model, "model")
        own = record if copied else f"{record} if adopts else {{**{record}}}"
        with source.block(f"if {table} is None:"):
            source.put(f"{table}, {stored}, passed_{table}, dates_{table} = run.opened({known})")
        again = f"{pk} in {table}"
        if model.merges:
            again += f" or {pk} in {stored}"
        with source.block(f"if {again}:"):
            source.put(f"run.write_entity({known}, {pk}, {own})")
        if not model.merges:
            self._merge(model, record, pk, own)
        with source.block("else:"):
            if model.direct:
                hidden = source.name(model.members, "hidden")
                cls = source.name(model.cls, "cls")
                made = source.variable("made")
                with source.block(f"if holds_containers({record}) or not {hidden}.isdisjoint({record}):"):
                    source.put(f"{table}[{pk}] = {known}.stored({{**{record}}})")
                with source.block("else:"):
                    source.put(f"{table}[{pk}] = {made} = new({cls})", f"set_members({made}, {own})")
            else:
                source.put(f"{table}[{pk}] = {own}")

    def _merge(self, model: EntityModel, record: str, pk: str, own: str) -> None:
        """The branch for a record that is stored already; the usual one is stored just so."""
        source = self.source
        table = self.tables[model]
        known = source.name(model, "model")
        before, existing = source.variable("before"), source.variable("existing")
        with source.block(f"elif stored_{table} and {pk} in stored_{table}:"):
            source.put(f"{before} = stored_{table}[{pk}]")
            overtaken = f"dates_{table} and fetched_at < dates_{table}[{pk}].fetched_at"
            with source.block(f"if {before} is INVALID or {overtaken}:"):
                source.put(f"run.write_entity({known}, {pk}, {own})")
            with source.block("else:"):
                source.put(f"{existing} = {before} if type({before}) is dict else {before}.__dict__")
                same, name, value = source.variable("same"), source.variable("name"), source.variable("value")
                with source.block("try:"):
                    # As `same_json` does it.
                    source.put(f"{same} = {existing} == {record}")
                    with source.block(f"if {same}:"), source.block(f"for {name}, {value} in {existing}.items():"):
                        other = f"{record}[{name}]"
                        differs = f"type({value}) is not str and {value} is not {other} and not alike({value}, {other})"
                        with source.block(f"if {differs}:"):
                            source.put(f"{same} = False", "break")
                with source.block("except Exception:"):
                    source.put(f"{same} = False")
                with source.block(f"if {same}:"):
                    source.put(f"{table}[{pk}] = {before}")
                with source.block("else:"):
                    laid_over = f"laid_over({known}, {before}, {existing}, {record})"
                    source.put(f"{table}[{pk}] = {laid_over}", f"passed_{table}[{pk}] = {own}")


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
