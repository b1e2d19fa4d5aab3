"""The work of the storage table: without arguments it serves jobs, with the name of a work it prints one figure.

`storage_worker.py WORK ARGUMENTS…`: a figure is JSON. `standard` among the arguments keeps orjson away.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

if "standard" in sys.argv:
    sys.modules["orjson"] = None  # type: ignore[assignment]  # so that importing it fails

import gc

import httpx
from answering import transport
from entities import Item, Project
from fellows import counted, fellow, ready, told
from serve import Run, serve, timed

from restencil import Controller, Resource, RestEndpoint, SQLiteStorage, Store, rest
from restencil.base.values import Meta
from restencil.schema import Collection
from restencil.storage import Batch, Entry, StoredRow

PREFIX: Final = "https://api.test"


def _options() -> dict[str, Any]:
    return {"url_prefix": PREFIX, "data_expiry_length": 3_600_000}


get_item: RestEndpoint[..., Any] = RestEndpoint(path="/items/:id", schema=Item, name="get", **_options())
get_items: RestEndpoint[..., Any] = RestEndpoint(path="/items", schema=Collection([Item]), name="list", **_options())
get_all: RestEndpoint[..., Any] = RestEndpoint(
    path="/projects", schema={"project": [Project]}, name="all", **_options()
)


class Items(Resource[Any], path="/items/:id", schema=Item, **_options()):
    @rest()
    def get(self, *, id: int) -> Item:
        raise NotImplementedError


def item(number: int) -> dict[str, Any]:
    """An item of 6 fields, of 137 bytes of JSON."""
    return {
        "id": number,
        "title": f"the title of item {number:08}",
        "a": number,
        "b": "text " * 8,
        "c": True,
        "d": None,
    }


def folder() -> str:
    """A folder that goes with the process."""
    made = tempfile.mkdtemp(prefix="restencil-bench-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def stored(path: str, **options: Any) -> Store:
    """A store over the files of a folder."""
    return Store(storage=SQLiteStorage(path, principal=None, **options))


def _store(*, on: bool) -> Store:
    return stored(folder()) if on else Store()


def own_time(turn: Callable[[], object]) -> Run:
    """The caller's time: what its thread works, while the storage's thread may work beside it."""

    def run(count: int) -> float:
        turns = range(count)
        start = time.thread_time()
        for _ in turns:
            turn()
        return time.thread_time() - start

    return run


# -- jobs: with a storage and without ----------------------------------------------------------------------------------


def cached(on: bool) -> Run:
    controller = Controller(_store(on=on))
    controller.set_response(get_item, item(1), {"id": 1})
    controller.store.flush()
    assert controller.cached(get_item, {"id": 1}) is not None
    return timed(lambda: controller.cached(get_item, {"id": 1}))


def found(on: bool) -> Run:
    """A bound call that finds fresh data."""
    answers = transport(repeat(json.dumps(item(1)).encode()))
    controller = Controller(_store(on=on), client=httpx.Client(transport=answers))
    get = Items(controller).get
    assert get(id=1).id == 1
    controller.store.flush()
    return timed(lambda: get(id=1))


def write(on: bool) -> Run:
    controller = Controller(_store(on=on))
    items = [{**item(1), "a": number} for number in range(1_000)]
    at = 0

    def turn() -> None:
        nonlocal at
        at += 1
        controller.set_response(get_item, items[at % 1_000], {"id": 1})

    return own_time(turn)


def projects(on: bool, file: str) -> Run:
    """709 projects with 2,117 builds into an empty store."""
    data = json.loads(Path(file).read_bytes())

    def run(count: int) -> float:
        spent = 0.0
        for _ in range(count):
            path = folder()
            store = stored(path) if on else Store()
            controller = Controller(store)
            gc.collect()
            start = time.thread_time()
            controller.set_response(get_all, data, {})
            spent += time.thread_time() - start
            store.close()
            shutil.rmtree(path, ignore_errors=True)
        return spent

    return run


JOBS: Final = (cached, found, write, projects)

# -- figures -----------------------------------------------------------------------------------------------------------


def all_threads(file: str) -> float:
    """Seconds of all threads for each row of the projects."""
    data = json.loads(Path(file).read_bytes())
    spent: list[float] = []
    for _ in range(7):
        controller = Controller(stored(folder()))
        gc.collect()
        start = time.process_time()
        controller.set_response(get_all, data, {})
        assert controller.store.flush()
        spent.append(time.process_time() - start)
        controller.store.close()
    builds = sum(len(project["buildTypes"]["buildType"]) for project in data["project"])
    return sorted(spent)[3] / (len(data["project"]) + builds)


def fill_page(controller: Controller, page: int) -> None:
    """One response of 1,000 items."""
    items = [item(number) for number in range(page * 1_000, page * 1_000 + 1_000)]
    controller.set_response(get_items, items, {"page": page})


def fill(path: str, count: str) -> float:
    """Puts items into the files of a folder, 1,000 in a response; how many there are."""
    with stored(path, max_bytes=10**10, write_behind=0) as store:
        controller = Controller(store)
        controller.set_response(get_item, item(1), {"id": 1})
    for start in range(0, int(count), 50_000):
        # Each in a store of its own: what is measured is the file, not the memory of who filled it.
        with stored(path, max_bytes=10**10) as store:
            controller = Controller(store)
            for page in range(start, min(start + 50_000, int(count)), 1_000):
                fill_page(controller, page // 1_000)
                store.flush(60_000)
    return float(count)


def first(path: str) -> float:
    """Seconds until the first entity of a file is there."""
    with stored(folder()) as warm:  # imports are a process's and not a file's, that of sqlite3 too
        Controller(warm).set_response(get_item, item(1), {"id": 1})
        warm.flush()
    start = time.perf_counter()
    controller = Controller(stored(path, max_bytes=10**10))
    value = controller.cached(get_item, {"id": 1})
    spent = time.perf_counter() - start
    assert value is not None
    controller.store.close()
    return spent


def hydrate(path: str) -> float:
    """Seconds for each entity that is on the disk alone, once the file is open."""
    controller = Controller(stored(path, max_bytes=10**10))
    assert controller.cached(get_item, {"id": 1}) is not None
    numbers = range(2, 902)
    start = time.perf_counter()
    for number in numbers:
        assert controller.cached(get_item, {"id": number}) is not None
    spent = time.perf_counter() - start
    controller.store.close()
    return spent / len(numbers)


def whole_list(path: str, *_: str) -> list[float]:
    """Seconds for a list of 1,000 that came in one response, each time into a memory that holds nothing."""
    spent: list[float] = []
    for _turn in range(9):
        controller = Controller(stored(path, max_bytes=10**10))
        assert controller.cached(get_item, {"id": 1}) is not None
        gc.collect()
        start = time.perf_counter()
        value = controller.cached(get_items, {"page": 0})
        spent.append(time.perf_counter() - start)
        assert value is not None and len(value) == 1_000
        controller.store.close()
    return spent[2:]


def responses() -> float:
    """Seconds until 10,000 responses of one entity are committed."""
    controller = Controller(stored(folder()))
    controller.set_response(get_item, item(0), {"id": 0})
    assert controller.store.flush()
    start = time.perf_counter()
    for number in range(1, 10_001):
        controller.set_response(get_item, item(number), {"id": number})
    assert controller.store.flush(60_000)
    spent = time.perf_counter() - start
    controller.store.close()
    return spent


def committing(path: str, name: str) -> list[float]:
    """Commits of 20 rows, 50 a second for two seconds: the seconds of each."""
    storage = SQLiteStorage(path, principal=None)
    epoch = storage.open(PREFIX, _now).epoch
    spent: list[float] = []
    begin = time.monotonic()
    for turn in range(100):
        time.sleep(max(0.0, begin + turn * 0.02 - time.monotonic()))
        rows = [StoredRow("Item", f"{name}-{turn}-{n}", 0, 0, Meta(1, 2, 3), "s", b"x" * 137) for n in range(20)]
        entry = Entry(0, name, None, {"Item": [row.pk for row in rows]}, {}, {}, [], False)
        start = time.perf_counter()
        storage.commit(Batch(epoch, rows, [], [], {}, {}, [], [], [], [], entry))
        spent.append(time.perf_counter() - start)
    storage.close()
    return spent


def _now() -> float:
    return time.time() * 1000


def commits() -> list[float]:
    """Seconds of the commits of 8 processes that write 50 times a second each."""
    path = folder()
    children = [fellow(__file__, "committing", path, str(number)) for number in range(8)]
    return [spent for child in children for spent in told(child)]


def tell(controller: Controller, turns: int, pause: float) -> float:
    """Writes the time into an entity, after about so many seconds each time, for another process to see."""
    for turn in range(turns):
        time.sleep(pause * (1 + 0.12 * (turn % 7)))
        controller.set_response(get_item, {**item(1), "a": turn, "b": str(time.time())}, {"id": 1})
    return 0.0


def seen(controller: Controller, telling: Callable[[], subprocess.Popen[str]]) -> list[float]:
    """Seconds until what another process writes shows here, which starts when there is something to look at."""
    controller.set_response(get_item, {**item(1), "a": -1}, {"id": 1})
    controller.store.flush()
    child = telling()
    late: dict[int, float] = {}
    end = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < end:
        held = controller.cached(get_item, {"id": 1})
        if held is not None and held.a >= 0 and held.a not in late:
            late[held.a] = time.time() - float(held.b)
        time.sleep(0.0005)
    told(child)
    return list(late.values())


def telling(path: str) -> float:
    """Writes what another process sees."""
    with stored(path) as store:
        return tell(Controller(store), 30, 0.15)


def shows() -> list[float]:
    """Seconds until what another process wrote shows here."""
    path = folder()
    with stored(path) as store:
        return seen(Controller(store), lambda: fellow(__file__, "telling", path))


def items_at(controller: Any, address: str) -> Any:
    """The items of a server, for either kind of controller."""

    class Asked(Resource[Any], path="/items/:id", schema=Item, **{**_options(), "url_prefix": address}):
        @rest()
        def get(self, *, id: int) -> Item:
            raise NotImplementedError

    return Asked(controller)


def ask(store: Store, address: str, keys: int) -> float:
    """Asks for keys, 8 at a time, when told to; the seconds that it took."""
    with httpx.Client() as client:
        get = items_at(Controller(store, client=client), address).get
        get(id=0)
        ready()
        begin = time.perf_counter()
        waiting: Iterator[int] = iter(range(1, keys + 1))

        def work() -> None:
            for number in waiting:
                assert get(id=number).id == number

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begin


def asking(path: str, address: str) -> float:
    """Asks for 1,000 keys when told to; the seconds that it took."""
    with stored(path) as store:
        return ask(store, address, 1_000)


def together(count: str) -> list[float]:
    """How many requests so many processes send that want the same 1,000 keys, and the seconds of the slowest."""
    path = folder()
    with counted() as (address, begin):
        requests, spent = begin([fellow(__file__, "asking", path, address) for _ in range(int(count))])
        return [requests, max(spent)]


def size() -> float:
    """The bytes of a file, divided by those of the dump of the same: 100,000 entities and 100 lists."""
    path = folder()
    with stored(path) as store:
        controller = Controller(store)
        for page in range(100):
            fill_page(controller, page)
            store.flush(60_000)
        dumped = len(store.dump())
    return sum(file.stat().st_size for file in Path(path).rglob("*.db")) / dumped


def known() -> float:
    """The bytes that are held more for each entity where there is a storage."""

    def held(store: Store) -> int:
        controller = Controller(store)
        tracemalloc.start()
        for page in range(20):
            fill_page(controller, page)
        store.flush(60_000)
        gc.collect()
        bytes_held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        store.close()
        return bytes_held

    held(stored(folder()))  # what is imported and compiled on the way is no entity's
    return (held(stored(folder())) - held(Store())) / 20_000


def reset(path: str) -> float:
    """Seconds until `reset_entire_store` returns."""
    with stored(path, max_bytes=10**10) as store:
        controller = Controller(store)
        assert controller.cached(get_item, {"id": 1}) is not None
        start = time.perf_counter()
        controller.reset_entire_store()
        return time.perf_counter() - start


def idle() -> float:
    """The share of a core that an idle store takes."""
    with stored(folder()) as store:
        Controller(store).set_response(get_item, item(1), {"id": 1})
        store.flush()
        time.sleep(0.5)
        start, began = time.process_time(), time.perf_counter()
        time.sleep(5)
        return (time.process_time() - start) / (time.perf_counter() - began)


FIGURES: Final[dict[str, Callable[..., Any]]] = {
    work.__name__: work
    for work in (
        *(all_threads, fill, first, hydrate, whole_list, responses, committing, commits, telling, shows, asking),
        *(together, size, known, reset, idle),
    )
}

if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve(*JOBS)
    else:
        print(json.dumps(FIGURES[sys.argv[1]](*sys.argv[2:])))
        sys.stdout.flush()
        if sys.argv[1] in ("first", "reset"):
            os._exit(0)  # what the end of the process costs is nobody's
