"""The document model: operations, parameters, bodies, responses, schemas, findings.

`reading` makes it; what a spec is inferred from is this and nothing else. Whatever a document says wrongly is put right
or left out here already, with a `Finding`: nobody who works with a `Document` has to look at the type of a value again.

Schemas are read when they are asked for: places that hold one hold a `Part`, and `Document.schema` makes a `Schema` of
it, following references. A schema's identity is `Schema.at`: it is the same for all that refer to one schema, so it is
what names, shared types and circles go by.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from restencil_generator.diagnostics.model import Severity

Scalar: TypeAlias = str | int | float | bool
"""A value of JSON that is neither null nor a container."""

SchemaType: TypeAlias = Literal["any", "string", "integer", "number", "boolean", "array", "object", "one_of"]
"""What a schema is, once oddities are put right. `one_of` has alternatives."""

ContentKind: TypeAlias = Literal["json", "form", "multipart", "text", "bytes", "sse", "stream"]
"""How a body or a response is written. `stream` holds one JSON text after the other, `sse` server-sent events."""

ParameterPlace: TypeAlias = Literal["path", "query", "header", "cookie", "querystring"]
"""Where a parameter stands. The one with `querystring` is the whole query, as text."""

METHODS: Final = ("GET", "QUERY", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
"""The methods that OpenAPI has words for, in the order in which operations of one path stand."""


class Where(NamedTuple):
    """A place in a document: the file as messages show it, and a JSON pointer into it (empty: all of it)."""

    file: str
    pointer: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a document as it stands there, with its place. References in it are not followed.

    `made` says that the reader put it together from other parts, so that its value stands nowhere in this form.
    """

    value: Any
    where: Where
    made: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something of a document that is not carried as it stands. Its line is found when it is shown."""

    code: str
    message: str
    where: Where
    severity: Severity = "warning"
    hint: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """An operation that no spec is made of, and why."""

    operation: str
    reason: str
    where: Where


@dataclasses.dataclass(frozen=True, slots=True)
class Discriminator:
    """The property that tells alternatives apart, and the schema under each of its values that is listed."""

    property: str
    mapping: Mapping[str, Part]
    default: Part | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A schema, with references followed and `allOf` made flat.

    `at` is its identity, `name` its name there: the last part of the pointer, or of the file; empty for an inline
    schema. `description`, `title`, `nullable`, `deprecated`, `read_only`, `write_only`, `default` and
    `examples` may come from the place that refers to it.

    `enum` are texts or integers, never both, and at least one. `const` is None where there is none. `properties` are in
    the order of the document. `values` are those of properties without a name (`additionalProperties`). `prefix` are
    the first items, one by one. `alternatives` of a `one_of` are at least two; null is none of them but `nullable`.
    `bounds` are lengths, limits and patterns as they stand there. `extensions` are the members whose name begins with
    `x-`.
    """

    at: Where
    where: Where
    name: str = ""
    type: SchemaType = "any"
    nullable: bool = False
    format: str = ""
    enum: tuple[str, ...] | tuple[int, ...] = ()
    enum_names: tuple[str, ...] = ()
    const: Scalar | None = None
    properties: Mapping[str, Part] = dataclasses.field(default_factory=dict[str, Part])
    required: frozenset[str] = frozenset()
    values: Part | None = None
    items: Part | None = None
    prefix: tuple[Part, ...] = ()
    alternatives: tuple[Part, ...] = ()
    discriminator: Discriminator | None = None
    content_type: str = ""
    """The media type of encoded content in a string, or of a file."""
    title: str = ""
    description: str = ""
    deprecated: bool = False
    read_only: bool = False
    write_only: bool = False
    default: Any = None
    examples: tuple[Any, ...] = ()
    bounds: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    extensions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of an operation.

    `style` and `explode` are those that count, with the defaults of OpenAPI filled in (`form` and exploded in queries;
    `collectionFormat` of 2.0 is said in these words, `tabDelimited` for `tsv`). `content_type` is given where the value
    is text of that type, `application/json` as a rule, which then `schema` describes.
    """

    name: str
    place: ParameterPlace
    where: Where
    required: bool
    schema: Part
    style: str
    explode: bool
    content_type: str = ""
    description: str = ""
    deprecated: bool = False
    examples: tuple[Any, ...] = ()
    extensions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Content:
    """One form of a body or a response.

    `type` is the media type as written, `kind` what it is. `schema` is None if none is declared; for `sse` and
    `stream` it is that of one event or item, if it is said. `encoding` is that of OpenAPI, by property.
    """

    type: str
    kind: ContentKind
    where: Where
    schema: Part | None = None
    examples: tuple[Any, ...] = ()
    encoding: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What an operation is sent: `content` is the form that counts.

    `file` is the multipart form that stands beside JSON; `is_file` says that this is the body in that form.
    """

    content: Content
    required: bool
    where: Where
    description: str = ""
    file: Content | None = None
    is_file: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Response:
    """A response under its status (`200`, `4XX`, `default`).

    `content` is the form that counts, None where it has no body; `stream` is that of an event stream which stands
    beside it. `headers` are the names of those that are declared.
    """

    status: str
    where: Where
    content: Content | None = None
    stream: Content | None = None
    description: str = ""
    headers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What the successful responses of an operation come to.

    `schema` is a `one_of` (a made part) where they differ; `optional` says that one of them is empty. `content` is None
    where none has a body. `statuses` are those that count; empty where the document names no success.
    """

    content: Content | None = None
    schema: Part | None = None
    optional: bool = False
    stream: Content | None = None
    statuses: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class ServerVariable:
    """A part of a server's address that may be chosen."""

    name: str
    default: str
    enum: tuple[str, ...] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """An address that operations are under; absolute, without a slash at its end."""

    url: str
    name: str = ""
    description: str = ""
    variables: tuple[ServerVariable, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """How OAuth2 gives tokens: `kind` is `clientCredentials`, `authorizationCode`, `password`, `implicit` or
    `deviceAuthorization`."""

    kind: str
    token_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A kind of credential: `type` is `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`, or what is written.

    `parameter` and `place` (`query`, `header`, `cookie`) are those of an API key; `scheme`, in lower case, is that of
    HTTP.
    """

    name: str
    type: str
    where: Where
    parameter: str = ""
    place: str = ""
    scheme: str = ""
    bearer_format: str = ""
    description: str = ""
    flows: tuple[Flow, ...] = ()
    extensions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


Requirement: TypeAlias = Mapping[str, tuple[str, ...]]
"""Schemes that are all needed at once, each with its scopes. An empty one asks for nothing."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation of a document.

    `path` is the template without query and fragment; `query` holds the literal query that stood in the path, `headers`
    the header parameters that can have one value alone. `key` is the path as the document writes it. `parameters` hold
    those of the path; each parameter of `path` is among them, in the path's order, and before all others. `errors` are
    the responses that are no success. `security` is None if that of the document applies; `servers` are those of the
    operation alone.
    """

    method: str
    path: str
    key: str
    where: Where
    operation_id: str = ""
    tags: tuple[str, ...] = ()
    summary: str = ""
    description: str = ""
    deprecated: bool = False
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    result: Result = dataclasses.field(default_factory=Result)
    errors: tuple[Response, ...] = ()
    security: tuple[Requirement, ...] | None = None
    servers: tuple[Server, ...] = ()
    extensions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """How messages name it: `GET /users/{id}`."""
        return f"{self.method} {self.key}"


@dataclasses.dataclass(frozen=True, slots=True)
class Tag:
    """A tag that the document says something of."""

    name: str
    description: str = ""


@dataclasses.dataclass(slots=True, eq=False)
class Document:
    """What was read of a document and of the files that it refers to.

    `source` is the document as messages show it, `version` what it says of its language (`3.1.0`). `operations` are
    those that a spec is made of: paths as texts, methods in the order of `METHODS`. `found` is how many operations were
    chosen; what is missing from `operations` is in `left_out`. `servers` and `security` are those of the whole.
    `not_carried` counts by kind what the language has no words for (`webhook`, `callback`, `link`, `response header`,
    `bound`, `pattern`). `schema_reader` is how `schema` reads. `tree` is the document as it was parsed, with overlays
    applied.
    """

    source: str
    version: str
    title: str
    release: str
    description: str
    operations: tuple[Operation, ...]
    schema_reader: Callable[[Part], Schema]
    tree: Mapping[str, Any]
    found: int = 0
    servers: tuple[Server, ...] = ()
    security: tuple[Requirement, ...] = ()
    schemes: Mapping[str, SecurityScheme] = dataclasses.field(default_factory=dict[str, SecurityScheme])
    tags: Mapping[str, Tag] = dataclasses.field(default_factory=dict[str, Tag])
    extensions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    findings: list[Finding] = dataclasses.field(default_factory=list[Finding])
    left_out: list[LeftOut] = dataclasses.field(default_factory=list[LeftOut])
    not_carried: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    names_required: bool = True
    """Whether any schema of the document says which properties are required."""

    def schema(self, part: Part) -> Schema:
        """The schema that a part is or refers to. One part gives one schema, however often it is asked for."""
        return self.schema_reader(part)
