"""What decides about identity, lists, filters and pages is written without `check:` only if the document says it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.openapi.small import made, many, operation, record, ref

from restencil_generator import api
from restencil_generator.openapi.infer.build import Made

ITEM = record("id", "done", id="integer", done="boolean", state={"type": "string", "enum": ["open", "closed"]})


def comment(result: Made, *node: str) -> str:
    """The comment on a node."""
    return result.tree.comments.get(node, "")


def listed(schema: Any, **get: Any) -> Made:
    """What an import makes of a list of items and of one of them; `get` is said of the list."""
    paths = {"/items": {"get": operation(many(ref("Item")), **get)}, "/items/{id}": {"get": operation(ref("Item"))}}
    return made(paths, {"Item": schema})


def written(result: Made, *node: str) -> Any:
    """What is written of a node; of the whole spec without one."""
    return result.tree.get(node)


def parameter(name: str, **schema: Any) -> dict[str, Any]:
    """A query parameter; `description` is its own."""
    description = schema.pop("description", "")
    return {"name": name, "in": "query", "description": description, "schema": schema}


# --------------------------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize(
    ("page", "start", "checked"),
    [
        ({"type": "integer"}, None, "check: page is taken to begin at 1"),
        ({"type": "integer", "default": 1}, None, ""),
        ({"type": "integer", "minimum": 1}, None, ""),
        ({"type": "integer", "exclusiveMinimum": 0}, None, ""),
        ({"type": "integer", "default": 0}, 0, ""),
    ],
)
def test_pagination_first_page_is_declared_or_to_be_checked(page: Any, start: int | None, checked: str) -> None:
    """A page parameter that declares no first number is taken to begin at 1, which is to be checked."""
    result = listed(ITEM, query={"page": page})
    pagination = written(result, "resources", "items", "pagination")
    assert pagination == {"style": "page"} | ({} if start is None else {"start": start})
    assert comment(result, "resources", "items", "pagination") == checked


@pytest.mark.parametrize(
    ("name", "schema", "pagination", "checked"),
    [
        ("offset", {"type": "integer"}, {"style": "offset"}, ""),
        ("startIndex", {"type": "integer"}, {"style": "offset"}, "check: startIndex is taken to begin at 0"),
        ("startIndex", {"type": "integer", "default": 1}, {"style": "offset", "start": 1}, ""),
        ("offset", {"type": "string"}, None, ""),
    ],
)
def test_pagination_offset_is_a_number_of_items(name: str, schema: Any, pagination: Any, checked: str) -> None:
    """A string is no offset, and what is called a start may count from 1."""
    result = listed(ITEM, query={name: schema})
    assert written(result, "resources", "items").get("pagination") == pagination
    assert comment(result, "resources", "items", "pagination") == checked


@pytest.mark.parametrize(
    ("description", "pagination", "checked"),
    [
        ("The id of the last item of the page before", {"style": "cursor", "next": "last.id"}, "the last item's key"),
        ("", {"style": "cursor", "next": "last.id"}, "check: the last item's key is taken for it"),
        ("Refer to the `link` header for the next cursor", {"style": "link"}, ""),
    ],
)
def test_pagination_cursor_without_a_member_in_the_response(description: str, pagination: Any, checked: str) -> None:
    """The last item's key is the cursor if the description says so; a `Link` header has it if that is referred to."""
    result = listed(ITEM, parameters=[parameter("after", type="string", description=description)])
    assert written(result, "resources", "items", "pagination") == pagination
    assert comment(result, "resources", "items", "pagination") == checked


def test_pagination_cursor_is_no_url() -> None:
    """Where the member beside a cursor is declared to be a URL, the next page is requested at it."""
    answer = record(results=many(ref("Item")), next={"type": "string", "format": "uri"})
    paths = {
        "/items": {"get": operation(answer, query={"cursor": "string"})},
        "/items/{id}": {"get": operation(ref("Item"))},
    }
    found = written(made(paths, {"Item": ITEM}), "resources", "items")
    assert (found["pagination_field"], found["pagination"]) == ("cursor", {"style": "url", "next": "next"})


def test_pagination_pages_that_are_not_full_are_to_be_checked() -> None:
    """An offset that counts what was looked at, and not what was returned, is to be checked."""
    text = "This usually returns fewer items than specified in `limit`."
    result = listed(ITEM, query={"offset": "integer"}, description=text)
    assert "check: a page that is not full" in comment(result, "resources", "items", "pagination")


# ------------------------------------------------------------------------------------------------------ filters, order


def test_filter_by_an_enum_with_all_is_unknown() -> None:
    """The value `all` selects by no field."""
    result = listed(ITEM, query={"state": {"type": "string", "enum": ["open", "closed", "all"]}})
    assert written(result, "resources", "items", "search_params", "state")["filter"] == "unknown"


