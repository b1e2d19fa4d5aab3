"""Batch loader: one query for a key, for all references of one level, or for a whole table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..cache.reach import tables_of
from ..schema.protocol import is_plain
from ..storage.protocol import MOST_PLACES, TableInfo
from .row_codec import is_collection
from .schema_fingerprint import fingerprint_of_endpoint
from .stale_marks import wanted_marks, wanted_of_list
from .storage_query import MOST_IN_LOOP, StorageQuery, StorageWork

if TYPE_CHECKING:
    from ..cache.request import Request
    from ..cache.tables import EntityPath
    from ..storage.protocol import IndexEntry, Loaded, Mark, Page
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .log_consumer import LogConsumer

_COMPARED: Final = 500
"""So many unverified values are compared with the storage at a time."""
_AGAIN: Final = 50
"""A table is read again so many times if other processes write to it meanwhile."""
_NO_TABLE: Final = TableInfo(0, False)


class BatchLoader:
    """Loads into memory (locked between the queries)."""

    def __init__(self, connection: StorageConnection, hydrator: Hydrator, log_consumer: LogConsumer) -> None:
        self._connection = connection
        self._hydrator = hydrator
        self._log_consumer = log_consumer
        self.inside = 0
        """How many reads are being prepared in each other, as by a hook that reads."""

    def load_key(self, request: Request, ahead: Mapping[EntityPath, Any]) -> StorageWork[bool]:
        """Loads the result of a key together with these cells; whether there is one."""
        key, cells = request.key, [*ahead]
        tables = [*dict.fromkeys(table for table, _ in cells)]
        marks = [*wanted_marks(request), *_marks_of(ahead)]
        loaded: Loaded | None = yield StorageQuery(lambda storage: storage.load(cells, (key,), (), tables, marks))
        self._connection.count.loads += 1
        if loaded is None or not (yield from self._reach(loaded)):
            return False
        late = self._log_consumer.late(loaded.number)
        if late is None or key in late:
            return False
        result = next((result for result in loaded.results if result.key == key), None)
        hydrator, schema = self._hydrator, request.rules.schema
        shape = hydrator.key_shapes[key] = fingerprint_of_endpoint(request.rules)
        intake = hydrator.intake()
        hydrator.take_result(key, result, shape, intake, is_plain=schema is None or is_plain(schema))
        hydrator.take_rows([cell for cell in cells if cell not in late] if late else cells, loaded, ahead, intake)
        hydrator.put(intake)
        return result is not None

    def peek(self, key: str) -> bool:
        """Loads the result of a key for an action in progress (locked): whether memory has the stored one now.

        Newer commits are not taken in: what the action has read must stay as it is.
        """
        known = self._connection.known
        loaded = self._connection.load(lambda storage: storage.load((), (key,)))
        self._connection.count.loads += 1
        if loaded is None or loaded.epoch != known.epoch or loaded.number > known.number:
            return False
        late = self._log_consumer.late(loaded.number)
        if late is None or key in late:
            return False
        return self._hydrator.take_unread(key, next((result for result in loaded.results if result.key == key), None))

    def load(self, cells: Mapping[EntityPath, Any], index: list[IndexEntry]) -> StorageWork[bool]:
        """Loads the cells of one level; False if the storage does not answer in time."""
        hydrator, todo = self._hydrator, [*cells]
        size = max(1, len(todo))
        while todo or index:
            piece, entries = todo[:MOST_PLACES], index
            tables = [*dict.fromkeys(table for table, _ in piece)]
            marks = [*_marks_of({cell: cells[cell] for cell in piece})]
            loaded: Loaded | None = yield StorageQuery(
                lambda storage: storage.load(piece, (), entries, tables, marks), size  # noqa: B023
            )
            self._connection.count.loads += 1
            if loaded is None or not (yield from self._reach(loaded)):
                return False
            late = self._log_consumer.late(loaded.number)
            if late is None:
                return False
            taken = [cell for cell in piece if cell not in late]
            intake = hydrator.intake()
            hydrator.take_rows(taken, loaded, cells, intake)
            hydrator.put(intake)
            hydrator.take_index(entries, loaded)
            todo, index = todo[MOST_PLACES:], []
            if len(taken) < len(piece):
                return True  # the rest is found unknown again
        return True

    def _reach(self, loaded: Loaded) -> StorageWork[bool]:
        """Brings memory up to what was loaded, except inside of a hook, where nothing may change."""
        known = self._connection.known
        if loaded.epoch == known.epoch and loaded.number <= known.number:
            return True
        if self.inside > 1:
            return False
        return (yield from self._log_consumer.reach(loaded))

    def load_whole(self, table: str) -> StorageWork[bool]:
        """Loads all rows of a table, in order of arrival."""
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
                page: Page | None = yield StorageQuery(
                    lambda storage: storage.scan(table, after, limit), len(pks) + limit  # noqa: B023
                )
                if page is None:
                    return False
                pks += page.items
                after = page.next
                if after is None:
                    break
            cells = {(table, pk): None for pk in pks if known.rev(table, pk) is None}
            if cells and not (yield from self.load(cells, [])):
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
        """Compares some unverified values with the storage, and loads the order of tables."""
        unordered = self._hydrator.unordered
        while unordered:
            table = unordered.pop()
            if table in self._hydrator.whole and not (yield from self.load_whole(table)):
                unordered.add(table)
                return False
        cells = self._hydrator.some_unverified(_COMPARED)
        if cells and not (yield from self.load(dict.fromkeys(cells), [])):
            return False
        keys = self._hydrator.some_unverified_keys(_COMPARED)
        if keys:
            loaded: Loaded | None = yield StorageQuery(lambda storage: storage.load((), keys), len(keys))
            if loaded is None or not (yield from self._reach(loaded)):
                return False
            late = self._log_consumer.late(loaded.number)
            if late is not None:
                self._hydrator.take_keys([key for key in keys if key not in late], loaded)
        self._hydrator.update_has_unverified()
        return True


def _marks_of(cells: Mapping[EntityPath, Any]) -> Iterator[Mark]:
    """The marks on which the freshness of these depends, but for their own."""
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
