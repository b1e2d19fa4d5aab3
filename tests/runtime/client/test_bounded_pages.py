"""Runs over pages whose responses come from elsewhere: a request in flight, a 304, hooks of an endpoint."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from restencil import Controller, Entity, create_resource
from restencil.testing import Answer, MockServer


class Item(Entity, key="BoundedItem"):
    id: int = 0
    title: str = ""


STYLES: list[dict[str, Any]] = [
    {"pagination": "page"},
    {"pagination": "link"},
    {"pagination": {"style": "cursor", "next": "meta.next"}, "unwrap": "data", "pagination_field": "page"},
    {"pagination": {"style": "cursor", "next": "header:X-Next"}, "pagination_field": "page"},
]
IDS = ["page", "link", "envelope", "header"]


def three_pages(request: Any, options: dict[str, Any], delay: float = 0) -> Answer:
    """A list of six items on three pages, each of which names the next one in all ways."""
    page = int(parse_qs(urlsplit(request.url).query).get("page", ["1"])[0])
    rows = [{"id": pk, "title": f"t{pk}"} for pk in range(page * 2 - 1, page * 2 + 1) if pk <= 6]
    headers = {"ETag": f'"{page}"', "Content-Type": "application/json"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Answer(304, headers={"ETag": headers["ETag"]})
    if page < 3:
        headers |= {"X-Next": str(page + 1), "Link": f'</items?page={page + 1}>; rel="next"'}
    body: Any = {"data": rows, "meta": {"next": page + 1 if page < 3 else None}} if "unwrap" in options else rows
    return Answer(headers=headers, content=json.dumps(body).encode(), delay=delay)


def listing(options: dict[str, Any], **more: Any) -> Any:
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field="page", strict=True)
    return resource.get_list.extend(**options, **more)


@pytest.mark.parametrize("options", STYLES, ids=IDS)
def test_bounded_pages_iterate_after_a_validated_read_finds_the_next_page(options: dict[str, Any]) -> None:
    """A 304 has neither the headers nor the body that name the next page, so a run does without one."""
    server = MockServer(respond=lambda request: three_pages(request, options))
    endpoint = listing(options, data_expiry_length=0, conditional=True)
    with Controller(client=server.client(), base_url="http://mock") as controller:
        controller.fetch(endpoint)
        controller.fetch(endpoint)
        for _ in range(2):
            assert [item.id for item in controller.iterate(endpoint)] == [1, 2, 3, 4, 5, 6]
