"""Batch loader: one query for a key, for all references of one level, or for a whole table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..cache.reach import tables_of
from ..schema.stored import is_collection
from ..storage.protocol import MOST_PLACES, TableInfo
from .stale_marks import wanted_of_list
from .storage_query import MOST_IN_LOOP, StorageQuery, StorageWork

if TYPE_CHECKING:
    from ..cache.tables import EntityPath
    from ..storage.protocol import IndexEntry, Loaded, Mark, Page
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .log_consumer import LogConsumer

_COMPARED: Final = 500
"""The most unverified values that are compared with the storage at a time."""
_TRIES: Final = 8
"""Attempts to load rows while commits are applied to memory."""
_AGAIN: Final = 50
"""Attempts to read a table while other processes write to it."""
_NO_TABLE: Final = TableInfo(0, False)


class BatchLoader:
    """Loads rows, index entries and results into memory (locked between the queries)."""

    def __init__(self, connection: StorageConnection, hydrator: Hydrator, log_consumer: LogConsumer) -> None:
        self._connection = connection
        self._hydrator = hydrator
        self._log_consumer = log_consumer
        self.inside = 0
        """The depth of nested reads, as a hook may read."""

    def load(
        self,
        cells: Mapping[EntityPath, Any],
        index: Sequence[IndexEntry] = (),
        keys: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        *,
        plain: bool = False,
        is_one_change: bool = False,
    ) -> StorageWork[bool]:
        """Load cells, index entries and results; False if the storage does not respond or memory cannot catch up.

        `marks` are those on which results depend. With `plain`, no schema describes the results; with
        `is_one_change`, listeners hear of all that differs as one change.
        """
        hydrator, todo = self._hydrator, [*cells]
        size = max(1, len(todo) + len(keys))
        while todo or index or keys:
            piece, entries, named = todo[:MOST_PLACES], index, keys
            tables = [*dict.fromkeys(table for table, _ in piece)]
            wanted = [*marks, *_marks_of({cell: cells[cell] for cell in piece})]
            loaded = yield from self._newest(  # B023: its last attempt ends before the next piece begins
                StorageQuery(lambda storage: storage.load(piece, named, entries, tables, wanted), size)  # noqa: B023
            )
            if loaded is None:
                return False
            intake = hydrator.intake(is_one_change=is_one_change)
            hydrator.take_results(named, loaded, intake, plain=plain)
            hydrator.take_rows(piece, loaded, cells, intake)
            hydrator.put(intake)
            hydrator.take_index(entries, loaded)
            todo, index, keys, marks = todo[MOST_PLACES:], (), (), ()
        return True

    def _newest(self, query: StorageQuery) -> StorageWork[Loaded | None]:
        """Return what a query loads that memory has no later commit than; None if that fails."""
        for _ in range(_TRIES):
            loaded: Loaded | None = yield query
            self._connection.count["loads"] += 1
            if loaded is None or not (yield from self._reach(loaded)):
                return None
            if loaded.number >= self._connection.known.number:
                return loaded
        return None

    def _reach(self, loaded: Loaded) -> StorageWork[bool]:
        """Apply all commits up to that of the loaded rows, except inside a hook, where memory must not change."""
        known = self._connection.known
        if loaded.epoch == known.epoch and loaded.number <= known.number:
            return True
        if self.inside > 1:
            return False
        return (yield from self._log_consumer.reach(loaded))

    def load_whole(self, table: str) -> StorageWork[bool]:
        """Load all rows of a table, in the order of their first commits; False if that fails."""
        hydrator, known = self._hydrator, self._connection.known
        for _ in range(_AGAIN):
            first: Loaded | None = yield StorageQuery(lambda storage: storage.load((), (), (), (table,)))
            if first is None or not (yield from self._reach(first)):
                return False
            version = first.tables.get(table, _NO_TABLE).version
            pks: list[str] = []
            after: str | None = None
            while version:
                limit = MOST_PLACES if pks else MOST_IN_LOOP
                page: Page | None = yield StorageQuery(  # B023: it ends before the next page is requested
                    lambda storage: storage.scan(table, after, limit), len(pks) + limit  # noqa: B023
                )
                if page is None:
                    return False
                pks += page.items
                after = page.next
                if after is None:
                    break
            cells = {(table, pk): None for pk in pks if known.rev(table, pk) is None}
            if not (yield from self.load(cells)):
                return False
            last: Loaded | None = yield StorageQuery(lambda storage: storage.load((), (), (), (table,)))
            if last is None or not (yield from self._reach(last)):
                return False
            if last.tables.get(table, _NO_TABLE).version == version and last.epoch == first.epoch:
                hydrator.infos.update(last.tables)
                hydrator.take_whole(table, pks, is_known=bool(version))
                return True
        return False

    def compared(self) -> StorageWork[bool]:
        """Load what other processes have changed, and compare some unverified values; False if that fails."""
        hydrator = self._hydrator
        is_done = False
        while not is_done:
            changed = hydrator.take_changed(MOST_PLACES - 2 * _COMPARED)
            cells = dict.fromkeys([*changed, *hydrator.some_unverified(_COMPARED)])
            keys = hydrator.some_unverified_keys(_COMPARED)
            if not (yield from self.load(cells, (), keys, is_one_change=True)):
                return False
            is_done = not hydrator.changed
        hydrator.update_has_unverified()
        return True


def _marks_of(cells: Mapping[EntityPath, object]) -> Iterator[Mark]:
    """Yield the marks on which the freshness of these cells depends, except for their own."""
    nodes: dict[tuple[str, int], Any] = {(cell[0], id(node)): node for cell, node in cells.items()}
    for (table, _), node in nodes.items():
        yield "table", table, ""
        if node is not None and node.is_collection:
            for entity in tables_of(node.item):
                yield "lists", entity, ""
                yield "filtered lists", entity, ""
    for table, pk in cells:
        if is_collection(table):
            yield from wanted_of_list(table, pk)
