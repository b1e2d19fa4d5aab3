"""`iterate`: every way in which an API tells where the next page is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from tests.runtime.worlds import World

from restencil import AsyncController, Controller, Entity, NetworkError, Page, Response, RestencilError, create_resource
from restencil.endpoint.page_styles import next_link
from restencil.schema import Collection, Object
from restencil.testing import Answer, MockServer


class Item(Entity, key="Item"):
    id: str = ""
    rank: int = 0


ALL = [{"id": str(n), "rank": n} for n in range(1, 8)]


class Pages(World):
    """A server whose pages have three items."""

    def serve(self, answer: Callable[[dict[str, str]], Any]) -> None:
        def respond(request: Any) -> Answer:
            params = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
            found = answer(params)
            return found if isinstance(found, Answer) else Answer(json=found)

        self.server.respond = respond

    def take(self, run: Any, count: int | None = None, react: Callable[[Any], None] = lambda item: None) -> list[Any]:
        """The next items of a run, all by default; a function is called with each before the next one is asked for."""
        found: list[Any] = []

        def note(item: Any) -> bool:
            found.append(item)
            react(item)
            return len(found) == count

        async def take_async() -> None:
            async for item in run:
                if note(item):
                    break

        self.clock.run(take_async if self.asynchronous else lambda: any(note(item) for item in run))
        return found

    def serve_rows(self, rows: list[dict[str, Any]], style: str) -> None:
        """Serves pages of three rows, which are those of the moment, by the number of the page or an offset."""

        def answer(params: dict[str, str]) -> Any:
            number = int(params.get(style, 0))
            return rows[(start := max(number - 1, 0) * 3 if style == "page" else number) : start + 3]

        self.serve(answer)

    def items(self, endpoint: Any, **kwargs: Any) -> list[Any]:
        """All that iterate gives."""
        return self.take(self.controller.iterate(endpoint, **kwargs))

    def ids(self, endpoint: Any, **kwargs: Any) -> list[str]:
        """The ids of all that iterate gives."""
        return [item.id for item in self.items(endpoint, **kwargs)]


@pytest.fixture
def world(asynchronous: bool) -> Iterator[Pages]:
    world = Pages(asynchronous)
    yield world
    world.close()


def items(field: str | None = "cursor", **options: Any) -> Any:
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field=field)
    return resource.get_list.extend(**options)


def chunk(start: int) -> list[dict[str, Any]]:
    return ALL[start : start + 3]


EVERY = [str(n) for n in range(1, 8)]


def test_controller_iterate_page_given_at_the_start_is_counted_from(world: Pages) -> None:
    world.serve(lambda params: chunk((int(params["page"]) - 1) * 3))
    assert world.ids(items("page"), page=2) == ["4", "5", "6", "7"]


def test_controller_iterate_stored_list_that_no_page_has_extended_is_the_first_page(world: Pages) -> None:
    world.serve(lambda params: chunk((int(params.get("page", 1)) - 1) * 3))
    listing = items("page")
    world.do("fetch", listing)
    assert world.ids(listing) == EVERY
    assert world.urls() == ["/items", "/items?page=2", "/items?page=3", "/items?page=4"]
    assert world.ids(listing) == EVERY
    assert world.urls()[4:] == ["/items", "/items?page=2", "/items?page=3", "/items?page=4"]


def test_controller_iterate_items_are_those_of_the_view_when_they_are_yielded(world: Pages) -> None:
    world.serve(lambda params: chunk((int(params.get("page", 1)) - 1) * 3))
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field="page")
    found: list[int] = []

    def react(item: Any) -> None:
        found.append(item.rank)
        if item.id == "1":
            world.controller.set_response(resource.get, {"id": "2", "rank": 200}, id="2")
            world.controller.set_response(resource.delete, {"id": "3"}, {"id": "3"})

    world.take(world.controller.iterate(resource.get_list), react=react)
    assert found == [1, 200, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"field": "cursor"},
            "iterate\\(\\) cannot determine the next page of '.*', whose pagination_field is 'cursor'",
        ),
        ({"field": None, "pagination": "next"}, "which has no pagination_field"),
        ({"pagination": {"style": "cursor"}}, 'has style "cursor" but no "next"'),
        ({"pagination": {"style": "pages"}}, "style 'pages' of '.*' is unknown; expected one of link, cursor, page"),
        ({"pagination": {"style": "page", "size": 3}}, '"size" in the pagination of'),
        ({"pagination": 3}, "is 3; expected a string, a function or a mapping"),
        ({"pagination": {"style": "page", "in": "header"}}, '"in" in the .* must be "query" or "body", not'),
    ],
)
def test_controller_iterate_what_cannot_be_followed_is_a_type_error_when_iterate_is_called(
    world: Pages, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        world.controller.iterate(items(**options))
    assert world.urls() == []


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://x/?p=2>; rel="next"', "https://x/?p=2"),
        ('<a>; rel="prev", <b>; rel="next"; title="t, u"', "b"),
        ("<b>; rel=next", "b"),
        ('<b>; title="next"; rel="last next"', "b"),
        ('<a>; title="next"', None),
        ('<a>; rel="nextish"', None),
        ("", None),
    ],
)
def test_controller_iterate_next_link_is_found_among_others(header: str, target: str | None) -> None:
    assert next_link(header) == target


def told(start: int, rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"results": rows[start : start + 3], **more}


@pytest.mark.parametrize(
    ("member", "value"),
    [("more", lambda start: start < 6), ("size", lambda start: 3)],
    ids=["more is false", "fewer items than the size"],
)
def test_controller_iterate_page_that_says_that_it_is_the_last_ends_it(
    world: Pages, member: str, value: Callable[[int], Any]
) -> None:
    """By `more`, or by a size that is larger than what came: nothing is asked beyond it."""

    def answer(params: dict[str, str]) -> Any:
        start = int(params.get("offset", 0))
        return told(start, ALL, **{member: value(start)})

    world.serve(answer)
    schema = {"results": Collection([Item]), member: None}
    assert world.ids(items("offset", schema=schema, pagination={"style": "offset", member: member})) == EVERY
    assert len(world.urls()) == 3


@pytest.mark.parametrize("style", ["page", "offset"])
def test_controller_iterate_total_that_is_reached_ends_it(world: Pages, style: str) -> None:
    def answer(params: dict[str, str]) -> Any:
        number = int(params.get(style, 0))
        return {**told(max(number - 1, 0) * 3 if style == "page" else number, ALL), "page": {"total": 7}}

    world.serve(answer)
    schema = {"results": Collection([Item]), "page": {"total": 0}}
    assert world.ids(items(style, schema=schema, pagination={"style": style, "total": "page.total"})) == EVERY
    assert len(world.urls()) == 3


@pytest.mark.parametrize(("style", "start", "urls"), [("page", 0, ["", "?page=1", "?page=2", "?page=3"])])
def test_controller_iterate_pages_may_be_counted_from_another_number(
    world: Pages, style: str, start: int, urls: list[str]
) -> None:
    world.serve(lambda params: chunk(int(params.get(style, start)) * 3))
    assert world.ids(items(style, pagination={"style": style, "start": start})) == EVERY
    assert world.urls() == [f"/items{url}" for url in urls]


@pytest.mark.parametrize("status", [400, 404])
def test_controller_iterate_page_after_the_last_one_that_is_rejected_ends_it(
    world: Pages, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning; the first page that is refused is an error."""

    def answer(params: dict[str, str]) -> Any:
        found = chunk((int(params.get("page", 1)) - 1) * 3)
        return found or Answer(status=status, json={})

    world.serve(answer)
    assert world.ids(items("page")) == EVERY
    assert f"page 4 has the status {status}, so it ends there" in caplog.text
    world.serve(lambda params: Answer(status=status, json={}))
    with pytest.raises(NetworkError):
        world.items(items("page"), tag="x")


