"""Resources: which paths are items, lists, singletons and groups, and what their standard members are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import ORDER, crud, made, many, operation, record, ref, spec, whole, written

from restencil_generator.spec.load import load_text


def members(**operations: Any) -> Any:
    """The resource of a list and an item with more operations: on the list where they begin with `list_`."""
    own = {name: each for name, each in operations.items() if not name.startswith("list_")}
    listed = {name.removeprefix("list_"): each for name, each in operations.items() if name.startswith("list_")}
    paths = crud("/orders", "id", ref("Order"), **own)
    paths["/orders"] |= listed
    return spec(paths, {"Order": ORDER, "Job": record("job", job="string", state="string")})["resources"]["orders"]


def test_resources_item_with_a_key_is_a_resource() -> None:
    """A path that ends in a parameter, whose GET returns one object with a key, is a resource."""
    found = spec({"/users/{id}": {"get": operation(record("id", id="string"))}})
    assert found["resources"] == {"users": {"path": "/users/:id", "schema": "User", "members": ["get"]}}


def test_resources_item_without_list_change_and_key_is_an_endpoint() -> None:
    """`/weather/{city}` without a list or a mutation is an endpoint."""
    found = spec({"/weather/{city}": {"get": operation(record(degrees="number"))}})
    assert found["resources"] == {
        "weather": {"endpoints": {"weather": {"path": "/weather/:city", "schema": "WeatherWeather"}}}
    }


def test_resources_item_without_get_is_one_if_its_list_has_the_key() -> None:
    """Without GET, an item with PUT, PATCH or DELETE is a resource where its list holds objects with the key."""
    paths = {"/users": {"get": operation(many(ref("User")))}, "/users/{user_id}": {"delete": operation(status="204")}}
    found = spec(paths, {"User": record("id", id="integer", name="string")})
    assert found["resources"] == {"users": {"path": "/users/:id", "schema": "User", "members": ["get_list", "delete"]}}
    scalars = {
        "/tags": {"get": operation(many({"type": "string"}))},
        "/tags/{tag}": {"delete": operation(status="204")},
    }
    assert "path" not in spec(scalars)["resources"]["tags"]


def test_resources_suffix_of_an_item_is_that_of_its_list() -> None:
    """The list of `/Accounts/{Sid}.json` is `/Accounts.json`."""
    paths = {"/Accounts.json": {"get": operation(many(ref("A")))}, "/Accounts/{Sid}.json": {"get": operation(ref("A"))}}
    found = spec(paths, {"A": record("sid", sid="string")})
    resource = found["resources"]["accounts"]
    assert resource["path"] == "/Accounts/:sid.json"
    assert resource["endpoints"]["get_list"] == {"path": "/Accounts.json"}


def test_resources_reserved_characters_of_a_path_are_escaped() -> None:
    """A colon is escaped, and so is a letter right after a parameter."""
    found = spec(
        {
            "/jobs/{id}": {"get": operation(record("id", id="string"))},
            "/jobs/{id}:cancel": {"post": operation()},
            "/weeks/{week}_raw": {"get": operation({"type": "string"})},
        }
    )
    assert found["resources"]["jobs"]["endpoints"]["cancel"]["path"] == "/jobs/:id\\:cancel"
    assert found["resources"]["weeks"]["endpoints"]["raw"]["path"] == "/weeks/:week\\_raw"


def test_resources_component_by_id_and_by_name_is_one_entity() -> None:
    """`/flows/name/{name}` is an endpoint of `/flows/{id}`, and its name is a string whatever the key is."""
    key = {"type": "string", "format": "uuid"}
    schemas = {"Flow": record("id", "name", id=key, name="string")}
    paths = {
        "/flows/": {"get": operation(many(ref("Flow"))), "post": operation(ref("Flow"), body=record(name="string"))},
        "/flows/{id}": {
            "get": operation(ref("Flow"), parameters=[{"name": "id", "in": "path", "required": True, "schema": key}])
        },
        "/flows/name/{name}": {"get": operation(ref("Flow"))},
    }
    found = spec(paths, schemas)
    assert list(found["entities"]) == ["Flow"]
    assert found["resources"]["flows"]["endpoints"]["name"] == {
        "path": "/flows/name/:name",
        "params": {"name": {"field": "name"}},
        "schema": "Flow",
    }


def test_resources_component_below_two_owners_has_the_key_of_a_path() -> None:
    """A resource whose path holds another field than the key of its component names that field."""
    team = record("id", "slug", id="integer", slug="string")
    paths = {
        "/teams/{team_id}": {"get": operation(ref("Team"))},
        "/orgs/{org}/teams": {"get": operation(many(ref("Team")))},
        "/orgs/{org}/teams/{team_slug}": {"get": operation(ref("Team")), "patch": operation(ref("Team"))},
    }
    found = spec(paths, {"Team": team})
    assert list(found["entities"]) == ["Team"]
    assert "pk" not in found["entities"]["Team"]
    nested = next(each for each in found["resources"].values() if each["path"].startswith("/orgs"))
    assert (nested["path"], nested["params"]) == ("/orgs/:org/teams/:team_slug", {"team_slug": {"field": "slug"}})
    assert nested["members"] == ["get", "get_list", "partial_update"]


@pytest.mark.parametrize("path", ["/me", "/users/me"])
def test_resources_entity_at_a_literal_is_a_singleton(path: str) -> None:
    """`/me` returns the entity of another resource, whose key it has."""
    found = spec(
        {**crud("/users", "id", ref("User")), path: {"get": operation(ref("User"))}},
        {"User": record("id", id="string")},
    )
    assert found["resources"]["me"] == {"path": path, "singleton": True, "schema": "User", "members": ["get"]}


def test_resources_literal_that_changes_is_a_singleton() -> None:
    """Its entity has the key `[]`, or the parameters of the path: the same component at two paths is two records."""
    answer = {"get": operation(ref("Setup")), "put": operation(ref("Setup"), body=ref("Setup"))}
    found = spec(
        {"/setup-of-all": answer, "/users/{user_id}/setup": dict(answer)}, {"Setup": record("dark", dark="boolean")}
    )
    assert found["resources"]["setup_of_all"]["singleton"] is True
    assert {name: entity["pk"] for name, entity in found["entities"].items()} == {
        "SetupData": [],
        "UserSetup": "user_id",
    }


def test_resources_singleton_is_found_in_responses_to_changes() -> None:
    """Without a key, a response with most of its members is it; a response that confirms is none."""
    settings = {"dark": "boolean", "name": "string", "lang": "string"}
    paths = {
        "/settings": {
            "get": operation(record(**settings)),
            "put": operation(record(**settings), body=record(**settings)),
            "patch": operation(record(ok="boolean"), body=record(**settings)),
        }
    }
    assert spec(paths)["resources"]["settings"] == {
        "path": "/settings", "singleton": True, "schema": "Setting", "members": ["get", "update", "partial_update"],
        "endpoints": {"partial_update": {"response": {"ignore": True}}},
    }  # fmt: skip


def test_resources_post_to_a_singleton_may_return_what_was_added_alone() -> None:
    """Documents give the component of `get` as its response, also where it contains only the members of the body."""
    urls = ref("Urls")
    paths = {"/urls": {"get": operation(urls), "put": operation(urls, body=urls), "post": operation(urls, body=urls)}}
    found = spec(paths, {"Urls": record("urls", urls="string", note="string")})
    (added,) = found["resources"]["urls"]["endpoints"].values()
    assert (added["method"], added["expires"]) == ("POST", ["self"])


def test_resources_singleton_may_be_in_an_envelope() -> None:
    """`{"data": {...}}` around what has no key is an envelope, in responses and requests."""
    wrapped = record(data=ref("Settings"))
    paths = {"/settings": {"get": operation(wrapped), "put": operation(wrapped, body=wrapped)}}
    found = spec(paths, {"Settings": record(dark="boolean", name="string")})
    assert list(next(iter(found["entities"].values()))["fields"]) == ["dark", "name"]
    resource = found["resources"]["settings"]
    assert resource["members"] == ["get", "update"]
    assert (resource["request"], resource["response"]) == ({"envelope": "data"}, {"envelope": "data"})


def test_resources_operation_below_is_of_the_deepest_resource() -> None:
    """Actions below an item and endpoints below a list are of that resource; lists of entities are collections."""
    paths = {
        **crud("/orders", "id", ref("Order")),
        "/orders/{id}/pay": {"post": operation(record(done="boolean"))},
        "/orders/stats": {"get": operation(many({"type": "string"}))},
        "/customers/{id}": {"get": operation(ref("Customer"))},
        "/customers/{id}/orders": {"get": operation(many(ref("Order")))},
    }
    found = spec(paths, {"Order": record("id", id="string"), "Customer": record("id", id="string")})["resources"]
    assert found["orders"]["endpoints"]["pay"] == {
        "method": "POST", "path": "/orders/:id/pay", "body": None, "schema": "OrderPay", "expires": ["self"],
    }  # fmt: skip
    assert found["orders"]["endpoints"]["stats"] == {"path": "/orders/stats", "schema": ["string"]}
    assert found["customers"]["endpoints"]["orders"] == {
        "path": "/customers/:customer_id/orders", "schema": {"collection": ["Order"]}, "members": [],
    }  # fmt: skip


def test_resources_response_of_a_delete_gives_no_fields() -> None:
    """`{"id": ..., "deleted": true}` is ignored: it gives no field, and makes none optional."""
    confirmed = record("id", id="string", deleted="boolean")
    paths = {"/users/{id}": {"get": operation(ref("User")), "delete": operation(confirmed)}}
    found = spec(paths, {"User": record("id", "name", id="string", name="string")})
    assert found["entities"]["User"] == {"fields": {"id": "string", "name": "string"}}
    assert found["resources"]["users"]["endpoints"] == {"delete": {"response": {"ignore": True}}}
    paths["/users/{id}"]["delete"] = operation(ref("User"))
    found = spec(paths, {"User": record("id", "name", id="string", name="string")})
    assert "endpoints" not in found["resources"]["users"]


def test_resources_list_below_has_only_declared_requests() -> None:
    """On a list of another resource's entities hang its pages, where it has them, and no request that nobody named."""
    paths = {
        **crud("/orders", "id", ref("Order")),
        "/customers/{id}": {"get": operation(ref("Customer"))},
        "/customers/{id}/orders": {"get": operation(many(ref("Order")), query={"page": "integer"})},
    }
    result = made(paths, {"Order": record("id", id="string"), "Customer": record("id", id="string")})
    assert whole(result)["resources"]["customers"]["endpoints"]["orders"]["members"] == ["get_page"]
    declared = load_text(result.text).declaration
    assert declared is not None
    methods = [endpoint.method for one in declared.resources.values() for _, endpoint in one.all_endpoints()]
    assert set(methods) == {"GET"}


