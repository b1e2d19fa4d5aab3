"""Write-behind: commits the writes of actions to the storage, each completely and in order.

If memory knows the stored row, the value that memory merged is sent. If another process has written the row since,
there is a *conflict*: the operations are rebased onto that row, the result is written to memory, and the commit is sent
again. The number of a commit is the rev of the rows that it wrote.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import StorageDown, StorageError
from ..base.json_text import encode_exactly
from ..base.lazy_imports import running_loop
from ..base.logs import logger
from ..base.values import UNDEFINED
from ..cache.merge import StoredEntry
from .change_capture import ChangeCapture
from .pending_write import PendingWrite
from .write_batch import ConflictReads, WriteBatch
from .write_queue import WriteQueue

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..storage.protocol import Entry, Loaded, Place
    from .connection import StorageConnection
    from .schema_fingerprint import SchemaRegistry
    from .timeline import Event


_ROWS: Final = 500
"""Most rows per commit, unless one action has more: a shared server serves no other clients meanwhile."""
_PIECE: Final = 50
"""Captured actions that are decoded before other threads get the lock."""
_ATTEMPTS: Final = 8
"""Consecutive conflicts after which the conflicting rows are dropped."""
_LONGEST_RESET: Final = 10.0
"""The longest time that a caller waits for a reset of a remote storage, in s."""
_PROMPT: Final = 1.0
"""Seconds since the first attempt of a pending reset after which another reset fails at once."""
_USED: Final = 5_000
"""Used places after which a commit is sent for them alone."""
_AT_EXIT: Final = 1_000
"""The longest time that all stores together may delay the end of the process, in ms."""
_RETRY: Final = 0.05


class WriteBehind:
    """Commits the writes of actions: at once, or in a thread of its own."""

    def __init__(
        self, store: Store, store_state: StoreState, connection: StorageConnection, registry: SchemaRegistry
    ) -> None:
        self._store = store
        self._store_state = store_state
        self.connection = connection
        self.commits_at_once = connection.storage.inline and connection.storage.write_behind <= 0
        """Whether an action is committed before its call returns."""
        self._registry = registry
        self.capture = capture = ChangeCapture(store_state, connection, registry)
        self.queue = queue = WriteQueue(store_state, connection, registry, capture)
        self._conflict_reads = ConflictReads(store_state, connection, queue)
        self._batch: WriteBatch | None = None
        self._goes_alone = False
        """Whether the next commit has only one action, as several were too big together."""
        self._is_committing = False
        self._warned: set[str] = set()
        self._is_refused = False
        """Whether the last attempt of a reset failed."""
        self._reset_since = 0.0
        self._done = threading.Condition(store.lock)
        self.thread = StorageThread(self, self.connection)

    # -- pending writes (locked)

    def waits(self, pending: PendingWrite) -> bool:
        """Whether an action still waits for its commit (without the lock)."""
        with self._store.lock:
            return pending in self.queue.actions

    def take(self, pending: PendingWrite) -> None:
        """Add the captured writes of an action; commit them now if `commits_at_once`, else wake the thread."""
        if pending.is_reset:
            self._reset_once(pending)
            return
        hurries = bool(pending.release)
        self.queue.take(pending)
        if self.commits_at_once and (self._is_committing or self.commit_all()):
            return
        if hurries or not self.thread.is_woken:
            self.thread.wake(hurries=hurries)

    def use(self, places: Iterable[Place]) -> None:
        """Note that these rows and results were used; the next commit contains that."""
        used = self.queue.used
        used.update(dict.fromkeys(places))
        if len(used) >= _USED:
            self.thread.wake()

    def over(self, cell: EntityPath, loaded: StoredEntry) -> StoredEntry:
        """Rebase pending writes onto a row that was just loaded, and return the value for memory."""
        try:
            return self.queue.over(cell, None if loaded.stored is UNDEFINED else loaded) or loaded
        except Exception:
            self.connection.hook_failed(cell)
            return loaded

    def number(self, entry: Entry) -> None:
        """Finish the current batch if this entry of the log is its commit, before the storage responds (locked)."""
        batch = self._batch
        if batch is not None and batch.sent is not None and batch.sent.entry.commit_id == entry.commit_id:
            self._numbered(batch, entry.number)

    def give_up(self) -> None:
        """Abandon a batch that was sent without a response, as the storage has lost the rows it is based on (locked).

        Its actions are sent again in a new batch.
        """
        batch = self._batch
        if batch is not None and batch.sent is not None:
            self.connection.given_up.add(batch.sent.entry.commit_id)
            self._batch = None

    # -- a reset

    def _reset_once(self, pending: PendingWrite) -> None:
        """Reset the storage for an action, unless this was done or has failed before. Raises StorageError."""
        if pending.is_reset_done:
            return
        try:
            self._reset()
        except StorageError:
            pending.is_reset_done = True
            raise
        pending.is_reset_done = True

    def _reset(self) -> None:
        now = time.monotonic()
        was_refused = self.connection.is_resetting and (self._is_refused or now - self._reset_since > _PROMPT)
        if not self.connection.is_resetting:
            self._reset_since = now
        self.drop_all()
        self.capture.clear()
        self.connection.is_resetting = True
        connection = self.connection
        if connection.storage.inline:
            try:
                self._try_reset()
            except StorageError:
                self.thread.wake(hurries=True)
                raise
            return
        # No requests to a server under the lock: the thread sends them, and callers outside an event loop wait for it.
        self._is_refused = was_refused or connection.state != "on"
        self.thread.wake(hurries=True)
        if self.thread.runs and running_loop() is None:
            self._done.wait_for(lambda: self._is_refused or not self.connection.is_resetting, _LONGEST_RESET)
            self._is_refused = self.connection.is_resetting
        if self._is_refused:
            why = connection.reason or "the server does not respond"
            raise StorageDown(f"the reset is not written yet ({why}); it is retried until the program ends")

    def _try_reset(self) -> None:
        """Begin a new epoch. Raises StorageError if the storage fails."""
        epoch = self.connection.reset()
        with self._store.lock:
            self.connection.known.begin_epoch(epoch, reset=epoch, number=0)
            self.connection.is_resetting = False
            self._done.notify_all()

    def drop_all(self) -> None:
        """Drop all pending writes: their epoch is over, or the storage is no longer used."""
        with self._store.lock:
            self.queue.clear()
            self._batch = None
            self.connection.events.drained()
            self._done.notify_all()

    # -- committing

    def commit_all(self) -> bool:
        """Commit all pending writes; False if the storage fails."""
        try:
            self._is_committing = True
            return self._commit_all()
        finally:
            self._is_committing = False

    def _commit_all(self) -> bool:
        connection = self.connection
        while connection.state != "off":
            if connection.remaining() > 0 or not connection.opened():
                if connection.state == "off":
                    break
                return False
            if self.connection.is_resetting:
                try:
                    self._try_reset()
                except StorageError:
                    return False
            _drain(self.queue, self._store.lock)
            with self._store.lock:
                batch = self._begin()
            if batch is None:
                return True
            if not self._commit(batch):
                return False
        self.drop_all()
        return True

    def _begin(self) -> WriteBatch | None:
        """Return the next batch: complete actions, or one with bulk invalidations; None if there is none (locked)."""
        queue = self.queue
        if self._batch is not None and self._batch.sent is not None:
            return self._batch  # whether it was committed has to be known first
        actions: list[PendingWrite] = []
        rows, event = 0, None
        for pending in queue.actions:
            if actions and (
                rows + pending.rows > _ROWS
                or self._goes_alone
                or pending.bulk_invalidations  # all earlier results have to be stored
                or _comes_later(pending, event)
            ):
                break
            actions.append(pending)
            rows, event = rows + pending.rows, event or pending.event
            if pending.bulk_invalidations:
                break
        self._batch = None
        if actions or queue.used:
            self._batch = WriteBatch(actions, [*queue.used])
            queue.used.clear()
        return self._batch

    def _commit(self, batch: WriteBatch) -> bool:
        """Commit a batch, rebasing it at each conflict; False if the storage fails."""
        attempts = 0
        while True:
            if batch.sent is None:
                if not self._resolve_bulk_invalidations(batch) or not self._conflict_reads.look_through(batch):
                    return False
                with self._store.lock:
                    if self._batch is not batch:
                        return True  # there was a reset meanwhile
                    unread = self._conflict_reads.unread(batch)
                    if unread and attempts < _ATTEMPTS:  # others have changed them since they were read
                        attempts += 1
                        continue
                    batch.given_up.update(unread)
                    batch.make(self._store_state, self.connection, self.queue)
                encoded = batch.encoded(self.connection, self._registry)
                if batch.unstorable or batch.is_too_big:
                    self._leave_out(batch)
                    return True
                if encoded is None:
                    self._finished(batch, 0)
                    return True
                self.queue.row_size = batch.row_size
                batch.sent = encoded
            outcome = self.connection.send(batch.sent)
            if outcome is None:
                return False
            if outcome.epoch != batch.epoch:
                self.connection.count["fenced"] += 1
                with self._store.lock:
                    if self._batch is batch:
                        self._batch = None
                self.connection.events.look()
                return True
            if outcome.moved is None:
                self._finished(batch, outcome.number)
                return True
            batch.sent = None
            attempts += 1
            self._resolve_conflict(batch, outcome.moved, gives_up=attempts >= _ATTEMPTS)

    def _resolve_bulk_invalidations(self, batch: WriteBatch) -> bool:
        """Select the stored results that bulk invalidations concern; False if the storage does not respond."""
        for pending in batch.actions:
            if not pending.bulk_invalidations:
                continue
            keys: list[str] = []
            for page in self.connection.pages(None):
                if page is None:
                    return False
                keys += page
            with self._store.lock, self._store_state.hooks:
                pending.add_keys(keys)
                if pending.event is not None and not pending.stale:  # nothing that is stored became stale
                    self.connection.known.timeline.drop(pending.event)
                    pending.event = pending.stale = None
        return True

    def _finished(self, batch: WriteBatch, number: int) -> None:
        """Finish a committed batch; `number` is the number of the commit, 0 if there was nothing to commit."""
        with self._store.lock:
            if self._batch is batch:
                self._numbered(batch, number)
        if not self.commits_at_once:
            self._store.tell()

    def _numbered(self, batch: WriteBatch, number: int) -> None:
        """Note the number of a committed batch, and remove its actions from the queue (locked)."""
        known, queue = self.connection.known, self.queue
        for pending in batch.actions:
            if pending.event is not None and number:
                known.timeline.committed(pending.event, number)
        self._pop(batch.actions)
        if number:
            self._note(batch, number)
        for cell in batch.joined:
            if cell not in batch.rows and not queue.of_cell(cell):
                queue.bases.pop(cell, None)
        for cell in batch.given_up:
            known.forget(*cell)
            queue.bases.pop(cell, None)
        self._batch = None  # last: after an interrupt, all of this is repeated

    def _note(self, batch: WriteBatch, number: int) -> None:
        """Note the revs of committed rows and results, and write rebased rows to memory (locked)."""
        known, queue, count = self.connection.known, self.queue, self.connection.count
        base = self._store_state.base
        count["commits"] += 1
        count["committed_rows"] += len(batch.rows)
        is_next = known.numbered(number)
        for cell, row in batch.rows.items():
            queue.committed(cell, row.held, number, row.shape)
            if base.get(*cell) is not UNDEFINED:
                known.note(*cell, number, row.shape)
                if row.is_rebased and cell not in known.only_here:
                    known.outdated(cell, number - 1)
                    self._store_state.has_unverified = True
        for key in batch.results:
            if is_next and key not in known.unverified_keys and (key in base.results or key in base.key_metas):
                known.key_revs[key] = number
            else:  # others have committed meanwhile, so that the stored result may be another one
                known.key_revs.pop(key, None)

    def _pop(self, actions: Iterable[PendingWrite]) -> None:
        """Remove actions from the head of the queue (locked)."""
        for pending in actions:
            self.queue.pop(pending)
        if not self.queue:
            self.connection.events.drained()
        self._done.notify_all()

    def _leave_out(self, batch: WriteBatch) -> None:
        """Leave out actions that have no exact JSON form or are too big; older stored versions are deleted."""
        with self._store.lock:
            self._batch = None
            if batch.is_too_big and len(batch.actions) > 1:
                self._goes_alone = True
                return
            self._goes_alone = False
            for pending in batch.writers_of(batch.unstorable) if batch.unstorable else batch.actions:
                self.connection.count["unstorable"] += 1
                if pending.label not in self._warned:
                    self._warned.add(pending.label)
                    why = "is too big" if batch.is_too_big else "has no exact JSON form"
                    logger.warning("%s: the response is not stored, as it %s", pending.label, why)
                self.connection.known.only_here.update(pending.all_cells())
                self.queue.leave_out(pending)

    def _resolve_conflict(self, batch: WriteBatch, found: Loaded, *, gives_up: bool) -> None:
        """Rebase a batch onto rows that other processes have written."""
        self.connection.count["moved"] += 1
        known, queue = self.connection.known, self.queue
        with self._store.lock:
            if self._batch is not batch:
                return
            for table in found.tables:
                batch.versions.pop(table, None)
            cells = [(row.table, row.pk) for row in found.rows]
            if gives_up:
                batch.given_up.update(cells or batch.cells())
                return
            for row in found.rows:
                if row.rev and row.table in known.whole:  # it was inserted before ours
                    known.whole.discard(row.table)
                    self._store_state.memo.drop_table(row.table)
                    self._store_state.hot_results.clear()
            for cell, row in zip(cells, found.rows, strict=True):
                queue.met(cell, row)
                known.forget(*cell)

    # -- lifecycle

    def maintain(self) -> None:
        """Maintain the storage; called by the storage thread after commits and periodically."""
        self.connection.events.maintain()

    def commit_waiting(self) -> bool:
        """Commit all pending writes; called by the storage thread. False if any are left."""
        if self.commits_at_once:
            with self._store.lock:
                return self.commit_all()
        is_done = self.commit_all()
        if self.connection.is_resetting and not is_done:  # if all was committed, a new reset has its own attempt
            with self._store.lock:
                self._is_refused = True
                self._done.notify_all()
        return is_done

    def flush(self, timeout: float) -> bool:
        """Wait until all writes that are pending now are stored; False after `timeout` ms."""
        until = time.monotonic() + timeout / 1000
        with self._store.lock:
            if self.commits_at_once and self.commit_all():
                return True
            last = self.queue.actions[-1] if self.queue.actions else None
            while self.is_waiting and (last is None or last in self.queue.actions):
                self.thread.wake(hurries=True)
                remaining = until - time.monotonic()
                if remaining <= 0 or not self._done.wait(min(remaining, threading.TIMEOUT_MAX)):
                    return not self.is_waiting
            return True

    @property
    def is_waiting(self) -> bool:
        """Whether writes or a reset are pending."""
        return bool(self.queue or self.connection.is_resetting) and self.connection.state != "off"

    def close(self) -> None:
        """Drop pending writes and stop the thread; a pending reset is logged as an error."""
        if self.connection.is_resetting:
            logger.error("the storage was not reset, because it did not respond; its data remains until it expires")
        self.drop_all()
        self.thread.end()

    def forked(self) -> None:
        """Start over in a forked child: pending writes belong to the parent, so that their places are unverified."""
        known, queue = self.connection.known, self.queue
        for pending in queue.actions:
            for table, pk in pending.all_cells():
                known.unverified.setdefault(table, {})[pk] = -1
                known.revs.get(table, {}).pop(pk, None)
            for key in pending.results:
                known.unverified_keys[key] = -1
                known.key_revs.pop(key, None)
        self._done = threading.Condition(self._store.lock)
        self.thread = StorageThread(self, self.connection)
        queue.clear()
        self._batch = None
        self.connection.events.drained()


def _drain(queue: WriteQueue, lock: AbstractContextManager[Any]) -> None:
    """Decode captured actions in pieces, and release the lock in between."""
    is_done = False
    while not is_done:
        with lock:
            is_done = queue.drain_capture(_PIECE)


def _comes_later(pending: PendingWrite, first: Event | None) -> bool:
    """Whether an action with writes was requested after the first event of a batch, so that it needs a later commit.

    In the same commit, other processes could not know that the response is later than the event.
    """
    if first is None:
        return False
    numbers = [pending.times.fetched_at, *(result.meta.number for result in pending.results.values())]
    return bool(pending.cells or pending.results) and max(numbers) > first.number


# -- the thread that writes --------------------------------------------------------------------------------------------


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

    def __init__(self, writer: WriteBehind, connection: StorageConnection) -> None:
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
