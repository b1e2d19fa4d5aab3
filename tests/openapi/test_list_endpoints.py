"""List endpoints: reads by POST, filters, and lists that follow changes."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.openapi.small import (
    ITEM,
    ORDER,
    body_of,
    by_post,
    comment,
    listed,
    made,
    many,
    operation,
    record,
    ref,
    spec,
    whole,
    written,
)

from restencil_generator import api


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Any]:
    """A package of items, a list of which hides those that are done, and another has those of one user."""
    change = operation(ref("Item"), body=record(done="boolean"))
    paths = {
        "/items": {"get": operation(many(ref("Item")), query={"done": {"type": "boolean", "default": False}})},
        "/items/{id}": {"get": operation(ref("Item")), "patch": change},
        "/items/mine": {"get": operation(many(ref("Item")))},
    }
    (tmp_path / "small.yaml").write_text(made(paths, {"Item": ITEM}).text, "utf-8")
    api.write(api.load(tmp_path / "small.yaml"), tmp_path)
    sys.path.insert(0, str(tmp_path))
    yield importlib.import_module("small")
    sys.path.remove(str(tmp_path))
    for name in [module for module in sys.modules if module.partition(".")[0] == "small"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"operationId": "read_flows_flows_filter_post", "summary": "Read Flows"},
        {"answer": record(count="integer", results=many(ref("Flow")))},
    ],
)
def test_list_endpoints_list_by_post_is_a_read_to_be_checked(more: dict[str, Any]) -> None:
    """A POST that is called like a read and returns a list of entities has no side effect, and its body is its key."""
    endpoint, said = by_post(**more)
    assert (endpoint["side_effect"], endpoint["request"]) == (False, {"in_key": True})
    assert said == "check: its name says that it reads"
    held = endpoint["schema"] if "answer" not in more else endpoint["schema"]["results"]
    assert held == ["Flow"]  # nothing is added to a list that a body selects


@pytest.mark.parametrize(
    "more",
    [
        {"operationId": "bulk_delete_flows"},
        {"summary": "Find flows and update them"},
        {"operationId": "listOrCreate"},
        {"status": "201"},
        {"answer": ref("Flow")},
        {"answer": many({"type": "string"})},
        {"body": ref("Flow")},
    ],
)
def test_list_endpoints_post_that_may_change_something_is_a_change(more: dict[str, Any]) -> None:
    """A changing verb, another status than 200, another response than a list or an entity as body make it a change."""
    endpoint, _ = by_post(**more)
    assert "side_effect" not in endpoint


def test_list_endpoints_post_not_called_like_a_read_is_a_change() -> None:
    """A POST that is not called like a read is a change, whatever it returns."""
    paths = {
        "/flows/{id}": {"get": operation(ref("Flow"))},
        "/flows/start": {"post": operation(many(ref("Flow")), body=record(a="string"))},
    }
    found = spec(paths, {"Flow": record("id", id="string")})
    assert "side_effect" not in found["resources"]["flows"]["endpoints"]["start"]


@pytest.mark.parametrize(
    ("description", "vague"),
    [
        ("Whether it is done", False),
        ("The owner, by its id", False),
        ("Whether to include done ones", True),
        ("Those whose title contains it", True),
        ("A prefix of the name", True),
        ("Rank of at least this", True),
        ("Created after this day", True),
        ("A regex", True),
    ],
)
def test_list_endpoints_filter_described_as_no_equality_is_unknown(description: str, vague: bool) -> None:
    """A filter that is called like a field says `filter: unknown` where its description names another comparison."""
    done = {"name": "done", "in": "query", "schema": {"type": "boolean"}, "description": description}
    other = {"name": "q", "in": "query", "schema": {"type": "string"}, "description": "Title contains it"}
    answer = record("id", id="string", done="boolean")
    paths = {
        "/flows": {"get": operation(many(ref("Flow")), parameters=[done, other])},
        "/flows/{id}": {"get": operation(ref("Flow"))},
    }
    params = spec(paths, {"Flow": answer})["resources"]["flows"]["search_params"]
    written = {"type": "boolean?", "description": description}
    assert params["done"] == ({**written, "filter": "unknown"} if vague else written)
    assert "filter" not in params["q"]  # it is no field, so it selects nothing exactly anyway


def test_list_endpoints_parameters_of_the_list_are_of_the_resource() -> None:
    """Query parameters of a list are the resource's; a server's default goes to the description."""
    limit = {"type": "integer", "default": 20, "maximum": 99}
    paths = {
        "/orders": {"get": operation(many(ORDER), query={"state": "string", "limit": limit})},
        "/orders/{id}": {"get": operation(ORDER, query={"expand": "string"})},
    }  # fmt: skip
    found = spec(paths)["resources"]["orders"]
    assert found["search_params"] == {
        "state": "string?", "limit": {"type": "integer?", "description": "At most 99. The server's default: 20."},
    }  # fmt: skip
    assert found["collection"] == {"non_filter_arguments": ["limit"]}
    assert found["endpoints"] == {"get": {"search_params": {"expand": "string?"}}}


def test_list_endpoints_default_that_is_another_than_that_of_get_is_sent() -> None:
    """A list that leaves something out by default, which `get` has, does not return the records of `get`."""
    hydrate = {"type": "boolean", "default": False}
    paths = {
        "/orders": {"get": operation(many(ORDER), query={"hydrate": hydrate})},
        "/orders/{id}": {"get": operation(ORDER, query={"hydrate": {**hydrate, "default": True}})},
    }
    found = spec(paths)["resources"]["orders"]
    assert found["search_params"] == {"hydrate": {"type": "boolean?", "default": False}}
    described = {"type": "boolean?", "description": "The server's default: true."}
    assert found["endpoints"] == {"get": {"search_params": {"hydrate": described}}}


@pytest.mark.parametrize(
    ("path", "sent", "reads"),
    [
        ("/things/count", {"name": "string"}, True),
        ("/things/count", {"other": "string"}, False),
        ("/visits/count", {"name": "string"}, False),
    ],
)
def test_list_endpoints_count_beside_a_list_by_post_is_a_read(path: str, sent: Any, reads: bool) -> None:
    """What it gives has no records, so that it is asked each time; any other number may count something up."""
    result = made(
        {
            "/things/{id}": {"get": operation(ref("Thing"))},
            "/things/filter": {
                "post": operation(
                    many(ref("Thing")), body=body_of(name="string", limit="integer"), operationId="filter"
                )
            },
            path: {"post": operation({"type": "integer"}, body=body_of(**sent), operationId="countThem")},
        },
        {"Thing": record("id", id="string")},
    )
    found = [each["endpoints"] for each in whole(result)["resources"].values() if "endpoints" in each]
    (endpoint,) = (each["count_them"] for each in found if "count_them" in each)
    assert ("side_effect" in endpoint) is reads
    assert endpoint.get("options") == ({"data_expiry_length": 0} if reads else None)


def test_list_endpoints_filter_by_an_enum_with_all_is_unknown() -> None:
    """The value `all` selects by no field."""
    result = listed(ITEM, query={"state": {"type": "string", "enum": ["open", "closed", "all"]}})
    assert written(result, "resources", "items", "search_params", "state")["filter"] == "unknown"


@pytest.mark.parametrize(
    ("schema", "arranges"),
    [({"type": "string", "enum": ["asc", "desc"]}, True), ({"type": "string", "enum": ["in", "out"]}, False)],
)
def test_list_endpoints_direction_is_an_order_if_its_values_are(schema: Any, arranges: bool) -> None:
    """`direction` is an order if its values are, and else a filter: messages come in and go out."""
    found = written(listed(ITEM, query={"direction": schema}), "resources", "items")
    assert ("collection" in found) is arranges


@pytest.mark.parametrize(
    ("get", "follows"),
    [
        ({}, True),
        ({"query": {"done": {"type": "boolean", "default": False}}}, False),
        ({"query": {"state": {"type": "string", "enum": ["open", "closed"]}}}, True),
        ({"description": "By default, only open items are returned."}, False),
        ({"query": {"hidden": {"type": "boolean", "default": False}}}, False),
        ({"query": {"state": {"type": "string", "enum": ["open", "closed", "all"]}}}, False),
        ({"query": {"state": {"type": "string", "enum": ["open", "all"], "default": "all"}}}, True),
        ({"query": {"limit": {"type": "integer", "default": 10}}}, True),
    ],
)
def test_list_endpoints_list_that_selects_by_default_follows_nothing(get: Any, follows: bool) -> None:
    """Which records a list has without arguments is certain only if nothing selects them by default."""
    found = written(listed(ITEM, **get), "resources", "items")
    assert ("follow" not in found.get("collection", {})) is follows
    assert follows or found["collection"]["follow"] is False


def test_list_endpoints_list_below_no_parent_follows_nothing() -> None:
    """`/account/cards` has the cards of one's own account, and `/accounts/{account}/cards` those of any."""
    card = record("id", "account", id="string", account="string")
    paths: dict[str, Any] = {}
    for list_ in ("/account/cards", "/accounts/{account}/cards"):
        paths[list_] = {"get": operation(many(ref("Card")))}
        paths[f"{list_}/{{card_id}}"] = {"get": operation(ref("Card"))}
    found = written(made(paths, {"Card": card}), "resources")
    settings = {resource["path"]: resource.get("collection") for resource in found.values()}
    assert settings == {"/account/cards/:id": {"follow": False}, "/accounts/:account/cards/:id": None}


