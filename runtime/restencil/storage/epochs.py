"""Create, open and delete the files of a namespace's epochs; check the permissions of its folder.

A file is named `<epoch>.db`; the highest epoch is the current one, and names are never used again. Once a file has its
name, only SQLite opens it: closing another descriptor of it would drop the locks of this process.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from ..base.errors import StorageDown, StorageOff

_NEVER: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors that are permanent."""
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "fuse.glusterfs", "afs", "ceph"}
)
"""File systems of several machines, which do not share the memory that the journal of SQLite needs."""
_MOUNTS: Final = "/proc/self/mountinfo"
_FOLDER: Final = 0o700
_FILE: Final = 0o600
_BY_OTHERS: Final = 0o022
_ENDINGS: Final = ("", "-wal", "-shm", "-journal")
_LEFT_BEHIND: Final = 60.0
"""The age in seconds at which a temporary file is deleted, because the process that created it was killed."""
_TICK: Final = 50_000_000
_LONGEST_TICK: Final = 2_500_000_000
"""The precision of a folder's times in nanoseconds, if these are whole seconds; else `_TICK`."""
_SECOND: Final = 1_000_000_000
_CENTURY: Final = 3_155_760_000_000
"""100 years in ms. An epoch further in the future is not ours, and no reset could exceed it."""
_INTENDED: Final = ".reset"
"""The suffix of a folder that notes, by its name `<epoch>.reset`, a reset that could not be written."""
_LONGEST_WAIT: Final = 1.0
"""How long to wait for another process to create a file, in seconds."""


