"""The SQLite file of one epoch: reads, commits, leases and the log.

Two connections: one commits, one reads, each behind a lock of its own, so that nobody who reads waits for a commit.
The texts of SQL are constants, and a statement is about one row, or about rows that came one after another: one for
many rows that lie anywhere is no faster, or slower by far.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from math import inf
from operator import itemgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ..base.errors import StorageDown
from ..base.lazy_imports import sqlite3
from ..base.values import Meta
from .entries import entry_from_json, entry_to_json
from .epochs import is_settled
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
"""After so many steps of SQLite's machine the clock is looked at."""
_AT_ONCE: Final = 128
_TABLE_OF: Final = itemgetter(0)
_FEW: Final = 8
"""So few rows are read one by one."""
_LONGEST_LEASE: Final = 600_000
"""A lease that ends later than in so many ms was taken before the clock was set back."""
_LOG_ENTRIES: Final = 10_000
_LOG_BYTES: Final = 1024 * 1024
_LOG_LOOK: Final = 100
"""The bytes of the log are counted after so many commits, and after a long entry."""
_LONG_ENTRY: Final = 10_000
_REMEMBERED: Final = 24
"""The last id of a writer that commits no more is remembered for so many hours."""

_STOPPED: Final = 1_000_000_000
"""A write may become visible so many nanoseconds later, if its process is stopped."""
_BELIEVED: Final = 1.0
"""For so many seconds an unchanged file is not read again."""

_NUMBER: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'log'"
_INFO: Final = "SELECT value FROM info WHERE name = ?"
_PUT_INFO: Final = "INSERT OR REPLACE INTO info (name, value) VALUES (?, ?)"
_KIND: Final = "SELECT id FROM kind WHERE name = ?"
_NEW_KIND: Final = "INSERT INTO kind (name, version, incomplete) VALUES (?, 0, 0)"
_TABLE: Final = "SELECT version, incomplete FROM kind WHERE name = ?"
_GROW: Final = "UPDATE kind SET version = version + 1 WHERE id = ?"
_SHOW: Final = "UPDATE kind SET version = max(version, 1) WHERE id = ?"
_COMPLETE: Final = "UPDATE kind SET incomplete = ? WHERE id = ?"
_SHAPE: Final = "SELECT id FROM shape WHERE text = ?"
_SHAPE_TEXT: Final = "SELECT text FROM shape WHERE id = ?"
_NEW_SHAPE: Final = "INSERT INTO shape (text) VALUES (?)"
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
# (Benchmark: `cached()` of an entity, cold: its cell, its key and its table in one statement, which is one moment.)
_CELL_AND_KEY: Final = (
    "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'log'), kind.version, kind.incomplete, row.rev, row.born,"
    " row.fetched_at, row.date, row.expires_at, row.shape, row.value, row.whole, result.rev, result.fetched_at,"
    " result.date, result.expires_at, result.shape, result.invalidated, result.value, result.requested,"
    " EXISTS (SELECT 1 FROM mark) FROM kind"
    " LEFT JOIN row ON row.kind = kind.id AND row.pk = ? LEFT JOIN result ON result.key = ? WHERE kind.name = ?"
)
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
_DROP_INDEX: Final = "DELETE FROM entry WHERE kind = ? AND field = ? AND value = ?"
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
    "SELECT (SELECT value FROM info WHERE name = 'over'), (SELECT id FROM writer WHERE name = ?1),"
    " (SELECT number FROM writer WHERE name = ?1)"
)
_PUT_COMMIT: Final = "INSERT OR REPLACE INTO writer (name, id, number, used) VALUES (?, ?, ?, ?)"
_CUT_COMMITS: Final = "DELETE FROM writer WHERE used < ?"
_RELEASE: Final = "DELETE FROM lease WHERE name = ?"

_NO_TIMES: Final = Meta(0.0, 0.0, 0.0)
_new: Final[Any] = vars(tuple)["__new__"]
"""Makes a tuple of a kind of all its members. (Benchmark: `cached()` of a list of 1,000, cold.)"""


class Retired(Exception):
    """The epoch is over; its file is not opened again."""


class Over(Exception):
    """A reset was noted in the file, whose successor could not be made."""


