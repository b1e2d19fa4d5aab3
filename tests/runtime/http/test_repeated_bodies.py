"""Bodies that are read while they are sent, in requests that are sent more than once: whole each time, or once."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, controller_of, running

from restencil import NetworkError, RestEndpoint, Retries

pytestmark = pytest.mark.network

TEXT = b"0123456789" * 20_000


def twice() -> Retries:
    """Two more tries, with a budget of their own."""
    return Retries(2, base_delay=0, mutations=True)


def fetched(endpoint: RestEndpoint[..., Any], body: Any, asynchronous: bool, **options: Any) -> Any:
    """The value of a fetch through a controller of this kind."""
    client = client_of(asynchronous, timeout=PATIENCE, auth=options.pop("auth", None))
    controller = controller_of(asynchronous, client=client, **options)
    with running(client, controller) as run:
        return run(controller.fetch(endpoint, body))


class Refusing:
    """Answers the first request in one of the ways that make clients send it again, all further ones with `{}`."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.bodies: list[bytes] = []

    def __call__(self, request: Arrived) -> Reply:
        self.bodies.append(request.body)
        if len(self.bodies) > 1:
            return Reply()
        match self.way:
            case "retry":
                return Reply(503)
            case "refresh" | "auth":
                return Reply(401)
            case _:
                return Reply(int(self.way), headers={"Location": "/to"})


def again() -> Any:
    """An auth that sends a request again that was answered by a 401, as digest does."""

    class Again(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            response = yield request
            if response.status_code == 401:
                yield request

    return Again()


WAYS = ["retry", "refresh", "auth", "307", "308"]


def uploading(server: Server, **options: Any) -> RestEndpoint[..., Any]:
    refresh: Callable[[Any], bool] = lambda error: True  # noqa: E731 - an option
    return RestEndpoint(path="/from", url_prefix=server.url, method="PUT", refresh=refresh, **options)


def opened(kind: str, folder: Path) -> tuple[Any, bytes]:
    """A body that can be rewound, and what is to arrive of it."""
    path = folder / "upload.bin"
    path.write_bytes(TEXT)
    match kind:
        case "file":
            return path.open("rb"), TEXT
        case "file in the middle":
            file = path.open("rb")
            file.seek(12)
            return file, TEXT[12:]
        case _:
            memory = io.BytesIO(TEXT)
            memory.seek(7)
            return memory, TEXT[7:]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["file", "file in the middle", "memory"])
def test_repeated_bodies_file_is_sent_whole_each_time(kind: str, way: str, asynchronous: bool, tmp_path: Path) -> None:
    """From where it stood when the call was made."""
    handler = Refusing(way)
    body, text = opened(kind, tmp_path)
    with Server(handler) as server:
        # The asynchronous client does not look how long a file is, and this server needs to know.
        endpoint = uploading(server, request_init={"headers": {"Content-Length": str(len(text))}})
        auth = again() if way == "auth" else None
        assert fetched(endpoint, body, asynchronous, retries=twice() if way == "retry" else None, auth=auth) == {}
    assert [len(sent) for sent in handler.bodies] == [len(text)] * 2
    assert handler.bodies == [text, text]
    body.close()


def chunks() -> Iterator[bytes]:
    yield b"01234"
    yield b"56789"


async def later_chunks() -> AsyncIterator[bytes]:
    yield b"01234"
    yield b"56789"


STATUSES = {"retry": 503, "refresh": 401, "auth": 401, "307": 307, "308": 308}


@pytest.mark.parametrize("way", WAYS)
def test_repeated_bodies_what_cannot_be_read_twice_is_not_sent_again(way: str, asynchronous: bool) -> None:
    """The error says so, and has the status that would have made the client repeat it."""
    handler = Refusing(way)
    with Server(handler) as server:
        endpoint = uploading(server, request_init={"headers": {"Content-Length": "10"}})
        if way == "auth":
            endpoint = endpoint.extend(refresh=None)
        body = later_chunks() if asynchronous else chunks()
        options = {"retries": twice() if way == "retry" else None, "auth": again() if way == "auth" else None}
        with pytest.raises(NetworkError, match="request was not repeated: its body is or contains an? .*gen") as caught:
            fetched(endpoint, body, asynchronous, **options)
    assert caught.value.status == STATUSES[way]
    assert "pass bytes or a seekable file" in str(caught.value)
    assert handler.bodies == [b"0123456789"]


def test_repeated_bodies_pipe_is_not_sent_again(asynchronous: bool) -> None:
    """It is a file, and has nowhere to go back to."""
    handler = Refusing("retry")
    reading, writing = os.pipe()
    os.write(writing, b"0123456789")
    os.close(writing)
    with Server(handler) as server, os.fdopen(reading, "rb") as pipe:
        endpoint = uploading(server, request_init={"headers": {"Content-Length": "10"}})
        with pytest.raises(
            NetworkError, match="not repeated: its body is or contains a BufferedReader, which cannot be"
        ):
            fetched(endpoint, pipe, asynchronous, retries=twice())
    assert handler.bodies == [b"0123456789"]


def test_repeated_bodies_auth_that_asks_elsewhere_first_sends_an_iterator_once() -> None:
    """A request that was not sent yet needs no rewinding."""

    class TokenFirst(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            yield httpx.Request("POST", request.url.copy_with(path="/token"))
            yield request

    with Server() as server:
        endpoint = uploading(server, request_init={"headers": {"Content-Length": "10"}})
        assert fetched(endpoint, chunks(), False, auth=TokenFirst()) == {}
        assert [(request.target, request.body) for request in server.arrived] == [
            ("/token", b""),
            ("/from", b"0123456789"),
        ]
