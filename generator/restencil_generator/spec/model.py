"""A spec as the generator works with it: typed, frozen, every name and every inherited value resolved.

`load.load_spec` makes it; nothing here reads files or checks rules. What the fields hold:

* **Names.** `name` is the name as the spec writes it, `python` the name in Python (the same, or with one trailing
  underscore), `wire` the name in JSON, URLs and the store. All three are final.
* **Types.** References are resolved: a name in a type is an `EnumRef`, `ObjectRef` or `EntityRef`, and the tables of
  `Spec` hold what it names.
* **Inheritance.** What an entity, a resource or an endpoint takes over from what it extends, from its resource or from
  the spec is filled in. Consumers never look further up.
* **Order.** Where order has a meaning (fields, members, enum members, union values) tuples keep it as written.
  Mappings are sorted by name, whatever the order in the file; endpoints are as written, behind the standard members.
* **Durations** are integers in milliseconds.
* **Places** (`place`) are for problems only. They do not take part in comparisons.

A `Spec` exists only if the spec has no errors, so consumers need not defend against references to nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from restencil_generator.diagnostics.model import Place
from restencil_generator.spec.types import *


@dataclasses.dataclass(frozen=True, slots=True)
class HeaderParam:
    """A header that is an argument: of a call, or of the client.

    `field.wire` is the header's name. `in_key` says that reading endpoints have it in their key, `partition` that calls
    which give it have a store of their own, `secret` that it is shown nowhere, `auto` what is sent where none is given.
    """

    field: Field
    in_key: bool = True
    partition: bool = False
    secret: bool = False
    auto: Literal["uuid"] | None = None
    partition_written: bool = dataclasses.field(default=True, compare=False)


# -------------------------------------------------------------------------------------------------------------- classes


@dataclasses.dataclass(frozen=True, slots=True)
class EnumMember:
    """One value of an enum; `constant` is the name of its `Final` constant (`DIET_HERBIVORE`), None for a list enum."""

    value: str | int
    constant: str | None = None
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Enum:
    """A list of known values; a value it does not know is kept unchanged."""

    name: str
    members: tuple[EnumMember, ...]
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Object:
    """A plain nested value without identity.

    `body_name` names its TypedDict for bodies, None where no body needs it.
    """

    name: str
    fields: tuple[Field, ...]
    body_name: str | None = None
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Entity:
    """A record type with a primary key.

    `fields` are those that it declares itself, `all_fields` with the inherited ones in their place (an overriding field
    keeps the position of the one it overrides). `pk` names fields (`Field.name`), with dots those inside of objects;
    `pk_is_list` says that the pk is the JSON array of their strings. `pk: []` is an empty one, that of the only record
    there is. With `pk_optional` a record without pk is an instance that no table knows. `key` is the table's name;
    `key_written` says that this entity itself writes it. `pk`, `indexes` and `validate` are the inherited ones where
    the entity writes none of its own; the `…_written` flags tell. An abstract entity may have a pk that is no field:
    then `pk` is empty. `resource` is the key of the resource that declares it in place. `body_name` names its TypedDict
    for bodies, None where no body needs it; `partial_body_name` that of `partial_update`, where others must hold some
    of its fields.
    """

    name: str
    fields: tuple[Field, ...]
    all_fields: tuple[Field, ...]
    pk: tuple[str, ...]
    pk_is_list: bool
    pk_written: bool
    key: str
    key_written: bool
    extends: str | None = None
    abstract: bool = False
    indexes: tuple[str, ...] = ()
    indexes_written: bool = False
    validate: Reference | None = None
    validate_written: bool = False
    description: str = ""
    deprecated: str | None = None
    resource: str | None = None
    body_name: str | None = None
    pk_optional: bool = False
    partial_body_name: str | None = None
    persist: bool | int | None = None
    place: Place = no_place()

    def field(self, name: str) -> Field | None:
        """The field with this name (`Field.name`), inherited ones included."""
        return next((field for field in self.all_fields if field.name == name), None)


# ------------------------------------------------------------------------------------------------------------ endpoints


@dataclasses.dataclass(frozen=True, slots=True)
class PathText:
    """Literal text of a path, escapes undone."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class PathParameter:
    """A parameter of a path. `prefix` is the `/` or `.` right before it, sent only together with it, or empty."""

    name: str
    optional: bool
    prefix: str


