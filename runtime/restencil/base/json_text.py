"""JSON text: the one place where bytes become values and values become text.

With the extra `[fast]`, orjson reads; the standard library decides wherever the two could differ, so that a program
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
"""Of fewer bytes the brackets are counted first. (Benchmark: one small entity.)"""
_may_hold_containers: Final[Callable[[Any], bool]] = getattr(
    gc, "is_tracked", lambda value: isinstance(value, dict | list)
)
_TOO_DEEP: Final = f"it is nested more than {_LEVELS} levels deep"

# orjson gives floats for integers beyond 64 bits, which have 19 digits and more.
_LONG_NUMBER: Final = b"0" * 19
# So long a number has four digits in a row among every fourth byte, wherever it begins, which most strings have not.
# (Benchmark: bytes → tables, with [fast].)
_EVERY_FOURTH: Final = b"0" * 4
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


@cache
def _fast() -> Callable[[bytes], Any] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.loads


@cache
def _standard() -> Callable[[str], Any]:
    return json.JSONDecoder(parse_constant=_no_constant).decode


def decode_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8, with or without a byte order mark.

    Raises ValueError for anything that is not JSON: NaN and Infinity, other encodings and bad UTF-8 included, and for
    what is nested more than 500 levels deep. Of a member given twice, the last one counts. Integers keep all their
    digits.
    """
    fast = _fast()
    if fast is not None and not (
        _EVERY_FOURTH in data[::4].translate(_DIGITS_ALIKE) and _LONG_NUMBER in data.translate(_DIGITS_ALIKE)
    ):
        try:
            value = fast(data)
        except ValueError:
            pass  # the standard library has the last word, so that both give the same error
        else:
            return value if len(data) <= 2 * _LEVELS else _of_some_depth(value, data)
    return decode_json_standard(data)


def decode_json_standard(data: bytes) -> Any:
    """`decode_json` by the standard library alone."""
    text = data.decode("utf-8-sig")
    try:
        value = _standard()(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return value if len(data) <= 2 * _LEVELS else _of_some_depth(value, data)


def _of_some_depth(value: Any, data: bytes) -> Any:
    """A decoded value that is not nested too deeply; each decoder by itself would give up at a depth of its own."""
    if not (is_dict(value) or is_list(value)):
        return value
    if len(data) < _SHORT and data.count(b"{") + data.count(b"[") < _LEVELS:
        return value
    if _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _is_too_deep(value: Any) -> bool:
    # Level by level, and not one by one: that is left to the collector of garbage, which passes over dicts of scalars.
    # (Benchmark: bytes → tables, with [fast].)
    level = [value]
    for _ in range(_LEVELS - 1):
        level = list(filter(_may_hold_containers, gc.get_referents(*level)))
        if not level:
            return False
    return any(isinstance(inner, (dict, list)) for inner in gc.get_referents(*level))


def encode_json(value: Any, convert: Callable[[Any], Any]) -> str:
    """Compact JSON text of a value; `convert` turns what JSON does not know into what it knows.

    Raises TypeError for a value that has no JSON form and ValueError for NaN and infinities.
    """

    def default(item: Any) -> Any:
        return _plain(item, convert)

    text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default).encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; escaped, it is JSON all the same.
        return json.dumps(json.loads(text), separators=(",", ":"))
    return text


_EXACT: Final = frozenset({str, int, bool, type(None)})
_TEXTS: Final = {str}


def encode_exactly(value: Any, *, portable: bool = False) -> bytes:
    """Compact JSON in UTF-8 that decodes to the same value; with `portable` the same bytes with and without `[fast]`.

    Raises ValueError for a value that has no such form: one with NaN or an infinity in it, with names that are no text,
    with anything that JSON does not know, or nested more than 500 levels deep.
    """
    _check_exact(value, 1)
    fast = None if portable else _fast_encoder()
    if fast is not None:
        try:
            return fast(value)
        except TypeError:
            pass  # integers beyond 64 bits, and more that it leaves to the standard library
    encode, escaping = _encoders()
    try:
        return encode(value).encode()
    except UnicodeEncodeError:
        return escaping(value).encode()  # a lone surrogate has no UTF-8 form; escaped, it is JSON all the same


@cache
def _fast_encoder() -> Callable[[Any], bytes] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.dumps


@cache
def _encoders() -> tuple[Callable[[Any], str], Callable[[Any], str]]:
    # What leads back to itself was found to be too deep before.
    compact: dict[str, Any] = {"allow_nan": False, "separators": (",", ":"), "check_circular": False}
    return json.JSONEncoder(ensure_ascii=False, **compact).encode, json.JSONEncoder(**compact).encode


def _check_exact(value: Any, level: int) -> None:
    """Raises ValueError for what would decode to something else; a record of scalars is recognized by its types."""
    inner: Iterable[Any]
    if is_dict(value):
        kinds = set(map(type, value))
        if kinds != _TEXTS and any(not issubclass(kind, str) for kind in kinds):
            raise ValueError(f"a name in {value!r:.100} is no text, as all names in JSON are")
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
                raise ValueError(f"{item} is no JSON value")
        elif item is not None and not isinstance(item, (str, int)):
            raise ValueError(f"{described(item)} has no JSON form")


def _plain(item: Any, convert: Callable[[Any], Any]) -> Any:
    if is_mapping(item):
        return dict(item)
    if hasattr(item, "__dataclass_fields__") and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    converted = convert(item)
    if converted is item:
        raise TypeError(f"{described(item)} has no JSON form; convert it first: {item!r:.100}")
    return converted
