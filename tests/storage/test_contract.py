"""What each of the three storages keeps: the rules that `check_storage` has for any storage, and some more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.storage.batches import batch, row
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import sqlite_storage, valkey_storage

from restencil import MemoryStorage, Storage, StorageDown
from restencil.testing import check_storage

PLACE = "https://api.test"

Make: TypeAlias = Callable[[], Storage]


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    """A server for the tests of this file."""
    with ValkeyServer() as running:
        yield running


@pytest.fixture(params=["memory", "sqlite", pytest.param("valkey", marks=needs_server)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes storages over the same data, which are closed in the end."""
    match request.param:
        case "memory":
            made: Make = MemoryStorage().another
        case "sqlite":
            made = lambda: sqlite_storage(tmp_path / "cache")  # noqa: E731 - one of three
        case _:
            url = request.getfixturevalue("server").url
            made = lambda: valkey_storage(url, namespace=tmp_path.name)  # noqa: E731
    with ExitStack() as stack:

        def another() -> Storage:
            storage = made()
            stack.callback(storage.close)
            return storage

        yield another


def opened(make: Make) -> Storage:
    """One more storage, opened at the place."""
    storage = make()
    storage.open(PLACE, lambda: time.time() * 1_000)
    return storage


def epoch_of(storage: Storage) -> int:
    return storage.changes(0, 0).epoch


def test_contract_every_rule_of_storages_holds(make: Make) -> None:
    """`check_storage` finds nothing; what it raises names the rule."""
    check_storage(make)


def test_contract_protocol_is_met_at_run_time(make: Make) -> None:
    """It is a `Storage` for `isinstance`."""
    assert isinstance(make(), Storage)


def test_contract_no_call_works_before_open(make: Make) -> None:
    """Without a place there is no namespace."""
    with pytest.raises(StorageDown, match="was not opened"):
        make().load([])


def test_contract_load_takes_at_most_5_000_places(make: Make) -> None:
    """One more is a ValueError, whatever kinds of places they are."""
    storage = opened(make)
    cells = [("A", str(at)) for at in range(5_000)]
    with pytest.raises(ValueError, match=r"5,001 places were requested at once; at most 5,000"):
        storage.load(cells, ["GET /a"])


def test_contract_names_with_colons_are_kept_apart(make: Make) -> None:
    """A table `a:b` with a key `c` and a table `a` with a key `b:c` are two cells."""
    storage = opened(make)
    storage.commit(batch(epoch_of(storage), row("c", table="a:b")))
    assert storage.load([("a", "b:c"), ("a%3Ab", "c")]).rows == []


@pytest.mark.parametrize("pks", [["", "1", "01", "1.0", "\n", "a'b", "-", "+1"]])
def test_contract_keys_that_look_like_numbers_stay_strings(make: Make, pks: list[str]) -> None:
    """Primary keys and values of the index are any text, each another one."""
    storage = opened(make)
    index: Any = {("A", "slug", pk): pk for pk in pks}
    storage.commit(batch(epoch_of(storage), *(row(pk) for pk in pks), index=index))
    found = storage.load([("A", pk) for pk in pks], (), list(index))
    assert ([held.pk for held in found.rows], found.index) == (pks, index)
    assert storage.scan("A", None, 10).items == pks
