"""A change through a view with a header of its own, over a storage: other processes on it see that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import PatientStore, sqlite_storage, valkey_storage

from restencil import Controller, Entity, Resource, Storage, rest
from restencil.endpoint.typing import ControllerType


class Note(Entity):
    """What is read and changed."""

    id: int = 0
    title: str = ""


class Notes(Resource[ControllerType], path="/notes/:id", schema=Note, strict=True, data_expiry_length="1h"):
    """Notes, which count as fresh for an hour."""

    @rest()
    def get(self, *, id: int) -> Note:
        raise NotImplementedError

    @rest()
    def get_list(self) -> list[Note]:
        raise NotImplementedError

    @rest()
    def partial_update(self, *, id: int, body: dict[str, str]) -> Note:
        raise NotImplementedError


class Api:
    """A server with one note."""

    def __init__(self) -> None:
        self.title = "old"

    def __call__(self, request: Arrived) -> Reply:
        if request.method == "PATCH":
            self.title = json.loads(request.body)["title"]
        note = {"id": 1, "title": self.title}
        return Reply(body=json.dumps([note] if request.target == "/notes" else note).encode())


@pytest.fixture(params=["sqlite", pytest.param("valkey", marks=needs_server)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The folder or the URL of a storage."""
    if request.param == "sqlite":
        yield str(tmp_path / "cache")
    else:
        with ValkeyServer() as server:
            yield server.url


def opened(place: str, url: str) -> Controller:
    """A client over the storage at a place."""
    storage: Storage = valkey_storage(place) if place.startswith("valkey:") else sqlite_storage(place)
    return Controller(PatientStore(storage=storage), base_url=url)


@pytest.mark.parametrize("is_open_before", [True, False], ids=["open store", "store opened later"])
def test_partition_changes_are_seen_by_other_processes(place: str, is_open_before: bool) -> None:
    """The view has no storage, and what it changed is stale in the storage of its client, for every process."""
    with Server(Api()) as server:
        with opened(place, server.url) as first:
            assert [note.title for note in Notes(first).get_list()] == ["old"]
            first.store.close()
        second = opened(place, server.url)
        if is_open_before:
            assert Notes(second).get(id=1).title == "old"
            assert len(server.arrived) == 1
        command = [sys.executable, "-m", "tests.storage.test_partition_changes", place, server.url]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
        with second:
            eventually(lambda: Notes(second).get(id=1).title == "new")
            eventually(lambda: [note.title for note in Notes(second).get_list()] == ["new"])
            second.store.close()


if __name__ == "__main__":  # the other process
    with opened(*sys.argv[1:]) as client:
        assert Notes(client).get(id=1).title == "old"
        view = client.with_options(headers={"Accept-Language": "de"})
        assert Notes(view).partial_update(id=1, body={"title": "new"}).title == "new"
        client.store.close()
