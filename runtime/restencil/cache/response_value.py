"""The value that a call returns for its response: the objects of the store, in the shape of the response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ..base.values import UNDEFINED, Meta, Sentinel, is_mapping, read_only
from ..schema.containers import Array, List, Object, Values
from ..schema.entity import EntitySchema, as_entity
from ..schema.notation import Lazy
from ..schema.protocol import Echo
from ..schema.relation import Relation
from .addressed import params_of
from .compiling import resolved
from .denormalize import Denormalization
from .denormalize_compiled import reader_of
from .dependency_graph import DependencyGraph
from .normalize import Normalization
from .policy import INFINITE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..schema.protocol import Schema
    from .reader import CacheReader
    from .request import Request
    from .tables import ChangeSet
    from .transaction import Transaction

_LISTS: Final = frozenset({List, Array, Values})
"""Schemas that omit values which cannot be decoded."""


def echo(reader: CacheReader, request: Request, writer: Normalization, response: object) -> Any:
    """Return a response in its own shape, with the instances that a read returns as entities."""
    schema, store_state = request.rules.schema, reader.store_state
    if schema is None:
        return writer.change.results[request.key]
    store_state.refresh()
    base, view = store_state.base, store_state.view
    if type(schema) is EntitySchema and type(writer.result) is str and view is base:
        stored = base.get(schema.model.key, writer.result)
        if type(stored) is schema.model.cls:
            return stored
    objects = _objects_of(reader, request, writer.change, writer.result)
    with store_state.hooks:
        value = Echo(writer, objects).visit(schema, response)
    return None if isinstance(value, Sentinel) else value


def read_back(reader: CacheReader, request: Request, change: ChangeSet) -> object:
    """Return the value of a fetch whose response was unchanged and has refreshed the times, from the store."""
    store_state, schema = reader.store_state, request.rules.schema
    store_state.refresh()
    result = store_state.base.result(request.key)
    if schema is None:
        return result
    with store_state.hooks:
        value = _objects_of(reader, request, change, result).visit(schema, result)
    return None if isinstance(value, Sentinel) else value


def _objects_of(reader: CacheReader, request: Request, change: ChangeSet, result: object) -> Denormalization:
    """Return the reader of the objects that the value of a fetch contains, whose response wrote this change."""
    if request.rules.strict:
        return reader.reader_of_answer(request, change, result)
    return reader_of(reader.store_state.view, request.args, reader.store_state.memo)


def own_value(request: Request, writer: Normalization, response: object, objects: Denormalization) -> object:
    """Return the value of a fetch built from its own response; `objects` reads the records that it refers to."""
    if request.rules.schema is None:
        return read_only(response)
    value = Echo(writer, objects).visit(request.rules.schema, response)
    return None if isinstance(value, Sentinel) else value


def overtaken_value(tx: Transaction) -> object:
    """Return the value of a call by its own response, if the store has data of a later request; else UNDEFINED."""
    base, started = tx.store_state.base, tx.writer.meta.fetched_at
    if all(base.latest.get(table, 0) <= started for table in tx.change.entities):
        return UNDEFINED
    times = (base.meta(*path) for path in tx.change.cells())
    if all(meta is None or meta.fetched_at <= started for meta in times):
        return UNDEFINED
    request, meta = tx.request, tx.writer.meta
    with tx.store_state.hooks:
        writer = Normalization(
            base, request.args, Meta(INFINITE, meta.date, meta.expires_at), replaces=tx.writer.replaces
        )
        writer.write(cast("Schema", request.rules.schema), tx.response)
        objects = tx.reader.reader_of_overtaken(request, writer.change, writer.result)
        return own_value(request, writer, tx.response, objects)


def deleted_value(tx: Transaction, response: object) -> object:
    """Return the value of a delete: the entity as it was before, else as a complete response has it, else None."""
    store_state = tx.store_state
    store_state.refresh()
    base = store_state.base
    memo = store_state.memo if store_state.view is base else DependencyGraph()
    objects = reader_of(base, tx.request.args, memo)
    for gone in tx.deleted:
        schema: EntitySchema = gone.schema
        found = objects.read(schema, gone.pk)
        if found is not None and not isinstance(found, Sentinel):
            return found
        if is_mapping(response) and response != params_of(tx.request.rules, tx.request.args):
            fields = schema.model.fields.values()
            if all(field.in_json in response for field in fields if field.default is not None or field.required):
                return schema.model.from_record(response)
    return None


def may_fail(schema: Schema | None) -> bool:
    """Return whether building the value of a fetch from the store may fail, so that the writer must get the error.

    Benchmark: `set_response` of its data into a fresh store.
    """
    return _is_risky(schema, set(), in_list=False)


def _is_risky(schema: Schema | None, seen: set[tuple[int, bool]], *, in_list: bool) -> bool:
    """Return whether building a value may fail; values `in_list` that cannot be decoded are omitted."""
    place = id(schema), in_list
    if schema is None or place in seen:
        return False
    seen.add(place)
    children: Iterable[Any] = schema.children()
    entity = as_entity(schema)
    if entity is not None:
        model = entity.model
        if model.validate or model.whole or (model.codecs and not in_list):
            return True
        children = map(resolved, model.relations)
    elif type(schema) in _LISTS:
        in_list = True
    elif not (schema.is_collection or schema.adds or type(schema) in (Object, Lazy)):
        return True
    return any(isinstance(child, Relation) or _is_risky(child, seen, in_list=in_list) for child in children)