@pytest.mark.parametrize("answer", [{"x": 1}, [1, 2], [None], "text", 5, [{"no": "key"}]], ids=str)
def test_controller_iterate_pages_that_never_show_anything_end(world: Pages, answer: Any) -> None:
    """A server that answers every page alike, with what is no item, is not asked without end."""
    world.serve(lambda params: Answer(json=answer))
    with contextlib.suppress(RestencilError):
        world.items(items("page"))
    assert len(world.urls()) <= 3


@pytest.mark.parametrize("origin", ["http://mock:80", "HTTP://Mock"])
def test_controller_iterate_origin_may_be_written_in_more_than_one_way(world: Pages, origin: str) -> None:
    """With its usual port, or in other letters."""
    link = f'<{origin}/items?at=3>; rel="next"'
    world.serve(lambda params: Answer(json=chunk(3 if params else 0), headers={} if params else {"Link": link}))
    assert world.ids(items(None, pagination="link")) == EVERY[:6]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("https://mock/items", r"at another origin \(https://mock instead of http://mock\)"),
        ("http://user:secret@other/items", r"at another origin \(http://other instead of http://mock\)"),
        ("http://[mock/items", r"the response of .* has an invalid URL for the next page, 'http://\[mock/items': "),
        ("http://mock:port/items", "has an invalid URL for the next page, .*: Port"),
    ],
)
def test_controller_iterate_rejected_link_is_reported_without_its_user(world: Pages, link: str, message: str) -> None:
    """An origin is shown with its scheme, which may be all that differs."""
    world.serve(lambda params: Answer(json=chunk(0), headers={"Link": f'<{link}>; rel="next"'}))
    with pytest.raises(ValueError, match=message) as caught:
        world.items(items(None, pagination="link"))
    assert "secret" not in str(caught.value)


