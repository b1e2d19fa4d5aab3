"""The SQLite file of a storage: tables, format number and connection settings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ..base.errors import StorageDown, StorageOff
from ..base.lazy_imports import sqlite3

if TYPE_CHECKING:
    from sqlite3 import Connection

FORMAT: Final = 3
APPLICATION: Final = 0x52535443

_LONGEST_TIMEOUT: Final = 2**31 - 1
_OLDEST_SQLITE: Final = (3, 24, 0)

_TABLES: Final = """
CREATE TABLE info   (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE kind   (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
                     incomplete INTEGER NOT NULL);
CREATE TABLE row    (born INTEGER PRIMARY KEY, kind INTEGER NOT NULL, pk TEXT NOT NULL, rev INTEGER NOT NULL,
                     fetched_at REAL NOT NULL, date REAL NOT NULL, expires_at REAL NOT NULL,
                     shape TEXT NOT NULL, used INTEGER NOT NULL, value BLOB, whole INTEGER NOT NULL,
                     UNIQUE (kind, pk));
CREATE TABLE result (key TEXT PRIMARY KEY, rev INTEGER NOT NULL,
                     fetched_at REAL NOT NULL, date REAL NOT NULL, expires_at REAL NOT NULL,
                     shape TEXT NOT NULL, used INTEGER NOT NULL, invalidated INTEGER NOT NULL, value BLOB,
                     requested INTEGER NOT NULL);
CREATE TABLE mark   (kind TEXT, name TEXT, pk TEXT, number INTEGER NOT NULL,
                     PRIMARY KEY (kind, name, pk)) WITHOUT ROWID;
CREATE TABLE entry  (kind INTEGER, field TEXT, value TEXT, pk TEXT NOT NULL,
                     PRIMARY KEY (kind, field, value)) WITHOUT ROWID;
CREATE TABLE log    (number INTEGER PRIMARY KEY AUTOINCREMENT, writer TEXT NOT NULL, entry BLOB NOT NULL);
CREATE TABLE writer (name TEXT PRIMARY KEY, id INTEGER NOT NULL, number INTEGER NOT NULL, used INTEGER NOT NULL)
                     WITHOUT ROWID;
CREATE TABLE lease  (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""


class NotOurs(Exception):
    """The file has an older format, or is not a file of this library."""


def create(file: str, place: str, reset: int) -> None:
    """Create the tables in an empty file."""
    connection = connect(file, 0)
    try:
        _format(connection, place, reset)
        _share(connection, file)
    finally:
        connection.close()


def gave_up(path: str, timeout: float) -> StorageDown:
    """Return the error for a read that takes longer than `timeout` ms."""
    return StorageDown(f"{path} was not read within {timeout:g} ms; give SQLiteStorage a longer timeout for slow disks")


def nothing() -> Connection:
    """Open an empty database in memory, which replaces a file that a reset has left empty."""
    connection: Connection = sqlite3.connect(":memory:", isolation_level=None)
    _format(connection, "", 0)
    return connection


def connect(file: str, timeout: float) -> Connection:
    """Open a connection to an existing file, with the common settings."""
    from pathlib import Path

    connection: Connection = sqlite3.connect(
        f"{Path(file).as_uri()}?mode=rw",
        timeout=timeout / 1000,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 4194304")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def be_patient(connection: Connection, timeout: float) -> None:
    """Set how long a connection waits for locks, in ms."""
    connection.execute(f"PRAGMA busy_timeout = {min(timeout, _LONGEST_TIMEOUT):.0f}")


def end_transaction(connection: Connection) -> None:
    """Roll back an open transaction, if there is one."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def opened(file: str, epoch: int, place: str, lock_timeout: float, timeout: float) -> Connection:
    """Open a connection to the file of an epoch, and create the tables if a reset has left the file empty.

    The connection waits `lock_timeout` ms for locks, and while it is opened at most `timeout` ms, since reads wait for
    that.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StorageOff(f"this Python has SQLite {sqlite3.sqlite_version}; a storage needs {oldest} or later")
    connection = connect(file, min(lock_timeout, timeout))
    try:
        is_new = not has_format(connection, file)
        be_patient(connection, lock_timeout)
        if is_new:
            _format(connection, place, epoch)
        _share(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def has_format(connection: Connection, file: str) -> bool:
    """Whether a file has the current format; False if it is empty.

    Raises StorageOff for a newer format, and NotOurs for every other file.
    """
    try:
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    finally:
        end_transaction(connection)
    if application == APPLICATION and version > FORMAT:
        raise StorageOff(
            f"{file} has format {version}, but this version of restencil supports {FORMAT}; use another path, or "
            "install the newer version"
        )
    if application == APPLICATION and version == FORMAT:
        return True
    if application or version or not is_empty:
        raise NotOurs
    return False


def _format(connection: Connection, place: str, reset: int) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # has no effect once there is a page
    try:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for table in filter(str.strip, _TABLES.split(";")):
                connection.execute(table)
            info = {"reset": reset, "place": place, "created": time.time_ns() // 1_000_000}
            connection.executemany("INSERT INTO info (name, value) VALUES (?, ?)", info.items())
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    finally:
        end_transaction(connection)


def _share(connection: Connection, file: str) -> None:
    """Set the journal mode in which readers do not wait for writers."""
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StorageOff(f"{file} is on a file system without shared memory; use a path on a local disk")
