"""The result of a read, and the decision tables of reads: whether to return data, fetch, or raise an error.

A read of an endpoint collects inputs from the cache. They lead in three steps to one of four decisions: return the
data, return it and refetch it in the background, wait for a fetch, or raise the recorded error.

The inputs are these.

- What was found (`Found`). USABLE: complete data. MISSING: the result of the last fetch is stored, but it refers to
  records that never were. ABSENT: there is no result, and it cannot be assembled from the tables, or part of it was
  evicted. BROKEN: something that the schema requires was deleted, or nothing was ever fetched for an endpoint whose
  data cannot be assembled from the tables.
- Whether the key was invalidated, so that the next read must fetch.
- The error that the last fetch recorded, if it failed (`Recorded`): reads raise a HARD one; they raise a SOFT one only
  if there is no data to show. The next success or invalidation removes it. The endpoint's `error_policy` chooses
  between them, unless the server does (`Excuses`): it may allow stale data for A_WHILE of server failures
  (`stale-if-error`), or forbid it for all failures (`must-revalidate`).
- Whether stale data must not be shown: the endpoint declares `invalid_if_stale`, or the server forbids it. The server
  may allow that stale data is shown (`Shows`) ALWAYS, for A_WHILE, which may have passed, or NEVER.
- Whether the reading is stale: the current time is after its expiry. A recorded error expires like data, usually
  sooner, and the fetch is then repeated.

The first step ignores the clock. It derives a *status*, which users see, from what was found, the error and the
declarations: Invalid (always fetch), InvalidIfStale (usable while fresh), Valid (usable, also when stale). An error
replaces broken data: while it is fresh, readers get the error, as another request would only repeat it. That is why
BROKEN is Invalid without an error and InvalidIfStale with one. The second step decides whether the recorded error is
shown. The third step adds the clock and returns the decision. In each table the first matching row applies.

Callers: `read` and paging follow the decision, and read again after a wait; `fetch_if_stale` fetches on the two
decisions that fetch; so does `live`, but once for each reading, so that time alone does not start a fetch; `explain`
describes the decision in words; `cached` and `state` never fetch, and return all USABLE data, even if it is stale or
has an error. Hot results (see `reader`) are USABLE, not invalidated and without an error; the decision for these is
always GIVE while they are fresh, so `read` returns them without a reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ..base.errors import SERVER_ERROR
from ..base.values import Struct
from . import staleness
from .staleness import NO_MARK, UNCHANGED, Mark

if TYPE_CHECKING:
    from ..base.freshness import Terms
    from .request import Request


R = TypeVar("R")


class ExpiryStatus(IntEnum):
    """How data may be used, independent of the current time."""

    Invalid = 1
    """Always fetch and wait."""
    InvalidIfStale = 2
    """Usable while fresh; fetch and wait once stale."""
    Valid = 3
    """Usable; once stale it is returned and fetched in the background."""


class Decision(Enum):
    """What a reader does: return data, fetch, or raise."""

    GIVE = "give"
    """Return the data without a request."""
    GIVE_AND_REFETCH = "give and refetch"
    """Return the data at once and fetch in the background."""
    WAIT = "wait"
    """Fetch and wait for the response."""
    RAISE = "raise"
    """Raise the recorded error without a request."""


INFINITE: Final = float("inf")
STALE: Final = 1.0
"""The expiry time of data that a mark made stale (ms)."""

_WAIT: Final = Decision.WAIT
_GIVE_AND_REFETCH: Final = Decision.GIVE_AND_REFETCH


class Freshness(NamedTuple):
    """When a result turns stale (ms; STALE: now), by which event, and which references alone make it stale."""

    expires_at: float
    mark: Mark = NO_MARK
    references: tuple[Request, ...] = ()
    changed: float = staleness.NEVER
    """If its data may be unchanged: the number of the latest event that may have changed its content.

    If references make it stale: the number of the latest request for one of them that was sent before the event.
    """


class Reading(NamedTuple):
    """The result of a read of an endpoint from the cache.

    `data` is None if there is none; `found` is whether it is usable: a JSON null is, an object assembled from tables
    with a missing part is not. `expires_at` is when it turns stale (ms), `error` the error that a read raises,
    `raw_error` the recorded error regardless of the error policy. `decision` is what a reader does, as of the time of
    the read. `freshness` is which event made the data stale, and whether only its references did.
    """

    data: Any
    expiry_status: ExpiryStatus
    expires_at: float
    decision: Decision
    found: bool = True
    error: BaseException | None = None
    raw_error: BaseException | None = None
    date: float | None = None
    fetched_at: float | None = None
    freshness: Freshness | None = None

    @property
    def references(self) -> tuple[Request, ...]:
        """The requests of references, if fetching only these records makes the data fresh; else empty."""
        return () if self.freshness is None else self.freshness.references

    @property
    def cause(self) -> tuple[object, ...]:
        """Identifies why the data is stale; the same cause does not justify a second request.

        A response that was in flight during an event does not end the staleness, so the request is part of the cause.
        For evicted data it is not, because a bounded store may evict the same data again, and so may another
        representation of a record be requested again.
        """
        if self.freshness is None:
            return ()
        _, mark, references, changed = self.freshness
        if references or mark.event in UNCHANGED:
            return (tuple(one.key for one in references), mark.event, changed)
        return (mark.number, self.fetched_at) if mark.number > staleness.NEVER else ()

    @property
    def may_be_unchanged(self) -> bool:
        """Whether it is stale although no event since its fetch may have changed it: for instance, it was evicted."""
        if self.freshness is None or self.fetched_at is None or self.freshness.mark.event not in UNCHANGED:
            return False
        return self.freshness.changed < self.fetched_at

    @property
    def usable_data(self) -> Any:
        """The data that can be shown without a fetch, regardless of age and recorded errors; else None."""
        return self.data if self.found else None

    @property
    def needs_fetch(self) -> bool:
        """Whether a fetch is due."""
        return self.decision is _GIVE_AND_REFETCH or self.decision is _WAIT

    @property
    def suspends(self) -> bool:
        """Whether a fetch is due and the reader waits for it."""
        return self.decision is _WAIT


def inactive() -> Reading:
    """Return the reading of a request with `None` as its only argument: no data, which never expires."""
    return Reading(None, ExpiryStatus.Valid, INFINITE, Decision.GIVE, found=False)


class EndpointState(Struct, Generic[R]):
    """What a store knows of one endpoint's result at one moment.

    `loading`: a fetch of it is in flight. `expires_at`: milliseconds of the store's clock.
    """

    data: R | None
    error: BaseException | None
    loading: bool
    expiry_status: ExpiryStatus
    expires_at: float


class Found(Enum):
    """What a read found in the cache."""

    USABLE = "usable"
    """Complete data."""
    MISSING = "missing"
    """A stored result that refers to missing records."""
    ABSENT = "absent"
    """No stored result, or one that was evicted in part, and too little in the tables to assemble it."""
    BROKEN = "broken"
    """Something required was deleted, or nothing was ever fetched."""


class Recorded(Enum):
    """The kind of error that is recorded for a key."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class Shows(Enum):
    """How long the server allows stale data to be shown while it is revalidated (RFC 5861)."""

    ALWAYS = "always"
    A_WHILE = "a while"
    NEVER = "never"


