"""The mock server reads search strings as their styles write them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generator.declared import declared
from tests.generator.mock.served import Api, spec_text

from restencil import RestEndpoint
from restencil_generator.mock import styles
from restencil_generator.spec import model as d

SPEC = spec_text("styles")
DECLARED = declared(SPEC)

TEXTS = st.text('aé ,|&=[]#+"', min_size=1, max_size=4)
LISTS = st.lists(TEXTS, min_size=1, max_size=12)
NAMES = st.text("abcü_", min_size=1, max_size=3)


def _fields(kind: d.Type, style: d.Style) -> d.Field:
    return d.Field("a", "a", "a", kind, style=style)


def _read(kind: d.Type, style: Any, value: Any) -> Any:
    """A value after it was written by the runtime and read by the mock server."""
    text = RestEndpoint(path="/x", search_styles={"a": style}).search_to_string({"z": 1, "a": value, "b[c]": 2})
    return styles.read(DECLARED, _fields(kind, style), parse_qsl(text, keep_blank_values=True))


STRING = d.Scalar("string")
TREES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("style", ["repeat", "brackets", "deep", "json"])
@given(value=LISTS)
def test_mock_styles_lists_are_read_as_they_were_written(style: str, value: list[str]) -> None:
    """Whatever the texts hold, their order stays."""
    assert _read(d.ListOf(STRING), style, value) == value


@pytest.mark.parametrize(("style", "separator"), [("comma", ","), ("space", " "), ("pipe", "|")])
@given(value=LISTS)
def test_mock_styles_joined_lists_are_read_but_for_their_separator(
    style: str, separator: str, value: list[str]
) -> None:
    """A text that holds the separator is two."""
    assert _read(d.ListOf(STRING), style, value) == separator.join(value).split(separator)


@pytest.mark.parametrize(
    ("style", "lists"),
    [("repeat", [["1", "2"]]), ("pipe", [["1", "2"], []]), ("deep", [["1"], ["1", "2"]])],
)
def test_mock_styles_one_of_several_is_the_text_or_the_list_that_was_written(
    style: Any, lists: list[list[str]]
) -> None:
    """A list of one item says the same as the item, but where the style marks lists."""
    kind = d.OneOf((d.Scalar("integer"), d.ListOf(STRING)))
    assert [_read(kind, style, value) for value in ("1", *lists)] == ["1", *lists]


@given(value=st.dictionaries(NAMES, TREES, min_size=1, max_size=3))
def test_mock_styles_objects_of_any_depth_are_read_as_they_were_written(value: dict[str, Any]) -> None:
    """Numbered styles and JSON lose nothing."""
    assert _read(d.ValuesOf(d.Scalar("any")), "deep", value) == value
    assert _read(d.ValuesOf(d.Scalar("any")), "json", value) == value


@given(value=st.dictionaries(NAMES, LISTS, min_size=1, max_size=3))
def test_mock_styles_objects_of_lists_are_read_from_brackets(value: dict[str, Any]) -> None:
    """So are lists of objects that have the same members each."""
    assert _read(d.ValuesOf(d.ListOf(STRING)), "brackets", value) == value
    same = [dict.fromkeys(value, text) for text in ("x", "y", "z")]
    assert _read(d.ListOf(d.ValuesOf(STRING)), "brackets", same) == same


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("size=s&size=m", [1, 2]),
        ("size%5B%5D=s", [1, 2, 3]),
        ("color=red%7Cblue", [1, 2, 3]),
        ("color=red", [1, 3]),
        ("color=red&color=blue", [1, 2, 3]),
        ("filter%5Bcolor%5D=red&filter%5Bsize%5D=l", [3]),
        ("filter=%7B%7D", [1, 2, 3]),
        ("json=%7B%22color%22%3A%22blue%22%7D", [2]),
        ("json=nothing", [1, 2, 3]),
        ("tags%5B%5D=b&tags%5B%5D=c", [2, 3]),
        ("tags=b", [1, 2, 3]),
        ("id=1&id=3", [1, 3]),
    ],
)
def test_mock_styles_lists_are_filtered_by_what_is_in_the_declared_style(query: str, ids: list[int]) -> None:
    """An argument in another style is none."""
    assert [item["id"] for item in Api(SPEC).get(f"/items?{query}")] == ids


def test_mock_styles_slashes_and_lists_in_paths_find_their_endpoint() -> None:
    """A parameter with slashes matches up to the next literal text."""
    api = Api(SPEC)
    assert api("GET", "/files/a/b/text").status_code == 200
    assert api("GET", "/files/a/b/other").status_code == 404
    assert api("GET", "/several/1,2").status_code == 200
