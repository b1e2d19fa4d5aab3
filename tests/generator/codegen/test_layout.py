"""Lines of generated code: what is laid out needs no formatting, and is the same code."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.generator.specs_at_random import HOSTILE, assumed, hostile, specs

from restencil_generator.codegen.format import format_all, format_statements, format_text
from restencil_generator.codegen.layout import break_line, docstring, fits, lay_out
from restencil_generator.codegen.plan import plan
from restencil_generator.codegen.pyexpr import call, items, natural, pair, string, table
from restencil_generator.codegen.render import Renderer

words = st.sampled_from(
    ["a", "name", "schema.Collection", "a_rather_long_name", "an_even_longer_name_for_something_or_other"]
)
leaves = st.one_of(words, st.text(max_size=12).map(lambda text: string(text.encode("utf-8", "ignore").decode())))


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    options = st.lists(inner, max_size=3).map(
        lambda values: dict(zip(("a", "keyword_of_some_length", "c"), values, strict=False))
    )
    keys = st.text(st.sampled_from(HOSTILE), max_size=9).map(string)
    return st.one_of(
        st.builds(call, words, st.lists(inner, max_size=4), options),
        st.lists(inner, max_size=4).map(items),
        # Tuples are of names and strings alone; black breaks one of a single call earlier than it must.
        st.lists(leaves, max_size=4).map(pair),
        st.dictionaries(keys, inner, max_size=3).map(table),
        inner.map(lambda body: f"lambda parent, key: {body}"),
        inner.map(lambda body: f"lambda: {body}"),
    )


expressions = st.recursive(leaves, _deeper, max_leaves=12)


# --------------------------------------------------------------------------------------------------------------- layout


def is_laid_out(flat: str) -> None:
    """Fails unless the code is the same after it was laid out, and black leaves it alone if its lines fit."""
    text = lay_out(flat, ast.parse(flat))
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(flat))
    if fits(text):
        assert format_text(text) == text


@given(expressions)
def test_layout_statement_in_a_class_is_laid_out_as_black_leaves_it(expression: str) -> None:
    """The head of a class, a member and a decorator."""
    is_laid_out(
        f"class Thing(Base, keyword={expression}):\n    x = {expression}\n\n"
        f"    @rest({expression})\n    def f(self) -> None: ...\n"
    )


@given(hostile, hostile)
def test_layout_no_string_is_broken(text: str, other: str) -> None:
    """Brackets and commas in strings, docstrings and comments are no places to break a line."""
    doc = docstring(f"{text} {other}", 4) if text.strip() or other.strip() else '"""x"""'
    is_laid_out(f"class Thing:\n    {doc}\n\n    value = f({string(text * 3)}, {string(other * 3)})\n")


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("x = f(a, b)", ["x = f(a, b)"]),
        (f"x = f({'a' * 60}, {'b' * 30})", ["x = f(", f"    {'a' * 60},", f"    {'b' * 30},", ")"]),
        (f"from m import {'a' * 60}, {'b' * 30}", ["from m import (", f"    {'a' * 60},", f"    {'b' * 30},", ")"]),
        (f"field: typing.Required[dict[str, {'a' * 80}]]", None),
        (f"# {'a' * 60}, ({'b' * 30})", None),
        (f"x = f({'a' * 60}, {'b' * 30})  # why", None),
        (f"x = {'a' * 100}", None),
        (f"x: Literal[{'a' * 100}] = y", None),
    ],
)
def test_layout_lines_are_broken_at_their_brackets(line: str, lines: list[str] | None) -> None:
    """One item per line with a comma behind it. What cannot be broken without changing its meaning stays (None)."""
    assert break_line(line) == (lines or [line])


@given(hostile)
def test_layout_docstring_is_laid_out_as_black_leaves_it(text: str) -> None:
    """A docstring keeps its words and black's layout, whatever it says."""
    assume(text.strip())
    code = f"class Thing:\n    {docstring(text, 4)}\n"
    assert format_text(code) == code
    thing = ast.parse(code).body[0]
    assert isinstance(thing, ast.ClassDef)
    assert (ast.get_docstring(thing, clean=False) or "").split() == text.replace("\r", "\n").split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line.", '"""One line."""'),
        ('Says "so"', '"""Says "so" """'),
        ('"So" it says', '""" "So" it says"""'),
        ("Two\n\n  lines  \n", '"""Two\n\nlines\n"""'),
        ("tab\tand \\ and \x07", '"""tab\\tand \\\\ and \\x07"""'),
        ('"""', '"""\\"\\"\\" """'),
    ],
)
def test_layout_docstrings_by_example(text: str, expected: str) -> None:
    """Quotes at the ends get a space, what would end the literal or hide is escaped, margins go."""
    assert docstring(text) == expected


# ------------------------------------------------------------------------------------------------------------- packages


def laid_out(flat: str) -> str:
    return lay_out(flat, ast.parse(flat))


@settings(max_examples=examples(2, 5))
@given(specs(), st.text("abcdefgh", min_size=70, max_size=90))
def test_layout_statements_are_formatted_as_their_files_are(data: dict[str, Any], word: str) -> None:
    """Formatting the statements alone that hold a line which does not fit gives what black makes of the whole."""
    for section in ("objects", "enums"):
        data[section] = {
            **data.get(section, {}),
            f"{word.title()}{section}": {word: "string"} if section == "objects" else [word],
        }
    spec = assumed(data)
    rendered = {module.path: laid_out(Renderer().render(module)) for module in plan(spec)}
    assert format_statements(rendered) == format_all(rendered)


# ---------------------------------------------------------------------------------------------------- strings and names


def test_layout_what_is_escaped_does_not_depend_on_the_python() -> None:
    """A letter of a later Unicode than the oldest supported Python's is escaped; old letters and emoji stay."""
    assert string("é ü 日本 ❤ 👍 🤖") == '"é ü 日本 ❤ 👍 🤖"'
    assert string("\U0001fae8 \U00011f00 \u202e") == '"\\U0001fae8 \\U00011f00 \\u202e"'


def test_layout_names_are_sorted_as_linters_sort_them() -> None:
    """Constants, then classes, then the rest; numbers by value."""
    given_names = ["b10", "B", "b9", "Ab", "AB", "a", "_x"]
    assert sorted(given_names, key=natural) == ["AB", "Ab", "B", "_x", "a", "b9", "b10"]
