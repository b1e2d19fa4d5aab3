"""Validation of responses: values are compared with the types that classes and schemas declare.

Checked are the annotations of fields, and the places of lists, objects and entities. Fields with a conversion of their
own and entities with an overridden `process` are not checked. An absent field is valid, and so is an unknown value of
an enum.
"""

from __future__ import annotations

import datetime
import decimal
import json
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from ..base.errors import ConversionError, ProcessingError
from ..base.logs import logger
from ..base.values import is_dict, is_list, is_mapping, is_sequence, with_article
from .all import All
from .codec import codec_of
from .collection import Adder, Collection
from .containers import List, Object, Union, Values
from .derived import Query
from .entity import Entity, EntityModel, EntitySchema
from .notation import Conversion
from .one_of import OneOf, constants_of, needed_of
from .protocol import Schema
from .record import Model, Record, is_instance
from .record_schema import RecordSchema


class Misfit(NamedTuple):
    """A value that does not have its declared type: its JSON path, the value, and the expected type."""

    path: str
    found: Any
    expected: str

    def __str__(self) -> str:
        found = json.dumps(self.found, default=str, ensure_ascii=False)
        return f"{self.path} is {found:.80}, expected {self.expected}"


_warned: Final[set[tuple[str, str, str]]] = set()


def validate(schema: Schema, response: object, mode: str, address: str) -> None:
    """Validate a response: with `strict` raise ProcessingError for the first misfit, with `warn` log each once.

    `address` is the method and URL of the request, for messages.
    """
    for misfit in misfits(schema, response, "$"):
        if mode == "strict":
            raise ProcessingError(
                f"{misfit}; give the field the type that the server sends, or set validate='warn' or 'off'"
            )
        kind = schema.title, "".join("[]" if part.isdigit() else part for part in _parts(misfit.path)), misfit.expected
        if kind not in _warned:
            _warned.add(kind)
            logger.warning("%s: the response does not fit its schema: %s", address, misfit)


def one_of(kinds: Sequence[type[Record]], record: Mapping[str, object]) -> type[Record] | None:
    """Return the class that a JSON record is an instance of; None if it matches none of the given classes.

    Of several it is the first whose constants the record has, else the first whose fields that may not be None it has.
    A single class matches if the record has any of its fields, or if all its fields may be None.
    """
    fitting = [kind for kind in kinds if fits(kind, record)]
    if len(kinds) == 1:
        return next((kind for kind in fitting if not _names(kind, constant=False) or _has_any(kind, record)), None)
    marked = (kind for kind in fitting if (marks := _names(kind, constant=True)) and marks <= record.keys())
    whole = (kind for kind in fitting if _names(kind, constant=False) <= record.keys())
    return next(marked, None) or next(whole, None)


def fitting_members(
    model: EntityModel, body: Mapping[str, object], is_known: Callable[[EntitySchema, Any], bool] | None = None
) -> dict[str, object]:
    """Return the members of a request body that have the types of an entity's fields, and those that are no fields.

    A body may have a member in another shape than the entity, such as a list of logins where the entity has a list of
    users. A reference must therefore be a possible primary key of the entity, and one for which `is_known`, if given,
    returns True. A nested entity must have a primary key.
    """
    relations = {relation.in_json: relation.node for relation in model.relations}
    kinds = {model.to_json.get(name, name): kind for name, kind in model.kinds.items()}

    def fits_field(name: str, value: object) -> bool:
        if value is None or name not in kinds:
            return True
        if name in relations:
            return not any(misfits(relations[name], value, "$")) and _refers(relations[name], value, is_known)
        return not any(_kind_misfits(kinds[name], value, "$"))

    return {name: value for name, value in body.items() if fits_field(name, value)}


def _refers(schema: Schema | None, value: object, is_known: Callable[[EntitySchema, Any], bool] | None) -> bool:
    """Whether the scalars in place of entities can be primary keys of these."""
    if isinstance(schema, Collection):
        return _refers(schema.inner, value, is_known)
    if isinstance(schema, EntitySchema) and type(value) in (str, int):
        model = schema.model
        kind = model.kinds.get(model.to_python.get(model.pk_name or "", model.pk_name or ""))
        if type(value) is str and kind in (int, int | None) and not value.removeprefix("-").isdecimal():
            return False
        return is_known is None or is_known(schema, value)
    if isinstance(schema, EntitySchema) and is_mapping(value) and schema.lenient_pk(value, ()) is None:
        return False  # it is new: the server creates it, and chooses its primary key
    if isinstance(schema, RecordSchema | EntitySchema) and is_mapping(value):
        relations = [relation for relation in schema.model.relations if relation.in_json in value]
        return all(_refers(relation.node, value[relation.in_json], is_known) for relation in relations)
    if isinstance(schema, Object) and is_mapping(value):
        members = [(one, value[name]) for name, one in schema.members.items() if name in value]
        return all(_refers(one, member, is_known) for one, member in members)
    if schema is not None and is_sequence(value):
        return all(_refers(child, item, is_known) for item in value for child in schema.children())
    return True


