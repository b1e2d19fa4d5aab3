"""Output of changes as text, JSON, GitHub workflow commands or SARIF, with the next version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from restencil_generator.diagnostics.format import Format, as_json, dump, github, sarif, where
from restencil_generator.diagnostics.model import Problem, Related, Selection, visible
from restencil_generator.diagnostics.model import Severity as Level
from restencil_generator.diff.change import Finding
from restencil_generator.diff.rules import CLASSES, COLUMNS, SEVERITIES, Class, Column, Severity
from restencil_generator.diff.settings import Ignored, Settings

Version: TypeAlias = Literal["major", "minor", "patch"]

_LEVELS: Final[Mapping[Severity, Level]] = {"B": "error", "R": "warning", "A": "note", "D": "note"}
_COLORS: Final[Mapping[Level, str]] = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m"}


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a comparison, in the requested columns.

    `shown` are the findings, worst first; `ignored` those that the configuration accepts, each with its entry; `unused`
    the entries that match nothing; `hidden` is the number of findings without an effect in these columns. `version` is
    the part of the version to increase.
    """

    shown: tuple[Finding, ...]
    ignored: tuple[tuple[Finding, Ignored], ...]
    unused: tuple[Ignored, ...]
    version: Version
    columns: tuple[Column, ...]
    hidden: int

    def fails(self, fail_on: Class) -> bool:
        """Return whether there is a finding of a class, or of a worse one."""
        limit = SEVERITIES.index(CLASSES[fail_on])
        return any(SEVERITIES.index(finding.worst(self.columns)) <= limit for finding in self.shown)

    @property
    def counts(self) -> dict[Class, int]:
        """The number of findings of each class."""
        worst = [finding.worst(self.columns) for finding in self.shown]
        return {name: worst.count(severity) for name, severity in CLASSES.items()}

    @property
    def summary(self) -> str:
        """The last line: `2 breaking, 1 additive; next version: major`, or `No changes.`"""
        if not self.shown and not self.ignored and not self.hidden:
            return "No changes."
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        ignored = f"; {len(self.ignored)} ignored" if self.ignored else ""
        return f"{counts or 'no changes for ' + ', '.join(self.columns)}{ignored}; next version: {self.version}"


def judge(findings: Sequence[Finding], settings: Settings, columns: tuple[Column, ...] = COLUMNS) -> Outcome:
    """Apply the configuration to findings, and leave out findings without an effect in the columns."""
    counted: list[Finding] = []
    ignored: list[tuple[Finding, Ignored]] = []
    used: set[Ignored] = set()
    for finding in findings:
        entries = [entry for entry in settings.ignore if entry.fits(finding)]
        used.update(entries)
        if entries:
            ignored.append((finding, entries[0]))
        else:
            counted.append(finding)
    callers = {finding.columns.callers for finding in counted}
    version: Version = "major" if "B" in callers else "minor" if "A" in callers else "patch"
    shown = [finding for finding in counted if finding.worst(columns) != "–"]
    shown.sort(key=lambda finding: SEVERITIES.index(finding.worst(columns)))  # stable within a severity
    unused = tuple(entry for entry in settings.ignore if entry not in used)
    return Outcome(tuple(shown), tuple(ignored), unused, version, columns, len(counted) - len(shown))


def render(outcome: Outcome, format: Format = "text", *, color: bool = False, verbose: bool = False) -> str:
    """Format a result; `verbose` includes ignored findings."""
    if format == "text":
        return "".join(f"{line}\n" for line in _text(outcome, color, verbose))
    problems = [_problem(finding, outcome.columns) for finding in outcome.shown]
    selection = Selection((*problems, *(entry.unused for entry in outcome.unused)), 0)
    if format == "json":
        return dump(_document(outcome, problems))
    if format == "sarif":
        return dump(sarif(selection))
    return github(selection) + f"::notice title=restencil diff::{outcome.summary}\n"


# ----------------------------------------------------------------------------------------------------------------- text


def _text(outcome: Outcome, color: bool, verbose: bool) -> Iterator[str]:
    for finding in outcome.shown:
        level = _LEVELS[finding.worst(outcome.columns)]
        yield _line(finding, _painted(f"{level}[{finding.rule}]", level, color))
        if finding.old_place is not None:
            yield f"{where(finding.old_place)}: note: {_was(finding)}"
    for finding, entry in outcome.ignored if verbose else ():
        yield _line(finding, f"ignored[{finding.rule}]")
        yield f"{where(entry.place)}: note: {visible(entry.reason)}"
    for entry in outcome.unused:
        problem = entry.unused
        label = _painted(f"{problem.severity}[{problem.code}]", problem.severity, color)
        yield f"{where(problem.place)}: {label}: {visible(problem.message)} ({problem.hint})"
    yield outcome.summary


def _line(finding: Finding, label: str) -> str:
    return f"{where(finding.place)}: {label}: {visible(finding.message)}   {_columns(finding)}"


def _columns(finding: Finding) -> str:
    return "  ".join(f"{column} {finding.columns.of(column)}" for column in COLUMNS)


def _was(finding: Finding) -> str:
    return f"was {visible(finding.was)} here" if finding.was else "was here"


def _painted(text: str, level: Level, color: bool) -> str:
    return f"{_COLORS[level]}{text}\x1b[0m" if color else text


# ------------------------------------------------------------------------------------------------------------ documents


def _problem(finding: Finding, columns: tuple[Column, ...] = COLUMNS) -> Problem:
    related = () if finding.old_place is None else (Related(finding.old_place, _was(finding)),)
    level = _LEVELS[finding.worst(columns)]
    return Problem(finding.rule, finding.message, finding.place, _columns(finding), related, level)


def _document(outcome: Outcome, problems: Sequence[Problem]) -> dict[str, Any]:
    unused = [as_json(entry.unused) for entry in outcome.unused]
    shown = [_data(finding, problem) for finding, problem in zip(outcome.shown, problems, strict=True)]
    ignored = [{**_data(finding, _problem(finding)), "reason": entry.reason} for finding, entry in outcome.ignored]
    return {
        "version": 1,
        "total": len(shown) + len(unused),
        "omitted": 0,
        "problems": [*shown, *unused],
        "ignored": ignored,
        "counts": outcome.counts,
        "next_version": outcome.version,
    }


def _data(finding: Finding, problem: Problem) -> dict[str, Any]:
    shown = {**as_json(problem), "hint": "", "node": finding.node}
    shown.update((column, finding.columns.of(column)) for column in COLUMNS)
    return shown
