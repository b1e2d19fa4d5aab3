"""The result of a read: its data, its freshness, and the decision whether to fetch."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ..base.values import Struct
from .staleness import NEVER, NO_MARK, UNCHANGED, Mark

if TYPE_CHECKING:
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
    changed: float = NEVER
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
        return (mark.number, self.fetched_at) if mark.number > NEVER else ()

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
