"""The kinds of nodes: merged by key, as a whole, or as ordered sets.

The *shape* of a node is its kind in the table of the language. A mapping whose keys are defined by the language or the
spec is merged key by key; scalars, types and other lists are leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from restencil_generator.spec.analyze.fields import is_described
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.type_words import FORMS, form_section
from restencil_generator.spec.grammar.value_kinds import (
    Body,
    Either,
    EnumValues,
    Errors,
    Fields,
    Headers,
    Kind,
    OneEntity,
    OrNull,
    Pairs,
    Response,
    Subsection,
    Table,
    Texts,
)
from restencil_generator.spec.source.nodes import MappingNode, Node, SequenceNode

Shape: TypeAlias = "Kind | Field | None"
"""The kind of a node; None for a leaf."""

TOP: Final = Subsection("spec")
"""The shape of a whole spec."""

TYPE: Final = "type"
"""The key of a field's type, which also represents a field that is not a mapping."""

SETS: Final = ("members", "indexes", "needs", "non_filter_arguments")
"""The keys of lists whose items are merged one by one."""


class Field:
    """The shape of a field: a type, or a mapping that describes it, in a position."""

    def __init__(self, position: str) -> None:
        self.position = position


def inner(shape: Shape, node: Node | None) -> Callable[[str], Shape] | None:
    """Return a function for the shapes of the values of a node's keys; None if it is merged as a whole.

    `node` is None for a table that is not written because it is empty.
    """
    match shape:
        case Field():
            return lambda name: _row(shape.position, name)
        case OrNull():
            return inner(shape.kind, node)
        case Either():
            return next((found for kind in shape.kinds if (found := inner(kind, node)) is not None), None)
        case None:
            return None
        case _:
            pass
    if node is not None and not isinstance(node, MappingNode):
        return None
    match shape:
        case Subsection():
            return lambda name: _row(shape.section, name)
        case Table():
            return lambda name: shape.values
        case Fields():
            field = Field(shape.position)
            return lambda name: field
        case Headers() | Pairs() | Errors() | EnumValues():
            return lambda name: None
        case Body():
            return _body(node)
        case OneEntity() | Response() if node is not None and "entity" in node.entries:
            return lambda name: _row(form_section("entity"), name)
        case _:
            return None


def is_table(shape: Shape) -> bool:
    """Return whether a node is a mapping that is written only if it is not empty."""
    match shape:
        case OrNull():
            return is_table(shape.kind)
        case Either():
            return is_table(shape.kinds[0])
        case Subsection():
            return shape.section in _LOOSE
        case Table() | Fields() | Headers() | Pairs() | Errors():
            return True
        case _:
            return False


# Sections with independent keys. (In other sections, the combination of keys has a meaning.)
_LOOSE: Final = frozenset(("options", "request", "response"))


def is_set(shape: Shape, name: str, node: Node) -> bool:
    """Return whether a list is an ordered set."""
    return isinstance(node, SequenceNode) and (isinstance(shape, EnumValues) or (name in SETS and _texts(shape)))


def is_field(shape: Shape) -> bool:
    """Return whether a node may be only a type, or a mapping that describes a field."""
    return isinstance(shape, Field)


def describes(node: Node) -> bool:
    """Return whether the value of a field is a mapping that describes it, rather than its type."""
    return is_described(node)


def _texts(shape: Shape) -> bool:
    if isinstance(shape, OrNull):
        return _texts(shape.kind)
    if isinstance(shape, Either):
        return any(map(_texts, shape.kinds))
    return isinstance(shape, Texts)


def _row(place: str, name: str) -> Shape:
    row = rows(place).get(name)
    return row.kind if row is not None else None


def _body(node: MappingNode | None) -> Callable[[str], Shape] | None:
    if node is None:
        return None
    wrapped = rows("body")
    if any(name in wrapped for name in node.entries) and len(node.entries) == 1:
        return lambda name: _row("body", name)
    if any(form in node.entries for form in FORMS):
        return None
    field = Field("body_field")
    return lambda name: field
