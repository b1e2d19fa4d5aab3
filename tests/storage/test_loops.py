"""Nothing of a storage that is far away runs in an event loop or under the store's lock, whatever a client does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.servers import Reply, Server
from tests.storages import PatientStore

from restencil import AsyncController, Controller, Entity, MemoryStorage, SQLiteStorage, Store, create_resource

CALLS = frozenset({"open", "load", "scan", "commit", "changes", "lease", "reset", "trim", "stats", "close"})


class Item(Entity, indexes=("name",)):
    """What is read."""

    id: str = ""
    name: str = ""


items: Any = create_resource(path="/items/:id", schema=Item, data_expiry_length=40)


class Far(MemoryStorage):
    """A storage far away, each call of which takes its time, and notes where it was called from."""

    def __init__(self) -> None:
        super().__init__(inline=False, poll=20)
        self.called: set[str] = set()
        self.wrong: set[str] = set()
        self.store: Any = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in CALLS:
            return found

        def asked(*args: Any) -> Any:
            self.called.add(name)
            if asyncio._get_running_loop() is not None:
                self.wrong.add(f"{name} in a loop")
            if self.store is not None and self.store.lock._is_owned():
                self.wrong.add(f"{name} under the lock")
            time.sleep(0.03)
            return found(*args)

        return asked


async def _reads(controller: AsyncController) -> None:
    await controller.read(items.get, id="1")
    assert controller.cached(items.get, id="2") is None
    assert controller.get(Item, name="nobody") is None
    await asyncio.sleep(0.06)
    await asyncio.gather(*(controller.read(items.get, id=str(at)) for at in range(5)))


async def _writes(controller: AsyncController) -> None:
    await controller.fetch(items.get, id="1")
    await controller.fetch(items.partial_update, {"id": "1"}, {"name": "x"})
    controller.set(Item, {"id": "1"}, {"id": "1", "name": "y"})
    controller.invalidate(items.get, id="1")
    controller.invalidate_all(items.get)
    await controller.read(items.get, id="1")


async def _lives(controller: AsyncController) -> None:
    async with controller.live(items.get, id="1") as live:
        assert live.data is None
        assert (await anext(live)).name == "a"


async def _resets(controller: AsyncController) -> None:
    await controller.read(items.get, id="1")
    controller.reset_entire_store()
    await controller.read(items.get, id="1")


@pytest.mark.parametrize("does", [_reads, _writes, _lives, _resets])
async def test_loops_storage_that_is_far_away_holds_up_no_loop(does: Callable[[AsyncController], Any]) -> None:
    """A loop never waits for it: threads ask it, and none of them holds the store meanwhile."""
    far = Far()
    far.store = Store(storage=far)
    with Server(lambda request: Reply(body=b'{"id": "1", "name": "a"}')) as server:
        async with far.store as store, AsyncController(store, base_url=server.url) as controller:
            await does(controller)
    assert far.called >= {"open", "load", "commit", "close"}
    assert far.wrong == set()


def test_loops_storage_that_is_far_away_is_requested_without_the_lock() -> None:
    """In plain code other threads go on reading while one waits for it."""
    far = Far()
    far.store = Store(storage=far)
    with Server(lambda request: Reply(body=b'{"id": "1", "name": "a"}')) as server:
        with far.store as store, Controller(store, base_url=server.url) as controller:
            controller.read(items.get, id="1")
            assert controller.cached(items.get, id="2") is None
            controller.invalidate_all(items.get)
            controller.reset_entire_store()
            controller.read(items.get, id="1")
            assert store.storage_stats().state == "on"
    assert far.wrong == set()


class Disk(SQLiteStorage):
    """A storage on disk that notes where it was read from."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, principal=None, write_behind=0, poll=60_000, timeout=PATIENCE * 1_000)
        self.store: Any = None
        self.loads: list[str] = []

    def load(self, *places: Any) -> Any:
        """Notes an event loop in this thread, and a lock of the store that is held."""
        where = "in a loop" if asyncio._get_running_loop() is not None else "in a thread"
        self.loads.append(where + (" under the lock" if self.store.lock._is_owned() else ""))
        return super().load(*places)


def test_loops_file_is_read_by_a_thread_without_the_lock(tmp_path: Path) -> None:
    """A read in asyncio that may wait never reads a file in the event loop, nor while it holds the store."""
    requests: list[Any] = []

    def reply(request: Any) -> Reply:
        requests.append(request)
        return Reply(body=b'{"id": "1", "name": "a"}')

    with Server(reply) as server:

        async def read() -> tuple[Any, list[str]]:
            disk = Disk(tmp_path)
            disk.store = PatientStore(storage=disk)
            async with disk.store as store, AsyncController(store, base_url=server.url) as controller:
                return await controller.read(items.get, id="1"), disk.loads

        asyncio.run(read())
        found, loads = asyncio.run(read())
    assert found.name == "a" and len(requests) == 1
    assert loads and {*loads} == {"in a thread"}
