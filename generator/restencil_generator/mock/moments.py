"""Datetimes in the formats that fields may have: made of RFC 3339 text, and told from what is none."""

from __future__ import annotations

import datetime
from email.utils import format_datetime, parsedate_to_datetime

from restencil_generator.spec.model import Format, Json

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def in_format(moment: datetime.datetime, format: Format | None) -> Json:
    """A moment as it stands in JSON."""
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
    """What a spec writes in RFC 3339 as it stands in JSON; anything else stays as it is."""
    if format is None or not isinstance(text, str):
        return text
    try:
        return in_format(datetime.datetime.fromisoformat(text), format)
    except ValueError:
        return text


def is_moment(value: Json, format: Format) -> bool:
    """Whether a value is a moment in a format other than RFC 3339."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return False
    try:
        if format == "rfc2822":
            parsedate_to_datetime(value if isinstance(value, str) else "")
            return isinstance(value, str)
        seconds = float(value) / (1000 if format == "unix_ms" else 1)
        return bool(_EPOCH + datetime.timedelta(seconds=seconds))
    except (OverflowError, ValueError, TypeError):
        return False
