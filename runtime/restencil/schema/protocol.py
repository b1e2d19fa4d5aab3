"""What all schemas have in common, and the two protocols by which they talk to the passes over their values.

A *writer* takes a response apart: it is handed to `Schema.normalize`, which gives it the entities and collections that
it finds. A *reader* puts objects together: it is handed to `Schema.denormalize`, which asks it for those that the value
refers to. Both hand the recursion in, so that a schema knows only what stands directly inside it. An *echo* repeats a
response in its own shape with the store's instances in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias
from weakref import WeakSet

from ..base.errors import ConversionError, ProcessingError
from ..base.values import SCALARS, TUPLE, UNDEFINED, Meta, ReadOnlyList, read_only
from .codec import Codec, codec_of

Compiled: TypeAlias = Callable[..., Any]
"""A function that was made for one schema, which does what the schema's own method does."""


class Writer(Protocol):
    """What schemas ask of the pass that takes one response apart."""

    args: tuple[Any, ...]
    """The endpoint's arguments."""
    where: str
    """A phrase for the end of errors that says which response this is, or nothing."""
    strict: bool
    """Whether a value of another shape than the schema's is rejected."""
    is_certain: bool
    """Whether the records are as the server has them; not if members it left out are taken from the request."""
    has_references: bool
    """Whether the response refers to an entity by its primary key alone."""
    enclosing: tuple[Mapping[str, Any], str] | None
    """The processed record of the entity that is being normalized, and the field."""
    written: dict[tuple[int, str], str]
    """Which primary key each object of the response got, by the object's identity and table."""
    processed: dict[tuple[int, str], Mapping[str, Any]]
    """What an overridden `process` made of an object of the response, by the object's identity and table."""
    chosen: dict[tuple[int, int], Schema]
    """Which schema a function chose for a polymorphic object of the response, by both identities."""

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        """The stored form of a value that is in `parent` under `key`."""
        ...

    def created(self, normalize: Callable[..., Any], *args: Any) -> Any:
        """Calls `normalize(*args)` for what a creation brought: inside, `placeholder` gives primary keys."""
        ...

    def placeholder(self) -> str | None:
        """A primary key for a record that has none yet; None where nothing is being created."""
        ...

    def visited(self, value: Any, table: str, pk: str) -> bool:
        """Whether this very object was already visited as this entity; notes it otherwise."""
        ...

    def keep(self, value: Mapping[str, Any], processed: Mapping[str, Any], table: str) -> None:
        """Remembers what `process` made of an object of the response."""
        ...

    def record_before(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The record as it stood before this pass, None where there was none."""
        ...

    def stored_record(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The record as it stands at this point of the pass, None where there is none."""
        ...

    def is_stored(self, table: str, pk: str) -> bool:
        """Whether the table has an entry at this point of the pass; INVALID counts as one."""
        ...

    def write_entity(self, schema: EntityNode, pk: str, record: dict[str, Any]) -> None:
        """Stores a record, merged with those of this entity that are there."""
        ...

    def write_invalid(self, table: str, pk: str) -> None:
        """Marks an entity as deleted or unusable; that wins over whatever is stored."""
        ...

    def open_table(self, table: str) -> None:
        """Makes a table known, whether or not anything is in it."""
        ...

    def note_nested_collection(self, table: str, pk: str) -> None:
        """Notes a collection that is nested in an entity and has nothing of it in its primary key."""
        ...

    def stored_collection(self, table: str, pk: str) -> Any:
        """The stored list or dict of a collection at this point of the pass, None where there is none."""
        ...

    def collections(self, table: str) -> list[tuple[str, Any]]:
        """Every stored collection of a table, with its primary key."""
        ...

    def write_collection(self, table: str, pk: str, items: Any, schema: Schema | None = None) -> None:
        """Replaces a collection, unless the stored one was fetched later."""
        ...

    def note_page(self, table: str, pk: str, schema: Schema, items: Any) -> None:
        """Notes that what is added to this collection is a page of it."""
        ...

    def note_joins(
        self,
        table: str,
        pk: str | None,
        accepts: Callable[[str], bool],
        change: Callable[[str, Any], Any],
        *,
        refreshes: bool = False,
        moved: Mapping[tuple[str, str], Any] | None = None,
        change_of: Callable[[Mapping[tuple[str, str], Any]], Callable[[str, Any], Any]] | None = None,
    ) -> None:
        """Notes what is done to all collections of a table that are accepted, or to one.

        `change_of` makes `change` from the entities' records before and after; `moved` has those that are known.
        """
        ...

    def change_collection(self, table: str, pk: str, changed: Any) -> None:
        """Stores a collection that something was added to or taken from."""
        ...


class Reader(Protocol):
    """What schemas ask of the pass that puts objects together."""

    args: tuple[Any, ...]
    """The endpoint's arguments."""
    asking: set[int]
    """The identities of the schemas whose `query_key` is being asked for."""

    def read(self, schema: Schema | None, stored: Any, slot: Any = None) -> Any:
        """What a stored form is for readers, as the outermost value of a read."""
        ...

    def visit(self, schema: Schema | None, stored: Any) -> Any:
        """The object for one stored value; `UNDEFINED` for a missing one and `INVALID` for an unusable one."""
        ...

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """The objects for the items of a list; missing and unusable ones are left out, `None` stays."""
        ...

    def entity(self, schema: EntityNode, pk: Any) -> Any:
        """The instance for a primary key; `UNDEFINED` for a missing one and `INVALID` for an unusable one."""
        ...

    def entity_from_record(self, schema: EntityNode, record: Mapping[str, Any]) -> Any:
        """The instance for a record that was never normalized."""
        ...

    def collection(self, schema: CollectionNode, pk: str) -> Any:
        """The list or dict of a stored collection; `UNDEFINED` for a missing one and `INVALID` for an unusable one."""
        ...

    def computed(self, schema: Schema, value: Any, compute: Callable[[], Any]) -> Any:
        """What `compute()` gives: the identical result for the identical value and arguments."""
        ...

    def has(self, table: str, pk: str) -> bool:
        """Whether the table has an entry; INVALID counts as one."""
        ...

    def stored(self, table: str, pk: str) -> Any:
        """What the table holds: a record, an instance that is one, a collection, INVALID, or UNDEFINED."""
        ...

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """The primary key that an index holds for a value."""
        ...

    def table_exists(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        ...

    def table(self, table: str) -> Iterator[str]:
        """The primary keys of a table in order of arrival."""
        ...


class ValueTypes(Protocol):
    """Collects the declared types of a value."""

    def value(self, thing: Any, /) -> None:
        """It may be a value of this schema or type."""
        ...

    def record(self, model: Any, /) -> None:
        """It may be a record of this class."""
        ...

    def object(self, schema: Schema, /) -> None:
        """It may be an object with the members of this schema."""
        ...

    def items(self, thing: Any, /) -> None:
        """It may be a list of this schema or type."""
        ...

    def entries(self, thing: Any, /) -> None:
        """It may be a map of values of this schema or type."""
        ...


class Schema:
    """What all schema kinds have in common; each declares where entities are in a value."""

    plain: ClassVar[bool] = False
    """Whether there is nothing in it to denormalize, but for what its children hold."""
    many: ClassVar[bool] = False
    """Whether a value of it is a list of values."""

    takes_anything: ClassVar[bool] = False
    """Whether any answer will do, even one that is no JSON."""

    written_as: Any = None
    """The list or dict that it was written as, if it was."""

    normalizer: Compiled | None = None
    """The compiled form of `normalize`, once it pays."""
    uses: int = 0
    """How many values were normalized before it was compiled."""
    denormalizer: Compiled | None = None
    """The compiled form of `denormalize`, once it pays."""
    reads: int = 0
    """How many values were denormalized before it was compiled."""

    has_merge: bool = False
    """Whether users' code has a say in merging records."""

    def drop_compiled(self) -> None:
        """A schema was redefined, perhaps one that was compiled into this one."""
        self.normalizer = self.denormalizer = None

    def normalize(self, value: Any, parent: Any, key: str | None, writer: Writer) -> Any:
        """Response value → stored form; the entities in it are given to the writer."""
        raise NotImplementedError(f"{type(self).__name__} has no normalize")

    def normalize_scalar(self, value: Any, writer: Writer) -> Any:
        """The stored form of a scalar: unchanged, except for entities and `Invalidate`."""
        return value

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        """Stored form → objects; `UNDEFINED` for missing and `INVALID` for unusable."""
        raise NotImplementedError(f"{type(self).__name__} has no denormalize")

    def echo(self, value: Any, echo: Echo) -> Any:
        """The response's own shape, in which every entity is the store's instance."""
        raise NotImplementedError(f"{type(self).__name__} has no echo")

    def conversion(self) -> Codec | None:
        """The conversion of values that no store holds, where the schema says more than an annotation; else None."""
        return None

    def nested(self, value: Any) -> Any:
        """The Python form of a value that no store holds; `UNDEFINED` where what stands inside says it."""
        return UNDEFINED

    def query_key(self, args: tuple[Any, ...], reader: Reader) -> Any:
        """The stored form that would be the result for these args, from tables alone; `UNDEFINED` if unknown."""
        return UNDEFINED

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        """The primary keys of the entities in a value or its stored form, each in the type that the key's field has.

        In JSON's form, or as attributes show them (`decode`); `UNDEFINED` where the value tells none. Raises ValueError
        for an entity whose key is no single value.
        """
        return UNDEFINED

    def children(self) -> Iterable[Schema | None]:
        """The schemas directly inside this one, in declaration order."""
        return ()

    adds: ClassVar[bool] = False
    """Whether a response of it is added to collections that are stored already."""
    is_creation: bool = False
    """Whether a response of it is what the call created."""
    removes: ClassVar[bool] = False
    """Whether a response of it names what exists no more."""
    is_leaf: ClassVar[bool] = False
    """Whether nothing in a value of it can be an entity."""
    is_collection: ClassVar[bool] = False
    """Whether its values are lists or maps of a table of their own."""

    @property
    def entity(self) -> EntityNode | None:
        """The entity that a stored primary key refers to; None for schemas whose values are no bare keys."""
        return None

    @property
    def own_table(self) -> str | None:
        """The table that its values lie in; None where they lie in what contains them."""
        return None

    def identity(self) -> Any:
        """What schemas have in common that give the same object for the same stored form."""
        return self

    @property
    def subject(self) -> Schema | None:
        """The schema of one entity that a response is about: of what is added, or removed, else its own."""
        return self

    def subjects(self, result: Any) -> Iterator[Subject]:
        """The entities that a stored result is about, without those that are nested in them."""
        found = self.referred(result)
        return iter(() if found is None else (Subject(*found),))

    @property
    def members(self) -> Mapping[str, Schema]:
        """Of an object: the members that have a schema, by their names in JSON."""
        return {}

    @property
    def plain_members(self) -> list[str]:
        """Of an object: the names in JSON of the members without a schema, such as a count beside a list."""
        return []

    @property
    def plain_items(self) -> Schema | None:
        """The schema of the items of a list or map that lies in what contains it; None for all other values."""
        return None

    def written_children(self) -> Iterable[Any]:
        """The schemas directly inside this one, as they are written: no class is looked up for them."""
        return self.children()

    fingerprint_name: ClassVar[str] = ""
    """The name of the kind in fingerprints; empty for the name of the class."""

    def fingerprint(self, of: Callable[[Schema | None], Any]) -> Any:
        """What decides how values of it are stored, as JSON; `of` gives that of schemas inside."""
        return [self.fingerprint_name or type(self).__name__, *map(of, self.children())]

    def value_types(self, of: ValueTypes) -> None:
        """Says which objects a value of it may be, without those that are in tables, and what its items are."""

    is_envelope: ClassVar[bool] = True
    """Whether a value of it is about the one entity inside."""

    def pks_of(self, values: list[Any]) -> list[str] | None:
        """The primary keys of items of a response that plainly have one each; None if each has to be looked at."""
        return None

    attribute: Any = None
    """What tells which entity a value is, a field or a function, where it may be several."""
    takes_scalars = False
    """Whether a response that is a string or a number may be a value of it."""

    @property
    def entities(self) -> Mapping[Any, Any]:  # of EntitySchema, which builds on this file
        """The entities that one value of it may be, by their names in stored references; one without a name: None."""
        return {}

    def select(self, value: Any, parent: Any, key: str | None) -> tuple[Any, Schema | None]:
        """The name and the schema of the entity that a value in wire form is; (None, None) where it is none."""
        return None, None

    def undecided(self, value: Any, parent: Any, key: str | None) -> bool:
        """Whether a value does not say which of several entities it is."""
        return False

    def referred(self, stored: Any) -> tuple[Any, str] | None:  # of EntitySchema, as above
        """The entity and the primary key that a stored value refers to; None where it refers to none."""
        return None

    def reference(self, entity: EntityNode, pk: str) -> Any:
        """The stored value that refers to an entity; None where a value cannot be that entity."""
        return None

    @property
    def title(self) -> str:
        """The name that endpoints and errors use for it."""
        return type(self).__name__

    @property
    def wire_model(self) -> Any:
        """What `to_wire` takes as the model of its values, None if their names stay."""
        return None

    @property
    def body_model(self) -> Any:
        """What `to_wire` takes as the model of a request's body: of lists their items', else the one entity inside."""
        if self.many:
            return self.wire_model
        node = entity_node(self)
        return None if node is None else node.wire_model


class Subject(NamedTuple):
    """An entity that a mutation created, changed or deleted; `apart` is that of the lists that it was created into."""

    schema: Any  # of EntitySchema, which builds on this file
    pk: str
    is_new: bool = False
    apart: str = ""


class EntityNode(Schema):
    """An entity class where a schema stands, as the two passes see it."""

    cls: type[Any]
    """The class of the instances."""
    table_key: str
    """The table that holds them."""

    builder: Compiled | None = None
    """The compiled function that builds an entity of the class with all that is nested in it."""
    ends: bool = False
    """Whether that function needs no help of the interpreter's: nothing in the schema leads back to the class."""

    has_merge: bool = False
    """Whether users' code has a say in merging records."""

    @property
    def entity(self) -> EntityNode | None:
        return self

    @property
    def own_table(self) -> str | None:
        return self.table_key

    def identity(self) -> Any:
        return self.cls

    @property
    def entities(self) -> Mapping[Any, Any]:
        return {None: self}

    @property
    def has_inside(self) -> bool:
        """Whether a record can refer to others."""
        raise NotImplementedError

    def inside(self, stored: list[Any]) -> Iterable[tuple[Schema | None, list[Any]]]:
        """The values directly inside of what its table holds, by their schemas."""
        raise NotImplementedError

    def select(self, value: Any, parent: Any, key: str | None) -> tuple[Any, Schema | None]:
        return None, self

    def referred(self, stored: Any) -> tuple[Any, str] | None:
        return (self, stored) if isinstance(stored, str) else None

    def reference(self, entity: EntityNode, pk: str) -> Any:
        return pk

    def drop_compiled(self) -> None:
        """A schema was redefined, perhaps one that was compiled into this one."""
        super().drop_compiled()
        self.builder = None
        self.ends = False

    def conversion(self) -> Codec | None:
        """An entity in a plain object is a value of its own there, which no table holds."""
        return codec_of(self.cls)

    @property
    def whole(self) -> bool:
        """Whether an instance comes about in one step, after all that it refers to: then no circle can close."""
        return False

    def not_built(self, pk: str, reason: str) -> ProcessingError:
        """The error for such an instance in a circle or at a depth where it cannot be built."""
        raise NotImplementedError

    @property
    def indexes(self) -> tuple[str, ...]:
        """The names in JSON of the fields that entities are looked up by."""
        raise NotImplementedError

    @property
    def max_depth(self) -> int:
        """How many entities may be built in each other at most."""
        raise NotImplementedError

    def to_store(self, record: dict[str, Any]) -> Any:
        """What the table is to hold for a new record, which becomes the store's."""
        raise NotImplementedError

    def joined(self, earlier: Mapping[str, Any], record: dict[str, Any]) -> dict[str, Any]:
        """One record of two that a single response brought of the same entity."""
        raise NotImplementedError

    def merged(self, before: Any, before_meta: Meta, record: dict[str, Any], meta: Meta) -> tuple[Any, Meta]:
        """What the table is to hold, and its times, where it held `before` and a record comes."""
        raise NotImplementedError

    def replaced(self, before: Any, before_meta: Meta, record: dict[str, Any], meta: Meta) -> tuple[Any, Meta]:
        """What the table is to hold, and its times, where a record comes that replaces what it held."""
        raise NotImplementedError

    def instance(
        self, record: Mapping[str, Any], pk: str | None, reader: Reader, begun: Callable[[Any], None] | None
    ) -> Any:
        """The object for a record, INVALID for an unusable one.

        `begun` gets the object before anything nested in it is requested, so that cycles can close.
        """
        raise NotImplementedError


class CollectionNode(Schema):
    """A collection as the two passes see it: a list or dict that lies in a table of its own."""

    is_collection = True
    has_inside = True
    """Whether it can refer to others, as records can."""

    @property
    def table_key(self) -> str:
        """The table that holds it."""
        raise NotImplementedError

    @property
    def own_table(self) -> str | None:
        return self.table_key

    def inside(self, stored: list[Any]) -> Iterable[tuple[Schema | None, list[Any]]]:
        """The values directly inside of what its table holds, by their schemas."""
        raise NotImplementedError

    def identity(self) -> Any:
        """What collections have in common whose objects are shared."""
        raise NotImplementedError

    def opened(self, stored: Any, reader: Reader) -> Any:
        """The list or dict for its stored items."""
        raise NotImplementedError


class Echo:
    """Hands the recursion of `Schema.echo` in: what the store holds now, and what the response was stored as."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self.written: Mapping[tuple[int, str], str] = writer.written
        self.processed: Mapping[tuple[int, str], Mapping[str, Any]] = writer.processed
        self.chosen: Mapping[tuple[int, int], Schema] = writer.chosen
        self.reader = reader

    def visit(self, schema: Schema | None, value: Any) -> Any:
        """The echo of one value; without a schema the value itself."""
        if schema is None:
            return value if type(value) in SCALARS else read_only(value)
        if value is None:
            return None
        return schema.echo(list(value) if isinstance(value, TUPLE) else value, self)

    def item(self, schema: Schema | None, value: Any) -> Any:
        """The echo of one value among several; `UNDEFINED` for one that does not decode, which readers leave out."""
        try:
            return self.visit(schema, value)
        except ConversionError:
            return UNDEFINED


MODES: Final = ("strict", "warn", "off")
"""What becomes of an answer that does not fit what is declared: an error, a line in the log for each kind, nothing."""


class _Definitions:
    """Counts the calls of `define()`, after which nothing that was made from a schema before is used."""

    count = 0

    def __init__(self) -> None:
        self.compiled: WeakSet[Schema] = WeakSet()

    def changed(self) -> None:
        """A schema means something else from now on."""
        self.count += 1
        for schema in self.compiled:
            schema.drop_compiled()
        self.compiled.clear()


definitions: Final = _Definitions()


def is_plain(schema: Schema | None, seen: frozenset[int] = frozenset()) -> bool:
    """Whether there is nothing to denormalize: no schema, or only plain values."""
    if schema is None:
        return True
    if id(schema) in seen:
        return True
    if not schema.plain:
        return False
    return all(is_plain(child, seen | {id(schema)}) for child in schema.children())


def entity_node(schema: Schema | None) -> EntityNode | None:
    """The entity that a schema is about: itself, or the one inside its containers; None for several or none."""
    seen: set[int] = set()
    while schema is not None and id(schema) not in seen:
        if isinstance(schema, EntityNode):
            return schema
        seen.add(id(schema))
        inner = [child for child in schema.children() if child is not None] if schema.is_envelope else []
        schema = inner[0] if len(inner) == 1 else None
    return None


_naming: Final[ContextVar[frozenset[int]]] = ContextVar("restencil_naming", default=frozenset())


def title_of(schema: Schema | None, otherwise: str) -> str:
    """The title of a schema inside another one; `otherwise` for none, and where it leads back to one around it."""
    around = _naming.get()
    if schema is None or id(schema) in around:
        return otherwise
    token = _naming.set(around | {id(schema)})
    try:
        return schema.title
    finally:
        _naming.reset(token)
