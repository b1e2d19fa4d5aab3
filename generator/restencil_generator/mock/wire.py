"""Examples and defaults of a spec as the server sends them: under wire names."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.spec import model as d
from restencil_generator.spec.datetimes import text_in_format
from restencil_generator.spec.validate_value import added_by, choice_of, fits


def to_wire(spec: d.Spec, type: d.Type, value: d.Json) -> d.Json:
    """An example or default with its members under their wire names, and its values as they are.

    Names may be Python or wire names; unknown ones stay. A value that does not fit the type stays as it is.
    """
    match type:
        case d.Optional(of) | d.InvalidateOf(of) | d.PageOf(of) | d.QueryOf(of) | d.CollectionOf(of):
            return to_wire(spec, of, value)
        case d.ListOf(item) | d.AllOf(item):
            return [to_wire(spec, item, part) for part in value] if isinstance(value, list) else value
        case d.ValuesOf(item):
            if isinstance(value, dict):
                return {key: to_wire(spec, item, part) for key, part in value.items()}
            return value
        case d.ObjectType(members):
            return _members(spec, members, value)
        case d.ObjectRef(name):
            return _members(spec, spec.objects[name].fields, value)
        case d.EntityRef(name):
            return _members(spec, spec.entities[name].all_fields, value)
        case d.UnionOf():
            chosen = choice_of(type, value) if isinstance(value, dict) else None
            return value if chosen is None else to_wire(spec, d.EntityRef(chosen), value)
        case d.AdderOf():
            return to_wire(spec, added_by(type, value), value)
        case d.Scalar("datetime", format):
            return text_in_format(value, format)
        case d.OneOf(alternatives):
            shown = ((one, to_wire(spec, one, value)) for one in alternatives)
            return next((json for one, json in shown if fits(spec, one, json, "response")), value)
        case _:
            return value


def _members(spec: d.Spec, fields: tuple[d.Field, ...], value: d.Json) -> d.Json:
    if not isinstance(value, dict):
        return value
    names: Mapping[str, d.Field] = {field.wire: field for field in fields} | {field.name: field for field in fields}
    found: dict[str, d.Json] = {}
    for key, part in value.items():
        field = names.get(key)
        if field is None:
            found[key] = part
        else:
            found[field.wire] = to_wire(spec, field.type, part)
    return found
