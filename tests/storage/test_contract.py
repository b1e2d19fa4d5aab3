"""What each of the three storages keeps: the rules that `check_storage` has for any storage, and some more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.storage.batches import batch, row
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import sqlite_storage, valkey_storage

from restencil import MemoryStorage, Storage, StorageDown, StorageOff
from restencil.storage import Batch, Changes, Entry, Loaded, Opened, Outcome, Page, TableInfo
from restencil.storage.entries import entry_from_json
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


# -- memory


def opened_memory(storage: MemoryStorage | None = None, now: float = 0) -> MemoryStorage:
    """A storage that was opened at a place, at a time."""
    storage = storage or MemoryStorage()
    storage.open("https://api.test", lambda: now)
    return storage


def test_memory_reader_that_the_log_does_not_reach_back_to_is_reported() -> None:
    """Entries in between that are gone, and numbers that were never given, are lost history."""
    storage = opened_memory(MemoryStorage(history=2))
    for pk in "123":
        storage.commit(batch(1, row(pk)))
    assert [entry.number for entry in storage.changes(1, 0).entries] == [2, 3]
    assert storage.changes(0, 0).lost and storage.changes(4, 0).lost and not storage.changes(3, 0).lost


def test_memory_what_was_not_used_goes_and_is_logged() -> None:
    """`trim` drops what was not used for `max_age`, with an entry of nobody, and its table is not whole any more."""
    storage = opened_memory(MemoryStorage(max_age=1_000))
    storage.commit(batch(1, row("1"), row("2"), row("3", value=None), listed=["A"]))
    opened_memory(storage, 1_000).commit(batch(1, used=[("A", "2")]))
    assert opened_memory(storage, 1_500).trim() == 1
    assert [held.pk for held in storage.load([("A", "1"), ("A", "2"), ("A", "3")]).rows] == ["2", "3"]
    assert storage.changes(1, 0).entries == [Entry(2, "", None, {}, {}, {"A": ["1"]}, [], False)]
    assert storage.load([], (), (), ["A"]).tables == {"A": TableInfo(4, True)}
    assert opened_memory(storage, 3_600_001).trim() == 2


def test_memory_storage_for_reading_rejects_commits() -> None:
    """What is not writable says so."""
    storage = opened_memory()
    storage.writable = False
    with pytest.raises(StorageOff, match="is read-only"):
        storage.commit(batch(1, row("1")))


# -- entries


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nonsense", b'{"changed":[1]}', b'{"keys":[1]}', b'{"changed":{"A":"1"}}', b'{"times":[1]}']
)
def test_entries_what_is_no_entry_says_everything(text: bytes) -> None:
    """Where a log holds nonsense, all is in doubt, and nothing raises."""
    assert entry_from_json(3, "w", text).everything


# -- check storage


class Wrong(MemoryStorage):
    """A storage of which one method is another; `another()` gives one like it."""

    method = ""
    instead: Callable[..., Any]

    def __getattribute__(self, name: str) -> Any:
        cls: Any = type(self)
        if name != cls.method:
            return super().__getattribute__(name)
        right = super().__getattribute__(name)
        return lambda *args: cls.instead(right, *args)


def _forgets_tables(
    right: Any, cells: Any, keys: Any = (), index: Any = (), tables: Any = (), marks: Any = ()
) -> Loaded:
    found: Loaded = right(cells, keys, index, tables, marks)
    return found._replace(tables={})


def _starts_at_zero(right: Any, place: str, now: Any) -> Opened:
    found: Opened = right(place, now)
    return found._replace(epoch=0)


def _ignores_revs(right: Any, batch: Batch) -> Outcome:
    outcome: Outcome = right(batch)
    if outcome.moved is None:
        return outcome
    revs = {(row.table, row.pk): row.rev for row in outcome.moved.rows}
    rows = [row._replace(rev=revs.get((row.table, row.pk), row.rev)) for row in batch.rows]
    found: Outcome = right(batch._replace(rows=rows, tables={}))
    return found


def _forgets_the_entry(right: Any, after: int, wait: float) -> Changes:
    found: Changes = right(after, wait)
    return found._replace(entries=[entry for entry in found.entries if entry.writer != "you"])


def _scans_by_name(right: Any, table: str | None, after: str | None, limit: int) -> Page:
    found: Page = right(table, after, limit)
    return Page(sorted(found.items), found.next)


def _always_grants(right: Any, name: str, owner: str, length: float) -> bool:
    return True


def _keeps_all(right: Any) -> int:
    return 1


WRONG: Sequence[tuple[str, Callable[..., Any], str]] = [
    ("load", _forgets_tables, "a table with a row has version 0"),
    ("open", _starts_at_zero, "has an epoch from 1 on"),
    ("commit", _ignores_revs, "A row of another rev moves the whole batch"),
    ("changes", _forgets_the_entry, "Each commit is in the log with its entry"),
    ("scan", _scans_by_name, "come page by page by arrival"),
    ("lease", _always_grants, r"A lease has one owner.*But another owner: expected False, found True"),
    ("reset", _keeps_all, "A reset begins a new, empty epoch"),
]


@pytest.mark.parametrize(("method", "instead", "text"), WRONG)
def test_check_storage_broken_rule_is_named(method: str, instead: Callable[..., Any], text: str) -> None:
    """The error has the rule, what was expected and what was found."""
    kind: Any = type("Broken", (Wrong,), {"method": method, "instead": staticmethod(instead)})
    first = kind()

    def make() -> MemoryStorage:
        made: MemoryStorage = kind()
        made.__dict__["_places"] = first.__dict__["_places"]
        return made

    with pytest.raises(AssertionError, match=text):
        check_storage(make)
