"""The table of what a reading means: complete, and each row is needed."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from restencil.cache import policy
from restencil.cache.policy import (
    ABSENT,
    BROKEN,
    FOUND,
    NONE,
    RECORDED,
    SOFT,
    USABLE,
    Decision,
    ExpiryStatus,
    Found,
    Recorded,
    decide,
)

BOTH = (False, True)
Invalid, InvalidIfStale, Valid = ExpiryStatus


def written_status(found: Found, invalidated: bool, error: Recorded, invalid_if_stale: bool) -> ExpiryStatus:
    """The rules of a status as sentences."""
    if invalidated:
        return Invalid
    if found is BROKEN and error is NONE:
        return Invalid
    if found in (BROKEN, ABSENT) or invalid_if_stale:
        return InvalidIfStale
    return Valid


def written_decision(status: ExpiryStatus, stale: bool, error: bool) -> Decision:
    """The rules of a decision as sentences."""
    fetches = stale or status is Invalid
    if fetches:
        return Decision.GIVE_AND_REFETCH if status is Valid else Decision.WAIT
    return Decision.RAISE if error else Decision.GIVE


def test_policy_tables_say_what_the_sentences_say() -> None:
    """For all combinations of facts."""
    for facts in product(FOUND, BOTH, RECORDED, BOTH, BOTH):
        found, _, error, _, stale = facts
        shown = error is not NONE and not (error is SOFT and found is USABLE)
        status = written_status(*facts[:4])
        assert decide(*facts) == (status, shown, written_decision(status, stale, shown)), facts


@pytest.mark.parametrize("name", ["OLD_ROWS", "RECORDED_ROWS", "STATUS_ROWS", "ERROR_ROWS", "DECISION_ROWS"])
def test_policy_each_row_decides_something(name: str) -> None:
    """There is a combination of facts for which it is the first that fits."""
    taken: set[Any] = set()
    rows: Any = getattr(policy, name)
    for *sets, outcome in rows:
        own = set(product(*sets)) - taken
        assert own, (sets, outcome)
        taken |= own
