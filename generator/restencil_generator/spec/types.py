"""The types of fields, parameters, bodies and results: one class for each form, all with the operations of `Type`."""

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
"""No value was given, which is something else than null."""

NOWHERE: Final = Place("")


Places: TypeAlias = Mapping[str, Place]
"""The places of the values of keys, by key; those that are not written have none."""


def no_places() -> Places:
    """Places that take no part in comparisons and do not show in a repr."""
    field: Places = dataclasses.field(default_factory=dict[str, Place], compare=False, repr=False)
    return field


def no_place() -> Place:
    """A place that takes no part in comparisons and does not show in a repr."""
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
"""How datetimes look in JSON and in URLs; the first is the usual one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A type of the spec. Its forms are the subclasses below.

    Code that only passes through a type uses these operations and `walk`, so that a new form is one class.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold types, or members with a type: one, several in a tuple, or None."""

    def children(self) -> tuple[Type, ...]:
        """The types that this one is made of, one level down. What a name or a union represents is not among them."""
        held = [part for name in self.parts for part in _several(getattr(self, name))]
        return tuple(part.type if isinstance(part, Field) else part for part in held)

    def map(self, change: Change) -> Type:
        """A type of this form with each of the children changed."""
        if not self.parts:
            return self
        changed = {name: _changed(getattr(self, name), change) for name in self.parts}
        return dataclasses.replace(self, **changed)

    def unwrap(self) -> Type:
        """The type of the value itself: without `?` and without the forms that say how a result is kept or computed."""
        return self


Change: TypeAlias = Callable[[Type], Type]


def _several(value: Any) -> tuple[Type | Field, ...]:
    """What an attribute of `parts` holds."""
    return cast("tuple[Type | Field, ...]", value) if isinstance(value, tuple) else () if value is None else (value,)


