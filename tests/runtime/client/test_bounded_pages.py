"""Paging: bounded stores, requests that are already in flight, and lists of plain values."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from tests.storages import sqlite_storage

from restencil import (
    AsyncController,
    Controller,
    Entity,
    RestEndpoint,
    Store,
    create_resource,
    foreign_key,
)
from restencil.schema import Collection, Object
from restencil.testing import Answer, FakeClock, MockServer


class User(Entity, key="BoundedUser"):
    id: int = 0
    name: str = ""


class Item(Entity, key="BoundedItem", schema={"owner": User}):
    id: int = 0
    title: str = ""
    owner: User | None = None


USERS = 30
PAGE = 100


class World:
    """A controller of either kind with a bounded store, over a server with 600 items of 30 users."""

    def __init__(self, *, asynchronous: bool, bound: int | None, strict: bool) -> None:
        self.asynchronous = asynchronous
        self.clock = FakeClock()
        self.server = MockServer(self.clock, respond=self.respond)
        self.rows = [{"id": pk, "title": f"t{pk}", "owner": pk % USERS + 1} for pk in range(1, 601)]
        store = self.clock.store(max_entities=bound)
        self.controller: Any
        if asynchronous:
            self.controller = AsyncController(store, client=self.server.async_client(), base_url="http://mock")
        else:
            self.controller = Controller(store, client=self.server.client(), base_url="http://mock")
        self.items: Any = create_resource(path="/items/:id", schema=Item, pagination_field="page", strict=strict)
        self.users: Any = create_resource(path="/users/:id", schema=User, strict=strict)

    def respond(self, request: Any) -> Answer:
        parts = urlsplit(request.url)
        if request.method == "DELETE":
            return Answer(204)
        if parts.path == "/users":
            return Answer(json=[{"id": pk, "name": f"u{pk}"} for pk in range(1, USERS + 1)])
        start = (int(parse_qs(parts.query).get("page", ["1"])[0]) - 1) * PAGE
        return Answer(json=self.rows[start : start + PAGE])

    def fetch(self, endpoint: Any, *args: Any, **kwargs: Any) -> Any:
        return self.clock.run(lambda: self.controller.fetch(endpoint, *args, **kwargs))

    def take(self, run: Any) -> list[Any]:
        """Everything that a run over items or pages gives."""
        if not self.asynchronous:
            return self.clock.run(lambda: list(run))

        async def collect() -> list[Any]:
            return [one async for one in run]

        return self.clock.run(collect)


@pytest.fixture(params=["sync", "async"])
def make_world(request: pytest.FixtureRequest) -> Iterator[Callable[..., World]]:
    """Makes worlds of either kind, and closes their clocks."""
    made: list[World] = []

    def make(bound: int | None = 20, *, strict: bool = True) -> World:
        made.append(World(asynchronous=request.param == "async", bound=bound, strict=strict))
        return made[-1]

    yield make
    for world in made:
        world.clock.close()


@pytest.mark.parametrize("strict", [False, True], ids=["by hand", "strict"])
@pytest.mark.parametrize("bound", [1, 20])
@pytest.mark.parametrize("users_known", [False, True], ids=["unknown owners", "evicted owners"])
def test_iterate_bounded_store_gives_every_item(
    make_world: Callable[..., World], users_known: bool, bound: int, strict: bool
) -> None:
    """A run gives each item of the list, however few entities the store may keep."""
    world = make_world(bound, strict=strict)
    if users_known:
        world.fetch(world.users.get_list)
    items = world.take(world.controller.iterate(world.items.get_list))
    assert [item.id for item in items] == list(range(1, 601))
    assert [item.title for item in items] == [row["title"] for row in world.rows]
    assert [foreign_key(item, "owner") for item in items] == [row["owner"] for row in world.rows]


@pytest.mark.parametrize("bound", [1, 20])
def test_bounded_pages_pages_and_fetch_bounded_store_give_every_item(
    make_world: Callable[..., World], bound: int
) -> None:
    """A page, and the value of a fetch, have each item of the response that they were made from."""
    world = make_world(bound)
    world.fetch(world.users.get_list)
    pages = world.take(world.controller.bind(world.items.get_list).pages())
    assert [item.id for page in pages for item in page.items] == list(range(1, 601))
    assert [item.id for item in world.fetch(world.items.get_list)] == list(range(1, PAGE + 1))


def test_iterate_bounded_store_leaves_out_what_was_deleted(make_world: Callable[..., World]) -> None:
    """An item that this client deleted during a run is not given, though evicted ones are."""
    world = make_world(2)
    run = world.controller.iterate(world.items.get_list)

    async def collect_async() -> list[int]:
        found: list[int] = []
        async for item in run:
            if not found:
                await world.controller.fetch(world.items.delete, id=2)
            found.append(item.id)
        return found

    def collect() -> list[int]:
        found: list[int] = []
        for item in run:
            if not found:
                world.controller.fetch(world.items.delete, id=2)
            found.append(item.id)
        return found

    found: Any = world.clock.run(collect_async if world.asynchronous else collect)
    assert 2 not in found
    assert found[:98] == [1, *range(3, 100)]


# --- requests in flight ----------------------------------------------------------------------------------------------

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
    rows = [{"id": pk, "title": f"t{pk}", "owner": None} for pk in range(page * 2 - 1, page * 2 + 1) if pk <= 6]
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
def test_bounded_pages_iterate_joins_a_read_in_flight_async(options: dict[str, Any]) -> None:
    """No page is requested twice if a read of the first one is in flight."""
    server = MockServer(respond=lambda request: three_pages(request, options, delay=100))
    endpoint = listing(options)

    async def main() -> tuple[Any, list[int]]:
        async with AsyncController(client=server.async_client(), base_url="http://mock") as controller:

            async def collect() -> list[int]:
                return [item.id async for item in controller.iterate(endpoint)]

            return await asyncio.gather(controller.fetch(endpoint), collect())

    first, found = asyncio.run(main())
    assert [item.id for item in first] == [1, 2]
    assert found == [1, 2, 3, 4, 5, 6]
    urls = [request.url for request in server.requests]
    assert len(set(urls)) == len(urls)


@pytest.mark.parametrize("options", STYLES, ids=IDS)
def test_bounded_pages_iterate_joins_a_read_in_flight_sync(options: dict[str, Any]) -> None:
    """A run in one thread uses the response of a read in another one."""
    begun = threading.Event()

    def respond(request: Any) -> Answer:
        begun.set()
        return three_pages(request, options, delay=300)

    server = MockServer(respond=respond)
    endpoint = listing(options)
    with Controller(client=server.client(), base_url="http://mock") as controller, ThreadPoolExecutor() as pool:
        first = pool.submit(controller.fetch, endpoint)
        assert begun.wait(5)
        assert [item.id for item in controller.iterate(endpoint)] == [1, 2, 3, 4, 5, 6]
        assert [item.id for item in first.result()] == [1, 2]
    urls = [request.url for request in server.requests]
    assert len(set(urls)) == len(urls)


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


def test_bounded_pages_iterate_reads_a_body_that_hooks_made() -> None:
    """An endpoint that makes its own response, without HTTP, is paged by what that says."""
    parsed: list[int] = []

    def fetch_response(url: str, init: Any) -> Any:
        page = int(parse_qs(urlsplit(url).query).get("page", ["1"])[0])
        links = {"link": f'</items?page={page + 1}>; rel="next"'} if page < 3 else {}
        return SimpleNamespace(status_code=200, headers=links, url=urljoin("http://mock", url), page=page)

    def parse_response(response: Any) -> Any:
        parsed.append(response.page)
        return [{"id": response.page, "title": "own", "owner": None}]

    hooks = {"fetch_response": fetch_response, "parse_response": parse_response}
    endpoint = listing({"pagination": "link"}, **hooks)
    with Controller(client=MockServer().client(), base_url="http://mock") as controller:
        assert [item.id for item in controller.iterate(endpoint)] == [1, 2, 3]
    assert parsed == [1, 2, 3]


# --- plain values ----------------------------------------------------------------------------------------------------

NAMES = ["a", "b", "b", "c", "b"]
"""The third and the fifth one are equal to the second."""


def names_of(options: dict[str, Any]) -> tuple[Any, MockServer]:
    """An endpoint of names in pages of two, and its server."""

    def respond(request: Any) -> Answer:
        page = int(parse_qs(urlsplit(request.url).query).get("page", ["1"])[0])
        names = NAMES[page * 2 - 2 : page * 2]
        headers = {"Link": f'</names?page={page + 1}>; rel="next"'} if page < 3 else {}
        body = {"names": names, "total": len(NAMES)} if "schema" in options else names
        return Answer(json=body, headers=headers)

    return RestEndpoint(path="/names", pagination_field="page", strict=True, **options), MockServer(respond=respond)


PLAIN: list[dict[str, Any]] = [
    {"pagination": "page"},
    {"pagination": "link"},
    {"pagination": {"style": "page", "total": "total"}, "schema": {"names": None, "total": None}},
]


@pytest.mark.parametrize("options", PLAIN, ids=["page", "link", "object"])
def test_bounded_pages_iterate_plain_values_gives_every_one(options: dict[str, Any]) -> None:
    """Names of all pages are given in their order, equal ones too."""
    endpoint, server = names_of(options)
    with Controller(client=server.client(), base_url="http://mock") as controller:
        names = controller.bind(endpoint)
        assert list(names.iterate()) == NAMES
        assert [list(page.items) for page in names.pages()] == [["a", "b"], ["b", "c"], ["b"]]
        run = names.iterate().limit(3)
        assert (list(run), run.position) == (NAMES[:3], 1 if options["pagination"] != "link" else "http://mock/names")


@pytest.mark.parametrize("options", PLAIN, ids=["page", "link", "object"])
def test_bounded_pages_iterate_plain_values_async(options: dict[str, Any]) -> None:
    """The same for asyncio."""
    endpoint, server = names_of(options)

    async def main() -> list[str]:
        async with AsyncController(client=server.async_client(), base_url="http://mock") as controller:
            return [name async for name in controller.bind(endpoint).iterate()]

    assert asyncio.run(main()) == NAMES


def test_bounded_pages_iterate_plain_values_ends_where_the_server_ignores_the_page() -> None:
    """A server that gives the same page again has no other one."""
    endpoint = RestEndpoint(path="/names", pagination_field="page", strict=True)
    server = MockServer(respond=lambda request: Answer(json=["a", "b"]))
    with Controller(client=server.client(), base_url="http://mock") as controller:
        for _ in range(2):  # the first page of the second run comes from the store
            assert list(controller.iterate(endpoint)) == ["a", "b"]


# --- counts ----------------------------------------------------------------------------------------------------------


class Counted:
    """A list of entities with a count beside it, a list without one that is the same collection, and a server."""

    def __init__(self, *, strict: bool) -> None:
        self.rows = {1: "a", 2: "b"}
        self.server = MockServer(respond=self.respond)
        resource: Any = create_resource(
            path="/items/:id", schema=Item, strict=strict, pagination_field="page", invalid_if_stale=strict
        )
        self.resource = resource
        self.bare = resource.get_list.extend(path="/bare")
        self.listing = resource.get_list.extend(
            schema=Object({"items": Collection([Item], follow=True), "total": None}),
            pagination={"style": "page", "total": "total"},
        )

    def respond(self, request: Any) -> Answer:
        if request.method == "POST":
            pk = max(self.rows) + 1
            self.rows[pk] = json.loads(request.content)["title"]
            return Answer(201, json={"id": pk, "title": self.rows[pk], "owner": None})
        if request.method == "DELETE":
            del self.rows[int(urlsplit(request.url).path.rpartition("/")[2])]
            return Answer(204)
        rows = [{"id": pk, "title": title, "owner": None} for pk, title in self.rows.items()]
        return Answer(json=rows if urlsplit(request.url).path == "/bare" else {"items": rows, "total": len(rows)})


@pytest.mark.parametrize("strict", [False, True], ids=["by hand", "strict"])
def test_bounded_pages_count_next_to_a_list_is_requested_if_it_is_not_known(strict: bool) -> None:
    """A list that is known from another endpoint has no count, so that the read sends its own request."""
    world = Counted(strict=strict)
    with Controller(client=world.server.client(), base_url="http://mock") as controller:
        controller.fetch(world.bare)
        assert controller.bind(world.listing).cached() is None
        assert controller.read(world.listing)["total"] == 2
    assert len(world.server.requests) == 2


def test_bounded_pages_count_next_to_a_list_follows_the_list() -> None:
    """What joins and what leaves the list changes its count, or the read asks."""
    world = Counted(strict=True)
    with Controller(client=world.server.client(), base_url="http://mock") as controller:
        controller.fetch(world.listing)
        controller.fetch(world.listing.push, {"title": "c"})
        shown = controller.read(world.listing)
        assert (len(shown["items"]), shown["total"]) == (3, 3)
        controller.fetch(world.resource.delete, id=1)
        shown = controller.read(world.listing)
        assert (len(shown["items"]), shown["total"]) == (2, 2)


def test_bounded_pages_count_next_to_a_list_follows_a_list_in_a_storage(tmp_path: Path) -> None:
    """A list that only the storage knows has the right count after a change too."""
    world = Counted(strict=True)
    with Store(storage=sqlite_storage(tmp_path)) as store:
        with Controller(store, client=world.server.client(), base_url="http://mock") as first:
            first.fetch(world.listing)

    def create(controller: Controller) -> None:
        controller.fetch(world.listing.push, {"title": "c"})

    def delete(controller: Controller) -> None:
        controller.fetch(world.resource.delete, id=1)

    for change in (create, delete):
        with Store(storage=sqlite_storage(tmp_path)) as store:
            with Controller(store, client=world.server.client(), base_url="http://mock") as other:
                change(other)
                shown = other.read(world.listing)
                assert [item.id for item in shown["items"]] == list(world.rows)
                assert shown["total"] == len(world.rows)


# --- whole records ---------------------------------------------------------------------------------------------------


def test_bounded_pages_evicted_record_that_a_summary_contains_back_is_requested() -> None:
    """A record is whole as long as all that its own response brought is there: a summary does not restore it."""

    def respond(request: Any) -> Answer:
        path = urlsplit(request.url).path
        if path == "/items":
            return Answer(json=[{"id": 1, "owner": None}])
        pk = int(path.rpartition("/")[2])
        return Answer(json={"id": pk, "title": f"t{pk}", "owner": None})

    server = MockServer(respond=respond)
    resource: Any = create_resource(path="/items/:id", schema=Item, strict=True, invalid_if_stale=True, needs="all")
    store = Store(max_entities=1)
    with Controller(store, client=server.client(), base_url="http://mock") as controller:
        for pk in (1, 2):
            controller.fetch(resource.get, id=pk)
        controller.fetch(resource.get_list)
        before = len(server.requests)
        assert controller.read(resource.get, id=1).title == "t1"
        assert len(server.requests) == before + 1
