"""Requests that overlap: what both touch is stale where one is a change, and each call gives its own response."""

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


Notes: Any = create_resource(url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=False, strict=True)
Shown: Any = create_resource(url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=True, strict=True)
ONE = {"id": "1"}


class Talk:
    """A controller of either world, and a server that answers each request after the delay that was set for it."""

    def __init__(self, world: str) -> None:
        self.clock = FakeClock()
        self.server = MockServer(self.clock, respond=self._respond)
        self.store = self.clock.store()
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

    def fetch(self, endpoint: Any, *args: Any) -> Any:
        """A fetch that is answered before anything else happens."""
        task = self.start(endpoint, *args)
        self.clock.advance(1)
        return task.result()

    def why_stale(self, endpoint: Any, *args: Any) -> str:
        """Why a read would ask, as `explain` says it; empty where it would not."""
        explanation = self.controller.explain(endpoint, *args)
        reading = self.controller.get_response(endpoint, *args)
        assert explanation.needs_fetch is reading.needs_fetch
        if not reading.needs_fetch:
            return ""
        assert "a change was sent since" in str(explanation) or "a change overlapped" in str(explanation), explanation
        return str(explanation)


@pytest.fixture(params=["sync", "asyncio"])
def talk(request: pytest.FixtureRequest) -> Any:
    """In both worlds."""
    talk = Talk(request.param)
    yield talk
    talk.clock.close()


RESOURCES = pytest.mark.parametrize("resource", [Notes, Shown], ids=["plain", "optimistic"])


def whole(number: str = "1", **members: Any) -> dict[str, Any]:
    """A note with all of its fields."""
    return {"id": number, "text": "a", "more": "m", **members}


@RESOURCES
@pytest.mark.parametrize("read_ends_first", [True, False])
@pytest.mark.parametrize("read_begins_first", [True, False])
def test_overlap_of_a_read_and_a_change_makes_their_record_stale(
    talk: Talk, resource: Any, read_begins_first: bool, read_ends_first: bool
) -> None:
    """Nobody knows which came first, so the record asks once, and the change gives its own response (rule 2)."""
    talk.will("GET", "/1", whole(), 0)
    talk.will("GET", "", [whole(), whole("2")], 0)
    talk.fetch(resource.get, ONE)
    talk.fetch(resource.get_list)
    assert not talk.why_stale(resource.get, ONE) and not talk.why_stale(resource.get_list)
    talk.will("PATCH", "/1", whole(text="mine"), 100 if read_ends_first else 50)
    talk.will("GET", "/1", whole(), 50 if read_ends_first else 100)
    begin = [lambda: talk.start(resource.get, ONE), lambda: talk.start(resource.partial_update, ONE, {"text": "mine"})]
    tasks = {}
    for place in (0, 1) if read_begins_first else (1, 0):
        tasks[place] = begin[place]()
        talk.clock.advance(10)
    talk.clock.advance(200)
    changed, read = tasks[1].result(), tasks[0].result()
    assert (changed.text, changed.more) == ("mine", "m")
    assert (read.text, read.more) == ("a", "m")
    assert talk.why_stale(resource.get, ONE)
    assert talk.why_stale(resource.get_list)
    assert not talk.why_stale(resource.get, {"id": "2"})
    talk.will("GET", "/1", whole(text="mine"), 0)
    talk.fetch(resource.get, ONE)
    assert not talk.why_stale(resource.get, ONE) and not talk.why_stale(resource.get_list)
    assert talk.controller.cached(resource.get, ONE).text == "mine"