@pytest.mark.parametrize(
    ("path", "tags", "group", "endpoint"),
    [
        ("/chat.postMessage", ["x"], "chat", "post_message"),
        ("/ping", ["Health checks", "y"], "health_checks", "ping"),
        ("/v1/ping/now", [], "ping", "now"),
        ("/{x}", [], "small", "get"),
    ],
)
def test_resources_other_operation_is_in_a_group(path: str, tags: list[str], group: str, endpoint: str) -> None:
    """What is of no resource is in a group: by the path before a dot, the first tag, the first literal, the package."""
    found = spec({path: {"get": operation({"type": "string"}, tags=tags)}})["resources"]
    assert list(found) == [group]
    assert list(found[group]["endpoints"]) == [endpoint]


def test_resources_api_of_procedures_is_a_finding() -> None:
    """Where no resource is found, a note says so."""
    result = made({"/a.b": {"get": operation()}, "/a.c": {"get": operation()}, "/d.e": {"get": operation()}})
    assert [each.message for each in result.document.findings if each.code == "no-resources"] == [
        "no path identifies a record; all operations are endpoints of groups"
    ]


def test_resources_members_are_written_unless_all_exist() -> None:
    """`members` is written unless all that fit exist; `unshift` goes with `push`."""
    body: Any = {"body": ref("Order")}
    every = members(
        list_post=operation(ref("Order"), **body), put=operation(ref("Order"), **body),
        patch=operation(ref("Order"), **body), delete=operation(status="204"),
    )  # fmt: skip
    assert every == {"path": "/orders/:id", "schema": "Order"}
    assert members(list_post=operation(ref("Order"), **body))["members"] == ["get", "get_list", "push", "unshift"]


