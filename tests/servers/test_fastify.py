"""A Fastify application with its defaults: what a program sees through its cache is what the application has."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from tests.libraries import httpx
from tests.servers.comparing import DIRECTLY, Server
from tests.servers.packages import generated
from tests.servers.running import node
from tests.servers.suite import Suite
from tests.servers.worlds import World

import restencil

SPEC = "pinboard"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The application, served."""
    with node("fastify_notes.mjs") as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """Ten notes, of which every third is pinned; pages have four."""
    DIRECTLY.post(f"{address}/reset").raise_for_status()
    positions = frozenset({"hasMore", "nextCursor", "totalCount"})
    server = Server(arguments={"isPinned": "is_pinned"}, python=snake_case, whole=unlimited, positions=positions)
    return Suite(world, package, address, server)


def snake_case(name: str) -> str:
    """The Python name of a name in JSON."""
    return re.sub("([A-Z])", lambda letter: f"_{letter.group(1).lower()}", name)


def unlimited(server: Server, url: str) -> list[Any]:
    """All members of the list, beyond its first page."""
    query = httpx.URL(url).copy_remove_param("after").copy_set_param("limit", "100")
    return list(server.json(str(query))["items"])


def pk(number: int) -> UUID:
    """The primary key of a note that was there at the beginning."""
    return UUID(f"00000000-0000-4000-8000-0000000000{10 + number}")


def texts(page: Any) -> list[str]:
    """The texts of the notes in an answer, with what is the same in all of them left out."""
    return [note.text.removeprefix("Note ") for note in page["items"]]


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_reading_shows_what_the_server_has(suite: Suite) -> None:
    """Lists with and without filters, and notes of each, with all their kinds of fields."""
    listed = await suite.api.notes.get_list()
    assert texts(listed) == ["1", "2", "3", "4"] and listed["total_count"] == 10 and listed["has_more"]
    assert listed["items"][0].due_at == datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)
    assert texts(await suite.api.notes.get_list(is_pinned=True)) == ["3", "6", "9"]
    assert texts(await suite.api.notes.get_list(is_pinned=False, limit=2)) == ["1", "2"]
    assert (await suite.api.notes.get(id=pk(2))) is listed["items"][1]
    assert (await suite.api.notes.get(id=pk(9))).text == "Note 9"
    await suite.agrees()


async def test_a_page_gives_its_own_items(suite: Suite) -> None:
    """The page after the fourth note, and the list that it extends."""
    await suite.api.notes.get_list()
    assert texts(await suite.api.notes.get_list.get_page(after=str(pk(4)))) == ["5", "6", "7", "8"]
    assert texts(suite.api.notes.get_list.get_page.cached(after=str(pk(4)))) == ["5", "6", "7", "8"]
    assert len(suite.api.notes.get_list.cached()["items"]) == 8
    await suite.agrees()


async def test_iterating_by_cursor_gives_every_note_once(suite: Suite) -> None:
    """The cursor of each answer leads on until there is none."""
    for arguments in ({}, {"limit": 3}):
        found = await suite.api.notes.get_list.iterate.items(**arguments)
        assert [note.id for note in found] == [pk(number) for number in range(1, 11)]
    assert len(suite.api.sent) == 3 + 4
    await suite.agrees()


# --- changing --------------------------------------------------------------------------------------------------------


async def test_what_is_created_without_a_word(suite: Suite) -> None:
    """201 with a `Location` and no content: the note has the key that stands there, and shows what was sent."""
    await suite.api.notes.get_list()
    note = await suite.api.notes.create(body={"text": "New", "tags": ["b"], "due_at": None})
    assert note.text == "New" and suite.ask(f"/notes/{note.id}")["text"] == "New"
    read = await suite.api.notes.get(id=note.id)
    assert read.created_at.year >= 2026 and read.is_pinned is False
    await suite.agrees()


async def test_a_put_that_is_answered_by_nothing(suite: Suite) -> None:
    """204: the note shows what was sent, or is asked for; what the server made of it shows after that."""
    await suite.api.notes.get_list()
    note = await suite.api.notes.update(id=pk(1), body={"text": "Whole"})
    assert note.text == "Whole" and suite.ask(f"/notes/{pk(1)}")["text"] == "Whole"
    read = await suite.api.notes.get(id=pk(1))
    assert read.text == "Whole"
    await suite.agrees()
    await suite.api.settled()
    read = await suite.api.notes.get(id=pk(1))
    assert list(read.tags) == [] and read.due_at is None
    await suite.agrees()


async def test_mock_what_is_deleted_is_gone_everywhere(suite: Suite) -> None:
    """Fastify refuses a DELETE that says it is JSON and has none."""
    await suite.api.notes.get_list(is_pinned=True)
    gone = await suite.api.notes.delete(id=pk(3))
    assert gone.text == "Note 3" and suite.ask(f"/notes/{pk(3)}") == 404
    assert texts(suite.api.notes.get_list.cached(is_pinned=True)) == ["6", "9"]
    with pytest.raises(restencil.NetworkError) as caught:
        await suite.api.notes.get(id=pk(3))
    assert caught.value.status == 404
    await suite.agrees()


async def test_an_object_is_no_list(suite: Suite) -> None:
    """`{"error": "try later"}` with status 200 is not a list of one."""
    with pytest.raises(restencil.ProcessingError, match="try later"):
        await suite.api.odd.get_list()
    assert suite.api.odd.get_list.cached() is None


@pytest.mark.parametrize("number", ["1", "2"])
async def test_a_list_is_no_object(suite: Suite, number: str) -> None:
    """`[]` is no entity, whichever was asked for."""
    with pytest.raises(restencil.RestencilError):
        await suite.api.odd.get(id=number)
    assert suite.api.odd.get.cached(id=number) is None


async def test_more_and_total_are_known(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With `more` and `total` in the spec no page is asked for in vain, and the total follows."""
    folder = tmp_path_factory.mktemp("pinboard_told")
    server = Server(python=snake_case, whole=unlimited, positions=frozenset({"hasMore", "nextCursor"}))
    told = suite.beside(generated("pinboard_told", folder), server)
    await told.api.notes.get_list.iterate.items(limit=5)
    assert len(told.api.sent) == 2
    await told.api.notes.delete(id=pk(1))
    assert told.api.notes.get_list.cached(limit=5)["total_count"] == 9
    await told.agrees()
