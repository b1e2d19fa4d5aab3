"""Records in pydantic models and FastAPI: the implementation of `__get_pydantic_core_schema__`.

pydantic uses the annotations: it validates and serializes Python values and ignores `decode` and `encode` of fields.
"""

from __future__ import annotations

import datetime
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from copy import deepcopy
from functools import cache
from typing import Any, Final

from pydantic_core import PydanticSerializationUnexpectedValue, core_schema

from ..base.values import UNDEFINED, is_dict, is_list, kind_of
from .protocol import EntityNode, Schema, schemas_in

_in_progress: Final[ContextVar[tuple[type[Any], ...]]] = ContextVar("restencil_pydantic_in_progress", default=())
"""The classes whose schema is being built; a recursive class is referenced by name."""

_around: Final[ContextVar[tuple[int, ...]]] = ContextVar("restencil_pydantic_around", default=())
"""The entities, by identity, around the one that is being serialized."""


class _Key(dict[str, Any]):
    """The record of an entity inside itself: the fields of its primary key."""

    __slots__ = ()


def core_schema_of(cls: type[Any], handler: Callable[[Any], Any]) -> core_schema.CoreSchema:
    """Return the core schema of a record class; `handler` is pydantic's, which returns those of the fields' types."""
    name = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
    classes = _in_progress.get()
    if cls in classes:
        return core_schema.definition_reference_schema(name)
    token = _in_progress.set((*classes, cls))
    try:
        fields = {name: _field(cls, declared, handler) for name, declared in cls.__model__.fields.items()}
    finally:
        _in_progress.reset(token)
    # A serialized record may lack fields, and a union would not recognize it if these were required.
    lax = {
        name: typing.cast("core_schema.TypedDictField", {**field, "required": False}) for name, field in fields.items()
    }
    written = core_schema.typed_dict_schema(lax)
    return core_schema.no_info_wrap_validator_function(
        _validator(cls),
        core_schema.typed_dict_schema(fields, extra_behavior="ignore"),
        ref=name,
        serialization=core_schema.wrap_serializer_function_ser_schema(_writer(cls), schema=written, info_arg=True),
    )


@cache
def serializer_of(cls: type[object]) -> object:
    """Return the serializer of a record class, for values whose type pydantic does not know.

    pydantic calls this, so it was imported already.
    """
    return sys.modules["pydantic"].TypeAdapter(cls).serializer


def json_schema_of(cls: type[Any], core: Any, handler: Any) -> dict[str, Any]:
    """Return the JSON schema of a record class, with its name as title and its docstring as description."""
    schema: dict[str, Any] = handler(core)
    described = handler.resolve_ref_schema(schema)
    described["title"] = cls.__name__
    if cls.__dict__.get("__doc__"):
        described["description"] = inspect.cleandoc(cls.__dict__["__doc__"])
    return schema


# -- fields ----------------------------------------------------------------------------------------------------------


def _field(cls: type[Any], declared: Any, handler: Callable[[Any], Any]) -> core_schema.TypedDictField:
    schema: core_schema.CoreSchema = handler(_kind(cls, declared))
    if declared.factory is not None:
        schema = core_schema.with_default_schema(schema, default_factory=declared.factory)
    elif hasattr(kind_of(declared.default), "__model__"):  # a JSON schema cannot contain it
        schema = core_schema.with_default_schema(schema, default_factory=lambda: declared.default)
    elif declared.default is not UNDEFINED:
        schema = core_schema.with_default_schema(schema, default=deepcopy(declared.default))  # a writable copy
    names = [[name] for name in dict.fromkeys((declared.in_json, declared.name))]
    return core_schema.typed_dict_field(
        schema,
        required=declared.required,
        validation_alias=typing.cast("list[list[str | int]]", names),
        serialization_alias=declared.in_json,
    )


def _kind(cls: type[Any], declared: Any) -> object:
    """Return the type of a field, resolving names that its module imports only under TYPE_CHECKING."""
    node = next((relation.node for relation in cls.__model__.relations if relation.name == declared.name), None)
    names = {entity.__name__: entity for entity in _entities(node)}
    module = sys.modules.get((declared.owner or cls).__module__)
    package = sys.modules.get(getattr(module, "__package__", None) or "")

    def named(missing: str) -> object:  # a generated package exports all its names
        return names.get(missing) or getattr(package, missing, UNDEFINED)

    found = cls.__model__.annotation_of(declared, named)
    if found is None or found is Any:
        found = Any if node is None else _kind_of_node(node)
    return _concrete(found)


def _entities(node: Schema | None) -> list[type[object]]:
    """The entity classes in the schema of a field."""
    return [schema.cls for schema in schemas_in(node) if isinstance(schema, EntityNode)]