@pytest.mark.parametrize(
    ("schema", "arranges"),
    [({"type": "string", "enum": ["asc", "desc"]}, True), ({"type": "string", "enum": ["in", "out"]}, False)],
)
def test_filter_direction_may_be_one(schema: Any, arranges: bool) -> None:
    """`direction` is an order if its values are, and else a filter: messages come in and go out."""
    found = written(listed(ITEM, query={"direction": schema}), "resources", "items")
    assert ("collection" in found) is arranges


# --------------------------------------------------------------------------------------------- what follows in lists


@pytest.mark.parametrize(
    ("get", "follows"),
    [
        ({}, True),
        ({"query": {"done": {"type": "boolean", "default": False}}}, False),
        ({"query": {"state": {"type": "string", "enum": ["open", "closed"]}}}, True),
        ({"description": "By default, only open items are returned."}, False),
        ({"query": {"hidden": {"type": "boolean", "default": False}}}, False),
        ({"query": {"limit": {"type": "integer", "default": 10}}}, True),
    ],
)
def test_list_that_selects_by_default_follows_nothing(get: Any, follows: bool) -> None:
    """Which records a list has without arguments is certain only if nothing selects them by default."""
    found = written(listed(ITEM, **get), "resources", "items")
    assert ("follow" not in found.get("collection", {})) is follows
    assert follows or found["collection"]["follow"] is False


def test_list_besides_that_of_the_resource_follows_nothing() -> None:
    """`/mine` has some of the items: which of them only the server knows."""
    paths = {
        "/items": {"get": operation(many(ref("Item")))},
        "/items/{id}": {"get": operation(ref("Item"))},
        "/items/mine": {"get": operation(many(ref("Item")))},
    }
    endpoints = written(made(paths, {"Item": ITEM}), "resources", "items", "endpoints")
    assert endpoints["mine"]["schema"] == {"collection": ["Item"], "follow": False}


def test_list_below_no_parent_follows_nothing_if_records_are_listed_below_one() -> None:
    """`/account/cards` has the cards of one's own account, and `/accounts/{account}/cards` those of any."""
    card = record("id", "account", id="string", account="string")
    paths: dict[str, Any] = {}
    for list_ in ("/account/cards", "/accounts/{account}/cards"):
        paths[list_] = {"get": operation(many(ref("Card")))}
        paths[f"{list_}/{{card_id}}"] = {"get": operation(ref("Card"))}
    found = written(made(paths, {"Card": card}), "resources")
    settings = {resource["path"]: resource.get("collection") for resource in found.values()}
    assert settings == {"/account/cards/:id": {"follow": False}, "/accounts/:account/cards/:id": None}


def test_filter_by_a_member_that_is_set_sometimes_is_unknown() -> None:
    """A subscription to several plans has no `plan`, and is selected by each of them."""
    text = "Only set if the subscription has a single plan."
    item = record("id", "done", id="integer", done={"type": "boolean", "description": text})
    assert written(listed(item, query={"done": "boolean"}), "resources", "items", "search_params", "done") == {
        "type": "boolean?",
        "filter": "unknown",
    }


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


def test_list_that_follows_nothing_is_requested_after_a_change(package: Any) -> None:
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


# ---------------------------------------------------------------------------------------------------------- identity


def test_key_id_of_a_record_is_not_that_of_its_parent() -> None:
    """In `/projects/{id}/issues/{iid}`, the member `id` of an issue is its own, and the list is not one of that id."""
    issue = record("id", "iid", id="integer", iid="integer")
    paths = {
        "/projects/{id}/issues": {"get": operation(many(issue))},
        "/projects/{id}/issues/{iid}": {"get": operation(issue)},
    }
    result = made(paths)
    assert written(result, "resources", "issues", "path") == "/projects/:project_id/issues/:iid"
    assert written(result, "entities", "Issue", "pk") == ["id_param", "iid"]
    assert comment(result, "entities", "Issue", "pk").startswith("check:")


def test_key_that_every_record_has_goes_before_one_that_some_lack() -> None:
    """An optional `option_id` is a reference to another option, where `id` is required."""
    option = record("id", id="string", option_id="string")
    result = made({"/options": {"get": operation(many(option))}, "/options/{option_id}": {"get": operation(option)}})
    assert "pk" not in written(result, "entities", "Option")


def test_key_may_count_per_required_query_parameter() -> None:
    """A query parameter that an item needs may be part of its key."""
    item = record("key", key="string", value="string")
    query = [{**parameter("accountId", type="string"), "required": True}]
    paths = {
        "/health": {"get": operation()},
        "/users": {"get": operation()},
        "/properties/{key}": {"get": operation(item, parameters=query)},
    }
    assert comment(made(paths), "entities", "Property", "pk").endswith("; check: it may count per {accountId}")


def test_singleton_whose_query_names_the_record_is_none() -> None:
    """`/group?name=a` and `/group?name=b` are two groups; and what lists hold is no single record."""
    group = record("name", name="string", size="integer")
    by_query = {"/group": {"get": operation(group, query={"name": "string"}), "delete": operation(status="204")}}
    assert "entities" not in written(made(by_query))
    in_list = {
        "/group": {"get": operation(ref("Group")), "delete": operation(status="204")},
        "/groups": {"get": operation(many(ref("Group")))},
    }
    assert "entities" not in written(made(in_list, {"Group": group}))


