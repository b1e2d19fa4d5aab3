"""Problems: their order, their number, the nearest right word, and the four formats."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil_generator.diagnostics.explanations import explained
from restencil_generator.diagnostics.format import render
from restencil_generator.diagnostics.model import (
    Place,
    Problem,
    Related,
    Source,
    did_you_mean,
    has_errors,
    in_order,
    nearest,
    select,
)

FILE = "specs/blog.yaml"
LINES = ("restencil: 1", "entities:", "  Article:", "    fields:", "        title: strng")
SOURCES = {FILE: Source(FILE, LINES)}
UNKNOWN = "unknown type 'strng' for field 'title' of entity 'Article'"
PROBLEM = Problem("unknown-type", UNKNOWN, Place(FILE, 5, 16, 5, 21), "did you mean 'string'?")
FIRST = (Related(Place(FILE, 2, 1, 2, 9), "first"),)
RELATED = Problem("duplicate-key", "the key 'a' is given twice", Place(FILE, 4, 5, 4, 11), "", FIRST)


def at(line: int, code: str = "wrong-type", severity: str = "error", file: str = "a.yaml") -> Problem:
    return Problem(code, "message", Place(file, line, 1, line, 2), severity=severity)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- order, number, words


def test_problems_are_sorted_by_file_line_and_column() -> None:
    """Files by name, then places; the same problem told twice is told once."""
    problems = [at(3), at(1, file="b.yaml"), at(10), at(2), at(2)]
    places = [(problem.place.file, problem.place.line) for problem in in_order(problems)]
    assert places == [("a.yaml", 2), ("a.yaml", 3), ("a.yaml", 10), ("b.yaml", 1)]


def test_problems_errors_are_shown_before_advice_where_not_all_fit() -> None:
    """No error is left out for a warning."""
    problems = [at(line, severity="warning") for line in range(1, 50)] + [at(line) for line in range(60, 63)]
    shown = select(problems, 5).shown
    assert [problem.place.line for problem in shown] == [1, 2, 60, 61, 62]


def test_problems_errors_are_reported_from_advice() -> None:
    """Warnings and notes keep nothing from being generated."""
    assert has_errors([at(1, severity="warning"), at(2)])
    assert not has_errors([at(1, severity="warning"), at(2, severity="note")])


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("strng", ["string", "integer"], "string"),
        ("createdAt", ["created_at", "creator"], "created_at"),
        ("created-at", ["created_at"], "created_at"),
        ("STATUS", ["Status", "State"], "Status"),
        ("list", ["get", "get_list", "update"], "get_list"),
        ("zzz", ["string"], None),
        ("string", ["string"], None),
        ("Nothing", ["string", "number"], None),
        ("x" * 10_000, ["string"], None),
        ("ab", ["bb", "aa"], None),
        ("abcd", ["abce", "abcf"], "abce"),
        ("", [], None),
    ],
)
def test_problems_nearest_right_word_is_found(word: str, known: list[str], found: str | None) -> None:
    """Case and separators first, then similarity; ties go to the first in order."""
    assert nearest(word, known) == found
    assert did_you_mean(word, known) == (f"did you mean '{found}'?" if found else "")


@given(st.lists(st.text(max_size=8), max_size=8), st.text(max_size=8))
def test_problems_nearest_word_does_not_depend_on_the_order_of_the_known_ones(known: list[str], word: str) -> None:
    """The same hint on every run."""
    assert nearest(word, known) == nearest(word, reversed(known))


# ---------------------------------------------------------------------------------------------------------------- text


def test_problems_colors_mark_severity_and_place() -> None:
    """Escapes surround the head and the carets, and nothing else changes."""
    colored = render([PROBLEM], SOURCES, color=True)
    assert "\x1b[1;31merror[unknown-type]\x1b[0m" in colored
    assert "\x1b[1;31m^^^^^\x1b[0m did you mean" in colored
    assert re.sub(r"\x1b\[(1;31|1|0)m", "", colored) == render([PROBLEM], SOURCES)


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marks"),
    [
        ("\ttitle: x", 9, 10, " title: x", "        ^"),
        ("a\x1bb: x", 6, 7, "a\\x1bb: x", "        ^"),
        ("中文: x", 5, 6, "中文: x", "      ^"),
        ("e\u0301: x", 5, 6, "e\u0301: x", "   ^"),
        ("a: x", 9, 12, "a: x", "    ^"),
        ("a: x", 4, 4, "a: x", "   ^"),
    ],
)
def test_problems_carets_stand_under_what_they_mark(line: str, column: int, end: int, shown: str, marks: str) -> None:
    """Tabs, escapes, wide and combining characters take the room that they have in a terminal."""
    problem = Problem("wrong-type", "m", Place("f", 1, column, 1, end))
    _, excerpt, carets, _ = render([problem], {"f": Source("f", (line,))}).split("\n")[:4]
    assert excerpt == f"    1 | {shown}"
    assert carets.rstrip() == f"      | {marks}".rstrip()


def test_problems_place_over_several_lines_is_marked_to_the_end_of_its_first() -> None:
    """A block shows its first line."""
    problem = Problem("wrong-type", "m", Place("f", 1, 4, 3, 2))
    assert "      |    ^^^\n" in render([problem], {"f": Source("f", ("a: [x,  ", "y", "]"))})


def test_problems_long_line_is_cut_around_the_place() -> None:
    """Ten thousand characters do not flood the terminal, and the place is still seen."""
    line = "x" * 5000 + "HERE" + "y" * 5000
    problem = Problem("wrong-type", "m", Place("f", 1, 5001, 1, 5005), "hint")
    excerpt, carets = render([problem], {"f": Source("f", (line,))}).split("\n")[1:3]
    assert len(excerpt) < 120
    start = carets.index("^")
    assert (excerpt[start : start + 4], carets[start:]) == ("HERE", "^^^^ hint")


# ------------------------------------------------------------------------------------------------- JSON, GitHub, SARIF


def test_problems_json_holds_places_and_counts() -> None:
    """A document with a version, for tools."""
    first = {
        "code": "duplicate-key",
        "severity": "error",
        "message": "the key 'a' is given twice",
        "hint": "",
        "help": "restencil explain duplicate-key",
        "file": FILE,
        "line": 4,
        "column": 5,
        "end_line": 4,
        "end_column": 11,
        "related": [{"message": "first", "file": FILE, "line": 2, "column": 1, "end_line": 2, "end_column": 9}],
    }
    document = json.loads(render([PROBLEM, RELATED], SOURCES, "json", limit=1))
    assert document == {"version": 1, "total": 2, "omitted": 1, "problems": [first]}
    assert json.loads(render([], {}, "json")) == {"version": 1, "total": 0, "omitted": 0, "problems": []}


def test_problems_github_gets_one_command_a_problem() -> None:
    """Annotations stand at the line; the related place is part of the text."""
    assert render([PROBLEM, RELATED], SOURCES, "github") == (
        "::error file=specs/blog.yaml,line=4,col=5,endLine=4,endColumn=11,title=restencil duplicate-key"
        "::the key 'a' is given twice%0Afirst: specs/blog.yaml:2:1\n"
        "::error file=specs/blog.yaml,line=5,col=16,endLine=5,endColumn=21,title=restencil unknown-type"
        "::unknown type 'strng' for field 'title' of entity 'Article' (did you mean 'string'?)\n"
    )


def test_problems_github_commands_cannot_be_broken_out_of() -> None:
    """Line ends, percent signs, colons and commas are escaped as the workflow commands ask."""
    problem = Problem("unused", "a\n::error::b\r100%", Place("a,b:c%\n.yaml", 1, 1, 2, 1), severity="note")
    place = "file=a%2Cb%3Ac%25%0A.yaml,line=1,col=1,endLine=2"
    expected = f"::notice {place},title=restencil unused::a%0A::error::b%0D100%25\n"
    assert render([problem], {}, "github") == expected


def test_problems_github_logs_show_no_raw_control_characters() -> None:
    """A log is read in a terminal too: escapes and characters that turn the direction are written out."""
    problem = Problem("unused", "a\x1b[31m", Place("\u202ea.yaml", 1, 1, 1, 2), "b\u202e")
    text = render([problem], {}, "github")
    assert text.rstrip("\n").isprintable()
    assert "::a\\x1b[31m (b\\u202e)" in text


def test_problems_github_counts_what_is_not_shown() -> None:
    """The rest is one notice."""
    text = render([at(1), at(2), at(3)], {}, "github", limit=1)
    assert text.splitlines()[-1] == "::notice title=restencil::2 more problems not shown"


def test_problems_sarif_is_a_document_of_version_2_1_0() -> None:
    """Rules with what they mean, results with places, files as URIs; what is not shown is counted."""

    def place(uri: str, *region: int) -> dict[str, object]:
        names = ("startLine", "startColumn", "endLine", "endColumn")
        found: dict[str, object] = {"artifactLocation": {"uri": uri}}
        return {"physicalLocation": found | ({"region": dict(zip(names, region, strict=True))} if region else {})}

    def rule(code: str) -> dict[str, object]:
        told = explained()[code]
        return {"id": code, "shortDescription": {"text": told.rule}, "help": {"text": told.text, "markdown": told.text}}

    whole = Problem("empty-spec", "the file is empty", Place("a b/ü.yaml"), severity="warning")
    document = json.loads(render([RELATED, whole], SOURCES, "sarif"))
    assert document == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "restencil", "rules": [rule("duplicate-key"), rule("empty-spec")]}},
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": "empty-spec",
                        "ruleIndex": 1,
                        "level": "warning",
                        "message": {"text": "the file is empty"},
                        "locations": [place("a%20b/%C3%BC.yaml")],
                        "relatedLocations": [],
                    },
                    {
                        "ruleId": "duplicate-key",
                        "ruleIndex": 0,
                        "level": "error",
                        "message": {"text": "the key 'a' is given twice"},
                        "locations": [place(FILE, 4, 5, 4, 11)],
                        "relatedLocations": [{"id": 0, "message": {"text": "first"}, **place(FILE, 2, 1, 2, 9)}],
                    },
                ],
            }
        ],
    }
    assert json.loads(render([PROBLEM, RELATED], SOURCES, "sarif", limit=1))["runs"][0]["properties"] == {"omitted": 1}
