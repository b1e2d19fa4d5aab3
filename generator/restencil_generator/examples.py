"""Examples of a spec: do they fit it, and what do they look like on the wire?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from restencil_generator import declaration as d
from restencil_generator.declaration import Json
from restencil_generator.values import Misfit, Tables, choice_of
from restencil_generator.values import misfits as _misfits


def misfits(tables: Tables, type: d.Type, value: Json) -> Iterator[Misfit]:
    """What does not fit in an example value of a type: names that do not exist, values of another type."""
    return _misfits(tables, type, value, "example")


def to_wire(tables: Tables, type: d.Type, value: Json) -> Json:
    """An example or default as the server would send it: members under their wire names, values as they are.

    Names may be Python or wire names; unknown ones stay. A value that does not fit the type stays as it is.
    """
    match type:
        case d.Optional(item) | d.InvalidateOf(item) | d.PageOf(item) | d.QueryOf(item) | d.CollectionOf(item):
            return to_wire(tables, item, value)
        case d.ListOf(item) | d.AllOf(item):
            return [to_wire(tables, item, part) for part in value] if isinstance(value, list) else value
        case d.ValuesOf(item):
            if isinstance(value, dict):
                return {key: to_wire(tables, item, part) for key, part in value.items()}
            return value
        case d.ObjectType(members):
            return _members(tables, members, value)
        case d.ObjectRef(name):
            return _members(tables, tables.objects[name].fields, value)
        case d.EntityRef(name):
            return _members(tables, tables.entities[name].all_fields, value)
        case d.UnionOf():
            chosen = choice_of(type, value) if isinstance(value, dict) else None
            return to_wire(tables, d.EntityRef(chosen), value) if chosen is not None else value
        case d.AdderOf(of):
            whole = isinstance(of.of, d.ValuesOf) or isinstance(value, list)
            return to_wire(tables, of.of if whole else of.of.item, value)
        case _:
            return value


def _members(tables: Tables, fields: tuple[d.Field, ...], value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    names: Mapping[str, d.Field] = {field.wire: field for field in fields} | {field.name: field for field in fields}
    found: dict[str, Json] = {}
    for key, part in value.items():
        field = names.get(key)
        if field is None:
            found[key] = part
        else:
            found[field.wire] = to_wire(tables, field.type, part)
    return found
