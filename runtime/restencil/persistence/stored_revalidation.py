"""Revalidation of stored responses: a stored ETag is only sent if memory has the complete, unchanged response.

A result is stored with its validators and the number of cells that its response wrote, if the commit writes each of
them unchanged, and no other cell with the same times. A process that finds that number of cells of the commit with
these times has the complete response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.freshness import Validators, condition_of, source_at
from ..base.values import UNDEFINED, Meta, Sentinel
from ..cache.response_record import ResponseRecord, repeats
from ..cache.tables import EMPTY, ChangeSet
from ..schema.stored import is_collection
from .change_capture import place_at

if TYPE_CHECKING:
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .read_set import ReadSet
    from .write_behind import WriteBehind


class StoredRevalidation:
    """Restores the response records of loaded results (locked)."""

    def __init__(
        self, store_state: StoreState, connection: StorageConnection, hydrator: Hydrator, write_behind: WriteBehind
    ) -> None:
        self._store_state = store_state
        self._known = connection.known
        self._hydrator = hydrator
        self._write_behind = write_behind

    def look(self, request: Request, walk: ReadSet | None) -> None:
        """Restore the response record of a result after a read has found all rows."""
        key, base = request.key, self._store_state.base
        rev, validator = self._hydrator.validators.get(key, (0, None))
        if validator is None or (walk is not None and walk.state is not base):
            return
        record = self._store_state.response_records.get(key)
        if record is not None and record.holds(key, base):
            return
        meta = base.key_meta(key)
        if meta is None or meta.error is not None:
            return
        change = self._found(rev, meta.times._replace(expires_at=0), walk)
        condition = condition_of(validator.headers)
        is_whole = self._known.key_revs.get(key) == rev and base.result(key) is not UNDEFINED and not meta.invalidated
        is_whole = is_whole and sum(map(len, change.entities.values())) == validator.cells
        if not is_whole or condition is None or not repeats(request.rules) or key != f"GET {request.url}":
            del self._hydrator.validators[key]
            return
        validators = Validators(validator.headers, source_at(request.url), place_at(request), condition)
        self._store_state.response_records[key] = ResponseRecord(None, validators, change, base.result(key))

    def _found(self, rev: int, times: Meta, walk: ReadSet | None) -> ChangeSet:
        """Return the values of a read that one commit wrote with these times."""
        base = self._store_state.base
        change = ChangeSet(base, times)
        for node, pks in () if walk is None else walk.opened:
            table = node.table_key
            revs = self._known.revs.get(table, EMPTY)
            for pk in pks:
                own = base.meta(table, pk)
                if revs.get(pk) != rev or own is None or own[:2] != times[:2] or self._may_differ((table, pk)):
                    continue
                change.entities.setdefault(table, {})[pk] = base.get(table, pk)
                if is_collection(table):
                    change.collections.add(table)
                    change.full_lists[table, pk] = node
        return change

    def _may_differ(self, cell: EntityPath) -> bool:
        """Whether memory may differ from the stored row although it has its rev."""
        if isinstance(self._store_state.base.get(*cell), Sentinel) or cell in self._hydrator.left_out:
            return True
        write_behind = self._write_behind
        return cell in self._known.only_here or self._store_state.is_marked(cell) or write_behind.queue.is_pending(cell)
