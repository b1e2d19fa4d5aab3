"""Schemas of lists, objects and maps, and of unions of entities that a field or function distinguishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

from ..base.logs import logger
from ..base.values import (
    DICT,
    INVALID,
    LIST,
    MAPPING,
    SCALARS,
    UNDEFINED,
    ReadOnlyDict,
    ReadOnlyList,
    is_dict,
    is_mapping,
    is_sequence,
    kind_of,
    read_only,
)
from .notation import Lazy, notation, schema_of, shorthand
from .protocol import (
    Echo,
    EntityNode,
    Reader,
    Schema,
    Subject,
    ValueTypes,
    Writer,
    check_shape,
    definitions,
    nested_value,
    title_of,
)
from .record import is_instance, to_wire
from .stored import entries_of, is_falsy

Attribute: TypeAlias = str | Callable[[Any, Any, str | None], Any]
"""Selects the schema of an item: the name of a field, or a function of value, parent and key."""


REFERENCE: Final = frozenset({"id", "schema"})
"""The members of the stored reference to one of several entities."""


class Polymorphic(Schema):
    """A value of one of several types; a stored reference is `{"id": …, "schema": name}` with the name of its type."""

    @cached_property
    def mapping(self) -> dict[Any, Schema | None]:
        """The types that values can refer to, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no mapping")

    @property
    def wire_model(self) -> Any:
        return self

    @property
    def body_model(self) -> object:
        return self

    @property
    def entities(self) -> Mapping[Any, Any]:
        return {name: schema for name, schema in self.mapping.items() if isinstance(schema, EntityNode)}

    def referenced(self, stored: Any) -> Schema | None:
        """The type of a stored reference; None for a value that was stored unchanged."""
        if not isinstance(stored, DICT) or stored.keys() != REFERENCE:
            return None
        try:
            return self.mapping.get(stored["schema"])
        except TypeError:
            return None

    def referred(self, stored: Any) -> tuple[Any, str] | None:
        schema = self.referenced(stored)
        return None if schema is None else schema.referred(stored["id"])

    def reference(self, entity: EntityNode, pk: str) -> Any:
        names = (name for name, one in self.entities.items() if one.cls is entity.cls)
        return next(({"id": pk, "schema": name} for name in names), None)

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        schema = self.referenced(value)
        if schema is not None:
            return schema.keys(value["id"], decode=decode)
        if is_instance(value):
            schema = schema_of(kind_of(value))
        elif value is not None:
            _, schema = self.select(value, None, None)
        if schema is None:
            return value if value is not None and type(value) in SCALARS else UNDEFINED
        return schema.keys(value, decode=decode)

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        schema = self.referenced(stored)
        if schema is None:
            return self.shown(stored, reader)
        return reader.visit(alternative_now(self, schema, stored["id"], reader), stored["id"])

    def shown(self, stored: Any, reader: Reader) -> Any:
        """Denormalize a value that is no reference."""
        raise NotImplementedError(f"{type(self).__name__} has no shown")


