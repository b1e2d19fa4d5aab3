"""An in-memory storage in plain dicts, for tests and for `Store.load`."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final

from ..base.durations import bounded
from ..base.errors import StorageDown, StorageOff
from .entries import entry_from_json, entry_to_json, has_changes
from .protocol import (
    HOUR,
    TRIM_TIME,
    Batch,
    Cell,
    Changes,
    Entry,
    IndexEntry,
    Loaded,
    Mark,
    NamespaceStats,
    Opened,
    Outcome,
    Page,
    StoredResult,
    StoredRow,
    TableInfo,
    refuse_too_many,
)

if TYPE_CHECKING:
    from ..base.durations import Duration

_AT_ONCE: Final = 500
_NOTHING: Final = TableInfo(0, False)


class Namespace:
    """The data of one place, shared by a storage and those of its `another()`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.epoch = 1
        self.last_reset = 0
        self.begin()

    def begin(self) -> None:
        """Begin an empty epoch."""
        self.number = 0
        self.born = 0
        self.tables: dict[str, dict[str, StoredRow]] = {}
        self.results: dict[str, StoredResult] = {}
        self.index: dict[IndexEntry, str] = {}
        self.infos: dict[str, TableInfo] = {}
        self.used: dict[Cell | str, float] = {}
        self.log: list[Entry] = []
        self.marks: dict[Mark, int] = {}
        self.leases: dict[str, tuple[str, float]] = {}
        self.commits: dict[str, tuple[int, int]] = {}
        """The id and the number of the last commit of each writer."""

    def row(self, cell: Cell) -> StoredRow | None:
        table, pk = cell
        return self.tables.get(table, {}).get(pk)

    def put(self, row: StoredRow, now: float) -> None:
        """Write a row; a new one is the last in its table."""
        rows = self.tables.setdefault(row.table, {})
        before = rows.get(row.pk)
        if before is None:
            self.born += 1
            self.grow(row.table)
        rows[row.pk] = row._replace(rev=self.number, born=self.born if before is None else before.born)
        self.used[row.table, row.pk] = now

    def mark(self, batch: Batch) -> None:
        """Set the marks of a batch, after those of its spared data whose condition holds."""
        for mark, spared in batch.spared.items():
            known = max(spared.known, self.marks.get(mark, 0))
            if all(self.marks.get(other, 0) <= known for other in spared.against):
                self.marks[mark] = self.number
        self.marks.update(dict.fromkeys(batch.stale, self.number))

    def take(self, cell: Cell) -> bool:
        """Remove a row, so that its table is incomplete; return whether there was one."""
        table, pk = cell
        if self.tables.get(table, {}).pop(pk, None) is None:
            return False
        self.used.pop(cell, None)
        self.grow(table)
        self.infos[table] = self.infos[table]._replace(incomplete=True)
        return True

    def take_result(self, key: str) -> bool:
        self.used.pop(key, None)
        return self.results.pop(key, None) is not None

    def grow(self, table: str) -> None:
        info = self.infos.get(table, _NOTHING)
        self.infos[table] = info._replace(version=info.version + 1)

    def append(self, entry: Entry, history: int) -> None:
        self.log.append(entry_from_json(self.number, entry.writer, entry_to_json(entry)))  # as other storages do
        del self.log[: max(0, len(self.log) - history)]


