"""The resolved model of a spec: typed, frozen, with all names and inherited values resolved.

`load.load_spec` creates it; nothing here reads files or checks rules. Conventions:

* **Names.** `name` is the name in the spec, `python` the name in Python (the same, or with one trailing
  underscore), `wire` the name in JSON, URLs and the store. All three are final.
* **Types.** References are resolved: a name in a type is an `EnumRef`, `ObjectRef` or `EntityRef`, and the tables of
  `Spec` contain the declaration.
* **Inheritance.** Everything that an entity, a resource or an endpoint inherits from its base, from its resource or
  from the spec is filled in. Consumers never look further up.
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
    """A header that is an argument of a call or of the client.

    `field.wire` is the name of the header. `in_key` means that it is part of the key of reading endpoints, `partition`
    that each of its values has a store of its own, `secret` that it is never shown, and `auto` is how a value is
    generated if none is given.
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
    """A list of known values; unknown values in responses are kept unchanged."""

    name: str
    members: tuple[EnumMember, ...]
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Object:
    """A plain nested value without identity.

    `body_name` is the name of its TypedDict for bodies, None if no body needs it.
    """

    name: str
    fields: tuple[Field, ...]
    body_name: str | None = None
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Entity:
    """A record type with a primary key.

    `fields` are declared by the entity itself, `all_fields` includes inherited ones (an overriding field keeps the
    position of the overridden one). `pk` has the names of fields (`Field.name`), or dotted names of fields in objects;
    `pk_is_list` means that the pk is the JSON array of their strings. `pk: []` is the empty pk of a single record. With
    `pk_optional`, records without a pk are instances that are in no table. `key` is the name of the table;
    `key_written` means that this entity declares it. `pk`, `indexes` and `validate` are inherited if the entity does
    not declare them, which the `…_written` flags show. The pk of an abstract entity need not be a field: then `pk` is
    empty. `resource` is the key of the resource in which the entity is declared inline. `body_name` is the name of its
    TypedDict for bodies, None if no body needs it; `partial_body_name` is the one for `partial_update`, if other bodies
    require some of its fields.
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
        """Return the field with this name (`Field.name`), including inherited fields."""
        return next((field for field in self.all_fields if field.name == name), None)


# ------------------------------------------------------------------------------------------------------------ endpoints


@dataclasses.dataclass(frozen=True, slots=True)
class PathText:
    """A literal part of a path, without escapes."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class PathParameter:
    """A parameter of a path. `prefix` is the `/` or `.` before it that is sent only with a value, or empty."""

    name: str
    optional: bool
    prefix: str


@dataclasses.dataclass(frozen=True, slots=True)
class Path:
    """A path template: its string in the spec, its parts, and the parameters among them."""

    text: str
    parts: tuple[PathText | PathParameter, ...]
    parameters: tuple[PathParameter, ...] = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        found = tuple(part for part in self.parts if isinstance(part, PathParameter))
        object.__setattr__(self, "parameters", found)


Styles: TypeAlias = "tuple[Style | None, Style | None]"
"""The styles of lists and of objects; None if none is declared."""

NO_STYLES: Final[Styles] = (None, None)

Shape: TypeAlias = tuple[str, ...]
"""The possible bodies of an error, as names of objects; empty for any JSON."""

Empty: TypeAlias = Literal["error", "merge", "none"]
ErrorPolicy: TypeAlias = Literal["soft", "hard", "soft_on_server_error"]
Validate: TypeAlias = Literal["strict", "warn", "off"]
Freshness: TypeAlias = Literal["client", "server"]
Needs: TypeAlias = 'Literal["all", "required"] | tuple[str, ...]'
"""The fields that a response must contain for a record to be complete: all, the required ones, or these names."""


def shape_at(errors: Mapping[str, Shape | None], status: int) -> Shape | None:
    """Return the value of the narrowest key of `errors` that covers a status; None if there is none or it is reset."""
    return next((errors[key] for key in (str(status), f"{status // 100}XX", "default") if key in errors), None)


@dataclasses.dataclass(frozen=True, slots=True)
class ServerFreshness:
    """The response determines how long data stays fresh, within these limits in milliseconds."""

    at_least: int | None = None
    at_most: int | None = None

    def __str__(self) -> str:
        bounds = [("at_least", self.at_least), ("at_most", self.at_most)]
        text = ", ".join(f"{name}: {bound}ms" for name, bound in bounds if bound is not None)
        return f"{{server: {{{text}}}}}" if text else "server"


@dataclasses.dataclass(frozen=True, slots=True)
class Concurrency:
    """Updates are conditional on the ETag of the last response, or on the value of a version field."""

    required: bool = False
    field: str | None = None

    def __str__(self) -> str:
        return f"{{field: {self.field}}}" if self.field is not None else "{etag: required}" if self.required else "etag"


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Options of endpoints, and settings of `response`. None: not given or reset. Durations are in milliseconds.

    `persist` is whether a storage keeps responses; a number also becomes part of the stored schema. `invalid_if_stale`
    and `needs` have a default in every package, which null restores.
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
    """How a body is sent: its content type, the member that contains it, and whether it is optional.

    `in_key` means that the body is part of the key of the stored response. `style` is the style of lists and objects in
    a form; each field of an endpoint's form has its effective style.
    """

    content_type: str | None = None
    envelope: tuple[str, ...] = ()
    optional: bool = False
    in_key: bool = False
    style: Styles = NO_STYLES


