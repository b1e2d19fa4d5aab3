"""The base class of all schemas, and the interfaces of normalization and denormalization that they are called with.

A *writer* normalizes a response: `Schema.normalize` passes it the entities and collections of the response. A *reader*
denormalizes stored values: `Schema.denormalize` gets the referenced objects from it. Both do the recursion, so that a
schema handles only the level directly inside it. An *echo* repeats a response in its own shape, with the store's
instances in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from ..base.errors import ConversionError, ProcessingError
from ..base.values import SCALARS, TUPLE, UNDEFINED, ReadOnlyList, described, kind_of, read_only

T = TypeVar("T")

Compiled: TypeAlias = Callable[..., Any]
"""A function generated for one schema that replaces a method of the schema."""


class Writer(Protocol):
    """The interface of the normalization of one response, as schemas use it."""

    args: tuple[object, ...]
    """The endpoint's arguments."""
    where: str
    """A phrase for the end of error messages that names the response; may be empty."""
    strict: bool
    """Whether a value that does not have the shape of its schema is rejected."""
    is_certain: bool
    """Whether the records equal the server's; False if gaps of the response are filled from the request."""
    referred: dict[str, set[str]]
    """By table, the entities that the response refers to by their primary key alone."""
    enclosing: tuple[Mapping[str, Any], str] | None
    """The processed record of the entity that is being normalized, and the field."""
    written: dict[tuple[int, str], str]
    """The primary key of each object of the response, by the identity of the object and the table."""
    processed: dict[tuple[int, str], Mapping[str, Any]]
    """The results of an overridden `process` for objects of the response, by the object's identity and table."""
    chosen: dict[tuple[int, int], Schema]
    """The schemas that a function chose for polymorphic objects, by the identities of the object and its `Union`."""

    def visit(self, schema: Schema | None, value: object, parent: object, key: str | None) -> Any:
        """Normalize a value that is in `parent` under `key`, and return its stored form."""
        ...

    def created(self, normalize: Callable[..., T], *args: object) -> T:
        """Call `normalize(*args)` for the response to a creation; during the call `placeholder` returns keys."""
        ...

    def placeholder(self) -> str | None:
        """A primary key for a record that has none yet; None if nothing is being created."""
        ...

    def visited(self, value: object, table: str, pk: str) -> bool:
        """Whether this object (by identity) was already visited as this entity; if not, record the visit."""
        ...

    def keep(self, value: Mapping[str, object], processed: Mapping[str, object], table: str) -> None:
        """Remember the result of `process` for an object of the response."""
        ...

    def record_before(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The stored record before this response; None if there was none."""
        ...

    def stored_record(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The stored record including what was normalized so far; None if there is none."""
        ...

    def is_stored(self, table: str, pk: str) -> bool:
        """Whether the table has an entry, including what was normalized so far; INVALID counts as an entry."""
        ...

    def write_entity(self, schema: Any, pk: str, record: dict[str, Any]) -> None:
        """Store a record, merged with the record of the entity that is stored; `schema` is an `EntitySchema`."""
        ...

    def write_invalid(self, table: str, pk: str) -> None:
        """Mark an entity as deleted or unusable, whatever is stored for it."""
        ...

    def open_table(self, table: str) -> None:
        """Make a table exist, even if it stays empty."""
        ...

    def note_nested_collection(self, table: str, pk: str) -> None:
        """Record a collection that is nested in an entity but has no part of the entity in its primary key."""
        ...

    def stored_collection(self, table: str, pk: str) -> Any:
        """The stored list or dict of a collection, including what was normalized so far; None if there is none."""
        ...

    def write_collection(self, table: str, pk: str, items: object, schema: Schema | None = None) -> None:
        """Replace a collection, unless the stored one was fetched later."""
        ...

    def note_page(self, table: str, pk: str, schema: Schema, items: object) -> None:
        """Record that `items` are a page of this collection."""
        ...

    def edit_collections(
        self,
        table: str,
        accepts: Callable[[str], bool],
        change: Callable[[str, Any], Any],
        *,
        refreshes: bool = False,
        moved: Mapping[tuple[str, str], Any] | None = None,
        change_of: Callable[[Mapping[tuple[str, str], Any]], Callable[[str, Any], Any]] | None = None,
    ) -> None:
        """Edit all collections of the table that `accepts` returns True for, with `change(pk, items)`.

        With `refreshes`, unchanged ones get the times of the response too. `change_of` returns the `change` for given
        records of the entities, before and after; `moved` has those records that are known.
        """
        ...

    def change_collection(self, table: str, pk: str, changed: object) -> None:
        """Store a collection after items were added or removed."""
        ...


class Reader(Protocol):
    """The interface of the denormalization of one stored value, as schemas use it."""

    args: tuple[object, ...]
    """The endpoint's arguments."""
    asking: set[int]
    """The identities of the schemas whose `query_key` is being computed."""

    def read(self, schema: Schema | None, stored: object, slot: object = None) -> Any:
        """Denormalize the outermost value of a read; composed values are memoized under `slot`."""
        ...

    def visit(self, schema: Schema | None, stored: object) -> Any:
        """Denormalize a nested value; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        ...

    def items(self, schema: Schema | None, stored: list[Any]) -> ReadOnlyList[Any]:
        """Denormalize the items of a list, without those that are missing or unusable; `None` stays."""
        ...

    def entity(self, schema: Any, pk: object) -> Any:
        """The instance for a primary key; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        ...

    def entity_from_record(self, schema: Any, record: Mapping[str, object]) -> Any:
        """The instance for a record that was never normalized."""
        ...

    def collection(self, schema: Any, pk: str) -> Any:
        """The list or dict of a stored collection; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        ...

    def computed(self, schema: Schema, value: object, compute: Callable[[], object]) -> object:
        """Return the result of `compute()`, memoized by the identity of the value and by the arguments."""
        ...

    def has(self, table: str, pk: str) -> bool:
        """Whether the table has an entry; INVALID counts as an entry."""
        ...

    def stored(self, table: str, pk: str) -> Any:
        """The entry of the table: a record, an instance, a collection, `INVALID`, or `UNDEFINED` if there is none."""
        ...

    def by_index(self, table: str, field: str, value: str) -> str | None:
        """The primary key of the entity whose indexed field has this value; None if there is none."""
        ...

    def table_exists(self, table: str) -> bool:
        """Whether anything was ever written to the table."""
        ...

    def table(self, table: str) -> Iterator[str]:
        """The primary keys of a table in insertion order."""
        ...


class ValueTypes(Protocol):
    """Collects the declared types of a value."""

    def value(self, thing: Any, /) -> None:
        """The value may be of this schema or type."""
        ...

    def record(self, model: Any, /) -> None:
        """The value may be a record of this class."""
        ...

    def object(self, schema: Schema, /) -> None:
        """The value may be an object with the members of this schema."""
        ...

    def items(self, thing: Any, /) -> None:
        """The value may be a list of this schema or type."""
        ...

    def entries(self, thing: Any, /) -> None:
        """The value may be a map of values of this schema or type."""
        ...


class Schema:
    """The base class of all schemas; a schema describes where entities are in a value."""

    plain: ClassVar[bool] = False
    """Whether a value needs no denormalization apart from that of its children."""
    many: ClassVar[bool] = False
    """Whether a value is a list of values."""

    takes_anything: ClassVar[bool] = False
    """Whether every response body is accepted, even one that is not JSON."""

    written_as: object = None
    """The list or dict that this schema was created from; None if it was declared as an object."""

    normalizer: Compiled | None = None
    """The compiled `normalize`; None until enough values were normalized."""
    uses: int = 0
    """The number of values normalized before `normalize` is compiled."""
    denormalizer: Compiled | None = None
    """The compiled `denormalize`; None until enough values were denormalized."""
    reads: int = 0
    """The number of values denormalized before `denormalize` is compiled."""

    has_merge: bool = False
    """Whether user code takes part in merging records."""

    def drop_compiled(self) -> None:
        """Drop the compiled functions, after a schema was redefined that may be compiled into them."""
        self.normalizer = self.denormalizer = None

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        """Convert a response value to its stored form, and pass the entities in it to the writer."""
        raise NotImplementedError(f"{type(self).__name__} has no normalize")

    shape: str = ""
    """The JSON type of all values, "a list" or "an object"; empty if a value may be a scalar."""

    def normalize_scalar(self, value: object, writer: Writer) -> object:
        """Convert a scalar to its stored form: unchanged, except for entities and `Invalidate`.

        Raises ProcessingError if the schema has another shape and the writer is strict.
        """
        if self.shape:
            check_shape(self, value, writer, self.shape)
        return value

    def denormalize(self, stored: object, reader: Reader) -> Any:
        """Convert a stored form to objects; `UNDEFINED` if it is missing, `INVALID` if it is unusable."""
        raise NotImplementedError(f"{type(self).__name__} has no denormalize")

    def echo(self, value: Any, echo: Echo) -> Any:
        """Return the response value in its own shape, with the store's instance for every entity."""
        raise NotImplementedError(f"{type(self).__name__} has no echo")

    def nested(self, value: object) -> object:
        """Convert a JSON value outside of a store to its Python form, with instances of records and entities."""
        inside = [*self.children()]
        return nested_value(inside[0], value) if len(inside) == 1 else read_only(value)

    def query_key(self, args: tuple[object, ...], reader: Reader) -> object:
        """The stored form of the result for these arguments, found in the tables alone; `UNDEFINED` if unknown."""
        return UNDEFINED

    def keys(self, value: Any, *, decode: bool = False) -> Any:
        """The primary keys of the entities in a value or its stored form, each in the type of the key's field.

        They are JSON values, with `decode` Python values as the attributes have; `UNDEFINED` if the value has no key.
        Raises ValueError for an entity with a composite key.
        """
        return UNDEFINED

    def children(self) -> Iterable[Schema | None]:
        """The schemas directly inside this one, in declaration order."""
        return ()

    adds: ClassVar[bool] = False
    """Whether responses are added to collections that are stored already."""
    is_creation: bool = False
    """Whether a response is the entity that the call created."""
    removes: ClassVar[bool] = False
    """Whether a response names entities that were deleted."""
    is_leaf: ClassVar[bool] = False
    """Whether a value can contain no entity."""
    is_collection: ClassVar[bool] = False
    """Whether values are lists or maps that are stored in a table of their own."""

    @property
    def entity(self) -> Any:  # of EntitySchema, which builds on this file
        """The entity that a stored primary key refers to; None if stored values are not primary keys."""
        return None

    @property
    def own_table(self) -> str | None:
        """The table of the values; None if they are stored inside the value that contains them."""
        return None

    def identity(self) -> object:
        """A key that is equal for schemas that denormalize the same stored form to the same object."""
        return self

    @property
    def subject(self) -> Schema | None:
        """The schema of the entity that a response is about: the added or removed one, else this schema."""
        return self

    def subjects(self, result: object) -> Iterator[Subject]:
        """The entities that a stored result is about, without entities nested in them."""
        found = self.referred(result)
        return iter(() if found is None else (Subject(*found),))

    @property
    def members(self) -> Mapping[str, Schema]:
        """The members of an object that have a schema, by JSON name."""
        return {}

    @property
    def plain_members(self) -> list[tuple[str, ...]]:
        """The paths of an object's members that are no entities or collections, such as a count, by JSON names."""
        return []

    @property
    def plain_items(self) -> Schema | None:
        """The item schema of a list or map that is stored inside the value that contains it; None for other values."""
        return None

    def written_children(self) -> Iterable[object]:
        """The schemas directly inside this one as they were declared, without resolving lazy references."""
        return self.children()

    fingerprint_name: ClassVar[str] = ""
    """The name of the kind in fingerprints; empty to use the name of the class."""

    def fingerprint(self, of: Callable[[Schema | None], object]) -> object:
        """A JSON value that changes with the stored form; `of` returns the fingerprint of a schema inside."""
        return [self.fingerprint_name or type(self).__name__, *map(of, self.children())]

    def value_types(self, of: ValueTypes) -> None:
        """Report to `of` the types of the objects and items that a value may be, without those stored in tables."""

    is_envelope: ClassVar[bool] = True
    """Whether a value is about the one entity inside it."""

    def pks_of(self, values: list[Any]) -> list[str] | None:
        """The primary keys of items of a response, read in one pass; None if each item has to be examined by itself."""
        return None

    attribute: Any = None
    """The field or function that selects the schema of a value that may be one of several entities."""
    takes_scalars = False
    """Whether a string or a number in a response may be a value."""

    @property
    def entities(self) -> Mapping[Any, Any]:  # of EntitySchema, which builds on this file
        """The entities that a value may be, by their names in stored references; the key None if there is one only."""
        return {}

    def select(self, value: object, parent: object, key: str | None) -> tuple[object, Schema | None]:
        """The name and the schema of the entity that a JSON value is; (None, None) if it is none."""
        return None, None

    def undecided(self, value: object, parent: object, key: str | None) -> bool:
        """Whether a value does not determine which of several entities it is."""
        return False

    def referred(self, stored: Any) -> tuple[Any, str] | None:  # of EntitySchema, as above
        """The entity and the primary key that a stored value refers to; None if it refers to none."""
        return None

    def reference(self, entity: EntityNode, pk: str) -> object:
        """The stored value that refers to an entity; None if a value cannot be that entity."""
        return None

    @property
    def title(self) -> str:
        """The name of the schema in endpoint names and error messages."""
        return type(self).__name__

    @property
    def wire_model(self) -> Any:
        """The model that `to_wire` converts values with; None if their names stay."""
        return None

    @property
    def body_model(self) -> object:
        """The model that `to_wire` converts a request body with: that of list items, else of the one entity inside."""
        if self.many:
            return self.wire_model
        node = entity_node(self)
        return None if node is None else node.wire_model


class Subject(NamedTuple):
    """An entity that a mutation created, changed or deleted.

    `apart` is the `apart` of the collection that it was created in.
    """

    schema: Any  # of EntitySchema, which builds on this file
    pk: str
    is_new: bool = False
    apart: str = ""


class EntityNode(Schema):
    """The schema of an entity class, as far as other schemas use it; its subclass is `EntitySchema`."""

    cls: type[Any]
    """The class of the instances."""
    table_key: str
    """The table of the instances."""

    builder: Compiled | None = None
    """The compiled function that builds an entity with its nested entities."""

    @property
    def entity(self) -> Any:
        return self

    @property
    def own_table(self) -> str | None:
        return self.table_key

    def identity(self) -> object:
        return self.cls

    @property
    def entities(self) -> Mapping[Any, Any]:
        return {None: self}

    def select(self, value: object, parent: object, key: str | None) -> tuple[object, Schema | None]:
        return None, self

    def referred(self, stored: Any) -> tuple[Any, str] | None:
        return (self, stored) if isinstance(stored, str) else None

    def reference(self, entity: EntityNode, pk: str) -> object:
        return pk

    def drop_compiled(self) -> None:
        """Drop the compiled functions, after a schema was redefined that may be compiled into them."""
        super().drop_compiled()
        self.builder = None


def nested_value(schema: Schema | None, value: object) -> object:
    """Convert a JSON value outside of a store to its Python form; `None` and values without a schema stay."""
    return read_only(value) if schema is None or value is None else schema.nested(value)


class Echo:
    """Repeats a response in its own shape, with the store's instances for the entities that were normalized from it."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self.written: Mapping[tuple[int, str], str] = writer.written
        self.processed: Mapping[tuple[int, str], Mapping[str, Any]] = writer.processed
        self.chosen: Mapping[tuple[int, int], Schema] = writer.chosen
        self.reader = reader

    def visit(self, schema: Schema | None, value: Any) -> Any:
        """Echo a value; without a schema it is the value itself."""
        if schema is None:
            return value if type(value) in SCALARS else read_only(value)
        if value is None:
            return None
        return schema.echo(list(value) if isinstance(value, TUPLE) else value, self)

    def item(self, schema: Schema | None, value: Any) -> Any:
        """Echo an item of a list or map; `UNDEFINED` if it cannot be decoded, since readers leave it out."""
        try:
            return self.visit(schema, value)
        except ConversionError:
            return UNDEFINED


def check_shape(schema: Schema, value: object, writer: Writer, expected: str) -> None:
    """Raise ProcessingError for a value that does not have the expected shape, if the writer is strict."""
    if writer.strict and value is not None:
        kinds = {
            dict: "an object",
            list: "a list",
            str: "a string",
            bool: "a boolean",
            int: "a number",
            float: "a number",
        }
        try:
            shown = json.dumps(value, default=str, ensure_ascii=False)
        except (TypeError, ValueError):
            shown = repr(value)
        raise ProcessingError(
            f"expected {expected} of {schema.title}, found {kinds.get(kind_of(value), described(value))}: "
            f"{shown[:200]}{writer.where}; nothing is stored: declare the schema that the response has"
        )


MODES: Final = ("strict", "warn", "off")
"""How a response that does not match its declaration is handled: raise an error, log a warning, or ignore it."""


class _Definitions:
    """Counts the calls of `define()`: values derived from schemas are discarded when the count changes."""

    count = 0

    def __init__(self) -> None:
        self.compiled: WeakSet[Schema] = WeakSet()

    def changed(self) -> None:
        """Count a redefinition and drop all compiled functions."""
        self.count += 1
        for schema in self.compiled:
            schema.drop_compiled()
        self.compiled.clear()


definitions: Final = _Definitions()


def schemas_in(schema: Schema | None, enters: Callable[[Schema], bool] = lambda one: True) -> Iterator[Schema]:
    """Iterate over a schema and those inside it up to entities, each once, the outer ones first.

    Those inside a schema for which `enters` returns False are left out.
    """
    waiting = [schema]
    seen: set[int] = set()
    for one in waiting:
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            if enters(one):
                waiting += one.children()


def is_plain(schema: Schema | None) -> bool:
    """Whether values need no denormalization: there is no schema, or only plain schemas."""
    return all(one.plain for one in schemas_in(schema))


def entity_node(schema: Schema | None) -> EntityNode | None:
    """The entity that a schema is about: itself, or the only one inside its containers; None if not exactly one."""
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
    """The title of a schema inside another one; `otherwise` without a schema and for a recursive schema."""
    around = _naming.get()
    if schema is None or id(schema) in around:
        return otherwise
    token = _naming.set(around | {id(schema)})
    try:
        return schema.title
    finally:
        _naming.reset(token)