def test_list_endpoints_filter_by_a_member_set_sometimes_is_unknown() -> None:
    """A subscription to several plans has no `plan`, and is selected by each of them."""
    text = "Only set if the subscription has a single plan."
    item = record("id", "done", id="integer", done={"type": "boolean", "description": text})
    assert written(listed(item, query={"done": "boolean"}), "resources", "items", "search_params", "done") == {
        "type": "boolean?",
        "filter": "unknown",
    }


def test_list_endpoints_list_that_follows_nothing_is_requested_again(package: Any) -> None:
    """An item that is done leaves the list that hides it: the list is requested again, and not shown as it was."""
    items = {1: {"id": 1, "done": False, "state": "open"}, 2: {"id": 2, "done": False, "state": "open"}}
    sent: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.method} {request.url.path}")
        if request.method == "PATCH":
            items[int(request.url.path.rpartition("/")[2])] |= json.loads(request.content)
        shown = [each for each in items.values() if not each["done"]]
        one = request.url.path.rpartition("/")[2]
        return httpx.Response(200, json=items[int(one)] if one.isdecimal() else shown)

    with httpx.Client(transport=httpx.MockTransport(serve)) as transport:
        with package.Small(client=transport) as client:
            assert [each.id for each in client.items.get_list()] == [1, 2]
            assert [each.id for each in client.items.mine()] == [1, 2]
            client.items.partial_update(id="1", body={"done": True})
            assert [each.id for each in client.items.get_list()] == [2]
            assert [each.id for each in client.items.mine()] == [2]
    assert sent == ["GET /items", "GET /items/mine", "PATCH /items/1", "GET /items", "GET /items/mine"]


