"""Rules of a resource: its members and their bases, its parameters, examples and list arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import cast

from restencil_generator.diagnostics.model import Place, Related, circle_text, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.endpoint_rules import check_endpoint, report_unknown_parameter
from restencil_generator.spec.analyze.resolve import (
    ResolvedEndpoint,
    ResolvedResource,
    has_pages,
    list_operations,
    partial_body_name,
)
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.key_checks import MEMBERS
from restencil_generator.spec.grammar.value_reader import Subject
from restencil_generator.spec.path_template import route
from restencil_generator.spec.source.nodes import Node


def check_resource(types: Types, resource: ResolvedResource) -> None:
    """Report errors in a resource and its endpoints."""
    _check_bases(types, resource)
    _check_overrides(types, resource)
    _check_examples(types, resource)
    _check_params(types, resource)
    _name_partial_body(types, resource)
    clashes: set[Place] = set()
    for endpoint in resource.endpoints.values():
        _check_list_operations(types, resource, endpoint)
        for one in (endpoint, *endpoint.operations.values()):
            check_endpoint(types, resource.raw, one, clashes)
    if "get_list" in resource.endpoints:
        _check_non_filter_arguments(types, resource, resource.endpoints["get_list"].endpoint)


# ------------------------------------------------------------------------------------------------------------- members


def _check_bases(types: Types, resource: ResolvedResource) -> None:
    """Report added endpoints that extend an unknown member or themselves."""
    raw = resource.raw
    known = (*resource.members, *(["create"] if "create" in resource.endpoints else []), *resource.bases.order)
    for name in resource.bases.unknown:
        own = raw.endpoints[name]
        assert own.extends is not None
        operation = own.extends.removeprefix("get_list.")
        if operation != own.extends and operation in d.EXTENDERS:
            hint = f"write {quoted(operation)}"
        else:
            hint = did_you_mean(own.extends, known) or f"its members: {', '.join(dict.fromkeys(known))}"
        message = f"{own.what} extends {quoted(own.extends)}, which is not a member of {raw.what}"
        types.report("unknown-endpoint", message, own.section.entries["extends"].value, hint)
    for circle in resource.bases.circles:
        own = raw.endpoints[circle[0]]
        message = f"{own.what} extends {circle_text(circle)}"
        hint = "make one of them extend another member"
        types.report("extends-cycle", message, own.section.entries["extends"].value, hint)


def _check_overrides(types: Types, resource: ResolvedResource) -> None:
    """Report overrides of standard members that do not exist."""
    raw = resource.raw
    known = {*resource.members, *resource.endpoints}
    for own in raw.endpoints.values():
        if own.name in known:
            continue
        if raw.schema is None:
            hint, why = (
                "write its 'path' and 'schema', or choose another name",
                "does not exist in a group of endpoints",
            )
        elif own.name == "create" or own.name in d.EXTENDERS:
            hint = "add it to 'members'" if raw.members is not None and own.name in MEMBERS else ""
            why = "does not exist here" if hint else "does not fit its list"
        else:
            hint, why = "add it to 'members', or choose another name for a new endpoint", "is not in 'members'"
            hint += "; with both 'path' and 'schema' it may keep this name"
        message = f"the standard member {quoted(own.name)} of {raw.what} {why}, so nothing can override it"
        types.report("member-left-out", message, own.key, hint)


def _check_list_operations(types: Types, resource: ResolvedResource, resolved: ResolvedEndpoint) -> None:
    """Report list operations that do not fit the list."""
    raw, own, endpoint = resource.raw, resolved.raw, resolved.endpoint
    if endpoint.standard:
        named, owner = (own.members or raw.members, raw.what) if endpoint.name == "get_list" else (None, raw.what)
    else:
        named, owner = own.members, own.what
        if named is not None and not has_pages(endpoint):
            message = f"the schema of {own.what} contains no collection, which these members need"
            types.report("key-not-here", message, own.section.key("members"), "remove it")
            return
    fitting = list_operations(endpoint, is_item=raw.is_item)
    if own.section.node("pagination_field") is not None or raw.section.node("pagination_field") is not None:
        fitting = (*fitting, "get_page")  # a field that is not valid is reported itself
    for name, node in (named or {}).items():
        if name in d.EXTENDERS and name not in fitting:
            _report_unfitting(types, name, endpoint, owner, node, is_item=raw.is_item)


def _report_unfitting(
    types: Types, name: str, listing: d.Endpoint, owner: Subject, node: Node, *, is_item: bool
) -> None:
    if listing.collection is None:
        why = f"the schema of {quoted(listing.name)} contains no collection"
    elif name == "get_page":
        why = f"{quoted(listing.name)} has no 'pagination_field'"
    elif name in d.NOT_BY_DEFAULT and not is_item:
        why = "the resource has no path of an item"
    elif name in d.NOT_BY_DEFAULT:
        why = "the list is a collection of 'values', which has no order"
    elif isinstance(listing.collection.of, d.ValuesOf):
        why = "the list is a collection of 'values': use 'assign'"
    else:
        why = "the list is not a collection of 'values': use 'push' or 'unshift'"
    message = f"the member {quoted(name)} of {owner} does not fit: {why}"
    types.report("member-not-fitting", message, node, "remove it")


# ---------------------------------------------------------------------------------------------- parameters and examples


def _check_params(types: Types, resource: ResolvedResource) -> None:
    """Report parameters that are neither in the path of the resource nor of an endpoint."""
    known = {parameter.name for parameter in resource.root.path.parameters}
    for resolved in resource.endpoints.values():
        known.update(parameter.name for parameter in resolved.endpoint.path.parameters)
    for field in resource.raw.params:
        if field.name not in known:
            report_unknown_parameter(types, field, resource.raw.what, known)


def _check_non_filter_arguments(types: Types, resource: ResolvedResource, listing: d.Endpoint) -> None:
    """Report non-filter arguments that are not parameters of the list."""
    fields = (*listing.params, *listing.search_params)
    known = {field.name for field in fields} | {field.python for field in fields}
    for name, node in resource.raw.non_filter:
        if name not in known:
            hint = did_you_mean(name, known) or "declare it under 'search_params'"
            message = f"{quoted(name)} in 'non_filter_arguments' is not a parameter of the list of {resource.raw.what}"
            types.report("unknown-parameter", message, node, hint)


def _check_examples(types: Types, resource: ResolvedResource) -> None:
    """Report examples for unknown members."""
    names = {*resource.members, *resource.endpoints}
    for name, example in resource.raw.examples.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"its members: {', '.join(sorted(names))}"
            message = f"{quoted(name)} in 'examples' is not a member of {resource.raw.what}"
            types.report("unknown-endpoint", message, example.place, hint)


def _name_partial_body(types: Types, resource: ResolvedResource) -> None:
    """Reserve the type name of partial bodies, unless the endpoint declares its own body."""
    raw = resource.raw
    own = raw.endpoints.get("partial_update")
    members = MEMBERS if raw.members is None else tuple(raw.members)
    body = resource.root.body
    is_object = raw.schema is not None and body is not None and isinstance(body.type, d.ObjectType)
    if is_object and "partial_update" in members and (own is None or "body" not in own.section):
        what = f"the type of the body of 'partial_update' of {raw.what}"
        hint = "rename the other one, or use 'class:'"
        types.claim(partial_body_name(raw), "typed_dict", what, raw.key.place, hint)


# ------------------------------------------------------------------------------------------------------- all resources


def check_requests(types: Types, resources: Mapping[str, d.Resource]) -> None:
    """Report reading endpoints that share one cache entry but differ in schema."""
    seen: dict[object, tuple[str, d.Endpoint]] = {}
    for resource in resources.values():
        for endpoint in resource.endpoints.values():
            if endpoint.side_effect:
                continue
            # Text, bytes and JSON of one URL have an entry each.
            content = None if endpoint.content == "json" else endpoint.content
            request = (endpoint.method, endpoint.url_prefix, route(endpoint.path), content)
            what = f"{quoted(endpoint.name)} of resource {quoted(resource.name)}"
            other_what, other = seen.setdefault(request, (what, endpoint))
            if _shape(other.schema) != _shape(endpoint.schema):
                types.report(
                    "same-request",
                    f"{what} and {other_what} read {endpoint.method} {endpoint.path.text} with different schemas, "
                    "and would share one cache entry",
                    endpoint.place,
                    "give one of them another path, or both the same schema",
                    [Related(other.place, "the other one")],
                )


def _shape(schema: d.Type | None) -> d.Type | None:
    """Return the part of a schema that is stored: collections of the same items are equal, whatever their arguments."""
    if isinstance(schema, d.CollectionOf):
        return d.CollectionOf(schema.of)
    if isinstance(schema, d.ObjectType):
        members = [dataclasses.replace(member, type=cast("d.Type", _shape(member.type))) for member in schema.members]
        return d.ObjectType(tuple(members), schema.name)
    return schema
