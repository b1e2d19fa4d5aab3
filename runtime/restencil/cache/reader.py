"""Reads of the cache, by the first of these steps that succeeds.

1. *Hot.* Nothing changed since the last read of the key: one lookup (`StoreState.hot_results`). It needs no lock,
   because an action removes entries as a whole: a thread that still finds one has read before the action.
2. *Memoized.* The instance is in its table, or the value that was built for the key is still memoized (`_memoized`).
3. *Denormalized* from the tables, and memoized (`CacheReader._denormalized`).
4. *Missing.* There is no result, and none can be assembled; `policy` distinguishes the reasons.

The first two steps apply if the view is the base state. All steps return the same object until something changes that
it was built from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.errors import ConversionError
from ..base.logs import logger
from ..base.values import DICT, INVALID, UNDEFINED, Sentinel, kind_of
from ..schema.collection import Collection
from ..schema.entity import UNUSABLE, EntitySchema, usable_pk
from ..schema.notation import schema_of
from ..schema.protocol import definitions, is_plain
from ..schema.stored import record_of
from .addressed import has_several_tables
from .denormalize import CellTrace, Denormalization
from .denormalize_compiled import reader_of
from .dependency_graph import DependencyGraph, args_text
from .freshness import (
    evicted,
    freshness_of,
    not_loaded,
    own_freshness,
    stale_references,
    unmarked,
)
from .policy import (
    ABSENT,
    BROKEN,
    HARD,
    INFINITE,
    MISSING,
    NONE,
    SOFT,
    STALE,
    USABLE,
    Freshness,
    Reading,
    decide,
    inactive,
    is_worse_than_none,
    recorded_as,
)
from .staleness import NO_MARK
from .tables import EMPTY, WHOLE_TABLE, ChangeSet, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import RLock

    from ..schema.protocol import Schema
    from .dependency_graph import Node
    from .persistence_port import PersistencePort
    from .policy import Found
    from .request import Request
    from .store_state import HotResult, StoreState
    from .tables import EntityPath, ResultMeta, Shown, State

    Denormalized: TypeAlias = tuple[Any, Found, Freshness]
    """Data, whether it is usable, and its freshness."""
    Hit: TypeAlias = tuple[Any, Freshness | None]
    """Data and its freshness; None if only a full read can determine it."""

_HOT_RESULTS: Final = 1_024
"""The maximum number of hot results. (Benchmark: cached read of one entity.)"""

_OWN_PLACE: Final = (EntitySchema, Collection)
"""Schemas whose memoized values only a change of the store ends; other reads may end those of other schemas, too."""


class CacheReader:
    """Reads the contents of a store, under the store's lock."""

    def __init__(self, store_state: StoreState, lock: RLock) -> None:
        self.store_state = store_state
        self.lock = lock
        self._clock = store_state.clock
        self._hot_results = store_state.hot_results

    # -- the view ------------------------------------------------------------------------------------------------------

    def read(self, request: Request, *, is_memoized: bool = True, is_known: bool | None = None) -> Reading:
        """Read a request from the view; it never fetches.

        Not `is_memoized`: `fresh` has just found nothing. `is_known`: whether a load from the storage, which has just
        ended, allows showing the data; None: it is loaded now.
        """
        if request.inactive:
            return inactive()
        store_state = self.store_state
        with self.lock:
            store_state.refresh()
            return (self._hit_reading(request) if is_memoized else None) or self._full_reading(request, is_known)

    def _hit_reading(self, request: Request) -> Reading | None:
        """Return the reading of memoized data (locked); None if there is none."""
        store_state = self.store_state
        found = self._hit(request) if store_state.shows_base else None
        if found is None or found[1] is None:
            return None
        return _reading(
            request, store_state.base.key_metas.get(request.key), (found[0], USABLE, found[1]), self._clock()
        )

    def _full_reading(self, request: Request, is_known: bool | None = None) -> Reading:
        """Return the reading of a request without memoized data, after the storage has loaded it (locked)."""
        store_state = self.store_state
        if store_state.persistence is not None and is_known is None:
            is_known = store_state.persistence.before_read(request)
            store_state.refresh()
            reading = self._hit_reading(request) if is_known else None  # a load may have added the instance itself
            if reading is not None:
                return reading
        if is_known is False:
            return self._unknown(store_state.view, request)
        reader = reader_of(store_state.view, request.args, store_state.memo)
        return self.reading_in(reader, request, uses=store_state.retention.active)

    def cached(self, request: Request) -> Any:
        """Return the data that can be shown now, regardless of age and recorded errors; None if none is usable."""
        # Without the lock: an action removes hot results once it is applied.
        hot = self._hot_results.get(request.key)
        if hot is not None and _is_of(hot, request):
            return hot[3]
        if request.inactive:
            return None
        store_state = self.store_state
        with self.lock:
            if store_state.shows_base:
                if isinstance(request.rules.schema, _OWN_PLACE):
                    found = self._hit(request)
                    if found is not None:
                        return found[0]
                else:  # it does not become a hot result, so its expiry is not needed here
                    memoized = _memoized(store_state.base, store_state.memo, request, store_state.persistence)
                    if memoized is not None:
                        return memoized[0]
            store_state.refresh()
            return self._full_reading(request).usable_data

    def fresh(self, request: Request) -> Any:
        """Return the data if it is usable, memoized and fresh; None: only `read` can decide what to do."""
        hot = self._hot_results.get(request.key)  # without the lock, as above
        if hot is not None and _is_of(hot, request):
            return hot[3] if self._clock() <= hot[4] else None
        if request.inactive:
            return None
        store_state = self.store_state
        with self.lock:
            found = self._hit(request) if store_state.shows_base else None
            if found is not None and found[1] is not None and self._clock() <= found[1].expires_at:
                return found[0]
        return None

    def query(self, schema: Any, args: tuple[object, ...]) -> Any:
        """Return the value of a schema from the tables of the view; None if it is missing or invalid."""
        with self.lock:
            store_state = self.store_state
            store_state.refresh()
            return self.value_in(reader_of(store_state.view, args, store_state.memo), schema, args)

    def unanswered(self, request: Request) -> str | None:
        """Return why an entity from other responses cannot be used for a request; None if it can, or there is none."""
        with self.lock:
            if self.store_state.persistence is not None:
                self.store_state.persistence.before_read(request)
            self.store_state.refresh()
            state, schema = self.store_state.view, request.rules.schema
            if schema is None or state.result(request.key) is not UNDEFINED:
                return None
            args = request.rules.entity_args(request.args)
            found = schema.query_key(args, Denormalization(state, args))
            return _unanswered(state, request, schema, found)

    def paths(self, request: Request) -> set[EntityPath]:
        """Return the paths of all entities and collections that a read touches, including nested ones."""
        with self.lock:
            if self.store_state.persistence is not None:
                self.store_state.persistence.before_read(request)
            self.store_state.refresh()
            state = self.store_state.view
            schema, args = request.rules.schema, request.rules.entity_args(request.args)
            stored = state.result(request.key)
            if schema is None:
                return set()
            if stored is UNDEFINED:
                stored = schema.query_key(args, Denormalization(state, args))
            trace = CellTrace(state, args)
            if _is_complete(stored):
                trace.read(schema, stored)
            return {cell for cell in trace.cells if cell[1] != WHOLE_TABLE}

    # -- other states --------------------------------------------------------------------------------------------------

    def read_base(self, request: Request, *, is_memoized: bool = True, is_known: bool | None = None) -> Reading:
        """Read a request from the base state, without optimistic updates; see `read`."""
        if request.inactive:
            return inactive()
        store_state = self.store_state
        if not store_state.optimistic.updates:
            return self.read(request, is_memoized=is_memoized, is_known=is_known)
        with self.lock:
            if is_known is None:
                is_known = store_state.persistence is None or store_state.persistence.before_read(request)
            store_state.refresh()
            if not is_known:
                return self._unknown(store_state.base, request)
            return self.reading_in(self.reader_of_state(store_state.base, request.args), request)

    def reader_of_answer(self, request: Request, change: ChangeSet, stored: object) -> Denormalization:
        """Return a reader for the value of a call by its own response, which was written by this change."""
        store_state = self.store_state
        base = store_state.base
        known = self._without_stale(request, change, stored, base)
        if known is not None:
            return self.reader_of_state(known, request.args)
        if store_state.view is base:
            return reader_of(base, request.args, store_state.memo)
        return self.reader_of_state(base, request.args)

    def reader_of_overtaken(self, request: Request, change: ChangeSet, stored: object) -> Denormalization:
        """Return a reader for the value of a call whose response, the contents of the change, was overtaken."""
        return Denormalization(self._without_stale(request, change, stored, change) or change, request.args)

    def _without_stale(self, request: Request, change: ChangeSet, stored: object, state: State) -> ChangeSet | None:
        """Return what a result shows without stale references, if parts of it were evicted; else None.

        No read would find such a result and fetch its stale references.
        """
        store_state, schema = self.store_state, request.rules.schema
        base, retention = store_state.base, store_state.retention
        if schema is None or not retention.evicted:
            return None
        trace = CellTrace(state, request.args)
        trace.read(schema, stored)
        cells = trace.cells
        if not retention.misses(state, cells):
            return None
        known = ChangeSet(Tables(), change.times)
        for table, pk in cells.keys() - stale_references(base, request, cells, change, self._clock()):
            known.write(table, pk, state.get(table, pk), change.times)
        return known

    def reader_of_state(
        self, state: State, args: tuple[object, ...], memo: DependencyGraph | None = None
    ) -> Denormalization:
        """Return a reader of another state than the view, which shares the memoized values that are the same there."""
        store_state = self.store_state
        store_state.refresh()

        def differs(table: str, pk: str) -> bool:
            return state.get(table, pk) is not store_state.view.get(table, pk)

        return Denormalization(state, args, memo, shared=store_state.memo, differs=differs)

    def value_in(self, reader: Denormalization, raw: object, args: tuple[object, ...]) -> object:
        """Return the value of a schema in the state of the reader; None if it is missing or invalid (locked)."""
        schema = schema_of(raw)
        if schema is None:
            return None
        persistence = self.store_state.persistence
        if persistence is not None and not persistence.before_value(schema, args, reader.state):
            return None
        try:
            return self._value(reader, schema, args)
        except BaseException as error:
            self.store_state.interrupted(error)
            raise

    def _value(self, reader: Denormalization, schema: Schema, args: tuple[object, ...]) -> object:
        retention = self.store_state.retention
        with self.store_state.hooks:
            stored = schema.query_key(args, reader)
            if not _is_complete(stored):
                return None
            slot = args_text(args)
            try:
                data = reader.read(schema, stored, slot)
            except ConversionError as error:
                _warn_of(slot, error)
                return None
            if retention.evicted:
                cells = reader.cells(schema, stored, slot)
                if retention.misses(reader.state, [cell for cell in cells if cell[1] != WHOLE_TABLE]):
                    return None
        return None if data is UNDEFINED or data is INVALID else data

    def reading_of_state(self, reader: Denormalization, request: Request) -> Reading:
        """Read a request from another state than the view (locked)."""
        persistence = self.store_state.persistence
        if persistence is not None and not persistence.before_read(request, reader.state):
            return self._unknown(reader.state, request)
        return self.reading_in(reader, request, is_past=True)

    def reading_in(
        self, reader: Denormalization, request: Request, *, uses: bool = False, is_past: bool = False
    ) -> Reading:
        """Read a request from the state of the reader (locked).

        With `is_past`, later invalidations are ignored. With `uses`, the read counts as a use for eviction.
        """
        schema, state = request.rules.schema, reader.state
        stored, meta = state.result(request.key), state.key_meta(request.key)
        now = self._clock()
        if schema is None or request.rules.analyze(is_plain):
            found = BROKEN if stored is UNDEFINED else USABLE
            freshness = Freshness(0.0)
            if meta is not None and meta.expires_at:
                base = self.store_state.base
                own = own_freshness(base, request, meta)
                freshness = freshness_of(base, request, meta, stored, {}, now) if own is None else own
            return _reading(request, meta, (stored, found, freshness), now)
        try:
            with self.store_state.hooks:
                denormalized = self._denormalized(reader, schema, stored, meta, request, uses=uses, is_past=is_past)
        except BaseException as error:
            self.store_state.interrupted(error)
            raise
        return _reading(request, meta, denormalized, now)

    def _unknown(self, state: State, request: Request) -> Reading:
        """Return the reading of a request whose data the storage has not, or not yet, loaded: none, so reads fetch."""
        freshness = not_loaded(self.store_state.base, request) if self.store_state.retention.evicted else _STALE
        return _reading(request, state.key_meta(request.key), (UNDEFINED, ABSENT, freshness), self._clock())

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _hit(self, request: Request) -> Hit | None:
        """Return memoized data of a request without an error; it becomes a hot result if only a change can end it.

        None if a full read is needed. No hook runs here.
        """
        store_state = self.store_state
        base, schema = store_state.base, request.rules.schema
        meta = base.key_metas.get(request.key)
        if meta is not None and (meta.error is not None or meta.invalidated):
            return None
        memoized = _memoized(base, store_state.memo, request, store_state.persistence)
        if memoized is None or (store_state.persistence is not None and not store_state.persistence.knows(request)):
            return None
        data, cells, stored, root = memoized
        if meta is not None and meta.expires_at and unmarked(base, request, meta):
            freshness = Freshness(meta.expires_at)
        elif cells is None:
            return data, None
        else:
            freshness = freshness_of(base, request, meta, stored, cells, self._clock(), root)
        if isinstance(schema, _OWN_PLACE):
            hot = self._hot_results
            if len(hot) >= _HOT_RESULTS:
                hot.clear()
            hot[request.key] = request.rules, definitions.count, request.args, data, freshness.expires_at
        return data, freshness

    def _denormalized(
        self,
        reader: Denormalization,
        schema: Schema,
        stored: object,
        meta: ResultMeta | None,
        request: Request,
        *,
        uses: bool,
        is_past: bool,
    ) -> Denormalized:
        """Build the data of a stored result, or without one of the request's arguments, from the tables."""
        base = self.store_state.base
        retention, key = self.store_state.retention, request.key
        is_complete = True
        if stored is UNDEFINED:
            stored = _query_key(reader, schema, request)
            is_complete = _is_complete(stored)
        try:
            data = reader.read(schema, stored, key)
        except ConversionError as error:
            _warn_of(key, error)
            return INVALID, BROKEN, Freshness(STALE if meta is None else meta.expires_at)
        if self.store_state.persistence is not None:
            reader.prove(schema, stored, key)
        cells: Shown = {}
        has_answer = meta is not None and meta.expires_at > 0
        own = own_freshness(base, request, meta) if meta is not None and has_answer else None
        is_certain = own is not None and own.mark is NO_MARK
        if is_complete and (uses or retention.evicted or not is_certain):
            cells = reader.cells(schema, stored, key)
        if uses:
            retention.used(key, cells)
        if retention.evicted and retention.misses(reader.state, cells):
            return UNDEFINED, ABSENT, evicted(base, request, cells)
        if meta is not None and is_past and has_answer:
            freshness = Freshness(meta.expires_at)
        elif own is not None:
            freshness = own
        else:
            freshness = self._freshness(reader, request, meta, stored, cells, is_past) if is_complete else _STALE
        if data is INVALID:
            return data, BROKEN, freshness
        if not is_complete:  # `raw` readers see the part that is there
            return data, ABSENT, freshness
        return data, MISSING if data is UNDEFINED else USABLE, freshness

    def _freshness(
        self,
        reader: Denormalization,
        request: Request,
        meta: ResultMeta | None,
        stored: object,
        cells: Shown,
        is_past: bool,
    ) -> Freshness:
        """Return the freshness of a result that shows these cells."""
        base, state = self.store_state.base, reader.state
        has_answer, shown = meta is not None and meta.expires_at > 0, cells
        if state is not base:
            shows = _is_of_base if request.rules.strict or has_answer else _is_as_in_base
            shown = {cell: places for cell, places in cells.items() if shows(base, state, cell)}
        if (is_past or len(shown) < len(cells)) and not has_answer:
            return Freshness(_first_expiry(state, cells))  # parts of it are optimistic
        return freshness_of(base, request, meta, stored, shown, self._clock())