class MemoryStorage:
    """A storage in memory, in plain dicts; its data lives as long as the object.

        storage = MemoryStorage()
        first, second = Store(storage=storage), Store(storage=storage.another())    # as two processes would share it

    One object serves one store; `another()` returns a storage with the same data for another store. With
    `write_behind=0`, the default, changes are stored when a call returns. With `inline=False`, stores treat the storage
    as remote. Times, including those of leases, are in ms of the store's clock. `max_age` is how long unused data is
    kept, and `history` the number of commits in the log.
    """

    has_places = True
    """Whether each place has data of its own."""
    is_in_memory = True
    """Whether event loops may read the storage, since that does not block."""

    def __init__(
        self,
        *,
        inline: bool = True,
        max_age: Duration = 86_400_000,
        write_behind: Duration = 0,
        poll: Duration = 100,
        lease_wait: Duration = 10_000,
        history: int = 10_000,
    ) -> None:
        self.inline = inline
        self.writable = True
        self.max_age = bounded(max_age, "max_age", 1, endless=True)
        self.write_behind = bounded(write_behind, "write_behind", 0)
        self.poll = bounded(poll, "poll", 1, endless=True)
        self.lease_wait = bounded(lease_wait, "lease_wait", 0)
        self.history = history
        self._places: dict[str, Namespace] = {}
        self._opened: Namespace | None = None
        self._now: Callable[[], float] = time.monotonic

    def another(self) -> MemoryStorage:
        """Return a storage with the same data and settings, for another store."""
        other = copy(self)
        other._opened = None
        return other

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Open or create the namespace of a place; `now` is the clock of the store, and of the storage too."""
        space = self._opened = self._places.setdefault(place, Namespace())
        self._now = now
        with space.lock:
            return Opened(space.epoch, space.last_reset, space.number, 0.0)

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        /,
    ) -> Loaded:
        """Load rows, results, index entries, tables and marks as of one moment, without absent ones."""
        refuse_too_many(len(cells) + len(keys) + len(index))
        space = self._space()
        with space.lock:
            return Loaded(
                space.epoch,
                space.number,
                [
                    row._replace(stale_rev=space.marks.get(("row", *cell), 0))
                    for cell in cells
                    if (row := space.row(cell)) is not None
                ],
                [
                    space.results[key]._replace(stale_rev=space.marks.get(("key", key, ""), 0))
                    for key in keys
                    if key in space.results
                ],
                {entry: space.index[entry] for entry in index if entry in space.index},
                {table: space.infos[table] for table in tables if table in space.infos},
                {
                    mark: space.marks[mark]
                    for mark in (*marks, *(("row", *cell) for cell in cells if space.row(cell) is None))
                    if mark in space.marks
                },
            )

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """Return a page of the primary keys of a table by arrival, or of the keys of all results, after `after`."""
        space = self._space()
        with space.lock:
            if table is None:
                keys = sorted(space.results)
                start = 0 if after is None else bisect_right(keys, after)
                items = keys[start : start + limit]
                return Page(items, items[-1] if start + limit < len(keys) else None)
            born = 0 if after is None else int(after)
            rows = list(islice((row for row in space.tables.get(table, {}).values() if row.born > born), limit + 1))
            return Page([row.pk for row in rows[:limit]], str(rows[limit - 1].born) if len(rows) > limit else None)

    def commit(self, batch: Batch, /) -> Outcome:
        """Write a batch and its entry completely, or nothing if it is late or conflicts."""
        if not self.writable:
            raise StorageOff("this storage is read-only; pass another one to the store to write to")
        space = self._space()
        now = self._now()
        with space.lock:
            if batch.epoch != space.epoch:
                return Outcome(0, space.epoch, None)
            writer, id = batch.entry.writer, batch.entry.commit_id
            last, number = space.commits.get(writer, (0, 0))
            if id and id <= last:
                return Outcome(number if id == last else 0, space.epoch, None)
            moved = _moved(space, batch)
            if moved is not None:
                return Outcome(0, space.epoch, moved)
            number = self._write(space, batch, now) if has_changes(batch) else 0
            if id and number:
                space.commits[writer] = id, number
            for place in batch.used:
                if place in space.used:
                    space.used[place] = now
            for name in batch.release:
                space.leases.pop(name, None)
            return Outcome(number, space.epoch, None)

    def _write(self, space: Namespace, batch: Batch, now: float) -> int:
        space.number += 1
        space.mark(batch)
        for table in batch.listed:
            space.infos[table] = space.infos.get(table, _NOTHING)._replace(incomplete=False)
        for place in batch.drop:
            if isinstance(place, str):
                space.take_result(place)
            else:
                space.take(place)
        for row in batch.rows:
            space.put(row, now)
        for table in batch.listed:
            if space.infos[table].version == 0:
                space.grow(table)
        for table in batch.incomplete:
            space.infos[table] = space.infos.get(table, _NOTHING)._replace(incomplete=True)
        for result in batch.results:
            before = space.results.get(result.key)
            if before is None or before.times.date <= result.times.date:
                space.results[result.key] = result._replace(rev=space.number)
                space.used[result.key] = now
        space.index.update(batch.index)
        space.append(batch.entry, self.history)
        return space.number

    def changes(self, after: int, wait: float, /) -> Changes:
        """Return the log entries after a number without waiting; `lost` if the log does not contain all of them."""
        space = self._space()
        with space.lock:
            first = space.number - len(space.log) + 1
            lost = after > space.number or after + 1 < first
            entries = [] if lost else space.log[after + 1 - first :]
            return Changes(space.epoch, space.last_reset, space.number, entries, lost)

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """Take or renew a lease for `length` ms, or release it with 0; return whether the owner has it."""
        space = self._space()
        now = self._now()
        with space.lock:
            holder, until = space.leases.get(name, ("", -inf))
            if until > now and holder != owner:
                return False
            if length > 0:
                space.leases[name] = (owner, now + length)
            else:
                space.leases.pop(name, None)
            return length > 0

    def reset(self, /) -> int:
        """Begin a new, empty epoch and return it; data of older epochs is never read again."""
        space = self._space()
        with space.lock:
            space.epoch += 1
            space.last_reset = space.epoch
            space.begin()
            return space.epoch

    def trim(self, /) -> int:
        """Delete data that was not used for `max_age`, tombstones after at least an hour; return the count."""
        space = self._space()
        now = self._now()
        end = time.perf_counter() + TRIM_TIME
        dropped = 0
        while time.perf_counter() < end:
            with space.lock:
                count = self._trim_some(space, now)
            dropped += count
            if count < _AT_ONCE:
                break
        return dropped

    def _trim_some(self, space: Namespace, now: float) -> int:
        gone: dict[str, list[str]] = {}
        keys: list[str] = []
        for place in list(islice((place for place in space.used if self._is_old(space, place, now)), _AT_ONCE)):
            if isinstance(place, str):
                space.take_result(place)
                keys.append(place)
            else:
                space.take(place)
                gone.setdefault(place[0], []).append(place[1])
        if gone or keys:
            space.number += 1
            space.append(Entry(0, "", None, {}, {}, gone, keys, False), self.history)
        return len(keys) + sum(map(len, gone.values()))

    def _is_old(self, space: Namespace, place: Cell | str, now: float) -> bool:
        row = None if isinstance(place, str) else space.row(place)
        kept = max(self.max_age, HOUR) if row is not None and row.value is None else self.max_age
        return now - space.used[place] > kept

    def stats(self, /) -> NamespaceStats:
        """Return the size of the namespace, in bytes of its values."""
        space = self._space()
        with space.lock:
            values = [row.value for table in space.tables.values() for row in table.values()]
            count = len(values)
            values += [result.value for result in space.results.values()]
            return NamespaceStats(count, len(space.results), sum(len(value or b"") for value in values))

    def close(self, /) -> None:
        """Do nothing: there is no connection."""

    @contextmanager
    def filling(self, place: str, *, changes: bool = True) -> Generator[Namespace]:
        """Lock the data of a place, to be filled as its first commit."""
        space = self._places.setdefault(place, Namespace())
        with space.lock:
            if changes:
                space.number = 1
            yield space

    def _space(self) -> Namespace:
        if self._opened is None:
            raise StorageDown("this storage was not opened; call `open` first")
        return self._opened


def _moved(space: Namespace, batch: Batch) -> Loaded | None:
    """Return the rows and tables that a batch conflicts with, with rev 0 for a row that is not stored; else None."""
    rows: list[StoredRow] = []
    for row in batch.rows:
        there = space.row((row.table, row.pk)) or row._replace(rev=0, born=0, shape="", value=None)
        if row.rev != there.rev:
            rows.append(there)
    tables = {
        table: info
        for table, version in batch.tables.items()
        if (info := space.infos.get(table, _NOTHING)).version != version
    }
    return Loaded(space.epoch, space.number, rows, [], {}, tables) if rows or tables else None
