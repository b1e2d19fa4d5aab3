"""Data for docstrings in templates: the use of each TypedDict, and examples as Python code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from restencil_generator.codegen.annotations import object_types
from restencil_generator.codegen.context import Example, Usage
from restencil_generator.codegen.json_values import json_value
from restencil_generator.codegen.pyexpr import call
from restencil_generator.spec import model as d
from restencil_generator.spec.member_names import by_name, with_names

_LONG: Final = 300
"""Longer example responses show only the first item of each list."""

_TOO_LONG: Final = 1500
"""Longer example responses are not shown."""


# ----------------------------------------------------------------------------------------------------------- TypedDicts


def usages(resource: d.Resource) -> dict[str, Usage]:
    """Return the use of each object type in a resource's schemas, results, bodies and search parameters, by name."""
    found: dict[str, Usage] = {}
    # The endpoint that declares a type determines its use; others may have inherited it.
    for own in (True, False):
        for _, endpoint in resource.all_endpoints():
            for type, usage in _usages(endpoint, resource, own):
                for one in object_types(type):
                    found.setdefault(one.name, _share(one, type, usage))
    partial = partial_body(resource)
    if partial in found:
        found[partial] = Usage("body", route_of(resource.endpoints["partial_update"]), is_optional=True)
    return found


def _usages(endpoint: d.Endpoint, resource: d.Resource, own: bool) -> Iterator[tuple[d.Type | None, Usage]]:
    route = route_of(endpoint)
    if own is bool(endpoint.written & {"schema", "returns"}):
        yield endpoint.returns, Usage("response", route)
        yield endpoint.schema, Usage("response", route)
    if own is ("body" in endpoint.written) and endpoint.body is not None:
        yield endpoint.body.type, Usage("body", route) if own else Usage("members", place_of(resource))
    if own is ("search_params" in endpoint.written):
        for field in endpoint.search_params:
            yield field.type, Usage("search parameter", route, field.python)


def usages_of_fields(owner: str, fields: Iterable[d.Field]) -> Iterator[tuple[d.ObjectType, Usage]]:
    """Yield the object types in the fields of an entity or object, each with its use."""
    for field in fields:
        for one in object_types(field.type):
            yield one, _share(one, field.type, Usage("field", owner, field.python))


def _share(part: d.ObjectType, type: d.Type | None, usage: Usage) -> Usage:
    """Return the use of a part of a type, from the use of the whole."""
    whole = type.item if isinstance(type, d.Optional) else type
    return usage if part is whole else Usage(usage.kind, usage.of, usage.member, is_part=True)


def route_of(endpoint: d.Endpoint) -> str:
    """Return method and path."""
    return f"{endpoint.method} {endpoint.path.text}"


def place_of(resource: d.Resource) -> str:
    """Return the path of a resource, or the name of a group, which has no path."""
    return resource.name if resource.path is None else resource.path.text


def partial_body(resource: d.Resource) -> str | None:
    """Return the TypedDict name of `partial_update` if its body is the resource's own: all of its keys are optional."""
    endpoint = resource.endpoints.get("partial_update")
    if endpoint is None or endpoint.body is None or "body" in endpoint.written:
        return None
    return endpoint.body.type.name if isinstance(endpoint.body.type, d.ObjectType) else None


# ------------------------------------------------------------------------------------------------------------- examples


def example_of(spec: d.Spec, endpoint: d.Endpoint, function: str) -> Example | None:
    """Return the example of an endpoint as a call with Python names, and its response."""
    example = endpoint.example
    if example is None:
        return None
    names = by_name((*endpoint.params, *endpoint.search_params, *endpoint.page_params))
    options: dict[str, str] = {}
    for name, value in example.params.items():
        field = names.get(name)
        options[name if field is None else field.python] = json_value(value)
    if example.body is not d.MISSING:
        body = None if endpoint.body is None else endpoint.body.type
        options["body"] = json_value(with_names(spec, body, example.body, lambda field: field.python))
    return Example(call(function, (), options), _response(spec, endpoint, example.response))


def _response(spec: d.Spec, endpoint: d.Endpoint, response: d.Json | d.Missing) -> str | None:
    if response is d.MISSING:
        return None
    value = with_names(spec, endpoint.schema, response, lambda field: field.wire)
    shown = json_value(value)
    if len(shown) > _LONG:
        shown = json_value(value, brief=True)
    return None if len(shown) > _TOO_LONG else shown
