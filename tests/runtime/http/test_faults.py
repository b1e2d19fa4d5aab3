"""A server that misbehaves in every way: each fault is its documented error, the store holds what it held."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from restencil import (
    AsyncController,
    ConnectionFailedError,
    Controller,
    Entity,
    NetworkError,
    ParseError,
    ProcessingError,
    RestEndpoint,
    Retries,
    UnexpectedContentError,
)


class User(Entity, key="User"):
    id: str = ""
    name: str = ""


class TokenEndpoint(RestEndpoint):
    """Carries a secret that is for its own origin alone."""

    def get_headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {**headers, "Access-Token": "s3cret", "Authorization": "Bearer s3cret"}


class Rude:
    """A server on loopback that does with each connection what its path says; `seen` are the requests, as text."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.other: Rude | None = None
        self.attempts = 0
        self._ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # ends the waiting for the next connection, where there is one
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # a client that has gone, as some should
            text = b""
            while b"\r\n\r\n" not in text:
                piece = connection.recv(65536)
                if not piece:
                    return
                text += piece
            self.seen.append(text.decode())
            fault: Callable[[socket.socket], None] = getattr(self, "_" + text.split(b" ")[1].decode().strip("/"))
            fault(connection)

    def _reset(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _nothing(self, connection: socket.socket) -> None:
        """Closes without an answer."""

    def _garbage(self, connection: socket.socket) -> None:
        connection.sendall(b"\x00\x01 this is not HTTP\r\n\r\n")

    def _half_head(self, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Ty")

    def _half_body(self, connection: socket.socket) -> None:
        connection.sendall(_head(200, 100) + b'{"id": "1", ')

    def _half_chunk(self, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b'20\r\n{"id": "1"')

    def _too_long(self, connection: socket.socket) -> None:
        connection.sendall(_head(200, 5) + b'{"id": "1", "name": "Ann"}')

    def _slow_head(self, connection: socket.socket) -> None:
        self._ended.wait()

    def _slow_body(self, connection: socket.socket) -> None:
        connection.sendall(_head(200, 1_000_000_000) + b"{")
        while not self._ended.wait(0.05):
            connection.sendall(b" ")

    def _bad_json(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b'{"id": "1", '))

    def _empty_json(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b""))

    def _html(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b"<html><body>Welcome</body></html>", "text/html"))

    def _untyped(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b'{"id": "1"}', None))

    def _image(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b"\x89PNG", "image/png"))

    def _wrong_shape(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b'{"name": "without id"}'))

    def _scalar(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, b"17"))

    def _bomb(self, connection: socket.socket) -> None:
        body = gzip.compress(b'{"id": "1", "name": "' + b"a" * 50_000_000 + b'"}')
        connection.sendall(_head(200, len(body), extra="Content-Encoding: gzip\r\n") + body)

    def _bad_gzip(self, connection: socket.socket) -> None:
        connection.sendall(_head(200, 9, extra="Content-Encoding: gzip\r\n") + b"not gzip!")

    def _away(self, connection: socket.socket) -> None:
        assert self.other is not None
        connection.sendall(_head(302, 0, extra=f"Location: {self.other.url}/fine\r\n"))

    def _near(self, connection: socket.socket) -> None:
        connection.sendall(_head(307, 0, extra="Location: /fine\r\n"))

    def _circle(self, connection: socket.socket) -> None:
        connection.sendall(_head(302, 0, extra="Location: /circle\r\n"))

    def _limited(self, connection: socket.socket) -> None:
        self._later(connection, 429)

    def _unavailable(self, connection: socket.socket) -> None:
        self._later(connection, 503)

    def _later(self, connection: socket.socket, status: int) -> None:
        self.attempts += 1
        if self.attempts > 1:
            return self._fine(connection)
        connection.sendall(_head(status, 0, extra="Retry-After: 0\r\n"))
        return None

    def _fine(self, connection: socket.socket) -> None:
        connection.sendall(_answer(200, json.dumps({"id": "1", "name": "Ann"}).encode()))


def _head(status: int, length: int, content_type: str | None = "application/json", extra: str = "") -> bytes:
    kind = "" if content_type is None else f"Content-Type: {content_type}\r\n"
    return f"HTTP/1.1 {status} Said\r\n{kind}Content-Length: {length}\r\nConnection: close\r\n{extra}\r\n".encode()


def _answer(status: int, body: bytes, content_type: str | None = "application/json") -> bytes:
    return _head(status, len(body), content_type) + body


@pytest.fixture
def rude() -> Iterator[Rude]:
    server, other = Rude(), Rude()
    server.other = other
    yield server
    server.close()
    other.close()


