"""The tables and lists that results of an endpoint can show, derived from its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..schema.collection import Collection, PagedCollection
from ..schema.entity import as_entity
from ..schema.protocol import schemas_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.entity import EntityModel
    from ..schema.protocol import Schema


class Reach(NamedTuple):
    """The tables of records and of collections, and the entities whose lists are plain arrays in results."""

    models: Mapping[str, tuple[EntityModel, ...]]
    """By table of records, the models of its records."""
    collections: Mapping[str, tuple[str, ...]]
    """By table of collections, the tables of their items."""
    plain_lists: frozenset[str]
    """The tables of entities in lists that are no collections, in pages, and of entities that the server chooses."""
    tables: tuple[str, ...]
    """The tables of records and of collections."""
    unnamed: frozenset[str]
    """The tables of the record that a result is, if the path does not contain its primary key."""


def reach_of(schema: Schema | None, *, is_choice: bool = False, params: frozenset[str] | None = None) -> Reach | None:
    """Return what results of a schema can show; None if a part of it is not defined yet.

    With `is_choice`, the server chooses the entities, which are then like a list that is no collection. It also chooses
    the record that a result is, if `params`, the path parameters, do not contain its primary key; None: they name it.
    """
    walk, unnamed = _Walk(), set[str]()
    try:
        walk.visit(schema)
        if is_choice:
            walk.plain_lists.update(tables_of(schema, with_collections=False))
        if schema is not None and params is not None:
            unnamed |= tables_not_named_by(schema, params)
    except Exception:  # a class that is referred to by its name does not exist yet
        return None
    models = {table: tuple(found) for table, found in walk.models.items()}
    chosen = frozenset(walk.plain_lists | unnamed)
    return Reach(models, walk.collections, chosen, (*models, *walk.collections), frozenset(unnamed))


def tables_not_named_by(schema: Schema, params: frozenset[str]) -> frozenset[str]:
    """Return the tables of the entities of a schema whose primary key these path parameters do not contain."""
    return frozenset(one.table_key for one in schema.entities.values() if not one.model.is_named_by(params))


class _Walk:
    def __init__(self) -> None:
        self.models: dict[str, list[EntityModel]] = {}
        self.collections: dict[str, tuple[str, ...]] = {}
        self.plain_lists: set[str] = set()
        self._seen: set[int] = set()

    def visit(self, schema: Schema | None) -> None:
        if schema is None or id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        entity = as_entity(schema)
        if entity is not None:
            models = self.models.setdefault(entity.table_key, [])
            if entity.model not in models:
                models.append(entity.model)
            for relation in entity.model.relations:
                self.visit(relation.node)
            return
        if isinstance(schema, Collection):
            self.collections[schema.table_key] = tables_of(schema.item)
            if isinstance(schema, PagedCollection):  # what a page showed is a list of its own
                self.plain_lists.update(tables_of(schema.item))
            self.visit(schema.item)
            return
        # Objects without identity are part of the record that lists them.
        item = schema.plain_items
        if item is not None and item.is_envelope:
            self.plain_lists.update(tables_of(item))
        for child in schema.children():
            self.visit(child)


def tables_of(schema: Schema | None, *, with_collections: bool = True) -> tuple[str, ...]:
    """Return the tables of the entities at the top of a schema, without nested ones."""
    found = schemas_in(schema, lambda one: with_collections or not one.is_collection)
    return tuple(dict.fromkeys(one.entity.table_key for one in found if one.entity is not None))
