"""The rules by which a document becomes resources, keys, entities, lists, types and names, one by one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.openapi.small import made, many, operation, record, ref, spec

from restencil_generator.mock import create_app
from restencil_generator.openapi.infer.build import Made
from restencil_generator.openapi.options import Options
from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_text

# ------------------------------------------------------------------------------------------------ paths to resources


def whole(result: Made) -> Any:
    """The spec that was made, as plain values."""
    return result.tree.value


def crud(path: str, item: str, schema: Any, **more: Any) -> dict[str, Any]:
    """A list and an item of one schema."""
    return {path: {"get": operation(many(schema))}, f"{path}/{{{item}}}": {"get": operation(schema), **more}}


def test_an_item_with_a_key_is_a_resource() -> None:
    """A path that ends in a parameter, whose GET returns one object with a key, is a resource."""
    found = spec({"/users/{id}": {"get": operation(record("id", id="string"))}})
    assert found["resources"] == {"users": {"path": "/users/:id", "schema": "User", "members": ["get"]}}


def test_an_item_without_list_mutation_and_key_is_none() -> None:
    """`/weather/{city}` without a list or a mutation is an endpoint."""
    found = spec({"/weather/{city}": {"get": operation(record(degrees="number"))}})
    assert found["resources"] == {
        "weather": {"endpoints": {"weather": {"path": "/weather/:city", "schema": "WeatherWeather"}}}
    }


def test_an_item_that_only_changes_is_one_where_its_list_has_the_key() -> None:
    """Without GET, an item with PUT, PATCH or DELETE is a resource where its list holds objects with the key."""
    paths = {"/users": {"get": operation(many(ref("User")))}, "/users/{user_id}": {"delete": operation(status="204")}}
    found = spec(paths, {"User": record("id", id="integer", name="string")})
    assert found["resources"] == {"users": {"path": "/users/:id", "schema": "User", "members": ["get_list", "delete"]}}
    scalars = {
        "/tags": {"get": operation(many({"type": "string"}))},
        "/tags/{tag}": {"delete": operation(status="204")},
    }
    assert "path" not in spec(scalars)["resources"]["tags"]


def test_a_suffix_of_an_item_is_kept_by_its_list() -> None:
    """The list of `/Accounts/{Sid}.json` is `/Accounts.json`."""
    paths = {"/Accounts.json": {"get": operation(many(ref("A")))}, "/Accounts/{Sid}.json": {"get": operation(ref("A"))}}
    found = spec(paths, {"A": record("sid", sid="string")})
    resource = found["resources"]["accounts"]
    assert resource["path"] == "/Accounts/:sid.json"
    assert resource["endpoints"]["get_list"] == {"path": "/Accounts.json"}


def test_reserved_characters_of_a_path_are_escaped() -> None:
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


def test_the_last_parameter_takes_the_name_of_the_key() -> None:
    """`/users/{user_id}` with the key `id` is `/users/:id`; a parent of that name gives way."""
    schemas = {"User": record("id", id="string"), "Post": record("id", id="string")}
    found = spec({**crud("/users", "id", ref("User")), **crud("/users/{id}/posts", "post_id", ref("Post"))}, schemas)
    assert found["resources"]["users"]["path"] == "/users/:id"
    assert found["resources"]["posts"]["path"] == "/users/:user_id/posts/:id"


def test_what_is_addressed_by_something_else_keeps_its_parameter() -> None:
    """`/issues/{index}` with the key `id` keeps `index`, and says that it is to be checked."""
    result = made({"/issues/{nick}": {"get": operation(record("id", id="integer", index="integer"))}})
    assert whole(result)["resources"]["issues"]["path"] == "/issues/:nick"
    assert "check: {nick} does not look like one" in comment(result, "entities.Issue.fields.id")


@pytest.mark.parametrize(
    ("path", "member", "said"),
    [
        ("/repos/{repo}/issues/{index}", "index", "check: pk: counts per {repo}"),
        ("/repos/{repo}/issues/{number}", "number", "check: pk: counts per {repo}"),
        ("/channels/{channel_id}/members/{user_id}", "user_id", "check: pk: counts per {channel_id}"),
    ],
)
def test_the_last_parameter_of_a_nested_path_is_the_record_s(path: str, member: str, said: str) -> None:
    """Beside an `id`, it is a key that counts per parent, which is to be checked."""
    schema = record("id", member, id="integer", **{member: "string"})
    result = made({path: {"get": operation(schema)}})
    ((name, entity),) = whole(result)["entities"].items()
    parent = path.split("/")[2].strip("{}")
    assert entity["pk"] == [parent, member]
    assert entity["fields"][parent] == {"type": "string", "param": parent}
    assert comment(result, f"entities.{name}.pk") == said


def test_the_last_word_of_a_nested_parameter_is_mapped_to_the_field() -> None:
    """`issue_number` beside a member `number` is `{field: number}`."""
    answer = record("id", id="integer", number="integer")
    found = spec({"/repos/{repo}/issues/{issue_number}": {"get": operation(answer)}})
    assert found["resources"]["issues"]["path"] == "/repos/:repo/issues/:issue_number"
    assert found["resources"]["issues"]["params"] == {"issue_number": {"field": "number"}}
    assert found["entities"]["Issue"]["pk"] == ["repo", "number"]


def test_an_outer_parameter_is_never_the_key() -> None:
    """`/projects/{id}/exports/{export_pk}` with the key `id` calls the outer parameter otherwise."""
    found = spec({"/projects/{id}/exports/{export_pk}": {"get": operation(record("id", id="integer", title="string"))}})
    assert found["resources"]["exports"]["path"] == "/projects/:project_id/exports/:id"


def test_a_component_that_is_found_by_id_and_by_name_is_one_entity() -> None:
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


def test_a_component_below_two_owners_is_found_by_its_key_where_that_is_in_a_path() -> None:
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


def test_a_thing_is_taken_for_its_id_where_both_have_one_type() -> None:
    """`/pets/{pet}` with the key `id` is `/pets/:id` where both are of one type, which is to be checked."""
    same = made({"/pets/{pet}": {"get": operation(record("id", id="string"))}})
    assert whole(same)["resources"]["pets"]["path"] == "/pets/:id"
    assert comment(same, "resources.pets.path") == "check: {pet} is taken for the id"
    other = spec({"/pets/{pet}": {"get": operation(record("id", id="integer"))}})
    assert other["resources"]["pets"]["path"] == "/pets/:pet"


@pytest.mark.parametrize("path", ["/me", "/users/me"])
def test_an_entity_of_a_resource_at_a_literal_is_a_singleton(path: str) -> None:
    """`/me` returns the entity of another resource, whose key it has."""
    found = spec(
        {**crud("/users", "id", ref("User")), path: {"get": operation(ref("User"))}},
        {"User": record("id", id="string")},
    )
    assert found["resources"]["me"] == {"path": path, "singleton": True, "schema": "User", "members": ["get"]}


def test_a_literal_that_changes_is_a_singleton() -> None:
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


def test_a_singleton_is_recognised_in_the_answers_to_its_changes() -> None:
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


def test_a_singleton_may_be_in_an_envelope() -> None:
    """`{"data": {...}}` around what has no key is an envelope, in responses and requests."""
    wrapped = record(data=ref("Settings"))
    paths = {"/settings": {"get": operation(wrapped), "put": operation(wrapped, body=wrapped)}}
    found = spec(paths, {"Settings": record(dark="boolean", name="string")})
    assert list(next(iter(found["entities"].values()))["fields"]) == ["dark", "name"]
    resource = found["resources"]["settings"]
    assert resource["members"] == ["get", "update"]
    assert (resource["request"], resource["response"]) == ({"envelope": "data"}, {"envelope": "data"})


def test_what_lies_below_is_an_endpoint_of_the_deepest_resource() -> None:
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


def test_the_list_of_the_entity_counts_among_several() -> None:
    """What GET of the item returns is listed under any name; else the name of the resource tells."""
    answer = record(warnings=many(record(code="string")), orders=many(ref("Order")), tags=many({"type": "string"}))
    paths = {"/orders/{id}": {"get": operation(ref("Order"))}, "/orders": {"get": operation(answer)}}
    found = spec(paths, {"Order": record("id", id="string", name="string")})
    listed = found["resources"]["orders"]["endpoints"]["get_list"]["schema"]
    assert listed["object"]["orders"] == {"collection": ["Order"]}


def test_what_a_delete_answers_changes_no_entity() -> None:
    """`{"id": ..., "deleted": true}` is ignored: it gives no field, and makes none optional."""
    confirmed = record("id", id="string", deleted="boolean")
    paths = {"/users/{id}": {"get": operation(ref("User")), "delete": operation(confirmed)}}
    found = spec(paths, {"User": record("id", "name", id="string", name="string")})
    assert found["entities"]["User"] == {"fields": {"id": "string", "name": "string"}}
    assert found["resources"]["users"]["endpoints"] == {"delete": {"response": {"ignore": True}}}
    paths["/users/{id}"]["delete"] = operation(ref("User"))
    found = spec(paths, {"User": record("id", "name", id="string", name="string")})
    assert "endpoints" not in found["resources"]["users"]


def test_what_hangs_on_a_list_below_a_resource_is_in_the_document() -> None:
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
def test_groups(path: str, tags: list[str], group: str, endpoint: str) -> None:
    """What is of no resource is in a group: by the path before a dot, the first tag, the first literal, the package."""
    found = spec({path: {"get": operation({"type": "string"}, tags=tags)}})["resources"]
    assert list(found) == [group]
    assert list(found[group]["endpoints"]) == [endpoint]


def test_an_api_of_procedures_is_told() -> None:
    """Where no resource is found, a note says so."""
    result = made({"/a.b": {"get": operation()}, "/a.c": {"get": operation()}, "/d.e": {"get": operation()}})
    assert [each.message for each in result.document.findings if each.code == "no-resources"] == [
        "this API calls procedures: its 3 operations are endpoints of 2 groups"
    ]


# ------------------------------------------------------------------------------------------------------------ members


ORDER = record("id", id="string", total="number")


def members(**operations: Any) -> Any:
    """The resource of a list and an item with more operations: on the list where they begin with `list_`."""
    own = {name: each for name, each in operations.items() if not name.startswith("list_")}
    listed = {name.removeprefix("list_"): each for name, each in operations.items() if name.startswith("list_")}
    paths = crud("/orders", "id", ref("Order"), **own)
    paths["/orders"] |= listed
    return spec(paths, {"Order": ORDER, "Job": record("job", job="string", state="string")})["resources"]["orders"]


def test_all_standard_members_are_not_written() -> None:
    """`members` is written unless all that fit exist; `unshift` goes with `push`."""
    body: Any = {"body": ref("Order")}
    every = members(
        list_post=operation(ref("Order"), **body), put=operation(ref("Order"), **body),
        patch=operation(ref("Order"), **body), delete=operation(status="204"),
    )  # fmt: skip
    assert every == {"path": "/orders/:id", "schema": "Order"}
    assert members(list_post=operation(ref("Order"), **body))["members"] == ["get", "get_list", "push", "unshift"]


def test_a_change_that_answers_little_is_ignored() -> None:
    """A response like `{"ok": true}` to PUT or PATCH, or a text to DELETE, says nothing of the entity."""
    ok, text = record(ok="boolean"), {"type": "string"}
    found = members(put=operation(ok, body=ref("Order")), delete=operation(text))
    assert found["endpoints"] == {"update": {"response": {"ignore": True}}, "delete": {"response": {"ignore": True}}}


def test_post_on_an_item_without_patch_changes_it() -> None:
    """A POST on an item that returns the entity is `partial_update` where there is no PATCH."""
    assert members(post=operation(ref("Order"), body=ref("Order")))["endpoints"] == {
        "partial_update": {"method": "POST"}
    }


def test_other_answers_make_endpoints_of_ones_own() -> None:
    """A change with another response is an endpoint, after which item or list are stale; that is to be checked."""
    found = members(
        put=operation(ref("Job"), body=ref("Order"), operationId="replaceOrder"),
        list_post=operation(ref("Job"), body=ref("Order"), operationId="createOrder"),
    )["endpoints"]
    assert found["replace"] == {
        "method": "PUT", "path": "/orders/:id", "body": "Order", "schema": "Job", "expires": ["self"],
    }  # fmt: skip
    assert found["create"]["expires"] == ["get_list"]


def by_post(body: Any = None, status: str = "200", answer: Any = None, **more: Any) -> Any:
    """What an import makes of `POST /flows/filter` beside the items of its list."""
    flow = record("id", id="string", name="string")
    post = operation(answer or many(ref("Flow")), body=body or record(names=many({"type": "string"})), status=status)
    paths = {"/flows/{id}": {"get": operation(ref("Flow"))}, "/flows/filter": {"post": {**post, **more}}}
    result = made(paths, {"Flow": flow})
    assert not [each for each in result.document.findings if each.code.startswith("import-")]
    (endpoint,) = whole(result)["resources"]["flows"]["endpoints"].items()
    return endpoint[1], comment(result, f"resources.flows.endpoints.{endpoint[0]}.side_effect")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"operationId": "read_flows_flows_filter_post", "summary": "Read Flows"},
        {"answer": record(count="integer", results=many(ref("Flow")))},
    ],
)
def test_a_list_by_post_is_a_read_that_is_to_be_checked(more: dict[str, Any]) -> None:
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
def test_a_post_that_may_change_something_stays_a_change(more: dict[str, Any]) -> None:
    """A changing verb, another status than 200, another response than a list or an entity as body make it a change."""
    endpoint, _ = by_post(**more)
    assert "side_effect" not in endpoint


def test_a_post_without_a_word_of_reading_stays_a_change() -> None:
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
def test_a_filter_whose_description_is_no_equality_is_unknown(description: str, vague: bool) -> None:
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


def test_of_two_totals_the_selected_one_counts() -> None:
    """Where a response tells all items and the selected ones, the latter are the total, which is to be checked."""
    meta = record(total_count="integer", filter_count="integer")
    paths = {
        "/flows": {"get": operation(record(data=many(ref("Flow")), meta=meta), query={"page": "integer"})},
        "/flows/{id}": {"get": operation(ref("Flow"))},
    }
    result = made(paths, {"Flow": record("id", id="string")})
    assert whole(result)["resources"]["flows"]["pagination"] == {"style": "page", "total": "meta.filter_count"}
    assert comment(result, "resources.flows.pagination").endswith("; check: filter_count is taken for the total")


@pytest.mark.parametrize("query", [{}, {"page": "integer", "per_page": "integer"}])
def test_link_header_beside_a_page_parameter(query: Any) -> None:
    """A declared `Link` header names the next page, and the page parameter stays one."""
    get = operation(many(ref("Flow")), query=query)
    get["responses"]["200"]["headers"] = {"Link": {"schema": {"type": "string"}}}
    paths = {"/flows": {"get": get}, "/flows/{id}": {"get": operation(ref("Flow"))}}
    found = spec(paths, {"Flow": record("id", id="string")})["resources"]["flows"]
    assert (found["pagination_field"], found["pagination"]) == ("page", {"style": "link"})


@pytest.mark.parametrize("name", ["True", "None", "typing", "restencil", "class", "_client", "Any", "list", "Client"])
def test_names_that_generated_modules_use_give_way(name: str) -> None:
    """Paths, tags, components and properties may be called like words of Python or like what modules import."""
    schema = record("id", **{"id": "integer", f"{name}_": "string", "other": ref(name)})
    paths = {
        f"/{name}": {
            "get": operation(many(ref(name)), query={name: "string"}),
            "post": operation(ref(name), body=ref(name)),
        },
        f"/{name}/{{id}}": {"get": operation(ref(name)), "patch": operation(ref(name), body=ref(name))},
        "/run": {"post": operation({"type": "string"}, body=record(a="string"), tags=[name])},
    }
    result = made(paths, {name: schema})
    assert not [each for each in result.document.findings if each.code.startswith("import-")]
    loaded = load_text(result.text, "small.yaml").declaration
    assert loaded is not None
    files = build(loaded, "small.yaml").files
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


# --------------------------------------------------------------------------------------------------------- parameters


def test_parameters_of_the_list_go_to_the_resource() -> None:
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


def test_headers() -> None:
    """Some are dropped; idempotency keys are made; conditions and trace ids are in no key."""
    names = ["Accept", "Authorization", "Idempotency-Key", "If-Match", "X-Request-Id", "X-Scope"]
    parameters = [{"name": name, "in": "header", "schema": {"type": "string"}} for name in names]
    found = spec({"/a": {"post": operation(parameters=parameters)}, "/b": {"get": operation()}})["resources"]
    assert found["a"]["endpoints"]["a"]["header_params"] == {
        "idempotency_key": {"type": "string?", "in_key": False, "auto": "uuid"},
        "if_match": {"type": "string?", "in_key": False},
        "x_request_id": {"type": "string?", "in_key": False},
        "x_scope": "string?",
    }


def test_what_all_operations_ask_for_is_an_argument_of_the_client() -> None:
    """Headers on nine in ten operations, and required query parameters likewise."""
    tenant = {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    version = {"name": "api-version", "in": "query", "required": True, "schema": {"type": "string"}}
    paths = {f"/{letter}": {"get": operation(parameters=[tenant, version])} for letter in "abcdefghi"}
    found = spec({**paths, "/j": {"get": operation()}})
    assert found["header_params"] == {"x_tenant": "string"}
    assert found["search_params"] == {"api_version": "string"}
    assert found["wire_names"] == "kebab-case"


@pytest.mark.parametrize(
    ("style", "explode", "written"),
    [
        ("form", True, "repeat"),
        ("form", False, None),
        ("spaceDelimited", False, "space"),
        ("pipeDelimited", False, "pipe"),
    ],
)
def test_styles_of_lists(style: str, explode: bool, written: str | None) -> None:
    """The most frequent style of lists is `search_style`; commas are the default."""
    tags = {"name": "tags", "in": "query", "style": style, "explode": explode, "schema": many({"type": "string"})}
    assert spec({"/a": {"get": operation(parameters=[tags])}}).get("search_style") == written


def test_brackets_and_pages_in_objects() -> None:
    """A name that ends in `[]` has brackets; an object with a page in it is split."""
    ids = {"name": "ids[]", "in": "query", "schema": many({"type": "integer"})}
    page = {"name": "page", "in": "query", "style": "deepObject", "schema": record(number="integer", size="integer")}
    paths = {"/a": {"get": operation(many(ORDER), parameters=[ids, page])}, "/a/{id}": {"get": operation(ORDER)}}
    found = spec(paths)
    assert found["search_style"] == "brackets"
    assert found["resources"]["a"]["search_params"] == {
        "ids": {"type": ["integer"], "optional": True},
        "page_number": {"type": "integer?", "wire": "page[number]"},
        "page_size": {"type": "integer?", "wire": "page[size]"},
    }
    assert found["resources"]["a"]["pagination_field"] == "page_number"


# --------------------------------------------------------------------------------------------------------------- keys


def comment(result: Made, node: str) -> str:
    """The comment on a node."""
    return result.tree.comments.get(tuple(node.split(".")), "")


@pytest.mark.parametrize(
    ("path", "schema", "pk", "said"),
    [
        ("/users/{userName}", record(id="string", user_name="string"), "user_name", "pk: named like {userName}"),
        ("/a/{b}/users/{user}", record(user="string"), "user", "pk: named like {user}; check: it may count per {b}"),
        ("/users/{user_id}", record(id="string", name="string"), "id", "pk: {user_id} without 'user'"),
        ("/projects/{projectKey}", record(id="string", key="string"), "key", "pk: {projectKey} without 'project'"),
        ("/users/{who}", record(id="string"), "id", "pk: the id; check: {who} does not look like one"),
        ("/orders/{ref}", record(order_id="string"), "order_id", "pk: order_id of orders"),
        ("/orders/{ref}", record(Invoice_id="string", x="string"), None, ""),
        ("/things/{x}", record(slug="string", size="integer"), "slug", "check: pk guessed: slug"),
    ],
)
def test_keys(path: str, schema: Any, pk: str | None, said: str) -> None:
    """The first rule that finds a property gives the key, and says in a comment why."""
    result = made({path: {"get": operation(schema), "delete": operation(status="204")}})
    entity, values = next(iter(whole(result)["entities"].items()))
    found = values.get("pk", "id")
    if pk is None:
        assert found == "ref"
        return
    assert found == pk
    assert comment(result, f"entities.{entity}.{'pk' if pk != 'id' else 'fields.id'}") == said


def test_keys_inside_of_metadata() -> None:
    """Kubernetes: the key is in `metadata`, after what is called like the parents."""
    meta = record("name", "namespace", name="string", namespace="string", uid="string")
    path = "/api/v1/namespaces/{namespace}/pods/{name}"
    result = made(
        {path: {"get": operation(ref("io.k8s.Pod"))}},
        {"io.k8s.Pod": record("metadata", metadata=ref("io.k8s.ObjectMeta"), spec={}), "io.k8s.ObjectMeta": meta},
    )
    entity = whole(result)["entities"]["Pod"]
    assert entity["pk"] == ["metadata.namespace", "metadata.name"]
    assert comment(result, "entities.Pod.pk") == "pk: metadata.namespace, metadata.name"
    resource = whole(result)["resources"]["pods"]
    assert resource["params"] == {"name": {"field": "metadata.name"}}


def test_a_key_from_the_path() -> None:
    """Where nothing tells records apart, but they change, the path's parameters do."""
    result = made(
        {"/flags/{env}/{flag}": {"get": operation(record(on="boolean")), "put": operation(record(on="boolean"))}}
    )
    (entity,) = whole(result)["entities"].values()
    assert entity["pk"] == ["env", "flag"]
    assert [each.code for each in result.document.findings] == ["pk-from-path"]


