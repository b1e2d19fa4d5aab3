"""Advice about entities: shared tables, nested collections, required entities, and copies in objects."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import Related, quoted
from restencil_generator.lint.common import Finding, declared_here, operations, parts_of
from restencil_generator.spec import model as d


def find_shared_keys(spec: d.Spec) -> Iterator[Finding]:
    """Entities that share a table without extending one another."""
    keys: dict[str, d.Entity] = {}
    for entity in spec.entities.values():
        other = keys.setdefault(entity.key, entity)
        if entity.abstract or other.abstract or _root(spec, other) == _root(spec, entity):
            continue
        yield Finding(
            f"the entities {quoted(entity.name)} and {quoted(other.name)} share the table {quoted(entity.key)}, "
            "but neither extends the other",
            entity.place,
            "give one of them another 'key'",
            (Related(other.place, "the other one"),),
        )


def _root(spec: d.Spec, entity: d.Entity) -> str:
    while entity.extends is not None:
        entity = spec.entities[entity.extends]
    return entity.name


def find_nested_collections(spec: d.Spec) -> Iterator[Finding]:
    """Collections nested in an entity that do not say whose they are."""
    for entity in spec.entities.values():
        for field in entity.fields:
            if isinstance(field.type, d.CollectionOf) and not field.type.nest:
                yield Finding(
                    f"the collection {quoted(field.name)} of entity {quoted(entity.name)} has no 'nest': all lists of "
                    "one response are one list",
                    field.place,
                    "add 'nest: {argument: field}'",
                )


def find_never_fetched_alone(spec: d.Spec) -> Iterator[Finding]:
    """Entities that others cannot be read without, and that no endpoint reads by themselves."""
    alone: set[str] = set()
    for operation in operations(spec):
        endpoint = operation.endpoint
        if not endpoint.side_effect and isinstance(endpoint.schema, d.EntityRef | d.UnionOf):
            alone.update(d.entities_in(endpoint.schema))
    tables = {spec.entities[name].key for name in alone}
    for entity in spec.entities.values():
        for field in entity.fields:
            if isinstance(field.type, d.EntityRef) and field.required:
                needed = spec.entities[field.type.name]
                if needed.key not in tables:
                    tables.add(needed.key)
                    yield Finding(
                        f"entity {quoted(entity.name)} needs {quoted(needed.name)} in {quoted(field.name)}, but no "
                        "endpoint reads one alone: once it is invalid, nothing brings it back",
                        field.place,
                        f"add a resource for {needed.name}, or write '{needed.name}?'; where responses have its bare "
                        f"key, restencil.foreign_key(…, {quoted(field.python)}) gives it",
                        declared_here(needed.place),
                    )


def find_entities_in_objects(spec: d.Spec) -> Iterator[Finding]:
    """Entities in plain objects, which no table knows."""
    schemas: list[d.Type | None] = [resource.schema for resource in spec.resources.values()]
    schemas += [operation.endpoint.schema for operation in operations(spec)]
    schemas += [field.type for entity in spec.entities.values() for field in entity.fields]
    todo = [ref.name for schema in schemas if schema is not None for ref in parts_of(schema, d.ObjectRef)]
    in_responses: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in in_responses:
            in_responses.add(name)
            todo += [ref.name for field in spec.objects[name].fields for ref in parts_of(field.type, d.ObjectRef)]
    for name in spec.objects:
        for field in spec.objects[name].fields if name in in_responses else ():
            for entity in dict.fromkeys(d.entities_in(field.type)):
                yield Finding(
                    f"the object {quoted(name)} holds the entity {quoted(entity)} in {quoted(field.name)}: "
                    "an entity in an object is a copy, which no table knows",
                    field.place,
                    f"make {name} an entity with a key; or, if it is a whole response, write its members instead of "
                    "its name into the endpoint's schema",
                    declared_here(spec.entities[entity].place),
                )
