"""Serialization of rows as JSON, with relations."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.mock.tables import Ref, Row, Stored, Tables, text_of
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare, first_entity

DEPTH = 3
"""Maximum nesting of entities in a response; deeper and cyclic relations are left out."""


def show(tables: Tables, row: Row, entity: d.Entity | None = None, above: tuple[Ref, ...] = ()) -> dict[str, d.Json]:
    """Return a row as JSON with its relations, as an `entity` (default: its own)."""
    entity = entity or row.entity
    here = (*above, Ref(row.entity.key, tables.pk(row)))
    whole = len(here) <= DEPTH and here[-1] not in above
    fields = {field.wire: field for field in entity.all_fields if not field.write_only}
    others = {field.wire for field in row.entity.all_fields} - fields.keys()
    shown: dict[str, d.Json] = {}
    for name, value in row.data.items():
        if name not in others:
            field = fields.get(name)
            if field is None or first_entity(field.type) is None:
                shown[name] = _fill(tables, value, ())
            elif whole:
                nested = _related(tables, row, field, value, here)
                if nested is not None or isinstance(field.type, d.Optional):
                    shown[name] = nested
    return shown


def _related(tables: Tables, row: Row, field: d.Field, value: Stored, above: tuple[Ref, ...]) -> d.Json:
    """Return the value of a relation. A nested collection with `nest` is looked up, not stored."""
    type = bare(field.type)
    of = first_entity(type)
    if isinstance(type, d.CollectionOf) and type.nest and of is not None:
        wanted = {
            pair.argument: text_of(row.data.get(source.wire))
            for pair in type.nest
            if (source := row.entity.field(pair.field)) is not None
        }
        found = [
            (entity, other)
            for entity, other in tables.rows(of)
            if all(text is not None and tables.agrees(other, name, text) for name, text in wanted.items())
        ]
        if isinstance(type.of, d.ValuesOf):
            return {other.label or tables.pk(other): show(tables, other, entity, above) for entity, other in found}
        return [show(tables, other, entity, above) for entity, other in found]
    return _fill(tables, value, above)


def _fill(tables: Tables, value: Stored, above: tuple[Ref, ...]) -> d.Json:
    """Return a stored value as JSON. References to deleted records are left out of lists and mappings."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Ref():
            row = tables.follow(value)
            return None if row is None else show(tables, row, None, above)
        case Mapping():
            return {key: _fill(tables, item, above) for key, item in value.items() if not _is_gone(tables, item)}
        case _:
            return [_fill(tables, item, above) for item in value if not _is_gone(tables, item)]


def _is_gone(tables: Tables, value: Stored) -> bool:
    return isinstance(value, Ref) and tables.follow(value) is None