def test_controller_iterate_user_in_the_clients_address_is_sent_with_each_page_and_shown_in_no_position(
    world: Pages,
) -> None:
    """Servers leave the user out of their links; positions are kept, so they hold no password."""

    def respond(request: Any) -> Answer:
        first = "at=" not in request.url
        link = {"Link": '<http://mock/items?at=3>; rel="next"'} if first else {}
        return Answer(json=chunk(0 if first else 3), headers=link)

    server = MockServer(world.clock, respond=respond)
    base = "http://user:secret@mock"
    controller: Any = (
        AsyncController(client=server.async_client(), base_url=base)
        if world.asynchronous
        else Controller(client=server.client(), base_url=base)
    )
    endpoint = items(None, pagination="link")
    pages = world.take(controller.bind(endpoint).pages())
    assert [page.position for page in pages] == ["http://mock/items", "http://mock/items?at=3"]
    assert [request.url for request in server.requests] == [f"{base}/items", f"{base}/items?at=3"]
    assert ids_of(world, controller.iterate(endpoint).start_at(pages[0].position)) == EVERY[3:6]
    with pytest.raises(ValueError, match=r"\(http://other instead of http://mock\)"):
        controller.iterate(endpoint).start_at("http://user:secret@other/items")


def test_controller_iterate_what_follows_a_redirect_elsewhere_is_rejected(world: Pages) -> None:
    """The origin that counts is the one that the client asks, not the one that answered."""

    def respond(request: Any) -> Answer:
        if request.url.startswith("http://mock"):
            return Answer(302, headers={"Location": "http://elsewhere/items"})
        return Answer(json=chunk(0), headers={"Link": '</items?at=3>; rel="next"'})

    world.server.respond = respond
    with pytest.raises(ValueError, match=r"at another origin \(http://elsewhere instead of http://mock\)"):
        world.items(items(None, pagination="link"))


