"""Change capture: each action records references to its writes; they are decoded later.

Decoding decides which of them are stored. It is usually done by the thread that writes, and always before the queue or
the version map is read (`WriteQueue.drain_capture`), in the order of the actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ..base.freshness import source_at
from ..base.logs import logger
from ..base.values import UNDEFINED, Meta
from ..cache.actions import ExpireAll, Freshen, InvalidateAll, SetResponse
from ..cache.marking import mark_record
from ..cache.staleness import ELSEWHERE, EXPIRED, StaleSet
from ..cache.tables import EMPTY, ResultMeta
from ..cache.transition import RecordKeys, StartOver, WriteChange
from ..cache.write_set import PutList
from ..schema.stored import is_collection
from .pending_write import BulkInvalidation, PendingWrite, Result

if TYPE_CHECKING:
    from ..base.freshness import Validators
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import ChangeSet, EntityPath
    from ..cache.transition import Transition
    from ..storage.protocol import Place
    from .connection import StorageConnection
    from .pending_write import Key, Table
    from .schema_fingerprint import SchemaRegistry

_ANSWERS: Final = frozenset({SetResponse, Freshen})


class ChangeCapture:
    """Captures the writes of each action, and decides which of them are stored (locked)."""

    def __init__(self, store_state: StoreState, connection: StorageConnection, registry: SchemaRegistry) -> None:
        self._store_state = store_state
        self._connection = connection
        self._registry = registry
        self._only_here = connection.known.only_here

    def clear(self) -> None:
        """Forget all cells and keys, as memory is empty."""
        self._only_here.clear()

    # -- called by actions

    def captured(self, action: Action, transition: WriteChange) -> PendingWrite:
        """Capture an action that is about to write a change."""
        base = self._store_state.base
        change, write_set = transition.change, transition.write_set
        pending = PendingWrite(change.times)
        pending.is_decoded = False
        if type(action) in _ANSWERS:
            answer: Any = action
            pending.request, pending.is_allowed = answer.request, answer.stored
            pending.is_answer = type(action) is SetResponse
            pending.is_confirmation = type(action) is Freshen
        pending.write_set, pending.metas, pending.partial = write_set, change.metas, change.partial
        if change.complete_tables:
            pending.listed = frozenset(change.complete_tables)
        pending.stale = self._stale_elsewhere(change, pending, transition.stale) or None
        if transition.record is not None and transition.record[1] is not None:
            pending.validators = transition.record[1].validators
        if write_set is not None and write_set.stale:
            moment = self._store_state.clock()
            pending.bulk_invalidations = [BulkInvalidation(test, False, moment) for test in write_set.stale]
            pending.stale = pending.stale or StaleSet(EXPIRED)
        pending.tables = [*self._tables(change)]
        pending.rows = sum(len(written) for _, written in pending.tables)
        results, metas, were, had = change.results, change.key_metas, base.key_metas, base.results
        keys: list[Key] = [
            (key, results.get(key, UNDEFINED), meta, had.get(key, UNDEFINED), were.get(key))
            for key, meta in metas.items()
        ]
        keys += [
            (key, value, None, base.result(key), base.key_meta(key))
            for key, value in results.items()
            if key not in metas
        ]
        pending.keys = keys
        return pending

    def _stale_elsewhere(self, change: ChangeSet, pending: PendingWrite, stale: StaleSet | None) -> StaleSet | None:
        """Return what an action makes stale for other stores.

        If the storage does not get all records of a mutation's response, or not all their members, it is as if the
        response was empty.
        """
        request, write_set, registry = pending.request, pending.write_set, self._registry
        if request is None or not (request.rules.side_effect and request.rules.mutation.marks_changes):
            return stale
        for node in () if write_set is None else write_set.classes:
            schema: Any = node
            registry.register_class(schema.model)
        is_stored = bool(request.rules.persistence.persist) and pending.is_allowed
        unstored = [
            (table, pk)
            for table, pk in change.cells()
            if not (is_collection(table) or (is_stored and registry.keeps_whole(table, {pk: change.get(table, pk)})))
        ]
        if is_stored and not unstored:
            return stale
        found = StaleSet(ELSEWHERE)
        if stale is not None:
            found.update(stale)
        for cell in unstored:
            mark_record(found, self._store_state.base, cell, existence=True)
        found.spared.clear()
        found.spared_lists.clear()
        return found

    def _tables(self, change: ChangeSet) -> Iterator[Table]:
        """Yield the rows that a change writes."""
        entities = self._store_state.base.entities
        for table, written in change.entities.items():
            if table not in entities:
                yield table, {**written}  # a copy, as the written mapping becomes the new table
            elif written:
                yield table, written

    def taken(self, action: Action, transition: Transition) -> PendingWrite | None:
        """Capture an action without a change; None if there is nothing to store."""
        if not self._connection.storage.writable:
            return None
        moment = self._store_state.clock()
        if isinstance(transition, StartOver):
            pending = PendingWrite(Meta(moment, moment, moment))
            pending.is_reset = True
            return pending
        if isinstance(action, InvalidateAll | ExpireAll):
            return _bulk_invalidation(action.test, isinstance(action, InvalidateAll), moment)
        if isinstance(transition, WriteChange) or transition.error is not None:
            return self._marked(transition, Meta(moment, moment, 0))
        results = {
            key: Result(UNDEFINED, ResultMeta(Meta(meta.fetched_at, moment, 0), invalidated=True))
            for key, meta in (transition.metas if isinstance(transition, RecordKeys) else EMPTY).items()
            if self.keeps_key(key)
        }
        if not results:
            return self._marked(transition, Meta(moment, moment, 0))
        pending = PendingWrite(Meta(moment, moment, 0))
        pending.results = results
        return pending

    @staticmethod
    def _marked(transition: Transition, times: Meta) -> PendingWrite | None:
        """Return a pending write of stale marks alone; None if there are none."""
        if not transition.stale:
            return None
        pending = PendingWrite(times)
        pending.stale = transition.stale
        return pending

    def left_out(self, change: ChangeSet) -> PendingWrite:
        """Return a pending write for an action that could not be captured: it deletes older versions."""
        pending = PendingWrite(change.times)
        pending.cells = {table: {**written} for table, written in change.entities.items() if written}
        pending.drop = dict.fromkeys((*change.results, *change.key_metas))
        self._leave_out(pending)
        return pending

    def _leave_out(self, pending: PendingWrite) -> None:
        self._only_here.update(pending.all_cells())
        pending.leave_out()

    # -- called by consumers

    def decode(self, pending: PendingWrite) -> None:
        """Decide which writes of a captured action are stored; after an interrupt it is called again."""
        if pending.is_decoded:
            return
        try:
            self._connection.events.wrote(pending)
            self._decode(pending)
        except Exception:
            logger.exception("a response cannot be stored; older versions of it are deleted from the storage")
            pending.cells = dict(pending.tables)
            pending.drop = dict.fromkeys(key for key, *_ in pending.keys)
            self._leave_out(pending)
        pending.end_capture()

    def _decode(self, pending: PendingWrite) -> None:
        request, write_set, registry = pending.request, pending.write_set, self._registry
        if not self._connection.storage.writable or (not pending.tables and _is_error(pending)):
            pending.forget_values()
            pending.bulk_invalidations = ()
            return
        if request is not None and not (request.rules.persistence.persist and pending.is_allowed):
            self._keep_out(pending, request)
            return
        pending.take_tables()
        if write_set is not None:
            for node in write_set.classes:
                schema: Any = node
                registry.register_class(schema.model)
        if request is not None:
            registry.register(request.rules.schema)
            self._keep_whole(pending, request)
        results = self._results(pending)
        validators = pending.validators
        own = None if request is None else results.get(request.key)
        if validators is not None and request is not None and own is not None and is_bare(validators, request):
            results[request.key] = own._replace(validators=validators)
        if write_set is not None and write_set.page is not None and self._outdates(write_set.page, results):
            results.pop(write_set.page, None)
            pending.drop = {**pending.drop, write_set.page: None}
        pending.results = results

    def keeps_key(self, key: str) -> bool:
        """Whether the result of a key is stored."""
        return key not in self._only_here and self._registry.keeps_key(key)

    def keeps_list(self, cell: EntityPath) -> bool:
        """Whether a list is stored."""
        return self._registry.keeps_list(cell)

    def _keep_whole(self, pending: PendingWrite, request: Request) -> None:
        """Leave out the result and the lists of a response if its records are not stored with all their members.

        Another process would show the other members as it has them, which may be older.
        """
        write_set, registry, known = pending.write_set, self._registry, self._connection.known
        keys = {request.key} if write_set is None or write_set.page is None else {request.key, write_set.page}
        lists = {cell for cell in pending.all_cells() if is_collection(cell[0])}
        records = {table: written for table, written in pending.cells.items() if not is_collection(table)}
        if request.rules.side_effect:
            self._only_here |= keys
        else:
            self._only_here.difference_update((request.key,), _complete_lists(pending))  # a page is not all of its list
        if all(registry.keeps_whole(table, written) for table, written in records.items()):
            return
        self._only_here |= keys | lists
        pending.cells, pending.joins = records, ()
        if request.rules.side_effect:
            return
        of_keys: list[Place] = [key for key in keys if known.key_revs.get(key) != 0 and registry.keeps_key(key)]
        of_lists = [cell for cell in lists if known.rev(*cell) != 0 and registry.keeps(cell)]
        pending.drop = dict.fromkeys((*of_keys, *of_lists))
        known.key_revs.update(dict.fromkeys(keys, 0))
        for cell in lists:
            known.note(*cell, 0, "")

    def _outdates(self, key: str, results: dict[str, Result]) -> bool:
        """Whether a page outdates the stored result of its list, as memory does not have the latest one."""
        connection = self._connection
        is_latest = key in results and connection.storage.inline and key not in connection.known.unverified_keys
        return not is_latest and self.keeps_key(key)

    def _keep_out(self, pending: PendingWrite, request: Request) -> None:
        """Store nothing of a response; delete the stored result if the server forbids storing."""
        if pending.is_answer or not request.rules.persistence.persist:
            self._only_here.update((table, pk) for table, written in pending.tables for pk in written)
        pending.forget_values()
        self._only_here.add(request.key)
        if request.rules.persistence.persist:
            pending.drop = {request.key: None}

    def _results(self, pending: PendingWrite) -> dict[str, Result]:
        """Return the results of a pending write; those under an error, which is not stored, are stored as stale."""
        request, found = pending.request, dict[str, Result]()
        own = None if request is None else request.key
        for key, value, meta, before, were in pending.keys:
            if not self.keeps_key(key):
                continue
            meta = meta or were or ResultMeta(pending.times._replace(expires_at=0))
            if meta.error is not None:
                meta = ResultMeta(pending.times._replace(expires_at=1))
            rules = request.rules if request is not None and key == own else None
            found[key] = Result(before if value is UNDEFINED else value, meta, rules)
        return found


def place_at(request: Request) -> str:
    """Return the final URL, without query, of a response that was not redirected."""
    return request.url.partition("?")[0]


def is_bare(validators: Validators, request: Request) -> bool:
    """Whether a response depends on its URL alone: it was not redirected, and no header of the call selected it."""
    return validators.source == source_at(request.url) and validators.place == place_at(request)


def _is_error(pending: PendingWrite) -> bool:
    """Whether it contains only errors of requests, which are not stored."""
    metas = [meta for _, _, meta, _, _ in pending.keys if meta is not None]
    return bool(metas) and all(meta.error is not None for meta in metas)


def _complete_lists(pending: PendingWrite) -> Iterator[EntityPath]:
    """Yield the lists that a response contained completely, and that memory has as it contained them."""
    for piece in () if pending.write_set is None else pending.write_set.collections:
        cell = piece.table, piece.pk or ""
        is_complete = isinstance(piece, PutList) and not piece.is_page
        if is_complete and pending.writes(cell) and pending.times_of(*cell) == pending.times:
            yield cell


def _bulk_invalidation(test: Callable[[str], bool], invalidates: bool, moment: float) -> PendingWrite:
    pending = PendingWrite(Meta(moment, moment, 1))
    pending.bulk_invalidations = [BulkInvalidation(test, invalidates, moment)]
    pending.stale = None if invalidates else StaleSet(EXPIRED)
    return pending
