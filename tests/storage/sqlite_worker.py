"""A process that works on a storage of SQLite: `python sqlite_worker.py WORK PATH ARGUMENTS…`."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from tests.storage.batches import batch, result, row
from tests.storages import sqlite_storage

from restencil import StorageCorrupt, StorageDown, StorageError
from restencil.storage import Batch, Outcome

PLACE = "https://api.test"


def _now() -> float:
    return time.time() * 1000


def crash(path: str, at: str, work: str) -> None:
    """Commits, or resets, and is killed when SQLite begins the statement of this number."""
    statements = 0

    def look(statement: str) -> None:
        nonlocal statements
        statements += 1
        if statements == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(look)
        return connection

    sqlite3.connect = traced  # type: ignore[assignment]  # in this process alone, before restencil looks it up
    storage = sqlite_storage(path)
    opened = storage.open(PLACE, _now)
    if work == "reset":
        storage.reset()
        opened = storage.open(PLACE, _now)
    held = storage.load([("A", "1"), ("A", "2")])
    revs = {each.pk: each.rev for each in held.rows}
    whole: Batch = batch(opened.epoch, row("1", revs.get("1", 0), b"1"), row("2", revs.get("2", 0), b"1"))
    outcome: Outcome = storage.commit(whole._replace(results=[result("k", b"1")], index={("A", "f", "v"): "1"}))
    assert outcome.number
    storage.close()
    print("whole", statements)


def roam(path: str, seconds: str) -> None:
    """Reads and writes for a while, whatever becomes of the file; prints in which epoch it ends."""
    storage = sqlite_storage(path)
    end = time.monotonic() + float(seconds)
    damaged = 0
    number = 0
    while True:
        try:
            epoch = storage.open(PLACE, _now).epoch
            break
        except StorageError:
            damaged += 1
    turn = 0
    while time.monotonic() < end:
        turn += 1
        try:
            pk = str(turn % 300)
            held = storage.load([("A", pk)])
            rev = held.rows[0].rev if held.rows else 0
            storage.commit(batch(epoch, row(pk, rev, b'"%s"' % (b"x" * 500))))
            changes = storage.changes(number, 0)
            epoch, number = changes.epoch, changes.number
        except (StorageCorrupt, StorageDown):
            damaged += 1
            time.sleep(0.002)
    print("ends", storage.changes(number, 0).epoch, damaged)
    storage.close()


WORK: Final[dict[str, Callable[..., None]]] = {"crash": crash, "roam": roam}

if __name__ == "__main__":
    WORK[sys.argv[1]](*sys.argv[2:])