def test_two_resources_share_an_entity_where_their_keys_are_one() -> None:
    """One component is one entity."""
    schemas = {"User": record("id", "name", id="string", name="string")}
    paths = {"/users/{id}": {"get": operation(ref("User"))}, "/members/{id}": {"get": operation(ref("User"))}}
    assert list(spec(paths, schemas)["entities"]) == ["User"]


# ------------------------------------------------------------------------------------------- entities and envelopes


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
def test_envelopes(answer: Any, envelope: str | None) -> None:
    """The record of a response may be in a member called like envelopes or like the thing, up to three deep."""
    if envelope == "items.0":
        answer = record(result=many(ref("Order")))
        envelope = "result.0"
    found = spec({"/orders/{id}": {"get": operation(answer), "delete": operation(status="204")}}, {"Order": ORDER})
    response = found["resources"]["orders"].get("response", found.get("response", {}))
    assert response.get("envelope") == envelope


def test_metadata_is_no_envelope() -> None:
    """What stands in `metadata` is about the record."""
    found = spec({"/a/{id}": {"get": operation(record(metadata=record("id", id="string")))}})
    assert "response" not in found["resources"]["a"]


def test_an_envelope_that_most_have_stands_at_the_top() -> None:
    """What at least half of the resources share is said once."""
    schemas = {name: record("id", id="string", **{name.lower(): "string"}) for name in ("Cat", "Dog")}
    paths = {f"/{name.lower()}s/{{id}}": {"get": operation(record(data=ref(name)))} for name in schemas}
    assert spec(paths, schemas)["response"] == {"envelope": "data"}


