"""Relations between types of two specs: equal under new names, narrower or wider."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from restencil_generator.spec import model as d

Relation: TypeAlias = Literal["same", "narrower", "wider", "other"]
"""The relation of a new type to the old one. It is *narrower* if each of its values is valid for the old type."""

Kind: TypeAlias = Literal["enum", "object", "entity"]


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """The new names of renamed types; all other types have the same name in both specs."""

    renamed: Mapping[tuple[Kind, str], str] = dataclasses.field(default_factory=dict[tuple[Kind, str], str])

    def of(self, kind: Kind, name: str) -> str:
        """Return the new name of a type of the old spec."""
        return self.renamed.get((kind, name), name)

    def translated(self, type: d.Type) -> d.Type:
        """Return a type of the old spec with names of the new one."""
        if not self.renamed:
            return type
        match type:
            case d.EnumRef(name):
                return d.EnumRef(self.of("enum", name))
            case d.ObjectRef(name):
                return d.ObjectRef(self.of("object", name))
            case d.EntityRef(name):
                return d.EntityRef(self.of("entity", name))
            case d.UnionOf(choices):
                return dataclasses.replace(type, choices=tuple(map(self._choice, choices)))
            case d.OneOf(values=values):
                type = dataclasses.replace(type, values=tuple(map(self._choice, values)))
            case _:
                pass
        return type.map(self.translated)

    def _choice(self, choice: d.Choice) -> d.Choice:
        called = self.of("entity", choice.entity)
        return dataclasses.replace(choice, entity=self.of("object", called) if called == choice.entity else called)

    def in_field(self, field: d.Field) -> d.Field:
        """Return a field of the old spec with names of the new one in its type."""
        return dataclasses.replace(field, type=self.translated(field.type)) if self.renamed else field


def relation(old: d.Type, new: d.Type, enums: Mapping[str, d.Enum]) -> Relation:
    """Return the relation of a type to the old one (in names of the new spec); `enums` are of the new spec."""
    if old == new:
        return "same"
    narrower, wider = _within(new, old, enums), _within(old, new, enums)
    if narrower and wider:
        return "same"
    return "narrower" if narrower else "wider" if wider else "other"


def _within(one: d.Type, other: d.Type, enums: Mapping[str, d.Enum]) -> bool:
    """Return whether each value of a type is also valid for another one."""
    if one == other or other == d.Scalar("any"):
        return True
    match one, other:
        case d.Optional(item), _:
            return isinstance(other, d.Optional) and _within(item, other.item, enums)
        case _, d.Optional(item):
            return _within(one, item, enums)
        case d.ListOf(item), d.ListOf(whole):
            return _within(item, whole, enums)
        case d.ValuesOf(item), d.ValuesOf(whole):
            return _within(item, whole, enums)
        case _:
            return _within_alternatives(one, other, enums)


def _within_alternatives(one: d.Type, other: d.Type, enums: Mapping[str, d.Enum]) -> bool:
    if isinstance(one, d.AnyOf | d.OneOf):
        return all(_within(item, other, enums) for item in _alternatives(one))
    if isinstance(other, d.AnyOf | d.OneOf):
        return any(_within(one, item, enums) for item in _alternatives(other))
    if isinstance(one, d.UnionOf) and isinstance(other, d.UnionOf):
        return one.attribute == other.attribute and set(one.choices) <= set(other.choices)
    return _within_values(one, other, enums)


def _alternatives(type: d.AnyOf | d.OneOf) -> tuple[d.Type, ...]:
    return type.items if isinstance(type, d.AnyOf) else type.alternatives


def _within_values(one: d.Type, other: d.Type, enums: Mapping[str, d.Enum]) -> bool:
    """Return whether constants, enums or numbers are valid for a scalar or for other enums."""
    if one == d.Scalar("integer"):
        return other == d.Scalar("number")
    values = _values(one, enums)
    if values is None:
        return False
    among = _values(other, enums)
    if among is not None:
        return {(type(value), value) for value in values} <= {(type(value), value) for value in among}
    kinds = _KINDS.get(other.name, ()) if isinstance(other, d.Scalar) else ()
    return all(type(value) in kinds for value in values)


_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def _values(type: d.Type, enums: Mapping[str, d.Enum]) -> tuple[d.Literals, ...] | None:
    match type:
        case d.EnumRef(name):
            return tuple(member.value for member in enums[name].members) if name in enums else None
        case d.InlineEnum(values):
            return values
        case d.Const(value):
            return (value,)
        case _:
            return None


# ---------------------------------------------------------------------------------------------------------------- texts


def shown(type: d.Type | None) -> str:
    """Return a type as in a spec, on one line."""
    match type:
        case None:
            return "null"
        case d.Scalar(name) | d.EnumRef(name) | d.ObjectRef(name) | d.EntityRef(name):
            return name
        case d.Const(value):
            return f"{{const: {_literal(value)}}}"
        case d.Optional(item):
            return f"{shown(item)}?"
        case d.ListOf(item):
            return f"[{shown(item)}]"
        case d.ValuesOf(item):
            return f"{{values: {shown(item)}}}"
        case d.AnyOf(items):
            return " | ".join(map(shown, items))
        case d.OneOf(alternatives):
            return f"{{one_of: [{', '.join(map(shown, alternatives))}]}}"
        case d.InlineEnum(values):
            return f"{{enum: [{', '.join(map(_literal, values))}]}}"
        case d.ObjectType(members):
            return f"{{{', '.join(f'{member.name}: {shown(member.type)}' for member in members)}}}"
        case d.UnionOf(choices):
            return f"{{union: {{{', '.join(f'{_literal(one.value)}: {one.entity}' for one in choices)}}}}}"
        case _:
            return _shown_made(type)


def _shown_made(type: d.Type) -> str:
    match type:
        case d.CollectionOf(of):
            return f"{{collection: {shown(of)}}}"
        case d.AllOf(of):
            return f"{{all: {shown(of)}}}"
        case d.InvalidateOf(of):
            return f"{{invalidate: {shown(of)}}}"
        case d.QueryOf(of, process):
            return f"{{query: {shown(of)}, process: {process}}}"
        case d.AdderOf(of, how):
            return f"{how} to {shown(of)}"
        case d.PageOf(item):
            return f"a page of {shown(item)}"
        case _:
            raise AssertionError(type)


def _literal(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