def test_controller_iterate_cursor_that_is_a_url_of_the_same_origin_is_followed(
    world: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    """With a hint in the log; one of another origin is a cursor like any other."""

    def answer(params: dict[str, str]) -> Any:
        start = int(params.get("at", 0))
        return {"results": chunk(start), "next": f"http://mock/items?at={start + 3}" if start < 6 else None}

    world.serve(answer)
    schema = {"results": Collection([Item]), "next": None}
    with caplog.at_level("INFO"):
        assert world.ids(items(schema=schema, pagination="next", name=f"followed {world.asynchronous}")) == EVERY
    assert "set style: url in its pagination" in caplog.text


@pytest.mark.parametrize("style", ["page", "offset"])
@pytest.mark.parametrize("again", ["5", "8", "9"])
def test_controller_iterate_list_that_is_read_again_on_the_way_makes_it_skip_nothing(
    world: Pages, style: str, again: str
) -> None:
    """The response to the list has its first page alone: what other pages had is still there."""
    rows = [{"id": str(n), "rank": n} for n in range(1, 13)]
    world.serve_rows(rows, style)
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field=style)

    def react(item: Any) -> None:
        if item.id == again:
            world.controller.set_response(resource.get_list, rows[:3])

    assert ids_of(world, world.controller.iterate(resource.get_list), react=react) == [row["id"] for row in rows]


# --- changes during a run ---------------------------------------------------------------------------------------------


def of_package(style: str = "page", **options: Any) -> Any:
    """A resource with the rules of generated packages."""
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field=style, strict=True)
    return resource, resource.get_list.extend(**options) if options else resource.get_list


def change(world: Pages, endpoint: Any, response: Any, **params: Any) -> None:
    """A response to a change, as the client gets it."""
    world.controller.set_response(endpoint, response, params, *([{}] if endpoint.has_body else []))


def test_controller_iterate_requests_all_pages_once_more_after_a_change(world: Pages) -> None:
    """Each item is yielded once, although each is changed when it is."""
    rows = [*ALL]
    world.serve_rows(rows, "page")
    resource, listing = of_package()

    def react(item: Any) -> None:
        change(world, resource.partial_update, {"id": item.id, "rank": 9}, id=item.id)

    assert ids_of(world, world.controller.iterate(listing), react=react) == EVERY
    assert world.urls() == ["/items", "/items?page=2", "/items?page=3", "/items?page=4"] * 2
    assert ids_of(world, world.controller.iterate(listing).limit(7), react=react) == EVERY
    assert len(world.urls()) == 11


@pytest.mark.parametrize("style", ["page", "offset"])
@pytest.mark.parametrize("is_package", [True, False], ids=["package", "written by hand"])
def test_controller_iterate_yields_each_item_that_is_deleted_when_it_is_yielded(
    world: Pages, style: str, is_package: bool
) -> None:
    rows = [*ALL]
    world.serve_rows(rows, style)
    resource: Any = create_resource(path="/items/:id", schema=Item, pagination_field=style, strict=is_package)

    def react(item: Any) -> None:
        rows[:] = [row for row in rows if row["id"] != item.id]
        change(world, resource.delete, {"id": item.id}, id=item.id)

    assert sorted(ids_of(world, world.controller.iterate(resource.get_list), react=react)) == EVERY
    assert rows == []


def test_controller_iterate_requests_no_page_again_for_created_items(world: Pages) -> None:
    """They only move others to later pages; none of those is yielded twice."""
    rows = [*ALL]
    world.serve_rows(rows, "page")
    listing = of_package()[1]

    def react(item: Any) -> None:
        if item.id == "2":
            rows.insert(0, {"id": "8", "rank": 8})
            change(world, listing.push, rows[0])

    assert ids_of(world, world.controller.iterate(listing), react=react) == EVERY
    assert world.urls() == ["/items", "/items?page=2", "/items?page=3", "/items?page=4"]


def test_controller_iterate_requests_no_list_again_that_one_response_has_shown(world: Pages) -> None:
    resource, listing = of_package(
        "cursor", schema={"results": Collection([Item]), "next": None}, pagination={"style": "cursor", "next": "next"}
    )
    world.serve(lambda params: {"results": ALL, "next": None})

    def react(item: Any) -> None:
        change(world, resource.partial_update, {"id": item.id, "rank": 9}, id=item.id)

    assert ids_of(world, world.controller.iterate(listing), react=react) == EVERY
    assert world.urls() == ["/items"]


