"""A server of Valkey that fails, as who uses clients sees it: no call raises for it, and nothing wrong is shown."""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import valkey
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Arrived, Reply
from tests.storage.house import House, Note, change, notes, state, text
from tests.storage.servers import needs_server

from restencil import Controller, create_resource

pytestmark = needs_server


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


def test_outages_what_was_emptied_is_requested_without_its_etag() -> None:
    """A 304 would confirm what the storage has lost, and every read would ask again."""
    conditions: list[str | None] = []

    def answer(request: Arrived) -> Reply:
        condition = request.headers.get("if-none-match")
        conditions.append(condition)
        note = {"id": "1", "text": "first"}
        content = json.dumps(note if request.target == "/notes/1" else [note]).encode()
        return Reply(200 if condition is None else 304, b"" if condition else content, {"ETag": '"a"'})

    house = House(api=answer)
    with house.stack:
        one, other = house.process(), house.process()
        one.fetch(notes.get_list)
        one.fetch(notes.get, id="1")
        assert one.store.flush(PATIENCE * 1_000)
        house.server.ask("FLUSHALL")
        eventually(lambda: one.store.storage_stats().breaks > 0)
        one.fetch(notes.get_list)
        one.fetch(notes.get, id="1")
        assert one.store.flush(PATIENCE * 1_000)
        assert conditions == [None] * 4
        for process in (one, other):
            assert process.read(notes.get_list) == [process.read(notes.get, id="1")]
        assert len(conditions) == 4


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

    def read(process: Controller) -> set[str]:
        return {process.read(notes.get, id=str(at)).text for at in range(25)}

    with ThreadPoolExecutor(4) as threads:
        found = threads.map(read, processes * 2)
        for _ in range(5):
            for proxy in house.proxies:
                proxy.cut()
            time.sleep(0.05)
        assert list(found) == [{"first"}] * 4
