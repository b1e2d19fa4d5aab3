"""`import --check`: reports changes of the document, and conflicts that they would cause.

The last import is compared with the result of the current one by the rules of `diff`. Nothing is written, and only
committed files and the document are needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from restencil_generator.diagnostics.format import as_json, render, where
from restencil_generator.diagnostics.model import Place, has_errors, visible
from restencil_generator.diff import Finding, compare
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.merge import state
from restencil_generator.openapi.merge.resolve import Settlement, Theirs, settle, where_of
from restencil_generator.openapi.merge.three_way import Settled
from restencil_generator.openapi.spec_writer import write_with_nodes
from restencil_generator.spec.load import load_text
from restencil_generator.spec.model import Spec

Class: TypeAlias = Literal["breaking", "behaviour", "additive", "documentation"]

CLASSES: Final[tuple[Class, ...]] = ("breaking", "behaviour", "additive", "documentation")
"""The effect of a change on users of the document, worst first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change of the document: its class, and its places in the document and in the last import."""

    kind: Class
    finding: Finding
    place: Place
    was: Place | None


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """All changes, worst first, and the result of a merge."""

    found: tuple[Change, ...]
    settlement: Settlement

    def fails(self, fail_on: Class) -> bool:
        """Return whether there is a change of a class, or of a worse one."""
        limit = CLASSES.index(fail_on)
        return any(CLASSES.index(change.kind) <= limit for change in self.found)

    @property
    def counts(self) -> dict[str, int]:
        """The number of changes of each class."""
        return {kind: sum(change.kind == kind for change in self.found) for kind in CLASSES}


NOTHING: Final = Changes((), Settlement({}))


def changes(theirs: Theirs, out: Path) -> Changes:
    """Return the changes since the last import. Raises `Failure` if there is none."""
    folder = state.record_folder(out)
    name = f"{(folder / theirs.package).as_posix()}.yaml"
    base = state.read_base(folder, theirs.package)
    if base is None:
        raise Failure(f"{out} was not imported: there is no {name}, so there is nothing to compare with")
    text, nodes = write_with_nodes(theirs.tree)
    findings = compare(_declared(base, name), _declared(text, theirs.source))
    wheres = {
        finding: where_of(theirs, nodes[finding.place.line - 1] if finding.place.line else ()) for finding in findings
    }
    places = theirs.places(wheres.values())
    found = [Change(_class(finding), finding, places[wheres[finding]], finding.old_place) for finding in findings]
    found.sort(key=lambda change: CLASSES.index(change.kind))
    settlement = settle(theirs, out, Settled()) if out.exists() else Settlement({})
    return Changes(tuple(found), settlement)


def _class(finding: Finding) -> Class:
    return "behaviour" if finding.upstream == "risky" else finding.upstream


def _declared(text: str, name: str) -> Spec:
    loaded = load_text(text, name)
    if loaded.declaration is None or has_errors(loaded.problems):
        first = loaded.problems[0]
        raise Failure(f"{where(first.place)}: is not what an import wrote: {first.message}")
    return loaded.declaration


def text_of(changed: Changes) -> str:
    """Format the changes as text: by class, each with both places; then the conflicts."""
    return "".join(f"{line}\n" for line in _lines(changed))


def _lines(changed: Changes) -> Iterator[str]:
    for kind in CLASSES:
        for change in changed.found:
            if change.kind == kind:
                finding = change.finding
                yield f"{where(change.place)}: {kind}[{finding.rule}]: {visible(finding.message)}"
                if change.was is not None:
                    was = f"was {visible(finding.was)} here" if finding.was else "was here"
                    yield f"{where(change.was)}: note: {was}"
    counts = ", ".join(f"{count} {kind}" for kind, count in changed.counts.items() if count)
    yield counts or "nothing changed"
    refused = changed.settlement.refused
    if refused:
        conflicts = len(changed.settlement.conflicts)
        many = "1 conflict" if conflicts == 1 else f"{conflicts} conflicts"
        yield f"{many} with edits made here:" if conflicts else "the merged spec would have errors:"
        yield from render(refused, changed.settlement.sources).rstrip("\n").split("\n")


def data_of(changed: Changes, file: str, source: str) -> dict[str, Any]:
    """Return the changes as one JSON document."""
    return {
        "version": 1,
        "file": file,
        "source": source,
        "changes": [_as_data(change) for change in changed.found],
        "counts": changed.counts,
        "conflicts": [as_json(problem) for problem in changed.settlement.refused],
    }


def _as_data(change: Change) -> Mapping[str, Any]:
    finding = change.finding
    return {
        "class": change.kind,
        "rule": finding.rule,
        "node": finding.node,
        "message": finding.message,
        **_at("", change.place),
        **_at("was_", change.was),
    }


def _at(prefix: str, place: Place | None) -> Mapping[str, Any]:
    if place is None:
        return {}
    return {f"{prefix}file": place.file, f"{prefix}line": place.line, f"{prefix}column": place.column}
