"""A result is stored with its validator: a cold start asks for what changed, and takes no 304 for what it is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.storages import PatientStore, sqlite_storage

from restencil import AsyncController, Controller, Entity, MemoryStorage, RestEndpoint, Store, create_resource, field
from restencil.base.freshness import Validators, source_at
from restencil.base.values import Meta
from restencil.cache.actions import SetResponse
from restencil.testing import FakeClock

DATE = "Mon, 05 Jan 2026 10:00:00 GMT"
EARLIER = "Mon, 05 Jan 2026 09:00:00 GMT"
LATER = 100_000
MARK = "9c2e-never-stored"


class Writer(Entity, key="ValidatorWriter"):
    """Whom notes refer to."""

    id: str = ""
    name: str = ""


class Note(Entity, key="ValidatorNote"):
    """What is read."""

    id: str = ""
    text: str = ""
    writer: Any = field(default=None, schema=Writer)
    readers: Any = field(default=None, schema=[Writer])


Notes: Any = create_resource(url_prefix="http://mock", path="/notes/:id", schema=Note)
Writers: Any = create_resource(url_prefix="http://mock", path="/writers/:id", schema=Writer)
PLAIN: RestEndpoint[..., Any] = RestEndpoint(url_prefix="http://mock", path="/plain")


class Origin:
    """A server whose answers have validators of their content."""

    def __init__(self) -> None:
        ann = {"id": "a", "name": "Ann"}
        self.values: dict[str, Any] = {
            "/notes": [{"id": "1", "text": "one", "writer": ann}, {"id": "2", "text": "two", "writer": ann}],
            "/notes/1": {"id": "1", "text": "one", "writer": ann},
            "/notes/9": {"id": "9", "text": "of b", "writer": "b"},
            "/writers/b": {"id": "b", "name": "Bob"},
            "/plain": {"n": [1, 2]},
        }
        self.mode = "strong"
        self.headers: dict[str, str] = {}
        self.asked: list[httpx.Request] = []
        self.answered: list[int] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        content = json.dumps(self.values[request.url.path]).encode()
        tag = f'{"W/" if self.mode == "weak" else ""}"{hash(content):x}"'
        told = {"Date": DATE, "Last-Modified": EARLIER} if self.mode == "date" else {"ETag": tag}
        known = request.headers.get("if-none-match") == tag or request.headers.get("if-modified-since") == EARLIER
        self.answered.append(304 if known else 200)
        if known:
            return httpx.Response(304, headers=told)
        return httpx.Response(
            200, content=content, headers={"Content-Type": "application/json", **told, **self.headers}
        )


class Place:
    """A storage, the clock of all, and the processes that are opened over it."""

    def __init__(self, folder: Path | None) -> None:
        self.clock = FakeClock()
        self.origin = Origin()
        self._folder = folder
        self._storage = MemoryStorage(poll=5_000)
        self._stores: list[Store] = []

    def storage(self) -> Any:
        """One more over the same data."""
        if self._folder is not None:
            return sqlite_storage(self._folder, write_behind=0, poll=5_000)
        return self._storage.another()

    def process(self, **options: Any) -> Controller:
        """A process with nothing in its memory."""
        return Controller(self.opened(**options), client=httpx.Client(transport=httpx.MockTransport(self.origin)))

    def opened(self, *, slow: bool = False, **options: Any) -> Store:
        """The store of a process with nothing in its memory; a `slow` one writes when it is told to."""
        storage = self.storage()
        storage.write_behind = 1_000_000 if slow else 0
        store = PatientStore(clock=self.clock, scheduler=self.clock, storage=storage, **options)
        self._stores.append(store)
        return store

    def answered(self, endpoint: Any, **args: Any) -> None:
        """Another process is answered, ends, and what it was told turns stale."""
        controller = self.process()
        controller.fetch(endpoint, **args)
        controller.store.close()
        self.clock.advance(LATER)

    def starts(self, endpoint: Any, **args: Any) -> tuple[Controller, list[int]]:
        """A process that finds a result stale and asks; with how it was answered."""
        controller = self.process()
        assert controller.cached(endpoint, **args) is not None
        return controller, self.asks(controller, endpoint, **args)

    def asks(self, controller: Controller, endpoint: Any, **args: Any) -> list[int]:
        """How a process is answered that wants what is fresh."""
        before = len(self.origin.answered)
        controller.fetch_if_stale(endpoint, **args)
        return self.origin.answered[before:]

    def close(self) -> None:
        """All processes end."""
        for store in self._stores:
            store.close()


@pytest.fixture(params=["memory", "sqlite"])
def place(request: Any, tmp_path: Path) -> Iterator[Place]:
    """A storage of each kind."""
    made = Place(tmp_path / "cache" if request.param == "sqlite" else None)
    yield made
    made.close()


# --- a cold start -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["strong", "weak", "date"])
def test_validators_cold_start_asks_only_for_what_changed(place: Place, mode: str) -> None:
    """One conditional request; what is stored shows, is fresh then, and is stored as fresh for the next process."""
    place.origin.mode = mode
    place.answered(Notes.get_list)
    second = place.process()
    before: Any = second.cached(Notes.get_list)
    assert [note.text for note in before] == ["one", "two"] and place.origin.answered == [200]
    assert second.fetch_if_stale(Notes.get_list) is before
    assert place.origin.answered == [200, 304]
    sent = place.origin.asked[-1].headers
    name = "if-modified-since" if mode == "date" else "if-none-match"
    assert sent[name].startswith({"strong": '"', "weak": 'W/"', "date": EARLIER}[mode])
    for cell in (("ValidatorNote", "1"), ("ValidatorNote", "2"), ("ValidatorWriter", "a")):
        meta = second.store.entity_meta(*cell)
        assert meta is not None and meta.date == place.clock()
    assert place.asks(second, Notes.get_list) == []
    second.store.close()
    third = place.process()
    assert [note.writer.name for note in third.fetch_if_stale(Notes.get_list)] == ["Ann", "Ann"]
    assert place.origin.answered == [200, 304]
    third.store.close()
    place.clock.advance(LATER)
    assert place.starts(Notes.get_list)[1] == [304]  # the validator stays with what a 304 renewed


def test_validators_cold_start_in_asyncio_does_the_same(place: Place) -> None:
    """The same request, and the same value."""
    place.answered(Notes.get, id="1")

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(place.origin)) as http:
            controller = AsyncController(place.opened(), client=http)
            assert (await controller.fetch_if_stale(Notes.get, id="1")).writer.name == "Ann"

    asyncio.run(main())
    assert place.origin.answered == [200, 304]


def test_validators_value_without_entities_is_requested_so_as_well(place: Place) -> None:
    """It lies under its key alone."""
    place.answered(PLAIN)
    assert place.starts(PLAIN)[1] == [304]


def test_validators_what_a_server_said_of_freshness_holds_for_a_304_that_says_nothing(place: Place) -> None:
    """As it does where the answer came to this process."""
    timed: Any = RestEndpoint(url_prefix="http://mock", path="/notes/:id", schema=Note, freshness="server")
    place.origin.headers = {"Cache-Control": "max-age=200"}
    place.answered(timed, id="1")
    place.clock.advance(200_000)
    second, answered = place.starts(timed, id="1")
    assert answered == [304]
    place.clock.advance(199_000)
    assert place.asks(second, timed, id="1") == []
    place.clock.advance(2_000)
    assert place.asks(second, timed, id="1") == [304]


# --- what ends it -----------------------------------------------------------------------------------------------------


def test_validators_what_was_changed_here_before_the_commit_is_not_confirmed() -> None:
    """A `set` in the same batch: the server's answer says nothing of it."""
    place = Place(None)
    store = place.opened(slow=True)
    first = Controller(store, client=httpx.Client(transport=httpx.MockTransport(place.origin)))
    first.fetch(Notes.get, id="1")
    first.set(Note, {"id": "1", "text": "changed here"})
    assert store.flush()
    assert store.storage_stats().commits == 1
    place.clock.advance(LATER)
    assert place.starts(Notes.get, id="1")[1] == [200]
    assert place.origin.asked[-1].headers.get("if-none-match") is None
    place.close()


