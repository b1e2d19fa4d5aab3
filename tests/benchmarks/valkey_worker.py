"""The work of the table of a cache on a server: `valkey_worker.py WORK ARGUMENTS…` prints one figure, which is JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
from entities import Item
from storage_worker import HERE, fill_page, get_item, get_items, item

from restencil import AsyncController, Controller, Resource, Store, ValkeyStorage, rest


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
    """Writes the time into an entity, 60 times, for another process to see."""
    with stored(url) as store:
        controller = Controller(store)
        for turn in range(60):
            time.sleep(0.05 + 0.007 * (turn % 7))
            controller.set_response(get_item, {**item(1), "a": turn, "b": str(time.time())}, {"id": 1})
    return 0.0


def shows(url: str) -> list[float]:
    """Seconds until what another process wrote shows here."""
    with stored(url) as store:
        controller = Controller(store)
        controller.set_response(get_item, {**item(1), "a": -1}, {"id": 1})
        store.flush()
        child = _start("telling", url)
        seen: dict[int, float] = {}
        while child.poll() is None:
            held = controller.cached(get_item, {"id": 1})
            if held is not None and held.a >= 0 and held.a not in seen:
                seen[held.a] = time.time() - float(held.b)
            time.sleep(0.0005)
        _told(child)
    return list(seen.values())


def _items(controller: Any, address: str) -> Any:
    class Items(Resource[Any], path="/items/:id", schema=Item, url_prefix=address, data_expiry_length=3_600_000):
        @rest()
        def get(self, *, id: int) -> Item:
            raise NotImplementedError

    return Items(controller)


def asking(url: str, address: str, keys: str) -> float:
    """Asks for keys, 8 at a time, when told to; the seconds that it took."""
    with stored(url) as store, httpx.Client() as client:
        get = _items(Controller(store, client=client), address).get
        get(id=0)
        _ready()
        begin = time.perf_counter()
        waiting: Iterator[int] = iter(range(1, int(keys) + 1))

        def work() -> None:
            for number in waiting:
                assert get(id=number).id == number

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begin


def together(url: str, count: str, keys: str) -> list[float]:
    """How many requests so many processes send that want the same keys, and the seconds of the slowest."""
    with _counted() as (address, requests):
        children = [_start("asking", url, address, keys) for _ in range(int(count))]
        before = _begun(children, requests)
        spent = [float(_told(child)) for child in children]
        return [requests() - before, max(spent)]


def meeting(url: str, address: str, keys: str) -> list[float]:
    """Asks for one key at each tick, as all others do; the seconds until it has it."""

    async def main() -> list[float]:
        async with stored(url) as store, httpx.AsyncClient() as client:
            get = _items(AsyncController(store, client=client), address).get
            return await ticks(int(keys), lambda number: get(id=number))

    return asyncio.run(main())


async def ticks(keys: int, get: Callable[[int], Any]) -> list[float]:
    """Each 100 ms of the clock that all processes have one key; the first warms up."""
    await get(0)
    begin = float(_ready())
    spent: list[float] = []
    for number in range(1, keys + 1):
        tick = begin + number / 10
        await asyncio.sleep(max(0.0, tick - time.time()))
        await get(number)
        spent.append(time.time() - tick)
    return spent


def one_key(url: str, keys: str, python: str, side: str) -> list[float]:
    """How many requests 8 processes send for so many keys, and the seconds of each process and key."""
    script = __file__ if side == "restencil" else str(HERE / "peers" / "meeting.py")
    with _counted() as (address, requests):
        children = [_start("meeting", url, address, keys, python=python, script=script) for _ in range(8)]
        before = _begun(children, requests)
        spent = [seconds for child in children for seconds in _told(child)]
        return [requests() - before, *spent]


def _ready() -> str:
    print("ready", flush=True)
    return sys.stdin.readline()


def _begun(children: list[subprocess.Popen[str]], requests: Callable[[], int]) -> int:
    """Lets all begin at once; how many requests there were before."""
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    before = requests()
    for child in children:
        assert child.stdin is not None
        child.stdin.write(f"{time.time() + 0.5}\n")
        child.stdin.flush()
    return before


@contextmanager
def _counted() -> Generator[tuple[str, Callable[[], int]], None, None]:
    """A server that counts: its address, and how many requests it has had."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "counting.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    try:
        yield address, lambda: int(httpx.get(f"{address}/count").text)
    finally:
        server.communicate()


def _start(*arguments: str, python: str = sys.executable, script: str = __file__) -> subprocess.Popen[str]:
    command = [python, script, *arguments]
    return subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _told(child: subprocess.Popen[str]) -> Any:
    out, _ = child.communicate(timeout=300)
    if child.returncode:
        raise RuntimeError(f"{child.args!r} ended with {child.returncode}")
    return json.loads(out)


WORKS: Final[dict[str, Callable[..., Any]]] = {
    work.__name__: work for work in (fill, one, whole_list, telling, shows, asking, together, meeting, one_key)
}

if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](*sys.argv[2:])), flush=True)
