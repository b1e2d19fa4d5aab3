"""What other processes write shows here: entries, breaks, resets; never half of a response, never anything older."""

from __future__ import annotations

from typing import Any

import pytest
from tests.patience import eventually
from tests.storage.here import FIRST, SECOND, Article, Articles, Author, Here, one, titles
from tests.storages import PatientStore

from restencil import Controller, ResetError, RestEndpoint
from restencil.testing import Answer, FakeClock


def test_sharing_change_by_another_process_shows(here: Here) -> None:
    """What another process was answered shows after the next look at the log; listeners hear of it once."""
    here.other.answered(Articles.get_list, [FIRST, SECOND])
    found = here.controller.cached(Articles.get_list)
    heard: list[None] = []
    here.store.add_listener(lambda: heard.append(None))
    here.clock.advance(10)
    here.other.answered(Articles.get, {**FIRST, "title": "New"}, id="1")
    assert titles(here.controller.cached(Articles.get_list)) == ["A", "B"]
    here.turn()
    after = here.controller.cached(Articles.get_list)
    assert titles(after) == ["New", "B"] and len(heard) == 1
    assert one(after)[1] is one(found)[1]


def test_sharing_what_is_equal_stays_the_same_object(here: Here) -> None:
    """An answer that brings what is known renews times, and changes no object."""
    here.other.answered(Articles.get_list, [FIRST])
    found = here.controller.cached(Articles.get_list)
    here.clock.advance(5_000)
    here.other.answered(Articles.get_list, [FIRST])
    here.turn()
    assert here.controller.cached(Articles.get_list) is found
    assert here.controller.state(Articles.get_list).expires_at == here.clock() + 60_000


def test_sharing_load_contains_memory_up_to_its_datetime(here: Here) -> None:
    """A read that loads something newer than memory first takes in what was committed before."""
    here.other.answered(Articles.get, FIRST, id="1")
    assert one(here.controller.cached(Articles.get, id="1")).title == "A"
    here.clock.advance(10)
    here.other.answered(Articles.get_list, [{**FIRST, "title": "New"}, SECOND])
    assert titles(here.controller.cached(Articles.get_list)) == ["New", "B"]
    assert one(here.controller.cached(Articles.get, id="1")).title == "New"


def test_sharing_dropped_row_counts_as_stale(here: Here) -> None:
    """What another process took out of the storage shows here as it was, and is fetched anew."""
    here.other.answered(Articles.get, FIRST, id="1")
    here.controller.cached(Articles.get, id="1")
    here.other.drop("Article", "1")
    here.turn()
    state = here.controller.state(Articles.get, id="1")
    assert one(state.data).title == "A" and state.expires_at == 1


def test_sharing_reset_by_another_process_is_one_here(here: Here) -> None:
    """Tables are empty, and requests in flight fail with ResetError."""
    here.other.answered(Articles.get, FIRST, id="1")
    here.controller.cached(Articles.get, id="1")
    resets = here.store.resets
    here.other.reset()
    here.turn()
    assert here.store.resets == resets + 1
    assert here.controller.cached(Articles.get, id="1") is None
    here.other.answered(Articles.get, SECOND, id="2")
    here.turn()
    assert one(here.controller.cached(Articles.get, id="2")).title == "B"


def test_sharing_reset_by_another_process_ends_requests(here: Here) -> None:
    """Who waits for a request that began before gets ResetError."""
    here.controller.cached(Articles.get, id="1")

    def respond(request: Any) -> Answer:
        here.other.reset()
        here.turn()
        return Answer(json=FIRST)

    here.server.respond = respond
    with pytest.raises(ResetError):
        here.controller.read(Articles.get, id="1")
    assert here.controller.cached(Articles.get, id="1") is None


def test_sharing_gap_in_the_log_is_a_break(clock: FakeClock) -> None:
    """After lost history everything shows, counts as stale, and is believed again once it was compared."""
    here = Here(clock, history=2)
    here.other.answered(Articles.get_list, [FIRST])
    found = here.controller.cached(Articles.get_list)
    for number in range(4):
        clock.advance(10)
        here.other.answered(Articles.get, {**SECOND, "title": f"B{number}"}, id="2")
    here.turn()
    assert here.store.storage_stats().breaks == 1
    assert here.controller.cached(Articles.get_list) is found
    here.turn()
    state = here.controller.state(Articles.get_list)
    assert state.data is found and state.expires_at > here.clock()
    assert here.asked == 0


