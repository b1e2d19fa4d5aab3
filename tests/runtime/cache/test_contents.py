"""One URL asked for as JSON, text, bytes and a stream: each is a result of its own, and a stream is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import controller_of, running
from tests.storages import PatientStore, sqlite_storage

from restencil import Controller, RestEndpoint, Store, StreamedResponse

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
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda _: controller.read(stream, id=1).read(), "ab"))
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
