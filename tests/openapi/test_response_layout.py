"""Response layout: where records and lists are in responses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import ORDER, made, many, operation, record, ref, spec, written


def test_response_layout_list_of_the_entity_counts_among_several() -> None:
    """What GET of the item returns is listed under any name; else the name of the resource tells."""
    answer = record(warnings=many(record(code="string")), orders=many(ref("Order")), tags=many({"type": "string"}))
    paths = {"/orders/{id}": {"get": operation(ref("Order"))}, "/orders": {"get": operation(answer)}}
    found = spec(paths, {"Order": record("id", id="string", name="string")})
    listed = found["resources"]["orders"]["endpoints"]["get_list"]["schema"]
    assert listed["object"]["orders"] == {"collection": ["Order"]}


@pytest.mark.parametrize(
    ("answer", "envelope"),
    [
        (record(data=ref("Order")), "data"),
        (record(order=ref("Order"), ok="boolean"), "order"),
        (record(response=record(result=ref("Order")), status="integer"), "response.result"),
        (record(contacts=many(ref("Order")), meta={}), None),
        (record(items=many(ref("Order"))), "items.0"),
    ],
)
def test_response_layout_record_may_be_in_an_envelope(answer: Any, envelope: str | None) -> None:
    """The record of a response may be in a member called like envelopes or like the thing, up to three deep."""
    if envelope == "items.0":
        answer = record(result=many(ref("Order")))
        envelope = "result.0"
    found = spec({"/orders/{id}": {"get": operation(answer), "delete": operation(status="204")}}, {"Order": ORDER})
    response = found["resources"]["orders"].get("response", found.get("response", {}))
    assert response.get("envelope") == envelope


def test_response_layout_metadata_is_no_envelope() -> None:
    """What stands in `metadata` is about the record."""
    found = spec({"/a/{id}": {"get": operation(record(metadata=record("id", id="string")))}})
    assert "response" not in found["resources"]["a"]


def test_response_layout_envelope_of_most_resources_is_written_once() -> None:
    """What at least half of the resources share is said once."""
    schemas = {name: record("id", id="string", **{name.lower(): "string"}) for name in ("Cat", "Dog")}
    paths = {f"/{name.lower()}s/{{id}}": {"get": operation(record(data=ref(name)))} for name in schemas}
    assert spec(paths, schemas)["response"] == {"envelope": "data"}


def test_response_layout_summary_and_detail_are_one_entity() -> None:
    """What the items of a list lack is optional; that a summary is no `get` needs no word."""
    schemas = {
        "Detail": record("id", "body", "at", id="string", body="string", at="string", extra="string"),
        "Summary": record("id", id="string", extra="string"),
    }
    paths = {"/posts": {"get": operation(many(ref("Summary")))}, "/posts/{id}": {"get": operation(ref("Detail"))}}
    found = spec(paths, schemas)
    assert found["entities"]["Detail"]["fields"] == {
        "id": "string",
        "body": "string?",
        "at": "string?",
        "extra": "string?",
    }
    assert "endpoints" not in found["resources"]["posts"]


def test_response_layout_items_of_another_kind_are_objects() -> None:
    """A list whose items have little in common with the detail is a plain list."""
    schemas = {
        "A": record("id", id="string", a="string", b="string"),
        "B": record("id", id="string", c="string", d="string", e="string"),
    }
    paths = {"/as": {"get": operation(many(ref("B")))}, "/as/{id}": {"get": operation(ref("A"))}}
    assert spec(paths, schemas)["resources"]["as"]["endpoints"]["get_list"] == {"schema": ["B"]}


def test_response_layout_object_around_a_list_keeps_its_members() -> None:
    """A wrapper with nothing but the list is `list_envelope`, another one is an object with a collection in it."""
    alone = {
        "/orders": {"get": operation(record("data", data=many(ref("Order"))))},
        "/orders/{id}": {"get": operation(ref("Order"))},
    }
    assert spec(alone, {"Order": ORDER})["resources"]["orders"]["response"] == {"list_envelope": "data"}
    alone["/orders"]["get"] = operation(record("items", items=many(ref("Order")), next="string"))
    found = spec(alone, {"Order": ORDER})["resources"]["orders"]
    assert found["endpoints"]["get_list"]["schema"] == {"items": {"collection": ["Order"]}, "next": "string?"}


def test_response_layout_record_that_holds_a_list_is_no_list() -> None:
    """A deployment by name, whose schedules are records too, is the deployment."""
    paths = {
        "/deployments/{id}": {"get": operation(ref("Deployment"))},
        "/deployments/name/{name}": {"get": operation(ref("Deployment"))},
        "/schedules/{id}": {"get": operation(ref("Schedule"))},
    }
    deployment = record("id", "name", id="string", name="string", schedules=many(ref("Schedule")))
    found = written(made(paths, {"Deployment": deployment, "Schedule": record("id", id="string")}))
    endpoint = found["resources"]["deployments"]["endpoints"]["name"]
    assert endpoint["schema"] == "Deployment"


def test_response_layout_key_next_to_the_record_is_an_envelope() -> None:
    """`{"id": 1, "result": {"id": 1, "name": "a", …}}`: only the inner object has the members of the list's items."""
    layer = record("id", "name", id="integer", name="string", text="string")
    found = {"type": "object", "properties": {"id": {"type": "string"}, "result": ref("Layer"), "columns": many({})}}
    listed = {"type": "object", "properties": {"count": {"type": "integer"}, "result": many(ref("Layer"))}}
    paths = {"/layers": {"get": operation(listed)}, "/layers/{id}": {"get": operation(found)}}
    result = written(made(paths, {"Layer": layer}))
    assert list(result["entities"]) == ["Layer"]
    assert result["resources"]["layers"]["response"] == {"envelope": "result"}


def test_response_layout_record_that_contains_another_of_its_list_is_no_envelope() -> None:
    """A record has members of the list's items itself, whatever it contains."""
    item = record("id", "name", id="integer", name="string", text="string")
    found = {**item, "properties": {**item["properties"], "result": ref("Item")}}
    paths = {"/items": {"get": operation(many(ref("Item")))}, "/items/{id}": {"get": operation(found)}}
    result = written(made(paths, {"Item": item}))
    assert "response" not in result["resources"]["items"]
