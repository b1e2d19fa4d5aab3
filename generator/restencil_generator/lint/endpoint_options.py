"""Warnings about options of endpoints: options without an effect, and reads that share a key."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.lint.common import Finding, operations
from restencil_generator.spec import model as d


def find_without_effect(spec: d.Spec) -> Iterator[Finding]:
    """Find options for mutations at reads."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        written = endpoint.get_optimistic_response is not None and "get_optimistic_response" in endpoint.written
        if written and not endpoint.side_effect:
            message = f"'get_optimistic_response' of {operation} has no effect: it changes nothing"
            yield Finding(message, endpoint.place, "write 'side_effect: true' where it does")


def find_shared_keys(spec: d.Spec) -> Iterator[Finding]:
    """Find reads with a body that is not part of their key."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        if not endpoint.side_effect and endpoint.has_body and not endpoint.request.in_key and endpoint.base is None:
            yield Finding(
                f"{operation} reads with a body that is not part of its key: responses to all bodies share one entry",
                endpoint.place,
                "add 'request: {in_key: true}'",
            )
