"""A process that takes steps of a random history: `python -m tests.storage.model_worker sqlite|server WHERE`.

On its standard input are lines of JSON, `[what to do, seed, number of the step]`; each is answered with one line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from tests.storage.histories import history
from tests.storage.machine import READS, SLUGS, Acting, found, shown
from tests.storages import PatientStore, sqlite_storage, valkey_storage

from restencil import Storage, Store
from restencil.cache.actions import Collect


def storage_of(kind: str, where: str) -> Storage:
    """The storage that is shared: a folder, or the namespace of a server."""
    if kind == "sqlite":
        return sqlite_storage(where, write_behind=5, poll=10)
    url, _, namespace = where.rpartition("#")
    return valkey_storage(url, namespace=namespace, write_behind=5)


def take(store: Store, seed: int, number: int) -> Any:
    """Takes a step; what is of other processes, or by hand, is left out."""
    _, kind, what = history(seed)[1][number]
    match kind:
        case "read":
            shown(store, *what)
        case "find":
            found(store, what)
        case "evict":
            base = store._store_state.base
            cells = [(table, pk) for table, rows in list(base.entities.items()) for pk in list(rows)]
            store.apply(Collect(tuple(cells[:3]), tuple(base.results)[:2]))
        case "response" | "set" | "invalidate" | "invalidate_all" | "expire_all":
            store.apply(Acting(store.now).action(kind, what))
        case _:
            pass


def picture(store: Store) -> dict[str, Any]:
    """All that is shown, after what lies far away was loaded."""
    seen: dict[str, Any] = {}
    tier: Any = store._persistence
    for endpoint, args in READS:
        steps, answer = tier.reading(endpoint.request(args), bool), None
        try:
            while True:
                answer = steps.send(answer).take(None)
        except StopIteration:
            pass
        seen[endpoint.key(*args)] = shown(store, endpoint, args)
    return {**seen, **{slug: found(store, slug) for slug in SLUGS}}


def fork() -> int:
    """The process goes on as its child, and is killed itself."""
    child = os.fork()
    if child:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def main(kind: str, where: str) -> None:
    """Answers until there are no more lines."""
    store = PatientStore(storage=storage_of(kind, where))
    print(os.getpid(), flush=True)
    while line := sys.stdin.readline():
        do, seed, number = json.loads(line)
        answer: Any = None
        match do:
            case "step":
                take(store, seed, number)
            case "flush":
                answer = store.flush()
            case "fork":
                answer = fork()
            case "reset":
                answer = store.last_reset
            case _:
                answer = picture(store)
        print(json.dumps(answer), flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