class Union(Polymorphic):
    """One of several entities, selected by a field or a function; a stored item is `{"id": …, "schema": name}`."""

    owner = "Union"
    """The container that it is in, for messages."""

    def __init__(self, schema: Any, schema_attribute: Attribute | None = None) -> None:
        if not is_mapping(schema) or schema_attribute is None:
            raise TypeError(
                "Union needs a mapping from values to entities and schema_attribute, the field (or function) that "
                "gives the value"
            )
        self.raw: dict[Any, Any] = dict(schema)
        self.attribute = schema_attribute

    @cached_property
    def mapping(self) -> dict[Any, Schema | None]:
        """The schemas by the value of the attribute that selects them."""
        return {name: schema_of(raw) for name, raw in self.raw.items()}

    def define(self, definition: Mapping[Any, object]) -> None:
        """Add further schemas, replacing those of equal values."""
        self.raw.update(definition)
        self.__dict__.pop("mapping", None)
        definitions.changed()

    def children(self) -> Iterable[Schema | None]:
        return self.mapping.values()

    def fingerprint(self, of: Callable[[Schema | None], object]) -> object:
        names = {str(name): of(one) for name, one in self.mapping.items()}
        return ["choice", self.attribute if isinstance(self.attribute, str) else "code", names]

    @property
    def title(self) -> str:
        return ";".join(title_of(schema, str(name)) for name, schema in self.mapping.items())

    def identity(self) -> object:
        return (tuple(self.raw.items()), self.attribute)

    def select(self, value: Any, parent: object, key: str | None) -> tuple[object, Schema | None]:
        """The name and the schema for an item; (None, None) if the mapping has none."""
        attribute = self.attribute
        try:
            name = attribute(value, parent, key) if callable(attribute) else value.get(attribute)
            schema = self.mapping.get(name)
        except (AttributeError, KeyError, TypeError):
            return None, None
        return (name, schema) if schema is not None else (None, None)

    def nested(self, value: object) -> object:
        return nested_value(self.select(value, None, None)[1], value)

    def encoded(self, members: Mapping[str, object]) -> dict[str, Any]:
        """Convert members with Python names and values to JSON, as the selected entity does."""
        _, schema = self.select(members, None, None)
        if schema is None and isinstance(self.attribute, str):
            # The attribute is a JSON name, but these members may have its Python name.
            for name, candidate in self.mapping.items():
                if isinstance(candidate, EntityNode):
                    python = candidate.wire_model.to_python.get(self.attribute)
                    if python is not None and members.get(python) == name:
                        schema = candidate
        if isinstance(schema, EntityNode):
            encoded: dict[str, Any] = schema.wire_model.encoded(members)
            return encoded
        return {name: to_wire(value) for name, value in members.items()}

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        name, schema = self.select(value, parent, key)
        if schema is None:
            if not isinstance(value, MAPPING):
                check_shape(self, value, writer, "an object")
            self.warn_of(value)
            return value
        if callable(self.attribute):
            # The function may use parent and key, which an echo does not have.
            writer.chosen[id(value), id(self)] = schema
        return {"id": writer.visit(schema, value, parent, key), "schema": name}

    def undecided(self, value: Any, parent: object, key: str | None) -> bool:
        """Whether an item has no value for the attribute."""
        attribute = self.attribute
        try:
            name = attribute(value, parent, key) if callable(attribute) else value.get(attribute)
        except (AttributeError, KeyError, TypeError):
            return True
        return name is None

    def warn_of(self, value: object) -> None:
        """Log a warning for an item without an entry in the mapping."""
        logger.warning(
            "%s: no schema for an item whose attribute %r is %r; it is kept unchanged. Known: %s",
            self.owner,
            getattr(self.attribute, "__name__", self.attribute),
            value.get(self.attribute) if is_mapping(value) and isinstance(self.attribute, str) else "?",
            ", ".join(map(str, self.raw)),
        )

    def shown(self, stored: Any, reader: Reader) -> Any:
        _, schema = self.select(stored, None, None)
        return read_only(stored) if schema is None else reader.visit(schema, stored)

    def chosen(self, value: object, echo: Echo) -> Schema | None:
        """The schema with which an item of the response was normalized; None if there was none."""
        found = echo.chosen.get((id(value), id(self)))
        return self.select(value, None, None)[1] if found is None and not callable(self.attribute) else found

    def echo(self, value: Any, echo: Echo) -> Any:
        return echo.visit(self.chosen(value, echo), value)

    def query_key(self, args: tuple[object, ...], reader: Reader) -> object:
        if not args or args[0] is None:
            return UNDEFINED
        name, schema = self.select(args[0], None, None)
        return known_alternative(self, self.mapping if schema is None else {name: schema}, args, reader)


def alternative_now(union: Schema, known: Schema, pk: Any, reader: Reader) -> Schema:
    """Return the alternative that a stored record is now; it may have changed to another one of its table."""
    if not isinstance(known, EntityNode):
        return known
    record = reader.stored(known.table_key, pk)
    _, found = union.select(record, None, None) if is_mapping(record) else (None, None)
    return found if isinstance(found, EntityNode) and found.table_key == known.table_key else known


