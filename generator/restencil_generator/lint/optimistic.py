"""Warnings about optimistic updates: body members that cannot be values of the entity's fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, Operation, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import path_to, type_info

_ALL: Final = frozenset(("string", "number", "boolean", "array", "object"))
_NONE: Final = frozenset[str]()
_KINDS: Final[dict[str, frozenset[str]]] = {
    "string": frozenset(("string",)),
    "integer": frozenset(("number",)),
    "number": frozenset(("number",)),
    "boolean": frozenset(("boolean",)),
    "datetime": frozenset(("string", "number")),
    "decimal": frozenset(("string", "number")),
    "date": frozenset(("string",)),
    "time": frozenset(("string",)),
    "uuid": frozenset(("string",)),
}


def find_misfits(spec: d.Spec) -> Iterator[Finding]:
    """Find body members of optimistic updates whose JSON cannot be a value of the entity's field."""
    for operation in operations(spec):
        endpoint, body = operation.endpoint, operation.endpoint.body
        if not endpoint.optimistic or not endpoint.has_body or body is None or body.kind != "json":
            continue
        if endpoint.schema is not None and isinstance(body.type, d.ObjectType):
            yield from _misfits(spec, operation, body.type, type_info(endpoint.schema).bare)


def _misfits(spec: d.Spec, operation: Operation, body: d.ObjectType, schema: d.Type) -> Iterator[Finding]:
    if not isinstance(schema, d.EntityRef | d.UnionOf | d.AdderOf):
        return
    for entity in (spec.entities[name] for name in dict.fromkeys(d.entities_in(schema))):
        for member in body.members:
            same_name = [field for field in entity.all_fields if field.wire == member.wire]
            named = path_to(spec.objects, entity.all_fields, member.of)[-1:] if member.of else same_name
            field = next(iter(named), None)
            if field is None or _may_be(spec, member.type, field.type):
                continue
            yield Finding(
                f"the body member {quoted(member.name)} of {operation} has another type than the field "
                f"{quoted(field.name)} of entity {quoted(entity.name)}: an optimistic update does not "
                "show it",
                member.place,
                "correct one of the types, unless the server expects it like this",
            )


def _may_be(spec: d.Spec, given: d.Type, kept: d.Type) -> bool:
    """Return whether values of one type may be valid for another type."""
    one, other = type_info(given), type_info(kept)
    common = _kinds(spec, given) & _kinds(spec, kept)
    if common == frozenset(("array",)) and one.item is not None and other.item is not None:
        return _may_be(spec, one.item, other.item)
    return bool(common)


def _kinds(spec: d.Spec, type: d.Type) -> frozenset[str]:
    """Return the kinds of JSON values of a type, except null."""
    bare = type_info(type).bare
    match bare:
        case d.Scalar(name):
            return _KINDS.get(name, _ALL)
        case d.Const(value):
            return _kind_of(value)
        case d.InlineEnum(values):
            return _NONE.union(*map(_kind_of, values))
        case d.EnumRef(name):
            return _NONE.union(*(_kind_of(member.value) for member in spec.enums[name].members))
        case d.OneOf(alternatives):
            return _NONE.union(*(_kinds(spec, one) for one in alternatives))
        case d.EntityRef() | d.UnionOf():
            keys = [_key_kinds(spec, spec.entities[name]) for name in d.entities_in(bare)]
            return frozenset(("object",)).union(*keys)
        case d.ListOf() | d.AllOf():
            return frozenset(("array",))
        case d.CollectionOf(of):
            return _kinds(spec, of)
        case d.ValuesOf() | d.ObjectRef() | d.ObjectType():
            return frozenset(("object",))
        case _:
            return _ALL


def _key_kinds(spec: d.Spec, entity: d.Entity) -> frozenset[str]:
    """Return the kinds of JSON values of an entity's primary key; all kinds unless it is a single field."""
    through = path_to(spec.objects, entity.all_fields, entity.pk[0]) if len(entity.pk) == 1 else ()
    return _kinds(spec, through[-1].type) if through else _ALL


def _kind_of(value: object) -> frozenset[str]:
    return frozenset(("boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number",))
