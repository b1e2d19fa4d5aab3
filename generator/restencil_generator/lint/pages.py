"""Warnings about pagination: pages that `iterate()` cannot find, and keys without an effect."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.page_styles import STYLES, implied_style


def find_without_effect(spec: d.Spec) -> Iterator[Finding]:
    """Find `pagination_field` without a list, and `start` without page numbers."""
    for resource in spec.resources.values():
        is_paged = any(endpoint.pagination_field is not None for _, endpoint in resource.all_endpoints())
        if resource.pagination_field is not None and not is_paged:
            yield Finding(
                f"'pagination_field' of resource {quoted(resource.name)} has no effect: no list contains a collection",
                resource.place,
                "remove it, or write {collection: [Entity]} in the list's schema",
            )
    for operation in operations(spec):
        if operation.endpoint.pagination_field is not None and _lacks_pages(operation.endpoint):
            yield Finding(
                f"'pagination_field' of {operation} has no effect: 'members' does not contain 'get_page', so there is "
                "no 'get_page', 'iterate' or 'pages'",
                operation.endpoint.place,
                "add 'get_page' to 'members', or remove 'pagination_field'",
            )
        pagination = operation.endpoint.pagination if operation.endpoint.name != "get_page" else None
        if pagination is not None and pagination.start is not None and not STYLES[pagination.style].is_counted:
            yield Finding(
                f"'start' in the pagination of {operation} has no effect: pages of style {quoted(pagination.style)} "
                "have no numbers",
                operation.endpoint.place,
                "remove it",
            )


def _lacks_pages(endpoint: d.Endpoint) -> bool:
    """Return whether a paginated collection has no `get_page`."""
    return endpoint.name not in d.EXTENDERS and endpoint.collection is not None and "get_page" not in endpoint.extenders


def find_no_iterate(spec: d.Spec) -> Iterator[Finding]:
    """Find lists with pages, but without a way to find the next page."""
    for operation in operations(spec):
        endpoint = operation.endpoint
        field = endpoint.pagination_field if endpoint.name != "get_page" else None
        if field is not None and endpoint.pagination is None and implied_style(field.name) is None:
            message = f"{operation} has pages, but not how 'iterate()' finds the next one"
            yield Finding(message, endpoint.place, "add 'pagination: {style: …}'")
