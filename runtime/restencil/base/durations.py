"""Durations as users write them: milliseconds, `"30s"`, `"5m"`, a `timedelta`. Inside, all are milliseconds."""

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
_hinted: Final[set[str]] = set()


def milliseconds(value: Any, what: str) -> Any:
    """A duration in milliseconds; a number is one, and what is no duration at all stays for others to refuse.

    Raises TypeError for a string of another form.
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


def bounded(value: Any, what: str, least: float, *, endless: bool = False) -> float:
    """A duration in milliseconds that is `least` or longer; `endless`: infinity is one.

    Raises ValueError, which says what was found, for all else.
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
"""The steps of a request that may each take too long; for `pool` it waits until a connection is free."""


class Timeout(Struct):
    """How long a request may take, in milliseconds, as `"5s"` or a timedelta: in all, and each of its steps.

        Blog(timeout=Timeout(total="30s", connect=500))

    `total` bounds a whole attempt, from connecting to the end of the body, and so each step: strictly on the HTTP
    clients that restencil opens; on one of the user's own it is checked whenever a piece of the body arrives.
    `connect`, `read`, `write` and `pool` (waiting for a free connection) are the HTTP client's own where they are not
    given. `math.inf` is no limit. A bare duration in place of a Timeout is the limit of all of them. Raises TypeError
    for what is no duration, ValueError for one that is not positive.
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
        """How long a step may take at most, in milliseconds; None where this says nothing of it."""
        given: list[Any] = [self.total, getattr(self, step)]
        return min((limit for limit in given if limit is not None), default=None)


def timeout_of(value: Any, what: str) -> Any:
    """A timeout: a Timeout as it is, else milliseconds.

    Logs one hint where it is a plain number so small that seconds may be meant. Raises TypeError for what is neither,
    ValueError for what is not positive.
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


def _checked(value: Any, what: str) -> Any:
    limit = milliseconds(value, what)
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        raise TypeError(
            f"{what} is {described(value)}; expected a number of milliseconds, a string such as '30s', or a timedelta"
        )
    if not limit > 0:
        raise ValueError(f"{what} is a positive number of milliseconds, not {value!r}; math.inf is no limit")
    return limit


def whole_of(timeout: float | Timeout | None) -> float | None:
    """How long a whole answer may take, in milliseconds; None where nothing bounds it."""
    whole: Any = timeout.total if isinstance(timeout, Timeout) else timeout
    return None if whole == math.inf else whole


def limit_of(timeout: float | Timeout | None, step: str) -> float | None:
    """How long a step of a request may take, in milliseconds; None where a timeout says nothing of it."""
    return timeout.limit_of(step) if isinstance(timeout, Timeout) else timeout


def seconds_by_step(timeout: float | Timeout, usual: Mapping[str, float | None]) -> dict[str, float | None]:
    """How long each step may take, in seconds as HTTP libraries count; None is no limit.

    `usual` is what holds where a Timeout says nothing of a step, but for its total.
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
