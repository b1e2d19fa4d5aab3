"""Sample values: the same for the same type, field and number in every run."""

from __future__ import annotations

import datetime
import re
import uuid
from typing import assert_never

from restencil_generator.spec import model as d
from restencil_generator.spec.datetimes import text_in_format

_START = datetime.datetime(2024, 1, 1, 9, tzinfo=datetime.UTC)

_TURN = 2_000_000
"""The limit after which numbers repeat if a value has a range: a sent pk may be of any size."""


def words(name: str) -> str:
    """Return a field's name as words: `createdAt` and `created_at` are "created at"."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)).strip().lower()


def value(spec: d.Spec, type: d.Type, name: str, number: int, above: frozenset[str] = frozenset()) -> d.Json:
    """Return a JSON value for the field `name` of record `number` (from 1); null for entities, which the tables add.

    `above` are the enclosing objects, to prevent cycles.
    """
    match type:
        case d.Scalar(scalar_name, format):
            return text_in_format(scalar(scalar_name, name, number), format)
        case d.Const():
            return type.value
        case d.EnumRef():
            members = spec.enums[type.name].members
            return members[(number - 1) % len(members)].value
        case d.Optional():
            ends = number % 3 == 0 or _is_one_of(type.item, above)
            return None if ends else value(spec, type.item, name, number, above)
        case d.ListOf():
            singular = name.removesuffix("s") if len(name) > 2 else name
            steps = range(0 if _is_one_of(type.item, above) else 2)
            return [value(spec, type.item, singular, number + step, above) for step in steps]
        case d.ValuesOf():
            keys = () if _is_one_of(type.item, above) else ("first", "second")
            return {key: value(spec, type.item, key, number + step, above) for step, key in enumerate(keys)}
        case d.ObjectRef():
            return members_of(spec, spec.objects[type.name].fields, number, above | {type.name})
        case d.ObjectType():
            return members_of(spec, type.members, number, above)
        case d.InlineEnum(values):
            return values[(number - 1) % len(values)]
        case d.AnyOf(items):
            return value(spec, items[0], name, number, above)
        case d.OneOf((first, *_)):
            return marked(type, first, value(spec, first, name, number, above))
        case _:
            return None


def marked(union: d.OneOf, chosen: d.Type, made: d.Json) -> d.Json:
    """Add the discriminator to a value of one of several types, if there is an attribute for it."""
    if not union.attribute or not isinstance(made, dict) or not isinstance(chosen, d.ObjectRef | d.EntityRef):
        return made
    mark = next((choice.value for choice in union.values if choice.entity == chosen.name), chosen.name)
    return {union.wire: mark} | made


def members_of(
    spec: d.Spec, fields: tuple[d.Field, ...], number: int, above: frozenset[str] = frozenset()
) -> dict[str, d.Json]:
    """Return sample members by JSON name."""
    return {field.wire: value(spec, field.type, field.name, number, above) for field in fields}


def _is_one_of(type: d.Type, objects: frozenset[str]) -> bool:
    return isinstance(type, d.ObjectRef) and type.name in objects


def scalar(type: d.ScalarName, name: str, number: int) -> d.Json:
    """Return a JSON scalar for the field `name` of record `number`."""
    text = words(name)
    match type:
        case "string":
            return _text(text, number)
        case "integer":
            return (number * 7 + len(text)) % 100
        case "number":
            return number % _TURN * 1.5
        case "boolean":
            return number % 2 == 0
        case "datetime":
            return _day(number).strftime("%Y-%m-%dT%H:%M:%SZ")
        case "date":
            return _day(number).strftime("%Y-%m-%d")
        case "time":
            return f"{(8 + number) % 24:02}:30:00"
        case "decimal":
            return f"{number}.50"
        case "uuid":
            return identifier(number)
        case "any" | "bytes":
            return None
        case _ as unreachable:
            assert_never(unreachable)


def day(text: str) -> int | None:
    """Return the record number of a sample date or datetime; None for any other string."""
    try:
        return (datetime.date.fromisoformat(text.partition("T")[0]) - _START.date()).days + 1
    except ValueError:
        return None


def _day(number: int) -> datetime.datetime:
    return _START + datetime.timedelta(days=number % _TURN - 1)


def identifier(number: int) -> str:
    """Return a UUID in the form of version 4 that ends with the number."""
    return str(uuid.UUID(int=(0x4000 << 64) | (0x8 << 60) | number % _TURN))


def _text(text: str, number: int) -> str:
    last = text.rpartition(" ")[2]
    if "mail" in last:
        return f"{last}{number}@example.com"
    if last in ("url", "uri", "link", "href", "website", "homepage", "avatar", "image"):
        return f"https://example.com/{last}/{number}"
    return f"{text} {number}".capitalize() if last not in ("slug", "username", "login", "key") else f"{last}-{number}"
