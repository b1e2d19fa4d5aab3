"""Files as they are read: regular ones only, so that a pipe or a device in a folder neither hangs a run nor ends it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file, or of the one that a link leads to. Raises `OSError` for anything else."""
    _refuse_special(os.stat(path), path)  # before it is opened: opening alone may wait, or move a tape
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        _refuse_special(os.fstat(descriptor), path)
        return file.read()


def is_special(path: Path) -> bool:
    """Whether something is there that is neither a regular file nor a folder: a pipe, a socket, a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def regular_files(folder: Path) -> Iterator[Path]:
    """Every regular file in a folder and in those below it, links followed, each folder once; in order."""
    seen: set[tuple[int, int]] = set()
    for here, names, files in os.walk(folder, followlinks=True):
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in seen:
            names.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        names.sort()
        yield from (path for name in sorted(files) if (path := Path(here, name)).is_file())


def _refuse_special(status: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "is no regular file (a pipe, a socket or a device)", str(path))
