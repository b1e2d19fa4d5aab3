"""Maps local request numbers to commits of the storage, and back.

A store numbers its requests and events by itself; a storage numbers commits. A response is stored with the newest
commit that was known when its request was sent. A timeline converts that commit to a local number that is higher than
the numbers of all events in that commit and earlier ones, and lower than those of later events. An event of this store
has no commit until it is written; until then it is later than all commits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from math import floor, inf, nextafter
from typing import Final

from ..cache.staleness import NEVER

_STORED: Final = -(2.0**50)
"""The first number of commits from before the storage was opened, lower than those of all requests of this store."""
_MOST_EVENTS: Final = 4_096
"""Events that are remembered; older requests count as sent before all of them."""


class Event:
    """A change that made entries stale: its local number and its commit, None until it is committed."""

    __slots__ = ("commit", "number")

    def __init__(self, number: float, commit: int | None) -> None:
        self.number = number
        self.commit = commit


class Timeline:
    """The events and commits of one epoch in the order in which this store learned of them (locked)."""

    def __init__(self, next_number: Callable[[], float], last_number: Callable[[], float]) -> None:
        self._next_number = next_number
        self._last_number = last_number
        self._events: deque[Event] = deque()
        self.begin(0)

    def begin(self, commit: int) -> None:
        """Start over at this newest commit; stored entries are ordered by their commits alone."""
        self._opened = commit
        self._known: list[tuple[float, int]] = [(self._next_number(), commit)]
        """The commits that exist, each after the local number at which this store learned of it."""
        self._own: deque[Event] = deque(maxlen=_MOST_EVENTS)
        """The committed events of this store, in the order of their commits."""
        self._others: list[int] = []
        """The commits of other stores that made something stale."""
        self._taken = commit
        self._missed = commit
        """The newest commit before which events may have been missed."""
        self._numbers: dict[int, float] = {}
        """The local numbers of commits, so that all rows of one response get the same number at any time."""
        self._forgotten: Event | None = None
        self._events = deque(event for event in self._events if event.commit is None)

    # -- events and commits --------------------------------------------------------------------------------------------

    def event(self, number: float) -> Event:
        """Add an event of this store at this number; its commit follows."""
        return self._add(Event(number, None))

    def committed(self, event: Event, commit: int) -> None:
        """Note the commit of an event of this store."""
        event.commit = commit
        self._own.append(event)

    def event_elsewhere(self, number: float, commit: int) -> None:
        """Add the event of a commit of another store, which this store received at this number."""
        self._add(Event(number, commit))
        self._others.append(commit)

    def _add(self, event: Event) -> Event:
        self._events.append(event)
        while len(self._events) > _MOST_EVENTS and self._events[0].commit is not None:
            self._forgotten = self._events.popleft()
            del self._others[: bisect_left(self._others, self._forgotten.commit or 0)]
        return event

    def drop(self, event: Event) -> None:
        """Forget an event that is never committed."""
        if event in self._events:
            self._events.remove(event)

    def knows(self, commit: int, *, taken: bool) -> None:
        """Note that this commit exists. With `taken`, this store has applied it and all earlier ones."""
        if commit > self._known[-1][1]:
            self._known.append((self._next_number(), commit))
            if len(self._known) > 2 * _MOST_EVENTS:
                del self._known[:_MOST_EVENTS]
        if taken:
            self._taken = max(self._taken, commit)

    def misses(self, commit: int) -> None:
        """Note that events of commits up to this one may have been missed."""
        self.knows(commit, taken=True)
        self._missed = commit

    # -- numbers -------------------------------------------------------------------------------------------------------

    def number_of(self, commit: int) -> float:
        """Return the local number of a request that was sent when this was the newest known commit; -1 is unknown."""
        if commit < 0:
            return _STORED - 1
        if commit <= self._opened:
            return _STORED + commit + 0.5
        if self._forgotten is not None and commit < (self._forgotten.commit or 0):
            return _STORED + self._opened + 0.5
        found = self._numbers.get(commit)
        if found is None:
            if len(self._numbers) >= _MOST_EVENTS:
                self._numbers.clear()
            found = self._numbers[commit] = self._number_after(commit)
        return found

    def _number_after(self, commit: int) -> float:
        """Return a number after the events of this commit and earlier ones, and not after those of later ones."""
        for event in self._events:
            if event.commit is None or event.commit > commit:
                return event.number
        return nextafter(max(0.0, self._last_number()), inf)

    def last_event(self, commit: int) -> float:
        """Return the local number of the newest event up to a commit; NEVER if there is none."""
        for event in reversed(self._events):
            if event.commit is not None and event.commit <= commit:
                return event.number
        return NEVER

    def number_of_event(self, commit: int) -> float:
        """Return the local number of the event of a commit."""
        if commit <= self._opened:
            return _STORED + commit
        if self._forgotten is not None and commit <= (self._forgotten.commit or 0):
            return self._forgotten.number
        for event in self._events:
            if event.commit is not None and event.commit >= commit:
                return event.number
        return self._last_number()

    def commit_of(self, number: float) -> int:
        """Return the newest commit that was known when the request of this local number was sent; -1 if unknown."""
        if number <= NEVER:
            return -1
        if number < _STORED / 2:
            return floor(number - _STORED)
        at = bisect_left(self._known, (number,))
        known = self._known[at - 1][1] if at else 0 if self._opened == 0 and self._known[0][1] == 0 else -1
        if known < 0:
            return known
        # A request knows the earlier events of its own store, even those that were committed later.
        for event in reversed(self._own):
            commit = event.commit or 0
            if commit <= known:
                break
            if event.number < number and self._is_own_time(known, commit):
                return commit
        return known

    def _is_own_time(self, known: int, commit: int) -> bool:
        """Whether no other store made anything stale after `known`, up to `commit`."""
        if commit > self._taken + 1 or known < self._missed:
            return False
        at = bisect_left(self._others, known + 1)
        return at == len(self._others) or self._others[at] > commit
