"""Primary keys: which member or parameter tells records apart, and what is to be checked of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import comment, crud, made, many, operation, parameter, record, ref, spec, whole, written


def test_primary_keys_last_parameter_has_the_name_of_the_key() -> None:
    """`/users/{user_id}` with the key `id` is `/users/:id`; a parent of that name gives way."""
    schemas = {"User": record("id", id="string"), "Post": record("id", id="string")}
    found = spec({**crud("/users", "id", ref("User")), **crud("/users/{id}/posts", "post_id", ref("Post"))}, schemas)
    assert found["resources"]["users"]["path"] == "/users/:id"
    assert found["resources"]["posts"]["path"] == "/users/:user_id/posts/:id"


@pytest.mark.parametrize(
    ("path", "member", "said"),
    [
        ("/repos/{repo}/issues/{index}", "index", "check: pk: counts per {repo}"),
        ("/repos/{repo}/issues/{number}", "number", "check: pk: counts per {repo}"),
        ("/channels/{channel_id}/members/{user_id}", "user_id", "check: pk: counts per {channel_id}"),
    ],
)
def test_primary_keys_last_parameter_counts_per_parent(path: str, member: str, said: str) -> None:
    """Beside an `id`, it is a key that counts per parent, which is to be checked."""
    schema = record("id", member, id="integer", **{member: "string"})
    result = made({path: {"get": operation(schema)}})
    ((name, entity),) = whole(result)["entities"].items()
    parent = path.split("/")[2].strip("{}")
    assert entity["pk"] == [parent, member]
    assert entity["fields"][parent] == {"type": "string", "param": parent}
    assert comment(result, f"entities.{name}.pk") == said


@pytest.mark.parametrize(
    ("run_id", "pk", "said"),
    [
        ("string", ["job_id", "run_id"], "check: pk: counts per {job_id}"),
        ({"type": "string", "format": "uuid"}, "run_id", "pk: named like {run_id}"),
        ("integer", "run_id", "pk: named like {run_id}"),
    ],
)
def test_primary_keys_string_with_its_own_name_counts_per_owner(run_id: Any, pk: Any, said: str) -> None:
    """Two jobs may have a run `2024-01-01` each: clients choose such keys, other than numbers and UUIDs."""
    run = record("run_id", job_id="string", run_id=run_id)
    result = made({"/jobs/{job_id}/runs/{run_id}": {"get": operation(run), "delete": operation()}})
    (entity,) = whole(result)["entities"]
    assert whole(result)["entities"][entity]["pk"] == pk
    assert comment(result, f"entities.{entity}.pk") == said


def test_primary_keys_string_with_its_own_name_is_to_be_checked_without_the_owner() -> None:
    """A task that does not contain its job may be a record of the job alone, or of all of them."""
    result = made({"/jobs/{job_id}/tasks/{task_id}": {"get": operation(record("task_id", task_id="string"))}})
    assert comment(result, "entities.Task.pk") == "pk: named like {task_id}; check: it may count per {job_id}"


def test_primary_keys_number_of_the_thing_counts_per_owner() -> None:
    """The first try of one task is not that of another."""
    attempt = record("try_number", task_id="string", try_number="integer", state="string")
    path = "/tasks/{task_id}/tries/{task_try}"
    result = made({path: {"get": operation(attempt), "delete": operation()}})
    assert written(result, "entities", "Try", "pk") == ["task_id", "try_number"]
    assert written(result, "resources", "tries", "params", "task_try")["field"] == "try_number"


def test_primary_keys_parameter_that_gives_way_to_a_search_parameter_keeps_its_field() -> None:
    """Beside a filter `number`, the last parameter is `issue_number`, which is still the field `number`."""
    issue = record("number", repo="string", number="integer")
    paths = {
        "/repos/{repo}/issues": {"get": operation(many(issue), query={"number": "integer"})},
        "/repos/{repo}/issues/{number}": {"get": operation(issue)},
    }
    issues = spec(paths)["resources"]["issues"]
    assert issues["path"] == "/repos/:repo/issues/:issue_number"
    assert issues["params"]["issue_number"] == {"field": "number"}


def test_primary_keys_last_word_of_a_parameter_is_the_field() -> None:
    """`issue_number` beside a member `number` is `{field: number}`."""
    answer = record("id", id="integer", number="integer")
    found = spec({"/repos/{repo}/issues/{issue_number}": {"get": operation(answer)}})
    assert found["resources"]["issues"]["path"] == "/repos/:repo/issues/:issue_number"
    assert found["resources"]["issues"]["params"] == {"issue_number": {"field": "number"}}
    assert found["entities"]["Issue"]["pk"] == ["repo", "number"]


@pytest.mark.parametrize("last", ["charge_code", "charge_id"])
def test_primary_keys_parent_with_the_name_of_the_key_is_the_parameter(last: str) -> None:
    """`code` in `/plans/{code}/charges/{charge_code}` is that of the plan; the member `code` is that of the charge."""
    answer = record("code", code="string", amount="integer")
    paths = {
        "/plans/{code}/charges": {"get": operation(many(answer))},
        f"/plans/{{code}}/charges/{{{last}}}": {"get": operation(answer), "delete": operation()},
    }
    found = spec(paths)
    assert found["entities"]["Charge"]["pk"] == ["code_param", "code"]
    assert found["entities"]["Charge"]["fields"]["code_param"] == {"type": "string", "param": "code"}
    assert found["resources"]["charges"]["members"] == ["get", "get_list", "delete"]


def test_primary_keys_outer_parameter_is_never_the_key() -> None:
    """`/projects/{id}/exports/{export_pk}` with the key `id` calls the outer parameter otherwise."""
    found = spec({"/projects/{id}/exports/{export_pk}": {"get": operation(record("id", id="integer", title="string"))}})
    assert found["resources"]["exports"]["path"] == "/projects/:project_id/exports/:id"


def test_primary_keys_thing_of_the_type_of_the_id_is_the_id() -> None:
    """`/pets/{pet}` with the key `id` is `/pets/:id` where both are of one type, which is to be checked."""
    same = made({"/pets/{pet}": {"get": operation(record("id", id="string"))}})
    assert whole(same)["resources"]["pets"]["path"] == "/pets/:id"
    assert comment(same, "resources.pets.path") == "check: {pet} is taken for the id"
    other = spec({"/pets/{pet}": {"get": operation(record("id", id="integer"))}})
    assert other["resources"]["pets"]["path"] == "/pets/:pet"


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
def test_primary_keys_first_rule_that_finds_a_member_counts(path: str, schema: Any, pk: str | None, said: str) -> None:
    """The first rule that finds a property gives the key, and says in a comment why."""
    result = made({path: {"get": operation(schema), "delete": operation(status="204")}})
    entity, values = next(iter(whole(result)["entities"].items()))
    found = values.get("pk", "id")
    if pk is None:
        assert found == "ref"
        return
    assert found == pk
    assert comment(result, f"entities.{entity}.{'pk' if pk != 'id' else 'fields.id'}") == said


def test_primary_keys_kubernetes_key_is_in_metadata() -> None:
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


def test_primary_keys_path_is_the_key_of_records_without_one() -> None:
    """Where nothing tells records apart, but they change, the path's parameters do."""
    result = made(
        {"/flags/{env}/{flag}": {"get": operation(record(on="boolean")), "put": operation(record(on="boolean"))}}
    )
    (entity,) = whole(result)["entities"].values()
    assert entity["pk"] == ["env", "flag"]
    assert [each.code for each in result.document.findings] == ["pk-from-path"]


