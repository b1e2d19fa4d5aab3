"""Import of the first example of each operation."""

from __future__ import annotations

import json
from typing import Any, Final

from restencil_generator.openapi.document.json_schema import fits
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Content, Operation, Part, Schema
from restencil_generator.openapi.infer.context import Endpoint, ImportContext
from restencil_generator.openapi.infer.example_check import misfit_of
from restencil_generator.openapi.infer.names.types import member_names
from restencil_generator.openapi.spec_tree import Value

MOST: Final = 2048
"""Maximum length of an example as JSON."""

DEEPEST: Final = 20
"""Maximum nesting of an example."""


class _Misfit(Exception):
    """An example does not fit its schema."""


class Examples:
    """Import of examples."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context

    def of(self, endpoint: Endpoint) -> dict[str, Value]:
        """Return the example of an endpoint: its body and response, unless they do not fit; empty if there is none."""
        operation = endpoint.call.operation
        found: dict[str, Value] = {}
        if operation.body is not None and endpoint.values.get("body", "") is not None:
            self._put(found, "body", operation, operation.body.content, endpoint.request or "")
        result = operation.result
        if result.content is not None and not endpoint.ignore and endpoint.name != "delete":
            path = endpoint.one if endpoint.one is not None else endpoint.many
            self._put(found, "response", operation, result.content, path or "")
        return found

    def _put(self, found: dict[str, Value], key: str, operation: Operation, content: Content, path: str) -> None:
        if content.kind != "json" or content.schema is None or not content.examples:
            return
        value, part = content.examples[0], content.schema
        try:
            for step in path.split(".") if path else ():
                value, part = self._step(value, part, step)
            written = self._value(value, part, 0)
        except _Misfit:
            self.context.document.findings.append(misfit_of(operation, key, "it is not what the schema says"))
            return
        if len(json.dumps({**found, key: written}, default=str)) <= MOST:
            found[key] = written

    def _step(self, value: Any, part: Part, step: str) -> tuple[Any, Part]:
        schema = self.context.shapes.of(part)
        if is_list(value) and step.isdigit() and len(value) > int(step) and schema.items is not None:
            return value[int(step)], schema.items
        record = self.context.shapes.record(schema)
        if is_table(value) and step in value and record is not None and step in record.members:
            return value[step], record.members[step].parts[0]
        raise _Misfit

    def _value(self, value: Any, part: Part, depth: int) -> Value:
        schema = self.context.shapes.of(part)
        if depth > DEEPEST or (value is None and not schema.nullable and schema.type != "any"):
            raise _Misfit
        if value is None or schema.type == "any":
            return _plain(value)
        if schema.type == "one_of":
            return self._first(value, schema, depth)
        if schema.type == "array":
            if not is_list(value):
                raise _Misfit
            return [
                _plain(item) if schema.items is None else self._value(item, schema.items, depth + 1) for item in value
            ]
        if schema.type == "object":
            return self._object(value, schema, depth)
        return _scalar(value, schema)

    def _first(self, value: Any, schema: Schema, depth: int) -> Value:
        for part in schema.alternatives:
            try:
                return self._value(value, part, depth + 1)
            except _Misfit:
                continue
        raise _Misfit

    def _object(self, value: Any, schema: Schema, depth: int) -> Value:
        if not is_table(value):
            raise _Misfit
        record = self.context.shapes.record(schema)
        if record is None:
            if schema.values is None:
                return _plain(value)
            return {key: self._value(item, schema.values, depth + 1) for key, item in value.items()}
        if any(member.required and wire not in value for wire, member in record.members.items()):
            raise _Misfit
        names = member_names(record.members)
        known = [(wire, member) for wire, member in record.members.items() if wire in value]
        return {names[wire]: self._value(value[wire], member.parts[0], depth + 1) for wire, member in known}


def _scalar(value: Any, schema: Schema) -> Value:
    if not fits(value, schema.type):
        raise _Misfit
    if (schema.enum and value not in schema.enum) or (schema.const is not None and value != schema.const):
        raise _Misfit
    return _plain(value)


def _plain(value: Any) -> Value:
    """Convert a value for the spec; values that JSON cannot represent are misfits."""
    if is_list(value):
        return [_plain(item) for item in value]
    if is_table(value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise _Misfit
    return value if isinstance(value, str | int | float | None) else str(value)
