"""No input makes the loader fail: whatever it reads, it answers with a declaration or with problems."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.generator.mutations import FILES, TEXTS, VALUES, WORDS, mutated, text_of

from restencil_generator.diagnostics.format import Format, render
from restencil_generator.diagnostics.model import has_errors
from restencil_generator.lint.run import lint
from restencil_generator.spec.load import Loaded, load_text

FORMATS: tuple[Format, ...] = ("text", "json", "github", "sarif")

_leaves = st.one_of(
    st.sampled_from(VALUES),
    st.sampled_from(WORDS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)
_trees = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from((*WORDS, *TEXTS)), inner, max_size=5),
    max_leaves=40,
)


def holds(loaded: Loaded) -> None:
    """What must be true of anything loaded."""
    assert (loaded.declaration is None) == has_errors(loaded.problems)
    for form in FORMATS:
        render(loaded.problems, loaded.sources, form)
    lint(loaded)


@settings(max_examples=examples(37, 5))
@given(mutated())
def test_check_fuzz_spec_that_is_nearly_right_gives_a_response(spec: dict[str, Any]) -> None:
    """A valid spec with a few changes loads or says what is wrong, in every format."""
    holds(load_text(text_of(spec)))


@settings(max_examples=examples(37, 5))
@given(st.dictionaries(st.sampled_from(WORDS), _trees, max_size=8))
def test_check_fuzz_mapping_of_anything_gives_a_response(spec: dict[str, Any]) -> None:
    """Known words in unknown places load or say what is wrong."""
    holds(load_text(text_of({"restencil": 1, "package": "p", **spec})))


@settings(max_examples=examples(50))
@given(st.text(max_size=60))
@example("a: &a [*a]")
@example("? {a: b}\n: c")
@example("a: !!binary x")
@example("%YAML 1.1\n---\na: b")
@example("- - - a\n - b")
@example("a: 'b\n")
@example("\t")
@example("a: \x85 b")
@example("{" * 5000)
@example("{restencil: 1, package: p, wire_names: camelCase, objects: {A: {'': string, __: string}}}")
@example("{restencil: 1, package: '', client: '', enums: {'': {'': a}}, entities: {'': {}}, resources: {'': {}}}")
def test_check_fuzz_string_of_anything_gives_a_response(text: str) -> None:
    """What is no YAML says so."""
    holds(load_text(text))


@settings(max_examples=examples(25))
@given(
    st.sampled_from(FILES),
    st.integers(0, 6000),
    st.integers(0, 40),
    st.sampled_from((*TEXTS, "\n", "  ", ":", "{", "- ")),
)
def test_check_fuzz_spec_with_a_stretch_of_text_replaced_gives_a_response(
    file: Any, start: int, length: int, new: str
) -> None:
    """A slip of the hand anywhere in a file loads or says what is wrong."""
    text = file.read_text("utf-8")
    holds(load_text(text[:start] + new + text[start + length :]))
