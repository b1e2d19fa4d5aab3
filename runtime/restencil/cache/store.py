"""The store: one consistent copy of everything that was fetched, and the only place that changes it (§7).

Controllers of both worlds share a store. Every action is atomic: it runs under the store's lock, writes nothing unless
it succeeded, and listeners hear of it after the lock is released. Reads see the *view*: real data with the pending
optimistic updates laid over it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from ..base.errors import AbortError, AbortOptimistic, ProcessingError
from ..base.lazy import logger
from ..base.scheduler import ThreadScheduler
from ..base.values import (
    DICT,
    INVALID,
    LIST,
    UNDEFINED,
    Meta,
    Sentinel,
    copy_in,
    is_mapping,
    is_sequence,
    read_only,
    same_json,
)
from ..schema.derived import Invalidate
from ..schema.entity import EntitySchema
from ..schema.notation import schema_of
from ..schema.protocol import Echo, Schema, definitions, is_plain
from ..schema.record import Record
from ..schema.stored import record_of
from . import actions
from .denormalize import Denormalization
from .denormalize_compiled import reader_of
from .lookup import LASTS, Found, Ready, known_data, known_reading, ready
from .memo import Memo, args_text
from .normalize import Normalization
from .normalize_compiled import CompiledNormalization, normalization
from .optimistic import Layers, Token, tokens_of
from .policy import BROKEN, HARD, LACKING, MISSING, NONE, SOFT, USABLE, decide, shows_error, status_of
from .reading import INFINITE, Reading, inactive
from .retention import Retention
from .tables import EMPTY, WHOLE, Cell, Change, KeyMeta, State, Tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..base.scheduler import Scheduler
    from .gc import ImmortalGCPolicy
    from .request import Asker, Request


Clock = Callable[[], float]

_READY: Final = 1_024
"""So many keys are found again at once."""


def _system_clock() -> float:
    return time.time() * 1000


def usable(query_key: Any) -> bool:
    """Whether a query key can be read: it and, in a dict, all its members are known (§5.1)."""
    if isinstance(query_key, DICT):
        return all(usable(member) for member in query_key.values())
    return query_key is not UNDEFINED


class _Aside:
    """The base as it was when a snapshot was taken: what changed since is kept aside for it."""

    def __init__(self, base: Tables) -> None:
        self.base = base
        self.cells: dict[Cell, tuple[Any, Meta | None]] = {}
        self.results: dict[str, tuple[Any, KeyMeta | None]] = {}
        self.indexes: dict[tuple[str, str, str], str | None] = {}
        self.tables: dict[str, tuple[str, ...] | None] = {}

    def get(self, table: str, pk: str) -> Any:
        kept = self.cells.get((table, pk)) if self.cells else None
        return self.base.get(table, pk) if kept is None else kept[0]

    def meta(self, table: str, pk: str) -> Meta | None:
        kept = self.cells.get((table, pk))
        return self.base.meta(table, pk) if kept is None else kept[1]

    def result(self, key: str) -> Any:
        kept = self.results.get(key)
        return self.base.result(key) if kept is None else kept[0]

    def key_meta(self, key: str) -> KeyMeta | None:
        kept = self.results.get(key)
        return self.base.key_meta(key) if kept is None else kept[1]

    def by_index(self, table: str, field: str, value: str) -> str | None:
        place = (table, field, value)
        return self.indexes[place] if place in self.indexes else self.base.by_index(table, field, value)

    def pks(self, table: str) -> Iterator[str]:
        kept = self.tables.get(table)
        if kept is not None:
            return iter(kept)
        return (pk for pk in self.base.pks(table) if self.get(table, pk) is not UNDEFINED)

    def has_table(self, table: str) -> bool:
        if table in self.tables:
            return self.tables[table] is not None
        return self.base.has_table(table)

    def keep_cell(self, table: str, pk: str) -> None:
        """The cell is about to change."""
        if (table, pk) not in self.cells:
            self.cells[table, pk] = (self.base.get(table, pk), self.base.meta(table, pk))

    def keep_result(self, key: str) -> None:
        """The key's result or meta is about to change."""
        if key not in self.results:
            self.results[key] = (self.base.result(key), self.base.key_meta(key))

    def keep_index(self, table: str, field: str, value: str) -> None:
        """The index entry is about to change."""
        self.indexes.setdefault((table, field, value), self.base.by_index(table, field, value))

    def keep_table(self, table: str) -> None:
        """The table is about to appear."""
        if table not in self.tables and not self.base.has_table(table):
            self.tables[table] = None

    def keep_order(self, table: str) -> None:
        """Members of the table are about to go."""
        if table not in self.tables:
            self.tables[table] = tuple(self.pks(table))


class _Asides(set["weakref.ref[_Aside]"]):
    """What the snapshots that are still held keep; empty where there is none, which every write asks."""

    def keep(self, aside: _Aside) -> None:
        """From now on, for as long as it is held."""
        self.add(weakref.ref(aside, self.discard))

    def held(self) -> list[_Aside]:
        """All of them."""
        return [aside for known in self.copy() if (aside := known()) is not None]