def test_summary_and_detail_are_one_entity() -> None:
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


def test_items_of_another_kind_stay_objects() -> None:
    """A list whose items have little in common with the detail is a plain list."""
    schemas = {
        "A": record("id", id="string", a="string", b="string"),
        "B": record("id", id="string", c="string", d="string", e="string"),
    }
    paths = {"/as": {"get": operation(many(ref("B")))}, "/as/{id}": {"get": operation(ref("A"))}}
    assert spec(paths, schemas)["resources"]["as"]["endpoints"]["get_list"] == {"schema": ["B"]}


def test_types_that_differ_are_several() -> None:
    """A field whose type differs between detail and list is one of them, which is to be checked."""
    schemas = {"A": record("id", id="string", n="string"), "B": record("id", id="string", n="integer")}
    result = made({"/as": {"get": operation(many(ref("B")))}, "/as/{id}": {"get": operation(ref("A"))}}, schemas)
    fields = whole(result)["entities"]["A"]["fields"]
    assert fields["n"] == {"type": {"one_of": ["string", "integer"]}, "optional": True}
    assert comment(result, "entities.A.fields.n") == "check: its type differs from response to response"


def test_references_to_an_entity_are_the_entity() -> None:
    """Also where a reference may be expanded; a nested record without key must not fail a read."""
    schemas = {
        "User": record(id="string", name="string"),
        "Post": record("id", id="string", by={"anyOf": [{"type": "string"}, ref("User")]}),
    }
    found = spec({**crud("/users", "id", ref("User")), **crud("/posts", "id", ref("Post"))}, schemas)
    assert found["entities"]["Post"]["fields"]["by"] == "User?"
    assert found["entities"]["User"]["pk_optional"] is True


