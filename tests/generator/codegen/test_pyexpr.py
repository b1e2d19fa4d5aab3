"""Python literals and names: what is written is what was given, on one line, and printable."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.generator.specs_at_random import hostile

from restencil_generator.codegen.format import format_text
from restencil_generator.codegen.pyexpr import call, comment, items, literal, natural, pair, string, table


@given(hostile)
def test_pyexpr_literal_is_the_text(text: str) -> None:
    """A text's literal evaluates to the text, on one line, printable, and in the quotes that black wants."""
    code = string(text)
    assert ast.literal_eval(code) == text
    assert code.isprintable()
    assert format_text(f"x = {code}\n") == f"x = {code}\n"


@given(st.one_of(st.integers(), st.booleans(), st.none(), st.floats()))
def test_pyexpr_scalar_is_itself(value: Any) -> None:
    """Numbers, booleans and null are themselves; floats that are no numbers are calls."""
    code = literal(value)
    found = eval(code, {"float": float, "__builtins__": {}})
    assert found == value or (value != value and found != found)
    assert format_text(f"x = {code}\n") == f"x = {code}\n"


def test_pyexpr_what_is_escaped_does_not_depend_on_the_python() -> None:
    """A letter of a later Unicode than the oldest supported Python's is escaped; old letters and emoji stay."""
    assert string("é ü 日本 ❤ 👍 🤖") == '"é ü 日本 ❤ 👍 🤖"'
    assert string("\U0001fae8 \U00011f00 \u202e") == '"\\U0001fae8 \\U00011f00 \\u202e"'


def test_pyexpr_names_are_sorted_as_linters_sort_them() -> None:
    """Constants, then classes, then the rest; numbers by value."""
    given_names = ["b10", "B", "b9", "Ab", "AB", "a", "_x"]
    assert sorted(given_names, key=natural) == ["AB", "Ab", "B", "_x", "a", "b9", "b10"]


def test_pyexpr_expressions_are_flat_strings() -> None:
    """Calls, lists, tuples and dicts on one line; a tuple of one has its comma."""
    assert call("f", ["1"], {"a": items(["x", "y"])}) == "f(1, a=[x, y])"
    assert (pair(["x"]), pair(["x", "y"]), pair([])) == ("(x,)", "(x, y)", "()")
    assert table({string("a"): "1", "404": "b"}) == '{"a": 1, 404: b}'


@given(hostile)
def test_pyexpr_comment_stays_on_its_line(text: str) -> None:
    """Nothing in a comment ends it or is invisible."""
    assert comment(text).isprintable()