def test_primary_keys_list_without_the_key_in_its_path_has_plain_items() -> None:
    """A record that only its own path identifies is data in the list: there, nothing tells the records apart."""
    schemas = {"Preset": record("value", value="string")}
    paths = {
        "/presets": {"get": operation(many(ref("Preset"))), "post": operation(ref("Preset"), body=ref("Preset"))},
        "/presets/{preset_id}": {"get": operation(ref("Preset")), "delete": operation()},
    }
    found = spec(paths, schemas)
    presets = found["resources"]["presets"]
    assert presets["schema"] == "Preset"
    assert presets["members"] == ["get", "get_list", "delete"]
    assert presets["endpoints"]["get_list"]["schema"] == ["PresetData"]
    assert presets["endpoints"]["delete"]["expires"] == ["get_list"]
    assert found["objects"]["PresetData"] == {"value": "string!"}


def test_primary_keys_component_below_several_parents_counts_per_parent() -> None:
    """A property `color` of an issue is no property `color` of a comment, though both are one component."""
    schema = record("key", "value", key="string", value="string")
    paths = {"/app/properties/{propertyKey}": {"get": operation(ref("Property"))}}
    for parent in ("issue", "comment"):
        path = f"/{parent}s/{{{parent}Id}}/properties/{{propertyKey}}"
        paths[path] = {"get": operation(ref("Property")), "put": operation(ref("Property"), body=ref("Property"))}
    entities = whole(made(paths, {"Property": schema}))["entities"]
    keys = [entity["pk"] for entity in entities.values()]
    assert sorted(map(str, keys)) == ["['comment_id', 'key']", "['issue_id', 'key']", "key"]