def test_records_keyed_by_the_path_are_not_those_of_another_path() -> None:
    """The discount of a subscription is not that of its customer, and a copy inside a customer is no record."""
    discount, customer = record(coupon="string"), record("id", id="string", discount=ref("Discount"))
    single = {"get": operation(ref("Discount")), "delete": operation(status="204")}
    paths = {
        "/customers/{customer}": {"get": operation(ref("Customer"))},
        "/customers/{customer}/discount": dict(single),
        "/customers/{customer}/subscriptions/{subscription}/discount": dict(single),
    }
    found = written(made(paths, {"Discount": discount, "Customer": customer}))
    pks = {name: entity.get("pk", "id") for name, entity in found["entities"].items()}
    assert pks == {
        "Customer": "id",
        "Discount": "customer",
        "CustomerSubscriptionDiscount": ["customer", "subscription"],
    }
    assert found["entities"]["Customer"]["fields"]["discount"] == "DiscountData?"


def test_records_that_count_per_parent_are_of_one_list() -> None:
    """Secrets of one component at two lists of a repository are two, and those of a third list are to be checked."""
    secret = record("name", name="string")
    paths: dict[str, Any] = {}
    for list_ in ("/repos/{repo}/actions/secrets", "/repos/{repo}/agents/secrets"):
        paths[list_] = {"get": operation(many(ref("Secret")))}
        paths[f"{list_}/{{name}}"] = {"get": operation(ref("Secret"))}
    paths["/repos/{repo}/organization-secrets"] = {"get": operation(many(ref("Secret")))}
    result = made(paths, {"Secret": secret})
    assert list(written(result, "entities")) == ["AgentSecret", "Secret"]
    checks = {path: text for path, text in result.tree.checks() if path[-1] == "schema"}
    assert list(checks.values()) == ["taken for the Secret of {repo}"]


def test_lookup_with_a_query_is_to_be_checked() -> None:
    """A record that is found by a checksum and a version is not found by its checksum alone."""
    paths = {
        "/schemas/{id}": {"get": operation(ref("Schema"))},
        "/schemas/checksum/{checksum}": {"get": operation(ref("Schema"), query={"version": "string"})},
    }
    result = made(paths, {"Schema": record("id", "checksum", id="string", checksum="string")})
    assert [text for _, text in result.tree.checks()] == ["version may select the record too"]


@pytest.mark.parametrize(
    ("name", "description", "doubt"),
    [
        ("org", "The name of the organization. It is not case sensitive.", "{org} has several spellings of one value"),
        ("org_id_or_key", "", "{org_id_or_key} has several spellings of one value"),
        ("org", "The name of the organization.", None),
    ],
)
def test_key_from_a_parameter_with_several_spellings_is_to_be_checked(
    name: str, description: str, doubt: str | None
) -> None:
    """Two spellings of an owner are two records of restencil, and one of the server."""
    owner = {"name": name, "in": "path", "required": True, "description": description, "schema": {"type": "string"}}
    secret = operation(record("name", name="string"), parameters=[owner])
    result = made({f"/orgs/{{{name}}}/secrets/{{name}}": {"get": secret}})
    assert [text for _, text in result.tree.checks()] == ([] if doubt is None else [doubt])


@pytest.mark.parametrize("path", ["/runs/{id}/attempts/{number}", "/runs/{id}/draft"])
def test_record_below_its_own_path_may_be_another_version(path: str) -> None:
    """What is returned below an item and has its component may be an older state of it."""
    result = made(
        {"/runs/{id}": {"get": operation(ref("Run"))}, path: {"get": operation(ref("Run"))}},
        {"Run": record("id", id="string", status="string")},
    )
    assert [text for _, text in result.tree.checks()] == ["it may be another version of the record"]


def test_record_that_holds_a_list_is_no_list() -> None:
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


# -------------------------------------------------------------------------------------------------------------- deletes


@pytest.mark.parametrize(
    ("summary", "member", "checked"),
    [
        ("Delete an invitation", True, ""),
        ("Cancel an invitation", True, "check: its words do not say that the record is deleted"),
        ("Remove a user from a group", False, "check: taken for a change of the list"),
        ("", True, ""),
    ],
)
def test_delete_does_what_its_words_say(summary: str, member: bool, checked: str) -> None:
    """A DELETE that cancels may leave its record, and one that removes it from a parent leaves it elsewhere."""
    paths = {
        "/groups/{group}/users": {"get": operation(many(ref("User")))},
        "/groups/{group}/users/{id}": {"delete": operation(status="204", summary=summary, description="x")},
    }
    result = made(paths, {"User": record("id", id="string")})
    users = written(result, "resources", "users")
    assert ("delete" in users["members"]) is member
    assert [text for _, text in result.tree.comments.items() if text.startswith("check")] == [checked] * bool(checked)
