"""The types of fields, parameters, bodies and results: one class for each form, with the operations of `Type`."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

from restencil_generator.diagnostics.model import Place

__all__ = [
    "LIST_STYLES",
    "MISSING",
    "NOWHERE",
    "OBJECT_STYLES",
    "Adder",
    "AdderOf",
    "AllOf",
    "AnyOf",
    "Choice",
    "CollectionOf",
    "Const",
    "EntityRef",
    "EnumRef",
    "Field",
    "Filter",
    "Format",
    "InlineEnum",
    "InvalidateOf",
    "Json",
    "ListOf",
    "Literals",
    "Missing",
    "Nest",
    "ObjectRef",
    "ObjectType",
    "OneOf",
    "Optional",
    "PageOf",
    "Places",
    "QueryOf",
    "Reference",
    "Scalar",
    "ScalarName",
    "Style",
    "Type",
    "UnionOf",
    "ValuesOf",
    "entities_in",
    "formatted",
    "list_in",
    "no_place",
    "no_places",
    "values_list",
    "walk",
]

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Literals: TypeAlias = "str | int | bool"


class Missing(enum.Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""No value was given, which is different from null."""

NOWHERE: Final = Place("")


Places: TypeAlias = Mapping[str, Place]
"""The places of the values of keys, by key; keys that are not given have none."""


def no_places() -> Places:
    """Return a dataclass field for places, which is excluded from comparisons and from the repr."""
    field: Places = dataclasses.field(default_factory=dict[str, Place], compare=False, repr=False)
    return field


def no_place() -> Place:
    """Return a dataclass field for a place, which is excluded from comparisons and from the repr."""
    field: Place = dataclasses.field(default=NOWHERE, compare=False, repr=False)
    return field


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """Hand-written code: `python:module:name`."""

    module: str
    name: str
    place: Place = no_place()

    def __str__(self) -> str:
        return f"python:{self.module}:{self.name}"


# ---------------------------------------------------------------------------------------------------------------- types

ScalarName: TypeAlias = Literal[
    "string", "integer", "number", "boolean", "datetime", "date", "time", "decimal", "uuid", "any", "bytes"
]


Format: TypeAlias = Literal["rfc3339", "unix", "unix_ms", "rfc2822"]
"""The format of datetimes in JSON and in URLs; the first is the default."""


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A type of the spec. Its forms are the subclasses below.

    Code that only traverses types uses these operations and `walk`, so that a new form is one class.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """The attributes that contain types, or members with a type: one, several in a tuple, or None."""

    def children(self) -> tuple[Type, ...]:
        """Return the types that this one consists of, one level down. Declarations behind names are not included."""
        held = [part for name in self.parts for part in _several(getattr(self, name))]
        return tuple(part.type if isinstance(part, Field) else part for part in held)

    def map(self, change: Change) -> Type:
        """Return a type of this form with `change` applied to each of the children."""
        if not self.parts:
            return self
        changed = {name: _changed(getattr(self, name), change) for name in self.parts}
        return dataclasses.replace(self, **changed)

    def unwrap(self) -> Type:
        """Return the type of the value: without `?`, and without forms for storing or computing a result."""
        return self


Change: TypeAlias = Callable[[Type], Type]


def _several(value: Any) -> tuple[Type | Field, ...]:
    """Return the value of an attribute of `parts` as a tuple."""
    return cast("tuple[Type | Field, ...]", value) if isinstance(value, tuple) else () if value is None else (value,)


