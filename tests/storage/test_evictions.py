"""A server of Valkey that takes out what it likes, or loses all: no call raises for it, and nothing wrong is shown."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply
from tests.storage.house import House
from tests.storage.servers import needs_server

from restencil import Controller, Entity, create_resource

pytestmark = needs_server

SIZE = 200
"""So many notes there are."""


class Note(Entity):
    """What is read and changed; its version grows with each change."""

    id: str = ""
    version: int = 0
    text: str = ""


# As in a generated package: a response that overlaps with a change is stale. Without `strict` it may stay, where the
# server lost the newer row.
notes: Any = create_resource(path="/notes/:id", schema=Note, data_expiry_length="10m", strict=True)


class Api:
    """Keeps notes of two kilobytes, each with a version."""

    def __init__(self) -> None:
        self.versions = {str(id): 1 for id in range(SIZE)}
        self._lock = threading.Lock()

    def __call__(self, request: Arrived) -> Reply:
        id = request.target.partition("?")[0].rpartition("/")[2]
        with self._lock:
            if request.method == "PATCH":
                self.versions[id] += 1
            found: Any = [self._note(id) for id in self.versions] if id == "notes" else self._note(id)
        return Reply(body=json.dumps(found).encode())

    def _note(self, id: str) -> dict[str, Any]:
        return {"id": id, "version": self.versions[id], "text": f"{id} " * 700}


class User:
    """A process that reads and changes notes, and checks that all it is shown was answered so, and none is missing.

    An older version may follow a newer one: what a server has lost is not there to keep a late answer out.
    """

    def __init__(self, api: Api, process: Controller, seed: int) -> None:
        self.process = process
        self.wrong: list[str] = []
        self._api = api
        self._random = random.Random(seed)

    def run(self, turns: int) -> None:
        """Does something at random so often."""
        for _ in range(turns):
            self._random.choice([self._read, self._read, self._list, self._change, self._look])()

    def _read(self) -> None:
        id = self._id()
        self._shown(id, self.process.read(notes.get, id=id))

    def _list(self) -> None:
        found = self.process.read(notes.get_list)
        if [note.id for note in found] != [*self._api.versions]:
            self.wrong.append(f"a list of {[note.id for note in found]}")
        for note in found:
            self._shown(note.id, note)

    def _change(self) -> None:
        id = self._id()
        self._shown(id, self.process.fetch(notes.partial_update, {"id": id}, {}))

    def _look(self) -> None:
        id = self._id()
        found = self.process.cached(notes.get, id=id)
        if found is not None:
            self._shown(id, found)

    def _id(self) -> str:
        return str(self._random.randrange(SIZE))

    def _shown(self, id: str, note: Any) -> None:
        if note.id != id or note.text != f"{id} " * 700 or note.version > self._api.versions[id]:
            self.wrong.append(f"under {id}: {note.id} {note.version}, the API has {self._api.versions[id]}")


class Users(House):
    """Users over one API and one server."""

    def __init__(self, *settings: str) -> None:
        super().__init__(*settings, api=Api())
        self.users = [User(self.api, self.process(timeout=2_000, max_entities=100), seed) for seed in range(3)]

    def run(self, turns: int, meanwhile: Callable[[], object]) -> None:
        """All of them at once, and something that happens to the server meanwhile, again and again."""
        with ThreadPoolExecutor(len(self.users)) as threads:
            runs = [threads.submit(user.run, turns) for user in self.users]
            while not all(run.done() for run in runs):
                meanwhile()
        assert [run.exception() for run in runs] == [None] * len(runs)
        assert [wrong for user in self.users for wrong in user.wrong] == []

    def all_agree(self) -> None:
        """When all is quiet each shows what the API has, or asks for it."""
        end = time.monotonic() + PATIENCE
        while not all(user.process.store.flush(100) for user in self.users):
            assert time.monotonic() < end
        while self._differences():
            assert time.monotonic() < end, self._differences()
            time.sleep(0.05)

    def _differences(self) -> list[str]:
        return [
            f"{at}: {note.id} {note.version} instead of {self.api.versions[note.id]}"
            for at, user in enumerate(self.users)
            for note in user.process.read(notes.get_list)
            if note.version != self.api.versions[note.id]
        ]

    def changes_are_heard(self) -> None:
        """What one changes the others show, unasked."""
        one, *others = self.users
        for user in self.users:
            user.process.read(notes.get, id="1")
        version = one.process.fetch(notes.partial_update, {"id": "1"}, {}).version
        end = time.monotonic() + PATIENCE
        while any(getattr(user.process.cached(notes.get, id="1"), "version", None) != version for user in others):
            assert time.monotonic() < end
            time.sleep(0.01)

    def drop_a_key(self) -> None:
        """The server loses a key of whatever kind."""
        found = self.server.ask("RANDOMKEY")
        if found is not None:
            self.server.ask("DEL", found)

    def restart(self) -> None:
        """The server ends, keeps nothing, and is back at once."""
        time.sleep(0.5)
        self.server.restart()
        time.sleep(1.5)


@pytest.fixture
def house() -> Iterator[Users]:
    """Three users over a server of which nothing is asked."""
    made = Users()
    with made.stack:
        yield made


@pytest.mark.parametrize("turns", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_evictions_server_may_lose_any_key_at_any_time(house: Users, turns: int) -> None:
    """Rows, results, what lists them, the log, the number of the epoch: whatever is gone is asked for again."""
    house.run(turns, house.drop_a_key)
    house.all_agree()
    house.changes_are_heard()


@pytest.mark.slow
def test_evictions_server_that_evicts_whatever_was_not_used_for_long() -> None:
    """With two megabytes and `allkeys-lru` there is room for a part of what is stored: nothing wrong is shown."""
    house = Users("--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru")
    with house.stack:
        house.run(150, lambda: time.sleep(0.05))
        evicted = house.server.ask("INFO", "stats")["evicted_keys"]
        house.all_agree()
    assert evicted > 100


@pytest.mark.slow
def test_evictions_server_that_loses_all_in_the_middle_of_work(house: Users) -> None:
    """After `SHUTDOWN NOSAVE` and a start all go on, nobody is logged out, and they share again."""
    resets = [user.process.store.resets for user in house.users]
    house.run(600, house.restart)
    house.all_agree()
    house.changes_are_heard()
    assert [user.process.store.resets for user in house.users] == resets
