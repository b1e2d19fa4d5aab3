"""Unions of types: `OneOf` selects the type of a value by its JSON type, its constants and its fields.

A value of no declared type is returned unchanged, so that reads never fail because of it.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from ..base.values import DICT, MAPPING, SCALARS, is_mapping, is_sequence, kind_of, read_only
from .codec import codec_of
from .containers import REFERENCE, List, Object, Polymorphic, Values, known_alternative
from .notation import Conversion, Lazy, schema_of
from .protocol import Echo, EntityNode, Reader, Schema, ValueTypes, Writer, nested_value, title_of
from .record import Model, Record, class_record, is_instance, to_wire
from .record_schema import RecordSchema

TEXT: Final = "text"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
LIST_KIND: Final = "list"
OBJECT: Final = "object"

_KINDS: Final[Mapping[type[Any], str]] = {str: TEXT, int: NUMBER, float: NUMBER, bool: BOOLEAN, list: LIST_KIND}


def constants_of(model: Model) -> Mapping[str, object]:
    """Return the fields of a class that are a `Literal` of one value, as JSON name → value."""
    return {
        model.to_json.get(name, name): typing.get_args(kind)[0]
        for name, kind in model.kinds.items()
        if is_constant(kind)
    }


def needed_of(model: Model) -> frozenset[str]:
    """Return the JSON names of the fields of a class that are required or have a default other than None."""
    return frozenset(
        declared.in_json for declared in model.fields.values() if declared.required or declared.default is not None
    )


def is_constant(kind: object) -> bool:
    """Whether an annotation is a `Literal` of one value."""
    return typing.get_origin(kind) is typing.Literal and len(typing.get_args(kind)) == 1


class Alternative:
    """One type of a union: the JSON types that it can have, and how its values are decoded and encoded."""

    __slots__ = ("constants", "decode", "encode", "kinds", "model", "name", "needed", "schema")

    def __init__(
        self,
        name: str,
        kinds: Iterable[str],
        *,
        schema: Schema | None = None,
        decode: Callable[[Any], Any] | None = None,
        encode: Callable[[Any], Any] | None = None,
        model: Any = None,
    ) -> None:
        self.name = name
        self.kinds = frozenset(kinds)
        self.schema = schema
        self.decode = decode
        """Decodes a scalar; raises for a value that is not of the type."""
        self.encode = encode
        self.model = model
        """The model that converts objects to JSON."""
        self.constants: Mapping[str, Any] = {}
        self.needed: frozenset[str] = frozenset()
        if isinstance(model, Model):
            self.constants, self.needed = constants_of(model), needed_of(model)
        elif isinstance(model, Object):
            self.constants = {model.wire.get(key, key): value for key, value in model.constants.items()}
            self.needed = frozenset(model.wire.get(key, key) for key in model.required) | self.constants.keys()

    @property
    def is_entity(self) -> bool:
        """Whether values are entities, which are stored in a table."""
        return isinstance(self.schema, EntityNode)

    def has_constants(self, value: Mapping[str, object]) -> bool:
        """Whether the type has constants and a value has all of them."""
        return bool(self.constants) and all(_same(value.get(key), fixed) for key, fixed in self.constants.items())

    def may_be(self, value: Mapping[str, object]) -> bool:
        """Whether a value contradicts no constant of the type."""
        return all(key not in value or _same(value[key], fixed) for key, fixed in self.constants.items())


class OneOf(Polymorphic):
    """A value of one of several types: `schema.OneOf([Card, Bank, str])`.

    Types are record classes and entities, `str`, `int`, `float`, `bool`, types with a built-in conversion
    (`datetime.datetime`, `uuid.UUID`), `Literal[…]` for constants and enums, `list` and `dict`, and all schemas of
    lists, maps and objects. The JSON type of a value selects its type; of several scalar types it is the first that
    decodes the value. Objects are distinguished by `attribute` (a JSON name), whose value selects a class through
    `values`, else through the constants of the classes, else by their names. Without `attribute` they are distinguished
    by their constants (fields that are a `Literal` of one value), then by the fields that may not be None. A value of
    no type is returned unchanged.

    Raises TypeError if `alternatives` is not a list of types.
    """

    takes_scalars = True

    def __init__(
        self, alternatives: Iterable[object], attribute: str = "", values: Mapping[Any, Any] | None = None
    ) -> None:
        if not is_sequence(alternatives) or not alternatives:
            raise TypeError(f"OneOf takes a list of types, such as [Card, Bank, str]; found {alternatives!r}")
        if values and not attribute:
            raise TypeError("OneOf: 'values' needs 'attribute', the field that distinguishes objects; set it")
        self.raw: tuple[Any, ...] = tuple(alternatives)
        self.attribute = attribute
        self._raw_values = dict(values or {})

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The types, resolved at first use."""
        return tuple(map(_alternative, self.raw))

    @cached_property
    def mapping(self) -> dict[Any, Schema | None]:
        return {one.name: one.schema for one in self.alternatives if one.is_entity}

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[Alternative, ...]]:
        kinds = {kind for one in self.alternatives for kind in one.kinds}
        found = {kind: tuple(one for one in self.alternatives if kind in one.kinds) for kind in kinds}
        if len(self.mapping) == 1:  # a string or number is the primary key of the only entity
            keyed = next(one for one in self.alternatives if one.is_entity)
            for kind in (TEXT, NUMBER):
                found.setdefault(kind, (keyed,))
        return found

    def select(self, value: object, parent: object, key: str | None) -> tuple[object, Schema | None]:
        found = self.of(value)
        return (None, None) if found is None or not found.is_entity else (found.name, found.schema)

    @cached_property
    def _by_mark(self) -> Mapping[tuple[type[Any], object], Alternative]:
        """The alternative of each value of the attribute: through `values`, else constants, else names."""
        objects = [one for one in self.alternatives if OBJECT in one.kinds]
        marks: dict[tuple[type[Any], object], Alternative] = {(str, one.name): one for one in reversed(objects)}
        for one in reversed(objects):
            if self.attribute in one.constants:
                fixed = one.constants[self.attribute]
                marks[type(fixed), fixed] = one
        for value, raw in self._raw_values.items():
            raw = raw.raw if isinstance(raw, Lazy) else raw
            for place, one in zip(self.raw, self.alternatives, strict=True):
                if (place.raw if isinstance(place, Lazy) else place) is raw:
                    marks[type(value), value] = one
        return marks

    # -- which one a value is ------------------------------------------------------------------------------------------

    def of(self, value: Any) -> Alternative | None:
        """Return the type of a JSON value; None if it is none of the declared types."""
        if isinstance(value, MAPPING):
            return self._object(value)
        kind = _KINDS.get(kind_of(value), LIST_KIND if is_sequence(value) else "")
        candidates = self._by_kind.get(kind, ())
        if kind == LIST_KIND:
            return candidates[0] if candidates else None
        return next((one for one in candidates if _decodes(one, value)), None)

    def _object(self, value: Mapping[str, object]) -> Alternative | None:
        candidates = self._by_kind.get(OBJECT, ())
        if len(candidates) < 2:
            return candidates[0] if candidates else None
        if self.attribute:
            mark: Any = value.get(self.attribute)
            kind = kind_of(mark)
            return self._by_mark.get((kind, mark)) if kind in SCALARS else None
        marked = (one for one in candidates if one.has_constants(value))
        whole = (one for one in candidates if one.needed <= value.keys() and one.may_be(value))
        return next(marked, None) or next(whole, None)

    def _sent(self, members: Mapping[str, object]) -> Alternative | None:
        """Return the type of an object in a request body, which may have Python names and omit fields."""
        found = self._object(members)
        if found is not None:
            return found
        candidates = self._by_kind.get(OBJECT, ())
        encoded = [(one, one.model.encoded(members)) for one in candidates if hasattr(one.model, "encoded")]
        for one, record in encoded:
            if self._object(record) is one:
                return one
        return next((one for one, record in encoded if one.may_be(record) and record.keys() <= _names(one)), None)

    # -- traits --------------------------------------------------------------------------------------------------------

    def children(self) -> Iterable[Schema | None]:
        return [one.schema for one in self.alternatives]

    def fingerprint(self, of: Callable[[Schema | None], object]) -> object:
        return ["one of", self.attribute, {one.name: of(one.schema) for one in self.alternatives}]

    def value_types(self, of: ValueTypes) -> None:
        for one in self.alternatives:
            of.value(one.model if one.schema is None else one.schema)

    @property
    def title(self) -> str:
        return ";".join(title_of(one.schema, one.name) for one in self.alternatives)

    def encode_one(self, value: Any) -> object:
        """Encode a value as JSON; the constants of its class are added to an instance."""
        if isinstance(value, Record) or is_instance(value):
            model = class_record(kind_of(value))
            record = to_wire(value)
            return {**constants_of(model), **record} if model is not None and is_mapping(record) else record
        if isinstance(value, MAPPING):
            found = self._sent(value)
            if found is not None and hasattr(found.model, "encoded"):
                return found.model.encoded(value)
            return {name: to_wire(item) for name, item in value.items()}
        if value is None or type(value) in SCALARS:
            return value
        if is_sequence(value):
            listed = (one for one in self._listed() if one.schema is not None)
            return to_wire(value, next((one.schema.wire_model for one in listed if one.schema is not None), None))
        for one in self.alternatives:
            encoded = value if one.encode is None else one.encode(value)
            if encoded is not value:
                return encoded
        return to_wire(value)

    def _listed(self) -> tuple[Alternative, ...]:
        return tuple(one for one in self.alternatives if LIST_KIND in one.kinds)

    def nested(self, value: object) -> object:
        found = self.of(value)
        if found is None:
            return read_only(value)
        if found.schema is not None and (type(value) not in SCALARS or found.is_entity):
            return nested_value(found.schema, value)
        return read_only(value) if found.decode is None else found.decode(value)

    # -- normalization and denormalization -----------------------------------------------------------------------------

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        found = self.of(value)
        if found is None or found.schema is None:
            return self._literal(value)
        stored = writer.visit(found.schema, value, parent, key)
        return {"id": stored, "schema": found.name} if found.is_entity else self._literal(stored)

    def normalize_scalar(self, value: object, writer: Writer) -> object:
        found = self.of(value)
        if found is None or not found.is_entity or found.schema is None or value == "":
            return value
        return {"id": found.schema.normalize_scalar(value, writer), "schema": found.name}

    def _literal(self, value: Any) -> object:
        """The stored form of a value that is no entity; one that looks like a reference is wrapped."""
        if self.mapping and isinstance(value, DICT) and value.keys() == REFERENCE:
            return {"id": value, "schema": None}
        return value

    def shown(self, stored: Any, reader: Reader) -> Any:
        if self.mapping and isinstance(stored, DICT) and stored.keys() == REFERENCE and stored["schema"] is None:
            stored = stored["id"]
        return self._shown(stored, reader)

    def echo(self, value: Any, echo: Echo) -> Any:
        if is_instance(value):
            schema = schema_of(kind_of(value))
            return value if schema is None else echo.visit(schema, value)
        return self._shown(value, echo)

    def _shown(self, value: Any, visitor: Reader | Echo) -> Any:
        found = self.of(value)
        if found is None:
            return read_only(value)
        if type(value) in SCALARS and not found.is_entity:
            return value if found.decode is None else found.decode(value)
        return read_only(value) if found.schema is None else visitor.visit(found.schema, value)

    def query_key(self, args: tuple[object, ...], reader: Reader) -> object:
        return known_alternative(self, self.mapping, args, reader)


