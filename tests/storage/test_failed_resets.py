"""A reset that cannot be written is an error that the caller sees, and no later store shows what was logged out."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, python
from tests.storage.proxy import Proxy
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import PatientStore, sqlite_storage, valkey_storage

from restencil import AsyncController, Controller, Entity, StorageError, Store, create_resource

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes of folders and limits of descriptors are POSIX's")


class Item(Entity):
    """What is stored."""

    id: int = 0


items: Any = create_resource(path="/items/:id", schema=Item, data_expiry_length="10m")

PROGRAM = """
import json, logging, os, resource, sys
from pathlib import Path
from restencil import Controller, Entity, SQLiteStorage, StorageError, Store, create_resource

class Item(Entity):
    id: int = 0

items = create_resource(path="/items/:id", schema=Item, data_expiry_length="10m")
top = Path(sys.argv[1])
with Store(storage=SQLiteStorage(top / "warm", principal=None, timeout=300_000, write_behind=0)) as warm:
    Controller(warm).set_response(items.get, {"id": 1}, {"id": 1})  # what is imported late is imported now
    warm.storage_stats()
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # modes say nothing to root


def shown(store):
    reader = Controller(store)
    return sum(reader.cached(items.get, {"id": id}) is not None for id in range(40))


def tried(how):
    folder = top / how

    def opened():
        return Store(storage=SQLiteStorage(folder, principal=None, timeout=300_000, write_behind=0))

    store = opened()
    controller = Controller(store)
    for id in range(40):
        controller.set_response(items.get, {"id": id}, {"id": id})
    inner = next(folder.iterdir())
    other = opened() if how == "other" else None
    if how in ("inner", "other"):
        inner.chmod(0o500)
    elif how == "both":
        inner.chmod(0o500)
        folder.chmod(0o500)
    elif how == "closed":
        store.storage_stats()
        inner.chmod(0o500)
    elif how == "descriptors":
        low = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
        usual = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, usual[1]))
        held = []
        try:
            while True:
                held.append(os.dup(0))
        except OSError:
            pass
    try:
        controller.reset_entire_store()
        said = "no error"
    except StorageError as error:
        said = f"error {error}"
    if how == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        for descriptor in held:
            os.close(descriptor)
    counts = [shown(store)]
    inner.chmod(0o700)
    folder.chmod(0o700)
    with opened() as later:
        counts.append(shown(later))
        Controller(later).set_response(items.get, {"id": 1}, {"id": 1})
        later.flush(300_000)
    with opened() as last:
        # a busy machine may take long to read
        counts.append(next((count for _ in range(100) if (count := shown(last))), 0))
    return [said, *counts]


print(json.dumps({how: tried(how) for how in sys.argv[2:]}))
"""


@posix
def test_failed_resets_reset_in_read_only_folder_raises_and_is_noted() -> None:
    """The caller is told where it was noted; no store shows what was there, and the next one stores again.

    A process that has no descriptor left can log out all the same.
    """
    ways = ["inner", "both", "closed", "other", "descriptors"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        done = python("-c", PROGRAM, folder, *ways)
        for path in Path(folder).rglob("*/"):
            path.chmod(0o700)
    assert done.returncode == 0, done.stderr
    for how, (said, *shown) in json.loads(done.stdout).items():
        if how == "descriptors":
            assert said == "no error"
        else:
            assert said.startswith("error the reset could not be written ("), how
            assert "was noted in" in said
        assert shown == [0, 0, 1], how


def test_failed_resets_reset_outruns_a_file_with_18_digits(tmp_path: Path) -> None:
    """A name that no clock gives is no epoch."""
    store = PatientStore(storage=sqlite_storage(tmp_path, write_behind=0))
    controller = Controller(store)
    controller.set_response(items.get, {"id": 1}, {"id": 1})
    (inner,) = (path for path in tmp_path.iterdir() if path.is_dir())
    (inner / "999999999999999999.db").touch(0o600)
    controller.reset_entire_store()
    store.close()
    with PatientStore(storage=sqlite_storage(tmp_path)) as later:
        reader = Controller(later)
        assert reader.cached(items.get, {"id": 1}) is None
        reader.set_response(items.get, {"id": 2}, {"id": 2})
    with PatientStore(storage=sqlite_storage(tmp_path)) as last:
        found = Controller(last).cached(items.get, {"id": 2})
        assert found is not None and found.id == 2


def test_failed_resets_reset_where_nothing_can_be_stored_is_no_error(tmp_path: Path) -> None:
    """There is nothing to log out of."""
    (tmp_path / "file").touch()
    with PatientStore(storage=sqlite_storage(tmp_path / "file", write_behind=0)) as store:
        Controller(store).reset_entire_store()


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


@needs_server
def test_failed_resets_reset_while_server_is_away_raises_and_is_tried_again(server: ValkeyServer) -> None:
    """The caller is told; once the server answers, nobody sees what was there."""
    with Proxy(server.port) as proxy:

        def opened(url: str) -> Store:
            return PatientStore(storage=valkey_storage(url))

        with opened(proxy.url) as store:
            controller = Controller(store)
            controller.set_response(items.get, {"id": 1}, {"id": 1})
            assert store.flush(PATIENCE * 1_000)
            proxy.refuse()
            with pytest.raises(StorageError, match=f":{proxy.port}.* does not respond"):
                controller.reset_entire_store()
            assert controller.cached(items.get, {"id": 1}) is None
            proxy.allow()
            assert store.flush(PATIENCE * 1_000)
        with opened(server.url) as later:
            assert later.storage_stats().rows == 0


@needs_server
async def test_failed_resets_reset_in_a_loop_never_waits_for_the_server(server: ValkeyServer) -> None:
    """Where the server is known to be away the caller is told at once."""
    with Proxy(server.port) as proxy:
        store = PatientStore(storage=valkey_storage(proxy.url))
        async with store, AsyncController(store) as controller:
            controller.set_response(items.get, {"id": 1}, {"id": 1})
            assert store.flush(PATIENCE * 1_000)
            proxy.hold()
            controller.reset_entire_store()
            assert not store.flush(1_500)
            with pytest.raises(StorageError, match="is not written yet"):
                controller.reset_entire_store()
            proxy.release()
            proxy.cut()
            assert store.flush(PATIENCE * 1_000)
