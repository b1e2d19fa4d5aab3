"""The store: one consistent copy of everything that was fetched, and the only place that changes it.

Controllers of both worlds share a store. Every action is atomic: it runs under the store's lock, writes nothing unless
it succeeded, and listeners hear of it after the lock is released. Reads see the *view*: real data with the pending
optimistic updates laid over it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..base.fork import stores
from ..base.logs import logger
from ..base.scheduler import ThreadScheduler
from ..base.values import INVALID, UNDEFINED, is_list
from ..schema.protocol import MODES
from . import reduce
from .dumps import Dumpable
from .persistence_port import persistence_of
from .reader import CacheReader
from .response_value import outcome_of
from .responses import expected_change
from .retention import Retention
from .snapshot import Snapshot
from .stages.entity_tags import tag_of_mutation
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
    """Holds what was fetched; shared by any number of controllers, sync and async, in any threads.

    `clock` gives the time in ms (default: the system's); where it steps back, the store's time goes on from where it
    was. `scheduler` runs background work, `max_entities` bounds the number of entities (default: unbounded), `gc` is
    the policy that collects what no one holds (default: nothing). A store belongs to one
    principal.

    `validate` says what becomes of answers that do not fit what is declared, where their endpoint says nothing:
    `strict` makes them errors, `warn` logs each kind of misfit once, `off` takes them.

    `storage` keeps the data if it is to outlive the process or to be shared by several; it serves this
    store alone. Such a store is closed at its end, as `with Store(storage=...) as store:` does it.
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
            raise ValueError(f"validate is one of {', '.join(MODES)}, not {validate!r}")
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
        """Requests in flight; the network managers' own, guarded by the lock."""
        self._listeners: dict[int, Callable[[], object]] = {}
        self._notifications: deque[None] = deque()
        self._notifying = False
        # Reads are the lookup's own methods; one call less is felt. (Benchmark: cached read of one entity.)
        self.read = cache_reader.read
        self.cached = cache_reader.cached
        self.fresh = cache_reader.fresh
        self.read_base = cache_reader.read_base
        self.query = cache_reader.query
        self.paths = cache_reader.paths
        self.unanswered = cache_reader.unanswered
        self.next_id = store_state.next_id
        self.check_hook = store_state.guard.reject
        """Raises RuntimeError, which names the operation, where a hook, which may run under the lock, calls it."""
        self.gc = gc
        if gc is not None:
            gc.attach(self)
        self.member: PeerStore | None = None
        """What it is to other stores of its client, if there are any."""
        self._origins: dict[bool, str] = {}
        if storage is not None:
            self._persistence = store_state.persistence = persistence_of(self, store_state, cache_reader, storage)
        stores.add(self)

    def another(self) -> Store:
        """An empty store with the clock, scheduler, limits and rules of this one."""
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

    def remember_origin(self, origin: str, *, is_base: bool, share: bool) -> None:
        """Where a client looks for its API, or with `is_base` where a controller's relative URLs lead.

        Raises ValueError where another one looks elsewhere, whichever package it is of, unless it is to `share`: keys
        of one spec are the same then, and entities of one name share a table.
        """
        origin = origin.rstrip("/")
        with self.lock:
            known = self._origins.setdefault(is_base, origin)
            if self._persistence is not None:
                self._persistence.add_client(origin=origin)
        if known != origin and not share:
            raise ValueError(
                f"this store has what {known!r} answered, and the client asks {origin!r}: what the one says would show "
                "in the other; give each client a store of its own, or share=True where both have the same data"
            )

    # -- what it holds -------------------------------------------------------------------------------------------------

    @property
    def resets(self) -> int:
        """How often it started over."""
        return self._store_state.resets

    @property
    def last_reset(self) -> float:
        """When it last started over, in ms; 0 for never."""
        return self._store_state.last_reset

    def now(self) -> float:
        """The moment by the store's clock, in ms; it never goes back, whatever the clock does."""
        return self.clock()

    def next_number(self) -> float:
        """A number for a request that starts: the moment in ms, and higher than all numbers before it."""
        with self.lock:
            return self._store_state.next_number()

    @property
    def state(self) -> dict[str, Any]:
        """The view as plain data; a copy, for looking at.

        `entities` and `entities_meta` by table and primary key, `endpoints` and `meta` by key, `indexes` by table,
        field and value, the pending actions as `optimistic`, and `last_reset`.
        """
        from .inspect_state import inspect_state

        with self.lock:
            return inspect_state(self._store_state)

    def endpoint_meta(self, key: str) -> ResultMeta | None:
        """What is recorded of a key besides its result: times, error, invalidation."""
        with self.lock:
            self._store_state.refresh()
            return self._store_state.view.key_meta(key)

    def entity_meta(self, table: str, pk: str) -> Meta | None:
        """The times of an entity or collection in the base state."""
        with self.lock:
            return self._store_state.base.meta(table, pk)

    def answered(self, cell: tuple[str, str]) -> tuple[int, bool] | None:
        """How many items a list had when it was answered, and whether pages extended it since.

        None where it was not, or where anything else was added to it or taken from it, also optimistically.
        """
        with self.lock:
            store_state = self._store_state
            store_state.refresh()
            return store_state.base.as_answered(cell, store_state.view.get(*cell))

    def count_missing(self, cell: tuple[str, str] | None, items: Iterable[tuple[str, str]]) -> int:
        """How many of these entities were deleted, or are in the list no more, in the view."""
        with self.lock:
            store_state = self._store_state
            store_state.refresh()
            view = store_state.view
            stored = UNDEFINED if cell is None else view.get(*cell)
            members = set(stored) if is_list(stored) and all(type(pk) is str for pk in stored) else None
            return sum(
                view.get(table, pk) is INVALID or (members is not None and pk not in members) for table, pk in items
            )

    def is_deleted(self, cell: tuple[str, str]) -> bool:
        """Whether the view shows an entity as deleted; False if it is not known."""
        with self.lock:
            self._store_state.refresh()
            return self._store_state.view.get(*cell) is INVALID

    def tagged(self, request: Request) -> tuple[EntityPath | None, str | None]:
        """The entity that a mutation is of, and the ETag of what is known of it; None where it is not known."""
        with self.lock:
            return tag_of_mutation(self._cache_reader, request)

    def witness(self, key: str, mark: bytes | None = None, *, whole: bool = True) -> ResponseRecord | None:
        """What is here of the last answer of a key, of this mark where one is given; None where not all of it is.

        With `whole=False` it is not checked that all of it is there.
        """
        witness = self._store_state.response_records.get(key)
        if witness is None or not whole or (mark is not None and witness.mark != mark):
            return None if whole else witness
        with self.lock:
            return witness if witness.holds(key, self._store_state.base) else None

    def dependents(self, table: str, pk: str) -> list[Any]:
        """What is built from an entity now, nearest first (for explanations)."""
        with self.lock:
            return self._store_state.memo.dependents(table, pk)

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """The view as it is now; it stays so for as long as it is held."""
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
        """Carries out an action as a whole or not at all, then tells the listeners.

        Returns the value of a fetch for a response, else None. Raises ProcessingError for a response or value that
        cannot be normalized (a response's is recorded first), RuntimeError when called from a hook.
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
                except BaseException:  # an interruption may have come before it began; a second time changes nothing
                    store_state.commit(transition)
                    raise
                finally:  # it was carried out, also where it was interrupted
                    done = True
                    if transition.notifies and self._listeners:
                        self._notifications.append(None)
                    if persistence is not None and captured is not None:
                        try:
                            persistence.committed(captured)
                        finally:  # an interruption may have come before it; a second time does nothing
                            persistence.committed(captured)
                return outcome_of(self._cache_reader, transition.outcome)
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
        """Calls the function after every change, in order, outside the lock; returns what removes it."""
        with self.lock:
            place = self._store_state.next_id()
            self._listeners[place] = listener

        def remove() -> None:
            with self.lock:
                self._listeners.pop(place, None)

        return remove

    def changed(self) -> None:
        """Listeners hear of a change that was no action, once the lock is released (locked)."""
        if self._listeners:
            self._notifications.append(None)

    @property
    def has_news(self) -> bool:
        """Whether listeners are to hear of something."""
        return bool(self._notifications)

    def tell(self) -> None:
        """Tells the listeners of such a change; where this thread holds the lock, what it does ends with that."""
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
        """The process is about to fork, and the lock is held."""
        if self._persistence is not None:
            self._persistence.fork("before")

    def after_fork(self) -> None:
        """It has forked; this is the parent."""
        if self._persistence is not None:
            self._persistence.fork("parent")

    def forked(self) -> None:
        """This is a forked process: whoever was telling the listeners of a change is not here."""
        self._notifying = False
        if self._persistence is not None:
            self._persistence.fork("child")

    # -- holding -------------------------------------------------------------------------------------------------------

    def hold(self, key: str, paths: Iterable[EntityPath]) -> Callable[[], None]:
        """Someone shows this key and what it touches: none of it is collected or evicted until released."""
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
        """Whether someone holds a key or an entity."""
        return self._store_state.retention.is_held(place)
