"""What an answer says of itself: how long it is fresh, whether it may be kept, and what tells it from the next one.

It is read as a private cache reads it (RFC 9111). The local clock takes no part in it: of the server's only `Age` and
differences of its own dates count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAMES: Final = frozenset(
    {b"age", b"cache-control", b"date", b"etag", b"expires", b"last-modified", b"pragma", b"vary"}
)
_TELLING: Final = frozenset({"cache-control", "etag", "expires", "last-modified", "pragma"})
"""Headers without which the others say nothing."""

_TAG: Final = re.compile(r'(?:W/)?"[!#-~]*"').fullmatch
_SHORT_LENGTH: Final = 1_000
_LIMIT: Final = 10 * 365 * 24 * 3_600.0
"""What is fresh for longer than ten years is fresh for ten years."""

_DIRECTIVE: Final = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^,]*))?[^,]*(?:,|$)|,')


def is_tag(text: str) -> bool:
    """Whether this is an ETag: a string in quotes, with `W/` before it where it is a weak one."""
    return len(text) <= _SHORT_LENGTH and _TAG(text) is not None


def is_strong(text: str) -> bool:
    """Whether this is an ETag that says that every byte is the same."""
    return is_tag(text) and text[0] == '"'


def freshness_headers_in(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """What headers say of their answer, by names in lower case; None where they say nothing of it."""
    found: dict[str, str] = {}
    for name, value in raw:
        lower = name.lower()
        if lower in _NAMES:
            key, text = lower.decode("ascii"), value.decode("latin-1")
            found[key] = f"{found[key]}, {text}" if key in found else text
    if _TELLING.isdisjoint(found) and "*" not in found.get("vary", ""):
        return None
    return found


def directives_in(headers: Mapping[str, str]) -> dict[str, str]:
    """The directives of `Cache-Control`, in lower case, with their values; of several with one name the first."""
    found: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(headers.get("cache-control", "")):
        if match[1] is not None:
            value = (match[2] or "").strip()
            found.setdefault(match[1].lower(), value[1:-1] if value[:1] == '"' else value)
    return found


def may_be_stored(headers: Mapping[str, str]) -> bool:
    """Whether an answer may be written down: the server does not say `no-store`."""
    return "no-store" not in headers.get("cache-control", "").lower() or "no-store" not in directives_in(headers)


def condition_of(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """The header, with its value, that asks for an answer only if it would be another one; None without a validator.

    That is the ETag, else `Last-Modified` where it is a second older than the answer, so that nothing can have changed
    since without another date.
    """
    if not may_be_stored(headers) or "*" in headers.get("vary", ""):
        return None
    tag = headers.get("etag", "")
    if is_tag(tag):
        return "If-None-Match", tag
    modified, date = _date_in(headers, "last-modified"), _date_in(headers, "date")
    if modified is None or date is None or date - modified < 1:
        return None
    return "If-Modified-Since", headers["last-modified"]


class Lifetime(NamedTuple):
    """How long an answer is good, in seconds; None where nothing is said.

    It is `fresh` from the moment at which it was asked for. Once stale it may be `shown` and a failing server `excused`
    for so long; where it `must_revalidate`, no failure is excused.
    """

    fresh: float | None
    shown: float | None = None
    excused: float | None = None
    must_revalidate: bool = False


def lifetime_of(headers: Mapping[str, str]) -> Lifetime:
    """How long an answer with these headers is good; the first that fits says how long it is fresh.

    | the answer has | fresh for |
    |---|---|
    | `no-store`, `no-cache`, `Vary: *`, `Pragma: no-cache` without `Cache-Control` | 0, and it is not shown then |
    | `max-age` | so long without `Age`; 0 where it is no number |
    | `Expires` | until then from `Date`; 0 where one is no date |
    | nothing of that | nothing is said |
    """
    directives = directives_in(headers)
    excused = _seconds(directives.get("stale-if-error"))
    must_revalidate = "must-revalidate" in directives
    is_uncached = "cache-control" not in headers and "no-cache" in headers.get("pragma", "").lower()
    if is_uncached or "no-store" in directives or "no-cache" in directives or "*" in headers.get("vary", ""):
        return Lifetime(0.0, 0.0, excused, must_revalidate)
    shown = 0.0 if must_revalidate else _seconds(directives.get("stale-while-revalidate"))
    if "max-age" in directives:
        fresh: float | None = max(0.0, (_seconds(directives["max-age"]) or 0.0) - _age_in(headers))
    elif "expires" in headers:
        until, date = _date_in(headers, "expires"), _date_in(headers, "date")
        fresh = 0.0 if until is None or date is None else min(_LIMIT, max(0.0, until - date))
    else:
        fresh = None
    return Lifetime(fresh, shown, excused, must_revalidate)


def _seconds(text: str | None) -> float | None:
    """A number of seconds, 0 for what is none; None where nothing stands there."""
    if text is None:
        return None
    text = text.strip()
    return min(_LIMIT, float(text)) if text.isascii() and text.isdigit() else 0.0


def _age_in(headers: Mapping[str, str]) -> float:
    return _seconds(headers.get("age", "0").partition(",")[0]) or 0.0


def _date_in(headers: Mapping[str, str], name: str) -> float | None:
    """A date of HTTP in seconds; None for what is none."""
    text = headers.get(name, "")
    if text[-3:] != "GMT":  # all dates of HTTP say so, but for the oldest form
        return _old_date(text)
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, IndexError):
        return None


def _old_date(text: str) -> float | None:
    """A date in the form of C's asctime, which names no zone: all are UTC."""
    from calendar import timegm
    from time import strptime

    try:
        return float(timegm(strptime(text, "%a %b %d %H:%M:%S %Y")))
    except (ValueError, OverflowError):
        return None
