"""A server on loopback that answers each `GET /items/N` with that item, and `GET /count` with how many it answered.

It prints its address and runs until its input ends.
"""

from __future__ import annotations

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


class Server(asyncio.Protocol):
    """One connection, kept alive."""

    count = 0

    def __init__(self) -> None:
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        requests = (self._received + data).split(b"\r\n\r\n")
        self._received = requests.pop()
        for request in requests:
            path = request.split(b" ", 2)[1]
            if path == b"/count":
                self._answer(b"%d" % Server.count)
            else:
                Server.count += 1
                asyncio.get_running_loop().call_later(0.005, self._answer, b'{"id":%b}' % path.rpartition(b"/")[2])

    def _answer(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(ANSWER % (len(content), content))


async def main() -> None:
    """Serves."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
