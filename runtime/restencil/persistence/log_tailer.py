"""The thread `restencil-changes`, which waits for commits of other processes to a remote storage."""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Final

from ..base.logs import logger

if TYPE_CHECKING:
    from ..storage.protocol import Changes, Storage
    from .connection import StorageConnection
    from .read_through import ReadThrough

_WAIT: Final = 1_000.0
"""The longest wait of the storage for a new entry, in ms."""
_PAUSE: Final = 0.05
"""The shortest pause after a failure, in s; it is longer while the storage is down."""
_CALIBRATION: Final = 60.0
"""The interval between comparisons of the clocks, in s."""


class LogTailer:
    """Starts and ends the thread; while it waits it references no store, so it also ends with its store."""

    def __init__(self, connection: StorageConnection, read_through: ReadThrough) -> None:
        self._connection = connection
        self._read_through = read_through
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        self._was_lost = False
        self._calibrated = 0.0

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None and not self._is_over.is_set():
            thread = weakref.ref(self), self._connection.storage, self._is_over
            self._thread = threading.Thread(target=_follow, args=thread, name="restencil-changes", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread after its current wait."""
        self._is_over.set()

    def forked(self) -> None:
        """Start over in a forked process, where the thread does not run."""
        if self._thread is not None:
            self._thread, self._is_over = None, threading.Event()

    # -- the thread

    def begin(self) -> int | None:
        """Return the newest commit in memory; None if the storage must not be used now."""
        connection = self._connection
        if connection.lost_touch():
            self._read_through.lost()
        if not connection.may_be_read:
            return None
        if time.monotonic() - self._calibrated > _CALIBRATION:
            if not connection.calibrate():
                return None
            self._calibrated = time.monotonic()
        return connection.known.number

    def pause(self) -> float:
        """Return the time to wait before the next request to the storage, in s."""
        return max(_PAUSE, self._connection.remaining())

    def end(self, found: Changes | Exception, began: float) -> bool:
        """Handle the result or the failure of a wait that began then; True if the next wait may begin at once."""
        connection = self._connection
        connection.load(lambda storage: _given(found), began)
        if isinstance(found, Exception):
            self._was_lost = True
            return False
        is_lost = self._was_lost or connection.lost_touch()
        connection.touched()
        if is_lost:
            self._was_lost = False
            self._read_through.lost()
        self._read_through.on_remote(found)
        return True


def _follow(watching: weakref.ref[LogTailer], storage: Storage, is_over: threading.Event) -> None:
    """Run the thread until its tailer is closed or garbage-collected."""
    while not is_over.is_set():
        tailer = watching()
        if tailer is None:
            return
        number, pause = tailer.begin(), tailer.pause()
        del tailer
        if number is None or not _wait_for_changes(watching, storage, is_over, number):
            is_over.wait(pause)


def _wait_for_changes(
    watching: weakref.ref[LogTailer], storage: Storage, is_over: threading.Event, number: int
) -> bool:
    found: Changes | Exception
    began = time.monotonic()
    try:
        found = storage.changes(number, _WAIT)
    except Exception as error:
        found = error
    tailer = watching()
    if tailer is None or is_over.is_set():
        return True
    try:
        is_done = tailer.end(found, began)
        is_new = isinstance(found, Exception) or found.number != number
        if is_done and not is_new and time.monotonic() - began < _WAIT / 2_000:
            del tailer
            is_over.wait(storage.poll / 1000)  # the storage returned at once, so it cannot wait
        return is_done
    except Exception:
        logger.exception("changes of other processes could not be applied; the storage is read again")
        return False


def _given(found: object) -> object:
    if isinstance(found, Exception):
        raise found
    return found
