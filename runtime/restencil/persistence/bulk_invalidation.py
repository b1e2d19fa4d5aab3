"""Bulk invalidation: expires or invalidates all stored results whose keys pass a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.values import Meta
from ..storage.protocol import Batch, Entry

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..storage.protocol import StoredResult
    from .connection import StorageConnection
    from .pending_write import BulkInvalidation, PendingWrite


class BulkInvalidator:
    """Expires or invalidates stored results by a test of their keys, except results received later."""

    def __init__(self, store_state: StoreState, connection: StorageConnection) -> None:
        self._store_state = store_state
        self._connection = connection

    def carry_out(self, invalidation: BulkInvalidation, pending: PendingWrite) -> bool:
        """Change all stored results whose keys pass the test; False if the storage does not respond."""
        for page in self._connection.pages(None):
            if page is None:
                return False
            with self._connection.lock, self._store_state.hooks:
                keys = [key for key in page if key not in pending.written_keys and invalidation.accepts(key)]
            if keys and not self._change(invalidation, keys):
                return False
        return True

    def _change(self, invalidation: BulkInvalidation, keys: list[str]) -> bool:
        connection, known = self._connection, self._connection.known
        loaded = connection.work(lambda storage: storage.load((), keys))
        if loaded is None:
            return False
        changed = [after for result in loaded.results if (after := self._left(invalidation, result)) is not None]
        if not changed or loaded.epoch != known.epoch:
            return True
        named = [result.key for result in changed]
        entry = Entry(0, connection.writer, None, {}, {}, {}, named, False, connection.next_commit_id())
        batch = Batch(loaded.epoch, [], changed, [], {}, {}, [], [], [], [], entry)
        outcome = connection.send(batch)
        if outcome is None:
            return False
        with connection.lock:
            is_next = known.numbered(outcome.number)
            for key in named:
                if not is_next:
                    known.key_revs.pop(key, None)
                elif key in known.key_revs:
                    known.key_revs[key] = outcome.number
        return True

    def applied(self, invalidation: BulkInvalidation, result: StoredResult) -> StoredResult | None:
        """Return a result after a bulk invalidation; None if it is unchanged."""
        with self._store_state.hooks:
            return self._left(invalidation, result) if invalidation.accepts(result.key) else None

    def _left(self, invalidation: BulkInvalidation, result: StoredResult) -> StoredResult | None:
        """Return a result whose key was accepted after the change; None if it is unchanged."""
        known = self._connection.known
        times = self._connection.inward(result.times, result.requested_rev)
        if times.date > invalidation.moment or (invalidation.invalidates and result.invalidated):
            return None
        if invalidation.invalidates:
            times = known.outward(Meta(times.fetched_at, invalidation.moment, 0))
            return result._replace(times=times, invalidated=True, value=None)
        if times.expires_at == 1:
            return None
        return result._replace(times=result.times._replace(expires_at=1))
