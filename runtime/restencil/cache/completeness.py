"""Which response last brought a record whole: with every field that its entity declares, or those that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schema.entity import EntitySchema
from ..schema.stored import record_of
from .staleness import NEVER
from .tables import Tables, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from ..schema.protocol import EntityNode
    from .request import Rules
    from .tables import Change


def note_whole(
    change: Change, rules: Rules | None, node: EntityNode, pk: str, record: Mapping[str, Any], stored: Any
) -> None:
    """Notes which response last brought a record whole, where it is merged with the one that is stored."""
    underlying, meta = change.underlying, change.times
    before: Whole | None = underlying.whole(node.table_key, pk) if type(underlying) is Tables else None
    if before is None:
        return  # it is new, or what is only expected, which makes nothing fresh

    def has_needed(names: AbstractSet[str]) -> bool:
        return rules is not None and isinstance(node, EntitySchema) and rules.required_fields(node.model)[0] <= names

    number = meta.fetched_at
    covers = len(record) == len(record_of(stored)) or has_needed(record.keys())
    if covers and (number >= before.number or not has_needed(before.fields)):
        later = {name: since for name, since in before.later.items() if since > number}
        before = Whole(number, meta.expires_at, record.keys(), later)
    else:
        brought = {name: number for name in record if number > before.later.get(name, before.number)}
        before = before._replace(later={**before.later, **brought})
    if before.later or before.number != number or len(before.fields) != len(record_of(stored)):
        change.partial.setdefault(node.table_key, {})[pk] = before


def merged_by_field(
    base: Tables, node: EntityNode, pk: str, number: float, record: Mapping[str, Any], stored: Mapping[str, Any]
) -> dict[str, Any]:
    """A record and one that comes with an earlier request than the last: of each field, the later request counts."""
    whole = base.whole(node.table_key, pk)
    merged = {**record, **stored}
    if whole is not None and whole.later:
        later, since = whole.later, whole.number
        merged |= {name: value for name, value in record.items() if number >= later.get(name, since)}
    return merged


def keep_whole(change: Change) -> None:
    """Leaves records as whole as they were: what a change writes is not what the server said of them."""
    underlying = change.underlying
    if type(underlying) is not Tables:
        return
    for table, written in change.entities.items():
        if table not in change.collections:
            wholes = change.partial.setdefault(table, {})
            for pk in written:
                wholes[pk] = underlying.whole(table, pk) or Whole(NEVER, 1, frozenset())
