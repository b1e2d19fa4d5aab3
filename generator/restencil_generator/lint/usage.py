"""Warnings about declarations that are deprecated and used, or not used at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.lint.common import Finding, declared_here, operations, parts_of, types_of
from restencil_generator.spec import model as d


def find_deprecated(spec: d.Spec) -> Iterator[Finding]:
    """Find declarations that use a deprecated one and are not deprecated themselves."""
    for entity in spec.entities.values():
        if entity.deprecated is None:
            yield from _deprecated_in_entity(spec, entity)
    for resource in spec.resources.values():
        if resource.deprecated is None:
            yield from _deprecated_in_resource(spec, resource)


def _deprecated_in_entity(spec: d.Spec, entity: d.Entity) -> Iterator[Finding]:
    what = f"entity {quoted(entity.name)}"
    if entity.extends is not None:
        yield from _deprecated(what, spec.entities[entity.extends], entity.place)
    for field in entity.fields:
        if field.deprecated is None:
            for name in d.entities_in(field.type):
                yield from _deprecated(f"field {quoted(field.name)} of {what}", spec.entities[name], field.place)


def _deprecated_in_resource(spec: d.Spec, resource: d.Resource) -> Iterator[Finding]:
    what = f"resource {quoted(resource.name)}"
    for name in resource.entities:
        yield from _deprecated(what, spec.entities[name], resource.place)
    for endpoint in resource.endpoints.values():
        base = resource.endpoints.get(endpoint.extends or "")
        if base is not None and base.deprecated is not None and endpoint.deprecated is None:
            yield Finding(
                f"{quoted(endpoint.name)} of {what} extends {quoted(base.name)}, which is deprecated",
                endpoint.place,
                base.deprecated,
                declared_here(base.place),
            )


def _deprecated(what: str, entity: d.Entity, place: Place) -> Iterator[Finding]:
    if entity.deprecated is not None:
        yield Finding(
            f"{what} uses entity {quoted(entity.name)}, which is deprecated",
            place,
            entity.deprecated,
            declared_here(entity.place),
        )


def find_unused(spec: d.Spec) -> Iterator[Finding]:
    """Find declared types and authentication schemes that are not used."""
    used: set[str] = set()
    for _, type in types_of(spec):
        used.update(part.name for part in parts_of(type, (d.EnumRef, d.ObjectRef)))
        used.update(d.entities_in(type))
    used.update(entity.extends for entity in spec.entities.values() if entity.extends is not None)
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("enum", spec.enums),
        ("object", spec.objects),
        ("entity", spec.entities),
    ]
    for kind, table in tables:
        for name, declared in table.items():
            if name not in used:
                yield Finding(f"nothing uses the {kind} {quoted(name)}", declared.place, "remove it")
    yield from _unused_schemes(spec)


def _unused_schemes(spec: d.Spec) -> Iterator[Finding]:
    if spec.auth is None:
        return
    uses = [spec.auth.use, *(operation.endpoint.auth or () for operation in operations(spec))]
    used = {name for use in uses for names in use for name in names}
    for scheme in spec.auth.schemes:
        if scheme.name not in used and not spec.auth.short:
            message = f"no request uses the scheme {quoted(scheme.name)}"
            yield Finding(message, scheme.place, "add it to 'use', or remove it")
