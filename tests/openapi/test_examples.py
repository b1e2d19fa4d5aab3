"""Examples: those that fit are taken over, others are findings."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import made, many, operation, record, ref, spec, whole

from restencil_generator.mock import create_app
from restencil_generator.spec.load import load_text


def test_examples_first_example_that_fits_is_taken_over() -> None:
    """The first example of an operation is taken over with the names of Python, where it fits and is short."""

    def answered(schema: Any, example: Any) -> dict[str, Any]:
        found = operation(schema)
        found["responses"]["200"]["content"]["application/json"]["examples"] = {"a": {"value": example}}
        return found

    shelf = record("id", id="string", madeOn={"type": "string", "format": "date"}, x="string")
    paths = {
        "/a/{id}": {"get": answered(record(data=shelf), {"data": {"id": "1", "madeOn": "2024-01-31", "unknown": 1}})},
        "/b/{id}": {"get": answered(shelf, {"id": 1})},
        "/c/{id}": {"get": answered(shelf, {"id": "x" * 3000})},
        "/d/{id}": {"get": answered(shelf, {"id": "1", "madeOn": "soon"})},
    }
    found = spec(paths)["resources"]
    assert {name: each.get("examples") for name, each in found.items()} == {
        "a": {"get": {"response": {"id": "1", "made_on": "2024-01-31"}}}, "b": None, "c": None, "d": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "example",
    [
        {"id": "one", "at": "2020-01-01T00:00:00Z"},
        {"at": "2020-01-01T00:00:00Z"},
        {"id": 1, "at": "yesterday"},
        {"id": 1, "state": "gone"},
        [1],
        {"id": 1, "owner": {"name": "no id"}},
    ],
)
def test_examples_example_that_does_not_fit_is_a_finding(example: Any) -> None:
    """It is left out of the spec, whose mock starts, and is told with its operation."""
    owner = record("id", id="integer", name="string")
    at = {"type": "string", "format": "date-time"}
    schema = record("id", id="integer", at=at, state={"type": "string", "enum": ["new", "old"]}, owner=ref("Owner"))
    get = operation(ref("Item"))
    get["responses"]["200"]["content"]["application/json"]["example"] = example
    paths = {"/items/{id}": {"get": get}, "/owners/{id}": {"get": operation(ref("Owner"))}}
    result = made(paths, {"Item": schema, "Owner": owner})
    assert "examples" not in whole(result)["resources"]["items"]
    (finding,) = [each for each in result.document.findings if each.code == "example-misfit"]
    assert finding.message.startswith("the example of the response of 'GET /items/{id}' does not fit: ")
    assert finding.where.pointer == "/paths/~1items~1{id}/get"
    loaded = load_text(result.text, "small.yaml").declaration
    assert loaded is not None
    create_app(loaded, auth=False)


def test_examples_example_of_a_push_may_not_fit_either() -> None:
    """The example of a `push` is left out as any other."""
    post = operation(ref("Item"), body=record(title="string"), status="201")
    post["responses"]["201"]["content"]["application/json"]["example"] = {"id": 1, "owner": {"name": "no id"}}
    owner = record("id", id="integer", name="string")
    paths = {
        "/items": {"get": operation(many(ref("Item"))), "post": post},
        "/items/{id}": {"get": operation(ref("Item"))},
        "/owners/{id}": {"get": operation(ref("Owner"))},
    }
    result = made(
        paths, {"Item": record("id", id="integer", owner={"anyOf": [{"type": "string"}, ref("Owner")]}), "Owner": owner}
    )
    assert not [each for each in result.document.findings if each.code == "import-internal"]
    assert load_text(result.text, "small.yaml").declaration is not None
