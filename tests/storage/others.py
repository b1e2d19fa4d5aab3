"""Another process over the same storage: what it was answered is stored at once; what a storage drops a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.storage.batches import batch
from tests.storages import PatientStore

from restencil import Controller, MemoryStorage
from restencil.storage import Entry
from restencil.testing import FakeClock


class Other:
    """Another process, which commits before a call of it ends."""

    def __init__(self, storage: MemoryStorage, clock: Callable[[], float], scheduler: FakeClock) -> None:
        self.storage = storage.another()
        self.storage.inline = True
        self.store = PatientStore(clock=clock, scheduler=scheduler, storage=self.storage)
        self.controller: Any = Controller(self.store, base_url="http://api.test")

    def answered(self, endpoint: Any, response: Any, /, *args: Any, **kwargs: Any) -> None:
        """A response arrives there."""
        self.controller.set_response(endpoint, response, *args, **kwargs)

    def drop(self, table: str, pk: str, **members: Any) -> None:
        """The storage has no room for a row, and lets it go."""
        entry = Entry(0, "", None, {}, {}, {table: [pk]}, [], False)
        assert self.storage.commit(batch(self.epoch, drop=[(table, pk)], entry=entry, **members)).number

    def put(self, table: str, pk: str, value: bytes, **members: Any) -> None:
        """Something else is stored in a row."""
        (row,) = self.storage.load([(table, pk)]).rows
        assert self.storage.commit(batch(self.epoch, row._replace(value=value), **members)).number

    @property
    def epoch(self) -> int:
        return self.storage.changes(0, 0).epoch

    def reset(self) -> None:
        """A user logs out there."""
        self.controller.reset_entire_store()
