"""Examples and defaults of a spec as the server sends them: under wire names."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.spec.datetimes import text_in_format
from restencil_generator.spec.model import (
    AdderOf,
    AllOf,
    CollectionOf,
    EntityRef,
    Field,
    InvalidateOf,
    Json,
    ListOf,
    ObjectRef,
    ObjectType,
    OneOf,
    Optional,
    PageOf,
    QueryOf,
    Scalar,
    Spec,
    Type,
    UnionOf,
    ValuesOf,
)
from restencil_generator.spec.validate_value import choice_of, fits


def to_wire(spec: Spec, type_: Type, value: Json) -> Json:
    """An example or default with its members under their wire names, and its values as they are.

    Names may be Python or wire names; unknown ones stay. A value that does not fit the type stays as it is.
    """
    match type_:
        case Optional(of) | InvalidateOf(of) | PageOf(of) | QueryOf(of) | CollectionOf(of):
            return to_wire(spec, of, value)
        case ListOf(item) | AllOf(item):
            return [to_wire(spec, item, part) for part in value] if isinstance(value, list) else value
        case ValuesOf(item):
            if isinstance(value, dict):
                return {key: to_wire(spec, item, part) for key, part in value.items()}
            return value
        case ObjectType(members):
            return _members(spec, members, value)
        case ObjectRef(name):
            return _members(spec, spec.objects[name].fields, value)
        case EntityRef(name):
            return _members(spec, spec.entities[name].all_fields, value)
        case UnionOf():
            chosen = choice_of(type_, value) if isinstance(value, dict) else None
            return value if chosen is None else to_wire(spec, EntityRef(chosen), value)
        case AdderOf(of):
            return to_wire(spec, of.of if isinstance(of.of, ValuesOf) or isinstance(value, list) else of.of.item, value)
        case Scalar("datetime", format):
            return text_in_format(value, format)
        case OneOf(alternatives):
            shown = ((one, to_wire(spec, one, value)) for one in alternatives)
            return next((json for one, json in shown if fits(spec, one, json, "response")), value)
        case _:
            return value


def _members(spec: Spec, fields: tuple[Field, ...], value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    names: Mapping[str, Field] = {field.wire: field for field in fields} | {field.name: field for field in fields}
    found: dict[str, Json] = {}
    for key, part in value.items():
        field = names.get(key)
        if field is None:
            found[key] = part
        else:
            found[field.wire] = to_wire(spec, field.type, part)
    return found
