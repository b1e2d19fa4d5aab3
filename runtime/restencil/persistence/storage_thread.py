"""The thread that writes: started at first use, it ends with its store; at exit, pending writes are flushed."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..base.json_text import encode_exactly
from ..base.logs import logger

if TYPE_CHECKING:
    from .connection import StorageConnection

_AT_EXIT: Final = 1_000
"""The longest time that all stores together may delay the end of the process, in ms."""
_RETRY: Final = 0.05


class Writes(Protocol):
    """The owner of a storage thread, which commits the writes."""

    connection: StorageConnection

    def commit_waiting(self) -> bool:
        """Commit all pending writes; False if any are left."""
        ...

    def flush(self, timeout: float) -> bool:
        """Wait until all pending writes are stored; False after `timeout` ms."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether any writes are pending."""
        ...

    def maintain(self) -> object:
        """Maintain the storage; called after commits and every `poll` seconds of the thread."""
        ...


class Bell:
    """What one thread waits for: a lock that is held until it rings. (Benchmark: an idle store with a storage.)"""

    # The garbage collector rings it, in any thread and at any point: the lock of an event might be held there.
    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """End the current wait, or the next one."""
        if self._lock.locked():
            with suppress(RuntimeError):  # another thread was faster
                self._lock.release()

    def wait(self, seconds: float | None) -> bool:
        """Wait for a ring since the last wait; False after so many seconds, None waits forever."""
        return self._lock.acquire(timeout=-1 if seconds is None else seconds)


class StorageThread:
    """The daemon thread `restencil-storage` of one writer, which it references only while writes are pending."""

    def __init__(self, writer: Writes, connection: StorageConnection) -> None:
        self._write_behind = connection.storage.write_behind / 1000
        self._bell = bell = Bell()
        self._writer = weakref.ref(writer, lambda gone: bell.ring())
        self._hurry = threading.Event()
        self.is_woken = False
        """Whether it was woken and has not started its work since. (Benchmark: write of one entity.)"""
        self._thread: threading.Thread | None = None
        self._is_over = False
        self._poll: float | None = None
        _writers.add(writer)

    def wake(self, *, hurries: bool = False) -> None:
        """Wake the thread for pending writes; with `hurries` it does not wait for more of them."""
        if hurries:
            self._hurry.set()
        self.is_woken = True
        self._bell.ring()
        if self._thread is None:
            self.start()

    @property
    def runs(self) -> bool:
        """Whether the thread was started and not ended."""
        return self._thread is not None and not self._is_over

    def start(self, poll: float | None = None) -> None:
        """Start the thread; with `poll` it also calls `maintain` every `poll` seconds."""
        if poll is not None:
            self._poll = poll
        if self._thread is None and not self._is_over:
            # This imports the JSON encoder here: a fork during an import in the thread would block the child.
            encode_exactly({})
            self._thread = threading.Thread(target=self._run, name="restencil-storage", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End the thread."""
        self._is_over = True
        self._bell.ring()

    def _run(self) -> None:
        held: Any = None
        retry: float | None = None
        while not self._is_over:
            poll = self._poll
            woken = self._bell.wait(poll if retry is None else retry if poll is None else min(poll, retry))
            held = self._writer()
            if held is None or self._is_over:
                return
            try:
                if woken:
                    if retry is None:
                        self._hurry.wait(self._write_behind)
                    self._hurry.clear()
                    self.is_woken = False
                if woken or retry is not None:
                    retry = None if held.commit_waiting() else max(_RETRY, held.connection.remaining())
                held.maintain()
            except Exception:
                logger.exception("an iteration of the storage thread failed; the thread continues")
                retry = 1.0
            if not held.is_waiting:
                held = None


_writers: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def _at_exit() -> None:
    until = time.monotonic() + _AT_EXIT / 1000
    for writer in list(_writers):
        try:
            if writer.is_waiting:
                writer.flush(max(0.0, until - time.monotonic()) * 1000)
        except Exception:
            logger.exception("pending writes of a store may not be in its storage")


atexit.register(_at_exit)