def known_alternative(
    union: Schema, candidates: Mapping[object, Schema | None], args: tuple[object, ...], reader: Reader
) -> object:
    """Return the reference to the stored record that arguments identify, in the first table that has one."""
    for name, schema in candidates.items():
        pk = UNDEFINED if schema is None else schema.query_key(args, reader)
        if schema is not None and pk is not UNDEFINED and alternative_now(union, schema, pk, reader) is schema:
            return {"id": pk, "schema": name}
    return UNDEFINED


def item_schema(raw: Any, attribute: Attribute | None, owner: str) -> Schema | None:
    """Return the schema of the items of a container.

    Raises TypeError for a mapping without an attribute, and for an attribute without a mapping."""
    if attribute is not None:
        if not is_mapping(raw):
            raise TypeError(f"{owner}: schema_attribute needs a mapping from its values to schemas, found {raw!r}")
        union = Union(raw, attribute)
        union.owner = owner
        return union
    if is_mapping(raw) and owner in ("All", "Union", "Values", "Array", "Invalidate"):
        raise TypeError(
            f"{owner}: a mapping needs schema_attribute, the field (or function) with the kind of an item, one of "
            f"{', '.join(map(str, raw))}"
        )
    return schema_of(raw)


class OverItem(Schema):
    """A schema over another one, that of its items or of its entity, which is resolved at first use if it is lazy."""

    def __init__(self, raw: Any, attribute: Attribute | None, owner: str) -> None:
        self._raw: Any = raw
        self._attribute = attribute
        self._owner = owner
        if not isinstance(raw, (Lazy, list)) or attribute is not None:
            _ = self.item  # raises the errors of the definition

    @cached_property
    def item(self) -> Schema | None:
        """The schema of each item, or of the entity."""
        return item_schema(self._raw, self._attribute, self._owner)

    def children(self) -> Iterable[Schema | None]:
        return (self.item,)

    def nested(self, value: object) -> object:
        if is_mapping(value):
            return ReadOnlyDict({name: nested_value(self.item, entry) for name, entry in value.items()})
        return ReadOnlyList([nested_value(self.item, entry) for entry in value]) if is_sequence(value) else value

    @property
    def title(self) -> str:
        return title_of(self.item, self._owner)


class ItemHolder(OverItem):
    """A container of items that share one schema."""

    plain = True  # except for its items

    @property
    def plain_items(self) -> Schema | None:
        return self.item

    def identity(self) -> object:
        return (type(self), item_identity(self.item))


def item_identity(schema: Schema | None) -> object:
    """Return a hashable key that is equal for schemas that denormalize the same stored form to the same object."""
    if isinstance(schema, Union):
        try:
            found = schema.identity()
            hash(found)
        except TypeError:
            return schema
        return found
    return schema


def items_of(value: Any) -> Iterator[object]:
    """Iterate over the items of a list, or over the values of a dict."""
    return iter(value.values()) if isinstance(value, MAPPING) else iter(value)


class List(ItemHolder):
    """A plain list `[S]`: `null` items stay, missing and invalid items are left out on read."""

    fingerprint_name = "list"
    shape = "a list"

    many = True
    keeps_null = True

    def subjects(self, result: object) -> Iterator[Subject]:
        item = self.item
        if item is not None:
            for entry in entries_of(result):
                yield from item.subjects(entry)

    def value_types(self, of: ValueTypes) -> None:
        of.items(self.item)

    def __init__(self, raw: list[Any]) -> None:
        if len(raw) != 1:
            raise TypeError(
                f"a list schema has exactly one item, found {len(raw)}: {raw!r}; for several kinds use Array with a "
                "mapping and schema_attribute"
            )
        OverItem.__init__(self, raw[0], None, "list")

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not isinstance(value, list):
            check_shape(self, value, writer, self.shape)
        item = self.item
        visit = writer.visit
        stored = [visit(item, entry, parent, key) for entry in items_of(value)]
        return stored if self.keeps_null else [entry for entry in stored if entry is not None]

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if not isinstance(stored, LIST):
            return read_only(stored)
        return reader.items(self.item, stored)

    def echo(self, value: Any, echo: Echo) -> Any:
        if not isinstance(value, (list, Mapping)):
            return value
        item, entries = self.item, list(items_of(value))
        if item is not None and (pks := item.pks_of(entries)) is not None:
            # Equal to a read of the list, unless one of the entities is not in the store.
            shown = echo.reader.visit(self, pks)
            if len(shown) == len(pks):
                return shown
        found = (echo.item(item, entry) for entry in entries)
        return ReadOnlyList([entry for entry in found if entry is not UNDEFINED])

    @property
    def title(self) -> str:
        return title_of(self.item, "list")

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        if self.item is None or not is_sequence(value):
            return UNDEFINED
        return [self.item.keys(entry, decode=decode) for entry in value]

    @property
    def wire_model(self) -> Any:
        item = self.item
        model = None if item is None or item.many else item.wire_model
        return [model] if hasattr(model, "encode_one") else model


