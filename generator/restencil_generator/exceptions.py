"""Exceptions of the generator, with messages for its users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restencil_generator.diagnostics.model import Problem, Sources


class Failure(Exception):
    """A failed operation: invalid usage or configuration, or a file that cannot be read or must not be replaced.

    The string is the complete message for the user: what was found, where, what was expected and what to do next.
    """


class SpecError(Failure):
    """Raised if a spec has errors, with all of them at once.

    `problems` are the errors in order: each has a `code`, a `message`, a `hint` and a `place` with `file`, `line` and
    `column`. `sources` are the contents of the spec's files by name. The string shows each error with its source line.
    """

    def __init__(self, problems: Sequence[Problem], sources: Sources) -> None:
        super().__init__(problems, sources)
        self.problems = tuple(problems)
        self.sources = dict(sources)

    def __str__(self) -> str:
        from restencil_generator.diagnostics.format import render  # needed only for the string

        return render(self.problems, self.sources).rstrip("\n")
