"""json-server 1: what a program sees through its cache is what the server has."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.libraries import httpx
from tests.servers.comparing import Server
from tests.servers.posts import empty, fill
from tests.servers.running import json_server
from tests.servers.suite import Suite
from tests.servers.worlds import Call, World

NAMES = {"_page": "page", "_per_page": "per_page", "_sort": "sort", "_embed": "embed", "postId": "post_id"}
SPEC = "posts_one"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server."""
    with json_server(1, empty(tmp_path_factory.mktemp("json") / "posts.json")) as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """Ten posts and four comments; pages have four posts, unless asked otherwise."""
    fill(address, str)
    positions = frozenset({"first", "prev", "next", "last", "pages", "items"})
    server = Server(arguments=NAMES, whole=unlimited, python=lambda name: NAMES.get(name, name), positions=positions)
    return Suite(world, package, address, server)


def unlimited(server: Server, url: str) -> list[Any]:
    """All members of the list, beyond its first page."""
    return list(server.json(str(httpx.URL(url).copy_remove_param("_page").copy_remove_param("_per_page"))))


def keys(page: Any) -> list[str]:
    """The primary keys of the posts in an answer."""
    return [post.id for post in page["data"]]


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_reading_shows_what_the_server_has(suite: Suite) -> None:
    """Lists with and without filters, and posts of each, by keys that are texts."""
    page = await suite.api.posts.get_list()
    assert keys(page) == ["1", "2", "3", "4"] and page["items"] == 10 and page["next"] == 2
    assert keys(await suite.api.posts.get_list(done=True)) == ["3", "6", "9"]
    assert (await suite.api.posts.get(id="2")) is page["data"][1]
    assert [comment.text for comment in await suite.api.comments.get_list(post_id="1")] == ["Comment 2", "Comment 4"]
    await suite.agrees()


@pytest.mark.parametrize("arguments", [{}, {"per_page": 3}, {"done": False}])
async def test_iterating_ends_where_there_is_no_next_page(suite: Suite, arguments: dict[str, Any]) -> None:
    """json-server 1 gives the last page again when one after it is asked for; `next` is null there."""
    found = await suite.api.posts.get_list.iterate.items(**arguments)
    assert [post.id for post in found] == [str(n) for n in range(1, 11) if n % 3 or "done" not in arguments]


async def test_a_run_by_numbers_ends_at_the_last_page(suite: Suite, package: ModuleType) -> None:
    """Without `next` in the spec the number of the page is all that there is; the last page comes again and again.

    Values may be equal, so it ends when a page comes the third time.
    """
    numbered = package.Posts.get_list.extend(pagination="page")
    suite.api.at_most = 10
    found = await Call(suite.api.client.bind(numbered)).iterate.items()
    assert [post.id for post in found] == [str(number) for number in range(1, 11)] and len(suite.api.sent) <= 5


# --- changing --------------------------------------------------------------------------------------------------------


async def test_what_is_created_is_sent_to_the_plain_path(suite: Suite) -> None:
    """A POST has no page; the new post joins the lists that it matches."""
    for arguments in ({"per_page": 100}, {"per_page": 100, "done": True}, {"per_page": 100, "done": False}):
        await suite.api.posts.get_list(**arguments)
    post = await suite.api.posts.create(body={"title": "New", "views": 0, "done": True})
    assert suite.api.sent[-1] == ("POST", f"{suite.address}/posts")
    assert suite.ask(f"/posts/{post.id}")["title"] == "New"
    assert post in suite.api.posts.get_list.cached(per_page=100, done=True)["data"]
    assert post not in suite.api.posts.get_list.cached(per_page=100, done=False)["data"]
    await suite.agrees()


async def test_what_is_deleted_is_gone(suite: Suite) -> None:
    """The answer is what was deleted, and so is the value of the call."""
    await suite.api.posts.get_list()
    await suite.api.posts.get_list(done=True)
    gone = await suite.api.posts.delete(id="3")
    assert gone.title == "Post 3"
    assert keys(suite.api.posts.get_list.cached()) == ["1", "2", "4"]
    assert keys(suite.api.posts.get_list.cached(done=True)) == ["6", "9"]
    await suite.agrees()
