"""The persistence of a store: connects its parts to one storage, and starts and ends them.

The thread `restencil-changes` waits for commits of other processes to a remote storage.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Collection
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib import parse as urls
from weakref import WeakSet, ref

from ..base.logs import logger
from ..base.values import described
from ..cache.actions import Freshen, SetResponse
from ..cache.persistence_port import StorageStats
from ..cache.transition import WriteChange
from ..storage.protocol import NamespaceStats, Storage
from .connection import StorageConnection
from .leases import Leases
from .log_consumer import Waiters
from .read_through import ReadThrough
from .schema_fingerprint import SchemaRegistry
from .write_behind import WriteBehind

if TYPE_CHECKING:
    from ..base.scheduler import Scheduler
    from ..cache.actions import Action
    from ..cache.persistence_port import StorageLike
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..cache.transition import Transition
    from ..storage.protocol import Changes
    from .pending_write import PendingWrite


_WAIT: Final = 1_000.0
"""The longest wait of the storage for a new entry, in ms."""
_PAUSE: Final = 0.05
"""The shortest pause after a failure, in s; it is longer while the storage is down."""
_CALIBRATION: Final = 60.0
"""The interval between comparisons of the clocks, in s."""


_TRIMMED: Final = 10.0
"""Seconds until the next trim, after a trim that left nothing to delete."""

_in_use: WeakSet[Any] = WeakSet()


class StoragePersistence:
    """Connects a store to its storage: the implementation of `restencil.cache.persistence_port.PersistencePort`."""

    def __init__(self, store: Store, store_state: StoreState, storage: Storage) -> None:
        self._is_warned = False
        numbers = store_state.next_number, lambda: store_state.last_number
        self.connection = connection = StorageConnection(storage, store.lock, store.now, numbers, self)
        self.registry = registry = SchemaRegistry((), self._load_again, connection.known.only_here)
        self.write_behind = write_behind = WriteBehind(store, store_state, connection, registry)
        waiters = Waiters()
        self.read_through = ReadThrough(store, store_state, connection, write_behind, registry, waiters)
        self._log_tailer = LogTailer(connection, self.read_through)
        self.leases = Leases(connection, self.read_through, registry, waiters)
        self._trims_at = 0.0
        """The time of the next trim, in s of the monotonic clock."""
        # Methods of the port that are implemented by its parts.
        self.committed = write_behind.take
        self.is_pinned = write_behind.queue.is_pending
        self.before_read = self.read_through.ensure_loaded
        self.before_value = self.read_through.ensure_value_loaded
        self.catch_up = self.read_through.catch_up_here
        self.knows = self.read_through.knows
        self.knows_result = self.read_through.knows_result
        self.knows_entity = self.read_through.knows_entity
        self.origin = self.read_through.origin
        self.reading = self.read_through.reading
        self.opening = self.read_through.opening
        self.sharing = self.leases.steps
        self.shared = self.leases.done
        self.drain_capture = write_behind.queue.drain_capture
        self._capture = write_behind.capture
        self._store = store
        self._store_state = store_state

    def _load_again(self, table: str) -> None:
        """Allow loading rows of a table again after another class of the table was registered."""
        self.read_through.hydrator.load_again(table)

    # -- clients

    def add_client(self, *, origin: str = "", secret: str = "", sends_credential: bool = False) -> None:
        """Register a client: its origin, the name of its secret parameter, and whether it sends a credential.

        Raises ValueError if the origin differs from the origin of other clients of the store.
        """
        if origin:
            self._set_origin(origin)
        if secret:
            self.registry.add_secret(secret)
        if sends_credential:
            self._warn_of_credential()

    def _set_origin(self, place: str) -> None:
        if not getattr(self.connection.storage, "has_places", True):
            return
        connection, bare = self.connection, _without_userinfo(place)
        if not connection.origin and connection.is_open:
            raise ValueError(
                f"a client of {bare!r} was created for a store that has already used its storage, whose data belongs "
                "to the URL of an API; create the client before the store is used"
            )
        if connection.origin not in ("", bare):
            raise ValueError(
                f"the storage of this store belongs to {connection.origin!r}, but the client sends requests to "
                f"{bare!r}; use a separate store and storage for each"
            )
        connection.origin = bare

    def _warn_of_credential(self) -> None:
        """Warn once if a client sends a credential and the storage is shared by all principals."""
        storage = self.connection.storage
        if self._is_warned or not getattr(storage, "is_for_all", False):
            return
        self._is_warned = True
        logger.warning(
            "a client of this store sends a credential, and its %s has principal=None: all who can open the storage "
            "see the responses to that credential; if that is not intended, pass principal=<account id> to the "
            "storage (logged once)",
            type(storage).__name__,
        )

    # -- writing

    def capture(self, action: Action, transition: Transition, /) -> object:
        """Capture an action and its transition before they change memory; None if there is nothing to store."""
        connection = self.connection
        if connection.state == "off":
            return None
        if not isinstance(transition, WriteChange) or transition.error is not None:
            connection.drain_capture()
            return self._capture.taken(action, transition)
        change = transition.change
        if self.read_through.hydrator.memory_only:
            connection.drain_capture()
            self.read_through.hydrator.writes(change)
        try:
            pending = self._capture.captured(action, transition)
        except Exception:
            logger.exception("a response cannot be stored; older versions of it are deleted from the storage")
            connection.drain_capture()
            pending = self._capture.left_out(change)
        if self.leases.are_held:
            self._release(action, pending)
        return pending

    def _release(self, action: Action, pending: PendingWrite) -> None:
        """Release the lease of a response with the commit of its writes."""
        if isinstance(action, SetResponse | Freshen):
            name = self.leases.committing(action.fetch_id, lambda: self.write_behind.waits(pending))
            if name is not None:
                pending.release = (*pending.release, name)

    def wrote(self, pending: PendingWrite) -> None:
        """Note what an action of this process has written (locked)."""
        self.read_through.wrote(pending)

    def drained(self) -> None:
        """Handle an empty write queue (locked)."""
        self.read_through.hydrator.update_has_unverified()

    # -- writes of other processes

    def look(self) -> None:
        """Apply the commits of other processes."""
        self.read_through.take_news()

    def maintain(self) -> None:
        """Apply the commits of other processes, unless another thread does, and trim the storage."""
        storage = self.connection.storage
        if storage.inline:
            if storage.poll == inf:
                return
            self.read_through.take_news()
        self._trim()

    def _trim(self) -> None:
        """Trim the storage to its bounds if a trim is due; one call takes 50 ms at most."""
        connection = self.connection
        is_idle = not connection.is_open or connection.state != "on" or connection.is_resetting
        if time.monotonic() < self._trims_at or is_idle or not connection.storage.writable:
            return
        if not connection.work(lambda storage: storage.trim(), writes=True):
            self._trims_at = time.monotonic() + _TRIMMED

    def opened(self) -> None:
        """Start to follow the log; pending results become unverified, as others may have stored later ones (locked)."""
        if self.connection.known.number:
            self.read_through.hydrator.mark_keys_unverified([*self.write_behind.queue.keys()])
        self._follow_log()
        storage = self.connection.storage
        if self.write_behind.commits_at_once and storage.poll != inf:
            _look_again(ref(self), self._store.scheduler, storage.poll)

    def _follow_log(self) -> None:
        """Start the thread that follows the log; the timer of a store without one also runs in a forked process."""
        storage = self.connection.storage
        if not storage.inline:
            self._log_tailer.start()
        elif storage.poll != inf and not self.write_behind.commits_at_once:
            self.write_behind.thread.start(storage.poll / 1000)

    def answers_again(self) -> None:
        """Treat the changes of other processes as unknown after the storage was down."""
        self.read_through.lost()

    # -- eviction

    def evicted(self, paths: Collection[EntityPath], keys: Collection[str], /) -> None:
        """Forget the revisions of rows and results that memory has evicted."""
        self.connection.drain_capture()
        known = self.connection.known
        known.only_here.difference_update(paths, keys)
        for table, pk in paths:
            known.forget(table, pk)
        for key in keys:
            known.key_revs.pop(key, None)
        self.read_through.hydrator.evicted(paths, keys)

    # -- lifecycle

    def flush(self, timeout: float, /) -> bool:
        """Wait until all pending writes are stored; False after `timeout` ms, or if the storage is off."""
        is_closed = self._store_state.persistence is None  # a closed store has state "off", too, without a failure
        return self.write_behind.flush(timeout) and (is_closed or self.connection.state != "off")

    def close(self, timeout: float, /) -> None:
        """Flush for at most `timeout` ms, then stop all parts and close the storage."""
        self.write_behind.flush(timeout)
        self.leases.close()
        self.read_through.loader.close()
        self._log_tailer.close()
        self.write_behind.close()
        with self._store.lock:
            self._store_state.persistence = None
            self._store_state.has_unverified = False
        self.connection.turn_off("closed", logs=False)
        self.leases.closed()
        self.connection.let_go()

    def stats(self, /) -> StorageStats:
        """Return the state of the storage, its counters and the number of pending writes."""
        connection, write_behind = self.connection, self.write_behind
        held = NamespaceStats(0, 0, 0)
        if connection.is_open and connection.state == "on":
            held = connection.load(lambda storage: storage.stats()) or held
        return StorageStats(
            state=connection.state,
            reason=connection.reason,
            pending_rows=write_behind.queue.rows,
            pending_names=write_behind.queue.deletions,
            errors={**connection.errors},
            **held._asdict(),
            **connection.count,
        )

    def fork(self, phase: Literal["before", "parent", "child"], /) -> None:
        """Prepare for a fork with the store's lock held, or continue after it in the parent or the child."""
        if phase == "before":
            self.connection.before_fork()
            return
        if phase == "parent":
            self.connection.write_lock.release()
            return
        self.connection.begin_anew()
        self.write_behind.forked()
        self.read_through.loader.forked()
        self._log_tailer.forked()
        self.leases.forked()
        if self.connection.is_open and self.connection.state != "off":
            self._follow_log()


