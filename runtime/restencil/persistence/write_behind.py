"""Write-behind: commits the writes of actions to the storage, whole and in order.

A value is sent as memory merged it if memory knows the stored row. A row that another process has written since is a
*conflict*: the operations are rebased onto that row, memory takes over the difference, and the commit is sent again.
The number of a commit is the rev of the rows that it wrote.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..base.errors import StorageDown, StorageError
from ..base.lazy_imports import running_loop
from ..base.logs import logger
from ..base.values import UNDEFINED
from ..cache.merge import StoredEntry
from .apply_remote import apply_remote
from .bulk_invalidation import BulkInvalidator
from .change_capture import ChangeCapture
from .conflict_reads import ConflictReads
from .pending_write import PendingWrite
from .row_codec import is_collection
from .storage_thread import StorageThread
from .write_batch import WriteBatch
from .write_queue import WriteQueue

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..storage.protocol import Entry, Loaded, Place, StoredResult
    from .connection import StorageConnection
    from .stored_forms import StoredForms
    from .timeline import Event

_ROWS: Final = 500
"""A commit takes at most so many rows, or one action: a shared server serves nobody else meanwhile."""
_PIECE: Final = 50
"""So many captured actions are decoded before other threads get the lock."""
_ATTEMPTS: Final = 8
"""After so many conflicts in a row the rows are dropped."""
_LONGEST_RESET: Final = 10.0
"""For so many seconds a caller waits for a reset of a storage that is far away."""
_PROMPT: Final = 1.0
"""After so many seconds, another reset raises: the storage does not answer."""
_USED: Final = 5_000
"""So many used places are sent without waiting for a commit."""


class WriteEvents(Protocol):
    """The owner of a writer: what the writer asks it, and what it notifies it of."""

    def wrote(self, pending: PendingWrite) -> None:
        """An action has written this, which is not decoded yet (locked)."""
        ...

    def drained(self) -> None:
        """Nothing waits any more (locked)."""
        ...

    def take_broken(self) -> list[Place]:
        """Stored values that are no JSON, to be deleted by the next commit (locked)."""
        ...

    def look(self) -> None:
        """A commit found another epoch: the log says why (without the lock)."""
        ...

    def maintain(self) -> None:
        """The thread has written, or `poll` has passed (without the lock)."""
        ...


class WriteBehind:
    """Commits what actions wrote: at once, or in a thread of its own."""

    def __init__(
        self,
        store: Store,
        store_state: StoreState,
        connection: StorageConnection,
        forms: StoredForms,
        events: WriteEvents,
    ) -> None:
        self._store = store
        self._store_state = store_state
        self.connection = connection
        self.commits_at_once = connection.storage.inline and connection.storage.write_behind <= 0
        """Whether an action is committed before its call returns."""
        self._forms = forms
        self.capture = capture = ChangeCapture(store_state, connection, forms, events.wrote)
        self.queue = queue = WriteQueue(store_state, connection, forms, capture)
        self.is_pending = queue.is_pending
        self.is_pending_key = queue.is_pending_key
        self.is_joined = queue.is_joined
        self.moved_lists = queue.moved_lists
        self.date_of = queue.date_of
        self._conflict_reads = ConflictReads(store_state, connection, queue, capture.local_only)
        self._bulk_invalidator = BulkInvalidator(store_state, connection, forms)
        self._events = events
        self._batch: WriteBatch | None = None
        self._goes_alone = False
        """Whether a commit takes one action only: several were too big together."""
        self._is_committing = False
        self._warned: set[str] = set()
        self._is_refused = False
        """Whether the storage did not take the reset when it was asked last."""
        self._reset_since = 0.0
        self._done = threading.Condition(store.lock)
        self.thread = StorageThread(self, self.connection)

    # -- what waits (locked)

    def waits(self, pending: PendingWrite) -> bool:
        """Whether an action waits for its commit still (without the lock)."""
        with self._store.lock:
            return pending in self.queue.actions

    def take(self, pending: PendingWrite) -> None:
        """Adds what an action captured, and commits it if nothing is to wait."""
        if pending.is_reset:
            self._reset_once(pending)
            return
        hurries = bool(pending.release)
        self.queue.take(pending)
        if self.commits_at_once and (self._is_committing or self.commit_all()):
            return
        if hurries or not self.thread.is_woken:
            self.thread.wake(hurries=hurries)

    @property
    def is_open(self) -> bool:
        """Whether anything waits (locked)."""
        return bool(self.queue)

    def use(self, places: Iterable[Place]) -> None:
        """These were used: the next commit says so."""
        used = self.queue.used
        used.update(dict.fromkeys(places))
        if len(used) >= _USED:
            self.thread.wake()

    def over(self, cell: EntityPath, loaded: StoredEntry) -> StoredEntry:
        """The value of a just loaded row for memory: pending writes are rebased onto it."""
        try:
            return self.queue.over(cell, None if loaded.stored is UNDEFINED else loaded) or loaded
        except Exception:
            self.connection.hook_failed(cell)
            return loaded

    def after_bulk_invalidations(self, result: StoredResult) -> StoredResult:
        """A result that was loaded, after the changes of all results that wait."""
        for pending in self.queue.actions:
            for invalidation in pending.bulk_invalidations:
                result = self._bulk_invalidator.applied(invalidation, result) or result
        return result

    def number(self, entry: Entry) -> None:
        """Numbers the batch whose commit is in the log, before the reply of the storage (locked)."""
        batch = self._batch
        if batch is not None and batch.sent is not None and batch.sent.entry.commit_id == entry.commit_id:
            self._numbered(batch, entry.number)

    def give_up(self) -> None:
        """What got no answer is not sent again as it is: the storage has lost what it was made from (locked)."""
        batch = self._batch
        if batch is not None and batch.sent is not None:
            self.connection.given_up.add(batch.sent.entry.commit_id)
            self._batch = None

    # -- a reset

    def _reset_once(self, pending: PendingWrite) -> None:
        """A reset that has begun a new epoch, or was refused, does so once, however often it is taken."""
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
        # Nothing is asked of a server under the lock: its thread does that, and who is not in a loop waits for it.
        self._is_refused = was_refused or connection.state != "on"
        self.thread.wake(hurries=True)
        if self.thread.runs and running_loop() is None:
            self._done.wait_for(lambda: self._is_refused or not self.connection.is_resetting, _LONGEST_RESET)
            self._is_refused = self.connection.is_resetting
        if self._is_refused:
            why = connection.reason or "the server does not answer"
            raise StorageDown(f"the reset is not written yet ({why}); it is tried again until the program ends")

    def _try_reset(self) -> None:
        """Begins a new epoch. Raises StorageError if it cannot be written now."""
        epoch = self.connection.reset()
        with self._store.lock:
            self.connection.known.begin_epoch(epoch, reset=epoch, number=0)
            self.connection.is_resetting = False
            self._done.notify_all()

    def drop_all(self) -> None:
        """All that waits is dropped: it belongs to an epoch that is over, or to nothing."""
        with self._store.lock:
            self.queue.clear()
            self._batch = None
            self._events.drained()
            self._done.notify_all()

    # -- committing

    def commit_all(self) -> bool:
        """Commits all that waits; False if the storage does not take it now."""
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
        """The next batch: whole actions, up to a bulk invalidation (locked)."""
        queue = self.queue
        if self._batch is not None and self._batch.sent is not None:
            return self._batch  # first it is to be known what became of this
        actions: list[PendingWrite] = []
        rows, event = 0, None
        for pending in queue.actions:
            if actions and (rows + pending.rows > _ROWS or self._goes_alone or _comes_later(pending, event)):
                break
            actions.append(pending)
            rows, event = rows + pending.rows, event or pending.event
            if pending.bulk_invalidations:
                break
        names = {**queue.names, **dict.fromkeys(self._events.take_broken())}
        self._batch = None
        if actions or names or queue.used:
            self._batch = WriteBatch(actions, names, [*queue.used])
            queue.used.clear()
        return self._batch

    def _commit(self, batch: WriteBatch) -> bool:
        """Commits a batch, rebased at each conflict; False if the storage does not take it now."""
        attempts = 0
        while True:
            if batch.sent is None:
                if not self._conflict_reads.look_through(batch):
                    return False
                with self._store.lock:
                    if self._batch is not batch:
                        return True  # a reset came
                    batch.make(self._store_state, self.connection, self._forms, self.queue)
                encoded = batch.encoded(self.connection, self._forms)
                if batch.unstorable or batch.is_too_big:
                    self._leave_out(batch)
                    return True
                if encoded is None:
                    return self._finished(batch, 0)
                self.queue.row_size = batch.row_size
                batch.sent = encoded
            outcome = self.connection.send(batch.sent)
            if outcome is None:
                return False
            if outcome.epoch != batch.epoch:
                self.connection.count.fenced += 1
                with self._store.lock:
                    if self._batch is batch:
                        self._batch = None
                self._events.look()
                return True
            if outcome.moved is None:
                return self._finished(batch, outcome.number)
            batch.sent = None
            attempts += 1
            self._resolve_conflict(batch, outcome.moved, gives_up=attempts >= _ATTEMPTS)

    def _finished(self, batch: WriteBatch, number: int) -> bool:
        """The draft was committed; what it changes of all results follows."""
        with self._store.lock:
            if self._batch is batch:
                self._numbered(batch, number)
        if not self.commits_at_once:
            self._store.tell()
        last = batch.actions[-1] if batch.actions else None
        if last is None or not last.bulk_invalidations:
            return True
        while last.bulk_invalidations and self.waits(last):
            if not self._bulk_invalidator.carry_out(last.bulk_invalidations[0], last):
                return False
            with self._store.lock:
                last.bulk_invalidations = last.bulk_invalidations[1:]
        with self._store.lock:
            self._pop((last,))
        return True

    def _numbered(self, batch: WriteBatch, number: int) -> None:
        """A draft has its number: what it wrote is known by it, and waits no more (locked)."""
        known, queue = self.connection.known, self.queue
        for pending in batch.actions:
            if pending.event is not None and number:
                known.timeline.committed(pending.event, number)
            if pending.bulk_invalidations:
                queue.forget(pending)
        self._pop(pending for pending in batch.actions if not pending.bulk_invalidations)
        if number:
            self._note(batch, number)
        for cell in batch.joined:
            if cell not in batch.rows and not queue.of_cell(cell):
                queue.bases.pop(cell, None)
        for place in batch.names:
            queue.names.pop(place, None)
        for cell in batch.given_up:
            known.forget(*cell)
            queue.bases.pop(cell, None)
        self._batch = None  # the last of all: after an interrupt it is numbered once more

    def _note(self, batch: WriteBatch, number: int) -> None:
        """What was committed has the rev of the commit (locked)."""
        known, queue, count = self.connection.known, self.queue, self.connection.count
        base = self._store_state.base
        count.commits += 1
        count.committed_rows += len(batch.rows)
        is_next = known.numbered(number)
        entering: dict[EntityPath, StoredEntry] = {}
        for cell, row in batch.rows.items():
            if row.rev == 0:
                known.versions.pop(cell[0], None)
            queue.committed(cell, row.held, number, row.shape)
            if base.get(*cell) is not UNDEFINED:
                known.note(*cell, number, row.shape)
                rebased_onto = queue.bases.get(cell)
                if row.is_rebased and (rebased_onto is None or not rebased_onto.is_taken):
                    self._enter(cell, row.held, batch, entering)
        if entering and apply_remote(self._store_state, entering):
            self._store.changed()
        for key in batch.results:
            if is_next and key not in known.unverified_keys and (key in base.results or key in base.key_metas):
                known.key_revs[key] = number
            else:  # others have committed meanwhile: whose result is the later one has to be looked at
                known.key_revs.pop(key, None)

    def _pop(self, actions: Iterable[PendingWrite]) -> None:
        """These wait no more, which are the first (locked)."""
        for pending in actions:
            self.queue.pop(pending)
        if not self.queue:
            self._events.drained()
        self._done.notify_all()

    def _leave_out(self, batch: WriteBatch) -> None:
        """What has no JSON form, or is too big, is not stored, nor is anything older shown in its place."""
        with self._store.lock:
            self._batch = None
            if batch.is_too_big and len(batch.actions) > 1:
                self._goes_alone = True
                return
            self._goes_alone = False
            for pending in batch.writers_of(batch.unstorable) if batch.unstorable else batch.actions:
                self.connection.count.unstorable += 1
                if pending.label not in self._warned:
                    self._warned.add(pending.label)
                    why = "is too big" if batch.is_too_big else "has no exact JSON form"
                    logger.warning("%s: what came is not stored, as it %s", pending.label, why)
                self.capture.local_only.update(pending.all_cells())
                self.queue.leave_out(pending)

    def _resolve_conflict(self, batch: WriteBatch, found: Loaded, *, gives_up: bool) -> None:
        """Rebases a batch onto rows that other processes have written; memory takes over the result."""
        self.connection.count.moved += 1
        known, queue = self.connection.known, self.queue
        with self._store.lock:
            if self._batch is not batch:
                return
            for table in found.tables:
                batch.versions.pop(table, None)
                known.versions.pop(table, None)
            cells = [(row.table, row.pk) for row in found.rows]
            if gives_up:
                batch.given_up.update(cells or batch.cells())
                return
            entering: dict[EntityPath, StoredEntry] = {}
            known.unordered.update(row.table for row in found.rows if row.rev)  # they were born before
            for cell, row in zip(cells, found.rows, strict=True):
                queue.met(cell, row)
                known.forget(*cell)
                if self._store_state.base.get(*cell) is UNDEFINED:
                    continue
                known.note(*cell, row.rev, row.shape)
                self._enter(cell, None, batch, entering)
            if apply_remote(self._store_state, entering):
                self._store.changed()
        if not self.commits_at_once:  # else a listener would run in between
            self._store.tell()

    def _enter(
        self, cell: EntityPath, held: StoredEntry | None, batch: WriteBatch, entering: dict[EntityPath, StoredEntry]
    ) -> None:
        """Notes what memory takes over of a rebased row."""
        try:
            waits = self.queue.of_cell(cell)
            held = self.queue.rebased(cell, waits) if waits else held
        except Exception:
            self.connection.hook_failed(cell)
            batch.given_up.add(cell)
            return
        if held is not None and cell not in self.capture.local_only:
            entering[cell] = held
            base = self.queue.bases.get(cell)
            if base is not None and not is_collection(cell[0]):
                self.queue.bases[cell] = base._replace(is_taken=True)

    # -- the life of a store

    def maintain(self) -> None:
        """What the storage thread does after what it wrote, and now and then."""
        self._events.maintain()

    def commit_waiting(self) -> bool:
        """What the storage thread does when it was woken: whether nothing is left to be done."""
        if self.commits_at_once:
            with self._store.lock:
                return self.commit_all()
        is_done = self.commit_all()
        if self.connection.is_resetting and not is_done:  # else the reset came after it, and has its own turn
            with self._store.lock:
                self._is_refused = True
                self._done.notify_all()
        return is_done

    def flush(self, timeout: float) -> bool:
        """Waits until all that was taken so far is in the storage; False: not within `timeout` ms."""
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
        """Whether anything waits to be written."""
        return bool(self.queue or self.connection.is_resetting) and self.connection.state != "off"

    def close(self) -> None:
        """Nothing is committed any more."""
        if self.connection.is_resetting:
            logger.error("the storage was not reset: it did not answer; what it holds ends by its age")
        self.drop_all()
        self.thread.end()

    def forked(self) -> None:
        """It has forked; this is the child: what waits is the parent's, and what it wrote is not known here."""
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
        self._events.drained()


def _drain(queue: WriteQueue, lock: AbstractContextManager[Any]) -> None:
    """Works out what was handed over, in pieces, between which others may have the lock."""
    is_done = False
    while not is_done:
        with lock:
            is_done = queue.drain_capture(_PIECE)


def _comes_later(pending: PendingWrite, first: Event | None) -> bool:
    """Whether what an action brought was requested after this event of another one: that is numbered first.

    Else nobody could tell that the response knew of it.
    """
    if first is None:
        return False
    numbers = [pending.times.fetched_at, *(result.number or 0 for result in pending.results.values())]
    return bool(pending.cells or pending.results) and max(numbers) > first.number
