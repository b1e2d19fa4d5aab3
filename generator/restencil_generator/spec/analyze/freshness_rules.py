"""Rules of `freshness` and `concurrency`: whether they fit the endpoints and entities to which they apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.raw import RawEndpoint
    from restencil_generator.spec.analyze.types import Types

_CHANGES: Final = frozenset({"PUT", "PATCH", "DELETE"})


def check_lengths(types: Types, written: Mapping[str, Mapping[str, RawEndpoint]]) -> None:
    """Report an endpoint with both server freshness and its own expiry length."""
    for endpoints in written.values():
        for own in endpoints.values():
            options: ParsedSection | None = own.section["options"]
            declared = (own.settings.options or {}).get("freshness")
            if options is None or not isinstance(declared, d.ServerFreshness):
                continue
            if options["data_expiry_length"] is not None:
                message = f"{own.what} has both 'freshness: server' and 'data_expiry_length'"
                hint = "remove one of them; for responses without cache headers, set 'data_expiry_length' on the spec"
                types.report("freshness-length", message, options.key("data_expiry_length"), hint)


def check_concurrency(
    types: Types,
    resources: Mapping[str, d.Resource],
    options: Mapping[str, ParsedSection | None],
    written: Mapping[str, Mapping[str, RawEndpoint]],
) -> None:
    """Report `concurrency` without updates, or with a field that the entity does not have.

    `options` are the options that each resource declares.
    """
    for name, resource in resources.items():
        own = options[name]
        if own is not None and "concurrency" in own and own["concurrency"] is not None:
            what = Subject("'concurrency'", Subject(f"resource {quoted(name)}"))
            if not any(_changes(endpoint) for endpoint in resource.endpoints.values()):
                message = f"{what} has no effect: the resource has no PUT, PATCH or DELETE"
                types.report("concurrency-target", message, own.key("concurrency"), "remove it")
            _check_field(types, resource, own, what)
        for member, endpoint in written[name].items():
            given: ParsedSection | None = endpoint.section["options"]
            if given is not None and "concurrency" in given and given["concurrency"] is not None:
                what = Subject("'concurrency'", endpoint.what)
                built = resource.endpoints.get(member)
                if built is not None and not (_changes(built) or built.method in ("GET", "POST")):
                    types.report(
                        "concurrency-target",
                        f"{what} has no effect: the endpoint changes nothing",
                        given.key("concurrency"),
                        "remove it",
                    )
                _check_field(types, resource, given, what)


def _changes(endpoint: d.Endpoint) -> bool:
    return endpoint.side_effect and endpoint.method in _CHANGES


def _check_field(types: Types, resource: d.Resource, options: ParsedSection, what: Subject) -> None:
    written = options["concurrency"]
    field: str | None = written["field"] if isinstance(written, ParsedSection) else None
    if field is None:
        return
    for name in resource.entities:
        entity = types.entities.get(name)
        known = [] if entity is None else [one.name for one in entity.all_fields]
        if entity is None or field in known:
            continue
        message = f"the field {quoted(field)} in {what} is not a field of entity {quoted(name)}"
        node = written.node("field") or options.key("concurrency")
        types.report("concurrency-target", message, node, did_you_mean(field, known) or "choose one of its fields")
