"""Fills a store and counts its bytes; prints them as JSON."""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
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


def at_rest() -> float:
    """Bytes of an entity that nobody looked at."""
    names = [str(number) for number in range(COUNT)]
    controller = Controller(Store())
    controller.set_response(get_items, [_item(name) for name in names[:100]], {"warm": "up"})
    response = [_item(name) for name in names]
    tracemalloc.start()
    before = _held()
    controller.set_response(get_items, response, {})
    stored = _held() - before
    listed = sys.getsizeof(names)  # the list of keys is the collection's, not the entities'
    tracemalloc.stop()
    return (stored - listed) / COUNT


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


if __name__ == "__main__":
    print(json.dumps({"at rest": at_rest(), "growth": growth(int(sys.argv[1]))}))
