"""Parameters: headers, and styles of lists and objects."""

from __future__ import annotations

import pytest
from tests.openapi.small import ORDER, many, operation, record, spec


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
