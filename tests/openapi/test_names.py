"""Names of resources, endpoints, types and fields."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.small import ORDER, crud, made, many, operation, record, ref, spec, whole

from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_text


@pytest.mark.parametrize("name", ["True", "None", "typing", "restencil", "class", "_client", "Any", "list", "Client"])
def test_names_name_that_generated_modules_use_gives_way(name: str) -> None:
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


def test_names_inline_object_is_called_after_its_place() -> None:
    """An object without a name is called like its owner and field; equal ones of one name are one."""
    inner = record("x", x="string")
    found = spec({"/cars/{id}": {"get": operation(record("id", id="string", door=inner))}})
    assert found["objects"] == {"CarDoor": {"x": "string"}}


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
def test_names_fields_are_in_snake_case(wire: str, name: str) -> None:
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


def test_names_fields_that_differ_by_signs_alone_have_them_spelled() -> None:
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
def test_names_resource_is_called_by_the_last_literal(paths: list[str], names: list[str]) -> None:
    """The last literal; where taken, those before it, then versions, then parameters."""
    found = spec(
        {
            path: {"get": operation(record("id", id="string", **{f"f{index}": "string"}))}
            for index, path in enumerate(paths)
        }
    )
    assert sorted(found["resources"]) == names


def test_names_resource_is_not_called_like_a_member_of_the_client() -> None:
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
def test_names_endpoint_is_called_by_its_operation_id(operation_id: str | None, tags: list[str], name: str) -> None:
    """The operationId without tag, path and method; without one, the last literal."""
    more: dict[str, Any] = {"tags": tags, **({"operationId": operation_id} if operation_id else {})}
    found = spec(
        {**crud("/orders", "id", ref("Order")), "/orders/{id}/cancel": {"post": operation(**more)}}, {"Order": ORDER}
    )
    assert list(found["resources"]["orders"]["endpoints"]) == [name]


@pytest.mark.parametrize(
    ("method", "name"), [("delete", "delete_orders"), ("put", "put_orders"), ("post", "post_orders")]
)
def test_names_change_of_a_list_is_not_called_like_its_list(method: str, name: str) -> None:
    """`delete_orders()` deletes all orders of a shop, which `orders()` would not say."""
    paths = crud("/shops/{shop}/orders", "id", ref("Order"))
    paths["/shops/{shop}/orders"][method] = operation(status="204")
    found = spec(paths, {"Order": ORDER})
    assert list(found["resources"]["orders"]["endpoints"]) == [name]


def test_names_types_give_way_to_each_other() -> None:
    """Objects give way to entities, these to resources, by the ending `Data`."""
    found = spec(
        {"/settings/{id}": {"get": operation(ref("Settings"))}, "/x": {"get": operation(ref("NotFoundError"))}},
        {"Settings": record("id", id="string"), "NotFoundError": record(a="string")},
    )
    assert list(found["entities"]) == ["SettingsData"]
    assert list(found["objects"]) == ["NotFoundErrorData"]


def test_names_style_of_most_fields_is_wire_names() -> None:
    """A style that gives nine in ten names back is `wire_names`; the others have `wire`."""
    names = ["firstName", "lastName", "zipCode", "birthDay", "a", "b", "c", "d", "e"]
    found = spec(
        {"/a/{id}": {"get": operation(record("id", id="string", odd_one="string", **dict.fromkeys(names, "string")))}}
    )
    assert found["wire_names"] == "camelCase"
    (entity,) = found["entities"].values()
    assert entity["fields"]["odd_one"] == {"type": "string?", "wire": "odd_one"}


def test_names_enums_of_one_name_have_no_made_up_names() -> None:
    """Where several enums would be called the same, later ones stand where they are used."""
    paths = {
        f"/x{index}": {"get": operation({"type": "string"}, query={"fields": many({"type": "string", "enum": values})})}
        for index, values in enumerate((["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["e", "f"], ["e", "f"]))
    }
    assert not [name for name in spec(paths)["enums"] if name.endswith("Data")]
