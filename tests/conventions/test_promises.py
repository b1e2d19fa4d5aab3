"""Every promise of the documentation names the tests that hold it, and these tests exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.conventions.imports import ROOT

PAGES = ("docs/reference/semantics.md", "docs/explanation/promises.md")
"""The pages on which each rule is followed by a comment, `<!-- tests: FILE::TEST, … -->`, with files below `tests/`:
functions, and conformance cases by their ids."""

INTRODUCTIONS = {"Semantics", "The example", "Guarantees: freshness, consistency, optimistic updates, security"}
"""Sections that explain the page, and promise nothing."""

NOT_PROMISED = (
    "Three steps lead",
    "The guarantee ends",
    "The cache does not provide",
    "restencil does not",
    "If you find",
    "Tests: ",
    "A reference to a record",
    "When a record arrives",
    "What a read",
    "In the example",
    "Every request of a store",
)
"""How paragraphs begin that introduce a table, or say what is not promised."""

_COMMENT = re.compile(r"<!-- tests: (.+?) -->", re.DOTALL)


class Rule(NamedTuple):
    """One paragraph, list item or table of a page, with the tests that it names."""

    page: str
    line: int
    text: str
    tests: tuple[str, ...]


def _rules(page: str) -> Iterator[Rule]:
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r"\n\n(?=<!-- tests: )", "\n", text)  # below a table
    section, line = "", 1
    for block in re.split(r"(\n\n+|\n(?=[-\d]+\.? ))", text):
        if block.startswith("#"):
            section = block.partition(" ")[2].partition("\n")[0]
        elif block.strip() and section not in INTRODUCTIONS and not block.startswith(NOT_PROMISED):
            found = _COMMENT.search(block)
            yield Rule(page, line, block, tuple(re.split(r",\s+", found[1])) if found else ())
        line += block.count("\n")


RULES = [rule for page in PAGES for rule in _rules(page)]
NAMED = sorted({(rule.page, test) for rule in RULES for test in rule.tests})


def test_promises_each_rule_names_a_test() -> None:
    """A rule without a test is a promise that nobody keeps."""
    missing = [f"{rule.page}:{rule.line}: {rule.text.strip()[:80]}" for rule in RULES if not rule.tests]
    assert missing == []


@cache
def names_of(file: str) -> set[str]:
    """The tests of a file below `tests/`, or the ids of its cases."""
    path = ROOT / "tests" / file
    if not path.is_file():
        return set()
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        return {"", *(case["id"] for case in json.loads(text)["cases"])}
    return {"", *re.findall(r"^(?:async )?def (\w+)", text, re.MULTILINE)}


def test_promises_named_tests_exist() -> None:
    """A test that was renamed or removed is renamed or replaced on the page."""
    named = ((page, test, *test.partition("::")[::2]) for page, test in NAMED)
    missing = [
        f"{page} names {test}, which does not exist" for page, test, file, name in named if name not in names_of(file)
    ]
    assert missing == []
