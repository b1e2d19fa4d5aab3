"""The decorator `entity`, which makes classes of other libraries entities.

The class is not changed; its model is stored in `declared_classes`. Records are stored like those of other entities,
without running code of the class. Readers get instances that the constructor or validator of the class creates, once
for each changed record.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from ..base.errors import ConversionError, ProcessingError
from ..base.values import (
    INVALID,
    SCALARS,
    UNDEFINED,
    holds_containers,
    is_list,
    is_mapping,
    is_sequence,
    read_only,
)
from .codec import MAPS, Codec, bare, codec_of, dict_codec, is_union, item_of, list_codec, takes_none
from .containers import Values
from .entity import EntityModel
from .foreign import Attrs, Dataclass, Kind, Made, Pydantic, kind_of_class, members_of
from .notation import Conversion, notation
from .protocol import Reader, Schema, nested_value
from .record import Field, RecordMeta, annotations_in, class_record, class_records, declared_classes, to_wire
from .relation import Relation, leads_to_entities

T = TypeVar("T")


# -- the decorator ---------------------------------------------------------------------------------------------------


if typing.TYPE_CHECKING:

    class _Options(typing.TypedDict, total=False):
        pk: str | Sequence[str]
        key: str | None
        wire: Mapping[str, str] | None
        schema: Mapping[str, Any] | None
        indexes: Iterable[str]
        process: Callable[[Any, Any, str | None, tuple[Any, ...]], Mapping[str, Any] | None] | None
        validate: Callable[[Mapping[str, Any]], str | None] | None
        merge: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]] | None
        allow_mutable: bool
        persist: bool | int


if typing.TYPE_CHECKING:

    @typing.overload
    def entity(cls: type[T], /, **options: typing.Unpack[_Options]) -> type[T]: ...
    @typing.overload
    def entity(**options: typing.Unpack[_Options]) -> Callable[[type[T]], type[T]]: ...


def entity(
    cls: type[T] | None = None,
    /,
    *,
    pk: str | Sequence[str] = "id",
    key: str | None = None,
    wire: Mapping[str, str] | None = None,
    schema: Mapping[str, Any] | None = None,
    indexes: Iterable[str] = (),
    process: Callable[..., Mapping[str, Any] | None] | None = None,
    validate: Callable[..., str | None] | None = None,
    merge: Callable[..., Mapping[str, Any]] | None = None,
    allow_mutable: bool = False,
    persist: bool | int = True,
) -> Any:
    """Make a dataclass, attrs class, pydantic model or msgspec struct an entity; the class itself is not changed.

        @restencil.entity(key="Article")
        @dataclass(frozen=True)
        class Article:
            id: int
            title: str = ""

        restencil.entity(ThirdPartyModel, pk="uid")

    `pk` is the field (or fields) of the primary key, and `key` the name of the table (default: the name of the class).
    `wire` maps field names to JSON names (default: aliases of the class, or `metadata={"wire": …}`). `schema` maps
    fields to the schemas of the entities they refer to (default: from the annotations). `process`, `validate` and
    `merge` are the hooks of an `Entity`, and get records with JSON names and values. The class must be frozen, since
    all readers share one instance; `allow_mutable=True` accepts other classes, whose instances you must not change.
    `persist` is the class keyword of an `Entity`. Raises TypeError for an unsupported class or an unknown field.
    """
    settings: dict[str, Any] = {
        "pk": tuple(pk) if is_sequence(pk) else pk,
        "indexes": indexes if isinstance(indexes, str) else (*indexes,),
        "persist": persist,
    }
    settings.update(
        (name, value) for name, value in (("key", key), ("wire", wire), ("schema", schema)) if value is not None
    )
    hooks = {"process": process, "validate": validate, "merge": merge}

    def declare(declared: type[T]) -> type[T]:
        declared_classes[declared] = _model_of(declared, settings, hooks, allow_mutable)
        class_records.grew()
        return declared

    return declare if cls is None else declare(cls)


def _model_of(cls: Any, settings: dict[str, object], hooks: Mapping[str, object], allow_mutable: bool) -> DeclaredModel:
    name = getattr(cls, "__name__", repr(cls))
    if isinstance(cls, RecordMeta) or cls in declared_classes:
        raise TypeError(f"{name} is an entity (or object) already")
    kind = kind_of_class(cls)
    if kind is None:
        raise TypeError(
            f"{name} is not a dataclass, attrs class, pydantic model or msgspec struct: put @entity above the "
            "decorator that turns it into one, or declare it as a subclass of restencil.Entity"
        )
    if not (allow_mutable or kind.is_frozen(cls)):
        raise TypeError(
            f"instances of {name} are mutable, but shared by all readers: make the {kind.title} frozen "
            f"({kind.frozen_by}), or pass allow_mutable=True and never change them"
        )
    own = _fields_of(cls, kind)
    names = [settings["pk"]] if isinstance(settings["pk"], str) else settings["pk"]
    _check_names(name, "pk", names, own)
    for word in ("indexes", "wire", "schema"):
        _check_names(name, word, settings.get(word, ()), own)
    _check_values(name, settings, hooks)
    return DeclaredModel(cls, kind, settings, own, hooks)


def _fields_of(cls: object, kind: type[Kind]) -> dict[str, tuple[str, str | None, object]]:
    """Return the fields of a class by name, each with its name in `build`, its JSON name or None, and its default."""
    return {name: (argument, alias, default) for name, argument, alias, default in kind.fields(cls)}


def _check_names(owner: str, word: str, mentioned: object, fields: Iterable[str]) -> None:
    names: list[Any] = [] if isinstance(mentioned, str) or not isinstance(mentioned, Iterable) else [*mentioned]
    if (not names and mentioned not in ((), [], {})) or not all(isinstance(found, str) for found in names):
        raise TypeError(f"{word} of {owner} is {mentioned!r:.80}; expected names of fields")
    for found in names:
        if found not in fields:
            raise TypeError(
                f"{word} of {owner} has {found!r}, which is not a field; expected one of {', '.join(fields)}"
            )


def _check_values(owner: str, settings: Mapping[str, Any], hooks: Mapping[str, object]) -> None:
    def refuse(word: str, expected: str, found: object) -> TypeError:
        return TypeError(f"{word} of {owner}: expected {expected}, found {found!r:.80}")

    if not settings["pk"]:
        raise refuse("pk", "a field, or a list of them", settings["pk"])
    key = settings.get("key", owner)
    if not isinstance(key, str) or not key:
        raise refuse("key", "a string, the name of the table", key)
    for word in ("wire", "schema"):
        if not isinstance(settings.get(word, {}), Mapping):
            raise refuse(word, "a mapping from fields", settings[word])
    for field_name, in_json in settings.get("wire", {}).items():
        if not isinstance(in_json, str) or not in_json:
            raise refuse(f"wire[{field_name!r}]", "a string, the name in JSON", in_json)
    for word, hook in hooks.items():
        if hook is not None and not callable(hook):
            raise refuse(word, "a function", hook)


class DeclaredModel(EntityModel):
    """The model of a foreign class, which is not changed."""

    def __init__(
        self,
        cls: Any,
        kind: type[Kind],
        settings: dict[str, Any],
        own: Mapping[str, tuple[str, str | None, object]],
        hooks: Mapping[str, Any],
    ) -> None:
        self.kind = kind
        self._hooks = hooks
        fields: dict[str, Field] = {}
        for name, (_, alias, default) in own.items():
            made = fields[name] = Field(wire=alias, required=default is UNDEFINED)
            made.default = None if default is Made else default
            made.name = name
        super().__init__(cls, settings, fields)
        self._arguments = {name: argument for name, (argument, _, _) in own.items()}
        self._required = frozenset(found.in_json for found in self.fields.values() if found.required)
        self.whole = True
        self.direct = False  # tables contain records, from which instances are created

    def _settings_above(self) -> list[Mapping[str, object]]:
        return []

    def _hook(self, name: str) -> Callable[..., object] | None:
        return self._hooks.get(name)

    # -- annotations -------------------------------------------------------------------------------------------------

    def annotation_of(self, declared: Field, named: Callable[[str], object] | None = None) -> object:
        if self.kind is Pydantic:
            model: Any = self.cls
            if not model.__pydantic_complete__:
                model.model_rebuild(raise_errors=False)
            kind: object = model.model_fields[declared.name].annotation
            return None if _is_open(kind) else kind
        for owner in self.cls.__mro__:
            written = annotations_in(vars(owner))
            if declared.name in written:
                declared.owner, declared.annotation = owner, written[declared.name]
                return super().annotation_of(declared, named)
        return None

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        """The conversions of fields, by Python name."""
        codecs = {name: _codec(kind) for name, kind in self.kinds.items() if name not in self.related}
        return {name: codec for name, codec in codecs.items() if codec is not None}

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The fields that refer to entities: those of `schema`, else those whose annotations contain entities."""
        raw = self.setting("schema")
        if raw is None:
            raw = {name: self._schema_of(name, kind) for name, kind in self.kinds.items()}
        return tuple(Relation(self, name, schema) for name, schema in raw.items() if schema is not None)

    def _schema_of(self, name: str, kind: object) -> object:
        if kind is None:
            raise TypeError(
                f"the type of field {name!r} of {self.cls.__name__} is unknown: its annotation cannot be evaluated at "
                "run time; declare the fields that refer to entities in entity(schema={…})"
            )
        found = _schemas_in(kind)
        if len(found) > 1:
            raise TypeError(
                f"the field {name!r} of {self.cls.__name__} refers to one of several entities: declare how to "
                f"distinguish them with entity(schema={{{name!r}: Union(…)}})"
            )
        return _shape(kind) if found else None

    # -- instances ---------------------------------------------------------------------------------------------------

    def construct(
        self, record: Mapping[str, object], pk: str | None, reader: Reader, begun: Callable[[Any], None] | None
    ) -> object:
        """Create the instance for a record; `INVALID` if a required field is absent.

        Raises ProcessingError for a value that the class rejects.
        """
        if not self._required <= record.keys() or (self.validate is not None and self.validate(record)):
            return INVALID
        if begun is not None:
            begun(None)  # nested entities cannot refer back to the instance, which is created after them
        nested: dict[str, Any] = {}
        for relation in self.relations:
            if relation.in_json in record:
                shown = relation.shown(record[relation.in_json], self.cls, pk, reader)
                if shown is UNDEFINED or shown is INVALID:
                    if relation.raises and not takes_none(self.kinds.get(relation.name)):
                        return INVALID
                    shown = None
                nested[relation.name] = shown
        return self.built(record, nested, pk)

    def built(self, record: Mapping[str, object], nested: Mapping[str, object], pk: str | None) -> object:
        """Create an instance by the constructor or validator of the class. Raises ProcessingError if that fails."""
        try:
            members = (self._as_sent if self.kind.converts else self._decoded)(record, pk)
            for name, value in nested.items():
                shape = self._shapes.get(name)
                members[self._arguments[name]] = shape(value) if shape is not None and is_list(value) else value
            return self.kind.build(self.cls, members)
        except ConversionError as error:
            raise ProcessingError(str(error)) from error
        except Exception as error:
            raise ProcessingError(
                f"{self.cls.__name__} {pk!r} cannot be built from the response: {error}; declare the type of the field "
                "that the server sends, or reject incomplete records with entity(validate=…)"
            ) from error

    @cached_property
    def _shapes(self) -> dict[str, Any]:
        """The types of fields that are tuples or sets in Python and lists in JSON."""
        shapes = {name: typing.get_origin(bare(kind)) or bare(kind) for name, kind in self.kinds.items()}
        return {} if self.kind.converts else {name: shape for name, shape in shapes.items() if shape in _TAKEN}

    @cached_property
    def _steps(self) -> list[tuple[str, str, str, Codec | None, Any]]:
        """The fields that are no relations, each as JSON name, argument, name, conversion, and tuple or set type."""
        return [
            (self.to_json.get(name, name), argument, name, self.codecs.get(name), self._shapes.get(name))
            for name, argument in self._arguments.items()
            if name not in self.related
        ]

    def _decoded(self, record: Mapping[str, object], pk: str | None) -> dict[str, Any]:
        """Return the constructor arguments for a JSON record, of a class that does not decode JSON itself."""
        members: dict[str, Any] = {}
        for json_name, argument, name, codec, shape in self._steps:
            if json_name in record:
                value = record[json_name]
                if type(value) not in SCALARS or codec is not None:
                    value = read_only(value)
                    if codec is not None and value is not None:
                        value = self.decode(name, codec, value, pk, record)
                    if shape is not None and is_list(value):
                        value = shape(value)
                members[argument] = value
        return members

    @cached_property
    def _renamed(self) -> list[tuple[str, str]]:
        """The JSON names that differ from those in `build`, of a class that decodes JSON itself, as pairs."""
        pairs = [(self.to_json.get(name, name), argument) for name, argument in self._arguments.items()]
        return [(json_name, argument) for json_name, argument in pairs if json_name != argument]

    def _as_sent(self, record: Mapping[str, object], pk: str | None) -> dict[str, Any]:
        """Rename the members of a JSON record for a class that decodes JSON itself, and remove its relations."""
        members: dict[str, Any] = {**record}
        if holds_containers(members):
            for name, value in record.items():
                if type(value) not in SCALARS:
                    members[name] = read_only(value)
        for relation in self.relations:
            members.pop(relation.in_json, None)
        if self._renamed:
            found = {argument: members.pop(name) for name, argument in self._renamed if name in members}
            for _, argument in self._renamed:
                members.pop(argument, None)  # a JSON member that is no field of the class
            members.update(found)
        return members

    def echoed(self, record: Mapping[str, object], visit: Callable[[Schema | None, Any], object]) -> object:
        """Create an instance from a response. Raises ConversionError if a required field is absent."""
        missing = self._required - record.keys()
        if missing:
            name = f"{self.cls.__name__} {self.pk_in(record)!r}"
            raise ConversionError(f"{name} cannot be built: the response has no {min(missing)!r}, which is required")
        found = {r.name: visit(r.node, record[r.in_json]) for r in self.relations if r.in_json in record}
        nested = {name: None if value is UNDEFINED else value for name, value in found.items()}
        return self.built(record, nested, self.pk_in(record))

    def from_record(self, record: Mapping[str, object]) -> object:
        """Create an instance for a record outside of a store, with instances of nested entities."""
        nested = {
            relation.name: nested_value(relation.node, record[relation.in_json])
            for relation in self.relations
            if isinstance(record.get(relation.in_json), (dict, list))
        }
        return self.built(record, nested, self.pk_in(record))

    def wire_form(self, instance: object) -> dict[str, Any]:
        """Convert an instance to its JSON record, without unset fields of a pydantic model."""
        members: Mapping[str, Any] = members_of(instance, to_wire)
        names = self._written
        found = {names[name]: value for name, value in members.items() if name in names}
        for name in found.keys() & self.related.keys():
            found[name] = getattr(instance, name)  # the instance itself, since its class has JSON names of its own
        record: dict[str, Any] = {}
        for name, value in found.items():
            record.update(self.encoded({name: value}))  # one by one, as a name may be the JSON name of another field
        return record

    @cached_property
    def _written(self) -> dict[str, str]:
        """The names of the fields by the names in serialized instances."""
        written = self.kind.written(self.cls)
        return written or {argument: name for name, argument in self._arguments.items()}

    def pk_of_instance(self, instance: object) -> str | None:
        """Return the primary key of an instance; None if it has none."""
        return self.pk(self.wire_form(instance), None, None, ())


