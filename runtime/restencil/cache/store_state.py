"""All that a store holds, and the one place where it changes.

A *transition* is what an action brings about, worked out by a reducer while nothing changes yet. `StoreState.commit`
carries it out: it writes the tables, drops what was built from what it changes, keeps before images for snapshots,
marks optimistic updates to be computed again, and evicts what is over the bound. It runs no code of users and cannot
fail. Only an interruption can come between, as by Ctrl-C: then all is done once more from its beginning, and each step
is such that this makes no difference. So an action happens as a whole or not at all.
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
from .request_log import RequestLog
from .response_record import ResponseRecord
from .staleness import EVICTED, NEVER, StaleSet
from .tables import EMPTY, ChangeSet, EntityPath, ResultMeta, State, Tables
from .transition import FreshRecord, QueueOptimistic, RecordKeys, RemoveEntries, StartOver, WriteChange

if TYPE_CHECKING:
    from .optimistic import Token
    from .persistence_port import PersistencePort
    from .request import Identity, Rules
    from .retention import Retention
    from .transition import Transition
    from .validators import Validators


def monotonic_clock(clock: Callable[[], float] | None) -> Callable[[], float]:
    """The time (ms) of a clock, by default the system's, that never goes back.

    It runs as the clock does, and jumps forward with it. After a step back it goes on from where it was: else later
    responses would lose against earlier ones, and data would stay fresh until the clock has made up for its step.
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
        with lock:  # another thread may only have looked in between
            moment = clock() * unit + ahead
            if latest is not None and moment < latest:
                ahead += latest + 1 - moment  # what begins after the step is later than what began before it
                moment = latest + 1
            latest = moment
            return moment

    return now


class LockProbe:
    """Tells whether the current thread holds a lock: `Condition.notify` checks that, and with 0 does nothing else."""

    def __init__(self, lock: RLock) -> None:
        self._condition = Condition(lock)

    def is_held(self) -> bool:
        """Whether the current thread holds the lock."""
        try:
            self._condition.notify(0)
        except RuntimeError:
            return False
        return True


class ReentrancyGuard:
    """Knows the thread in which hooks run: `with guard.hooks: …`, under the store's lock, nested as it comes.

    It is a lock because nothing can come between it and its end: a flag that an interruption left behind would keep the
    thread from the store for ever.
    """

    def __init__(self) -> None:
        self.hooks = RLock()
        self._probe = LockProbe(self.hooks)

    def reject(self, operation: str) -> None:
        """Raises RuntimeError where the caller is a hook."""
        if self._probe.is_held():
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
    """Requests in flight and token refreshes under way; what they are is the network managers' business.

    The store has them because a reset by any of its controllers ends them all. The store's lock guards them.
    """

    __slots__ = ("by_id", "joinable", "mutations", "refreshed", "renewals", "tokens", "turns")

    def __init__(self) -> None:
        self.joinable: dict[Identity, Any] = {}
        """Those that another fetch can join, by the identity of the request."""
        self.by_id: dict[int, Any] = {}
        """All of them, by the id of their fetch."""
        self.mutations: set[int] = set()
        """The ids of those that may change something on the server."""
        self.renewals: Any = None
        """Token renewals under way; None as long as there were none."""
        self.refreshed: dict[Any, tuple[int, bool]] = {}
        """When the last refresh by each hook ended, as the id of a fetch, and whether there was a new token."""
        self.turns: dict[tuple[str, str], list[Any]] = {}
        """Those that change an entity and wait for each other, by the entity, in their order."""
        self.tokens: Any = None
        """Tokens that are requested, by their grant; None as long as there are none."""


_LOOK_AT: Final = 10_000
"""From so many ETags on it is looked which are of entities that are here no more."""


class EntityTags:
    """The ETag that the last answer about each entity had, with when that was fetched (ms); changed under the lock.

    One stays until another replaces it, its entity is deleted or invalidated, or the store starts over.
    """

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._tags: dict[str, dict[str, tuple[str, float]]] = {}
        self._look_at = _LOOK_AT

    def get(self, cell: EntityPath) -> str | None:
        """The ETag of an entity, None where none is known."""
        table, pk = cell
        found = self._tags.get(table, EMPTY).get(pk)
        return None if found is None else found[0]

    def note(
        self, change: ChangeSet, found: Mapping[EntityPath, tuple[str, float]], untagged: Collection[EntityPath]
    ) -> None:
        """A change was written, whose answer had these ETags, or refused those of some entities."""
        for table, tags in self._tags.items():
            for pk, stored in change.entities.get(table, EMPTY).items():
                if stored is INVALID:
                    tags.pop(pk, None)
        for table, pk in untagged:
            self._tags.get(table, {}).pop(pk, None)
        for (table, pk), (tag, fetched_at) in found.items():
            tags = self._tags.setdefault(table, {})
            known = tags.get(pk)
            if known is None or known[1] <= fetched_at:
                tags[pk] = tag, fetched_at
        if found and sum(map(len, self._tags.values())) > self._look_at:
            self._forget()

    def _forget(self) -> None:
        get = self._base.get
        self._tags = {
            table: {pk: tag for pk, tag in tags.items() if get(table, pk) is not UNDEFINED}
            for table, tags in self._tags.items()
        }
        self._look_at = max(_LOOK_AT, 2 * sum(map(len, self._tags.values())))


