"""Change capture: each action records references to what it wrote; the first consumer decodes them.

The first consumer is usually the thread that writes. Whoever reads the queue or the version map decodes them before
(`WriteQueue.drain_capture`), in the order of the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..base.logs import logger
from ..base.values import UNDEFINED, Meta
from ..cache.actions import ExpireAll, Freshen, InvalidateAll, SetResponse
from ..cache.tables import EMPTY
from ..cache.transition import Failure, RecordKeys, StartOver, WriteChange
from ..schema.protocol import definitions
from .pending_write import NO_NAMES, BulkInvalidation, CapturedAction, PageExtension, PendingWrite, Result
from .stored_validators import is_bare

if TYPE_CHECKING:
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import ChangeSet, EntityPath
    from ..cache.transition import Transition
    from ..schema.protocol import Schema
    from .connection import StorageConnection
    from .pending_write import Key
    from .stored_forms import StoredForms

_ANSWERS: Final = frozenset({SetResponse, Freshen})
_FEW: Final = 100
"""Up to so many cells of a table are compared with their previous values. (More would cost more than all the rest.)"""


class ChangeCapture:
    """Captures what each action wrote, and decides what of it is stored (locked)."""

    def __init__(
        self,
        store_state: StoreState,
        connection: StorageConnection,
        forms: StoredForms,
        wrote: Callable[[PendingWrite, CapturedAction], object],
    ) -> None:
        self._store_state = store_state
        self._connection = connection
        self._forms = forms
        self.local_only: set[EntityPath] = set()
        """Cells whose value in memory is never stored."""
        self.unstored_keys: set[str] = set()
        """Keys whose results are not stored."""
        self._met: dict[Schema, int] = {}
        """The registered schemas, with the count of definitions then."""
        self._under_error: dict[str, Meta] = {}
        """By key, the times of the result that an error replaced."""
        self._wrote = wrote
        """Called with what an action has written, before it is decoded."""

    def clear(self) -> None:
        """Memory holds nothing any more."""
        for kept in (self.local_only, self.unstored_keys, self._under_error):
            kept.clear()

    # -- by who acts

    def captured(self, action: Action, transition: WriteChange) -> list[Any]:
        """Captures an action that is about to write a change, as a list for `CapturedAction.of`.

        It is one list, as Python's garbage collector looks through each object that waits, again and again.
        (Benchmark: write of one entity over a storage.)
        """
        base = self._store_state.base
        change, write_set = transition.change, transition.write_set
        request, is_stored = None, True
        if type(action) in _ANSWERS:
            answer: Any = action
            request, is_stored = answer.request, answer.stored
        flat: list[Any] = [
            0,
            change.times,
            request,
            write_set,
            change.differing,
            change.indexes,
            change.metas,
            frozenset(change.complete_tables) if change.complete_tables else NO_NAMES,
            transition.stale or None,
            None,
            change.partial,
            None if transition.record is None else transition.record.validators,
            type(action) is SetResponse,
            is_stored,
            0.0 if write_set is None or not write_set.stale else self._store_state.clock(),
            len(change.entities),
        ]
        rows = 0
        for table, written in change.entities.items():
            count = len(written)
            rows += count
            stored = base.entities.get(table)
            if stored is None:
                flat += table, {**written}, 0  # what is written to a table that is not there becomes it
            elif count > _FEW or table in change.differing:
                flat += table, written, 0
            else:
                flat += table, written, count
                flat += map(stored.get, written)
        flat[0] = rows
        results, metas, were, had = change.results, change.key_metas, base.key_metas, base.results
        for key, meta in metas.items():
            flat += key, results.get(key, UNDEFINED), meta, had.get(key, UNDEFINED), were.get(key)
        for key in results:
            if key not in metas:
                flat += key, results[key], None, base.result(key), base.key_meta(key)
        return flat

    def taken(self, action: Action, transition: Transition) -> PendingWrite | None:
        """Captures an action without a change; None if there is nothing to store."""
        if not self._connection.storage.writable:
            return None
        moment = self._store_state.clock()
        if isinstance(transition, StartOver):
            pending = PendingWrite(Meta(moment, moment, moment))
            pending.is_reset = True
            return pending
        if isinstance(action, InvalidateAll | ExpireAll):
            return _bulk_invalidation(action.test, isinstance(action, InvalidateAll), moment)
        if isinstance(transition, WriteChange) or isinstance(transition.outcome, Failure):
            return self._marked(transition, Meta(moment, moment, 0))
        results = {
            key: Result(UNDEFINED, Meta(meta.fetched_at, moment, 0), None, is_invalidated=True)
            for key, meta in (transition.metas if isinstance(transition, RecordKeys) else EMPTY).items()
            if key not in self.unstored_keys and self._forms.registry.keeps_key(key)
        }
        if not results:
            return self._marked(transition, Meta(moment, moment, 0))
        pending = PendingWrite(Meta(moment, moment, 0))
        pending.results = results
        return pending

    @staticmethod
    def _marked(transition: Transition, times: Meta) -> PendingWrite | None:
        """A pending write of stale marks alone."""
        if not transition.stale:
            return None
        pending = PendingWrite(times)
        pending.stale = transition.stale
        return pending

    def left_out(self, change: ChangeSet) -> PendingWrite:
        """A pending write of an action that could not be captured: it deletes older versions."""
        pending = PendingWrite(change.times)
        pending.cells = {table: {**written} for table, written in change.entities.items() if written}
        pending.drop = dict.fromkeys((*change.results, *change.key_metas))
        self._leave_out(pending)
        return pending

    def _leave_out(self, pending: PendingWrite) -> None:
        self.local_only.update(pending.all_cells())
        pending.leave_out()

    # -- by who asks

    def decoded(self, given: list[Any] | PendingWrite) -> PendingWrite:
        """Decodes a captured action."""
        pending = PendingWrite.of(given) if isinstance(given, list) else given
        if pending.captured is not None:
            captured = CapturedAction.of(pending.captured)
            pending.take_header(captured.header)
            try:
                self._wrote(pending, captured)
                self._decode(pending, captured)
            except Exception:
                logger.exception("a response cannot be stored; older versions of it are deleted from the storage")
                pending.cells = {table: written for table, written, _ in captured.tables}
                pending.drop = dict.fromkeys(key for key, *_ in captured.keys)
                self._leave_out(pending)
            pending.captured = None
        return pending

    def _decode(self, pending: PendingWrite, captured: CapturedAction) -> None:
        request = pending.request
        if not self._connection.storage.writable:
            pending.forget_values()
            return
        if not captured.tables and self._is_error(captured):
            pending.forget_values()
            return
        if request is not None and not (request.rules.persistence.persist and captured.header.is_stored):
            self._keep_out(pending, captured, request)
            return
        pending.take_tables(captured)
        write_set = pending.write_set
        if write_set is not None:
            for node in write_set.classes:
                if self._met.get(node) != definitions.count:
                    schema: Any = node
                    self._forms.registry.register_class(schema.model)
                    self._met[node] = definitions.count
            if write_set.stale:
                pending.bulk_invalidations = [
                    BulkInvalidation(test, False, captured.header.moment) for test in write_set.stale
                ]
        if request is not None and request.rules.schema is not None:
            met: Schema = request.rules.schema
            if self._met.get(met) != definitions.count:
                self._forms.registry.register(met)
                self._met[met] = definitions.count
        results = self._results(pending, captured)
        validators = captured.header.validators
        own = None if request is None else results.get(request.key)
        if validators is not None and request is not None and own is not None and is_bare(validators, request):
            results[request.key] = own._replace(validators=validators)
        pending.results = results
        if write_set is not None and write_set.page is not None:
            self._extend(pending, *write_set.page, results)

    def _extend(self, pending: PendingWrite, key: str, header: Any, results: dict[str, Result]) -> None:
        """Extends the stored list by a page if memory does not have the latest list."""
        connection = self._connection
        is_latest = key in results and connection.storage.inline and key not in connection.known.unverified_keys
        if not is_latest and key not in self.unstored_keys and self._forms.registry.keeps_key(key):
            results.pop(key, None)
            refreshes = pending.request is None or pending.request.rules.lists.joins_refresh
            pending.bulk_invalidations = [
                *pending.bulk_invalidations,
                PageExtension(key, header, pending.times, refreshes),
            ]

    def _keep_out(self, pending: PendingWrite, captured: CapturedAction, request: Request) -> None:
        """Stores nothing of a response; also deletes what was stored before if the server forbids storing."""
        if captured.header.is_answer or not request.rules.persistence.persist:
            self.local_only.update((table, pk) for table, written, _ in captured.tables for pk in written)
        pending.forget_values()
        if not request.rules.persistence.persist:
            self.unstored_keys.add(request.key)
        else:
            pending.drop = {request.key: None}

    def _is_error(self, captured: CapturedAction) -> bool:
        """Whether all that it says is that a request failed: an error changes nothing in a storage."""
        metas = [(key, meta, were) for key, _, meta, _, were in captured.keys if meta is not None]
        if not metas or any(meta.error is None for _, meta, _ in metas):
            return False
        for key, _, were in metas:
            if were is not None and were.error is None:
                self._under_error[key] = were.times
        return True

    def _results(self, pending: PendingWrite, captured: CapturedAction) -> dict[str, Result]:
        request, found = pending.request, dict[str, Result]()
        own = None if request is None else request.key
        for written in captured.keys:
            key = written[0]
            if key in self.unstored_keys or not self._forms.registry.keeps_key(key):
                continue
            if key == own and request is not None:
                if request.rules.side_effect:
                    self.unstored_keys.add(key)
                    continue
                self._under_error.pop(key, None)
            result = self._result(written, pending.times, request if key == own else None)
            found[key] = result
        return found

    def _result(self, written: Key, own: Meta, request: Request | None) -> Result:
        key, value, meta, before, were = written
        if value is UNDEFINED:
            value = before
        if meta is None:
            meta = were
        if meta is None:
            times = own._replace(expires_at=0)
        elif meta.error is not None:
            under = self._under_error.get(key, own._replace(expires_at=0))
            times = under if meta.expires_at > 1 else under._replace(expires_at=min(under.expires_at, meta.expires_at))
        else:
            times = meta.times
        rules = None if request is None else request.rules
        invalidated = meta is not None and meta.invalidated
        terms = None if meta is None else meta.terms
        number, contained = (None, None) if meta is None or meta.error is not None else (meta.number, meta.received)
        return Result(value, times, rules, invalidated, terms, None, number, contained)


def _bulk_invalidation(test: Callable[[str], bool], invalidates: bool, moment: float) -> PendingWrite:
    pending = PendingWrite(Meta(moment, moment, 1))
    pending.bulk_invalidations = [BulkInvalidation(test, invalidates, moment)]
    return pending
