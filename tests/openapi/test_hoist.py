"""What most operations share is written once, at the top of the spec."""

from __future__ import annotations

from typing import Any

from tests.openapi.small import operation, record, ref, spec


def test_hoist_parameter_of_most_operations_is_of_the_client() -> None:
    """Headers on nine in ten operations, and required query parameters likewise."""
    tenant = {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    version = {"name": "api-version", "in": "query", "required": True, "schema": {"type": "string"}}
    paths = {f"/{letter}": {"get": operation(parameters=[tenant, version])} for letter in "abcdefghi"}
    found = spec({**paths, "/j": {"get": operation()}})
    assert found["header_params"] == {"x_tenant": "string"}
    assert found["search_params"] == {"api_version": "string"}
    assert found["wire_names"] == "kebab-case"


def test_hoist_errors_of_all_operations_are_written_once() -> None:
    """The others stand at their endpoint; what is no object is any JSON."""

    def errors(*statuses: str) -> dict[str, Any]:
        problem = {"description": "", "content": {"application/json": {"schema": ref("Problem")}}}
        text = {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}}
        return {status: text if status == "500" else problem for status in statuses}

    one, other = operation(), operation()
    one["responses"] |= errors("400", "404")
    other["responses"] |= errors("400", "500")
    found = spec({"/a": {"get": one}, "/b": {"get": other}}, {"Problem": record(title="string")})
    assert found["errors"] == {"400": "Problem"}
    assert found["resources"]["a"]["endpoints"]["a"]["errors"] == {"404": "Problem"}
    assert found["resources"]["b"]["endpoints"]["b"]["errors"] == {"500": "any"}
