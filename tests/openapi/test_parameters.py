"""Parameters: headers, and styles of lists and objects."""

from __future__ import annotations

import pytest
from tests.openapi.small import ORDER, crud, many, operation, record, ref, spec


def test_parameters_headers_are_dropped_made_or_in_no_key() -> None:
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


@pytest.mark.parametrize(
    ("style", "explode", "written"),
    [
        ("form", True, "repeat"),
        ("form", False, None),
        ("spaceDelimited", False, "space"),
        ("pipeDelimited", False, "pipe"),
        ("spaceDelimited", True, "repeat"),
        ("pipeDelimited", True, "repeat"),
    ],
)
def test_parameters_style_of_most_lists_is_written_once(style: str, explode: bool, written: str | None) -> None:
    """The most frequent style of lists is `search_style`; commas are the default."""
    tags = {"name": "tags", "in": "query", "style": style, "explode": explode, "schema": many({"type": "string"})}
    assert spec({"/a": {"get": operation(parameters=[tags])}}).get("search_style") == written


def test_parameters_brackets_and_objects_are_split() -> None:
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


@pytest.mark.parametrize(
    ("alternatives", "written"),
    [
        (
            [{"format": "uuid"}, {}, many({"anyOf": [{"type": "string", "format": "uuid"}, {"type": "string"}]})],
            ["string"],
        ),
        ([{"format": "date-time"}, {}, many({"type": "string"})], ["string"]),
    ],
)
def test_parameters_string_or_a_list_of_strings_is_a_list(alternatives: list[dict[str, str]], written: object) -> None:
    """Other strings, such as UUIDs, are strings too."""
    choice = {"anyOf": [*({"type": "string", **each} for each in alternatives), {"type": "null"}]}
    found = spec({"/a": {"get": operation(query={"key": choice})}})["resources"]["a"]["endpoints"]["a"]
    assert found["search_params"] == {"key": {"type": written, "optional": True}}


def test_parameters_of_any_type_may_be_left_out() -> None:
    """The type `any` alone would have to be passed."""
    found = spec({"/a": {"get": operation(query={"key": {}})}})["resources"]["a"]["endpoints"]["a"]
    assert found["search_params"] == {"key": {"type": "any", "style": "json", "optional": True}}


def test_parameters_that_a_list_requires_are_not_those_of_its_push() -> None:
    """Unless the document declares them there: a call could not omit them."""
    user = {"User": record("id", "name", id="string", name="string")}
    q = {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}
    for declared, written in (([], {}), ([q], {"q": "string"})):
        paths = crud("/users", "id", ref("User"))
        paths["/users"] = {
            "get": operation(many(ref("User")), parameters=[q]),
            "post": operation(ref("User"), body=ref("User"), parameters=declared),
        }
        found = spec(paths, user)["resources"]["users"]
        assert found["search_params"] == {"q": "string"}
        assert found["endpoints"]["push"]["search_params"] == written


def test_parameters_arguments_of_the_client_are_in_the_order_of_the_document() -> None:
    """The same document gives the same bytes in every run."""
    names = ["X-Zone", "X-Account", "X-Mode", "X-Brand", "X-Team"]
    headers = [{"name": name, "in": "header", "required": True, "schema": {"type": "string"}} for name in names]
    found = spec({f"/a{index}": {"get": operation(parameters=headers)} for index in range(3)})
    assert list(found["header_params"]) == ["x_zone", "x_account", "x_mode", "x_brand", "x_team"]
