"""Encoding and decoding of JSON.

With the extra `[fast]`, orjson is used; the standard library decides wherever the two could differ, so that a program
behaves the same with and without it.
"""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Callable, Iterable
from functools import cache
from math import isfinite
from typing import Any, Final, NoReturn

from .values import described, is_dict, is_list, is_mapping

_LEVELS: Final = 500
_SHORT: Final = 64 * 1024
"""For fewer bytes than this, brackets are counted first. (Benchmark: one small entity.)"""
_may_hold_containers: Final[Callable[[Any], bool]] = getattr(
    gc, "is_tracked", lambda value: isinstance(value, dict | list)
)
_TOO_DEEP: Final = f"it is nested more than {_LEVELS} levels deep"

# orjson decodes integers beyond 64 bits, which have 19 digits or more, to floats.
_LONG_NUMBER: Final = b"0" * 19
# Every fourth byte of so long a number contains four digits in a row, wherever it begins; few other values do.
# (Benchmark: bytes → tables, with [fast].)
_EVERY_FOURTH: Final = b"0" * 4
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


@cache
def _fast() -> Callable[[bytes], object] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.loads


@cache
def _standard() -> Callable[[str], object]:
    return json.JSONDecoder(parse_constant=_no_constant).decode


def decode_json(data: bytes) -> Any:
    """Decode JSON in UTF-8, with or without a byte order mark.

    Integers keep all their digits, and the last one of several members of the same name is used. Raises ValueError for
    invalid JSON, which includes NaN, Infinity, other encodings and invalid UTF-8, and for JSON that is nested more than
    500 levels deep.
    """
    fast = _fast()
    if fast is not None and not (
        _EVERY_FOURTH in data[::4].translate(_DIGITS_ALIKE) and _LONG_NUMBER in data.translate(_DIGITS_ALIKE)
    ):
        try:
            value = fast(data)
        except ValueError:
            pass  # decoded again by the standard library, so that errors are the same with and without orjson
        else:
            return value if len(data) <= 2 * _LEVELS else _of_some_depth(value, data)
    return decode_json_standard(data)


def decode_json_standard(data: bytes) -> object:
    """Decode JSON as `decode_json` does, with the standard library alone."""
    text = data.decode("utf-8-sig")
    try:
        value = _standard()(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return value if len(data) <= 2 * _LEVELS else _of_some_depth(value, data)


def _of_some_depth(value: object, data: bytes) -> object:
    """Return a decoded value. Raises ValueError if it is nested too deep, at the same depth for both decoders."""
    if not (is_dict(value) or is_list(value)):
        return value
    if len(data) < _SHORT and data.count(b"{") + data.count(b"[") < _LEVELS:
        return value
    if _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _is_too_deep(value: object) -> bool:
    # Level by level through the garbage collector, which skips dicts of scalars, is faster than value by value.
    # (Benchmark: bytes → tables, with [fast].)
    level = [value]
    for _ in range(_LEVELS - 1):
        level = list(filter(_may_hold_containers, gc.get_referents(*level)))
        if not level:
            return False
    return any(isinstance(inner, (dict, list)) for inner in gc.get_referents(*level))


def encode_json(value: object, convert: Callable[[Any], object]) -> str:
    """Encode a value as a compact JSON string; `convert` converts values of types that JSON does not have.

    Raises TypeError for a value without a JSON form, and ValueError for NaN and infinities.
    """

    def default(item: object) -> object:
        return _plain(item, convert)

    text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default).encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A lone surrogate cannot be encoded in UTF-8, but it can be escaped.
        return json.dumps(json.loads(text), separators=(",", ":"))
    return text


_EXACT: Final = frozenset({str, int, bool, type(None)})
_TEXTS: Final = {str}


def encode_exactly(value: object, *, portable: bool = False) -> bytes:
    """Encode a value as compact JSON in UTF-8 that decodes to an equal value.

    With `portable` the bytes are the same with and without `[fast]`. Raises ValueError for a value with NaN,
    infinities, names that are not strings, or types that JSON does not have, and for one that is nested more than 500
    levels deep.
    """
    _check_exact(value, 1)
    fast = None if portable else _fast_encoder()
    if fast is not None:
        try:
            return fast(value)
        except TypeError:
            pass  # such as integers beyond 64 bits, which orjson rejects
    encode, escaping = _encoders()
    try:
        return encode(value).encode()
    except UnicodeEncodeError:
        return escaping(value).encode()  # a lone surrogate cannot be encoded in UTF-8, but it can be escaped


@cache
def _fast_encoder() -> Callable[[Any], bytes] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.dumps


@cache
def _encoders() -> tuple[Callable[[Any], str], Callable[[Any], str]]:
    # Circular values were rejected before, as nested too deep.
    compact: dict[str, Any] = {"allow_nan": False, "separators": (",", ":"), "check_circular": False}
    return json.JSONEncoder(ensure_ascii=False, **compact).encode, json.JSONEncoder(**compact).encode


def _check_exact(value: Any, level: int) -> None:
    """Raise ValueError for a value that would not decode to an equal one; scalars are checked by type, all at once."""
    inner: Iterable[Any]
    if is_dict(value):
        kinds = set(map(type, value))
        if kinds != _TEXTS and any(not issubclass(kind, str) for kind in kinds):
            raise ValueError(f"a key in {value!r:.100} is not a string, but JSON has only string keys")
        inner = value.values()
    elif is_list(value):
        inner = value
    else:
        inner = (value,)
        level -= 1
    if _EXACT.issuperset(map(type, inner)):
        return
    for item in inner:
        if isinstance(item, (dict, list)):
            if level == _LEVELS:
                raise ValueError(_TOO_DEEP)
            _check_exact(item, level + 1)
        elif isinstance(item, float):
            if not isfinite(item):
                raise ValueError(f"{item} is not a JSON value")
        elif item is not None and not isinstance(item, (str, int)):
            raise ValueError(f"{described(item)} has no JSON form")


def _plain(item: Any, convert: Callable[[Any], object]) -> object:
    if is_mapping(item):
        return dict(item)
    if hasattr(item, "__dataclass_fields__") and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    converted = convert(item)
    if converted is item:
        raise TypeError(f"{described(item)} has no JSON form; convert it first: {item!r:.100}")
    return converted
