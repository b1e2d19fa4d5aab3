"""Inference of path, query and header parameters, and of arguments of the client."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.json_types import is_list
from restencil_generator.openapi.document.model import (
    Document,
    Operation,
    Parameter,
    ParameterPlace,
    Part,
    Schema,
)
from restencil_generator.openapi.infer.auth_servers import Access
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.names.types import member_names
from restencil_generator.openapi.infer.pagination import SIZES
from restencil_generator.openapi.infer.previous_choices import PreviousChoices
from restencil_generator.openapi.infer.records import Shapes
from restencil_generator.openapi.infer.schema_types import Typed, Types, declared, fits
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.model import OBJECT_STYLES
from restencil_generator.spec.names import CLIENT_ARGUMENTS
from restencil_generator.spec.page_styles import STYLES

DROPPED: Final = frozenset(
    ("accept", "content-type", "authorization", "cookie", "proxy-authorization", "host", "content-length")
)
"""Headers that the runtime sets, or that carry secrets."""

OFTEN: Final = 0.9
"""The minimum share of operations with a parameter for it to become an argument of the client."""

TRACES: Final = frozenset(
    [
        "request_id",
        "x_request_id",
        "correlation_id",
        "x_correlation_id",
        "trace_id",
        "x_trace_id",
        "traceparent",
        "tracestate",
        "x_b3_traceid",
        "client_request_id",
        "x_client_request_id",
    ]
)


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """A query parameter, by its name in the URL."""

    wire: str
    part: Part
    required: bool
    description: str
    deprecated: bool
    style: str
    """The style in the spec language, empty to omit it."""


class Parameters:
    """Inference of parameters."""

    def __init__(self, document: Document, shapes: Shapes, types: Types, access: Access, last: PreviousChoices) -> None:
        self.document = document
        self.access = access
        self.shapes = shapes
        self.types = types
        self.last = last
        self.queries = {id(operation): self._queries(operation) for operation in document.operations}
        self.search_style = self._search_style()
        self.client_headers = self._client_headers()
        self.client_queries = self._client_queries()

    # --------------------------------------------------------------------------------------------------------- queries

    def of(self, operation: Operation) -> list[Query]:
        """Return the query parameters of an operation, without those of the client."""
        known = self.queries.get(id(operation))
        found = self._queries(operation) if known is None else known
        return [query for query in found if query.wire not in self.client_queries]

    def _queries(self, operation: Operation) -> list[Query]:
        found: list[Query] = []
        for parameter in self._in(operation, "querystring"):
            record = self.shapes.record_of(parameter.schema)
            for wire, member in record.members.items() if record is not None else ():
                schema = self.shapes.of(member.parts[0])
                required = member.required and parameter.required
                style = "repeat" if schema.type == "array" else "form" if schema.type == "object" else ""
                found.append(Query(wire, member.parts[0], required, schema.description, schema.deprecated, style))
        for parameter in self._in(operation, "query"):
            found += self._query(parameter)
        unique = {query.wire: query for query in reversed(found)}
        return [unique[wire] for wire in dict.fromkeys(query.wire for query in found)]

    def _in(self, operation: Operation, place: ParameterPlace) -> list[Parameter]:
        """Return the parameters of an operation in a place, except keys that authentication sends."""
        keys = frozenset[tuple[str, str]]() if self.access.own(operation.security) == "none" else self.access.keys
        placed = [each for each in operation.parameters if each.place == place and each.name]
        return [each for each in placed if (place, each.name.lower()) not in keys]

    def _query(self, parameter: Parameter) -> list[Query]:
        part = self.shapes.without_empty(parameter.schema)
        schema = self.shapes.of(part)
        record = self.shapes.record(schema) if schema.type == "object" else None
        if record is not None and parameter.style == "deepObject" and any(_pages(name) for name in record.by_name):
            return [
                Query(
                    f"{parameter.name}[{wire}]",
                    member.parts[0],
                    parameter.required and member.required,
                    self.shapes.of(member.parts[0]).description,
                    parameter.deprecated,
                    "",
                )
                for wire, member in record.members.items()
            ]
        wire, style = parameter.name, style_of(parameter, self._shape(schema))
        if wire.endswith("[]") and schema.type == "array":
            wire, style = wire[:-2], "brackets"
        return [Query(wire, part, parameter.required, parameter.description, parameter.deprecated, style)]

    def _shape(self, schema: Schema) -> str:
        """Return the type of a value; of several alternatives the one that needs a style most."""
        kinds = (
            [self.shapes.of(part).type for part in schema.alternatives] if schema.type == "one_of" else [schema.type]
        )
        if "object" in kinds or "one_of" in kinds:
            return "object" if kinds == ["object"] else "any"
        return "array" if "array" in kinds else kinds[0]

    def _search_style(self) -> dict[str, str]:
        """Return the most frequent style of lists and of objects."""
        if self.last.search_style is not None:
            return self.last.search_style
        lists, objects = Counter[str](), Counter[str]()
        for queries in self.queries.values():
            for query in queries:
                kind = self._shape(self.shapes.of(query.part))
                if query.style and kind != "any":
                    (objects if kind == "object" else lists)[query.style] += 1
        found: dict[str, str] = {}
        if lists:
            found["lists"] = max(sorted(lists), key=lambda style: lists[style])
        if objects:
            found["objects"] = max(sorted(objects), key=lambda style: objects[style])
        return {key: style for key, style in found.items() if not (key == "lists" and style == "comma")}

    def _client_queries(self) -> dict[str, Query]:
        if self.last.queries is not None:
            every = {query.wire: query for queries in self.queries.values() for query in reversed(queries)}
            return {wire: query for wire, query in every.items() if wire in self.last.queries}
        counted: Counter[str] = Counter()
        first: dict[str, Query] = {}
        for queries in self.queries.values():
            for query in queries:
                if query.required and self.types.of(query.part, "Client").value in (
                    "string",
                    "integer",
                    "uuid",
                    "date",
                ):
                    counted[query.wire] += 1
                    first.setdefault(query.wire, query)
        least = OFTEN * len(self.queries)
        return {
            wire: first[wire]
            for wire, count in counted.items()
            if count >= least
            and count > 1
            and snake_case(wire) not in CLIENT_ARGUMENTS
            and not _pages(snake_case(wire))
        }

    def search_params(
        self, queries: Iterable[Query], taken: Iterable[str], *, sends_defaults: bool = False
    ) -> tuple[dict[str, Value], dict[str, str]]:
        """Return the declarations of query parameters, and their Python names by their names in URLs.

        Arguments of the client are sent with every request, so with `sends_defaults` they have the server's defaults.
        """
        listed = list(queries)
        names = member_names((query.wire for query in listed), "parameter")
        used = set(taken)
        for wire, name in names.items():
            while name in used:
                name = f"{name}_param"
            used.add(name)
            names[wire] = name
        return {names[each.wire]: self._contained(each, names[each.wire], sends_defaults) for each in listed}, names

    def _contained(self, query: Query, name: str, sends_default: bool) -> Value:
        """Return the declaration of a query parameter; a string, with a finding, if inference fails."""
        report, what = self.document.findings.append, f"the parameter {quoted(query.wire)}"
        text: Value = declared(Typed("string"), optional=not query.required)
        made = functools.partial(self.search_param, query, name, sends_default=sends_default)
        return contained(report, what, query.part.where, made, text)

    def search_param(self, query: Query, name: str, *, sends_default: bool = False) -> Value:
        """Return the declaration of a query parameter. With `sends_default` it has the server's default."""
        schema = self.shapes.of(query.part)
        typed = self.search_type(query, name)
        extras: dict[str, Value] = {}
        style = query.style if is_styled(typed.value) or self.types.is_object(typed.value) else ""
        usual = self.search_style.get("objects" if schema.type == "object" else "lists", "comma")
        if typed.value == "any":
            style, usual = style if style in ("brackets", "deep") else "json", ""
            if not query.required:
                extras["optional"] = True  # `any` includes null, but a call has to pass it
        if style and style != usual:
            extras["style"] = style
        if (spelled := self.types.wire_of(name, query.wire)) is not None:
            extras["wire"] = spelled
        if (
            sends_default
            and isinstance(schema.default, str | int)
            and fits(schema.default, typed.value, self.types.enums)
        ):
            extras["default"] = schema.default
            schema = dataclasses.replace(schema, default=None)
        text = described(query.description or schema.description, schema)
        if text:
            extras["description"] = text
        if query.deprecated or schema.deprecated:
            extras["deprecated"] = True
        return declared(typed, optional=not query.required, extras=extras)

    def search_type(self, query: Query, name: str) -> Typed:
        """Return the type of a query parameter: a scalar, a list of scalars, or an object."""
        schema = self.shapes.of(query.part)
        if schema.type == "object" and query.style not in OBJECT_STYLES:
            return Typed("string")
        return self.types.parameter(query.part, name)

    # --------------------------------------------------------------------------------------------------------- headers

    def headers_of(self, operation: Operation) -> list[Parameter]:
        """Return the header parameters of an operation that are arguments of calls."""
        return [
            parameter
            for parameter in self._in(operation, "header")
            if parameter.name.lower() not in DROPPED and parameter.name.lower() not in self.client_headers
        ]

    def _client_headers(self) -> dict[str, Parameter]:
        counted: Counter[str] = Counter()
        first: dict[str, Parameter] = {}
        for operation in self.document.operations:
            found = {each.name.lower(): each for each in self._in(operation, "header")}
            counted.update(name for name in found if name not in DROPPED)
            first = {**found, **first}
        if self.last.headers is not None:
            return {name: parameter for name, parameter in first.items() if name in self.last.headers}
        least = OFTEN * len(self.document.operations)
        return {
            name: first[name]
            for name, count in counted.items()
            if count >= least and count > 1 and "idempotency" not in name and snake_case(name) not in TRACES
        }

    def header_params(self, parameters: Iterable[Parameter], taken: Iterable[str]) -> dict[str, Value]:
        """Return the declarations of header parameters."""
        listed = {parameter.name.lower(): parameter for parameter in parameters}
        names = member_names((parameter.name for parameter in listed.values()), "parameter")
        used = set(taken)
        found: dict[str, Value] = {}
        for parameter in listed.values():
            name = names[parameter.name]
            while name in used:
                name = f"{name}_header"
            used.add(name)
            found[name] = self.header_param(parameter, name)
        return found

    def _plain_type(self, parameter: Parameter, name: str) -> Typed:
        """Return the type of a path or header parameter: a scalar, an enum or a list of them, else a string."""
        if self._shape(self.shapes.of(parameter.schema)) in ("object", "any"):
            return Typed("string")
        typed = self.types.parameter(parameter.schema, name)
        if typed.value == "any" or (isinstance(typed.value, dict) and "enum" not in typed.value):
            return Typed("string")
        return typed

    def header_param(self, parameter: Parameter, name: str) -> Value:
        """Return the declaration of a header parameter."""
        schema = self.shapes.of(parameter.schema)
        typed = self._plain_type(parameter, name)
        extras: dict[str, Value] = {}
        if name.replace("_", "-").lower() != parameter.name.lower():
            extras["wire"] = parameter.name
        plain = snake_case(parameter.name)
        if "idempotency" in plain:
            extras |= {"in_key": False, "auto": "uuid"}
        elif plain in TRACES or plain.startswith("if_"):
            extras["in_key"] = False
        elif any(word in plain.split("_") for word in ("token", "secret", "password", "apikey")) or "api_key" in plain:
            extras["secret"] = True
        if text := described(parameter.description or schema.description, schema):
            extras["description"] = text
        if parameter.deprecated or schema.deprecated:
            extras["deprecated"] = True
        optional = not parameter.required or "auto" in extras
        if "auto" in extras:
            typed = Typed("string")
        return declared(typed, optional=optional, extras=extras)

    # ----------------------------------------------------------------------------------------------------------- paths

    def path_param(self, parameter: Parameter, known: Value, extras: Mapping[str, Value]) -> Value:
        """Return the declaration of a path parameter; None if it is not needed.

        `known` is the type that it has anyway, from the field with its name.
        """
        schema = self.shapes.of(parameter.schema)
        typed = self._plain_type(parameter, snake_case(parameter.name))
        more: dict[str, Value] = dict(extras)
        text = "" if known is not None else described(parameter.description or schema.description, schema)
        if text:
            more["description"] = text
        if parameter.deprecated:
            more["deprecated"] = True
        plain = typed.value == "string" or typed.value == known
        if plain and not typed.format and not more:
            return None
        if plain and not typed.format and set(more) == {"field"}:
            return more
        return declared(typed, optional=False, extras=more)


