"""Path templates and URLs."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil import PathTemplateError, RestEndpoint
from restencil.endpoint.path import path_template, search_string


class Shade(enum.Enum):
    DARK = "dark blue"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (1.0, "1"),
        (1e16, "10000000000000000"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e%2B21"),
        (0.000001, "0.000001"),
        (1.5e-5, "0.000015"),
        (-1e-7, "-1e-7"),
        (-0.0, "0"),
        (10**30, "1" + "0" * 30),
        (Shade.DARK, "dark%20blue"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
    ],
)
def test_path_values_of_other_types_have_their_text(value: Any, text: str) -> None:
    """Booleans are words, floats read as in JSON without `.0`, an Enum is its value, others their str()."""
    assert path_template("/:v").fill({"v": value}) == f"/{text}"


@pytest.mark.parametrize(
    ("template", "params"),
    [
        ("/a/:b", {"b": ".."}),
        ("/a/:b", {"b": "."}),
        ("/a/:b?", {"b": ".."}),
        ("/a/.:b", {"b": "."}),
        ("/a/.:b", {"b": ""}),
        ("/:a.:b", {"a": "", "b": ""}),
        ("/:a.:b", {"a": ".", "b": ""}),
        (r"/a/:b\?q=:c", {"b": "..", "c": "1"}),
        (":a", {"a": ".."}),
    ],
)
def test_path_no_value_can_make_a_dot_segment(template: str, params: dict[str, Any]) -> None:
    """A value that would make a whole segment `.` or `..` is a ValueError that names the parameter."""
    with pytest.raises(ValueError, match=r"parameter '[abc]' of .* would result in the path segment '\.+'"):
        RestEndpoint(path=template).url(params)


@pytest.mark.parametrize("value", ["a\tb", "\x00", "a\x7f", "\x85", "a\nb"])
def test_path_control_characters_are_rejected(value: str) -> None:
    """A value that holds a control character is a ValueError."""
    with pytest.raises(ValueError, match="parameter 'id' of '/a/:id' contains the control character"):
        RestEndpoint(path="/a/:id").url({"id": value})


def test_path_search_string_is_sorted_form_encoding() -> None:
    """The vector of the rules; None is dropped, in a list it is empty; lists are joined with commas."""
    params = {"z": None, "c": "~*() é", "a": [1, 2], "t": True, "f": 1.0}
    assert search_string(params) == "a=1%2C2&c=%7E*%28%29+%C3%A9&f=1&t=true"
    assert search_string({"n": [1, [2, (3,)]], "e": [], "o": [1, None, 2]}) == "e=&n=1%2C2%2C3&o=1%2C%2C2"
    assert RestEndpoint(path="/a").url({"b": None}) == "/a"


@given(st.text(alphabet="ab/:?\\.-(_1", max_size=12))
def test_path_any_text_is_a_template_or_a_clear_error(template: str) -> None:
    """Nothing but PathTemplateError comes out of building, whose position lies in the text."""
    try:
        found = path_template(template)
    except PathTemplateError as error:
        assert 0 <= error.position < len(template)
    else:
        assert found.matches(found.fill(dict.fromkeys(found.names, "v")))
