"""Fills a store and counts its bytes; prints them as JSON."""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from time import perf_counter
from typing import Any

from restencil import Controller, Entity, RestEndpoint, Store
from restencil.schema import Collection

COUNT = 100_000


class Item(Entity, key="Item"):
    id: str = ""
    title: str = ""
    a: int = 0
    b: str = ""
    c: bool = False
    d: str | None = None


get_items: RestEndpoint[..., Any] = RestEndpoint(path="/items", schema=Collection([Item]), name="list")
get_item: RestEndpoint[..., Any] = RestEndpoint(path="/items/:id", schema=Item, name="get")


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def at_rest() -> tuple[float, float]:
    """Bytes of an entity: in the store alone, and once a list of all was read."""
    names = [str(number) for number in range(COUNT)]
    controller = Controller(Store())
    controller.set_response(get_items, [_item(name) for name in names[:100]], {"warm": "up"})
    response = [_item(name) for name in names]
    tracemalloc.start()
    before = _held()
    controller.set_response(get_items, response, {})
    stored = _held() - before
    listed = sys.getsizeof(names)  # the list of keys is the collection's, not the entities'
    controller.cached(get_items, {})
    read = _held() - before
    tracemalloc.stop()
    return (stored - listed) / COUNT, (read - listed) / COUNT


def _item(name: str, title: str = "a title") -> dict[str, Any]:
    return {"id": name, "title": title, "a": 1, "b": "text", "c": True, "d": None}


def growth(turns: int) -> float:
    """Bytes that are held more after so many reads and writes than after a tenth of them."""
    controller = Controller(Store())
    names = [str(number) for number in range(1000)]
    controller.set_response(get_items, [_item(name) for name in names], {})
    tracemalloc.start()
    held = 0
    for turn in range(turns):
        name = names[turn % 1000]
        if turn % 4 == 0:
            controller.set_response(get_item, _item(name, f"title {turn}"), {"id": name})
        controller.cached(get_item, {"id": name})
        if turn % 1000 == 0:
            controller.cached(get_items, {})
        if turn == turns // 10:
            held = _held()
    grown = _held() - held
    tracemalloc.stop()
    return grown


def pause(count: int) -> list[float]:
    """The longest time between two reads of a process whose store holds so many, in seconds: as it is, and frozen."""
    controller = Controller(Store())
    for start in range(0, count, 10_000):
        controller.set_response(
            get_items, [_item(f"n{number}") for number in range(start, start + 10_000)], {"at": start}
        )
    found = []
    for freeze in (False, True):
        if freeze:
            gc.collect()
            gc.freeze()
        longest, kept, last = 0.0, [], perf_counter()
        for turn in range(300_000):
            controller.cached(get_item, {"id": f"n{turn % count}"})
            kept.append([turn])  # what a program makes while it reads
            now = perf_counter()
            longest, last = max(longest, now - last), now
        found.append(longest)
    gc.unfreeze()
    return found


if __name__ == "__main__":
    rest, read = at_rest()
    print(
        json.dumps(
            {"at rest": rest, "read": read, "growth": growth(int(sys.argv[1])), "pause": pause(int(sys.argv[1]))}
        )
    )