@pytest.mark.parametrize("start", [None, 1])
def test_controller_iterate_pages_are_given_once_more_if_they_have_an_item_that_no_page_had(
    world: Pages, start: int | None
) -> None:
    """A run that was begun in the middle begins there once more."""
    rows = [*ALL]
    world.serve_rows(rows, "page")
    resource, listing = of_package()
    run = world.controller.bind(listing).pages().start_at(start)
    seen: list[list[str]] = []

    def react(page: Any) -> None:
        seen.append([item.id for item in page.items])
        if page.position == 2 and rows[0]["id"] == "1":
            del rows[0]
            change(world, resource.delete, {"id": "1"}, id="1")

    world.take(run, react=react)
    assert seen == [["1", "2", "3"], ["4", "5", "6"], ["5", "6", "7"]][start or 0 :]


@pytest.mark.parametrize(("grows", "passes"), [(False, 4), (True, 20)])
def test_controller_iterate_ends_if_records_change_during_each_pass(
    world: Pages, grows: bool, passes: int, caplog: pytest.LogCaptureFixture
) -> None:
    """After three passes in a row without a new item, or after twenty; with a warning."""
    rows = [*ALL]
    resource, listing = of_package()
    begun = 0

    def answer(params: dict[str, str]) -> Any:
        nonlocal begun
        page = int(params.get("page", 1))
        if page == 1:
            begun += 1
            if grows:
                rows.insert(0, {"id": str(100 + begun), "rank": 0})
        change(world, resource.partial_update, {"id": "1", "rank": begun}, id="1")
        return rows[(page - 1) * 3 : page * 3]

    world.serve(answer)
    found = world.ids(listing)
    assert (set(EVERY) <= set(found), len(found)) == (True, len(set(found)))
    assert begun == passes
    assert f"records were changed during each of {passes} passes over its pages" in caplog.text


# --- runs that are bounded, and gone on with -------------------------------------------------------------------------


def ids_of(world: Pages, run: Any, count: int | None = None, **options: Any) -> list[str]:
    return [item.id for item in world.take(run, count, **options)]


LINKED = '<http://mock/items?page={next}>; rel="next"'


def _linked(params: dict[str, str]) -> Any:
    page = int(params.get("page", 1))
    headers = {"Link": LINKED.format(next=page + 1)} if page < 3 else {}
    return Answer(json=chunk((page - 1) * 3), headers=headers)


def _by_url(params: dict[str, str]) -> Any:
    page = int(params.get("page", 1))
    return {"items": chunk((page - 1) * 3), "next": f"/items?page={page + 1}" if page < 3 else None}


WRAPPED = Object({"items": Collection([Item]), "next": None})

#: Style → list endpoint, what the server answers, and the position of the first page.
STYLES: dict[str, tuple[Any, Callable[[dict[str, str]], Any], Any]] = {
    "page": (items("page"), lambda params: chunk((int(params.get("page", 1)) - 1) * 3), 1),
    "offset": (items("offset"), lambda params: chunk(int(params.get("offset", 0))), 0),
    "cursor": (items(pagination="last.rank"), lambda params: chunk(int(params.get("cursor", 0))), ""),
    "header": (
        items(pagination={"style": "cursor", "next": "header:X-Next"}),
        lambda params: Answer(
            json=chunk(int(params.get("cursor", 0))), headers={"X-Next": str(int(params.get("cursor", 0)) + 3)}
        ),
        "",
    ),
    "link": (items("page", pagination="link"), _linked, "http://mock/items"),
    "url": (items("page", schema=WRAPPED, pagination={"style": "url", "next": "next"}), _by_url, "http://mock/items"),
    "function": (
        items(pagination=lambda page, args: page[-1].rank if page else None),
        lambda params: chunk(int(params.get("cursor", 0))),
        "",
    ),
}
EACH_STYLE = pytest.mark.parametrize("style", STYLES)


