"""Reading what a storage has: level by level, whole or not at all; holes, absence, bounds and age."""

from __future__ import annotations

from typing import Any

from tests.storage.here import FIRST, SECOND, Article, Articles, Author, Here, one, titles
from tests.storage.others import Other
from tests.storages import PatientStore

from restencil import Controller, MemoryStorage, RestEndpoint, create_resource
from restencil.cache.policy import ExpiryStatus
from restencil.storage import Batch, Outcome
from restencil.testing import FakeClock

Authors = create_resource(schema=Author, path="/authors/:id")


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
