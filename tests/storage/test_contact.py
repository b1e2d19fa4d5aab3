"""After a time without contact that is longer than a lease, memory counts as stale until it was compared."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE, eventually
from tests.storage.servers import needs_server
from tests.storage.test_outages import House, change, notes, text


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    with made.stack:
        yield made


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


PROGRAM = """
import sys
from restencil import Controller, SQLiteStorage, Store
from tests.storage.test_outages import notes

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
