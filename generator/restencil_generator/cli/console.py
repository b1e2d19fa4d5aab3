"""The output of the command: results on stdout, progress and errors on stderr; and its exit codes."""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from restencil_generator.exceptions import Failure, SpecError

if TYPE_CHECKING:
    from restencil_generator.cli.progress import Step
    from restencil_generator.diagnostics.format import Format
    from restencil_generator.diagnostics.model import Problem, Sources
    from restencil_generator.output.drift import Difference
    from restencil_generator.project.packages import Made


class Exit(enum.IntEnum):
    """The exit codes of the command."""

    SUCCESS = 0
    """Success: there is nothing to report, or everything was written."""
    FINDINGS = 1
    """Differences or findings."""
    INVALID = 2
    """Invalid usage, configuration or spec; or a file that cannot be read, or must not be overwritten."""
    INTERNAL = 3
    """A bug in restencil."""
    INTERRUPTED = 130
    """Ctrl-C."""


class Console:
    """Printer of results on stdout, and of progress and errors on stderr; findings are in the format of `--format`."""

    form: Format = "text"

    @property
    def prints_documents(self) -> bool:
        """Whether stdout contains one machine-readable document and nothing else."""
        return self.form in ("json", "sarif")

    def say(self, text: str, *, end: str = "\n") -> None:
        """Print a result. A closed pipe is not an error."""
        try:
            click.echo(text + end, nl=False, color=colours(sys.stdout))
        except BrokenPipeError:
            silence()

    def note(self, text: str) -> None:
        """Print a message about the run to stderr."""
        click.echo(text, err=True)

    def error(self, message: str) -> None:
        """Print an error."""
        label = click.style("restencil:", fg="red") if colours(sys.stderr) else "restencil:"
        click.echo(f"{label} {message}", err=True, color=colours(sys.stderr))

    def failure(self, failure: Failure) -> None:
        """Print a failure; the errors of a spec in the format of `--format`."""
        if not isinstance(failure, SpecError):
            self.error(str(failure))
        elif self.form == "text":
            text = self._rendered(failure.problems, failure.sources, sys.stderr)
            click.echo(text, nl=False, err=True, color=colours(sys.stderr))
        else:
            self.problems(failure.problems, failure.sources)

    def problems(self, problems: Sequence[Problem], sources: Sources, limit: int | None = None) -> None:
        """Print findings, at most `limit` of them. Machine-readable formats are also printed if there are none."""
        self.say(self._rendered(problems, sources, sys.stdout, limit), end="")

    def differences(self, found: Mapping[Path, Sequence[Difference]], arguments: str) -> None:
        """Print every file that differs, with the cause; `found` has the differences by package folder.

        `arguments` are the command line arguments that hints repeat.
        """
        if self.form == "text":
            for directory, differences in found.items():
                for one in differences:
                    self.say(f"{directory / one.shown}: {self.style(one.cause.value, 'yellow')}: {one.reason}")
            return
        from restencil_generator.output.drift import findings

        problems = [
            problem
            for directory, differences in found.items()
            for problem in findings(differences, directory, arguments)
        ]
        self.problems(problems, {}, max(len(problems), 1))

    def diffs(self, differences: Sequence[Difference], directory: Path) -> None:
        """Print unified diffs; on stderr if stdout contains a document."""
        from restencil_generator.output.drift import diff

        for difference in differences:
            self.unified(diff(difference, directory))

    def unified(self, text: str) -> None:
        """Print a unified diff; on stderr if stdout contains a document."""
        colours = {"+": "green", "-": "red", "@": "cyan"}
        if self.prints_documents:
            click.echo(text, err=True, nl=False)
            return
        for line in text.splitlines():
            self.say(self.style(line, colours[line[0]]) if line[:1] in colours else line)

    def remarks(self, problems: Sequence[Problem], *, every: bool) -> None:
        """Print findings about an import, one per line: `every` one, or the first ones and the number of the others."""
        from restencil_generator.diagnostics.format import brief
        from restencil_generator.diagnostics.model import LIMIT

        limit = len(problems) if every else LIMIT
        click.echo(
            brief(problems, color=colours(sys.stderr), limit=limit), nl=False, err=True, color=colours(sys.stderr)
        )

    def refused(self, problems: Sequence[Problem], sources: Sources) -> None:
        """Print why an import wrote nothing: conflicts, or errors of the merged spec."""
        text = self._rendered(problems, sources, sys.stderr)
        click.echo(text, nl=False, err=True, color=colours(sys.stderr))
        if any(problem.code == "import-conflict" for problem in problems):
            self.note("Conflicts found, nothing written. Edit the spec, or pass --ours NODE or --theirs NODE.")
        else:
            self.note("The merged spec has errors, nothing written. Fix them in the document, an overlay, or the spec.")

    def up_to_date(self, made: Made) -> None:
        """Print that a package is up to date."""
        self.say(f"{made.directory}: {self.style('up to date', 'green')} ({made.count} files)")

    @contextlib.contextmanager
    def steps(self) -> Generator[Step]:
        """Yield a function that reports steps; a terminal shows them after a second."""
        from restencil_generator.cli.progress import steps

        with steps(sys.stderr) as step:
            yield step

    def style(self, text: str, colour: str) -> str:
        """Color the text of a result if stdout shows colors."""
        return click.style(text, fg=colour) if colours(sys.stdout) else text

    def _rendered(
        self, problems: Sequence[Problem], sources: Sources, stream: IO[str], limit: int | None = None
    ) -> str:
        from restencil_generator.diagnostics.format import render
        from restencil_generator.diagnostics.model import LIMIT

        text = render(problems, sources, self.form, color=colours(stream), limit=LIMIT if limit is None else limit)
        if self.form == "text" and problems and stream.isatty():
            text += f"Run `restencil explain {problems[0].code}` for details.\n"
        return text


def colours(stream: IO[str]) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def open_streams() -> None:
    """Replace standard streams that the caller closed (`>&-`), which are None, to keep the exit code correct."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def silence() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
