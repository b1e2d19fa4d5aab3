"""Warnings about options of endpoints: options without an effect, polled lists, and reads that share a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.lint.common import Finding, Operation, operations
from restencil_generator.spec import model as d

OFTEN: Final = 10_000
"""Poll interval in ms up to which polling a whole list is reported."""


def _inherited(operation: Operation) -> d.Options:
    """Return the options that an endpoint inherits."""
    resource, endpoint = operation.resource, operation.endpoint
    listing, dot, _ = operation.name.rpartition(".")
    if dot:
        return next(parent for parent in resource.endpoints.values() if parent.python == listing).options
    listed = resource.endpoints.get("get_list")
    if endpoint.name == "create" and endpoint.standard and listed is not None and "push" in listed.extenders:
        return listed.extenders["push"].options
    base = resource.endpoints.get(endpoint.extends or "")
    return base.options if base is not None else resource.options


def find_without_effect(spec: d.Spec) -> Iterator[Finding]:
    """Find options for reads at mutations, and options for mutations at reads."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        if endpoint.side_effect:
            if endpoint.options.poll_frequency not in (None, _inherited(operation).poll_frequency):
                message = f"'poll_frequency' of {operation} has no effect: it changes something"
                yield Finding(message, endpoint.place)
        elif endpoint.get_optimistic_response is not None and "get_optimistic_response" in endpoint.written:
            message = f"'get_optimistic_response' of {operation} has no effect: it changes nothing"
            yield Finding(message, endpoint.place, "write 'side_effect: true' where it does")


def find_retries(spec: d.Spec) -> Iterator[Finding]:
    """Find retries of requests that are never retried."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        retries = endpoint.options.retries
        is_sent_once = endpoint.side_effect and endpoint.method in ("POST", "PATCH")
        if is_sent_once and retries and retries != _inherited(operation).retries:
            yield Finding(
                f"{operation} has 'retries', which has no effect: a {endpoint.method} is not repeated, because the "
                "server may have processed it",
                endpoint.place,
                "remove it; where the server supports Idempotency-Key, give the client Retries(mutations=True)",
            )


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


def find_polled_lists(spec: d.Spec) -> Iterator[Finding]:
    """Find whole lists that are polled often."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        often = endpoint.options.poll_frequency
        is_whole = isinstance(endpoint.schema, d.CollectionOf) and endpoint.pagination_field is None
        if is_whole and not endpoint.side_effect and often is not None and often <= OFTEN:
            yield Finding(
                f"{operation} fetches the whole list every {often} ms while someone watches it",
                endpoint.place,
                "poll less often, or give it a 'pagination_field'",
            )
