"""Selects the results that are stored with validators: those whose response is stored completely and unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..base.freshness import Validators, source_at
from .stored_forms import is_alike

if TYPE_CHECKING:
    from ..cache.merge import StoredEntry
    from ..cache.request import Request
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath
    from .pending_write import Result


def place_at(request: Request) -> str:
    """Return the final URL, without query, of a response that was not redirected."""
    return request.url.partition("?")[0]


def is_bare(validators: Validators, request: Request) -> bool:
    """Whether a response depends on its URL alone: it was not redirected, and no header of the call selected it."""
    return validators.source == source_at(request.url) and validators.place == place_at(request)


def with_stored_validators(
    results: Mapping[str, Result], rows: Mapping[EntityPath, StoredEntry], store_state: StoreState
) -> Iterator[tuple[str, int]]:
    """Yield the keys whose results are stored with validators, each with the number of cells of its response (locked).

    Their rows are all in memory and equal to the rows that are stored.
    """
    found = {key: result for key, result in results.items() if result.validators is not None}
    if not found:
        return
    base, of_times = store_state.base, Counter(held.times[:2] for held in rows.values())
    for key, result in found.items():
        record = store_state.response_records.get(key)
        if record is None or record.validators is not result.validators or not record.holds(key, base):
            continue
        written, times = dict(record.cells()), result.meta.times[:2]
        if of_times[times] == len(written) and all(
            cell in rows and rows[cell].times[:2] == times and is_alike(stored, rows[cell].stored)
            for cell, stored in written.items()
        ):
            yield key, len(written)
