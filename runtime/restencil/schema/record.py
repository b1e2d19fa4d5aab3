"""Records: immutable classes of typed fields, and their models.

A *record class* declares fields with defaults. Its *model* contains everything that the library needs to know about the
class: JSON names, conversions, defaults. The library reads settings from the model and never from the class, so a field
may have the name of a setting.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, dataclass_transform

from ..base.errors import ConversionError, MissingFieldError, ProcessingError
from ..base.values import (
    LIST,
    MAPPING,
    SCALARS,
    SEQUENCE,
    UNDEFINED,
    is_dict,
    is_items,
    is_list,
    is_mapping,
    kind_of,
    read_only,
)
from .codec import FORMATS, Codec, Format, codec_of, encode_any, format_codec, has_format, sending

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class Field:
    """The declaration of one field of a record class."""

    def __init__(
        self,
        default: Any = UNDEFINED,
        factory: Callable[[], Any] | None = None,
        schema: object = None,
        wire: str | None = None,
        decode: Callable[[Any], Any] | None = None,
        encode: Callable[[Any], Any] | None = None,
        required: bool = False,
        send: str | None = None,
        format: str | None = None,
        param: str | None = None,
        persist: bool | int | None = None,
    ) -> None:
        self.name = ""
        self.annotation: Any = None
        self.owner: type | None = None
        """The class whose body declares the field; an annotation that is a string is evaluated in its module."""
        self.default = default
        self.factory = factory
        self.schema = schema
        self.wire = wire
        self.decode = decode
        self.encode = encode
        self.required = required
        self.send = send
        self.format = format
        self.param = param
        self.persist = persist

    @property
    def in_json(self) -> str:
        """The JSON name of the field."""
        return self.wire or self.name

    def default_value(self) -> object:
        """Return the value of the field if a record does not have it: the default, or a new one of the factory."""
        if self.factory is not None:
            return read_only(self.factory())
        return None if self.default is UNDEFINED else self.default


if TYPE_CHECKING:

    class _Options(typing.TypedDict, total=False):
        schema: Any
        wire: str | None
        decode: Callable[[Any], Any] | None
        encode: Callable[[Any], Any] | None
        send: typing.Literal["pk"] | None
        format: Format | None
        param: str | None
        persist: bool | int | None


if TYPE_CHECKING:

    # The first two make type checkers infer the items of `list[int | None] | None` from the annotation.
    @typing.overload
    def field(*, default: list[T], **options: typing.Unpack[_Options]) -> list[T]: ...
    @typing.overload
    def field(*, default: dict[str, T], **options: typing.Unpack[_Options]) -> dict[str, T]: ...
    @typing.overload
    def field(*, default: T, **options: typing.Unpack[_Options]) -> T: ...
    @typing.overload
    def field(*, default_factory: Callable[[], T], **options: typing.Unpack[_Options]) -> T: ...
    @typing.overload
    def field(*, required: bool = ..., **options: typing.Unpack[_Options]) -> Any: ...


def field(
    *,
    default: object = UNDEFINED,
    default_factory: Callable[[], object] | None = None,
    schema: object = None,
    wire: str | None = None,
    decode: Callable[[Any], object] | None = None,
    encode: Callable[[Any], object] | None = None,
    required: bool = False,
    send: str | None = None,
    format: str | None = None,
    param: str | None = None,
    persist: bool | int | None = None,
) -> Any:
    """Declare a field with options: `field(default=None, wire="joinedAt")`.

    `schema` declares nested entities (like `schema` of the class), `wire` is the JSON name, and `decode` and `encode`
    convert between JSON and Python values; they are never called with None. With `required=True`, reading the field
    raises `MissingFieldError` if the record does not have it, or its entity is not in the store. With `send="pk"`, an
    entity (or its record) in a request body, or each one in a list, is sent as its primary key in its JSON type.

    `format` is the format of datetimes in JSON: `"rfc3339"` (default), `"unix"` (seconds since 1970), `"unix_ms"` or
    `"rfc2822"`. `param` is the path parameter of the call that fills the field if the record does not have it; such a
    field is never sent. `persist=False` keeps the field out of storages; `True` stores it even if its name is that of a
    secret. Raises TypeError for both `default` and `default_factory`, and ValueError for an unknown `send` or `format`,
    or an invalid `persist`.
    """
    if persist is not None:
        check_persist("a field", persist)
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} of a field: expected one of {', '.join(FORMATS)}")
    if send not in (None, "pk"):
        raise ValueError(f"send={send!r} of a field: expected 'pk' or None")
    if default is not UNDEFINED and default_factory is not None:
        raise TypeError("field() takes default or default_factory, not both")
    if required and (default is not UNDEFINED or default_factory is not None):
        raise TypeError("a required field has no default")
    return Field(default, default_factory, schema, wire, decode, encode, required, send, format, param, persist)


def _write_only(
    owner: str, parents: list[Model], own: Mapping[str, object] | None, fields: Mapping[str, Field]
) -> dict[str, Field]:
    """Return the write-only fields of a class and its bases. Raises TypeError for a value that is not a field."""
    found: dict[str, Field] = {}
    for parent in reversed(parents):
        found.update(parent.write_only)
    for name, declared in (own or {}).items():
        if not isinstance(declared, Field) or name in fields:
            why = "is also a field; remove one of them" if name in fields else f"is {declared!r}; use restencil.field()"
            raise TypeError(f"{owner}: {name!r} of write_only {why}")
        declared.name = name
        found[name] = declared
    return found


def _sent_only(declared: Field, value: object) -> object:
    """Encode the value of a write-only field for a request body."""
    if declared.encode is not None:
        return declared.encode(value)
    if has_format(declared.format):
        encode = format_codec(declared.format or "").encode
        return [encode(item) for item in value] if is_items(value) else encode(value)
    schema = None if declared.schema is None else Model.schema_of(declared.schema)
    if schema is None:
        return to_wire(value)
    if declared.send is not None and sending.get() is not None:
        return schema.keys(value)
    return to_wire(value, schema.wire_model)


class _Required:
    """The class attribute of a required field: raises MissingFieldError if the record has none."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Record | None, owner: type[Record]) -> object:
        if instance is None:
            raise AttributeError(f"required field {self._name!r} of {owner.__name__!r} has no default")
        raise MissingFieldError(owner.__name__, identity_of(instance), self._name, self._reason(instance, owner))

    def _reason(self, instance: Record, owner: type[Record]) -> str:
        """Return why there is no value, and which response would have it."""
        json_name = owner.__model__.to_json.get(self._name, self._name)
        record = stored_record(instance) or {}
        stored = record.get(json_name)
        if stored is not None:
            return f"it refers to {stored!r:.100}, which is not in the store; fetch a response with that entity"
        shown = "" if json_name == self._name else f" ({json_name!r} in JSON)"
        return f"no response had it so far{shown}; fetch the whole record, for example with `get`"


