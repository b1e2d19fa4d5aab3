"""The state of a store, and the only place that changes it.

A *transition* describes the effects of an action; a reducer computes it without changing anything. `StoreState.commit`
applies it: it writes the tables, drops memoized values that were built from changed data, keeps before images for
snapshots, marks optimistic updates for recomputation, and evicts entities over the bound. It runs no code of users and
cannot fail. Only an interruption, such as Ctrl-C, can stop it: then it is repeated from its beginning, as all steps are
idempotent. So actions are atomic.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from math import inf, nextafter
from threading import Condition, RLock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.logs import STORE, debug
from ..base.values import INVALID, UNDEFINED
from .before_images import BeforeImages
from .dependency_graph import DependencyGraph
from .optimistic import OptimisticUpdates, Respond, tokens_of
from .policy import INFINITE
from .request_log import RequestLog
from .staleness import EVICTED, NEVER, StaleSet
from .tables import EMPTY, ChangeSet, EntityPath, ResultMeta, State, Tables
from .transition import QueueOptimistic, RecordKeys, RemoveEntries, StartOver, WriteChange

if TYPE_CHECKING:
    from .optimistic import Token
    from .persistence_port import PersistencePort
    from .request import Identity, Rules
    from .response_record import ResponseRecord
    from .retention import Retention
    from .transition import Transition


def monotonic_clock(clock: Callable[[], float] | None) -> Callable[[], float]:
    """Return a function for the time (ms) of a clock, by default the system's, that never decreases.

    It follows the clock, also when this jumps forward. After a step back it continues from its last value: otherwise
    later responses would lose against earlier ones, and data would stay fresh until the clock has caught up.
    """
    lock = threading.Lock()
    unit: float = 1
    if clock is None:
        clock, unit = time.time, 1000
    latest: float | None = None
    ahead: float = 0

    def now() -> float:
        nonlocal latest
        moment = clock() * unit + ahead
        if latest is not None and moment < latest:
            return after_a_step()
        latest = moment
        return moment

    def after_a_step() -> float:
        nonlocal latest, ahead
        with lock:  # another thread may have read the clock in between
            moment = clock() * unit + ahead
            if latest is not None and moment < latest:
                ahead += latest + 1 - moment  # requests after the step are later than those before it
                moment = latest + 1
            latest = moment
            return moment

    return now


class LockProbe:
    """Checks whether the current thread holds a lock: `Condition.notify` checks it, and with 0 does nothing else."""

    def __init__(self, lock: RLock) -> None:
        self._condition = Condition(lock)

    def is_held(self) -> bool:
        """Return whether the current thread holds the lock."""
        try:
            self._condition.notify(0)
        except RuntimeError:
            return False
        return True


class ReentrancyGuard:
    """Records the thread in which hooks run: `with guard.hooks: …`, under the store's lock, also nested.

    It is a lock because an interruption cannot prevent its release: a flag that remained set would lock the thread out
    of the store forever.
    """

    def __init__(self) -> None:
        self.hooks = RLock()
        self.is_running = LockProbe(self.hooks).is_held
        """Returns whether the caller is a hook, which may read the store, but not change it."""

    def reject(self, operation: str) -> None:
        """Raise RuntimeError if the caller is a hook; `operation` names what it called."""
        if self.is_running():
            raise RuntimeError(
                f"{_calling_hook()} called {operation}: a hook may read the store, but not change it or fetch; "
                "do it where the fetch was started, or in a listener"
            )


def _calling_hook() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the hook is a caller of the library
    while str(frame.f_globals.get("__name__", "")).startswith("restencil.") and frame.f_back is not None:
        frame = frame.f_back
    return f"the hook {frame.f_code.co_qualname!r}"


class RequestsInFlight:
    """Requests and token refreshes in flight, as opaque objects of the network managers.

    They belong to the store because a reset by any of its controllers ends them all. The store's lock guards them.
    """

    __slots__ = ("by_id", "joinable", "mutations", "refreshed", "renewals", "tokens", "turns")

    def __init__(self) -> None:
        self.joinable: dict[Identity, Any] = {}
        """Requests that another fetch can join, by identity."""
        self.by_id: dict[int, Any] = {}
        """All requests in flight, by the id of their fetch."""
        self.mutations: set[int] = set()
        """The fetch ids of mutations."""
        self.renewals: Any = None
        """Token renewals in flight; None until the first one."""
        self.refreshed: dict[Any, tuple[int, bool]] = {}
        """By hook, when its last token refresh ended, as the id of a fetch, and whether it returned a new token."""
        self.turns: dict[tuple[str, str], list[Any]] = {}
        """By entity, the mutations of it that wait for each other, in order."""
        self.tokens: Any = None
        """Access tokens by grant; None until the first one is requested."""


_LOOK_AT: Final = 10_000
"""The number of ETags from which on those of removed entities are dropped."""


class EntityTags:
    """The ETag of the last response with each entity, and when that was fetched (ms); changed under the lock.

    An ETag stays until another replaces it, its entity is deleted or invalidated, or the store is reset.
    """

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._tags: dict[EntityPath, tuple[str, float]] = {}
        self._look_at = _LOOK_AT

    def get(self, cell: EntityPath) -> str | None:
        """Return the ETag of an entity; None if unknown."""
        found = self._tags.get(cell)
        return None if found is None else found[0]

    def note(
        self, change: ChangeSet, found: Mapping[EntityPath, tuple[str, float]], untagged: Collection[EntityPath]
    ) -> None:
        """Update ETags after a change: `found` are those of its response, `untagged` entities with outdated ones."""
        tags, get = self._tags, self._base.get
        deleted = [(table, pk) for table, cells in change.entities.items() for pk in cells if cells[pk] is INVALID]
        for cell in (*deleted, *untagged):
            tags.pop(cell, None)
        for cell, (tag, fetched_at) in found.items():
            if cell not in tags or tags[cell][1] <= fetched_at:
                tags[cell] = tag, fetched_at
        if len(tags) > self._look_at:
            self._tags = {cell: tag for cell, tag in tags.items() if get(*cell) is not UNDEFINED}
            self._look_at = max(_LOOK_AT, 2 * len(self._tags))


HotResult: TypeAlias = "tuple[Rules, int, tuple[Any, ...], Any, float]"
"""The rules, number of schema redefinitions and arguments of a read, its data, and when that turns stale (ms)."""


class StoreState:
    """The state of a store: the base state, pending optimistic updates over it, and memoized values of both.

    `respond` computes the changes of a fetch's optimistic response.
    """

    def __init__(self, clock: Callable[[], float], retention: Retention, respond: Respond) -> None:
        self.clock = clock
        self.guard = ReentrancyGuard()
        self.hooks = self.guard.hooks
        """Held while functions of users run."""
        self.in_flight = RequestsInFlight()
        self.request_log = RequestLog()
        """The responses that were received while other requests were in flight."""
        self.last_number: float = NEVER
        """The highest request number so far."""
        self.retention = retention
        self.validate = "off"
        self.secrets: set[str] = set()
        """Additional names of secrets: query parameters that contain a credential."""
        self.resets = 0
        """How often the store was reset."""
        self.last_reset: float = 0
        self._respond = respond
        self.before_images = BeforeImages()
        """The previous values of changed data, for snapshots in use."""
        self.next_id: Callable[[], int] = count(1).__next__
        """Returns a new id for fetches, placeholders and refreshes; needs no lock."""
        self.hot_results: dict[str, HotResult] = {}
        """By key, the data that was read since the last change, if reads show the base state."""
        self._unfinished: list[EntityPath] = []
        """The cells that are being removed from the tables."""
        self.persistence: PersistencePort | None = None
        """The persistence of a store with a storage."""
        self.has_unverified = False
        """Whether data in memory must be compared with the storage before it is used."""
        self._hold_nothing()

    def _hold_nothing(self) -> None:
        base, memo = Tables(), DependencyGraph()
        optimistic = OptimisticUpdates(base, self._respond)
        self.base = base
        """The data of responses, without optimistic updates."""
        self.memo = memo
        """The memoized values of reads."""
        self.optimistic = optimistic
        self.response_records: dict[str, ResponseRecord] = {}
        """By key, the record of its last response, if receiving it again would change nothing."""
        self.tags: EntityTags | None = None
        """The ETags of entities, for mutations; None until the first one."""

    def mark_stale(self, cells: Iterable[EntityPath], event: str) -> None:
        """Mark records and lists as stale because of an event at this time."""
        stale = StaleSet(event)
        stale.cells.update(cells)
        if stale:
            self.base.marks.add(stale, self.next_number())
            self.hot_results.clear()

    def is_marked(self, cell: EntityPath) -> bool:
        """Return whether a record or list is marked as stale, independent of the result that shows it."""
        base, meta = self.base, self.base.meta(*cell)
        if meta is None:
            return False
        mark = base.marks.or_unchanged(base.marks.of_record(cell), cell, INFINITE)
        return mark.number >= base.whole_number(cell, meta)

    def next_number(self) -> float:
        """Return the number of a request that starts: the current time in ms, but higher than all earlier numbers."""
        now = self.clock()
        if now <= self.last_number:
            now = nextafter(self.last_number, inf)
        self.last_number = now
        return now

    # -- the view: the base state with pending optimistic updates ------------------------------------------------------

    @property
    def view(self) -> State:
        """The state that readers see, as of the last `refresh`."""
        return self.optimistic.top

    @property
    def shows_base(self) -> bool:
        """Whether reads show the base state: there are no optimistic updates, and reads do not affect evictions."""
        optimistic, retention = self.optimistic, self.retention
        if optimistic.stale or optimistic.updates or retention.active or self.has_unverified:
            return False
        # With a storage, evicted data is loaded before it is read.
        return not retention.evicted or self.persistence is not None

    def refresh(self) -> None:
        """Update the view; this computes optimistic responses."""
        if self.optimistic.stale:
            try:
                with self.hooks:
                    cells, tables = self.optimistic.refresh()
                self.memo.drop_cells(cells)
                for table in tables:
                    self.memo.drop_table(table)
            except BaseException:
                self._forget_built()
                raise
            finally:
                self.hot_results.clear()  # optimistic responses may have read the base meanwhile

    def interrupted(self, error: BaseException) -> None:
        """Drop memoized values if this error interrupted a read, because they may be incomplete."""
        if not isinstance(error, Exception):
            self._forget_built()

    def _forget_built(self) -> None:
        """Drop everything that was built from the tables."""
        self.memo.clear()
        self.optimistic.begin_anew()
        self.hot_results.clear()

    def _needed(self) -> Callable[[EntityPath], bool]:
        """Return a test for cells that must not be evicted: writes of optimistic updates, and marks of deletion.

        A mark of deletion is needed while a request is in flight that started before the deletion, because its response
        must not restore the entity. The cells of optimistic updates are those of the last `refresh`: a commit runs no
        code of users, which could load from the storage what the commit is about to replace.
        """
        base, expected, persistence = self.base, self.optimistic.written, self.persistence
        oldest = min((request.fetched_at for request in self.in_flight.by_id.values()), default=None)

        def is_needed(cell: EntityPath) -> bool:
            if cell in expected or (persistence is not None and persistence.is_pinned(cell)):
                return True
            if oldest is None or base.get(*cell) is not INVALID:
                return False
            meta = base.meta(*cell)
            return meta is not None and meta.fetched_at > oldest

        return is_needed

    # -- changing ------------------------------------------------------------------------------------------------------

    def commit(self, transition: Transition) -> None:
        """Apply the effects of an action completely, even if it is interrupted."""
        try:
            self._carry_out(transition)
        except BaseException:
            self._forget_built()
            self._carry_out(transition)
            raise

    def _carry_out(self, transition: Transition) -> None:
        ended = transition.ended
        if ended is not None and self.optimistic.updates and self.optimistic.remove(ended):
            transition.notifies = True
        if isinstance(transition, WriteChange):
            self._commit_change(transition)
        elif isinstance(transition, QueueOptimistic):
            self.optimistic.push(transition.fetch)
        elif isinstance(transition, RecordKeys):
            self._record(transition.metas, drops_results=transition.drops_results)
        elif isinstance(transition, RemoveEntries):
            self._remove(transition.paths, transition.keys)
        elif isinstance(transition, StartOver):
            self._start_over()
        stale = transition.stale
        if stale is not None and (stale or stale.changes):
            self.base.marks.add(stale, self.next_number())
        if transition.touched is not None:
            running = [one.fetched_at for one in self.in_flight.by_id.values()]
            running = [number for number in running if number != transition.touched.number]
            self.request_log.add(transition.touched, self.last_number, running)
        self.hot_results.clear()

    def _commit_change(self, transition: WriteChange) -> None:
        change = transition.change
        if self.base.unstored or transition.set_as is not None or not transition.is_stored:
            self._note_origin(transition)
        if self.before_images:
            for before_image in self.before_images.held():
                before_image.keep_change(change)
        self._commit_tables(change)
        retention = self.retention
        if retention.active or retention.evicted:
            cells, keys = retention.written(change, self._needed)
            if cells or keys:
                self._remove(cells, keys)
            retention.listed(change.complete_tables)
        tags = transition.tags
        if transition.record is not None:
            key, record = transition.record
            self.response_records.pop(key, None)
            if record is not None:
                self.response_records[key] = record
        if tags or self.tags is not None:
            self.tags = self.tags or EntityTags(self.base)
            self.tags.note(change, tags or {}, transition.untagged)

    def _note_origin(self, transition: WriteChange) -> None:
        """Record data of a response that must not be stored; another response removes only the record of its key."""
        base, change = self.base, transition.change
        if transition.set_as is not None:
            base.set_as[transition.set_as] = None
        if not transition.is_stored:
            base.unstored.update(change.cells(), change.key_metas)
        elif base.unstored:
            base.unstored.difference_update(change.key_metas)

    def _start_over(self) -> None:
        moment = self.clock()
        self.retention.reset()
        debug(STORE, "reset: all data was removed")
        self.request_log.clear()
        self.before_images.clear()  # earlier snapshots keep the previous tables
        self._hold_nothing()
        self.resets += 1
        self.last_reset = moment

    def take_in(self, change: ChangeSet) -> None:
        """Write data that was loaded from a storage: it was only unknown before, so snapshots see it as well."""
        self._commit_tables(change)
        if self.retention.active or self.retention.evicted:
            self.retention.came(change)
        self.hot_results.clear()

    def _commit_tables(self, change: ChangeSet) -> None:
        """Write a change into the tables, and drop memoized values that were built from changed data."""
        base, memo, optimistic = self.base, self.memo, self.optimistic
        changed = [cell for table in change.entities if memo.knows(table) for cell in base.differing(table, change)]
        shown: Collection[str] = ()
        if optimistic.written:
            # The view already has the values of optimistic updates; `refresh` finds what changes there.
            changed = [cell for cell in changed if cell not in optimistic.written]
            shown = {table for table, written in change.entities.items() if optimistic.had_already(table, written)}
        if changed:
            memo.drop_cells(changed, fresh=not any(pk in base.entities.get(table, EMPTY) for table, pk in changed))
        grown = base.commit(change)
        for table in grown:
            if table not in shown:
                memo.drop_table(table)
        if optimistic.updates:
            optimistic.base_changed(tokens_of(change, grown))

    def bound(self) -> None:
        """Evict entities over the bound after data was loaded."""
        over = self.retention.over(self._needed)
        if over:
            self._remove(over, ())

    def _record(self, keys: Mapping[str, ResultMeta], *, drops_results: bool) -> None:
        base = self.base
        self.before_images.keep_results(keys)
        for key, meta in keys.items():
            if drops_results:
                base.results.pop(key, None)
                self.response_records.pop(key, None)
            base.key_metas[key] = meta
        if drops_results:
            over = self.retention.named(keys)
            if over:
                self._remove((), over)
        self.optimistic.base_changed({("key", key) for key in keys})

    def _remove(self, cells: Iterable[EntityPath], keys: Collection[str]) -> None:
        """Remove entities and keys from the tables without notification."""
        base, memo = self.base, self.memo
        gone = [cell for cell in dict.fromkeys(cells) if base.get(*cell) is not UNDEFINED]
        self._unfinished = gone = [*self._unfinished, *gone]
        tables = {table for table, _ in gone}
        for before_image in self.before_images.held():
            before_image.keep_removed(gone)
        self.before_images.keep_results(keys)
        base.remove(gone)
        if gone and self.persistence is None:  # a storage loads it again unchanged
            stale = StaleSet(EVICTED)
            stale.evicted.update(gone)
            base.marks.add(stale, self.next_number())
        for key in keys:
            base.results.pop(key, None)
            base.key_metas.pop(key, None)
            self.response_records.pop(key, None)
        base.marks.forget(gone, keys)
        for key in [key for key, response_record in self.response_records.items() if response_record.touches(tables)]:
            del self.response_records[key]  # part of the response was evicted
        self.retention.removed(gone, keys, base)
        if self.persistence is not None:
            self.persistence.evicted(gone, keys)
        if gone or keys:
            debug(STORE, "%d entities and %d results evicted", len(gone), len(keys))
        memo.drop_cells(gone)
        for table in tables:
            memo.drop_table(table)
        lost: set[Token] = {("cell", *cell) for cell in gone}
        lost.update(("table", table) for table in tables)
        lost.update(("key", key) for key in keys)
        self.optimistic.base_changed(lost)
        self._unfinished = []
