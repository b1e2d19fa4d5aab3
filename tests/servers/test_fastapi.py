"""A FastAPI application with its defaults: what a program sees through its cache is what the application has."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from tests.libraries import httpx
from tests.servers.comparing import DIRECTLY, Server
from tests.servers.running import uvicorn
from tests.servers.suite import Suite, numbers
from tests.servers.worlds import World

import restencil

SPEC = "board"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The application, served."""
    with uvicorn("fastapi_tasks:app") as found:
        yield found


@pytest.fixture
def suite(world: World, address: str, package: ModuleType) -> Suite:
    """Ten tasks, of which every third is done, and three labels; pages have four tasks."""
    DIRECTLY.post(f"{address}/reset").raise_for_status()
    return Suite(world, package, address, Server(whole=unlimited))


def unlimited(server: Server, url: str) -> list[Any]:
    """All members of the list, beyond its first page."""
    query = httpx.URL(url).copy_remove_param("skip")
    if query.path == "/tasks/":
        query = query.copy_set_param("limit", "100")
    return list(server.json(str(query)))


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_lists_show_what_the_server_has(suite: Suite) -> None:
    """Lists with and without filters."""
    assert numbers(await suite.api.tasks.get_list()) == [1, 2, 3, 4]
    assert numbers(await suite.api.tasks.get_list(done=True)) == [3, 6, 9]
    assert numbers(await suite.api.tasks.get_list(done=False, limit=2)) == [1, 2]
    labels = await suite.api.labels.get_list()
    assert [label.id for label in labels] == [UUID(int=1), UUID(int=2), UUID(int=3)]
    assert [label.color for label in await suite.api.labels.get_list(name="Label 2")] == ["red"]
    await suite.agrees()


async def test_a_summary_is_no_answer(suite: Suite) -> None:
    """A task of the list lacks its moment, kind and cost: the list invents none, and `get` asks for the task."""
    tasks = await suite.api.tasks.get_list()
    for name in ("created", "kind", "cost"):
        with pytest.raises(restencil.MissingFieldError, match=name):
            getattr(tasks[0], name)
    assert suite.api.tasks.get.cached(id=1) is None
    await suite.agrees()
    task = await suite.api.tasks.get(id=1)
    assert task.note == "Note 1" and task.kind == "bug" and task.created.year >= 2026
    assert suite.api.sent[-1] == ("GET", f"{suite.address}/tasks/1") and len(suite.api.sent) == 2
    assert (await suite.api.tasks.get(id=1)) is task and len(suite.api.sent) == 2
    await suite.agrees()


async def test_two_lists_of_one_kind_are_two_lists(suite: Suite) -> None:
    """`/tasks/recent` does not take the place of `/tasks/`."""
    await suite.api.tasks.get_list(limit=100)
    listed = await suite.api.tasks.get_list()
    recent = await suite.api.tasks.recent()
    assert numbers(recent) == [9, 10] and numbers(listed) == [1, 2, 3, 4]
    assert numbers(suite.api.tasks.get_list.cached()) == [1, 2, 3, 4]
    assert numbers(suite.api.tasks.recent.cached()) == [9, 10]
    await suite.agrees()


@pytest.mark.parametrize("first", [True, False])
async def test_pages_by_skip(suite: Suite, first: bool) -> None:
    """Each page gives its items; the list is whole only after it was asked itself."""
    if first:
        assert numbers(await suite.api.tasks.get_list()) == [1, 2, 3, 4]
    assert numbers(await suite.api.tasks.get_list.get_page(skip=4)) == [5, 6, 7, 8]
    assert numbers(await suite.api.tasks.get_list.get_page(skip=8)) == [9, 10]
    assert numbers(suite.api.tasks.get_list.get_page.cached(skip=4)) == [5, 6, 7, 8]
    shown = suite.api.tasks.get_list.cached()
    assert numbers(shown) == list(range(1, 11)) if first else shown is None
    await suite.agrees()


async def test_iterating_gives_every_task_once(suite: Suite) -> None:
    """Pages of four and of three, filtered and not."""
    assert numbers(await suite.api.tasks.get_list.iterate.items()) == list(range(1, 11))
    assert numbers(await suite.api.tasks.get_list.iterate.items(limit=3)) == list(range(1, 11))
    assert numbers(await suite.api.tasks.get_list.iterate.items(done=False, limit=2)) == [1, 2, 4, 5, 7, 8, 10]
    await suite.agrees()


# --- changing --------------------------------------------------------------------------------------------------------