@dataclasses.dataclass(frozen=True, slots=True)
class Path:
    """A path template: its text as written, its parts, and the parameters among them."""

    text: str
    parts: tuple[PathText | PathParameter, ...]
    parameters: tuple[PathParameter, ...] = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        found = tuple(part for part in self.parts if isinstance(part, PathParameter))
        object.__setattr__(self, "parameters", found)


Styles: TypeAlias = "tuple[Style | None, Style | None]"
"""The styles of lists and of objects; None where none is declared."""

NO_STYLES: Final[Styles] = (None, None)

Shape: TypeAlias = tuple[str, ...]
"""What the body of an error is: the object of this name, one of several; any JSON where it names none."""

Empty: TypeAlias = Literal["error", "merge", "none"]
ErrorPolicy: TypeAlias = Literal["soft", "hard", "soft_on_server_error"]
Validate: TypeAlias = Literal["strict", "warn", "off"]
Freshness: TypeAlias = Literal["client", "server"]
Needs: TypeAlias = 'Literal["all", "required"] | tuple[str, ...]'
"""Which fields a response must bring for a record to be whole: all, the required ones, or those of these names."""


def shape_at(errors: Mapping[str, Shape | None], status: int) -> Shape | None:
    """What the narrowest key of `errors` that is about a status says; None where there is none, or it is taken back."""
    return next((errors[key] for key in (str(status), f"{status // 100}XX", "default") if key in errors), None)


@dataclasses.dataclass(frozen=True, slots=True)
class ServerFreshness:
    """Data lives as long as the response says, for so many milliseconds at least and at most."""

    at_least: int | None = None
    at_most: int | None = None

    def __str__(self) -> str:
        bounds = [("at_least", self.at_least), ("at_most", self.at_most)]
        text = ", ".join(f"{name}: {bound}ms" for name, bound in bounds if bound is not None)
        return f"{{server: {{{text}}}}}" if text else "server"


