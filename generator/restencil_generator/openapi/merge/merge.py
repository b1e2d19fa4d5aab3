"""Entry point of the merge of a spec with its previous and its new import."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from restencil_generator.diagnostics.model import Problem
from restencil_generator.openapi.merge.apply import merged_value, patched
from restencil_generator.openapi.merge.renames import Move, as_renamed, moves, renamed
from restencil_generator.openapi.merge.source_map import Side, equal, read_side
from restencil_generator.openapi.merge.three_way import Conflict, Merger, Path, Settled

BASE: Final = "the last import"
THEIRS: Final = "the import"


@dataclasses.dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge.

    `files` are the merged files by name; None for a file without content. `conflicts` are the unresolved ones: if there
    are any, nothing may be written. `notices` are warnings and notes. `used` are the node names of `--ours` and
    `--theirs` that resolved a conflict.
    """

    files: Mapping[str, str | None]
    conflicts: tuple[Conflict, ...]
    notices: tuple[Problem, ...]
    used: frozenset[str]


def merge(
    base: str,
    ours: Mapping[str, str],
    theirs: str,
    *,
    settled: Settled | None = None,
    folder: str = "",
) -> Merged:
    """Merge the changes from base to theirs into ours, whose files are given by name.

    `folder` is the folder of a spec of several files. All three must be specs that can be parsed.
    """
    settled = settled or Settled()
    here, before = _side(ours), _side({BASE: base})
    found = moves(before, here, _side({THEIRS: theirs}))
    if found:
        base, theirs = renamed(base, BASE, found), renamed(theirs, THEIRS, found)
        before = _side({BASE: base})
    sides = (before, here, _side({THEIRS: theirs}))
    merger = Merger(sides, settled, as_renamed(found))
    choices = merger.merge()
    files = patched(here, choices, folder)
    expected = merged_value(choices)
    result = _side({name: text for name, text in files.items() if text is not None})
    assert equal(result.value(), expected), "the text of a merge says what was chosen"
    conflicts = (dataclasses.replace(each, path=_as_imported(each.path, found)) for each in merger.conflicts)
    return Merged(files, tuple(conflicts), tuple(merger.notices), frozenset(settled.used))


def _as_imported(path: Path, found: Sequence[Move]) -> Path:
    """Return the key path that a node would have without renames."""
    for move in reversed(found):
        if path[: len(move.new)] == move.new:
            path = (*move.old, *path[len(move.new) :])
    return path


def _side(texts: Mapping[str, str]) -> Side:
    problems: list[Problem] = []
    side = read_side(texts, problems)
    assert side is not None, problems
    return side
