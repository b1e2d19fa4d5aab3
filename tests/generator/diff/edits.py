"""Edits of one spec, each with the changes that it makes: its rule, and the node that it is told of.

`edits.diff` edits `before.yaml`, and `wide.diff` edits `wide.yaml`, which has the words that the language got later.
The tests ask `compare` for what it found, and then ask the world: a type checker whether code written against the old
package still passes, and a store whether it still reads.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BEFORE: Final = (HERE / "before.yaml").read_text("utf-8")
BEFORE_WIDE: Final = (HERE / "wide.yaml").read_text("utf-8")


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """Lines of the spec and those that stand in their place, and the findings: `rule node`, in any order."""

    places: tuple[tuple[str, str], ...]
    findings: tuple[str, ...]

    def of(self, spec: str) -> str:
        """The edited spec."""
        for old, new in self.places:
            assert f"\n{spec}".count(f"\n{old}") == 1, (old, new)
            spec = f"\n{spec}".replace(f"\n{old}", f"\n{new}")[1:]
        return spec


def _edits(name: str) -> tuple[Edit, ...]:
    """The edits of a file, which are separated by empty lines: findings, then the places as in a diff."""
    text = re.sub(r"^#.*\n+", "", (HERE / name).read_text("utf-8"), flags=re.MULTILINE)
    return tuple(_edit(part.splitlines()) for part in text.strip("\n").split("\n\n"))


def _edit(lines: list[str]) -> Edit:
    findings = tuple(line for line in lines if line[0] not in " +-@" and line != "nothing")
    places = "\n".join(line for line in lines if line[0] in " +-@").split("\n@@\n")
    return Edit(tuple((_side(place, " -"), _side(place, " +")) for place in places), findings)


def _side(place: str, marks: str) -> str:
    return "".join(f"{line[1:]}\n" for line in place.splitlines() if line[0] in marks)


EDITS: Final = _edits("edits.diff")
WIDE: Final = _edits("wide.diff")