def described(text: str, schema: Schema) -> str:
    """Return a parameter's description, with constraints that the spec language does not support."""
    parts = [text.strip()] if text.strip() else []
    bounds = schema.bounds
    sentences = [
        ("minimum", "At least {}."), ("exclusiveMinimum", "Above {}."), ("maximum", "At most {}."),
        ("exclusiveMaximum", "Below {}."), ("multipleOf", "A multiple of {}."),
        ("minLength", "At least {} characters."), ("maxLength", "At most {} characters."),
        ("pattern", "Matches {}."), ("minItems", "At least {} items."), ("maxItems", "At most {} items."),
    ]  # fmt: skip
    relevant = [(key, words) for key, words in sentences if key != "pattern" or schema.type == "string"]
    more = [words.format(bounds[key]) for key, words in relevant if isinstance(bounds.get(key), str | int | float)]
    if schema.default is not None and not isinstance(schema.default, dict):
        more.append(f"The server's default: {_shown(schema.default)}.")
    if more:
        if parts and not parts[0].endswith((".", "!", "?", ":", "\n", ")", "`")):
            parts[0] += "."
        parts.append(" ".join(more))
    return ("\n\n" if parts and "\n" in parts[0] else " ").join(parts)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_list(value):
        return ", ".join(map(_shown, value)) or "none"
    return str(value)


def _pages(name: str) -> bool:
    positions = (style.parameters for style in STYLES.values())
    return name in {"number", "before"}.union(SIZES, *positions)


def is_styled(value: Value) -> bool:
    """Return whether values of a type can be written in several styles."""
    if isinstance(value, dict):
        alternatives = value.get("one_of")
        listed = isinstance(alternatives, list) and any(isinstance(each, list) for each in alternatives)
        return "values" in value or listed
    return isinstance(value, list) or value == "any"


def style_of(parameter: Parameter, kind: str) -> str:
    """Return the style in the spec language for a parameter with a list, an object or any value."""
    if parameter.content_type:
        return "json" if "json" in parameter.content_type else ""
    return style_named(parameter.style, explode=parameter.explode, kind=kind)


def style_named(style: str, *, explode: bool, kind: str) -> str:
    """Convert a style of OpenAPI to the spec language; empty if it is not supported."""
    if kind == "array":
        if style == "deepObject":
            return "brackets"
        return "repeat" if explode else {"spaceDelimited": "space", "pipeDelimited": "pipe"}.get(style, "comma")
    if kind == "object":
        return "deep" if style == "deepObject" else "form" if explode else ""
    if kind == "any":
        return "deep" if style == "deepObject" else "json"
    return ""