def test_sharing_entry_that_lists_nothing_is_a_break(here: Here) -> None:
    """An entry of a commit that was too big to list doubts all, and what changed shows all the same."""
    here.other.answered(Articles.get, FIRST, id="1")
    here.controller.cached(Articles.get, id="1")
    here.clock.advance(10)
    others = [{"id": f"{number:0250}", "author": None} for number in range(1_200)]  # more than 256 KiB of keys
    here.other.answered(Articles.get_list, [{**FIRST, "title": "New"}, *others])
    here.turn()
    assert here.store.storage_stats().breaks == 1
    assert one(here.controller.cached(Articles.get, id="1")).title == "New"


def test_sharing_what_the_storage_has_lost_shows_and_is_stale(clock: FakeClock) -> None:
    """After a break, what the storage does not have any more shows as memory has it, and is fetched anew."""
    here = Here(clock, history=1)
    here.other.answered(Articles.get, FIRST, id="1")
    assert one(here.controller.cached(Articles.get, id="1")).title == "A"
    here.other.drop("Article", "1")
    here.other.answered(Articles.get, SECOND, id="2")
    here.turn()
    here.turn()
    state = here.controller.state(Articles.get, id="1")
    assert one(state.data).title == "A" and state.expires_at == 1


def test_sharing_snapshot_stays_as_it_was(here: Here) -> None:
    """What others change after a snapshot was taken does not show in it."""
    here.other.answered(Articles.get, FIRST, id="1")
    here.controller.cached(Articles.get, id="1")
    snapshot = here.controller.snapshot()
    here.clock.advance(10)
    here.other.answered(Articles.get, {**FIRST, "title": "New"}, id="1")
    here.turn()
    assert one(snapshot.get(Article, id="1")).title == "A"
    assert one(here.controller.get(Article, id="1")).title == "New"
    assert one(snapshot.get(Author, id="a1")).name == "Ann"


def test_sharing_clock_that_was_set_is_a_break(here: Here) -> None:
    """A step of the clock by more than a second doubts all; what is compared and the same is fresh again."""
    here.other.answered(Articles.get, FIRST, id="1")
    found = here.controller.cached(Articles.get, id="1")
    tier: Any = here.store._persistence
    apart = tier.read_through.log_consumer.clocks()
    tier.read_through.log_consumer.clocks = lambda: apart + 999
    here.turn()
    assert here.store.storage_stats().breaks == 0
    tier.read_through.log_consumer.clocks = lambda: apart + 3_600_000
    here.turn()
    assert here.store.storage_stats().breaks == 1
    assert here.controller.read(Articles.get, id="1") is found and here.asked == 0


def test_sharing_optimistic_update_lies_over_what_others_write(here: Here) -> None:
    """What a pending mutation is expected to bring shows over what another process was answered meanwhile."""

    def expected(snapshot: Any, params: Any, body: Any) -> Any:
        return {"id": params["id"], "title": snapshot.get(Article, id="1").title + body["title"]}

    rename: Any = RestEndpoint(path="/articles/:id", method="PATCH", schema=Article, get_optimistic_response=expected)
    here.other.answered(Articles.get, FIRST, id="1")

    def respond(request: Any) -> Answer:
        shown.append(one(here.controller.cached(Articles.get, id="1")).title)
        here.other.answered(Articles.get, {**FIRST, "title": "New"}, id="1")
        here.turn()
        shown.append(one(here.controller.cached(Articles.get, id="1")).title)
        return Answer(json={"id": "1", "title": "Done"})

    shown: list[str] = []
    here.server.respond = respond
    here.controller.fetch(rename, {"id": "1"}, {"title": "!"})
    assert shown == ["A!", "New!"]
    here.store.flush()
    here.turn()
    assert one(here.controller.cached(Articles.get, id="1")).author.name == "Ann"


def test_sharing_poll_is_skipped_where_another_process_was_answered(here: Here) -> None:
    """Of two processes that poll the same, one asks each time: the other one's tick follows its answer."""
    here.answers["/articles/1"] = FIRST
    polled: Any = Articles.get.extend(poll_frequency=1_000)
    with PatientStore(clock=here.clock, scheduler=here.clock, storage=here.storage.another()) as store:
        second = Controller(store, client=here.server.client(), base_url="http://api.test")
        with here.controller.live(polled, id="1"), second.live(polled, id="1"):
            here.clock.advance(1)
            for number in range(1, 6):
                assert here.asked == number
                # Who found the answer of the other one gives its lease back in a thread, which knows no virtual time.
                eventually(lambda: not any(place.leases for place in here.storage._places.values()))
                here.answers["/articles/1"] = {**FIRST, "title": f"title {number}"}
                here.clock.advance(1_000)
                shown = [one(process.cached(polled, id="1")).title for process in (here.controller, second)]
                assert shown == [f"title {number}"] * 2