def test_resources_response_without_the_entity_is_ignored() -> None:
    """A response like `{"ok": true}` to PUT or PATCH, or a text to DELETE, says nothing of the entity."""
    ok, text = record(ok="boolean"), {"type": "string"}
    found = members(put=operation(ok, body=ref("Order")), delete=operation(text))
    assert found["endpoints"] == {"update": {"response": {"ignore": True}}, "delete": {"response": {"ignore": True}}}


@pytest.mark.parametrize("null", [False, True])
def test_resources_get_that_may_return_nothing_is_optional(null: bool) -> None:
    """A 204 beside the record, or null in its place, is no error of `get`."""
    get = operation({"anyOf": [ref("Order"), {"type": "null"}]} if null else ref("Order"))
    if not null:
        get["responses"]["204"] = {"description": ""}
    paths = {
        "/orders": {"get": operation(many(ref("Order")))},
        "/orders/{id}": {"get": get, "delete": operation(status="204")},
        "/orders/current": {"get": get},
    }
    found: Any = made(paths, {"Order": record("id", id="integer", name="string")}).tree.value["resources"]
    assert {name: each["endpoints"] for name, each in found.items()} == {
        "current": {"get": {"schema": "Order?"}},
        "orders": {"get": {"schema": "Order?"}},
    }