HotResult: TypeAlias = "tuple[Rules, int, tuple[Any, ...], Any, float]"
"""What was found under a key: by which rules, how often schemas had been redefined by then, for which arguments; the
data, and when it turns stale."""


class StoreState:
    """What a store holds: the base state, what pending mutations lay over it, and what was built from both.

    `respond` makes the change that the optimistic response of a fetch is expected to bring.
    """

    def __init__(self, clock: Callable[[], float], retention: Retention, respond: Respond) -> None:
        self.clock = clock
        self.guard = ReentrancyGuard()
        self.hooks = self.guard.hooks
        """Marks where functions of users run."""
        self.in_flight = RequestsInFlight()
        self.request_log = RequestLog()
        """What was answered while other requests were under way."""
        self.last_number: float = NEVER
        """The highest number that was given to a request."""
        self.retention = retention
        self.validate = "off"
        self.secrets: set[str] = set()
        """Names that are those of secrets besides the usual ones: search parameters that hold a credential."""
        self.resets = 0
        """How often the store started over."""
        self.last_reset: float = 0
        self._respond = respond
        self.before_images = BeforeImages()
        """What changes is kept there for the snapshots that are held."""
        self.next_id: Callable[[], int] = count(1).__next__
        """Gives an id that was never given before: of fetches, placeholders, refreshes. Needs no lock."""
        self.hot_results: dict[str, HotResult] = {}
        """What was handed out by key since the last change; only where a read shows the base as it is."""
        self._unfinished: list[EntityPath] = []
        """What is being taken out of the tables."""
        self.persistence: PersistencePort | None = None
        """The persistence of a store with a storage."""
        self.has_unverified = False
        """Whether something in memory has to be compared with the storage before it is believed."""
        self._hold_nothing()

    def _hold_nothing(self) -> None:
        base, memo = Tables(), DependencyGraph()
        optimistic = OptimisticUpdates(base, self._respond)
        self.base = base
        """What responses brought, and nothing else."""
        self.memo = memo
        """What was built for reads."""
        self.optimistic = optimistic
        self.response_records: dict[str, ResponseRecord] = {}
        """By key: what is here of its last answer, where the same one would change nothing."""
        self.tags: EntityTags | None = None
        """The ETags of entities, for those who change them; None as long as there are none."""

    def mark_stale(self, cells: Iterable[EntityPath], event: str) -> None:
        """These records and lists are stale because of an event at this moment."""
        stale = StaleSet(event)
        stale.cells.update(cells)
        if stale:
            self.base.marks.add(stale, self.next_number())
            self.hot_results.clear()

    def is_marked(self, cell: EntityPath) -> bool:
        """Whether a record or list is stale whatever shows it."""
        base, (table, pk) = self.base, cell
        meta = base.meta(table, pk)
        if meta is None:
            return False
        mark = max(base.marks.of_record(cell), base.marks.of_eviction(cell))
        whole = base.whole(table, pk) if table[:1] not in ("[", "{") else None
        if whole is None:
            return mark.number >= base.number(cell, meta)
        return mark.number >= whole.number

    def next_number(self) -> float:
        """A number for a request that starts: the moment in ms, and higher than all numbers before it."""
        now = self.clock()
        if now <= self.last_number:
            now = nextafter(self.last_number, inf)
        self.last_number = now
        return now

    # -- the view: the base with pending optimistic updates over it ----------------------------------------------------

    @property
    def view(self) -> State:
        """What readers see, as of the last `refresh`."""
        return self.optimistic.top

    @property
    def shows_base(self) -> bool:
        """Whether a read shows the base as it is: nothing is laid over it, and no one minds what is read."""
        optimistic, retention = self.optimistic, self.retention
        if optimistic.stale or optimistic.updates or retention.active or self.has_unverified:
            return False
        # What was let go of is loaded before anything is built with it, where there is a storage.
        return not retention.evicted or self.persistence is not None

    def refresh(self) -> None:
        """Brings the view up to date; optimistic responses are computed here."""
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
        """A read ended so: after an interruption what it had begun to build is not to be trusted."""
        if not isinstance(error, Exception):
            self._forget_built()

    def _forget_built(self) -> None:
        """All that is built from the tables is built anew."""
        self.memo.clear()
        self.optimistic.begin_anew()
        self.hot_results.clear()

    def _needed(self) -> Callable[[EntityPath], bool]:
        """Tells what a bound does not touch: what pending optimistic updates write in the view, and marks of deletion.

        These are needed where a request is in flight that began before the deletion, whose answer must not undo it.
        """
        self.refresh()
        base, expected, persistence = self.base, self.optimistic.cells, self.persistence
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
        """Carries out what an action brings about; if it is interrupted, to its end."""
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
        if transition.stale:
            self.base.marks.add(transition.stale, self.next_number())
        if transition.touched is not None:
            running = [one.fetched_at for one in self.in_flight.by_id.values()]
            running = [number for number in running if number != transition.touched.number]
            self.request_log.add(transition.touched, self.last_number, running)
        self.hot_results.clear()

    def _commit_change(self, transition: WriteChange) -> None:
        change = transition.change
        if self.base.unstored or transition.set_as is not None or not transition.is_stored:
            self._note_origin(transition)
        self._write(change)
        record, tags = transition.record, transition.tags
        if isinstance(record, FreshRecord):
            record.record.validators = record.validators
        elif record is not None:
            self.response_records.pop(record.key, None)
            if record.digest is not None or record.validators is not None:
                self.response_records[record.key] = ResponseRecord(
                    record.digest, record.validators, record.key, change, self.base
                )
        if tags or self.tags is not None:
            self.tags = self.tags or EntityTags(self.base)
            self.tags.note(change, tags or {}, transition.untagged)

    def _note_origin(self, transition: WriteChange) -> None:
        """Marks what a response brought that is stored nowhere; another response replaces the mark of its key alone."""
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
        debug(STORE, "reset: all that was stored is gone")
        self.request_log.clear()
        self.before_images.clear()  # snapshots taken before keep the tables of before
        self._hold_nothing()
        self.resets += 1
        self.last_reset = moment

    def _write(self, change: ChangeSet) -> None:
        """Writes a change into the tables, and drops what was built from what it changes."""
        base, optimistic, retention = self.base, self.optimistic, self.retention
        if self.before_images:
            for before_image in self.before_images.held():
                before_image.keep_change(change)
        shown = self._drop_built(change)
        grown = base.commit(change)
        for table in grown:
            if table not in shown:
                self.memo.drop_table(table)
        if optimistic.updates:
            optimistic.base_changed(tokens_of(change, grown))
        if retention.active or retention.evicted:
            cells, keys = retention.written(change, self._needed)
            if cells or keys:
                self._remove(cells, keys)
            retention.listed(change.complete_tables)

    def take_in(self, change: ChangeSet) -> None:
        """Writes what a storage had of what was not known here: that is no change, so snapshots see it as well."""
        base, retention = self.base, self.retention
        shown = self._drop_built(change)
        grown = base.commit(change)
        for table in grown:
            if table not in shown:
                self.memo.drop_table(table)
        if self.optimistic.updates:
            self.optimistic.base_changed(tokens_of(change, grown))
        if retention.active or retention.evicted:
            retention.came(change)
        self.hot_results.clear()

    def restore_response_record(self, key: str, validators: Validators, change: ChangeSet) -> None:
        """All that an answer wrote is here as it did, though it came from a storage; the change has what that is."""
        self.response_records[key] = ResponseRecord(None, validators, key, change, self.base)

    def bound(self) -> None:
        """Lets go of what is over the bound since more was taken in."""
        over = self.retention.over(self._needed)
        if over:
            self._remove(over, ())

    def _drop_built(self, change: ChangeSet) -> Collection[str]:
        """Drops what was built from the cells that a change is to write; returns tables that look the same after it."""
        base, memo, optimistic = self.base, self.memo, self.optimistic
        changed = [cell for table in change.entities if memo.knows(table) for cell in base.differing(table, change)]
        shown: Collection[str] = ()
        if optimistic.covers:
            # What an update expected, the view had already; bringing the view up to date finds what changed for it.
            changed = [cell for cell in changed if not optimistic.holds(*cell)]
            shown = {table for table, written in change.entities.items() if optimistic.had_already(table, written)}
        if changed:
            memo.drop_cells(changed, fresh=not any(pk in base.entities.get(table, EMPTY) for table, pk in changed))
        return shown

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
        """Removes entities and keys from the tables without notification."""
        base, memo = self.base, self.memo
        gone = [cell for cell in dict.fromkeys(cells) if base.get(*cell) is not UNDEFINED]
        self._unfinished = gone = [*self._unfinished, *gone]
        tables = {table for table, _ in gone}
        for before_image in self.before_images.held():
            before_image.keep_removed(gone)
        self.before_images.keep_results(keys)
        base.remove(gone)
        if gone and self.persistence is None:  # else it is loaded again as it was
            stale = StaleSet(EVICTED)
            stale.evicted.update(gone)
            base.marks.add(stale, self.next_number())
        for key in keys:
            base.results.pop(key, None)
            base.key_metas.pop(key, None)
            self.response_records.pop(key, None)
        base.marks.forget(gone, keys)
        for key in [key for key, response_record in self.response_records.items() if response_record.touches(tables)]:
            del self.response_records[key]  # nothing that was let go of is held
        self.retention.removed(gone, keys, base)
        if self.persistence is not None:
            self.persistence.evicted(gone, keys)
        if gone or keys:
            debug(STORE, "%d entities and %d results let go of", len(gone), len(keys))
        memo.drop_cells(gone)
        for table in tables:
            memo.drop_table(table)
        lost: set[Token] = {("cell", *cell) for cell in gone}
        lost.update(("table", table) for table in tables)
        lost.update(("key", key) for key in keys)
        self.optimistic.base_changed(lost)
        self._unfinished = []
