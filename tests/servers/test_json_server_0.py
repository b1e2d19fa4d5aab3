"""json-server 0.17: what a program sees through its cache is what the server has."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.libraries import httpx
from tests.servers.comparing import Server
from tests.servers.posts import empty, fill
from tests.servers.running import json_server
from tests.servers.suite import Suite, numbers
from tests.servers.worlds import World

NAMES = {"_page": "page", "_limit": "limit", "_sort": "sort", "_embed": "embed", "postId": "post_id"}
SPEC = "posts_zero"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server."""
    with json_server(0, empty(tmp_path_factory.mktemp("json") / "posts.json")) as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """Ten posts and four comments."""
    fill(address, int)
    server = Server(arguments=NAMES, whole=unlimited, python=lambda name: NAMES.get(name, name))
    return Suite(world, package, address, server)


def unlimited(server: Server, url: str) -> list[Any]:
    """All members of the list, beyond its first page."""
    return list(server.json(str(httpx.URL(url).copy_remove_param("_page").copy_remove_param("_limit"))))


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_reading_shows_what_the_server_has(suite: Suite) -> None:
    """Lists with and without filters and orders, and posts of each."""
    posts = await suite.api.posts.get_list()
    assert numbers(posts) == list(range(1, 11))
    assert numbers(await suite.api.posts.get_list(done=True)) == [3, 6, 9]
    assert numbers(await suite.api.posts.get_list(views_gte=8, sort="title")) == [10, 8, 9]
    assert numbers(await suite.api.posts.get_list(limit=2)) == [1, 2]
    assert (await suite.api.posts.get(id=2)) is posts[1]
    assert [comment.text for comment in await suite.api.comments_of.get_list(post_id=1)] == ["Comment 2", "Comment 4"]
    await suite.agrees()


async def test_what_is_embedded_is_asked_for(suite: Suite) -> None:
    """A post that a list brought has no comments; asked for with them it has."""
    await suite.api.posts.get_list()
    post = await suite.api.posts.get(id=1, embed="comments")
    assert [comment.text for comment in post.comments] == ["Comment 2", "Comment 4"]
    assert len(suite.api.sent) == 2
    assert (await suite.api.posts.get(id=1, embed="comments")) is post and len(suite.api.sent) == 2
    await suite.agrees()


async def test_pages_give_their_items(suite: Suite) -> None:
    """Pages of three, after the first one."""
    assert numbers(await suite.api.posts.get_list(limit=3)) == [1, 2, 3]
    assert numbers(await suite.api.posts.get_list.get_page(page=2, limit=3)) == [4, 5, 6]
    assert numbers(suite.api.posts.get_list.cached(limit=3)) == [1, 2, 3, 4, 5, 6]
    assert numbers(await suite.api.posts.get_list.get_page(page=4, limit=3)) == [10]
    assert numbers(suite.api.posts.get_list.get_page.cached(page=2, limit=3)) == [4, 5, 6]
    await suite.agrees()


async def test_a_page_is_a_list_of_its_own_too(suite: Suite) -> None:
    """`get_list(page=2)` is what stands there, and no other list shows it."""
    await suite.api.posts.get_list()
    assert numbers(await suite.api.posts.get_list(page=2, limit=4)) == [5, 6, 7, 8]
    assert numbers(suite.api.posts.get_list.cached()) == list(range(1, 11))


async def test_iterating_by_links_gives_every_post_once(suite: Suite) -> None:
    """json-server gives links where a page is asked for, and the whole list where none is."""
    assert numbers(await suite.api.posts.get_list.iterate.items()) == list(range(1, 11))
    found = await suite.api.posts.get_list.iterate.items(page=1, limit=3)
    assert numbers(found) == list(range(1, 11))
    await suite.agrees()


# --- changing --------------------------------------------------------------------------------------------------------


async def test_what_put_leaves_out_is_gone(suite: Suite) -> None:
    """json-server keeps what is put, and nothing else."""
    assert (await suite.api.posts.get_list())[1].note == "n"
    value = await suite.api.posts.update(id=2, body={"title": "Whole", "views": 0, "done": False})
    assert value.note is None
    assert (await suite.api.posts.get(id=2)).note is None
    assert "note" not in suite.ask("/posts/2")
    await suite.agrees()


@pytest.mark.parametrize("arguments", [{"views_gte": 8}, {"q": "Post"}, {"limit": 20}])
async def test_a_list_that_cannot_know_is_stale(suite: Suite, arguments: dict[str, Any]) -> None:
    """A condition that only the server understands: the list may have a new member, and admits it."""
    await suite.api.posts.get_list(**arguments)
    await suite.api.posts.create(body={"title": "Post 11", "views": 11, "done": True})
    await suite.agrees()


async def test_an_ordered_list_has_what_is_created(suite: Suite) -> None:
    """An order keeps no post out of the list; where it stands in it, the server says."""
    await suite.api.posts.get_list(sort="title")
    post = await suite.api.posts.create(body={"title": "A new one", "views": 11, "done": True})
    assert post in suite.api.posts.get_list.cached(sort="title")
    await suite.agrees()


@pytest.mark.parametrize("nested", [True, False])
async def test_lists_at_two_paths(suite: Suite, nested: bool) -> None:
    """`/posts/1/comments` and `/comments?postId=1` have the same comments, whichever of them a comment is put into."""
    await suite.api.comments_of.get_list(post_id=1)
    await suite.api.comments.get_list(post_id=1)
    await suite.api.comments.get_list()
    if nested:
        await suite.api.comments_of.create(post_id=1, body={"text": "New"})
    else:
        await suite.api.comments.create(body={"text": "New", "post_id": 1})
    await suite.agrees()


async def test_what_is_patched_and_deleted_shows_everywhere(suite: Suite) -> None:
    """One change in each list; a DELETE that is answered by `{}` takes the post out of all of them."""
    await suite.api.posts.get_list()
    await suite.api.posts.get_list(done=True)
    await suite.api.posts.partial_update(id=3, body={"title": "Better"})
    assert suite.api.posts.get_list.cached(done=True)[0].title == "Better"
    await suite.api.posts.delete(id=6)
    assert numbers(suite.api.posts.get_list.cached(done=True)) == [3, 9]
    assert suite.ask("/posts/6") == 404
    await suite.agrees()
