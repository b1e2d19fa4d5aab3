"""The JSON Schema of the language agrees with the check: what one accepts the other does not refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.generator.cases import MISTAKES, cases
from tests.generator.mutations import BASES, json_of, mutated, text_of

from restencil_generator.spec.grammar.json_schema import language_schema, schema_text
from restencil_generator.spec.load import load_text

BEYOND = {
    "what it is compared with stands elsewhere, or may be inherited": """
        abstract-entity auth-scheme bad-body bad-default body-in-key collection-items concurrency-target
        content-with-schema empty-merge expires-target field-override key-not-here member-left-out member-not-fitting
        missing-key needs-field not-an-entity pagination-in-body pagination-without-collection param-field
        pk-not-a-field pk-type resource-schema returns-without-process same-request style-misfit type-not-here
        union-attribute union-value unknown-endpoint unknown-entity unknown-field unknown-type
    """,
    "parameters and variables stand in paths and URLs": """
        param-position parameter-clash server-variable unknown-parameter
    """,
    "two places or two values are compared": """
        duplicate-parameter freshness-bounds freshness-length given-twice name-clash secret-in-key taken-name
    """,
    "a circle, or the types of a union, are more than one place": "extends-cycle object-cycle unknown-value",
    "the mark of a type says as much as a key": "field-both-ways",
    "names of headers follow from those of their parameters": "secret-header",
    "no pattern says whether a URL has a scheme, or which letters of other scripts Python takes": "bad-url bad-name",
    "'singleton' stands beside 'members'": "singleton-list",
    "JSON Schema takes 1.0 for a whole number": "wrong-type",
}
"""Codes that the check alone finds, by the reason."""
CHECKED_ALONE = {code for codes in BEYOND.values() for code in codes.split()}

# What is no matter of the language but of YAML or of files.
OF_YAML = {"duplicate-key", "empty-spec", "no-spec-files", "not-utf8"}


def validator() -> jsonschema.Draft202012Validator:
    """A validator that reads `$` as ECMAScript does: the end of the text, and not also before a last line end."""

    def exact(part: Any) -> Any:
        if isinstance(part, dict):
            return {
                key: value.removesuffix("$") + r"\Z" if key == "pattern" and value.endswith("$") else exact(value)
                for key, value in part.items()
            }
        return [exact(item) for item in part] if isinstance(part, list) else part

    return jsonschema.Draft202012Validator(exact(language_schema()))


VALIDATOR = validator()


def test_json_schema_schema_is_a_schema() -> None:
    """It is valid draft 2020-12, and every part of it is referred to."""
    schema = language_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    text = schema_text()
    assert [name for name in schema["$defs"] if f'"#/$defs/{name}"' not in text] == []


@pytest.mark.parametrize("spec", BASES, ids=lambda spec: spec["package"])
def test_json_schema_valid_specs_are_valid(spec: dict[str, Any]) -> None:
    """A spec that uses the whole language is accepted by both."""
    assert list(VALIDATOR.iter_errors(spec)) == []
    assert load_text(text_of(spec)).problems == ()


@settings(max_examples=examples(37, 5))
@given(mutated())
def test_json_schema_schema_and_check_agree(spec: dict[str, Any]) -> None:
    """What the schema refuses the check refuses; what only the check refuses it refuses for a reason in the table."""
    codes = {problem.code for problem in load_text(text_of(spec)).problems}
    if VALIDATOR.is_valid(spec):
        assert codes <= CHECKED_ALONE
    else:
        assert codes


@pytest.mark.parametrize("case", [case for case in cases(MISTAKES) if case.is_file()], ids=lambda case: case.stem)
def test_json_schema_schema_finds_the_mistakes_of_one_place(case: Path) -> None:
    """A case of a mistake is refused by the schema, unless it is one of those that only the check can find."""
    try:
        spec = json_of(case)
    except (AssertionError, UnicodeDecodeError):
        return  # no YAML, so nothing for a schema
    codes = {problem.code for problem in load_text(case.read_text("utf-8")).problems}
    if VALIDATOR.is_valid(spec):
        assert codes <= CHECKED_ALONE | OF_YAML | {code for code in codes if code.startswith("yaml-")}


def test_json_schema_descriptions_help_in_editors() -> None:
    """The keys of a spec say what they are."""
    for key, value in language_schema()["properties"].items():
        assert "description" in value or "$ref" in value, key


def test_json_schema_key_has_its_default_and_its_bounds() -> None:
    """Editors show what holds where a key is left out, and which numbers it may be."""
    pagination = language_schema()["$defs"]["pagination"]["properties"]
    assert pagination["in"]["default"] == "query"
    assert pagination["start"] == {
        "description": "The number of the first page, or the first offset.",
        "type": "integer",
        "minimum": 0,
        "maximum": 1_000_000_000_000_000,
    }
