"""Lists and objects in search strings, read as their styles write them. What is in another style is no argument."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from restencil_generator.spec.model import (
    MISSING,
    Const,
    EnumRef,
    Field,
    Json,
    ListOf,
    Missing,
    ObjectRef,
    ObjectType,
    OneOf,
    Scalar,
    Spec,
    Style,
    Type,
    ValuesOf,
    list_in,
)
from restencil_generator.spec.type_info import bare

Query: TypeAlias = Sequence[tuple[str, str]]

_SEPARATORS: Final[Mapping[Style, str]] = {"comma": ",", "space": " ", "pipe": "|"}
_NAME: Final = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_PART: Final = re.compile(r"\[([^\[\]]*)\]")

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str"


def read(spec: Spec, field: Field, query: Query, listed: Style | None = None) -> Json | Missing:
    """The value of a search parameter, its scalars as texts but in JSON; `MISSING` where a query has none of its style.

    `listed` is the style of lists in an object of the style `form`.
    """
    type_ = bare(field.type)
    if isinstance(type_, OneOf):
        return _one_of(spec, field, query)
    style: Style | None = field.style or ("comma" if isinstance(type_, ListOf) else None)
    texts = [text for name, text in query if name == field.wire]
    match style:
        case None:
            return texts[-1] if texts else MISSING
        case "comma" | "space" | "pipe":
            if len(texts) != 1:
                return MISSING
            return cast("list[Json]", texts[0].split(_SEPARATORS[style])) if texts[0] else []
        case "repeat":
            return cast("list[Json]", texts) or MISSING
        case "json":
            return _json(texts)
        case "form":
            held = {member.wire: read(spec, _listed(member, listed), query) for member in members(spec, type_)}
            found = {name: value for name, value in held.items() if value is not MISSING}
            return cast("Json", found) if found else MISSING
        case "brackets" | "deep":
            return _nested(spec, field.wire, type_, query, numbered=style == "deep")


def _one_of(spec: Spec, field: Field, query: Query) -> Json | Missing:
    """One of several types: a list where one is written, which a single string is only if it has a separator."""
    listed = list_in(field.type)
    alone = dataclasses.replace(field, type=Scalar("any"), style="json" if field.style == "json" else None)
    if listed is None or field.style == "json":
        return read(spec, alone, query)
    value = read(spec, dataclasses.replace(field, type=listed), query)
    is_item = isinstance(value, list) and len(value) == 1 and field.style not in ("brackets", "deep")
    return read(spec, alone, query) if value is MISSING or is_item else value


def names(spec: Spec, field: Field) -> Iterator[str]:
    """The names that a search parameter has in a query."""
    yield field.wire
    if field.style == "form":
        yield from (member.wire for member in members(spec, bare(field.type)))


def pairs(field: Field, value: Json) -> Iterator[tuple[str, list[str]]]:
    """The conditions of a value for records: names of members, each with alternatives: one must match."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, Mapping):
                yield from pairs(field, part)
            else:
                yield name, _texts(part)
    else:
        yield field.wire, _texts(value)


def _texts(value: Json) -> list[str]:
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [value if isinstance(value, str) else json.dumps(value)]


def _listed(member: Field, style: Style | None) -> Field:
    return dataclasses.replace(member, style=style) if isinstance(bare(member.type), ListOf) else member


def members(spec: Spec, type_: Type) -> tuple[Field, ...]:
    """The members of an object; none of what is something else."""
    if isinstance(type_, ObjectRef):
        return spec.objects[type_.name].fields
    return type_.members if isinstance(type_, ObjectType) else ()


def _json(texts: Sequence[str]) -> Json | Missing:
    if len(texts) != 1:
        return MISSING
    try:
        found: Json = json.loads(texts[0])
    except (ValueError, RecursionError):
        return MISSING
    return found


# ------------------------------------------------------------------------------------------------- brackets and numbers


def _nested(spec: Spec, wire: str, type_: Type, query: Query, *, numbered: bool) -> Json | Missing:
    tree: dict[str, Tree] = {}
    for name, text in query:
        found = _NAME.fullmatch(name)
        if found is None or found[1] != wire or not found[2]:
            continue
        parts = _PART.findall(found[2])
        if numbered is not ("" in parts) or not numbered:
            _put(tree, [wire, *parts], text)
    if wire not in tree:
        return MISSING
    return _shaped(spec, type_, tree[wire], numbered=numbered)


def _put(tree: dict[str, Tree], parts: Sequence[str], text: str) -> None:
    """Puts a string at the end of a path; an empty part is the next item of a list, or goes on with the last one."""
    name, rest = parts[0], parts[1:]
    if not rest:
        tree.setdefault(name, text)
    elif rest[0] == "":
        items = tree.setdefault(name, [])
        if not isinstance(items, list):
            return
        if len(rest) == 1:
            items.append(text)
        else:
            _put_item(items, rest[1:], text)
    else:
        inner = tree.setdefault(name, {})
        if isinstance(inner, dict):
            _put(inner, rest, text)


def _put_item(items: list[Tree], parts: Sequence[str], text: str) -> None:
    last = items[-1] if items else None
    if not isinstance(last, dict) or (len(parts) == 1 and parts[0] in last):
        last = dict[str, "Tree"]()
        items.append(last)
    _put(last, parts, text)


def _shaped(spec: Spec, type_: Type | None, tree: Tree, *, numbered: bool) -> Json:
    """What was read, with lists where the type has them; where it says nothing, what is numbered is a list."""
    known = None if type_ is None else bare(type_)
    if isinstance(tree, str):
        return tree
    if isinstance(tree, list):
        item = known.item if isinstance(known, ListOf) else None
        return [_shaped(spec, item, part, numbered=numbered) for part in tree]
    count = [str(place) for place in range(len(tree))]
    is_open = known is None or isinstance(known, Scalar | Const | EnumRef)
    if isinstance(known, ListOf) or (is_open and numbered and sorted(tree) == sorted(count)):
        item = known.item if isinstance(known, ListOf) else None
        return [_shaped(spec, item, tree[place], numbered=numbered) for place in count if place in tree]
    types: Mapping[str, Type] = {member.wire: member.type for member in members(spec, known)} if known else {}
    rest = known.item if isinstance(known, ValuesOf) else None
    return {name: _shaped(spec, types.get(name, rest), part, numbered=numbered) for name, part in tree.items()}
