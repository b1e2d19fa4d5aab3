"""The cases of `mistakes` and `advice`: a spec, or a folder of one, and what is said about it.

Run as a program, this file writes the expected outputs anew, and the pages of the codes, which show them:
`python tests/generator/cases.py`. Review the difference.
"""

from __future__ import annotations

import functools
from pathlib import Path

from restencil_generator.diagnostics.explanations import CHANGE, explained
from restencil_generator.diagnostics.format import render
from restencil_generator.diagnostics.model import Problem
from restencil_generator.lint.run import lint
from restencil_generator.reference import problem_page
from restencil_generator.spec.load import Loaded, load_spec

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
FOLDERS = MISTAKES, ADVICE = Path(__file__).with_name("mistakes"), Path(__file__).with_name("advice")


def cases(*folders: Path) -> list[Path]:
    """The specs of the cases of these folders: files and folders."""
    return sorted(path for folder in folders for path in folder.iterdir() if path.is_dir() or path.suffix == ".yaml")


def expected_file(case: Path) -> Path:
    """The file that holds what is said about a case."""
    return case.with_suffix(".txt")


@functools.cache
def loaded(case: Path) -> Loaded:
    """A case, loaded from its place."""
    return load_spec(case)


@functools.cache
def problems(case: Path) -> tuple[Problem, ...]:
    """The mistakes of a case, or the advice about one without mistakes; its hand-written code is not there."""
    result = loaded(case)
    return result.problems or lint(result)


def output(case: Path) -> str:
    """What is said about a case, with paths as seen from the folder of cases."""
    return render(problems(case), loaded(case).sources).replace(f"{case.parent.as_posix()}/", "")


@functools.cache
def pages() -> dict[str, str]:
    """The page of each code by its path, with a case that is named after it, where there is one that can be shown."""
    found = (one.code for one in explained().values() if one.kind is not CHANGE)
    return {f"problems/{code}.md": problem_page(code, example(code)) for code in found}


def example(code: str) -> tuple[str, str] | None:
    """The spec of a case and what is said about it; no bytes that are no text, and nothing that is long."""
    named = [folder / f"{code}.yaml" for folder in FOLDERS]
    named += [path for folder in FOLDERS for path in sorted(folder.glob(f"{code}-*.yaml"))]
    shown = filter(None, map(_shown, named))
    return next((one for one in shown if f"[{code}]" in one[1]), None)


def _shown(case: Path) -> tuple[str, str] | None:
    try:
        spec, printed = case.read_text("utf-8"), expected_file(case).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    short = spec.count("\n") <= 40 and printed.count("\n") <= 24 and max(map(len, [*spec.split("\n"), ""])) <= 120
    printed = printed.replace(case.name, "spec.yaml")
    return (spec, printed) if short and "```" not in spec + printed and spec.endswith("\n") else None


if __name__ == "__main__":
    for case in cases(*FOLDERS):
        expected_file(case).write_text(output(case), encoding="utf-8", newline="\n")
    for name, text in pages().items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(text, encoding="utf-8", newline="\n")
