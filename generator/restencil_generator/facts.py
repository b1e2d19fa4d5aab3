"""The facts of a type: one answer to what others would each work out by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from restencil_generator import declaration as d
from restencil_generator.language import SCALARS

Shape: TypeAlias = Literal["scalar", "list", "mapping", "object", "entity", "several"]


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What is true of a type, whatever the spec.

    * `bare`: the type without `?`; `optional`: whether it has one.
    * `shape`: what a value is. Forms that keep, remove or compute something have the shape of what a read gives;
      `several` is one of several scalars.
    * `item`: the type of the items of a list or mapping, None for all else.
    * `entities`: the names of the entities that a value is one of: of an entity or a union.
    * `zero`: the default that follows from the type alone, else `MISSING`; `zero_of` knows that of an enum as well.
    * `one_text`: whether a value has one text, so that it can be a pk.
    * `in_path`: whether a path parameter is one because the field of its name is.
    * `converted`: whether what a read gives is something else than its JSON.
    * `python`: for a scalar, the module (None for what is built in) and the name of its type in Python.
    """

    bare: d.Type
    optional: bool
    shape: Shape
    item: d.Type | None = None
    entities: tuple[str, ...] = ()
    zero: d.Json | d.Missing = d.MISSING
    one_text: bool = False
    in_path: bool = False
    converted: bool = False
    python: tuple[str | None, str] | None = None


def facts(type: d.Type) -> Facts:
    """The facts of a type."""
    match type:
        case d.Optional(item):
            return dataclasses.replace(facts(item), optional=True, zero=None)
        case d.Scalar(name):
            return _SCALAR_FACTS[name]
        case d.Const(value):
            return Facts(type, False, "scalar", zero=value, one_text=True)
        case d.EntityRef() | d.UnionOf():
            return Facts(type, False, "entity", entities=tuple(dict.fromkeys(d.entities_in(type))))
        case d.ListOf(item):
            return Facts(type, False, "list", item, zero=[])
        case d.ValuesOf(item):
            return Facts(type, False, "mapping", item, zero={})
        case d.CollectionOf(of) | d.PageOf(of) | d.InvalidateOf(of):
            return dataclasses.replace(facts(of), bare=type)
        case d.AllOf(of):
            return Facts(type, False, "list", of)
        case d.AdderOf(of, how):
            return dataclasses.replace(facts(of.of if how == "assign" else of.of.item), bare=type)
        case d.QueryOf(_, _, returns):
            return dataclasses.replace(facts(returns or d.Scalar("any")), bare=type, zero=d.MISSING)
        case _:
            return dataclasses.replace(_OTHERS[type.__class__], bare=type)


def absent_of(type: d.Type, enums: Mapping[str, d.Enum], absent: d.Absent | None) -> d.Json | d.Missing:
    """The default of a field of an entity or object that writes none; MISSING where reading it while absent raises.

    `absent` is what the spec says; None: only kinds with an honest zero have one.
    """
    if absent == "zero" or isinstance(type, d.Optional | d.Const):
        return zero_of(type, enums)
    if absent == "raise" or not _has_honest_zero(type):
        return d.MISSING
    return zero_of(type, enums)


def _has_honest_zero(type: d.Type) -> bool:
    if isinstance(type, d.Scalar):
        return SCALARS[type.name].honest
    return facts(type).shape in ("list", "mapping")


def zero_of(type: d.Type, enums: Mapping[str, d.Enum]) -> d.Json | d.Missing:
    """The default that follows from a type; MISSING for entities, unions and object schemas."""
    if isinstance(type, d.EnumRef):
        members = enums[type.name].members if type.name in enums else ()
        return members[0].value if members else None
    return facts(type).zero


_ANY: Final = d.Scalar("any")
_SCALAR_FACTS: Final[Mapping[d.ScalarName, Facts]] = {
    name: Facts(
        d.Scalar(name),
        False,
        "scalar",
        zero=scalar.zero,
        one_text=True,
        in_path=scalar.in_path,
        converted=scalar.converted,
        python=scalar.python,
    )
    for name, scalar in SCALARS.items()
}
_OTHERS: Final[Mapping[type[d.Type], Facts]] = {
    d.EnumRef: Facts(_ANY, False, "scalar", one_text=True, in_path=True),
    d.ObjectRef: Facts(_ANY, False, "object", zero={}),
    d.ObjectType: Facts(_ANY, False, "object"),
    d.AnyOf: Facts(_ANY, False, "several", one_text=True),
}
