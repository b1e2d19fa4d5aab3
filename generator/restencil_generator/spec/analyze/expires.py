"""`expires`: what a mutation makes stale; resolves names of the spec to endpoints."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.value_reader import Subject

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.raw import RawEndpoint
    from restencil_generator.spec.analyze.types import Types
    from restencil_generator.spec.grammar.value_reader import ParsedSection
    from restencil_generator.spec.source.nodes import Node


def written_expires(given: ParsedSection) -> tuple[str, ...] | Literal["nothing"]:
    """Return the names under `expires` of an endpoint, unresolved."""
    written: list[tuple[str, Node]] | Literal["nothing"] | None = given["expires"]
    return written if isinstance(written, str) else tuple(name for name, _ in written or ())


def resolve_expires(
    types: Types,
    resources: Mapping[str, d.Resource],
    written: Mapping[str, Mapping[str, RawEndpoint]],
    known: Collection[str],
) -> dict[str, d.Resource]:
    """Resolve `expires` of all endpoints to `self`, `resource.member`, and the own resource's name.

    `known` are the names of all resources, including invalid ones.
    """
    for name, endpoints in written.items():
        for own in endpoints.values():
            targets = own.section["expires"] or ()
            for target, node in () if targets == d.NOTHING else targets:
                _judge(types, resources, known, name, own, target, node)

    def resolved(resource: d.Resource, endpoint: d.Endpoint) -> d.Endpoint:
        extenders = {name: resolved(resource, one) for name, one in endpoint.extenders.items()}
        targets = endpoint.expires
        if targets != d.NOTHING:
            targets = tuple(dict.fromkeys(end for name in targets for end in _meant(resources, resource.name, name)))
        return dataclasses.replace(endpoint, expires=targets, extenders=extenders)

    return {
        name: dataclasses.replace(
            resource, endpoints={member: resolved(resource, one) for member, one in resource.endpoints.items()}
        )
        for name, resource in resources.items()
    }


def _meant(resources: Mapping[str, d.Resource], owner: str, target: str) -> Iterator[str]:
    """Yield what a name refers to within a resource: `self`, itself, or reading endpoints as `resource.member`."""
    resource, dot, member = target.partition(".")
    if not dot and target in resources[owner].endpoints:
        resource, member = owner, target
    if target == d.SELF:
        yield target
    elif resource in resources:
        endpoints = resources[resource].endpoints.items()
        reads = [name for name, endpoint in endpoints if not endpoint.side_effect and member in ("", name)]
        if reads and resource == owner and not member:
            yield owner
        else:
            yield from (f"{resource}.{name}" for name in reads)


def _judge(
    types: Types,
    resources: Mapping[str, d.Resource],
    known: Collection[str],
    owner: str,
    own: RawEndpoint,
    target: str,
    node: Node,
) -> None:
    """Report a name that does not refer to a reading endpoint."""
    endpoint = _built(resources[owner], own.name)
    if endpoint is None:
        return
    what = Subject("'expires'", own.what)
    if target == d.SELF:
        is_item = endpoint.path.parameters or resources[owner].singleton or endpoint.body is not None
        if not is_item:  # a member of the body may identify the record
            message = f"{what} contains 'self', but the path {quoted(endpoint.path.text)} does not identify an item"
            types.report("expires-target", message, node, "remove it, or add the parameter of an item to the path")
        return
    if next(_meant(resources, owner, target), None) is not None:
        return
    resource, dot, member = target.partition(".")
    holder = resources.get(resource if dot else owner)
    if holder is None and resource in known:
        return  # its own errors are reported elsewhere
    changing = None if holder is None else _built(holder, member or target)
    if changing is not None and changing.side_effect:
        message = f"{what} contains {quoted(target)}, which changes something, so it has no cached response"
        types.report("expires-target", message, node, "name an endpoint that reads")
        return
    names = [*resources[owner].endpoints, *known]
    names += [f"{one.name}.{name}" for one in resources.values() for name in one.endpoints] if dot else []
    message = f"{quoted(target)} in {what} is neither a member nor a resource"
    hint = "write 'expires: nothing', without brackets" if target == d.NOTHING else did_you_mean(target, names)
    types.report("expires-target", message, node, hint)


def _built(resource: d.Resource, name: str) -> d.Endpoint | None:
    """Return the endpoint with this name, or the list operation with this name."""
    listing = resource.endpoints.get("get_list")
    found = resource.endpoints.get(name)
    return found if found is not None or listing is None else listing.extenders.get(name)
