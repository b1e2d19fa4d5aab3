"""Conversions between JSON values and Python values, selected by the type of a field."""

from __future__ import annotations

import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from email import utils as email_utils
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from ..base.values import DICT, LIST, MAPPING, SCALARS, ReadOnlyDict, ReadOnlyList, is_items

Convert: TypeAlias = Callable[[Any], Any]


class Codec(NamedTuple):
    """A pair of conversions, from a JSON value to a Python value and back; neither is called with None."""

    decode: Convert
    encode: Convert


def _utc(moment: datetime.datetime) -> datetime.datetime:
    # A datetime without an offset is UTC: those of two servers would otherwise compare as if in one time zone.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)


def decode_datetime(value: Any) -> datetime.datetime:
    """Decode an RFC 3339 string, keeping its offset; one without an offset is UTC. Raises ValueError, TypeError."""
    if type(value) is not str and isinstance(value, datetime.datetime):
        return value
    moment = datetime.datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else _utc(moment)


sending: Final[ContextVar[str | None]] = ContextVar("restencil_body_of", default=None)
"""The name of the strict endpoint whose request body is being encoded; None at all other times."""


def encode_datetime(value: object) -> object:
    """Encode a datetime as an RFC 3339 string, with `Z` for UTC; other values are returned unchanged.

    A datetime without a time zone is UTC. Raises ValueError for one in the request body of a strict endpoint.
    """
    if not isinstance(value, datetime.datetime):
        return value
    text = _utc(_known_zone(value)).isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _known_zone(moment: datetime.datetime) -> datetime.datetime:
    """Return a datetime unchanged. Raises ValueError if it has no time zone and is in the body of a strict endpoint."""
    if moment.tzinfo is None and (owner := sending.get()):
        raise ValueError(
            f"the body of endpoint {owner!r} contains {moment.isoformat()}, a datetime without a time zone, which may "
            "be UTC or local time: use datetime.now(datetime.UTC), or value.astimezone() for local time"
        )
    return moment


Format: TypeAlias = typing.Literal["rfc3339", "unix", "unix_ms", "rfc2822"]
FORMATS: Final[tuple[str, ...]] = typing.get_args(Format)
"""The formats of datetimes in JSON; the first is the default."""


def has_format(format: str | None) -> bool:
    """Whether a format of datetimes is given that is not the default."""
    return format is not None and format != FORMATS[0]


