"""Advice about search parameters: those that are never sent, name no field, or have no text in a URL."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, has_text, operations
from restencil_generator.spec import model as d


def find_shadowed(spec: d.Spec) -> Iterator[Finding]:
    """Search parameters of a resource that the path of its list has as well."""
    for resource in spec.resources.values():
        listing = resource.endpoints.get("get_list")
        in_path = set[str]() if listing is None else {parameter.name for parameter in listing.path.parameters}
        for param in resource.search_params:
            if param.wire in in_path:
                message = (
                    f"the search parameter {quoted(param.name)} of resource {quoted(resource.name)} is never sent with "
                    f"'get_list': its path has a parameter of that name"
                )
                yield Finding(message, param.place, "remove it, or rename one of them")


def find_no_field(spec: d.Spec) -> Iterator[Finding]:
    """Search parameters of a list by which the cache cannot decide whether a record is in it."""
    for operation in operations(spec):
        endpoint, collection = operation.endpoint, operation.endpoint.collection
        if collection is None or endpoint.side_effect or collection.custom is not None:
            continue
        entities = [spec.entities[entity] for entity in dict.fromkeys(d.entities_in(collection))]
        fields = {text for entity in entities for field in entity.all_fields for text in (field.name, field.wire)}
        others = {*collection.non_filter_arguments, *(field.wire for field in endpoint.page_params)}
        for param in endpoint.search_params:
            if {param.name, param.wire} & (others | fields) or param.of or param.filter is not None:
                continue
            if has_text(param):
                kinds = " or ".join(quoted(entity.name) for entity in entities)
                yield Finding(
                    f"the search parameter {quoted(param.name)} of {operation} names no field of {kinds}: a list "
                    "requested with it does not know which records it holds and is fetched again",
                    param.place,
                    "write 'field: …' with the field that it filters by, or name it in "
                    "'collection: {non_filter_arguments: […]}' if by none",
                )


def find_no_text(spec: d.Spec) -> Iterator[Finding]:
    """Search parameters that cannot be written into a URL."""
    for operation in operations(spec):
        for param in operation.endpoint.search_params:
            if operation.endpoint.base is None and not has_text(param):
                yield Finding(
                    f"the search parameter {quoted(param.name)} of {operation} has no text in a URL",
                    param.place,
                    "give the resource an 'endpoint:' class that overrides search_to_string",
                )
