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


# --- under way, at once, and failing ---------------------------------------------------------------------------------


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


async def test_without_a_token_nothing_shows(suite: Suite) -> None:
    """A wrong token is a 401 with the server's words; the right one works beside it."""
    stranger = suite.another(token="Token wrong")
    with pytest.raises(restencil.NetworkError) as caught:
        await stranger.books.get_list()
    assert caught.value.status == 401
    assert stranger.books.get_list.cached() is None
    assert (await suite.another().books.get(id=1)).title == "Book 1"


async def test_a_path_without_its_slash_creates_nothing(suite: Suite, package: ModuleType) -> None:
    """Without the slash Django answers a POST with a redirect; that is no success, and no entity appears."""
    await suite.api.authors.get_list()
    create = package.Authors.create.extend(path="/api/authors")
    with pytest.raises(restencil.NetworkError) as caught:
        await Bare(suite)(create, body={"name": "Nobody"})
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