class Epochs:
    """The files of a namespace's epochs, in the folder `name` of the folder `path`."""

    def __init__(self, path: str, name: str, *, mounts: str = _MOUNTS) -> None:
        self._path = path
        self._mounts = mounts
        self._quiet: tuple[int, int, int] | None = None
        self.intended = 0
        """The epoch of the last reset that could not be written and was noted in the folder; 0 for none."""
        self.folder = os.path.join(path, name)

    def file(self, epoch: int) -> str:
        """Return the path of the file of an epoch."""
        return os.path.join(self.folder, f"{epoch}.db")

    def prepare(self) -> None:
        """Create the folders, readable by this user alone. Raises StorageOff if others may write to them."""
        try:
            with storage_errors(self._path):
                for folder in (self._path, self.folder):
                    if not os.path.isdir(folder):
                        _make_folder(folder)
                    _check(folder, os.stat(folder) if folder == self._path else os.lstat(folder), stat.S_ISDIR)
        except FileNotFoundError as error:
            raise StorageDown(
                f"{error.filename} cannot be created: it is a broken link, or is being removed"
            ) from error
        self._check_file_system()

    def _check_file_system(self) -> None:
        try:
            with open(self._mounts, encoding="utf-8", errors="replace") as mounts:
                kind = _file_system_of(mounts.read(), os.stat(self._path).st_dev)
        except OSError:
            return  # not Linux: there is no table of mounts
        if kind in _NETWORK:
            raise StorageOff(
                f"{self._path} is on a network file system ({kind}), where machines would corrupt each other's data; "
                "use a path on a local disk, or share the cache with restencil.ValkeyStorage"
            )

    def newest(self) -> int | None:
        """Return the current epoch; None if there is no file."""
        newest: int | None = None
        intended = 0
        with suppress(FileNotFoundError), storage_errors(self.folder), os.scandir(self.folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(_INTENDED) and (number := _number(name[: -len(_INTENDED)])) is not None:
                    intended = max(intended, number)
                elif name.endswith(".db") and (number := _number(name[:-3])) is not None:
                    newest = number if newest is None or number > newest else newest
        self.intended = max(self.intended, intended)
        return newest

    def identity(self, epoch: int) -> tuple[int, int] | None:
        """Return the identity of the file of an epoch; None if it does not exist."""
        try:
            found = os.stat(self.file(epoch))
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def intend(self, epoch: int) -> str | None:
        """Note that a reset should have begun this epoch; return the path of the note, None if that failed.

        The note is a folder, inside that of the namespace or next to it, since creating one needs no file descriptor.
        """
        for path in (os.path.join(self.folder, f"{epoch}{_INTENDED}"), f"{self.folder}.{epoch}{_INTENDED}"):
            with suppress(OSError):
                os.mkdir(path, _FOLDER)
                self.intended = max(self.intended, epoch)
                return path
        return None

    def find_intended(self) -> None:
        """Read the notes of failed resets next to the folder of the namespace."""
        start = os.path.basename(self.folder) + "."
        with suppress(OSError), os.scandir(self._path) as entries:
            for entry in entries:
                if entry.name.startswith(start) and entry.name.endswith(_INTENDED):
                    number = _number(entry.name[len(start) : -len(_INTENDED)])
                    self.intended = max(self.intended, number or 0)

    def create(self, epoch: int) -> bool:
        """Create the empty file of an epoch without a file descriptor; return whether that succeeded."""
        try:
            os.mknod(self.file(epoch), _FILE | stat.S_IFREG)
        except (OSError, AttributeError):  # Windows has no such call
            return False
        return True

    def is_current(self, epoch: int, identity: tuple[int, int]) -> bool:
        """Whether this file exists and is the newest one; needs one `stat` while the folder is unchanged."""
        try:
            found = os.stat(self.folder)
        except OSError:
            return False
        state = (found.st_mtime_ns, found.st_ino, epoch)
        if state == self._quiet:
            return True
        is_current = self.newest() == epoch and self.identity(epoch) == identity
        self._quiet = state if is_current and _is_settled(found) else None
        return is_current

    def check(self, epoch: int) -> None:
        """Raise StorageOff if a file of an epoch is a link, or others may write to it."""
        for ending in _ENDINGS:
            path = self.file(epoch) + ending
            with suppress(FileNotFoundError), storage_errors(path):
                _check(path, os.lstat(path), stat.S_ISREG)

    def begin(self, above: int) -> int:
        """Begin a new epoch with an empty file; the first process that opens it creates the tables."""
        while True:
            epoch = _next_after(max(above, self.newest() or 0))
            with self._apart(epoch) as file:
                if _name(file, self.file(epoch)):
                    return epoch
            above = epoch

    def make(self, above: int, build: Callable[[str], None]) -> int:
        """Return an epoch after `above`: that of another process, else a new one whose file `build` fills first."""
        with self._one_at_a_time():
            newest = self.newest()
            if newest is not None and newest > above:
                return newest
            epoch = _next_after(above)
            with self._apart(epoch) as file:
                build(file)
                if _name(file, self.file(epoch)):
                    return epoch
            return self.newest() or epoch

    def keep_damaged(self, epoch: int) -> None:
        """Rename a damaged file, to keep its content; an earlier damaged file is deleted."""
        for name, _, damaged in self._files():
            if damaged:
                self._remove(name)
        for ending in ("", "-wal"):
            with suppress(OSError):
                os.replace(self.file(epoch) + ending, os.path.join(self.folder, f"{epoch}.corrupt{ending}"))
        self._remove(f"{epoch}.db-shm")

    def sweep(self, current: int, reset: int) -> None:
        """Delete files of older epochs, and files that were damaged before the last reset."""
        for name, epoch, damaged in self._files():
            if epoch < (reset if damaged else current):
                self._remove(name)
        if self.intended and self.intended <= current:
            for path in (
                os.path.join(self.folder, f"{self.intended}{_INTENDED}"),
                f"{self.folder}.{self.intended}{_INTENDED}",
            ):
                with suppress(OSError):
                    os.rmdir(path)
        with suppress(OSError), os.scandir(self.folder) as entries:
            late = time.time() - _LEFT_BEHIND
            for entry in entries:
                if entry.name.startswith(".new-"):
                    with suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_mtime < late:
                            os.unlink(entry.path)

    def _files(self) -> list[tuple[str, int, bool]]:
        """Return the files of all epochs: name, epoch, and whether it was renamed as damaged."""
        found: list[tuple[str, int, bool]] = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                stem, _, ending = entry.name.partition(".")
                kind, _, journal = ending.partition("-")
                epoch = _number(stem)
                if epoch is not None and kind in ("db", "corrupt") and journal in ("", "wal", "shm", "journal"):
                    found.append((entry.name, epoch, kind == "corrupt"))
        return found

    def _remove(self, name: str) -> None:
        with suppress(OSError):  # on Windows, if it is open: the next process that opens the storage deletes it
            os.unlink(os.path.join(self.folder, name))

    @contextmanager
    def _apart(self, epoch: int) -> Generator[str]:
        """Create an empty temporary file, which is deleted in the end."""
        file = os.path.join(self.folder, f".new-{epoch}-{os.urandom(6).hex()}")
        with storage_errors(self.folder):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
            os.close(os.open(file, flags, _FILE))
            try:
                yield file
            finally:
                for ending in _ENDINGS:
                    with suppress(OSError):
                        os.unlink(file + ending)

    @contextmanager
    def _one_at_a_time(self) -> Generator[None]:
        """Lock the creation of files for one process at a time; a stopped process blocks others only briefly."""
        if sys.platform == "win32":
            yield  # the second file replaces the first, which other processes stop using
            return
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with storage_errors(self.folder):
            lock = os.open(os.path.join(self.folder, ".lock"), flags, _FILE)
        try:
            end = time.monotonic() + _LONGEST_WAIT
            while time.monotonic() < end:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.005)
                except OSError:
                    break  # the file system has no locks
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_UN)  # as a child that was forked meanwhile has the descriptor too
            os.close(lock)