# -- annotations -----------------------------------------------------------------------------------------------------

_TAKEN: Final[frozenset[object]] = frozenset({tuple, set, frozenset})
_LISTS: Final[frozenset[object]] = _TAKEN | {list, Sequence}


def _is_open(kind: object) -> bool:
    """Whether a type contains a forward reference that is not evaluated."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return False  # strings in it are values and no references
    inner = arguments[:1] if origin is typing.Annotated else arguments
    return isinstance(kind, (str, typing.ForwardRef)) or any(map(_is_open, inner))


def _schemas_in(kind: object) -> list[object]:
    """Return the entity classes in an annotation."""
    kind = bare(kind)
    if isinstance(kind, type) and typing.get_origin(kind) is None:
        return [kind] if leads_to_entities(class_record(kind) and kind) else []
    if is_union(kind):
        return [found for argument in typing.get_args(kind) for found in _schemas_in(argument)]
    item = item_of(kind, _LISTS)
    return [] if item is None else _schemas_in(item)


def _shape(kind: object) -> object:
    """Return the schema for an annotation that contains one entity class."""
    kind = bare(kind)
    item = item_of(kind, _LISTS)
    if item is None:
        return next(iter(_schemas_in(kind)), None)
    return [_shape(item)] if typing.get_origin(kind) in _LISTS else Values(_shape(item))


def _codec(kind: Any) -> Codec | None:
    """Return the conversion of a type; dataclasses and attrs classes are decoded from objects."""
    kind = bare(kind)
    made_by = kind_of_class(kind)
    if made_by in (Dataclass, Attrs) and kind not in declared_classes:
        return _value_codec(kind, made_by)
    item = item_of(kind, _LISTS)
    inner = None if item is None else _codec(item)
    if inner is None:
        return codec_of(kind)
    return (dict_codec if typing.get_origin(kind) in MAPS else list_codec)(inner)


def _value_codec(cls: Any, kind: type[Kind]) -> Codec:
    """Return the conversion of a class whose instances have no identity."""
    model = DeclaredModel(cls, kind, {"pk": "", "schema": {}}, _fields_of(cls, kind), {})

    def decode(value: object) -> Any:
        return model.built(value, {}, None) if is_mapping(value) else value

    def encode(value: Any) -> Any:
        return model.wire_form(value) if isinstance(value, cls) else to_wire(value, model)

    return Codec(decode, encode)


@notation.register(type)
def _class(raw: type[object]) -> Schema:
    """Return the schema of a class: that of an entity if it was declared so, else a conversion, as for a function."""
    model = declared_classes.get(raw)
    return Conversion(raw) if model is None else model.node