async def test_what_is_created_joins_its_lists(suite: Suite) -> None:
    """A task with all kinds of fields joins the lists that it matches, and no others."""
    for arguments in ({"done": False}, {"done": True}):
        await suite.api.tasks.get_list(**arguments)
    due = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
    body = {"title": "New", "note": "n", "kind": "feature", "cost": Decimal("1.25"), "due": due, "done": True}
    task = await suite.api.tasks.create(body=body)
    assert (task.id, task.kind, task.cost, task.due) == (11, "feature", Decimal("1.25"), due)
    assert suite.ask("/tasks/11")["cost"] == "1.25"
    assert numbers(suite.api.tasks.get_list.cached(done=True)) == [3, 6, 9, 11]
    assert 11 not in numbers(suite.api.tasks.get_list.cached(done=False))
    assert (await suite.api.tasks.get(id=11)) is task
    await suite.agrees()


async def test_what_put_leaves_out_is_gone(suite: Suite) -> None:
    """A note that the new task does not have shows no more, since the answer leaves out what is null."""
    assert (await suite.api.tasks.get(id=2)).note == "Note 2"
    task = await suite.api.tasks.update(id=2, body={"title": "Whole", "kind": "bug", "cost": Decimal(0)})
    assert task.note is None and suite.api.tasks.get.cached(id=2).note is None
    assert suite.ask("/tasks/2")["note"] is None
    await suite.agrees()


async def test_what_patch_leaves_out_stays(suite: Suite) -> None:
    """A PATCH changes what it says, and the rest is as before."""
    await suite.api.tasks.get(id=2)
    task = await suite.api.tasks.partial_update(id=2, body={"title": "Other"})
    assert (task.title, task.note) == ("Other", "Note 2")
    await suite.agrees()


async def test_what_is_deleted_is_gone(suite: Suite) -> None:
    """Although the answer is `{"ok": true}`: the task leaves its list, and reading it is a 404."""
    task = await suite.api.tasks.get(id=3)
    listed = await suite.api.tasks.get_list(done=True)
    assert numbers(listed) == [3, 6, 9] and task in listed
    await suite.api.tasks.delete(id=3)
    assert numbers(suite.api.tasks.get_list.cached(done=True)) == [6, 9]
    with pytest.raises(restencil.NetworkError) as caught:
        await suite.api.tasks.get(id=3)
    assert caught.value.status == 404
    await suite.agrees()


async def test_the_value_of_a_delete_is_what_was_known(suite: Suite) -> None:
    """`{"ok": true}` names no task; the value is the one that was deleted."""
    await suite.api.tasks.get(id=3)
    gone = await suite.api.tasks.delete(id=3)
    assert gone.title == "Task 3" and gone.note == "Note 3"
    assert (await suite.api.tasks.delete(id=4)) is None
    await suite.agrees()


async def test_a_delete_by_another_field_than_the_key(suite: Suite) -> None:
    """Labels are deleted by name, and known by their id: the one with this name goes."""
    await suite.api.labels.get_list()
    gone = await suite.api.labels.delete(name="Label 2")
    assert gone.id == UUID(int=2)
    assert [label.name for label in suite.api.labels.get_list.cached()] == ["Label 1", "Label 3"]
    await suite.agrees()


async def test_a_change_that_is_answered_by_nothing(suite: Suite) -> None:
    """A PATCH with 204 as its answer is no error; what it changed shows, or is asked for."""
    await suite.api.labels.get_list()
    await suite.api.labels.get(name="Label 1")
    await suite.api.labels.partial_update(name="Label 1", body={"name": "Label 1", "color": "blue"})
    assert suite.ask("/labels/Label%201")["color"] == "blue"
    assert (await suite.api.labels.get(name="Label 1")).color == "blue"
    await suite.agrees()


async def test_a_list_that_was_empty_takes_what_is_created(suite: Suite) -> None:
    """A label with a name that was looked for in vain joins that list."""
    assert list(await suite.api.labels.get_list(name="New")) == []
    label = await suite.api.labels.create(body={"name": "New"})
    assert list(suite.api.labels.get_list.cached(name="New")) == [label]
    await suite.agrees()


# --- under way, at once, and failing ---------------------------------------------------------------------------------


async def test_no_answer_in_time(suite: Suite) -> None:
    """An application that does not answer within the timeout: nothing shows, and the error says so."""
    hasty = suite.another(timeout=300)
    with pytest.raises(restencil.NetworkError) as caught:
        await hasty.tasks.get(id="slow")
    assert type(caught.value).__name__ == "TimeoutExceededError"
    assert caught.value.status == 500
    assert caught.value.has_response is False
    assert f"GET {suite.address}/tasks/slow" in str(caught.value)
    assert hasty.tasks.get.cached(id="slow") is None
