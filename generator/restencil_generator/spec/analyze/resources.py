"""The resources of a spec: reads each one, resolves inheritance, and checks the rules."""

from __future__ import annotations

from collections.abc import Mapping

from restencil_generator.diagnostics.model import quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze import parameter_styles
from restencil_generator.spec.analyze.arguments import ClientArguments
from restencil_generator.spec.analyze.expires import resolve_expires
from restencil_generator.spec.analyze.freshness_rules import check_concurrency, check_lengths
from restencil_generator.spec.analyze.list_identity import keep_lists_apart
from restencil_generator.spec.analyze.path_derived_fields import check_positions
from restencil_generator.spec.analyze.raw import RawResource
from restencil_generator.spec.analyze.read_resource import read_resource
from restencil_generator.spec.analyze.resolve import ResolvedResource, resolve
from restencil_generator.spec.analyze.resource_rules import check_requests, check_resource
from restencil_generator.spec.analyze.settings import Settings
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.names import CLIENT_MEMBERS, python_name
from restencil_generator.spec.source.nodes import MappingNode, ScalarNode


def read_resources(
    types: Types, top: Settings, client: ClientArguments, tables: Mapping[str, tuple[ScalarNode, MappingNode]]
) -> dict[str, d.Resource]:
    """Read the resources of a spec by name, from their keys and nodes (`tables`).

    `top` are the settings of the spec, `client` the arguments of its clients. Errors are reported; a resource without a
    valid path or schema is left out.
    """
    written: dict[str, RawResource] = {}
    found: dict[str, d.Resource] = {}
    for name, (key, mapping) in tables.items():
        if _is_resource_name(types, key):
            # Some file systems ignore case.
            module = python_name(name, "resource").lower()
            types.claim(module, "module", f"the module of resource {quoted(name)}", key.place)
        raw = read_resource(types, name, key, mapping)
        if raw.is_group or (raw.path is not None and raw.schema is not None):
            resolved = resolve(types, top, client, raw)
            check_resource(types, resolved)
            found[name] = _model(resolved, top)
            written[name] = raw
    endpoints = {name: raw.endpoints for name, raw in written.items()}
    found = resolve_expires(types, found, endpoints, tables.keys())
    check_lengths(types, endpoints)
    check_concurrency(types, found, {name: raw.section["options"] for name, raw in written.items()}, endpoints)
    found = keep_lists_apart(found, types.entities)
    check_requests(types, found)
    check_positions(types, found)
    return found


def _is_resource_name(types: Types, key: ScalarNode) -> bool:
    if not types.name(key, "a resource"):
        return False
    if python_name(key.text, "resource") in CLIENT_MEMBERS:
        message = f"a resource cannot be called {quoted(key.text)}: every client has a member of that name"
        types.report("taken-name", message, key, "choose another name, for example a plural or one with a prefix")
        return False
    return True


def _model(resolved: ResolvedResource, top: Settings) -> d.Resource:
    raw, root = resolved.raw, resolved.root
    endpoints = {name: endpoint.model for name, endpoint in resolved.endpoints.items()}
    return d.Resource(
        name=raw.name,
        python=python_name(raw.name, "resource"),
        class_name=raw.class_name,
        path=raw.path,
        schema=raw.schema,
        url_prefix=root.url_prefix,
        headers=root.headers,
        options=root.options,
        optimistic=raw.optimistic,
        members=resolved.members,
        endpoints=endpoints,
        body=root.body,
        search_params=tuple(parameter_styles.styled(field, root.search_style) for field in raw.search_params),
        params=raw.params,
        pagination_field=raw.pagination_field,
        pagination=endpoints["get_list"].pagination if "get_list" in endpoints else None,
        base=root.base,
        errors=root.errors,
        header_params=root.header_params,
        without=root.without,
        auth=root.auth,
        request=root.request,
        response=root.response,
        singleton=raw.is_singleton,
        cross_origin_body=root.cross_origin_body,
        description=raw.section["description"],
        deprecated=raw.section["deprecated"],
        place=raw.key.place,
        places=raw.section.places,
        url_place=(raw.settings if raw.settings.url_prefix is not None else top).url_place,
    )
