"""What the mock server asks of a type of the spec: whose rows, one or many, a record or a plain value."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.mock import fake_values
from restencil_generator.spec.model import (
    AdderOf,
    AllOf,
    CollectionOf,
    Entity,
    EntityRef,
    Field,
    InvalidateOf,
    Json,
    ListOf,
    ObjectRef,
    ObjectType,
    OneOf,
    Optional,
    PageOf,
    QueryOf,
    Type,
    UnionOf,
    ValuesOf,
)


def bare(type_: Type) -> Type:
    """A type without its `?`."""
    return type_.item if isinstance(type_, Optional) else type_


def entity_part(type_: Type | None) -> EntityRef | UnionOf | None:
    """The first entity or union inside a type; it says whose rows the type is about."""
    match type_:
        case EntityRef() | UnionOf():
            return type_
        case Optional() | ListOf() | ValuesOf():
            return entity_part(type_.item)
        case OneOf((EntityRef() as first, *_)):
            return first  # what is made up is of the first type
        case CollectionOf() | AllOf() | InvalidateOf() | QueryOf() | AdderOf() | PageOf():
            return entity_part(type_.of)
        case ObjectType():
            return next((part for member in type_.members if (part := entity_part(member.type))), None)
        case _:
            return None


def is_list(type_: Type | None) -> bool:
    """Whether a type holds many entities rather than one."""
    match type_:
        case ListOf() | ValuesOf() | CollectionOf() | AllOf() | QueryOf() | PageOf():
            return entity_part(type_) is not None
        case Optional():
            return is_list(type_.item)
        case ObjectType():
            return any(is_list(member.type) for member in type_.members)
        case _:
            return False


def is_record(type_: Type | None) -> bool:
    """Whether a body of this type holds the fields of one record or of several."""
    match type_:
        case EntityRef() | UnionOf() | ObjectRef() | ObjectType():
            return True
        case OneOf(alternatives):
            return any(map(is_record, alternatives))
        case Optional() | ListOf() | ValuesOf():
            return is_record(type_.item)
        case _:
            return False


def choice_of(union: UnionOf, value: Mapping[str, Json]) -> str | None:
    """The entity that the discriminator of a value (under its Python or wire name) stands for; None for none."""
    if not isinstance(union.attribute, str):
        return None
    said = value.get(union.wire, value.get(union.attribute))
    return next((choice.entity for choice in union.choices if is_same(choice.value, said)), None)


def is_same(left: Json, right: Json) -> bool:
    """Whether two scalars are one JSON value: `true` is not `1`."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def argument_field(entity: Entity, name: str) -> Field | None:
    """The field that an argument of a URL means.

    It has that name, is a relation `author` for `author_id` or the other way round, a list `tags` for `tag`, or the
    field `id` or `slug` of an Article for `article_id` or `article_slug`; `article_id` may be a pk of any name.
    """
    wanted = fake_values.words(name)
    for field in entity.all_fields:
        if field.param == name:
            return field
    for field in entity.all_fields:
        if name in (field.wire, field.name) or fake_values.words(field.name) == wanted:
            return field
    for field in entity.all_fields:
        own = fake_values.words(field.name)
        related = entity_part(field.type) is not None
        if (related and wanted == f"{own} id") or own in (f"{wanted} id", f"{wanted}s"):
            return field
    owner = fake_values.words(entity.name)
    if len(entity.pk) == 1 and wanted == f"{owner} id":
        return entity.field(entity.pk[0])
    return next((field for field in entity.all_fields if wanted == f"{owner} {fake_values.words(field.name)}"), None)
