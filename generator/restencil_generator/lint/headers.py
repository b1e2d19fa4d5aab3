"""Warnings about header parameters: those that make keys useless, and those with a store for each value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, operations
from restencil_generator.spec import model as d

_CALL_WORDS: Final = ("request-id", "requestid", "correlation-id", "trace", "idempotency")


def header_params(spec: d.Spec) -> Iterator[tuple[d.HeaderParam, str]]:
    """Yield every header parameter with the name of its owner in messages; inherited ones with each endpoint."""
    for param in spec.header_params:
        if param.auto is None:
            yield param, "the spec"
    for operation in operations(spec):
        for param in operation.endpoint.header_params:
            yield param, str(operation)


def find_headers_in_key(spec: d.Spec) -> Iterator[Finding]:
    """Find headers in the key whose value differs in each call, such as conditions and request ids."""
    for operation in operations(spec):
        for param in operation.endpoint.header_params:
            wire = param.field.wire.lower()
            differs = wire.startswith("if-") or any(word in wire for word in _CALL_WORDS)
            if param.in_key and differs and not operation.endpoint.side_effect:
                yield Finding(
                    f"the header parameter {quoted(param.field.name)} of {operation} is part of the key, "
                    "although its value may differ in each call: cached results would never be found",
                    param.field.place,
                    "write 'in_key: false'",
                )


def find_partitions(spec: d.Spec) -> Iterator[Finding]:
    """Find headers with a store for each value although the spec does not declare `partition`."""
    for param, what in header_params(spec):
        if param.partition and not param.partition_written:
            yield Finding(
                f"the header parameter {quoted(param.field.name)} of {what} has a separate store for each value, "
                "because headers with such a name often change the values of entities",
                param.field.place,
                "write 'partition: true' to confirm it, or 'partition: false' if entities do not depend on it",
            )
