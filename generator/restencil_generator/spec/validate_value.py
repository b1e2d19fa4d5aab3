"""Validation of JSON values against the types of a spec: defaults, examples, and requests to the mock server."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from restencil_generator.diagnostics.model import Place, did_you_mean, listed, quoted, visible
from restencil_generator.spec import model as d
from restencil_generator.spec.datetimes import EXPECTED, is_in_format
from restencil_generator.spec.grammar.type_words import SCALARS

if TYPE_CHECKING:
    from restencil_generator.spec.model import Json

Where: TypeAlias = "tuple[str | int, ...]"
Use: TypeAlias = Literal["default", "example", "response", "body", "partial_body"]
"""The use of a value, which determines the rules (see `validation_errors`)."""


class Tables(Protocol):
    """The declared objects, entities and enums. A `Spec` is one."""

    @property
    def enums(self) -> Mapping[str, d.Enum]: ...
    @property
    def objects(self) -> Mapping[str, d.Object]: ...
    @property
    def entities(self) -> Mapping[str, d.Entity]: ...


class ValidationError(NamedTuple):
    """A part of a value that does not fit its type: its path in the value, a message, and a hint.

    `at_key` means that the key of a member is wrong, not its value.
    """

    where: Where
    message: str
    hint: str = ""
    at_key: bool = False

    def __str__(self) -> str:
        where = ".".join(map(str, self.where))
        return f"{where}: {self.message}" if where else self.message

    def place_in(self, places: Mapping[Where, Place], default: Place, *prefix: str) -> Place:
        """Return its place, from the places that `Reader.json` recorded."""
        where = (*prefix, *self.where, *(("",) if self.at_key else ()))
        return places.get(where, default)


_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?\Z", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?\Z", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


def validation_errors(tables: Tables, type: d.Type, value: Json, use: Use, at: Where = ()) -> Iterator[ValidationError]:
    """Yield the errors of a value.

    | use | names | unknown fields | missing fields | datetimes |
    |---|---|---|---|---|
    | `default` | Python | errors | |errors if required || RFC 3339 |
    | `example` | Python and JSON | errors | allowed | the `format` of the field, or RFC 3339 |
    | `response` | JSON | allowed | allowed | the `format` of the field |
    | `body` | JSON | allowed | errors if a body requires them | the `format` of the field |
    | `partial_body` | JSON | allowed | as `body`, except for members of the body itself | the `format` of the field |

    All uses except `default` also allow unknown values of enums, and a primary key instead of an entity. Values of
    fields with `decode` or `encode` are only checked in defaults: only these functions know their JSON.
    """
    yield from _Validator(tables, use).check(type, value, at)


def fits(tables: Tables, type: d.Type, value: Json, use: Use) -> bool:
    """Return whether a value has no validation errors."""
    return not any(True for _ in validation_errors(tables, type, value, use))


class _Validator:
    def __init__(self, tables: Tables, use: Use) -> None:
        self.tables = tables
        self.use: Use = use

    def check(self, type: d.Type, value: Json, at: Where) -> Iterator[ValidationError]:
        """Yield the errors of a value at a path of the whole."""
        match type:
            case d.Optional(item) | d.InvalidateOf(item):
                if value is not None:
                    yield from self.check(item, value, at)
            case d.CollectionOf(of) | d.PageOf(of) | d.QueryOf(of):
                yield from self.check(of, value, at)
            case d.AdderOf():
                yield from self.check(added_by(type, value), value, at)
            case d.ListOf(item) | d.AllOf(item):
                yield from self._items(item, value, at)
            case d.ValuesOf(item):
                yield from self._values(item, value, at)
            case d.AnyOf(items) | d.OneOf(items):
                yield from self._one_of(items, value, at)
            case d.Scalar() | d.Const() | d.EnumRef() | d.InlineEnum():
                yield from self._literal(type, value, at)
            case d.ObjectType() | d.ObjectRef() | d.EntityRef() | d.UnionOf():
                yield from self._record(type, value, at)
            case _:
                raise TypeError(f"{type!r} has no rule for its values")

    def _literal(
        self, type: d.Scalar | d.Const | d.EnumRef | d.InlineEnum, value: Json, at: Where
    ) -> Iterator[ValidationError]:
        match type:
            case d.Scalar():
                yield from self._scalar(type, value, at)
            case d.Const(literal):
                if not same(literal, value):
                    yield _not(shown(literal), value, at)
            case d.EnumRef(name):
                known = [member.value for member in self.tables.enums[name].members]
                yield from self._enum(f"enum {quoted(name)}", known, value, at)
            case d.InlineEnum(values):
                yield from self._enum("the enum", values, value, at)

    def _record(
        self, type: d.ObjectType | d.ObjectRef | d.EntityRef | d.UnionOf, value: Json, at: Where
    ) -> Iterator[ValidationError]:
        match type:
            case d.ObjectType(members):
                yield from self._members(members, "the object", value, at)
            case d.ObjectRef(name):
                yield from self._members(self.tables.objects[name].fields, f"object {quoted(name)}", value, at)
            case d.EntityRef(name):
                yield from self._entity(name, value, at)
            case d.UnionOf():
                yield from self._union(type, value, at)

    def _one_of(self, alternatives: tuple[d.Type, ...], value: Json, at: Where) -> Iterator[ValidationError]:
        """Yield the errors if no alternative fits: those of the nearest one of the same kind, or a single error."""
        found = [[*self.check(one, value, at)] for one in alternatives]
        if all(found):
            near = [errors for errors in found if all(error.where != at for error in errors)]
            yield from min(near, key=len) if near else (_not("a value of one of the types", value, at),)

    def _scalar(self, type: d.Scalar, value: Json, at: Where) -> Iterator[ValidationError]:
        plain = type.format is None or self.use == "default"
        if (plain or self.use == "example") and fits_scalar(type.name, value):
            return
        if type.format is None or plain:
            yield _not(SCALARS[type.name].expected, value, at)
        elif not is_in_format(value, type.format):
            also = f", or {EXPECTED['rfc3339']}," if self.use == "example" else ""
            yield _not(f"{EXPECTED[type.format]}{also}", value, at)

    def _enum(self, what: str, known: Sequence[str | int], value: Json, at: Where) -> Iterator[ValidationError]:
        if not known or any(same(member, value) for member in known):
            return
        if self.use != "default" and isinstance(value, str | int) and not isinstance(value, bool):
            return
        hint = did_you_mean(value, [str(word) for word in known[:50]]) if isinstance(value, str) else ""
        yield ValidationError(
            at, f"{shown(value)} is not a value of {what}", hint or f"write {listed(map(str, known[:8]))}"
        )

    def _items(self, item: d.Type, value: Json, at: Where) -> Iterator[ValidationError]:
        if not isinstance(value, list):
            yield _not("a list", value, at)
            return
        for index, part in enumerate(value):
            yield from self.check(item, part, (*at, index))

    def _values(self, item: d.Type, value: Json, at: Where) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            yield _not("a mapping", value, at)
            return
        for key, part in value.items():
            yield from self.check(item, part, (*at, key))

    def _members(self, fields: tuple[d.Field, ...], what: str, value: Json, at: Where) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            yield _not("a mapping", value, at)
            return
        is_spec_text = self.use in ("default", "example")
        names = {} if self.use == "default" else {field.wire: field for field in fields}
        names |= {field.name: field for field in fields} if is_spec_text else {}
        given: set[str] = set()
        for key, part in value.items():
            field = names.get(key)
            if field is None and is_spec_text:
                hint = did_you_mean(key, [field.name for field in fields])
                yield ValidationError((*at, key), f"{what} has no field {quoted(key)}", hint, at_key=True)
            elif field is None:
                continue
            elif field.name in given:
                yield ValidationError(
                    (*at, key), f"the field {quoted(field.name)} is given twice, by its Python name and its JSON name"
                )
            else:
                given.add(field.name)
                yield from self._member(field, part, (*at, key))
        for field in fields:
            if field.name in given:
                continue
            if self.use == "body" and field.must and field.is_sent:
                yield ValidationError((*at, field.wire), "is required")
            elif self.use == "default" and field.required and len(given) == len(value):
                yield ValidationError(at, f"{what} needs {quoted(field.name)}", f"add '{field.name}: …'")

    def _member(self, field: d.Field, value: Json, at: Where) -> Iterator[ValidationError]:
        """Yield the errors in the value of a field.

        The values of a partial body are complete. An entity that has its primary key may already exist on the server,
        so it needs no other field.
        """
        if self.use != "default" and (field.decode is not None or field.encode is not None):
            return
        use = self.use
        if use in ("body", "partial_body"):
            use = "response" if self._has_pk(field.type, value) else "body"
        yield from _Validator(self.tables, use).check(field.type, value, at)

    def _has_pk(self, type: d.Type, value: Json) -> bool:
        """Return whether a value is an entity with all fields of its primary key, under their JSON names."""
        known = type.item if isinstance(type, d.Optional) else type
        if not isinstance(known, d.EntityRef) or not isinstance(value, dict):
            return False
        entity = self.tables.entities[known.name]
        names = {name.partition(".")[0] for name in entity.pk}
        return names <= {field.name for field in entity.all_fields if field.wire in value}

    def _entity(self, name: str, value: Json, at: Where) -> Iterator[ValidationError]:
        if self.use == "default":
            yield ValidationError(at, f"the default of an entity can only be null, not {shown(value)}", "remove it")
        elif isinstance(value, dict):
            yield from self._members(self.tables.entities[name].all_fields, f"entity {quoted(name)}", value, at)
        elif not is_pk(value):
            yield _not(f"entity {quoted(name)} as a mapping, or its pk", value, at)

    def _union(self, union: d.UnionOf, value: Json, at: Where) -> Iterator[ValidationError]:
        if self.use == "default":
            yield ValidationError(at, f"the default of a union can only be null, not {shown(value)}", "remove it")
        elif not isinstance(value, dict):
            yield _not("one of the union's entities as a mapping", value, at)
        elif (chosen := choice_of(union, value)) is not None:
            yield from self._entity(chosen, value, at)


def added_by(type: d.AdderOf, value: Json) -> d.Type:
    """Return the type of the value that is added to a collection: one item, or several as a list or mapping."""
    whole = isinstance(type.of.of, d.ValuesOf) or isinstance(value, list)
    return type.of.of if whole else type.of.of.item


def objects_in(objects: Mapping[str, d.Object], type: d.Type, value: Json | d.Missing) -> Iterator[str]:
    """Yield the names of the objects in a default, including nested ones."""
    match type:
        case d.ObjectRef(name) if isinstance(value, dict):
            yield name
            fields = {field.name: field for field in objects[name].fields} if name in objects else {}
            for key, part in value.items():
                if key in fields:
                    yield from objects_in(objects, fields[key].type, part)
        case d.Optional(item):
            yield from objects_in(objects, item, value)
        case d.ListOf(item) if isinstance(value, list):
            for part in value:
                yield from objects_in(objects, item, part)
        case d.ValuesOf(item) if isinstance(value, dict):
            for part in value.values():
                yield from objects_in(objects, item, part)
        case d.OneOf((first, *_)):
            yield from objects_in(objects, first, value)
        case _:
            return


def choice_of(union: d.UnionOf, value: Mapping[str, Json]) -> str | None:
    """Return the entity that the discriminator of a value (under its Python or JSON name) selects, or None."""
    if not isinstance(union.attribute, str):
        return None
    mark = value.get(union.wire, value.get(union.attribute))
    return next((choice.entity for choice in union.choices if same(choice.value, mark)), None)


def is_pk(value: Json) -> bool:
    """Return whether a value can be a primary key: a non-empty string or a number."""
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int | float) and not isinstance(value, bool))


def same(left: Json, right: Json) -> bool:
    """Return whether two scalars are the same JSON: `true` is not `1`."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def fits_scalar(name: str, value: Json) -> bool:
    """Return whether a value is valid for a scalar type."""
    match name:
        case "any":
            return True
        case "string" | "bytes":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case "boolean":
            return isinstance(value, bool)
        case "decimal":
            if isinstance(value, str):
                return _DECIMAL.match(value) is not None
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case _:
            return isinstance(value, str) and _fits_text(name, value)


def _fits_text(name: str, text: str) -> bool:
    if name == "uuid":
        return _UUID.match(text) is not None
    if name == "date":
        return _is_date(text)
    if name == "time":
        return _is_time(text)
    return len(text) > 11 and text[10] in "Tt " and _is_date(text[:10]) and _is_time(text[11:])


def _is_date(text: str) -> bool:
    found = _DATE.match(text)
    if found is None:
        return False
    try:
        datetime.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    found = _TIME.match(text)
    if found is None:
        return False
    offset = found[4]
    in_range = int(found[1]) < 24 and int(found[2]) < 60 and int(found[3]) < 60
    return in_range and (offset is None or offset in "Zz" or (int(offset[1:3]) < 24 and int(offset[4:6]) < 60))


def shown(value: Json) -> str:
    """Format a JSON value for a message."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else visible(str(value))[:40]


def _not(expected: str, value: Json, at: Where) -> ValidationError:
    return ValidationError(at, f"expected {expected}, not {shown(value)}")
