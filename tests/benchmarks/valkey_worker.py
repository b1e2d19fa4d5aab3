"""The work of the table of a cache on a server: `valkey_worker.py WORK ARGUMENTS…` prints one figure, which is JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import httpx
from fellows import HERE, counted, fellow, ticks
from storage_worker import ask, fill_page, get_item, get_items, item, items_at, seen, tell

from restencil import AsyncController, Controller, Store, ValkeyStorage


def stored(url: str) -> Store:
    """A store over a server."""
    return Store(storage=ValkeyStorage(url, namespace="bench", principal=None, timeout=5_000, lease_wait=120_000))


def fill(url: str) -> float:
    """A list of 1,000 that came in one response, and each of its entities as an answer of its own."""
    with stored(url) as store:
        controller = Controller(store)
        fill_page(controller, 0)
        for number in range(1_000):
            controller.set_response(get_item, item(number), {"id": number})
        store.flush(60_000)
    return 1_000


def one(url: str) -> list[float]:
    """Seconds of reads of one entity each that memory lacks."""
    with stored(url) as store:
        controller = Controller(store)
        assert controller.read(get_item, {"id": 0}).id == 0
        spent: list[float] = []
        for number in range(1, 301):
            start = time.perf_counter()
            controller.read(get_item, {"id": number})
            spent.append(time.perf_counter() - start)
        assert store.storage_stats().leases == 0
    return spent


def whole_list(url: str) -> list[float]:
    """Seconds of a read of a list of 1,000 in a memory that holds one entity."""
    with stored(url) as store:
        controller = Controller(store)
        controller.read(get_item, {"id": 0})
        gc.collect()
        start = time.perf_counter()
        assert len(controller.read(get_items, {"page": 0})) == 1_000
        return [time.perf_counter() - start]


def telling(url: str) -> float:
    """Writes what another process sees."""
    with stored(url) as store:
        return tell(Controller(store), 60, 0.05)


def shows(url: str) -> list[float]:
    """Seconds until what another process wrote shows here."""
    with stored(url) as store:
        return seen(Controller(store), lambda: fellow(__file__, "telling", url))


def asking(url: str, address: str, keys: str) -> float:
    """Asks for keys when told to; the seconds that it took."""
    with stored(url) as store:
        return ask(store, address, int(keys))


def together(url: str, count: str, keys: str) -> list[float]:
    """How many requests so many processes send that want the same keys, and the seconds of the slowest."""
    with counted() as (address, begin):
        requests, spent = begin([fellow(__file__, "asking", url, address, keys) for _ in range(int(count))])
        return [requests, max(spent)]


def meeting(url: str, address: str, keys: str) -> list[float]:
    """Asks for one key at each tick, as all others do; the seconds until it has it."""

    async def main() -> list[float]:
        async with stored(url) as store, httpx.AsyncClient() as client:
            get = items_at(AsyncController(store, client=client), address).get
            return await ticks(int(keys), lambda number: get(id=number))

    return asyncio.run(main())


def one_key(url: str, keys: str, python: str, side: str) -> list[float]:
    """How many requests 8 processes send for so many keys, and the seconds of each process and key."""
    script = __file__ if side == "restencil" else str(HERE / "peers" / "meeting.py")
    with counted() as (address, begin):
        requests, spent = begin([fellow(script, "meeting", url, address, keys, python=python) for _ in range(8)])
        return [requests, *(seconds for each in spent for seconds in each)]


WORKS: Final[dict[str, Callable[..., Any]]] = {
    work.__name__: work for work in (fill, one, whole_list, telling, shows, asking, together, meeting, one_key)
}

if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](*sys.argv[2:])), flush=True)
