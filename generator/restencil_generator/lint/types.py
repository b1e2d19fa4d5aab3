"""Advice about types: what cannot be told apart, and records that cannot be told of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from restencil_generator.diagnostics.model import Place, Problem, Related, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import answered


def unions(spec: d.Spec, types: Iterable[tuple[Place, d.Type]]) -> Iterator[Problem]:
    """Types of one union of which the later one is never chosen, and what lacks the field that tells it apart."""
    told: set[tuple[Place, d.OneOf]] = set()
    for place, type in types:
        for union in d.walk(type):
            if isinstance(union, d.OneOf) and (place, union) not in told:
                told.add((place, union))
                yield from _order(spec, place, union)
                yield from _attribute(spec, place, union)


def _order(spec: d.Spec, place: Place, union: d.OneOf) -> Iterator[Problem]:
    lists: list[d.Type] = [one for one in union.alternatives if isinstance(one, d.ListOf)]
    alike: list[tuple[d.Type, d.Type]] = [*itertools.combinations(lists, 2)][:1]
    objects = [one for one in union.alternatives if _fields(spec, one) is not None] if not union.attribute else []
    alike += [(one, other) for one, other in itertools.combinations(objects, 2) if _covers(spec, one, other)]
    for one, other in alike:
        yield Problem(
            "union-order",
            f"{_name(one)} and {_name(other)} of a union cannot be told apart: the first one written is taken",
            place,
            "give each a const field, or write 'attribute'" if one in objects else "keep one of the lists",
            (),
            "warning",
        )


def _covers(spec: d.Spec, one: d.Type, other: d.Type) -> bool:
    """Whether every value of a type is taken for another one that is written before it."""
    fixed, fixed_too = _constants(spec, one), _constants(spec, other)
    if fixed:
        return fixed.items() <= fixed_too.items()
    return not fixed_too and _needed(spec, one) <= _needed(spec, other)


def _fields(spec: d.Spec, type: d.Type) -> tuple[d.Field, ...] | None:
    """The fields of what is an object in JSON; None of all else."""
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


def _attribute(spec: d.Spec, place: Place, union: d.OneOf) -> Iterator[Problem]:
    for one in union.alternatives:
        fields = _fields(spec, one) if isinstance(one, d.EntityRef | d.ObjectRef) else None
        if union.attribute and fields is not None and all(field.wire != union.wire for field in fields):
            assert isinstance(one, d.EntityRef | d.ObjectRef)
            mark = next((choice.value for choice in union.values if choice.entity == one.name), one.name)
            declared = (spec.entities if isinstance(one, d.EntityRef) else spec.objects)[one.name]
            kind = "entity" if isinstance(one, d.EntityRef) else "object"
            yield Problem(
                "union-field",
                f"{kind} {quoted(one.name)} of a union lacks {quoted(union.attribute)}, which tells it apart",
                place,
                f"add '{union.attribute}: {{const: {mark}}}' to it",
                (Related(declared.place, "declared here"),),
                "warning",
            )


def out_of_reach(spec: d.Spec) -> Iterator[Problem]:
    """Answers that hold an entity whose field comes from a path parameter that their own path lacks."""
    told: set[tuple[str, str]] = set()
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            names = {parameter.name for parameter in endpoint.path.parameters}
            for entity in answered(spec, endpoint):
                for field in spec.entities[entity].all_fields:
                    if not field.param or field.param in names or (endpoint.path.text, entity) in told:
                        continue
                    told.add((endpoint.path.text, entity))
                    effect = "has no pk" if field.name in spec.entities[entity].pk else "lacks it"
                    yield Problem(
                        "param-out-of-reach",
                        f"{quoted(name)} of resource {quoted(resource.name)} answers with {quoted(entity)}, whose "
                        f"field {quoted(field.name)} comes from the path parameter {quoted(field.param)}, which its "
                        f"path lacks: a record that has no such member {effect}",
                        endpoint.place,
                        "let the server answer with it, or write 'pk_optional: true' on the entity",
                        (Related(field.place, "declared here"),),
                        "warning",
                    )
