"""The context of templates: modules and their classes, as names, expressions and descriptions.

All names, types, options and their order are final here. Templates decide how they are written: docstrings, decorators,
additional base classes and members. Types and expressions are Python code; a `description` is text from the spec, which
may only be printed with the filters `docstring` and `comment`.
"""

from __future__ import annotations

import dataclasses
from typing import Final, Literal, TypeAlias

from restencil_generator.codegen.pyexpr import Options

CONTEXT_VERSION: Final = 3
"""The version of the context. It is incremented when something is renamed or removed."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Import:
    """`import module as alias`, or `from module import names` if there are any (a pair: `name as alias`)."""

    module: str
    names: tuple[tuple[str, str | None], ...] = ()
    alias: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword parameter: `name: type = default`; it is required if `default` is None."""

    name: str
    type: str
    default: str | None = None
    description: str = ""
    deprecated: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """A call, and the JSON of its response (None if it is not shown)."""

    call: str
    response: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of an entity or object: `name: type = value`."""

    name: str
    type: str
    value: str
    description: str = ""
    deprecated: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Validator:
    """The method `validate` of an entity: its decorator, the types of record and result, and the function to call."""

    decorator: str
    record: str
    returns: str
    function: str


@dataclasses.dataclass(frozen=True, slots=True)
class RecordClass:
    """An entity or a nested object."""

    name: str
    bases: tuple[str, ...]
    options: Options
    fields: tuple[Field, ...]
    validator: Validator | None = None
    description: str = ""
    deprecated: str | None = None
    alias: str = ""
    """Another name, for code in which a member of the same name hides the class; or empty."""


UsageKind: TypeAlias = Literal["body", "members", "response", "search parameter", "field", "entity"]


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """The use of a TypedDict.

    | kind | use | of |
    |---|---|---|
    | `body` | the body of one call | method and path |
    | `members` | the body of calls that create or change members of a resource | the resource's path |
    | `response` | the response of a call | method and path |
    | `search parameter` | the value of `member` | method and path |
    | `field` | the value of the field `member` | the class |
    | `entity` | the body for an entity or object | the class |

    `is_part` means that it is only a part of that; `is_optional` that all keys are optional.
    """

    kind: UsageKind
    of: str
    member: str = ""
    is_part: bool = False
    is_optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """A key of a TypedDict: `name: type`."""

    name: str
    type: str
    description: str = ""
    deprecated: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TypedDictClass:
    """A TypedDict: the members of an object, or a body. `options` has `total` if it is false."""

    name: str
    bases: tuple[str, ...]
    options: Options
    usage: Usage
    keys: tuple[Key, ...]
    alias: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorClass:
    """An error class of the package: its bases, its statuses, and the type of its `data` (or empty).

    `first` and `last` are the lowest and highest status (0 for all); `phrase` is the reason phrase of a single status.
    """

    name: str
    bases: tuple[str, ...]
    data: str = ""
    first: int = 0
    last: int = 0
    phrase: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """A constant: `name: type = value`."""

    name: str
    type: str
    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class EnumAlias:
    """An enum: the alias of its known values, and a constant for each value with a name."""

    name: str
    type: str
    value: str
    constants: tuple[Constant, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Documentation:
    """The contents of an endpoint's docstring.

    `method` and `path` are plain text; `parameters` are those with a description.
    """

    method: str
    path: str
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    deprecated: str | None = None
    example: Example | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """An endpoint, or a function that only declares the types of a list operation: then `decorator` is empty.

    `options` are the options of the decorator. `doc` is None if there is nothing to document.
    """

    name: str
    receiver: str
    parameters: tuple[Parameter, ...]
    returns: str
    decorator: str = ""
    options: Options = dataclasses.field(default_factory=dict[str, str])
    doc: Documentation | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """A second name of an endpoint: `create = restencil.push_of(get_list)`."""

    name: str
    value: str
    doc: Documentation | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClass:
    """A resource: its class with the options that all members share, and the members.

    `path` is plain text for docstrings: the path, or the name of a group of endpoints without a path.
    """

    name: str
    bases: tuple[str, ...]
    options: Options
    members: tuple[Method | Assignment, ...]
    path: str
    description: str = ""
    deprecated: str | None = None
    defaults: tuple[Constant, ...] = ()
    """Defaults of parameters that need a name, such as lists: they are defined before the class."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientMember:
    """A resource of a client: the attribute, its type, and the expression that creates it."""

    name: str
    type: str
    value: str
    description: str = ""
    deprecated: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ClientArguments:
    """The parameters of a client, for type checkers: `store`, those of the spec, and the `options` of all clients."""

    store: str
    own: tuple[Parameter, ...]
    options: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClientClass:
    """A client; `arguments` is None if it only has the arguments of all clients."""

    name: str
    bases: tuple[str, ...]
    arguments: ClientArguments | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Clients:
    """The clients of a package, and the class with their resources. `api` is the expression for `_API`."""

    api: str
    host: str
    bases: tuple[str, ...]
    members: tuple[ClientMember, ...]
    classes: tuple[ClientClass, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """One file: its template, and its contents. Parts that a module does not have are empty."""

    path: str
    template: str
    header: str
    """The first line, which names the spec."""
    title: str = ""
    """Title and description of the API."""
    imports: tuple[tuple[Import, ...], ...] = ()
    type_imports: tuple[Import, ...] = ()
    type_checking: str = ""
    exports: tuple[str, ...] = ()
    """The names in `__all__`."""
    enums: tuple[EnumAlias, ...] = ()
    records: tuple[RecordClass, ...] = ()
    typed_dicts: tuple[TypedDictClass, ...] = ()
    errors: tuple[ErrorClass, ...] = ()
    resource: ResourceClass | None = None
    clients: Clients | None = None
    setup: str = ""
    """The call at the end of `__init__` that makes modules load on first use; or empty."""
