"""The decoder seam: with and without the fast decoder a program behaves the same."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil.base.json_text import decode_json, decode_json_standard, encode_json

CASES = [
    *(b'{"a":1,"a":2}', b"NaN", b"[Infinity]", b"-Infinity", b"-0", b"-0.0", b"1e400", b"0.1e-7", b"1E+2", b"01"),
    b"1.",
    *(b"123456789012345678901234567890", b"18446744073709551616", b"9223372036854775808", b"-9223372036854775809"),
    *(b'"\xff"', b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}", b'"\\ud800"', b'"a\tb"', b'"\\x"', b"", b" ", b"[1,]"),
    b'{"a":1}x',
    *(b"[" * 500 + b"]" * 500, b"[" * 100_000, b"1" * 5000, b'"' + b"1" * 5000 + b'"', b"\xff\xfe1\x00", b"tru"),
    b"'a'",
]


def outcome(decode: Any, data: bytes) -> tuple[str, str]:
    try:
        return "value", repr(decode(data))
    except ValueError as error:
        return type(error).__name__, str(error)


def test_json_text_fast_decoder_is_there_to_be_compared() -> None:
    """These tests mean nothing without it."""
    assert importlib.util.find_spec("orjson") is not None


@pytest.mark.parametrize("data", CASES, ids=lambda data: repr(data[:20]))
def test_json_text_both_decoders_agree_on_what_is_odd(data: bytes) -> None:
    """Duplicates, constants, big and long numbers, encodings, surrogates, depth: same value or same error."""
    assert outcome(decode_json, data) == outcome(decode_json_standard, data)


ALPHABET = [b"{", b"}", b"[", b"]", b",", b":", b'"a"', b"1", b"-", b".", b"e5", b"0", b"9" * 8, b"null", b" ", b'"']


@given(st.lists(st.sampled_from(ALPHABET), max_size=10))
def test_json_text_both_decoders_agree_on_anything(pieces: list[bytes]) -> None:
    """Whatever arrives is read alike."""
    data = b"".join(pieces)
    assert outcome(decode_json, data) == outcome(decode_json_standard, data)


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(VALUES)
def test_json_text_what_is_encoded_is_decoded_as_it_was(value: Any) -> None:
    """Integers keep all their digits, texts every character, lone surrogates too."""
    text = encode_json(value, lambda item: item)
    assert decode_json(text.encode()) == value


@pytest.mark.parametrize("decode", [decode_json, decode_json_standard])
@pytest.mark.parametrize("inside", ["", "1", "[]", '{"a":1}', '{"a":1},2'])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('["x",', "]")])
def test_json_is_500_levels_deep_at_most(decode: Any, inside: str, opening: str, closing: str) -> None:
    """With and without the extra, so deep a text is decoded, and a deeper one is none."""
    if inside == "" or (opening == '{"a":' and inside.endswith("2")):
        inside = "null"
    levels = 500 - (inside[0] in "[{")
    decode((opening * levels + inside + closing * levels).encode())
    with pytest.raises(ValueError, match="nested more than 500 levels deep"):
        decode((opening * (levels + 1) + inside + closing * (levels + 1)).encode())
    with pytest.raises(ValueError, match="nested more than 500 levels deep"):
        decode((opening * 5000 + inside + closing * 5000).encode())


def test_json_text_value_without_json_form_is_named() -> None:
    """What was found and what to do."""
    with pytest.raises(TypeError, match="a set has no JSON form; convert it first: {1}"):
        encode_json({"a": {1}}, lambda item: item)
