"""Marks records as stale, with the lists that they may have joined or left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..schema.collection import identity_of_text
from ..schema.stored import entries_of, entry_pk
from .tables import Tables

if TYPE_CHECKING:
    from collections.abc import Collection as Sized

    from .staleness import StaleSet
    from .tables import EntityPath, ListBinding, State


def mark_record(stale: StaleSet, state: State, cell: EntityPath, *, existence: bool) -> None:
    """Mark a record as stale, with the memberships of lists that it may have joined or left.

    Without `existence`, it was neither created nor deleted, so that it stays in lists without a filter.
    """
    stale.cells.add(cell)
    mark_lists(stale, state, cell[0], filtered_only=not existence)


def mark_lists(
    stale: StaleSet, state: State, table: str, *, filtered_only: bool = False, followed: Sized[EntityPath] = ()
) -> None:
    """Mark all lists of an entity as stale, known or not, except those that were updated (`followed`).

    Lists with records that have no primary key were not: any of them may be the record that changed.
    """
    stale.plain_lists.add(table)
    (stale.filtered_lists if filtered_only else stale.lists).add(table)
    for listing in state.listings(table):
        cell = listing.cell
        is_followed = cell in followed and not _has_unidentified(listing, state)
        if not is_followed and (not filtered_only or _has_filter(listing)):
            stale.cells.add(cell)
        elif isinstance(state, Tables) and (meta := state.meta(*cell)) is not None:
            stale.spared_lists[cell] = state.number(cell, meta)


def _has_unidentified(listing: ListBinding, state: State) -> bool:
    """Return whether a list contains a record that has no primary key."""
    is_possible = any(entity.model.pk_optional for entity in listing.collection.item.entities.values())
    return is_possible and any(entry_pk(entry) is None for entry in entries_of(state.get(*listing.cell)))


def _has_filter(listing: ListBinding) -> bool:
    """Return whether a list has an argument that filters its members, or a path of its own, which may do so."""
    arguments = identity_of_text(listing.cell[1])
    filters = any(not listing.collection.non_filter_argument_keys(name) for name in arguments)
    return filters or bool(listing.collection.apart)
