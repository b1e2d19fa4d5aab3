"""Datetimes in the formats of fields: converts RFC 3339 strings to a format, and validates values."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final

from restencil_generator.spec.model import Format, Json

EXPECTED: Final[Mapping[Format, str]] = {
    "unix": "seconds since 1970 such as 1580472000",
    "unix_ms": "milliseconds since 1970 such as 1580472000000",
    "rfc2822": "a date such as 'Fri, 31 Jan 2020 12:00:00 GMT'",
    "rfc3339": "a date with a time such as '2020-01-31T12:00:00Z'",
}
"""The description of values in each format, for messages."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def in_format(moment: datetime.datetime, format: Format | None) -> Json:
    """Return a datetime as JSON in a format; a datetime without a time zone is in UTC."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    match format:
        case "unix":
            return micros / 1_000_000 if micros % 1_000_000 else micros // 1_000_000
        case "unix_ms":
            return micros // 1000
        case "rfc2822":
            return format_datetime(moment.astimezone(datetime.UTC), usegmt=True)
        case _:
            return moment.isoformat().replace("+00:00", "Z")


def text_in_format(text: Json, format: Format | None) -> Json:
    """Convert an RFC 3339 string to a format; any other value is returned unchanged."""
    if format is None or not isinstance(text, str):
        return text
    try:
        return in_format(datetime.datetime.fromisoformat(text), format)
    except ValueError:
        return text


def is_in_format(value: Json, format: Format) -> bool:
    """Return whether a value is a datetime in a format other than RFC 3339."""
    try:
        if format == "rfc2822":
            return isinstance(value, str) and bool(parsedate_to_datetime(value))
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not math.isfinite(float(value)):
            return False
        return bool(_EPOCH + datetime.timedelta(seconds=float(value) / (1000 if format == "unix_ms" else 1)))
    except (OverflowError, ValueError):
        return False
