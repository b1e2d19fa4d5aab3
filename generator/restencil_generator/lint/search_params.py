"""Warnings about search parameters: those that match no field, or cannot be in a URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.lint.common import Finding, has_text, operations
from restencil_generator.spec import model as d

_SHOWN: Final = 3
"""Maximum number of parameters in a message."""


def find_no_field(spec: d.Spec) -> Iterator[Finding]:
    """Find search parameters that do not show whether a record is in a list, once for each resource."""
    found: dict[str, dict[Place, d.Field]] = {}
    entities: dict[str, dict[str, None]] = {}
    changing = _changing(spec)
    for operation in operations(spec):
        endpoint, collection = operation.endpoint, operation.endpoint.collection
        if collection is None or endpoint.side_effect or collection.custom is not None or not collection.follow:
            continue
        listed = dict.fromkeys(d.entities_in(collection))
        if changing.isdisjoint(listed):
            continue
        fields = {
            text for name in listed for field in spec.entities[name].all_fields for text in (field.name, field.wire)
        }
        others = {*collection.non_filter_arguments, *(field.wire for field in endpoint.page_params)}
        for param in endpoint.search_params:
            is_decided = {param.name, param.wire} & (others | fields) or param.of or param.filter is not None
            if not is_decided and has_text(param):
                found.setdefault(operation.resource.name, {})[param.place] = param
                entities.setdefault(operation.resource.name, {}).update(listed)
    for resource, params in found.items():
        first = next(iter(params.values()))
        names = list(dict.fromkeys(quoted(param.name) for param in params.values()))
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        yield Finding(
            f"lists of resource {quoted(resource)} that are requested with {shown} are requested again after each "
            f"change of {' or '.join(map(quoted, entities[resource]))}: the cache does not know which records they "
            "contain",
            first.place,
            "write 'field: …' with the field that a parameter filters by, 'filter: unknown' if it filters otherwise, "
            "or add it to 'collection: {non_filter_arguments: […]}' if it does not filter",
        )


def _changing(spec: d.Spec) -> set[str]:
    """Return the entities that an endpoint may change."""
    changes = [operation for operation in operations(spec) if operation.endpoint.side_effect]
    returned = (operation.endpoint.schema for operation in changes)
    found = {name for schema in returned if schema is not None for name in d.entities_in(schema)}
    return found.union(*(operation.resource.entities for operation in changes))


def find_no_text(spec: d.Spec) -> Iterator[Finding]:
    """Find search parameters that cannot be written in a URL."""
    for operation in operations(spec):
        for param in operation.endpoint.search_params:
            if operation.endpoint.base is None and not has_text(param):
                yield Finding(
                    f"the search parameter {quoted(param.name)} of {operation} cannot be written in a URL",
                    param.place,
                    "give the resource an 'endpoint:' class that overrides search_to_string",
                )
