"""The cases of `tests/generator/mistakes`: a spec, or a folder of one, and what is said about it.

Run as a program, this file writes the expected outputs anew: `python tests/generator/cases.py`. Review the difference.
"""

from __future__ import annotations

from pathlib import Path

from restencil_generator.loading import Loaded, load_spec
from restencil_generator.report import render

FOLDER = Path(__file__).with_name("mistakes")


def cases() -> list[Path]:
    """The specs of all cases: files and folders."""
    return sorted(path for path in FOLDER.iterdir() if path.is_dir() or path.suffix == ".yaml")


def expected_file(case: Path) -> Path:
    """The file that holds what is said about a case."""
    return case.with_suffix(".txt")


def loaded(case: Path) -> Loaded:
    """A case, loaded from its place."""
    return load_spec(case)


def output(case: Path) -> str:
    """What is said about a case, with paths as seen from the folder of cases."""
    result = loaded(case)
    return render(result.problems, result.sources).replace(f"{FOLDER.as_posix()}/", "")


if __name__ == "__main__":
    for case in cases():
        expected_file(case).write_text(output(case), encoding="utf-8", newline="\n")
