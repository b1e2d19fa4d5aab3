"""The least that work of the storage table needs: `sqlite3`, `json` and a plain instance, by code that does no more.

`storage_floor.py WORK ARGUMENTS…` prints a figure as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from storage_worker import folder as new_folder
from storage_worker import get_item, item, stored

from restencil import Controller, Store

_ROW: Final = "SELECT rev, fetched_at, date, expires_at, shape, value FROM row WHERE kind = ? AND pk = ?"
_ROWS: Final = "SELECT pk, rev, fetched_at, date, expires_at, shape, value FROM row WHERE born > 0 AND +kind = ?"
_RESULT: Final = "SELECT rev, fetched_at, date, expires_at, shape, value FROM result WHERE key = ?"
_NEW_ROW: Final = "INSERT INTO row (kind, pk, rev, fetched_at, date, expires_at, shape, used, value) "
_NEW_RESULT: Final = "INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COUNT: Final = 10_000
_AT_ONCE: Final = 1_000


class _Plain:
    """An object of any members."""


def _instance(text: Any) -> _Plain:
    made = _Plain()
    made.__dict__ = json.loads(text)
    return made


def _opened(path: str) -> sqlite3.Connection:
    """A connection to the one file of a folder."""
    (file,) = Path(path).glob("*/*.db")
    return sqlite3.connect(file, isolation_level=None)


def _kind(connection: sqlite3.Connection) -> int:
    """The table of items."""
    (kind,) = connection.execute("SELECT kind FROM row WHERE pk = '2'").fetchone()
    return int(kind)


def hydrate(path: str) -> float:
    """Seconds for an entity and the key it lies under, each looked up by itself."""
    connection = _opened(path)
    execute, kind = connection.execute, _kind(connection)
    numbers = range(2, 902)
    start = time.perf_counter()
    for number in numbers:
        execute("BEGIN")
        execute(_RESULT, (f"GET https://api.test/items/{number}",)).fetchone()
        _instance(execute(_ROW, (kind, str(number))).fetchone()[-1])
        execute("COMMIT")
    spent = time.perf_counter() - start
    connection.close()
    return spent / len(numbers)


def whole_list(path: str) -> float:
    """Seconds for a list of 1,000 by one statement."""
    spent: list[float] = []
    for _turn in range(9):
        connection = _opened(path)
        kind = _kind(connection)
        gc.collect()
        start = time.perf_counter()
        found = {row[0]: _instance(row[-1]) for row in connection.execute(_ROWS, (kind,))}
        spent.append(time.perf_counter() - start)
        assert len(found) == _AT_ONCE
        connection.close()
    return statistics.median(spent)


def responses() -> dict[str, float]:
    """Seconds for 10,000 responses of one entity: in memory alone, and their texts and SQLite alone."""
    controller = Controller(Store())
    items = [item(number) for number in range(_COUNT)]
    start = time.perf_counter()
    for number, each in enumerate(items):
        controller.set_response(get_item, each, {"id": number})
    memory = time.perf_counter() - start
    path = new_folder()
    with stored(path) as store:
        Controller(store).set_response(get_item, item(_COUNT), {"id": _COUNT})
        assert store.flush()
    connection = _opened(path)
    start = time.perf_counter()
    for begin in range(0, _COUNT, _AT_ONCE):
        numbers = range(begin, begin + _AT_ONCE)
        rows = [(1, str(n), 1, 1.0, 1.0, 2.0, 1, 1, json.dumps(items[n]).encode()) for n in numbers]
        results = [(f"GET /items/{n}", 1, 1.0, 1.0, 2.0, 1, 1, 0, json.dumps(str(n)).encode()) for n in numbers]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_NEW_ROW + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany(_NEW_RESULT, results)
        connection.execute("COMMIT")
    file = time.perf_counter() - start
    connection.close()
    return {"memory": memory, "file": file}


def idle() -> float:
    """The share of a core of a thread that looks at a file's time ten times a second."""
    path, lock = new_folder(), threading.Lock()
    lock.acquire()

    def wait() -> None:
        while not lock.acquire(timeout=0.1):
            os.stat(path)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.5)
    start, began = time.process_time(), time.perf_counter()
    time.sleep(5)
    share = (time.process_time() - start) / (time.perf_counter() - began)
    lock.release()
    thread.join()
    return share


FIGURES: Final[dict[str, Callable[..., Any]]] = {
    "hydrate": hydrate,
    "whole_list": whole_list,
    "responses": responses,
    "idle": idle,
}

if __name__ == "__main__":
    print(json.dumps(FIGURES[sys.argv[1]](*sys.argv[2:])))