def _is_settled(found: os.stat_result) -> bool:
    """Whether a folder was unchanged for long enough that later changes will change its time.

    Changes within one tick of the file system's clock have the same time.
    """
    return time.time_ns() - found.st_mtime_ns > (_TICK if found.st_mtime_ns % _SECOND else _LONGEST_TICK)


@contextmanager
def storage_errors(path: str) -> Generator[None]:
    """Translate an OSError: to StorageOff if it is permanent, to StorageDown if it may be temporary."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NEVER:
            raise StorageOff(f"{path} cannot be used: {reason}; use a folder that this user may write to") from error
        raise StorageDown(f"{path} cannot be used now: {reason}") from error


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path, _FOLDER)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            _make_folder(parent)
        with suppress(FileExistsError):
            os.mkdir(path, _FOLDER)  # raises FileNotFoundError again where nothing can be created, as in /proc
    except FileExistsError:
        pass


def _check(path: str, found: os.stat_result, kind: Callable[[int], bool]) -> None:
    """Raise StorageOff for a wrong type of file, another owner, or write permission of others."""
    if not kind(found.st_mode):
        expected = "folder" if kind is stat.S_ISDIR else "file"
        what = "a link" if stat.S_ISLNK(found.st_mode) else f"not a {expected}"
        raise StorageOff(f"{path} is {what}; expected a {expected} of the cache: remove it, or use another path")
    if sys.platform == "win32":
        return  # permissions are those of the user's folder, which Windows checks
    if found.st_uid != os.geteuid():
        raise StorageOff(
            f"{path} belongs to another user ({found.st_uid}; the current user is {os.geteuid()}), who could change "
            "the data; use a path that belongs to this user"
        )
    if found.st_mode & _BY_OTHERS:
        raise StorageOff(
            f"{path} is writable by others (its mode is {stat.S_IMODE(found.st_mode):o}); "
            f"expected {_FOLDER if kind is stat.S_ISDIR else _FILE:o}: chmod it, or use another path"
        )


def _file_system_of(mounts: str, device: int) -> str:
    """Return the type of the file system of a device, from the table of mounts; `""` if it is not listed."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted]:
            return after.split(" ")[0]
    return ""


def _name(file: str, name: str) -> bool:
    """Rename a file unless the name exists; return whether it was renamed."""
    try:
        os.link(file, name)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        # Without hard links, a concurrent rename may replace the file; processes that opened it notice that.
        if os.path.lexists(name):
            return False
        os.replace(file, name)
    return True


def _next_after(epoch: int) -> int:
    return max(epoch + 1, time.time_ns() // 1_000_000)


def _number(text: str) -> int | None:
    """Parse the epoch in a file name; None if it is no number, or more than a hundred years ahead."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        return None
    return number if (number := int(text)) < time.time() * 1000 + _CENTURY else None
