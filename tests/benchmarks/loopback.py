"""A server on loopback that answers every GET with one file; it prints its port and runs until its input ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path


def answer_with(content: bytes) -> bytes:
    """The bytes of an answer."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(content) + content


class Connection(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self) -> None:
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        requests = (self._received + data).split(b"\r\n\r\n")
        self._received = requests.pop()
        if requests:
            self.asked(requests)

    def asked(self, requests: list[bytes]) -> None:
        """These requests have come."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


class Same(Connection):
    """It has one answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer

    def asked(self, requests: list[bytes]) -> None:
        self.send(self._answer * len(requests))


async def serve(connection: Callable[[], Connection], shown: str = "{}") -> None:
    """Serves until the input ends; prints the port as `shown` says."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0, backlog=512)
    print(shown.format(server.sockets[0].getsockname()[1]), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    same = answer_with(Path(sys.argv[1]).read_bytes())
    asyncio.run(serve(lambda: Same(same)))
