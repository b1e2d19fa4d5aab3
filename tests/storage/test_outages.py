"""A server of Valkey that fails, as who uses clients sees it: no call raises for it, and nothing wrong is shown."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import valkey
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer, needs_server

from restencil import Controller, Entity, Store, ValkeyStorage, create_resource

pytestmark = needs_server


class Note(Entity):
    """What is read and changed."""

    id: str = ""
    text: str = ""


notes: Any = create_resource(path="/notes/:id", schema=Note, data_expiry_length="10m")


class Api:
    """Keeps notes, and counts what it is asked."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.asked: list[str] = []

    def __call__(self, request: Arrived) -> Reply:
        id = request.target.partition("?")[0].rpartition("/")[2]
        self.asked.append(f"{request.method} {id}")
        if request.method == "PATCH":
            self.texts[id] = json.loads(request.body)["text"]
        return Reply(body=json.dumps({"id": id, "text": self.texts.get(id, "first")}).encode())


class House:
    """Processes over one API and one server, each with a way of its own to the server."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.api = Api()
        self.server = self.stack.enter_context(ValkeyServer())
        self.upstream = self.stack.enter_context(Server(self.api))
        self.proxies: list[Proxy] = []

    def process(self, *, timeout: float = PATIENCE * 1_000, **options: Any) -> Controller:
        """One more process; it waits for a busy machine where a test has no way that is held up."""
        proxy = self.stack.enter_context(Proxy(self.server.port))
        self.proxies.append(proxy)
        storage = ValkeyStorage(proxy.url, namespace="test", principal="ann", timeout=timeout)
        store = self.stack.enter_context(Store(storage=storage))
        return self.stack.enter_context(Controller(store, base_url=self.upstream.url, timeout="10m", **options))


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    with made.stack:
        yield made


def text(process: Controller, id: str = "1") -> str | None:
    """What a process shows, without asking."""
    note = process.cached(notes.get, id=id)
    return None if note is None else str(note.text)


def change(process: Controller, id: str, text: str) -> None:
    process.fetch(notes.partial_update, {"id": id}, {"text": text})


def state(process: Controller) -> str:
    return str(process.store.storage_stats().state)


def test_outages_server_that_is_not_there_at_the_start_is_waited_for_three_times(house: House) -> None:
    """Reads go on without it; when it comes, what was read meanwhile is in it."""
    one = house.process(timeout=150)
    house.proxies[0].hold()
    begun = time.monotonic()
    for id in "123":
        assert one.read(notes.get, id=id).text == "first"
    stats = one.store.storage_stats()
    assert stats.state == "down"
    seconds = time.monotonic() - begun  # in each of which it may be asked again
    assert stats.errors["StorageDown"] <= 5 + 2 * seconds  # three of reads, and what tries to write
    asked = len(house.api.asked)
    house.proxies[0].cut()
    house.proxies[0].release()
    eventually(lambda: state(one) == "on" and one.store.flush(100))
    other = house.process()
    assert [other.read(notes.get, id=id).text for id in "123"] == ["first"] * 3
    assert len(house.api.asked) == asked == 3


def test_outages_server_that_is_restarted_empty_logs_no_one_out(house: House) -> None:
    """Everyone goes on, shows what was known, and hears of changes again; nothing is reset."""
    one, other = house.process(), house.process()
    one.read(notes.get, id="1")
    assert one.store.flush(PATIENCE * 1_000)
    other.read(notes.get, id="1")
    resets = one.store.resets, other.store.resets
    house.server.stop()
    assert text(one) == text(other) == "first"
    house.server.start()
    eventually(lambda: state(one) == state(other) == "on")
    change(one, "1", "second")
    eventually(lambda: one.store.flush(100))
    assert other.read(notes.get, id="1").text in ("first", "second")
    eventually(lambda: text(other) == "second")
    assert (one.store.resets, other.store.resets) == resets


def test_outages_what_was_emptied_is_filled_again(house: House) -> None:
    """After FLUSHALL processes find a new epoch, and share again."""
    one, other = house.process(), house.process()
    one.read(notes.get, id="1")
    assert one.store.flush(PATIENCE * 1_000)
    house.server.ask("FLUSHALL")
    change(one, "1", "second")
    eventually(lambda: one.store.flush(100))
    assert other.read(notes.get, id="1").text == "second"
    change(other, "1", "third")
    eventually(lambda: text(one) == "third")


def test_outages_after_a_partition_the_later_response_holds(house: House) -> None:
    """Who was cut off goes on alone; back again, what was asked for later is what all show."""
    one, cut_off = house.process(), house.process()
    for process in (one, cut_off):
        process.read(notes.get, id="1")
        process.read(notes.get, id="2")
    house.proxies[1].refuse()
    change(cut_off, "1", "by who was cut off")
    change(one, "1", "later, by the other")
    change(one, "2", "by the other")
    change(cut_off, "2", "later, by who was cut off")
    assert (text(cut_off, "1"), text(one, "2")) == ("by who was cut off", "by the other")
    house.proxies[1].allow()
    eventually(lambda: text(cut_off, "1") == "later, by the other" and text(one, "2") == "later, by who was cut off")
    eventually(lambda: one.store.flush(100) and cut_off.store.flush(100))
    assert (text(one, "1"), text(cut_off, "2")) == ("later, by the other", "later, by who was cut off")


def test_outage_is_logged_once_and_so_is_its_end(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """One line when the server goes, one when it is back; neither shows more than its address."""
    one = house.process()
    one.read(notes.get, id="1")
    assert one.store.flush(PATIENCE * 1_000)
    caplog.clear()
    house.proxies[0].refuse()
    for id in "2345":
        one.read(notes.get, id=id)
    eventually(lambda: state(one) == "down")
    house.proxies[0].allow()
    eventually(lambda: state(one) == "on")
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 2
    assert "does not respond" in told[0] and f":{house.proxies[0].port}" in told[0]
    assert "responds again" in told[1]


def test_outages_no_secret_of_a_client_reaches_the_server(house: House) -> None:
    """Neither tokens nor headers, nor what bears the name of a secret, in any command that the server is told."""
    marked = "m4rk3d-s3cr3t"
    told: list[str] = []
    with valkey.Valkey(port=house.server.port) as client, client.monitor() as monitor:
        headers = {"Authorization": f"Bearer {marked}", "X-Api-Key": marked, "Cookie": f"a={marked}"}
        one = house.process(client=house.stack.enter_context(httpx.Client(headers=headers)))
        one.read(notes.get, id="1")
        keyed: Any = create_resource(path="/notes/:id", schema=Note, search_params=("api_key",))
        one.read(keyed.get, id="2", api_key=marked)
        house.api.texts["3"] = "x"
        one.read(notes.get, id="3")
        assert one.store.flush(PATIENCE * 1_000)
        client.ping()
        for command in monitor.listen():
            told.append(str(command))
            if command["command"] == "PING":
                break
    assert any("notes" in line for line in told)
    assert not [line for line in told if marked in line or "ann" in line.split()]


def test_outages_many_threads_over_a_server_that_comes_and_goes(house: House) -> None:
    """No read raises for it, and each shows what the API says."""
    processes = [house.process() for _ in range(2)]
    failed: list[BaseException] = []

    def read(process: Controller) -> None:
        try:
            for at in range(25):
                assert process.read(notes.get, id=str(at)).text == "first"
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read, args=(process,)) for process in processes for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        for proxy in house.proxies:
            proxy.cut()
        time.sleep(0.05)
    for thread in threads:
        thread.join(PATIENCE)
    assert failed == []
