"""Warnings about path parameters that fields of responses need."""

from __future__ import annotations

from collections.abc import Iterator

from restencil_generator.diagnostics.model import quoted
from restencil_generator.lint.common import Finding, declared_here, operations
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import response_entities


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
