"""Derived properties of types: what reads, defaults, primary keys and paths agree on."""

from __future__ import annotations

from typing import get_args

import pytest

from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.type_words import SCALARS
from restencil_generator.spec.load import load_text
from restencil_generator.spec.type_info import Shape, record_fields, type_info, zero_of
from restencil_generator.spec.validate_value import fits_scalar

TEXT = d.Scalar("string")
USER = d.EntityRef("User")
UNION = d.UnionOf((d.Choice("user", "User"), d.Choice("team", "Team"), d.Choice("boss", "User")), "type", "type")
MEMBERS = d.ObjectType((), "Box")
USERS = d.CollectionOf(d.ListOf(USER))
ENUM = d.Enum("Status", (d.EnumMember("draft"), d.EnumMember("done")))


@pytest.mark.parametrize(
    ("type", "shape", "item", "entities"),
    [
        (TEXT, "scalar", None, ()),
        (d.Const(7), "scalar", None, ()),
        (d.EnumRef("Status"), "scalar", None, ()),
        (d.AnyOf((TEXT, d.Scalar("integer"))), "several", None, ()),
        (d.ObjectRef("Box"), "object", None, ()),
        (MEMBERS, "object", None, ()),
        (USER, "entity", None, ("User",)),
        (UNION, "entity", None, ("User", "Team")),
        (d.ListOf(TEXT), "list", TEXT, ()),
        (d.ValuesOf(USER), "mapping", USER, ()),
        (USERS, "list", USER, ()),
        (d.AllOf(USER), "list", USER, ()),
        (d.InvalidateOf(USER), "entity", None, ("User",)),
        (d.AdderOf(USERS, "push"), "entity", None, ("User",)),
        (d.AdderOf(d.CollectionOf(d.ValuesOf(USER)), "assign"), "mapping", USER, ()),
        (d.PageOf(USERS), "list", USER, ()),
        (d.QueryOf(USERS, d.Reference("m", "f")), "scalar", None, ()),
        (d.QueryOf(USERS, d.Reference("m", "f"), d.ListOf(TEXT)), "list", TEXT, ()),
    ],
)
def test_type_info_value_has_a_shape(
    type: d.Type, shape: Shape, item: d.Type | None, entities: tuple[str, ...]
) -> None:
    """What a read gives is a scalar, a list, a mapping, an object or an entity, whichever form it came by."""
    known = type_info(type)
    assert (known.bare, known.optional, known.shape, known.item, known.entities) == (type, False, shape, item, entities)


@pytest.mark.parametrize("type", [TEXT, USER, d.ListOf(USER), d.ObjectRef("Box")])
def test_type_info_question_mark_changes_the_default_alone(type: d.Type) -> None:
    """With `?` a type is what it is without it, and its default is null."""
    known, optional = type_info(type), type_info(d.Optional(type))
    assert (optional.bare, optional.shape, optional.entities) == (type, known.shape, known.entities)
    assert (optional.optional, optional.zero) == (True, None)


def test_type_info_every_scalar_has_a_default_that_fits_it() -> None:
    """The default that follows from a scalar is one of its values, and every scalar has a type in Python."""
    assert set(SCALARS) == set(get_args(d.ScalarName))
    for name in SCALARS:
        known = type_info(d.Scalar(name))
        assert fits_scalar(name, zero_of(known.bare, {}))  # type: ignore[arg-type]  # no scalar is without
        assert known.python is not None
        assert known.one_text


def test_type_info_enum_begins_with_its_first_value() -> None:
    """The default of an enum is its first value; entities, unions and object schemas have none."""
    assert zero_of(d.EnumRef("Status"), {"Status": ENUM}) == "draft"
    assert [zero_of(type, {}) for type in (USER, UNION, MEMBERS)] == [d.MISSING] * 3
    assert [zero_of(type, {}) for type in (d.ListOf(USER), d.ObjectRef("Box"), USERS)] == [[], {}, []]


def test_type_info_record_fields_are_those_of_what_has_fields() -> None:
    """An entity, the entities of a union, an object or an object type; nothing else has fields."""
    loaded = load_text("""
        restencil: 1
        package: made
        objects: {Point: {x: integer}}
        entities: {A: {fields: {id: integer}}, B: {fields: {id: integer, name: string}}}
        """)
    spec = loaded.declaration
    assert spec is not None
    union = d.UnionOf((d.Choice("a", "A"), d.Choice("b", "B")), "kind", "kind")
    types = (d.EntityRef("B"), union, d.ObjectRef("Point"), d.ListOf(d.EntityRef("A")), d.Scalar("string"))
    names = [[field.name for field in record_fields(spec, type)] for type in types]
    assert names == [["id", "name"], ["id", "id", "name"], ["x"], [], []]
