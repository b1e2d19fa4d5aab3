"""Entry points of lint: runs the checks on one spec, or on all specs of a project."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from restencil_generator.diagnostics.model import Problem, Source, in_order
from restencil_generator.lint.registry import CHECKS
from restencil_generator.spec.load import Loaded, load_spec


def lint(loaded: Loaded) -> tuple[Problem, ...]:
    """Return the warnings about a loaded spec, in order; none if the spec has errors."""
    spec = loaded.declaration
    if spec is None:
        return ()
    return tuple(in_order(problem for check in CHECKS for problem in check.problems(spec)))


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """The errors and warnings of a project's specs; `sources` are the contents of files for excerpts."""

    problems: tuple[Problem, ...]
    sources: dict[str, Source]


def advise(specs: Iterable[Path]) -> Advice:
    """Return the errors of all specs, and the warnings about valid ones."""
    problems: list[Problem] = []
    sources: dict[str, Source] = {}
    for loaded in map(load_spec, specs):
        problems += loaded.problems
        problems += lint(loaded)
        sources |= loaded.sources
    return Advice(tuple(problems), sources)
