"""How a store with a storage ends: a process that exits, one that forks, one that is killed."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually, python
from tests.storage.connections import opened_connections
from tests.storages import PatientStore, sqlite_storage

import restencil
from restencil import Controller, Entity, MemoryStorage, RestEndpoint, SQLiteStorage, StorageDown, Store
from restencil.schema import Collection
from restencil.testing import FakeClock

SCRIPT = """
import faulthandler, os, sys, threading, time
from restencil import Entity, SQLiteStorage, Store
from restencil.cache.actions import Meta, Set

class Tag(Entity, key="EndingTag"):
    id: str = ""
    word: str = ""

def written(store, pk, word=""):
    now = store.now()
    store.apply(Set(Tag, (), {"id": str(pk), "word": word}, Meta(now, now, now + 60_000)))

def shown(store, pk):
    return store.query(Tag, ({"id": str(pk)},))

faulthandler.dump_traceback_later(250, exit=True)  # a process that hangs shows where
folder = sys.argv[1]
store = Store(storage=SQLiteStorage(folder, principal=None, timeout=300_000))
"""


class Tag(Entity, key="EndingTag"):
    id: str = ""
    word: str = ""


def run(folder: Path, body: str, *, fails: bool = False) -> str:
    """Runs a script of its own process over a folder; what it printed."""
    done = python("-c", SCRIPT + body, str(folder))
    assert fails or done.returncode == 0, done.stderr
    return done.stdout


def stored(folder: Path, pk: str) -> str | None:
    """The word of a tag on the disk."""
    with PatientStore(storage=sqlite_storage(folder)) as store:
        found: Tag | None = store.query(Tag, ({"id": pk},))
        return None if found is None else found.word


def test_endings_script_leaves_on_the_disk_what_it_wrote(tmp_path: Path) -> None:
    """A process that ends waits for the last commit; the file is there already, so that this takes no time."""
    run(tmp_path / "cache", "written(store, 2); store.flush(200_000); written(store, 1, 'kept')")
    assert stored(tmp_path / "cache", "1") == "kept"


def test_endings_what_was_flushed_survives_a_kill(tmp_path: Path) -> None:
    """After `kill -9` the storage has what `flush` waited for, and whole actions only."""
    run(
        tmp_path / "cache",
        "written(store, 1, 'kept'); store.flush(); written(store, 2); os.kill(os.getpid(), 9)",
        fails=True,
    )
    assert stored(tmp_path / "cache", "1") == "kept"


def test_endings_nothing_comes_back_after_a_reset(tmp_path: Path) -> None:
    """A reset counts from its call, also where the process is killed right after it."""
    run(tmp_path / "cache", "written(store, 1)")
    body = "from restencil.cache.actions import Reset\nstore.apply(Reset()); os.kill(os.getpid(), 9)"
    run(tmp_path / "cache", body, fails=True)
    assert stored(tmp_path / "cache", "1") is None


FORKS = """
stop = threading.Event()
def busy(place):
    count = 0
    while not stop.is_set():
        count += 1
        written(store, f"{place}-{count % 50}", str(count))
        shown(store, f"{place}-{count % 50}")
threads = [threading.Thread(target=busy, args=(place,), daemon=True) for place in range(3)]
for thread in threads:
    thread.start()
children = []
for number in range(5):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            written(store, f"child-{number}", "child")
            code = 0 if store.flush(200_000) and shown(store, f"child-{number}").word == "child" else 2
        finally:
            os._exit(code)
    children.append(child)
    while len(children) > 3:
        assert os.waitpid(children.pop(0), 0)[1] == 0
for child in children:
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
written(store, "parent", "parent")
assert store.flush(200_000)
print(store.storage_stats().state)
"""


LISTENING = """
import os, time
written(store, "1", "before")
assert store.flush(200_000)
told, tell = os.pipe()
child = os.fork()
if child == 0:
    code = 1
    try:
        assert shown(store, "1").word == "before"
        os.write(tell, b".")
        end = time.monotonic() + 200
        while shown(store, "1").word != "after" and time.monotonic() < end:
            time.sleep(0.02)
        code = 0 if shown(store, "1").word == "after" else 2
    finally:
        os._exit(code)