class _Made:
    """The class attribute of a field with a default factory, which is called once for each instance."""

    __slots__ = ("_field",)

    def __init__(self, made: Field) -> None:
        self._field = made

    def __get__(self, instance: Record | None, owner: type[Record]) -> object:
        value = self._field.default_value()
        return value if instance is None else vars(instance).setdefault(self._field.name, value)


declared_classes: Final[dict[type[Any], Any]] = {}
"""The models of foreign classes: those decorated with `entity`, which are not subclasses of `Record`."""


class _ClassRecords:
    """Counts models, so that results derived from all models are recomputed when there is a new one."""

    count = 0

    def grew(self) -> None:
        """Count a new model."""
        self.count += 1


class_records: Final = _ClassRecords()


def class_record(kind: type[Any]) -> Model | None:
    """Return the model of a class; None if it is neither a record class nor decorated with `entity`."""
    found: Model | None = getattr(kind, "__model__", None)
    return declared_classes.get(kind) if found is None else found


def is_instance(value: object) -> bool:
    """Whether a value is an instance of a record class, or of a class decorated with `entity`."""
    return isinstance(value, Record) or type(value) in declared_classes


class _Serializer:
    """The attribute that pydantic serializes values of undeclared type with, as in a custom sequence."""

    __slots__ = ()

    def __get__(self, instance: Record | None, owner: type[Record]) -> object:
        if "pydantic" not in sys.modules:
            raise AttributeError("__pydantic_serializer__")
        from .pydantic import serializer_of

        return serializer_of(owner)


def identity_of(instance: Any) -> str | None:
    """Return the primary key of an entity instance; None if it has none, and for all other values."""
    model = class_record(kind_of(instance))
    return None if model is None else model.pk_of_instance(instance)


_SETTINGS: Final = frozenset(
    {
        "key",
        "schema",
        "indexes",
        "pk",
        "wire",
        "decode",
        "encode",
        "abstract",
        "max_entity_depth",
        "write_only",
        "pk_optional",
    }
)
_KEYWORDS: Final = _SETTINGS | {"persist", "read_only"}
"""Settings that are class keywords; `persist` and `read_only` are not settings in the class body."""
_IMMUTABLE: Final = SCALARS | {bytes, tuple, frozenset, complex}