def _changed(value: Any, change: Change) -> Any:
    """What an attribute of `parts` holds, with its types changed."""
    if isinstance(value, tuple):
        return tuple(_changed(part, change) for part in _several(value))
    if isinstance(value, Field):
        return dataclasses.replace(value, type=change(value.type))
    return None if value is None else change(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar(Type):
    """A type that is one word. `bytes` is allowed in multipart bodies (a file) and for `content: bytes` alone.

    `format` is how a datetime looks in JSON and in URLs, None for RFC 3339.
    """

    name: ScalarName
    format: Format | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Const(Type):
    """A discriminator fixed to a literal: `{const: link}`."""

    value: Literals


@dataclasses.dataclass(frozen=True, slots=True)
class InlineEnum(Type):
    """`{enum: [open, settled]}`: one of these values; as with every enum, another one is kept unchanged."""

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
    """`{object: {a: X, b: Y}}`, or a mapping without a form's word in an endpoint's `schema`: a TypedDict.

    `name` is the name of the TypedDict in the generated package, already free of clashes: `<Resource><Endpoint>Result`
    for an endpoint's schema or `returns`, `<Resource><Endpoint>Body` and `<Resource>Body` for bodies, `<Entity><Field>`
    for a field of an entity or object; for an object inside another its name and that of the member
    (`ArticlesSearchResultMeta`). Equal members make equal types, whatever the name.
    """

    members: tuple[Field, ...]
    name: str = dataclasses.field(compare=False)
    parts = ("members",)


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A value of a union's discriminator and the entity (of a `OneOf` also the object) that it represents."""

    value: Literals
    entity: str


@dataclasses.dataclass(frozen=True, slots=True)
class UnionOf(Type):
    """`{union: {value: Entity, …}, attribute: type}`: one of several entities.

    `attribute` is the name of the discriminator as the spec writes it, or a function; `wire` is its name in JSON
    (empty for a function).
    """

    choices: tuple[Choice, ...]
    attribute: str | Reference
    wire: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class OneOf(Type):
    """`{one_of: [Card, Bank, string]}`: one of several types, each written once.

    Which one a value is: by its JSON kind, among scalars the first in order that decodes. Objects are distinguished by
    `attribute` (its name in JSON is `wire`), whose value represents an alternative through `values`, else through the
    constants of the alternatives, else by their names; without `attribute` by their constants, then by the fields that
    they must have.
    """

    alternatives: tuple[Type, ...]
    attribute: str = ""
    wire: str = ""
    values: tuple[Choice, ...] = ()
    parts = ("alternatives",)


@dataclasses.dataclass(frozen=True, slots=True)
class CollectionOf(Type):
    """`{collection: [X] or {values: X}, nest: …, non_filter_arguments: …}`, and the schema of a resource's `get_list`.

    `nest` pairs the wire name of an argument with a field of the surrounding entity; `non_filter_arguments` are wire
    names; `custom` is the collection class of the resource's `collection: python:…`. With `follow` entities leave and
    join it as they change; `apart` is its path, where another list has the same arguments.
    """

    of: ListOf | ValuesOf
    nest: tuple[Nest, ...] = ()
    non_filter_arguments: tuple[str, ...] = ()
    custom: Reference | None = None
    follow: bool = True
    apart: str = ""
    parts = ("of",)

    def unwrap(self) -> Type:
        return self.of


@dataclasses.dataclass(frozen=True, slots=True)
class Nest:
    """One pair of a collection's `nest`: the argument (wire name) takes the value of the field (a `Field.name`)."""

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
    """The schema of `push`, `unshift`, `assign`, `move` and `remove`, never written.

    The response is added to the collection, moved to where it belongs, or taken out of it.
    """

    of: CollectionOf
    how: Adder
    parts = ("of",)

    def unwrap(self) -> Type:
        return (self.of.of if self.how == "assign" else self.of.of.item).unwrap()


@dataclasses.dataclass(frozen=True, slots=True)
class PageOf(Type):
    """The schema of `get_page`, never written: `of` with every collection appending instead of replacing."""

    of: Type
    parts = ("of",)

    def unwrap(self) -> Type:
        return self.of.unwrap()


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf(Type):
    """One of several scalars or enums: the type of a path parameter that the spec does not say (`str | int`)."""

    items: tuple[Type, ...]
    parts = ("items",)


def walk(type: Type, *, order: Literal["pre", "post"] = "pre") -> Iterator[Type]:
    """A type and all types in it: outer ones first, or with `post` inner ones first."""
    if order == "pre":
        yield type
    for child in type.children():
        yield from walk(child, order=order)
    if order == "post":
        yield type


def entities_in(type: Type) -> Iterator[str]:
    """The names of the entities in a type, those of unions included."""
    for part in walk(type):
        if isinstance(part, EntityRef):
            yield part.name
        elif isinstance(part, UnionOf):
            yield from (choice.entity for choice in part.choices)


def formatted(type: Type, format: Format | None) -> Type:
    """A type whose datetimes have a format in JSON. Members of an object have each their own."""
    if isinstance(type, Scalar):
        return dataclasses.replace(type, format=format) if type.name == "datetime" else type
    return type if isinstance(type, ObjectType | QueryOf) else type.map(lambda part: formatted(part, format))


def list_in(type: Type) -> ListOf | None:
    """The list that a value is, or may be as one of several types; None if it is never a list."""
    bare = type.unwrap()
    alternatives = bare.alternatives if isinstance(bare, OneOf) else (bare,)
    return next((one for one in alternatives if isinstance(one, ListOf)), None)


def values_list(schema: Type | None) -> ListOf | None:
    """The list of plain values that a response is, or the only list in the object that it is; None with entities."""
    if schema is None or any(entities_in(schema)):
        return None
    bare = schema.unwrap()
    types = [member.type for member in bare.members] if isinstance(bare, ObjectType) else [bare]
    lists = [found for type in types if (found := list_in(type)) is not None]
    return lists[0] if len(lists) == 1 else None


# --------------------------------------------------------------------------------------------------------------- fields

Style: TypeAlias = Literal["comma", "space", "pipe", "repeat", "brackets", "deep", "form", "json"]
"""How a list or an object is written into a search string or a form."""

Filter: TypeAlias = Literal["equals", "unknown"]
"""How a search parameter selects the entities of a list: by equality with a field, or as only the server knows."""

LIST_STYLES: Final[tuple[Style, ...]] = ("comma", "space", "pipe", "repeat", "brackets", "deep", "json")
OBJECT_STYLES: Final[tuple[Style, ...]] = ("brackets", "deep", "form", "json")


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of an entity or object, a member of an object schema or body, a path or search parameter.

    `type` is an `Optional` where null or absence is allowed (also by `optional: true`).

    `default` is the resolved default as JSON under Python names (an RFC 3339 string, a mapping for an object, …), or
    `MISSING` where there is none: `required` says so too. For fields of entities and objects it is filled in from the
    table of types if that has an honest zero (`absent` of the spec says otherwise). `written_default` distinguishes a
    default that the spec gives from one that follows from the type. Parameters, body fields and members of object
    schemas have a default only where the spec writes it; they are required without `?` and without a default.
    `sends_key` says that bodies have the primary key of the entity that it holds, and not the entity. `must` says that
    bodies hold the field, `write_only` that nothing else does. `format` is how datetimes in it look in JSON, None for
    RFC 3339. `param` is the path parameter from which it comes where a record lacks it, and `of` the (dotted) field of
    the entity that a parameter, or a member of a body, represents; empty where the spec names none. `type_place` is
    the place of its type.

    `filter` says whether a search parameter selects the entities of a list by equality (`equals`) or in a way that only
    the server knows (`unknown`); None leaves it to the types of parameter and field.
    `style` is how a list or object of a search string or form is written, also where the spec says it of many.
    `env` names the environment variable that an argument of the client may be in.
    `slashes` says that a slash in a path parameter stays one. `persist` is as in `Options`.
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
