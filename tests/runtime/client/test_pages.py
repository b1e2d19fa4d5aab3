"""Pages of lists: places of their own, lists of which only pages are known, and stores that let go of lists."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.runtime.doubles import Desk

from restencil import Controller, Entity, Resource, create_resource, rest_list
from restencil.endpoint.typing import ControllerType
from restencil.testing import Answer, FakeClock, MockServer


class Thing(Entity, key="PagesThing"):
    id: str = ""


class Other(Entity, key="PagesOther"):
    id: str = ""


Things: Any = create_resource(path="/things/:id", schema=Thing, pagination_field="page")


def test_pages_explain_reports_of_the_page(controller: Controller) -> None:
    """It says when the page was answered, and that a call asks in any case."""
    controller.set_response(Things.get_list, [{"id": "1"}])
    assert not controller.explain(Things.get_list.get_page, page=2).found
    controller.set_response(Things.get_list.get_page, [{"id": "2"}], page=2)
    explanation = controller.explain(Things.get_list.get_page, page=2)
    assert explanation.found and explanation.entities == (("PagesThing", "2"),)
    assert "it is a page: `get_page` always fetches it" in str(explanation)


def test_page_that_came_before_its_list_leaves_that_as_fresh_as_it_is(desk: Desk) -> None:
    """Two threads may store what came in another order than it came."""
    listed, page = Things.get_list, Things.get_list.get_page
    desk.answer(listed, [{"id": "1"}], {})
    desk.now += 20
    desk.answer(listed, [{"id": "1"}], {})
    expires_at = desk.store.state["meta"][listed.key()]["expires_at"]
    desk.now -= 10
    desk.answer(page, [{"id": "2"}], {"page": 2})
    assert desk.store.state["meta"][listed.key()]["expires_at"] == expires_at
    desk.now += 30
    desk.answer(page, [{"id": "2"}], {"page": 2})
    assert desk.store.state["meta"][listed.key()]["expires_at"] == expires_at + 20


class Numbered(Resource[ControllerType], path="/numbered/:id", schema=Other, pagination_field="_page"):
    @rest_list(wire={"page": "_page"})
    def get_list(self, *, page: int = 0) -> list[Other]:
        raise NotImplementedError


def test_pages_default_of_the_page_is_part_of_no_key_and_no_identity(controller: Controller) -> None:
    """So pages extend the list that was asked without saying a page; runs are counted from it."""
    listed: Any = Numbered.get_list
    assert listed.key() == "GET /numbered"
    controller.set_response(listed, [{"id": "1"}, {"id": "2"}])
    controller.set_response(listed.get_page, [{"id": "3"}], page=1)
    found = controller.cached(listed)
    assert found is not None and [other.id for other in found] == ["1", "2", "3"]
    assert listed.request(({},), located=True).key == listed.key()
    assert listed.first_page == 0 and listed.request_url(()) == "/numbered?_page=0"


class Paged(Resource[ControllerType], path="/paged/:id", schema=Other, pagination_field="_page", strict=True):
    @rest_list(wire={"page": "_page"})
    def get_list(self, *, tag: str | None = None, page: int = 1) -> list[Other]:
        raise NotImplementedError


def test_pages_list_of_a_package_requested_a_page_gives_that_page(controller: Controller) -> None:
    """The page is part of neither key nor identity: it has its place beside the list, and extends it."""
    listed: Any = controller.bind(Paged.get_list)
    listed.set_response([{"id": "1"}, {"id": "2"}], tag="a")
    listed.set_response([{"id": "4"}, {"id": "3"}], tag="a", page=2)
    assert [other.id for other in listed.cached(tag="a", page=2)] == ["4", "3"]
    assert [other.id for other in listed.get_page.cached(tag="a", page=2)] == ["4", "3"]
    assert [other.id for other in listed.cached(tag="a")] == ["1", "2", "4", "3"]
    assert [other.id for other in listed.cached(tag="a", page=1)] == ["1", "2", "4", "3"]
    assert listed.cached(page=2) is None
    listed.set_response([{"id": "7"}], page=3)
    assert listed.cached() is None and controller.explain(Paged.get_list).waits
    assert set(controller.store.state["entities"]["[PagesOther] pages"]) == {'{"tag":"a"}', "{}"}
    by_hand: Any = create_resource(path="/paged/:id", schema=Other, pagination_field="_page").get_list
    assert by_hand.request(({"_page": 2},)).key == "GET /paged?_page=2"


def test_page_of_a_packages_list_is_read_through_the_cache(clock: FakeClock) -> None:
    """The list is read, so a page of it that is fresh is not asked again, as it is by `get_page`."""
    server = MockServer(clock)
    server.respond = lambda request: Answer(json=[{"id": str(request.url.partition("_page=")[2])}])
    controller = Controller(clock.store(), client=server.client(), base_url="http://mock")
    listed: Any = controller.bind(Paged.get_list)

    def asked(call: Any) -> tuple[list[str], int]:
        before = len(server.requests)
        return [other.id for other in clock.call(call)], len(server.requests) - before

    assert asked(lambda: listed(page=2)) == (["2"], 1)
    assert asked(lambda: listed(page=2)) == (["2"], 0)
    assert asked(lambda: listed.get_page(page=2)) == (["2"], 1)
    assert asked(lambda: listed()) == (["1"], 1)
    assert asked(lambda: listed(page=1)) == (["1"], 0)
    clock.close()


# -- bounded pages


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
