"""Which commit of a storage stands for the moment of a request."""

from __future__ import annotations

from itertools import count

from restencil.persistence.timeline import Timeline


class Numbers:
    """The numbers of a store's requests and events."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.last = 0.0

    def next(self) -> float:
        self.last = float(next(self._numbers))
        return self.last


def test_timeline_own_commit_is_known_to_a_request_after_it() -> None:
    """What a store made stale before a request, and committed after it, was known to the request."""
    numbers = Numbers()
    timeline = Timeline(numbers.next, lambda: numbers.last)
    event = timeline.event(numbers.next())
    request = numbers.next()
    timeline.committed(event, 1)
    timeline.knows(1, taken=True)
    assert timeline.commit_of(request) == 1


def test_timeline_own_commit_among_missed_ones_is_not_known_to_a_request_before_them() -> None:
    """Others may have changed something between the request and the commit: part of the log is gone."""
    numbers = Numbers()
    timeline = Timeline(numbers.next, lambda: numbers.last)
    event = timeline.event(numbers.next())
    request = numbers.next()
    timeline.misses(5)
    timeline.committed(event, 4)
    assert timeline.commit_of(request) == 0


def test_timeline_one_commit_has_one_number_whenever_it_is_asked_for() -> None:
    """Rows and results of one response stay together, also if something is made stale between their loads."""
    numbers = Numbers()
    timeline = Timeline(numbers.next, lambda: numbers.last)
    timeline.knows(3, taken=True)
    first = timeline.number_of(3)
    event = timeline.event(numbers.next())
    assert timeline.number_of(3) == first < event.number
