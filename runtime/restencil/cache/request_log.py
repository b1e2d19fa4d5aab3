"""A log of overlapping requests, whose order of processing by the server is unknown.

A request is logged when its response arrives, as long as another request is in flight that started before. If two
requests overlapped and one is a mutation, all data that both touched is stale once the second response has arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .marking import mark_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .staleness import StaleSet
    from .tables import EntityPath, State


class Answered(NamedTuple):
    """A request with a response: its number, and the data that it touched."""

    number: float
    is_change: bool
    label: str
    records: frozenset[EntityPath]
    """The records that the path or body identifies, or that the response contained."""
    tables: frozenset[str]
    """The entities whose lists a mutation may have changed."""
    lists: Mapping[EntityPath, tuple[str, ...]]
    """The lists that the response contained, with the tables of their items."""
    plain_lists: frozenset[str]
    """The entities in lists of the response that are no collections."""
    key: str
    results: frozenset[str]
    """The keys of the results that it wrote: for a read its own, for a mutation those of its `update` hook."""


class RequestLog:
    """The requests whose responses arrived while others were in flight (locked)."""

    def __init__(self) -> None:
        self._answered: list[tuple[float, Answered]] = []

    def __bool__(self) -> bool:
        return bool(self._answered)

    def clear(self) -> None:
        """Forget all requests, because the store was reset."""
        self._answered.clear()

    def mark_overlaps(self, stale: StaleSet, this: Answered, state: State) -> None:
        """Mark what is stale because earlier responses belong to requests that overlapped with this one."""
        has_event = bool(stale)
        for at, other in self._answered:
            if at >= this.number and (this.is_change or other.is_change):
                if not has_event:
                    stale.event = f"a change overlapped with another request: {_change_of(this, other).label}"
                self._add(stale, this, other, state)

    def _add(self, stale: StaleSet, this: Answered, other: Answered, state: State) -> None:
        both = this.is_change and other.is_change
        stale.keys |= this.results & other.results
        for cell in this.records & other.records:
            mark_record(stale, state, cell, existence=both)
        for one, change in ((this, other), (other, this)):
            if change.is_change:
                stale.cells.update(cell for cell, tables in one.lists.items() if not change.tables.isdisjoint(tables))
                if not change.tables.isdisjoint(one.plain_lists):
                    stale.keys.add(one.key)

    def add(self, this: Answered, at: float, running: Iterable[float]) -> None:
        """Log a request whose response arrived when `at` was the highest number; `running` are those in flight."""
        oldest = min(running, default=None)
        self._answered = [] if oldest is None else [(when, one) for when, one in self._answered if when >= oldest]
        if oldest is not None:
            self._answered.append((at, this))


def _change_of(this: Answered, other: Answered) -> Answered:
    return other if other.is_change else this