def test_list_endpoints_component_of_several_lists_is_a_doubt() -> None:
    """Some documents have one component for lists of different records: that of the last one, called `Vec`."""
    base = record("id", "name", id="string", name="string")
    item = record("id", "name", "size", id="string", name="string", size="integer")
    paths = {
        "/bases": {"get": operation(ref("Vec"))},
        "/bases/{id}": {"get": operation(ref("Base"))},
        "/sets": {"get": operation(ref("Vec"))},
        "/sets/{id}": {"get": operation(ref("Set"))},
    }
    result = made(paths, {"Base": base, "Set": item, "Vec": many(item)})
    doubt = "check: Vec is the response of several lists"
    assert comment(result, "resources.bases.path") == f"{doubt} (get_list)"
    assert comment(result, "resources.sets.endpoints.get_list") == doubt
    del paths["/sets"]
    assert "Vec" not in str(made(paths, {"Base": base, "Set": item, "Vec": many(item)}).tree.comments)


def test_list_endpoints_calls_that_headers_alone_tell_apart_stay_mutations() -> None:
    """No key holds a static header, so of several operations at one path none is taken for a read."""

    def call(name: str, result: str) -> dict[str, Any]:
        target = {"name": "X-Target", "in": "header", "required": True, "schema": {"type": "string", "enum": [name]}}
        return {"post": operation({"type": result}, operationId=name, parameters=[target])}

    text = made({"/#X-Target=GetA": call("GetA", "string"), "/#X-Target=GetB": call("GetB", "integer")}).text
    assert "side_effect" not in text
    assert ("X-Target: GetA" in text, "X-Target: GetB" in text) == (True, True)
