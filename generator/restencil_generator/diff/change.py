"""One change between two specs: its rule, its position, and the old and new values."""

from __future__ import annotations

import dataclasses

from restencil_generator.diagnostics.model import Place
from restencil_generator.diff.rules import COLUMNS, RULES, Class, Column, Rule, Severity


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change of a part: `sub` is its position within the part, `text` the change, `was` the old value.

    `key` is the key of the spec with the change, and `path` the path of the attribute from an endpoint, a resource or
    the spec; it is empty if endpoints do not inherit the value. Changes of parts with their own place have no key: the
    places show whether two changes are the same.
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
        """A value that is equal for changes that are the same."""
        places = () if self.key else (self.old_place, self.new_place)
        return self.rule, self.sub, self.key, *places


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One change, as specific as possible.

    `node` is its position in the spec: `entities.Order.total`, `resources.orders.get_list.status`, `package`. `change`
    describes it in a few words, and `was` is the old value, which may be empty. `place` is its place in the new spec,
    or the nearest place around it; `old_place` the place in the old spec, None if it is new.
    """

    rule: str
    node: str
    change: str
    place: Place
    old_place: Place | None = None
    was: str = ""

    @property
    def columns(self) -> Rule:
        """The severities for callers, in requests and responses, and in caches."""
        return RULES[self.rule]

    @property
    def shown(self) -> str:
        """The node as in messages: without its table."""
        head, _, rest = self.node.partition(".")
        return rest if rest and head in _TABLES else self.node

    @property
    def message(self) -> str:
        """The change in a sentence: `Order.total: decimal → number`."""
        return f"{self.shown}: {self.change}"

    def worst(self, columns: tuple[Column, ...] = COLUMNS) -> Severity:
        """Return the worst severity among some columns."""
        return self.columns.worst(columns)

    @property
    def upstream(self) -> Class:
        """The class of the change for users who import the spec: `breaking` only if it breaks callers.

        Other changes of requests, responses or caches, and risky ones, are `risky`: different behavior, but no work for
        callers.
        """
        rule = self.columns
        if rule.callers == "B":
            return "breaking"
        if rule.worst() in ("B", "R"):
            return "risky"
        return "additive" if rule.callers == "A" else "documentation"


_TABLES = ("entities", "enums", "objects", "resources")


def found_at(change: Change, node: str, old: Place, new: Place) -> Finding:
    """Return a change below a node as a finding, with the places of the node unless it has its own."""
    where = ".".join(filter(None, (node, change.sub)))
    has_place = change.old_place is not None or change.new_place is not None
    old_place = change.old_place if has_place else old
    return Finding(change.rule, where, change.text, change.new_place or new, old_place, change.was)
