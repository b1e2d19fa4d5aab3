"""Revalidation of stored responses: an ETag from storage may be sent only if memory has all of its response, unchanged.

A result is stored with its validators and the number of cells that its response wrote, if the commit leaves each of
them as the response wrote it, and no other cell with the same times. A process that finds so many cells of that commit
with these times has the whole response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..base.freshness import condition_of
from ..base.values import UNDEFINED, Meta, Sentinel
from ..cache.response_record import repeats
from ..cache.tables import EMPTY, ChangeSet
from ..cache.validators import Validators, source_at
from .apply_remote import is_alike
from .row_codec import is_collection

if TYPE_CHECKING:
    from ..cache.merge import StoredEntry
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from .connection import StorageConnection
    from .hydration import Hydrator
    from .pending_write import Result
    from .read_set import ReadSet
    from .write_behind import WriteBehind


def place_at(request: Request) -> str:
    """The final URL of a response that was not redirected."""
    return request.url.partition("?")[0]


def is_bare(validators: Validators, request: Request) -> bool:
    """Whether a response depends on its URL alone: not redirected, and no header of the call selected it."""
    return validators.source == source_at(request.url) and validators.place == place_at(request)


def with_stored_validators(
    results: Mapping[str, Result], rows: Mapping[EntityPath, StoredEntry], store_state: StoreState
) -> Iterator[tuple[str, int]]:
    """The keys whose results are to be stored with their validators, and how many cells their responses wrote (locked).

    They are those whose rows are all in memory, equal to the rows to be stored.
    """
    found = {key: result for key, result in results.items() if result.validators is not None}
    if not found:
        return
    base, of_times = store_state.base, Counter(held.times[:2] for held in rows.values())
    for key, result in found.items():
        record = store_state.response_records.get(key)
        if record is None or record.validators is not result.validators or not record.holds(key, base):
            continue
        written = dict(record.cells())
        if of_times[result.times[:2]] == len(written) and all(
            cell in rows and rows[cell].times[:2] == result.times[:2] and is_alike(stored, rows[cell].stored)
            for cell, stored in written.items()
        ):
            yield key, len(written)


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
        """Restores the record of a result after a read has found all that it needs."""
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
        change = self._found(rev, Meta(meta.fetched_at, meta.date, 0), walk)
        condition = condition_of(validator.headers)
        is_whole = self._known.key_revs.get(key) == rev and base.result(key) is not UNDEFINED and not meta.invalidated
        is_whole = is_whole and sum(map(len, change.entities.values())) == validator.cells
        if not is_whole or condition is None or not repeats(request.rules) or key != f"GET {request.url}":
            del self._hydrator.validators[key]
            return
        validators = Validators(validator.headers, source_at(request.url), place_at(request), condition)
        self._store_state.restore_response_record(key, validators, change)

    def _found(self, rev: int, times: Meta, walk: ReadSet | None) -> ChangeSet:
        """The values of one commit with these times, among those of a read."""
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
        return (
            cell in write_behind.capture.local_only
            or self._store_state.is_marked(cell)
            or write_behind.is_pending(cell)
        )
