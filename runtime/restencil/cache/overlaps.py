"""What was answered while something else was under way: which of two answers is the later one cannot always be told.

A request tells when it was sent and when it was answered, and not when the server dealt with it. So of a mutation and
a read, or of two mutations, that were under way at the same time no one here knows which the server did last. What
both of them brought is *in doubt*: it shows, and counts as stale, until an answer comes that overlapped with nothing.
Of a mutation that tells nothing of an entity that nobody knows here, that goes for all that a read brings of its kind.

A mutation adds to a list or takes from it, so it does no harm to one that was read before its answer came. But where a
read replaces the list that it was answered into, what it added may be lost; and a list that is read for the first time
meanwhile was not there to be added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .tables import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .in_flight import RequestsInFlight
    from .tables import Cell, Change


ELSEWHERE: Final = -1
"""The start of a change that went through another store: it overlaps with all that are in flight here."""


class Arrival:
    """An answer of the network, numbered among the starts of fetches, and the entities and lists that it brought."""

    __slots__ = ("cells", "collections", "is_change", "number", "started")

    def __init__(self, started: int, number: int, *, is_change: bool, change: Change) -> None:
        self.started = started
        self.number = number
        self.is_change = is_change
        self.cells = {*change.cells(), *((table, WHOLE) for table in change.unknown)}
        self.collections = change.collections


class Overlaps:
    """When what was last answered, as far as a request is in flight that overlapped with it (locked)."""

    def __init__(self, in_flight: RequestsInFlight) -> None:
        self._in_flight = in_flight
        self.are_watched = False
        """Whether what overlapped is in doubt; else the answer of the later request counts, whatever the server did."""
        self._changed: dict[Cell, Arrival] = {}
        """The last answer of a mutation that brought an entity or a list."""
        self._read: dict[Cell, int] = {}
        """When an answer of a read did so while a mutation was in flight."""
        self._heard = 0
        """When a change was heard of that went through another store, if requests were in flight."""
        self.doubtful: set[Cell] = set()
        """What is in doubt."""

    def matters(self, started: int, *, is_change: bool) -> bool:
        """Whether it has to be known what an answer to this fetch brings; as a rule nothing else is in flight."""
        if not self.are_watched and not self._heard:
            return False
        if self._heard or self._changed or (is_change and self._read):
            return True
        others = self._in_flight.by_id if is_change else self._in_flight.mutations
        return len(others) > (started in others)

    def clear(self) -> None:
        """The store starts over."""
        self._heard = 0
        for kept in (self._changed, self._read, self.doubtful):
            kept.clear()

    def met(self, arrival: Arrival) -> set[Cell]:
        """What this answer brings, and one brought that came while this one was under way."""
        started, read = arrival.started, self._read if arrival.is_change else {}
        found: set[Cell] = set()
        for cell in arrival.cells:
            if cell[1] == WHOLE:
                continue
            change = self._last_change(cell)
            overlaps = change is not None and change.number > started
            if cell[0] not in arrival.collections:
                if overlaps or read.get(cell, 0) > started:
                    found.add(cell)
            elif arrival.is_change:
                continue
            elif self._heard > started or (overlaps and change is not None and change.started < started):
                found.add(cell)  # a list that was not known when the change was heard of may lack what that added
            elif change is None and self._may_lack(arrival):
                found.add(cell)
        return found

    def _last_change(self, cell: Cell) -> Arrival | None:
        """The last change of an entity or a list, or of what nobody knows in its table."""
        own, unknown = self._changed.get(cell), self._changed.get((cell[0], WHOLE))
        return own if unknown is None or (own is not None and own.number > unknown.number) else unknown

    def _may_lack(self, arrival: Arrival) -> bool:
        """A change that came meanwhile brought an entity that this list is without, and did not know the list."""
        items = {table for table, _ in arrival.cells if table not in arrival.collections}
        return any(
            change.number > arrival.started
            and table not in change.collections
            and (table, pk) not in arrival.cells
            and (table in items or not items)
            for (table, pk), change in self._changed.items()
        )

    def note(self, arrival: Arrival) -> None:
        """The answer came."""
        in_flight = self._in_flight
        if len(in_flight.by_id) <= (arrival.started in in_flight.by_id):
            self._heard = 0
            self._changed.clear()
            self._read.clear()
        elif arrival.is_change:
            if arrival.started == ELSEWHERE:
                self._heard = arrival.number
            self._changed.update(dict.fromkeys(arrival.cells, arrival))
        else:
            self._read.update(dict.fromkeys(arrival.cells, arrival.number))

    def settled(self, change: Change, doubtful: Iterable[Cell]) -> None:
        """A change was written: what it wrote is in doubt no more, except for this, and lists that it only changed."""
        if self.doubtful:
            lists, whole = change.collections, change.answered
            self.doubtful.difference_update(cell for cell in change.cells() if cell[0] not in lists or cell in whole)
        self.doubtful.update(doubtful)
