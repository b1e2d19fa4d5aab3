"""Collection of the uses of schemas, in one pass.

Some properties of a schema must be known before its first use is converted: whether bodies contain it, whether it is an
alternative, and how often an unnamed enum is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from restencil_generator.openapi.document.model import Document, Operation, Part, Schema, Where
from restencil_generator.openapi.infer.names.inflection import snake_case


@dataclasses.dataclass(slots=True)
class Survey:
    """The uses of the schemas of a document, by their identities."""

    sent: set[Where] = dataclasses.field(default_factory=set[Where])
    returned: set[Where] = dataclasses.field(default_factory=set[Where])
    alternatives: set[Where] = dataclasses.field(default_factory=set[Where])
    properties: list[str] = dataclasses.field(default_factory=list[str])
    """The JSON names of properties, each as often as it is declared."""
    enums: dict[tuple[str, tuple[str | int, ...]], set[Where]] = dataclasses.field(
        default_factory=dict[tuple[str, tuple[str | int, ...]], set[Where]]
    )
    """The places of unnamed enums, by the name of their property and their values."""
    named: dict[str, list[Schema]] = dataclasses.field(default_factory=dict[str, list[Schema]])
    """The components that are objects, by their names except words for nullability."""

    def is_only_sent(self, schema: Schema) -> bool:
        """Return whether bodies contain a schema, and no response."""
        return schema.at in self.sent and schema.at not in self.returned


def survey(document: Document) -> Survey:
    """Collect the uses of all schemas in a document's operations."""
    found = Survey()
    for operation in document.operations:
        _walk(document, _sent(operation), found, found.sent)
        _walk(document, _returned(operation), found, found.returned)
    return found


def plain_name(name: str) -> str:
    """Return the name of a component except words for nullability."""
    return "_".join(word for word in snake_case(name).split("_") if word not in ("nullable", "optional"))


def _sent(operation: Operation) -> Iterator[tuple[Part, str]]:
    if operation.body is not None and operation.body.content.schema is not None:
        yield operation.body.content.schema, ""
    for parameter in operation.parameters:
        if parameter.place in ("query", "header"):
            yield parameter.schema, parameter.name


def _returned(operation: Operation) -> Iterator[tuple[Part, str]]:
    result = operation.result
    if result.schema is not None:
        yield result.schema, ""
    if result.stream is not None and result.stream.schema is not None:
        yield result.stream.schema, ""
    for response in operation.errors:
        if response.content is not None and response.content.schema is not None:
            yield response.content.schema, ""


def _walk(document: Document, parts: Iterator[tuple[Part, str]], found: Survey, seen: set[Where]) -> None:
    pending = list(parts)
    while pending:
        part, name = pending.pop()
        schema = document.schema(part)
        if schema.enum and not schema.name:
            key = (snake_case(name or "value"), schema.enum)
            found.enums.setdefault(key, set()).add(schema.at)
        if schema.at in seen:
            continue
        known = schema.at in found.sent or schema.at in found.returned
        seen.add(schema.at)
        if not known:
            found.properties += schema.properties
            if schema.name and schema.properties:
                found.named.setdefault(plain_name(schema.name), []).append(schema)
        if schema.type == "one_of":
            found.alternatives.update(document.schema(each).at for each in schema.alternatives)
        pending += [(each, inner) for inner, each in schema.properties.items()]
        pending += [(each, name) for each in _inside(schema)]


def _inside(schema: Schema) -> Iterator[Part]:
    yield from schema.alternatives
    yield from schema.prefix
    for part in (schema.items, schema.values):
        if part is not None:
            yield part
    if schema.discriminator is not None:
        yield from schema.discriminator.mapping.values()
