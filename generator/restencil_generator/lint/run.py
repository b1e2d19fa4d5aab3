"""Entry points of lint: runs the checks on one spec, or on all specs of a project."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from restencil_generator.diagnostics.model import Problem, Source, in_order
from restencil_generator.lint.hooks import check_hooks
from restencil_generator.lint.registry import CHECKS
from restencil_generator.spec.load import Loaded, load_spec

if TYPE_CHECKING:
    from restencil_generator.project.config import Project


def lint(loaded: Loaded, *, import_hooks: bool = True, python_path: Sequence[Path | str] = ()) -> tuple[Problem, ...]:
    """Return the warnings about a loaded spec, in order; none if the spec has errors.

    With `import_hooks` the code behind `python:` references is imported, in a separate process whose path begins with
    `python_path`, and checked.
    """
    spec = loaded.declaration
    if spec is None:
        return ()
    found = [problem for check in CHECKS for problem in check.problems(spec)]
    if import_hooks:
        found.extend(check_hooks(spec, python_path))
    return tuple(in_order(found))


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """The errors and warnings of a project's specs; `sources` are the contents of files for excerpts."""

    problems: tuple[Problem, ...]
    sources: dict[str, Source]


def advise(project: Project, *, import_hooks: bool = True) -> Advice:
    """Return the errors of all specs, and the warnings about valid ones.

    With `import_hooks` hand-written code is imported in a separate process, from the working directory, the output
    folder and the folder of the configuration.
    """
    python_path = [Path.cwd(), project.out, *([] if project.file is None else [project.file.parent])]
    problems: list[Problem] = []
    sources: dict[str, Source] = {}
    for loaded in map(load_spec, project.specs):
        problems += loaded.problems
        problems += lint(loaded, import_hooks=import_hooks, python_path=python_path)
        sources |= loaded.sources
    return Advice(tuple(problems), sources)
