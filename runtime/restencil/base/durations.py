"""Durations of users: milliseconds, `"30s"`, `"5m"`, or a `timedelta`, which are converted to milliseconds."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .logs import logger
from .values import Struct, described

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    Duration: TypeAlias = float | str | datetime.timedelta
    """A number of milliseconds, a string such as `"30s"` (ms, s, m, h), or a `timedelta`."""

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TEXT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*").fullmatch
_SHORT: Final = 100
_LONGEST: Final = 1e12
"""Some thirty years; the timers of operating systems overflow a little above."""
_hinted: Final[set[str]] = set()


def milliseconds(value: Any, what: str) -> Any:
    """Convert a duration to milliseconds; numbers and values of other types are returned unchanged.

    Raises TypeError for a malformed string.
    """
    if isinstance(value, str):
        found = _TEXT(value)
        if found is None:
            raise TypeError(
                f"{what} is {described(value)}, {value!r}; expected a number of milliseconds, "
                "a string such as '30s' (ms, s, m or h), or a timedelta"
            )
        return float(found[1]) * _UNITS[found[2]]
    if type(value).__name__ == "timedelta" and hasattr(value, "total_seconds"):
        return value.total_seconds() * 1000
    return value


def bounded(value: object, what: str, least: float, *, endless: bool = False) -> float:
    """Convert a duration to milliseconds. Raises ValueError if it is invalid or below `least`, or infinite.

    With `endless`, infinity is valid.
    """
    try:
        found: Any = milliseconds(value, what)
    except TypeError:
        found = math.nan
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and not math.isnan(found)
    if not is_number or found < least or (found == math.inf and not endless):
        raise ValueError(
            f"{what} is {value!r:.40}; expected milliseconds, {least:g} or more, a string such as '30s' "
            "(ms, s, m or h) or a timedelta"
        )
    return float(found)


STEPS: Final = ("connect", "read", "write", "pool")
"""The steps of a request that have a timeout of their own; `pool` is waiting for a free connection."""


class Timeout(Struct):
    """The timeouts of a request, in milliseconds, as `"5s"` or a timedelta: in total, and of each step.

        Blog(timeout=Timeout(total="30s", connect=500))

    `total` limits a whole attempt, from connecting to the end of the body, and so each step. It is exact for the HTTP
    clients that restencil opens; for a client of your own it is checked whenever a part of the body arrives. The
    defaults of `connect`, `read`, `write` and `pool` (waiting for a free connection) are those of the HTTP client.
    `math.inf` is no limit. A duration instead of a Timeout is the limit of all of them. Raises TypeError for a value
    that is not a duration, and ValueError for a duration that is not positive.
    """

    total: Duration | None = None
    connect: Duration | None = None
    read: Duration | None = None
    write: Duration | None = None
    pool: Duration | None = None

    if not TYPE_CHECKING:

        def __init__(self, *args: Any, **members: Any) -> None:
            super().__init__(*args, **members)
            given = self.__dict__
            for name, value in list(given.items()):
                given[name] = None if value is None else _checked(value, f"{name} of Timeout")

    def limit_of(self, step: str) -> float | None:
        """Return the limit of a step in milliseconds; None if it has none here."""
        given: list[Any] = [self.total, getattr(self, step)]
        return min((limit for limit in given if limit is not None), default=None)


def timeout_of(value: object, what: str) -> Any:
    """Return a Timeout unchanged, and convert another duration to milliseconds.

    Logs a hint, once, for a number so small that it may be meant as seconds. Raises TypeError for another value, and
    ValueError for a duration that is not positive.
    """
    if isinstance(value, Timeout):
        return value
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value < _SHORT
        and "timeout" not in _hinted
    ):
        _hinted.add("timeout")
        logger.warning("%s is %g, which is milliseconds; if seconds are meant, write %r", what, value, f"{value:g}s")
    return _checked(value, what)


def _checked(value: object, what: str) -> object:
    limit = milliseconds(value, what)
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        raise TypeError(
            f"{what} is {described(value)}; expected a number of milliseconds, a string such as '30s', or a timedelta"
        )
    if not 0 < limit <= _LONGEST and limit != math.inf:
        raise ValueError(f"{what} is {value!r}; expected a positive number of milliseconds, or math.inf for no limit")
    return limit


def whole_of(timeout: float | Timeout | None) -> float | None:
    """Return the limit of a whole attempt in milliseconds; None without a limit."""
    whole: Any = timeout.total if isinstance(timeout, Timeout) else timeout
    return None if whole == math.inf else whole


def limit_of(timeout: float | Timeout | None, step: str) -> float | None:
    """Return the limit of a step of a request in milliseconds; None if the timeout has none."""
    return timeout.limit_of(step) if isinstance(timeout, Timeout) else timeout


def seconds_by_step(timeout: float | Timeout, usual: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the limit of each step in seconds, the unit of HTTP libraries; None is no limit.

    `usual` has the limits of steps for which a Timeout has none, which `total` may reduce further.
    """
    if not isinstance(timeout, Timeout):
        return dict.fromkeys(STEPS, None if timeout == math.inf else timeout / 1000)
    found: dict[str, float | None] = {}
    for step in STEPS:
        own, whole = getattr(timeout, step), whole_of(timeout)
        limits = [usual.get(step)] if own is None else [own / 1000]
        if whole is not None:
            limits.append(whole / 1000)
        limit = min((limit for limit in limits if limit is not None), default=math.inf)
        found[step] = None if limit == math.inf else limit
    return found
