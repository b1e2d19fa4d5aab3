"""The model of an OpenAPI document: operations, parameters, bodies, responses, schemas, findings.

`reader` creates it, and inference only uses this model. Errors of the document are already corrected or left out here,
with a `Finding`, so values have the declared types. Schemas are read on demand: a place with a schema has a `Part`, and
`Document.schema` reads it as a `Schema`, following references. `Schema.at` identifies a schema: it is the same for all
references to it, and is used for names, shared types and cycles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from restencil_generator.diagnostics.model import Severity

Scalar: TypeAlias = str | int | float | bool
"""A JSON value that is neither null nor a container."""

SchemaType: TypeAlias = Literal["any", "string", "integer", "number", "boolean", "array", "object", "one_of"]
"""The type of a schema after corrections. `one_of` has alternatives."""

ContentKind: TypeAlias = Literal["json", "form", "multipart", "text", "bytes", "sse", "stream"]
"""The kind of a body or a response. `stream` is a sequence of JSON values, `sse` are server-sent events."""

ParameterPlace: TypeAlias = Literal["path", "query", "header", "cookie", "querystring"]
"""The location of a parameter. `querystring` is the whole query, as a string."""


class Where(NamedTuple):
    """A place in a document: the file name in messages, and a JSON pointer into it (empty for the whole)."""

    file: str
    pointer: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a document with its place; its references are not followed.

    `made` is true for a synthetic part, which the reader combined from other parts.
    """

    value: Any
    where: Where
    made: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A part of a document that is not imported as declared. Its line is determined when it is shown."""

    code: str
    message: str
    where: Where
    severity: Severity = "warning"
    hint: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """An operation that is not in the spec, and the reason."""

    operation: str
    reason: str
    where: Where


@dataclasses.dataclass(frozen=True, slots=True)
class Discriminator:
    """The property that distinguishes alternatives, and the schema of each mapped value."""

    property: str
    mapping: Mapping[str, Part]
    default: Part | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A schema, with references followed and `allOf` flattened.

    `at` is its identity, `name` the last part of its pointer or file; empty for an inline schema. `description`,
    `title`, `nullable`, `deprecated`, `read_only`, `write_only`, `default` and `examples` may come from the place of
    the reference. `enum` has at least one value, all strings or all integers. `const` is None if there is none.
    `properties` are in the order of the document. `values` is the schema of undeclared properties
    (`additionalProperties`). `prefix` are the schemas of the first items. A `one_of` has at least two `alternatives`;
    null is not one of them but sets `nullable`. `bounds` are lengths, limits and patterns as declared.
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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of an operation.

    `style` and `explode` are the effective ones, including the defaults of OpenAPI (`form` and exploded in queries;
    `collectionFormat` of 2.0 is converted, with `tabDelimited` for `tsv`). `content_type` is set if the value is
    serialized as that type, usually `application/json`, and `schema` describes it.
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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Content:
    """One content of a body or a response.

    `type` is the media type as written, `kind` its kind. `schema` is None if none is declared; for `sse` and `stream`
    it is that of one event or item. `encoding` is that of OpenAPI, by property.
    """

    type: str
    kind: ContentKind
    schema: Part | None = None
    examples: tuple[Any, ...] = ()
    encoding: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The request body of an operation: `content` is the selected content.

    `file` is the multipart alternative to JSON; `is_file` is true for the body with that alternative.
    """

    content: Content
    required: bool
    file: Content | None = None
    is_file: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Response:
    """A response by status (`200`, `4XX`, `default`).

    `content` is the selected content, None if there is no body; `stream` is an event stream among the alternatives.
    `headers` are the names of the declared headers.
    """

    status: str
    content: Content | None = None
    stream: Content | None = None
    headers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The combined successful responses of an operation.

    `schema` is a `one_of` (a synthetic part) if they differ; `optional` is true if one of them is empty. `content` is
    None if none has a body. `statuses` are the statuses of success; empty if the document declares none.
    """

    content: Content | None = None
    schema: Part | None = None
    optional: bool = False
    stream: Content | None = None
    statuses: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class ServerVariable:
    """A variable part of a server's URL."""

    name: str
    default: str
    enum: tuple[str, ...] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """The base URL of operations; absolute, without a slash at its end."""

    url: str
    name: str = ""
    description: str = ""
    variables: tuple[ServerVariable, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """An OAuth2 flow.

    `kind` is `clientCredentials`, `authorizationCode`, `password`, `implicit` or `deviceAuthorization`.
    """

    kind: str
    token_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A security scheme: `type` is `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`, or the declared value.

    `parameter` and `place` (`query`, `header`, `cookie`) are for API keys; `scheme`, in lower case, is for HTTP.
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
"""Schemes that are all required together, each with its scopes. An empty one requires nothing."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation of a document.

    `path` is the template without query and fragment; `query` is the literal query of the path, `headers` are the
    header parameters with a single possible value. `key` is the path as in the document. `parameters` include those of
    the path item; each parameter of `path` is among them, in order, and before all others. `errors` are the responses
    that are not successful. `security` is None if that of the document applies; `servers` are those of the operation
    itself.
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

    @property
    def text(self) -> str:
        """Its name in messages: `GET /users/{id}`."""
        return f"{self.method} {self.key}"


@dataclasses.dataclass(slots=True, eq=False)
class Document:
    """A document and the files that it references.

    `source` is the name of the document in messages, `version` the declared OpenAPI version (`3.1.0`). `operations` are
    the imported ones, sorted by path, with methods in the order of `METHODS`. `found` is the number of selected
    operations; those missing from `operations` are in `left_out`. `servers` and `security` are those of the whole
    document. `not_carried` counts by kind what the spec language does not support (`webhook`, `callback`, `link`,
    `response header`, `bound`, `pattern`). `schema_reader` reads schemas for `schema`. `tree` is the parsed document,
    with overlays applied.
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
    tags: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """The descriptions of tags."""
    findings: list[Finding] = dataclasses.field(default_factory=list[Finding])
    left_out: list[LeftOut] = dataclasses.field(default_factory=list[LeftOut])
    not_carried: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    names_required: bool = True
    """Whether any schema of the document declares required properties."""

    def schema(self, part: Part) -> Schema:
        """Return the schema of a part, which may be a reference. Each part always has the same schema."""
        return self.schema_reader(part)
