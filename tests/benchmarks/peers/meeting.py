"""One request for several processes by cashews, on a server of Valkey. It runs with the peers' Python."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fellows import ticks


async def main(url: str, address: str, keys: int) -> list[float]:
    """One key at each tick, as all other processes have it; the seconds until it is there."""
    cache: Any = importlib.import_module("cashews").cache
    httpx: Any = importlib.import_module("httpx")
    cache.setup(url.replace("valkey://", "redis://"))
    async with httpx.AsyncClient() as client:

        @cache(ttl="1h", key="items:{number}", lock=True)  # type: ignore[untyped-decorator, unused-ignore]
        async def get(number: int) -> Any:
            return (await client.get(f"{address}/items/{number}")).json()

        spent = await ticks(keys, get)
        await cache.close()
        return spent


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[2], sys.argv[3], int(sys.argv[4])))), flush=True)