class Client:
    """A controller of either kind, used from blocking code; a fault must leave what its store held."""

    def __init__(self, asynchronous: bool) -> None:
        self.asynchronous = asynchronous

    def fetch(self, endpoint: Any, **options: Any) -> Any:
        held = RestEndpoint(path="/held", schema=User)

        def check(controller: Any) -> None:
            assert controller.cached(held).name == "held"
            assert controller.store.in_flight.by_id == {} and controller.store.in_flight.joinable == {}

        if not self.asynchronous:
            with Controller(**options) as controller:
                controller.set_response(held, {"id": "1", "name": "held"})
                try:
                    return controller.fetch(endpoint)
                except Exception:
                    check(controller)
                    raise

        async def main() -> Any:
            async with AsyncController(**options) as controller:
                controller.set_response(held, {"id": "1", "name": "held"})
                try:
                    return await controller.fetch(endpoint)
                except Exception:
                    check(controller)
                    raise

        return asyncio.run(main())

    def fault(self, endpoint: Any, **options: Any) -> NetworkError:
        with pytest.raises(NetworkError) as caught:
            self.fetch(endpoint, **options)
        return caught.value


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest) -> Client:
    return Client(request.param == "async")


def at(rude: Rude, path: str, **options: Any) -> RestEndpoint[..., Any]:
    return RestEndpoint(url_prefix=rude.url, path="/" + path, schema=User, **options)


def test_faults_rejected_connection_has_status_500_and_no_response(client: Client) -> None:
    with socket.socket() as deaf:  # holds the port, so that nobody else comes to listen there
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        error = client.fault(RestEndpoint(url_prefix=f"http://127.0.0.1:{port}", path="/x", schema=User))
    assert error.status == 500 and error.response is None
    assert type(error) is ConnectionFailedError and not error.has_response
    assert str(error).startswith(f"GET http://127.0.0.1:{port}/x: no connection: ") and error.__cause__ is not None


@pytest.mark.parametrize("path", ["reset", "nothing", "garbage", "half_head", "half_body", "half_chunk", "bad_gzip"])
def test_faults_broken_answer_has_status_500_and_its_cause(client: Client, rude: Rude, path: str) -> None:
    error = client.fault(at(rude, path))
    assert type(error) is (NetworkError if path == "bad_gzip" else ConnectionFailedError)
    assert error.status == 500 and error.response is None
    assert f"{rude.url}/{path}: " in str(error) and error.__cause__ is not None


def test_faults_body_longer_than_it_says_is_cut_there_and_does_not_parse(client: Client, rude: Rude) -> None:
    error = client.fault(at(rude, "too_long"))
    assert error.status in (400, 500)


@pytest.mark.parametrize("path", ["slow_head", "slow_body"])
def test_faults_slow_response_ends_with_the_timeout(client: Client, rude: Rude, path: str) -> None:
    error = client.fault(at(rude, path), timeout=300)
    assert error.status == 500 and error.response is None


@pytest.mark.parametrize("path", ["bad_json", "empty_json"])
def test_faults_json_that_does_not_parse_has_status_400_and_the_response(client: Client, rude: Rude, path: str) -> None:
    error = client.fault(at(rude, path))
    assert isinstance(error, ParseError) and error.status == 400
    assert error.response is not None and error.response.status_code == 200


@pytest.mark.parametrize(
    ("path", "said"), [("html", "<html><body>Welcome"), ("untyped", "content type"), ("image", "image/png")]
)
def test_faults_content_that_is_no_json_has_status_404_and_says_what_came(
    client: Client, rude: Rude, path: str, said: str
) -> None:
    error = client.fault(at(rude, path))
    assert isinstance(error, UnexpectedContentError) and error.status == 404 and said in str(error)


@pytest.mark.parametrize("path", ["wrong_shape", "scalar"])
def test_faults_response_of_another_shape_is_a_processing_error(client: Client, rude: Rude, path: str) -> None:
    with pytest.raises(ProcessingError) as caught:
        client.fetch(at(rude, path))
    assert caught.value.status == 400


def test_faults_small_answer_that_unfolds_into_much_meets_the_limit(client: Client, rude: Rude) -> None:
    error = client.fault(at(rude, "bomb"), max_response_bytes=100_000)
    assert error.status == 500 and "max_response_bytes, which is 100000" in str(error)


def test_faults_credentials_do_not_follow_to_another_origin(client: Client, rude: Rude) -> None:
    endpoint = TokenEndpoint(url_prefix=rude.url, path="/away", schema=User)
    assert client.fetch(endpoint).name == "Ann"
    assert rude.other is not None and len(rude.other.seen) == 1
    assert "s3cret" in rude.seen[0] and "s3cret" not in rude.other.seen[0]


def test_faults_credentials_follow_within_the_origin(client: Client, rude: Rude) -> None:
    endpoint = TokenEndpoint(url_prefix=rude.url, path="/near", schema=User)
    assert client.fetch(endpoint).name == "Ann"
    assert len(rude.seen) == 2 and all("s3cret" in text for text in rude.seen)


def test_faults_circle_of_redirects_ends(client: Client, rude: Rude) -> None:
    error = client.fault(at(rude, "circle"))
    assert error.status == 500 and "redirected more than 20 times" in str(error)


@pytest.mark.parametrize(("path", "status"), [("limited", 429), ("unavailable", 503)])
def test_faults_rate_limits_and_outages_are_errors_unless_retries_are_requested(
    client: Client, rude: Rude, path: str, status: int
) -> None:
    error = client.fault(at(rude, path))
    assert error.status == status and error.response is not None
    assert error.response.headers["retry-after"] == "0"
    rude.attempts = 0
    assert client.fetch(at(rude, path), retries=Retries(2)).name == "Ann"
    assert rude.attempts == 2
