"""What is raised for everything that the generator can say in a sentence or show in the spec's own lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restencil_generator.diagnostics.model import Problem, Sources


class Failure(Exception):
    """A question that could not be answered: usage, configuration, a file that cannot be read or must not be replaced.

    The text is the whole message for the user: what was found, where, what was expected and what to do next.
    """


class SpecError(Failure):
    """Raised where a spec has mistakes, with all of them at once.

    `problems` are the mistakes as data, in order: each has a `code`, a `message`, a `hint` and a `place` with `file`,
    `line` and `column`. `sources` are the texts of the spec's files. The error's text shows each mistake with its line.
    """

    def __init__(self, problems: Sequence[Problem], sources: Sources) -> None:
        super().__init__(problems, sources)
        self.problems = tuple(problems)
        self.sources = dict(sources)

    def __str__(self) -> str:
        from restencil_generator.diagnostics.format import render  # only whoever looks at the text needs it

        return render(self.problems, self.sources).rstrip("\n")