def test_a_scoped_entity_is_an_object_elsewhere() -> None:
    """Where the path lacks the parameters of a key, there is an object of the fields that the server sends."""
    schemas = {"Issue": record("number", number="integer"), "Home": record("id", id="string", last=ref("Issue"))}
    found = spec(
        {**crud("/repos/{owner}/issues", "number", ref("Issue")), **crud("/homes", "id", ref("Home"))}, schemas
    )
    assert found["entities"]["Home"]["fields"]["last"] == "IssueData?"
    assert found["objects"]["IssueData"] == {"number": "integer"}


def test_answers_around_a_list_keep_their_members() -> None:
    """A wrapper with nothing but the list is `list_envelope`, another one is an object with a collection in it."""
    alone = {
        "/orders": {"get": operation(record("data", data=many(ref("Order"))))},
        "/orders/{id}": {"get": operation(ref("Order"))},
    }
    assert spec(alone, {"Order": ORDER})["resources"]["orders"]["response"] == {"list_envelope": "data"}
    alone["/orders"]["get"] = operation(record("items", items=many(ref("Order")), next="string"))
    found = spec(alone, {"Order": ORDER})["resources"]["orders"]
    assert found["endpoints"]["get_list"]["schema"] == {"items": {"collection": ["Order"]}, "next": "string?"}