def _names(kind: type[Record], *, constant: bool) -> set[str]:
    """Return the JSON names of the fields that are constants, or of all that may not be None."""
    return {*(constants_of(kind.__model__) if constant else needed_of(kind.__model__))}


def _has_any(kind: type[Record], record: Mapping[str, object]) -> bool:
    model = kind.__model__
    return any(model.to_json.get(name, name) in record for name in model.fields)


def fits(kind: type[Record], record: Mapping[str, object]) -> bool:
    """Whether a JSON record has all required fields of a class and no value of another type."""
    model = kind.__model__
    required = (name for name, declared in model.fields.items() if declared.required)
    return all(model.to_json.get(name, name) in record for name in required) and not any(_record(model, record, "$"))


def _parts(path: str) -> list[str]:
    return path.replace("[", "].").replace("]", ".").split(".")


def misfits(schema: Schema | None, value: object, path: str) -> Iterator[Misfit]:
    """Yield the places where a value does not match its schema."""
    if schema is None or value is None:
        return
    check = _CHECKS.get(type(schema))
    if check is None:
        check = next((found for kind, found in _CHECKS.items() if isinstance(schema, kind)), None)
    if check is not None:
        yield from check(schema, value, path)


def _entity(schema: EntitySchema, value: object, path: str) -> Iterator[Misfit]:
    if is_mapping(value):
        if schema.model.process is None:
            yield from _record(schema.model, value, path)
    elif isinstance(value, bool) or not (isinstance(value, str | int | float) or is_instance(value)):
        yield Misfit(path, value, f"an object or the primary key of {with_article(schema.title)}")


def _record_class(schema: RecordSchema, value: object, path: str) -> Iterator[Misfit]:
    if is_mapping(value):
        yield from _record(schema.model, value, path)
    elif not isinstance(value, Record):
        yield Misfit(path, value, "an object")


def _record(model: Model, record: Mapping[str, object], path: str) -> Iterator[Misfit]:
    relations = {relation.name: relation.node for relation in model.relations}
    for name, kind in model.kinds.items():
        json_name = model.to_json.get(name, name)
        if json_name not in record:
            continue
        if name in relations:
            yield from _nulls(kind, record[json_name], f"{path}.{json_name}")
            yield from misfits(relations[name], record[json_name], f"{path}.{json_name}")
        else:
            yield from _kind_misfits(kind, record[json_name], f"{path}.{json_name}")


