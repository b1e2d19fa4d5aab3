"""Authentication and servers."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.openapi.small import comment, made, operation, spec, whole


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
def test_auth_servers_one_scheme_has_the_short_form(schemes: Any, security: Any, auth: Any) -> None:
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
        (
            {"type": "http", "scheme": "Digest"},
            "the scheme 'hmac' signs requests (digest); use an `endpoint: python:`",
        ),
        (
            {"type": "mutualTLS"},
            "the scheme 'hmac' requires a certificate of the client (mutualTLS); use an `endpoint: python:`",
        ),
        (
            {"type": "apiKey", "in": "body"},
            "the scheme 'hmac' does not define the header, cookie or query parameter of its key; "
            "use an `endpoint: python:`",
        ),
        (None, "the scheme 'hmac' is named, but not declared; no credentials are sent for it"),
    ],
)
def test_auth_servers_scheme_that_cannot_be_sent_is_a_finding(scheme: Any, message: str) -> None:
    """Signatures, certificates, and what says too little are told; so is a scheme that no one declared."""
    schemes = {} if scheme is None else {"hmac": scheme}
    result = made({"/a": {"get": operation()}}, security=[{"hmac": []}], components={"securitySchemes": schemes})
    assert "auth" not in whole(result)
    told = [each.message for each in result.document.findings if each.code == "auth-not-carried"]
    assert told == [message]


def test_auth_servers_operation_that_differs_has_its_own_auth() -> None:
    """What differs from the document has `auth` of its own; an empty list is `none`."""
    paths = {"/a": {"get": operation(security=[])}, "/b": {"get": operation(security=[{"y": []}])}}
    schemes = {"x": {"type": "http", "scheme": "bearer"}, "y": {"type": "http", "scheme": "basic"}}
    found = spec(paths, security=[{"x": []}], components={"securitySchemes": schemes})["resources"]
    assert found["a"]["endpoints"]["a"]["auth"] == "none"
    assert found["b"]["endpoints"]["b"]["auth"] == "y"


def test_auth_servers_several_servers_have_names() -> None:
    """Several servers, or one with variables, are `servers`."""
    servers = [{"url": "https://a.example", "description": "Production server"}, {"url": "https://b.example/v1"}]
    assert spec({"/a": {"get": operation()}}, servers=servers)["servers"] == {
        "production": "https://a.example", "b": "https://b.example/v1",
    }  # fmt: skip


def test_auth_servers_variable_in_place_of_the_scheme_has_its_default() -> None:
    """A spec has no variable there, and the server is not lost."""
    variables = {"scheme": {"enum": ["http", "https"], "default": "https"}, "host": {"default": "shop.example"}}
    imported = spec({"/a": {"get": operation()}}, servers=[{"url": "{scheme}://{host}/v1", "variables": variables}])
    (server,) = imported["servers"].values()
    assert server == {"url": "https://{host}/v1", "variables": {"host": {"type": "string", "default": "shop.example"}}}


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
def test_auth_servers_prefix_is_described_or_checked(scheme: dict[str, Any], prefix: str | None, checked: bool) -> None:
    """It is what the description, an extension or an example says; else that is to be checked of `Authorization`."""
    found = {"type": "apiKey", "in": "header", "name": "Authorization", **scheme}
    result = made({"/a": {"get": operation()}}, security=[{"key": []}], components={"securitySchemes": {"key": found}})
    assert whole(result)["auth"].get("prefix") == prefix
    assert ("check: " in comment(result, "auth")) is checked


def test_auth_servers_undeclared_security_is_the_scheme_to_be_checked() -> None:
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


def test_auth_servers_doubts_about_one_scheme_all_stand() -> None:
    """That most operations say nothing of it hides no doubt about its prefix."""
    paths = {f"/a{index}": {"get": operation()} for index in range(3)}
    paths["/b"] = {"get": operation(security=[{"key": []}])}
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "Authorization"}}
    text = comment(made(paths, components={"securitySchemes": schemes}), "auth")
    assert text.split("; ") == [
        "key",
        "check: 3 operations do not say whether they ask for it",
        "check: does a word such as 'Bearer ' stand before the key?",
    ]


@pytest.mark.parametrize("place", ["header", "query"])
def test_auth_servers_parameter_that_is_the_key_of_a_scheme_is_not_sent_twice(place: Any) -> None:
    """Authentication sends it; only an operation without authentication has it as an argument."""
    key = {"name": "api_key", "in": place, "required": True, "schema": {"type": "string"}}
    paths = {f"/a{index}": {"get": operation(parameters=[key])} for index in range(3)}
    paths["/login"] = {"get": operation(parameters=[key], security=[])}
    schemes = {"key": {"type": "apiKey", "in": place, "name": "api_key"}}
    found = spec(paths, security=[{"key": []}], components={"securitySchemes": schemes})
    endpoints = {name: each["endpoints"].popitem()[1] for name, each in found["resources"].items()}
    params = "header_params" if place == "header" else "search_params"
    assert [name for name, each in endpoints.items() if params in each] == ["login"]
    assert params not in found


def test_auth_servers_scope_that_cannot_be_sent_is_left_out() -> None:
    """A scope has no space; one that has is a description."""
    flow = {"tokenUrl": "https://x.example/token", "scopes": {"read": "", "read all": "", " ": ""}}
    scheme = {"type": "oauth2", "flows": {"clientCredentials": flow}}
    found = spec(
        {"/a": {"get": operation()}}, security=[{"o": ["read all"]}], components={"securitySchemes": {"o": scheme}}
    )
    (declared,) = found["auth"]["schemes"].values()
    assert declared["oauth2"]["scopes"] == ["read"]


def test_auth_servers_variables_of_one_name_and_two_types_are_two() -> None:
    """A variable is an argument of the client, so it has one type; servers with the same one share it."""

    def server(url: str, *regions: str) -> dict[str, Any]:
        return {"url": url, "variables": {"region": {"enum": regions, "default": regions[0]}}}

    servers = [
        server("https://a.{region}.example", "eu", "us"),
        server("https://b.{region}.example", "eu", "us"),
        server("https://c.{region}.example", "cn", "hk"),
    ]
    found = spec({"/a": {"get": operation()}}, servers=servers)["servers"]
    assert [list(each["variables"]) for each in found.values()] == [["region"], ["region"], ["c_region"]]
    assert found["c"]["url"] == "https://c.{c_region}.example"


def test_auth_servers_parameter_of_the_client_is_called_otherwise_than_a_variable() -> None:
    """Both are arguments of the client."""
    servers = [{"url": "https://{shop}.example", "variables": {"shop": {"default": "a"}}}]
    paths = {f"/a{index}": {"get": operation(query={"shop": "string"})} for index in range(3)}
    for each in paths.values():
        each["get"]["parameters"][0]["required"] = True
    found = spec(paths, servers=servers)
    assert found["search_params"] == {"shop_param": {"type": "string", "wire": "shop"}}
