"""What the standard mutations of a resource are expected to answer, where `optimistic=True` asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ..base.answers import url_of
from ..base.lazy import urls
from ..base.values import Presumed, is_mapping, is_sequence
from ..cache.request import own_args
from ..schema.entity import entity_model
from ..schema.record import Record, to_wire

if TYPE_CHECKING:
    from .endpoint import Endpoint

Payload: TypeAlias = Callable[..., Any]
"""Called with the endpoint, a snapshot and the bound arguments."""


def url_params(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Any:
    """The URL parameters among bound arguments."""
    params = args[0] if args else None
    return {} if not params or (len(args) == 1 and endpoint.has_body) else params


def _body(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Any:
    return args[-1] if args and endpoint.has_body else None


def _as_record(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Mapping[str, Any]:
    """URL parameters as members of a record: those of the path have Python names, the fields may not."""
    return cast("Mapping[str, Any]", to_wire(url_params(endpoint, args), entity_model(endpoint.schema)))


def _merged(endpoint: Endpoint[..., Any], snapshot: Any, *args: Any) -> Any:
    """The parameters with the body over them."""
    params, body = _as_record(endpoint, args), _body(endpoint, args)
    if is_sequence(body):
        return [{**params, **item} for item in body]
    return {**params, **body} if is_mapping(body) else {**params}


def _entries(endpoint: Endpoint[..., Any], snapshot: Any, *args: Any) -> Any:
    """The body alone: what is assigned are its members; parameters beside them would be entries of the map."""
    return _body(endpoint, args) or {}


def _patched(endpoint: Endpoint[..., Any], snapshot: Any, *args: Any) -> Any:
    """What the store has, with parameters and body over it. Raises AbortOptimistic where it has nothing."""
    body = _body(endpoint, args)
    current = snapshot.get(endpoint.schema, url_params(endpoint, args))
    if current is None:
        raise snapshot.abort
    # Instances of the library have their record; those of other classes have their own defaults in its place.
    record = None if isinstance(current, Record) else snapshot.record(endpoint.schema, url_params(endpoint, args))
    known = to_wire(current) if record is None else record
    return {**_as_record(endpoint, args), **known, **(body if is_mapping(body) else {})}


def _params(endpoint: Endpoint[..., Any], snapshot: Any, *args: Any) -> Any:
    """The parameters alone."""
    return url_params(endpoint, args)


def presumed(endpoint: Any, args: tuple[Any, ...], response: Any) -> Presumed | None:
    """What an answer without content counts as: the parameters with the body over them, what is no field left out.

    The primary key of what was created is told by the header `Location`, where that fits the path of `get`. None where
    nothing is known of the record.
    """
    args = own_args(args)
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
    return Presumed({name: value for name, value in record.items() if name in fields})


PAYLOADS: Final[Mapping[str, Payload]] = {
    "entries": _entries,
    "merged": _merged,
    "params": _params,
    "patched": _patched,
}
"""By the option `optimistic_payload`."""
