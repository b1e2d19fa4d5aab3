"""The version map: which commits of the storage memory has."""

from __future__ import annotations

from itertools import count

from restencil.persistence.connection import VersionMap
from restencil.storage import Opened


def test_version_map_changes_before_a_reset_concern_no_later_load() -> None:
    """The numbers of an epoch say nothing about those of the next one."""
    numbers = count(1)
    known = VersionMap((lambda: next(numbers), lambda: 0.0))
    known.begin(Opened(1, 0, 0, 0.0))
    for number in range(1, 301):
        known.applied(number, frozenset({("Item", str(number))}))
    assert known.late(300) == frozenset()
    assert known.late(298) == frozenset({("Item", "299"), ("Item", "300")})
    assert known.late(10) is None
    known.begin_epoch(2, reset=2, number=0)
    known.applied(1, frozenset({"GET /items"}))
    assert known.late(0) == frozenset({"GET /items"})
