"""What a storage cannot give: rows of other classes, members left out, nonsense; whole tables, bounds, long levels."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.storage.here import FIRST, SECOND, Article, Articles, Here, one, titles
from tests.storages import PatientStore, sqlite_storage

from restencil import AsyncController, Controller, Entity, RestEndpoint, schema
from restencil.testing import Answer, FakeClock, MockServer

All: Any = RestEndpoint(path="/everything", schema=schema.All(Article))


def test_holes_what_is_no_json_is_absent(here: Here) -> None:
    """A value that is no JSON is as if it were not there; it is counted, and no read fails."""
    here.other.answered(Articles.get_list, [FIRST])
    here.other.put("Article", "1", b"{nonsense")
    assert here.controller.cached(Articles.get_list) is None
    assert here.store.storage_stats().errors == {"ValueError": 1}
    here.answers["/articles"] = [FIRST]
    assert titles(here.controller.read(Articles.get_list)) == ["A"]


def test_holes_incomplete_table_is_fetched(here: Here) -> None:
    """`All` of a table of which rows were dropped is a hole, until this process was answered itself."""
    here.other.answered(All, [FIRST, SECOND])
    here.other.drop("Article", "2")
    assert here.controller.cached(All) is None
    here.answers["/everything"] = [FIRST, SECOND]
    assert titles(here.controller.read(All)) == ["A", "B"]
    assert titles(here.controller.read(All)) == ["A", "B"] and here.asked == 1


def test_holes_list_that_lost_an_item_is_fetched_by_who_was_answered_it(here: Here) -> None:
    """Another process has extended the list, and the storage has lost its item: a read asks, and never gives None."""
    here.answers["/articles"] = [FIRST]
    assert titles(here.controller.read(Articles.get_list)) == ["A"]
    here.other.answered(Articles.get_list.push, SECOND, {})
    here.other.drop("Article", "2")
    here.turn()
    here.answers["/articles"] = [FIRST, SECOND]
    assert titles(here.controller.read(Articles.get_list)) == ["A", "B"]


def test_holes_bounded_store_reads_again_what_it_evicted(here: Here) -> None:
    """With a storage a bound is one of memory alone: what was let go of is read from the storage, without a request."""
    here.begin(max_entities=10)
    here.other.answered(Articles.get_list, [{**FIRST, "id": str(n), "title": str(n)} for n in range(50)])
    for _ in range(2):
        for number in range(50):
            assert here.controller.read(Articles.get, id=str(number)).title == str(number)
    held = sum(map(len, here.store._store_state.base.entities.values()))
    assert held < 25 and here.asked == 0
    assert len(one(here.controller.cached(Articles.get_list))) == 50


def test_holes_what_is_never_stored_is_never_requested(here: Here) -> None:
    """Results of endpoints and tables with `persist=False` cost no load."""

    class Secretive(Entity, persist=False):
        id: str = ""
        name: str = ""

    hidden: Any = RestEndpoint(path="/hidden/:id", schema=Secretive, persist=False)
    here.answers["/hidden/1"] = {"id": "1", "name": "n"}
    assert here.controller.read(hidden, id="1").name == "n"
    assert one(here.controller.cached(hidden, id="1")).name == "n"
    assert here.store.storage_stats().loads == 0


def test_holes_long_level_is_left_to_a_thread_in_a_loop(clock: FakeClock) -> None:
    """In an event loop a level of many rows is loaded by a thread: `cached` gives None for now, and a read waits."""
    here = Here(clock)
    here.other.answered(Articles.get_list, [{**FIRST, "id": str(n)} for n in range(900)])

    async def main() -> None:
        async with AsyncController(
            PatientStore(clock=clock, storage=here.storage.another()),
            client=here.server.async_client(),
            base_url="http://api.test",
        ) as controller:
            there = asyncio.Event()
            loop = asyncio.get_running_loop()
            controller.store.add_listener(lambda: loop.call_soon_threadsafe(there.set))
            assert controller.cached(Articles.get_list) is None
            await asyncio.wait_for(there.wait(), PATIENCE)
            assert len(one(controller.cached(Articles.get_list))) == 900
        async with AsyncController(
            PatientStore(clock=clock, storage=here.storage.another()),
            client=here.server.async_client(),
            base_url="http://api.test",
        ) as controller:
            assert len(await controller.read(Articles.get_list)) == 900

    asyncio.run(main())
    assert here.asked == 0
    assert titles(one(here.controller.cached(Articles.get_list)))[:1] == ["A"]


_PLAIN: Any = RestEndpoint(path="/articles", schema=[Article])


@pytest.mark.parametrize("read", [Articles.get_list, _PLAIN, Articles.get], ids=["collection", "list", "one"])
def test_holes_what_led_to_rows_of_a_damaged_file_is_fetched(
    tmp_path: Path, read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A result that was read before the damage was met is never shown without its rows; the log says what happened."""

    def respond(request: Any) -> Answer:
        return Answer(json=FIRST if str(request.url).endswith("/1") else [FIRST, SECOND])

    server = MockServer(respond=respond)
    args: Any = ({"id": "1"},) if read is Articles.get else ()
    with closing(server.client()) as client:
        for damage in (True, False):
            storage = sqlite_storage(tmp_path / "cache")
            with (
                PatientStore(storage=storage) as store,
                Controller(store, client=client, base_url="http://api.test") as one,
            ):
                found = one.read(read, *args)
                assert (found.title if read is Articles.get else titles(found)) in ("A", ["A", "B"])
            if damage:
                (file,) = (tmp_path / "cache").glob("*/*.db")
                with closing(sqlite3.connect(file)) as theirs:
                    theirs.execute("DROP TABLE row")
    assert len(server.requests) == 2
    assert "cannot be used (no such table: row): it was renamed to " in caplog.text
