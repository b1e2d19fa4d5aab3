"""A process of `test_leases.py`: reads keys over a shared storage, one by one or in tasks, and tells what it got.

Usage: python -m tests.storage.lease_worker PLAN, which is JSON: where the upstream and the storage are, how many keys,
and in how many tasks (0: in plain code).
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.storages import PatientStore, sqlite_storage

from restencil import AsyncController, Controller, Entity, Store, ValkeyStorage, create_resource


class Item(Entity):
    """What is asked for."""

    id: str = ""
    count: int = 0


items: Any = create_resource(path="/items/:id", schema=Item, data_expiry_length="10m", error_expiry_length=0)


def main(plan: dict[str, Any]) -> dict[str, int]:
    keys = [str(key) for key in range(plan["keys"])]
    store = PatientStore(storage=storage_at(plan["storage"]))
    print("ready", flush=True)
    sys.stdin.readline()
    if plan["tasks"]:
        return asyncio.run(in_tasks(plan, store, keys))
    with store, Controller(store, base_url=plan["upstream"], timeout="10m") as controller:
        return {key: controller.read(items.get, id=key).count for key in keys}


def storage_at(place: str) -> Any:
    """Waits for others as long as it takes: machines that run tests may be slow."""
    if place.startswith("valkey:"):
        return ValkeyStorage(place, namespace="test", principal=None, timeout=5_000, lease_wait=600_000)
    return sqlite_storage(place, lease_wait=600_000)


async def in_tasks(plan: dict[str, Any], store: Store, keys: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    async with store, AsyncController(store, base_url=plan["upstream"], timeout="10m") as controller:

        async def read(some: list[str]) -> None:
            for key in some:
                found[key] = (await controller.read(items.get, id=key)).count

        await asyncio.gather(*(read(keys[at :: plan["tasks"]]) for at in range(plan["tasks"])))
    return found


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))), flush=True)
