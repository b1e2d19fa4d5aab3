"""Conversion of the member names in examples and defaults, between names in JSON and in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from restencil_generator.spec import model as d
from restencil_generator.spec.datetimes import text_in_format
from restencil_generator.spec.type_info import record_fields
from restencil_generator.spec.validate_value import added_by, choice_of, fits

Rename: TypeAlias = Callable[[d.Type, d.Json], d.Json]


def to_wire(spec: d.Spec, type: d.Type, value: d.Json) -> d.Json:
    """Return an example or default as the API sends it: with JSON names, and datetimes in their format.

    Members may have Python or JSON names; unknown names are kept. A value that does not fit the type is kept unchanged.
    """
    if isinstance(type, d.Scalar) and type.name == "datetime":
        return text_in_format(value, type.format)
    return _renamed(spec, type, value, lambda field: field.wire, lambda part, json: to_wire(spec, part, json))


def with_names(spec: d.Spec, type: d.Type | None, value: d.Json, name: Callable[[d.Field], str]) -> d.Json:
    """Rename the members of an example or default; its values are kept as written."""
    return _renamed(spec, type, value, name, lambda part, json: with_names(spec, part, json, name))


def by_name(fields: Iterable[d.Field]) -> dict[str, d.Field]:
    """Index fields by both their JSON names and their names in the spec."""
    known = tuple(fields)
    return {field.wire: field for field in known} | {field.name: field for field in known}


def _renamed(spec: d.Spec, type: d.Type | None, value: d.Json, name: Callable[[d.Field], str], inner: Rename) -> d.Json:
    match type:
        case d.Optional(of) | d.InvalidateOf(of) | d.PageOf(of) | d.QueryOf(of) | d.CollectionOf(of):
            return inner(of, value)
        case d.AdderOf():
            return inner(added_by(type, value), value)
        case d.ListOf(item) | d.AllOf(item) if isinstance(value, list):
            return [inner(item, part) for part in value]
        case d.ValuesOf(item) if isinstance(value, dict):
            return {key: inner(item, part) for key, part in value.items()}
        case d.OneOf(alternatives):
            fitting = (one for one in alternatives if fits(spec, one, to_wire(spec, one, value), "response"))
            one = next(fitting, None)
            return value if one is None else inner(one, value)
        case d.UnionOf() if isinstance(value, dict):
            chosen = choice_of(type, value)
            return value if chosen is None else inner(d.EntityRef(chosen), value)
        case d.EntityRef() | d.ObjectRef() | d.ObjectType() if isinstance(value, dict):
            known = by_name(record_fields(spec, type))
            return {
                name(known[key]) if key in known else key: inner(known[key].type, part) if key in known else part
                for key, part in value.items()
            }
        case _:
            return value
