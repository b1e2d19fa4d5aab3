"""Advice about specs without mistakes: runs the checks over one spec, or over all of a project."""

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
    """Advice about a loaded spec, in order; none for a spec with mistakes.

    With `import_hooks` the code that `python:` references name is imported, in a process of its own whose path begins
    with `python_path`, and checked to exist and to take what it will be called with.
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
    """The mistakes of a project's specs and the advice about them; `sources` are the texts for excerpts."""

    problems: tuple[Problem, ...]
    sources: dict[str, Source]


def advise(project: Project, *, import_hooks: bool = True) -> Advice:
    """The mistakes of all specs, and the advice about those without any.

    With `import_hooks` hand-written code is imported, in a process of its own, from the working directory, the folder
    of the packages and that of the configuration.
    """
    python_path = [Path.cwd(), project.out, *([] if project.file is None else [project.file.parent])]
    problems: list[Problem] = []
    sources: dict[str, Source] = {}
    for loaded in map(load_spec, project.specs):
        problems += loaded.problems
        problems += lint(loaded, import_hooks=import_hooks, python_path=python_path)
        sources |= loaded.sources
    return Advice(tuple(problems), sources)
