"""Schema types: what each form of JSON Schema becomes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import comment, crud, made, many, operation, record, ref, spec, whole

from restencil_generator.openapi.options import Options


def test_schema_types_type_that_differs_by_response_is_one_of_them() -> None:
    """A field whose type differs between detail and list is one of them, which is to be checked."""
    schemas = {"A": record("id", id="string", n="string"), "B": record("id", id="string", n="integer")}
    result = made({"/as": {"get": operation(many(ref("B")))}, "/as/{id}": {"get": operation(ref("A"))}}, schemas)
    fields = whole(result)["entities"]["A"]["fields"]
    assert fields["n"] == {"type": {"one_of": ["string", "integer"]}, "optional": True}
    assert comment(result, "entities.A.fields.n") == "check: its type differs from response to response"


@pytest.mark.parametrize(
    ("description", "is_checked"),
    [
        ("The secret, empty when listing keys.", True),
        ("It is null in lists.", True),
        ("Empty if there is none. The list of keys has it too.", False),
    ],
)
def test_schema_types_value_that_lists_do_not_show_is_checked(description: str, is_checked: bool) -> None:
    """Nothing in a response tells that the value of a list is not that of `get`."""
    key: dict[str, Any] = record("id", id="string")
    key["properties"]["secret"] = {"type": "string", "description": description}
    result = made(crud("/keys", "id", ref("Key")), {"Key": key})
    marks = [text for path, text in result.tree.checks() if path[-1] == "secret"]
    assert marks == (["lists show another value of it"] if is_checked else [])


def test_schema_types_reference_to_an_entity_is_the_entity() -> None:
    """Also where a reference may be expanded; a nested record without key must not fail a read."""
    schemas = {
        "User": record(id="string", name="string"),
        "Post": record("id", id="string", by={"anyOf": [{"type": "string"}, ref("User")]}),
    }
    found = spec({**crud("/users", "id", ref("User")), **crud("/posts", "id", ref("Post"))}, schemas)
    assert found["entities"]["Post"]["fields"]["by"] == "User?"
    assert found["entities"]["User"]["pk_optional"] is True


def test_schema_types_scoped_entity_is_an_object_elsewhere() -> None:
    """Where the path lacks the parameters of a key, there is an object of the fields that the server sends."""
    schemas = {"Issue": record("number", number="integer"), "Home": record("id", id="string", last=ref("Issue"))}
    found = spec(
        {**crud("/repos/{owner}/issues", "number", ref("Issue")), **crud("/homes", "id", ref("Home"))}, schemas
    )
    assert found["entities"]["Home"]["fields"]["last"] == "IssueData?"
    assert found["objects"]["IssueData"] == {"number": "integer"}


def test_schema_types_alternatives_with_a_discriminator_are_a_union() -> None:
    """An abstract item has a union; alternatives that are no entities are one of several objects."""
    cat, dog = (record("id", "kind", id="string", kind="string") for _ in range(2))
    pet = {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind"}}
    found = spec({"/pets/{id}": {"get": operation(ref("Pet"))}}, {"Cat": cat, "Dog": dog, "Pet": pet})
    assert found["resources"]["pets"]["schema"] == {"union": {"Cat": "Cat", "Dog": "Dog"}, "attribute": "kind"}
    assert sorted(found["entities"]) == ["Cat", "Dog"]
    holder = spec({"/a": {"get": operation(record(pet=ref("Pet")))}}, {"Cat": cat, "Dog": dog, "Pet": pet})
    assert sorted(holder["objects"]) == ["AA", "Cat", "Dog"]


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "string", "format": "email"}, "string"),
        ({"type": ["integer", "string"], "pattern": r"^-?(?:0|[1-9]\d*)$", "format": "int32"}, "integer"),
        ({"type": ["integer", "string"], "pattern": r"^\d+$"}, {"one_of": ["integer", "string"]}),
        ({"type": "string", "format": "date-time-rfc-2822"}, {"type": "datetime", "format": "rfc2822"}),
        ({"type": "integer", "format": "unix-time"}, {"type": "datetime", "format": "unix"}),
        (
            {"type": "integer", "format": "timestamp", "example": 1700000000000},
            {"type": "datetime", "format": "unix_ms"},
        ),
        ({"type": "array"}, ["any"]),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            [{"one_of": ["string", "integer"]}],
        ),
        ({"type": "object"}, {"values": "any"}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"values": "integer"}),
        ({"const": "x"}, "string"),
        ({"type": "string", "enum": ["x"]}, "string"),
        ({"type": "string", "enum": ["x", "y"]}, {"enum": ["x", "y"]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"one_of": ["string", "integer"]}),
        ({"oneOf": [{"type": "string"}]}, "string"),
        ({}, "any"),
        ({"type": "string", "readOnly": True}, {"type": "string", "read_only": True}),
        ({"type": "string", "writeOnly": True}, {"type": "string", "write_only": True}),
        ({"type": "string", "deprecated": True}, {"type": "string", "deprecated": True}),
        ({"type": "string", "title": "What it is"}, {"type": "string", "description": "What it is"}),
    ],
)
def test_schema_types_each_form_of_json_schema_has_a_type(schema: Any, written: Any) -> None:
    """Each form of JSON Schema has a type."""
    found = spec({"/a/{id}": {"get": operation(record("id", "f", id="string", f=schema))}})
    assert found["entities"]["AData" if "AData" in found["entities"] else "A"]["fields"]["f"] == written


def test_schema_types_named_values_make_an_enum() -> None:
    """An enum without a name whose values have names is called like its field."""
    level = {"type": "integer", "enum": [1, 2], "x-enum-varnames": ["Low", "High"]}
    found = spec({"/a/{id}": {"get": operation(record("id", "level", id="string", level=level))}})
    assert found["enums"] == {"Level": {"low": 1, "high": 2}}
    assert next(iter(found["entities"].values()))["fields"]["level"] == "Level"


def test_schema_types_required_circle_becomes_optional() -> None:
    """A field that leads back to its own object without list or `?` becomes optional, and that is told."""
    result = made({"/a": {"get": operation(ref("Node"))}}, {"Node": record("next", next=ref("Node"))})
    assert whole(result)["objects"] == {"Node": {"next": "Node?"}}
    assert "object-cycle" in [each.code for each in result.document.findings]


def test_schema_types_fields_are_certain_if_nothing_is_required() -> None:
    """There fields are certain unless nullable, which is to be checked; an option turns that round."""
    paths = {"/cars/{id}": {"get": operation(record(id="string", a="string", b={"type": ["string", "null"]}))}}
    result = made(paths)
    assert whole(result)["entities"]["Car"]["fields"] == {"id": "string", "a": "string", "b": "string?"}
    assert result.tree.head[1] == "check: the document names no required property"
    turned = made(paths, None, Options(required=False))
    assert whole(turned)["entities"]["Car"]["fields"]["a"] == "string?"


def test_schema_types_object_that_holds_entities_refers_to_them() -> None:
    """The class of an object has the entities in it as records, also below a list of other objects."""
    run, state = record("id", id="string"), record("id", id="string")
    outcome = record("status", status="string", state=ref("State"), more=many(ref("Detail")))
    result = made(
        {
            "/runs/{id}": {"get": operation(ref("Run"))},
            "/runs/{id}/act": {"post": operation(ref("Outcome"), operationId="act")},
            "/states/{id}": {"get": operation(ref("State"))},
        },
        {"Run": run, "State": state, "Outcome": outcome, "Detail": record("state", state=ref("State"), n="integer")},
    )
    spec = whole(result)
    assert spec["resources"]["runs"]["endpoints"]["act"]["schema"] == "Outcome"
    assert spec["objects"]["Outcome"] == {
        "status": "string",
        "state": "State?",
        "more": {"type": ["Detail"], "optional": True},
    }
    assert spec["objects"]["Detail"] == {"state": "State", "n": "integer?"}