def test_bodies() -> None:
    """What differs from the entity by read-only fields, key and what is required is the entity; else it is named."""
    order = record("id", "total", id="string", total="number", at={"type": "string", "readOnly": True})
    near, far = record("total", total="number"), record("total", total="number", coupon="string")
    for body, written in ((near, None), (far, "Far")):
        paths = crud("/orders", "id", ref("Order"))
        paths["/orders"]["post"] = operation(ref("Order"), body=ref("Far") if body is far else body)
        found = spec(paths, {"Order": order, "Far": far})
        push = found["resources"]["orders"].get("endpoints", {}).get("push", {})
        assert push.get("body") == written
        assert found["entities"]["Order"]["fields"]["total"] == ("number!" if body is near else "number")


def test_alternatives_with_a_discriminator_are_a_union_of_entities() -> None:
    """An abstract item has a union; alternatives that are no entities are one of several objects."""
    cat, dog = (record("id", "kind", id="string", kind="string") for _ in range(2))
    pet = {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind"}}
    found = spec({"/pets/{id}": {"get": operation(ref("Pet"))}}, {"Cat": cat, "Dog": dog, "Pet": pet})
    assert found["resources"]["pets"]["schema"] == {"union": {"Cat": "Cat", "Dog": "Dog"}, "attribute": "kind"}
    assert sorted(found["entities"]) == ["Cat", "Dog"]
    holder = spec({"/a": {"get": operation(record(pet=ref("Pet")))}}, {"Cat": cat, "Dog": dog, "Pet": pet})
    assert sorted(holder["objects"]) == ["AA", "Cat", "Dog"]


# -------------------------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize(
    ("query", "answer", "pagination"),
    [
        (
            {"cursor": "string"},
            record(next_cursor="string", has_more="boolean", total_count="integer"),
            {"style": "cursor", "next": "next_cursor", "more": "has_more", "total": "total_count"},
        ),
        (
            {"starting_after": "string"},
            record(has_more="boolean"),
            {"style": "cursor", "next": "last.id", "more": "has_more"},
        ),
        ({"pageToken": "string"}, record(nextPageToken="string"), {"style": "cursor", "next": "next_page_token"}),
        ({"page": "integer"}, record(total="integer"), {"style": "page", "total": "total"}),
        ({"page": {"type": "integer", "minimum": 0}}, record(), {"style": "page", "start": 0}),
        ({"offset": "integer"}, record(), {"style": "offset"}),
        ({"cursor": "string", "page": "integer"}, record(next="string"), {"style": "cursor", "next": "next"}),
        ({}, record(next="string"), {"style": "url", "next": "next"}),
        ({}, record(links=record(next="string", self="string")), {"style": "url", "next": "links.next"}),
        ({"limit": "integer"}, record(), None),
        (
            {"page": "integer"},
            record(count="integer", next="string", previous="string"),
            {"style": "page", "more": "next", "total": "count"},
        ),
        (
            {"offset": "string"},
            record(next_page=record(offset="string")),
            {"style": "cursor", "next": "next_page.offset"},
        ),
    ],
)
def test_pages(query: Any, answer: Any, pagination: Any) -> None:
    """How pages are asked for is told by the names of parameters and of what stands around the list."""
    answer = {**answer, "properties": {"data": many(ORDER), **answer["properties"]}}
    found = spec({"/orders": {"get": operation(answer, query=query)}, "/orders/{id}": {"get": operation(ORDER)}})
    assert found["resources"]["orders"].get("pagination") == pagination


@pytest.mark.parametrize(
    "item", [{"type": "string"}, record(color="string"), record(order=ref("Order"))], ids=["string", "object", "entity"]
)
@pytest.mark.parametrize("path", ["/tags", "/orders/{id}/tags"])
def test_pagination_list_of_plain_values_has_pages(path: str, item: Any) -> None:
    """A list of values, also of those that hold an entity, is paginated as a list of entities is."""
    get = operation(many(item), query={"page": "integer", "per_page": "integer"})
    get["responses"]["200"]["headers"] = {"Link": {"schema": {"type": "string"}}}
    result = made({"/orders/{id}": {"get": operation(ref("Order"))}, path: {"get": get}}, {"Order": ORDER})
    assert list(load_text(result.text, "small.yaml").problems) == []
    (endpoint,) = (each for one in whole(result)["resources"].values() for each in one.get("endpoints", {}).values())
    assert endpoint["search_params"] == {"per_page": "integer?"}
    assert (endpoint["pagination_field"], endpoint["pagination"]) == ("page", {"style": "link"})


# -------------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "string", "format": "email"}, "string"),
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
def test_types(schema: Any, written: Any) -> None:
    """Each form of JSON Schema has a type."""
    found = spec({"/a/{id}": {"get": operation(record("id", "f", id="string", f=schema))}})
    assert found["entities"]["AData" if "AData" in found["entities"] else "A"]["fields"]["f"] == written