def test_resources_post_on_an_item_without_patch_is_partial_update() -> None:
    """A POST on an item that returns the entity is `partial_update` where there is no PATCH."""
    assert members(post=operation(ref("Order"), body=ref("Order")))["endpoints"] == {
        "partial_update": {"method": "POST"}
    }


def test_resources_change_with_another_response_is_an_endpoint() -> None:
    """A change with another response is an endpoint, after which item or list are stale; that is to be checked."""
    found = members(
        put=operation(ref("Job"), body=ref("Order"), operationId="replaceOrder"),
        list_post=operation(ref("Job"), body=ref("Order"), operationId="createOrder"),
    )["endpoints"]
    assert found["replace"] == {
        "method": "PUT", "path": "/orders/:id", "body": "Order", "schema": "Job", "expires": ["self"],
    }  # fmt: skip
    assert found["create"]["expires"] == ["get_list"]


def test_resources_two_resources_share_an_entity_of_one_key() -> None:
    """One component is one entity."""
    schemas = {"User": record("id", "name", id="string", name="string")}
    paths = {"/users/{id}": {"get": operation(ref("User"))}, "/members/{id}": {"get": operation(ref("User"))}}
    assert list(spec(paths, schemas)["entities"]) == ["User"]


def test_resources_path_by_another_field_is_an_endpoint() -> None:
    """A change by name is no second resource; it says which field its parameter holds."""
    thing, patch = record("id", "name", id="string", name="string"), record(name="string")
    result = made(
        {
            "/things/{id}": {"get": operation(ref("Thing"), operationId="getThing")},
            "/things/name/{name}": {
                "get": operation(ref("Thing"), operationId="getByName"),
                "patch": operation(body=patch, status="204", operationId="updateByName"),
                "delete": operation(status="204", operationId="deleteByName"),
            },
            "/owners/{owner}/things/{thing_name}": {"get": operation(ref("Thing"), operationId="getOfOwner")},
        },
        {"Thing": thing},
    )
    resources = whole(result)["resources"]
    assert list(resources) == ["things"] and list(whole(result)["entities"]) == ["Thing"]
    endpoints = resources["things"]["endpoints"]
    assert {name: endpoint["params"] for name, endpoint in endpoints.items()} == {
        "delete_by_name": {"name": {"field": "name"}},
        "get_by_name": {"name": {"field": "name"}},
        "get_of_owner": {"thing_name": {"field": "name"}},
        "update_by_name": {"name": {"field": "name"}},
    }
    checked = {path[-1]: text for path, text in result.tree.comments.items() if "params" in path}
    assert checked == {
        "name": "check: field: another path counts it per {owner}",
        "thing_name": "check: field: counts per {owner}",
    }


