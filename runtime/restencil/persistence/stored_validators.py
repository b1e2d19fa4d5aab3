"""Validators on their way to a storage: a result is stored with what tells its answer from the next one.

That goes with it only where the commit leaves each cell as the answer wrote it, and no other cell with the answer's
times; and it says how many cells those are. So who finds so many of that commit and those times has them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..cache.validators import source_at
from .apply_remote import is_alike

if TYPE_CHECKING:
    from ..cache.merge import StoredEntry
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from ..cache.validators import Validators
    from .pending_write import Result


def place_at(request: Request) -> str:
    """Where an answer came from that was not redirected."""
    return request.url.partition("?")[0]


def is_bare(validators: Validators, request: Request) -> bool:
    """Whether a response depends on its URL alone: not redirected, and no header of the call selected it."""
    return validators.source == source_at(request.url) and validators.place == place_at(request)


def with_stored_validators(
    results: Mapping[str, Result], rows: Mapping[EntityPath, StoredEntry], store_state: StoreState
) -> Iterator[tuple[str, int]]:
    """The keys whose results are to be stored with their validators, and how many cells the answer wrote (locked).

    They are those whose rows are all in memory, equal to the rows to be stored.
    """
    found = {key: result for key, result in results.items() if result.validators is not None}
    if not found:
        return
    base, of_times = store_state.base, Counter(held.times[:2] for held in rows.values())
    for key, result in found.items():
        witness = store_state.response_records.get(key)
        if witness is None or witness.validators is not result.validators or not witness.holds(key, base):
            continue
        written = dict(witness.cells())
        if of_times[result.times[:2]] == len(written) and all(
            cell in rows and rows[cell].times[:2] == result.times[:2] and is_alike(stored, rows[cell].stored)
            for cell, stored in written.items()
        ):
            yield key, len(written)
