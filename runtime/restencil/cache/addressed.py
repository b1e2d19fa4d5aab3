"""Finds the entities that a request addresses, by its path, its body, or the stored result of `get`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import ProcessingError
from ..base.values import SCALARS, is_dict, is_list, is_mapping
from ..schema.entity import EntitySchema, as_entity, is_other_name, params_to_fields, usable_pk
from ..schema.protocol import Subject
from .request import call_args

if TYPE_CHECKING:
    from ..schema.protocol import Schema
    from .normalize import Normalization
    from .request import Request, Rules
    from .tables import EntityPath


def entities_of_url(item: Schema | None, request: Request, writer: Normalization) -> list[Subject]:
    """Return the entity that `get` returned for the same path arguments, else the one of the path parameters.

    They differ where a server has several names for a record, such as `/users/me`. For a polymorphic resource, it is
    one for each table that contains it.
    """
    params = params_of(request.rules, request.args)
    known = result_of_get(item, request, writer)
    if known:
        return known
    named = named_entities(item, params, params, writer)
    return [one for one in named if not is_other_name(one.schema.model, params)]


def named_entities(
    item: Schema | None, value: object, params: Mapping[str, object], writer: Normalization
) -> list[Subject]:
    """Return the entity of a response or of URL parameters; for a polymorphic resource, all with this primary key."""
    if item is None:
        return []
    if is_mapping(value):
        entity = as_entity(item.select(value, value, None)[1])
        if entity is not None:
            return _one(entity, _pk_of(entity, value, writer))
        if not item.undecided(value, value, None):
            return []
        return _stored_with(item, lambda schema: schema.lenient_pk(value, writer.args), writer)
    pk = usable_pk(value) if type(value) in SCALARS and value != "" else None
    if pk is None:
        return []
    entity = as_entity(item)
    if entity is None:
        return _stored_with(item, lambda schema: pk, writer)
    # A string such as "deleted" is no primary key if the parameters identify an entity.
    speaks = writer.is_stored(entity.table_key, pk) or entity.lenient_pk(params, writer.args) is None
    return _one(entity, pk if speaks else None)


def _one(schema: EntitySchema, pk: str | None) -> list[Subject]:
    return [] if pk is None else [Subject(schema, pk)]


def _stored_with(item: Schema, pk_of: Callable[[EntitySchema], str | None], writer: Normalization) -> list[Subject]:
    """Return the stored entities of a primary key of unknown type, one for each table that contains it."""
    found = [subject for schema in entities_of(item) for subject in _one(schema, pk_of(schema))]
    return [subject for subject in found if writer.is_stored(*cell_of(subject))]


def cell_of(subject: Subject) -> EntityPath:
    """Return the path of an entity in the tables."""
    return subject.schema.table_key, subject.pk


def entities_of_creation(request: Request, writer: Normalization) -> list[Subject]:
    """Return the entities whose primary keys a creation sends: they may exist already, and be replaced (an upsert)."""
    rules = request.rules
    body = request.args[-1] if rules.mutation.has_body and request.args else None
    params = rules.params_to_fields(own_params(rules, request.args))
    found: list[Subject] = []
    for value in body if is_list(body) else (body,):
        if is_mapping(value):
            found += named_entities(rules.item, {**params, **value}, {}, writer)
    return found


def result_of_get(item: Schema | None, request: Request, writer: Normalization) -> list[Subject]:
    """Return the entity that is the stored result of `get` for the same path arguments."""
    key = request.item_key
    return [] if key is None else entity_of_result(item, writer.underlying.result(key))


def entity_of_result(item: Schema | None, stored: object) -> list[Subject]:
    """Return the entity that is a stored result: a primary key, or a reference with the name of one of several."""
    name: object = None
    pk = stored
    if is_dict(stored) and stored.keys() == {"id", "schema"}:
        name, pk = stored["schema"], stored["id"]
    if item is None or not isinstance(pk, str):
        return []
    return [Subject(schema, pk) for other, schema in item.entities.items() if other == name]


def _pk_of(schema: EntitySchema, value: Mapping[str, object], writer: Normalization) -> str | None:
    """Return the primary key of an object; None if it has none, or is not an object of the entity."""
    try:
        process = schema.model.process
        processed = None if process is None else process(value, value, None, writer.args)
        return schema.model.pk(
            schema.model.with_pk(value if processed is None else processed), value, None, writer.args
        )
    except (AttributeError, KeyError, TypeError, ValueError, ProcessingError):
        return None


def entity_of_record(item: Schema, record: Mapping[str, Any]) -> EntitySchema | None:
    """Return the entity that a record is; None if the record does not determine its class in a union."""
    return as_entity(item.select(record, None, None)[1])


def entities_of(item: Schema | None) -> Iterable[EntitySchema]:
    """Return the entities that a schema of one entity allows."""
    return () if item is None else item.entities.values()


def has_several_tables(item: Schema | None) -> bool:
    """Return whether entities of several tables may have the same primary key in a resource."""
    return len({schema.table_key for schema in entities_of(item)}) > 1


def entity_schema(schema: Schema | None) -> Schema | None:
    return None if schema is None else schema.subject


def params_of(rules: Rules, args: tuple[object, ...]) -> Mapping[str, Any]:
    """Return the parameters that identify a record: those of the URL, or else members of the body."""
    params = rules.params_to_fields(own_params(rules, args))
    body = args[-1] if rules.mutation.has_body and args else None
    if not is_mapping(body):
        return params
    schemas = [*entities_of(rules.item)]
    if not schemas:
        return params
    fields, pk_name = rules.mutation.body_fields or {}, schemas[0].model.pk_name
    named_by_body: Mapping[str, Any] = {name: body[name] for name in fields if name in body}
    if named_by_body:
        named_by_body = params_to_fields(named_by_body, fields, schemas[0])
    elif pk_name is not None and body.get(pk_name) is not None and type(body[pk_name]) in SCALARS:
        named_by_body = {pk_name: body[pk_name]}
    if not named_by_body or any(schema.lenient_pk(params, args) is not None for schema in schemas):
        return params
    return {**params, **named_by_body}


def own_params(rules: Rules, args: tuple[object, ...]) -> Mapping[str, Any]:
    """Return the URL parameters under their own names."""
    own = call_args(args)
    first = own[0] if own else None
    return first if is_mapping(first) and not (len(own) == 1 and rules.mutation.has_body) else {}
