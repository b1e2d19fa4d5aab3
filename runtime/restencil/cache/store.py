"""The store: one consistent copy of all fetched data, changed by actions only.

Sync and async controllers can share a store. Every action is atomic: it runs under the store's lock, writes nothing
unless it succeeds, and listeners are called after the lock is released. Reads see the *view*: the base state with the
pending optimistic updates applied on top.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..base.fork import stores
from ..base.logs import logger
from ..base.scheduler import ThreadScheduler
from ..base.values import INVALID
from ..schema.protocol import MODES
from . import reduce
from .dumps import Dumpable
from .freshness import unmarked_since
from .persistence_port import persistence_of
from .reader import CacheReader
from .responses import expected_change
from .retention import Retention
from .snapshot import Snapshot
from .stages.entity_tags import tag_of_mutation
from .staleness import EVERY_RECORD, NEVER, StaleSet
from .store_state import LockProbe, StoreState, monotonic_clock

if TYPE_CHECKING:
    from ..base.scheduler import Scheduler
    from ..base.values import Meta
    from .actions import Action, Fetch
    from .gc import ImmortalGCPolicy
    from .peers import PeerStore
    from .persistence_port import StorageLike
    from .request import Request
    from .response_record import ResponseRecord
    from .tables import ChangeSet, EntityPath, ResultMeta, State


class Store(Dumpable):
    """The normalized cache; any number of controllers, sync and async, in any threads can share it.

    `clock` returns the time in ms (default: the system's); if it steps back, the store's time continues from its last
    value. `scheduler` runs background work, `max_entities` bounds the number of entities (default: unbounded), `gc` is
    the policy that collects unused data (default: it is never collected). All data of a store belongs to one principal.

    `validate` applies to responses that do not match their schema, unless their endpoint has a mode of its own:
    `strict` raises errors, `warn` logs each kind of mismatch once, `off` accepts them.

    `storage` persists the data beyond the process, or shares it between processes; a storage object serves one store.
    A store with a storage must be closed, for example by `with Store(storage=...) as store:`.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] | None = None,
        scheduler: Scheduler | None = None,
        max_entities: int | None = None,
        gc: ImmortalGCPolicy | None = None,
        validate: str = "off",
        storage: StorageLike | None = None,
    ) -> None:
        if validate not in MODES:
            raise ValueError(f"validate is {validate!r}; expected one of {', '.join(MODES)}")
        if max_entities is not None and max_entities < 1:
            raise ValueError(f"max_entities is {max_entities}; expected a positive number, or None for no bound")

        def respond(action: Fetch, underlying: State) -> ChangeSet:
            return expected_change(cache_reader, action, underlying)

        self.clock = monotonic_clock(clock)
        self.scheduler: Scheduler = scheduler or ThreadScheduler()
        self.lock = threading.RLock()
        self._lock_probe = LockProbe(self.lock)
        self._store_state = store_state = StoreState(self.clock, Retention(max_entities), respond)
        store_state.validate = validate
        self._cache_reader = cache_reader = CacheReader(store_state, self.lock)
        self.in_flight = store_state.in_flight
        """Requests in flight, which network managers add and remove under the lock."""
        self._listeners: dict[int, Callable[[], object]] = {}
        self._notifications: deque[None] = deque()
        self._notifying = False
        # Reads are methods of the reader itself, which saves a call. (Benchmark: cached read of one entity.)
        self.read = cache_reader.read
        self.cached = cache_reader.cached
        self.fresh = cache_reader.fresh
        self.read_base = cache_reader.read_base
        self.query = cache_reader.query
        self.paths = cache_reader.paths
        self.unanswered = cache_reader.unanswered
        self.next_id = store_state.next_id
        self.check_hook = store_state.guard.reject
        """Raises RuntimeError with the name of the operation if a hook calls it, as hooks may run under the lock."""
        self.gc = gc
        if gc is not None:
            gc.attach(self)
        self.member: PeerStore | None = None
        """Passes actions to the other stores of its client; None if there are none."""
        self._origins: dict[bool, str] = {}
        if storage is not None:
            self._persistence = store_state.persistence = persistence_of(self, store_state, storage)
            self.is_persistent = True
        stores.add(self)

    def another(self) -> Store:
        """Return an empty store with the clock, scheduler, limits and validation mode of this one, and no storage."""
        made = Store(
            clock=self.clock,
            scheduler=self.scheduler,
            max_entities=self._store_state.retention.max_entities,
            gc=None if self.gc is None else self.gc.another(),
            validate=self._store_state.validate,
        )
        made._origins.update(self._origins)
        made._store_state.secrets |= self._store_state.secrets
        return made

    @property
    def may_know_deletions(self) -> bool:
        """Whether it, or another process with its storage, may know of deleted records."""
        with self.lock:
            return self._persistence is not None or self._store_state.base.marks.newest() > NEVER

    def assume_deletions(self) -> None:
        """Assume that records were deleted before: the record of a `get` is not taken from a list alone.

        A server may still list a deleted record.
        """
        stale = StaleSet("another store of the client may have deleted it")
        stale.arguments.add(EVERY_RECORD)
        with self.lock:
            self._store_state.base.marks.add(stale, self._store_state.next_number())

    def remember_origin(self, origin: str, *, is_base: bool, share: bool) -> None:
        """Record the origin of a client's API, or with `is_base` the base of a controller's relative URLs.

        Raises ValueError if another client, of any package, recorded another origin, unless `share` is set: equal keys
        and tables of the same name are shared between them.
        """
        origin = origin.rstrip("/")
        with self.lock:
            known = self._origins.setdefault(is_base, origin)
            if self._persistence is not None:
                self._persistence.add_client(origin=origin)
        if known != origin and not share:
            raise ValueError(
                f"this store has data of {known!r}, but the client sends requests to {origin!r}, so each would show "
                "data of the other; use a separate store for each client, or pass share=True if both have the same data"
            )

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def resets(self) -> int:
        """How often the store was reset."""
        return self._store_state.resets

    @property
    def last_reset(self) -> float:
        """When the store was last reset, in ms; 0 if never."""
        return self._store_state.last_reset

    def now(self) -> float:
        """Return the current time of the store in ms; it never decreases, even if the clock steps back."""
        return self.clock()

    def next_number(self) -> float:
        """Return the number of a request that starts: the current time in ms, but higher than all earlier numbers."""
        with self.lock:
            return self._store_state.next_number()

    @property
    def state(self) -> dict[str, Any]:
        """The view as plain data: a copy, for debugging.

        `entities` and `entities_meta` by table and primary key, `endpoints` and `meta` by key, `indexes` by table,
        field and value, the pending actions as `optimistic`, and `last_reset`.
        """
        from .inspect_state import inspect_state

        with self.lock:
            return inspect_state(self._store_state)

    def endpoint_meta(self, key: str) -> ResultMeta | None:
        """Return the metadata of a key: times, error, invalidation; None if the key is unknown."""
        with self.lock:
            self._store_state.refresh()
            return self._store_state.view.key_meta(key)

    def entity_meta(self, table: str, pk: str) -> Meta | None:
        """Return the times of an entity or collection in the base state; None if it is unknown."""
        with self.lock:
            return self._store_state.base.meta(table, pk)

    def length_in_response(self, cell: tuple[str, str]) -> int | None:
        """Return how many items a list had in its last full response.

        None if there was no such response, or if items were added or removed since, by pages or optimistically too.
        """
        with self.lock:
            store_state = self._store_state
            store_state.refresh()
            return store_state.base.length_in_response(cell, store_state.view.get(*cell))

    def last_change(self, tables: Iterable[str]) -> float:
        """Return the number of the last event that may have changed or deleted records of these tables."""
        with self.lock:
            return self._store_state.base.marks.last_change(tables)

    def is_unmarked_since(self, request: Request, number: float) -> bool:
        """Return whether no event since a request with this number may have made its response stale."""
        with self.lock:
            return unmarked_since(self._store_state.base, request, number)

    def is_deleted(self, cell: tuple[str, str]) -> bool:
        """Return whether an entity is deleted in the view; False if it is unknown."""
        with self.lock:
            self._store_state.refresh()
            return self._store_state.view.get(*cell) is INVALID

    def tagged(self, request: Request) -> tuple[EntityPath | None, str | None]:
        """Return the entity that a mutation addresses, and its known ETag; each is None if unknown."""
        with self.lock:
            return tag_of_mutation(self._cache_reader, request)

    def witness(self, key: str, mark: bytes | None = None, *, whole: bool = True) -> ResponseRecord | None:
        """Return the record of the last response of a key, with this `mark` if given; None if parts are missing.

        With `whole=False`, neither completeness nor the mark is checked.
        """
        witness = self._store_state.response_records.get(key)
        if witness is None or not whole or (mark is not None and witness.mark != mark):
            return None if whole else witness
        with self.lock:
            return witness if witness.holds(key, self._store_state.base) else None

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """Return an immutable snapshot of the current view."""
        with self.lock:
            store_state = self._store_state
            store_state.refresh()
            started = self.now() if fetched_at is None else fetched_at
            snapshot = Snapshot(self._cache_reader, store_state.view, started, store_state.base)
            if snapshot.before_image is not None:
                store_state.before_images.keep(snapshot.before_image)
            return snapshot

    # -- changing ------------------------------------------------------------------------------------------------------

    def apply(self, action: Action) -> Any:
        """Apply an action atomically, then call the listeners.

        Returns the value of the call for a response, else None. Raises ProcessingError if a response or value cannot be
        normalized (for a response, the error is recorded first), and RuntimeError if a hook calls it.
        """
        store_state = self._store_state
        store_state.guard.reject(type(action).__name__)
        done = False
        try:
            with self.lock:
                transition = reduce.REDUCERS[type(action)](self._cache_reader, action)
                persistence = store_state.persistence
                captured = None if persistence is None else persistence.capture(action, transition)
                try:
                    store_state.commit(transition)
                except BaseException:  # it may have been interrupted before it began; committing twice is harmless
                    store_state.commit(transition)
                    raise
                finally:  # it is committed now, even after an interruption
                    done = True
                    if transition.notifies and self._listeners:
                        self._notifications.append(None)
                    if persistence is not None and captured is not None:
                        try:
                            persistence.committed(captured)
                        finally:  # an interruption may have come before it; the second call does nothing
                            persistence.committed(captured)
                if transition.error is not None:
                    raise transition.error
                return transition.outcome()
        except BaseException as error:
            with self.lock:
                store_state.interrupted(error)
            raise
        finally:
            try:
                if done and self.member is not None:
                    self.member.did(action)
            finally:
                if self._notifications:
                    self._notify()

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a function after every change, in order, outside the lock; return a function that removes it."""
        with self.lock:
            place = self._store_state.next_id()
            self._listeners[place] = listener

        def remove() -> None:
            with self.lock:
                self._listeners.pop(place, None)

        return remove

    def changed(self) -> None:
        """Queue a notification of a change that was no action, delivered once the lock is released (locked)."""
        if self._listeners:
            self._notifications.append(None)

    @property
    def has_news(self) -> bool:
        """Whether notifications are waiting to be delivered."""
        return bool(self._notifications)

    def tell(self) -> None:
        """Deliver waiting notifications; if this thread holds the lock, they wait until it releases the lock."""
        if self._notifications and not self._lock_probe.is_held():
            self._notify()

    def _notify(self) -> None:
        while True:
            with self.lock:
                if not self._notifications or self._notifying:
                    return
                self._notifications.popleft()
                self._notifying = True
                listeners = list(self._listeners.values())
            interruption: BaseException | None = None
            try:
                for listener in listeners:
                    try:
                        listener()
                    except Exception:
                        logger.exception("a listener of the store failed; the others still run")
                    except BaseException as error:  # the others run first
                        interruption = interruption or error
                if interruption is not None:
                    raise interruption
            finally:
                with self.lock:
                    self._notifying = False

    def before_fork(self) -> None:
        """Prepare for a fork of the process (locked)."""
        if self._persistence is not None:
            self._persistence.fork("before")

    def after_fork(self) -> None:
        """Continue in the parent process after a fork."""
        if self._persistence is not None:
            self._persistence.fork("parent")

    def forked(self) -> None:
        """Continue in the child process after a fork, where the thread that was calling listeners does not exist."""
        self._notifying = False
        if self._persistence is not None:
            self._persistence.fork("child")

    # -- retention -----------------------------------------------------------------------------------------------------

    def hold(self, key: str, paths: Iterable[EntityPath]) -> Callable[[], None]:
        """Protect a key and these paths from collection and eviction; return a function that releases them."""
        places: list[str | EntityPath] = [key, *paths]
        retention = self._store_state.retention
        with self.lock:
            retention.hold(places)

        def release() -> None:
            with self.lock:
                dropped = retention.release(places)
                places.clear()
            if self.gc is not None and dropped:
                self.gc.dropped(
                    tuple(place for place in dropped if isinstance(place, str)),
                    tuple(place for place in dropped if not isinstance(place, str)),
                )

        return release

    def is_held(self, place: str | EntityPath) -> bool:
        """Return whether a key or an entity is protected by `hold`."""
        return self._store_state.retention.is_held(place)