def _changed_later(place: Place) -> None:
    place.process().set(Writer, {"id": "a", "name": "changed"})


def _deleted(place: Place) -> None:
    place.process().set_response(Notes.delete, {"id": "2"}, id="2")


def _answered_elsewhere(place: Place) -> None:
    place.process().set_response(Notes.get, {"id": "1", "text": "newer", "writer": "a"}, id="1")


def _of_a_list(place: Place) -> None:
    place.process().set_response(Notes.get_list, [{"id": "1"}])


@pytest.mark.parametrize("change", [_changed_later, _deleted, _answered_elsewhere, _of_a_list])
def test_validators_what_another_process_changed_since_is_requested_whole(place: Place, change: Any) -> None:
    """Be it one record of many, or the list, and be it before this process reads or after."""
    place.answered(Notes.get_list)
    late = place.process()
    assert late.cached(Notes.get_list) is not None
    change(place)
    place.clock.advance(LATER)
    for controller in (late, place.process()):
        assert controller.cached(Notes.get_list) is not None
        before = len(place.origin.asked)
        controller.fetch(Notes.get_list)
        assert place.origin.answered[before:] == [200]
        assert "if-none-match" not in place.origin.asked[-1].headers
        change(place)
        place.clock.advance(LATER)


@pytest.mark.parametrize(
    "invalidate", [lambda c: c.invalidate(Notes.get_list), lambda c: c.invalidate_all(Notes.get_list)]
)
def test_validators_what_was_invalidated_is_requested_whole(place: Place, invalidate: Any) -> None:
    """Here, or by another process."""
    place.answered(Notes.get_list)
    here = place.process()
    assert here.cached(Notes.get_list) is not None
    invalidate(here)
    assert place.asks(here, Notes.get_list) == [200]
    place.clock.advance(LATER)
    there = place.process()
    invalidate(there)
    there.store.close()
    assert place.asks(place.process(), Notes.get_list) == [200]
    assert not any("if-none-match" in asked.headers for asked in place.origin.asked)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.set(Writer, {"id": "a", "name": "changed"}),
        lambda c: c.set_response(Notes.get, {"id": "1", "text": "newer", "writer": "a"}, id="1"),
        lambda c: c.reset_entire_store(),
    ],
)
def test_validators_what_this_process_changes_ends_it_as_ever(place: Place, change: Any) -> None:
    """It is a witness as any other: `set`, another response, and a reset end it."""
    place.answered(Notes.get, id="1")
    here = place.process()
    assert here.cached(Notes.get, id="1") is not None
    change(here)
    place.clock.advance(LATER)
    here.fetch(Notes.get, id="1")
    assert "if-none-match" not in place.origin.asked[-1].headers


