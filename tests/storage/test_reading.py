"""Reading what a storage has: level by level, whole or not at all; holes, absence, bounds and age."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.storage.here import FIRST, SECOND, Article, Articles, Author, Here, one, titles
from tests.storage.others import Other
from tests.storages import PatientStore, sqlite_storage

import restencil
from restencil import AsyncController, Controller, Entity, ExpiryStatus, MemoryStorage, RestEndpoint, schema
from restencil.storage import Batch, Outcome
from restencil.testing import Answer, FakeClock, MockServer

Authors = restencil.create_resource(schema=Author, path="/authors/:id")


def test_reading_fresh_list_is_read_without_a_request(here: Here) -> None:
    """What another process was answered, and is fresh, is read from the storage with all that is nested in it."""
    here.other.answered(Articles.get_list, [FIRST, SECOND])
    found = here.controller.read(Articles.get_list)
    assert titles(found) == ["A", "B"] and found[0].author.name == "Ann"
    assert here.asked == 0
    assert here.controller.read(Articles.get_list) is found


def test_reading_cached_and_state_show_what_is_stored(here: Here) -> None:
    """`cached`, `state`, `get` and `snapshot` of an inline storage see what is stored, and never ask."""
    here.other.answered(Articles.get_list, [FIRST])
    assert titles(here.controller.cached(Articles.get_list)) == ["A"]
    here.begin()
    state = here.controller.state(Articles.get_list)
    assert titles(state.data) == ["A"] and state.expiry_status is ExpiryStatus.Valid
    here.begin()
    assert one(here.controller.get(Article, id="1")).author.name == "Ann"
    here.begin()
    assert one(here.controller.snapshot().get(Article, id="1")).title == "A"
    assert titles(here.controller.snapshot().get_response(Articles.get_list).data) == ["A"]
    assert here.asked == 0


def test_reading_entity_that_came_with_a_list_answers(here: Here) -> None:
    """An entity that only a list brought is found for a `get`, through the storage too."""
    here.other.answered(Articles.get_list, [FIRST])
    assert here.controller.read(Articles.get, id="1").title == "A"
    assert here.asked == 0


def test_reading_key_and_the_place_that_its_arguments_name_come_in_one_load(here: Here) -> None:
    """What lies under a key, and the entity or list that its arguments name, are asked for at once."""
    here.other.answered(Articles.get_list, [FIRST])
    here.other.answered(Articles.get, SECOND, id="2")
    assert one(here.controller.cached(Articles.get, id="2")).author.name == "Ann"
    assert here.store.storage_stats().loads == 2  # key and article, then the author
    here.begin()
    assert one(here.controller.cached(Articles.get, id="1")).title == "A"  # that a list brought
    assert here.store.storage_stats().loads == 2
    here.begin()
    assert titles(here.controller.cached(Articles.get_list)) == ["A"]
    assert here.store.storage_stats().loads == 3  # key and list, then the articles, then their authors


class Noting(MemoryStorage):
    """Notes what stores say that they used, of all doors to it."""

    def __init__(self) -> None:
        super().__init__(write_behind=0)
        self.noted: list[Any] = []

    def commit(self, batch: Batch, /) -> Outcome:
        self.noted.extend(batch.used)
        return super().commit(batch)


def test_reading_what_was_loaded_under_a_key_counts_as_used() -> None:
    """A result and the cells that it leads to are noted once as used; what was found without a result is not."""
    storage, clock = Noting(), FakeClock()
    plain: RestEndpoint[..., Any] = RestEndpoint(path="/plain", name="plain")
    with PatientStore(clock=clock, scheduler=clock, storage=storage.another()) as store:
        controller = Controller(store, base_url="http://api.test")
        controller.set_response(Authors.get, {"id": "a1", "name": "Ann"}, id="a1")
        controller.set(Author, {"id": "a2", "name": "Bob"})
        controller.set_response(plain, {"number": 1})
    with PatientStore(clock=clock, scheduler=clock, storage=storage) as store:
        controller = Controller(store, base_url="http://api.test")
        for pk in ("a1", "a2", "a1"):
            assert controller.cached(Authors.get, id=pk) is not None
        assert [controller.cached(plain) for _ in range(2)] == [{"number": 1}] * 2
    assert storage.noted == ["GET /authors/a1", ("Author", "a1"), "GET /plain"]


def test_reading_nothing_stored_is_fetched_once(here: Here) -> None:
    """What is absent is fetched as without a storage, and that it is absent is not asked again."""
    here.answers["/articles/1"] = FIRST
    assert here.controller.cached(Articles.get, id="1") is None
    loads = here.store.storage_stats().loads
    assert here.controller.cached(Articles.get, id="1") is None
    assert here.store.storage_stats().loads == loads
    assert here.controller.read(Articles.get, id="1").title == "A"
    assert here.asked == 1


def test_reading_dropped_row_is_a_dangling_reference_not_a_shorter_list(here: Here) -> None:
    """A list of which a row was dropped is not shown: `cached` gives None, and the next read fetches."""
    here.other.answered(Articles.get_list, [FIRST, SECOND])
    here.other.drop("Article", "2")
    here.answers["/articles"] = [FIRST, SECOND]
    assert here.controller.cached(Articles.get_list) is None
    state = here.controller.state(Articles.get_list)
    assert (state.expiry_status, state.expires_at) == (ExpiryStatus.InvalidIfStale, 1)
    assert titles(here.controller.read(Articles.get_list)) == ["A", "B"]
    assert here.asked == 1


def test_reading_dropped_row_that_is_nested_is_a_dangling_reference(here: Here) -> None:
    """The same holds for what an entity refers to: it does not show as None."""
    here.other.answered(Articles.get_list, [FIRST])
    here.other.drop("Author", "a1")
    assert here.controller.cached(Articles.get_list) is None


def test_reading_absent_means_absent_in_what_was_answered_here(here: Here) -> None:
    """Once this process has written the referring result itself, what is absent is not fetched for ever."""
    here.other.answered(Articles.get_list, [FIRST])
    here.other.drop("Author", "a1", incomplete=["Author"])
    here.answers["/articles"] = [{**FIRST, "author": "a1"}]
    found = here.controller.read(Articles.get_list)
    assert here.asked == 1 and titles(found) == ["A"] and found[0].author is None
    here.controller.read(Articles.get_list)
    assert here.asked == 1


def test_reading_deleted_entity_stays_deleted(here: Here) -> None:
    """A tombstone hides the entity, as in memory: lists leave it out, and a `get` fetches."""
    here.other.answered(Articles.get_list, [FIRST, SECOND])
    here.clock.advance(10)
    here.other.answered(Articles.delete, None, id="2")
    assert titles(here.controller.cached(Articles.get_list)) == ["A"]
    assert here.controller.cached(Articles.get, id="2") is None


def test_reading_invalidated_result_is_fetched(here: Here) -> None:
    """What another process invalidated is not shown by one that starts after it."""
    here.other.answered(Articles.get_list, [FIRST])
    here.clock.advance(10)
    here.other.controller.invalidate(Articles.get_list)
    here.answers["/articles"] = [SECOND]
    assert here.controller.state(Articles.get_list).expiry_status is ExpiryStatus.Invalid
    assert titles(here.controller.read(Articles.get_list)) == ["B"]


def test_reading_what_was_received_too_long_ago_is_absent(clock: FakeClock) -> None:
    """Rows and results older than `max_age` are not shown."""
    here = Here(clock, max_age=5_000)
    here.other.answered(Articles.get_list, [FIRST])
    clock.advance(4_000)
    assert titles(here.controller.cached(Articles.get_list)) == ["A"]
    here.begin()
    clock.advance(2_000)
    assert here.controller.cached(Articles.get_list) is None


def test_reading_what_comes_from_the_future_came_now(here: Here) -> None:
    """A `date` in the future counts as now, with the lifetime that it had."""
    ahead = Other(here.storage, lambda: here.clock() + 3_600_000, here.clock)
    ahead.answered(Articles.get, FIRST, id="1")
    assert here.controller.state(Articles.get, id="1").expires_at == here.clock() + 60_000


def test_reading_explain_says_where_a_result_came_from(here: Here) -> None:
    """A line of `explain` says that a result came from the storage; none says so of an answer."""
    here.other.answered(Articles.get_list, [FIRST])
    assert "it was loaded from the storage" in here.controller.explain(Articles.get_list).reasons
    here.answers["/articles/1"] = FIRST
    here.controller.fetch(Articles.get, id="1")
    assert "storage" not in str(here.controller.explain(Articles.get, id="1"))


def test_reading_what_a_response_refers_to_is_looked_for(here: Here) -> None:
    """An answer that names an entity by its key alone shows with what the storage has of it."""
    here.other.answered(Articles.get_list, [SECOND])
    here.answers["/articles/1"] = {**FIRST, "author": "a1"}
    here.controller.fetch(Articles.get, id="1")
    assert one(here.controller.cached(Articles.get, id="1")).author.name == "Ann"
    assert here.controller.read(Articles.get, id="1").author.name == "Ann"
    assert here.asked == 1


# -- holes


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

    def process() -> AsyncController:
        store = PatientStore(clock=clock, storage=here.storage.another())
        return AsyncController(store, client=here.server.async_client(), base_url="http://api.test")

    async def main() -> None:
        async with process() as controller:
            there = asyncio.Event()
            loop = asyncio.get_running_loop()
            controller.store.add_listener(lambda: loop.call_soon_threadsafe(there.set))
            assert controller.cached(Articles.get_list) is None
            await asyncio.wait_for(there.wait(), PATIENCE)
            assert len(one(controller.cached(Articles.get_list))) == 900
        async with process() as controller:
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


# -- updates


WORDS: RestEndpoint[..., Any] = RestEndpoint(path="/words", url_prefix="http://api.test")
ADD: RestEndpoint[..., Any] = RestEndpoint(
    path="/words",
    method="POST",
    url_prefix="http://api.test",
    update=lambda new, *args: {WORDS.key(): lambda words: [*(words or ()), new]},
)
LISTED: RestEndpoint[..., Any] = RestEndpoint(path="/articles", schema=[Article])
RELIST: RestEndpoint[..., Any] = RestEndpoint(
    path="/relist", method="POST", update=lambda new, *args: {LISTED.key(): lambda pks: [*reversed(pks or ())]}
)


def _add(here: Here, word: str) -> None:
    here.clock.advance(10)
    here.controller.set_response(ADD, word, {})


def _settle(here: Here) -> None:
    assert here.store.flush()


def test_updates_function_runs_on_what_memory_has(clock: FakeClock) -> None:
    """What was loaded before the function runs shows to a third process as changed."""
    here = Here(clock)
    here.other.answered(WORDS, ["a"])
    assert here.controller.cached(WORDS) == ["a"]
    _add(here, "b")
    assert here.controller.cached(WORDS) == ["a", "b"]
    here.begin()
    assert here.controller.cached(WORDS) == ["a", "b"]


def test_updates_list_that_was_changed_is_never_shorter(clock: FakeClock) -> None:
    """A row that the storage has lost is a hole in what the function made, too."""
    here = Here(clock)
    here.other.answered(LISTED, [FIRST, SECOND])
    clock.advance(10)
    assert titles(here.controller.cached(LISTED)) == ["A", "B"]
    here.controller.set_response(RELIST, None)
    assert titles(here.controller.cached(LISTED)) == ["B", "A"]
    here.begin()
    here.other.drop("Article", "2")
    clock.advance(10)
    assert here.controller.cached(LISTED) is None
    here.controller.set_response(RELIST, None)
    assert here.controller.cached(LISTED) is None


def test_updates_result_of_another_shape_is_not_shown(clock: FakeClock) -> None:
    """What was changed for an endpoint that stored it keeps that one's shape, and another one asks the network."""
    here = Here(clock)
    here.other.answered(WORDS, ["a"])
    assert here.controller.cached(WORDS) == ["a"]
    _add(here, "b")
    here.begin()
    other: RestEndpoint[..., Any] = RestEndpoint(path="/words", url_prefix="http://api.test", schema=[Article])
    assert here.controller.cached(other) is None


@pytest.mark.parametrize("inline", [True, False])
def test_updates_what_memory_does_not_know_is_requested_again(clock: FakeClock, inline: bool) -> None:
    """A function does not run on a result that memory does not know: the next read asks the network."""
    here = Here(clock, inline=inline)
    here.other.answered(WORDS, ["a"])
    _add(here, "b")
    assert here.controller.cached(WORDS) is None
    _settle(here)
    here.begin()
    here.answers["/words"] = ["a", "b"]
    assert here.controller.read(WORDS) == ["a", "b"] and here.asked == 1
    _add(here, "c")
    assert here.controller.cached(WORDS) == ["a", "b", "c"]
