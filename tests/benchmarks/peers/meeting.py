"""One request for several processes by cashews, on a server of Valkey. It runs with the peers' Python."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from typing import Any


async def main(url: str, address: str, keys: int) -> list[float]:
    """One key at each tick, as all other processes have it; the seconds until it is there."""
    cache: Any = importlib.import_module("cashews").cache
    httpx: Any = importlib.import_module("httpx")
    cache.setup(url.replace("valkey://", "redis://"))
    async with httpx.AsyncClient() as client:

        @cache(ttl="1h", key="items:{number}", lock=True)  # type: ignore[untyped-decorator, unused-ignore]
        async def get(number: int) -> Any:
            return (await client.get(f"{address}/items/{number}")).json()

        await get(0)
        print("ready", flush=True)
        begin = float(sys.stdin.readline())
        spent: list[float] = []
        for number in range(1, keys + 1):
            tick = begin + number / 10
            await asyncio.sleep(max(0.0, tick - time.time()))
            await get(number)
            spent.append(time.time() - tick)
        await cache.close()
        return spent


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[2], sys.argv[3], int(sys.argv[4])))), flush=True)
