"""The operations that all forms of types have: children, map, unwrap, and walking through a type."""

from __future__ import annotations

import dataclasses

import pytest

from restencil_generator.spec import model as d

TEXT = d.Scalar("string")
AT = d.Scalar("datetime")
TASK = d.EntityRef("Task")
UNION = d.UnionOf((d.Choice("task", "Task"), d.Choice("note", "Note")), "kind", "kind")
TASKS = d.CollectionOf(d.ListOf(TASK))
BY_KEY = d.CollectionOf(d.ValuesOf(TASK))
HOOK = d.Reference("hooks", "count")
MEMBER = d.Field("at", "at", "at", AT)

FORMS: list[tuple[d.Type, tuple[d.Type, ...], d.Type]] = [
    (TEXT, (), TEXT),
    (d.Const("link"), (), d.Const("link")),
    (d.InlineEnum(("a", 1)), (), d.InlineEnum(("a", 1))),
    (d.EnumRef("Kind"), (), d.EnumRef("Kind")),
    (d.ObjectRef("Point"), (), d.ObjectRef("Point")),
    (TASK, (), TASK),
    (UNION, (), UNION),
    (d.Optional(d.ListOf(TASK)), (d.ListOf(TASK),), d.ListOf(TASK)),
    (d.ListOf(TEXT), (TEXT,), d.ListOf(TEXT)),
    (d.ValuesOf(TEXT), (TEXT,), d.ValuesOf(TEXT)),
    (d.ObjectType((MEMBER,), "Made"), (AT,), d.ObjectType((MEMBER,), "Made")),
    (d.OneOf((TEXT, TASK)), (TEXT, TASK), d.OneOf((TEXT, TASK))),
    (d.AnyOf((TEXT, AT)), (TEXT, AT), d.AnyOf((TEXT, AT))),
    (TASKS, (d.ListOf(TASK),), d.ListOf(TASK)),
    (d.AllOf(TASK), (TASK,), d.ListOf(TASK)),
    (d.InvalidateOf(TASK), (TASK,), TASK),
    (d.QueryOf(TASKS, HOOK), (TASKS,), d.Scalar("any")),
    (d.QueryOf(TASKS, HOOK, d.Optional(TEXT)), (TASKS, d.Optional(TEXT)), TEXT),
    (d.AdderOf(TASKS, "push"), (TASKS,), TASK),
    (d.AdderOf(BY_KEY, "assign"), (BY_KEY,), d.ValuesOf(TASK)),
    (d.PageOf(d.Optional(TASKS)), (d.Optional(TASKS),), d.ListOf(TASK)),
]
IDS = [type.__class__.__name__ for type, _, _ in FORMS]


@pytest.mark.parametrize(("type", "children", "bare"), FORMS, ids=IDS)
def test_types_each_form_has_children_and_a_type_of_its_value(
    type: d.Type, children: tuple[d.Type, ...], bare: d.Type
) -> None:
    """`children` are the types one level down, and `unwrap` is the type of the value itself."""
    assert type.children() == children
    assert type.unwrap() == bare


@pytest.mark.parametrize("type", [type for type, _, _ in FORMS], ids=IDS)
def test_types_map_keeps_the_form_and_changes_the_children(type: d.Type) -> None:
    """Changing nothing gives an equal type, and what `map` is called with are the children in their order."""
    seen: list[d.Type] = []

    def same(part: d.Type) -> d.Type:
        seen.append(part)
        return part

    assert type.map(same) == type
    assert tuple(seen) == type.children()


def test_types_every_form_is_in_the_table() -> None:
    """A new form of types gets a row above."""
    forms = {form.__name__ for form in d.Type.__subclasses__()}  # a class with slots is made twice
    assert set(IDS) == forms


@pytest.mark.parametrize("type", [type for type, _, _ in FORMS], ids=IDS)
def test_no_type_in_an_attribute_is_forgotten(type: d.Type) -> None:
    """What an attribute holds is a child: the types in it, in a tuple of it, or in a field of it."""
    held: list[d.Type] = []
    for attribute in dataclasses.fields(type):
        value = getattr(type, attribute.name)
        for part in value if isinstance(value, tuple) else (value,):
            held += [part] if isinstance(part, d.Type) else [part.type] if isinstance(part, d.Field) else []
    assert tuple(held) == type.children()
