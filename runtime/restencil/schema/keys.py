"""Foreign keys: the primary keys of the entities that an entity refers to, even if these are not in the store."""

from __future__ import annotations

from typing import Any

from ..base.errors import MissingFieldError
from ..base.values import UNDEFINED, kind_of
from .entity import Entity, EntityModel
from .record import declared_classes, identity_of, stored_record


def foreign_key(entity: Entity, field: str) -> Any:
    """Return the primary key of the entity that a field refers to: `foreign_key(article, "author")`.

    The entity need not be in the store. The key has the type of the key's field (`int` for `id: int`). A field with a
    list of entities returns a list of keys, a map returns a dict, and null returns None.

    Raises TypeError for a field that refers to no entities, and for an instance of a class that was declared by
    `entity`, which has no keys; ValueError for entities with a composite key; and MissingFieldError if no response had
    the field.
    """
    cls = kind_of(entity)
    if cls in declared_classes:
        raise TypeError(
            f"an instance of {cls.__name__} has no keys of entities that are not in the store: remove {field!r} from "
            "entity(schema=…), so that it has the value of the response"
        )
    model: EntityModel | None = getattr(cls, "__model__", None)
    relations = {} if model is None else {rel.name: rel for rel in model.relations if rel.leads_to_entities}
    relation = relations.get(field)
    if relation is None:
        known = f"its references are {', '.join(map(repr, relations))}" if relations else "it has no references"
        raise TypeError(f"{field!r} of {cls.__name__} does not refer to another entity; {known}")
    record = stored_record(entity)
    if record is None:
        value = vars(entity).get(field, UNDEFINED)
    else:
        value = record.get(relation.in_json, UNDEFINED)
    if value is UNDEFINED:
        raise MissingFieldError(cls.__name__, identity_of(entity), field)
    if value is None:
        return None
    found = UNDEFINED if relation.node is None else relation.node.keys(value, decode=True)
    if found is UNDEFINED:
        raise TypeError(
            f"{field!r} of {cls.__name__} has no primary keys: it is stored as {type(relation.node).__name__}"
        )
    return found
