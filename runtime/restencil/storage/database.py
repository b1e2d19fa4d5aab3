"""The SQLite file of one epoch: reads, commits, leases and the log.

There are two connections, one for commits and one for reads, each with a lock of its own, so that reads never wait for
commits. SQL statements are constants, and a statement is about one row, or about rows that arrived one after another: a
statement for many scattered rows is no faster, or far slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from math import inf
from operator import itemgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ..base.errors import StorageDown
from ..base.lazy_imports import sqlite3
from ..base.values import Meta
from .entries import entry_from_json, entry_to_json, has_changes
from .format import be_patient, connect, end_transaction, gave_up, opened
from .protocol import (
    HOUR,
    Batch,
    Cell,
    Entry,
    IndexEntry,
    Loaded,
    Mark,
    NamespaceStats,
    Outcome,
    Page,
    StoredResult,
    StoredRow,
    TableInfo,
    refuse_too_many,
)

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor

T = TypeVar("T")

_STEPS: Final = 10_000
"""The number of steps of SQLite's virtual machine between checks of the deadline."""
_AT_ONCE: Final = 128
_TABLE_OF: Final = itemgetter(0)
_FEW: Final = 8
"""The number of rows up to which rows are read one by one."""
_LONGEST_LEASE: Final = 600_000
"""The longest lease in ms: one that ends later was taken before the clock was set back."""
_LOG_ENTRIES: Final = 10_000
_LOG_BYTES: Final = 1024 * 1024
_LOG_LOOK: Final = 100
"""The number of commits after which the size of the log is checked; it is also checked after a long entry."""
_LONG_ENTRY: Final = 10_000
_REMEMBERED: Final = 24
"""For how many hours the last id of an inactive writer is remembered."""

