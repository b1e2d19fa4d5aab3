"""Advice about entities: shared tables, nested collections, copies, and unions that lack their attribute."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import Problem, Related, quoted
from restencil_generator.lint.common import advice, endpoints_of, parts_of, types_of
from restencil_generator.lint.types import out_of_reach, unions
from restencil_generator.spec import model as d


def check_entities(spec: d.Spec) -> Iterator[Problem]:
    """Advice about entities and the types that hold them."""
    keys: dict[str, d.Entity] = {}
    for entity in spec.entities.values():
        other = keys.setdefault(entity.key, entity)
        if (
            other is not entity
            and not entity.abstract
            and not other.abstract
            and _root(spec, other) != _root(spec, entity)
        ):
            yield advice(
                "shared-key",
                f"the entities {quoted(entity.name)} and {quoted(other.name)} share the table {quoted(entity.key)}, "
                "but neither extends the other",
                entity.place,
                "give one of them another 'key'",
                [Related(other.place, "the other one")],
            )
        for field in entity.fields:
            if isinstance(field.type, d.CollectionOf) and not field.type.nest:
                yield advice(
                    "nested-collection",
                    f"the collection {quoted(field.name)} of entity {quoted(entity.name)} has no 'nest': all lists of "
                    "one response are one list",
                    field.place,
                    "add 'nest: {argument: field}'",
                )
    yield from _never_alone(spec)
    yield from _copied(spec)
    yield from _partial_unions(spec)
    yield from unions(spec, types_of(spec))
    yield from out_of_reach(spec)


def _root(spec: d.Spec, entity: d.Entity) -> str:
    while entity.extends is not None:
        entity = spec.entities[entity.extends]
    return entity.name


def _never_alone(spec: d.Spec) -> Iterator[Problem]:
    """An entity that others cannot be read without should be one that can be fetched again by itself."""
    alone: set[str] = set()
    for endpoint in endpoints_of(spec):
        if not endpoint.side_effect and isinstance(endpoint.schema, d.EntityRef | d.UnionOf):
            alone.update(d.entities_in(endpoint.schema))
    tables = {spec.entities[name].key for name in alone}
    for entity in spec.entities.values():
        for field in entity.fields:
            if isinstance(field.type, d.EntityRef) and field.required:
                needed = spec.entities[field.type.name]
                if needed.key not in tables:
                    tables.add(needed.key)
                    yield advice(
                        "never-fetched-alone",
                        f"entity {quoted(entity.name)} needs {quoted(needed.name)} in {quoted(field.name)}, but no "
                        "endpoint reads one alone: once it is invalid, nothing brings it back",
                        field.place,
                        f"add a resource for {needed.name}, or write '{needed.name}?'; where answers have its bare "
                        f"key, restencil.foreign_key(…, {quoted(field.python)}) gives it",
                        [Related(needed.place, "declared here")],
                    )


def _copied(spec: d.Spec) -> Iterator[Problem]:
    """What stands in a plain object no table knows, be it an entity."""
    schemas: list[d.Type | None] = [resource.schema for resource in spec.resources.values()]
    schemas += [endpoint.schema for endpoint in endpoints_of(spec)]
    schemas += [field.type for entity in spec.entities.values() for field in entity.fields]
    todo = [ref.name for schema in schemas if schema is not None for ref in parts_of(schema, d.ObjectRef)]
    answered: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in answered:
            answered.add(name)
            todo += [ref.name for field in spec.objects[name].fields for ref in parts_of(field.type, d.ObjectRef)]
    for name in spec.objects:
        for field in spec.objects[name].fields if name in answered else ():
            for entity in dict.fromkeys(d.entities_in(field.type)):
                yield advice(
                    "entity-in-object",
                    f"the object {quoted(name)} holds the entity {quoted(entity)} in {quoted(field.name)}: what stands "
                    "in an object is a copy, which no table knows",
                    field.place,
                    f"make {name} an entity with a key; or, where it is a whole answer, write its members in place of "
                    "its name in the endpoint's schema",
                    [Related(spec.entities[entity].place, "declared here")],
                )


def _partial_unions(spec: d.Spec) -> Iterator[Problem]:
    told: set[tuple[str, str]] = set()
    for place, type in types_of(spec):
        for union in parts_of(type, d.UnionOf):
            for choice in union.choices:
                attribute = union.attribute
                if isinstance(attribute, str) and (choice.entity, attribute) not in told:
                    entity = spec.entities[choice.entity]
                    if entity.field(attribute) is None:
                        told.add((choice.entity, attribute))
                        yield advice(
                            "union-field",
                            f"entity {quoted(entity.name)} of a union lacks {quoted(attribute)}, which tells it apart",
                            place,
                            f"add '{attribute}: {{const: {choice.value}}}' to it",
                            [Related(entity.place, "declared here")],
                        )
