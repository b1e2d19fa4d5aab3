"""A Django REST framework project with ModelViewSets: what a program sees through its cache is what the project has."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from tests.libraries import httpx
from tests.servers.comparing import DIRECTLY, Server
from tests.servers.packages import generated
from tests.servers.running import gunicorn
from tests.servers.suite import Suite, numbers
from tests.servers.worlds import World

import restencil

TOKEN = "Token token-of-ann"
BODY = {"title": "New", "author": 1, "price": Decimal("9.90"), "done": False, "published": datetime.date(2026, 1, 31)}
SPEC = "library"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The project, served."""
    database = tmp_path_factory.mktemp("django") / "books.sqlite"
    with gunicorn("django_books:application", BOOKS_DATABASE=str(database)) as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """Two authors and ten books; pages have four."""
    DIRECTLY.post(f"{address}/reset").raise_for_status()
    headers = {"Authorization": TOKEN}
    positions = frozenset({"next", "previous", "count"})
    server = Server(headers=headers, whole=followed, positions=positions)
    return Suite(world, package, address, server, token=TOKEN)


def followed(server: Server, url: str) -> list[Any]:
    """All members of the list: by following `next` from its first page."""
    query = httpx.URL(url)
    for name in ("offset", "page", "cursor"):
        query = query.copy_remove_param(name)
    said = server.json(str(query))
    if isinstance(said, list):
        return said
    found: list[Any] = []
    while said is not None:
        found += said["results"]
        said = server.json(said["next"]) if said["next"] else None
    return found


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_a_list_is_one_request_to_the_path_as_it_is_written(suite: Suite) -> None:
    """The list of `/api/authors/:id/` is `/api/authors/`, asked once and not by way of a redirect."""
    authors = await suite.api.authors.get_list()
    assert [author.name for author in authors] == ["Ann", "Bo"]
    assert suite.api.sent == [("GET", f"{suite.address}/api/authors/")]
    await suite.agrees()


async def test_reading_shows_what_the_server_has(suite: Suite) -> None:
    """Lists with and without filters, and entities of each, with all their kinds of fields."""
    books = await suite.api.books.get_list()
    assert numbers(books["results"]) == [1, 2, 3, 4] and books["count"] == 10
    assert books["results"][2].price == Decimal("3.50") and books["results"][2].created.tzinfo is not None
    assert numbers((await suite.api.books.get_list(done=True))["results"]) == [3, 6, 9]
    assert numbers((await suite.api.books.get_list(author=2, limit=2))["results"]) == [1, 3]
    sent = len(suite.api.sent)
    assert (await suite.api.books.get(id=3)) is books["results"][2]
    assert len(suite.api.sent) == sent
    assert (await suite.api.books.get(id=9)).title == "Book 9"
    await suite.api.authors.get_list()
    await suite.agrees()