def _kind_of_node(node: Schema) -> object:
    """Return the type of a field from its schema, for a field whose annotation is unknown."""
    if isinstance(node, EntityNode):
        return node.cls | None
    inner = [child for child in node.children() if child is not None]
    if node.many and len(inner) == 1:
        return list[_kind_of_node(inner[0])]  # type: ignore[misc]  # pyright: ignore - a type at run time
    return Any


_CONTAINERS: Final[Mapping[Any, Any]] = {Sequence: list, Mapping: dict}
"""The concrete types of values with abstract annotations, since pydantic selects serializers by concrete type."""


def _concrete(kind: Any) -> object:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(_concrete, arguments))]  # noqa: UP007 - its members are known at run time only
    if origin is typing.Annotated:
        return typing.Annotated[(_concrete(arguments[0]), *arguments[1:])]
    if origin is typing.Final:
        return _concrete(arguments[0])
    if origin in (list, dict, Sequence, Mapping) and arguments:
        return _CONTAINERS.get(origin, origin)[tuple(map(_concrete, arguments))]
    return _CONTAINERS.get(kind, kind) if kind in (Sequence, Mapping) else kind


# -- validation and output -------------------------------------------------------------------------------------------


def _validator(cls: type[Any]) -> Callable[[Any, Callable[[Any], Any]], object]:
    abstract = getattr(cls.__model__, "abstract", False)
    converted = cls.__model__.codecs.keys()

    def validate(value: Any, handler: Callable[[Any], Any]) -> object:
        if isinstance(value, cls):
            return value
        if abstract:
            raise ValueError(f"{cls.__name__} is abstract: give an instance of a subclass")
        members: dict[str, Any] = handler(value)
        for name in converted & members.keys():
            members[name] = _aware(members[name])
        return cls(**members)

    validate.__name__ = cls.__name__  # messages show it
    return validate


def _aware(value: object) -> object:
    """Return a value with datetimes without a time zone set to UTC, as in responses."""
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    if is_list(value):
        return list(map(_aware, value))
    return {name: _aware(item) for name, item in value.items()} if is_dict(value) else value


def _writer(cls: type[Any]) -> Callable[[Any, Callable[[Any], Any], Any], object]:
    model = cls.__model__
    names = tuple(model.fields)
    every = frozenset(names)
    absent = frozenset(
        name
        for name, declared in model.fields.items()
        if declared.required or (declared.default is UNDEFINED and declared.factory is None)
    )
    circular = _leads_back(cls)

    def chosen(record: object, info: Any) -> dict[str, object]:
        own: dict[str, Any] = record.__dict__
        known = getattr(record, "_record", None)
        if type(known) is _Key:
            return own
        if info.exclude_unset:
            given = every if known is None else {model.to_python.get(name, name) for name in known}
            return {name: own[name] for name in names if name in own and name in given}
        return {
            name: own[name] if name in own else getattr(record, name)
            for name in names
            if name in own or name not in absent
        }

    def write(record: object, handler: Callable[[Any], object], info: Any) -> object:
        if not isinstance(record, cls):
            raise PydanticSerializationUnexpectedValue(f"expected {cls.__name__}, found {type(record).__name__}")
        members = record.__dict__
        # Pass the attributes unchanged if all fields are there: a new dict would take a quarter of the time.
        if members.keys() != every or info.exclude_unset:
            members = chosen(record, info)
        if not circular:
            return handler(members)
        around = (*_around.get(), id(record))
        token = _around.set(around)
        try:
            return handler({name: _without_return(value, around) for name, value in members.items()})
        finally:
            _around.reset(token)

    return write


def _leads_back(cls: type[object]) -> bool:
    """Whether an instance of the class can contain itself."""
    seen: set[type[Any]] = set()
    waiting = [cls]
    while waiting:
        # Instances of foreign classes, which have no model, cannot be in a cycle.
        model = getattr(waiting.pop(), "__model__", None)
        for relation in () if model is None else model.relations:
            for found in _entities(relation.node):
                if found is cls or issubclass(found, cls) or issubclass(cls, found):
                    return True
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return False


def _without_return(value: object, around: tuple[int, ...]) -> object:
    """Return a value with enclosing entities replaced by the fields of their primary keys."""
    if is_list(value):
        return [_without_return(item, around) for item in value]
    if is_dict(value):
        return {name: _without_return(item, around) for name, item in value.items()}
    return _key_alone(value) if id(value) in around and hasattr(kind_of(value), "__model__") else value


def _key_alone(entity: object) -> object:
    cls: Any = kind_of(entity)
    own: dict[str, Any] = entity.__dict__
    only = _Key((name, own[name]) for name in cls.__model__.pk_fields if name in own)
    alone = cls.__new__(cls)
    alone.__setstate__((only, only))
    return alone
