"""Conditional requests: what a server tells apart is asked for only where it is another one, and nothing else shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.runtime.notes import WAYS, Note, Notes, Origin, client, take
from tests.runtime.worlds import answered_by

from restencil import Controller, Entity, Manager, ResetError, RestEndpoint, Store
from restencil.testing import FakeClock

EARLIER = "Mon, 05 Jan 2026 09:00:00 GMT"


class Seen(Manager):
    """Notes the actions that pass."""

    def __init__(self) -> None:
        self.actions: list[Any] = []

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        self.actions.append(action)
        return next(action)

    @property
    def names(self) -> list[str]:
        """What they are."""
        return [type(action).__name__ for action in self.actions]


@pytest.fixture
def origin() -> Origin:
    """A server of notes."""
    return Origin()


@pytest.mark.parametrize("weak", [False, True])
def test_conditional_what_did_not_change_is_requested_by_its_etag_and_is_fresh_again(weak: bool) -> None:
    """A 304 renews key and cells, keeps every object, and gives what a read gives."""
    origin = Origin(weak=weak)
    clock, controller = client(origin)
    controller.fetch(Notes.get_list)
    before: Any = controller.cached(Notes.get_list)
    clock.advance(1_000_000)
    value = controller.fetch(Notes.get_list)
    assert origin.answered == [200, 304]
    assert origin.conditions[0] is None and (origin.conditions[1] or "").startswith('W/"' if weak else '"')
    assert value is before and controller.cached(Notes.get_list) is before
    store = controller.store
    assert store.entity_meta("Note", "1") == store.entity_meta("Note", "3")
    times = store.entity_meta("Note", "1")
    assert times is not None and times.fetched_at == clock()
    assert not controller.get_response(Notes.get_list).needs_fetch


# --- asking -----------------------------------------------------------------------------------------------------------


class Merged(Entity, key="MergedNote"):
    id: str = ""

    @classmethod
    def merge_with_store(cls, existing_meta: Any, incoming_meta: Any, existing: Any, incoming: Any) -> Any:
        return {**existing, **incoming}


class Processed(Entity, key="ProcessedNote"):
    id: str = ""

    @classmethod
    def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> dict[str, Any]:
        return dict(input)


class OwnParse(RestEndpoint[..., Any]):
    def parse_response(self, response: Any) -> Any:
        return super().parse_response(response)


class OwnSending(RestEndpoint[..., Any]):
    def fetch_response(self, url: str, init: Any) -> Any:
        return super().fetch_response(url, init)


def _get(kind: Any = RestEndpoint, **options: Any) -> Any:
    return kind(**{"url_prefix": "http://mock", "path": "/notes/:id", "schema": Note, **options})


@pytest.mark.parametrize(
    ("endpoint", "asks"),
    [
        (_get(), True),
        (_get(schema=None), True),
        (_get(schema=Processed), True),
        (_get(process=lambda value, *args: dict(value)), True),
        (_get(conditional=False), False),
        (_get(schema=Merged), False),
        (_get(update=lambda *args: {}), False),
        (_get(key=lambda *args: "of my own"), False),
        (_get(OwnParse), False),
        (_get(OwnSending), False),
        (_get(fetch=lambda *args: {"id": "1"}), False),
        (_get(method="POST", side_effect=False, body=None), False),
    ],
)
def test_conditional_where_a_304_could_not_do_what_a_200_does_all_is_requested(endpoint: Any, asks: bool) -> None:
    """Code of users between the answer and the store, and keys that are no address, have no validator."""
    origin = Origin()
    _, controller = client(origin)
    for _ in range(3):
        controller.fetch(endpoint, {"id": "1"})
    assert any(origin.conditions) is asks


@pytest.mark.parametrize("header", ["If-None-Match", "If-Modified-Since", "Cache-Control", "If-Match"])
def test_conditional_header_of_the_user_switches_it_off_for_the_call(header: str, origin: Origin) -> None:
    """What the user sends is sent, and nothing beside it."""
    values = {"Cache-Control": "no-cache", "If-Modified-Since": EARLIER}
    _, controller = client(origin)
    controller.fetch(Notes.get, {"id": "1"})
    own = controller.with_options(headers={header: values.get(header, '"mine"')})
    own.fetch(Notes.get, {"id": "1"})
    assert origin.asked[1].headers[header] == values.get(header, '"mine"')
    assert origin.asked[1].headers.get("if-none-match") in (None, '"mine"')
    assert origin.answered == [200, 200]


# --- the witness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["equal", "expire"])
def test_conditional_equal_record_and_a_forced_expiry_leave_the_condition(step: str, origin: Origin) -> None:
    """What was written is what the response contained, so that all of it is there still."""
    clock, controller = client(origin)
    controller.fetch(Notes.get_list)
    clock.advance(10)
    if step == "equal":
        controller.set(Note, {"id": "1", "text": "note 1", "seen": 1})
    else:
        controller.expire_all(Notes.get_list)
    clock.advance(10)
    controller.fetch(Notes.get_list)
    assert origin.conditions[-1]


def test_conditional_where_it_broke_meanwhile_all_is_requested_once_more(asynchronous: bool, clock: FakeClock) -> None:
    """A 304 for what is no longer there leads to one request without a condition, whose answer counts."""
    origin = Origin()
    store = clock.store()

    def serve(request: httpx.Request) -> httpx.Response:
        answer = origin(request)
        if answer.status_code == 304:
            Controller(store, client=httpx.Client()).set(Note, {"id": "1", "text": "changed meanwhile"})
        return answer

    controller = answered_by(serve, store, asynchronous)
    clock.run(lambda: controller.fetch(Notes.get, {"id": "1"}))
    clock.advance(10)
    value = clock.run(lambda: controller.fetch_response(Notes.get, {"id": "1"}))
    assert origin.answered == [200, 304, 200]
    assert [bool(condition) for condition in origin.conditions] == [False, True, False]
    assert (value.value.text, value.status, value.attempts) == ("changed meanwhile", 200, 1) or (
        value.value.text == "note 1"
    )


def test_conditional_304_of_before_a_reset_renews_nothing_that_came_after_it(origin: Origin) -> None:
    """What was received again since is the same response, but is only as fresh as that."""

    def serve(request: httpx.Request) -> httpx.Response:
        answer = origin(request)
        if answer.status_code == 304:
            clock.sleep(1_000)
        return answer

    clock, controller = client(serve)
    controller.fetch(Notes.get, {"id": "1"})
    before_reset = clock.start(lambda: controller.fetch(Notes.get, {"id": "1"}))
    clock.settle()
    controller.reset_entire_store()
    controller.fetch(Notes.get, {"id": "1"})
    expires_at = controller.state(Notes.get, {"id": "1"}).expires_at
    clock.advance(2_000)
    assert isinstance(before_reset.error, ResetError)
    assert origin.answered == [200, 304, 200]
    assert controller.state(Notes.get, {"id": "1"}).expires_at == expires_at


# --- what a 304 does -------------------------------------------------------------------------------------------------


def test_conditional_304_takes_the_error_away_and_is_reported_in_the_response(origin: Origin) -> None:
    """The recorded error goes; `fetch_response` tells 304 and its headers, with the value that the store has."""
    clock, controller = client(origin)
    first = controller.fetch(Notes.get, {"id": "1"})
    controller.set_error(Notes.get, OSError("no network"), {"id": "1"})
    assert controller.get_error(Notes.get, {"id": "1"}) is not None
    clock.advance(10)
    origin.headers["X-Count"] = "2"
    answer = controller.fetch_response(Notes.get, {"id": "1"})
    assert (answer.status, answer.headers["x-count"]) == (304, "2")
    assert answer.value is first
    assert controller.get_error(Notes.get, {"id": "1"}) is None


def test_conditional_redirect_that_leads_elsewhere_is_another_response() -> None:
    """A 304 from another place than that of the last answer says nothing of it."""
    places = ["http://mock/a", "http://mock/b"]
    answered: list[tuple[str, int]] = []

    def origin(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/notes/1":
            return httpx.Response(302, headers={"Location": places[0]})
        status = 304 if request.headers.get("if-none-match") == '"1"' else 200
        answered.append((request.url.path, status))
        return httpx.Response(
            status, json=None if status == 304 else {"id": "1", "text": request.url.path}, headers={"ETag": '"1"'}
        )

    _, controller = client(origin)
    assert controller.fetch(Notes.get, {"id": "1"}).text == "/a"
    assert controller.fetch(Notes.get, {"id": "1"}).text == "/a"
    places.pop(0)
    assert controller.fetch(Notes.get, {"id": "1"}).text == "/b"
    assert answered == [("/a", 200), ("/a", 304), ("/b", 304), ("/b", 200)]


def test_conditional_managers_see_that_it_was_renewed() -> None:
    """In the place of a response `Freshen` passes, with endpoint, arguments, key, times and the id of the fetch."""
    origin, seen = Origin(), Seen()
    _, controller = client(origin, seen)
    controller.fetch(Notes.get, {"id": "1"})
    controller.fetch(Notes.get, {"id": "1"})
    assert [name for name in seen.names if name != "Fetch"] == ["SetResponse", "Freshen"]
    fetch, renew = seen.actions[-2:]
    assert (renew.endpoint, renew.args, renew.key, renew.fetch_id) == (
        fetch.endpoint,
        ({"id": "1"},),
        "GET http://mock/notes/1",
        fetch.fetch_id,
    )
    assert renew.meta.fetched_at == fetch.meta.fetched_at


# --- as if nothing of it were there ----------------------------------------------------------------------------------


@settings(max_examples=examples(100, nightly=50))
@given(st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from("123")), max_size=30), st.booleans(), st.booleans())
def test_conditional_any_order_ends_as_the_same_order_with_full_answers(
    steps: list[tuple[str, str]], is_bounded: bool, weak: bool
) -> None:
    """Whatever happens between answers, a store that is told of no change is as one that gets everything anew."""
    sides: list[Any] = []
    for tells in (True, False):
        origin = Origin(tells=tells, weak=weak)
        clock = FakeClock()
        store: Store = clock.store(max_entities=3 if is_bounded else None)
        controller = Controller(store, client=httpx.Client(transport=httpx.MockTransport(origin)))
        taken = [("list", "1"), *steps, ("list", "1"), ("item", "1"), ("list", "1")]
        shown = [take(step, name, origin, clock, controller) for step, name in taken]
        sides.append((shown, store.state, controller.cached(Notes.get_list)))
    assert sides[0] == sides[1]
