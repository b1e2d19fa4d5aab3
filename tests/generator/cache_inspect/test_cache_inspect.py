"""A look into storages from outside: what is there, and that looking changes nothing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.storage.batches import batch, result, row
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import sqlite_storage, valkey_storage

from restencil import StorageCorrupt, StorageDown, StorageOff
from restencil.base.values import Meta
from restencil_generator.cache_inspect import StoredNamespace, StoredTable, namespaces

PLACE = "https://api.test"


def now() -> float:
    return time.time() * 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what one principal has."""
    with closing(sqlite_storage(tmp_path / "cache", principal="a")) as storage:
        epoch = storage.open(PLACE, now).epoch
        rows = [row(str(n), value=b"[%d]" % n, times=Meta(n, n, n)) for n in range(1, 1203)]
        storage.commit(batch(epoch, *rows, row("gone", value=None)))
        storage.commit(batch(epoch, row("1", table="[A]"), results=[result(f"k{n:04}") for n in range(700)]))
        storage.lease("l", "me", 60_000)
    return tmp_path / "cache"


@pytest.fixture
def namespace(folder: Path) -> StoredNamespace:
    (namespace,) = namespaces(folder)
    return namespace


def test_cache_inspect_rows_and_results_are_read_one_by_one_or_all(namespace: StoredNamespace) -> None:
    """Rows by arrival, results by key, each with its last use."""
    with closing(namespace):
        assert [held.pk for held, _ in namespace.rows("A")] == [*map(str, range(1, 1203)), "gone"]
        assert [held.key for held, _ in namespace.results()] == [f"k{n:04}" for n in range(700)]
        assert list(namespace.rows("unknown")) == []
        found, one = namespace.row("A", "7"), namespace.result("k0007")
        assert found is not None and (found[0].value, found[0].rev) == (b"[7]", 1)
        assert one is not None and (one[0].value, one[0].rev) == (b"[]", 2)
        assert 0 <= now() - one[1] < 3_700_000
        assert namespace.row("A", "0") is None and namespace.row("B", "1") is None and namespace.result("k") is None
        assert namespace.damage() == []


def test_cache_inspect_looking_changes_nothing(folder: Path) -> None:
    """Neither bytes nor files, also of an epoch that a reset left empty and of a format that is newer."""

    def state() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def look() -> None:
        for namespace in namespaces(folder):
            with closing(namespace):
                namespace.summary()
                assert namespace.row("A", "1") is not None or not namespace.summary().last
                list(namespace.results())

    before = state()
    look()
    assert state() == before
    with closing(sqlite_storage(folder, principal="a")) as storage:
        storage.open(PLACE, now)
        storage.reset()
    before = state()
    assert b"" in before.values()
    look()
    assert state() == before
    (file,) = folder.glob("*/*.db")
    with closing(sqlite3.connect(file)) as newer:
        newer.execute("CREATE TABLE t (x)")
        newer.execute(f"PRAGMA application_id = {0x52535443}")
        newer.execute("PRAGMA user_version = 9")
    before = state()
    with pytest.raises(StorageOff, match="has format 9, but this version of restencil supports 3"):
        look()
    assert state() == before


def test_cache_inspect_read_while_somebody_writes(folder: Path, namespace: StoredNamespace) -> None:
    """Each look is of one moment, and holds nobody up."""
    with closing(sqlite_storage(folder, principal="a")) as storage, closing(namespace):
        epoch = storage.open(PLACE, now).epoch
        assert namespace.summary().last == 2
        assert storage.commit(batch(epoch, row("new"))).number == 3
        assert namespace.summary().last == 3


def test_cache_inspect_damaged_file_is_reported(folder: Path, namespace: StoredNamespace) -> None:
    """What SQLite finds wrong is told, and what is no database raises; nothing is moved."""
    (file,) = folder.glob("*/*.db")
    whole = file.read_bytes()
    file.write_bytes(whole[: 20 * 4096] + b"\xff" * 4096 + whole[21 * 4096 :])
    with closing(namespace):
        assert namespace.damage() != []
    file.write_bytes(b"nonsense" * 1000)
    with closing(namespace):
        with pytest.raises(StorageCorrupt, match="is damaged"):
            namespace.summary()
        assert "is damaged" in namespace.damage()[0]
    assert file.exists()


@needs_server
def test_cache_inspect_server_is_looked_into_as_a_folder_is() -> None:
    """By its URL: places, tables, rows, results, leases, the log; looking changes nothing, a reset is one for all."""
    with ValkeyServer() as server, closing(valkey_storage(server.url, namespace="n", principal="a")) as storage:
        epoch = storage.open(PLACE, now).epoch
        rows = [row(str(n), value=b"[%d]" % n, times=Meta(n, n, n)) for n in range(1, 703)]
        storage.commit(batch(epoch, *rows, row("gone", value=None), results=[result("k")]))
        storage.lease("l", "me", 60_000)
        before = server.ask("DBSIZE")
        (space,) = namespaces(server.url)
        with closing(space):
            summary = space.summary()
            size = sum(len(b"[%d]" % n) for n in range(1, 703))
            assert (summary.place, summary.epoch, summary.results) == (PLACE, epoch, 1)
            assert summary.tables == [StoredTable("A", 702, 1, size, 1.0, 2000.0, True)]
            assert [(lease.name, lease.owner) for lease in summary.leases] == [("l", "me")]
            assert 1 == summary.first <= summary.last
            assert summary.committed is not None and abs(summary.committed - now()) < 20_000
            assert [held.pk for held, _ in space.rows("A")] == [*map(str, range(1, 703)), "gone"]
            found, one = space.row("A", "7"), space.result("k")
            assert found is not None and found[0].value == b"[7]" and 0 <= now() - found[1] < 3_700_000
            assert one is not None and one[0].value == b"[]" and [held.key for held, _ in space.results()] == ["k"]
            assert space.row("A", "0") is None and space.result("j") is None and space.damage() == []
            assert server.ask("DBSIZE") == before
            later = space.reset()
            assert (space.summary().last, space.summary().place) == (0, PLACE)
        assert storage.changes(1, 0)[:2] == (later, later)
        assert storage.load([("A", "1")]).rows == []


def test_cache_inspect_server_that_is_not_there_is_reported() -> None:
    """And a URL of something else."""
    with pytest.raises(StorageDown, match=r"the server at valkey://127\.0\.0\.1:1.* does not respond"):
        namespaces("valkey://user:secret@127.0.0.1:1")
    with pytest.raises(ValueError, match="url has no address of a server"):
        namespaces("https://api.test")
