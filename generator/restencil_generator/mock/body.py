"""Does a body have values of the types that the spec declares? Unknown fields are kept.

Fields may be missing, but those of which the spec says that bodies hold them.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from restencil_generator.mock.kinds import choice_of, is_same
from restencil_generator.mock.moments import is_moment
from restencil_generator.spec.model import (
    AdderOf,
    AllOf,
    AnyOf,
    CollectionOf,
    Const,
    EntityRef,
    EnumRef,
    Field,
    InlineEnum,
    InvalidateOf,
    Json,
    ListOf,
    ObjectRef,
    ObjectType,
    OneOf,
    Optional,
    PageOf,
    QueryOf,
    Scalar,
    ScalarName,
    Spec,
    Type,
    UnionOf,
    ValuesOf,
)

At: TypeAlias = tuple[str | int, ...]
"""Where a value stands in the body."""


def misfits(spec: Spec, type_: Type, value: Json, at: At = ()) -> Iterator[str]:
    """What is not of its type, each with its place. Values that `decode` or `encode` know alone are not judged."""
    match type_:
        case Optional():
            if value is not None:
                yield from misfits(spec, type_.item, value, at)
        case ListOf(item) | AllOf(item):
            yield from _items(spec, item, value, at)
        case ValuesOf():
            yield from _values(spec, type_.item, value, at)
        case CollectionOf(of) | PageOf(of) | QueryOf(of):
            yield from misfits(spec, of, value, at)
        case InvalidateOf():
            if value is not None:
                yield from misfits(spec, type_.of, value, at)
        case AdderOf(of):
            whole = isinstance(of.of, ValuesOf) or isinstance(value, list)
            yield from misfits(spec, of.of if whole else of.of.item, value, at)
        case ObjectType() | ObjectRef() | EntityRef() | UnionOf():
            yield from _record(spec, type_, value, at)
        case Scalar() | Const() | InlineEnum() | EnumRef() | AnyOf() | OneOf():
            if not _is_one(spec, type_, value):
                yield _not(_expected(type_), value, at)


def _items(spec: Spec, item: Type, value: Json, at: At) -> Iterator[str]:
    if not isinstance(value, list):
        yield _not("a list", value, at)
        return
    for index, part in enumerate(value):
        yield from misfits(spec, item, part, (*at, index))


def _values(spec: Spec, item: Type, value: Json, at: At) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _not("a mapping", value, at)
        return
    for key, part in value.items():
        yield from misfits(spec, item, part, (*at, key))


def _record(spec: Spec, type_: ObjectType | ObjectRef | EntityRef | UnionOf, value: Json, at: At) -> Iterator[str]:
    if isinstance(value, dict):
        fields = {field.wire: field for field in _fields(spec, type_, value)}
        for key, part in value.items():
            field = fields.get(key)
            if field is not None and field.decode is None and field.encode is None:
                yield from misfits(spec, field.type, part, (*at, key))
    elif isinstance(type_, UnionOf):
        yield _not("one of the union's entities as a mapping", value, at)
    elif not isinstance(type_, EntityRef):
        yield _not("a mapping", value, at)
    elif not _is_pk(value):
        yield _not(f"entity '{type_.name}' as a mapping, or its pk", value, at)


def _fields(
    spec: Spec, type_: ObjectType | ObjectRef | EntityRef | UnionOf, value: Mapping[str, Json]
) -> tuple[Field, ...]:
    match type_:
        case ObjectType():
            return type_.members
        case ObjectRef():
            return spec.objects[type_.name].fields
        case EntityRef():
            return spec.entities[type_.name].all_fields
        case UnionOf():
            chosen = choice_of(type_, value)
            return () if chosen is None else spec.entities[chosen].all_fields


def lacks(spec: Spec, type_: Type, value: Json, at: At = (), *, partial: bool = False) -> Iterator[str]:
    """The members that must be there and are not, each with its place; a `partial` body lacks none of its own.

    What is nested in it is asked too, but for entities that have their pk: they may be known.
    """
    match type_:
        case Optional(item):
            yield from lacks(spec, item, value, at, partial=partial)
        case CollectionOf(of) | PageOf(of) | QueryOf(of) | InvalidateOf(of):
            yield from lacks(spec, of, value, at, partial=partial)
        case AdderOf(of):
            whole = isinstance(of.of, ValuesOf) or isinstance(value, list)
            yield from lacks(spec, of.of if whole else of.of.item, value, at, partial=partial)
        case ListOf(item) | AllOf(item) if isinstance(value, list):
            for index, part in enumerate(value):
                yield from lacks(spec, item, part, (*at, index), partial=partial)
        case ValuesOf(item) if isinstance(value, dict):
            for key, part in value.items():
                yield from lacks(spec, item, part, (*at, key), partial=partial)
        case OneOf(alternatives):
            fitting = (one for one in alternatives if not any(True for _ in misfits(spec, one, value)))
            yield from min(([*lacks(spec, one, value, at, partial=partial)] for one in fitting), key=len, default=())
        case ObjectType() | ObjectRef() | EntityRef() | UnionOf() if isinstance(value, dict):
            yield from _lacking_members(spec, type_, value, at, partial=partial)
        case _:
            pass


def _lacking_members(
    spec: Spec,
    type_: ObjectType | ObjectRef | EntityRef | UnionOf,
    value: Mapping[str, Json],
    at: At,
    *,
    partial: bool,
) -> Iterator[str]:
    for field in _fields(spec, type_, value):
        if field.wire not in value:
            if field.must and field.is_sent and not partial:
                yield f"{'.'.join(map(str, (*at, field.wire)))}: is missing, and has to be given"
        elif not _has_pk(spec, field.type, value[field.wire]):
            yield from lacks(spec, field.type, value[field.wire], (*at, field.wire))


def _has_pk(spec: Spec, type_: Type, value: Json) -> bool:
    """Whether a value is an entity with all that its pk is made of."""
    known = type_.item if isinstance(type_, Optional) else type_
    if not isinstance(known, EntityRef) or not isinstance(value, dict):
        return False
    entity = spec.entities[known.name]
    wires = {field.name: field.wire for field in entity.all_fields}
    names = {name.partition(".")[0] for name in entity.pk}
    return all(wires.get(name) in value for name in names)


# -------------------------------------------------------------------------------------------------------------- scalars

_EXPECTED: Final[Mapping[ScalarName, str]] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "datetime": "a date with a time such as '2020-01-31T12:00:00Z'",
    "date": "a date such as '2020-01-31'",
    "time": "a time such as '12:00:00'",
    "decimal": "a number, or one as a text such as '1.50'",
    "uuid": "a UUID such as '00000000-0000-0000-0000-000000000000'",
    "bytes": "a text",
    "any": "a value",
}

_DATE: Final = r"\d{4}-\d\d-\d\d"
_TIME: Final = r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?"
_TEXTS: Final[Mapping[ScalarName, tuple[str, Callable[[str], Any]]]] = {
    "datetime": (f"{_DATE}[T ]{_TIME}", datetime.datetime.fromisoformat),
    "date": (_DATE, datetime.date.fromisoformat),
    "time": (_TIME, datetime.time.fromisoformat),
    "decimal": (r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d{1,4})?", decimal.Decimal),
    "uuid": (r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}", uuid.UUID),
}
"""The scalars that JSON holds as a text: its form, in upper case, and what reads it."""


def _is_one(spec: Spec, type_: Type, value: Json) -> bool:
    match type_:
        case Scalar(name, format):
            return _is_scalar(name, value) if format is None else is_moment(value, format)
        case Const():
            return is_same(type_.value, value)
        case EnumRef():  # a server may know values that the spec does not
            members = spec.enums[type_.name].members
            return not members or (isinstance(value, str | int) and not isinstance(value, bool))
        case InlineEnum():
            return isinstance(value, str | int) and not isinstance(value, bool)
        case AnyOf(items) | OneOf(items):
            return any(_is_one(spec, item, value) for item in items)
        case _:
            return not any(True for _ in misfits(spec, type_, value))


def _is_scalar(name: ScalarName, value: Json) -> bool:
    match name:
        case "any":
            return True
        case "string" | "bytes":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return _is_number(value)
        case "decimal":
            return _is_number(value) or _is_text(name, value)
        case _:
            return _is_text(name, value)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(name: ScalarName, value: Json) -> bool:
    form, read = _TEXTS[name]
    if not isinstance(value, str) or re.fullmatch(form, value.upper(), re.ASCII) is None:
        return False
    try:
        read(value.upper())
    except ValueError:
        return False
    return True


def _is_pk(value: Json) -> bool:
    """Whether a value can be a bare pk: a text that is not empty, or a number."""
    return bool(value) if isinstance(value, str) else isinstance(value, int | float) and not isinstance(value, bool)


def _expected(type_: Type) -> str:
    match type_:
        case Scalar(name, format):
            return _EXPECTED[name] if format is None else f"a moment in the format {format}"
        case Const():
            return _shown(type_.value)
        case EnumRef():
            return f"a value of enum '{type_.name}'"
        case _:
            return "a value of one of the types"


def _not(expected: str, value: Json, at: At) -> str:
    return f"{'.'.join(map(str, at)) or 'the body'}: {expected} is expected, this is {_shown(value)}"


def _shown(value: Json) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value}'" if len(value) <= 60 else f"'{value[:59]}…'"
        case _:
            return str(value)[:40]