@pytest.mark.parametrize(
    ("url", "place_of", "stored"),
    [
        (source_at("http://mock/plain"), "http://mock/plain", True),
        (source_at("http://mock/plain", (("key", MARK),)), "http://mock/plain", False),
        (source_at("http://mock/plain", (), (("key", MARK),)), "http://mock/plain", False),
        (source_at("http://mock/plain"), f"http://mock/{MARK}", False),
    ],
)
def test_validator_of_a_response_that_does_not_represent_its_address_alone_is_not_stored(
    url: Any, place_of: str, stored: bool
) -> None:
    """A header of the call that took part in it, or where it was redirected to, may be secret."""
    place = Place(None)
    now = place.clock()
    told = Validators({"etag": '"1"'}, url, place_of, ("If-None-Match", '"1"'))
    request = PLAIN.request(())
    store = place.opened()
    store.apply(SetResponse(request=request, response=1, meta=Meta(now, now, now + 50), validators=told))
    assert store.flush()
    with place.storage().filling("", changes=False) as space:
        held = repr(vars(space))
    assert ("$told" in held) is stored and MARK not in held
    place.close()


def test_validators_endpoint_whose_answers_do_more_takes_the_whole_each_time(place: Place) -> None:
    """As where the answer came to this process: another release of a program may have been without that."""
    place.answered(Notes.get, id="1")
    endpoint: Any = RestEndpoint(url_prefix="http://mock", path="/notes/:id", schema=Note, update=lambda *_: {})
    assert place.starts(endpoint, id="1")[1] == [200]
    assert "if-none-match" not in place.origin.asked[-1].headers


