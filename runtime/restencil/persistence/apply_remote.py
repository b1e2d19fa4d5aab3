"""Writes values from the storage to memory as one change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..base.values import UNDEFINED, Meta, Sentinel, same_json
from ..cache.tables import EMPTY, ChangeSet
from ..cache.transition import WriteChange
from ..schema.stored import is_collection, is_partial, record_of

if TYPE_CHECKING:
    from ..cache.merge import StoredEntry
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath


def apply_remote(store_state: StoreState, entering: Mapping[EntityPath, StoredEntry]) -> bool:
    """Write new values of these cells to memory as one change; False if nothing differs (locked).

    An object in memory stays if its JSON is the same.
    """
    base = store_state.base
    change = ChangeSet(base, Meta(0, 0, 0))
    differs = False
    for cell, entry in entering.items():
        table, pk = cell
        stored, times, whole = entry
        before = base.get(table, pk)
        kept = before if is_alike(before, stored) else stored
        if kept is before and base.meta(table, pk) == times and base.partial.get(table, EMPTY).get(pk) == whole:
            continue
        differs = True
        write_entry(change, cell, entry._replace(stored=kept))
        if is_collection(table):
            change.collections.add(table)
    if differs:
        store_state.commit(WriteChange(change))
    return differs


def write_entry(change: ChangeSet, cell: EntityPath, entry: StoredEntry) -> None:
    """Add a value from the storage to a change."""
    table, pk = cell
    change.write(table, pk, entry.stored, entry.times)
    if entry.whole is not None:
        change.partial.setdefault(table, {})[pk] = entry.whole


def is_alike(before: object, stored: object) -> bool:
    """Whether a value in memory equals a stored one in JSON."""
    if before is stored:
        return True
    if before is UNDEFINED or isinstance(before, Sentinel) or isinstance(stored, Sentinel):
        return False
    return is_partial(before) is is_partial(stored) and same_json(record_of(before), record_of(stored))