class Array(List):
    """A list without `null` items; with a mapping and an attribute it contains several kinds of entities."""

    fingerprint_name = "Array"

    keeps_null = False

    def __init__(self, schema: object, schema_attribute: Attribute | None = None) -> None:
        OverItem.__init__(self, schema, schema_attribute, "Array")


class Values(ItemHolder):
    """A map with arbitrary keys; falsy, missing and invalid entries are left out."""

    fingerprint_name = "values"
    shape = "an object"

    def value_types(self, of: ValueTypes) -> None:
        of.entries(self.item)

    def __init__(self, schema: object, schema_attribute: Attribute | None = None) -> None:
        super().__init__(schema, schema_attribute, "Values")

    def encoded(self, members: Mapping[str, object]) -> dict[str, Any]:
        """Convert the values of entries to JSON; their keys are data and stay unchanged."""
        model = None if self.item is None else self.item.wire_model
        return {name: to_wire(value, model) for name, value in members.items()}

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not isinstance(value, MAPPING):
            return self.normalize_scalar(value, writer)
        item = self.item
        return {name: writer.visit(item, entry, value, name) for name, entry in value.items() if entry is not None}

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if not isinstance(stored, DICT):
            return read_only(stored)
        item = self.item
        out: dict[str, Any] = {}
        for name, entry in stored.items():
            found = reader.visit(item, entry)
            if found is not UNDEFINED and found is not INVALID and (item is None or not is_falsy(found)):
                out[name] = found
        return ReadOnlyDict(out)

    def echo(self, value: Any, echo: Echo) -> Any:
        if not isinstance(value, MAPPING):
            return read_only(value)
        found = {name: echo.item(self.item, entry) for name, entry in value.items()}
        return ReadOnlyDict({name: entry for name, entry in found.items() if entry is not UNDEFINED})

    @property
    def title(self) -> str:
        return title_of(self.item, "map")

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        if self.item is None or not is_mapping(value):
            return UNDEFINED
        return {name: self.item.keys(entry, decode=decode) for name, entry in value.items()}

    @property
    def wire_model(self) -> Any:
        return self