def _nulls(kind: object, value: object, path: str) -> Iterator[Misfit]:
    """Yield the nulls in place of an entity, or of a list of entities, that is not nullable."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (list, Sequence):
        if value is None:
            yield Misfit(path, value, "a list")
        elif is_list(value):
            for place, entry in enumerate(value):
                yield from _nulls(arguments[0], entry, f"{path}[{place}]")
    elif value is None and isinstance(kind, type) and issubclass(kind, Record):
        other = f" or the primary key of {with_article(kind.__name__)}" if issubclass(kind, Entity) else ""
        yield Misfit(path, value, f"an object{other}")


def _list(schema: List | Values | All, value: object, path: str) -> Iterator[Misfit]:
    if is_mapping(value):
        yield from _each(schema.item, ((f"{path}.{name}", entry) for name, entry in value.items()))
    elif is_list(value):
        yield from _each(schema.item, ((f"{path}[{place}]", entry) for place, entry in enumerate(value)))
    else:
        yield Misfit(path, value, "an object" if isinstance(schema, Values) else "a list")


def _each(schema: Schema | None, entries: Iterable[tuple[str, object]]) -> Iterator[Misfit]:
    for path, entry in entries:
        yield from misfits(schema, entry, path)


def _object(schema: Object, value: object, path: str) -> Iterator[Misfit]:
    if not is_mapping(value):
        yield Misfit(path, value, "an object")
        return
    for name, member in schema.members.items():
        yield from misfits(member, value.get(name), f"{path}.{name}")


def _union(schema: Union, value: object, path: str) -> Iterator[Misfit]:
    yield from misfits(schema.select(value, None, None)[1], value, path)


def _one_of(schema: OneOf, value: object, path: str) -> Iterator[Misfit]:
    found = schema.of(value)
    if found is None:
        yield Misfit(path, value, f"one of {', '.join(one.name for one in schema.alternatives)}")
    elif isinstance(found.model, Model) and not found.is_entity and is_mapping(value):
        yield from _record(found.model, value, path)
    else:
        yield from misfits(found.schema, value, path)


def _adder(schema: Adder, value: object, path: str) -> Iterator[Misfit]:
    collection = schema.collection
    whole = collection.is_map or is_list(value)
    yield from misfits(collection.inner if whole else collection.item, value, path)


def _conversion(schema: Conversion, value: object, path: str) -> Iterator[Misfit]:
    try:
        schema.converted(value)
    except Exception:  # conversions of users may raise anything
        yield Misfit(path, value, f"a value that {schema.title} can convert")


def _collection(schema: Collection, value: object, path: str) -> Iterator[Misfit]:
    return _list(schema.inner, value, path)


def _query(schema: Query, value: object, path: str) -> Iterator[Misfit]:
    return misfits(schema.inner, value, path)


_CHECKS: Final[dict[type[Schema], Callable[[Any, Any, str], Iterator[Misfit]]]] = {
    EntitySchema: _entity,
    RecordSchema: _record_class,
    Collection: _collection,
    List: _list,
    Values: _list,
    All: _list,
    Object: _object,
    Union: _union,
    OneOf: _one_of,
    Adder: _adder,
    Query: _query,
    Conversion: _conversion,
}

# ------------------------------------------------------------------------------------------------------- annotations

_PLAIN: Final[Mapping[object, tuple[Callable[[Any], bool], str]]] = {
    str: (lambda value: isinstance(value, str), "a string"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (
        lambda value: (
            (isinstance(value, int) and not isinstance(value, bool))
            or (isinstance(value, float) and value.is_integer())
        ),
        "an integer",
    ),
    float: (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number"),
}
_DECODED: Final[Mapping[object, str]] = {
    datetime.datetime: "a date with a time",
    datetime.date: "a date",
    datetime.time: "a time",
    decimal.Decimal: "a decimal number",
    uuid.UUID: "a UUID",
}
_codec: Final = cache(codec_of)


def _kind_misfits(kind: object, value: object, path: str) -> Iterator[Misfit]:
    """Yield the places where a value does not match an annotation; an unknown annotation matches every value."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, typing.Final):
        yield from _kind_misfits(arguments[0], value, path)
    elif origin in (typing.Union, types.UnionType):
        yield from _union_misfits(arguments, value, path)
    elif origin is typing.Literal:
        if not any(value == one and isinstance(value, bool) is isinstance(one, bool) for one in arguments):
            yield Misfit(path, value, " or ".join(map(repr, arguments)))
    elif origin in (list, Sequence):
        yield from _list_misfits(arguments[0], value, path)
    elif origin in (dict, Mapping):
        yield from _dict_misfits(arguments[1], value, path)
    else:
        yield from _class_misfits(kind, value, path)


def _class_misfits(kind: object, value: object, path: str) -> Iterator[Misfit]:
    if kind in _PLAIN:
        fits, expected = _PLAIN[kind]
        if not fits(value):
            yield Misfit(path, value, expected)
    elif kind in _DECODED:
        codec = _codec(kind)
        try:
            if value is None or codec is None:
                raise TypeError
            codec.decode(value)
        except (ConversionError, TypeError, ValueError):
            yield Misfit(path, value, _DECODED[kind])
    elif isinstance(kind, type) and issubclass(kind, Record) and not issubclass(kind, Entity):
        if is_mapping(value):
            yield from _record(kind.__model__, value, path)
        elif not isinstance(value, Record):
            yield Misfit(path, value, "an object")


def _union_misfits(kinds: tuple[object, ...], value: object, path: str) -> Iterator[Misfit]:
    others = [kind for kind in kinds if kind is not type(None)]
    if value is None and len(others) != len(kinds):
        return
    if len(others) == 1:
        yield from _kind_misfits(others[0], value, path)
        return
    found = [list(_kind_misfits(kind, value, path)) for kind in others]
    if all(found):
        yield Misfit(path, value, " or ".join(dict.fromkeys(misfits[0].expected for misfits in found)))


def _list_misfits(item: object, value: object, path: str) -> Iterator[Misfit]:
    if not is_list(value):
        yield Misfit(path, value, "a list")
        return
    for place, entry in enumerate(value):
        yield from _kind_misfits(item, entry, f"{path}[{place}]")


def _dict_misfits(item: object, value: object, path: str) -> Iterator[Misfit]:
    if not is_dict(value):
        yield Misfit(path, value, "an object")
        return
    for name, entry in value.items():
        yield from _kind_misfits(item, entry, f"{path}.{name}")
