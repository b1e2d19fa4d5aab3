"""Answers that come once more, byte for byte: what they bring is not taken apart again, and shows as if it were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil import Controller, Entity, Manager, create_resource
from restencil.testing import FakeClock

LONG = "x" * 9_000
WAYS: tuple[str, ...] = (
    "list",
    "again",
    "other",
    "item",
    "push",
    "page",
    "set",
    "invalidate",
    "expire",
    "delete",
    "reset",
)


class Note(Entity, key="Note"):
    id: str = ""
    text: str = ""
    more: str = ""
    seen: Any = None

    @property
    def shout(self) -> str:
        """What the text is in capitals."""
        return self.text.upper()


Notes: Any = create_resource(
    url_prefix="http://mock", path="/notes/:id", schema=Note, optimistic=False, pagination_field="page"
)


class Watching(Manager):
    """A manager of the user's own: it sees every response pass, so each has to be taken apart."""

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        return next(action)


class Server:
    """A server of a few long notes; what it has is set by the test."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, Any]] = {
            name: {"id": name, "text": f"note {name}", "more": LONG, "seen": 1} for name in ("1", "2", "3")
        }

    def handle(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        if request.method == "POST":
            made = json.loads(request.content)
            self.notes[made["id"]] = made
            return httpx.Response(201, json=made)
        if request.method == "DELETE":
            return httpx.Response(200, json=self.notes.pop(name, {"id": name}))
        if "page" in request.url.params:
            return httpx.Response(200, json=[{"id": "9", "text": "of the next page", "more": LONG, "seen": 1}])
        if name in self.notes:
            return httpx.Response(200, json=self.notes[name])
        return httpx.Response(200, json=list(self.notes.values()))


def client(server: Server, *managers: Manager) -> tuple[FakeClock, Controller]:
    """A controller with a clock of its own; with more managers than the library's own where there are some."""
    clock = FakeClock()
    store = clock.store()
    http = httpx.Client(transport=httpx.MockTransport(server.handle))
    if not managers:
        return clock, Controller(store, client=http)
    from restencil import LogoutManager, NetworkManager, SubscriptionManager

    own = [*managers, NetworkManager(), SubscriptionManager(), LogoutManager()]
    return clock, Controller(store, client=http, managers=own)


def test_repeated_responses_same_response_makes_what_is_stored_fresh_and_changes_no_object() -> None:
    """A list that is answered as before is fresh again, and is the identical object, with the identical items."""
    clock, controller = client(Server())
    controller.fetch(Notes.get_list)
    before: Any = controller.cached(Notes.get_list)
    clock.advance(1_000_000)
    assert controller.get_response(Notes.get_list).needs_fetch
    value = controller.fetch(Notes.get_list)
    assert value == before and value[0] is before[0]
    assert controller.cached(Notes.get_list) is before
    assert not controller.get_response(Notes.get_list).needs_fetch
    assert controller.store.entity_meta("Note", "1").fetched_at == clock()  # type: ignore[union-attr]


@pytest.mark.parametrize("others", [(), ("watching",)], ids=["alone", "watched"])
def test_repeated_responses_other_managers_see_each_response(others: tuple[str, ...]) -> None:
    """Where a manager of the user's own is there, every answer passes it as a response."""
    seen: list[str] = []

    class Noting(Manager):
        def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
            seen.append(type(action).__name__)
            return next(action)

    _, controller = client(Server(), *([Noting()] if others else []))
    controller.fetch(Notes.get_list)
    controller.fetch(Notes.get_list)
    assert seen.count("SetResponse") == (2 if others else 0)


@given(st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from("123")), max_size=14))
def test_repeated_responses_store_is_the_same_whether_answers_are_recognized_or_taken_apart(
    steps: list[tuple[str, str]],
) -> None:
    """Whatever happens between two equal answers, the second leaves the store as it would be without any short cut."""
    sides = []
    for managers in ((), (Watching(),)):
        server = Server()
        clock, controller = client(server, *managers)
        shown = [_take(step, name, server, clock, controller) for step, name in [("list", "1"), *steps, ("list", "1")]]
        sides.append((shown, controller.store.state, controller.cached(Notes.get_list)))
    assert sides[0] == sides[1]


def _take(step: str, name: str, server: Server, clock: FakeClock, controller: Controller) -> Any:
    """One step; what the call gave."""
    clock.advance(10)
    if step == "list":
        return controller.fetch(Notes.get_list)
    if step == "again":
        return controller.fetch(Notes.get_list), controller.fetch(Notes.get_list)
    if step == "other":
        server.notes.setdefault(name, {"id": name, "more": LONG, "seen": 0})["text"] = f"at {clock()}"
        return controller.fetch(Notes.get_list)
    if step == "item":
        return controller.fetch(Notes.get, {"id": name}) if name in server.notes else None
    if step == "push":
        made = {"id": f"new {clock()}", "text": "pushed", "more": LONG, "seen": True}
        return controller.fetch(Notes.get_list.push, made)
    if step == "page":
        return controller.fetch(Notes.get_list.get_page, {"page": "2"})
    if step == "set":
        return controller.set(Note, {"id": name, "text": "set", "seen": True})
    if step == "delete":
        return controller.fetch(Notes.delete, {"id": name}) if name in server.notes else None
    if step == "reset":
        return controller.reset_entire_store()
    if step == "expire":
        return controller.expire_all(lambda key: "notes" in key)
    return controller.invalidate(Notes.get_list)
