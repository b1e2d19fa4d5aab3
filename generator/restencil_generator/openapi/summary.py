"""The summary of an import, as text and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from restencil_generator.diagnostics.format import where
from restencil_generator.diagnostics.model import Place, Problem, in_order
from restencil_generator.openapi.document.model import Finding, Where
from restencil_generator.openapi.infer.build import Made
from restencil_generator.openapi.infer.names.inflection import plural
from restencil_generator.openapi.spec_tree import CHECK, shown


def text_of(made: Made, file: str) -> str:
    """Return the summary of an import for stderr. `file` is the written file."""
    document, counts = made.document, made.inferred.counts
    about = " ".join(part for part in (" ".join(document.title.split()), document.release.strip()) if part)
    kind = f"{'Swagger' if document.version.startswith('2') else 'OpenAPI'} {document.version}"
    lines = [f"{file} from {document.source} ({', '.join(part for part in (kind, about) if part)})"]
    covered, inside = _covered(made)
    lines.append(
        f"  {covered} of {document.found} operations: {inside} in {_count(counts['resources'], 'resource')}, "
        f"{covered - inside} in {_count(counts['groups'], 'group')}"
    )
    found = made.inferred.keys
    if found.items:
        keys = sum(found.rules.values())
        without = f"; {_count(found.items - keys, 'item')} without one" if found.items > keys else ""
        stated = f"{keys - found.guessed} stated, {found.guessed} guessed (check:)"
        lines.append(f"  {_count(keys, 'primary key')}: {stated}{without}")
    lines.append(
        f"  {_count(counts['entities'], 'entity')}, {_count(counts['objects'], 'object')}, "
        f"{_count(counts['enums'], 'enum')}; {len(_checks(made))} to check"
    )
    if document.left_out:
        lines.append(f"  left out: {_count(len(document.left_out), 'operation')}")
    kept = {kind: count for kind, count in document.not_carried.items() if count}
    if kept:
        lines.append(f"  not carried: {', '.join(_count(count, kind) for kind, count in kept.items())}")
    return "\n".join(lines) + "\n"


def data_of(made: Made, file: str, place_of: Callable[[Where], Place]) -> dict[str, Any]:
    """Return the summary of an import as data. `place_of` finds the line of a part of the document."""
    document, counts, found = made.document, made.inferred.counts, made.inferred.keys
    return {
        "file": file,
        "source": document.source,
        "version": document.version,
        "operations": {
            "found": document.found,
            "covered": _covered(made)[0],
            "resources": counts["resources"],
            "groups": counts["groups"],
        },
        "pks": {
            "items": found.items,
            "guessed": found.guessed,
            "by_rule": {str(rule): count for rule, count in sorted(found.rules.items())},
        },
        "left_out": [
            {"operation": each.operation, "reason": each.reason, "place": where(place_of(each.where))}
            for each in document.left_out
        ],
        "checks": [{"node": node, "why": why} for node, why in _checks(made)],
        "findings": [_finding(problem) for problem in in_order(problems_of(document.findings, place_of))],
    }


def problems_of(findings: Iterable[Finding], place_of: Callable[[Where], Place]) -> list[Problem]:
    """Return findings as problems, in their order."""
    return [
        Problem(each.code, each.message, place_of(each.where), each.hint, severity=each.severity) for each in findings
    ]


def counted(problems: Sequence[Problem]) -> list[Problem]:
    """Group findings by kind: the first of each, with their number and the first three places."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in in_order(problems):
        kinds.setdefault((problem.code, problem.severity), []).append(problem)
    return [_as_one(each) for each in kinds.values()]


def _as_one(problems: list[Problem]) -> Problem:
    first = problems[0]
    if len(problems) == 1:
        return first
    also = ", ".join(where(each.place).removeprefix(f"{first.place.file}:") for each in problems[1:3])
    more = ", …" if len(problems) > 3 else ""
    return dataclasses.replace(first, message=f"{first.message} ({len(problems)} like this, also at {also}{more})")


def _covered(made: Made) -> tuple[int, int]:
    """Return the number of operations in the spec, and the number of those in resources."""
    resources = made.tree.value.get("resources")
    present = resources if isinstance(resources, dict) else {}
    left = {each.where for each in made.document.left_out}
    all_of: set[Where] = set()
    inside: set[Where] = set()
    for path, operation in made.inferred.operations.items():
        entry = present.get(path[1])
        if operation.where in left or not isinstance(entry, dict):
            continue
        all_of.add(operation.where)
        if "path" in entry:
            inside.add(operation.where)
    return len(all_of), len(inside)


def _checks(made: Made) -> list[tuple[str, str]]:
    head = [("", line.removeprefix(CHECK)) for line in made.tree.head if line.startswith(CHECK)]
    return [*head, *((shown(path), why) for path, why in made.tree.checks())]


def _count(count: int, word: str) -> str:
    words = word.split(" ")
    many = " ".join([*words[:-1], plural(words[-1])])
    return f"{count} {many if count != 1 else word}"


def _finding(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "file": place.file,
        "line": place.line,
        "column": place.column,
    }