def _decode_since(unit: int) -> Convert:
    """Return a decoder of Unix time, a number or a numeric string in units of 1/`unit` seconds."""

    def decode(value: object) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise TypeError(f"expected a number or a numeric string, got {type(value).__name__}")
        number = decode_decimal(value.strip() if isinstance(value, str) else value)
        if not number.is_finite():
            raise ValueError(f"{value!r} is not a time: expected a finite number")
        micros = int((number * (1_000_000 // unit)).to_integral_value())
        return _epoch() + datetime.timedelta(microseconds=micros)

    return decode


def _encode_since(unit: int) -> Convert:
    """Return an encoder of Unix time: milliseconds as an integer, seconds with a fraction if there is one."""

    def encode(value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            return value
        micros = (_utc(_known_zone(value)) - _epoch()) // datetime.timedelta(microseconds=1)
        whole, rest = divmod(micros, 1_000_000 // unit)
        return micros / 1_000_000 if rest and unit == 1 else whole

    return encode


def _epoch() -> datetime.datetime:
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _decode_rfc2822(value: object) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return _utc(email_utils.parsedate_to_datetime(value))


def _encode_rfc2822(value: object) -> object:
    if not isinstance(value, datetime.datetime):
        return value
    moment = _utc(_known_zone(value))
    return email_utils.format_datetime(moment, usegmt=moment.tzinfo is datetime.UTC)


@cache
def _formats() -> dict[str, Codec]:
    return {
        "rfc3339": Codec(decode_datetime, encode_datetime),
        "unix": Codec(_decode_since(1), _encode_since(1)),
        "unix_ms": Codec(_decode_since(1000), _encode_since(1000)),
        "rfc2822": Codec(_decode_rfc2822, _encode_rfc2822),
    }


def format_codec(format: str) -> Codec:
    """Return the conversion of datetimes in a format."""
    return _formats()[format]


def decode_date(value: Any) -> datetime.date:
    """Decode an ISO 8601 date. Raises ValueError, TypeError."""
    return value if type(value) is datetime.date else datetime.date.fromisoformat(value)


def decode_time(value: Any) -> datetime.time:
    """Decode an ISO 8601 time, keeping its offset. Raises ValueError, TypeError."""
    return value if isinstance(value, datetime.time) else datetime.time.fromisoformat(value)


def decode_decimal(value: object) -> decimal.Decimal:
    """Decode a JSON string or number to a Decimal with the same digits. Raises ValueError, TypeError."""
    try:
        if type(value) is str:
            return decimal.Decimal(value)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, decimal.Decimal)):
            raise TypeError(f"expected a string or a number, got {type(value).__name__}")
        return decimal.Decimal(repr(value) if isinstance(value, float) else value)
    except decimal.InvalidOperation as error:
        raise ValueError(f"not a decimal number: {value!r}") from error


def decode_uuid(value: object) -> uuid.UUID:
    """Decode a JSON string to a UUID. Raises ValueError, TypeError."""
    if isinstance(value, uuid.UUID):
        return value
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return uuid.UUID(value)


UNCHANGING: Final = frozenset({decode_datetime, decode_date, decode_time, decode_decimal, decode_uuid})
"""Decoders that return immutable values, which need not be made read-only."""


def encode_any(value: object) -> object:
    """Encode a value of a type with a built-in conversion; other values are returned unchanged."""
    if type(value) in SCALARS:
        return value
    if isinstance(value, datetime.datetime):
        return encode_datetime(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    return value


def _enum_codec(kind: type[enum.Enum]) -> Codec:
    def decode(value: object) -> Any:
        try:
            return kind(value)
        except ValueError:
            return value  # unknown values are returned unchanged, so that they never fail a read

    return Codec(decode, encode_any)


_BUILT_IN: Final[Mapping[tuple[str, str], Codec]] = {
    ("datetime", "datetime"): Codec(decode_datetime, encode_datetime),
    ("datetime", "date"): Codec(decode_date, encode_any),
    ("datetime", "time"): Codec(decode_time, encode_any),
    ("decimal", "Decimal"): Codec(decode_decimal, encode_any),
    ("uuid", "UUID"): Codec(decode_uuid, encode_any),
}
"""Built-in conversions by module and class name; importing the modules is slow. (Benchmark: cold first typed read.)"""


_UNIONS: Final[frozenset[object]] = frozenset({typing.Union, types.UnionType})
_LISTS: Final[frozenset[object]] = frozenset({list, Sequence})
_SETS: tuple[type[Any], ...] = (set, frozenset)
MAPS: Final[frozenset[object]] = frozenset({dict, Mapping})


def unqualified(kind: object) -> object:
    """Return a type without `Annotated` and `Final`."""
    while typing.get_origin(kind) in (typing.Annotated, typing.Final):
        kind = typing.get_args(kind)[0]
    return kind


def takes_none(kind: object) -> bool:
    """Return whether None is one of the types of an annotation."""
    kind = unqualified(kind)
    return typing.get_origin(kind) in _UNIONS and type(None) in typing.get_args(kind)


def is_union(kind: object) -> bool:
    """Return whether an annotation is a union of types."""
    return typing.get_origin(kind) in _UNIONS


def bare(kind: object) -> object:
    """Return a type without `Annotated`, `Final` and None."""
    kind = unqualified(kind)
    if is_union(kind):
        others = [argument for argument in typing.get_args(kind) if argument is not type(None)]
        return bare(others[0]) if len(others) == 1 else kind
    return kind


def item_of(kind: object, lists: Collection[object] = _LISTS) -> object:
    """Return the type of the items of a list type, or of the values of a map type; None for other types."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in lists and arguments:
        return arguments[0]
    return arguments[1] if origin in MAPS and len(arguments) == 2 else None


def codec_of(kind: object, format: str | None = None) -> Codec | None:
    """Return the conversion for values of a type; None if its JSON values are returned unchanged.

    Looks into `X | None`, `Sequence[X]`, `list[X]` and `dict[str, X]`. A class may define its own conversion as
    `__codec__`. With a `format` only datetimes are converted, to and from that format.
    """
    kind = bare(kind)
    item = item_of(kind)
    if item is not None:
        return (dict_codec if typing.get_origin(kind) in MAPS else list_codec)(codec_of(item, format))
    if format is not None:
        return format_codec(format) if kind is datetime.datetime else None
    if not isinstance(kind, type):
        return None
    built_in = _BUILT_IN.get((kind.__module__, kind.__qualname__))
    if built_in is not None:
        return built_in
    if issubclass(kind, enum.Enum):
        return _enum_codec(kind)
    own: Callable[[], Codec] | None = getattr(typing.cast("type[Any]", kind), "__codec__", None)
    return own() if callable(own) else None


def list_codec(item: Codec | None) -> Codec | None:
    """Return the conversion of a list, given that of its items; None without one."""
    if item is None:
        return None
    decode_item, encode_item = item

    def decode(value: Any) -> Any:
        if not isinstance(value, LIST):
            return value
        return ReadOnlyList([None if entry is None else decode_item(entry) for entry in value])

    def encode(value: Any) -> Any:
        if isinstance(value, _SETS):
            value = list(value)
        if not is_items(value):
            return value
        return [None if entry is None else encode_item(entry) for entry in value]

    return Codec(decode, encode)


def dict_codec(item: Codec | None) -> Codec | None:
    """Return the conversion of a dict, given that of its values; None without one."""
    if item is None:
        return None
    decode_item, encode_item = item

    def decode(value: Any) -> Any:
        if not isinstance(value, DICT):
            return value
        return ReadOnlyDict({key: None if entry is None else decode_item(entry) for key, entry in value.items()})

    def encode(value: Any) -> Any:
        if not isinstance(value, MAPPING):
            return value
        return {key: None if entry is None else encode_item(entry) for key, entry in value.items()}

    return Codec(decode, encode)
