"""Retries of failed requests: which ones, when, and how many at most; off unless requested.

Only requests that may be repeated are: reads and the idempotent methods. Other mutations follow on request, with an
`Idempotency-Key` header that stays the same for all attempts of one call. A server's `Retry-After` is respected.
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
from ..base.response_details import retry_after_in

if TYPE_CHECKING:
    from ..base.durations import Duration
    from ..endpoint.endpoint import Endpoint

#: Methods that a server may get twice without harm (RFC 9110, 9.2.2).
IDEMPOTENT_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})

#: Statuses after which the same request may succeed.
RETRIED_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class RetryBudget:
    """Bounds retries to a share of all requests, so that they cannot multiply the load of a server in trouble.

    Each first attempt earns `ratio` of a retry, each retry costs one; `reserve` is there from the start and is the
    most that can be saved up. Raises ValueError where one of them is negative.
    """

    def __init__(self, ratio: float = 0.2, reserve: float = 10) -> None:
        if ratio < 0 or reserve < 0:
            raise ValueError(f"ratio and reserve of a retry budget must not be negative: {ratio}, {reserve}")
        self.ratio = ratio
        self.reserve = reserve
        self._saved = float(reserve)
        self._lock = threading.Lock()

    def earn(self) -> None:
        """A first attempt was made."""
        with self._lock:
            self._saved = min(self.reserve, self._saved + self.ratio)

    def spend(self) -> bool:
        """Takes one retry from the budget; False when none is left."""
        with self._lock:
            if self._saved < 1:
                return False
            self._saved -= 1
            return True


@dataclass(frozen=True)
class Retries:
    """How failed requests are tried again. All durations are milliseconds, as `"2s"` or a timedelta.

        Controller(retries=Retries(attempts=5, base_delay=100, mutations=True))

    attempts         tries after the first one
    base_delay       before the first retry; each further one waits `factor` times longer, `max_delay` at most
    jitter           share of each delay that is random, 0 to 1: callers that failed together do not return together
    statuses         those of a `StatusError` that is tried again; a `ConnectionFailedError` always is, but for
                     redirects without end
    max_retry_after  a longer `Retry-After` is cut to this
    budget           shared by all requests that use this object; None for no bound
    mutations        also POST and PATCH, with an `Idempotency-Key` header; only where the server honours it

    Raises ValueError for a negative number, and for a jitter outside of 0 to 1.
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
        """Whether requests of this endpoint may be sent twice."""
        return self.mutations or repeatable(endpoint)

    def delay(self, attempt: int, error: BaseException, now: float) -> float | None:
        """Milliseconds to wait after the given attempt (0 for the first one) failed; None to give up.

        `now` is the store's time, against which a date in `Retry-After` is held.
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


def repeatable(endpoint: Endpoint[..., Any]) -> bool:
    """A read, a mutation with an idempotent method, or one with a key of its own by which servers know it again."""
    if not endpoint.side_effect or getattr(endpoint, "method", None) in IDEMPOTENT_METHODS:
        return True
    return any(param.auto is not None for param in (endpoint.header_params or {}).values())


def _requested_delay(error: BaseException, now: float) -> float | None:
    """The milliseconds that the server requested; a date is held against the clock of the store where it is there."""
    if not isinstance(error, NetworkError):
        return None
    return error.retry_after if error.response is None else retry_after_in(error.response.headers, now)
