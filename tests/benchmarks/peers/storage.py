"""A hit in the caches of others that last on the disk. It runs with the peers' Python."""

from __future__ import annotations

import asyncio
import importlib
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from serve import Run, serve, timed


def hishel(address: str) -> Run:
    library: Any = importlib.import_module("hishel")
    transports: Any = importlib.import_module("hishel.httpx")
    httpx: Any = importlib.import_module("httpx")
    storage = library.SqliteStorage(database_path=str(Path(tempfile.mkdtemp()) / "hishel.db"), default_ttl=3600)
    transport = transports.CacheTransport(next_transport=httpx.HTTPTransport(), storage=storage)
    client = httpx.Client(transport=transport)
    assert client.get(address).json() == client.get(address).json()
    assert client.get(address).extensions["caching"]["from_cache"]
    return timed(lambda: client.get(address).json())


def aiohttp(address: str) -> Run:
    caching: Any = importlib.import_module("aiohttp_client_cache")
    loop = asyncio.new_event_loop()

    async def opened() -> Any:
        return caching.CachedSession(cache=caching.SQLiteBackend(str(Path(tempfile.mkdtemp()) / "aiohttp.db")))

    session = loop.run_until_complete(opened())

    async def asked() -> Any:
        async with session.get(address) as response:
            await response.json()
            return response.from_cache

    loop.run_until_complete(asked())
    assert loop.run_until_complete(asked())

    async def turns(count: int) -> None:
        for _ in range(count):
            async with session.get(address) as response:
                await response.json()

    def run(count: int) -> float:
        start = perf_counter()
        loop.run_until_complete(turns(count))
        return perf_counter() - start

    return run


if __name__ == "__main__":
    serve(hishel, aiohttp)
