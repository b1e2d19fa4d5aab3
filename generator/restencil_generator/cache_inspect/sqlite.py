"""Inspection of SQLite storages, also while other processes use them."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from restencil import StorageCorrupt, StorageDown, StorageOff
from restencil.storage import StoredResult, StoredRow
from restencil.storage.database import bytes_in_use, number_in, result_of, row_of
from restencil.storage.entries import committed_at
from restencil.storage.epochs import Epochs
from restencil.storage.format import NotOurs, connect, has_format, nothing
from restencil.storage.protocol import HOUR

from .namespace import NamespaceSummary, StoredLease, StoredNamespace, StoredTable

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor

_HASH: Final = frozenset("0123456789abcdef")
_LENGTH: Final = 32
_TIMEOUT: Final = 5_000.0
_AT_ONCE: Final = 500

_PLACE: Final = "SELECT value FROM info WHERE name = 'place'"
_TABLES: Final = (
    "SELECT kind.name, count(row.value), count(row.born) - count(row.value), coalesce(sum(length(row.value)), 0),"
    " min(row.date), max(row.date), kind.incomplete FROM kind LEFT JOIN row ON row.kind = kind.id"
    " GROUP BY kind.id ORDER BY kind.name"
)
_RESULTS: Final = "SELECT count(*), coalesce(sum(length(value)), 0) FROM result"
_FIRST: Final = "SELECT coalesce(min(number), 0) FROM log"
_LAST: Final = "SELECT entry FROM log ORDER BY number DESC LIMIT 1"
_LEASES: Final = "SELECT name, owner, until FROM lease WHERE until > ? ORDER BY name"
_ROWS: Final = (
    "SELECT rev, born, fetched_at, date, expires_at, shape, value, whole, pk, used FROM row"
    " WHERE kind = (SELECT id FROM kind WHERE name = ?) AND born > ? ORDER BY born LIMIT 500"
)
_ROW: Final = (
    "SELECT rev, born, fetched_at, date, expires_at, shape, value, whole, used FROM row"
    " WHERE kind = (SELECT id FROM kind WHERE name = ?) AND pk = ?"
)
_ALL_RESULTS: Final = (
    "SELECT rev, fetched_at, date, expires_at, shape, invalidated, value, requested, key, used FROM result"
    " WHERE key > ? ORDER BY key LIMIT 500"
)
_RESULT: Final = (
    "SELECT rev, fetched_at, date, expires_at, shape, invalidated, value, requested, used FROM result WHERE key = ?"
)


def namespaces_of(path: str) -> Sequence[StoredNamespace]:
    """Return the namespaces in a folder, sorted by hash."""
    if not os.path.isdir(path):
        what = "a file" if os.path.exists(path) else "not there"
        raise StorageOff(f"{path} is {what}; expected the folder that a restencil.SQLiteStorage was given")
    with os.scandir(path) as entries:
        hashes = sorted(e.name for e in entries if e.is_dir() and len(e.name) == _LENGTH and _HASH.issuperset(e.name))
    found = [_Folder(path, name) for name in hashes]
    return [folder for folder in found if folder.exists()]


class _Folder:
    """The current epoch of a namespace in its folder."""

    def __init__(self, path: str, name: str) -> None:
        self.hash = name
        self._path = path
        self._epochs = Epochs(path, name)
        self._connection: Connection | None = None
        self._is_empty = False
        self._epoch = 0

    def exists(self) -> bool:
        """Return whether the namespace has a file."""
        return self._epochs.newest() is not None

    def summary(self) -> NamespaceSummary:
        """Return sizes and counts, by table."""
        with self._reads() as cursor:
            now = time.time() * 1000
            place = cursor.execute(_PLACE).fetchone()
            last = cursor.execute(_LAST).fetchone()
            results, result_bytes = cursor.execute(_RESULTS).fetchone()
            return NamespaceSummary(
                "" if place is None else str(place[0]),
                self._epoch,
                float(self._epoch),
                0 if self._is_empty else bytes_in_use(cursor),
                None if last is None else committed_at(last[0]),
                int(cursor.execute(_FIRST).fetchone()[0]),
                number_in(cursor),
                [
                    StoredTable(name, rows, tombstones, size, oldest, newest, bool(incomplete))
                    for name, rows, tombstones, size, oldest, newest, incomplete in cursor.execute(_TABLES)
                ],
                int(results),
                int(result_bytes),
                [StoredLease(name, owner, until - now) for name, owner, until in cursor.execute(_LEASES, (now,))],
                int(cursor.execute("PRAGMA freelist_count").fetchone()[0]),
            )

    def rows(self, table: str) -> Iterator[tuple[StoredRow, float]]:
        """Yield the rows of a table in insertion order, read in batches."""
        born = 0
        while True:
            with self._reads() as cursor:
                found = cursor.execute(_ROWS, (table, born)).fetchall()
                some = [(row_of(table, pk, row), used * HOUR) for *row, pk, used in found]
            yield from some
            if len(some) < _AT_ONCE:
                return
            born = some[-1][0].born

    def row(self, table: str, pk: str) -> tuple[StoredRow, float] | None:
        """Return one row with its last use in ms since 1970."""
        with self._reads() as cursor:
            found = cursor.execute(_ROW, (table, pk)).fetchone()
            return None if found is None else (row_of(table, pk, found[:-1]), found[-1] * HOUR)

    def results(self) -> Iterator[tuple[StoredResult, float]]:
        """Yield all results by key, read in batches."""
        after = ""
        while True:
            with self._reads() as cursor:
                found = cursor.execute(_ALL_RESULTS, (after,)).fetchall()
                some = [(result_of(key, result), used * HOUR) for *result, key, used in found]
            yield from some
            if len(some) < _AT_ONCE:
                return
            after = some[-1][0].key

    def result(self, key: str) -> tuple[StoredResult, float] | None:
        """Return the result of a key with its last use in ms since 1970."""
        with self._reads() as cursor:
            found = cursor.execute(_RESULT, (key,)).fetchone()
            return None if found is None else (result_of(key, found[:-1]), found[-1] * HOUR)

    def damage(self) -> Sequence[str]:
        """Return the damage that SQLite finds in the file."""
        try:
            with self._reads() as cursor:
                found = cursor.execute("PRAGMA integrity_check").fetchall()
        except StorageCorrupt as error:
            return [str(error)]
        return [str(text) for (text,) in found if text != "ok"]

    def reset(self) -> int:
        """Begin a new, empty epoch, and delete the files of old ones."""
        self.close()
        self._epochs.prepare()
        epoch = self._epochs.begin(0)
        self._epochs.sweep(epoch, epoch)
        return epoch

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _reads(self) -> Generator[Cursor]:
        """Yield a cursor in a read transaction, which sees one snapshot of the file."""
        try:
            connection = self._opened()
            connection.execute("BEGIN")
            try:
                yield connection.cursor()
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
        except (sqlite3.DatabaseError, NotOurs) as error:
            code = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
            if isinstance(error, NotOurs) or code in (11, 26):
                what = str(error) or "it is no database of a storage"
                raise StorageCorrupt(f"{self._epochs.file(self._epoch)} is damaged: {what}") from error
            raise StorageDown(f"{self._path} cannot be read now: {error}") from error

    def _opened(self) -> Connection:
        if self._connection is None:
            epoch = self._epochs.newest()
            if epoch is None:
                raise StorageDown(f"{self._epochs.folder} has no file any more")
            self._epoch = epoch
            self._epochs.check(epoch)
            connection = connect(self._epochs.file(epoch), _TIMEOUT)
            try:
                connection.execute("PRAGMA query_only = ON")
                if not has_format(connection, self._epochs.file(epoch)):
                    connection.close()
                    connection = nothing()
                    self._is_empty = True
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection
