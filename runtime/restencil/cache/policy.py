"""What a reading means: a few tables, and no other place decides it.

A read of an endpoint looks into the cache and finds *facts*. They lead in three steps to one of four decisions: give
the data, give it and refetch it in the background, wait for a fetch, or raise the recorded error.

The facts are these.

- What was found (`Found`). USABLE is complete data. MISSING: the result of the last fetch is stored,
  but what it refers to never was. ABSENT: there is no result, and the tables do not hold what would make one up, or a
  bounded store let go of it. BROKEN: something that the schema requires was deleted, or nothing was ever fetched of an
  endpoint whose data the tables cannot make up.
- Whether the key was invalidated: someone said that the next read must fetch.
- Which error the last fetch left behind, if it failed (`Recorded`): a HARD one is raised by reads, a SOFT one is not
  as long as there is something to show in spite of it. The next success takes it away, and so does an invalidation.
  The endpoint's `error_policy` says which it is, unless the server did (`Excuses`): it may excuse a while in which it
  fails or cannot be reached, or NO failure once the data is stale.
- Whether old data is worse than none: the endpoint is declared `invalid_if_stale`, or the server said so. It may allow
  that data is shown once it is stale (`Shows`) ALWAYS, A_WHILE, which may have passed, or NEVER.
- Whether the reading is stale: the clock is past the moment at which it expires. A recorded error expires like data
  does, as a rule sooner, and is then tried again.

The first step leaves the clock out. What was found, the error and what is declared give a *status*, which users see:
Invalid (fetch in any case), InvalidIfStale (good for as long as it is fresh), Valid (good, and when stale still better
than nothing). An error replaces broken data: while it is fresh, readers get it, and asking again
would only repeat it. That is why BROKEN is Invalid without an error and InvalidIfStale with one. The second step says
whether the recorded error is shown. The third one adds the clock, and gives the decision. In each table the first row
that fits holds.

Who asks: `read` and paging do what the decision says, and look again after a wait; `fetch_if_stale` fetches on the two
decisions that fetch; `live` does, too, but once for each reading, so that time alone does not start a fetch; `explain`
tells the decision in words; `cached` and `state` never fetch, and show whatever is USABLE, stale or with an error.
What lies ready (see `reader`) is USABLE, not invalidated and without an error; the tables say GIVE for all of that
while it is fresh, so `read` may hand it out without a reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from .reading import INFINITE, Decision, ExpiryStatus

if TYPE_CHECKING:
    from .validators import Terms

_SERVER_ERROR: Final = 500
"""From this status on a server fails itself; what got no answer has it, too."""


class Found(Enum):
    """What a read found."""

    USABLE = "usable"
    """All of it."""
    MISSING = "missing"
    """A stored result that refers to what is not there."""
    ABSENT = "absent"
    """No stored result, or one that was let go of in part, and too little in the tables to make it up."""
    BROKEN = "broken"
    """Something without which there is no data was deleted, or nothing was ever fetched."""


class Recorded(Enum):
    """Which error is recorded for a key."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class Shows(Enum):
    """How long the server allows that stale data is shown while it is revalidated."""

    ALWAYS = "always"
    A_WHILE = "a while"
    NEVER = "never"


class Excuses(Enum):
    """Which failures the server excuses once the data is stale."""

    UNSAID = "unsaid"
    A_WHILE = "a while"
    NONE = "none"


USABLE, MISSING, ABSENT, BROKEN = Found
NONE, SOFT, HARD = Recorded
GIVE, GIVE_AND_REFETCH, WAIT, RAISE = Decision
Invalid, InvalidIfStale, Valid = ExpiryStatus
ALWAYS, A_WHILE, NEVER = Shows
UNSAID, EXCUSED_A_WHILE, NO_EXCUSE = Excuses
YES, NO = True, False

FOUND: Final = (USABLE, MISSING, ABSENT, BROKEN)
RECORDED: Final = (NONE, SOFT, HARD)
STATUS: Final = (Invalid, InvalidIfStale, Valid)
EITHER: Final = (NO, YES)
SHOWS: Final = (ALWAYS, A_WHILE, NEVER)
EXCUSES: Final = (UNSAID, EXCUSED_A_WHILE, NO_EXCUSE)