# -- the thread that waits for changes ---------------------------------------------------------------------------------


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


# -- the persistence of a store ---------------------------------------------------------------------------------------


def persistence_of(store: Store, store_state: StoreState, storage: StorageLike) -> StoragePersistence:
    """Create the persistence of a store.

    Raises TypeError if `storage` is not a storage, and RuntimeError if another store uses it.
    """
    if isinstance(storage, type) or not isinstance(storage, Storage):
        found = f"the class {storage.__name__}" if isinstance(storage, type) else described(storage)
        raise TypeError(f"storage is {found}; expected a storage, such as SQLiteStorage('cache', principal=None)")
    if storage in _in_use:
        raise RuntimeError(
            f"{storage!r:.100} serves another store; create a separate storage for each store: two storages may have "
            "the same path or namespace"
        )
    made = StoragePersistence(store, store_state, storage)
    _in_use.add(storage)
    return made


def _look_again(persistence: ref[StoragePersistence], scheduler: Scheduler, poll: float) -> None:
    """Call `maintain` every `poll` ms of the scheduler's time until the persistence is closed or garbage-collected."""

    def look() -> None:
        found = persistence()
        if found is not None and found.connection.state != "off":
            found.maintain()
            _look_again(persistence, scheduler, poll)

    scheduler.call_later(poll, look)


def _without_userinfo(place: str) -> str:
    parts = urls.urlsplit(place)
    if "@" not in parts.netloc:
        return place
    return urls.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