# -- declared types ----------------------------------------------------------------------------------------------------


def _same(value: Any, fixed: object) -> bool:
    """Whether two scalars are equal in JSON: `True` is not 1."""
    return isinstance(value, bool) is isinstance(fixed, bool) and bool(value == fixed)


def _names(one: Alternative) -> frozenset[str]:
    """The JSON names that an object of the type can have."""
    model: Any = one.model
    if isinstance(model, Model):
        return model.unread.union(declared.in_json for declared in model.fields.values())
    if isinstance(model, Object):
        return frozenset(model.wire.get(name, name) for name in model.definition)
    return frozenset()


def _decodes(one: Alternative, value: object) -> bool:
    if one.decode is None:
        return True
    try:
        one.decode(value)
    except Exception:  # conversions of users may raise anything
        return False
    return True


def _alternative(raw: Any) -> Alternative:
    """Return the alternative for a declared type."""
    raw = raw.raw if isinstance(raw, Lazy) else raw
    if raw in _SCALARS if isinstance(raw, type) else raw is Any:
        kinds, decode = _SCALARS[raw]
        return Alternative(getattr(raw, "__name__", "Any"), kinds, decode=decode)
    if typing.get_origin(raw) is typing.Literal:
        return _literals(typing.get_args(raw), str(raw))
    if isinstance(raw, type) and issubclass(raw, enum.Enum):
        return _members(raw)
    codec = codec_of(raw) if isinstance(raw, type) and class_record(raw) is None else None
    if codec is not None:
        return Alternative(raw.__name__, (TEXT, NUMBER), decode=codec.decode, encode=codec.encode)
    schema = schema_of(raw)
    if isinstance(schema, EntityNode | RecordSchema):
        return Alternative(raw.__name__, (OBJECT,), schema=schema, model=class_record(schema.cls))
    if isinstance(schema, Conversion):
        return Alternative(schema.title, (TEXT, NUMBER), decode=schema.converted, encode=schema.encode)
    if isinstance(schema, List):
        return Alternative("list", (LIST_KIND,), schema=schema)
    if isinstance(schema, Values | Object):
        return Alternative("object", (OBJECT,), schema=schema, model=schema.wire_model)
    raise TypeError(f"OneOf: {raw!r} is not a type; expected a class, Literal[…], a list, or a schema of one")


def _whole(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not an integer")
    return int(value)


_SCALARS: Final[Mapping[Any, tuple[tuple[str, ...], Callable[[Any], Any] | None]]] = {
    str: ((TEXT,), None),
    int: ((NUMBER,), _whole),
    float: ((NUMBER,), None),
    bool: ((BOOLEAN,), None),
    list: ((LIST_KIND,), None),
    dict: ((OBJECT,), None),
    Any: ((TEXT, NUMBER, BOOLEAN, LIST_KIND, OBJECT), None),
}


def _literals(values: tuple[object, ...], name: str) -> Alternative:
    """Return the alternative for a `Literal`; unknown values are left to the types declared after it."""

    def decode(value: object) -> Any:
        if not any(_same(value, known) for known in values):
            raise ValueError(f"{value!r} is not one of the values")
        return value

    return Alternative(name, {_KINDS[type(value)] for value in values}, decode=decode)


def _members(kind: type[enum.Enum]) -> Alternative:
    codec = codec_of(kind)
    values = {_KINDS[type(member.value)] for member in kind if type(member.value) in _KINDS}
    return Alternative(kind.__name__, values, decode=kind, encode=None if codec is None else codec.encode)
