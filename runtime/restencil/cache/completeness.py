"""Which response last brought a record whole: with every field that its entity declares, or those that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schema.stored import record_of
from .merge import whole_after
from .staleness import NEVER
from .tables import Tables, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.protocol import EntityNode
    from .request import Rules
    from .tables import ChangeSet


def note_whole(change: ChangeSet, table: str, pk: str, whole: Whole, stored: Any) -> None:
    """Notes which response last brought a record whole, unless that is the one that the change is of."""
    if whole.later or whole.number != change.times.fetched_at or len(whole.fields) != len(record_of(stored)):
        change.partial.setdefault(table, {})[pk] = whole


def note_part(
    change: ChangeSet, rules: Rules | None, node: EntityNode, pk: str, record: Mapping[str, Any], stored: Any
) -> None:
    """Notes which response last brought a record whole, after one that brought only some of its fields."""
    underlying = change.underlying
    before = underlying.whole(node.table_key, pk) if type(underlying) is Tables else None
    if before is not None:  # else it is new, or what is only expected, which makes nothing fresh
        note_whole(change, node.table_key, pk, whole_after(before, rules, node, record, stored, change.times), stored)


def keep_whole(change: ChangeSet) -> None:
    """Leaves records as whole as they were: what a change writes is not what the server said of them."""
    underlying = change.underlying
    if type(underlying) is not Tables:
        return
    for table, written in change.entities.items():
        if table not in change.collections:
            wholes = change.partial.setdefault(table, {})
            for pk in written:
                wholes[pk] = underlying.whole(table, pk) or Whole(NEVER, 1, frozenset(), NEVER)
