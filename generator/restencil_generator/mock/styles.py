"""Parsing of lists and objects in search strings by their styles. Arguments in other styles are ignored."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare

Query: TypeAlias = Sequence[tuple[str, str]]

_SEPARATORS: Final[Mapping[d.Style, str]] = {"comma": ",", "space": " ", "pipe": "|"}
_NAME: Final = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_PART: Final = re.compile(r"\[([^\[\]]*)\]")

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str"


def read(spec: d.Spec, field: d.Field, query: Query, listed: d.Style | None = None) -> d.Json | d.Missing:
    """Return the value of a search parameter as JSON with strings as scalars; `MISSING` if it is not in the query.

    `listed` is the style of lists in an object of the style `form`.
    """
    type = bare(field.type)
    if isinstance(type, d.OneOf):
        return _one_of(spec, field, query)
    style: d.Style | None = field.style or ("comma" if isinstance(type, d.ListOf) else None)
    texts = [text for name, text in query if name == field.wire]
    match style:
        case None:
            return texts[-1] if texts else d.MISSING
        case "comma" | "space" | "pipe":
            if len(texts) != 1:
                return d.MISSING
            return cast("list[d.Json]", texts[0].split(_SEPARATORS[style])) if texts[0] else []
        case "repeat":
            return cast("list[d.Json]", texts) or d.MISSING
        case "json":
            return _json(texts)
        case "form":
            held = {member.wire: read(spec, _listed(member, listed), query) for member in members(spec, type)}
            found = {name: value for name, value in held.items() if value is not d.MISSING}
            return cast("d.Json", found) if found else d.MISSING
        case "brackets" | "deep":
            return _nested(spec, field.wire, type, query, numbered=style == "deep")


def _one_of(spec: d.Spec, field: d.Field, query: Query) -> d.Json | d.Missing:
    """Parse a value of one of several types: a single string is a list only if it has a separator."""
    listed = d.list_in(field.type)
    alone = dataclasses.replace(field, type=d.Scalar("any"), style="json" if field.style == "json" else None)
    if listed is None or field.style == "json":
        return read(spec, alone, query)
    value = read(spec, dataclasses.replace(field, type=listed), query)
    is_item = isinstance(value, list) and len(value) == 1 and field.style not in ("brackets", "deep")
    return read(spec, alone, query) if value is d.MISSING or is_item else value


def names(spec: d.Spec, field: d.Field) -> Iterator[str]:
    """Yield the names of a search parameter in a query."""
    yield field.wire
    if field.style == "form":
        yield from (member.wire for member in members(spec, bare(field.type)))


def pairs(field: d.Field, value: d.Json) -> Iterator[tuple[str, list[str]]]:
    """Yield the conditions of a value for records: names of members with alternatives; one must match."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, Mapping):
                yield from pairs(field, part)
            else:
                yield name, _texts(part)
    else:
        yield field.wire, _texts(value)


def _texts(value: d.Json) -> list[str]:
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [value if isinstance(value, str) else json.dumps(value)]


def _listed(member: d.Field, style: d.Style | None) -> d.Field:
    return dataclasses.replace(member, style=style) if isinstance(bare(member.type), d.ListOf) else member


def members(spec: d.Spec, type: d.Type) -> tuple[d.Field, ...]:
    """Return the members of an object; empty for other types."""
    if isinstance(type, d.ObjectRef):
        return spec.objects[type.name].fields
    return type.members if isinstance(type, d.ObjectType) else ()


def _json(texts: Sequence[str]) -> d.Json | d.Missing:
    if len(texts) != 1:
        return d.MISSING
    try:
        found: d.Json = json.loads(texts[0])
    except (ValueError, RecursionError):
        return d.MISSING
    return found


# ------------------------------------------------------------------------------------------------- brackets and numbers


def _nested(spec: d.Spec, wire: str, type: d.Type, query: Query, *, numbered: bool) -> d.Json | d.Missing:
    tree: dict[str, Tree] = {}
    for name, text in query:
        found = _NAME.fullmatch(name)
        if found is None or found[1] != wire or not found[2]:
            continue
        parts = _PART.findall(found[2])
        if numbered is not ("" in parts) or not numbered:
            _put(tree, [wire, *parts], text)
    if wire not in tree:
        return d.MISSING
    return _shaped(spec, type, tree[wire], numbered=numbered)


def _put(tree: dict[str, Tree], parts: Sequence[str], text: str) -> None:
    """Set a string at a path; an empty part is the next item of a list, or continues the last one."""
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


def _shaped(spec: d.Spec, type: d.Type | None, tree: Tree, *, numbered: bool) -> d.Json:
    """Convert a parsed tree to lists and objects by its type; without a type, numbered keys are a list."""
    known = None if type is None else bare(type)
    if isinstance(tree, str):
        return tree
    if isinstance(tree, list):
        item = known.item if isinstance(known, d.ListOf) else None
        return [_shaped(spec, item, part, numbered=numbered) for part in tree]
    count = [str(place) for place in range(len(tree))]
    is_open = known is None or isinstance(known, d.Scalar | d.Const | d.EnumRef)
    if isinstance(known, d.ListOf) or (is_open and numbered and sorted(tree) == sorted(count)):
        item = known.item if isinstance(known, d.ListOf) else None
        return [_shaped(spec, item, tree[place], numbered=numbered) for place in count if place in tree]
    types: Mapping[str, d.Type] = {member.wire: member.type for member in members(spec, known)} if known else {}
    rest = known.item if isinstance(known, d.ValuesOf) else None
    return {name: _shaped(spec, types.get(name, rest), part, numbered=numbered) for name, part in tree.items()}
