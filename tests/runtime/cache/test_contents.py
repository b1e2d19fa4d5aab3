"""One URL asked for as JSON, text, bytes and a stream: each is a result of its own, and a stream is none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.runtime.notes import WAYS, Notes, Origin, client, take
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import controller_of, running
from tests.storages import PatientStore, sqlite_storage

from restencil import Controller, Manager, RestEndpoint, Store, StreamedResponse

pytestmark = pytest.mark.network


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(lambda request: Reply(body=b'{"a": 1}')) as opened:
        yield opened


def endpoint_of(server: Server, content: str | None, **options: Any) -> Any:
    return RestEndpoint(url_prefix=server.url, path="/a/:id", content=content, **options)


def reads(asynchronous: bool, endpoints: list[Any], store: Store | None = None) -> list[Any]:
    """What reads of these endpoints give, one after the other through one controller; streams are read."""
    controller = controller_of(asynchronous, store=store)

    def whole(value: Any) -> Any:
        return run(value.aread() if asynchronous else value.read()) if isinstance(value, StreamedResponse) else value

    with running(controller) as run:
        return [whole(value) for value in [run(controller.read(endpoint, id=1)) for endpoint in endpoints]]


def test_contents_result_is_filed_under_key_and_content(server: Server, asynchronous: bool) -> None:
    """JSON, text and bytes of one URL are three results, each asked for once; their key is the same."""
    contents = [None, "json", "text", "bytes"]
    endpoints = [endpoint_of(server, content) for content in contents]
    found = reads(asynchronous, endpoints + endpoints)
    assert found == [{"a": 1}, {"a": 1}, '{"a": 1}', b'{"a": 1}'] * 2
    assert len(server.arrived) == 3
    assert {endpoint.key(id=1) for endpoint in endpoints} == {f"GET {server.url}/a/1"}


def test_contents_stream_is_never_cached_and_never_found(server: Server, asynchronous: bool) -> None:
    """Each read of a stream is a request, whatever the cache has of the URL, and leaves nothing there."""
    stream = endpoint_of(server, "stream")
    store = Store()
    others = [endpoint_of(server, None), endpoint_of(server, "bytes")]
    body = b'{"a": 1}'
    assert reads(asynchronous, [*others, stream, stream, *others], store) == [
        {"a": 1},
        body,
        body,
        body,
        {"a": 1},
        body,
    ]
    assert len(server.arrived) == 4
    with Controller(store) as controller:
        assert controller.cached(stream, id=1) is None


def test_contents_stream_is_not_shared(server: Server) -> None:
    """Two that read one stream at the same time get a response each."""
    meeting = threading.Barrier(2)

    def answer(request: Arrived) -> Reply:
        meeting.wait(PATIENCE)
        return Reply(body=b"data")

    with Server(answer) as slow, Controller() as controller:
        stream = endpoint_of(slow, "stream")
        found: list[bytes] = []
        threads = [threading.Thread(target=lambda: found.append(controller.read(stream, id=1).read())) for _ in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert found == [b"data", b"data"]


def test_contents_stream_has_nothing_to_watch_or_set(server: Server) -> None:
    """`live`, `subscribe` and `set_response` of a stream are a TypeError that says what to use."""
    stream = endpoint_of(server, "stream")
    with Controller() as controller:
        for call in (
            lambda: controller.live(stream, id=1),
            lambda: controller.subscribe(stream, id=1),
            lambda: controller.set_response(stream, b"", id=1),
        ):
            with pytest.raises(TypeError, match="has content='stream', whose responses are never stored"):
                call()


def test_contents_are_apart_in_a_storage(server: Server, tmp_path: Any) -> None:
    """What a storage keeps of one URL is told apart by its content too."""
    endpoints = [endpoint_of(server, None), endpoint_of(server, "text")]
    for _ in range(2):
        with PatientStore(storage=sqlite_storage(tmp_path)) as store:
            assert reads(False, endpoints, store) == [{"a": 1}, '{"a": 1}']
    assert len(server.arrived) == 2


# -- repeated responses


LONG = "x" * 9_000


class Watching(Manager):
    """A manager of the user's own: it sees every response pass, so each has to be taken apart."""

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        return next(action)


def note_server() -> Origin:
    """A server of long notes, which says of none whether it changed."""
    return Origin(tells=False, more=LONG)


def test_repeated_responses_same_response_makes_what_is_stored_fresh_and_changes_no_object() -> None:
    """A list that is answered as before is fresh again, and is the identical object, with the identical items."""
    clock, controller = client(note_server())
    controller.fetch(Notes.get_list)
    before: Any = controller.cached(Notes.get_list)
    clock.advance(1_000_000)
    assert controller.get_response(Notes.get_list).needs_fetch
    value = controller.fetch(Notes.get_list)
    assert value == before and value[0] is before[0]
    assert controller.cached(Notes.get_list) is before
    assert not controller.get_response(Notes.get_list).needs_fetch
    times = controller.store.entity_meta("Note", "1")
    assert times is not None and times.fetched_at == clock()


@pytest.mark.parametrize("others", [(), ("watching",)], ids=["alone", "watched"])
def test_repeated_responses_other_managers_see_each_response(others: tuple[str, ...]) -> None:
    """Where a manager of the user's own is there, every answer passes it as a response."""
    seen: list[str] = []

    class Noting(Manager):
        def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
            seen.append(type(action).__name__)
            return next(action)

    _, controller = client(note_server(), *([Noting()] if others else []))
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
        origin = note_server()
        clock, controller = client(origin, *managers)
        shown = [take(step, name, origin, clock, controller) for step, name in [("list", "1"), *steps, ("list", "1")]]
        sides.append((shown, controller.store.state, controller.cached(Notes.get_list)))
    assert sides[0] == sides[1]