class Snapshot:
    """A state as it stays while it is held; optimistic responses are computed from one (§10.4).

    `fetched_at` is the start time (ms) of the fetch being simulated, `abort` an error to raise where no optimistic
    response can be made.
    """

    def __init__(self, store: Store, state: State, fetched_at: float, base: Tables | None = None) -> None:
        self._store = store
        self.aside = _Aside(base) if base is not None else None
        """Where the store keeps what it changes from now on, None where the state itself stays."""
        self._state = _rebased(state, base, self.aside) if base is not None and self.aside is not None else state
        self._memo = Memo()
        self.fetched_at = fetched_at

    @property
    def abort(self) -> AbortOptimistic:
        """Raise it where no optimistic response can be made (§10.5)."""
        return AbortOptimistic("no optimistic response can be made from what is cached")

    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The entity, collection or query value of this state, `None` if absent (§10.4)."""
        if kwargs:
            args = (*args, kwargs)
        with self._store.lock:
            return self._store.value_in(self._reading(args), schema, args)

    def get_response(self, endpoint: Asker, /, *args: Any, **kwargs: Any) -> Reading:
        """What a read of the endpoint finds in this state (§8.1)."""
        request = endpoint.request(endpoint.bind_args(args, kwargs))
        if request.inactive:
            return inactive()
        with self._store.lock:
            return self._store.reading_in(self._state, self._reading(request.args), request)

    def get_error(self, endpoint: Asker, /, *args: Any, **kwargs: Any) -> BaseException | None:
        """The error that a read of the endpoint raises in this state, or None (§8.5)."""
        return self.get_response(endpoint, *args, **kwargs).error

    def _reading(self, args: tuple[Any, ...]) -> Denormalization:
        if self.aside is None:
            return Denormalization(self._state, args, self._memo)
        return self._store.reader_beside(self._state, args, self._memo)


def _rebased(state: State, base: Tables, aside: _Aside) -> State:
    if state is base or not isinstance(state, Change):
        return aside
    return state.over(_rebased(state.below, base, aside))


class Store:
    """Holds what was fetched; shared by any number of controllers, sync and async, in any threads (§7).

    `clock` gives the time in ms (default: the system's), `scheduler` runs background work, `max_entities` bounds the
    number of entities (default: unbounded), `gc` is the policy that collects what no one holds (default: nothing).
    A store belongs to one principal.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        scheduler: Scheduler | None = None,
        max_entities: int | None = None,
        gc: ImmortalGCPolicy | None = None,
    ) -> None:
        if max_entities is not None and max_entities < 1:
            raise ValueError(f"max_entities is {max_entities}; expected a positive number, or None for no bound")
        self.clock: Clock = clock or _system_clock
        self.scheduler: Scheduler = scheduler or ThreadScheduler()
        self.lock = threading.RLock()
        self.resets = 0
        self.last_reset: float = 0
        self.flights: dict[tuple[str, str], Any] = {}
        """Requests in flight that can be joined; the network managers' own, guarded by the lock."""
        self.pending: dict[int, Any] = {}
        """All requests in flight by the id of their fetch; the network managers' own, guarded by the lock."""
        self.refreshes: dict[Any, Any] = {}
        """Token refreshes under way; the network managers' own, guarded by the lock."""
        self._ids = 0
        self._base = Tables()
        self._memo = Memo()
        self._ready: dict[str, Ready] = {}
        """What was found at once by key, until the store changes."""
        self._layers = Layers(self._base, self._respond)
        self._listeners: dict[int, Callable[[], object]] = {}
        self._notifications: deque[None] = deque()
        self._notifying = False
        self._asides = _Asides()
        self.busy: int | None = None
        """The thread in which hooks run under the lock."""
        self._retention = Retention(self, max_entities)
        self.gc = gc
        if gc is not None:
            gc.attach(self)
        _stores.add(self)

    # -- what it is --------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """The moment by the store's clock, in ms."""
        return self.clock()

    def next_id(self) -> int:
        """An id that this store has never given before: of fetches, placeholders, resets (§9.5)."""
        with self.lock:
            self._ids += 1
            return self._ids

    @property
    def state(self) -> dict[str, Any]:
        """The view as plain data, in the shape of §1.2; a copy, for looking at."""
        with self.lock:
            self._refresh()
            top, base = self._layers.top, self._base
            base.settle()
            chain = _chain(top)
            tables = list(dict.fromkeys([*base.entities, *(table for change in chain for table in change.entities)]))
            keys = list(dict.fromkeys([*base.results, *(key for change in chain for key in change.results)]))
            metas = list(dict.fromkeys([*base.key_metas, *(key for change in chain for key in change.key_metas)]))
            places = dict.fromkeys([(table, name) for table, names in base.indexes.items() for name in names])
            indexes: dict[str, dict[str, dict[str, str]]] = {}
            for table, name in [*places, *(place for change in chain for place in change.indexes)]:
                values = dict.fromkeys(base.indexes.get(table, {}).get(name, {}))
                for change in chain:
                    values.update(dict.fromkeys(change.indexes.get((table, name), {})))
                found = {value: pk for value in values if (pk := top.by_index(table, name, value)) is not None}
                indexes.setdefault(table, {})[name] = found
            return {
                "entities": {
                    table: {pk: _copied(record_of(top.get(table, pk))) for pk in top.pks(table)} for table in tables
                },
                "entities_meta": {
                    table: {pk: meta._asdict() for pk in top.pks(table) if (meta := top.meta(table, pk)) is not None}
                    for table in tables
                },
                "endpoints": {key: _copied(top.result(key)) for key in keys if top.result(key) is not UNDEFINED},
                "meta": {key: known.to_dict() for key in metas if (known := top.key_meta(key)) is not None},
                "indexes": indexes,
                "optimistic": self._layers.actions,
                "last_reset": self.last_reset,
            }

    def endpoint_meta(self, key: str) -> KeyMeta | None:
        """What is recorded of a key besides its result: times, error, invalidation."""
        with self.lock:
            self._refresh()
            return self._layers.top.key_meta(key)

    def entity_meta(self, table: str, pk: str) -> Meta | None:
        """The times of an entity or collection in the base state."""
        with self.lock:
            return self._base.meta(table, pk)

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self, request: Request) -> Reading:
        """What a reader of the endpoint finds now, in the view (§8.1); it never fetches.

        `args` are positional and bound. Raises ProcessingError where a stored value does not decode.
        """
        if request.inactive:
            return inactive()
        with self.lock:
            self._refresh()
            if self._shows_base():
                known = known_reading(self._base, self._memo, request, self.clock())
                if known is not None:
                    return known
            state = self._layers.top
            run = reader_of(state, request.args, self._memo)
            return self.reading_in(state, run, request, uses=self._retention.active)

    def cached(self, request: Request) -> Any:
        """The data that a reader of the endpoint finds now, None where nothing usable is there (§8.3)."""
        args = request.args
        if args and args[0] is not None:
            with self.lock:
                if self._shows_base():
                    found: tuple[Any, Any] | None
                    if isinstance(request.rules.schema, LASTS):
                        found = self._found(request)
                    else:  # nor does it matter here when it turns stale
                        found = known_data(self._base, self._memo, request)
                    if found is not None:
                        return found[0]
        return self.read(request).usable_data

    def fresh(self, request: Request) -> Any:
        """The data that a reader finds now, fresh and without an error; else None, and `read` says why."""
        args = request.args
        if not args or args[0] is None:
            return None
        with self.lock:
            found = self._found(request) if self._shows_base() else None
            if found is not None and found[1] is not None and self.clock() <= found[1]:
                return found[0]
        return None

    def _found(self, request: Request) -> Found | None:
        """What a read finds that has to build nothing; where it lasts it is found again at once."""
        known = self._ready.get(request.key)
        if known is not None:
            schema, count, own, found = known
            try:
                if schema is request.rules.schema and count == definitions.count and own == request.args:
                    return found
            except Exception:  # noqa: S110  # a foreign object's own comparison failed: it is not known to be equal
                pass
        fresh = ready(self._base, self._memo, request)
        if fresh is not None and fresh[1] is not None and isinstance(request.rules.schema, LASTS):
            if len(self._ready) >= _READY:
                self._ready.clear()
            self._ready[request.key] = request.rules.schema, definitions.count, request.args, fresh
        return fresh

    def _shows_base(self) -> bool:
        """Whether a read shows the base as it is: nothing is laid over it, and no one minds what is read."""
        layers, retention = self._layers, self._retention
        return not (layers.stale or layers.top is not self._base or retention.active or retention.evicted)

    def read_base(self, request: Request) -> Reading:
        """The same in the base state, without optimistic updates (`fetch_if_stale`, §7.1)."""
        if not len(self._layers):
            return self.read(request)
        if request.inactive:
            return inactive()
        with self.lock:
            self._refresh()
            layers = self._layers

            def differs(table: str, pk: str) -> bool:
                return layers.holds(table, pk) and self._base.get(table, pk) is not layers.top.get(table, pk)

            run = Denormalization(self._base, request.args, shared=self._memo, differs=differs)
            return self.reading_in(self._base, run, request)

    def query(self, schema: Any, args: tuple[Any, ...]) -> Any:
        """The value of a schema from the tables alone, None where it is missing or invalid (§7.1)."""
        with self.lock:
            self._refresh()
            return self.value_in(reader_of(self._layers.top, args, self._memo), schema, args)

    def paths(self, request: Request) -> set[Cell]:
        """Every entity and collection that a read of the endpoint touches, nested ones included (§8.1)."""
        with self.lock:
            self._refresh()
            state = self._layers.top
            schema, args = request.rules.schema, request.args
            stored = state.result(request.key)
            if schema is None:
                return set()
            if stored is UNDEFINED:
                stored = schema.query_key(args, Denormalization(state, args))
            cells = _touched(state, schema, stored, args) if usable(stored) else {}
            return {cell for cell in cells if cell[1] != WHOLE}

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """The view as it is now; it stays so for as long as it is held (§10.4)."""
        with self.lock:
            self._refresh()
            snapshot = Snapshot(self, self._layers.top, self.now() if fetched_at is None else fetched_at, self._base)
            if snapshot.aside is not None:
                self._asides.keep(snapshot.aside)
            return snapshot

    def reader_beside(self, state: State, args: tuple[Any, ...], memo: Memo) -> Denormalization:
        """A reader of a state beside the view, which takes what they have in common from what the view has built."""
        self._refresh()

        def differs(table: str, pk: str) -> bool:
            return state.get(table, pk) is not self._layers.top.get(table, pk)

        return Denormalization(state, args, memo, shared=self._memo, differs=differs)

    def value_in(self, run: Denormalization, raw: Any, args: tuple[Any, ...]) -> Any:
        """The value of a schema in the state that the reader sees, None where it is missing or invalid (locked)."""
        schema = schema_of(raw)
        if schema is None:
            return None
        with self._hooks():
            stored = schema.query_key(args, run)
            if not usable(stored):
                return None
            slot = args_text(args)
            found = run.read(schema, stored, slot)
            if self._retention.evicted:
                cells = self._cells(run.state, run, schema, stored, args, slot)
                if self._retention.misses(run.state, [cell for cell in cells if cell[1] != WHOLE]):
                    return None
        return None if found is UNDEFINED or found is INVALID else found

    def reading_in(
        self,
        state: State,
        run: Denormalization,
        request: Request,
        *,
        uses: bool = False,
    ) -> Reading:
        """What a read of the endpoint finds in a state, through a reader of that state (§8.1); under the lock."""
        args, key = request.args, request.key
        retention = self._retention
        schema = request.rules.schema
        stored = state.result(key)
        meta = state.key_meta(key)
        now = self.clock()
        if schema is None or is_plain(schema):
            data = stored
            found = BROKEN if stored is UNDEFINED else USABLE
            expires_at: float = meta.expires_at if meta is not None else 0
        else:
            with self._hooks():
                is_usable = True
                if stored is UNDEFINED:
                    stored = schema.query_key(args, run)
                    is_usable = usable(stored)
                data = run.read(schema, stored, key)
                cells: list[Cell] = []
                if is_usable and (uses or retention.evicted):
                    cells = self._cells(state, run, schema, stored, args, key)
                if uses:
                    retention.used(key, cells)
                if retention.evicted and retention.misses(state, cells):
                    is_usable, data = False, UNDEFINED
                    expires_at = 1
                elif meta is not None and meta.expires_at:
                    expires_at = meta.expires_at
                elif not is_usable:
                    expires_at = 1
                else:
                    expires_at = self._expiry_of(state, run, schema, stored, args, key)
            # An object of which the tables lack a part can be looked at, but it is no usable data.
            if data is INVALID:
                found = BROKEN
            elif not is_usable:
                found = LACKING
            else:
                found = MISSING if data is UNDEFINED else USABLE
        error = None if meta is None else meta.error
        recorded = NONE if meta is None or error is None else SOFT if meta.error_policy == "soft" else HARD
        shown = shows_error(found, recorded)
        invalidated = meta is not None and meta.invalidated
        status = status_of(found, invalidated, recorded, request.rules.invalid_if_stale)
        return Reading(
            None if data is UNDEFINED or data is INVALID else data,
            status,
            expires_at,
            decide(status, now > expires_at, shown),
            found=found is USABLE,
            error=error if shown else None,
            raw_error=error,
            date=None if meta is None else meta.date,
            fetched_at=None if meta is None else meta.fetched_at,
        )

    def _expiry_of(
        self, state: State, run: Denormalization, schema: Schema, stored: Any, args: tuple[Any, ...], key: str
    ) -> float:
        """The age of what was assembled from tables: that of its oldest entity (§8.1)."""
        if isinstance(schema, EntitySchema) and not schema.model.relations and isinstance(stored, str):
            meta = state.meta(schema.model.key, stored)
            return INFINITE if meta is None else meta.expires_at
        times = (state.meta(*cell) for cell in self._cells(state, run, schema, stored, args, key))
        return min((meta.expires_at for meta in times if meta is not None), default=INFINITE)

    def _cells(
        self, state: State, run: Denormalization, schema: Schema, stored: Any, args: tuple[Any, ...], slot: str
    ) -> list[Cell]:
        """What a read touches; kept with what it built."""
        cells = run.touched(schema, stored, slot)
        if cells is None:
            cells = list(_touched(state, schema, stored, args))
            run.note_touched(schema, stored, slot, cells)
        return cells

    def _refresh(self) -> None:
        if self._layers.stale:
            self._ready.clear()
            with self._hooks():
                cells, tables = self._layers.refresh()
            self._memo.drop_cells(cells)
            for table in tables:
                self._memo.drop_table(table)

    # -- changing ----------------------------------------------------------------------------------------------------

    def apply(self, action: actions.Action) -> Any:
        """Carries out an action as a whole or not at all, then tells the listeners (§7.3, §9.6).

        Returns the value of a fetch for a response (§7.2), else None. Raises ProcessingError for a response or value
        that cannot be normalized (a response's is recorded first), RuntimeError when called from a hook.
        """
        self.check_hook(type(action).__name__)
        try:
            with self.lock:
                try:
                    return self._reducers[type(action)](self, action)
                finally:
                    self._ready.clear()
        finally:
            self._notify()

    def forked(self) -> None:
        """This is a forked process: whoever was telling the listeners of a change is not here."""
        self._notifying = False

    def check_hook(self, operation: str) -> None:
        """Raises RuntimeError where a hook, which may run under the lock, tries to change the store (§9.6)."""
        if self.busy == threading.get_ident():
            raise RuntimeError(
                f"{_calling_hook()} called {operation}: a hook may read the store, but not change it or fetch; "
                "do it where the fetch was started, or in a listener"
            )

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls the function after every change, in order, outside the lock; returns what removes it (§7.1)."""
        with self.lock:
            self._ids += 1
            place = self._ids
            self._listeners[place] = listener

        def remove() -> None:
            with self.lock:
                self._listeners.pop(place, None)

        return remove

    def _hooks(self) -> _Hooks:
        """While user code runs under the lock: it may read the store, but not change it (§9.6)."""
        return _Hooks(self)

    def _notify(self) -> None:
        while True:
            with self.lock:
                if not self._notifications or self._notifying:
                    return
                self._notifications.popleft()
                self._notifying = True
                listeners = list(self._listeners.values())
            try:
                for listener in listeners:
                    try:
                        listener()
                    except Exception:
                        logger.exception("a listener of the store failed; the others still run")
            finally:
                with self.lock:
                    self._notifying = False

    def _changed(self) -> None:
        if self._listeners:
            self._notifications.append(None)

    # -- the reducer -------------------------------------------------------------------------------------------------

    def _fetch(self, action: actions.Fetch) -> None:
        if action.resets is not None and action.resets != self.resets:
            return
        if action.request.rules.simulated:
            self._layers.push(action)
            self._changed()

    def _set_response(self, action: actions.SetResponse) -> Any:
        current = action.resets is None or action.resets == self.resets
        request = action.request
        args, key, schema = request.args, request.key, request.rules.schema
        fetched = action.fetch_id is not None
        response = action.response if fetched else copy_in(action.response)
        adopts = request.rules.adopts or not fetched
        placeholder = action.fetch_id if action.fetch_id is not None else self.next_id()
        change: Change
        try:
            with self._hooks():
                run = self._normalized(self._base, request, response, action.meta, placeholder, adopts=adopts)
        except Exception as error:
            failure = _processing_error(error, key, schema, response)
            logger.warning("%s", failure, exc_info=failure)
            if current:
                self._ended(action.fetch_id)
                self._record_error(request, failure, _error_meta(action))
            raise failure from error
        if not current:
            if self._ended(action.fetch_id):
                self._changed()
            return self._answer(run, schema, response, args)
        change = run.change
        before = self._base.key_meta(key)
        change.key_metas[key] = KeyMeta(action.meta, prev_expires_at=None if before is None else before.expires_at)
        self._ended(action.fetch_id)
        self._commit(change)
        self._changed()
        if not (fetched or action.wanted or self.flights) and (schema is None or schema.inert):
            return None
        return self._answer(run, schema, response, args) if schema is not None else self._base.result(key)

    def _normalized(
        self,
        below: State,
        request: Request,
        response: Any,
        meta: Meta,
        placeholder: int,
        *,
        adopts: bool = False,
    ) -> Normalization:
        """A response as the change that it makes: tables, the key's result, and what `update` adds (§7.3)."""
        args, key, schema, update = request.args, request.key, request.rules.schema, request.rules.update
        where = f" ({key})"
        run = normalization(below)(below, args, meta, placeholder_id=placeholder, where=where, adopts=adopts)
        if schema is None:
            result = read_only(response)
        else:
            _check_top_level(schema, response)
            result = run.write(schema, response)
            if isinstance(result, (list, dict)) and is_plain(schema):
                result = read_only(result)
        if result is not UNDEFINED:
            stored = below.result(key)
            run.change.results[key] = stored if stored is not UNDEFINED and same_json(stored, result) else result
        if update is not None:
            _run_update(update, result, args, run.change, key)
        return run

    def _answer(self, run: Normalization, schema: Schema | None, response: Any, args: tuple[Any, ...]) -> Any:
        if schema is None:
            return read_only(response)
        self._refresh()
        top = self._layers.top
        if type(schema) is EntitySchema and type(run.result) is str and top is self._base:
            lies_ready = self._base.get(schema.model.key, run.result)
            if type(lies_ready) is schema.model.cls:
                return lies_ready
        reader = reader_of(top, args, self._memo)
        with self._hooks():
            found = Echo(run, reader).visit(schema, response)
        return None if isinstance(found, Sentinel) else found

    def _respond(self, action: actions.Fetch, below: State) -> Change:
        """The change that an action's optimistic response makes over a state (§10.3)."""
        request = action.request
        snapshot = Snapshot(self, below, action.meta.fetched_at)
        respond = request.rules.get_optimistic_response
        if respond is None:
            return Change(below, action.meta)
        payload = copy_in(_not_awaitable(respond(snapshot, *request.args), request, "get_optimistic_response"))
        run = self._normalized(below, request, payload, action.meta, action.fetch_id)
        before = below.key_meta(action.key)
        run.change.key_metas[action.key] = KeyMeta(
            action.meta, prev_expires_at=None if before is None else before.expires_at
        )
        return run.change

    def _ended(self, fetch_id: int | None) -> bool:
        return fetch_id is not None and len(self._layers) > 0 and self._layers.remove(fetch_id)

    def _set_error(self, action: actions.SetError) -> None:
        ended = self._ended(action.fetch_id)
        if action.resets is not None and action.resets != self.resets:
            if ended:
                self._changed()
            return
        if not isinstance(action.error, AbortError) and isinstance(action.error, Exception):
            self._record_error(action.request, action.error, action.meta)
        else:
            self._changed()

    def _record_error(self, request: Request, error: Exception, meta: Meta) -> None:
        key, error_policy = request.key, request.rules.error_policy
        policy = None
        if error_policy is not None:
            try:
                with self._hooks():
                    policy = _known_policy(_not_awaitable(error_policy(error), request, "error_policy"))
            except Exception:
                logger.exception("%s: error_policy failed; the error counts as hard", key)
        change = Change(self._base, meta)
        change.key_metas[key] = KeyMeta(meta, error=error, error_policy=policy)
        self._commit(change)
        self._changed()

    def _set(self, action: actions.Set) -> None:
        schema = schema_of(action.schema)
        if schema is None:
            raise TypeError(f"set() takes a schema, found {action.schema!r}")
        args, value = action.args, action.value
        self._refresh()
        try:
            with self._hooks():
                if callable(value):
                    before = self.value_in(reader_of(self._layers.top, args, self._memo), schema, args)
                    if before is None:
                        return
                    value = value(before)
                run = CompiledNormalization(
                    self._base, args, action.meta, placeholder_id=self.next_id(), where=" (set)"
                )
                run.write(schema, copy_in(value))
        except Exception:
            logger.exception("set(%s) failed; the store is unchanged", schema.title)
            raise
        self._commit(run.change)
        self._changed()

    def _invalidate(self, action: actions.Invalidate) -> None:
        self._invalidate_keys([action.key])

    def _invalidate_all(self, action: actions.InvalidateAll) -> None:
        if self._stamped(action.test, invalidates=True):
            return
        with self._hooks():
            keys = [key for key in self._base.answered() if action.test(key)]
        self._invalidate_keys(keys)

    def _stamped(self, test: Callable[[str], bool], *, invalidates: bool) -> bool:
        """Whether a change of all matching keys could be left to the moment when each is looked at.

        Only an endpoint's own test is sure to say then what it says now, and no one may depend on the keys meanwhile.
        """
        lasting = getattr(getattr(test, "__self__", None), "lasting_test", False)
        if (
            lasting
            and not (len(self._layers) or self._asides or self._retention.active)
            and self._base.stamp(test, invalidates=invalidates)
        ):
            self._changed()
            return True
        self._base.settle()
        return False

    def _invalidate_keys(self, keys: Iterable[str]) -> None:
        base = self._base
        changed: set[Token] = set()
        for key in keys:
            self._keep_aside_key(key)
            meta = base.key_meta(key)
            base.results.pop(key, None)
            meta = KeyMeta(Meta(0, 0, 0), invalidated=True) if meta is None else meta.with_expiry(0, invalidated=True)
            base.put_meta(key, meta)
            changed.add(("key", key))
            self._retention.named(key)
        self._layers.base_changed(changed)
        self._changed()

    def _expire_all(self, action: actions.ExpireAll) -> None:
        base, test = self._base, action.test
        if self._stamped(test, invalidates=False):
            return
        with self._hooks():
            keys = [key for key in base.key_metas if test(key)]
        for key in keys:
            self._keep_aside_key(key)
            base.put_meta(key, base.key_metas[key].with_expiry(1))
        self._layers.base_changed({("key", key) for key in keys})
        self._changed()

    def _reset(self, action: actions.Reset) -> None:
        self.resets += 1
        self.last_reset = self.now()
        self._base = Tables()
        self._memo = Memo()
        self._layers = Layers(self._base, self._respond)
        self._asides.clear()  # snapshots taken before keep the tables of before
        self._retention.reset()
        self._changed()

    def _subscription(self, action: actions.Subscribe | actions.Unsubscribe) -> None:
        """Subscriptions are the managers' business; the state does not change."""

    def _collect(self, action: actions.Collect) -> None:
        held = self._retention.is_held  # a reader may have come since the policy looked
        self._remove([c for c in action.entities if not held(c)], [k for k in action.keys if not held(k)])

    def _remove(self, cells: Iterable[Cell], keys: Collection[str]) -> None:
        """Deletes entities and keys in place, without notification (§7.3, §14)."""
        base = self._base
        gone = [cell for cell in dict.fromkeys(cells) if base.get(*cell) is not UNDEFINED]
        for aside in self._asides.held():
            for table in {table for table, _ in gone}:
                aside.keep_order(table)
            for table, pk in gone:
                aside.keep_cell(table, pk)
                for name, text in base.indexed(table, pk):
                    aside.keep_index(table, name, text)
        base.remove(gone)
        for key in keys:
            self._keep_aside_key(key)
            base.results.pop(key, None)
            base.key_metas.pop(key, None)
        self._retention.removed(gone, keys)
        self._memo.drop_cells(gone)
        tables = {table for table, _ in gone}
        for table in tables:
            self._memo.drop_table(table)
        self._layers.base_changed(
            {
                *(("cell", *cell) for cell in gone),
                *(("table", table) for table in tables),
                *(("key", key) for key in keys),
            }
        )

    # -- committing --------------------------------------------------------------------------------------------------

    def _keep_aside_key(self, key: str) -> None:
        for aside in self._asides.held():
            aside.keep_result(key)

    def _commit(self, change: Change) -> None:
        """Writes a change into the tables and drops what was built from what it changed; it cannot fail."""
        base, memo, layers = self._base, self._memo, self._layers
        self._ready.clear()  # hooks that run later in the same action may read
        if change.growing and (self._asides or layers.stale or layers.top is not base):
            for cell in [*change.growing]:
                change.spread(cell)  # the list as it is may be held
        if self._asides:
            self._keep_aside(change)
        pending = len(layers)
        changed = [cell for table in change.entities if memo.knows(table) for cell in base.differing(table, change)]
        known: set[str] = set()
        if layers.covers:
            # What a layer held, the view had already; bringing the view up to date finds what changed for it.
            changed = [cell for cell in changed if not layers.holds(*cell)]
            known = {table for table, written in change.entities.items() if layers.had_already(table, written)}
        if changed:
            memo.drop_cells(changed, fresh=not any(pk in base.entities.get(table, EMPTY) for table, pk in changed))
        grown = base.commit(change)
        for table in grown:
            if table not in known:
                memo.drop_table(table)
        if pending:
            layers.base_changed(tokens_of(change, grown))
        if self._retention.active or self._retention.evicted:
            self._retention.written(change)

    def _keep_aside(self, change: Change) -> None:
        for aside in self._asides.held():
            for table, written in change.entities.items():
                aside.keep_table(table)
                for pk in written:
                    aside.keep_cell(table, pk)
            for key in (*change.results, *change.key_metas):
                aside.keep_result(key)
            for (table, name), entries in change.indexes.items():
                for text in entries:
                    aside.keep_index(table, name, text)

    # -- holding -----------------------------------------------------------------------------------------------------

    def hold(self, key: str, paths: Iterable[Cell]) -> Callable[[], None]:
        """Someone shows this key and what it touches: none of it is collected or evicted until released (§14)."""
        return self._retention.hold(key, paths)

    def is_held(self, place: str | Cell) -> bool:
        """Whether someone holds a key or an entity."""
        return self._retention.is_held(place)

    def pending_cells(self) -> Container[Cell]:
        """The entities that pending optimistic actions write in the view."""
        self._refresh()
        return self._layers.cells

    def evict(self, cells: Iterable[Cell], keys: Collection[str]) -> None:
        """Lets go of entities, and of results, that are over the bound (§14)."""
        self._ready.clear()
        self._remove(cells, keys)

    def holds(self, cell: Cell) -> bool:
        """Whether the base state has an entity or collection."""
        return self._base.get(*cell) is not UNDEFINED

    def referenced(self, cells: Iterable[Cell]) -> set[Cell]:
        """Those of the cells whose primary key stands anywhere in what is stored."""
        texts: set[str] = set()
        self._base.settle()
        for stored in self._base.results.values():
            _collect_texts(stored, texts)
        for table in self._base.entities.values():
            for stored in table.values():
                if not isinstance(stored, Sentinel):
                    _collect_texts(record_of(stored), texts)
        return {cell for cell in cells if cell[1] in texts}

    def dependents(self, table: str, pk: str) -> list[Any]:
        """What is built from an entity now, nearest first (for explanations)."""
        with self.lock:
            return self._memo.dependents(table, pk)

    _reducers: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {
        actions.Fetch: _fetch,
        actions.SetResponse: _set_response,
        actions.SetError: _set_error,
        actions.Set: _set,
        actions.Invalidate: _invalidate,
        actions.InvalidateAll: _invalidate_all,
        actions.ExpireAll: _expire_all,
        actions.Reset: _reset,
        actions.Subscribe: _subscription,
        actions.Unsubscribe: _subscription,
        actions.Collect: _collect,
    }


