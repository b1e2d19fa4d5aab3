"""Explanations of codes: rule, reason and fix; for `restencil explain` and the page of each code."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final, NamedTuple

from restencil_generator.diagnostics.codes import ADVICE, DRIFT, ERRORS, IMPORTED
from restencil_generator.diff.rules import RULES, SEVERITIES, Rule


class Kind(NamedTuple):
    """A kind of codes: its title, and a sentence about codes of this kind."""

    title: str
    means: str


MISTAKE: Final = Kind("Errors", "An error in a spec: nothing is generated until it is fixed.")
TIP: Final = Kind("Warnings", "A warning of `restencil lint` about a valid spec.")
FINDING: Final = Kind("Findings of imports", "A finding of `restencil import`: the rest of the document is imported.")
APART: Final = Kind("Drift", "A finding of `restencil check`: a package differs from the one that its spec generates.")
CHANGE: Final = Kind("Changes", "A finding of `restencil diff`: the effect of a change on users of the spec.")

KINDS: Final = (MISTAKE, TIP, FINDING, APART, CHANGE)


class Explained(NamedTuple):
    """A code, its kind, its rule in a sentence, and its explanation."""

    code: str
    kind: Kind
    rule: str
    explanation: str = ""

    @property
    def text(self) -> str:
        """The whole explanation, as Markdown."""
        parts = [f"# `{self.code}`", self.rule, self.kind.means]
        if self.code in RULES:
            parts[2:] = [f"{self.kind.means} {_columns(RULES[self.code])}"]
        if self.explanation:
            parts.append(self.explanation)
        return "\n\n".join(parts) + "\n"


def _columns(rule: Rule) -> str:
    words = {
        "B": "it breaks",
        "R": "it behaves differently",
        "A": "something is new",
        "D": "documentation",
        "–": "none",
    }
    assert set(words) == set(SEVERITIES)
    callers, wire, cache = words[rule.callers], words[rule.wire], words[rule.cache]
    return f"For callers: {callers}. In requests and responses: {wire}. In caches: {cache}."


@functools.cache
def explained() -> Mapping[str, Explained]:
    """Return every code that can be reported, with its explanation."""
    tables = {MISTAKE: ERRORS, TIP: ADVICE, FINDING: IMPORTED, APART: DRIFT}
    found = {code: Explained(code, kind, *row) for kind, table in tables.items() for code, row in table.items()}
    found |= {code: Explained(code, CHANGE, rule.help) for code, rule in RULES.items()}
    unused = "An entry of 'ignore' in the configuration matches something."
    return found | {"ignore-unused": Explained("ignore-unused", CHANGE, unused)}