_STALE: Final = Freshness(STALE)


def _query_key(reader: Denormalization, schema: Schema, request: Request) -> object:
    """Return the query key for a result that was never requested; UNDEFINED if only a response can provide it."""
    rules = request.rules
    if (rules.strict or rules.lists.total) and schema.plain_members:
        return UNDEFINED  # no response contained the members next to the list, such as its total
    stored = schema.query_key(rules.entity_args(request.args), reader)
    if stored is UNDEFINED or _unanswered(reader.state, request, schema, stored) is not None:
        return UNDEFINED
    return stored


def _is_of_base(base: Tables, state: State, cell: EntityPath) -> bool:
    """Return whether a state over the base has the same value of a cell."""
    return state.get(*cell) is base.get(*cell)


def _is_as_in_base(base: Tables, state: State, cell: EntityPath) -> bool:
    """Return whether a state over the base has the same value of a cell with the same times."""
    return _is_of_base(base, state, cell) and state.meta(*cell) == base.meta(*cell)


_warned: Final[set[str]] = set()


def _warn_of(slot: str, error: ConversionError) -> None:
    """Log, once for each key, that its stored result cannot be converted, so that reads fetch it again."""
    if slot not in _warned:
        _warned.add(slot)
        logger.warning("%s: the stored result cannot be used: %s", slot, error)


