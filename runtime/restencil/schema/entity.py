"""Entities: record types with a primary key, of which the store holds one copy each (§5.3, §5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, dataclass_transform

from ..base.errors import ProcessingError
from ..base.lazy import inspect, json
from ..base.values import (
    DICT,
    INVALID,
    LIST,
    MAPPING,
    SCALARS,
    UNDEFINED,
    Meta,
    Sentinel,
    holds_containers,
    is_dict,
    is_list,
    is_mapping,
    is_sequence,
    read_only,
    text_of,
    with_article,
)
from .protocol import Answer, Conversion, Schema, check_shorthand, schema_of
from .record import Field, Model, Record, RecordMeta, field, set_members, set_record, stored_record

if TYPE_CHECKING:
    from typing import Self

    from ..cache.denormalize import Denormalization
    from ..cache.normalize import Normalization

Stored = Mapping[str, Any] | Sentinel
"""What a table holds of an entity: its record, or INVALID."""

UNUSABLE: Final = frozenset({"", "None", "undefined"})
"""Texts that are no primary key (§5.3)."""
PkFunction = Callable[[Mapping[str, Any], Any, str | None, tuple[Any, ...]], str | None]


_OBJECT: tuple[type[Any], ...] = (Mapping, Record)


class EntitySchema(Schema):
    """An entity class where a schema stands (§5.3)."""

    builder: Callable[..., Any] | None = None
    """The compiled function that builds an entity of the class with all that is nested in it."""
    ends: bool = False
    """Whether that function needs no help of the interpreter's: nothing in the schema leads back to the class."""
    filler: Callable[..., Any] | None = None
    """The compiled function that fills one instance in, where the class leads back to itself."""

    def drop_compiled(self) -> None:
        super().drop_compiled()
        self.builder = self.filler = None
        self.ends = False

    def __init__(self, cls: type[Entity], model: EntityModel) -> None:
        self.cls = cls
        self.model = model

    @property
    def title(self) -> str:
        return self.cls.__name__

    @property
    def inert(self) -> bool:
        return self.model.direct

    def normalize_scalar(self, value: Any, run: Normalization) -> Any:
        # A scalar is a reference by primary key.
        return text_of(value) if value else value

    def normalize(self, value: Any, parent: Any, key: str | None, run: Normalization) -> Any:
        model = self.model
        if type(value) is list or not isinstance(value, MAPPING):
            raise self._no_object(value, run)
        if model.settings.get("abstract"):
            raise ProcessingError(
                f"{self.title} is abstract, so nothing can be stored as one{run.where}; write the schema as the "
                "subclass, or as a Union of them"
            )
        if model.process is None:
            record: dict[str, Any] = {**value}
        else:
            processed = model.process(value, parent, key, run.args)
            if processed is None:
                return self.invalidate(value, parent, key, run)
            run.keep(value, processed, model.key)
            record = dict(processed)
        pk = model.pk(record, parent, key, run.args)
        if pk is None:
            pk = run.placeholder()
            if pk is None:
                raise self.unusable_pk(record, run)
        if run.visited(value, model.key, pk):
            return pk
        if model.validate is not None:
            problem = model.validate(record)
            if problem:
                raise ProcessingError(f"{self.title} {pk!r} is not valid: {problem}{run.where}")
        relations = model.relations
        if relations:
            outside = run.enclosing
            for relation in relations:
                name = relation.in_json
                if name in record:
                    run.enclosing = (record, name)
                    record[name] = run.visit(relation.node, record[name], record, name)
            run.enclosing = outside
        run.write_entity(model, pk, record)
        return pk

    def invalidate(self, value: Any, parent: Any, key: str | None, run: Normalization) -> str:
        """Writes INVALID for the entity that the value names, which may be the URL parameters of `delete` (§5.9)."""
        pk = self.model.pk(self.model.with_pk(value), parent, key, run.args)
        if pk is None:
            raise self.unusable_pk(value, run)
        run.visited(value, self.model.key, pk)
        run.write_invalid(self.model, pk)
        return pk

    def _no_object(self, value: Any, run: Normalization) -> ProcessingError:
        if isinstance(value, list):
            shown = json.dumps(value[:3], default=str)[:300]
            return ProcessingError(
                f"expected one object for {self.title}, found a list that begins with {shown}{run.where}; "
                f"write the schema as [{self.title}] where the server answers with a list"
            )
        return ProcessingError(f"expected an object for {self.title}, found {value!r:.100}{run.where}")

    def unusable_pk(self, record: Mapping[str, Any], run: Normalization) -> ProcessingError:
        """The error for a record that has no primary key."""
        setting = self.model.setting("pk")
        fields = [setting] if isinstance(setting, str) else setting if is_sequence(setting) else ["id"]
        shown = {name: record.get(self.model.to_json.get(name, name)) for name in fields}
        if setting is None or isinstance(setting, (str, list, tuple)):
            found = ", ".join(f"{name!r} is {value!r}" for name, value in shown.items())
        else:
            found = "pk() gave nothing"
        return ProcessingError(
            f"{with_article(self.model.key)} in the response has no usable primary key: {found} in "
            f"{json.dumps(record, default=str)[:200]}{run.where}; check the entity's pk, or give one in process()"
        )

    def denormalize(self, stored: Any, run: Denormalization) -> Any:
        if isinstance(stored, DICT):
            return run.entity_from_record(self, stored)
        # A class that shares the table may have stored a list here, which names no entity.
        return UNDEFINED if isinstance(stored, LIST) else run.entity(self, stored)

    def answer(self, value: Any, run: Answer) -> Any:
        if not isinstance(value, _OBJECT):
            found = run.reader.read(self, text_of(value)) if value and type(value) in SCALARS else None
            return UNDEFINED if found is INVALID else found
        model = self.model
        pk = run.written.get((id(value), model.key))
        if pk is None and model.process is None and model.pk_name is not None and isinstance(value, MAPPING):
            pk = usable_pk(value.get(model.pk_name))
        found = UNDEFINED if pk is None else run.reader.read(self, pk)
        return self.built_from(value, run) if found is UNDEFINED or found is INVALID else found

    def answers(self, values: Iterable[Any], run: Answer) -> list[Any]:
        """The answers for the items of a list; most lie in the table as they are handed out."""
        model, cls = self.model, self.cls
        name = model.pk_name if model.process is None else None
        ready: Mapping[str, Any] = {} if name is None else run.reader.ready(model.key)
        found: list[Any] = []
        for value in values:
            if name is not None and ready and is_dict(value):
                pk = value.get(name)
                if type(pk) is int:
                    pk = str(pk)
                instance = ready.get(pk) if type(pk) is str else None
                if type(instance) is cls:
                    found.append(instance)
                    continue
            answer = run.visit(self, value)
            if answer is not UNDEFINED:
                found.append(answer)
        return found

    def built_from(self, value: Mapping[str, Any] | Record, run: Answer) -> Any:
        """The entity as the response shows it, for one that the store does not hold (§7.2)."""
        model = self.model
        if isinstance(value, Record):
            return value
        record = run.processed.get((id(value), model.key), model.with_pk(value))
        instance = self.cls.from_js(record) if not model.abstract else None
        if instance is None:
            return None
        members = dict(instance.__dict__)
        for relation in model.relations:
            if relation.in_json in record:
                nested = run.visit(relation.node, record[relation.in_json])
                members[relation.name] = None if nested is UNDEFINED else nested
        set_members(instance, members)
        return instance

    def lenient_pk(self, params: Mapping[str, Any], args: tuple[Any, ...]) -> str | None:
        """The primary key that URL parameters give, None where they give none; what `pk` raises counts so (§5.3)."""
        try:
            return self.model.pk(self.model.with_pk(params), None, None, args)
        except (AttributeError, KeyError, TypeError, ValueError, ProcessingError):
            return None

    def query_key(self, args: tuple[Any, ...], run: Denormalization) -> Any:
        if not args or is_falsy(args[0]):
            return UNDEFINED
        first = args[0]
        model = self.model
        table = model.key
        if isinstance(first, (str, int, float)):
            pk: str | None = text_of(first)
        elif is_mapping(first):
            pk = self.lenient_pk(first, args)
            if pk is None:
                for name in model.indexes:
                    if first.get(name) is not None:
                        pk = run.by_index(table, name, text_of(first[name]))
                        break
        else:
            pk = None
        return UNDEFINED if pk is None or not run.has(table, pk) else pk


