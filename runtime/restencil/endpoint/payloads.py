"""What the standard mutations of a resource are expected to answer, where `optimistic=True` asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast
from urllib import parse as urls

from ..base.response_details import url_of
from ..base.values import is_mapping, is_sequence
from ..cache.addressed import params_of_record
from ..cache.request import call_args
from ..schema.entity import EntitySchema, as_entity, completed, entity_model
from ..schema.notation import schema_of
from ..schema.record import Record, to_wire

if TYPE_CHECKING:
    from ..cache.request import ResourceInfo, Rules


class PayloadEndpoint(Protocol):
    """What an optimistic response is made from, besides the arguments of the call."""

    @property
    def rules(self) -> Rules: ...
    @property
    def schema(self) -> Any: ...
    @property
    def strict(self) -> bool | None: ...
    @property
    def siblings(self) -> ResourceInfo | None: ...
    @property
    def has_body(self) -> bool: ...


Payload: TypeAlias = Callable[..., Any]
"""Called with the endpoint, a snapshot and the bound arguments."""


def url_params(endpoint: PayloadEndpoint, args: tuple[Any, ...]) -> Any:
    """The URL parameters among bound arguments."""
    params = args[0] if args else None
    return {} if not params or (len(args) == 1 and endpoint.has_body) else params


def _record_params(endpoint: PayloadEndpoint, args: tuple[Any, ...]) -> Any:
    """The parameters that name the record, under the names of its fields: of the URL, else of the body."""
    params = url_params(endpoint, args)
    return params_of_record(endpoint.rules, args) if is_mapping(params) else params


def _body(endpoint: PayloadEndpoint, args: tuple[Any, ...]) -> Any:
    return args[-1] if args and endpoint.has_body else None


def _fitting_body(endpoint: PayloadEndpoint, snapshot: Any, args: tuple[Any, ...]) -> Any:
    """The body without members of another shape than the entity's fields have: these fields stay as they were."""
    body, model = _body(endpoint, args), entity_model(endpoint.schema)
    if model is None or not endpoint.strict:
        return body
    from ..schema.validation import fitting_members

    def is_known(schema: EntitySchema, pk: Any) -> bool:
        return snapshot is None or snapshot.get(schema, str(pk)) is not None

    if is_sequence(body):
        return [fitting_members(model, item, is_known) if is_mapping(item) else item for item in body]
    return fitting_members(model, body, is_known) if is_mapping(body) else body


def _as_record(endpoint: PayloadEndpoint, args: tuple[Any, ...]) -> Mapping[str, Any]:
    """URL parameters as members of a record: those of the path have Python names, the fields may not."""
    return cast("Mapping[str, Any]", to_wire(_record_params(endpoint, args), entity_model(endpoint.schema)))


def _merged(endpoint: PayloadEndpoint, snapshot: Any, *args: Any) -> Any:
    """The parameters with the body over them."""
    params, body = _as_record(endpoint, args), _fitting_body(endpoint, snapshot, args)
    if is_sequence(body):
        return [_over(params, item) for item in body]
    record = _over(params, body)
    node = as_entity(schema_of(endpoint.schema))
    if snapshot is None or node is None or node.lenient_pk(record, args) is not None:
        return record
    if _item_key(endpoint, args) is None:
        return record  # it leads to no `get`, so there is nothing to look for
    known = _held(endpoint, snapshot, args)
    if known is None:
        raise snapshot.abort
    part = node.model.pk_part(known)
    return completed({**part, **record}, part, part)


def _over(params: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """A body laid over the parameters; of an object that both know in part, both parts."""
    if not is_mapping(body):
        return {**params}
    both = (name for name in params if name in body and is_mapping(params[name]) and is_mapping(body[name]))
    return {**params, **body, **{name: {**params[name], **body[name]} for name in both}}


def _item_key(endpoint: PayloadEndpoint, args: tuple[Any, ...]) -> str | None:
    """The key of `get` under the same path arguments; None where there is none."""
    return None if endpoint.siblings is None else endpoint.siblings.item_key(args)


def _held(endpoint: PayloadEndpoint, snapshot: Any, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
    """The record that is held as result of `get` under the same path arguments; None where there is none."""
    key = _item_key(endpoint, args)
    held: Callable[..., Mapping[str, Any] | None] | None = getattr(snapshot, "held", None)  # users' doubles have none
    return None if key is None or held is None else held(endpoint.schema, key)


def _entries(endpoint: PayloadEndpoint, snapshot: Any, *args: Any) -> Any:
    """The body alone: what is assigned are its members; parameters beside them would be entries of the map."""
    return _body(endpoint, args) or {}


def _patched(endpoint: PayloadEndpoint, snapshot: Any, *args: Any) -> Any:
    """What the store has, with parameters and body over it. Raises AbortOptimistic where it has nothing."""
    params = _record_params(endpoint, args)
    current = snapshot.get(endpoint.schema, params)
    # Instances of the library have their record; those of other classes have their own defaults in its place.
    if current is None:
        known = _held(endpoint, snapshot, args)
    else:
        record = None if isinstance(current, Record) else snapshot.record(endpoint.schema, params)
        known = to_wire(current) if record is None else record
    if known is None:
        raise snapshot.abort
    return _over({**_as_record(endpoint, args), **known}, _fitting_body(endpoint, snapshot, args))


def _params(endpoint: PayloadEndpoint, snapshot: Any, *args: Any) -> Any:
    """The parameters alone. Raises AbortOptimistic where they name nothing that is known."""
    params = _record_params(endpoint, args)
    node = schema_of(endpoint.schema)
    entity = as_entity(node.subject) if node is not None and node.removes else None
    names_one = entity is None or entity.lenient_pk(params, args) is not None
    if not names_one and _item_key(endpoint, args) is not None and _held(endpoint, snapshot, args) is None:
        raise snapshot.abort
    return params


def assumed(endpoint: Any, args: tuple[Any, ...], response: Any) -> dict[str, Any] | None:
    """What an answer without content counts as: the parameters with the body over them, what is no field left out.

    The header `Location` has the primary key of what was created, if it fits the path of `get`. None where
    nothing is known of the record.
    """
    args = call_args(args)
    entity, body = entity_model(endpoint.schema), _body(endpoint, args)
    if entity is None or not (body is None or is_mapping(body)):
        return None
    fields = {field.in_json: field for field in entity.fields.values()}
    location = response.headers.get("location")
    found: dict[str, Any] = {}
    if location and endpoint.siblings is not None:
        placed = endpoint.siblings.params_of(urls.urljoin(url_of(response), location))
        for name, text in cast("Mapping[str, str]", to_wire(placed or {}, entity)).items():
            is_number = name in fields and entity.kinds.get(fields[name].name) in (int, int | None)
            found[name] = int(text) if is_number and text.isdecimal() else text
    record = {**_merged(endpoint, None, *args), **found}
    return {name: value for name, value in record.items() if name in fields}


PAYLOADS: Final[Mapping[str, Payload]] = {
    "entries": _entries,
    "merged": _merged,
    "params": _params,
    "patched": _patched,
}
"""By the option `optimistic_payload`."""