def test_constants_of_an_enum_are_kept() -> None:
    """An enum without a name whose values have names is called like its field."""
    level = {"type": "integer", "enum": [1, 2], "x-enum-varnames": ["Low", "High"]}
    found = spec({"/a/{id}": {"get": operation(record("id", "level", id="string", level=level))}})
    assert found["enums"] == {"Level": {"low": 1, "high": 2}}
    assert next(iter(found["entities"].values()))["fields"]["level"] == "Level"


def test_inline_objects_are_called_after_their_place() -> None:
    """An object without a name is called like its owner and field; equal ones of one name are one."""
    inner = record("x", x="string")
    found = spec({"/cars/{id}": {"get": operation(record("id", id="string", door=inner))}})
    assert found["objects"] == {"CarDoor": {"x": "string"}}


def test_an_object_that_holds_itself_for_certain_is_optional_there() -> None:
    """A field that leads back to its own object without list or `?` becomes optional, and that is told."""
    result = made({"/a": {"get": operation(ref("Node"))}}, {"Node": record("next", next=ref("Node"))})
    assert whole(result)["objects"] == {"Node": {"next": "Node?"}}
    assert "object-cycle" in [each.code for each in result.document.findings]


def test_a_document_that_names_nothing_required() -> None:
    """There fields are certain unless nullable, which is to be checked; an option turns that round."""
    paths = {"/cars/{id}": {"get": operation(record(id="string", a="string", b={"type": ["string", "null"]}))}}
    result = made(paths)
    assert whole(result)["entities"]["Car"]["fields"] == {"id": "string", "a": "string", "b": "string?"}
    assert result.tree.head[1] == "check: the document names no required property"
    turned = made(paths, None, Options(required=False))
    assert whole(turned)["entities"]["Car"]["fields"]["a"] == "string?"


def test_errors_that_all_operations_share_stand_at_the_top() -> None:
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


@pytest.mark.parametrize(
    ("schemes", "security", "auth"),
    [
        ({"a": {"type": "http", "scheme": "basic"}}, [{"a": []}], {"basic": True, "env": "SMALL_TOKEN"}),
        (
            {"a": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            [{"a": []}],
            {"header": "X-Key", "env": "SMALL_TOKEN"},
        ),
        (
            {"a": {"type": "openIdConnect", "openIdConnectUrl": "https://x"}},
            [{"a": []}],
            {"bearer": True, "env": "SMALL_TOKEN"},
        ),
        (
            {"a": {"type": "http", "scheme": "bearer"}, "b": {"type": "apiKey", "in": "query", "name": "k"}},
            [{"a": []}, {"b": []}, {}],
            {
                "schemes": {"a": {"bearer": True, "env": "SMALL_A"}, "b": {"query": "k", "env": "SMALL_B"}},
                "use": ["a", "b", "none"],
            },
        ),
        ({"a": {"type": "http", "scheme": "digest"}}, [{"a": []}], None),
    ],
)
def test_auth(schemes: Any, security: Any, auth: Any) -> None:
    """One scheme has the short form, several are named; what signs requests is not carried."""
    result = made({"/a": {"get": operation()}}, security=security, components={"securitySchemes": schemes})
    assert whole(result).get("auth") == auth
    assert ("auth-not-carried" in [each.code for each in result.document.findings]) == (auth is None)


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (
            {"type": "apiKey", "in": "header", "name": "Authorization", "x-amazon-apigateway-authtype": "awsSigv4"},
            "the scheme 'hmac' signs requests (AWS4); use an `endpoint: python:`",
        ),
        ({"type": "http", "scheme": "Digest"}, "the scheme 'hmac' signs requests (digest); use an `endpoint: python:`"),
        (
            {"type": "mutualTLS"},
            "the scheme 'hmac' asks for a certificate of the client (mutualTLS); use an `endpoint: python:`",
        ),
        (
            {"type": "apiKey", "in": "body"},
            "the scheme 'hmac' does not say in which header, cookie or query parameter its key goes; "
            "use an `endpoint: python:`",
        ),
        (None, "the scheme 'hmac' is asked for, but declared nowhere; no credential is sent for it"),
    ],
)
def test_what_of_auth_is_not_carried(scheme: Any, message: str) -> None:
    """Signatures, certificates, and what says too little are told; so is a scheme that no one declared."""
    schemes = {} if scheme is None else {"hmac": scheme}
    result = made({"/a": {"get": operation()}}, security=[{"hmac": []}], components={"securitySchemes": schemes})
    assert "auth" not in whole(result)
    told = [each.message for each in result.document.findings if each.code == "auth-not-carried"]
    assert told == [message]


def test_operations_that_ask_otherwise() -> None:
    """What differs from the document has `auth` of its own; an empty list is `none`."""
    paths = {"/a": {"get": operation(security=[])}, "/b": {"get": operation(security=[{"y": []}])}}
    schemes = {"x": {"type": "http", "scheme": "bearer"}, "y": {"type": "http", "scheme": "basic"}}
    found = spec(paths, security=[{"x": []}], components={"securitySchemes": schemes})["resources"]
    assert found["a"]["endpoints"]["a"]["auth"] == "none"
    assert found["b"]["endpoints"]["b"]["auth"] == "y"


def test_servers() -> None:
    """Several servers, or one with variables, are `servers`."""
    servers = [{"url": "https://a.example", "description": "Production server"}, {"url": "https://b.example/v1"}]
    assert spec({"/a": {"get": operation()}}, servers=servers)["servers"] == {
        "production": "https://a.example", "b": "https://b.example/v1",
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("userId", "user_id"),
        ("+1", "plus_1"),
        ("-1", "minus_1"),
        ("2fa", "n2fa"),
        ("_id", "id_"),
        ("@type", "type"),
        ("$", "value"),
        ("HTTPServer", "http_server"),
        ("userIDs", "user_ids"),
    ],
)
def test_names_of_fields(wire: str, name: str) -> None:
    """Names are snake_case, digits stay, other signs are word breaks."""
    found = spec(
        {
            "/a/{key}": {
                "get": operation(
                    record(
                        "key", "zz", key="string", zz="string", **{wire + "_" if wire.endswith("_") else wire: "string"}
                    )
                )
            }
        }
    )
    (entity,) = found["entities"].values()
    assert [each for each in entity["fields"] if each not in ("key", "zz")] == ["id" if name == "id_" else name]


