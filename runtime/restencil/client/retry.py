"""The policy for retries of failed requests; retries are disabled by default.

Only reads and idempotent methods are retried. Other mutations are retried with the option `mutations`, with an
`Idempotency-Key` header that is the same for all attempts of a call. The server's `Retry-After` is respected.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.durations import milliseconds
from ..base.errors import (
    ConnectionFailedError,
    EndlessRedirectError,
    NetworkError,
    StatusError,
)
from ..base.response import retry_after_in
from ..base.values import described

if TYPE_CHECKING:
    from ..base.durations import Duration
    from ..endpoint.endpoint import Endpoint

#: Idempotent methods (RFC 9110, 9.2.2).
IDEMPOTENT_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})

#: Statuses after which the same request may succeed.
RETRIED_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class RetryBudget:
    """Limits retries to a share of all requests, so that they cannot multiply the load of an overloaded server.

    Each first attempt adds `ratio` of a retry, and each retry takes one. `reserve` is the number of retries at the
    start, and the maximum. Raises ValueError for a negative argument.
    """

    def __init__(self, ratio: float = 0.2, reserve: float = 10) -> None:
        if ratio < 0 or reserve < 0:
            raise ValueError(f"ratio and reserve of a retry budget must not be negative: {ratio}, {reserve}")
        self.ratio = ratio
        self.reserve = reserve
        self._saved = float(reserve)
        self._lock = threading.Lock()

    def earn(self) -> None:
        """Add the share of a first attempt."""
        with self._lock:
            self._saved = min(self.reserve, self._saved + self.ratio)

    def spend(self) -> bool:
        """Take one retry from the budget; return False if none is left."""
        with self._lock:
            if self._saved < 1:
                return False
            self._saved -= 1
            return True


@dataclass(frozen=True)
class Retries:
    """The policy for retries of failed requests. Durations are milliseconds, strings such as `"2s"` or a timedelta.

        Controller(retries=Retries(attempts=5, base_delay=100, mutations=True))

    attempts         the maximum number of retries
    base_delay       the delay before the first retry; each further delay is `factor` times longer, up to `max_delay`
    jitter           the random share of each delay, 0 to 1, so that clients that failed together do not retry together
    statuses         statuses of a `StatusError` that is retried; a `ConnectionFailedError` is always retried, except
                     for too many redirects
    max_retry_after  the maximum delay that a `Retry-After` can set
    budget           shared by all requests that use this object; None for no limit
    mutations        retries also POST and PATCH, with an `Idempotency-Key` header, which the server must support

    Raises ValueError for a negative number, and for a jitter that is not between 0 and 1.
    """

    attempts: int = 3
    base_delay: Duration = 200
    factor: float = 2
    max_delay: Duration = 10_000
    jitter: float = 0.5
    statuses: frozenset[int] = RETRIED_STATUSES
    max_retry_after: Duration = 60_000
    budget: RetryBudget | None = field(default_factory=RetryBudget)
    mutations: bool = False
    random: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        for name in ("base_delay", "max_delay", "max_retry_after"):
            object.__setattr__(self, name, milliseconds(getattr(self, name), f"{name} of Retries"))
        for name in ("attempts", "base_delay", "factor", "max_delay", "max_retry_after"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} of Retries must not be negative: {getattr(self, name)}")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter of Retries must be between 0 and 1: {self.jitter}")

    def applies_to(self, endpoint: Endpoint[..., Any]) -> bool:
        """Return whether requests of this endpoint may be retried."""
        return self.mutations or repeatable(endpoint)

    def delay(self, attempt: int, error: BaseException, now: float) -> float | None:
        """Return the delay in milliseconds after an attempt (0 for the first one) failed; None for no further retry.

        `now` is the store's time; a date in `Retry-After` is relative to it.
        """
        if attempt >= self.attempts or not self._passing(error):
            return None
        if self.budget is not None and not self.budget.spend():
            return None
        requested = _requested_delay(error, now)
        if requested is not None:
            return min(requested, cast("float", self.max_retry_after))
        delay = min(cast("float", self.max_delay), cast("float", self.base_delay) * self.factor**attempt)
        return delay * (1 - self.jitter * self.random())

    def _passing(self, error: BaseException) -> bool:
        if isinstance(error, StatusError):
            return error.status in self.statuses
        return isinstance(error, ConnectionFailedError) and not isinstance(error, EndlessRedirectError)


def checked_retries(given: object, what: str) -> int | Retries:
    """Return a number of retries or a policy. Raises TypeError and ValueError for anything else."""
    if isinstance(given, Retries):
        return given
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"{what} is {described(given)}; expected a number of retries, or Retries(…)")
    if given < 0:
        raise ValueError(f"{what} is {given}; expected 0 for no retries, or more")
    return given


def repeatable(endpoint: Endpoint[..., Any]) -> bool:
    """Return whether requests may be repeated: reads, idempotent methods, and mutations with an idempotency key."""
    if not endpoint.side_effect or getattr(endpoint, "method", None) in IDEMPOTENT_METHODS:
        return True
    return any(param.auto is not None for param in (endpoint.header_params or {}).values())


def _requested_delay(error: BaseException, now: float) -> float | None:
    """Return the delay in milliseconds that the server requested; a date is relative to the store's time `now`."""
    if not isinstance(error, NetworkError):
        return None
    return error.retry_after if error.response is None else retry_after_in(error.response.headers, now)