def test_primary_keys_id_of_a_record_is_not_that_of_its_parent() -> None:
    """In `/projects/{id}/issues/{iid}`, the member `id` of an issue is its own, and the list is not one of that id."""
    issue = record("id", "iid", id="integer", iid="integer")
    paths = {
        "/projects/{id}/issues": {"get": operation(many(issue))},
        "/projects/{id}/issues/{iid}": {"get": operation(issue)},
    }
    result = made(paths)
    assert written(result, "resources", "issues", "path") == "/projects/:project_id/issues/:iid"
    assert written(result, "entities", "Issue", "pk") == ["id_param", "iid"]
    assert comment(result, "entities.Issue.pk").startswith("check:")


def test_primary_keys_required_member_goes_before_an_optional_one() -> None:
    """An optional `option_id` is a reference to another option, where `id` is required."""
    option = record("id", id="string", option_id="string")
    result = made({"/options": {"get": operation(many(option))}, "/options/{option_id}": {"get": operation(option)}})
    assert "pk" not in written(result, "entities", "Option")


def test_primary_keys_required_query_parameter_is_to_be_checked() -> None:
    """A query parameter that an item needs may be part of its key."""
    item = record("key", key="string", value="string")
    query = [{**parameter("accountId", type="string"), "required": True}]
    paths = {
        "/health": {"get": operation()},
        "/users": {"get": operation()},
        "/properties/{key}": {"get": operation(item, parameters=query)},
    }
    assert comment(made(paths), "entities.Property.pk").endswith("; check: it may count per {accountId}")


def test_primary_keys_query_parameter_with_the_name_of_a_member_is_to_be_checked() -> None:
    """`?version=1` and `?version=2` of one source are different records."""
    source = record("source_id", source_id="string", number="integer", text="string")
    get = operation(source, query={"number": "integer"})
    result = made(
        {"/health": {"get": operation()}, "/users": {"get": operation()}, "/sources/{source_id}": {"get": get}}
    )
    assert comment(result, "entities.Source.pk").endswith("; check: it may count per {number}")


def test_primary_keys_kind_in_the_query_of_a_singleton_is_to_be_checked() -> None:
    """A user has one token of each type."""
    token = record(token="string", limit="integer")
    get = operation(token, query={"type": {"type": "string", "enum": ["token", "zak"]}})
    paths = {
        "/users/{userId}": {"get": operation(record("id", id="string"))},
        "/users/{userId}/token": {"get": get, "delete": operation(status="204")},
    }
    assert "check: it may count per {type}" in [text for _, text in made(paths).tree.comments.items()]


def test_primary_keys_records_keyed_by_two_paths_are_two_entities() -> None:
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


def test_primary_keys_records_of_two_lists_are_two_entities() -> None:
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


@pytest.mark.parametrize(
    ("name", "description", "doubt"),
    [
        ("org", "The name of the organization. It is not case sensitive.", "{org} has several spellings of one value"),
        ("org_id_or_key", "", "{org_id_or_key} has several spellings of one value"),
        ("org", "The name of the organization.", None),
    ],
)
def test_primary_keys_parameter_with_several_spellings_is_checked(
    name: str, description: str, doubt: str | None
) -> None:
    """Two spellings of an owner are two records of restencil, and one of the server."""
    owner = {"name": name, "in": "path", "required": True, "description": description, "schema": {"type": "string"}}
    secret = operation(record("name", name="string"), parameters=[owner])
    result = made({f"/orgs/{{{name}}}/secrets/{{name}}": {"get": secret}})
    assert [text for _, text in result.tree.checks()] == ([] if doubt is None else [doubt])


@pytest.mark.parametrize(
    ("name", "description", "key", "path"),
    [
        ("project_id", "Either project ID or project name.", "string", "/projects/:project_id"),
        ("project_id", "The name or the `id` of a project", "string", "/projects/:project_id"),
        ("project_name_or_id", "", "string", "/projects/:project_name_or_id"),
        ("project_id", "The ID or URL-encoded path of the project", "integer", "/projects/:id"),
        ("project_id", "The ID of the project, or of its name's owner", "string", "/projects/:id"),
    ],
)
def test_primary_keys_parameter_that_accepts_a_name_is_not_the_key(
    name: str, description: str, key: str, path: str
) -> None:
    """A name in place of a key that is a string would be the key of another record; a key is to be checked then."""
    given = {"name": name, "in": "path", "required": True, "description": description, "schema": {"type": "string"}}
    paths = {
        "/projects": {"get": operation(many(ref("Project")))},
        f"/projects/{{{name}}}": {"get": operation(ref("Project"), parameters=[given])},
    }
    result = made(paths, {"Project": record("id", id=key, name="string")})
    assert written(result, "resources", "projects", "path") == path
    is_named = " or " in description.replace(", or", "") or "_or_" in name
    assert (f"{{{name}}} may be another name" in comment(result, "entities.Project.fields.id")) is is_named
