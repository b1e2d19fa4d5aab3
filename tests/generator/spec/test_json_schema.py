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
    "unknown-type": "a type may name what another part of the spec declares",
    "type-not-here": "whether a name is an enum, an object or an entity stands elsewhere",
    "unknown-entity": "an entity is declared elsewhere",
    "not-an-entity": "what a name stands for is declared elsewhere",
    "abstract-entity": "whether an entity is abstract stands elsewhere",
    "empty-merge": "what the schema of an endpoint is may stand in its resource",
    "needs-field": "fields are declared elsewhere",
    "freshness-length": "the values of two options are compared",
    "freshness-bounds": "two durations are compared, in whatever form they are written",
    "concurrency-target": "endpoints and fields are declared elsewhere",
    "param-field": "fields are declared elsewhere",
    "param-position": "parameters stand in paths",
    "key-not-here": "the type of a field stands beside its 'format', and the schema may be inherited",
    "field-both-ways": "the mark of a type says as much as a key",
    "unknown-value": "the types of a union are more than one place",
    "unknown-field": "fields are declared elsewhere, some in the entity that is extended",
    "pk-not-a-field": "fields may be inherited",
    "pk-type": "the type of the field stands elsewhere",
    "union-attribute": "the entities of a union are declared elsewhere",
    "union-value": "the field of the entity stands elsewhere",
    "field-override": "the inherited field stands elsewhere",
    "extends-cycle": "a circle is more than one place",
    "object-cycle": "a circle is more than one place",
    "bad-default": "the type of the default stands beside it or elsewhere",
    "collection-items": "whether a name is an entity stands elsewhere",
    "resource-schema": "whether a name is an entity stands elsewhere",
    "bad-body": "whether a name is an entity or an object stands elsewhere",
    "unknown-parameter": "parameters stand in paths",
    "style-misfit": "the type of the parameter may be declared elsewhere",
    "secret-header": "names of headers follow from those of their parameters",
    "secret-in-key": "two keys of a parameter are compared",
    "server-variable": "variables stand in the URL",
    "bad-url": "whether a URL has a scheme",
    "taken-name": "names of arguments of the client are compared",
    "parameter-clash": "parameters stand in paths",
    "duplicate-parameter": "no pattern compares two parameters of a path",
    "unknown-endpoint": "members are declared elsewhere, or standard",
    "member-not-fitting": "the list's schema stands elsewhere",
    "member-left-out": "'members' stands elsewhere",
    "pagination-in-body": "method, body and key may be inherited",
    "pagination-without-collection": "the schema may be inherited",
    "content-with-schema": "the schema may be inherited",
    "body-in-key": "the method may be inherited",
    "expires-target": "members and resources are declared elsewhere",
    "singleton-list": "'singleton' stands beside 'members'",
    "returns-without-process": "'process' may be inherited",
    "same-request": "the other endpoint stands elsewhere",
    "name-clash": "two places are compared",
    "auth-scheme": "schemes are declared elsewhere",
    "given-twice": "values of a mapping, and header names but for case, are compared",
    "bad-name": "which letters of other scripts Python takes, no pattern says",
    "missing-key": "'pagination_field' may be inherited",
    "wrong-type": "JSON Schema takes 1.0 for a whole number",
}
"""Codes that the check alone finds, each with the reason."""

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
        assert codes <= set(BEYOND)
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
        assert codes <= set(BEYOND) | OF_YAML | {code for code in codes if code.startswith("yaml-")}


def test_json_schema_descriptions_help_in_editors() -> None:
    """The keys of a spec say what they are."""
    for key, value in language_schema()["properties"].items():
        assert "description" in value or "$ref" in value, key