_NUMBER: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'log'"
_INFO: Final = "SELECT value FROM info WHERE name = ?"
_PUT_INFO: Final = "INSERT OR REPLACE INTO info (name, value) VALUES (?, ?)"
_KIND: Final = "SELECT id FROM kind WHERE name = ?"
_NEW_KIND: Final = "INSERT INTO kind (name, version, incomplete) VALUES (?, 0, 0)"
_TABLE: Final = "SELECT version, incomplete FROM kind WHERE name = ?"
_GROW: Final = "UPDATE kind SET version = version + 1 WHERE id = ?"
_SHOW: Final = "UPDATE kind SET version = max(version, 1) WHERE id = ?"
_COMPLETE: Final = "UPDATE kind SET incomplete = ? WHERE id = ?"
_ROW: Final = "SELECT rev, born, fetched_at, date, expires_at, shape, value, whole FROM row WHERE kind = ? AND pk = ?"
_BORN: Final = "SELECT born FROM row WHERE kind = ? AND pk = ?"
# (Benchmark: `cached()` of a list of 1,000, cold. The `+` keeps SQLite from looking through the whole table instead.)
_ROWS: Final = (
    "SELECT pk, rev, born, fetched_at, date, expires_at, shape, value, whole FROM row"
    " WHERE born BETWEEN ? AND ? AND +kind = ?"
)
_RESULT: Final = (
    "SELECT rev, fetched_at, date, expires_at, shape, invalidated, value, requested FROM result WHERE key = ?"
)
_MARK: Final = "SELECT number FROM mark WHERE kind = ? AND name = ? AND pk = ?"
_ANY_MARK: Final = "SELECT EXISTS (SELECT 1 FROM mark)"
_PUT_MARK: Final = "INSERT OR REPLACE INTO mark (kind, name, pk, number) VALUES (?, ?, ?, ?)"
_INDEX: Final = "SELECT pk FROM entry WHERE kind = ? AND field = ? AND value = ?"
_NEW_ROW: Final = (
    "INSERT INTO row (rev, fetched_at, date, expires_at, shape, used, value, whole, kind, pk)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, pk) DO NOTHING"
)
_NEXT_ROW: Final = (
    "UPDATE row SET rev = ?, fetched_at = ?, date = ?, expires_at = ?, shape = ?, used = ?, value = ?, whole = ?"
    " WHERE kind = ? AND pk = ? AND rev = ?"
)
_PUT_RESULT: Final = (
    "INSERT INTO result (key, rev, fetched_at, date, expires_at, shape, used, invalidated, value, requested)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET rev = excluded.rev,"
    " fetched_at = excluded.fetched_at, date = excluded.date, expires_at = excluded.expires_at, shape = excluded.shape,"
    " used = excluded.used, invalidated = excluded.invalidated, value = excluded.value,"
    " requested = excluded.requested"
    " WHERE result.date <= excluded.date"
)
_DROP_ROW: Final = "DELETE FROM row WHERE kind = ? AND pk = ?"
_DROP_RESULT: Final = "DELETE FROM result WHERE key = ?"
_PUT_INDEX: Final = "INSERT OR REPLACE INTO entry (kind, field, value, pk) VALUES (?, ?, ?, ?)"
_USE_ROW: Final = "UPDATE row SET used = ? WHERE kind = ? AND pk = ? AND used < ?"
_USE_RESULT: Final = "UPDATE result SET used = ? WHERE key = ? AND used < ?"
_PKS: Final = "SELECT born, pk FROM row WHERE kind = ? AND born > ? ORDER BY born LIMIT ?"
_KEYS: Final = "SELECT key FROM result WHERE key > ? ORDER BY key LIMIT ?"
_FIRST_KEYS: Final = "SELECT key FROM result ORDER BY key LIMIT ?"
_LOG: Final = "SELECT number, writer, entry FROM log WHERE number > ? ORDER BY number"
_PUT_LOG: Final = "INSERT INTO log (number, writer, entry) VALUES (?, ?, ?)"
_CUT_LOG: Final = "DELETE FROM log WHERE number <= ?"
_LOG_LENGTHS: Final = "SELECT number, length(entry) FROM log ORDER BY number DESC"
_TAKE_LEASE: Final = (
    "INSERT INTO lease (name, owner, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE"
    " SET owner = excluded.owner, until = excluded.until WHERE owner = excluded.owner OR until <= ? OR until > ?"
)
_GIVE_LEASE: Final = "DELETE FROM lease WHERE name = ? AND owner = ?"
_LAST_COMMIT: Final = (
    "SELECT (SELECT value FROM info WHERE name = 'over'), (SELECT id FROM writer WHERE name = ?),"
    " (SELECT number FROM writer WHERE name = ?)"
)
_PUT_COMMIT: Final = "INSERT OR REPLACE INTO writer (name, id, number, used) VALUES (?, ?, ?, ?)"
_CUT_COMMITS: Final = "DELETE FROM writer WHERE used < ?"
_RELEASE: Final = "DELETE FROM lease WHERE name = ?"

_NO_TIMES: Final = Meta(0.0, 0.0, 0.0)
_new: Final[Any] = vars(tuple)["__new__"]
"""Creates a named tuple from a tuple of its members. (Benchmark: `cached()` of a list of 1,000, cold.)"""


class Retired(Exception):
    """The epoch has ended; its file is not opened again."""


class Over(Exception):
    """The file notes a reset whose new file could not be created."""


