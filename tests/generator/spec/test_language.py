"""The language's table is the whole language: the reader, the JSON Schema and the pages know its rows and no others."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from tests.generator.mutations import json_of_text
from tests.generator.places import AROUND

from restencil_generator import reference
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar import json_schema, key_checks, keys, type_words, value_kinds
from restencil_generator.spec.grammar.keys import ROWS, SECTIONS, relatives, rows
from restencil_generator.spec.grammar.type_words import FORMS, LIST_FORMS, POSITIONS, form_section
from restencil_generator.spec.load import load_text

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"

# Nothing takes this: a list that holds null.
NONSENSE = "[null]"
NO_JSON = ".inf"

# What makes a mapping one of its place, where its keys alone do not.
MARK = {
    **{place: "type" for place in POSITIONS if rows(place)},
    **{form_section(word): word for word in FORMS},
}

# What is under the mark, where it is not the name of an entity.
MARKED = {"type": "string", "entity": "Note", "one_of": "[Todo, string]", "enum": "[a, b]"}

HEAD = "restencil: 1\npackage: shop\n"
TODO = "{id: integer, title: string, done: boolean, type: string, user: integer}"
DECLARED = f"entities: {{Todo: {{fields: {TODO}}}}}\n"


def everywhere() -> Iterator[tuple[str, str]]:
    """Every place with each of its keys. What wraps a body is no place of its own: any other key is a field."""
    return ((place, key) for place in SECTIONS if place != "body" for key in rows(place))


def holding(place: str, entries: dict[str, str]) -> str:
    """A spec with a mapping of these entries in a place."""
    mark = MARK.get(place)
    if mark and mark not in entries and not (mark == "type" and "const" in entries):
        entries = {mark: MARKED.get(mark, "Todo"), **entries}
    if place == "spec":
        head = [line for line in HEAD.splitlines(True) if line.partition(":")[0] not in entries]
        return "".join(head) + "".join(f"{key}: {value}\n" for key, value in entries.items())
    inner = "{" + ", ".join(f"{key}: {value}" for key, value in entries.items()) + "}"
    return HEAD + ("" if AROUND[place].startswith("entities") else DECLARED) + AROUND[place].format(inner)


def said(text: str) -> list[tuple[str, str]]:
    return [(problem.code, problem.message) for problem in load_text(text).problems]


# ------------------------------------------------------------------------------------------------------------ the table


def test_language_every_row_is_of_sections_that_exist() -> None:
    """A row names places of the table, says what it is for, and is the only one of its key there."""
    for row in ROWS:
        assert set(row.where.split()) <= set(SECTIONS), row.key
        assert row.help.endswith("."), row.key
        assert row.position in ("", *POSITIONS), row.key
    for place in SECTIONS:
        keys = [row.key for row in ROWS if place in row.where.split()]
        assert keys
        assert len(keys) == len(set(keys)), place


def test_language_words_of_the_declaration_are_those_of_the_table() -> None:
    """Options, what is said of bodies and answers, and scalars have a typed class each, which names the same."""
    assert set(rows("options")) == set(d.Options.__slots__)
    assert set(rows("request")) == set(d.Request.__slots__)
    assert set(rows("response")) == set(d.Response.__slots__)
    assert set(type_words.SCALARS) == set(get_args(d.ScalarName))
    assert set(key_checks.MEMBERS) == {*d.STANDARD, *d.EXTENDERS} - {"create"}
    assert set(reference.pages()) == {"commands.md", "language.md", "problems.md"}


ATTRIBUTES = {attribute.name for attribute in dataclasses.fields(d.Field)}
FIELD_KEYS = {key for position in POSITIONS for key in rows(position)}


@pytest.mark.parametrize("key", sorted(FIELD_KEYS & ATTRIBUTES))
def test_language_every_key_of_a_field_has_an_effect(key: str) -> None:
    """What a spec declares for a field is used by more than its reader, comparison and export."""
    package = Path(reference.__file__).parent
    apart = [package / name for name in ("diff", "openapi", "spec/types.py", "spec/analyze/fields.py")]
    files = [file for file in package.rglob("*.py") if not any(file.is_relative_to(one) for one in apart)]
    files += [*(package.parents[1] / "templates").rglob("*.jinja")]
    used = re.compile(rf"\.{key}\b")
    assert any(used.search(file.read_text("utf-8")) for file in files)


# ----------------------------------------------------------------------------------------------------------- the reader


@pytest.mark.parametrize(("place", "key"), [*everywhere()])
def test_language_reader_knows_every_key(place: str, key: str) -> None:
    """No key of the table is unknown in its place, and none is passed over: nonsense in it is a mistake."""
    nonsense = NO_JSON if rows(place)[key].kind == value_kinds.Json() else NONSENSE
    text = holding(place, {key: nonsense})
    problems = load_text(text).problems
    assert all(quote(key) not in problem.message for problem in problems)
    before = text[: text.index(f"{key}: {nonsense}")] + f"{key}: "
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    places = [(problem.place.line, problem.place.column) for problem in problems]
    assert {(line, column), (line, column + 1)} & {*places}, (text, problems)


def quote(key: str) -> str:
    return f"unknown key '{key}'"


@pytest.mark.parametrize("place", [place for place in SECTIONS if place not in ("body", "example")])
def test_language_unknown_key_gives_the_near_one(place: str) -> None:
    """In every place a slip gets the key that was meant."""
    for key in rows(place):
        if key in LIST_FORMS:
            continue  # a slip of what makes the mapping a form makes it an object with members
        slip = key[:-1] + "q" + key[-1] if len(key) > 2 else key + "q"
        problems = load_text(holding(place, {slip: "x"})).problems
        hints = [problem.hint for problem in problems if quote(slip) in problem.message]
        assert hints == [f"did you mean '{key}'?"], (place, slip, problems)


@pytest.mark.parametrize("place", [place for place in SECTIONS if place != "body"])
def test_language_word_of_another_tool_gives_the_key_that_it_means(place: str) -> None:
    """What people write for a key gets the key, however different the words are."""
    for word, key in keys.synonyms(place).items():
        problems = load_text(holding(place, {word: "x"})).problems
        known = [problem.hint for problem in problems if quote(word) in problem.message]
        assert known == [f"did you mean '{key}'?"] or word in relatives(place), (place, word)


# ------------------------------------------------------------------------------------------------------ the JSON Schema


def properties(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that a JSON Schema describes, but for what only judges it (`if`, `not` and the like)."""
    if isinstance(part, dict):
        for key, value in part.get("properties", {}).items():
            yield key, value
        for key, value in part.items():
            if key not in ("if", "then", "else", "not", "properties"):
                yield from properties(value)
        for value in part.get("properties", {}).values():
            yield from properties(value)
    elif isinstance(part, list):
        for item in part:
            yield from properties(item)


