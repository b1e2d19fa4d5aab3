"""Entities: record types with a primary key, stored once for each key."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, dataclass_transform
from uuid import UUID

from ..base.errors import ConversionError, ProcessingError
from ..base.logs import logger
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
    is_mapping,
    kind_of,
    read_only,
    same_json,
    scalar_text,
    text_of,
    with_article,
)
from .codec import encode_any
from .notation import check_shorthand, schema_of
from .protocol import Echo, EntityNode, Reader, Schema, ValueTypes, Writer, entity_node, schemas_in
from .record import (
    Field,
    Model,
    Record,
    RecordMeta,
    class_record,
    field,
    is_instance,
    new_instance,
    set_members,
    set_record,
    stored_record,
    to_wire,
    wire_members,
)
from .relation import Relation, object_schemas, replace_relations, shown_relations
from .stored import is_falsy, record_of

if TYPE_CHECKING:
    from typing import Self

Stored = Mapping[str, Any] | Sentinel
"""The table entry of an entity: its record, or `INVALID`."""

UNUSABLE: Final = frozenset({"", "None", "undefined"})
"""Strings that are rejected as primary keys."""
ONLY: Final = "[]"
"""The primary key of the only record of a singleton entity, whose `pk` is an empty list."""

PkFunction = Callable[[Mapping[str, Any], Any, str | None, tuple[Any, ...]], str | None]


_enclosing: Final[ContextVar[tuple[tuple[str, str | None], ...]]] = ContextVar("restencil_enclosing", default=())
"""Tables and primary keys of the enclosing entities while a body is encoded; a recursive entity is sent as its key."""

_OBJECT: tuple[type[Any], ...] = (Mapping, Record)
_CONTAINERS: tuple[type[Any], ...] = (Mapping, list, tuple, set, frozenset)


class EntitySchema(EntityNode):
    """The schema of an entity class."""

    def __init__(self, cls: type[Entity], model: EntityModel) -> None:
        self.cls: type[Entity] = cls
        self.model = model
        self.table_key = model.key

    def fingerprint(self, of: Callable[[Schema | None], Any]) -> Any:
        return ["entity", self.table_key]  # rows of an entity have fingerprints of their own

    def value_types(self, of: ValueTypes) -> None:
        of.record(self.model)

    @property
    def title(self) -> str:
        return self.cls.__name__

    @property
    def wire_model(self) -> Any:
        return self.model

    @property
    def has_inside(self) -> bool:
        """Whether a record can refer to other entities."""
        return bool(self.model.relations)

    def inside(self, stored: list[Any]) -> Iterable[tuple[Schema | None, list[object]]]:
        """The values directly inside entries of the table, grouped by their schemas."""
        for relation in self.model.relations if stored else ():
            yield relation.node, [record.get(relation.in_json) for record in stored if is_mapping(record)]

    def not_built(self, pk: str, reason: str) -> ProcessingError:
        """The error for an instance that cannot be created, because it is in a cycle or nested too deep."""
        return ProcessingError(
            f"{self.title} {pk!r} {reason}, but an instance of {self.title} is created after the entities that it "
            "refers to: remove a relation, for example all of a class with entity(schema={})"
        )

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        model = self.model
        if is_instance(value):
            model = cast("EntityModel", class_record(kind_of(value)))
        if isinstance(value, _OBJECT) or is_instance(value):
            path = model.pk_path
            if not path:
                raise ValueError(f"the primary key of {with_article(self.title)} is not a single value")
            key = value_at(wire_members(value) if isinstance(value, Record) else to_wire(value, model), path)
            if usable_pk(key) is None:
                raise ValueError(f"this {self.title} has no primary key: {'.'.join(path)!r} is {key!r}")
        else:
            key = encode_any(value)
            if key is not None and type(key) not in SCALARS:
                return UNDEFINED
        return model.typed_key(key, decode)

    def nested(self, value: Any) -> object:
        return self.model.from_record(value) if is_mapping(value) else read_only(value)

    # -- normalization ---------------------------------------------------------------------------------------------

    def normalize_scalar(self, value: Any, writer: Writer) -> Any:
        # A scalar is a reference by primary key.
        if not value:
            return value
        pk: str = value if type(value) is str else self.pk_of_scalar(value, writer)
        writer.referred.setdefault(self.table_key, set()).add(pk)
        return pk

    def pk_of_scalar(self, value: Any, writer: Writer) -> str:
        """Return the primary key that a scalar is. Raises ProcessingError if it cannot be one."""
        pk = usable_pk(value)
        if pk is None:
            raise ProcessingError(
                f"{value!r} is not a primary key of {self.title}; expected a string or an integer{writer.where}"
            )
        return pk

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        model = self.model
        if type(value) is list or not isinstance(value, MAPPING):
            raise _no_object(self, value, writer)
        record = self._processed(value, parent, key, writer)
        if record is None:
            return self.invalidate(value, parent, key, writer)
        pk = model.pk(record, parent, key, writer.args) or writer.placeholder()
        if pk is None:
            if model.pk_optional:
                _relate(self, record, writer)
                return record
            raise _unusable_pk(self, record, writer)
        if writer.visited(value, model.key, pk):
            return pk
        if model.validate is not None:
            problem = model.validate(record)
            if problem:
                raise ProcessingError(f"{self.title} {pk!r} is not valid: {problem}{writer.where}")
        if model.relations:
            _relate(self, record, writer)
        writer.write_entity(self, pk, record)
        return pk

    def _processed(self, value: Any, parent: object, key: str | None, writer: Writer) -> dict[str, Any] | None:
        """Return the record for an object of the response; None if `process` returns None for a deleted entity."""
        model = self.model
        if model.settings.get("abstract"):
            raise ProcessingError(
                f"{self.title} is abstract, so no record can be stored as {self.title}{writer.where}; use a "
                "subclass, or a Union of subclasses, as the schema"
            )
        if model.process is None:
            return {**value}
        processed = model.process(value, parent, key, writer.args)
        if processed is None:
            return None
        writer.keep(value, processed, model.key)
        return dict(processed)

    def invalidate(self, value: Any, parent: object, key: str | None, writer: Writer) -> str:
        """Write `INVALID` for the entity that a value names, such as the URL parameters of `delete`."""
        pk = self.model.pk(self.model.with_pk(value), parent, key, writer.args)
        if pk is None:
            raise _unusable_pk(self, value, writer)
        writer.visited(value, self.table_key, pk)
        writer.write_invalid(self.table_key, pk)
        return pk

    @property
    def has_merge(self) -> bool:  # type: ignore[override]  # known once the class has its hooks
        return self.model.merges

    def to_store(self, record: dict[str, Any]) -> Any:
        """The table entry for a new record; the store owns the record from then on."""
        return self.model.stored(record)

    def joined(self, earlier: Mapping[str, object], record: dict[str, Any]) -> dict[str, Any]:
        """Merge two records of the same entity in one response."""
        merge = self.model.merge
        return {**earlier, **record} if merge is None else {**merge(_shown(earlier), record)}

    def merged(self, before: object, before_meta: Meta, record: dict[str, Any], meta: Meta) -> tuple[Any, Meta]:
        """Merge a record into the table entry `before`, and return the new entry with its times."""
        model = self.model
        existing = record_of(before)
        if model.merges and before is not INVALID:
            existing = _shown(existing)
        merge = model.merge_with_store or partial(merged_with_store, model)
        merged = merge(before_meta, meta, existing, record)
        times = before_meta if _is_older(model, before_meta, meta, existing, record) else meta
        if merged is existing:
            return before, times
        if merged is INVALID:
            return INVALID, times
        if before is not INVALID and same_json(record_of(before), merged):
            return before, times
        return model.stored({**cast("Mapping[str, Any]", merged)}), times

    def replaced(self, before: object, before_meta: Meta, record: dict[str, Any], meta: Meta) -> tuple[Any, Meta]:
        """Replace the table entry `before` by a record, and return the new entry with its times."""
        model = self.model
        if before is INVALID:
            return self.merged(before, before_meta, record, meta)
        existing = record_of(before)
        if _is_older(model, before_meta, meta, _shown(existing), record):
            return before, before_meta
        return (before if same_json(existing, record) else model.stored({**record})), meta

    # -- denormalization -------------------------------------------------------------------------------------------

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if type(stored) is str:
            return reader.entity(self, stored)
        if isinstance(stored, DICT):
            return reader.entity_from_record(self, stored)
        if is_instance(stored):
            return stored
        # A class that shares the table may have stored a list here, which refers to no entity.
        return UNDEFINED if isinstance(stored, LIST) else reader.entity(self, stored)

    def instance(
        self, record: Mapping[str, Any], pk: str | None, reader: Reader, begun: Callable[[Any], None] | None
    ) -> Any:
        """The object for a record; `INVALID` if it is unusable.

        `begun` is called with the object before nested entities are read, so that these can refer back to it.
        """
        if self.model.whole:
            return self.model.construct(record, pk, reader, begun)
        try:
            return self._instance(record, pk, reader, begun)
        except ConversionError as error:
            return left_out(self.cls, pk, error)

    def _instance(
        self, record: Mapping[str, Any], pk: str | None, reader: Reader, begun: Callable[[Any], None] | None
    ) -> object:
        model = self.model
        if model.validate is not None and model.validate(record):
            return INVALID
        instance = new_instance(self.cls)
        set_members(instance, {})
        set_record(instance, record)
        if begun is not None:
            begun(instance)
        members = model.attributes(record, pk)
        shown = shown_relations(model, record, pk, reader)
        if shown is None:
            return INVALID
        replace_relations(model, members, shown)
        set_members(instance, members)
        return instance

    def echo(self, value: Any, echo: Echo) -> Any:
        if not isinstance(value, _OBJECT) and not is_instance(value):
            found = echo.reader.read(self, text_of(value)) if value and type(value) in SCALARS else None
            return UNDEFINED if found is INVALID else found
        model = self.model
        pk = echo.written.get((id(value), model.key))
        if pk is None and model.process is None and model.pk_name is not None and isinstance(value, MAPPING):
            pk = usable_pk(value.get(model.pk_name))
        found = UNDEFINED if pk is None else echo.reader.read(self, pk)
        return self.built_from(value, echo) if found is UNDEFINED or found is INVALID else found

    def pks_of(self, values: list[Any]) -> list[str] | None:
        """The primary keys of items of a response if each has it in one field; None if one has to be examined."""
        name = self.model.pk_name if self.model.process is None else None
        if name is None:
            return None
        return many_pks(values, name) or None

    def built_from(self, value: Mapping[str, Any] | Record, echo: Echo) -> object:
        """Build an instance from a response value, for an entity that is not in the store."""
        if is_instance(value):
            return value
        found = cast("Mapping[str, Any]", value)
        record = echo.processed.get((id(value), self.model.key), self.model.with_pk(found))
        return self.model.echoed(record, echo.visit)

    def lenient_pk(self, params: Mapping[str, object], args: tuple[object, ...]) -> str | None:
        """Return the primary key for URL parameters; None if they have none or `pk` raises for them."""
        try:
            if is_other_name(self.model, params):
                return None
            return self.model.pk(self.model.with_pk(params), None, None, args)
        except (AttributeError, KeyError, TypeError, ValueError, ProcessingError):
            return None

    def query_key(self, args: tuple[object, ...], reader: Reader) -> Any:
        model = self.model
        table = model.key
        if model.single:
            return ONLY if reader.has(table, ONLY) else UNDEFINED
        if not args or is_falsy(args[0]):
            return UNDEFINED
        first = args[0]
        if isinstance(first, (str, int, float)):
            pk: str | None = text_of(first)
        elif is_mapping(first):
            pk = self.lenient_pk(first, args)
            if pk is None:
                for name in model.indexes:
                    if first.get(name) is not None:
                        pk = reader.by_index(table, name, text_of(first[name]))
                        break
        else:
            pk = None
        return UNDEFINED if pk is None or not reader.has(table, pk) else pk


def _relate(schema: EntitySchema, record: dict[str, Any], writer: Writer) -> None:
    """Replace nested values of a record by their stored forms."""
    outside = writer.enclosing
    for relation in schema.model.relations:
        name = relation.in_json
        if name in record:
            writer.enclosing = (record, name)
            record[name] = writer.visit(relation.node, record[name], record, name)
    writer.enclosing = outside


def _no_object(schema: EntitySchema, value: Any, writer: Writer) -> ProcessingError:
    if isinstance(value, list):
        shown = json.dumps(value[:3], default=str)[:300]
        return ProcessingError(
            f"expected one object for {schema.title}, found a list that begins with {shown}{writer.where}; "
            f"declare the schema as [{schema.title}] if the response is a list"
        )
    return ProcessingError(f"expected an object for {schema.title}, found {value!r:.100}{writer.where}")


def _unusable_pk(schema: EntitySchema, record: Mapping[str, Any], writer: Writer) -> ProcessingError:
    """The error for a record without a usable primary key."""
    model = schema.model
    if model.pk_parts is None:
        found = "pk() returned no usable value"
    else:
        shown = {name: record.get(model.to_json.get(name, name)) for name in model.pk_parts}
        found = ", ".join(f"{name!r} is {value!r}" for name, value in shown.items())
    return ProcessingError(
        f"{with_article(schema.model.key)} in the response has no usable primary key: {found} in "
        f"{json.dumps(record, default=str)[:200]}{writer.where}; a primary key is a string or an integer: check "
        "the entity's pk, or add one in process()"
    )


def _completing(model: EntityModel, process: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Wrap `process` to add fields from path parameters and drop write-only members; None if there is nothing to do."""
    params, unread = model.params, model.unread
    if not (params or unread):
        return process

    def complete(value: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
        record: Mapping[str, Any] | None = value if process is None else process(value, parent, key, args)
        if record is None:
            return None
        found = {name: item for name, item in record.items() if name not in unread}
        first = args[0] if params and args else None
        given: Mapping[str, Any] = first if is_mapping(first) else {}
        for name, param in params.items():
            if found.get(name) is None and given.get(param) is not None:
                found[name] = model.typed_value(name, given[param])
        return found

    return complete


def params_to_fields(
    params: Mapping[str, object], fields: Mapping[str, str], schema: Schema | None
) -> Mapping[str, object]:
    """Convert URL parameters to record members: those for fields of other names, or nested fields, are moved there.

    `fields` maps parameters to (dotted) names of fields, which belong to the outermost entity of `schema`.
    """
    model = first_model(schema) if any(name in params for name in fields) else None
    if model is None:
        return params
    found: dict[str, Any] = {name: value for name, value in params.items() if name not in fields}
    for name, dotted in fields.items():
        if name in params:
            _put(found, model.wire_path(dotted), params[name])
    return found


def _put(record: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *above, last = path
    for part in above:
        record = record.setdefault(part, {})
    record[last] = value


def completed(record: Mapping[str, Any], known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Add known members to those objects of a record that `given` contains, perhaps only in part."""
    found = {**record}
    for name, part in given.items():
        mine, other = record.get(name), known.get(name)
        if is_mapping(part) and is_mapping(mine) and is_mapping(other):
            found[name] = completed({**other, **mine}, other, part)
    return found


def first_model(schema: Schema | None) -> EntityModel | None:
    """Return the model of the outermost entity in a schema; None if it contains none."""
    found = schemas_in(schema, lambda one: one.is_envelope)
    return next((one.model for one in found if isinstance(one, EntitySchema)), None)


def _shown(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a read-only view of a record for hooks, since stored records must not be changed in place."""
    return MappingProxyType(record) if isinstance(record, dict) else record


class EntityModel(Model):
    """The model of an entity class: table, primary key, relations and overridden hooks."""

    cls: type[Entity]

    def __init__(self, cls: type[Entity], settings: dict[str, Any], own: dict[str, Field]) -> None:
        super().__init__(cls, settings, own)
        self.key: str = self.setting("key") or cls.__name__
        self._entity_node = EntitySchema(cls, self)
        check_shorthand(self.setting("schema", {}))
        indexed: Iterable[str] = self.setting("indexes", ())
        self.indexes = tuple(self.to_json.get(name, name) for name in indexed)
        self.max_depth: int = self.setting("max_entity_depth", 64)
        declared_pk = self.setting("pk")
        self.pk_setting: str | Sequence[str] | Callable[..., Any] = "id" if declared_pk is None else declared_pk
        self.pk_parts: tuple[str, ...] | None = _pk_parts(self.pk_setting)
        """The fields of the primary key, with dots for nested ones; None if a function computes it."""
        self.single = self.pk_parts == ()
        """Whether there is only one record, whatever the arguments are."""
        self.pk_optional: bool = self.setting("pk_optional", False)
        # None for hooks that are not overridden, so that these are not called.
        self.params = {f.in_json: f.param for f in self.fields.values() if f.param is not None}
        """The path parameters that fill absent fields, by the JSON names of the fields."""
        own_process = self._hook("process")
        self.has_process = own_process is not None
        """Whether `process` is overridden; `self.process` may be set even if not, to complete records."""
        self.process = _completing(self, own_process)
        self.validate = self._hook("validate")
        self.merge = self._hook("merge")
        self.should_update = self._hook("should_update")
        self.should_reorder = self._hook("should_reorder")
        self.merge_with_store = self._hook("merge_with_store")
        self.merges = bool(self.merge or self.should_update or self.should_reorder or self.merge_with_store)
        """Whether a hook takes part in merging."""
        for summary in self.parents:
            if isinstance(summary, EntityModel) and summary.key == self.key:
                # A response that declares a summary has none of the other fields.
                added = {declared.in_json for declared in self.fields.values()}
                summary.unread |= added.difference(declared.in_json for declared in summary.fields.values())
                summary.process = _completing(summary, _overridden(summary.cls, "process"))

    @property
    def node(self) -> EntitySchema:
        """The schema of the class."""
        return self._entity_node

    whole: bool = False
    """Whether the class creates its instances itself, after the entities that they refer to."""

    def construct(
        self, record: Mapping[str, Any], pk: str | None, reader: Reader, begun: Callable[[Any], None] | None
    ) -> object:
        """Create the instance of a class with `whole` for a record; `INVALID` if the record is unusable."""
        raise NotImplementedError

    def _hook(self, name: str) -> Callable[..., Any] | None:
        return _overridden(self.cls, name)

    def from_record(self, record: Mapping[str, Any]) -> Any:
        """Create an instance for a record outside of a store, with instances of nested entities."""
        return self.cls.from_js(record)

    def echoed(self, record: Mapping[str, Any], visit: Callable[[Schema | None, Any], Any]) -> object:
        """Create an instance from a response, for an entity that is not in the store; None if the class is abstract."""
        if self.abstract:
            return None
        instance = self.from_record(record)
        members = dict(instance.__dict__)
        for relation in self.relations:
            if relation.in_json in record:
                entry = record[relation.in_json]
                try:
                    nested = visit(relation.node, entry)
                except ConversionError as error:
                    if not error.field:
                        raise relation.failure(entry, self.cls, self.pk_in(record), error) from error.__cause__
                    nested = UNDEFINED
                members[relation.name] = None if nested is UNDEFINED else nested
        set_members(instance, members)
        return instance

    @property
    def abstract(self) -> bool:
        """Whether the class is declared as abstract, or has no primary key."""
        if self.settings.get("abstract"):
            return True
        return self.setting("pk") is None and "id" not in self.fields

    @cached_property
    def pk(self) -> PkFunction:
        """The function `pk(record, parent, key, args)`: it returns the primary key of a JSON record, or None."""
        return _pk_function(self)

    @cached_property
    def pk_name(self) -> str | None:
        """The JSON name of the primary key's field; None if it is nested, composite or computed by a function."""
        setting = self.pk_setting
        return self.to_json.get(setting, setting) if isinstance(setting, str) and "." not in setting else None

    @cached_property
    def pk_path(self) -> tuple[str, ...]:
        """The JSON names on the path to the primary key's field; empty if it is composite or computed."""
        return self.wire_path(self.pk_setting) if isinstance(self.pk_setting, str) else ()

    def typed_key(self, key: Any, decode: bool) -> object:
        """Convert a primary key to the JSON type of its field, or with `decode` to its Python value."""
        name = self.to_python.get(self.pk_name or "", self.pk_name or "")
        typed = self.typed_value(self.pk_name or "", key)
        if typed is not key:
            return typed
        codec = self.codecs.get(name) if decode else None
        return key if codec is None or key is None else self.decode(name, codec, key, None)

    def wire_path(self, dotted: str) -> tuple[str, ...]:
        """Return the JSON names on the path to a nested field: `("metadata", "uid")` for `metadata.uid`."""
        name, *rest = dotted.split(".")
        path = [self.to_json.get(name, name)]
        names: Any = self.kinds.get(name)
        schema = self.fields[name].schema if name in self.fields else None
        for part in rest:
            inner = _record_model(names)
            renamed = inner.to_json if inner is not None else getattr(schema_of(schema), "wire", {})
            path.append(renamed.get(part, part))
            names = None if inner is None else inner.kinds.get(part)
            schema = None
        return tuple(path)

    def pk_part(self, record: Mapping[str, Any]) -> dict[str, object]:
        """Return the part of a record that contains its primary key, with no other members."""
        if self.pk_parts is None:
            return {name: record[name] for name in self.pk_names if name in record}
        part: dict[str, Any] = {}
        for path in map(self.wire_path, self.pk_parts):
            value = value_at(record, path)
            if value is not None:
                _put(part, path, value)
        return part

    @property
    def pk_names(self) -> tuple[str, ...]:
        """The JSON names of the members of a record that contain its primary key."""
        return tuple(self.to_json.get(name, name) for name in self.pk_fields)

    def typed_value(self, name: str, value: Any) -> object:
        """Convert a path parameter to the type of the field with this JSON name: an integer if the field is one."""
        is_number = type(value) is str and value.removeprefix("-").isdecimal() and _is_integer(self, name)
        return int(value) if is_number else value

    @cached_property
    def telling(self) -> frozenset[str]:
        """The names of parameters that identify an entity: those of the primary key and of the indexes."""
        names = self.fields if self.pk_parts is None else self.pk_parts  # a function may use any of them
        known = {name.partition(".")[0] for name in names} | {*self.params.values()}
        return frozenset(known | {self.to_json.get(name, name) for name in known} | {*self.indexes})

    def is_named_by(self, params: frozenset[str]) -> bool:
        """Return whether path parameters contain the primary key; a function may compute it of any of them."""
        return all(
            not params.isdisjoint({name, self.to_json.get(name, name), self.params.get(self.to_json.get(name, name))})
            for name in (part.partition(".")[0] for part in self.pk_parts or ())
        )

    @cached_property
    def banned(self) -> frozenset[str]:
        """JSON names that cannot be attributes: names of class members, and of fields with another Python name."""
        return self.members | self.to_json.keys()

    @property
    def pk_fields(self) -> Iterable[str]:
        """The fields of the primary key; if a function computes it, all fields that are no relations."""
        if self.pk_parts is None:
            return self.fields.keys() - {relation.name for relation in self.relations}
        return [name.partition(".")[0] for name in self.pk_parts]

    def with_pk(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return URL parameters or a record as a record: Python names and path parameters become JSON names."""
        if self.params:
            value = {**{name: value[param] for name, param in self.params.items() if param in value}, **value}
        if not self.to_json or self.pk(value, None, None, ()) is not None:
            return value
        return {**{self.to_json.get(name, name): item for name, item in value.items()}, **value}

    def pk_of_instance(self, instance: Record) -> str | None:
        record = stored_record(instance)
        if record is None:
            record = instance.__dict__ if self.direct else self.encoded(instance.__dict__)
        return self.pk(record, None, None, ())

    def pk_in(self, record: Mapping[str, Any]) -> str | None:
        return None if self.pk_name is None else usable_pk(record.get(self.pk_name))

    def with_objects(self, instance: Record, members: dict[str, Any]) -> Any:
        enclosing, place = _enclosing.get(), (self.key, self.pk_of_instance(instance))
        if place in enclosing:
            return self.node.keys(instance)
        token = _enclosing.set((*enclosing, place))
        try:
            return super().with_objects(instance, members)
        finally:
            _enclosing.reset(token)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The fields with a schema, and those with objects that contain entities."""
        raw: dict[str, Any] = {name: f.schema for name, f in self.fields.items() if f.schema is not None}
        raw.update(self.setting("schema", {}))
        raw.update(object_schemas(self, self.fields.keys() - raw.keys()))
        return tuple(Relation(self, name, schema) for name, schema in raw.items())

    @cached_property
    def direct(self) -> bool:
        """Whether the table can contain instances for readers instead of records.

        It can if the class has no relation, conversion, renaming, `validate`, default factory or cached property.
        """
        return not (
            self.relations
            or self.to_json
            or self.codecs
            or self.validate
            or any(declared.factory is not None for declared in self.fields.values())
            or _has_cached_property(self.cls)
        )

    def stored(self, record: dict[str, Any]) -> Any:
        """Return the table entry for a record: an instance for readers if `direct`, else the record."""
        if self.direct and self.members.isdisjoint(record):
            if holds_containers(record):
                for name, value in record.items():
                    if type(value) not in SCALARS:
                        record[name] = read_only(value)
            instance = new_instance(self.cls)
            set_members(instance, record)
            return instance
        return record


_left_out: Final[set[tuple[type[Any], str]]] = set()


def left_out(cls: type[Any], pk: str | None, error: ConversionError) -> Sentinel:
    """Return `INVALID` for a record with a value that cannot be decoded, and log it once for each field of the class.

    Lists leave such a record out, and a `get` requests it again.
    """
    kind = cls, error.field
    if kind not in _left_out:
        _left_out.add(kind)
        logger.warning("%s %s is left out: %s", cls.__name__, pk, error)
    return INVALID


def _has_cached_property(cls: type) -> bool:
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


def _record_model(kind: object) -> Model | None:
    """Return the model of the record class in an annotation `X` or `X | None`; None for other annotations."""
    kinds = [one for one in typing.get_args(kind) if one is not type(None)] or [kind]
    return class_record(kinds[0]) if len(kinds) == 1 and isinstance(kinds[0], type) else None


def without_lists(model: EntityModel, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record without nested collections, as it contains their keys where a response contains items."""
    nested = {relation.in_json for relation in model.relations if relation.is_collection}
    return {name: value for name, value in record.items() if name not in nested} if nested else record


def usable_pk(value: Any) -> str | None:
    """Return a primary key as a string; None if it is unusable.

    Strings and integers are usable, and 1.0 is 1. A boolean, a number with a fraction, a list, an object, and a string
    that cannot be encoded in UTF-8 (a lone surrogate) are not.
    """
    text = _pk_text(value)
    return None if text in UNUSABLE else text


def many_pks(values: list[Any], name: str) -> list[str]:
    """Return the primary keys of objects that all have one in the member `name`; empty if one has to be examined."""
    try:
        pks = [value[name] for value in values]
    except (KeyError, TypeError, IndexError):
        return []
    kinds = set(map(type, pks))
    if set(map(type, values)) != {dict}:
        return []
    if kinds == {int}:
        return [*map(str, pks)]
    return pks if kinds == {str} and "".join(pks).isascii() and UNUSABLE.isdisjoint(pks) else []


def _pk_text(value: Any) -> str | None:
    kind = kind_of(value)
    if kind is str:
        return value if value.isascii() or _is_unicode(value) else None
    if kind is int:  # (Benchmark: `cached()` of an entity, cold.)
        return str(value)
    if value is None or kind is bool or isinstance(value, _CONTAINERS):
        return None
    if kind is float:
        return str(int(value)) if value.is_integer() else None
    return scalar_text(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _by_field(name: str) -> PkFunction:
    def pk(record: Mapping[str, Any], parent: object, key: str | None, args: tuple[object, ...]) -> str | None:
        value = record.get(name)
        if type(value) is int:
            return str(value)
        return usable_pk(value)

    return pk


def is_other_name(model: EntityModel, params: Mapping[str, object]) -> bool:
    """Whether URL parameters have text in place of a key that is an integer or a UUID: `/projects/group%2Fname`."""
    name = model.pk_name
    text = None if name is None else params.get(name)
    if name is None or type(text) is not str:
        return False
    if _is_integer(model, name):
        return not text.removeprefix("-").isdecimal()
    return _kind(model, name) in (UUID, UUID | None) and not _is_uuid(text)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _is_integer(model: EntityModel, name: str) -> bool:
    """Whether the field with this JSON name, or Python name, is an integer."""
    return _kind(model, name) in (int, int | None)


def _kind(model: EntityModel, name: str) -> object:
    return model.kinds.get(model.to_python.get(name, name))


def _pk_parts(setting: str | Sequence[str] | Callable[..., Any]) -> tuple[str, ...] | None:
    if callable(setting):
        return None
    return (setting,) if isinstance(setting, str) else tuple(setting)


def value_at(record: Mapping[str, Any], path: Iterable[str]) -> Any:
    """Return the value at a path of JSON names in a record; None if there is none."""
    value: Any = record
    for name in path:
        if isinstance(value, Record):
            value = to_wire(value)
        if not is_mapping(value):
            return None
        value = value.get(name)
    return value


def _by_paths(model: EntityModel, names: Iterable[str], *, single: bool) -> PkFunction:
    """Return the function for a primary key of nested fields, or of several."""
    paths: list[tuple[str, ...]] = []

    def pk(record: Mapping[str, Any], parent: object, key: str | None, args: tuple[object, ...]) -> str | None:
        if not paths:  # classes of nested objects may be defined later than the entity
            paths.extend(model.wire_path(name) for name in names)
        values = [value_at(record, path) for path in paths]
        if single:
            return usable_pk(values[0])
        texts = [*map(_pk_text, values)]
        if None in texts or "" in texts:
            return None
        return json.dumps(texts, separators=(",", ":"), ensure_ascii=False)

    return pk


def _pk_function(model: EntityModel) -> PkFunction:
    name = model.pk_name
    if name is not None:
        return _by_field(name)
    parts = model.pk_parts
    if parts is not None:
        return _by_paths(model, parts, single=isinstance(model.pk_setting, str))
    function = cast("Callable[..., Any]", model.pk_setting)
    wants_place = len([p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]) > 1
    view_class = _view_class(model)

    def pk(record: Mapping[str, Any], parent: object, key: str | None, args: tuple[object, ...]) -> str | None:
        view = new_instance(view_class)
        set_members(view, {**dict.fromkeys(model.fields), **model.attributes(record)})
        set_record(view, record)
        return usable_pk(function(view, parent, key, args) if wants_place else function(view))

    return pk


def _view_class(model: EntityModel) -> type[Entity]:
    """Return the class of the argument of a `pk` method: the entity without defaults, with None for absent fields."""

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
    """The metaclass of entities; their `__model__` is an `EntityModel`."""

    __model__: EntityModel  # pyright: ignore[reportIncompatibleVariableOverride] - set once, when a class is created

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
        "from_js",
    }
)


class Entity(Record, metaclass=EntityMeta):
    """A record type with a primary key; the store has one copy of each entity.

    Fields are annotated class attributes with defaults. `pk()` returns the primary key (default: the field `id`), `key`
    is the name of the table (default: the class name), `schema` declares nested schemas, and `indexes` names further
    fields to look entities up by. All four may be given as class keywords instead. The hooks are class methods and get
    records with JSON names and values.

    The class keyword `persist=False` keeps the entities out of storages. An integer is the version of the stored form:
    raise it when `process`, `validate` or `merge` change.
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
            write_only: Mapping[str, Any] = ...,
            read_only: Iterable[str] = (),
            pk_optional: bool = False,
            persist: bool | int = True,
        ) -> None: ...

    else:
        key: ClassVar[str]

        def pk(self) -> str | None:
            """Return the primary key: by default the field `id`."""
            return type(self).__model__.pk_of_instance(self)

    def __init__(self, /, **members: Any) -> None:
        _refuse_abstract(type(self))
        super().__init__(**members)

    @classmethod
    def from_js(cls, props: Mapping[str, Any] | None = None) -> Self:
        """Create an instance from JSON members, declared or not; absent fields have their defaults.

        Nested objects become instances of their entities. Raises ProcessingError if a value cannot be decoded, and
        TypeError for an abstract entity.
        """
        _refuse_abstract(cls)
        return super().from_js(props)

    @classmethod
    def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
        """Return the record to store for a response object: a shallow copy; None invalidates the entity."""
        return {**input}

    @classmethod
    def validate(cls, record: Mapping[str, Any]) -> str | None:
        """Return why a record is unusable, or None; a response with an unusable record is rejected."""
        return None

    @classmethod
    def merge(cls, existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
        """Merge two records; members of `incoming` replace those of `existing`."""
        return {**existing, **incoming}

    @classmethod
    def should_update(
        cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
    ) -> bool:
        """Whether to merge the incoming record; `existing` is `INVALID` if the entity was deleted."""
        return True

    @classmethod
    def should_reorder(
        cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
    ) -> bool:
        """Whether the incoming record is older than the existing one: by default if its fetch started earlier."""
        return incoming_meta.fetched_at < existing_meta.fetched_at

    @classmethod
    def merge_with_store(cls, existing_meta: Meta, incoming_meta: Meta, existing: Stored, incoming: Stored) -> Stored:
        """Return the record to store, given the existing and the incoming one."""
        return merged_with_store(cls.__model__, existing_meta, incoming_meta, existing, incoming)

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


def merged_with_store(
    model: EntityModel, existing_meta: Meta, incoming_meta: Meta, existing: Stored, incoming: Stored
) -> Stored:
    """Return the record to store, given the existing and the incoming one, unless `merge_with_store` is overridden."""
    if incoming is INVALID:
        return INVALID
    was, comes = cast("Mapping[str, Any]", existing), cast("Mapping[str, Any]", incoming)
    if model.should_update is not None and not model.should_update(existing_meta, incoming_meta, was, comes):
        return existing
    older = _is_older(model, existing_meta, incoming_meta, existing, comes)
    if existing is INVALID:
        return INVALID if older else incoming  # a response that was requested before the deletion does not undo it
    if model.merge is not None:
        merged: Mapping[str, Any] = model.merge(comes, was) if older else model.merge(was, comes)
        return merged
    return {**comes, **was} if older else {**was, **comes}


def _is_older(
    model: EntityModel, existing_meta: Meta, incoming_meta: Meta, existing: Stored, incoming: Mapping[str, object]
) -> bool:
    """Whether an incoming record is older than the existing one; a hook does not decide about a deleted one."""
    if model.should_reorder is None or existing is INVALID:
        return incoming_meta.fetched_at < existing_meta.fetched_at
    return bool(model.should_reorder(existing_meta, incoming_meta, existing, incoming))


def _refuse_abstract(cls: type[Entity]) -> None:
    if cls.__model__.abstract:
        raise TypeError(
            f"{cls.__name__} is abstract: it has no primary key of its own; build an instance of a subclass, "
            "or give it a field 'id' or a pk()"
        )


def validate_required(record: Mapping[str, Any], defaults: Mapping[str, object]) -> str | None:
    """Return an error for the first of these fields that a record lacks, or None; for use in `validate`."""
    for name in defaults:
        if name not in record:
            return f"missing required field {name!r}"
    return None


def as_entity(schema: Schema | None) -> EntitySchema | None:
    """Return the schema if it is that of an entity, else None."""
    return schema if isinstance(schema, EntitySchema) else None


def entity_of(raw: Any) -> type[Entity] | None:
    """Return the entity class that a schema is about: itself, or the only one inside; None if not exactly one."""
    node = entity_node(schema_of(raw))
    return node.cls if node is not None else None


def entity_model(raw: Any) -> EntityModel | None:
    """Return the model of the entity that a schema is about; None if not exactly one."""
    node = entity_node(schema_of(raw))
    return node.model if isinstance(node, EntitySchema) else None