class Database:
    """The file of one epoch, with two connections that are opened when needed.

    `lock_timeout` and `timeout` (the maximum duration of a read) are in ms. Methods raise the errors of sqlite3, which
    the storage translates.
    """

    def __init__(
        self, file: str, epoch: int, identity: tuple[int, int], place: str, lock_timeout: float, timeout: float
    ) -> None:
        self.epoch = epoch
        self.identity = identity
        self.writing = RLock()
        self.reading = RLock()
        self.retired = False
        self._file = file
        self._place = place
        self._lock_timeout = lock_timeout
        self._timeout = timeout
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._deadline = inf
        self._kinds: dict[str, int] = {}
        """The ids of tables; they never change once they are committed, so both connections can use them."""
        self._version = -1
        self._known = 0
        with self.writing, closing(self.writer().cursor()) as cursor:
            found = cursor.execute(_INFO, ("reset",)).fetchone()
            self.over = over_in(cursor)
            """The epoch of a failed reset that is noted in the file; 0 for none."""
        self.reset = found[0] if found is not None and isinstance(found[0], int) else 0

    def writer(self) -> Connection:
        """Return the connection for commits; the caller holds `writing`."""
        if self._writer is None:
            if self.retired:
                raise Retired
            self._writer = opened(self._file, self.epoch, self._place, self._lock_timeout, self._timeout)
        return self._writer

    def _for_reading(self) -> Connection:
        if self._reader is None:
            if self.retired:
                raise Retired
            connection = connect(self._file, self._timeout)
            connection.execute("PRAGMA cache_size = -8000")
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(self._is_late, _STEPS)
            self._reader = connection
        return self._reader

    def close(self) -> None:
        """Close both connections, after their current work."""
        with self.writing:
            connection, self._writer = self._writer, None
            if connection is not None:
                connection.close()
            self._version = -1
        with self.reading:
            connection, self._reader = self._reader, None
            if connection is not None:
                connection.close()

    def __del__(self) -> None:
        """Close the connections of a storage that nothing refers to: Python 3.13 warns of open ones."""
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.close()

    def _latest(self) -> float:
        return time.monotonic() + self._timeout / 1000

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    # Functions with a callback hold the locks, not context managers: an interrupt after a generator acquired the lock
    # and before the block begins would leave it locked for as long as the traceback lives.
    # Each cursor is closed: one that a traceback holds would keep its connection at what the file was then, which
    # reads are shown, and from which no commit may begin once another process has written.

    def read(self, work: Callable[[Cursor], T], *, endless: bool = False) -> T:
        """Run work in a read transaction and return its result; it is interrupted after `timeout` unless `endless`."""
        with self.reading:
            connection = self._for_reading()
            cursor = connection.cursor()
            try:
                end_transaction(connection)  # left open by an interrupt
                self._deadline = inf if endless else self._latest()
                return work(cursor.execute("BEGIN"))
            finally:
                try:
                    self._deadline = inf
                    _end(cursor)
                finally:
                    _end(cursor)

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Run work in a transaction and return its result; after an exception nothing is written."""
        with self.writing:
            connection = self.writer()
            cursor = connection.cursor()
            try:
                end_transaction(connection)
                found = work(cursor.execute("BEGIN IMMEDIATE"))
                if connection.in_transaction:
                    connection.execute("COMMIT")
                return found
            finally:
                try:
                    _end(cursor)
                finally:  # in case the first was interrupted
                    _end(cursor)

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str],
        index: Sequence[IndexEntry],
        tables: Sequence[str],
        marks: Sequence[Mark],
    ) -> Loaded:
        """Load rows, results, index entries, tables and marks as of one moment."""
        refuse_too_many(len(cells) + len(keys) + len(index))
        return self.read(lambda cursor: self.loaded(cursor, cells, keys, index, tables, marks))

    def loaded(
        self,
        cursor: Cursor,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
    ) -> Loaded:
        """Load rows, results, index entries, tables and marks in the transaction of a cursor."""
        number = number_in(cursor)
        rows: list[StoredRow] = []
        for start in range(0, len(cells), _AT_ONCE):
            if start:
                self._in_time()
            for table, named in groupby(cells[start : start + _AT_ONCE], _TABLE_OF):
                kind = self.kind(cursor, table)
                if kind is not None:
                    rows += _rows(cursor, table, kind, [pk for _, pk in named])
        self._in_time()
        results = [
            result_of(key, found) for key in keys if (found := cursor.execute(_RESULT, (key,)).fetchone()) is not None
        ]
        leads = self._index(cursor, index) if index else {}
        set_by: dict[Mark, int] = {}
        if (cells or results or marks) and cursor.execute(_ANY_MARK).fetchone()[0]:
            of_rows = _marks(cursor, [("row", *cell) for cell in cells])
            rows = [row._replace(stale_rev=of_rows.pop(("row", row.table, row.pk), 0)) for row in rows]
            of_keys = _marks(cursor, [("key", result.key, "") for result in results])
            results = [result._replace(stale_rev=of_keys.get(("key", result.key, ""), 0)) for result in results]
            set_by = {**of_rows, **_marks(cursor, marks)}
        return Loaded(self.epoch, number, rows, results, leads, _tables(cursor, tables), set_by)

    def _in_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise gave_up(self._file, self._timeout)

    def _index(self, cursor: Cursor, entries: Sequence[IndexEntry]) -> dict[IndexEntry, str]:
        found: dict[IndexEntry, str] = {}
        for table, field, value in entries:
            kind = self.kind(cursor, table)
            pk = None if kind is None else cursor.execute(_INDEX, (kind, field, value)).fetchone()
            if pk is not None:
                found[table, field, value] = pk[0]
        return found

    def kind(self, cursor: Cursor, table: str) -> int | None:
        """Return the id of a table in the file; None if it is unknown.

        Only ids that are committed are remembered here; a running commit remembers its own.
        """
        known = self._kinds.get(table)
        if known is not None:
            return known
        found = cursor.execute(_KIND, (table,)).fetchone()
        if found is None:
            return None
        kind = self._kinds[table] = int(found[0])
        return kind

    def scan(self, table: str | None, after: str | None, limit: int) -> Page:
        """Return a page of the primary keys of a table by arrival, or of the keys of all results."""

        def page(cursor: Cursor) -> Page:
            if table is None:
                found = cursor.execute(*((_FIRST_KEYS, (limit + 1,)) if after is None else (_KEYS, (after, limit + 1))))
                keys = [key for (key,) in found]
                return Page(keys[:limit], keys[limit - 1] if len(keys) > limit else None)
            kind = self.kind(cursor, table)
            if kind is None:
                return Page([], None)
            rows = cursor.execute(_PKS, (kind, 0 if after is None else int(after), limit + 1)).fetchall()
            return Page([pk for _, pk in rows[:limit]], str(rows[limit - 1][0]) if len(rows) > limit else None)

        return self.read(page)

    def commit(self, batch: Batch, now: float) -> Outcome:
        """Write a batch of this epoch; `now` is in ms of the store's clock."""
        with self.writing:
            commit = _Commit(self, batch, int(now // HOUR))
            outcome = self.write(commit.run)
            if outcome.number:
                self._kinds.update(commit.kinds)
            return outcome

    def end(self, epoch: int) -> bool:
        """Note in the file that a reset should have begun this epoch; return whether that succeeded."""
        try:
            if self._writer is None:
                return False
            self.write(lambda cursor: cursor.execute(_PUT_INFO, ("over", epoch)))
        except sqlite3.Error:
            return False
        return True

    def append(self, cursor: Cursor, number: int, entry: Entry) -> None:
        """Append the entry of a commit to the log, and delete entries that are too old."""
        self._known = number  # `data_version` changes only with commits of other connections
        text = entry_to_json(entry)
        cursor.execute(_PUT_LOG, (number, entry.writer, text))
        if number % _LOG_LOOK and len(text) < _LONG_ENTRY:
            return
        held = 0
        for count, (older, length) in enumerate(cursor.execute(_LOG_LENGTHS).fetchall()):
            held += length
            if count >= _LOG_ENTRIES or held > _LOG_BYTES:
                cursor.execute(_CUT_LOG, (older,))
                return

    def changes(self, after: int) -> tuple[int, list[Entry], bool]:
        """Return the newest number, the entries after a number, and whether some of them are missing."""
        try:
            if not self.writing.acquire(blocking=False):  # a commit holds it, perhaps waiting for another process
                return self.read(lambda cursor: _logged(cursor, after))
            with closing(self.writer().cursor()) as cursor:
                version: int = cursor.execute("PRAGMA data_version").fetchone()[0]
                if version == self._version and after == self._known:
                    return after, [], False
                if over_in(cursor):
                    raise Over
                found = _logged(cursor, after)
            self._version, self._known = version, found[0]
            return found
        finally:
            try:
                self.writing.release()
            except RuntimeError:  # not acquired; after an interrupt only the lock itself knows
                pass

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, now: float) -> list[bool]:
        """Take, renew or release leases for `length` ms from `now`, the time of the system; see `LeasesAtOnce`.

        Reads wait for this, so it takes no longer than a `load` may, unless other processes keep committing.
        """
        end = time.monotonic() + self._lock_timeout / 1000
        before = self._moment()
        while True:
            try:
                return self._leases_soon(wanted, length, now)
            except (sqlite3.OperationalError, StorageDown):
                moment = self._moment()
                if moment == before or time.monotonic() >= end:
                    raise
                before = moment

    def _moment(self) -> int:
        """Return a number that changes with each commit of another connection."""
        with self.reading, closing(self._for_reading().cursor()) as cursor:
            return int(cursor.execute("PRAGMA data_version").fetchone()[0])

    def _leases_soon(self, wanted: Sequence[tuple[str, str]], length: float, now: float) -> list[bool]:
        """Take leases, and wait for other processes no longer than a `load` may."""
        longest = min(self._timeout, self._lock_timeout)
        try:
            if not self.writing.acquire(timeout=longest / 1000):
                raise StorageDown(f"{self._file} is locked: a commit waits for another process")
            writer = self.writer()
            try:
                be_patient(writer, longest)
                return self._leases(wanted, length, now)
            finally:
                be_patient(writer, self._lock_timeout)
        finally:
            try:
                self.writing.release()
            except RuntimeError:  # as above
                pass

    def _leases(self, wanted: Sequence[tuple[str, str]], length: float, now: float) -> list[bool]:
        def take(cursor: Cursor) -> list[bool]:
            if length <= 0:
                cursor.executemany(_GIVE_LEASE, wanted)
                return [False] * len(wanted)
            until, latest = now + length, now + _LONGEST_LEASE
            return [
                cursor.execute(_TAKE_LEASE, (name, owner, until, now, latest)).rowcount > 0 for name, owner in wanted
            ]

        return self.write(take)

    def number(self) -> int:
        """Return the number of the newest commit."""
        with self.writing, closing(self.writer().cursor()) as cursor:
            return number_in(cursor)

    def stats(self) -> NamespaceStats:
        """Return the number of rows and results, and the bytes in use."""

        def counted(cursor: Cursor) -> NamespaceStats:
            rows = cursor.execute("SELECT count(*) FROM row").fetchone()[0]
            results = cursor.execute("SELECT count(*) FROM result").fetchone()[0]
            return NamespaceStats(rows, results, bytes_in_use(cursor))

        return self.read(counted, endless=True)


class _Commit:
    """One commit; the ids that it assigns are used after it succeeds."""

    def __init__(self, database: Database, batch: Batch, hour: int) -> None:
        self.kinds: dict[str, int] = {}
        self._database = database
        self._batch = batch
        self._hour = hour

    def run(self, cursor: Cursor) -> Outcome:
        """Write the batch, or roll the transaction back."""
        batch = self._batch
        epoch = self._database.epoch
        number = 0
        writer, id = batch.entry.writer, batch.entry.commit_id
        over, last, before = cursor.execute(_LAST_COMMIT, (writer, writer)).fetchone()
        if over is not None:
            raise Over
        if id and last is not None and id <= last:
            cursor.execute("ROLLBACK")
            return Outcome(before if id == last else 0, epoch, None)
        if has_changes(batch) or batch.tables:
            cursor.execute("SAVEPOINT before")
            number = number_in(cursor) + 1
            if self._other_versions(cursor) or not self._write(cursor, number):
                cursor.execute("ROLLBACK TO before")
                moved = self._moved(cursor)
                cursor.execute("ROLLBACK")
                return Outcome(0, epoch, moved)
            if id:
                cursor.execute(_PUT_COMMIT, (writer, id, number, self._hour))
            if not number % _LOG_LOOK:
                cursor.execute(_CUT_COMMITS, (self._hour - _REMEMBERED,))
        for place in batch.used:
            self._use(cursor, place)
        for name in batch.release:
            cursor.execute(_RELEASE, (name,))
        return Outcome(number, epoch, None)

    def _write(self, cursor: Cursor, number: int) -> bool:
        """Write the batch; return False if a row has another rev than in the batch."""
        batch = self._batch
        for table in batch.listed:
            cursor.execute(_COMPLETE, (0, self._kind(cursor, table)))
        grown = self._drop(cursor)
        if not self._write_rows(cursor, number, grown):
            return False
        for kind in grown:
            cursor.execute(_GROW, (kind,))
        for table in batch.listed:
            cursor.execute(_SHOW, (self._kind(cursor, table),))
        for table in batch.incomplete:
            cursor.execute(_COMPLETE, (1, self._kind(cursor, table)))
        self._write_results(cursor, number)
        for mark, spared in batch.spared.items():
            set_by = _marks(cursor, (mark, *spared.against))
            if max((set_by.get(other, 0) for other in spared.against), default=0) <= max(
                spared.known, set_by.get(mark, 0)
            ):
                cursor.execute(_PUT_MARK, (*mark, number))
        cursor.executemany(_PUT_MARK, [(*mark, number) for mark in batch.stale])
        for (table, field, value), pk in batch.index.items():
            cursor.execute(_PUT_INDEX, (self._kind(cursor, table), field, value, pk))
        self._database.append(cursor, number, batch.entry)
        return True

    def _drop(self, cursor: Cursor) -> set[int]:
        """Delete the rows and results that the batch drops; return the ids of tables that lost rows."""
        lost: set[int] = set()
        for place in self._batch.drop:
            if isinstance(place, str):
                cursor.execute(_DROP_RESULT, (place,))
                continue
            kind = self._kind(cursor, place[0])
            if cursor.execute(_DROP_ROW, (kind, place[1])).rowcount:
                lost.add(kind)
        cursor.executemany(_COMPLETE, [(1, kind) for kind in lost])
        return lost

    def _write_rows(self, cursor: Cursor, number: int, grown: set[int]) -> bool:
        new: list[tuple[Any, ...]] = []
        known: list[tuple[Any, ...]] = []
        for table, pk, rev, _, (fetched_at, date, expires_at), shape, value, whole, _ in self._batch.rows:
            kind = self._kind(cursor, table)
            row = (number, fetched_at, date, expires_at, shape, self._hour, value, whole, kind, pk)
            if rev:
                known.append((*row, rev))
            else:
                new.append(row)
                grown.add(kind)
        if known and cursor.executemany(_NEXT_ROW, known).rowcount < len(known):
            return False
        return not new or cursor.executemany(_NEW_ROW, new).rowcount == len(new)

    def _write_results(self, cursor: Cursor, number: int) -> None:
        results = [
            (key, number, *times, shape, self._hour, int(invalidated), value, requested)
            for key, _, times, shape, invalidated, value, requested, _ in self._batch.results
        ]
        cursor.executemany(_PUT_RESULT, results)

    def _use(self, cursor: Cursor, place: Cell | str) -> None:
        if isinstance(place, str):
            cursor.execute(_USE_RESULT, (self._hour, place, self._hour))
        elif (kind := self.kinds.get(place[0]) or self._database.kind(cursor, place[0])) is not None:
            cursor.execute(_USE_ROW, (self._hour, kind, place[1], self._hour))

    def _other_versions(self, cursor: Cursor) -> dict[str, TableInfo]:
        """Return the tables whose version differs from that in the batch."""
        versions = self._batch.tables
        unknown = TableInfo(0, False)
        there = _tables(cursor, versions)
        return {
            table: info for table, version in versions.items() if (info := there.get(table, unknown)).version != version
        }

    def _moved(self, cursor: Cursor) -> Loaded:
        """Return the rows and tables that the batch conflicts with; a row that is not stored has rev 0."""
        loaded = self._database.loaded(cursor, [(row.table, row.pk) for row in self._batch.rows])
        there = {(row.table, row.pk): row for row in loaded.rows}
        rows = [
            there.get((row.table, row.pk)) or row._replace(rev=0, born=0, shape="", value=None)
            for row in self._batch.rows
        ]
        moved = [now for now, row in zip(rows, self._batch.rows, strict=True) if now.rev != row.rev]
        return loaded._replace(rows=moved, tables=self._other_versions(cursor))

    def _kind(self, cursor: Cursor, table: str) -> int:
        kind = self.kinds.get(table) or self._database.kind(cursor, table)
        if kind is None:
            kind = cast("int", cursor.execute(_NEW_KIND, (table,)).lastrowid)
        self.kinds[table] = kind
        return kind


def _end(cursor: Cursor) -> None:
    """Close the cursor of a transaction, and roll that back if it is open."""
    cursor.close()
    end_transaction(cursor.connection)


def _logged(cursor: Cursor, after: int) -> tuple[int, list[Entry], bool]:
    """Return the newest number, the entries after a number, and whether some of them are missing."""
    number = number_in(cursor)
    entries = [
        entry_from_json(number, str(writer), entry if isinstance(entry, bytes) else b"")
        for number, writer, entry in cursor.execute(_LOG, (after,))
    ]
    if entries:
        number = max(number, entries[-1].number)  # includes commits after the number was read
    lost = after > number or [entry.number for entry in entries] != list(range(after + 1, number + 1))
    return number, [] if lost else entries, lost


def number_in(cursor: Cursor) -> int:
    """Return the number of the newest commit."""
    found = cursor.execute(_NUMBER).fetchone()
    return 0 if found is None else int(found[0])


def over_in(cursor: Cursor) -> int:
    """Return the epoch of a failed reset that is noted in the file; 0 for none."""
    found = cursor.execute(_INFO, ("over",)).fetchone()
    return found[0] if found is not None and isinstance(found[0], int) else 0


def bytes_in_use(cursor: Cursor) -> int:
    """Return the number of bytes in used pages."""
    pages, free, size = (
        int(cursor.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _marks(cursor: Cursor, marks: Iterable[Mark]) -> dict[Mark, int]:
    """Return the commits that last set the given marks."""
    return {mark: int(found[0]) for mark in marks if (found := cursor.execute(_MARK, mark).fetchone()) is not None}


def _tables(cursor: Cursor, tables: Iterable[str]) -> dict[str, TableInfo]:
    found: dict[str, TableInfo] = {}
    for table in tables:
        info = cursor.execute(_TABLE, (table,)).fetchone()
        if info is not None:
            found[table] = TableInfo(int(info[0]), bool(info[1]))
    return found


def _rows(cursor: Cursor, table: str, kind: int, pks: list[str]) -> list[StoredRow]:
    """Load the rows of a table with these primary keys."""
    near: Mapping[str, Any] = _near(cursor, kind, pks) if len(pks) > _FEW else {}
    rows: list[StoredRow] = []
    times = _NO_TIMES
    for pk in pks:
        found = near.get(pk) or cursor.execute(_ROW, (kind, pk)).fetchone()
        if found is not None:
            rows.append(row_of(table, pk, found, times))
            times = rows[-1].times
    return rows


def _near(cursor: Cursor, kind: int, pks: list[str]) -> Mapping[str, object]:
    """Load all rows between the first and the last of these, if there are few others in between."""
    ends = [cursor.execute(_BORN, (kind, pk)).fetchone() for pk in (pks[0], pks[-1])]
    if None in ends:
        return {}
    (first,), (last,) = sorted(ends)
    if last - first >= 2 * len(pks):
        return {}
    try:
        return {found[0]: found[1:] for found in cursor.execute(_ROWS, (first, last, kind))}
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        return {}  # another row in between has an invalid primary key


def row_of(table: str, pk: str, found: Any, earlier: Meta = _NO_TIMES) -> StoredRow:
    """Create a row from the columns rev, born, times, shape, value, whole_rev.

    `earlier` are the times of another row. (Benchmark: `cached()` of a list of 1,000, cold: rows of one response share
    them.)
    """
    rev, born, _, _, _, shape, value, whole = found
    times = earlier
    if times != found[2:5] or not _is_sound(times, shape, value):
        times = Meta(*found[2:5])
        if not _is_sound(times, shape, value):
            times, shape, value = _NO_TIMES, "", b""
    row: StoredRow = _new(StoredRow, (table, pk, rev, born, times, shape, value, whole, 0))
    return row


def result_of(key: str, found: Any) -> StoredResult:
    """Create a result from the columns rev, times, shape, invalidated, value, requested_rev."""
    rev, fetched_at, date, expires_at, shape, invalidated, value, requested = found
    times = Meta(fetched_at, date, expires_at)
    if not _is_sound(times, shape, value):
        times, shape, value = _NO_TIMES, "", b""
    return StoredResult(key, rev, times, shape, bool(invalidated), value, requested)


def _is_sound(times: Meta, shape: Any, value: Any) -> bool:
    """Whether times, shape and value have the right types; if not, the value counts as invalid JSON."""
    fetched_at, date, expires_at = times
    return (
        (type(value) is bytes or value is None)
        and type(shape) is str
        and type(fetched_at) is float
        and type(date) is float
        and type(expires_at) is float
    )
