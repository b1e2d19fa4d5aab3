"""Every mistake and every advice has a case: a spec and what is said about it, place, excerpt and way out included."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.generator.cases import ADVICE as ADVICE_CASES
from tests.generator.cases import FOLDERS, MISTAKES, REFERENCE, cases, expected_file, loaded, output, pages, problems

from restencil_generator.diagnostics.codes import ADVICE, DRIFT, ERRORS, IMPORTED
from restencil_generator.diagnostics.model import Place, in_order
from restencil_generator.output.drift import Cause

# These need something else than a spec: they have tests of their own in test_load.py and test_lint.py.
ELSEWHERE = {"merge-conflict", "unreadable-file", "yaml-loader", "hook-arity", "hook-kind", "hook-missing"}

# Cases that show the layout of the output rather than one code.
OF_LAYOUT = {"every-part", "excerpts", "fifty", "folder"}


@pytest.mark.parametrize("case", cases(*FOLDERS), ids=lambda case: case.stem)
def test_check_mistakes_what_is_said_about_a_mistake_is_the_expected_text(case: Path) -> None:
    """The whole output for a case equals the text beside it."""
    assert output(case) == expected_file(case).read_text("utf-8")


@pytest.mark.parametrize("case", cases(*FOLDERS), ids=lambda case: case.stem)
def test_check_mistakes_case_reports_the_code_that_it_is_named_after(case: Path) -> None:
    """A spec with a mistake gives no declaration; the code in the case's name is among those reported, if any is."""
    codes = {problem.code for problem in problems(case)}
    assert (loaded(case).declaration is None) is (case.parent == MISTAKES)
    named = any(case.stem == code or case.stem.startswith(f"{code}-") for code in codes)
    assert named or case.stem in OF_LAYOUT or (case.parent == ADVICE_CASES and not codes)
    assert codes <= {*ERRORS, *ADVICE}


@pytest.mark.parametrize("case", cases(*FOLDERS), ids=lambda case: case.stem)
def test_check_mistakes_every_problem_stands_at_a_place_in_its_file(case: Path) -> None:
    """A problem's place and those related to it lie within the lines of a file that was read, in order."""
    result = loaded(case)
    found = problems(case)
    assert list(found) == in_order(found)
    for problem in found:
        for place in (problem.place, *(related.place for related in problem.related)):
            assert place.line == 0 or _within(place, result.sources[place.file].lines), problem


def _within(place: Place, lines: tuple[str, ...]) -> bool:
    if not (1 <= place.line <= place.end_line <= len(lines)):
        return False
    return 1 <= place.column <= len(lines[place.line - 1]) + 1 and place.end_column >= 1


def test_check_mistakes_every_code_of_a_spec_has_a_case() -> None:
    """No mistake and no advice goes without an example of its message."""
    shown = {problem.code for case in cases(*FOLDERS) for problem in problems(case)}
    assert {*ERRORS, *ADVICE} - shown == ELSEWHERE


@pytest.mark.parametrize("name", [*pages()])
def test_check_mistakes_page_of_a_code_is_what_is_said_of_it(name: str) -> None:
    """The pages are written by `python tests/generator/cases.py`."""
    assert (REFERENCE / name).read_text("utf-8") == pages()[name]


def test_check_mistakes_there_are_no_other_pages_of_codes() -> None:
    """A code that is gone has no page."""
    assert {f"problems/{page.name}" for page in (REFERENCE / "problems").iterdir()} == {*pages()}


def test_check_mistakes_every_advice_and_every_finding_says_why() -> None:
    """Advice, findings of imports and drift are explained in more than a rule."""
    assert [code for table in (ADVICE, IMPORTED, DRIFT) for code, row in table.items() if not row.explanation] == []


def test_check_mistakes_each_cause_of_drift_has_a_code() -> None:
    """What `check` prints as SARIF is explained."""
    causes = {cause.value.replace(" ", "-") for cause in Cause}
    assert {*DRIFT} == causes - {*ERRORS}


def test_check_mistakes_every_code_is_in_kebab_case_and_has_a_rule() -> None:
    """A code is stable, in kebab-case, and described by a sentence."""
    for code, (rule, _) in {**ERRORS, **ADVICE, **IMPORTED}.items():
        assert code == code.lower().replace("_", "-").replace(" ", "-")
        assert rule[0].isupper()
        assert rule.endswith(".")
