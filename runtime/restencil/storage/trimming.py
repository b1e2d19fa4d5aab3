"""Delete expired rows, rows not used recently, and rows beyond the size limit from a SQLite file."""

from __future__ import annotations

import random
import time
from contextlib import closing
from math import inf
from typing import TYPE_CHECKING, Any, Final

from .database import Database, bytes_in_use, number_in
from .protocol import HOUR, TRIM_TIME, Entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Cursor

_AT_ONCE: Final = 500
_LOOKED_AT: Final = 5_000
"""The number of rows whose last use is checked before the clock is checked."""
_SAMPLED: Final = 1_000
_TARGET_SHARE: Final = 0.9
"""The share of the limit that is left after trimming."""
_FREED: Final = 100

_DEAD_RESULTS: Final = (
    "SELECT rowid, key FROM result WHERE expires_at + max(expires_at - date, 0) + 3600000 < ? LIMIT 500"
)
_OLD_RESULTS: Final = "SELECT rowid, key FROM result WHERE used <= ? LIMIT 500"
_OLD_ROWS: Final = (
    "SELECT born, kind, pk FROM row WHERE born > ? AND born <= ? AND used <= ? AND (value IS NOT NULL OR date < ?)"
    " ORDER BY born LIMIT 500"
)
_LAST_BORN: Final = "SELECT coalesce(max(born), 0) FROM row"
_FIRST_BORN: Final = "SELECT coalesce(min(born), 0) FROM row"
_SAMPLE: Final = "SELECT used FROM row WHERE born >= ? LIMIT 1"
_DROP_RESULT: Final = "DELETE FROM result WHERE rowid = ?"
_DROP_ROW: Final = "DELETE FROM row WHERE born = ?"
_NAME: Final = "SELECT name FROM kind WHERE id = ?"
_LOST: Final = "UPDATE kind SET version = version + 1, incomplete = 1 WHERE id = ?"
_DROP_LEASES: Final = "DELETE FROM lease WHERE until < ?"
_ENTRIES: Final = (
    "SELECT kind, field, value, pk FROM entry WHERE (kind, field, value) > (?, ?, ?)"
    " ORDER BY kind, field, value LIMIT 500"
)
_ROW: Final = "SELECT 1 FROM row WHERE kind = ? AND pk = ?"
_DROP_ENTRY: Final = "DELETE FROM entry WHERE kind = ? AND field = ? AND value = ?"

_START: Final[tuple[Any, ...]] = (0, "", "")


