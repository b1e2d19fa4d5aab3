"""Durations as users write them: milliseconds, `"30s"`, `"5m"`, a `timedelta`. Inside, all are milliseconds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .lazy import logger
from .values import described

if TYPE_CHECKING:
    import datetime

    Duration: TypeAlias = float | str | datetime.timedelta
    """A number of milliseconds, a text such as `"30s"` (ms, s, m, h), or a `timedelta`."""

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TEXT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*").fullmatch
_SHORT: Final = 100
_hinted: Final[set[str]] = set()


def milliseconds(value: Any, what: str) -> Any:
    """A duration in milliseconds; a number is one, and what is no duration at all stays for others to refuse.

    Raises TypeError for a text of another form.
    """
    if isinstance(value, str):
        found = _TEXT(value)
        if found is None:
            raise TypeError(
                f"{what} is {described(value)}, {value!r}; expected a number of milliseconds, "
                "a text such as '30s' (ms, s, m or h), or a timedelta"
            )
        return float(found[1]) * _UNITS[found[2]]
    if type(value).__name__ == "timedelta" and hasattr(value, "total_seconds"):
        return value.total_seconds() * 1000
    return value


def timeout_of(value: Any, what: str) -> Any:
    """A timeout in milliseconds. Logs one hint where it is a plain number so small that seconds may be meant."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value < _SHORT
        and "timeout" not in _hinted
    ):
        _hinted.add("timeout")
        logger.warning("%s is %g, which is milliseconds; if seconds are meant, write %r", what, value, f"{value:g}s")
    return milliseconds(value, what)


def refuse_other(value: Any, what: str) -> None:
    """Raises TypeError for what is no duration."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(
            f"{what} is {described(value)}; expected a number of milliseconds, a text such as '30s', or a timedelta"
        )