@dataclasses.dataclass(frozen=True, slots=True)
class Concurrency:
    """Changes say what they were made for: by the ETag of the last response, or by the field that holds it."""

    required: bool = False
    field: str | None = None

    def __str__(self) -> str:
        return f"{{field: {self.field}}}" if self.field is not None else "{etag: required}" if self.required else "etag"


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Endpoint options, and what `response` says. None: not given, or taken back. Durations in milliseconds.

    `persist` says whether a storage keeps what was answered; a number does, and is part of the shape that it keeps.
    `invalid_if_stale` and `needs` have a default in every package, which null restores.
    """

    data_expiry_length: int | None = None
    error_expiry_length: int | None = None
    poll_frequency: int | None = None
    invalid_if_stale: bool = True
    needs: Needs = "all"
    conditional: bool | None = None
    freshness: Literal["client"] | ServerFreshness | None = None
    concurrency: Concurrency | None = None
    error_policy: ErrorPolicy | Reference | None = None
    validate: Validate | None = None
    timeout: int | None = None
    retries: int | None = None
    strict_shape: bool | None = None
    replace: bool | None = None
    persist: bool | int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """How a body is sent: its content type, the member that holds it, whether a call may leave it out.

    `in_key` says that the body is part of the key under which the response is stored. `style` is that of the lists and
    objects in a form; each field of an endpoint's form has the one that counts for it.
    """

    content_type: str | None = None
    envelope: tuple[str, ...] = ()
    optional: bool = False
    in_key: bool = False
    style: Styles = NO_STYLES


@dataclasses.dataclass(frozen=True, slots=True)
class Response:
    """Where a response holds its value, and what a response without content is; with `ignore` each one is such.

    The steps of `envelope` are names of members and, in digits, positions in lists. `list_envelope` is for lists: an
    endpoint has the one that counts for its schema as its `envelope`, and no `list_envelope`.
    """

    envelope: tuple[str, ...] = ()
    list_envelope: tuple[str, ...] = ()
    empty: Empty | None = None
    ignore: bool = False


BodyKind: TypeAlias = Literal["json", "form", "multipart", "any", "bytes", "text"]


@dataclasses.dataclass(frozen=True, slots=True)
class Body:
    """The body argument of an endpoint.

    `json` bodies have a `type`: an `EntityRef` or `UnionOf` (the fields of the entity that are not read-only, each of
    them optional, as its TypedDict `body_name`), an `ObjectRef`, an `ObjectType`, or a `ListOf` these or anything else.
    `form` and `multipart` have an `ObjectType`. `any`, `bytes` and `text` have none. `partial` says that every member
    of the `ObjectType` may be absent, whatever its field says (`partial_update` with the resource's own mapping), or
    that of an entity (`partial_update`, where other bodies must hold some).
    """

    kind: BodyKind
    type: Type | None = None
    partial: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Next:
    """Where the next page's value is: a path of wire names in the response or in the last item, or a header's name."""

    kind: Literal["response", "last", "header"]
    path: tuple[str, ...]

    def __str__(self) -> str:
        """The text of the runtime's option `pagination["next"]`: `meta.next`, `last.id`, `header:X-Next`."""
        if self.kind == "header":
            return f"header:{self.path[0]}"
        return ".".join(("last", *self.path) if self.kind == "last" else self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class PageSize:
    """The search parameter that asks for a number of items a page, and that number."""

    param: Field
    value: int


@dataclasses.dataclass(frozen=True, slots=True)
class Pagination:
    """How `iterate()` finds the next page. `style` is one of `page_styles`; `next` is set for those that need it.

    `more`, `total` and `length` are paths in the response: whether there is another page, how many items there are in
    all, and how many a page has. `start` is the first page or offset. With `in_body` the position and the size of a
    page are members of the body.
    """

    style: str
    next: Next | None = None
    size: PageSize | None = None
    remove_cursor: Reference | None = None
    more: Next | None = None
    total: Next | None = None
    length: Next | None = None
    start: int | None = None
    in_body: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """An example call. Values under Python or wire names, as the spec has them; `MISSING` where it gives none.

    `places` has the place of each value by its path: `("response", 0, "title")`.
    """

    params: Mapping[str, Json] = dataclasses.field(default_factory=dict[str, Json])
    body: Json | Missing = MISSING
    response: Json | Missing = MISSING
    places: Mapping[tuple[str | int, ...], Place] = dataclasses.field(
        default_factory=dict[tuple[str | int, ...], Place], compare=False, repr=False
    )
    place: Place = no_place()


Content: TypeAlias = Literal["json", "text", "bytes", "stream"]

STANDARD: Final[tuple[str, ...]] = ("get", "get_list", "create", "update", "partial_update", "delete")
"""The standard members of a resource that are endpoints of their own, in their order."""

EXTENDERS: Final[tuple[str, ...]] = ("push", "unshift", "assign", "get_page", "move", "remove")
"""The standard members that hang on `get_list`."""

OF_ONE: Final[tuple[str, ...]] = ("get", "update", "partial_update", "delete")
"""The standard members of a singleton."""

NOT_BY_DEFAULT: Final[tuple[str, ...]] = ("move", "remove")
"""Those of them that exist only where `members` names them."""

SELF: Final = "self"
"""In `expires`: the entity that the path's parameters name."""

NOTHING: Final = "nothing"
"""In place of a list under `expires`: the change makes nothing stale."""

BODILESS: Final = ("GET", "DELETE", "HEAD", "OPTIONS")
"""Methods that send a body only where the spec writes one for the very endpoint."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint with everything it inherits.

    `name` is the name as the spec writes it (`get`, `publish`; for the members of `Endpoint.extenders` `push`,
    `unshift`, `assign`, `get_page`, `move`, `remove`), `python` the attribute's name. `standard` says that it is a
    standard member (`delete` has the runtime's `process` unless one is written). `extends` is the member that it starts
    from, as written (None: the resource). `written` holds the keys that the spec writes for this very endpoint.

    `params` are the path's parameters in its order; `header_params` have those of the resource among them, and
    `without` are the client's headers that are not sent with it. `search_style` is what counts where a search parameter
    writes no style. `search_params` include the pagination's size parameter only if the spec declares it.
    `pagination_field` is a parameter of `get_page` alone, and None where the schema holds no
    collection. `collection` is the first collection of the schema, what `push` and the like work on.
    `extenders` holds what exists of `push`, `unshift`, `assign`, `get_page`, `move`, `remove` on this endpoint; they
    inherit from it.

    `request` and `response` are what counts for this endpoint, and `send_body` says that its body is sent though its
    method usually has none. `expires` names what turns stale after success: `self`, or a reading endpoint as
    `resource.member`, by their names in the spec; `nothing` for a change that makes nothing stale.
    `exact_filters` are the arguments of a list, by their names in URLs, that select its entities by equality with a
    field; None where there is no list, or no argument that filters. With `cross_origin_body` a redirect to another
    origin takes the body along.

    `schema` None: no schema. `returns`: the type of the value where the spec gives one, else None.
    `base` is the endpoint class to build on, None for the runtime's own. `headers` are all static headers, those of the
    spec and the resource included. `optimistic` says that the standard optimistic payload applies to it. `errors` are
    the bodies of errors by status (`404`, `4XX`, `default`), and the narrowest counts. `auth` is None if that
    of the spec counts.
    """

    name: str
    python: str
    standard: bool
    extends: str | None
    written: frozenset[str]
    method: str
    path: Path
    url_prefix: str
    headers: Mapping[str, str]
    params: tuple[Field, ...]
    search_params: tuple[Field, ...]
    body: Body | None
    schema: Type | None
    returns: Type | None
    content: Content | None
    side_effect: bool
    pagination_field: Field | None
    pagination: Pagination | None
    collection: CollectionOf | None
    options: Options
    optimistic: bool
    base: Reference | None = None
    process: Reference | None = None
    update: Reference | None = None
    get_optimistic_response: Reference | None = None
    follow_see_other: bool = False
    cross_origin_body: bool = False
    errors: Mapping[str, Shape] = dataclasses.field(default_factory=dict[str, Shape])
    header_params: tuple[HeaderParam, ...] = ()
    without: tuple[str, ...] = ()
    search_style: Styles = NO_STYLES
    auth: Use | None = None
    request: Request = Request()
    response: Response = Response()
    send_body: bool = False
    expires: tuple[str, ...] | Literal["nothing"] = ()
    exact_filters: tuple[str, ...] | None = None
    description: str = ""
    deprecated: str | None = None
    example: Example | None = None
    extenders: Mapping[str, Endpoint] = dataclasses.field(default_factory=dict[str, "Endpoint"])
    place: Place = no_place()
    places: Places = no_places()

    @property
    def has_body(self) -> bool:
        """Whether a call takes a body: one is declared, and it is sent."""
        return self.body is not None and (self.send_body or self.method not in BODILESS)

    @property
    def page_param(self) -> Field | None:
        """The search parameter that names a page; None where there is none, or where the body has it."""
        return None if self.pagination is not None and self.pagination.in_body else self.pagination_field

    @property
    def page_params(self) -> tuple[Field, ...]:
        """The search parameters that name a page and its size."""
        if self.pagination is not None and self.pagination.in_body:
            return ()
        size = None if self.pagination is None or self.pagination.size is None else self.pagination.size.param
        return tuple(field for field in (self.pagination_field, size) if field is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A bundle of endpoints that share a path and a schema, or of endpoints that share neither: then both are None.

    `class_name` is its class (`Articles`), `python` its attribute on the client. `members` are the standard members
    that exist, `create` aside. `endpoints` holds them (without the extenders, which hang on their list) and the added
    ones. `options`, `headers`, `errors`, `request`, `response`, `url_prefix` (written at `url_place`) and `base`
    include those of the spec. A `singleton` has one record at its path, and no list.
    """

    name: str
    python: str
    class_name: str
    path: Path | None
    schema: EntityRef | UnionOf | None
    url_prefix: str
    headers: Mapping[str, str]
    options: Options
    optimistic: bool
    members: tuple[str, ...]
    endpoints: Mapping[str, Endpoint]
    body: Body | None
    search_params: tuple[Field, ...] = ()
    params: tuple[Field, ...] = ()
    pagination_field: str | None = None
    pagination: Pagination | None = None
    base: Reference | None = None
    errors: Mapping[str, Shape] = dataclasses.field(default_factory=dict[str, Shape])
    header_params: tuple[HeaderParam, ...] = ()
    without: tuple[str, ...] = ()
    auth: Use | None = None
    request: Request = Request()
    response: Response = Response()
    singleton: bool = False
    cross_origin_body: bool = False
    description: str = ""
    deprecated: str | None = None
    place: Place = no_place()
    places: Places = no_places()
    url_place: Place = no_place()

    @property
    def entities(self) -> tuple[str, ...]:
        """The names of the resource's entities: one, or those of its union in order; none of a group."""
        if self.schema is None:
            return ()
        if isinstance(self.schema, EntityRef):
            return (self.schema.name,)
        return tuple(dict.fromkeys(choice.entity for choice in self.schema.choices))

    @property
    def parameters(self) -> tuple[PathParameter, ...]:
        """The parameters of its path; none of a group."""
        return () if self.path is None else self.path.parameters

    def all_endpoints(self) -> Iterator[tuple[str, Endpoint]]:
        """Every endpoint with its dotted name in Python: `get`, `get_list`, `get_list.push`, …"""
        for endpoint in self.endpoints.values():
            yield endpoint.python, endpoint
            for extender in endpoint.extenders.values():
                yield f"{endpoint.python}.{extender.python}", extender


# ------------------------------------------------------------------------------------------------------------- the spec

WireNames: TypeAlias = Literal["as_is", "snake_case", "camelCase", "PascalCase", "kebab-case"]

Absent: TypeAlias = Literal["raise", "zero"]
"""What fields without a default give where no response had them, apart from what is usual."""


AuthKind: TypeAlias = Literal["header", "bearer", "basic", "cookie", "query", "oauth2"]
Grant: TypeAlias = Literal["client_credentials", "refresh_token"]
ClientAuth: TypeAlias = Literal["basic", "body"]


@dataclasses.dataclass(frozen=True, slots=True)
class OAuth2:
    """How tokens are requested: at `token_url`, with these `scopes` and further `params`.

    `client_auth` is how the client shows itself there: by basic authentication, or in the body. `env` pairs credentials
    (`client_id`, `client_secret`, …) with the environment variables that hold them, sorted by name.
    """

    token_url: str
    grant: Grant = "client_credentials"
    scopes: tuple[str, ...] = ()
    client_auth: ClientAuth = "basic"
    params: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    env: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    url_place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Scheme:
    """One way to show who asks; `name` is the client's keyword for its credential.

    `parameter` is the name of the header, cookie or search parameter, empty for `bearer`, `basic` and `oauth2`;
    `prefix` is before the secret in a header or cookie. `env` is the environment variable that the client reads
    where no credential is given, None for none. `oauth2` is set for that kind alone.
    """

    name: str
    kind: AuthKind
    parameter: str = ""
    prefix: str = ""
    env: str | None = None
    oauth2: OAuth2 | None = None
    deprecated: str | None = None
    place: Place = no_place()


Use: TypeAlias = tuple[tuple[str, ...], ...]
"""Alternatives of names of schemes: the first counts whose schemes all have a credential; an empty one is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Auth:
    """How the client shows who asks: its schemes, sorted by name, and the alternatives for requests.

    `short` says that the spec names no schemes: there is one, called `token`.
    """

    schemes: tuple[Scheme, ...]
    use: Use
    short: bool = False

    def scheme(self, name: str) -> Scheme:
        """The scheme of a name that is declared."""
        return next(scheme for scheme in self.schemes if scheme.name == name)


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A place where the API is served: its URL, in which `{name}` represents the variable of this name."""

    name: str
    url: str
    variables: tuple[Field, ...] = ()
    description: str = ""
    deprecated: str | None = None
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Spec:
    """A whole spec.

    `file` is the file's (or folder's) name without its folders. `digest` is the SHA-256, in hexadecimal, of the loaded
    declaration in canonical form: comments, line ends, layout and the order of keys wherever it has no meaning do not
    count. `namespace` maps every name of a generated class, alias or constant to what it is (`"entity"`, `"object"`,
    `"enum"`, `"constant"`, `"resource"`, `"client"`, `"error"`, `"typed_dict"`). `url_place` is where `url_prefix` is
    written. `has_errors` says that any endpoint declares bodies of errors, so that the package has error
    classes of its own. `user_agent` is False if that of the HTTP library stays, None where none is declared.
    `servers` are in their order: the URL of the first is `url_prefix`. `header_params` and `search_params` are
    arguments of the client. `cross_origin_body` is as in `Endpoint`, for requests that no endpoint describes.
    """

    file: str
    language: int
    package: str
    client: str
    async_client: str
    digest: str
    title: str = ""
    description: str = ""
    version: str = ""
    user_agent: str | Literal[False] | None = None
    request_id: str = ""
    inert_headers: tuple[str, ...] = ()
    errors: Mapping[str, Shape] = dataclasses.field(default_factory=dict[str, Shape])
    request: Request = Request()
    response: Response = Response()
    url_prefix: str = ""
    wire_names: WireNames = "as_is"
    auth: Auth | None = None
    base: Reference | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    options: Options = Options()
    enums: Mapping[str, Enum] = dataclasses.field(default_factory=dict[str, Enum])
    objects: Mapping[str, Object] = dataclasses.field(default_factory=dict[str, Object])
    entities: Mapping[str, Entity] = dataclasses.field(default_factory=dict[str, Entity])
    resources: Mapping[str, Resource] = dataclasses.field(default_factory=dict[str, Resource])
    namespace: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    has_errors: bool = False
    servers: tuple[Server, ...] = ()
    header_params: tuple[HeaderParam, ...] = ()
    search_params: tuple[Field, ...] = ()
    cross_origin_body: bool = False
    place: Place = no_place()
    places: Places = no_places()
    url_place: Place = no_place()
