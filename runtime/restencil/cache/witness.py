"""What an answer left in the store: as long as that is there unchanged, the same answer brings newer times and no more.

A *witness* of an answer holds the very objects that the base state has of it. Where all of them are there still, taking
the answer apart again would change nothing, so it need not be done: a poll of an unchanged list costs next to nothing.
(Benchmark: fetched again, nothing changed.)
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, Final

from ..base.values import INVALID, UNDEFINED
from ..schema.collection import Collection
from ..schema.containers import Choice, List, Object, Union, Values
from ..schema.entity import EntitySchema
from ..schema.notation import Conversion, Lazy
from ..schema.protocol import definitions
from .tables import EMPTY, Change, KeyMeta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..base.values import Meta
    from ..schema.protocol import Schema
    from .request import Rules
    from .tables import Tables

_CELLS: Final = 10_000
"""An answer that wrote more than this has no witness, which would hold as many references."""

_REPEATABLE: Final = frozenset({List, Object, Values, Union, Choice, Collection, Conversion, Lazy})


class Witness:
    """What the base state has of one answer; `mark` tells that answer from others under its key."""

    __slots__ = ("_answered", "_cells", "_definitions", "_lists", "_result", "mark")

    def __init__(self, mark: bytes, key: str, change: Change, base: Tables) -> None:
        self.mark = mark
        self._definitions = definitions.count
        self._result = base.result(key)
        self._cells = {table: {**written} for table, written in change.entities.items()}
        self._lists = [
            (stored, len(stored)) for table in change.collections for stored in change.entities[table].values()
        ]
        self._answered = change.answered

    def holds(self, key: str, base: Tables) -> bool:
        """Whether all of it is there still."""
        if self._definitions != definitions.count or base.result(key) is not self._result:
            return False
        if any(len(stored) != length for stored, length in self._lists):  # lists may grow in place
            return False
        return all(
            all(map(is_, map(base.entities.get(table, EMPTY).get, cells), cells.values()))
            for table, cells in self._cells.items()
        )

    def is_of(self, tables: Iterable[str]) -> bool:
        """Whether it holds anything of one of these tables."""
        return not self._cells.keys().isdisjoint(tables)

    def renewed(self, key: str, base: Tables, times: Meta) -> Change | None:
        """What the same answer changes: times. None where not all of it is there still, or some of it is newer."""
        if not self.holds(key, base) or any(base.latest.get(table, 0) > times.fetched_at for table in self._cells):
            return None
        change = Change(base, times)
        change.entities.update(self._cells)
        change.differing.update({table: [] for table in self._cells})
        change.answered = self._answered
        before = base.key_meta(key)
        change.key_metas[key] = KeyMeta(times, prev_expires_at=None if before is None else before.expires_at)
        return change


def may_repeat(rules: Rules, change: Change, result: Any) -> bool:
    """Whether an answer that makes this change would change nothing if it came once more.

    That is not so where code of users takes part in it, where the store has something newer, and where others take part
    in what its lists are.
    """
    if rules.side_effect or rules.update is not None or rules.list_key is not None or not rules.adopts:
        return False
    if result is UNDEFINED or change.metas or change.listed or change.extended or change.growing:
        return False
    if sum(map(len, change.entities.values())) > _CELLS or not rules.repeats(repeats):
        return False
    return not any(stored is INVALID for written in change.entities.values() for stored in written.values())


def repeats(schema: Schema | None) -> bool:
    """Whether a value is always taken apart alike, by the library's own code alone."""
    return _repeats(schema, set())


def _repeats(schema: Schema | None, seen: set[int]) -> bool:
    if schema is None or id(schema) in seen:
        return True
    seen.add(id(schema))
    if isinstance(schema, EntitySchema):
        model = schema.model
        if model.merges or model.process is not None or model.validate is not None:
            return False
        return all(_repeats(relation.node, seen) for relation in model.relations)
    if type(schema) not in _REPEATABLE or callable(getattr(schema, "attribute", None)):
        return False
    return all(_repeats(child, seen) for child in schema.children())
