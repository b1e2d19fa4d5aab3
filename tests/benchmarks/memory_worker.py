"""Fills a store and prints how many bytes each entity takes."""

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


def _item(name: str) -> dict[str, Any]:
    return {"id": name, "title": "a title", "a": 1, "b": "text", "c": True, "d": None}


if __name__ == "__main__":
    print(json.dumps(at_rest()))
