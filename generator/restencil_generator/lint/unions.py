"""Warnings about unions: types that cannot be distinguished."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.lint.common import Finding, parts_of
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import types_of


def _one_ofs(spec: d.Spec) -> Iterator[tuple[Place, d.OneOf]]:
    """Yield every union of types, once at each place."""
    return iter(dict.fromkeys((place, part) for type, place, _ in types_of(spec) for part in parts_of(type, d.OneOf)))


def find_alike(spec: d.Spec) -> Iterator[Finding]:
    """Find pairs of alternatives whose second one is never selected."""
    for place, union in _one_ofs(spec):
        lists: list[d.Type] = [one for one in union.alternatives if isinstance(one, d.ListOf)]
        alike: list[tuple[d.Type, d.Type]] = [*itertools.combinations(lists, 2)][:1]
        objects = [one for one in union.alternatives if _fields(spec, one) is not None] if not union.attribute else []
        alike += [(one, other) for one, other in itertools.combinations(objects, 2) if _covers(spec, one, other)]
        for one, other in alike:
            message = f"{_name(one)} and {_name(other)} of a union cannot be distinguished: the first one is used"
            hint = "give each a const field, or write 'attribute'" if one in objects else "keep one of the lists"
            yield Finding(message, place, hint)


def _covers(spec: d.Spec, one: d.Type, other: d.Type) -> bool:
    """Return whether every value of the second type also fits the first one, which is tried before it."""
    fixed, fixed_too = _constants(spec, one), _constants(spec, other)
    if fixed:
        return fixed.items() <= fixed_too.items()
    return not fixed_too and _needed(spec, one) <= _needed(spec, other)


def _fields(spec: d.Spec, type: d.Type) -> tuple[d.Field, ...] | None:
    """Return the fields of a type that is an object in JSON; None for other types."""
    match type:
        case d.ObjectRef(name):
            return spec.objects[name].fields
        case d.EntityRef(name):
            return spec.entities[name].all_fields
        case d.ObjectType(members):
            return members
        case d.ValuesOf():
            return ()
        case _:
            return None


def _constants(spec: d.Spec, type: d.Type) -> dict[str, tuple[str, d.Literals]]:
    fields = _fields(spec, type) or ()
    return {f.wire: (f.type.value.__class__.__name__, f.type.value) for f in fields if isinstance(f.type, d.Const)}


def _needed(spec: d.Spec, type: d.Type) -> set[str]:
    return {
        field.wire
        for field in _fields(spec, type) or ()
        if not (isinstance(field.type, d.Optional) or field.write_only)
    }


def _name(type: d.Type) -> str:
    match type:
        case d.ObjectRef(name) | d.EntityRef(name):
            return quoted(name)
        case d.ListOf():
            return "a list"
        case d.ValuesOf():
            return "a mapping"
        case _:
            return "an object"