def test_names_that_differ_by_signs_alone() -> None:
    """What is a name as it stands keeps it; the other has its signs spelled."""
    found = spec({"/a/{key}": {"get": operation(record("key", key="string", **{"a.b": "string", "a_b": "string"}))}})
    (entity,) = found["entities"].values()
    assert entity["fields"]["a_b"] == "string?"
    assert entity["fields"]["a_dot_b"] == {"type": "string?", "wire": "a.b"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/users/{id}"], ["users"]),
        (["/api/v1/users/{id}", "/api/v1/orders/{id}"], ["orders", "users"]),
        (["/orgs/{org}/repos/{id}", "/users/{user}/repos/{id}"], ["org_repos", "user_repos"]),
        (["/repos/{id}", "/orgs/{org}/repos/{id}"], ["org_repos", "repos"]),
        (["/v1/cars/{id}", "/v2/cars/{id}"], ["cars", "cars_v1"]),
        (["/categories/{id}", "/{team}/categories/{id}"], ["categories", "categories_by_team"]),
        (["/store/{id}"], ["stores"]),
    ],
)
def test_names_of_resources(paths: list[str], names: list[str]) -> None:
    """The last literal; where taken, those before it, then versions, then parameters."""
    found = spec(
        {
            path: {"get": operation(record("id", id="string", **{f"f{index}": "string"}))}
            for index, path in enumerate(paths)
        }
    )
    assert sorted(found["resources"]) == names


def test_a_member_of_the_client_is_no_resource() -> None:
    """A name that every client has is changed, and that is told."""
    result = made({"/shop/x": {"get": operation(tags=["Store"])}})
    assert list(whole(result)["resources"]) == ["stores"]
    assert [each.message for each in result.document.findings if each.code == "name-changed"] == [
        "'store' of tag Store is a member of every client; the resource is called 'stores'"
    ]


@pytest.mark.parametrize(
    ("operation_id", "tags", "name"),
    [
        ("cancelOrder", ["x"], "cancel"),
        ("orders/cancel", ["orders"], "cancel"),
        ("Orders_cancel", ["Orders"], "cancel"),
        ("orders.cancelNow", ["orders"], "cancel_now"),
        ("cancel_it_orders__id__cancel_post", [], "cancel_it"),
        (None, [], "cancel"),
    ],
)
def test_names_of_endpoints(operation_id: str | None, tags: list[str], name: str) -> None:
    """The operationId without tag, path and method; without one, the last literal."""
    more: dict[str, Any] = {"tags": tags, **({"operationId": operation_id} if operation_id else {})}
    found = spec(
        {**crud("/orders", "id", ref("Order")), "/orders/{id}/cancel": {"post": operation(**more)}}, {"Order": ORDER}
    )
    assert list(found["resources"]["orders"]["endpoints"]) == [name]


def test_types_give_way_to_each_other() -> None:
    """Objects give way to entities, these to resources, by the ending `Data`."""
    found = spec(
        {"/settings/{id}": {"get": operation(ref("Settings"))}, "/x": {"get": operation(ref("NotFoundError"))}},
        {"Settings": record("id", id="string"), "NotFoundError": record(a="string")},
    )
    assert list(found["entities"]) == ["SettingsData"]
    assert list(found["objects"]) == ["NotFoundErrorData"]


def test_wire_names_are_the_style_of_most() -> None:
    """A style that gives nine in ten names back is `wire_names`; the others have `wire`."""
    names = ["firstName", "lastName", "zipCode", "birthDay", "a", "b", "c", "d", "e"]
    found = spec(
        {"/a/{id}": {"get": operation(record("id", id="string", odd_one="string", **dict.fromkeys(names, "string")))}}
    )
    assert found["wire_names"] == "camelCase"
    (entity,) = found["entities"].values()
    assert entity["fields"]["odd_one"] == {"type": "string?", "wire": "odd_one"}


def test_examples() -> None:
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
    ("scheme", "prefix", "checked"),
    [
        ({"x-fern-header": {"name": "api_key", "prefix": "Token "}}, "Token ", False),
        ({"description": "Send `Authorization: Token <your-token>` with each request."}, "Token ", False),
        ({"description": "curl -H 'Authorization: Bearer abc'"}, "Bearer ", False),
        ({"description": "The key, after the prefix `Token `"}, "Token ", False),
        ({"bearerFormat": "Bearer"}, "Bearer ", False),
        ({"x-example": "Authorization: Bearer 123"}, "Bearer ", False),
        ({"description": "Your personal key. Tokens expire."}, None, True),
        ({}, None, True),
        ({"name": "X-API-Key", "description": "Your key"}, None, False),
    ],
)
def test_the_prefix_of_a_key_in_a_header(scheme: dict[str, Any], prefix: str | None, checked: bool) -> None:
    """It is what the description, an extension or an example says; else that is to be checked of `Authorization`."""
    found = {"type": "apiKey", "in": "header", "name": "Authorization", **scheme}
    result = made({"/a": {"get": operation()}}, security=[{"key": []}], components={"securitySchemes": {"key": found}})
    assert whole(result)["auth"].get("prefix") == prefix
    assert ("check: " in comment(result, "auth")) is checked


def test_operations_that_mostly_say_nothing_of_authentication() -> None:
    """Where the document and most operations say nothing, they use the scheme, which is to be checked once."""
    schemes = {"key": {"type": "http", "scheme": "bearer"}}
    paths = {f"/a{index}": {"get": operation({"type": "string"})} for index in range(9)}
    paths["/b"] = {"get": operation({"type": "string"}, security=[{"key": []}])}
    for says in (True, False):
        if not says:
            del paths["/b"]["get"]["security"]
        result = made(copy.deepcopy(paths), components={"securitySchemes": schemes})
        assert "auth: none" not in result.text
        assert comment(result, "auth").count("check: ") == 1
    few = {**{f"/b{index}": {"get": operation({"type": "string"}, security=[{"key": []}])} for index in range(9)}}
    few["/login"] = {"get": operation({"type": "string"})}
    assert "auth: none" in made(few, components={"securitySchemes": schemes}).text  # here it says that it is open


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
def test_an_example_that_does_not_fit_is_a_finding(example: Any) -> None:
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