def test_language_json_schema_describes_every_key_and_no_other() -> None:
    """Each property is a key of the table with its description; every key of the table is a property."""
    helps: dict[str, set[str]] = {}
    for row in ROWS:
        helps.setdefault(row.key, set()).add(row.help.replace("`", "'"))
    found: dict[str, set[str]] = {}
    whole = json_schema.language_schema()
    names = {*d.STANDARD, *d.EXTENDERS} - {*d.NOT_BY_DEFAULT}  # endpoints that every resource has: names, no keys
    endpoints = whole["$defs"].pop("endpoints")
    assert set(endpoints["properties"]) == names
    for key, value in properties(whole):
        if value.get("description") is None:  # the inside of `collection: {values: …}` repeats the form
            assert (key, value) == ("values", {"$ref": "#/$defs/one_entity"})
            continue
        found.setdefault(key, set()).add(value["description"])
    assert found == helps


@pytest.mark.parametrize("place", [place for place in SECTIONS if place not in ("body", "example")])
def test_language_json_schema_rejects_a_key_that_no_place_has(place: str) -> None:
    """An unknown key is rejected by the JSON Schema wherever the reader rejects it."""
    spec = json_of_text(holding(place, {"nothing_of_that_name": "x"}))
    assert not jsonschema.Draft202012Validator(json_schema.language_schema()).is_valid(spec)


# ------------------------------------------------------------------------------------------------------------ the pages


@pytest.mark.parametrize("name", [*reference.pages()])
def test_language_pages_are_what_the_table_gives(name: str) -> None:
    """The reference is checked in; `python -m restencil_generator.reference docs/reference` writes it anew."""
    assert (DOCS / name).read_text("utf-8") == reference.pages()[name]


FIELDS = "fields: {id: integer, title: string, author: string, type: string, user: integer, status: string}"


def example_spec(place: str) -> str:
    """A whole spec around the example of a place."""
    example = textwrap.dedent(SECTIONS[place].example).strip()
    first = example.partition(":")[0]
    if place == "spec":
        return example
    todo = "" if "entity: Todo" in example else f"  Todo: {{{FIELDS}}}\n"
    article = "" if "entity: Article" in example else f"  Article: {{{FIELDS}}}\n"
    kinds_ = (
        "  Link: {fields: {id: integer, type: {const: link}}}\n  Post: {fields: {id: integer, type: {const: post}}}\n"
    )
    entities = f"{HEAD}entities:\n{todo}{article}{kinds_}"

    def inside(before: str, depth: int) -> str:
        return f"{entities}{before}{textwrap.indent(example, ' ' * depth)}\n"

    resource = "resources:\n  others:\n    path: /others/:id\n    schema: Article\n"
    endpoint = f"{resource}    endpoints:\n      extra:\n        path: /extra\n        method: POST\n"
    if first == "entities":
        return f"{HEAD}{example}\n"
    if first == "auth" or place.startswith("client_") or (first in rows("spec") and first not in rows("resource")):
        return inside("", 0)
    if first == "fields":
        return inside("  Other:\n", 4)
    if first in ("schema", "body"):
        return inside(endpoint, 8)
    if first in rows("resource") or first in rows("spec"):
        return inside(resource, 4)
    if first == "size":
        return inside(f"{resource}    pagination_field: page\n    pagination:\n      style: page\n", 6)
    return inside("  Other:\n    fields:\n      id: integer\n", 6)


@pytest.mark.parametrize("place", [*SECTIONS])
def test_language_example_of_a_place_is_right(place: str) -> None:
    """What the page shows can be copied: in a spec around it, it has no mistake."""
    assert said(example_spec(place)) == [], example_spec(place)


def test_language_example_of_a_place_uses_its_keys() -> None:
    """An example shows the place that it is with."""
    for name, place in SECTIONS.items():
        assert any(f"{key}:" in place.example for key in rows(name)), name
