"""A server on loopback that answers every GET with one file; it prints its port and runs until its input ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


class Server(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        requests = (self._received + data).split(b"\r\n\r\n")
        self._received = requests.pop()
        if self._transport is not None and requests:
            self._transport.write(self._answer * len(requests))


async def main(content: bytes) -> None:
    """Serves these bytes."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(content) + content
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Server(answer), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_bytes()))
