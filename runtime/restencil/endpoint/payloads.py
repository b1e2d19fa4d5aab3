"""Optimistic responses of the standard mutations of a resource, for `optimistic=True`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib import parse as urls

from ..base.response import url_of
from ..base.values import is_mapping, is_sequence
from ..cache.addressed import entities_of, entity_of_record, params_of
from ..cache.request import call_args
from ..schema.entity import EntitySchema, as_entity, completed, entity_model, without_lists
from ..schema.notation import schema_of
from ..schema.record import Record, to_wire

if TYPE_CHECKING:
    from ..schema.entity import EntityModel
    from .options import EndpointOptions


Payload: TypeAlias = Callable[..., Any]
"""Called with the endpoint, a snapshot and the bound arguments."""


def url_params(endpoint: EndpointOptions, args: tuple[Any, ...]) -> Any:
    """Return the URL parameters of bound arguments."""
    params = args[0] if args else None
    return {} if not params or (len(args) == 1 and endpoint.has_body) else params


def _record_params(endpoint: EndpointOptions, args: tuple[object, ...]) -> Any:
    """Return the parameters that identify the record, by field name: those of the URL, else of the body."""
    params = url_params(endpoint, args)
    return params_of(endpoint.rules, args) if is_mapping(params) else params


def body_in(endpoint: EndpointOptions, args: tuple[object, ...]) -> Any:
    """Return the body in bound arguments; None without one."""
    return args[-1] if args and endpoint.has_body else None


def _models(endpoint: EndpointOptions) -> list[EntityModel]:
    """Return the model of the entity of an endpoint, of a union those of its classes; none without an entity."""
    model, node = entity_model(endpoint.schema), schema_of(endpoint.schema)
    if model is not None or node is None:
        return [] if model is None else [model]
    return [schema.model for schema in entities_of(node.subject)]


def _model_of(endpoint: EndpointOptions, record: Mapping[str, Any]) -> EntityModel | None:
    """Return the model of the entity that a record is; None if the record does not determine its class in a union."""
    model, node = entity_model(endpoint.schema), schema_of(endpoint.schema)
    if model is not None or node is None or node.subject is None:
        return model
    chosen = entity_of_record(node.subject, record)
    return None if chosen is None else chosen.model


def _fitting_body(
    endpoint: EndpointOptions, snapshot: Any, args: tuple[object, ...], known: Mapping[str, Any] | None = None
) -> Any:
    """Return the body without members that do not fit the types of the entity's fields; these fields do not change.

    `known` is the stored record that the body changes.
    """
    body = body_in(endpoint, args)
    if not endpoint.strict:
        return body
    from ..schema.validation import fitting_members

    def is_known(schema: EntitySchema, pk: Any) -> bool:
        return snapshot is None or snapshot.get(schema, str(pk)) is not None

    def fitting(item: Any) -> Any:
        model = _model_of(endpoint, {**(known or {}), **item}) if is_mapping(item) else None
        return item if model is None else fitting_members(model, item, is_known)

    return [fitting(item) for item in body] if is_sequence(body) else fitting(body)


def _as_record(endpoint: EndpointOptions, args: tuple[object, ...]) -> Mapping[str, Any]:
    """Convert URL parameters, which have Python names, to members of a record with JSON names."""
    return cast("Mapping[str, Any]", to_wire(_record_params(endpoint, args), next(iter(_models(endpoint)), None)))


def _merged(endpoint: EndpointOptions, snapshot: Any, *args: Any) -> Any:
    """Merge the body into the parameters. Raises AbortOptimistic if the primary key cannot be determined."""
    params, body = _as_record(endpoint, args), _fitting_body(endpoint, snapshot, args)
    if is_sequence(body):
        return [_over(params, item) for item in body]
    record = _over(params, body)
    node = as_entity(schema_of(endpoint.schema))
    if snapshot is None or node is None or node.lenient_pk(record, args) is not None:
        return record
    if _item_key(endpoint, args) is None:
        return record  # no `get` has this path, so no stored record can supply the primary key
    known = _held(endpoint, snapshot, args)
    if known is None:
        raise snapshot.abort
    part = node.model.pk_part(known)
    return completed({**part, **record}, part, part)


def _over(params: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """Merge a body into the parameters; an object that is in both is merged, one level deep."""
    if not is_mapping(body):
        return {**params}
    both = (name for name in params if name in body and is_mapping(params[name]) and is_mapping(body[name]))
    return {**params, **body, **{name: {**params[name], **body[name]} for name in both}}


def _item_key(endpoint: EndpointOptions, args: tuple[object, ...]) -> str | None:
    """Return the key of `get` with the same path arguments; None without one."""
    return None if endpoint.siblings is None else endpoint.siblings.item_key(args)


def _held(endpoint: EndpointOptions, snapshot: object, args: tuple[object, ...]) -> Mapping[str, Any] | None:
    """Return the stored result of `get` with the same path arguments, without nested collections; None without one."""
    key = _item_key(endpoint, args)
    held: Callable[..., Mapping[str, Any] | None] | None = getattr(snapshot, "held", None)  # users' doubles have none
    return None if key is None or held is None else held(endpoint.schema, key)


def _entries(endpoint: EndpointOptions, snapshot: object, *args: object) -> Any:
    """Return only the body, whose members are assigned to a map; parameters would become entries of it too."""
    return body_in(endpoint, args) or {}


def _patched(endpoint: EndpointOptions, snapshot: Any, *args: Any) -> Any:
    """Merge parameters and body into the stored record. Raises AbortOptimistic if no record is stored."""
    params = _record_params(endpoint, args)
    current = snapshot.get(endpoint.schema, params)
    # Instances of the library contain their record; those of other classes have defaults for absent fields.
    if current is None:
        known = _held(endpoint, snapshot, args)
    else:
        record = None if isinstance(current, Record) else snapshot.record(endpoint.schema, params)
        known = to_wire(current) if record is None else record
        model = entity_model(endpoint.schema) or entity_model(type(current))  # of a union, the class of the record
        known = known if model is None else without_lists(model, known)
    if known is None:
        raise snapshot.abort
    return _over({**_as_record(endpoint, args), **known}, _fitting_body(endpoint, snapshot, args, known))


def _params(endpoint: EndpointOptions, snapshot: Any, *args: object) -> Any:
    """Return only the parameters. Raises AbortOptimistic if they identify no stored record."""
    params = _record_params(endpoint, args)
    node = schema_of(endpoint.schema)
    entity = as_entity(node.subject) if node is not None and node.removes else None
    names_one = entity is None or entity.lenient_pk(params, args) is not None
    if not names_one and _item_key(endpoint, args) is not None and _held(endpoint, snapshot, args) is None:
        raise snapshot.abort
    return params


def assumed(endpoint: Any, args: tuple[Any, ...], response: Any) -> dict[str, Any] | None:
    """Return the record that a response without content implies: the body merged into the parameters, fields only.

    The primary key of a created record is taken from the header `Location` if its URL matches the path of `get`.
    None if the endpoint has no entity, or a body that is not an object. Of a union, the fields of all classes are kept:
    which one it is may depend on the stored record.
    """
    args = call_args(args)
    models, body = _models(endpoint), body_in(endpoint, args)
    if not models or not (body is None or is_mapping(body)):
        return None
    kinds = {field.in_json: model.kinds.get(field.name) for model in models for field in model.fields.values()}
    location = response.headers.get("location")
    found: dict[str, Any] = {}
    if location and endpoint.siblings is not None:
        placed = endpoint.siblings.params_of(urls.urljoin(url_of(response), location))
        for name, text in cast("Mapping[str, str]", to_wire(placed or {}, models[0])).items():
            is_number = kinds.get(name) in (int, int | None)
            found[name] = int(text) if is_number and text.isdecimal() else text
    record = {**_merged(endpoint, None, *args), **found}
    return {name: value for name, value in record.items() if name in kinds}


PAYLOADS: Final[Mapping[str, Payload]] = {
    "entries": _entries,
    "merged": _merged,
    "params": _params,
    "patched": _patched,
}
"""Functions for the values of the option `optimistic_payload`."""
