"""Before a commit: rows are loaded that memory cannot tell, and lists that something joins, in memory or not."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Loads what a draft cannot be made without."""

    def __init__(
        self, store_state: StoreState, connection: StorageConnection, waiting: WriteQueue, tainted: set[EntityPath]
    ) -> None:
        self._store_state = store_state
        self._connection = connection
        self._waiting = waiting
        self._tainted = tainted

    def look_through(self, draft: WriteBatch) -> bool:
        """Loads rows for a draft; False where the storage does not answer now."""
        connection, waiting = self._connection, self._waiting
        with connection.lock:
            known, bases = connection.known, waiting.bases
            needed: list[EntityPath] = []
            if self._tainted or known.doubted:
                tainted, is_unverified = self._tainted, known.is_unverified
                needed += (
                    cell for cell in draft.cells() if (cell in tainted or is_unverified(cell)) and cell not in bases
                )
            joins: dict[str, list[PendingWrite]] = {}
            for pending in draft.actions:
                for join in pending.joins:
                    if join.pk is None and join.table not in draft.versions:
                        joins.setdefault(join.table, []).append(pending)
        for table, actions in joins.items():
            found = self._members(table)
            if found is None:
                return False
            draft.versions[table] = found[0]
            with connection.lock:
                known.versions[table], known.members[table] = found
                for pk in found[1]:
                    cell = table, pk
                    if any(pending.writes(cell) for pending in draft.actions) or not self._joins(cell, actions):
                        continue
                    draft.joined[cell] = None
                    if cell not in bases:
                        needed.append(cell)
        return self._load(needed) and self._load(self._moved(draft))

    def _moved(self, draft: WriteBatch) -> list[EntityPath]:
        """Lists that memory has, and told by what it knew of an entity that moves: others know more of that."""
        with self._connection.lock:
            bases, tables = self._waiting.bases, set[str]()
            for pending in draft.actions:
                tables.update(joins.table for joins in pending.joins if any(cell in bases for cell in joins.moved))
            return [cell for cell in draft.cells() if cell[0] in tables and cell not in bases] if tables else []

    def _joins(self, cell: EntityPath, actions: Iterable[PendingWrite]) -> bool:
        """Whether something of these actions joins a collection."""
        try:
            with self._store_state.hooks:
                return any(pending.concerns(cell) for pending in actions)
        except Exception:
            logger.exception("%s %s: whether something joins it cannot be told; a filter failed", *cell)
            return False

    def _members(self, table: str) -> tuple[int, list[str]] | None:
        """The version and the primary keys of a table; None where the storage does not answer."""
        known = self._connection.known
        loaded = self._connection.work(lambda storage: storage.load((), (), (), (table,)))
        if loaded is None:
            return None
        info = loaded.tables.get(table)
        version = 0 if info is None else info.version
        if known.versions.get(table) == version:
            return version, known.members[table]
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
                    if cell not in self._waiting.bases:
                        self._waiting.met(cell, found.get(cell))
        return True