class Model:
    """The model of a record class: its fields, JSON names, conversions and settings."""

    schema_of: ClassVar[Callable[[Any], Any]]
    """Returns the schema that a value declares; set by `notation`, which imports this module."""

    new_node: ClassVar[Callable[[Model], Any]]
    """Creates the schema of a class; set by `record_schema`, which imports this module."""

    def __init__(self, cls: type[Record], settings: dict[str, Any], own: dict[str, Field]) -> None:
        self.cls = cls
        self.settings = settings
        for word, value in settings.items():
            _check_setting(cls.__name__, word, value)
        above = cls.__mro__[1:]
        self.parents: list[Model] = [base.__dict__["__model__"] for base in above if "__model__" in base.__dict__]
        """The models of the base classes, in method resolution order."""
        self._inherited = self._settings_above()
        inherited: dict[str, Field] = {}
        for parent in reversed(self.parents):
            inherited.update(parent.fields)
        self.fields: dict[str, Field] = {**inherited, **own}
        self.write_only: dict[str, Field] = _write_only(
            cls.__name__, self.parents, settings.get("write_only"), self.fields
        )
        """Fields of request bodies that records do not have, by name."""
        self.unread = frozenset(declared.in_json for declared in self.write_only.values())
        """The JSON names of write-only fields."""
        renames: Mapping[str, str] = self.setting("wire", {})
        for name, json_name in renames.items():
            declared = self.fields.get(name)
            if declared is None:
                raise TypeError(f"{cls.__name__}.wire renames {name!r}, which is not a field")
            if declared.wire != json_name:
                renamed = self.fields[name] = copy(declared)
                renamed.wire = json_name
        self.to_json: dict[str, str] = {f.name: f.in_json for f in self.fields.values() if f.in_json != f.name}
        self.to_python: dict[str, str] = {json_name: name for name, json_name in self.to_json.items()}
        self.to_json.update((f.name, f.in_json) for f in self.write_only.values() if f.in_json != f.name)
        names = [declared.in_json for declared in self.fields.values()]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TypeError(f"two fields of {cls.__name__} have the same JSON name {twice!r}; rename one of them")
        self.sends_keys = frozenset(name for name, declared in self.fields.items() if declared.send == "pk")
        """The names of the fields whose entities are sent as primary keys."""
        self.unsent = frozenset(declared.in_json for declared in self.fields.values() if declared.param is not None)
        """The JSON names of fields from path parameters, which are never sent in a body."""
        self.read_only = self._read_only()
        """The JSON names of read-only fields, which are left out when an instance is sent in a body."""
        self._node: object = None

    def _read_only(self) -> frozenset[str]:
        """Return the JSON names of read-only fields, declared or inherited. Raises TypeError for an unknown field."""
        names: Iterable[str] | None = self.settings.get("read_only")
        if names is None:
            return self.parents[0].read_only if self.parents else frozenset()
        for name in names:
            if name not in self.fields:
                raise TypeError(f"{self.cls.__name__}: {name!r} of read_only is not a field")
        return frozenset(self.fields[name].in_json for name in names)

    def _settings_above(self) -> list[Mapping[str, object]]:
        """Return the settings of the base classes in method resolution order, including mixins that are no records."""
        return [
            base.__dict__["__model__"].settings if "__model__" in base.__dict__ else base.__dict__
            for base in self.cls.__mro__[1:-1]
        ]

    def setting(self, name: str, default: object = None) -> Any:
        """Return a setting of the class, or of its nearest base that has it."""
        if name in self.settings:
            return self.settings[name]
        for settings in self._inherited:
            if name in settings:
                return settings[name]
        return default

    @property
    def persist(self) -> int:
        """0 if storages do not keep records of the class, else the version of their stored form, by default 1."""
        levels = [self.settings, *(parent.settings for parent in self.parents)]
        return int(next((settings["persist"] for settings in levels if "persist" in settings), True))

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        """The conversions of fields that are no relations, by Python name; annotations are evaluated at first use."""
        found: dict[str, Codec] = {}
        for name, declared in self.fields.items():
            if name in self.related:
                continue
            decode, encode = self.conversions_of(name)
            built_in = self._built_in(declared) if decode is None or encode is None else None
            if decode is not None or encode is not None or built_in is not None:
                found[name] = Codec(
                    decode or (built_in.decode if built_in else _same),
                    encode or (built_in.encode if built_in else encode_any),
                )
        return found

    def conversions_of(self, name: str) -> tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]:
        """Return the functions that a field, or the class for it, declares to decode and encode its values."""
        declared = self.fields.get(name)
        decode = (declared and declared.decode) or self.setting("decode", {}).get(name)
        return decode, (declared and declared.encode) or self.setting("encode", {}).get(name)

    def _built_in(self, declared: Field) -> Codec | None:
        """Return the conversion for the type of a field. Raises TypeError for a `format` if it is not a datetime."""
        own = None if declared.schema is None else self.codec_of_field(declared)
        if own is not None:
            return own
        kinds = self.kinds
        kind = kinds[declared.name] if declared.name in kinds else self.annotation_of(declared)
        if not has_format(declared.format):
            return codec_of(kind)
        found = codec_of(kind, declared.format)
        if found is None:
            raise TypeError(
                f"format={declared.format!r} of field {declared.name!r} of {self.cls.__name__}: its type contains no "
                "datetime; declare it as `datetime.datetime`, or remove the format"
            )
        return found

    def codec_of_field(self, declared: Field) -> Codec | None:
        """Return the conversion of the schema of a field; None if it has none."""
        schema = Model.schema_of(declared.schema)
        return None if schema is None else Codec(schema.nested, partial(to_wire, model=schema.wire_model))

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The types of the fields without `decode` or `format`, by Python name; None for types that are unknown."""
        decoders: Mapping[str, Any] = self.setting("decode", {})
        return {
            name: self.annotation_of(declared)
            for name, declared in self.fields.items()
            if declared.decode is None and name not in decoders and not has_format(declared.format)
        }

    def annotation_of(self, declared: Field, named: Callable[[str], object] | None = None) -> object:
        """Return the type of a field; None if its annotation cannot be evaluated.

        `named` returns the object of a name that is not in the module; `UNDEFINED` if there is none.
        """
        owner = declared.owner or self.cls
        scope = {**vars(sys.modules.get(owner.__module__, typing))}
        # A field may have the name of its type: names in annotations are those of the module.
        inner = {parameter.__name__: parameter for parameter in getattr(owner, "__type_params__", ())}
        inner |= {name: value for name, value in vars(owner).items() if name not in self.fields}
        holder = types.SimpleNamespace(__annotations__={declared.name: declared.annotation})
        while True:
            try:
                return typing.get_type_hints(holder, scope, inner, include_extras=True)[declared.name]
            except NameError as error:  # such as names that are imported only under TYPE_CHECKING
                missing = error.name or ""
                found = UNDEFINED if named is None or missing in scope else named(missing)
                if found is UNDEFINED:
                    return None
                scope[missing] = found
            except Exception:  # evaluating an annotation may raise anything
                return None

    @cached_property
    def members(self) -> frozenset[str]:
        """Names of class attributes that are not fields; record members of these names are only in `to_dict()`."""
        names = {name for base in self.cls.__mro__ for name in base.__dict__}
        return frozenset(names - self.fields.keys())

    @property
    def node(self) -> Any:
        """The schema of the class: a `RecordSchema` or `EntitySchema`, whose modules import this one."""
        found = self._node
        if found is None:
            found = self._node = Model.new_node(self)
        return found

    @cached_property
    def relations(self) -> tuple[Any, ...]:  # of Relation, which builds on this file
        """The fields that contain entities."""
        found: tuple[Any, ...] = self.node.own_relations()
        return found

    @cached_property
    def related(self) -> dict[str, Any]:
        """The relations by Python name."""
        return {relation.name: relation for relation in self.relations}

    @property
    def pk_fields(self) -> Iterable[str]:
        """The fields of the primary key; plain records have none."""
        return ()

    def pk_of_instance(self, instance: Record) -> str | None:
        """Return the primary key of an instance; None for plain records."""
        return None

    def pk_in(self, record: Mapping[str, object]) -> str | None:
        """Return the primary key in a JSON record, for error messages; None for plain records."""
        return None

    def attributes(self, record: Mapping[str, object], pk: str | None = None) -> dict[str, Any]:
        """Convert a JSON record to instance members: Python names, Python values, and read-only containers.

        Raises ProcessingError if a value cannot be decoded, with the class, primary key, field and value.
        """
        members: dict[str, Any] = {}
        to_python, to_json, hidden = self.to_python, self.to_json, self.members
        for json_name, value in record.items():
            name = to_python.get(json_name)
            if name is None:
                if json_name in hidden or json_name in to_json or json_name in self.unread:
                    continue
                name = json_name
            members[name] = value if type(value) in SCALARS else read_only(value)
        for name, codec in self.codecs.items():
            value = members.get(name)
            if value is not None:
                members[name] = self.decode(name, codec, value, pk, record)
        return members

    def decode(
        self, name: str, codec: Codec, value: object, pk: str | None, record: Mapping[str, object] | None = None
    ) -> Any:
        """Decode a value of a field. Raises ProcessingError with the class, primary key, field and value."""
        try:
            return read_only(codec.decode(value))
        except ConversionError as error:
            if not error.field:
                raise
            raise self._undecoded(f"{name}.{error.field}", error.problem, pk, record) from error.__cause__
        except ProcessingError as error:
            failure = ConversionError(str(error))  # the message has the place
            failure.field = name
            raise failure from error
        except Exception as error:
            raise self._undecoded(name, f"{value!r:.100} ({error!s:.100})", pk, record) from error

    def _undecoded(
        self, name: str, problem: str, pk: str | None, record: Mapping[str, object] | None
    ) -> ConversionError:
        """Return the error for a field, or a member of a field, with a value that cannot be decoded."""
        if pk is None and record is not None:
            pk = self.pk_in(record)
        owner = f"{self.cls.__name__} {pk!r}" if pk is not None else self.cls.__name__
        failure = ConversionError(
            f"field {name!r} of {owner} does not decode: {problem}; give the field the type that the server sends, or "
            "a decode function"
        )
        failure.field, failure.problem = name, problem
        return failure

    def encoded(self, members: Mapping[str, object]) -> dict[str, Any]:
        """Convert members with Python names and values to JSON; members that are JSON already stay unchanged."""
        to_json, codecs, fields, related = self.to_json, self.codecs, self.fields, self.related
        keys = self.sends_keys if self.sends_keys and sending.get() is not None else ()
        out: dict[str, Any] = {}
        for name, value in members.items():
            declared = fields.get(name)
            json_name = to_json.get(name, name)
            if json_name is not name and json_name in members:
                continue  # with both names given, the JSON name takes precedence
            if declared is None:
                declared = fields.get(self.to_python.get(name, ""))
                if declared is None and name in self.write_only and value is not None:
                    out[json_name] = _sent_only(self.write_only[name], value)
                    continue
            if value is None:
                out[json_name] = None
            elif keys and declared is not None and declared.name in keys:
                out[json_name] = self.sent(declared.name, value)
            elif declared is not None and declared.name in codecs:
                out[json_name] = codecs[declared.name].encode(value)
            elif declared is not None and declared.name in related:
                out[json_name] = related[declared.name].codec.encode(value)
            else:
                out[json_name] = to_wire(value)
        if self.unsent and sending.get() is not None:
            return {name: value for name, value in out.items() if name not in self.unsent}
        return out

    def body_of(self, instance: Record) -> object:
        """Convert an instance to a request body: without read-only fields and fields from path parameters.

        An entity keeps its primary key, which identifies it.
        """
        keys = {self.to_json.get(name, name) for name in self.pk_fields}
        left_out = (self.read_only - keys) | self.unsent
        members = {name: value for name, value in wire_members(instance).items() if name not in left_out}
        return members if stored_record(instance) is None else self.with_objects(instance, members)

    def with_objects(self, instance: Record, members: dict[str, Any]) -> dict[str, Any]:
        """Replace stored references by objects or primary keys for a request body, and drop nested collections."""
        for relation in self.relations:
            if relation.in_json in members:
                if relation.is_collection:
                    del members[relation.in_json]
                elif relation.name in self.sends_keys:
                    members.update(self.encoded({relation.name: members[relation.in_json]}))
                elif relation.leads_to_entities and relation.node is not None:
                    members[relation.in_json] = relation.in_body(instance, members[relation.in_json])
        return members

    def sent(self, name: str, value: Any) -> Any:
        """Return the primary keys for the value of a field with `send="pk"`. Raises ValueError if there are none."""
        relation = self.related.get(name)
        if relation is not None and relation.node is not None and relation.leads_to_entities:
            with suppress(ValueError):  # raised below, with a message of the field
                found = relation.node.keys(value)
                if found is not UNDEFINED:
                    return found
        if isinstance(value, SEQUENCE):
            return [self.sent(name, item) for item in value]
        value = encode_any(value)
        if type(value) in SCALARS:
            return value
        node = _entity_node(type(value)) if isinstance(value, Record) else _entity_node(self.kinds.get(name))
        try:
            if node is not None and isinstance(value, (Record, MAPPING)):
                return node.keys(value)
            reason = f"{value!r:.100} has none"
        except ValueError as error:
            reason = str(error)
        raise ValueError(
            f"field {name!r} of {self.cls.__name__} is sent as a primary key, but {reason}: pass the key itself, or an "
            "entity that has one"
        )


def _entity_node(kind: object) -> Any:
    """Return the schema of the entity class in an annotation; None if there is none."""
    model: Model | None = getattr(kind, "__model__", None)
    if model is not None:
        return model.node.entities.get(None)
    nodes: list[Any] = [_entity_node(argument) for argument in typing.get_args(kind)]
    return next((node for node in nodes if node is not None), None)


def check_persist(owner: str, value: Any) -> None:
    """Raise ValueError for a `persist` that is neither a boolean nor a positive integer."""
    if not isinstance(value, int) or value < (0 if isinstance(value, bool) else 1):
        raise ValueError(f"persist of {owner} is {value!r:.80}; expected a boolean or a positive integer")


def _check_setting(owner: str, word: str, value: Any) -> None:
    expected = None
    if word == "key" and not (isinstance(value, str) and value):
        expected = "a string, the name of the table"
    elif word in ("schema", "wire", "decode", "encode") and not isinstance(value, Mapping):
        expected = "a mapping from field names"
    elif word == "indexes" and (isinstance(value, str) or not isinstance(value, Iterable)):
        expected = "a list or tuple of field names"
    elif word == "persist":
        check_persist(owner, value)
    if expected is not None:
        raise TypeError(
            f"{owner}.{word} is a setting of the class: expected {expected}, found {value!r:.80}; a field of that name "
            "has an annotation"
        )


def _same(value: Any) -> object:
    return value


def to_wire(value: Any, model: Any = None) -> Any:
    """Convert a value to JSON names and JSON values.

    With a record class or an `Object` schema as `model` (or `[model]` for lists), names are mapped by its `wire` and
    values by its `encode`; a value that is JSON already is returned unchanged. Instances of record classes are
    converted to the members that were set, without defaults.
    """
    if model is not None:
        # A union selects the type of a value itself.
        encode: Callable[[Any], Any] | None = getattr(model, "encode_one", None)
        if encode is not None:
            return encode(value)
    if isinstance(value, Record):
        return _record_to_wire(value)
    if isinstance(model, LIST):
        model = model[0] if model else None
    if isinstance(value, MAPPING):
        encoder = getattr(model, "__model__", model)
        if encoder is not None and hasattr(encoder, "encoded"):
            return encoder.encoded(value)
        if all(type(item) in SCALARS for item in value.values()):
            return value
        return {name: to_wire(item) for name, item in value.items()}
    if isinstance(value, SEQUENCE):
        return [item if type(item) in SCALARS else to_wire(item, model) for item in value]
    if type(value) in SCALARS:
        return value
    return to_wire(list(value), model) if is_items(value) else _other_to_wire(value, model)


def _record_to_wire(value: Record) -> object:
    """Convert an instance to JSON, as a request body if one is being encoded."""
    if sending.get() is not None:
        return type(value).__model__.body_of(value)
    return wire_members(value)


def wire_members(instance: Record) -> dict[str, Any]:
    """Return the members of an instance with JSON names and values, including those that bodies leave out."""
    record = stored_record(instance)
    return type(instance).__model__.encoded(instance.__dict__) if record is None else dict(record)


def _other_to_wire(value: object, model: object) -> object:
    """Convert a value that is neither a container nor a scalar to JSON."""
    encoded = encode_any(value)
    if encoded is not value:
        return encoded
    declared = declared_classes.get(kind_of(value))
    if declared is not None:
        return declared.wire_form(value)
    from .foreign import members_of

    members = members_of(value, to_wire)
    return value if members is UNDEFINED else to_wire(members, model)


def annotations_in(namespace: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the annotations in the namespace of a class; on Python 3.14 unknown names are forward references."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is None:
            return {}
        return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    # Before 3.14, and under `from __future__ import annotations` in every version.
    found: Mapping[str, Any] = namespace.get("__annotations__", {})
    return found


def _is_class_variable(annotation: object) -> bool:
    if isinstance(annotation, str):
        return re.match(r"\s*(\w+\.)*ClassVar\b", annotation) is not None
    return typing.get_origin(annotation) is typing.ClassVar or annotation is typing.ClassVar


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class RecordMeta(type):
    """The metaclass of records: it collects the fields of a class and prevents rebinding of its settings."""

    __model__: Model

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **keywords: Any) -> RecordMeta:
        settings = {word: keywords.pop(word) for word in list(keywords) if word in _KEYWORDS}
        annotations = annotations_in(namespace)
        own: dict[str, Field] = {}
        root = str(namespace.get("__module__", "")).startswith("restencil.")  # Record and Entity have no fields
        for member, annotation in annotations.items():
            if root or member.startswith("__") or _is_class_variable(annotation):
                continue
            default = namespace.get(member, UNDEFINED)
            declared = default if isinstance(default, Field) else Field(default)
            declared.name, declared.annotation = member, annotation
            namespace[member] = _class_default(declared)
            own[member] = declared
        for word in _SETTINGS - own.keys() - settings.keys():
            if word in namespace and not root:
                settings[word] = namespace[word]
        cls = super().__new__(mcls, name, bases, namespace, **keywords)
        for declared in own.values():
            declared.owner = cls
        _refuse_member_names(cls, own)
        type.__setattr__(cls, "__model__", cls.__make_model__(settings, own))
        class_records.grew()
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **keywords: Any) -> None:
        super().__init__(name, bases, namespace)

    def __make_model__(cls, settings: dict[str, Any], own: dict[str, Field]) -> Model:
        return Model(typing.cast("type[Record]", cls), settings, own)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls.__refuse_rebinding__(name)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls.__refuse_rebinding__(name)
        super().__delattr__(name)

    def __refuse_rebinding__(cls, name: str) -> None:
        if name in _SETTINGS or name in cls.__model__.fields or name in cls.__hooks__():
            raise AttributeError(
                f"{cls.__name__}.{name} is fixed when the class is created; declare a subclass with another {name!r}"
            )

    def __hooks__(cls) -> Iterable[str]:
        """Return the names of methods that the library calls; they cannot be rebound."""
        return ("from_js",)


def _class_default(declared: Field) -> object:
    if declared.required:
        return _Required(declared.name)
    if declared.factory is None:
        default = declared.default
        if default is UNDEFINED:
            return None
        if type(default) in _IMMUTABLE or isinstance(default, Record):
            return default
        if type(default) in (list, dict):
            declared.default = read_only(default)
            return declared.default
        from copy import deepcopy

        try:
            hash(default)
        except TypeError:
            declared.factory = lambda: deepcopy(default)
        else:
            if not hasattr(kind_of(default), "__get__"):
                return default  # a function in the class would become a method
    return _Made(declared)


def _refuse_member_names(cls: RecordMeta, own: Mapping[str, Field]) -> None:
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("restencil."):
            for name in own:
                if name in base.__dict__ and name not in _SETTINGS:
                    raise TypeError(
                        f"field {name!r} of {cls.__name__} is named like a member of {base.__name__}; "
                        f"call it {name + '_'!r} and declare it with field(wire={name!r})"
                    )


class Record(metaclass=RecordMeta):
    """An immutable object of typed fields; `objects` of a specification are generated as subclasses.

    Instances are created from keywords with Python names and values, or by `from_js` from a JSON object.
    """

    __slots__ = ("__dict__", "_record")
    __pydantic_serializer__ = _Serializer()
    __match_args__ = ()  # fields are keyword-only: a new one must not change what a pattern means

    if TYPE_CHECKING:
        _record: ClassVar[Mapping[str, Any]]  # a slot, and no field

    def __init__(self, /, **members: Any) -> None:
        model = type(self).__model__
        unknown = members.keys() - model.fields.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {_suggest(min(unknown), model.fields)}")
        missing = [name for name, declared in model.fields.items() if declared.required and name not in members]
        if missing:
            raise TypeError(f"{type(self).__name__} needs the field {missing[0]!r}, which has no default")
        set_members(self, {name: read_only(value) for name, value in members.items()})
        if any(declared.factory is not None for declared in model.fields.values()):
            set_record(self, model.encoded(members))  # values of factories, created later, do not count as set

    @classmethod
    def from_js(cls, props: Mapping[str, object] | None = None) -> Self:
        """Create an instance from JSON members, declared or not; absent fields have their defaults.

        Nested objects become instances too. Raises ProcessingError if a value cannot be decoded.
        """
        instance = cls.__new__(cls)
        record: Mapping[str, Any] = dict(props) if props else {}
        model = cls.__model__
        members = model.attributes(record)
        for relation in model.relations:
            value = record.get(relation.in_json)
            if value is not None:
                members[relation.name] = model.decode(relation.name, relation.codec, value, None, record)
        set_members(instance, members)
        set_record(instance, record)
        return instance

    @classmethod
    def from_dict(cls, props: Mapping[str, object] | None = None) -> Self:
        """Create an instance from JSON members; the same as `from_js`."""
        return cls.from_js(props)

    def to_dict(self, *, deep: bool = False, wire: bool = False) -> dict[str, Any]:
        """Return a dict of the members with Python names, including defaults and undeclared members.

        A required field that is absent is left out. With `deep`, nested records, lists and dicts are converted too; an
        entity inside itself is converted to the fields of its primary key. With `wire`, the dict has JSON names and
        values, and absent fields without a default are left out.
        """
        if deep or wire:
            from .plain import Plain

            return Plain(to_wire, deep=deep, names=wire, values=wire).members(self)
        model = type(self).__model__
        own = self.__dict__
        members: dict[str, Any] = {
            name: own[name] if name in own else getattr(self, name)
            for name, declared in model.fields.items()
            if name in own or not declared.required
        }
        hidden = model.members  # the attributes of an instance include values of cached properties
        members.update((name, value) for name, value in own.items() if name not in members and name not in hidden)
        record = stored_record(self)
        if record is not None and record is not self.__dict__:
            for json_name, value in record.items():
                if json_name in model.unread:
                    continue
                if json_name not in model.to_python and json_name not in members and json_name not in model.fields:
                    members[json_name] = read_only(value)
        return members

    def to_json(self, *, wire: bool = True, indent: int | None = None) -> str:
        """Encode the record as a JSON string, with nested records: `article.to_json(indent=2)`.

        Absent fields without a default are left out. An entity inside itself is encoded as the fields of its primary
        key, and an entity that is not in the store as its primary key. `wire=False` writes Python names, which
        `from_json` does not read. Raises TypeError or ValueError for a value without a JSON form.
        """
        from .plain import json_text

        return json_text(self, to_wire, wire, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Create an instance from a JSON string with JSON names, as `to_json` writes it; it is not put in a store.

        Raises ValueError for JSON that is not such an object, and ProcessingError if a value cannot be decoded.
        """
        from .plain import json_object

        return cls.from_js(json_object(text, cls.__name__, cls.__model__.to_json))

    def replace(self, /, **changes: object) -> Self:
        """Return a copy with other values of the given fields. Raises TypeError for an unknown field."""
        model = type(self).__model__
        unknown = changes.keys() - model.fields.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {_suggest(min(unknown), model.fields)}")
        copied = type(self).__new__(type(self))
        set_members(copied, {**self.__dict__, **{name: read_only(value) for name, value in changes.items()}})
        record = stored_record(self)
        if record is not None:
            set_record(copied, {**record, **model.encoded(changes)})
        return copied

    __replace__ = replace

    @classmethod
    def __codec__(cls) -> Codec:
        def decode(value: object) -> Any:
            return cls.from_js(value) if is_mapping(value) else value

        def encode(value: Any) -> Any:
            return to_wire(value, cls)

        return Codec(decode, encode)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from .pydantic import core_schema_of

        return core_schema_of(cls, handler.generate_schema)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        from .pydantic import json_schema_of

        return json_schema_of(cls, core, handler)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} is read-only: all readers share one copy; "
            f".replace({name}=…) gives a changed one"
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    if not TYPE_CHECKING:  # for type checkers a field that is not declared is a mistake

        def __getattr__(self, name: str) -> Any:
            if name == "_record" or name.startswith("__"):
                raise AttributeError(name)
            model = type(self).__model__
            if name in model.fields or name in model.members:
                return object.__getattribute__(self, name)  # it exists, so raise its own error
            names = [*model.fields, *self.__dict__]
            raise AttributeError(f"{type(self).__name__} has no field {_suggest(name, names)}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return _equal_members(self.to_dict(), other.to_dict())

    def __hash__(self) -> int:
        raise TypeError(f"unhashable: {type(self).__name__} has no primary key")

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={_shown(value)}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({members})"

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        """Return the members in order for rich; nested entities are shown as their primary keys."""
        return ((name, _brief(value)) for name, value in self.to_dict().items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the members in order in IPython; nested entities are shown as their primary keys."""
        name = type(self).__name__
        with printer.group(len(name) + 1, f"{name}(", ")"):
            for place, (member, value) in enumerate(self.to_dict().items()):
                if place:
                    printer.text(",")
                    printer.breakable()
                printer.text(f"{member}=")
                printer.pretty(_brief(value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self),), (self.__dict__, stored_record(self))

    def __setstate__(self, state: tuple[dict[str, Any], Mapping[str, Any] | None]) -> None:
        members, record = state
        set_members(self, dict(members))
        if record is not None:
            set_record(self, record)

    def __dir__(self) -> Iterator[str]:
        return iter(sorted({*super().__dir__(), *type(self).__model__.fields}))


# Instances are created from responses in these steps and not by `__init__`, which checks keywords of users.
new_instance: Final[Callable[[type[Any]], Any]] = object.__new__
set_members: Final[Callable[[Any, dict[str, Any]], None]] = Record.__dict__["__dict__"].__set__
set_record: Final[Callable[[Any, Mapping[str, Any]], None]] = Record.__dict__["_record"].__set__
_get_record: Final[Callable[[Any], Mapping[str, Any]]] = Record.__dict__["_record"].__get__


def stored_record(instance: Record) -> Mapping[str, object] | None:
    """Return the JSON record that an instance was created from; None if it was created from keywords."""
    try:
        return _get_record(instance)
    except AttributeError:
        return None


def _blank(cls: type[Record]) -> Record:
    return cls.__new__(cls)


def _suggest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    return f"{name!r}; did you mean {near[0]!r}?" if near else f"{name!r}"


def _equal_members(left: object, right: object) -> bool:
    if left is right:
        return True
    if isinstance(left, Record):
        if type(left) is not type(right):
            return False
        pk = identity_of(left)
        return left == right if pk is None else pk == identity_of(right)
    if is_dict(left):
        return (
            is_dict(right)
            and left.keys() == right.keys()
            and all(_equal_members(value, right[name]) for name, value in left.items())
        )
    if is_list(left):
        return is_list(right) and len(left) == len(right) and all(map(_equal_members, left, right))
    return bool(left == right)


class _Brief:
    """Replaces a nested entity for pretty printers, so that they do not print its members."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _brief(value: Any) -> object:
    """Return a value for pretty printers, with nested entities replaced by their primary keys."""
    if isinstance(value, Record):
        return value if identity_of(value) is None else _Brief(_shown(value))
    if is_list(value):
        return [_brief(item) for item in value]
    if is_dict(value):
        return {name: _brief(item) for name, item in value.items()}
    return value


def _shown(value: Any, limit: int = 5) -> str:
    if isinstance(value, Record):
        pk = identity_of(value)
        return f"<{type(value).__name__}>" if pk is None else f"<{type(value).__name__} {pk}>"
    if is_list(value):
        shown = [_shown(item) for item in value[:limit]]
        more = [f"… {len(value) - limit} more"] if len(value) > limit else []
        return f"[{', '.join(shown + more)}]"
    if is_dict(value):
        pairs = [f"{name!r}: {_shown(item)}" for name, item in list(value.items())[:limit]]
        more = [f"… {len(value) - limit} more"] if len(value) > limit else []
        return f"{{{', '.join(pairs + more)}}}"
    return repr(value)