@EACH_STYLE
@pytest.mark.parametrize(("count", "requests"), [(0, 0), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_controller_iterate_limit_requests_no_page_that_it_does_not_need(
    world: Pages, style: str, count: int, requests: int
) -> None:
    """Of seven items in pages of three."""
    endpoint, answer, _ = STYLES[style]
    world.serve(answer)
    assert ids_of(world, world.controller.iterate(endpoint).limit(count)) == EVERY[:count]
    assert len(world.urls()) == requests


@EACH_STYLE
@pytest.mark.parametrize("broken", [1, 2, 3])
def test_iterate_resumes_after_an_error(world: Pages, style: str, broken: int) -> None:
    """A 503 at some page: `position` is that of the last page taken whole, and each item comes once over both runs."""
    endpoint, answer, first = STYLES[style]
    failing = [False] * (broken - 1) + [True]
    world.serve(lambda params: Answer(status=503) if failing and failing.pop(0) else answer(params))
    run = world.controller.iterate(endpoint)
    seen = ids_of(world, run, (broken - 1) * 3) if broken > 1 else []
    with pytest.raises(NetworkError):
        world.take(run)
    assert seen == EVERY[: (broken - 1) * 3]
    if broken == 1:
        assert run.position is None
    elif broken == 2:
        assert run.position == first
    assert json.loads(json.dumps(run.position)) == run.position
    assert seen + ids_of(world, world.controller.iterate(endpoint).start_at(run.position)) == EVERY


@EACH_STYLE
def test_controller_iterate_break_leaves_nothing_open(world: Pages, style: str) -> None:
    """No request is under way, and no page is asked for in advance; the run may be gone on with."""
    endpoint, answer, _ = STYLES[style]
    world.serve(answer)
    run = world.controller.iterate(endpoint)
    assert ids_of(world, run, 2) == EVERY[:2]
    world.clock.settle()
    assert len(world.urls()) == 1
    assert world.controller.store.in_flight.by_id == {}
    assert ids_of(world, run) == EVERY[2:]
    assert world.take(run) == []


@pytest.mark.parametrize("kind", ["items", "pages"])
def test_controller_iterate_one_run_is_for_one_task_or_thread(world: Pages, kind: str) -> None:
    """Another one that asks for the same page is told so, and the first misses nothing."""
    world.serve(lambda params: Answer(json=chunk((int(params.get("page", 1)) - 1) * 3), delay=10))
    bound = world.controller.bind(STYLES["page"][0])
    run = bound.iterate() if kind == "items" else bound.pages()
    met: list[Any] = []

    def second() -> None:
        with pytest.raises(RuntimeError, match="another task or thread is waiting for the next page of this run"):
            next(run)

    async def both() -> None:
        async def take() -> None:
            met.extend([found async for found in run])

        task = asyncio.create_task(take())
        await asyncio.sleep(0.005)
        with pytest.raises(RuntimeError, match="another task or thread is waiting for the next page of this run"):
            await anext(run)
        await task

    if world.asynchronous:
        world.clock.run(both)
    else:
        first = world.clock.start(lambda: met.extend(run))
        world.clock.settle()
        world.clock.run(second)
        world.clock.advance(100)
        first.result()
    found = met if kind == "items" else [item for page in met for item in page.items]
    assert [item.id for item in found] == EVERY


def test_controller_iterate_position_of_another_origin_is_rejected(world: Pages) -> None:
    """Before any request: credentials do not follow there."""
    endpoint, answer, _ = STYLES["link"]
    world.serve(answer)
    run = world.controller.iterate(endpoint)
    for position in ("https://elsewhere.test/items?page=2", "//elsewhere.test/items"):
        with pytest.raises(ValueError, match="at another origin .https?://elsewhere.test instead of http://mock."):
            run.start_at(position)
    with pytest.raises(ValueError, match="another origin"):
        world.controller.iterate(STYLES["cursor"][0]).start_at("https://elsewhere.test/items")
    assert world.urls() == []


def test_controller_iterate_what_is_no_position_or_limit_is_rejected(world: Pages) -> None:
    """When it is given, with what is wrong with it."""
    endpoint, answer, _ = STYLES["page"]
    world.serve(answer)
    run = world.controller.iterate(endpoint)
    with pytest.raises(ValueError, match="limit.. got -1; expected a number of items"):
        run.limit(-1)
    for limit in (1.5, True, "3"):
        with pytest.raises(TypeError, match="limit.. got .*; expected an integer"):
            run.limit(limit)
    with pytest.raises(ValueError, match="the position in 'Item.get_list' is 'third'; expected a number"):
        run.start_at("third")
    for wrong in (1.5, True, b"1"):
        with pytest.raises(TypeError, match="the position is .*; expected the position of a run"):
            run.start_at(wrong)
    world.take(run, 1)
    with pytest.raises(RuntimeError, match="start_at.. was called after the first item"):
        run.start_at(1)


def test_controller_iterate_list_begun_in_the_middle_stays_partial(world: Pages) -> None:
    """The list itself still asks."""
    endpoint, answer, _ = STYLES["page"]
    world.serve(answer)
    assert ids_of(world, world.controller.iterate(endpoint).start_at(1)) == EVERY[3:]
    assert world.controller.cached(endpoint) is None


# --- pages -----------------------------------------------------------------------------------------------------------


@EACH_STYLE
def test_controller_iterate_pages_come_with_their_answers(world: Pages, style: str) -> None:
    """Items in their order, status, headers, positions; no page is without items."""
    endpoint, answer, first = STYLES[style]
    world.serve(answer)
    run = world.controller.bind(endpoint).pages()
    pages = world.take(run)
    assert [[item.id for item in page.items] for page in pages] == [EVERY[:3], EVERY[3:6], EVERY[6:]]
    assert all(isinstance(page, Page) and isinstance(page, Response) for page in pages)
    assert [page.status for page in pages] == [200, 200, 200]
    assert [page.url.removeprefix("http://mock") for page in pages] == world.urls()[:3]
    assert pages[0].headers["Content-Type"] == "application/json"
    assert pages[0].position == first
    assert [page.next_position for page in pages[:2]] == [page.position for page in pages[1:]]
    if style in ("link", "url"):
        assert pages[2].next_position is None
    assert run.position == pages[2].position
    assert world.take(run) == []


def test_controller_iterate_page_whose_next_one_is_elsewhere_is_given(world: Pages) -> None:
    """Only going there is refused."""
    endpoint = STYLES["link"][0]
    link = '<https://elsewhere.test/items?page=2>; rel="next"'
    world.serve(lambda params: Answer(json=chunk(0), headers={"Link": link}))
    run = world.controller.bind(endpoint).pages()
    (page,) = world.take(run, 1)
    assert page.next_position is None
    with pytest.raises(ValueError, match="another origin"):
        world.take(run)


def test_controller_iterate_reads_a_body_that_hooks_made() -> None:
    """An endpoint that makes its own response, without HTTP, is paged by what that says."""
    parsed: list[int] = []

    def fetch_response(url: str, init: Any) -> Any:
        page = int(parse_qs(urlsplit(url).query).get("page", ["1"])[0])
        links = {"link": f'</items?page={page + 1}>; rel="next"'} if page < 3 else {}
        return SimpleNamespace(status_code=200, headers=links, url=urljoin("http://mock", url), page=page)

    def parse_response(response: Any) -> Any:
        parsed.append(response.page)
        return [{"id": str(response.page)}]

    hooks = {"fetch_response": fetch_response, "parse_response": parse_response}
    endpoint = items("page", pagination="link", **hooks)
    with Controller(client=MockServer().client(), base_url="http://mock") as controller:
        assert [item.id for item in controller.iterate(endpoint)] == ["1", "2", "3"]
    assert parsed == [1, 2, 3]
