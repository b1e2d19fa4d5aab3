"""Unions in every place of a document: what cannot be read costs one field, and nothing ends in an error."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.openapi.documents import made, many, operation, record, ref

from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.model import Finding, Where
from restencil_generator.spec.load import load_text

TEXT: dict[str, Any] = {"type": "string"}
EMPTY: dict[str, Any] = {"type": "string", "enum": [""]}
KINDS: dict[str, dict[str, Any]] = {
    "string": TEXT,
    "integer": {"type": "integer"},
    "enum": {"type": "string", "enum": ["none", "root"]},
    "list": many(TEXT),
    "entities": many(ref("Item")),
    "entity": ref("Item"),
    "object": record(gt="integer", lt="integer"),
    "free": {"type": "object"},
    "empty": EMPTY,
    "null": {"type": "null"},
    "union": {"anyOf": [TEXT, many(TEXT)]},
}
"""Schemas of every kind."""


def item(**properties: Any) -> dict[str, Any]:
    """A component whose records have an id."""
    return record("id", id="integer", **properties)


@pytest.mark.parametrize("key", ["oneOf", "anyOf"])
@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(KINDS, 2)))
def test_schema_unions_unions_of_two_kinds_are_read_in_every_place(one: str, other: str, key: str) -> None:
    """A union of any two kinds is read as a parameter, a body, a form, a response and a field, without a mistake."""
    union: dict[str, Any] = {key: [KINDS[one], KINDS[other]]}
    form = {"content": {"application/x-www-form-urlencoded": {"schema": record(x=union)}}}
    paths = {
        "/items/{id}": {"get": operation(ref("Item")), "patch": operation(ref("Item"), body=union)},
        "/items": {"get": operation(many(ref("Item")), query={"where": union}), "post": operation(union, body=union)},
        "/items/{id}/run": {"post": operation(union, requestBody=form)},
        "/things/{x}": {
            "get": operation(union, parameters=[{"name": "x", "in": "path", "required": True, "schema": union}])
        },
        "/heads": {"get": operation(TEXT, parameters=[{"name": "X-Y", "in": "header", "schema": union}])},
    }
    result = made(paths, {"Item": item(parent=union)})
    codes = {finding.code for finding in result.document.findings}
    assert not codes & {"import-internal", "import-mistake"}, result.document.findings
    assert not result.document.left_out
    assert not load_text(result.text, "small.yaml").problems


def test_schema_unions_error_of_the_importer_costs_one_part() -> None:
    """Where reading a part raises, the part is read as said instead, and a finding names it."""

    def fail() -> int:
        raise TypeError("unhashable")

    findings: list[Finding] = []
    where = Where("a.json", "/paths")
    assert contained(findings.append, "GET /x", where, fail, 7) == 7
    assert [(each.code, each.where, each.severity) for each in findings] == [("import-internal", where, "warning")]
    assert "GET /x: an error of the importer, 'TypeError: unhashable'" in findings[0].message
