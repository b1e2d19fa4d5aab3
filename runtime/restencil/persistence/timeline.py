"""Maps local request numbers to commits of the storage, and back.

A store numbers its requests and events by itself; a storage numbers commits. A response is stored with the newest
commit that was known when its request was sent. Here that commit becomes a local number again: one that is higher than
those of all events which that commit or an earlier one tells of, and lower than those of later events. An event of this
store has no commit until what tells of it is written; until then no commit comes after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from math import floor, inf, nextafter
from typing import Final

from ..cache.staleness import NEVER

_STORED: Final = -(2.0**50)
"""Commits from before the storage was opened have numbers from here on, below those of all requests of this store."""
_MOST_EVENTS: Final = 4_096
"""So many events are remembered; what is older than those counts as requested before all of them."""


class Event:
    """Something became stale: at a local number, and by a commit, None as long as it waits for one."""

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
        """Starts at this newest commit; what is stored is ordered by its commits alone."""
        self._opened = commit
        self._known_at: list[float] = [self._next_number()]
        self._known: list[int] = [commit]
        self._own: deque[Event] = deque(maxlen=_MOST_EVENTS)
        """The events of this store that have a commit, in the order of these."""
        self._others: list[int] = []
        """The commits of others that made something stale."""
        self._taken = commit
        self._missed = commit
        """What commits up to this one tell of was not all learned."""
        self._numbers: dict[int, float] = {}
        """The local numbers of commits, so that all that one response brought has one number whenever it is loaded."""
        self._forgotten: Event | None = None
        self._events = deque(event for event in self._events if event.commit is None)

    # -- what happens --------------------------------------------------------------------------------------------------

    def event(self, number: float) -> Event:
        """This store made something stale, at this number; its commit follows."""
        return self._add(Event(number, None))

    def committed(self, event: Event, commit: int) -> None:
        """An event of this store waits no more: this commit tells of it."""
        event.commit = commit
        self._own.append(event)

    def event_elsewhere(self, number: float, commit: int) -> None:
        """A commit of another store made something stale, which this store learned at this number."""
        self._add(Event(number, commit))
        self._others.append(commit)

    def _add(self, event: Event) -> Event:
        self._events.append(event)
        while len(self._events) > _MOST_EVENTS and self._events[0].commit is not None:
            self._forgotten = self._events.popleft()
            del self._others[: bisect_left(self._others, self._forgotten.commit or 0)]
        return event

    def drop(self, event: Event) -> None:
        """Forgets an event that is never committed."""
        if event in self._events:
            self._events.remove(event)

    def knows(self, commit: int, *, taken: bool) -> None:
        """Notes that this commit exists; `taken`: this store has taken it and earlier ones in."""
        if commit > self._known[-1]:
            self._known_at.append(self._next_number())
            self._known.append(commit)
            if len(self._known) > 2 * _MOST_EVENTS:
                del self._known[:_MOST_EVENTS], self._known_at[:_MOST_EVENTS]
        if taken:
            self._taken = max(self._taken, commit)

    def misses(self, commit: int) -> None:
        """What commits up to this one tell of is not known any more."""
        self.knows(commit, taken=True)
        self._missed = commit

    # -- numbers -------------------------------------------------------------------------------------------------------

    def number_of(self, commit: int) -> float:
        """The local number of a request that was sent when this was the newest known commit; -1: unknown."""
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
        """The lowest number that is certainly not before what this commit tells of, and before what later ones do."""
        for event in self._events:
            if event.commit is None or event.commit > commit:
                return event.number
        return nextafter(max(0.0, self._last_number()), inf)

    def last_event(self, commit: int) -> float:
        """The local number of the newest event that a request which knew this commit knew of; NEVER: of none."""
        for event in reversed(self._events):
            if event.commit is not None and event.commit <= commit:
                return event.number
        return NEVER

    def number_of_event(self, commit: int) -> float:
        """The local number of the event of a commit."""
        if commit <= self._opened:
            return _STORED + commit
        if self._forgotten is not None and commit <= (self._forgotten.commit or 0):
            return self._forgotten.number
        for event in self._events:
            if event.commit is not None and event.commit >= commit:
                return event.number
        return self._last_number()

    def commit_of(self, number: float) -> int:
        """The newest commit that was known when the request of this local number was sent; -1: unknown."""
        if number <= NEVER:
            return -1
        if number < _STORED / 2:
            return floor(number - _STORED)
        at = bisect_left(self._known_at, number)
        known = self._known[at - 1] if at else 0 if self._opened == 0 and self._known[0] == 0 else -1
        if known < 0:
            return known
        # What this store itself had made stale by then goes first, also where it was written only later.
        for event in reversed(self._own):
            commit = event.commit or 0
            if commit <= known:
                break
            if event.number < number and self._is_own_time(known, commit):
                return commit
        return known

    def _is_own_time(self, known: int, commit: int) -> bool:
        """Whether no other store made anything stale between these commits."""
        if commit > self._taken + 1 or known < self._missed:
            return False
        at = bisect_left(self._others, known + 1)
        return at == len(self._others) or self._others[at] > commit
