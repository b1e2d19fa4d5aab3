"""Requests that overlap: where the server's order cannot be known, what shows is stale, and a call gives its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from restencil import AsyncController, Controller, Entity, ResetError, create_resource
from restencil.testing import Answer, FakeClock, MockServer


class Note(Entity, key="Note"):
    id: str = ""
    text: str = ""
    more: str = ""


Notes: Any = create_resource(url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=False)
Shown: Any = create_resource(url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=True)
ONE = {"id": "1"}


class Talk:
    """A controller of either world, and a server that answers each request after the delay that was set for it."""

    def __init__(self, world: str) -> None:
        self.clock = FakeClock()
        self.server = MockServer(self.clock, respond=self._respond)
        self.store = self.clock.store()
        self.store.watch_overlaps()
        self.answers: dict[tuple[str, str], list[Answer]] = {}
        self.controller: Any
        if world == "sync":
            self.controller = Controller(self.store, client=self.server.client())
        else:
            self.controller = AsyncController(self.store, client=self.server.async_client())

    def _respond(self, request: Any) -> Answer:
        return self.answers[request.method, request.url.partition("/notes")[2]].pop(0)

    def will(self, method: str, place: str, json: Any, delay: float) -> None:
        """The next request of this kind is answered so."""
        self.answers.setdefault((method, place), []).append(Answer(json=json, delay=delay))

    def start(self, endpoint: Any, *args: Any) -> Any:
        """A fetch begins."""
        controller = self.controller
        return self.clock.start(lambda: controller.fetch(endpoint, *args))

    def stale(self, endpoint: Any, *args: Any) -> bool:
        """Whether a read would ask, and `explain` says so."""
        explanation = self.controller.explain(endpoint, *args)
        reading = self.controller.get_response(endpoint, *args)
        assert explanation.needs_fetch is reading.needs_fetch
        if reading.needs_fetch:
            assert "overlapped" in str(explanation) or "invalidated" in str(explanation), explanation
        return bool(reading.needs_fetch)


@pytest.fixture(params=["sync", "asyncio"])
def talk(request: pytest.FixtureRequest) -> Any:
    """In both worlds."""
    talk = Talk(request.param)
    yield talk
    talk.clock.close()


RESOURCES = pytest.mark.parametrize("resource", [Notes, Shown], ids=["plain", "optimistic"])


@RESOURCES
@pytest.mark.parametrize("read_ends_first", [True, False])
@pytest.mark.parametrize("read_begins_first", [True, False])
def test_a_read_and_a_change(talk: Talk, resource: Any, read_begins_first: bool, read_ends_first: bool) -> None:
    """However they overlap: the record, and all that shows it, is stale, and the change gives its own answer."""
    talk.will("GET", "/1", {"id": "1", "text": "a", "more": "m"}, 0)
    talk.will("GET", "", [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}], 0)
    for endpoint, *args in ((resource.get, ONE), (resource.get_list,)):
        talk.start(endpoint, *args)
        talk.clock.advance(1)
    assert not talk.stale(resource.get, ONE) and not talk.stale(resource.get_list)
    talk.will("PATCH", "/1", {"id": "1", "text": "mine"}, 100 if read_ends_first else 50)
    talk.will("GET", "/1", {"id": "1", "text": "a"}, 50 if read_ends_first else 100)
    begin = [lambda: talk.start(resource.get, ONE), lambda: talk.start(resource.partial_update, ONE, {"text": "mine"})]
    tasks = {}
    for place in (0, 1) if read_begins_first else (1, 0):
        tasks[place] = begin[place]()
        talk.clock.advance(10)
    talk.clock.advance(200)
    changed = tasks[1].result()
    assert (changed.text, changed.more) == ("mine", "m")
    assert talk.stale(resource.get, ONE)
    assert talk.stale(resource.get_list)
    assert not talk.controller.get_response(resource.get, {"id": "2"}).needs_fetch
    talk.will("GET", "/1", {"id": "1", "text": "mine", "more": "m"}, 0)
    talk.start(resource.get, ONE)
    talk.clock.advance(1)
    assert not talk.stale(resource.get, ONE) and not talk.stale(resource.get_list)
    assert talk.controller.cached(resource.get, ONE).text == "mine"


@RESOURCES
def test_two_changes(talk: Talk, resource: Any) -> None:
    """Each gives its own answer, whichever came last; the record is stale."""
    talk.will("GET", "/1", {"id": "1", "text": "a"}, 0)
    talk.start(resource.get, ONE)
    talk.clock.advance(1)
    talk.will("PATCH", "/1", {"id": "1", "text": "first"}, 100)
    talk.will("PATCH", "/1", {"id": "1", "text": "second"}, 20)
    first = talk.start(resource.partial_update, ONE, {"text": "first"})
    talk.clock.advance(10)
    second = talk.start(resource.partial_update, ONE, {"text": "second"})
    talk.clock.advance(200)
    assert (first.result().text, talk.stale(resource.get, ONE)) == ("first", True)
    assert second.result().text == "second"


def test_what_did_not_overlap_is_fresh(talk: Talk) -> None:
    """Other records at the same time, reads at the same time, and one after the other."""
    talk.will("PATCH", "/1", {"id": "1", "text": "x"}, 100)
    talk.will("GET", "/2", {"id": "2", "text": "b"}, 50)
    talk.will("GET", "/2", {"id": "2", "text": "b"}, 50)
    talk.will("GET", "", [{"id": "2", "text": "b"}], 50)
    talk.start(Notes.partial_update, ONE, {"text": "x"})
    talk.start(Notes.get, {"id": "2"})
    talk.start(Notes.get_list)
    talk.clock.advance(200)
    assert not talk.stale(Notes.get, {"id": "2"}) and not talk.stale(Notes.get_list)
    assert not talk.controller.get_response(Notes.get, ONE).needs_fetch
    talk.will("GET", "/1", {"id": "1", "text": "x"}, 0)
    talk.start(Notes.get, ONE)
    talk.clock.advance(1)
    assert not talk.stale(Notes.get, ONE)


@pytest.mark.parametrize("place", ["", "?text=c"])
@pytest.mark.parametrize("with_it", [True, False])
def test_the_first_read_of_a_list_while_something_is_created(talk: Talk, place: str, with_it: bool) -> None:
    """It was not there to be joined, so it is stale where it comes without what was created."""
    talk.will("GET", place, [{"id": "3", "text": "c"}] if with_it else [], 150)
    talk.will("POST", "", {"id": "3", "text": "c"}, 100)
    args = ({"text": "c"},) if place else ()
    talk.start(Notes.get_list, *args)
    talk.start(Notes.create, {"text": "c"})
    talk.clock.advance(200)
    assert with_it or talk.stale(Notes.get_list, *args)
    talk.will("GET", place, [{"id": "3", "text": "c"}], 0)
    talk.start(Notes.get_list, *args)
    talk.clock.advance(1)
    assert not talk.stale(Notes.get_list, *args)


@pytest.mark.parametrize("delay", [50, 150])
def test_a_list_read_while_something_is_created(talk: Talk, delay: float) -> None:
    """What was created joins a list that was there by then; one that comes later, without it, is stale."""
    talk.will("GET", "", [], 0)
    talk.start(Notes.get_list)
    talk.clock.advance(1)
    talk.will("GET", "", [], delay)
    talk.will("POST", "", {"id": "3", "text": "c"}, 100)
    talk.start(Notes.create, {"text": "c"})
    talk.clock.advance(1)
    talk.start(Notes.get_list)
    talk.clock.advance(200)
    assert talk.stale(Notes.get_list) is (delay == 150)
    assert [note.id for note in talk.controller.cached(Notes.get_list)] == ([] if delay == 150 else ["3"])


def test_a_read_during_a_deletion(talk: Talk) -> None:
    """An entity that a read brought while it was being deleted is stale, whether it shows or not."""
    talk.will("DELETE", "/1", {"id": "1"}, 50)
    talk.will("GET", "/1", {"id": "1", "text": "a"}, 100)
    talk.start(Notes.delete, ONE)
    talk.clock.advance(1)
    talk.start(Notes.get, ONE)
    talk.clock.advance(200)
    assert talk.stale(Notes.get, ONE)


# -- deletion marks and resets -----------------------------------------------------------------------------------------


def test_a_mark_of_deletion_outlives_what_began_before(talk: Talk) -> None:
    """In a bounded store a read that is older than a deletion does not undo it, however much came meanwhile."""
    talk.store = talk.controller.store
    bounded = talk.clock.store(max_entities=3)
    kind = type(talk.controller)
    client: Any = talk.server.client() if kind is Controller else talk.server.async_client()
    talk.controller = kind(bounded, client=client)
    talk.will("GET", "/1", {"id": "1", "text": "old"}, 500)
    talk.will("DELETE", "/1", {"id": "1"}, 1)
    talk.start(Notes.get, ONE)
    talk.clock.advance(10)
    talk.start(Notes.delete, ONE)
    talk.clock.advance(10)
    for number in range(10, 20):
        talk.will("GET", f"/{number}", {"id": str(number)}, 1)
        talk.start(Notes.get, {"id": str(number)})
        talk.clock.advance(10)
    talk.clock.advance(1_000)
    assert talk.controller.get(Note, ONE) is None
    for number in range(20, 30):
        talk.will("GET", f"/{number}", {"id": str(number)}, 1)
        talk.start(Notes.get, {"id": str(number)})
        talk.clock.advance(10)
    assert "1" not in bounded.state["entities"]["Note"]


def test_a_change_of_before_a_reset_gives_its_own_answer(talk: Talk) -> None:
    """Nothing of what was fetched since is in it."""
    talk.will("PATCH", "/1", {"id": "1", "text": "mine"}, 100)
    change = talk.start(Notes.partial_update, ONE, {"text": "mine"})
    talk.clock.advance(10)
    talk.controller.reset_entire_store()
    talk.will("GET", "/1", {"id": "1", "text": "theirs", "more": "secret"}, 1)
    talk.start(Notes.get, ONE)
    talk.clock.advance(200)
    assert (change.result().text, change.result().more) == ("mine", "")
    assert talk.controller.cached(Notes.get, ONE).text == "theirs"


def test_a_read_during_a_reset(talk: Talk) -> None:
    """It does not give what someone else put there meanwhile."""
    controller = talk.controller
    talk.will("GET", "/1", {"id": "1", "text": "mine"}, 100)
    read = talk.clock.start(lambda: controller.read(Notes.get, ONE))
    talk.clock.advance(10)

    def log_in(*_: Any) -> None:
        remove()
        controller.reset_entire_store()
        controller.set_response(Notes.get, {"id": "1", "text": "theirs"}, ONE)

    remove: Callable[[], None] = controller.add_listener(log_in)
    talk.clock.advance(200)
    assert isinstance(read.error, ResetError)