OLD_ROWS: Final = (
    # invalid_if_stale    the server shows it    that has passed    old data is worse than none
    ((YES,),              (ALWAYS,),             EITHER,            YES),
    (EITHER,              (NEVER,),              EITHER,            YES),
    (EITHER,              (A_WHILE,),            (YES,),            YES),
    (EITHER,              SHOWS,                 EITHER,            NO),
)  # fmt: skip
"""Whether a reader waits rather than sees stale data."""

RECORDED_ROWS: Final = (
    # the server excuses    that has passed    it fails itself    error_policy: soft    the error is
    ((NO_EXCUSE,),          (YES,),            EITHER,            EITHER,               HARD),
    ((EXCUSED_A_WHILE,),    (NO,),             (YES,),            EITHER,               SOFT),
    ((EXCUSED_A_WHILE,),    (YES,),            (YES,),            EITHER,               HARD),
    (EXCUSES,               EITHER,            EITHER,            (YES,),               SOFT),
    (EXCUSES,               EITHER,            EITHER,            (NO,),                HARD),
)  # fmt: skip
"""What a recorded error is."""

STATUS_ROWS: Final = (
    # found       invalidated  error         invalid_if_stale    status
    (FOUND,       (YES,),      RECORDED,     EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (NONE,),      EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (SOFT, HARD), EITHER,             InvalidIfStale),
    ((ABSENT,),  (NO,),       RECORDED,     EITHER,             InvalidIfStale),
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


def _decision_table(rows: Iterable[tuple[Any, ...]]) -> dict[Any, Any]:
    """Rows of sets of facts as a dictionary by facts; the first row that fits holds."""
    table: dict[Any, Any] = {}
    for *sets, outcome in rows:
        for key in product(*sets):
            table.setdefault(key, outcome)
    return table


_OLD: Final[dict[tuple[bool, Shows, bool], bool]] = _decision_table(OLD_ROWS)
_RECORDED: Final[dict[tuple[Excuses, bool, bool, bool], Recorded]] = _decision_table(RECORDED_ROWS)
_STATUS: Final[dict[tuple[Found, bool, Recorded, bool], ExpiryStatus]] = _decision_table(STATUS_ROWS)
_SHOWN: Final[dict[tuple[Found, Recorded], bool]] = _decision_table(ERROR_ROWS)
_DECISION: Final[dict[tuple[ExpiryStatus, bool, bool], Decision]] = _decision_table(DECISION_ROWS)


def is_worse_than_none(terms: Terms, invalid_if_stale: bool, now: float) -> bool:
    """Whether old data is worse than none at this moment."""
    until = terms.stale_while_revalidate_until
    return _OLD[invalid_if_stale, NEVER if not until else ALWAYS if until == INFINITE else A_WHILE, now > until]


def recorded_as(terms: Terms, policy: str | None, error: BaseException, now: float) -> Recorded:
    """What an error is at this moment that the endpoint's policy calls so."""
    fails = getattr(error, "status", 0) >= _SERVER_ERROR
    if terms.must_revalidate:
        return _RECORDED[NO_EXCUSE, now > terms.fresh_until, fails, policy == "soft"]
    until = terms.stale_if_error_until
    if until is None:
        return _RECORDED[UNSAID, False, fails, policy == "soft"]
    return _RECORDED[EXCUSED_A_WHILE, now > until, fails, policy == "soft"]


def status_of(found: Found, invalidated: bool, error: Recorded, invalid_if_stale: bool) -> ExpiryStatus:
    """How far what was found can be used, whatever the time."""
    return _STATUS[found, invalidated, error, invalid_if_stale]


def shows_error(found: Found, error: Recorded) -> bool:
    """Whether readers see the recorded error."""
    return _SHOWN[found, error]


def decide(status: ExpiryStatus, stale: bool, shown_error: bool) -> Decision:
    """What a reader does."""
    return _DECISION[status, stale, shown_error]