def test_resources_delete_of_a_relation_changes_the_list_alone() -> None:
    """Taking a user out of a team leaves the user in all other lists."""
    user = record("login", login="string", name="string")
    result = made(
        {
            "/users": {"get": operation(many(ref("User")))},
            "/users/{login}": {"get": operation(ref("User")), "delete": operation(status="204")},
            "/teams/{team}/members": {"get": operation(many(ref("User")))},
            "/teams/{team}/members/{login}": {
                "put": operation(status="204", operationId="addMember"),
                "delete": operation(status="204", operationId="removeMember"),
            },
        },
        {"User": user},
    )
    resources = whole(result)["resources"]
    assert "delete" in resources["users"]["members"]
    members = resources["members"]
    assert members["members"] == ["get_list"]
    assert {
        name: endpoint.get("expires") for name, endpoint in members["endpoints"].items() if "method" in endpoint
    } == {
        "add": ["get_list"],
        "remove": ["get_list"],
    }
    assert "check: taken for a change of the list" in result.text


def test_resources_change_expires_a_list_without_records() -> None:
    """No change of a record follows in such a list, so that it is asked again."""
    rows = record(rows=many({"type": "object"}), total="integer")
    result = made(
        {
            "/tasks": {"get": operation(rows), "post": operation(ref("Task"), status="201", operationId="createTask")},
            "/tasks/{id}": {
                "get": operation(ref("Task")),
                "delete": operation(status="204"),
                "patch": operation(ref("Task"), body=record(name="string")),
            },
            "/tasks/{id}/notes": {"post": operation(ref("Task"), operationId="addNote")},
        },
        {"Task": record("id", id="integer", name="string")},
    )
    endpoints = whole(result)["resources"]["tasks"]["endpoints"]
    assert {name: endpoint.get("expires") for name, endpoint in endpoints.items() if name != "get_list"} == {
        "add_note": ["get_list"],
        "create": ["get_list"],
        "delete": ["get_list"],
        "partial_update": ["get_list"],
    }


def test_resources_singleton_whose_query_names_the_record_is_none() -> None:
    """`/group?name=a` and `/group?name=b` are two groups; and what lists hold is no single record."""
    group = record("name", name="string", size="integer")
    by_query = {"/group": {"get": operation(group, query={"name": "string"}), "delete": operation(status="204")}}
    assert "entities" not in written(made(by_query))
    in_list = {
        "/group": {"get": operation(ref("Group")), "delete": operation(status="204")},
        "/groups": {"get": operation(many(ref("Group")))},
    }
    assert "entities" not in written(made(in_list, {"Group": group}))


def test_resources_lookup_with_a_query_is_to_be_checked() -> None:
    """A record that is found by a checksum and a version is not found by its checksum alone."""
    paths = {
        "/schemas/{id}": {"get": operation(ref("Schema"))},
        "/schemas/checksum/{checksum}": {"get": operation(ref("Schema"), query={"version": "string"})},
    }
    result = made(paths, {"Schema": record("id", "checksum", id="string", checksum="string")})
    assert [text for _, text in result.tree.checks()] == ["version may select the record too"]


def test_resources_records_below_a_time_are_to_be_checked() -> None:
    """What a budget was in a month has the component and the key of the budget, and is not the budget of today."""
    budget = record("id", id="string", spent="integer")
    month = {
        **record("month", month="string"),
        "properties": {"month": {"type": "string"}, "budgets": many(ref("Budget"))},
    }
    result = made(
        {
            "/budgets/{id}": {"get": operation(ref("Budget"))},
            "/months/{month}": {"get": operation(ref("Month"))},
            "/months/{month}/budgets/{id}": {"get": operation(ref("Budget"))},
        },
        {"Budget": budget, "Month": month},
    )
    assert {path for path, text in result.tree.checks() if text == "it may be another version of the record"} == {
        ("entities", "Month", "fields", "budgets"),
        ("resources", "month_budgets", "schema"),
    }


