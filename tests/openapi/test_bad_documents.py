"""Documents that nobody should write: circular, far too large, with names of any kind. They are read, or rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.documents import REF, made, mixed, operation, record, ref, responding

from restencil_generator.openapi.import_job import Imported, prepare
from restencil_generator.openapi.options import Job, Options
from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_text


def holds(imported: Imported) -> None:
    """What always holds: the spec passes the check and gives a package, and what is said of operations adds up."""
    loaded = load_text(imported.text, "shop.yaml")
    assert loaded.declaration is not None, loaded.problems
    build(loaded.declaration, "shop.yaml")
    data = imported.data()
    assert data["operations"]["covered"] + len(data["left_out"]) == data["operations"]["found"]
    json.dumps(data)


def circles() -> dict[str, Any]:
    """Schemas that lead to themselves in every way."""
    names = [f"S{number}" for number in range(12)]
    found: dict[str, Any] = {}
    for index, name in enumerate(names):
        following, other = {"$ref": REF + names[(index + 1) % 12]}, {"$ref": REF + names[(index + 5) % 12]}
        found[name] = [
            {"allOf": [following, other]},
            {"oneOf": [following, other]},
            {"anyOf": [following, {"type": "null"}]},
            following,
            {"type": "array", "items": following},
            {"properties": {"a": following, "b": other}, "required": ["a", "b"]},
        ][index % 6]
    return found


def wide(count: int) -> dict[str, Any]:
    """A schema that is any of two in each of many places at once."""
    pairs: list[Any] = [{"oneOf": [{"properties": {f"a{n}": {}}}, {"properties": {f"b{n}": {}}}]} for n in range(count)]
    return {"Wide": {"allOf": pairs}}


def chain(count: int, key: str) -> dict[str, Any]:
    """Schemas that each are the next one."""
    found: dict[str, Any] = {f"C{n}": {key: [{"$ref": f"{REF}C{n + 1}"}]} for n in range(count)}
    if key == "properties":
        found = {f"C{n}": {"properties": {"next": {"$ref": f"{REF}C{n + 1}"}}} for n in range(count)}
    if key == "$ref":
        found = {f"C{n}": {"$ref": f"{REF}C{n + 1}"} for n in range(count)}
    return {**found, f"C{count}": {"type": "object", "properties": {"end": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("name", "schemas"),
    [
        ("S0", circles()),
        ("S5", circles()),
        ("Wide", wide(20)),
        ("C0", chain(3_000, "$ref")),
        ("C0", chain(400, "allOf")),
        ("C0", chain(400, "oneOf")),
        ("C0", chain(1_000, "properties")),
    ],
)
def test_bad_document_circles_and_chains_end(name: str, schemas: dict[str, Any], tmp_path: Path) -> None:
    """References, parts and alternatives that lead in circles, or far, or to very many, end in a spec."""
    tree = mixed()
    tree["components"]["schemas"] |= schemas
    tree["paths"]["/status"]["get"]["responses"] = responding(ref(name))
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(tree))
    holds(prepare(Job(str(source), Options(package="shop"), tmp_path / "shop.yaml")))


def _nested_choices(depth: int) -> dict[str, Any]:
    """A schema of about 3 kB in which `depth` choices between two objects are combined."""
    schema: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
    for level in range(depth):
        choice = [{"properties": {f"{letter}{level}": {"type": "string"}}} for letter in "ab"]
        schema = {"allOf": [{"oneOf": choice}, schema]}
    return schema


def test_bad_document_too_many_alternatives_are_read_as_any() -> None:
    """A schema that means 2^18 alternatives is read as any, with its place."""
    deep = _nested_choices(18)
    result = made(
        {"/x": {"get": operation(ref("Deep")), "post": operation(record(deep=ref("Deep")), body=ref("Deep"))}},
        {"Deep": deep},
    )
    found = [finding for finding in result.document.findings if finding.code == "allof-conflict"]
    assert "means 262,144 alternatives; read as any" in found[0].message
    assert found[0].where.pointer == "/components/schemas/Deep"
    values: Any = result.tree.value
    assert values["resources"]["x"]["endpoints"]["x"]["schema"] == "any"
    few = made({"/x": {"get": operation(ref("Deep"))}}, {"Deep": _nested_choices(3)})
    assert "allof-conflict" not in {finding.code for finding in few.document.findings}


def test_bad_document_path_of_very_many_parameters_is_left_out() -> None:
    """A path with more than a hundred parameters is left out, with its reason, and the rest is imported."""
    long = "".join(f"/{{p{index}}}" for index in range(2_000))
    result = made(
        {long: {"get": operation({"type": "string"}, parameters=[])}, "/x": {"get": operation({"type": "string"})}}
    )
    assert [each.reason for each in result.document.left_out] == [
        "its path has 2,000 parameters, and at most 100 are read"
    ]
    assert [operation.path for operation in result.document.operations] == ["/x"]


def test_bad_document_errors_without_a_name_are_called_like_their_endpoint() -> None:
    """Many different errors without a name have short names of their own."""
    paths = {}
    for index in range(30):
        paths[f"/x{index}"] = {"get": operation({"type": "string"})}
        body = record(**{f"reason_{letter}": "string" for letter in "abcdef"[: index % 6 + 1]})
        paths[f"/x{index}"]["get"]["responses"] |= responding(body, "422")
    values: Any = made(paths).tree.value
    own = [name for name in values["objects"] if name != "ErrorBody"]
    assert len(own) == 5
    assert all(name.startswith("X") and name.endswith("ErrorBody") and len(name) < 20 for name in own)


def test_bad_document_many_types_and_members_of_one_name_have_short_names() -> None:
    """What has no name of its own left gets letters behind it."""
    alternatives = [record(**{f"p{number}": "string"}) for number in range(300)]
    signs = {sign * count: {"type": "string"} for sign in "-._" for count in range(1, 200)}
    schema = {"type": "object", "properties": {"one": {"oneOf": alternatives}, **signs}}
    result = made({"/things": {"get": operation(schema)}})
    objects: Any = result.tree.value["objects"]
    assert max(map(len, objects)) < 100
    assert not [each for each in result.document.findings if each.code.startswith("import-")]
