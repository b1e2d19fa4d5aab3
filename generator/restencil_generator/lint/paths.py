"""Warnings about the package name, methods, URLs, and path parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from restencil_generator.diagnostics.model import nearest, quoted
from restencil_generator.lint.common import Finding, declared_here, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import response_entities


def find_stdlib_package(spec: d.Spec) -> Iterator[Finding]:
    """Find a package name that hides a module of the standard library."""
    if spec.package in sys.stdlib_module_names:
        message = f"the package {quoted(spec.package)} hides a module of Python's standard library"
        yield Finding(message, spec.place, "choose another name")


def find_misspelled_methods(spec: d.Spec) -> Iterator[Finding]:
    """Find methods that are similar to a standard one, and at most one letter longer or shorter."""
    for operation in operations(spec):
        method = operation.endpoint.method
        meant = None if method in d.METHODS else nearest(method, d.METHODS)
        if meant is not None and abs(len(meant) - len(method)) <= 1:
            message = f"the method {quoted(method)} of {operation} is not a standard one"
            yield Finding(message, operation.endpoint.place, f"did you mean {quoted(meant)}?")


def find_glued_paths(spec: d.Spec) -> Iterator[Finding]:
    """Find prefixes and paths without a slash between them."""
    reported: set[str] = set()
    for operation in operations(spec):
        endpoint = operation.endpoint
        what = str(operation) if "path" in endpoint.written else f"resource {quoted(operation.resource.name)}"
        prefix, path = endpoint.url_prefix, endpoint.path.text
        is_absolute = path.startswith(("http:", "https:", "http\\:", "https\\:"))
        if prefix[-1:].isalnum() and path[:1].isalnum() and not is_absolute and what not in reported:
            reported.add(what)
            message = f"there is no slash between the prefix and the path of {what}: {prefix}{path}"
            yield Finding(message, endpoint.place, f"write '/{path}'")


def find_params_out_of_reach(spec: d.Spec) -> Iterator[Finding]:
    """Find responses with an entity whose field comes from a path parameter that is not in their path."""
    reported: set[tuple[str, str]] = set()
    for operation in operations(spec):
        endpoint = operation.endpoint
        names = {parameter.name for parameter in endpoint.path.parameters}
        for entity in response_entities(spec, endpoint):
            for field in spec.entities[entity].all_fields:
                if not field.param or field.param in names or (endpoint.path.text, entity) in reported:
                    continue
                reported.add((endpoint.path.text, entity))
                effect = "has no pk" if field.name in spec.entities[entity].pk else "lacks it"
                yield Finding(
                    f"{operation} returns {quoted(entity)}, whose field {quoted(field.name)} comes from the path "
                    f"parameter {quoted(field.param)}, which is not in its path: a record without this member {effect}",
                    endpoint.place,
                    "return it from the server, or write 'pk_optional: true' on the entity",
                    declared_here(field.place),
                )
