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
ELSEWHERE = {"merge-conflict", "unreadable-file", "yaml-loader"}

# Cases that show the layout of the output rather than one code.
OF_LAYOUT = {"every-part", "excerpts", "fifty", "folder"}


@pytest.mark.parametrize("case", cases(*FOLDERS), ids=lambda case: case.stem)
def test_check_mistakes_case_is_reported_as_the_text_beside_it(case: Path) -> None:
    """The whole output for a case equals the text beside it, and is about the code in the case's name.

    A spec with a mistake gives no declaration. A problem's place and those related to it lie within the lines of a file
    that was read, in order.
    """
    result, found = loaded(case), problems(case)
    assert output(case) == expected_file(case).read_text("utf-8")
    codes = {problem.code for problem in found}
    assert (result.declaration is None) is (case.parent == MISTAKES)
    named = any(case.stem == code or case.stem.startswith(f"{code}-") for code in codes)
    assert named or case.stem in OF_LAYOUT or (case.parent == ADVICE_CASES and not codes)
    assert codes <= {*ERRORS, *ADVICE}
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


def test_check_mistakes_page_of_a_code_is_what_is_said_of_it() -> None:
    """The pages are written by `python tests/generator/cases.py`; a code that is gone has no page."""
    written = {f"problems/{page.name}": page.read_text("utf-8") for page in (REFERENCE / "problems").iterdir()}
    assert {*written} == {*pages()}
    assert [name for name, text in pages().items() if text != written[name]] == []


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
