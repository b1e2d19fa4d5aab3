"""The memory that a response may take: bounded by the limit, whatever the body unfolds into."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import subprocess
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import python
from tests.runtime.servers import Arrived, Reply, Server

from restencil import NetworkError
from restencil.http.limits import Coding, accepted
from restencil.http.transport import AsyncTransport, SyncTransport

MEGABYTE = 1 << 20
LIMIT = 16 * MEGABYTE
UNFOLDED = 96 * MEGABYTE
SLACK = 6 * MEGABYTE  # what the interpreter takes for itself while it works

linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")


def packed(pack: Callable[[int], zlib._Compress], size: int) -> bytes:
    packer = pack(9)
    pieces = [packer.compress(bytes(MEGABYTE)) for _ in range(size // MEGABYTE)]
    return b"".join(pieces) + packer.flush()


def gzipped(level: int) -> zlib._Compress:
    return zlib.compressobj(level, wbits=31)


def deflated(level: int) -> zlib._Compress:
    return zlib.compressobj(level)


def raw(level: int) -> zlib._Compress:
    return zlib.compressobj(level, wbits=-15)


@cache
def bomb(coding: str, size: int = UNFOLDED) -> bytes:
    """A body that is packed so, and unfolds into that many bytes."""
    if coding == "deflate":
        return packed(deflated, size)
    if coding == "raw deflate":
        return packed(raw, size)
    once = packed(gzipped, size)
    if coding == "gzip":
        return once
    return gzip.compress(once)


def measured(reply: Reply, *, limit: int, world: str, form: str) -> tuple[str, int]:
    """What came, and how many bytes of memory a process took for it that asked within this limit."""

    def handler(request: Arrived) -> Reply:
        return reply if request.target == "/large" else Reply()

    with Server(handler) as server:
        program = str(Path(__file__).parents[1] / "memory_of_a_body.py")
        run = python(program, server.url, str(limit), world, form, stdin=subprocess.DEVNULL, check=True)
    came, _, memory = run.stdout.strip().rpartition(" ")
    return came, int(memory)


BOMBS = [
    ("gzip", "sync", "whole"),
    ("deflate", "async", "whole"),
    ("raw deflate", "sync", "stream"),
    ("gzip, gzip", "async", "stream"),
]


@linux
@pytest.mark.parametrize(("coding", "world", "form"), BOMBS)
def test_body_that_unfolds_takes_no_more_than_twice_the_limit(coding: str, world: str, form: str) -> None:
    """Some kilobytes, or some hundreds of them, that unfold into many megabytes."""
    reply = Reply(body=bomb(coding), headers={"Content-Encoding": coding.removeprefix("raw ")})
    came, memory = measured(reply, limit=LIMIT, world=world, form=form)
    assert came == "NetworkError"
    assert memory < 2 * LIMIT + SLACK


@linux
@pytest.mark.parametrize(("world", "status"), [("sync", 200), ("async", 404)])
def test_body_as_large_as_the_limit_takes_no_more_than_twice_the_limit(world: str, status: int) -> None:
    """Also that of an error."""
    size = 32 * MEGABYTE
    reply = Reply(status, body=packed(gzipped, size), headers={"Content-Encoding": "gzip"})
    came, memory = measured(reply, limit=size, world=world, form="whole")
    assert came == (str(size) if status == 200 else "NotFoundError")
    assert memory < 2 * size + SLACK


@linux
@pytest.mark.parametrize("world", ["sync", "async"])
def test_body_memory_stream_has_no_limit(world: str) -> None:
    """Little of it is in memory at a time."""
    reply = Reply(body=bomb("gzip"), headers={"Content-Encoding": "gzip"})
    came, memory = measured(reply, limit=0, world=world, form="stream")
    assert came == str(UNFOLDED)
    assert memory < SLACK


def answered(body: bytes, coding: str, **options: Any) -> httpx.Response:
    """The response whose body is packed so, as the server says."""
    reply = Reply(body=body, headers={"Content-Encoding": coding})
    with Server(lambda request: reply) as server, contextlib.closing(SyncTransport(**options)) as transport:
        return transport.send(f"{server.url}/a", {})


TEXT = bytes(range(256)) * 1000


@pytest.mark.network
@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT, wbits=-15)),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("deflate, GZip", gzip.compress(zlib.compress(TEXT))),
        ("gzip", gzip.compress(TEXT) + b"what follows is none of it" * 100_000),
        ("identity", TEXT),
        ("utf-8", TEXT),
        ("", TEXT),
        ("gzip", b""),
        ("deflate", b""),
    ],
)
def test_packed_body_is_unpacked(coding: str, body: bytes) -> None:
    """What is no coding says nothing of the body, and the response no longer names what was undone."""
    response = answered(body, coding)
    assert response.content == (TEXT if body else b"")
    assert response.headers.get("content-encoding", "") in ("", "identity", "utf-8")


@pytest.mark.network
def test_packed_body_arrives_byte_by_byte() -> None:
    """Where it is cut makes no difference."""
    for coding, body in (
        ("gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT, wbits=-15)),
    ):
        unpacker = Coding(coding)
        assert b"".join(piece for byte in body for piece in unpacker.feed(bytes([byte]))) == TEXT


@pytest.mark.network
@pytest.mark.parametrize(
    ("coding", "problem"),
    [
        ("gzip, gzip, gzip", r"compressed 3 times \(gzip, gzip, gzip\); at most 2 are supported"),
        ("deflate, gzip, identity, x-gzip", "compressed 3 times"),
        ("br", "compressed as 'br', which is not supported; request gzip or deflate"),
        ("gzip, ZSTD", "compressed as 'zstd'"),
    ],
)
def test_body_memory_codings_that_cannot_be_unpacked_within_bounds_are_rejected(coding: str, problem: str) -> None:
    """Before anything of the body is read."""
    with pytest.raises(NetworkError, match=problem):
        answered(b"x", coding)


@pytest.mark.network
def test_body_memory_no_coding_is_requested_that_is_rejected() -> None:
    """Unless the request says so itself: some installations of the HTTP library ask for more."""
    assert accepted("gzip, deflate, br;q=0.5, zstd") == "gzip, deflate"
    with Server() as server, httpx.Client(headers={"Accept-Encoding": "gzip, deflate, br"}) as client:
        transport = SyncTransport(client)
        transport.send(f"{server.url}/a", {})
        transport.send(f"{server.url}/a", {"headers": {"Accept-Encoding": "br"}})
        assert [request.headers["accept-encoding"] for request in server.arrived] == ["gzip, deflate", "br"]


@pytest.mark.network
def test_body_memory_responses_that_the_auth_of_a_client_reads_are_limited_too(asynchronous: bool) -> None:
    """Digest reads the refusal that it answers; with and without it, streams stay streams."""

    class Asking(httpx.Auth):
        requires_response_body = True

        def auth_flow(self, request: httpx.Request) -> Any:
            response = yield request
            if response.status_code == 401:
                request.headers["Authorization"] = "later"
                yield request

    def handler(request: Arrived) -> Reply:
        if request.target == "/large" and "authorization" not in request.headers:
            return Reply(401, body=gzip.compress(bytes(MEGABYTE)), headers={"Content-Encoding": "gzip"})
        return Reply(body=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})

    def ask(url: str, limit: int) -> bytes:
        if not asynchronous:
            with httpx.Client(auth=Asking()) as client:
                return SyncTransport(client, max_response_bytes=limit).send(url, {}).content

        async def run() -> bytes:
            async with httpx.AsyncClient(auth=Asking()) as client:
                return (await AsyncTransport(client, max_response_bytes=limit).send(url, {})).content

        return asyncio.run(run())

    with Server(handler) as server:
        assert ask(f"{server.url}/small", 100) == b"{}"
        assert ask(f"{server.url}/large", 2 * MEGABYTE) == b"{}"
        with pytest.raises(NetworkError, match="larger than max_response_bytes"):
            ask(f"{server.url}/large", 100)