def _is_of(hot: HotResult, request: Request) -> bool:
    """Return whether a hot result belongs to the same rules and arguments as a request."""
    try:
        return hot[0] is request.rules and hot[1] == definitions.count and hot[2] == request.args
    except Exception:  # the comparison of a user's object failed: treat it as unequal
        return False


def _memoized(
    base: Tables, memo: DependencyGraph, request: Request, persistence: PersistencePort | None
) -> tuple[object, Shown | None, object, EntityPath | None] | None:
    """Return the memoized data of a request, the paths that it was built from if known, and its stored form.

    The last value is the record that the arguments identify, if its key was never requested.
    None if a full read is needed. No hook runs here, and nothing changes. With a storage, all of the data must be known
    to be current. (Benchmark: read it again after a write to another type.)
    """
    key, schema = request.key, request.rules.schema
    stored = base.results.get(key)
    node: Node | None = None
    root: EntityPath | None = None
    if type(schema) is EntitySchema:
        model = schema.model
        found = named_pk(schema, request.rules.entity_args(request.args)) if stored is None else stored
        if type(found) is not str:
            return None
        data = base.entities.get(model.key, EMPTY).get(found)
        if data is None:
            return None
        if stored is None:
            if _demand(request, schema, data) is not None:
                return None
            root, stored = (model.key, found), found
        if type(data) is model.cls:
            is_known = persistence is None or persistence.knows_entity(model.key, stored)
            return (data, {(model.key, stored): (None,)}, stored, root) if is_known else None
        nodes = memo.entities.get(model.key)
        node = None if nodes is None else nodes.get(model.cls, EMPTY).get(stored)
    elif stored is None:
        return None
    elif schema is not None and (table := schema.own_table) is not None:
        nodes = memo.entities.get(table) if type(stored) is str else None
        node = None if nodes is None else nodes.get(schema.identity(), EMPTY).get(stored)
    else:
        node = memo.results.get((key, schema))
        if node is not None and (node.source is not stored or node.args is not None):
            return None
    if node is None or memo.definitions != definitions.count or (persistence is not None and node not in memo.verified):
        return None
    if node.value is INVALID or node.value is UNDEFINED:
        return None
    return node.value, memo.touched.get(node), stored, root