@RESOURCES
def test_overlap_of_two_changes_makes_their_record_and_all_lists_stale(talk: Talk, resource: Any) -> None:
    """Each change gives its own response, whichever came last; the record may have left or joined lists."""
    talk.will("GET", "", [whole()], 0)
    talk.fetch(resource.get_list)
    talk.will("PATCH", "/1", whole(text="first"), 100)
    talk.will("PATCH", "/1", whole(text="second"), 20)
    first = talk.start(resource.partial_update, ONE, {"text": "first"})
    talk.clock.advance(10)
    second = talk.start(resource.partial_update, ONE, {"text": "second"})
    talk.clock.advance(200)
    assert (first.result().text, second.result().text) == ("first", "second")
    assert talk.why_stale(resource.get, ONE)
    assert talk.why_stale(resource.get_list)
    talk.will("GET", "/1", whole(text="second"), 0)
    talk.fetch(resource.get, ONE)
    assert not talk.why_stale(resource.get, ONE)
    assert talk.why_stale(resource.get_list)


def test_overlap_leaves_fresh_what_the_change_does_not_touch(talk: Talk) -> None:
    """A record that another request brought meanwhile is fresh; a list of the entity is not."""
    talk.will("PATCH", "/1", whole(text="x"), 100)
    talk.will("GET", "/2", whole("2"), 50)
    talk.will("GET", "", [whole("2")], 50)
    talk.start(Notes.partial_update, ONE, {"text": "x"})
    talk.start(Notes.get, {"id": "2"})
    talk.start(Notes.get_list)
    talk.clock.advance(200)
    assert not talk.why_stale(Notes.get, {"id": "2"}) and not talk.why_stale(Notes.get, ONE)
    assert talk.why_stale(Notes.get_list)


@pytest.mark.parametrize("place", ["", "?text=c"])
@pytest.mark.parametrize("delay", [50, 150])
@pytest.mark.parametrize("is_known", [True, False])
def test_overlap_of_a_list_and_a_creation_makes_the_list_stale(
    talk: Talk, is_known: bool, delay: float, place: str
) -> None:
    """Whether the response of the list has what was created nobody knows, so the next read asks, once."""
    args = ({"text": "c"},) if place else ()
    if is_known:
        talk.will("GET", place, [], 0)
        talk.fetch(Notes.get_list, *args)
    talk.will("POST", "", whole("3", text="c"), 100)
    talk.will("GET", place, [], delay)
    talk.start(Notes.create, {"text": "c"})
    talk.clock.advance(1)
    talk.start(Notes.get_list, *args)
    talk.clock.advance(200)
    assert talk.why_stale(Notes.get_list, *args)
    talk.will("GET", place, [whole("3", text="c")], 0)
    talk.fetch(Notes.get_list, *args)
    assert not talk.why_stale(Notes.get_list, *args)
    assert [note.id for note in talk.controller.cached(Notes.get_list, *args)] == ["3"]


def test_overlap_of_a_read_and_a_deletion_makes_the_record_stale(talk: Talk) -> None:
    """An entity that a read brought while it was being deleted is stale, whether it shows or not."""
    talk.will("DELETE", "/1", {"id": "1"}, 50)
    talk.will("GET", "/1", whole(), 100)
    talk.start(Notes.delete, ONE)
    talk.clock.advance(1)
    talk.start(Notes.get, ONE)
    talk.clock.advance(200)
    assert talk.why_stale(Notes.get, ONE)


# -- deletion marks and resets -----------------------------------------------------------------------------------------


def test_overlaps_deletion_outlives_reads_that_began_before(talk: Talk) -> None:
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


def test_overlaps_reset_leaves_a_change_in_progress_its_own_response(talk: Talk) -> None:
    """Nothing of what was fetched since the reset is in the value of the change."""
    talk.will("PATCH", "/1", {"id": "1", "text": "mine"}, 100)
    change = talk.start(Notes.partial_update, ONE, {"text": "mine"})
    talk.clock.advance(10)
    talk.controller.reset_entire_store()
    talk.will("GET", "/1", {"id": "1", "text": "theirs", "more": "secret"}, 1)
    talk.start(Notes.get, ONE)
    talk.clock.advance(200)
    assert (change.result().text, change.result().more) == ("mine", "")
    assert talk.controller.cached(Notes.get, ONE).text == "theirs"


def test_overlaps_reset_ends_a_read_in_progress(talk: Talk) -> None:
    """The read does not give what someone else put there meanwhile."""
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
