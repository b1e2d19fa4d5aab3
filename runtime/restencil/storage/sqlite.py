"""A storage in SQLite files: one for each namespace and epoch in a folder, shared by the processes of a machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ..base.durations import bounded
from ..base.errors import StorageCorrupt, StorageDown, StorageError, StorageOff
from ..base.fork import within_stores
from ..base.lazy_imports import sqlite3
from ..base.logs import logger
from ..base.values import described
from .database import Database, Over, Retired
from .epochs import Epochs
from .format import NotOurs, create, gave_up
from .naming import check_principal, namespace_hash
from .protocol import Batch, Cell, Changes, IndexEntry, Loaded, Mark, NamespaceStats, Opened, Outcome, Page, check_count
from .trimming import Trim, free_space

if TYPE_CHECKING:
    from ..base.durations import Duration

T = TypeVar("T")

_TRIES: Final = 20
"""The number of attempts to open a file that vanishes, or turns out to be damaged, while it is opened."""
_TRIM: Final = "trim"
_TRIM_LEASE: Final = 10_000.0
_FREED_SHARE: Final = 0.1
"""The share of the data that is deleted if the disk is full."""

# Codes of SQLite, without what extends them.
_ERROR, _BUSY, _LOCKED, _READONLY, _INTERRUPT, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 1, 5, 6, 8, 9, 11, 13, 14, 26


class SQLiteStorage:
    """A storage in files of a folder of its own, which all processes of the machine may share.

        with Store(storage=SQLiteStorage(folder / "news", principal=account_id)) as store:
            news = News(store=store)

    `path` is a folder on a local disk; it is created, and readable by this user alone. `principal` is the owner of the
    data, such as the id of an account; data of different principals is separate. With None, everyone who can open the
    folder may see all data. The principal is stored as a hash only.

    max_bytes     the maximum size of the file; beyond it, the least recently used data is deleted
    max_age       how long data is kept after it was received or last used, in ms
    write_behind  how long a change may wait for others before it is written, in ms; 0: until the call returns
    poll          the interval of checks for changes of other processes, in ms
    timeout       how long a read may take, in ms; if it takes longer, the store sends a request instead
    lock_timeout  how long a commit waits for commits of other processes, in ms
    lease_wait    how long a request waits for the same one of another process, in ms; 0: each process sends its own

    A time may also be a string such as `"24h"` (ms, s, m, h), or a timedelta.

    Raises ValueError for invalid arguments. Errors of the folder are not raised but shown in `Store.storage_stats()`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        principal: str | None,
        max_bytes: int = 268_435_456,
        max_age: Duration = 86_400_000,
        write_behind: Duration = 20,
        poll: Duration = 100,
        timeout: Duration = 250,
        lock_timeout: Duration = 5_000,
        lease_wait: Duration = 10_000,
    ) -> None:
        self._path = _checked_path(path)
        check_principal(principal)
        check_count("max_bytes", max_bytes, "bytes")
        self.inline = True
        self.writable = True
        self.is_for_all = principal is None
        self.max_age = bounded(max_age, "max_age", 1, endless=True)
        self.write_behind = bounded(write_behind, "write_behind", 0)
        self.poll = bounded(poll, "poll", 1)
        self.lease_wait = bounded(lease_wait, "lease_wait", 0)
        self._timeout = bounded(timeout, "timeout", 1)
        self._lock_timeout = bounded(lock_timeout, "lock_timeout", 0)
        self._name_of: Callable[[str], str] = lambda place: namespace_hash("", principal, place)
        self._now: Callable[[], float] = time.monotonic
        self._place = ""
        self._epochs: Epochs | None = None
        self._database: Database | None = None
        self._retired: list[Database] = []
        self._above = 0
        self._reset = 0
        self._sweeps = False
        self._trim = Trim(max_bytes, self.max_age)
        self._switching = RLock()
        self._held: list[Database] = []
        within_stores.add(self)

    def __repr__(self) -> str:
        return f"SQLiteStorage({self._path!r})"

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Open or create the namespace of a place; `now` is the clock of the store, and of the storage too."""
        with self._switching:
            self._place = place
            self._now = now
            self._epochs = Epochs(self._path, self._name_of(place))
            if self._database is not None:
                self._retire(self._database)
        return self._do(lambda database: Opened(database.epoch, self._reset, database.number(), 0.0))

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
        self._follow()
        return self._do(lambda database: database.load(cells, keys, index, tables, marks), waits=self._timeout)

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        """Return a page of the primary keys of a table by arrival, or of the keys of all results, after `after`."""
        self._follow()
        return self._do(lambda database: database.scan(table, after, limit))

    def commit(self, batch: Batch, /) -> Outcome:
        """Write a batch and its entry completely, or nothing if it is late or conflicts."""

        def write(database: Database) -> Outcome:
            if database.epoch != batch.epoch:
                return Outcome(0, database.epoch, None)
            try:
                return database.commit(batch, self._now())
            except sqlite3.OperationalError as error:
                if _code_of(error) != _FULL or not self._free_space(database):
                    raise
                return database.commit(batch, self._now())

        self._follow()
        return self._do(write)

    def _free_space(self, database: Database) -> bool:
        """Delete some data because the disk is full; return whether that succeeded."""
        with suppress(sqlite3.OperationalError):
            return free_space(database, self._now(), _FREED_SHARE) > 0
        return False

    def changes(self, after: int, wait: float, /) -> Changes:
        """Return the log entries after a number without waiting; `lost` if some are missing or of another epoch."""
        before = self._database
        self._follow()
        if self._sweeps or self._retired:
            self._clean()

        def look(database: Database) -> Changes:
            if before is not None and before.epoch != database.epoch:
                return Changes(database.epoch, self._reset, database.number(), [], True)
            number, entries, lost = database.changes(after)
            return Changes(database.epoch, self._reset, number, entries, lost)

        return self._do(look)

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """Take or renew a lease for `length` ms, or release it with 0; return whether the owner has it."""
        return self.leases([(name, owner)], length)[0]

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, /) -> list[bool]:
        """Take or renew leases for `length` ms, or release them with 0; return for each whether the owner has it."""
        return self._do(lambda database: database.leases(wanted, length, time.time() * 1000), waits=self._timeout)

    def reset(self, /) -> int:
        """Begin a new, empty epoch and return it; data of older epochs is never read again."""
        epochs = self._place_of_files()
        with self._switching:
            retired = self._database
            if retired is not None:
                self._retire(retired)
            try:
                epochs.prepare()
            except StorageError:
                if os.path.isdir(epochs.folder):
                    raise
                return self._above + 1  # nothing was ever stored
            epoch = self._begun(epochs, retired)
            self._above, self._reset = epoch - 1, epoch
            return epoch

    def _begun(self, epochs: Epochs, retired: Database | None) -> int:
        """Begin an epoch for a reset and return it. Raises StorageError if that fails, after noting the reset."""
        try:
            return epochs.begin(self._above)
        except StorageError as error:
            above = max(self._above, 0 if retired is None else retired.epoch)
            epoch = max(above + 1, time.time_ns() // 1_000_000)
            if epochs.create(epoch):
                return epoch
            # Without space for another file, the old files are deleted first.
            with suppress(StorageError):
                epoch = max(epoch, (epochs.newest() or 0) + 1)
                epochs.sweep(epoch, epoch)
                if epochs.newest() is None:
                    return epoch
            if retired is not None and retired.end(epoch):
                noted = epochs.file(retired.epoch)
            else:
                noted = epochs.intend(epoch) or ""
            self._above, self._reset = epoch - 1, epoch
            hint = (
                f"it was noted in {noted}, so that no store reads the old data"
                if noted
                else f"the next store would read the old data in {epochs.folder}: remove that folder"
            )
            raise StorageDown(f"the reset could not be written ({error}); {hint}") from error

    def trim(self, /) -> int:
        """Delete data beyond the limits and return the count; takes at most 50 ms, so it is called repeatedly."""

        def drop(database: Database) -> int:
            now = self._now()
            if not self._trim.has_work(database, now):
                return 0
            # Only one process trims at a time, and it continues until there is nothing to delete.
            owner = f"{os.getpid()}-{id(self)}"
            if not database.leases([(_TRIM, owner)], _TRIM_LEASE, time.time() * 1000)[0]:
                return 0
            dropped = self._trim.run(database, now)
            if not dropped:
                database.leases([(_TRIM, owner)], 0, now)
            return dropped

        return self._do(drop)

    def stats(self, /) -> NamespaceStats:
        """Return the size of the namespace."""
        return self._do(lambda database: database.stats())

    def close(self, /) -> None:
        """Close the file, after a running commit; a later call opens it again. It may be called twice."""
        with self._switching:
            database = self._database
            if database is not None:
                database.close()
            self._clean()

    def before_fork(self) -> None:
        """Close all files before a fork, so that the child has no open files of its parent."""
        self._switching.acquire()
        self._held = [*self._retired, *([] if self._database is None else [self._database])]
        for database in self._held:
            database.writing.acquire()
            database.reading.acquire()
            database.close()

    def after_fork(self) -> None:
        """Release the locks, in parent and child; both open their files again when needed."""
        held, self._held = self._held, []
        locks = [lock for database in reversed(held) for lock in (database.reading, database.writing)]
        for lock in (*locks, self._switching):
            with suppress(RuntimeError):  # an interrupt came before the lock was acquired
                lock.release()

    def _place_of_files(self) -> Epochs:
        if self._epochs is None:
            raise StorageDown("this storage was not opened; call `open` first")
        return self._epochs

    def _do(self, work: Callable[[Database], T], *, waits: float = inf) -> T:
        """Call `work` with the current file, and translate its errors; `waits` is the maximum wait for locks in ms."""
        for _ in range(_TRIES):
            database = self._current()
            try:
                return work(database)
            except Retired:
                continue  # another thread found a newer file
            except Over:
                with self._switching:
                    if self._database is database:
                        self._retire(database)
                continue
            except sqlite3.Error as error:
                if self._place_of_files().identity(database.epoch) != database.identity:
                    self._follow()
                    continue
                raise self._meaning(error, database, waits) from error
        raise StorageDown(f"{self._path} changes too fast to be read")

    def _current(self) -> Database:
        """Return the open file, else open the newest one or create it."""
        database = self._database
        if database is not None:
            return database
        with self._switching:
            if self._database is None:
                self._database = self._found()
                self._above = self._database.epoch - 1
                self._reset = max(self._reset, self._database.reset)
                self._sweeps = True
                self._trim.begin()
            return self._database

    def _found(self) -> Database:
        epochs = self._place_of_files()
        epochs.prepare()
        epochs.find_intended()
        is_freed = False
        for _ in range(_TRIES):
            epoch = epochs.newest()
            if epochs.intended > self._reset:
                self._reset = epochs.intended
                self._above = max(self._above, self._reset - 1)
            if epoch is None or epoch <= self._above:
                epoch = self._made(epochs)
            identity = epochs.identity(epoch)
            if identity is None:
                continue  # deleted meanwhile
            epochs.check(epoch)
            try:
                database = Database(epochs.file(epoch), epoch, identity, self._place, self._lock_timeout, self._timeout)
                if not database.over:
                    return database
                database.close()
                self._reset, self._above = max(self._reset, database.over), max(self._above, database.over - 1)
            except (NotOurs, sqlite3.DatabaseError) as error:
                if epochs.identity(epoch) != identity:
                    continue  # deleted or replaced meanwhile
                if _code_of(error) == _FULL and not is_freed:
                    is_freed = True  # older files are not needed
                    self._clean()
                    continue
                if not _is_damage(error):
                    raise self._meaning(error, waits=self._timeout) from error
                self._replace(epochs, epoch, error)
        raise StorageDown(f"{epochs.folder} changes too fast to be opened")

    def _made(self, epochs: Epochs) -> int:
        return epochs.make(self._above, lambda file: create(file, self._place, self._reset))

    def _replace(self, epochs: Epochs, epoch: int, error: Exception) -> None:
        """Replace a file that is damaged or has an older format by an empty one, and keep it under another name."""
        self._above = max(self._above, epoch)
        self._made(epochs)
        epochs.keep_damaged(epoch)
        logger.warning(
            "%s cannot be used (%s): it was renamed to %d.corrupt, and the cache starts empty",
            epochs.file(epoch),
            str(error) or "its format is unknown",
            epoch,
        )

    def _follow(self) -> None:
        """Retire the open file if there is a newer epoch or the file was removed."""
        database = self._database
        if database is None:
            return
        epochs = self._place_of_files()
        if epochs.is_current(database.epoch, database.identity):
            return
        with self._switching:
            if self._database is database:
                self._retire(database)
                self._above = database.epoch  # names are never used again, so another file of this name is not ours

    def _retire(self, database: Database) -> None:
        """Stop using a file, without waiting for running work on it."""
        database.retired = True
        self._database = None
        self._retired.append(database)

    def _clean(self) -> None:
        """Close retired files, and delete files of older epochs."""
        with self._switching:
            retired, self._retired = self._retired, []
            for database in retired:
                database.close()
            epochs = self._epochs
            if epochs is not None and (self._sweeps or retired):
                newest = epochs.newest()
                if newest is not None:
                    epochs.sweep(newest, self._reset)
                self._sweeps = False

    def _meaning(self, error: Exception, database: Database | None = None, waits: float = inf) -> Exception:
        """Translate an error of SQLite to a `StorageError`; a damaged file is replaced."""
        code = _code_of(error)
        if database is not None and _is_damage(error):
            self._recover(database, error)
            return StorageCorrupt(f"{self._path} was damaged ({error}); it was renamed, and a new file was created")
        if code in (_BUSY, _LOCKED):
            longest = min(self._lock_timeout, waits)
            return StorageDown(f"{self._path} was locked by another process for longer than {longest:g} ms")
        if code == _INTERRUPT:
            return gave_up(self._path, self._timeout)
        if code in (_READONLY, _CANTOPEN) and not self._may_write():
            return StorageOff(f"{self._path}, or a file in it, cannot be written to; use another folder")
        return StorageDown(f"{self._path} cannot be used now: {error}")

    def _recover(self, database: Database, error: Exception) -> None:
        epochs = self._place_of_files()
        with self._switching:
            if self._database is database:
                self._retire(database)
                if epochs.newest() == database.epoch:
                    self._replace(epochs, database.epoch, error)

    def _may_write(self) -> bool:
        """Whether this user may write to the folder and to the file in it, if these exist."""
        epochs = self._place_of_files()
        newest = epochs.newest()
        wanted = {epochs.folder: os.W_OK | os.X_OK}
        if newest is not None:
            wanted[epochs.file(newest)] = os.R_OK | os.W_OK
        is_supported = os.access in os.supports_effective_ids
        return all(
            os.access(path, mode, effective_ids=is_supported) for path, mode in wanted.items() if os.path.lexists(path)
        )


def _is_damage(error: Exception) -> bool:
    """Whether an error shows that a file is unusable: pages are damaged, or tables are missing."""
    code = _code_of(error)
    return isinstance(error, NotOurs) or code in (_CORRUPT, _NOTADB) or (code == _ERROR and "no such" in str(error))


def _code_of(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _checked_path(path: object) -> str:
    text = os.fspath(cast("os.PathLike[str]", path)) if hasattr(path, "__fspath__") else path
    if not isinstance(text, str) or not text or "\0" in text or "://" in text or text == ":memory:":
        raise ValueError(
            f"path is {described(path)} that names no folder; expected the path of a folder, such as 'cache'; for a "
            "server use restencil.ValkeyStorage, and for memory alone a store without a storage"
        )
    return os.path.abspath(text)