@pytest.mark.parametrize("path", ["/runs/{id}/attempts/{number}", "/runs/{id}/draft"])
def test_resources_record_below_its_own_path_is_to_be_checked(path: str) -> None:
    """What is returned below an item and has its component may be an older state of it."""
    result = made(
        {"/runs/{id}": {"get": operation(ref("Run"))}, path: {"get": operation(ref("Run"))}},
        {"Run": record("id", id="string", status="string")},
    )
    assert [text for _, text in result.tree.checks()] == ["it may be another version of the record"]


@pytest.mark.parametrize(
    ("summary", "member", "checked"),
    [
        ("Delete an invitation", True, ""),
        ("Cancel an invitation", True, "check: its words do not say that the record is deleted"),
        ("Remove a user from a group", False, "check: taken for a change of the list"),
        ("", True, ""),
    ],
)
def test_resources_delete_does_what_its_summary_says(summary: str, member: bool, checked: str) -> None:
    """A DELETE that cancels may leave its record, and one that removes it from a parent leaves it elsewhere."""
    paths = {
        "/groups/{group}/users": {"get": operation(many(ref("User")))},
        "/groups/{group}/users/{id}": {"delete": operation(status="204", summary=summary, description="x")},
    }
    result = made(paths, {"User": record("id", id="string")})
    users = written(result, "resources", "users")
    assert ("delete" in users["members"]) is member
    assert [text for _, text in result.tree.comments.items() if text.startswith("check")] == [checked] * bool(checked)


@pytest.mark.parametrize(
    ("texts", "checked"),
    [
        ({"summary": "Get an order", "description": "Retrieve an order and set its state.\nMuted or not."}, True),
        ({"operationId": "resetOrder"}, True),
        ({"summary": "Logout", "description": "Logout the user."}, True),
        ({"summary": "Get an order", "operationId": "createOrGet"}, False),
        ({"summary": "Get an order", "description": "Its state is one of (open, set)."}, False),
        ({"description": "To show an order, send a GET request to it."}, False),
    ],
)
def test_resources_get_that_changes_its_record_is_to_be_checked(texts: Any, checked: bool) -> None:
    """A GET whose words say that it changes something is a read with a mark."""
    result = made({"/orders/{id}": {"get": operation(ref("Order"), **texts)}}, {"Order": ORDER})
    found = [text.removesuffix(" (get)") for _, text in result.tree.checks()]
    assert found == ["its words say that it changes something"] * checked


def test_resources_marks_of_several_members_without_settings_all_stand() -> None:
    """A read that may change something and a DELETE that may not delete are both marked at the path."""
    get, delete = operation(ref("Order"), operationId="setOrder"), operation(status="204", operationId="cancelOrder")
    paths = {"/orders/{id}": {"get": get, "delete": delete}}
    result = made(paths, {"Order": ORDER})
    (text,) = [text for _, text in result.tree.checks()]
    assert text == (
        "its words say that it changes something (get); check: its words do not say that the record is deleted (delete)"
    )


def test_resources_response_with_an_alternative_without_the_key_is_not_the_entity() -> None:
    """A PUT that returns the record or an error is no `update`, whose response would need the key."""
    either = {"anyOf": [ref("Order"), record("error", error="string")]}
    order = members(put=operation(either, body=record(total="number")))
    assert order["members"] == ["get", "get_list"]
    (endpoint,) = order["endpoints"].values()
    assert endpoint["expires"] == ["self"]


def test_resources_item_without_get_has_the_types_of_its_own_path() -> None:
    """Its first member is the list, whose path lacks the last parameter."""
    score = [{"name": "score", "in": "path", "required": True, "schema": {"type": "integer"}}]
    paths = {
        "/scores": {"get": operation(many(ref("Score")))},
        "/scores/{score}": {"delete": operation(status="204", parameters=score)},
    }
    result = made(paths, {"Score": record("id", id="integer", title="string")})
    scores = written(result, "resources", "scores")
    assert scores["members"] == ["get_list", "delete"]
    assert scores["path"] == "/scores/:id"
