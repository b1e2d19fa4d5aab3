"""A storage stays within its bounds while a store stands on it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.patience import eventually
from tests.storages import PatientStore, sqlite_storage

from restencil import Controller, Entity, MemoryStorage, RestEndpoint, Store
from restencil.schema import Collection
from restencil.testing import FakeClock


class Item(Entity, key="TendedItem"):
    id: int = 0
    text: str = ""


get_item: RestEndpoint[..., Any] = RestEndpoint(path="/items/:id", schema=Item, name="get")
get_items: RestEndpoint[..., Any] = RestEndpoint(path="/items", schema=Collection([Item]), name="list")


def _bytes(store: Store) -> int:
    return store.storage_stats().bytes


def test_tending_what_is_too_much_is_dropped_while_a_store_is_open(tmp_path: Path) -> None:
    """The file comes back to its bound by itself; memory keeps what it has, and others find a list whole or not."""
    bound = 400_000

    def pages(store: Store) -> list[int | None]:
        found = [Controller(store).cached(get_items, {"page": page}) for page in range(12)]
        return [None if page is None else len(page) for page in found]

    with PatientStore(storage=sqlite_storage(tmp_path / "cache")) as store:
        for page in range(12):
            items = [{"id": page * 50 + number, "text": "x" * 1_000} for number in range(50)]
            Controller(store).set_response(get_items, items, {"page": page})
    with PatientStore(storage=sqlite_storage(tmp_path / "cache", max_bytes=bound, poll=10)) as store:
        held = pages(store)
        eventually(lambda: 0 < _bytes(store) <= bound)
        assert store.storage_stats().errors == {}
        assert [page for page, before in zip(pages(store), held, strict=True) if before] == [50] * sum(map(bool, held))
    with PatientStore(storage=sqlite_storage(tmp_path / "cache")) as later:
        assert None in pages(later) and set(pages(later)) <= {50, None}


def test_tending_is_looked_after_without_a_thread_too(clock: FakeClock) -> None:
    """Where an action is committed before its call returns, the store's scheduler does it."""
    trims: list[float] = []

    class Counting(MemoryStorage):
        def trim(self) -> int:
            trims.append(time.monotonic())
            return 0

    store = PatientStore(clock=clock, scheduler=clock, storage=Counting())
    Controller(store).set_response(get_item, {"id": 1}, {"id": 1})
    clock.advance(1_000)
    assert len(trims) == 1, "once, and again after ten seconds"
    store.close()
