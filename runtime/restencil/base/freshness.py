"""The caching headers of a response (RFC 9111, RFC 9110): freshness lifetime, `no-store`, and validators.

They are evaluated as in a private cache. The local clock is not used, only `Age` and differences between dates of the
server. Times in the results are in ms by the store's clock.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


_Headers: TypeAlias = "tuple[tuple[str, Any], ...]"


class Terms(NamedTuple):
    """How long the data of a key may be used, as the server declares it.

    It is fresh until `fresh_until`. Stale data is shown until `stale_while_revalidate_until` (0: never; infinite: until
    newer data arrives), and replaces the error of a failed request until `stale_if_error_until` (None: not declared).
    With `must_revalidate`, stale data never replaces an error.
    """

    fresh_until: float
    stale_while_revalidate_until: float = inf
    stale_if_error_until: float | None = None
    must_revalidate: bool = False


class Validators(NamedTuple):
    """The validators of a response: its relevant `headers` by their names in lower case.

    `condition` is the name and value of the header of a conditional request; None if there is none. It is valid only
    for the request `source` with the final URL `place`. `stored` is False if the response must not be stored.
    """

    headers: Mapping[str, str]
    source: Hashable
    place: str
    condition: tuple[str, str] | None
    stored: bool = True

    @property
    def mark(self) -> Hashable:
        """Identifies the response among others of its key."""
        return self.source, self.condition


def source_at(url: str, arguments: _Headers = (), headers: _Headers = ()) -> Hashable:
    """Return what a response depends on: the URL, and the headers of a call that may change the response.

    These are headers from arguments, and headers of the call or its view.
    """
    return url, arguments, headers


class Concurrency(NamedTuple):
    """How mutations declare the version of an entity that they are based on (optimistic concurrency).

    The version is the ETag of the last response, or the value of `field` in the record. If it `is_required`, mutations
    without one are not sent.
    """

    field: str | None = None
    is_required: bool = False


_NAMES: Final = frozenset(
    {b"age", b"cache-control", b"date", b"etag", b"expires", b"last-modified", b"pragma", b"vary"}
)
_TELLING: Final = frozenset({"cache-control", "etag", "expires", "last-modified", "pragma"})
"""Headers without which the others have no meaning for caching."""

_TAG: Final = re.compile(r'(?:W/)?"[!#-~]*"').fullmatch
_SHORT_LENGTH: Final = 1_000
_LIMIT: Final = 10 * 365 * 24 * 3_600.0
"""The longest freshness lifetime: ten years, in seconds."""

_DIRECTIVE: Final = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^,]*))?[^,]*(?:,|$)|,')


def is_tag(text: str) -> bool:
    """Whether a string is an ETag: a string in quotes, after `W/` if it is weak."""
    return len(text) <= _SHORT_LENGTH and _TAG(text) is not None


def is_strong(text: str) -> bool:
    """Whether a string is a strong ETag, which changes with every byte of the response."""
    return is_tag(text) and text[0] == '"'


def freshness_headers_in(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """Return the caching headers among raw headers, by names in lower case; None if there are none with a meaning."""
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
    """Return the directives of `Cache-Control`, in lower case, with their values; the first one of each name."""
    found: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(headers.get("cache-control", "")):
        if match[1] is not None:
            value = (match[2] or "").strip()
            found.setdefault(match[1].lower(), value[1:-1] if value[:1] == '"' else value)
    return found


def may_be_stored(headers: Mapping[str, str]) -> bool:
    """Whether a response may be stored: it does not have `no-store`."""
    return "no-store" not in headers.get("cache-control", "").lower() or "no-store" not in directives_in(headers)


def condition_of(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the name and value of the header for a conditional request; None if there is no validator.

    The validator is the ETag, else `Last-Modified` if it is at least a second older than the response, so that every
    later change has another date.
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
    """The freshness of a response, in seconds; None if the server does not declare it.

    A response is `fresh` from the time of its request. Once stale, it may be used for `shown` seconds while it is
    revalidated, and for `excused` seconds if the revalidation fails; never after a failure if it `must_revalidate`.
    """

    fresh: float | None
    shown: float | None = None
    excused: float | None = None
    must_revalidate: bool = False


def lifetime_of(headers: Mapping[str, str]) -> Lifetime:
    """Return the freshness of a response with these headers, by the first row that applies.

    | the response has | fresh for |
    |---|---|
    | `no-store`, `no-cache`, `Vary: *`, `Pragma: no-cache` without `Cache-Control` | 0, and never used when stale |
    | `max-age` | its value minus `Age`; 0 if it is not a number |
    | `Expires` | its value minus `Date`; 0 if one of them is not a date |
    | none of these | None |
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
    """Parse a number of seconds; 0 for an invalid one, None for None."""
    if text is None:
        return None
    text = text.strip()
    return min(_LIMIT, float(text)) if text.isascii() and text.isdigit() else 0.0


def _age_in(headers: Mapping[str, str]) -> float:
    return _seconds(headers.get("age", "0").partition(",")[0]) or 0.0


def _date_in(headers: Mapping[str, str], name: str) -> float | None:
    """Parse an HTTP date to seconds; None if it is absent or invalid."""
    text = headers.get(name, "")
    return seconds_of(text) if text else None


def seconds_of(date: str) -> float | None:
    """Parse an HTTP date to seconds since 1970; None if it is invalid."""
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(date)
        if found.tzinfo is None:  # the oldest date format has no time zone; HTTP dates are UTC
            found = found.replace(tzinfo=datetime.UTC)
        return found.timestamp()
    except (ValueError, OverflowError, IndexError):
        return None
