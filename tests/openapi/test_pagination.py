"""Pagination: which style a list has, and what is to be checked of it."""

from __future__ import annotations

from typing import Any

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
    parameter,
    record,
    ref,
    spec,
    whole,
    written,
)

from restencil_generator.spec.load import load_text


def test_pagination_total_of_selected_items_counts() -> None:
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
def test_pagination_link_header_names_the_next_page(query: Any) -> None:
    """A declared `Link` header names the next page, and the page parameter stays one."""
    get = operation(many(ref("Flow")), query=query)
    get["responses"]["200"]["headers"] = {"Link": {"schema": {"type": "string"}}}
    paths = {"/flows": {"get": get}, "/flows/{id}": {"get": operation(ref("Flow"))}}
    found = spec(paths, {"Flow": record("id", id="string")})["resources"]["flows"]
    assert (found["pagination_field"], found["pagination"]) == ("page", {"style": "link"})


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
def test_pagination_style_follows_from_names(query: Any, answer: Any, pagination: Any) -> None:
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
def test_pagination_list_by_post_has_its_pages_in_the_body(body: Any, answer: Any, field: str, pagination: Any) -> None:
    """Members of the body that name a page and its size are found as parameters are, for lists that are reads."""
    whole_answer = record(items=many(ref("Flow")), **answer) if answer else many(ref("Flow"))
    endpoint, _ = by_post(body_of(name="string", **body), answer=whole_answer)
    style, *others = pagination.items()
    assert endpoint["pagination_field"] == field
    assert list(endpoint["pagination"].items()) == [style, ("in", "body"), *others]
    assert endpoint["members"] == ["get_page"]
    held = endpoint["schema"]["items"] if answer else endpoint["schema"]
    assert held == {"collection": ["Flow"]}


def test_pagination_list_by_post_may_have_its_pages_in_the_query() -> None:
    """Where the body has no position, a parameter of the query names the page."""
    query = [{"name": "page", "in": "query", "schema": {"type": "integer"}}]
    endpoint, _ = by_post(body_of(name="string"), parameters=query)
    assert (endpoint["pagination_field"], endpoint["pagination"]) == ("page", {"style": "page"})


def test_pagination_change_has_no_pages() -> None:
    """A POST that may change something has no pages, whatever its body has."""
    endpoint, _ = by_post(body_of(limit="integer", offset="integer"), operationId="bulk_delete_flows")
    assert not {"pagination", "pagination_field"} & set(endpoint)


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
    assert comment(result, "resources.items.pagination") == checked


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
    assert comment(result, "resources.items.pagination") == checked


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
    assert comment(result, "resources.items.pagination") == checked


def test_pagination_cursor_is_no_url() -> None:
    """Where the member beside a cursor is declared to be a URL, the next page is requested at it."""
    answer = record(results=many(ref("Item")), next={"type": "string", "format": "uri"})
    paths = {
        "/items": {"get": operation(answer, query={"cursor": "string"})},
        "/items/{id}": {"get": operation(ref("Item"))},
    }
    found = written(made(paths, {"Item": ITEM}), "resources", "items")
    assert (found["pagination_field"], found["pagination"]) == ("cursor", {"style": "url", "next": "next"})


def test_pagination_time_is_no_cursor() -> None:
    """`after`, a time, filters the list, and its pages are counted; `total_entries` is their total."""
    query = {"after": {"type": "string", "format": "date-time"}, "offset": "integer"}
    answer = record(items=many(ref("Item")), total_entries="integer")
    paths = {"/items": {"get": operation(answer, query=query)}, "/items/{id}": {"get": operation(ref("Item"))}}
    found = spec(paths, {"Item": record("id", id="integer")})["resources"]["items"]
    assert found["pagination"] == {"style": "offset", "total": "total_entries"}


def test_pagination_cursor_that_has_to_be_asked_for_gives_way_to_an_offset() -> None:
    """Without a cursor, such a server has no `next_cursor`, so an iteration would end after the first page."""
    cursor = parameter("cursor", type="string", description="Pass an empty string for the first page.")
    get = operation(
        record(items=many(ref("Item")), next_cursor="string"), query={"offset": "integer"}, parameters=[cursor]
    )
    result = made({"/items": {"get": get}, "/items/{id}": {"get": operation(ref("Item"))}}, {"Item": ITEM})
    assert written(result, "resources", "items", "pagination") == {"style": "offset"}
    assert comment(result, "resources.items.pagination") == "check: cursor is a parameter too"


def test_pagination_pages_that_are_not_full_are_to_be_checked() -> None:
    """An offset that counts what was looked at, and not what was returned, is to be checked."""
    text = "This usually returns fewer items than specified in `limit`."
    result = listed(ITEM, query={"offset": "integer"}, description=text)
    assert "check: a page that is not full" in comment(result, "resources.items.pagination")