class Excuses(Enum):
    """For which failures the server allows stale data to be shown (RFC 5861, RFC 9111)."""

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
"""Whether a reader waits instead of seeing stale data."""

RECORDED_ROWS: Final = (
    # the server excuses    that has passed    it fails itself    error_policy: soft    the error is
    ((NO_EXCUSE,),          (YES,),            EITHER,            EITHER,               HARD),
    ((EXCUSED_A_WHILE,),    (NO,),             (YES,),            EITHER,               SOFT),
    ((EXCUSED_A_WHILE,),    (YES,),            (YES,),            EITHER,               HARD),
    (EXCUSES,               EITHER,            EITHER,            (YES,),               SOFT),
    (EXCUSES,               EITHER,            EITHER,            (NO,),                HARD),
)  # fmt: skip
"""Whether a recorded error is hard or soft."""

STATUS_ROWS: Final = (
    # found       invalidated  error         invalid_if_stale    status
    (FOUND,       (YES,),      RECORDED,     EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (NONE,),      EITHER,             Invalid),
    ((BROKEN,),   (NO,),       (SOFT, HARD), EITHER,             InvalidIfStale),
    ((ABSENT,),  (NO,),       RECORDED,     EITHER,             InvalidIfStale),
    (FOUND,       (NO,),       RECORDED,     (YES,),             InvalidIfStale),
    (FOUND,       (NO,),       RECORDED,     (NO,),              Valid),
)  # fmt: skip
"""How data may be used, independent of the current time."""

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
"""The decision of a reader."""


def _decision_table(rows: Iterable[tuple[Any, ...]]) -> dict[Any, Any]:
    """Convert rows of sets of inputs to a dict by inputs; the first matching row applies."""
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
    """Return whether stale data must not be shown at this time (ms)."""
    until = terms.stale_while_revalidate_until
    return _OLD[invalid_if_stale, NEVER if not until else ALWAYS if until == INFINITE else A_WHILE, now > until]


def recorded_as(terms: Terms, policy: str | None, error: BaseException, now: float) -> Recorded:
    """Return the kind of an error at this time (ms); `policy` is the one that the endpoint chose when it occurred."""
    fails = getattr(error, "status", 0) >= SERVER_ERROR
    if terms.must_revalidate:
        return _RECORDED[NO_EXCUSE, now > terms.fresh_until, fails, policy == "soft"]
    until = terms.stale_if_error_until
    if until is None:
        return _RECORDED[UNSAID, False, fails, policy == "soft"]
    return _RECORDED[EXCUSED_A_WHILE, now > until, fails, policy == "soft"]


def decide(
    found: Found, invalidated: bool, error: Recorded, invalid_if_stale: bool, stale: bool
) -> tuple[ExpiryStatus, bool, Decision]:
    """Return how data may be used, whether readers see the recorded error, and the decision of a reader."""
    status, shown = _STATUS[found, invalidated, error, invalid_if_stale], _SHOWN[found, error]
    return status, shown, _DECISION[status, stale, shown]