class Trim:
    """The limits of a file, and the progress of the hourly scan for unused data.

    `max_bytes` limits the pages in use, and `max_age` (ms) is how long unused data is kept.
    """

    def __init__(self, max_bytes: int, max_age: float) -> None:
        self._max_bytes = max_bytes
        self._max_age = max_age
        self.begin()

    def begin(self) -> None:
        """Start again, for another file."""
        self._frees_space = False
        self._looked = -1
        self._born = 0
        self._entry: tuple[Any, ...] | None = _START

    def has_work(self, database: Database, now: float) -> bool:
        """Whether a call of `run` would have anything to do."""

        def is_over(cursor: Cursor) -> bool:
            free = cursor.execute("PRAGMA freelist_count").fetchone()[0]
            if free or self._frees_space or int(now // HOUR) != self._looked:
                return True
            return bytes_in_use(cursor) > self._max_bytes

        return database.read(is_over, endless=True)

    def run(self, database: Database, now: float) -> int:
        """Delete data beyond the limits for about `TRIM_TIME`; return the number of rows and results."""
        end = time.monotonic() + TRIM_TIME
        used, target = _bytes(database), int(self._max_bytes * _TARGET_SHARE)
        dropped = 0
        if used > self._max_bytes or (self._frees_space and used > target):
            dropped = _free_space(database, now, used, target, end)
            self._frees_space = dropped > 0
        dropped += self._look(database, now, end)
        _free_pages(database, end)
        return dropped

    def _look(self, database: Database, now: float, end: float) -> int:
        """Delete data that was not used for `max_age`, whatever the size; runs once an hour."""
        hour = int(now // HOUR)
        if hour == self._looked:
            return 0
        dropped = 0
        if self._max_age != inf:
            oldest = (now - self._max_age) // HOUR - 1
            dropped = _drop_results(database, _OLD_RESULTS, (oldest,), end)
            last = _number(database, _LAST_BORN)
            while self._born < last and time.monotonic() < end:
                slice_end = self._born + _LOOKED_AT
                dropped += _drop_rows(database, (self._born, slice_end, oldest, now - max(self._max_age, HOUR)), end)
                self._born = slice_end
            if self._born < last:
                return dropped
        while self._entry is not None and time.monotonic() < end:
            self._entry = _tidy_index(database, self._entry)
        if self._entry is None:
            ended = (time.time() * 1000 - HOUR,)
            database.write(lambda cursor: cursor.execute(_DROP_LEASES, ended))
            self._looked, self._born, self._entry = hour, 0, _START
        return dropped


def free_space(database: Database, now: float, share: float) -> int:
    """Delete this share of the data because the disk is full; return the number of rows and results."""
    used = _bytes(database)
    return _free_space(database, now, used, int(used * (1 - share)), time.monotonic() + TRIM_TIME)


def _free_space(database: Database, now: float, used: int, target: int, end: float) -> int:
    def is_done() -> bool:
        return _bytes(database) <= target

    dropped = _drop_results(database, _DEAD_RESULTS, (now,), end, is_done)
    if is_done():
        return dropped
    cutoff = _cutoff(database, now, 1 - target / used)
    dropped += _drop_results(database, _OLD_RESULTS, (cutoff,), end, is_done)
    return dropped + _drop_rows(database, (0, _number(database, _LAST_BORN), cutoff, now - HOUR), end, is_done)


def _cutoff(database: Database, now: float, share: float) -> int:
    """Estimate the hour before which this share of the rows was last used, from a sample."""
    first, last = _number(database, _FIRST_BORN), _number(database, _LAST_BORN)
    at = [(random.randint(first, last),) for _ in range(_SAMPLED)]
    found = database.read(lambda cursor: [cursor.execute(_SAMPLE, place).fetchone() for place in at], endless=True)
    used = sorted(hour for (hour,) in filter(None, found))
    return used[min(int(share * len(used)), len(used) - 1)] if used else int(now // HOUR)


def _never() -> bool:
    return False


def _drop_results(
    database: Database, which: str, bound: tuple[object, ...], end: float, is_done: Callable[[], bool] = _never
) -> int:
    """Drop the results that a statement finds, in at least one short transaction, until the time `end`."""

    def drop(cursor: Cursor) -> int:
        found = cursor.execute(which, bound).fetchall()
        cursor.executemany(_DROP_RESULT, [(rowid,) for rowid, _ in found])
        _log(database, cursor, {}, [key for _, key in found])
        return len(found)

    return _repeated(database, drop, end, is_done)


def _drop_rows(database: Database, bound: tuple[object, ...], end: float, is_done: Callable[[], bool] = _never) -> int:
    """Drop rows in at least one short transaction, until the time `end`.

    `bound` is (born after, born until, last used until, tombstones dated before).
    """
    after, *others = bound

    def drop(cursor: Cursor) -> int:
        nonlocal after
        found = cursor.execute(_OLD_ROWS, (after, *others)).fetchall()
        cursor.executemany(_DROP_ROW, [(born,) for born, _, _ in found])
        gone: dict[int, list[str]] = {}
        for _, kind, pk in found:
            gone.setdefault(kind, []).append(pk)
        cursor.executemany(_LOST, [(kind,) for kind in gone])
        names = {cursor.execute(_NAME, (kind,)).fetchone()[0]: pks for kind, pks in gone.items()}
        _log(database, cursor, names, [])
        after = found[-1][0] if found else after  # the next transaction continues after the last row
        return len(found)

    return _repeated(database, drop, end, is_done)


def _repeated(database: Database, drop: Callable[[Cursor], int], end: float, is_done: Callable[[], bool]) -> int:
    """Drop data in short transactions, at least one, until the time `end`, or until there is nothing more to drop."""
    dropped = 0
    while not is_done():
        count = database.write(drop)
        dropped += count
        if count < _AT_ONCE or time.monotonic() >= end:
            break
    return dropped


def _log(database: Database, cursor: Cursor, gone: dict[str, list[str]], keys: list[str]) -> None:
    """Log the deletion as a commit without a writer."""
    if gone or keys:
        database.append(cursor, number_in(cursor) + 1, Entry(0, "", None, {}, {}, gone, keys, False))


def _tidy_index(database: Database, after: tuple[object, ...]) -> tuple[object, ...] | None:
    """Delete some index entries without a row, after a position; return the next position, None at the end."""

    def drop(cursor: Cursor) -> list[tuple[Any, ...]]:
        found = cursor.execute(_ENTRIES, after).fetchall()
        lost = [place for *place, pk in found if cursor.execute(_ROW, (place[0], pk)).fetchone() is None]
        cursor.executemany(_DROP_ENTRY, lost)
        return found

    found = database.write(drop)
    return tuple(found[-1][:3]) if len(found) == _AT_ONCE else None


def _free_pages(database: Database, end: float) -> None:
    """Return free pages to the file system, some at a time."""
    with database.writing, closing(database.writer().cursor()) as cursor:
        while time.monotonic() < end and cursor.execute("PRAGMA freelist_count").fetchone()[0]:
            cursor.execute(f"PRAGMA incremental_vacuum({_FREED})").fetchall()


def _bytes(database: Database) -> int:
    return database.read(bytes_in_use, endless=True)


def _number(database: Database, question: str) -> int:
    return database.read(lambda cursor: int(cursor.execute(question).fetchone()[0]), endless=True)