def test_members_that_are_read_only_are_not_in_bodies() -> None:
    """What a body holds by itself has no members that are never sent."""
    body = record("id", id={"type": "string", "readOnly": True}, title="string")
    paths = {"/x": {"post": operation({"type": "string"}, body=body)}}
    assert spec(paths)["resources"]["x"]["endpoints"]["x"]["body"] == {"title": "string?"}


def test_an_example_of_what_adds_to_a_list_may_not_fit_either() -> None:
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


def test_a_multipart_form_beside_json_is_an_endpoint_of_its_own() -> None:
    """What can be sent as JSON or as a form of files is two endpoints, the second one called `…_file`."""
    file = record("file", file={"type": "string", "format": "binary"})
    body = {"content": {"application/json": {"schema": record(url="string")}, "multipart/form-data": {"schema": file}}}
    paths = {"/import": {"post": operation({"type": "string"}, requestBody=body, operationId="importTasks")}}
    result = made(paths)
    (resource,) = whole(result)["resources"].values()
    endpoints = resource["endpoints"]
    assert endpoints["import_tasks"]["body"] == {"url": "string?"}
    assert endpoints["import_tasks_file"]["body"] == {"multipart": {"file": "bytes"}}
    assert endpoints["import_tasks_file"]["path"] == endpoints["import_tasks"]["path"]
    assert not {"content-left-out", "import-mistake"} & {finding.code for finding in result.document.findings}
    assert load_text(result.text, "small.yaml").declaration is not None


def test_enums_of_one_name_with_other_values_have_no_made_up_names() -> None:
    """Where several enums would be called the same, later ones stand where they are used."""
    paths = {
        f"/x{index}": {"get": operation({"type": "string"}, query={"fields": many({"type": "string", "enum": values})})}
        for index, values in enumerate((["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["e", "f"], ["e", "f"]))
    }
    assert not [name for name in spec(paths)["enums"] if name.endswith("Data")]


def test_fields_of_a_multipart_form_have_no_keys_that_only_other_bodies_have() -> None:
    """Neither a style nor `write_only` takes the operation out."""
    properties = {"token": {"type": "string", "writeOnly": True}, "expand": {"type": "array", "items": {}}}
    content = {"schema": record(**properties), "encoding": {"expand": {"style": "deepObject", "explode": True}}}
    form = {"content": {"multipart/form-data": content}}
    result = made({"/uploads": {"post": operation(requestBody=form)}})
    (endpoint,) = whole(result)["resources"]["uploads"]["endpoints"].values()
    assert endpoint["body"] == {"multipart": {"token": "string", "expand": ["any"]}}
    assert result.document.left_out == []


def test_paths_by_another_field_are_endpoints_of_the_one_resource() -> None:
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


def body_of(**members: str) -> Any:
    """A body whose members have these types, none of them required."""
    return {"type": "object", "properties": {name: {"type": type} for name, type in members.items()}}


@pytest.mark.parametrize(
    ("body", "answer", "field", "pagination"),
    [
        ({"limit": "integer", "offset": "integer"}, {}, "offset", {"style": "offset"}),
        ({"limit": "integer", "page": "integer"}, {"total": "integer"}, "page", {"style": "page", "total": "total"}),
        (
            {"maxResults": "integer", "pageToken": "string"},
            {"nextPageToken": "string"},
            "page_token",
            {"style": "cursor", "next": "next_page_token"},
        ),
        ({"cursor": "string"}, {"next": "string"}, "cursor", {"style": "cursor", "next": "next"}),
    ],
)
def test_pages_of_a_list_by_post_are_found_in_its_body(body: Any, answer: Any, field: str, pagination: Any) -> None:
    """Members of the body that name a page and its size are found as parameters are, for lists that are reads."""
    whole_answer = record(items=many(ref("Flow")), **answer) if answer else many(ref("Flow"))
    endpoint, _ = by_post(body_of(name="string", **body), answer=whole_answer)
    style, *others = pagination.items()
    assert endpoint["pagination_field"] == field
    assert list(endpoint["pagination"].items()) == [style, ("in", "body"), *others]
    assert endpoint["members"] == ["get_page"]
    held = endpoint["schema"]["items"] if answer else endpoint["schema"]
    assert held == {"collection": ["Flow"]}


def test_pages_of_a_list_by_post_may_be_named_in_the_query() -> None:
    """Where the body has no position, a parameter of the query names the page."""
    query = [{"name": "page", "in": "query", "schema": {"type": "integer"}}]
    endpoint, _ = by_post(body_of(name="string"), parameters=query)
    assert (endpoint["pagination_field"], endpoint["pagination"]) == ("page", {"style": "page"})


def test_pages_of_a_change_are_not_looked_for() -> None:
    """A POST that may change something has no pages, whatever its body has."""
    endpoint, _ = by_post(body_of(limit="integer", offset="integer"), operationId="bulk_delete_flows")
    assert not {"pagination", "pagination_field"} & set(endpoint)


def test_delete_of_a_relation_below_a_parent_is_no_delete_of_the_record() -> None:
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


def test_changes_name_a_list_whose_items_are_no_records() -> None:
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


def test_rules_object_that_holds_entities_refers_to_them() -> None:
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


@pytest.mark.parametrize(
    ("path", "sent", "reads"),
    [
        ("/things/count", {"name": "string"}, True),
        ("/things/count", {"other": "string"}, False),
        ("/visits/count", {"name": "string"}, False),
    ],
)
def test_a_count_is_a_read_beside_a_list_that_selects_by_the_same(path: str, sent: Any, reads: bool) -> None:
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


def test_a_key_below_several_kinds_of_parents_counts_per_parent() -> None:
    """A property `color` of an issue is no property `color` of a comment, though both are one component."""
    schema = record("key", "value", key="string", value="string")
    paths = {"/app/properties/{propertyKey}": {"get": operation(ref("Property"))}}
    for parent in ("issue", "comment"):
        path = f"/{parent}s/{{{parent}Id}}/properties/{{propertyKey}}"
        paths[path] = {"get": operation(ref("Property")), "put": operation(ref("Property"), body=ref("Property"))}
    entities = whole(made(paths, {"Property": schema}))["entities"]
    keys = [entity["pk"] for entity in entities.values()]
    assert sorted(map(str, keys)) == ["['comment_id', 'key']", "['issue_id', 'key']", "key"]
