"""`[tool.restencil.diff]`: the class from which on `diff` fails, and the accepted changes.

[tool.restencil.diff] fail_on = "risky" ignore = [{rule = "enum-value-removed", at = "enums.Status.*", reason = "was
never sent"}]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, cast

from restencil_generator.diagnostics.model import Place, Problem, did_you_mean
from restencil_generator.diff.change import Finding
from restencil_generator.diff.rules import CLASSES, RULES, Class
from restencil_generator.exceptions import Failure
from restencil_generator.project.config import check_keys, find_table

_TABLE: Final = "[tool.restencil.diff]"
KEYS: Final = ("fail_on", "ignore")
_ENTRY: Final = ("rule", "at", "reason")


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """An entry of `ignore`: changes of a rule, at nodes that match a pattern, and the reason."""

    rule: str
    at: str
    reason: str
    place: Place

    def fits(self, finding: Finding) -> bool:
        """Return whether a finding is ignored; the pattern may include the table of the node or not."""
        names = (finding.node, finding.shown)
        return finding.rule == self.rule and any(fnmatchcase(name, self.at) for name in names)

    @property
    def unused(self) -> Problem:
        """The warning if it matches nothing."""
        message = f"the entry of 'ignore' for {self.rule} at '{self.at}' matches nothing"
        return Problem("ignore-unused", message, self.place, "remove it", severity="warning")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of `diff`."""

    fail_on: Class = "breaking"
    ignore: tuple[Ignored, ...] = ()


def load_settings(config: Path | None) -> Settings:
    """Load the settings of the nearest `pyproject.toml` with `[tool.restencil]`, or of the given file.

    Raises `Failure` if they are invalid.
    """
    found = find_table(config)
    if found is None or "diff" not in found[1]:
        return Settings()
    file, table = found[0], found[1]["diff"]
    if not isinstance(table, dict):
        raise Failure(f"{file}: `tool.restencil.diff` must be a table")
    given = cast("Mapping[str, object]", table)
    check_keys(file, given, KEYS, _TABLE)
    fail_on = given.get("fail_on", "breaking")
    if fail_on not in CLASSES:
        raise Failure(f"{file}: `fail_on` in {_TABLE} must be one of {', '.join(CLASSES)}")
    entries = given.get("ignore", [])
    if not isinstance(entries, list):
        raise Failure(f"{file}: `ignore` in {_TABLE} must be a list of tables: {_EXAMPLE}")
    text = file.read_text("utf-8").splitlines()
    ignored = [_entry(file, entry, text) for entry in cast("list[object]", entries)]
    return Settings(cast("Class", fail_on), tuple(ignored))


_EXAMPLE: Final = '{rule = "…", at = "enums.Status.*", reason = "…"}'


def _entry(file: Path, entry: object, lines: Sequence[str]) -> Ignored:
    if not isinstance(entry, dict):
        raise Failure(f"{file}: an entry of `ignore` in {_TABLE} must be a table: {_EXAMPLE}")
    given = cast("Mapping[str, object]", entry)
    check_keys(file, given, _ENTRY, f"an entry of `ignore` in {_TABLE}")
    texts = {key: given.get(key, "*" if key == "at" else "") for key in _ENTRY}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            why = ", why it is accepted" if key == "reason" else ""
            raise Failure(f"{file}: an entry of `ignore` in {_TABLE} needs `{key}`, a string{why} ({_EXAMPLE})")
    rule, at, reason = (str(texts[key]) for key in _ENTRY)
    if rule not in RULES:
        hint = did_you_mean(rule, RULES)
        raise Failure(f"{file}: `ignore` in {_TABLE} names the unknown rule '{rule}'" + (f"; {hint}" if hint else ""))
    number = next((number for number, line in enumerate(lines, 1) if f'"{rule}"' in line and f'"{at}"' in line), 0)
    column = lines[number - 1].index(f'"{rule}"') + 1 if number else 0
    place = Place(file.as_posix(), number, column, number, column + len(rule) + 2) if number else Place(file.as_posix())
    return Ignored(rule, at, reason, place)