class Object(Schema):
    """An object with the given members; members without a schema are kept.

    The definition has Python names, and so have objects for readers; `wire` maps those names that differ to JSON
    names. `required` and `constants` (fixed values of members) distinguish the object in a `OneOf`.
    """

    shape = "an object"

    def __init__(
        self,
        definition: Mapping[str, object],
        wire: Mapping[str, str] | None = None,
        *,
        required: Iterable[str] = (),
        constants: Mapping[str, object] | None = None,
    ) -> None:
        self.definition = dict(definition)
        self.required = frozenset(required)
        self.constants = dict(constants or {})
        self.wire = dict(wire or {})
        self._names = {json_name: name for name, json_name in self.wire.items()}

    def define(self, definition: Mapping[str, object]) -> None:
        """Add further members, replacing those of equal names."""
        self.definition.update(definition)
        self.__dict__.pop("members", None)
        definitions.changed()

    @property
    def plain(self) -> bool:  # type: ignore[override]  # renamed members need conversion
        return not self.wire

    @cached_property
    def members(self) -> dict[str, Schema]:  # pyright: ignore[reportIncompatibleMethodOverride]
        found: dict[str, Schema] = {}
        for name, raw in self.definition.items():
            schema = schema_of(raw)
            if schema is not None:
                found[self.wire.get(name, name)] = schema
        return found

    @property
    def plain_members(self) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        waiting: list[tuple[tuple[str, ...], Schema | None]] = [((), self)]
        seen: set[object] = set()
        while waiting:
            path, schema = waiting.pop()
            place = id(schema) if isinstance(schema, Object) else (id(schema), path)
            if schema is None or place in seen:
                continue
            seen.add(place)  # schemas may lead back to themselves
            if isinstance(schema, Object):
                names = [schema.wire.get(name, name) for name in schema.definition]
                found += [(*path, name) for name in names if name not in schema.members]
                waiting += [((*path, name), member) for name, member in schema.members.items()]
            elif schema.is_leaf:
                found.append(path)
            elif schema.entity is None and not schema.is_collection:
                found += [(*path, *one) for one in schema.plain_members]
                waiting += [(path, child) for child in schema.children()]
        return found

    def children(self) -> Iterable[Schema | None]:
        return self.members.values()

    def subjects(self, result: Any) -> Iterator[Subject]:
        for name, member in self.members.items() if is_dict(result) else ():
            yield from member.subjects(result.get(name))

    def fingerprint(self, of: Callable[[Schema | None], object]) -> object:
        return ["object", {name: of(member) for name, member in self.members.items()}]

    def value_types(self, of: ValueTypes) -> None:
        of.object(self)

    @property
    def title(self) -> str:
        titles = [title_of(schema, "Object") for schema in self.members.values()]
        return titles[0] if len(titles) == 1 else "Object"

    @property
    def wire_model(self) -> Any:
        return self

    def encoded(self, members: Mapping[str, object]) -> dict[str, Any]:
        """Convert members with Python names and values to JSON; members that are JSON already stay unchanged."""
        out: dict[str, Any] = {}
        for name, value in members.items():
            json_name = self.wire.get(name, name)
            if json_name != name and json_name in members:
                continue
            schema = self.members.get(json_name)
            out[json_name] = to_wire(value, None if schema is None else schema.wire_model)
        return out

    def nested(self, value: object) -> object:
        if not is_mapping(value):
            return read_only(value)
        names, members = self._names, self.members
        return ReadOnlyDict(
            {names.get(name, name): nested_value(members.get(name), one) for name, one in value.items()}
        )

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not isinstance(value, MAPPING):
            return self.normalize_scalar(value, writer)
        record: dict[str, Any] = {**value}
        for name, schema in self.members.items():
            if name in record:
                found = writer.visit(schema, record[name], value, name)
                if found is UNDEFINED:
                    del record[name]
                else:
                    record[name] = found
        return record

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        if not isinstance(stored, DICT):
            return read_only(stored)
        members, names = self.members, self._names
        out: dict[str, Any] = {}
        name: str
        for name, entry in stored.items():
            schema = members.get(name)
            if schema is None:
                found = entry if type(entry) in SCALARS else read_only(entry)
            else:
                found = reader.visit(schema, entry)
                if found is INVALID:
                    return INVALID
                if found is UNDEFINED:
                    found = None
            out[names.get(name, name)] = found
        return ReadOnlyDict(out)

    def echo(self, value: Any, echo: Echo) -> Any:
        if not isinstance(value, MAPPING):
            return read_only(value)
        members, names = self.members, self._names
        out: dict[str, Any] = {}
        name: str
        for name, entry in value.items():
            found = echo.visit(members.get(name), entry)
            out[names.get(name, name)] = None if found is UNDEFINED else found
        return ReadOnlyDict(out)

    def query_key(self, args: tuple[object, ...], reader: Reader) -> object:
        if id(self) in reader.asking:
            return UNDEFINED  # a recursive schema has no end that could be known here
        reader.asking.add(id(self))
        found: dict[str, Any] = {}
        for name, raw in self.definition.items():
            json_name = self.wire.get(name, name)
            member = self.members.get(json_name)
            found[json_name] = raw if member is None else member.query_key(args, reader)
        reader.asking.discard(id(self))
        return found


@notation.register(list)
def _list(raw: list[Any]) -> Schema:
    return shorthand(raw, List)


@notation.register(dict)
def _object(raw: dict[str, Any]) -> Schema:
    return shorthand(raw, Object)
