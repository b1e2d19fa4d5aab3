"""Reading of regular files only, so that a pipe or a device in a folder cannot block a run or fail it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file, or of the target of a link. Raises `OSError` for anything else."""
    _refuse_special(os.stat(path), path)  # checked first: opening a pipe or device may block or have side effects
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        _refuse_special(os.fstat(descriptor), path)
        return file.read()


def is_special(path: Path) -> bool:
    """Return whether a path is neither a regular file nor a folder: a pipe, a socket, a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def regular_files(folder: Path) -> Iterator[Path]:
    """Yield every regular file in a folder and its subfolders, sorted; links are followed, and folders visited once."""
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
        raise OSError(errno.EINVAL, "is not a regular file (it is a pipe, a socket or a device)", str(path))
