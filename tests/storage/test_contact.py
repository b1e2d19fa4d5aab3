"""After a time without contact that is longer than a lease, memory counts as stale until it was compared."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Server
from tests.storage.house import House, Notes, change, notes, text
from tests.storage.servers import needs_server
from tests.storages import PatientStore

from restencil import Controller, MemoryStorage, StorageDown, Store
from restencil.storage import Batch, Changes


@needs_server
def test_contact_lost_to_server_makes_reads_ask(house: House) -> None:
    """Who hears nothing for longer than a lease asks the API, once, and shows what there is."""
    one, other = house.process(timeout=150), house.process()
    one.read(notes.get, id="1")
    assert one.store.flush(PATIENCE * 1_000)
    other.read(notes.get, id="1")
    house.proxies[0].hold()
    change(other, "1", "second")
    assert text(one) == "first"
    eventually(lambda: one.read(notes.get, id="1").text == "second")
    asked = len(house.api.asked)
    assert one.read(notes.get, id="1").text == "second"
    assert len(house.api.asked) == asked
    house.proxies[0].cut()
    house.proxies[0].release()
    eventually(lambda: one.store.storage_stats().state == "on" and one.store.flush(100))
    assert text(one) == "second"


class Faltering(MemoryStorage):
    """A storage that goes down during a wait for changes, which is answered late, and during the second commit then."""

    def __init__(self) -> None:
        super().__init__(inline=False, poll=20)
        self.is_down = False
        self.holds = False
        self.is_held, self.is_released, self.is_asked_again = threading.Event(), threading.Event(), threading.Event()
        self.failed_commits = 0
        self.is_tried_again = threading.Event()

    def _check(self) -> None:
        if self.is_down:
            raise StorageDown("it is down")

    def load(self, *args: Any) -> Any:
        self._check()
        return super().load(*args)

    def commit(self, *args: Any) -> Any:
        self.failed_commits += self.is_down
        if self.failed_commits == 2:
            self.is_tried_again.set()
            assert self.is_asked_again.wait(PATIENCE)
        self._check()
        return super().commit(*args)

    def lease(self, *args: Any) -> Any:
        self._check()
        return super().lease(*args)

    def changes(self, after: int, wait: float, /) -> Changes:
        if self.is_released.is_set():
            self.is_asked_again.set()
        self._check()
        found = super().changes(after, wait)
        if self.holds:
            self.is_held.set()
            assert self.is_released.wait(PATIENCE)
        return found


def test_contact_is_not_proved_by_an_answer_from_before_the_outage(caplog: pytest.LogCaptureFixture) -> None:
    """A wait that began before the storage went down says nothing of now, however late its answer arrives."""
    storage = Faltering()
    with PatientStore(storage=storage) as store:
        controller = Controller(store, base_url="http://api.test")
        controller.cached(notes.get, id="1")
        storage.holds = True
        assert storage.is_held.wait(PATIENCE)
        storage.is_down, storage.holds = True, False
        controller.set_response(notes.get, {"id": "2", "text": "x"}, id="2")
        assert storage.is_tried_again.wait(PATIENCE)
        storage.is_released.set()
        assert storage.is_asked_again.wait(PATIENCE)
        told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert (store.storage_stats().state, len(told)) == ("down", 1)
        storage.is_down = False
        eventually(lambda: store.storage_stats().state == "on")


PROGRAM = """
import sys
from restencil import Controller, SQLiteStorage, Store
from tests.storage.house import notes

with Store(storage=SQLiteStorage(sys.argv[1], principal=None, timeout=300_000)) as store:
    Controller(store).set_response(notes.get, {"id": "1", "text": "first"}, {"id": "1"})
    store.flush()
    for line in sys.stdin:
        print(store.storage_stats().breaks, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signal stops a process there")
def test_contact_lost_by_stopped_process_is_noticed(tmp_path: Path) -> None:
    """A process that was stopped for longer than a lease compares what it holds."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def breaks() -> int:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        before = breaks()
        process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        process.send_signal(signal.SIGCONT)
        eventually(lambda: breaks() > before)
        process.communicate()


# -- commit ids


RECORDS = 40


def wrong(house: House, process: Controller) -> list[str]:
    """The records whose read gives something else than the API has."""
    texts = house.api.texts
    return [id for id in texts if process.read(notes.get, id=id).text != texts[id]]


def change_all(process: Controller, text: str) -> None:
    for at in range(RECORDS):
        process.fetch(notes.partial_update, {"id": str(at)}, {"text": f"{text} {at}"})


def settle(*processes: Controller) -> None:
    """Waits until all that was written is stored, and all processes have read the log."""
    for process in processes:
        eventually(lambda process=process: process.store.flush(1_000))  # type: ignore[misc]
    eventually(lambda: all(process.store.storage_stats().state == "on" for process in processes))


@needs_server
@pytest.mark.slow
def test_commit_stopped_server_loses_no_write(house: House) -> None:
    """A server that is stopped twice for 3.6 seconds while 40 records are written has the last write of each."""
    writer, reader = house.process(timeout=250), house.process(timeout=250)
    for at in range(RECORDS):
        writer.read(notes.get, id=str(at))
        house.api.texts[str(at)] = "first"
    settle(writer)
    for at in range(RECORDS):
        reader.read(notes.get, id=str(at))
    house.server.pause()
    writer.fetch(notes.partial_update, {"id": "0"}, {"text": "hangs"})
    time.sleep(0.2)
    change_all(writer, "last")
    time.sleep(3.4)
    house.server.go_on()  # what hangs is carried out, and nobody hears of it
    time.sleep(0.1)
    house.server.pause()
    time.sleep(3.6)
    house.server.go_on()
    settle(writer, reader)
    late = house.process(timeout=250)
    assert wrong(house, late) == []
    eventually(lambda: wrong(house, reader) == [])
    assert wrong(house, writer) == []


@needs_server
def test_commit_idle_connections_cut_loses_no_write(house: House) -> None:
    """Connections that a middlebox forgets without a word lose no write."""
    writer = house.process(timeout=250)
    (proxy,) = house.proxies
    change_all(writer, "first")
    settle(writer)
    for round in range(2):
        proxy.hold()
        writer.fetch(notes.partial_update, {"id": "0"}, {"text": "hangs"})
        time.sleep(0.2)
        change_all(writer, f"round {round}")
        time.sleep(0.2)
        proxy.cut()
        proxy.release()
    settle(writer)
    assert wrong(house, house.process()) == []


class Lossy(MemoryStorage):
    """A storage whose answer to a commit is lost now and then, after it was carried out."""

    losing = 0

    def commit(self, batch: Batch, /) -> Any:
        outcome = super().commit(batch)
        if self.losing:
            self.losing -= 1
            raise StorageDown("no answer")
        return outcome


def test_commit_without_response_is_looked_up_by_its_id() -> None:
    """The writer takes the number of the commit that was carried out; nothing is committed twice."""
    storage = Lossy(write_behind=5)
    with Server(Notes()) as upstream, Store(storage=storage) as store, Controller(store, base_url=upstream.url) as one:
        one.read(notes.get, id="1")
        assert store.flush(PATIENCE * 1_000)
        storage.losing = 1
        one.fetch(notes.partial_update, {"id": "1"}, {"text": "second"})
        eventually(lambda: not storage.losing)
        one.fetch(notes.partial_update, {"id": "2"}, {"text": "other"})
        eventually(lambda: store.flush(1_000))
        stats = store.storage_stats()
        assert (stats.moved, stats.errors) == (0, {"StorageDown": 1})
