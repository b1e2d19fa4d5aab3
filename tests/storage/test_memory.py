"""The storage in plain dicts: two doors to the same data, which is as the rules of the protocol say."""

from __future__ import annotations

import pytest
from tests.storage.batches import batch, row

from restencil import MemoryStorage, Storage, StorageOff
from restencil.base.values import Meta
from restencil.storage import Entry, Loaded, StoredResult, TableInfo
from restencil.testing import check_storage


def opened(storage: MemoryStorage | None = None, now: float = 0) -> MemoryStorage:
    """A storage that was opened at a place, at a time."""
    storage = storage or MemoryStorage()
    storage.open("https://api.test", lambda: now)
    return storage


def test_memory_has_all_rules_of_the_protocol() -> None:
    """`check_storage` finds nothing."""
    check_storage(MemoryStorage().another)


def test_memory_is_a_storage() -> None:
    """The protocol is met, as seen at run time."""
    assert isinstance(MemoryStorage(), Storage)


def test_memory_another_door_leads_to_the_same_data() -> None:
    """Storages that were made from one see what each of them commits, at the same place only."""
    first = opened()
    second = opened(first.another())
    elsewhere = first.another()
    elsewhere.open("https://staging.test", lambda: 0)
    assert first.commit(batch(1, row("1"))).number == 1
    assert [held.pk for held in second.load([("A", "1")]).rows] == ["1"]
    assert elsewhere.load([("A", "1")]).rows == []


def test_memory_row_of_another_rev_moves_the_whole_batch() -> None:
    """Nothing of a batch is written when one row is not as it says; what is there comes back, absent rows as rev 0."""
    storage = opened()
    storage.commit(batch(1, row("1")))
    outcome = storage.commit(batch(1, row("1", value=b"[]"), row("2", rev=7), row("3")))
    there = row("1")._replace(rev=1, born=1)
    assert outcome.moved == Loaded(1, 1, [there, row("2", value=None)], [], {}, {})
    assert storage.load([("A", "3")]).rows == []


def test_memory_table_of_another_version_moves_the_whole_batch() -> None:
    """What was made from the rows of a table is refused when a row came in or went."""
    storage = opened()
    storage.commit(batch(1, row("1")))
    outcome = storage.commit(batch(1, row("2"), tables={"A": 0}))
    assert outcome.moved is not None and outcome.moved.tables == {"A": TableInfo(1, False)}
    assert storage.commit(batch(1, row("2"), tables={"A": 1})).number == 2


def test_memory_commit_of_an_older_epoch_is_rejected() -> None:
    """After a reset there is nothing, and what was made before is never written."""
    storage = opened()
    storage.commit(batch(1, row("1")))
    assert storage.reset() == 2
    assert storage.commit(batch(1, row("2"))) == (0, 2, None)
    assert storage.load([("A", "1"), ("A", "2")]).rows == []
    assert storage.changes(0, 0) == (2, 2, 0, [], False)


def test_memory_younger_result_stays() -> None:
    """Of results the later date wins, and the same date replaces."""
    storage = opened()

    def result(date: float, value: bytes) -> StoredResult:
        return StoredResult("GET /a", 0, Meta(0, date, 9), "f", False, value)

    for date, value in ((2, b"2"), (1, b"1"), (2, b"3")):
        storage.commit(batch(1, results=[result(date, value)]))
    assert storage.load([], ["GET /a"]).results == [result(2, b"3")._replace(rev=3)]


def test_memory_reader_that_the_log_does_not_reach_back_to_is_reported() -> None:
    """Entries in between that are gone, and numbers that were never given, are lost history."""
    storage = opened(MemoryStorage(history=2))
    for pk in "123":
        storage.commit(batch(1, row(pk)))
    assert [entry.number for entry in storage.changes(1, 0).entries] == [2, 3]
    assert storage.changes(0, 0).lost and storage.changes(4, 0).lost and not storage.changes(3, 0).lost


def test_memory_what_was_not_used_goes_and_is_logged() -> None:
    """`trim` drops what was not used for `max_age`, with an entry of nobody, and its table is not whole any more."""
    storage = opened(MemoryStorage(max_age=1_000))
    storage.commit(batch(1, row("1"), row("2"), row("3", value=None), listed=["A"]))
    opened(storage, 1_000).commit(batch(1, used=[("A", "2")]))
    assert opened(storage, 1_500).trim() == 1
    assert [held.pk for held in storage.load([("A", "1"), ("A", "2"), ("A", "3")]).rows] == ["2", "3"]
    assert storage.changes(1, 0).entries == [Entry(2, "", None, {}, {}, {"A": ["1"]}, [], False)]
    assert storage.load([], (), (), ["A"]).tables == {"A": TableInfo(4, True)}
    assert opened(storage, 3_600_001).trim() == 2


def test_memory_storage_for_reading_rejects_commits() -> None:
    """What is not writable says so."""
    storage = opened()
    storage.writable = False
    with pytest.raises(StorageOff, match="for reading only"):
        storage.commit(batch(1, row("1")))
