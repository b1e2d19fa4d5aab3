"""From plan to text: what is laid out needs no formatting, and is what was meant."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.generator.specs_at_random import HOSTILE, hostile, loaded, specs

from restencil_generator.codegen.format import format_all, format_statements, format_text
from restencil_generator.codegen.layout import docstring, fits, head, import_names, signature, statement
from restencil_generator.codegen.plan import plan
from restencil_generator.codegen.pyexpr import (
    Call,
    Expression,
    Items,
    Lambda,
    Parameter,
    Table,
    literal,
    natural,
    string,
)
from restencil_generator.codegen.render import Renderer
from restencil_generator.codegen.verify import verify
from restencil_generator.output.pipeline import build
from restencil_generator.spec.load import load_spec

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))

words = st.sampled_from(
    ["a", "name", "schema.Collection", "a_rather_long_name", "an_even_longer_name_for_something_or_other"]
)


def _deeper(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    names = ("a", "keyword_of_some_length", "c")
    named = st.lists(inner, max_size=3).map(lambda values: tuple(zip(names, values, strict=False)))
    some = st.lists(inner, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Call, words, some, named),
        st.builds(Items, some, st.just(""), st.just("[]")),
        # Tuples are of names and texts alone; black breaks one of a single call earlier than it must.
        st.builds(Items, st.lists(leaves, max_size=4).map(tuple), st.just(""), st.just("()")),
        st.builds(
            Table,
            st.lists(st.tuples(st.text(st.sampled_from(HOSTILE), max_size=9).map(string), inner), max_size=3).map(
                tuple
            ),
        ),
        st.builds(Lambda, inner, st.sampled_from(["", "parent, key"])),
    )


leaves: st.SearchStrategy[Expression] = st.one_of(
    words, st.text(max_size=12).map(lambda text: string(text.encode("utf-8", "ignore").decode()))
)
expressions = st.recursive(leaves, _deeper, max_leaves=12)


# --------------------------------------------------------------------------------------------------------------- layout


@given(expressions, st.sampled_from(["value = ", "name: dict[str, int] = "]))
def test_a_statement_is_laid_out_as_black_wants_it(expression: Expression, before: str) -> None:
    """An assignment whose lines fit is not changed by black."""
    text = statement(before, expression) + "\n"
    assume(fits(text))
    assert format_text(text) == text


@given(expressions)
def test_a_statement_in_a_class_is_laid_out_as_black_wants_it(expression: Expression) -> None:
    """The same inside a class, as a decorator, and as a keyword of the class line."""
    class_line = head("class Thing", ["Base", ("keyword", expression)], ":")
    assigned = statement("x = ", expression, indent=4)
    decorated = statement("@", Call("rest", (expression,)), indent=4)
    text = f"{class_line}\n    {assigned}\n\n    {decorated}\n    def f(self) -> None: ...\n"
    assume(fits(text))
    assert format_text(text) == text


@given(
    st.lists(
        st.builds(Parameter, words.map(lambda word: word.replace(".", "_")), words, st.one_of(st.none(), words)),
        max_size=6,
    )
)
def test_a_signature_is_laid_out_as_black_wants_it(parameters: list[Parameter]) -> None:
    """The head of a method, with any number of keywords."""
    method = signature("def method", "self", parameters, " -> dict[str, int] | None:", 4)
    text = f"class Thing:\n    {method}\n        raise NotImplementedError\n"
    assume(fits(text))
    assert format_text(text) == text


@given(st.lists(words.map(lambda word: word.replace(".", "_")), min_size=1, max_size=8))
def test_an_import_is_laid_out_as_black_wants_it(found: list[str]) -> None:
    """`from … import …`, in brackets where it must be."""
    text = f"if x:\n    {import_names('from .module import ', found, 4)}\n"
    assert format_text(text) == text


@given(hostile)
def test_a_docstring_is_laid_out_as_black_wants_it(text: str) -> None:
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
def test_docstrings_by_example(text: str, expected: str) -> None:
    """Quotes at the ends get a space, what would end the literal or hide is escaped, margins go."""
    assert docstring(text) == expected


# ------------------------------------------------------------------------------------------------------------- literals


@given(hostile)
def test_a_literal_is_the_text(text: str) -> None:
    """A text's literal evaluates to the text, on one line, printable, and in the quotes that black wants."""
    code = string(text)
    assert ast.literal_eval(code) == text
    assert code.isprintable()
    assert format_text(f"x = {code}\n") == f"x = {code}\n"


