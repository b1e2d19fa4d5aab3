"""Warnings about declarations that are not used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import names_in, types_of


def find_unused(spec: d.Spec) -> Iterator[Finding]:
    """Find declared types and authentication schemes that are not used."""
    used = {named for type, _, _ in types_of(spec) for named in names_in(type)}
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("enum", spec.enums),
        ("object", spec.objects),
        ("entity", spec.entities),
    ]
    for kind, table in tables:
        for name, declared in table.items():
            if (kind, name) not in used:
                yield Finding(f"nothing uses the {kind} {quoted(name)}", declared.place, "remove it")
    yield from _unused_schemes(spec)


def _unused_schemes(spec: d.Spec) -> Iterator[Finding]:
    if spec.auth is None:
        return
    uses = [spec.auth.use, *(operation.endpoint.auth or () for operation in operations(spec))]
    used = {name for use in uses for names in use for name in names}
    for scheme in spec.auth.schemes:
        if scheme.name not in used:
            message = f"no request uses the scheme {quoted(scheme.name)}"
            yield Finding(message, scheme.place, "add it to 'use', or remove it")
