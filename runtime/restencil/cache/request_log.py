"""Requests that overlapped: of two that were under way together nobody here knows which the server carried out last.

A request is noted when it was answered, for as long as another one is under way that began before that. Where two
overlapped and one is a change, what both of them touched is stale as soon as the later one was answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .marking import mark_record
from .staleness import StaleSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .tables import EntityPath, State


class Answered(NamedTuple):
    """A request that was answered: its number, and what it touched."""

    number: float
    is_change: bool
    label: str
    records: frozenset[EntityPath]
    """What the path or body names, or the response brought."""
    tables: frozenset[str]
    """Of a change, the entities whose lists it may have changed."""
    lists: Mapping[EntityPath, tuple[str, ...]]
    """The memberships that the response brought, with the entities in them."""
    plain_lists: frozenset[str]
    """The entities of its lists that are no collections."""
    key: str


class RequestLog:
    """The requests that were answered while others were under way (locked)."""

    def __init__(self) -> None:
        self._answered: list[tuple[float, Answered]] = []

    def __bool__(self) -> bool:
        return bool(self._answered)

    def clear(self) -> None:
        """The store starts over."""
        self._answered.clear()

    def overlaps(self, this: Answered, state: State) -> StaleSet:
        """What is stale because another request overlapped with this one, which was answered later."""
        stale = StaleSet("")
        for at, other in self._answered:
            if at >= this.number and (this.is_change or other.is_change):
                stale.event = f"a change overlapped with another request: {_change_of(this, other).label}"
                self._add(stale, this, other, state)
        return stale

    def _add(self, stale: StaleSet, this: Answered, other: Answered, state: State) -> None:
        both = this.is_change and other.is_change
        for cell in this.records & other.records:
            mark_record(stale, state, cell, existence=both)
        for one, change in ((this, other), (other, this)):
            if change.is_change:
                stale.cells.update(cell for cell, tables in one.lists.items() if not change.tables.isdisjoint(tables))
                if not change.tables.isdisjoint(one.plain_lists):
                    stale.keys.add(one.key)

    def add(self, this: Answered, at: float, running: Iterable[float]) -> None:
        """Notes a request that was answered when this was the highest number; of others `running` the numbers."""
        oldest = min(running, default=None)
        self._answered = [] if oldest is None else [(when, one) for when, one in self._answered if when >= oldest]
        if oldest is not None:
            self._answered.append((at, this))


def _change_of(this: Answered, other: Answered) -> Answered:
    return other if other.is_change else this