def _copied(value: Any) -> Any:
    if is_mapping(value):
        return {name: _copied(item) for name, item in value.items()}
    if is_sequence(value):
        return [_copied(item) for item in value]
    return value


def _collect_texts(value: Any, texts: set[str]) -> None:
    if isinstance(value, str):
        texts.add(value)
    elif isinstance(value, DICT):
        for item in value.values():
            _collect_texts(item, texts)
    elif isinstance(value, LIST):
        for item in value:
            _collect_texts(item, texts)


def _chain(state: State) -> list[Change]:
    chain: list[Change] = []
    while isinstance(state, Change):
        chain.insert(0, state)
        state = state.below
    return chain


def _touched(state: State, schema: Schema, stored: Any, args: tuple[Any, ...]) -> dict[Cell, None]:
    cells: dict[Cell, None] = {}
    Denormalization(state, args, trace=cells).read(schema, stored)
    return cells


class _Hooks:
    """Marks the thread in which hooks run."""

    __slots__ = ("_outside", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outside: int | None = None

    def __enter__(self) -> None:
        store = self._store
        self._outside = store.busy
        store.busy = threading.get_ident()

    def __exit__(self, *error: object) -> None:
        self._store.busy = self._outside


def _check_top_level(schema: Schema, response: Any) -> None:
    if isinstance(response, (dict, list, tuple, Mapping, Record)):
        return
    if isinstance(schema, Invalidate) and type(response) in (str, int, float) and response != "":
        return
    raise ProcessingError(
        f"expected an object or a list, found {response!r:.100}; an endpoint whose answer holds no entity has "
        "schema=None, or a process() that returns the object"
    )


def _processing_error(error: Exception, key: str, schema: Schema | None, response: Any) -> ProcessingError:
    title = "no schema" if schema is None else f"{type(schema).__name__.removesuffix('Schema')} of {schema.title}"
    return ProcessingError(f"{key}: the response does not fit its schema ({title}): {error}", response=response)


def _not_awaitable(value: Any, request: Request, hook: str) -> Any:
    if hasattr(value, "__await__"):
        if hasattr(value, "close"):
            value.close()
        raise TypeError(f"{request.endpoint.name}: {hook} returned an awaitable; it must be a plain function (§3.6)")
    return value


def _known_policy(policy: Any) -> str | None:
    if policy not in (None, "soft", "hard"):
        raise ValueError(f"error_policy returned {policy!r}; expected 'soft', 'hard' or None")
    return cast("str | None", policy)


def _run_update(update: Callable[..., Any], result: Any, args: tuple[Any, ...], change: Change, key: str) -> None:
    """Runs the `update` option: each of its functions makes a key's new result from the current one (§11)."""
    try:
        updaters: Mapping[str, Callable[[Any], Any]] = update(None if result is UNDEFINED else read_only(result), *args)
        pairs = list(updaters.items())
    except Exception:
        logger.exception("%s: update failed; the response itself stays applied", key)
        return
    for other, updater in pairs:
        current = change.result(other)
        try:
            change.results[other] = read_only(updater(None if current is UNDEFINED else read_only(current)))
        except Exception:
            logger.exception("%s: update of %s failed; the other updates still run", key, other)


def _error_meta(action: actions.SetResponse) -> Meta:
    """A response that cannot be processed lives as long as an error (§7.3)."""
    expires_at = action.error_expires_at
    if expires_at is None:
        length = action.request.rules.error_expiry_length
        expires_at = action.meta.date + (1000 if length is None else length)
    return Meta(action.meta.fetched_at, action.meta.date, expires_at)


def _calling_hook() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the hook is a caller of the library
    while str(frame.f_globals.get("__name__", "")).startswith("restencil.") and frame.f_back is not None:
        frame = frame.f_back
    return f"the hook {frame.f_code.co_qualname!r}"


# A process forks between two actions: the child finds every store whole, and no lock held by a thread that it lacks.

_stores: Final[weakref.WeakSet[Store]] = weakref.WeakSet()


class _Forking(threading.local):
    """The stores that the thread which forks has locked."""

    stores: tuple[Store, ...] = ()


_forking: Final = _Forking()


def _before_fork() -> None:
    _forking.stores = tuple(_stores)
    for store in _forking.stores:
        store.lock.acquire()


def _after_fork() -> None:
    stores, _forking.stores = _forking.stores, ()
    for store in stores:
        store.lock.release()


def _after_fork_in_child() -> None:
    for store in _forking.stores:
        store.forked()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
