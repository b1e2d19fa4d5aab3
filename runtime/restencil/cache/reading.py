"""What a read finds, how fresh it is, and what follows from that."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ..base.values import Struct
from .staleness import EVICTED, NEVER, NO_MARK, Mark

if TYPE_CHECKING:
    from .request import Request

R = TypeVar("R")


class ExpiryStatus(IntEnum):
    """How a read may use what it found; it says nothing about the clock."""

    Invalid = 1
    """Fetch and wait, in any case."""
    InvalidIfStale = 2
    """Usable while fresh; fetch and wait once stale."""
    Valid = 3
    """Usable; once stale it is returned and fetched in the background."""


class Decision(Enum):
    """What a reader does with what it found."""

    GIVE = "give"
    """Return the data; no request."""
    GIVE_AND_REFETCH = "give and refetch"
    """Return the data at once and fetch in the background."""
    WAIT = "wait"
    """Fetch and wait for that."""
    RAISE = "raise"
    """Raise the recorded error; no request."""


INFINITE: Final = float("inf")
STALE: Final = 1.0
"""When something expires that is stale by a mark."""

_WAIT: Final = Decision.WAIT
_GIVE_AND_REFETCH: Final = Decision.GIVE_AND_REFETCH


class Freshness(NamedTuple):
    """When a result turns stale (ms; STALE: it is), by which event, and the references alone that make it so."""

    expires_at: float
    mark: Mark = NO_MARK
    references: tuple[Request, ...] = ()
    changed: float = NEVER
    """Where part of it was evicted: the number of the latest event that may have changed what it shows.

    Where references make it stale: that of the latest request for one of them that was sent before the event.
    """


class Reading:
    """What a read of an endpoint finds.

    `data` is None where nothing is there; `found` says whether it is usable: a JSON null is, an object assembled from
    tables that lack a part of it is not. `expires_at` is the moment it turns stale (ms), `error` what a read raises,
    `raw_error` what is recorded whatever the policy. `decision` says what a reader does with all that; it is taken at
    the moment of the read.
    """

    __slots__ = (
        "data",
        "date",
        "decision",
        "error",
        "expires_at",
        "expiry_status",
        "fetched_at",
        "found",
        "freshness",
        "raw_error",
    )

    def __init__(
        self,
        data: Any,
        expiry_status: ExpiryStatus,
        expires_at: float,
        decision: Decision,
        found: bool = True,
        error: BaseException | None = None,
        raw_error: BaseException | None = None,
        date: float | None = None,
        fetched_at: float | None = None,
        freshness: Freshness | None = None,
    ) -> None:
        self.data = data
        self.expiry_status = expiry_status
        self.expires_at = expires_at
        self.decision = decision
        self.found = found
        self.error = error
        self.raw_error = raw_error
        self.date = date
        self.fetched_at = fetched_at
        self.freshness = freshness
        """Which event made it stale, and whether references alone did."""

    @property
    def references(self) -> tuple[Request, ...]:
        """The requests of the records that alone have to be fetched for it to be fresh."""
        return () if self.freshness is None else self.freshness.references

    @property
    def cause(self) -> tuple[object, ...]:
        """What made it stale; the same cause is no reason to ask a second time.

        A response that was under way at an event does not end its staleness, so the request counts, too. What a bounded
        store lets go of it lets go of again.
        """
        if self.freshness is None:
            return ()
        _, mark, references, changed = self.freshness
        if references or mark.event == EVICTED:
            return (tuple(one.key for one in references), mark.event, changed)
        return (mark.number, self.fetched_at) if mark.number > NEVER else ()

    @property
    def is_only_evicted(self) -> bool:
        """Whether an eviction made it stale, and no event may have changed it since it was fetched."""
        if self.freshness is None or self.fetched_at is None or self.freshness.mark.event != EVICTED:
            return False
        return self.freshness.changed < self.fetched_at

    @property
    def usable_data(self) -> Any:
        """The data that can be shown without a fetch, however old and whatever error is recorded; else None."""
        return self.data if self.found else None

    @property
    def needs_fetch(self) -> bool:
        """Whether a fetch is due."""
        return self.decision is _GIVE_AND_REFETCH or self.decision is _WAIT

    @property
    def suspends(self) -> bool:
        """Whether a fetch is due and the reader waits for it."""
        return self.decision is _WAIT

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"Reading({members})"


def inactive() -> Reading:
    """What a read with `None` as its only argument finds: nothing, for ever valid."""
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