@dataclasses.dataclass(frozen=True, slots=True)
class Response:
    """The position of the value in a response, and the value of an empty response; `ignore` treats all as empty.

    The steps of `envelope` are names of members and, in digits, positions in lists. `list_envelope` is for lists: an
    endpoint has the effective one for its schema as `envelope`, and no `list_envelope`.
    """

    envelope: tuple[str, ...] = ()
    list_envelope: tuple[str, ...] = ()
    empty: Empty | None = None
    ignore: bool = False


BodyKind: TypeAlias = Literal["json", "form", "multipart", "any", "bytes", "text"]


@dataclasses.dataclass(frozen=True, slots=True)
class Body:
    """The body argument of an endpoint.

    A `json` body has a `type`: an `EntityRef` or `UnionOf` (the fields of the entity that are not read-only, all
    optional, as its TypedDict `body_name`), an `ObjectRef`, an `ObjectType`, or a `ListOf` these or other types. `form`
    and `multipart` have an `ObjectType`. `any`, `bytes` and `text` have no type. `partial` means that every member of
    the `ObjectType` is optional (`partial_update` with the resource's own mapping), or every field of the entity
    (`partial_update`, if other bodies require some).
    """

    kind: BodyKind
    type: Type | None = None
    partial: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Next:
    """The source of the next page's value: a path of JSON names in the response or last item, or a header name."""

    kind: Literal["response", "last", "header"]
    path: tuple[str, ...]

    def __str__(self) -> str:
        """Format it as the runtime's option `pagination["next"]`: `meta.next`, `last.id`, `header:X-Next`."""
        if self.kind == "header":
            return f"header:{self.path[0]}"
        return ".".join(("last", *self.path) if self.kind == "last" else self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class PageSize:
    """The search parameter for the number of items per page, and that number."""

    param: Field
    value: int


@dataclasses.dataclass(frozen=True, slots=True)
class Pagination:
    """How `iterate()` finds the next page.

    `style` is one of `page_styles`; `next` is set for styles that need it. `more`, `total` and `length` are paths in
    the response: whether there is another page, the total number of items, and the number of items per page. `start` is
    the first page or offset. With `in_body` the position and the size of a page are members of the body.
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
    """An example call. Members have Python or JSON names, as in the spec; missing values are `MISSING`.

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
"""The standard members of a resource that are separate endpoints, in order."""

EXTENDERS: Final[tuple[str, ...]] = ("push", "unshift", "assign", "get_page", "move", "remove")
"""The standard members that are operations of `get_list`."""

OF_ONE: Final[tuple[str, ...]] = ("get", "update", "partial_update", "delete")
"""The standard members of a singleton."""

NOT_BY_DEFAULT: Final[tuple[str, ...]] = ("move", "remove")
"""The standard members that exist only if `members` lists them."""

SELF: Final = "self"
"""In `expires`: the entity that the parameters of the path identify."""

NOTHING: Final = "nothing"
"""As `expires`, instead of a list: the change makes nothing stale."""

METHODS: Final = ("GET", "QUERY", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
"""The methods of OpenAPI, in the order of the operations of a path; an API may define others."""

BODILESS: Final = ("GET", "DELETE", "HEAD", "OPTIONS")
"""Methods that send a body only if the spec declares one for the endpoint itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint with everything it inherits.

    `name` is the name in the spec (`get`, `publish`; in `Endpoint.extenders` `push`, `unshift`, `assign`, `get_page`,
    `move`, `remove`), `python` the name of the attribute. `standard` means that it is a standard member (`delete` has
    the runtime's `process` unless the spec declares one). `extends` is the member that it starts from (None: the
    resource). `written` has the keys that the spec gives for the endpoint itself. `params` are the parameters of the
    path in order; `header_params` include those of the resource, and `without` are client headers that are not sent.
    `search_style` is the default style of search parameters. `search_params` include the pagination's size parameter
    only if the spec declares it. `pagination_field` is a parameter of `get_page` only, and None if the schema has no
    collection. `collection` is the first collection of the schema, to which `push` and other operations apply.
    `extenders` has the operations `push`, `unshift`, `assign`, `get_page`, `move`, `remove` that exist for this
    endpoint; they inherit from it. `request` and `response` are the effective settings, and `send_body` means that the
    body is sent although the method usually has none. `expires` has what becomes stale after success: `self`, or
    reading endpoints as `resource.member`, with names of the spec; `nothing` for a change that makes nothing stale.
    `exact_filters` are the arguments of a list, by their names in URLs, that filter it by equality with a field; None
    if there is no list, or if no argument filters. With `cross_origin_body` redirects to another origin keep the body.
    `schema` is None if there is no schema, and `returns` is the type of the value if the spec gives one. `base` is the
    base class of the endpoint, None for the class of the runtime. `headers` are all static headers, including those of
    the spec and the resource. `optimistic` means that the standard optimistic payload applies. `errors` are the bodies
    of errors by status (`404`, `4XX`, `default`); the narrowest wins. `auth` is None if that of the spec applies.
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
        """Whether calls have a body argument: a body is declared, and it is sent."""
        return self.body is not None and (self.send_body or self.method not in BODILESS)

    @property
    def page_param(self) -> Field | None:
        """The search parameter for the page; None if there is none, or if it is in the body."""
        return None if self.pagination is not None and self.pagination.in_body else self.pagination_field

    @property
    def page_params(self) -> tuple[Field, ...]:
        """The search parameters for the page and its size."""
        if self.pagination is not None and self.pagination.in_body:
            return ()
        size = None if self.pagination is None or self.pagination.size is None else self.pagination.size.param
        return tuple(field for field in (self.pagination_field, size) if field is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A group of endpoints that share a path and a schema, or that share neither: then both are None.

    `class_name` is the name of its class (`Articles`), `python` its attribute of the client. `members` are the existing
    standard members except `create`. `endpoints` has these (operations of a list are part of their list) and the other
    endpoints. `options`, `headers`, `errors`, `request`, `response`, `url_prefix` (written at `url_place`) and `base`
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
        """The names of the resource's entity, or of the entities of its union in order; none for a group."""
        if self.schema is None:
            return ()
        if isinstance(self.schema, EntityRef):
            return (self.schema.name,)
        return tuple(dict.fromkeys(choice.entity for choice in self.schema.choices))

    @property
    def parameters(self) -> tuple[PathParameter, ...]:
        """The parameters of its path; none for a group."""
        return () if self.path is None else self.path.parameters

    def all_endpoints(self) -> Iterator[tuple[str, Endpoint]]:
        """Yield every endpoint with its dotted name in Python: `get`, `get_list`, `get_list.push`, …"""
        for endpoint in self.endpoints.values():
            yield endpoint.python, endpoint
            for extender in endpoint.extenders.values():
                yield f"{endpoint.python}.{extender.python}", extender


# ------------------------------------------------------------------------------------------------------------- the spec

WireNames: TypeAlias = Literal["as_is", "snake_case", "camelCase", "PascalCase", "kebab-case"]

Absent: TypeAlias = Literal["raise", "zero"]
"""Reading a missing field without a default raises an error, or returns the zero value of its type."""


AuthKind: TypeAlias = Literal["header", "bearer", "basic", "cookie", "query", "oauth2"]
Grant: TypeAlias = Literal["client_credentials", "refresh_token"]
ClientAuth: TypeAlias = Literal["basic", "body"]


@dataclasses.dataclass(frozen=True, slots=True)
class OAuth2:
    """How tokens are requested: from `token_url`, with these `scopes` and further `params`.

    `client_auth` is how the client authenticates there: with basic authentication, or in the body. `env` pairs
    credentials (`client_id`, `client_secret`, …) with the environment variables that contain them, sorted by name.
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
    """One authentication scheme; `name` is the client's keyword for its credential.

    `parameter` is the name of the header, cookie or search parameter, empty for `bearer`, `basic` and `oauth2`;
    `prefix` is put before the secret in a header or cookie. `env` is the environment variable that the client reads if
    no credential is given, None for none. `oauth2` is set only for that kind.
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
"""Alternatives of scheme names: the first one whose schemes all have a credential is used; an empty one sends none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Auth:
    """The authentication of an API: its schemes, sorted by name, and the alternatives for requests.

    `short` means that the spec declares one scheme without a name, called `token`.
    """

    schemes: tuple[Scheme, ...]
    use: Use
    short: bool = False

    def scheme(self, name: str) -> Scheme:
        """Return the declared scheme with a name."""
        return next(scheme for scheme in self.schemes if scheme.name == name)


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server of the API: its URL, in which `{name}` represents the variable with this name."""

    name: str
    url: str
    variables: tuple[Field, ...] = ()
    description: str = ""
    deprecated: str | None = None
    place: Place = no_place()


@dataclasses.dataclass(frozen=True, slots=True)
class Spec:
    """A whole spec.

    `file` is the name of the file or folder, without its path. `digest` is the SHA-256, in hexadecimal, of the
    canonical form (see `spec.digest`). `namespace` maps every name of a generated class, alias or constant to its kind
    (`"entity"`, `"object"`, `"enum"`, `"constant"`, `"resource"`, `"client"`, `"error"`, `"typed_dict"`). `url_place`
    is the place of `url_prefix`. `has_errors` means that an endpoint declares bodies of errors, so that the package has
    its own error classes. `user_agent` is False to keep that of the HTTP library, None if none is declared. `servers`
    are in order: the URL of the first is `url_prefix`. `header_params` and `search_params` are arguments of the client.
    `cross_origin_body` is as in `Endpoint`, for requests without an endpoint.
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