os.read(told, 1)
written(store, "1", "after")
assert store.flush(200_000)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on Windows")
def test_endings_child_sees_what_its_parent_writes_after_the_fork(tmp_path: Path) -> None:
    """A forked process follows the log of commits by itself, also if it only reads what memory has."""
    assert run(tmp_path, LISTENING).split() == ["0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_endings_process_forks_while_threads_read_and_write(tmp_path: Path) -> None:
    """Parent and children go on, each with connections of its own, and leave the file whole."""
    folder = tmp_path / "cache"
    assert run(folder, FORKS).split() == ["on"]
    for number in range(5):
        assert stored(folder, f"child-{number}") == "child"
    assert stored(folder, "parent") == "parent"
    for file in folder.rglob("*.db"):
        with sqlite3.connect(file) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


def thread_beside(others: list[threading.Thread]) -> threading.Thread:
    """The thread of the one storage that was opened since; other tests may have left some."""
    (own,) = (thread for thread in threading.enumerate() if thread not in others)
    assert own.name == "restencil-storage"
    return own


def test_endings_store_that_no_one_has_ends_its_thread() -> None:
    """The thread of a storage holds its store only while something waits."""
    import gc
    import weakref

    others = threading.enumerate()
    store = PatientStore(storage=MemoryStorage(write_behind=1))
    store.query(Tag, ({"id": "1"},))
    own = thread_beside(others)
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None
    own.join(PATIENCE)
    assert not own.is_alive()


@pytest.mark.parametrize("fails", [False, True])
def test_endings_what_is_in_progress_when_a_store_is_closed_leaves_nothing_open(tmp_path: Path, fails: bool) -> None:
    """A storage that a thread asks just then is let go once more when that is over."""
    asked, may_answer = threading.Event(), threading.Event()

    class Slow(SQLiteStorage):
        """It looks for what is too much when it is told that it may."""

        def trim(self) -> int:
            asked.set()
            assert may_answer.wait(PATIENCE)
            if fails:
                self.stats()
                raise StorageDown("not now")
            return super().trim()

    others = threading.enumerate()
    with opened_connections() as connections:
        with PatientStore(storage=Slow(tmp_path / "cache", principal=None, poll=1, timeout=PATIENCE * 1_000)) as store:
            store.query(Tag, ({"id": "1"},))
            assert asked.wait(PATIENCE)
            thread = thread_beside(others)
        may_answer.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        opened = len(connections)
        for connection in connections:
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                connection.execute("SELECT 1")
    assert opened > 1


# -- tending


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


# -- pending


MARK = "m4rk3d"


class Draft(Entity, key="PendingDraft"):
    id: str = ""
    title: str = ""


Drafts: Any = restencil.create_resource(url_prefix="http://drafts", path="/drafts/:id", schema=Draft, optimistic=True)


def test_pending_change_and_the_body_of_a_rejected_one_are_never_stored(tmp_path: Path) -> None:
    """While it is shown, and after the server has rejected it, nothing of it is in a file of the storage."""

    def written() -> bytes:
        assert store.flush(PATIENCE * 1_000)
        return b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    def shown() -> str:
        found: Any = controller.cached(Drafts.get, id="1")
        return str(found.title)

    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"id": "1", "title": "first"})
        assert shown() == MARK
        assert MARK.encode() not in written()
        return httpx.Response(422, json={})

    store = Store(storage=restencil.SQLiteStorage(tmp_path / "cache", principal=None))
    client = httpx.Client(transport=httpx.MockTransport(respond))
    with client, store, Controller(store, client=client) as controller:
        controller.read(Drafts.get, id="1")
        assert b"first" in written()
        with pytest.raises(restencil.UnprocessableEntityError):
            controller.fetch(Drafts.partial_update, {"id": "1"}, {"title": MARK})
        assert shown() == "first"
        assert MARK.encode() not in written()