class EntityModel(Model):
    """The class record of an entity class: table, primary key, relations, and which hooks are overridden."""

    cls: type[Entity]

    def __init__(self, cls: type[Entity], settings: dict[str, Any], own: dict[str, Field]) -> None:
        super().__init__(cls, settings, own)
        self.key: str = self.setting("key") or cls.__name__
        self.node = EntitySchema(cls, self)
        check_shorthand(self.setting("schema", {}))
        indexed: Iterable[str] = self.setting("indexes", ())
        self.indexes = tuple(self.to_json.get(name, name) for name in indexed)
        self.max_depth: int = self.setting("max_entity_depth", 64)
        self._pk: PkFunction | None = None
        self._relations: tuple[Relation, ...] | None = None
        self._direct: bool | None = None
        # The hooks are kept by themselves: a hook that is not overridden is not called.
        self.process = _overridden(cls, "process")
        self.validate = _overridden(cls, "validate")
        self.merge = _overridden(cls, "merge")
        self.should_update = _overridden(cls, "should_update")
        self.should_reorder = _overridden(cls, "should_reorder")
        self.merge_with_store = _overridden(cls, "merge_with_store")
        self.merge_meta_with_store = _overridden(cls, "merge_meta_with_store")
        self.from_js = _overridden(cls, "from_js")
        self.create_if_valid = _overridden(cls, "create_if_valid")
        self.merges = bool(
            self.merge
            or self.should_update
            or self.should_reorder
            or self.merge_with_store
            or self.merge_meta_with_store
        )
        """Whether any hook has a say in merging."""

    @property
    def abstract(self) -> bool:
        """Declared so, or without anything that gives a primary key (§5.3)."""
        if self.settings.get("abstract"):
            return True
        return self.setting("pk") is None and "id" not in self.fields

    @property
    def pk(self) -> PkFunction:
        """`pk(record, parent, key, args)`: the primary key of a record in wire form, None where it is unusable."""
        found = self._pk
        if found is None:
            self._pk = found = _pk_function(self)
        return found

    @cached_property
    def pk_name(self) -> str | None:
        """The name in JSON of the field that is the primary key, None where several fields or a function give it."""
        return _pk_name(self)

    @cached_property
    def banned(self) -> frozenset[str]:
        """Names in JSON that no attribute can have: those of the class's members, and of fields with another name."""
        return self.members | self.to_json.keys()

    @cached_property
    def writing(self) -> tuple[type[Entity], frozenset[str], bool, bool, bool]:
        """What is asked of a model for each record that is written.

        The class, the names of its members, whether it has relations, whether a record can be what is handed out, and
        whether a hook has a say in merging.
        """
        return self.cls, self.members, bool(self.relations), self.direct, self.merges

    def with_pk(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """The value as a record where it may be URL parameters: those of a path keep their Python names (§5.3.0)."""
        if not self.to_json or self.pk(value, None, None, ()) is not None:
            return value
        return {**{self.to_json.get(name, name): item for name, item in value.items()}, **value}

    def pk_of_instance(self, instance: Record) -> str | None:
        record = stored_record(instance)
        if record is None:
            record = instance.__dict__ if self.direct else self.encoded(instance.__dict__)
        return self.pk(record, None, None, ())

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The fields with a schema, in declaration order."""
        found = self._relations
        if found is None:
            raw: dict[str, Any] = {name: f.schema for name, f in self.fields.items() if f.schema is not None}
            raw.update(self.setting("schema", {}))
            found = tuple(
                Relation(name, self.to_json.get(name, name), schema, self.fields.get(name))
                for name, schema in raw.items()
            )
            self._relations = found
        return found

    @property
    def direct(self) -> bool:
        """Whether a stored record can itself be the instance that is handed out (§1.2).

        It can where nothing has to be built: no relation, conversion or renaming, and no hook in between.
        """
        found = self._direct
        if found is None:
            found = not (
                self.relations
                or self.to_json
                or self.codecs
                or self.validate
                or self.from_js
                or self.create_if_valid
                or any(known.factory is not None for known in self.fields.values())
                or _has_cached_property(self.cls)
            )
            self._direct = found
        return found

    def stored(self, record: dict[str, Any]) -> Any:
        """What the table is to hold for a record: the record, or the instance that is at once record and answer."""
        if self.direct and self.members.isdisjoint(record):
            if holds_containers(record):
                for name, value in record.items():
                    if type(value) not in SCALARS:
                        record[name] = read_only(value)
            instance = _new(self.cls)
            set_members(instance, record)
            return instance
        return record

    def nested_model(self, name: str) -> Any:
        from .containers import nested_model

        return next((nested_model(relation.node) for relation in self.relations if relation.name == name), None)


_new = object.__new__


class Relation:
    """A field of an entity that has a schema."""

    __slots__ = ("_node", "_raw", "in_json", "name", "needed", "raises")

    def __init__(self, name: str, in_json: str, raw: Any, known: Field | None) -> None:
        self.name = name
        self.in_json = in_json
        self._raw = raw
        self._node: Schema | None | Sentinel = UNDEFINED
        self.raises = known is not None and known.required
        default = None if known is None else known.default
        self.needed = self.raises or (
            known is not None
            and (known.factory is not None or default is not UNDEFINED)
            and not is_falsy(known.default_value())
        )

    @property
    def node(self) -> Schema | None:
        """The schema of the field, resolved at first use."""
        found = self._node
        if isinstance(found, Sentinel):
            self._node = found = schema_of(self._raw)
        return found


def is_falsy(value: Any) -> bool:
    """Whether a value is None, False, zero or empty text; an empty list or dict is not (§5.2)."""
    return value is None or (type(value) in SCALARS and not value)


def _has_cached_property(cls: type) -> bool:
    from functools import cached_property

    return any(isinstance(member, cached_property) for base in cls.__mro__ for member in base.__dict__.values())


def _overridden(cls: type[Entity], name: str) -> Callable[..., Any] | None:
    for base in cls.__mro__:
        if name in base.__dict__:
            return (
                None
                if base.__module__ == __name__ or base is Record
                else cast("Callable[..., Any]", getattr(cls, name))
            )
    return None


def usable_pk(value: Any) -> str | None:
    """The text of a primary key, None where it is unusable (§5.3)."""
    if type(value) is str:
        return None if value in UNUSABLE else value
    if value is None:
        return None
    text = text_of(value)
    return None if text in UNUSABLE else text


def _by_field(name: str) -> PkFunction:
    def pk(record: Mapping[str, Any], parent: Any, key: str | None, args: tuple[Any, ...]) -> str | None:
        value = record.get(name)
        if type(value) is int:
            return str(value)
        return usable_pk(value)

    return pk


def _by_fields(names: tuple[str, ...]) -> PkFunction:
    def pk(record: Mapping[str, Any], parent: Any, key: str | None, args: tuple[Any, ...]) -> str | None:
        values = [record.get(name) for name in names]
        if None in values or "" in values:
            return None
        return json.dumps([text_of(value) for value in values], separators=(",", ":"), ensure_ascii=False)

    return pk


def _reads_one_field(function: Callable[..., Any]) -> str | None:
    """The attribute's name when the function is nothing but `return self.name`, told by its byte code."""
    code = getattr(function, "__code__", None)
    if code is None or not isinstance(function, FunctionType):
        return None
    model = _RETURNS_FIELD
    same = (
        code.co_code == model.co_code
        and (code.co_argcount, code.co_kwonlyargcount, len(code.co_names)) == (1, 0, 1)
        and not code.co_flags & _TAKES_MORE
    )
    return code.co_names[0] if same else None


_TAKES_MORE: Final = 0x04 | 0x08  # *args and **kwargs, as inspect.CO_VARARGS and CO_VARKEYWORDS have it


def _returns_field(self: Any) -> Any:
    return self.x


_RETURNS_FIELD: Final = _returns_field.__code__


def _pk_name(model: EntityModel) -> str | None:
    setting = model.setting("pk")
    if setting is None:
        setting = "id"
    if not isinstance(setting, (str, list, tuple)):
        setting = _reads_one_field(setting)
        if setting in model.codecs or (setting not in model.fields and setting in model.members):
            return None
    return model.to_json.get(setting, setting) if isinstance(setting, str) else None


def _pk_function(model: EntityModel) -> PkFunction:
    name = model.pk_name
    if name is not None:
        return _by_field(name)
    setting = model.setting("pk")
    if isinstance(setting, (list, tuple)):
        return _by_fields(tuple(model.to_json.get(part, part) for part in cast("list[str]", setting)))
    function = cast("Callable[..., Any]", setting)
    wants_place = len([p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]) > 1
    view_class = _view_class(model)

    def pk(record: Mapping[str, Any], parent: Any, key: str | None, args: tuple[Any, ...]) -> str | None:
        view = _new(view_class)
        set_members(view, {**dict.fromkeys(model.fields), **model.attributes(record)})
        set_record(view, record)
        return usable_pk(function(view, parent, key, args) if wants_place else function(view))

    return pk


def _view_class(model: EntityModel) -> type[Entity]:
    """What a `pk` method sees: the entity without defaults, where an absent field reads as None (§5.3)."""

    def absent(self: Any, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

    cls = model.cls
    view = RecordMeta.__new__(
        EntityMeta,
        cls.__name__,
        (cls,),
        {"__getattr__": absent, "__slots__": (), "__module__": cls.__module__},
        key=model.key,
    )
    return cast("type[Entity]", view)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class EntityMeta(RecordMeta):
    """The metaclass of entities; its class record is an `EntityModel`."""

    __model__: EntityModel  # pyright: ignore[reportIncompatibleVariableOverride] - set once, when a class is made

    def __make_model__(cls, settings: dict[str, Any], own: dict[str, Field]) -> EntityModel:
        model = EntityModel(cast("type[Entity]", cls), settings, own)
        if "key" not in model.fields:
            type.__setattr__(cls, "key", model.key)
        return model

    def __hooks__(cls) -> Iterable[str]:
        return _HOOKS


_HOOKS: Final = frozenset(
    {
        "process",
        "validate",
        "merge",
        "should_update",
        "should_reorder",
        "merge_with_store",
        "merge_meta_with_store",
        "from_js",
        "create_if_valid",
    }
)


class Entity(Record, metaclass=EntityMeta):
    """A record type with a primary key; the store holds one copy of each (§5.3).

    Fields are annotated class attributes with defaults. `pk()` gives the primary key (default: the field `id`), `key`
    names the table (default: the class name), `schema` nests other schemas, `indexes` names fields to look it up by;
    all four may be given as class keywords instead. The hooks are class methods and see records in wire form.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init_subclass__(
            cls,
            *,
            key: str = "",
            pk: str | list[str] | tuple[str, ...] | Callable[..., Any] = "id",
            schema: Mapping[str, Any] = ...,
            indexes: Iterable[str] = (),
            wire: Mapping[str, str] = ...,
            decode: Mapping[str, Callable[[Any], Any]] = ...,
            encode: Mapping[str, Callable[[Any], Any]] = ...,
            abstract: bool = False,
            max_entity_depth: int = 64,
        ) -> None: ...

    else:
        key: ClassVar[str]

        def pk(self) -> str | None:
            """The primary key: the field `id` unless a class says otherwise (§5.3)."""
            return type(self).__model__.pk_of_instance(self)

    def __init__(self, /, **members: Any) -> None:
        _refuse_abstract(type(self))
        super().__init__(**members)

    @classmethod
    def from_js(cls, props: Mapping[str, Any] | None = None) -> Self:
        """An instance with all defaults and every member of `props`, declared or not; `props` is in wire form (§5.3).

        Nested objects become instances of their entities. Raises ProcessingError where a value does not decode, and
        TypeError for an abstract entity.
        """
        _refuse_abstract(cls)
        instance = super().from_js(props)
        nested = {
            relation.name: nested_instance(relation.node, props[relation.in_json])
            for relation in cls.__model__.relations
            if props and isinstance(props.get(relation.in_json), (dict, list))
        }
        if nested:
            set_members(instance, {**instance.__dict__, **nested})
        return instance

    @classmethod
    def create_if_valid(cls, record: Mapping[str, Any]) -> Self | None:
        """An instance for a stored record, None where `validate` reports a text (§5.3)."""
        return None if cls.validate(record) else cls.from_js(record)

    @classmethod
    def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
        """The record to store for a response object: a shallow copy; None invalidates the entity (§5.3)."""
        return {**input}

    @classmethod
    def validate(cls, record: Mapping[str, Any]) -> str | None:
        """A text where the record is unusable, else None; on write it rejects the response (§5.3)."""
        return None

    @classmethod
    def merge(cls, existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
        """Two records as one; the later argument's members win (§5.4)."""
        return {**existing, **incoming}

    @classmethod
    def should_update(
        cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
    ) -> bool:
        """False keeps the existing record (§5.4)."""
        return True

    @classmethod
    def should_reorder(
        cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
    ) -> bool:
        """Whether the incoming record is the older one: its fetch started earlier (§5.4)."""
        return incoming_meta.fetched_at < existing_meta.fetched_at

    @classmethod
    def merge_with_store(cls, existing_meta: Meta, incoming_meta: Meta, existing: Stored, incoming: Stored) -> Stored:
        """The record to store for one that is there and one that comes (§5.4)."""
        model = cls.__model__
        if incoming is INVALID:
            return INVALID
        if existing is INVALID:
            # What was requested before the deletion does not undo it (§5.4).
            older = incoming_meta.fetched_at < existing_meta.fetched_at
            return INVALID if older else incoming
        was, comes = cast("Mapping[str, Any]", existing), cast("Mapping[str, Any]", incoming)
        if model.should_update is not None and not model.should_update(existing_meta, incoming_meta, was, comes):
            return existing
        if model.should_reorder is None:
            older = incoming_meta.fetched_at < existing_meta.fetched_at
        else:
            older = model.should_reorder(existing_meta, incoming_meta, was, comes)
        if model.merge is not None:
            merged: Mapping[str, Any] = model.merge(comes, was) if older else model.merge(was, comes)
            return merged
        return {**comes, **was} if older else {**was, **comes}

    @classmethod
    def merge_meta_with_store(
        cls, existing_meta: Meta, incoming_meta: Meta, existing: Stored, incoming: Stored
    ) -> Meta:
        """The times to store: those of the younger record (§5.4)."""
        model = cls.__model__
        if model.should_reorder is None or existing is INVALID or incoming is INVALID:
            older = incoming_meta.fetched_at < existing_meta.fetched_at and incoming is not INVALID
        else:
            was, comes = cast("Mapping[str, Any]", existing), cast("Mapping[str, Any]", incoming)
            older = model.should_reorder(existing_meta, incoming_meta, was, comes)
        return existing_meta if older else incoming_meta

    def __hash__(self) -> int:
        pk = type(self).__model__.pk_of_instance(self)
        if pk is None:
            raise TypeError(f"unhashable: this {type(self).__name__} has no primary key")
        return hash((type(self), pk))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        model = type(self).__model__
        same_pk = model.pk_of_instance(self) == model.pk_of_instance(other)
        return same_pk and super().__eq__(other)


def _refuse_abstract(cls: type[Entity]) -> None:
    if cls.__model__.abstract:
        raise TypeError(
            f"{cls.__name__} is abstract: it has no primary key of its own; build an instance of a subclass, "
            "or give it a field 'id' or a pk()"
        )


def validate_required(record: Mapping[str, Any], defaults: Mapping[str, Any]) -> str | None:
    """For `validate`: reports the first of these fields that the record lacks, else None (§5.3)."""
    for name in defaults:
        if name not in record:
            return f"missing required field {name!r}"
    return None


def nested_instance(schema: Schema | None, value: Any) -> Any:
    """A nested value in wire form as instances, without a store (`from_js`, and responses the store does not keep)."""
    if isinstance(schema, EntitySchema) and is_mapping(value):
        return schema.cls.from_js(value)
    if isinstance(schema, Conversion):
        return None if value is None else schema.convert(value)
    items = [] if schema is None else [child for child in schema.children() if child is not None]
    if len(items) == 1:
        if is_list(value):
            value = [nested_instance(items[0], item) for item in value]
        elif is_dict(value):
            value = {name: nested_instance(items[0], item) for name, item in value.items()}
    return read_only(value)