# --- what it is of ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("later", [0, 10])
def test_validators_what_a_response_only_refers_to_keeps_its_own_age(place: Place, later: int) -> None:
    """Its server was asked about the other one, also where both came at one moment."""
    first = place.process()
    first.fetch(Writers.get, id="b")
    place.clock.advance(later)
    first.fetch(Notes.get, id="9")
    first.store.close()
    then = place.clock() - later
    place.clock.advance(LATER)
    second, answered = place.starts(Notes.get, id="9")
    assert answered == [304] and second.read(Notes.get, id="9").writer.name == "Bob"
    meta = second.store.entity_meta("ValidatorWriter", "b")
    assert meta is not None and meta.date == then


def test_validators_of_two_responses_in_one_commit_are_distinguished_by_request_numbers() -> None:
    """Requests that start in the same millisecond have different numbers, so each keeps its validator."""
    for later, expected in ((10, 304), (0, 304)):
        place = Place(None)
        store = place.opened(slow=True)
        first = Controller(store, client=httpx.Client(transport=httpx.MockTransport(place.origin)))
        first.fetch(Writers.get, id="b")
        place.clock.advance(later)
        first.fetch(Notes.get, id="9")
        assert store.flush()
        place.clock.advance(LATER)
        assert place.starts(Notes.get, id="9")[1] == [expected]
        place.close()


def test_validators_what_another_process_changed_of_a_record_that_is_only_referred_to_does_not_matter(
    place: Place,
) -> None:
    """The answer said nothing of it."""
    first = place.process()
    first.fetch(Writers.get, id="b")
    place.answered(Notes.get, id="9")
    place.process().set(Writer, {"id": "b", "name": "Bert"})
    second, answered = place.starts(Notes.get, id="9")
    assert answered == [304] and second.read(Notes.get, id="9").writer.name == "Bert"


def test_validators_what_a_response_received_and_its_result_does_not_lead_to_counts_too(place: Place) -> None:
    """An entity that was there twice, with two of another: who reads it cannot tell what became of the first."""
    place.origin.values["/notes"] = [
        {"id": "1", "text": "one", "writer": {"id": "a", "name": "Ann"}},
        {"id": "1", "text": "one", "writer": {"id": "b", "name": "Bob"}},
    ]
    place.answered(Notes.get_list)
    assert place.starts(Notes.get_list)[1] == [200]


def test_validators_another_process_renews_what_this_one_has_loaded(place: Place) -> None:
    """Both go on with conditional requests."""
    place.answered(Notes.get_list)
    here, there = place.process(), place.process()
    assert here.cached(Notes.get_list) is not None and there.cached(Notes.get_list) is not None
    assert place.asks(there, Notes.get_list) == [304]
    place.clock.advance(6_000)
    assert place.asks(here, Notes.get_list) == []
    place.clock.advance(LATER)
    assert place.asks(here, Notes.get_list) == [304]


def test_validators_bound_that_releases_and_loads_again_keeps_the_rule(place: Place) -> None:
    """What is loaded once more is as it was, so the server is asked on its condition."""
    place.answered(Notes.get, id="1")
    here = place.process(max_entities=3)
    assert here.cached(Notes.get, id="1") is not None
    for pk in map(str, range(50)):
        here.set(Writer, {"id": f"other{pk}", "name": pk})
    assert here.cached(Notes.get, id="1") is not None
    assert place.asks(here, Notes.get, id="1") == [304]


def test_validators_nothing_of_a_request_is_stored_with_a_validator(tmp_path: Path) -> None:
    """Only what the answer said of itself."""
    place = Place(tmp_path / "cache")
    place.origin.headers = {"Set-Cookie": "sid=hidden-cookie", "X-Token": "hidden-header"}
    store = place.opened()
    http = httpx.Client(transport=httpx.MockTransport(place.origin), headers={"Authorization": "Bearer hidden-token"})
    Controller(store, client=http).fetch(Notes.get, id="1")
    store.close()
    held = b"".join(file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file())
    assert b"$told" in held and b"hidden" not in held
