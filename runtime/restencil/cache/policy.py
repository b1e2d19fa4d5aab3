"""What a reading means: three tables, and no other place decides it.

A read of an endpoint looks into the cache and finds *facts*. They lead in three steps to one of four decisions: give
the data, give it and refetch it in the background, wait for a fetch, or raise the recorded error.

The facts are these.

- What was found (`Found`). USABLE is data of which nothing is missing. MISSING: the result of the last fetch is stored,
  but what it refers to never was. LACKING: there is no result, and the tables do not hold what would make one up, or a
  bounded store let go of it. BROKEN: something that the schema requires was deleted, or nothing was ever fetched of an
  endpoint whose data the tables cannot make up.
- Whether the key was invalidated: someone said that the next read must fetch.
- Which error the last fetch left behind, if it failed (`Recorded`): a HARD one is raised by reads, a SOFT one is not
  as long as there is something to show in spite of it. The next success takes it away, and so does an invalidation.
- Whether the endpoint is declared `invalid_if_stale`: old data is worse than none.
- Whether the reading is stale: the clock is past the moment at which it expires. A recorded error expires like data
  does, as a rule sooner, and is then tried again.

The first step leaves the clock out. What was found, the error and what is declared give a *status*, which users see:
Invalid (fetch in any case), InvalidIfStale (good for as long as it is fresh), Valid (good, and when stale still better
than nothing). An error stands in for broken data: while it is fresh, it is what there is to say, and asking again
would only repeat it. That is why BROKEN is Invalid without an error and InvalidIfStale with one. The second step says
whether the recorded error is shown. The third one adds the clock, and gives the decision. In each table the first row
that fits holds.

Who asks: `read` and paging do what the decision says, and look again after a wait; `fetch_if_stale` fetches on the two
decisions that fetch; `live` does, too, but once for each reading, so that time alone does not start a fetch; `explain`
tells the decision in words; `cached` and `state` never fetch, and show whatever is USABLE, stale or with an error.
What lies ready (see `lookup`) is USABLE, not invalidated and without an error; the tables say GIVE for all of that
while it is fresh, so `read` may hand it out without a reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import product
from typing import Any, Final

from .reading import Decision, ExpiryStatus


class Found(Enum):
    """What a read found."""

    USABLE = "usable"
    """All of it."""
    MISSING = "missing"
    """A stored result that refers to what is not there."""
    LACKING = "lacking"
    """No stored result, or one that was let go of in part, and too little in the tables to make it up."""
    BROKEN = "broken"
    """Something without which there is no data was deleted, or nothing was ever fetched."""


class Recorded(Enum):
    """Which error is recorded for a key."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


USABLE, MISSING, LACKING, BROKEN = Found
NONE, SOFT, HARD = Recorded
GIVE, GIVE_AND_REFETCH, WAIT, RAISE = Decision
Invalid, InvalidIfStale, Valid = ExpiryStatus
YES, NO = True, False

FOUND: Final = (USABLE, MISSING, LACKING, BROKEN)
RECORDED: Final = (NONE, SOFT, HARD)
STATUS: Final = (Invalid, InvalidIfStale, Valid)
EITHER: Final = (NO, YES)

STATUS_ROWS: Final = (
    # found       invalidated  error         invalid_if_stale    status
    (FOUND,       (YES,),      RECORDED,     EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (NONE,),      EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (SOFT, HARD), EITHER,             InvalidIfStale),
    ((LACKING,),  (NO,),       RECORDED,     EITHER,             InvalidIfStale),
    (FOUND,       (NO,),       RECORDED,     (YES,),             InvalidIfStale),
    (FOUND,       (NO,),       RECORDED,     (NO,),              Valid),
)  # fmt: skip
"""How far what was found can be used, whatever the time."""

ERROR_ROWS: Final = (
    # found       error         the error is shown
    (FOUND,       (NONE,),      NO),
    ((USABLE,),   (SOFT,),      NO),
    (FOUND,       (SOFT, HARD), YES),
)  # fmt: skip
"""Whether readers see the recorded error."""

DECISION_ROWS: Final = (
    # status             stale    error is shown    decision
    ((Invalid,),         EITHER,  EITHER,           WAIT),
    ((InvalidIfStale,),  (YES,),  EITHER,           WAIT),
    ((Valid,),           (YES,),  EITHER,           GIVE_AND_REFETCH),
    (STATUS,             (NO,),   (YES,),           RAISE),
    (STATUS,             (NO,),   (NO,),            GIVE),
)  # fmt: skip
"""What a reader does."""


def _by_facts(rows: Iterable[tuple[Any, ...]]) -> dict[Any, Any]:
    """Rows of sets of facts as a dictionary by facts; the first row that fits holds."""
    table: dict[Any, Any] = {}
    for *sets, outcome in rows:
        for facts in product(*sets):
            table.setdefault(facts, outcome)
    return table


_STATUS: Final[dict[tuple[Found, bool, Recorded, bool], ExpiryStatus]] = _by_facts(STATUS_ROWS)
_SHOWN: Final[dict[tuple[Found, Recorded], bool]] = _by_facts(ERROR_ROWS)
_DECISION: Final[dict[tuple[ExpiryStatus, bool, bool], Decision]] = _by_facts(DECISION_ROWS)


def status_of(found: Found, invalidated: bool, error: Recorded, invalid_if_stale: bool) -> ExpiryStatus:
    """How far what was found can be used, whatever the time."""
    return _STATUS[found, invalidated, error, invalid_if_stale]


def shows_error(found: Found, error: Recorded) -> bool:
    """Whether readers see the recorded error."""
    return _SHOWN[found, error]


def decide(status: ExpiryStatus, stale: bool, shown_error: bool) -> Decision:
    """What a reader does."""
    return _DECISION[status, stale, shown_error]
