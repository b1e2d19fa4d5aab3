"""Warnings about entities: shared tables, and nested collections."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import Related, quoted
from restencil_generator.lint.common import Finding
from restencil_generator.spec import model as d


def find_shared_keys(spec: d.Spec) -> Iterator[Finding]:
    """Find entities that share a table without extending one another."""
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
    """Find nested collections in entities without `nest`."""
    for entity in spec.entities.values():
        for field in entity.fields:
            if isinstance(field.type, d.CollectionOf) and not field.type.nest:
                yield Finding(
                    f"the collection {quoted(field.name)} of entity {quoted(entity.name)} has no 'nest': all lists of "
                    "one response are one list",
                    field.place,
                    "add 'nest: {argument: field}'",
                )
