"""Every commit carries an id of its own: one that got no answer is applied once and never stands for another one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import valkey
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Server
from tests.storage.batches import batch, result, row
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer, needs_server
from tests.storage.test_outages import Api, notes
from tests.storages import valkey_storage

from restencil import Controller, MemoryStorage, StorageDown, Store, ValkeyStorage
from restencil.storage import Batch

RECORDS = 40


class Scene:
    """One API and one server, with a connection of its own for each process."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.api = Api()
        self.server = self.stack.enter_context(ValkeyServer())
        self.upstream = self.stack.enter_context(Server(self.api))

    def process(self, url: str = "", **options: Any) -> Controller:
        """One more process; `options` are those of its storage."""
        storage = ValkeyStorage(url or self.server.url, namespace="test", principal="ann", **options)
        store = self.stack.enter_context(Store(storage=storage))
        return self.stack.enter_context(Controller(store, base_url=self.upstream.url, timeout="10m"))

    def wrong(self, process: Controller) -> list[str]:
        """The records whose read gives something else than the API has."""
        texts = self.api.texts
        return [id for id in texts if process.read(notes.get, id=id).text != texts[id]]


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    with made.stack:
        yield made


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
def test_commit_stopped_server_loses_no_write(scene: Scene) -> None:
    """A server that is stopped twice for 3.6 seconds while 40 records are written has the last write of each."""
    writer, reader = scene.process(), scene.process()
    for at in range(RECORDS):
        writer.read(notes.get, id=str(at))
        scene.api.texts[str(at)] = "first"
    settle(writer)
    for at in range(RECORDS):
        reader.read(notes.get, id=str(at))
    scene.server.pause()
    writer.fetch(notes.partial_update, {"id": "0"}, {"text": "hangs"})
    time.sleep(0.2)
    change_all(writer, "last")
    time.sleep(3.4)
    scene.server.go_on()  # what hangs is carried out, and nobody hears of it
    time.sleep(0.1)
    scene.server.pause()
    time.sleep(3.6)
    scene.server.go_on()
    settle(writer, reader)
    late = scene.process()
    assert scene.wrong(late) == []
    eventually(lambda: scene.wrong(reader) == [])
    assert scene.wrong(writer) == []


@needs_server
def test_commit_idle_connections_cut_loses_no_write(scene: Scene) -> None:
    """Connections that a middlebox forgets without a word lose no write."""
    with Proxy(scene.server.port) as proxy:
        writer = scene.process(proxy.url)
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
        assert scene.wrong(scene.process()) == []


@needs_server
def test_commit_late_one_is_not_applied_again(scene: Scene) -> None:
    """What waits in a connection that its writer gave up does nothing once the writer has sent it anew."""
    with Proxy(scene.server.port) as proxy:
        one = ValkeyStorage(proxy.url, namespace="test", principal=None, timeout=1_000)  # a commit that hangs gives up
        again = valkey_storage(scene.server.url)
        epoch = one.open("", time.time).epoch
        again.open("", time.time)
        one.commit(_numbered(batch(epoch, row("1", value=b"1")), 1))
        proxy.hold()
        with pytest.raises(StorageDown):
            one.commit(_numbered(batch(epoch, row("2", value=b"2"), drop=[("A", "1")]), 2))
        assert again.commit(_numbered(batch(epoch, row("2", value=b"2"), drop=[("A", "1")]), 2)).number == 2
        assert again.commit(_numbered(batch(epoch, row("1", value=b"anew")), 3)).number == 3
        proxy.release()
        eventually(lambda: _idle(scene.server))
        assert [entry.commit_id for entry in again.changes(0, 0).entries] == [1, 2, 3]
        assert [found.value for found in again.load([("A", "1"), ("A", "2")]).rows] == [b"anew", b"2"]
        one.close()
        again.close()


class Pool(valkey.ConnectionPool):
    """Not a plain pool, so that a storage uses the client as it is."""


class Forgetful(valkey.Valkey):
    """A client that loses the reply to its n-th script, which the server has run."""

    losing = 0

    def execute_command(self, *words: Any, **options: Any) -> Any:
        reply = super().execute_command(*words, **options)  # type: ignore[no-untyped-call]  # the package's own
        if words[0] == "EVALSHA" and self.losing:
            self.losing -= 1
            if not self.losing:
                raise valkey.ConnectionError("the reply was lost")
        return reply


@needs_server
def test_commit_whose_reply_was_lost_is_not_written_again(scene: Scene) -> None:
    """A commit that is sent again has the number that it got, however often."""
    client = Forgetful(connection_pool=Pool(port=scene.server.port))
    storage = ValkeyStorage(client=client, namespace="test", principal=None)
    epoch = storage.open("", time.time).epoch
    assert storage.commit(_numbered(batch(epoch, row("1")), 1)).number == 1
    second = _numbered(batch(epoch, row("2"), results=[result("k")]), 2)
    client.losing = 1
    with pytest.raises(StorageDown):
        storage.commit(second)
    assert storage.commit(second) == (2, epoch, None)
    assert storage.commit(second) == (2, epoch, None)
    assert storage.changes(0, 0).number == 2
    storage.close()


def _idle(server: ValkeyServer) -> bool:
    """Whether the server has read all that its clients sent."""
    return all("qbuf=0 " in line or "cmd=client" in line for line in server.ask("CLIENT", "LIST").decode().splitlines())


def _numbered(made: Batch, id: int) -> Batch:
    return made._replace(entry=made.entry._replace(commit_id=id))


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
    api = Api()
    with Server(api) as upstream, Store(storage=storage) as store, Controller(store, base_url=upstream.url) as one:
        one.read(notes.get, id="1")
        assert store.flush(PATIENCE * 1_000)
        storage.losing = 1
        one.fetch(notes.partial_update, {"id": "1"}, {"text": "second"})
        eventually(lambda: not storage.losing)
        one.fetch(notes.partial_update, {"id": "2"}, {"text": "other"})
        eventually(lambda: store.flush(1_000))
        stats = store.storage_stats()
        assert (stats.moved, stats.errors) == (0, {"StorageDown": 1})