@given(st.one_of(st.integers(), st.booleans(), st.none(), st.floats()))
def test_a_scalar_is_itself(value: Any) -> None:
    """Numbers, booleans and null are themselves; floats that are no numbers are calls."""
    code = literal(value)
    found = eval(code, {"float": float, "__builtins__": {}})
    assert found == value or (value != value and found != found)
    assert format_text(f"x = {code}\n") == f"x = {code}\n"


def test_what_is_escaped_does_not_depend_on_the_python() -> None:
    """A letter of a later Unicode than the oldest supported Python's is escaped; old letters and emoji stay."""
    assert string("é ü 日本 ❤ 👍 🤖") == '"é ü 日本 ❤ 👍 🤖"'
    assert string("\U0001fae8 \U00011f00 \u202e") == '"\\U0001fae8 \\U00011f00 \\u202e"'


def test_names_are_sorted_as_linters_sort_them() -> None:
    """Constants, then classes, then the rest; numbers by value."""
    given_names = ["b10", "B", "b9", "Ab", "AB", "a", "_x"]
    assert sorted(given_names, key=natural) == ["AB", "Ab", "B", "_x", "a", "b9", "b10"]


# ------------------------------------------------------------------------------------------------------------- packages


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_what_the_templates_give_needs_no_formatting(path: Path) -> None:
    """Every module of every example spec is as black wants it right from its template."""
    spec = load_spec(path).declaration
    assert spec is not None
    renderer = Renderer()
    modules = plan(spec)
    every = modules if len(modules) < 30 else modules[:3] + modules[-3:]
    rendered = {module.path: renderer.render(module) for module in every}
    assert format_all(rendered) == rendered


@settings(max_examples=examples(6, 5))
@given(specs())
def test_any_spec_renders_to_code_that_needs_no_formatting(data: dict[str, Any]) -> None:
    """For specs at random: modules parse, are what was meant, compile, and black changes none whose lines fit."""
    spec = loaded(data)
    assume(spec is not None)
    assert spec is not None
    renderer = Renderer()
    for module in plan(spec):
        text = renderer.render(module)
        verify(module, text, custom=False)
        compile(text, module.path, "exec")
        if fits(text):
            assert format_text(text) == text


@settings(max_examples=examples(2, 5))
@given(specs(), st.text("abcdefgh", min_size=70, max_size=90))
def test_statements_are_formatted_as_their_files_are(data: dict[str, Any], word: str) -> None:
    """Formatting the statements alone that hold a line which does not fit gives what black makes of the whole."""
    for table in ("objects", "enums"):
        data[table] = {
            **data.get(table, {}),
            f"{word.title()}{table}": {word: "string"} if table == "objects" else [word],
        }
    spec = loaded(data)
    assume(spec is not None)
    assert spec is not None
    rendered = {module.path: Renderer().render(module) for module in plan(spec)}
    assert format_statements(rendered) == format_all(rendered)


def test_a_module_that_is_not_what_was_meant_is_noticed() -> None:
    """One statement, name or docstring more or less than in the plan is an error."""
    spec = load_spec(ROOT / "specs" / "blog.yaml").declaration
    assert spec is not None
    module = next(module for module in plan(spec) if module.path == "users.py")
    text = Renderer().render(module)
    verify(module, text, custom=False)
    for changed in (
        text.replace('username: str = ""', 'username: str = ""\n    import os'),
        text.replace("    username:", "    user_name:"),
        text.replace("A person who writes or reads.", "A person."),
        text.replace("def get(self, *, id:", "def get(self, *, key:"),
        text + "\n\nclass Extra:\n    pass\n",
        text + "\n\nprint(1)\n",
        text.replace("import typing\n", "import typing\n\nos = 1\n"),
    ):
        assert changed != text
        with pytest.raises(AssertionError):
            verify(module, changed, custom=False)


def test_only_what_does_not_fit_is_formatted() -> None:
    """A line that no layout makes short enough sends its statement through black; the manifest has the text before."""
    long = "x" * 100
    data = {
        "restencil": 1,
        "package": "made",
        "resources": {
            "things": {
                "path": "/things/:id",
                "schema": {"entity": "Thing", "fields": {"id": "integer", long: "string"}},
            }
        },
    }
    spec = loaded(data)
    assert spec is not None
    package = build(spec, "made.yaml")
    marked = [
        line.split("  ")[1] for line in package.files["manifest.sha256"].splitlines() if line.startswith("# rendered")
    ]
    for path, text in package.files.items():
        if path.endswith(".py"):
            assert format_text(text) == text
    assert set(marked) <= {"things.py"}
