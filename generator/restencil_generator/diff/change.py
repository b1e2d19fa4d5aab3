"""One change between two specs: which rule it falls under, where it is, and what it was."""

from __future__ import annotations

import dataclasses

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.rules import COLUMNS, RULES, Class, Column, Rule, Severity


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change below something: `sub` says where below it, `text` what changed, `was` what stood there before.

    `key` is the key of the spec that says what changed, and `path` leads to the attribute from an endpoint, a resource
    or the spec, empty where endpoints do not inherit it value by value. Changes of what has a place of its own have no
    key: the places tell whether they are the same.
    """

    rule: str
    sub: str
    text: str
    was: str = ""
    old_place: Place | None = None
    new_place: Place | None = None
    key: str = ""
    path: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """What changes have in common that are one change."""
        places = () if self.key else (self.old_place, self.new_place)
        return self.rule, self.sub, self.key, *places


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One change, the most specific that can be said of it.

    `node` says where in the spec: `entities.Order.total`, `resources.orders.get_list.status`, `package`. `change` says
    what changed, in a few words, and `was` what was there before, which may be empty. `place` is its place in the new
    spec, or the place around it; `old_place` that in the old spec, None if it is new.
    """

    rule: str
    node: str
    change: str
    place: Place
    old_place: Place | None = None
    was: str = ""

    @property
    def columns(self) -> Rule:
        """What it means for callers, on the wire and in caches."""
        return RULES[self.rule]

    @property
    def shown(self) -> str:
        """The node as messages show it: without its table."""
        head, _, rest = self.node.partition(".")
        return rest if rest and head in _TABLES else self.node

    @property
    def message(self) -> str:
        """The change in a sentence: `Order.total: decimal → number`."""
        return f"{self.shown}: {self.change}"

    def worst(self, columns: tuple[Column, ...] = COLUMNS) -> Severity:
        """The worst severity among some columns."""
        return self.columns.worst(columns)

    @property
    def upstream(self) -> Class:
        """What a change means to whoever imports the spec: `breaking` only where callers break.

        What changes on the wire or in caches, or is risky, is `risky`: behaviour, and no work for callers.
        """
        rule = self.columns
        if rule.callers == "B":
            return "breaking"
        if rule.worst() in ("B", "R"):
            return "risky"
        return "additive" if rule.callers == "A" else "documentation"


_TABLES = ("entities", "enums", "objects", "resources")


def found_at(change: Change, node: str, old: Place, new: Place) -> Finding:
    """A change below a node; it has the places of the node, unless it has its own."""
    where = ".".join(filter(None, (node, change.sub)))
    has_place = change.old_place is not None or change.new_place is not None
    old_place = change.old_place if has_place else old
    return Finding(change.rule, where, change.text, change.new_place or new, old_place, change.was)