def named_pk(schema: EntitySchema, args: tuple[object, ...]) -> str | None:
    """Return the primary key from the parameter of its name; None if only the schema can find it."""
    params: Any = args[0] if args else None
    name = schema.model.pk_name
    if name is None or kind_of(params) is not dict:
        return None
    pk = params.get(name)
    return pk if type(pk) is str and pk not in UNUSABLE else usable_pk(pk)


def _unanswered(state: State, request: Request, schema: Schema, query_key: object) -> str | None:
    """Return, in words, why an entity from other responses cannot be used for a request; None if it can."""
    is_object = schema.referred(query_key) is None
    found = [] if is_object and not request.rules.strict else [*schema.subjects(query_key)]
    if not found:
        return None
    if len(found) > 1:
        return "it has several records, so only its own response says which ones they are"
    entity, pk, *_ = found[0]
    params: Any = request.args[0] if request.args else None
    is_selected = kind_of(params) is dict and params.get(schema.attribute) is not None
    if request.rules.strict and not is_selected and has_several_tables(schema):
        return "entities of several tables may have this key, so only its own response says which one it is"
    return _demand(request, entity, state.get(entity.table_key, pk))


def _demand(request: Request, schema: EntitySchema, stored: object) -> str | None:
    """Return, in words, why an entity cannot be used for a request; None if it can, or if no record is stored."""
    if not request.rules.params.names_entity:
        return "its path is below that of a record, so only its own response says which record it is"
    needed = request.rules.required_fields(schema.model)
    if needed and stored is not None and not isinstance(stored, Sentinel):
        record: Mapping[str, Any] = record_of(stored)
        if isinstance(record, dict) and not needed <= record.keys():
            missing = ", ".join(sorted(needed - record.keys()))
            return f"the {schema.title} from other responses lacks required fields: {missing}"
    others = request.other_arguments
    return f"the call has additional query parameters: {', '.join(sorted(map(str, others)))}" if others else None


