"""Asks a URL within a limit and prints how many bytes of memory that took at most: a program of its own for a test.

python memory_of_a_body.py URL LIMIT sync|async whole|stream
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from restencil import NetworkError
from restencil.http.transport import AsyncTransport, SyncTransport


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def ask(url: str, limit: int | None, stream: bool) -> int:
    with contextlib.closing(SyncTransport(max_response_bytes=limit)) as transport:
        response = transport.send(url, {}, stream=stream)
        return sum(map(len, transport.streamed(response).iter_bytes())) if stream else len(response.content)


async def ask_async(url: str, limit: int | None, stream: bool) -> int:
    async with contextlib.aclosing(AsyncTransport(max_response_bytes=limit)) as transport:
        response = await transport.send(url, {}, stream=stream)
        if not stream:
            return len(response.content)
        return sum([len(chunk) async for chunk in transport.streamed(response).aiter_bytes()])


def main(url: str, limit: str, world: str, form: str) -> None:
    """Prints what came, and the memory that it took."""
    stream = form == "stream"
    most = int(limit) or None
    size: object

    def asked(path: str) -> int:
        if world == "sync":
            return ask(url + path, most, stream)
        return asyncio.run(ask_async(url + path, most, stream))

    asked("/small")
    before = peak()
    try:
        size = asked("/large")
    except NetworkError as error:
        size = type(error).__name__
    print(size, peak() - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
