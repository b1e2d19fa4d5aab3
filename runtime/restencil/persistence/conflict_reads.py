"""Reads before a commit: rows whose revision memory does not know, and lists that the commit edits."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from ..base.logs import logger
from ..storage.protocol import MOST_PLACES

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from .connection import StorageConnection
    from .pending_write import PendingWrite
    from .write_batch import WriteBatch
    from .write_queue import WriteQueue


class ConflictReads:
    """Loads the rows that a batch depends on."""

    def __init__(self, store_state: StoreState, connection: StorageConnection, queue: WriteQueue) -> None:
        self._store_state = store_state
        self._connection = connection
        self._queue = queue

    def look_through(self, batch: WriteBatch) -> bool:
        """Load the rows that a batch depends on; False if the storage does not respond."""
        connection, queue = self._connection, self._queue
        with connection.lock:
            known, bases = connection.known, queue.bases
            needed: list[EntityPath] = []
            if known.only_here or known.unverified:
                only_here, is_unverified = known.only_here, known.is_unverified
                needed += (
                    cell for cell in batch.cells() if (cell in only_here or is_unverified(cell)) and cell not in bases
                )
            needed += self._overlapping(batch)
            self._forget_overlaps(batch)
            joins: dict[str, list[PendingWrite]] = {}
            for pending in batch.actions:
                for join in pending.joins:
                    if join.pk is None and join.table not in batch.versions:
                        joins.setdefault(join.table, []).append(pending)
        for table, actions in joins.items():
            found = self._members(table)
            if found is None:
                return False
            batch.versions[table] = found[0]
            with connection.lock:
                for pk in found[1]:
                    cell = table, pk
                    if any(pending.writes(cell) for pending in batch.actions) or not self._joins(cell, actions):
                        continue
                    batch.joined[cell] = None
                    if cell not in bases:
                        needed.append(cell)
        return self._load([*dict.fromkeys(needed)]) and self._load(self._moved(batch))

    def _overlapping(self, batch: WriteBatch) -> list[EntityPath]:
        """Return rows that other stores wrote while the response that now replaces them was in flight."""
        known, bases = self._connection.known, self._queue.bases
        found: list[EntityPath] = []
        for pending in batch.actions if known.came_meanwhile else ():
            commit = known.timeline.commit_of(pending.times.fetched_at)
            found += (
                cell for cell in pending.all_cells() if known.came_meanwhile.get(cell, 0) > commit and cell not in bases
            )
        return found

    def _forget_overlaps(self, batch: WriteBatch) -> None:
        """Forget rows that were known to all later pending writes and requests in flight when these were sent."""
        known = self._connection.known
        if not known.came_meanwhile:
            return
        numbers = [one.fetched_at for one in self._store_state.in_flight.by_id.values()]
        numbers += (pending.times.fetched_at for pending in islice(self._queue.actions, len(batch.actions), None))
        oldest = known.timeline.commit_of(min(numbers)) if numbers else known.last
        known.came_meanwhile = {cell: rev for cell, rev in known.came_meanwhile.items() if rev > oldest}

    def _moved(self, batch: WriteBatch) -> list[EntityPath]:
        """Return lists in memory that moved an entity by another record than the stored one."""
        with self._connection.lock:
            bases, tables = self._queue.bases, set[str]()
            for pending in batch.actions:
                tables.update(joins.table for joins in pending.joins if any(cell in bases for cell in joins.moved))
            return [cell for cell in batch.cells() if cell[0] in tables and cell not in bases] if tables else []

    def _joins(self, cell: EntityPath, actions: Iterable[PendingWrite]) -> bool:
        """Whether any of these actions changes a collection."""
        try:
            with self._store_state.hooks:
                return any(pending.concerns(cell) for pending in actions)
        except Exception:
            logger.exception("%s %s: a filter failed, so nothing is added to the list", *cell)
            return False

    def _members(self, table: str) -> tuple[int, list[str]] | None:
        """Return the version and the primary keys of a table; None if the storage does not respond."""
        loaded = self._connection.work(lambda storage: storage.load((), (), (), (table,)))
        if loaded is None:
            return None
        info = loaded.tables.get(table)
        version = 0 if info is None else info.version
        members: list[str] = []
        for page in self._connection.pages(table) if version else ():
            if page is None:
                return None
            members += page
        return version, members

    def _load(self, cells: list[EntityPath]) -> bool:
        for start in range(0, len(cells), MOST_PLACES):
            part = cells[start : start + MOST_PLACES]
            loaded = self._connection.work(lambda storage, part=part: storage.load(part))  # type: ignore[misc]
            if loaded is None:
                return False
            found = {(row.table, row.pk): row for row in loaded.rows}
            with self._connection.lock:
                for cell in part:
                    if cell not in self._queue.bases:
                        self._queue.met(cell, found.get(cell))
        return True
