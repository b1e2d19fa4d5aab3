"""Read-through: loads the rows and results that a read needs from the storage, level by level of references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..base.lazy_imports import running_loop
from ..base.values import UNDEFINED
from ..cache.reach import tables_of
from ..cache.tables import binding_of
from ..schema.notation import schema_of
from ..schema.protocol import is_plain
from ..schema.stored import is_collection
from ..storage.protocol import MOST_PLACES, TableInfo
from .hydration import Hydrator
from .log_consumer import LogConsumer
from .read_set import Misses, ReadSet
from .schema_fingerprint import fingerprint_of_endpoint
from .stale_marks import wanted_marks, wanted_of_list
from .storage_query import MOST_IN_LOOP, LoaderThread, StorageQuery, StorageWork, T, WouldBlock, run_here, run_waiting
from .stored_revalidation import StoredRevalidation

if TYPE_CHECKING:
    from ..base.steps import Steps, StepsOf
    from ..cache.request import Request
    from ..cache.store import Store
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath, State
    from ..schema.protocol import Schema
    from ..storage.protocol import Changes, IndexEntry, Loaded, Mark, Page
    from .connection import StorageConnection
    from .log_consumer import Waiters
    from .pending_write import PendingWrite
    from .schema_fingerprint import SchemaRegistry
    from .write_behind import WriteBehind


_COMPARED: Final = 500
"""The most unverified values that are compared with the storage at a time."""
_TRIES: Final = 8
"""Attempts to load rows while commits are applied to memory."""
_AGAIN: Final = 50
"""Attempts of a read whose memory changes meanwhile, or of a table that other processes write to."""
_NO_TABLE: Final = TableInfo(0, False)


class BatchLoader:
    """Loads rows, index entries and results into memory (locked between the queries)."""

    def __init__(self, connection: StorageConnection, hydrator: Hydrator, log_consumer: LogConsumer) -> None:
        self._connection = connection
        self._hydrator = hydrator
        self._log_consumer = log_consumer
        self.inside = 0
        """The depth of nested reads, as a hook may read."""

    def load(
        self,
        cells: Mapping[EntityPath, Any],
        index: Sequence[IndexEntry] = (),
        keys: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        *,
        plain: bool = False,
        is_one_change: bool = False,
    ) -> StorageWork[bool]:
        """Load cells, index entries and results; False if the storage does not respond or memory cannot catch up.

        `marks` are those on which results depend. With `plain`, no schema describes the results; with
        `is_one_change`, listeners hear of all that differs as one change.
        """
        hydrator, todo = self._hydrator, [*cells]
        size = max(1, len(todo) + len(keys))
        while todo or index or keys or marks:
            piece, entries, named = todo[:MOST_PLACES], index, keys
            tables = [*dict.fromkeys(table for table, _ in piece)]
            wanted = [*marks, *_marks_of({cell: cells[cell] for cell in piece})]
            loaded = yield from self._newest(  # B023: its last attempt ends before the next piece begins
                StorageQuery(lambda storage: storage.load(piece, named, entries, tables, wanted), size)  # noqa: B023
            )
            if loaded is None:
                return False
            intake = hydrator.intake(is_one_change=is_one_change)
            hydrator.take_results(named, loaded, intake, plain=plain)
            hydrator.take_rows(piece, loaded, cells, intake)
            hydrator.put(intake)
            hydrator.take_index(entries, loaded)
            todo, index, keys, marks = todo[MOST_PLACES:], (), (), ()
        return True

    def _newest(self, query: StorageQuery) -> StorageWork[Loaded | None]:
        """Return what a query loads that memory has no later commit than; None if that fails."""
        for _ in range(_TRIES):
            loaded: Loaded | None = yield query
            self._connection.count["loads"] += 1
            if loaded is None or not (yield from self._reach(loaded)):
                return None
            if loaded.number >= self._connection.known.number:
                return loaded
        return None

    def _reach(self, loaded: Loaded) -> StorageWork[bool]:
        """Apply all commits up to that of the loaded rows, except inside a hook, where memory must not change."""
        known = self._connection.known
        if loaded.epoch == known.epoch and loaded.number <= known.number:
            return True
        if self.inside > 1:
            return False
        return (yield from self._log_consumer.reach(loaded))

    def load_whole(self, table: str) -> StorageWork[bool]:
        """Load all rows of a table, in the order of their first commits; False if that fails."""
        hydrator, known = self._hydrator, self._connection.known
        for _ in range(_AGAIN):
            first: Loaded | None = yield StorageQuery(lambda storage: storage.load((), (), (), (table,)))
            if first is None or not (yield from self._reach(first)):
                return False
            version = first.tables.get(table, _NO_TABLE).version
            pks: list[str] = []
            after: str | None = None
            while version:
                limit = MOST_PLACES if pks else MOST_IN_LOOP
                page: Page | None = yield StorageQuery(  # B023: it ends before the next page is requested
                    lambda storage: storage.scan(table, after, limit), len(pks) + limit  # noqa: B023
                )
                if page is None:
                    return False
                pks += page.items
                after = page.next
                if after is None:
                    break
            cells = {(table, pk): None for pk in pks if known.rev(table, pk) is None}
            if not (yield from self.load(cells)):
                return False
            last: Loaded | None = yield StorageQuery(lambda storage: storage.load((), (), (), (table,)))
            if last is None or not (yield from self._reach(last)):
                return False
            if last.tables.get(table, _NO_TABLE).version == version and last.epoch == first.epoch:
                hydrator.infos.update(last.tables)
                hydrator.take_whole(table, pks, is_known=bool(version))
                return True
        return False

    def compared(self) -> StorageWork[bool]:
        """Load what other processes have changed, and compare some unverified values; False if that fails."""
        hydrator = self._hydrator
        is_done = False
        while not is_done:
            changed = hydrator.take_changed(MOST_PLACES - 2 * _COMPARED)
            cells = dict.fromkeys([*changed, *hydrator.some_unverified(_COMPARED)])
            keys = hydrator.some_unverified_keys(_COMPARED)
            if not (yield from self.load(cells, (), keys, is_one_change=True)):
                return False
            is_done = not hydrator.changed
        hydrator.update_has_unverified()
        return True


def _marks_of(cells: Mapping[EntityPath, object]) -> Iterator[Mark]:
    """Yield the marks on which the freshness of these cells depends, except for their own."""
    nodes: dict[tuple[str, int], Any] = {(cell[0], id(node)): node for cell, node in cells.items()}
    for (table, _), node in nodes.items():
        yield "table", table, ""
        if node is not None and node.is_collection:
            for entity in tables_of(node.item):
                yield "lists", entity, ""
                yield "filtered lists", entity, ""
    for table, pk in cells:
        if is_collection(table):
            yield from wanted_of_list(table, pk)


class ReadThrough:
    """Loads the rows and results that reads need (locked, except for the steps that wait)."""

    def __init__(
        self,
        store: Store,
        store_state: StoreState,
        connection: StorageConnection,
        write_behind: WriteBehind,
        registry: SchemaRegistry,
        waiters: Waiters,
    ) -> None:
        self._store = store
        self._store_state = store_state
        self._connection = connection
        self._write_behind = write_behind
        self._registry = registry
        self.hydrator = Hydrator(store, store_state, connection, write_behind, registry)
        self.log_consumer = LogConsumer(store, store_state, connection, write_behind, self.hydrator, waiters)
        self.misses = Misses(store_state, connection, registry, self.hydrator)
        self._stored_revalidation = StoredRevalidation(store_state, connection, self.hydrator, write_behind)
        self.loader = LoaderThread(store, connection)
        self._levels = BatchLoader(connection, self.hydrator, self.log_consumer)

    # -- reads -----------------------------------------------------------------------------------------------------

    def ensure_loaded(self, request: Request, state: State | None = None) -> bool:
        """Load the rows and the result that a request needs; False if the result must not be returned."""
        return self._here(
            lambda waits: self._of_request(request, waits=waits, state=state), ("request", request.key, request.args)
        )

    def ensure_value_loaded(self, schema: object, args: tuple[object, ...], state: State | None = None) -> bool:
        """Load the rows that the value of a schema needs; False if it must not be returned."""
        node = schema_of(schema)
        if node is None:
            return True
        self._registry.register(node)
        return self._here(lambda waits: self._of(node, None, args, waits=waits, state=state), ("value", id(node), args))

    def catch_up_here(self) -> None:
        """Apply all commits up to the newest one, if this thread may read the storage."""
        if self._most and self._connection.may_be_read and self._connection.is_open:
            self._here(lambda waits: self._caught_up(), ("changes",))

    def knows_result(self, key: str, /, *, is_absent: bool) -> bool:
        """Whether memory knows the stored result of a key; `is_absent` tells that memory has none."""
        connection = self._connection
        known = connection.known
        is_unverified = bool(known.unverified_keys.get(key))
        if not (is_absent or is_unverified):
            return True
        connection.drain_capture()
        if key in self.hydrator.unusable_keys or is_unverified:
            return False
        return (
            key in known.key_revs
            or self._write_behind.queue.is_pending_key(key)
            or connection.state == "off"
            or not self._registry.keeps_key(key)
        )

    def knows(self, request: Request) -> bool:
        """Whether memory knows the stored result of a request."""
        self._connection.drain_capture()
        if request.key in self.hydrator.unusable_keys:
            return False
        return (
            request.key in self._connection.known.key_revs
            or not self._connection.may_be_read
            or not self._registry.keeps_marks(request.key, request.rules)
        )

    def knows_entity(self, table: str, pk: str) -> bool:
        """Whether memory knows the stored row of an entity."""
        self._connection.drain_capture()
        if self._connection.known.rev(table, pk) is not None:
            return True
        return not self._connection.may_be_read or not self._registry.keeps((table, pk))

    def reading(self, request: Request, read: Callable[[bool], T]) -> StepsOf[T]:
        """Return steps that load what a request needs and then read it, under one lock; see `ensure_loaded`."""
        self._bound()
        return self.loader.steps(self._then(request, read), self._most_before_waiting)

    def _then(self, request: Request, read: Callable[[bool], T]) -> StorageWork[T]:
        return read((yield from self._of_request(request, waits=True)))

    def opening(self) -> Steps:
        """Return steps that open the storage if it is not open."""
        if not self._connection.is_open:
            yield self.loader.step(lambda storage: True)

    def _caught_up(self) -> StorageWork[bool]:
        return (yield from self.log_consumer.catch_up()) and (yield from self._levels.compared())

    def catching_up(self) -> Steps:
        """Return steps that apply all commits up to the newest one."""
        return self.loader.steps(self.log_consumer.catch_up(), self._most_before_waiting)

    @property
    def _most(self) -> int:
        """About how many rows this thread may read: none from a remote storage, and few in an event loop."""
        if not self._connection.storage.inline:
            return 0
        return MOST_IN_LOOP if running_loop() is not None else MOST_PLACES

    @property
    def _most_before_waiting(self) -> int:
        """About how many rows callers that may wait read in this thread: none from a file in an event loop."""
        storage = self._connection.storage
        return 0 if running_loop() is not None and not getattr(storage, "is_in_memory", False) else self._most

    def _here(self, begin: Callable[[bool], StorageWork[bool]], name: tuple[object, ...]) -> bool:
        """Run a query in this thread if that is allowed; else start it in the background and return False.

        `name` identifies the query, so that equal ones are started once.
        """
        most = self._most
        if most and not self._levels.inside and not self._store_state.guard.is_running():
            self._bound()  # not while a hook reads: an optimistic response would be computed within itself
        asking = begin(most > 0)
        self._levels.inside += 1
        try:
            return run_here(asking, self._connection, most)
        except WouldBlock:
            asking.close()
            self.loader.begin(name, lambda: begin(True))
            return False
        finally:
            self._levels.inside -= 1
            self._tell_later()

    def _bound(self) -> None:
        """Evict entries beyond the bound of memory; never called between a load and its read."""
        with self._connection.lock:
            self._store_state.bound()

    def _tell_later(self) -> None:
        """Schedule the notification of listeners if a read found changes of other processes."""
        if self._store.has_news:
            self._store.scheduler.spawn(self._store.tell)

    # -- the read set ----------------------------------------------------------------------------------------------

    def _of_request(self, request: Request, *, waits: bool, state: State | None = None) -> StorageWork[bool]:
        rules, key, hydrator = request.rules, request.key, self.hydrator
        schema, is_all_plain = rules.schema, bool(rules.analyze(is_plain))
        self._registry.register(schema)
        is_loaded = False
        ahead: dict[EntityPath, Any] = {}
        if self._registry.keeps_marks(key, rules):
            if self._connection.may_be_read and self.misses.misses_key(key, waits=waits):
                ahead = self.misses.ahead(request, waits=waits)
                hydrator.key_shapes[key] = fingerprint_of_endpoint(rules)
                keys = (key,) if self._registry.keeps_result(key, rules) else ()
                is_done = yield from self._levels.load(ahead, (), keys, wanted_marks(request), plain=is_all_plain)
                if is_done and not keys:
                    self._connection.known.key_revs[key] = 0
                is_loaded = bool(self._connection.known.key_revs.get(key))
            if key in hydrator.unusable_keys:
                return False
            if is_loaded:
                self._write_behind.use((key, *ahead))
        if state is None and len(ahead) == 1 and self.misses.is_all(request, *ahead):
            return True
        if schema is None or is_all_plain:
            self._stored_revalidation.look(request, None)
            return True
        listed = request if is_loaded else None
        args = rules.entity_args(request.args)
        return (yield from self._of(schema, request, args, waits=waits, state=state, listed=listed))

    def _of(
        self,
        schema: Schema,
        request: Request | None,
        args: tuple[object, ...],
        *,
        waits: bool,
        state: State | None = None,
        listed: Request | None = None,
    ) -> StorageWork[bool]:
        """Collect the read set and load its unknown rows until all are known; False for a dangling reference."""
        store_state, hydrator = self._store_state, self.hydrator
        asks = self._connection.may_be_read
        key, is_loaded = None if request is None else request.key, listed is not None
        for _ in range(_AGAIN):
            if state is None:
                store_state.refresh()
            seen = store_state.view if state is None else state
            generation = hydrator.generation
            walk = ReadSet(seen, args, hydrator.loaded)
            stored = UNDEFINED if key is None else seen.result(key)
            from_storage = key in hydrator.loaded_keys
            is_own = stored is not UNDEFINED and not from_storage
            if stored is UNDEFINED:
                with store_state.hooks:
                    stored = schema.query_key(args, walk)
                cells = (
                    self.misses.of(((table, None, pks) for table, pks in walk.requested.items()), waits=waits)
                    if asks
                    else {}
                )
                index = self.misses.of_index(walk.index) if asks else []
                if cells or index:
                    asks = yield from self._levels.load(cells, index)
                    continue
            with store_state.hooks:
                walk.begin(schema, stored, from_storage=from_storage, is_own=is_own)
            lists = [(node, pk) for node, _, pks in walk.ahead if node.is_collection for pk in pks]
            if listed is not None:
                for node, pk in lists:  # so that mutations update them
                    store_state.base.note_listing(binding_of((node.table_key, pk), node, listed))
                listed = None
            found = yield from self._through(walk, asks=asks, waits=waits)
            if found is None or generation != hydrator.generation:
                asks = self._connection.may_be_read
                continue
            if is_loaded:
                self._write_behind.use(walk.touched)
            if key is not None and any(seen.get(node.table_key, pk) is UNDEFINED for node, pk in lists):
                found = False  # its response contained the list, which the storage has lost, or cannot show completely
            if not found:
                self._connection.count["holes"] += 1
            elif request is not None:
                self._stored_revalidation.look(request, walk)
            return found
        return False

    def _through(self, walk: ReadSet, *, asks: bool, waits: bool) -> StorageWork[bool | None]:
        """Load all levels of references; False for a dangling reference, None to start over."""
        store_state, seen = self._store_state, self._store_state.view
        is_whole = True
        while True:
            tables = [table for table in walk.whole if asks and self.misses.misses_whole(table)]
            if tables:
                yield from self._levels.load_whole(tables[0])
                return None
            level = walk.next_level()
            if not level:
                break
            wanted = ((node.table_key, node, pks) for node, _, pks in level)
            misses = self.misses.of(wanted, waits=waits) if asks else {}
            if misses:
                asks = yield from self._levels.load(misses)
                if store_state.optimistic.stale or store_state.view is not seen:
                    return None
            with store_state.hooks:
                for references in level:
                    is_whole = not self.misses.has_dangling_reference(references, walk.open(references)) and is_whole
        incomplete = [] if is_whole or walk.state is not seen else self.misses.incomplete_lists(walk)
        if incomplete:
            self.hydrator.forget_lists(incomplete)
            return None
        return is_whole and not any(self.misses.is_dangling_in(table) for table in walk.whole)

    def wrote(self, pending: PendingWrite) -> None:
        """Note what an action of this process has written."""
        self.hydrator.wrote(pending)
        request = pending.request
        if request is None or not pending.is_answer or request.key not in self._store_state.base.key_metas:
            return  # there is no result in memory, or it was evicted since
        if self._registry.keeps_result(request.key, request.rules):
            self.hydrator.key_shapes[request.key] = fingerprint_of_endpoint(request.rules)

    # -- commits of other processes ----------------------------------------------------------------------------------

    def take_news(self) -> bool:
        """Apply the commits of other processes and verify some unverified rows (without the lock).

        Returns False if the storage does not respond.
        """
        connection = self._connection
        if not connection.is_open:
            return False
        if connection.lost_touch():
            self.lost()
        if not connection.may_be_read:
            return False
        if self.log_consumer.clock_stepped():
            with connection.lock:
                self.log_consumer.broken("the system clock was changed")
            self._store.tell()
        # An empty result needs no further work. (Benchmark: an idle store with a storage.)
        number = connection.known.number
        found = connection.work(lambda storage: storage.changes(number, 0))
        if found is None:
            return False
        if connection.lost_touch():  # the process was stopped during the call
            self.lost()
        connection.touched()
        return self.on_remote(found)

    def on_remote(self, found: Changes) -> bool:
        """Apply entries of the log (without the lock); False if the storage stops responding meanwhile."""
        connection = self._connection
        known = connection.known
        is_idle = found.number == known.number and found.epoch == known.epoch and not found.lost
        if is_idle and not self._store_state.has_unverified:
            return True
        is_done = run_waiting(self._taken(found), connection)
        self._store.tell()
        return is_done

    def lost(self) -> None:
        """Mark memory as unverified, as commits of other processes may have been missed."""
        with self._connection.lock:
            self._connection.drain_capture()
            self.log_consumer.broken("the storage did not respond for a while")
        self._tell_later()

    def _taken(self, found: Changes) -> StorageWork[bool]:
        return (yield from self.log_consumer.take(found)) and (yield from self._levels.compared())

    # -- lifecycle ---------------------------------------------------------------------------------------------------

    def origin(self, key: str) -> str | None:
        """Return a sentence about the origin of the result of a key; None if a response contained it."""
        self._connection.drain_capture()
        return "it was loaded from the storage" if key in self.hydrator.loaded_keys else None