class Database:
    """The file of one epoch, and the two connections to it, each made when it is needed.

    `lock_timeout` and `timeout`, the longest that a read takes, are in ms. Methods raise the errors of sqlite3; the
    storage translates them.
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
        self._log = f"{file}-wal"
        self._place = place
        self._lock_timeout = lock_timeout
        self._timeout = timeout
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._deadline = inf
        # Ids never change once they are committed, so what is known of them holds for both connections.
        self._kinds: dict[str, int] = {}
        self._shapes: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._version = -1
        self._known = 0
        self._seen: tuple[int, int, int] | None = None
        """What the log of SQLite was like before a look that found `_known` to be the newest number."""
        self._believed = 0.0
        with self.writing:
            found = self.writer().execute(_INFO, ("reset",)).fetchone()
            self.over = over_in(self.writer().cursor())
            """The epoch that a reset was to begin which is noted here; 0 for none."""
        self.reset = found[0] if found is not None and isinstance(found[0], int) else 0

    def writer(self) -> Connection:
        """The connection that commits; the caller holds `writing`."""
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
        """Closes both connections, after their current work."""
        with self.writing:
            connection, self._writer = self._writer, None
            if connection is not None:
                connection.close()
            self._version = -1
        with self.reading:
            connection, self._reader = self._reader, None
            if connection is not None:
                connection.close()

    def _latest(self) -> float:
        return time.monotonic() + self._timeout / 1000

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    # What holds a lock is a function that is given the work, not a context manager: an interrupt that comes after a
    # generator took the lock and before the block begins would leave it taken for as long as the traceback lives.

    def read(self, work: Callable[[Cursor], T], *, endless: bool = False) -> T:
        """Gives what a work finds at one moment of the file, for which it has at most `timeout`, or all the time."""
        with self.reading:
            connection = self._for_reading()
            try:
                end_transaction(connection)  # one that was left by an interrupt
                self._deadline = inf if endless else self._latest()
                return work(connection.execute("BEGIN"))
            finally:
                try:
                    self._deadline = inf
                    end_transaction(connection)
                finally:
                    end_transaction(connection)

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Runs work in a transaction and returns its result; after an exception nothing is written."""
        with self.writing:
            connection = self.writer()
            try:
                end_transaction(connection)
                found = work(connection.execute("BEGIN IMMEDIATE"))
                if connection.in_transaction:
                    connection.execute("COMMIT")
                return found
            finally:
                try:
                    end_transaction(connection)
                finally:  # where the first was interrupted
                    end_transaction(connection)

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str],
        index: Sequence[IndexEntry],
        tables: Sequence[str],
        marks: Sequence[Mark],
    ) -> Loaded:
        """What is held of these places, of one moment."""
        refuse_too_many(len(cells) + len(keys) + len(index))
        if len(cells) == len(keys) == 1 and not index and [*tables] == [cells[0][0]]:
            found = self._cell_and_key(cells[0], keys[0])
            if found is not None:
                return found
        return self.read(lambda cursor: self.loaded(cursor, cells, keys, index, tables, marks))

    def _cell_and_key(self, cell: Cell, key: str) -> Loaded | None:
        """The row of a cell and the result of a key; None if the table is unknown, or something is marked as stale."""
        table, pk = cell
        with self.reading:  # one statement is one moment. (Benchmark: `cached()` of an entity, cold.)
            cursor = self._for_reading().cursor()
            try:
                self._deadline = self._latest()
                found = cursor.execute(_CELL_AND_KEY, (pk, key, table)).fetchall()
            finally:
                self._deadline = inf
            if not found or found[0][19]:
                return None
            number, version, incomplete, *_ = found[0]
            row, result, shapes = found[0][3:11], found[0][11:19], Shapes(cursor, self._texts)
            return Loaded(
                self.epoch,
                int(number or 0),
                [] if row[0] is None else [row_of(table, pk, row, shapes)],
                [] if result[0] is None else [result_of(key, result, shapes)],
                {},
                {table: TableInfo(int(version), bool(incomplete))},
            )

    def loaded(
        self,
        cursor: Cursor,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
    ) -> Loaded:
        """What is held of these places, in the transaction of a cursor."""
        shapes = Shapes(cursor, self._texts)
        number = number_in(cursor)
        rows: list[StoredRow] = []
        for start in range(0, len(cells), _AT_ONCE):
            if start:
                self._in_time()
            for table, named in groupby(cells[start : start + _AT_ONCE], _TABLE_OF):
                kind = self.kind(cursor, table)
                if kind is not None:
                    rows += _rows(cursor, table, kind, [pk for _, pk in named], shapes)
        self._in_time()
        results = [
            result_of(key, found, shapes)
            for key in keys
            if (found := cursor.execute(_RESULT, (key,)).fetchone()) is not None
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
        """The number of a table in the file; None if it is unknown.

        For what is committed alone: a commit remembers by itself what it has begun.
        """
        known = self._kinds.get(table)
        if known is not None:
            return known
        found = cursor.execute(_KIND, (table,)).fetchone()
        if found is None:
            return None
        kind = self._kinds[table] = int(found[0])
        return kind

    def shape(self, cursor: Cursor, text: str) -> int | None:
        """The number of a shape in the file; None if it is unknown."""
        known = self._shapes.get(text)
        if known is not None:
            return known
        found = cursor.execute(_SHAPE, (text,)).fetchone()
        return None if found is None else int(found[0])

    def scan(self, table: str | None, after: str | None, limit: int) -> Page:
        """The primary keys of a table by arrival, or the keys of all results."""

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
        """Writes a batch of this epoch; `now` is in ms of the store's time."""
        with self.writing:
            commit = _Commit(self, batch, int(now // HOUR))
            outcome = self.write(commit.run)
            if outcome.number:
                self._kinds.update(commit.kinds)
                self._shapes.update(commit.shapes)
            return outcome

    def end(self, epoch: int) -> bool:
        """Notes in the file that a reset was to begin this epoch; whether that can be read from now on."""
        try:
            if self._writer is None:
                return False
            self.write(lambda cursor: cursor.execute(_PUT_INFO, ("over", epoch)))
        except sqlite3.Error:
            return False
        return True

    def append(self, cursor: Cursor, number: int, entry: Entry) -> None:
        """Appends the entry of a commit to the log, and deletes entries that are too old."""
        self._known = number  # `data_version` tells of the commits of others alone
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

    def is_quiet(self, after: int) -> bool:
        """Whether nothing was committed after a number; False if that is not known without a look.

        Nothing comes while nothing is written, which the system says of a file sooner than SQLite of what is in it. For
        a second that is believed: who commits may be stopped between his last write and its being seen, though not for
        long. (Benchmark: an idle store with a storage.)
        """
        seen = self._seen  # before `_known`, which is set before it
        if seen is None or after != self._known or time.monotonic() > self._believed:
            return False
        try:
            found = os.stat(self._log)
        except OSError:
            return False
        return seen == (found.st_mtime_ns, found.st_size, found.st_ino)

    def _look(self) -> tuple[int, int, int] | None:
        """The state of the log file by which later writes are noticed; None if they may not be."""
        if sys.platform != "win32":  # where times of a file that is open come late
            with suppress(OSError):
                found = os.stat(self._log)
                if is_settled(found, _STOPPED):
                    return found.st_mtime_ns, found.st_size, found.st_ino
        return None

    def changes(self, after: int) -> tuple[int, list[Entry], bool]:
        """The newest number, the entries after a number, and whether some of them are gone."""
        try:
            if not self.writing.acquire(blocking=False):  # a commit may wait for another process, and reads for this
                return self.read(lambda cursor: _logged(cursor, after))
            seen, believed = self._look(), time.monotonic() + _BELIEVED
            version: int = self.writer().execute("PRAGMA data_version").fetchone()[0]
            if version == self._version and after == self._known:
                self._seen, self._believed = seen, believed
                return after, [], False
            if over_in(self.writer().cursor()):
                raise Over
            found = _logged(self.writer().cursor(), after)
            self._version, self._known = version, found[0]
            self._seen, self._believed = seen, believed
            return found
        finally:
            try:
                self.writing.release()
            except RuntimeError:  # it was not taken: only the lock itself knows that after an interrupt
                pass

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, now: float) -> list[bool]:
        """For each name and owner, whether the owner has the lease for `length` ms from `now`, the system's time.

        As reads wait for it, it takes no longer than a `load` may, unless others go on committing meanwhile.
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
        """Another number each time that somebody has committed."""
        with self.reading:
            return int(self._for_reading().execute("PRAGMA data_version").fetchone()[0])

    def _leases_soon(self, wanted: Sequence[tuple[str, str]], length: float, now: float) -> list[bool]:
        """Takes leases, and waits for other processes no longer than a `load` may."""
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
        """The newest commit."""
        with self.writing:
            return number_in(self.writer().cursor())

    def stats(self) -> NamespaceStats:
        """How much is in it."""

        def counted(cursor: Cursor) -> NamespaceStats:
            rows = cursor.execute("SELECT count(*) FROM row").fetchone()[0]
            results = cursor.execute("SELECT count(*) FROM result").fetchone()[0]
            return NamespaceStats(rows, results, bytes_in_use(cursor))

        return self.read(counted, endless=True)


class _Commit:
    """One commit; the ids that it gives are used after it succeeds."""

    def __init__(self, database: Database, batch: Batch, hour: int) -> None:
        self.kinds: dict[str, int] = {}
        self.shapes: dict[str, int] = {}
        self._database = database
        self._batch = batch
        self._hour = hour

    def run(self, cursor: Cursor) -> Outcome:
        """Writes all of it, or leaves the transaction ended with nothing written."""
        batch = self._batch
        epoch = self._database.epoch
        number = 0
        writer, id = batch.entry.writer, batch.entry.commit_id
        over, last, before = cursor.execute(_LAST_COMMIT, (writer,)).fetchone()
        if over is not None:
            raise Over
        if id and last is not None and id <= last:
            cursor.execute("ROLLBACK")
            return Outcome(before if id == last else 0, epoch, None)
        contents = (
            batch.rows,
            batch.results,
            batch.drop,
            batch.index,
            batch.tables,
            batch.listed,
            batch.incomplete,
            batch.stale,
        )
        if any(contents):
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
        """Whether each row was as the batch says."""
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
            place = (self._kind(cursor, table), field, value)
            cursor.execute(*((_DROP_INDEX, place) if pk is None else (_PUT_INDEX, (*place, pk))))
        self._database.append(cursor, number, batch.entry)
        return True

    def _drop(self, cursor: Cursor) -> set[int]:
        """Deletes what the batch drops; returns the tables that lost rows."""
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
            row = (number, fetched_at, date, expires_at, self._shape(cursor, shape), self._hour, value, whole, kind, pk)
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
            (key, number, *times, self._shape(cursor, shape), self._hour, int(invalidated), value, requested)
            for key, _, times, shape, invalidated, value, requested, _ in self._batch.results
        ]
        cursor.executemany(_PUT_RESULT, results)

    def _use(self, cursor: Cursor, place: Cell | str) -> None:
        if isinstance(place, str):
            cursor.execute(_USE_RESULT, (self._hour, place, self._hour))
        elif (kind := self.kinds.get(place[0]) or self._database.kind(cursor, place[0])) is not None:
            cursor.execute(_USE_ROW, (self._hour, kind, place[1], self._hour))

    def _other_versions(self, cursor: Cursor) -> dict[str, TableInfo]:
        """The tables whose version is not the one that the batch was made from."""
        versions = self._batch.tables
        unknown = TableInfo(0, False)
        there = _tables(cursor, versions)
        return {
            table: info for table, version in versions.items() if (info := there.get(table, unknown)).version != version
        }

    def _moved(self, cursor: Cursor) -> Loaded:
        """What is not as the batch says; a row that is not there at all has rev 0."""
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

    def _shape(self, cursor: Cursor, text: str) -> int:
        shape = self.shapes.get(text) or self._database.shape(cursor, text)
        if shape is None:
            shape = cast("int", cursor.execute(_NEW_SHAPE, (text,)).lastrowid)
        self.shapes[text] = shape
        return shape


class Shapes:
    """The texts of shapes by their number; `known` are those that were looked up before."""

    __slots__ = ("_cursor", "_known", "times")

    def __init__(self, cursor: Cursor, known: dict[int, str] | None = None) -> None:
        self.times = _NO_TIMES
        """The times of the previous row, which rows of one response share. (Benchmark: `cached()` of a list, cold.)"""
        self._cursor = cursor
        self._known: dict[int, str] = {} if known is None else known

    def text(self, shape: int) -> str:
        """The text of a shape."""
        known = self._known.get(shape)
        if known is not None:
            return known
        found = self._cursor.execute(_SHAPE_TEXT, (shape,)).fetchone()
        if found is None:
            return "?"  # a shape that no class has is not readable
        text = self._known[shape] = str(found[0])
        return text


def _logged(cursor: Cursor, after: int) -> tuple[int, list[Entry], bool]:
    """The newest number, the entries after a number, and whether some of them are gone."""
    number = number_in(cursor)
    entries = [
        entry_from_json(number, str(writer), entry if isinstance(entry, bytes) else b"")
        for number, writer, entry in cursor.execute(_LOG, (after,))
    ]
    if entries:
        number = max(number, entries[-1].number)  # what came in between is there already
    lost = after > number or [entry.number for entry in entries] != list(range(after + 1, number + 1))
    return number, [] if lost else entries, lost


def number_in(cursor: Cursor) -> int:
    """The newest commit."""
    found = cursor.execute(_NUMBER).fetchone()
    return 0 if found is None else int(found[0])


def over_in(cursor: Cursor) -> int:
    """The epoch that a reset was to begin which is noted in the file; 0 for none."""
    found = cursor.execute(_INFO, ("over",)).fetchone()
    return found[0] if found is not None and isinstance(found[0], int) else 0


def bytes_in_use(cursor: Cursor) -> int:
    """The bytes of all pages that hold something."""
    pages, free, size = (
        int(cursor.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _marks(cursor: Cursor, marks: Iterable[Mark]) -> dict[Mark, int]:
    """The commits that set these marks last."""
    return {mark: int(found[0]) for mark in marks if (found := cursor.execute(_MARK, mark).fetchone()) is not None}


def _tables(cursor: Cursor, tables: Iterable[str]) -> dict[str, TableInfo]:
    found: dict[str, TableInfo] = {}
    for table in tables:
        info = cursor.execute(_TABLE, (table,)).fetchone()
        if info is not None:
            found[table] = TableInfo(int(info[0]), bool(info[1]))
    return found


def _rows(cursor: Cursor, table: str, kind: int, pks: list[str], shapes: Shapes) -> list[StoredRow]:
    """The rows of a table under these primary keys."""
    near: Mapping[str, Any] = _near(cursor, kind, pks) if len(pks) > _FEW else {}
    rows: list[StoredRow] = []
    for pk in pks:
        found = near.get(pk) or cursor.execute(_ROW, (kind, pk)).fetchone()
        if found is not None:
            rows.append(row_of(table, pk, found, shapes))
    return rows


def _near(cursor: Cursor, kind: int, pks: list[str]) -> Mapping[str, Any]:
    """The rows between the first and the last of these, if there are few others; others may be among them."""
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
        return {}  # a row in between, which nobody asked for, has a primary key that is no text


def row_of(table: str, pk: str, found: Any, shapes: Shapes, stale: int = 0) -> StoredRow:
    """A row of what a statement found: rev, born, times, shape, value, whole_rev; and of its mark."""
    rev, born, _, _, _, shape, value, whole = found
    times = shapes.times
    if times != found[2:5] or not (type(value) is bytes or value is None):
        times = Meta(*found[2:5])
        if not _is_sound(times, value):
            times, value = _NO_TIMES, b""
        shapes.times = times
    row: StoredRow = _new(StoredRow, (table, pk, rev, born, times, shapes.text(shape), value, whole, stale))
    return row


def result_of(key: str, found: Any, shapes: Shapes, stale: int = 0) -> StoredResult:
    """A result of what a statement found: rev, times, shape, invalidated, value, requested_rev; and of its mark."""
    rev, fetched_at, date, expires_at, shape, invalidated, value, requested = found
    times = Meta(fetched_at, date, expires_at)
    if not _is_sound(times, value):
        times, value = _NO_TIMES, b""
    return StoredResult(key, rev, times, shapes.text(shape), bool(invalidated), value, requested, stale)


def _is_sound(times: Meta, value: Any) -> bool:
    """Whether times and value have our types; if not, the value counts as no JSON."""
    fetched_at, date, expires_at = times
    return (
        (type(value) is bytes or value is None)
        and type(fetched_at) is float
        and type(date) is float
        and type(expires_at) is float
    )