def _changed(value: Any, change: Change) -> Any:
    """Return the value of an attribute of `parts` with its types changed."""
    if isinstance(value, tuple):
        return tuple(_changed(part, change) for part in _several(value))
    if isinstance(value, Field):
        return dataclasses.replace(value, type=change(value.type))
    return None if value is None else change(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar(Type):
    """A type that is one word. `bytes` is only allowed in multipart bodies (a file) and for `content: bytes`.

    `format` is the format of a datetime in JSON and in URLs, None for RFC 3339.
    """

    name: ScalarName
    format: Format | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Const(Type):
    """A discriminator fixed to a literal: `{const: link}`."""

    value: Literals


@dataclasses.dataclass(frozen=True, slots=True)
class InlineEnum(Type):
    """`{enum: [open, settled]}`: one of these values; unknown values are kept unchanged, as for every enum."""

    values: tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class EnumRef(Type):
    """One of the values of `Spec.enums[name]`."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectRef(Type):
    """A plain nested value of the class `Spec.objects[name]`."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class EntityRef(Type):
    """An entity of the class `Spec.entities[name]`."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Optional(Type):
    """`X?`: the value, or null, or absent. Never nested."""

    item: Type
    parts = ("item",)

    def unwrap(self) -> Type:
        return self.item.unwrap()


@dataclasses.dataclass(frozen=True, slots=True)
class ListOf(Type):
    """`[X]`: an array."""

    item: Type
    parts = ("item",)


@dataclasses.dataclass(frozen=True, slots=True)
class ValuesOf(Type):
    """`{values: X}`: an object with free keys."""

    item: Type
    parts = ("item",)


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectType(Type):
    """`{object: {a: X, b: Y}}`, or a plain mapping in an endpoint's `schema`: a TypedDict.

    `name` is the unique name of the TypedDict in the generated package: `<Resource><Endpoint>Result` for an endpoint's
    schema or `returns`, `<Resource><Endpoint>Body` and `<Resource>Body` for bodies, `<Entity><Field>` for a field of an
    entity or object; for a nested object the outer name and the name of the member (`ArticlesSearchResultMeta`). Types
    with equal members are equal, whatever their names.
    """

    members: tuple[Field, ...]
    name: str = dataclasses.field(compare=False)
    parts = ("members",)


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A value of a union's discriminator and the entity (or, in a `OneOf`, object) that it selects."""

    value: Literals
    entity: str


@dataclasses.dataclass(frozen=True, slots=True)
class UnionOf(Type):
    """`{union: {value: Entity, …}, attribute: type}`: one of several entities.

    `attribute` is the name of the discriminator in the spec, or a function; `wire` is its name in JSON (empty for a
    function).
    """

    choices: tuple[Choice, ...]
    attribute: str | Reference
    wire: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class OneOf(Type):
    """`{one_of: [Card, Bank, string]}`: one of several types.

    The type of a value is selected by its JSON kind; among scalars it is the first one that decodes. Objects are
    distinguished by `attribute` (`wire` in JSON), whose value selects an alternative through `values`, else through the
    constants of the alternatives, else by their names; without `attribute` by their constants, then by their required
    fields.
    """

    alternatives: tuple[Type, ...]
    attribute: str = ""
    wire: str = ""
    values: tuple[Choice, ...] = ()
    parts = ("alternatives",)


@dataclasses.dataclass(frozen=True, slots=True)
class CollectionOf(Type):
    """`{collection: [X] or {values: X}, nest: …, non_filter_arguments: …}`, and the schema of a resource's `get_list`.

    `nest` pairs the JSON name of an argument with a field of the surrounding entity; `non_filter_arguments` are JSON
    names; `custom` is the collection class of the resource's `collection: python:…`. With `follow`, entities leave and
    join the list as they change; `apart` is its path, which distinguishes it from another list with the same arguments.
    The runtime takes arguments whose names begin with `order` for the order of items: `non_filters` are all arguments
    that do not filter if one of those does (`/orders/:order_id/items`), else None.
    """

    of: ListOf | ValuesOf
    nest: tuple[Nest, ...] = ()
    non_filter_arguments: tuple[str, ...] = ()
    custom: Reference | None = None
    follow: bool = True
    apart: str = ""
    non_filters: tuple[str, ...] | None = None
    parts = ("of",)

    def unwrap(self) -> Type:
        return self.of


@dataclasses.dataclass(frozen=True, slots=True)
class Nest:
    """One pair of a collection's `nest`: an argument (JSON name) and the field that it equals (`Field.name`)."""

    argument: str
    field: str


@dataclasses.dataclass(frozen=True, slots=True)
class AllOf(Type):
    """`{all: Entity}` or `{all: {value: Entity, …}, attribute: type}`: every cached entity of the type."""

    of: EntityRef | UnionOf
    parts = ("of",)

    def unwrap(self) -> Type:
        return ListOf(self.of)


@dataclasses.dataclass(frozen=True, slots=True)
class InvalidateOf(Type):
    """`{invalidate: Entity}`: the response removes the entity."""

    of: EntityRef | UnionOf
    parts = ("of",)

    def unwrap(self) -> Type:
        return self.of


@dataclasses.dataclass(frozen=True, slots=True)
class QueryOf(Type):
    """`{query: …, process: python:…}`: a computed view; `returns` is its type, None for `any`."""

    of: CollectionOf | AllOf
    process: Reference
    returns: Type | None = None
    parts = ("of", "returns")

    def unwrap(self) -> Type:
        return Scalar("any") if self.returns is None else self.returns.unwrap()


Adder: TypeAlias = Literal["push", "unshift", "assign", "move", "remove"]


@dataclasses.dataclass(frozen=True, slots=True)
class AdderOf(Type):
    """The schema of `push`, `unshift`, `assign`, `move` and `remove`; it cannot be written in a spec.

    The response is added to the collection, moved to its new position, or removed.
    """

    of: CollectionOf
    how: Adder
    parts = ("of",)

    def unwrap(self) -> Type:
        return (self.of.of if self.how == "assign" else self.of.of.item).unwrap()


@dataclasses.dataclass(frozen=True, slots=True)
class PageOf(Type):
    """The schema of `get_page`: `of` with collections that append instead of replacing; it is not part of specs."""

    of: Type
    parts = ("of",)

    def unwrap(self) -> Type:
        return self.of.unwrap()


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf(Type):
    """One of several scalars or enums: the type of a path parameter that the spec does not declare (`str | int`)."""

    items: tuple[Type, ...]
    parts = ("items",)


def walk(type: Type, *, order: Literal["pre", "post"] = "pre") -> Iterator[Type]:
    """Yield a type and all types in it: outer ones first, or inner ones first with `post`."""
    if order == "pre":
        yield type
    for child in type.children():
        yield from walk(child, order=order)
    if order == "post":
        yield type


def entities_in(type: Type) -> Iterator[str]:
    """Yield the names of the entities in a type, including those of unions."""
    for part in walk(type):
        if isinstance(part, EntityRef):
            yield part.name
        elif isinstance(part, UnionOf):
            yield from (choice.entity for choice in part.choices)


def formatted(type: Type, format: Format | None) -> Type:
    """Set the format of the datetimes in a type. Members of an object have their own formats."""
    if isinstance(type, Scalar):
        return dataclasses.replace(type, format=format) if type.name == "datetime" else type
    return type if isinstance(type, ObjectType | QueryOf) else type.map(lambda part: formatted(part, format))


def list_in(type: Type) -> ListOf | None:
    """Return the list that a value is, or may be as one of several types; None if it is never a list."""
    bare = type.unwrap()
    alternatives = bare.alternatives if isinstance(bare, OneOf) else (bare,)
    return next((one for one in alternatives if isinstance(one, ListOf)), None)


def values_list(schema: Type | None) -> ListOf | None:
    """Return the list of plain values in a response, or of the only list in its object; None if it has entities."""
    if schema is None or any(entities_in(schema)):
        return None
    bare = schema.unwrap()
    types = [member.type for member in bare.members] if isinstance(bare, ObjectType) else [bare]
    lists = [found for type in types if (found := list_in(type)) is not None]
    return lists[0] if len(lists) == 1 else None


# --------------------------------------------------------------------------------------------------------------- fields

Style: TypeAlias = Literal["comma", "space", "pipe", "repeat", "brackets", "deep", "form", "json"]
"""How a list or an object is written in a search string or a form."""

Filter: TypeAlias = Literal["equals", "unknown"]
"""How a search parameter filters a list: by equality with a field, or in a way that only the server knows."""

LIST_STYLES: Final[tuple[Style, ...]] = ("comma", "space", "pipe", "repeat", "brackets", "deep", "json")
OBJECT_STYLES: Final[tuple[Style, ...]] = ("brackets", "deep", "form", "json")


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of an entity or object, a member of an object schema or body, or a path or search parameter.

    `type` is an `Optional` if null or absence is allowed (also by `optional: true`). `default` is the resolved default
    as JSON with Python names (an RFC 3339 string, a mapping for an object, …), or `MISSING`; see also `required`. For
    fields of entities and objects it is the zero of the type if that is an honest one (unless `absent` of the spec
    changes that). `written_default` means that the default is given in the spec and not derived from the type.
    Parameters, body fields and members of object schemas only have defaults that the spec gives; they are required
    without `?` and without a default. `sends_key` means that bodies have the primary key of the entity in the field
    instead of the entity. `must` means that bodies require the field, `write_only` that only bodies have it. `format`
    is the format of its datetimes in JSON, None for RFC 3339. `param` is the path parameter that provides the value if
    a record does not have it, and `of` the (dotted) field of the entity that a parameter or a member of a body
    corresponds to; both are empty if not declared. `type_place` is the place of its type. `filter` is how a search
    parameter filters the entities of a list; None derives it from the types of parameter and field. `style` is the
    effective style of a list or object in a search string or form. `env` is the environment variable for an argument of
    the client. `slashes` means that slashes in a path parameter are not escaped. `persist` is as in `Options`.
    """

    name: str
    python: str
    wire: str
    type: Type
    default: Json | Missing = MISSING
    written_default: bool = False
    read_only: bool = False
    description: str = ""
    deprecated: str | None = None
    decode: Reference | None = None
    encode: Reference | None = None
    sends_key: bool = False
    style: Style | None = None
    env: str | None = None
    slashes: bool = False
    persist: bool | int | None = None
    must: bool = False
    write_only: bool = False
    format: Format | None = None
    param: str = ""
    of: str = ""
    filter: Filter | None = None
    place: Place = no_place()
    type_place: Place = no_place()

    @property
    def is_sent(self) -> bool:
        """Whether bodies have it."""
        return not (self.read_only or self.param)

    @property
    def required(self) -> bool:
        """Whether a value must be given: no default and not optional."""
        return self.default is MISSING and not isinstance(self.type, Optional)
