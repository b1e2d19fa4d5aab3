"""Conversions between JSON values and Python values, found from a field's type."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, Union

from ..base.lazy import datetime, decimal, uuid
from ..base.values import DICT, LIST, MAPPING, SCALARS, ReadOnlyDict, ReadOnlyList, is_items

Convert: TypeAlias = Callable[[Any], Any]


class Codec(NamedTuple):
    """The way from a JSON value to a Python value and back; neither is called on None."""

    decode: Convert
    encode: Convert


def _utc(moment: datetime.datetime) -> datetime.datetime:
    # Naive text is read as UTC: two servers' clocks must never compare by accident.
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def decode_datetime(value: Any) -> datetime.datetime:
    """An RFC 3339 text is a datetime with its offset kept; naive text is UTC. Raises ValueError, TypeError."""
    return value if isinstance(value, datetime.datetime) else _utc(datetime.datetime.fromisoformat(value))


sending: Final[ContextVar[str | None]] = ContextVar("restencil_body_of", default=None)
"""Set while the body of a request is brought to wire form: the endpoint's name where it is strict, else nothing."""


def encode_datetime(value: Any) -> Any:
    """A datetime is written in RFC 3339, UTC as `Z`; other values pass.

    One without a time zone is UTC. Raises ValueError for such a one in the body of a strict endpoint.
    """
    if not isinstance(value, datetime.datetime):
        return value
    if value.tzinfo is None and (owner := sending.get()):
        raise ValueError(
            f"the body of endpoint {owner!r} holds {value.isoformat()}, a moment without a time zone, which may be UTC "
            "or local time: give it one, as datetime.now(datetime.UTC) has and value.astimezone() gives"
        )
    text = _utc(value).isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def decode_date(value: Any) -> datetime.date:
    """An ISO 8601 date text is a date. Raises ValueError, TypeError."""
    return value if type(value) is datetime.date else datetime.date.fromisoformat(value)


def decode_time(value: Any) -> datetime.time:
    """An ISO 8601 time text is a time with its offset kept. Raises ValueError, TypeError."""
    return value if isinstance(value, datetime.time) else datetime.time.fromisoformat(value)


def _encode_iso(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


def decode_decimal(value: Any) -> decimal.Decimal:
    """A JSON string or number is a Decimal, digit for digit. Raises ValueError, TypeError."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, decimal.Decimal)):
        raise TypeError(f"expected a string or a number, got {type(value).__name__}")
    try:
        return decimal.Decimal(repr(value) if isinstance(value, float) else value)
    except decimal.InvalidOperation as error:
        raise ValueError(f"not a decimal number: {value!r}") from error


def _encode_decimal(value: Any) -> Any:
    return str(value) if isinstance(value, decimal.Decimal) else value


def decode_uuid(value: Any) -> uuid.UUID:
    """A JSON string is a UUID. Raises ValueError, TypeError."""
    if isinstance(value, uuid.UUID):
        return value
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    return uuid.UUID(value)


def _encode_uuid(value: Any) -> Any:
    return str(value) if isinstance(value, uuid.UUID) else value


def encode_any(value: Any) -> Any:
    """The JSON form of a Python value of any of the types that convert by themselves; other values pass."""
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
    def decode(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            return value  # a value that the enum does not know never fails a read

    return Codec(decode, encode_any)


@cache
def _built_in() -> dict[Any, Codec]:
    return {
        datetime.datetime: Codec(decode_datetime, encode_datetime),
        datetime.date: Codec(decode_date, _encode_iso),
        datetime.time: Codec(decode_time, _encode_iso),
        decimal.Decimal: Codec(decode_decimal, _encode_decimal),
        uuid.UUID: Codec(decode_uuid, _encode_uuid),
    }


def codec_of(kind: Any) -> Codec | None:
    """The conversion for values of this type, or None where JSON values are handed out as they are.

    Looks into `X | None`, `Sequence[X]`, `list[X]` and `dict[str, X]`; a class may bring its own as `__codec__`.
    """
    if isinstance(kind, type) and kind.__module__ in ("datetime", "decimal", "uuid"):
        built_in = _built_in().get(kind)
        if built_in is not None:
            return built_in
    origin = typing.get_origin(kind)
    if isinstance(kind, type) and origin is None:
        if issubclass(kind, enum.Enum):
            return _enum_codec(kind)
        own: Callable[[], Codec] | None = getattr(typing.cast("type[Any]", kind), "__codec__", None)
        return own() if callable(own) else None
    arguments = typing.get_args(kind)
    if origin in (Union, types.UnionType):
        codecs = [codec_of(member) for member in arguments if member is not type(None)]
        return codecs[0] if len(codecs) == 1 else None
    if origin in (typing.Annotated, typing.Final):
        return codec_of(arguments[0])
    if origin in (list, Sequence) and arguments:
        return _list_codec(codec_of(arguments[0]))
    if origin in (dict, Mapping) and len(arguments) == 2:
        return _dict_codec(codec_of(arguments[1]))
    return None


def _list_codec(item: Codec | None) -> Codec | None:
    if item is None:
        return None
    decode_item, encode_item = item

    def decode(value: Any) -> Any:
        if not isinstance(value, LIST):
            return value
        return ReadOnlyList([None if entry is None else decode_item(entry) for entry in value])

    def encode(value: Any) -> Any:
        if not is_items(value):
            return value
        return [None if entry is None else encode_item(entry) for entry in value]

    return Codec(decode, encode)


def _dict_codec(item: Codec | None) -> Codec | None:
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
