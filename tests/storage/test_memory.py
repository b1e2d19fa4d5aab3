"""The storage in plain dicts: its bounds, and a storage for reading."""

from __future__ import annotations

import pytest
from tests.storage.batches import batch, row

from restencil import MemoryStorage, StorageOff
from restencil.storage import Entry, TableInfo


def opened(storage: MemoryStorage | None = None, now: float = 0) -> MemoryStorage:
    """A storage that was opened at a place, at a time."""
    storage = storage or MemoryStorage()
    storage.open("https://api.test", lambda: now)
    return storage


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
    with pytest.raises(StorageOff, match="is read-only"):
        storage.commit(batch(1, row("1")))