def _is_complete(query_key: Any) -> bool:
    """Return whether a query key, including all members of a dict, is defined."""
    if isinstance(query_key, DICT):
        return all(_is_complete(member) for member in query_key.values())
    return query_key is not UNDEFINED


def _first_expiry(state: State, cells: Iterable[EntityPath]) -> float:
    """Return the earliest expiry of these cells (ms)."""
    times = (state.meta(table, pk) for table, pk in cells)
    return min((meta.expires_at for meta in times if meta is not None), default=INFINITE)


def _reading(request: Request, meta: ResultMeta | None, denormalized: Denormalized, now: float) -> Reading:
    """Create a reading by the decision tables of `policy`."""
    data, found, freshness = denormalized
    expires_at = freshness.expires_at
    if data is UNDEFINED or data is INVALID:
        data = None
    invalid_if_stale = request.rules.read.invalid_if_stale
    if meta is None:
        status, _, decision = decide(found, False, NONE, invalid_if_stale, now > expires_at)
        return Reading(data, status, expires_at, decision, found is USABLE, freshness=freshness)
    error, terms = meta.error, meta.terms
    recorded = NONE if error is None else SOFT if meta.error_policy == "soft" else HARD
    if terms is not None:  # the server declares how stale data may be used
        # Its declaration concerns expiry only: it does not allow showing data that a mutation made stale.
        if freshness.mark is NO_MARK or not invalid_if_stale:
            invalid_if_stale = is_worse_than_none(terms, invalid_if_stale, now)
        if error is not None:
            recorded = recorded_as(terms, meta.error_policy, error, now)
    status, shown, decision = decide(found, meta.invalidated, recorded, invalid_if_stale, now > expires_at)
    return Reading(
        data,
        status,
        expires_at,
        decision,
        found=found is USABLE,
        error=error if shown else None,
        raw_error=error,
        date=meta.date,
        fetched_at=meta.fetched_at,
        freshness=freshness,
    )