@pytest.mark.parametrize(("resource", "position"), [("books", {"offset": 4}), ("numbered", {"page": 2})])
async def test_a_page_gives_its_own_items(suite: Suite, resource: str, position: dict[str, int]) -> None:
    """The second page is the second page, before and after the list is known, and extends the list."""
    listed: Any = getattr(suite.api, resource).get_list
    first = await listed()
    page = await listed.get_page(**position)
    assert numbers(page["results"]) == [5, 6, 7, 8]
    assert numbers((await listed.get_page(**position))["results"]) == [5, 6, 7, 8]
    assert numbers(listed.get_page.cached(**position)["results"]) == [5, 6, 7, 8]
    assert numbers(first["results"]) == [1, 2, 3, 4]
    assert numbers(listed.cached()["results"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    await suite.agrees()


async def test_a_page_alone_is_not_the_list(suite: Suite) -> None:
    """After page two alone the list is asked, and is not page two."""
    await suite.api.numbered.get_list.get_page(page=2)
    assert suite.api.numbered.get_list.cached() is None
    assert suite.api.numbered.get_list.state().data is None
    await suite.agrees()
    assert numbers((await suite.api.numbered.get_list())["results"])[:4] == [1, 2, 3, 4]
    await suite.agrees()


@pytest.mark.parametrize("resource", ["books", "numbered"])
async def test_iterating_ends_without_an_error(suite: Suite, resource: str) -> None:
    """All ten, once each, although the page after the last is a 404 where pages have numbers."""
    found = await getattr(suite.api, resource).get_list.iterate.items()
    assert numbers(found) == list(range(1, 11))
    await suite.agrees()


@pytest.mark.parametrize("resource", ["walked"])
async def test_a_cursor_that_is_a_url_is_followed(suite: Suite, resource: str) -> None:
    """`next` of REST framework's CursorPagination is the whole URL of the next page."""
    assert numbers(await getattr(suite.api, resource).get_list.iterate.items()) == list(range(1, 11))
    await suite.agrees()


async def test_iterating_while_deleting_skips_nothing(suite: Suite) -> None:
    """A program that deletes what it meets meets everything, and each book once."""
    met: list[int] = []
    async for book in suite.api.books.get_list.iterate.one_by_one():
        met.append(book.id)
        if book.done:
            await suite.api.books.delete(id=book.id)
    assert sorted(met) == list(range(1, 11))
    assert [book["id"] for book in suite.ask("/api/books/?limit=100")["results"]] == [1, 2, 4, 5, 7, 8, 10]
    await suite.agrees()


async def test_iterating_after_a_change_sees_every_book(suite: Suite) -> None:
    """A list that was read, then changed by hand of this client, is iterated as it is on the server."""
    await suite.api.books.get_list()
    await suite.api.books.delete(id=2)
    made = await suite.api.books.create(body=BODY)
    assert sorted(numbers(await suite.api.books.get_list.iterate.items())) == [1, *range(3, 11), made.id]
    await suite.agrees()


# --- changing --------------------------------------------------------------------------------------------------------


async def test_what_is_created_is_there_and_in_its_lists(suite: Suite) -> None:
    """A new author joins the list; a new book the lists that it matches, and no others."""
    await suite.api.authors.get_list()
    for arguments in ({}, {"done": False}, {"done": True}, {"author": 1}, {"author": 2}):
        await suite.api.books.get_list(**arguments)
    author = await suite.api.authors.create(body={"name": "Cy"})
    assert suite.ask(f"/api/authors/{author.id}/") == {"id": author.id, "name": "Cy"}
    book = await suite.api.books.create(body=BODY)
    assert book.price == Decimal("9.90") and book.created.year >= 2026
    assert suite.ask(f"/api/books/{book.id}/")["title"] == "New"
    assert book in suite.api.books.get_list.cached(done=False)["results"]
    assert book in suite.api.books.get_list.cached(author=1)["results"]
    assert book not in suite.api.books.get_list.cached(done=True)["results"]
    assert book not in suite.api.books.get_list.cached(author=2)["results"]
    await suite.agrees()


async def test_totals_follow(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With `total: count` in the spec `count` of each list is the server's after a book left it and one joined."""
    package = generated("library_told", tmp_path_factory.mktemp("library_told"))
    told = suite.beside(package, Server(headers=suite.server.headers, whole=followed))
    await told.api.books.get_list()
    await told.api.books.get_list(done=True)
    await told.api.books.delete(id=3)
    assert told.api.books.get_list.cached()["count"] == 9
    assert told.api.books.get_list.cached(done=True)["count"] == 2
    await told.api.books.create(body=BODY)
    assert told.api.books.get_list.cached()["count"] == 10
    await told.agrees()


async def test_what_is_updated_changes_its_lists(suite: Suite) -> None:
    """A book that is done leaves the list of those that are not, and joins that of those that are."""
    for arguments in ({}, {"done": False}, {"done": True}, {"author": 2, "done": True}):
        await suite.api.books.get_list(**arguments)
    await suite.api.books.partial_update(id=1, body={"done": True})
    assert 1 in numbers(suite.api.books.get_list.cached(done=True)["results"])
    assert 1 in numbers(suite.api.books.get_list.cached(author=2, done=True)["results"])
    assert 1 not in numbers(suite.api.books.get_list.cached(done=False)["results"])
    whole = {**BODY, "title": "Whole", "author": 2}
    await suite.api.books.update(id=3, body=whole)
    assert 3 not in numbers(suite.api.books.get_list.cached(done=True)["results"])
    assert 3 in numbers(suite.api.books.get_list.cached(done=False)["results"])
    await suite.agrees()


async def test_what_is_updated_shows_everywhere(suite: Suite) -> None:
    """One change, seen in each list, by PATCH and by PUT; the server has it as well."""
    await suite.api.books.get_list()
    await suite.api.books.get_list(limit=2)
    await suite.api.authors.get_list()
    await suite.api.authors.partial_update(id=1, body={"name": "Anna"})
    await suite.api.books.partial_update(id=1, body={"title": "Better", "rating": 5})
    await suite.api.books.update(id=2, body={**BODY, "title": "Whole"})
    titles = [book.title for book in suite.api.books.get_list.cached(limit=2)["results"]]
    assert titles == ["Better", "Whole"]
    assert suite.ask("/api/books/1/")["rating"] == 5 and suite.ask("/api/authors/1/")["name"] == "Anna"
    await suite.agrees()


# --- under way, at once, and failing ---------------------------------------------------------------------------------


async def test_a_change_shows_before_it_is_answered(suite: Suite) -> None:
    """An update and a delete show at once; when they are answered, what shows is what the server has."""
    await suite.api.authors.get_list()
    with suite.api.holding("PATCH"):
        changing = suite.api.start(suite.api.authors.partial_update(id=1, body={"name": "Soon"}))
        await suite.api.held()
        assert suite.api.authors.get.cached(id=1).name == "Soon"
        assert suite.ask("/api/authors/1/")["name"] == "Ann"
    assert (await changing.result()).name == "Soon"
    with suite.api.holding("DELETE"):
        deleting = suite.api.start(suite.api.authors.delete(id=2))
        await suite.api.held()
        assert numbers(suite.api.authors.get_list.cached()) == [1]
    await deleting.result()
    await suite.agrees()


@pytest.mark.parametrize("named", ["rejected", "unknown"])
async def test_a_change_that_the_server_refuses_is_taken_back(suite: Suite, named: str) -> None:
    """After a 400 or 404 everything shows as it was, and the error says what the server said."""
    await suite.api.authors.get_list()
    pk, body = (1, {"name": "far too long for such a field"}) if named == "rejected" else (77, {"name": "Ok"})
    with suite.api.holding("PATCH"):
        changing = suite.api.start(suite.api.authors.partial_update(id=pk, body=body))
        await suite.api.held()
    with pytest.raises(restencil.NetworkError) as caught:
        await changing.result()
    assert caught.value.status == (400 if named == "rejected" else 404)
    assert [author.name for author in suite.api.authors.get_list.cached()] == ["Ann", "Bo"]
    await suite.agrees()


async def test_many_at_once_end_in_the_state_of_the_server(suite: Suite) -> None:
    """Eight workers change a book of their own at once, and read what is known of the others'; then all read anew."""
    books = suite.api.books
    await books.get_list(limit=100)

    async def worker(number: int) -> None:
        await books.partial_update(id=1 + number, body={"rating": number})
        await books.get(id=1 + (number + 1) % 8)
        await books.partial_update(id=1 + number, body={"title": f"By {number}"})

    assert await suite.api.together(*(worker(number) for number in range(8))) == [None] * 8
    titles = {book["id"]: book["title"] for book in suite.ask("/api/books/?limit=8")["results"]}
    assert titles == {1 + number: f"By {number}" for number in range(8)}
    await suite.agrees()
    await suite.api.together(*(books.get_list.fetch(limit=100) for _ in range(8)))
    await suite.agrees()


async def test_of_two_changes_at_once_the_last_one_of_the_server_shows(suite: Suite) -> None:
    """The change that began first reached the server last: it shows, or what shows is stale and says so."""
    await suite.api.authors.get_list()
    with suite.api.holding("PATCH"):
        first = suite.api.start(suite.api.authors.partial_update(id=1, body={"name": "Began first"}))
        await suite.api.held()
        await suite.api.authors.partial_update(id=1, body={"name": "Came first"})
    await first.result()
    assert suite.ask("/api/authors/1/")["name"] == "Began first"
    await suite.agrees()


async def test_a_read_during_a_change_does_not_undo_it(suite: Suite) -> None:
    """A list that was fetched while a change was under way shows the change, or is stale and says so."""
    await suite.api.authors.get_list()
    with suite.api.holding("PATCH"):
        changing = suite.api.start(suite.api.authors.partial_update(id=1, body={"name": "Changed"}))
        await suite.api.held()
        await suite.api.authors.get_list.fetch()
    await changing.result()
    assert suite.ask("/api/authors/1/")["name"] == "Changed"
    await suite.agrees()


async def test_without_a_token_nothing_shows(suite: Suite) -> None:
    """A wrong token is a 401 with the server's words; the right one works beside it."""
    stranger = suite.another(token="Token wrong")
    with pytest.raises(restencil.NetworkError) as caught:
        await stranger.books.get_list()
    assert caught.value.status == 401
    assert stranger.books.get_list.cached() is None
    assert (await suite.another().books.get(id=1)).title == "Book 1"


async def test_an_error_says_what_was_asked_and_answered(suite: Suite) -> None:
    """Method, address of this client, status, reason, and what the body says of it."""
    with pytest.raises(restencil.NetworkError) as caught:
        await suite.api.books.get(id=77)
    text = f"GET {suite.address}/api/books/77/: 404 Not Found: No Book matches the given query."
    assert str(caught.value) == text


async def test_a_path_without_its_slash_creates_nothing(suite: Suite, package: ModuleType) -> None:
    """Without the slash Django answers a POST with a redirect; that is no success, and no entity appears."""
    await suite.api.authors.get_list()
    create = package.Authors.create.extend(path="/api/authors")
    outcome = suite.api.start(Bare(suite)(create, body={"name": "Nobody"}))
    with pytest.raises(restencil.NetworkError) as caught:
        await outcome.result()
    assert caught.value.status == 301
    assert "slash" in str(caught.value) and "may not have happened" in str(caught.value)
    assert len(suite.ask("/api/authors/")) == 2
    await suite.agrees()


class Bare:
    """Calls an endpoint that no resource of the client has."""

    def __init__(self, suite: Suite) -> None:
        self._client = suite.api.client

    async def __call__(self, endpoint: Any, **arguments: Any) -> Any:
        outcome = self._client.fetch(endpoint, **arguments)
        return await outcome if hasattr(outcome, "__await__") else outcome
