"""Every commit carries an id of its own: one that got no answer is applied once and never stands for another one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Server
from tests.storage.house import House, Notes, notes
from tests.storage.servers import needs_server

from restencil import Controller, MemoryStorage, StorageDown, Store
from restencil.storage import Batch

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
