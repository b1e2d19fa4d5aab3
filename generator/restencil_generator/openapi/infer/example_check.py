"""Removal of examples that do not fit their types, with a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.model import Document, Finding, Operation
from restencil_generator.openapi.spec_tree import NodePath, Tree
from restencil_generator.spec import model as d
from restencil_generator.spec.validate_value import validation_errors

CODE = "example-misfit"
"""The code of findings about removed examples."""


def misfit_of(operation: Operation, part: str, why: str) -> Finding:
    """Return the finding about a removed example."""
    message = f"the example of the {part} of {quoted(operation.text)} does not fit: {why}; it is left out"
    return Finding(CODE, message, operation.where, "note")


def without_misfits(document: Document, tree: Tree, operations: Mapping[NodePath, Operation], spec: d.Spec) -> bool:
    """Remove examples that do not fit from the tree of a spec, and return whether there were any."""
    changed = False
    for resource, endpoint, part, why in list(_misfits(spec)):
        path: NodePath = ("resources", resource, "examples", endpoint)
        if not tree.has((*path, part)):
            continue  # the example belongs to an endpoint that shares it
        changed = True
        tree.remove((*path, part))
        for outer in (path, path[:-1]):
            if tree.get(outer) == {}:
                tree.remove(outer)
        operation = operations.get(("resources", resource, "endpoints", endpoint))
        if operation is not None:
            document.findings.append(misfit_of(operation, part, why))
    return changed


def _misfits(spec: d.Spec) -> Iterator[tuple[str, str, str, str]]:
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            example = endpoint.example
            if example is None:
                continue
            body = endpoint.body.type if endpoint.body is not None else None
            for part, type, value in (
                ("body", body, example.body),
                ("response", endpoint.schema or endpoint.returns, example.response),
            ):
                if value is d.MISSING or type is None:
                    continue
                first = next(validation_errors(spec, type, value, "example"), None)
                if first is not None:
                    at = ".".join(map(str, first.where))
                    # Examples of list operations (`get_list.push`) are stored under their last name.
                    yield resource.name, name.rpartition(".")[2], part, (
                        f"{at}: {first.message}" if at else first.message
                    )
