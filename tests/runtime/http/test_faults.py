"""Broken responses over a real connection: each is its documented error, and the store holds what it held."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from tests.runtime.servers import Reply, Server
from tests.runtime.worlds import controller_of, running

from restencil import (
    ConnectionFailedError,
    Entity,
    NetworkError,
    ParseError,
    ProcessingError,
    RestEndpoint,
    UnexpectedContentError,
)


class User(Entity, key="User"):
    id: str = ""
    name: str = ""


HELD = RestEndpoint(path="/held", schema=User)
JSON = "Content-Type: application/json\r\n"
PACKED = gzip.compress(b'{"id": "1", "name": "' + b"a" * 50_000_000 + b'"}')


def head(length: int, headers: str = JSON) -> bytes:
    """The head of a response that announces a body of this length."""
    return f"HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n".encode()


def whole(body: bytes, headers: str = JSON) -> bytes:
    """A whole response."""
    return head(len(body), headers) + body


def asked(url: str, asynchronous: bool) -> None:
    """Fetches a user from there; whatever is raised, the store has what it had, and nothing is in flight."""
    user: Any = RestEndpoint(url_prefix=url, path="/users/1", schema=User)

    controller = controller_of(asynchronous, max_response_bytes=100_000)
    with running(controller) as run:
        controller.set_response(HELD, {"id": "1", "name": "held"})
        try:
            run(controller.fetch(user))
        finally:
            assert controller.cached(HELD).name == "held"
            assert controller.store.in_flight.by_id == {} and controller.store.in_flight.joinable == {}


LOST = (ConnectionFailedError, 500, "connection failed")
CHUNK = f'HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n20\r\n{{"id": "1"'.encode()
GZIP = f"{JSON}Content-Encoding: gzip\r\n"

FAULTS: dict[str, tuple[bytes, type[NetworkError] | type[ProcessingError], int, str]] = {
    "nothing": (b"", *LOST),
    "garbage": (b"\x00\x01 no HTTP\r\n\r\n", *LOST),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Ty", *LOST),
    "half a body": (head(100) + b'{"id": "1", ', *LOST),
    "half a chunk": (CHUNK, *LOST),
    "no gzip": (whole(b"no gzip", GZIP), NetworkError, 500, ""),
    "unfolds beyond the limit": (whole(PACKED, GZIP), NetworkError, 500, "max_response_bytes, which is 100000"),
    "half of JSON": (whole(b'{"id": "1", '), ParseError, 400, "JSON"),
    "no JSON": (whole(b""), ParseError, 400, "JSON"),
    "page": (whole(b"<html>Welcome", "Content-Type: text/html\r\n"), UnexpectedContentError, 404, "<html>Welcome"),
    "text": (whole(b"hello", "Content-Type: text/plain\r\n"), UnexpectedContentError, 404, "set schema=None to get"),
    "nothing of no type": (whole(b"", ""), UnexpectedContentError, 404, "the response is empty"),
    "no content type": (whole(b'{"id": "1"}', ""), UnexpectedContentError, 404, "JSON with the content type 'missing'"),
    "image": (whole(b"\x89PNG", "Content-Type: image/png\r\n"), UnexpectedContentError, 404, "image/png"),
    "no primary key": (whole(b'{"name": "x"}'), ProcessingError, 400, "no usable primary key"),
    "scalar": (whole(b"17"), ProcessingError, 400, "found 17"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_broken_response_is_its_documented_error(fault: str, asynchronous: bool) -> None:
    """The class, the status and the reason say what came; the error names the address."""
    raw, error, status, text = FAULTS[fault]
    with Server(lambda request: Reply(raw=raw)) as server, pytest.raises(error) as caught:
        asked(server.url, asynchronous)
    raised: Any = caught.value
    assert type(raised) is error and raised.status == status
    assert f"{server.url}/users/1: " in str(raised) and text in str(raised)
