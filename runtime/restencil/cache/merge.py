"""The merge of operations into stored records and lists.

Memory uses it for each response, and writes to a storage use it to rebase onto rows that another process has written
meanwhile. Each field has the value of the response that was requested last, and so has each list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import INVALID, Meta, Sentinel, is_dict, is_list, same_json
from ..schema.collection import append, overlay
from ..schema.stored import PartialEntries, PartialKeys, is_partial, known_record, record_of
from .staleness import NEVER
from .tables import Tables, Whole
from .write_set import DeleteRecord, EditList, MergeRecord, PutList, ReplaceRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from ..schema.entity import EntitySchema
    from .request import Rules
    from .tables import ChangeSet, EntityPath
    from .write_set import Operation


class StoredEntry(NamedTuple):
    """The contents of a cell, in the form of memory, with times by the clock of memory."""

    stored: Any
    """A record or its instance, a collection, or INVALID."""
    times: Meta
    whole: Whole | None = None
    """The last response with the complete record, or with the list; None: the response of `times`."""


def apply(operation: Operation, pk: str, held: StoredEntry | None, times: Meta) -> StoredEntry | None:
    """Return the contents of the cell of a primary key after an operation with these times; None if it is empty."""
    if isinstance(operation, MergeRecord):
        return _merged(operation, held, times)
    if isinstance(operation, ReplaceRecord):
        if held is None or isinstance(held.stored, list):
            return StoredEntry(operation.node.to_store({**operation.record}), times)
        return StoredEntry(*operation.node.replaced(held.stored, held.times, {**operation.record}, times))
    if isinstance(operation, DeleteRecord):
        return _deleted(held, times)
    if isinstance(operation, PutList):
        return _page(operation, held, times) if operation.is_page else _list(held, operation.items, times)
    if isinstance(operation, EditList):
        return _edited(operation, pk, held, times)
    if held is None or held.stored is INVALID:
        return held
    return held._replace(times=held.times._replace(expires_at=min(held.times.expires_at, 1)))


def requested_by(held: StoredEntry, fetched_at: float) -> StoredEntry:
    """Return an entry with request times limited to this time (ms), because the order of requests is known."""
    stored, times, whole = held
    times = times._replace(fetched_at=min(times.fetched_at, fetched_at))
    if whole is not None:
        later = {name: min(since, fetched_at) for name, since in whole.later.items()}
        whole = whole._replace(fetched_at=min(whole.fetched_at, fetched_at), later=later)
    return StoredEntry(stored, times, whole)


def differs(operation: Operation, pk: str, held: StoredEntry, times: Meta) -> bool:
    """Return whether an operation with these times contradicts the stored entry of a primary key."""
    if isinstance(operation, MergeRecord | ReplaceRecord):
        if held.stored is INVALID or isinstance(held.stored, list):
            return True
        there = record_of(held.stored)
        return any(name in there and not same_json(there[name], value) for name, value in operation.record.items())
    if isinstance(operation, PutList):
        return isinstance(held.stored, Sentinel) or not same_json(held.stored, operation.items)
    if isinstance(operation, EditList):
        is_ignored = held.stored is not INVALID and _is_requested_after(held, times)
        return is_ignored and operation.change(pk, held.stored) is not held.stored
    return isinstance(operation, DeleteRecord) and held.stored is not INVALID


# -- records -----------------------------------------------------------------------------------------------------------


def _merged(operation: MergeRecord, held: StoredEntry | None, times: Meta) -> StoredEntry:
    node, record = operation.node, operation.record
    if operation.is_recreated:
        after = _deleted(held, times)
        held = None if after.stored is INVALID and after.times == times else after
    if held is None or isinstance(held.stored, list):
        return StoredEntry(node.to_store({**record}), times)
    before, were, _ = held
    whole = whole_of(held)
    stored, later = node.merged(before, were, {**record}, times)
    if before is INVALID or stored is INVALID:
        return StoredEntry(stored, later)
    if later is were and times.fetched_at < were.fetched_at and not node.has_merge:
        merged = _by_field(whole, times.fetched_at, record, record_of(before))
        stored = stored if same_json(record_of(stored), merged) else node.to_store(merged)
    if operation.keeps_whole:
        return StoredEntry(stored, later, whole)
    return StoredEntry(stored, later, whole_after(whole, operation.rules, node, record, stored, times))


def whole_of(held: StoredEntry) -> Whole:
    """Return the last response with the complete record or list."""
    if held.whole is not None:
        return held.whole
    is_record = held.stored is not INVALID and not is_list(held.stored)
    fields = record_of(held.stored).keys() if is_record else frozenset[str]()
    return Whole(held.times.fetched_at, held.times.expires_at, fields, held.times.fetched_at)


def _by_field(
    whole: Whole, fetched_at: float, record: Mapping[str, object], before: Mapping[str, object]
) -> dict[str, Any]:
    """Merge a record that was requested earlier than the stored one; in each field, the later request wins."""
    merged = {**record, **before}
    since = whole.fetched_at
    return merged | {name: value for name, value in record.items() if fetched_at >= whole.later.get(name, since)}


def whole_after(
    whole: Whole, rules: Rules | None, node: EntitySchema, record: Mapping[str, object], stored: object, times: Meta
) -> Whole:
    """Return the last response with the complete record, after a response with some of its fields."""
    number = times.fetched_at

    def has_needed(names: AbstractSet[str]) -> bool:
        return rules is not None and rules.required_fields(node.wire_model) <= names

    covers = len(record) == len(record_of(stored))
    if (covers or has_needed(record.keys())) and (number >= whole.fetched_at or not has_needed(whole.fields)):
        since_of = {**dict.fromkeys(whole.fields, whole.fetched_at), **whole.later}
        later = {name: since for name, since in since_of.items() if since > number}
        return Whole(number, times.expires_at, record.keys(), number, later)
    return with_parts(whole, dict.fromkeys(record, number))


def with_parts(whole: Whole, since: Mapping[str, float]) -> Whole:
    """Return the last response with the complete record, after others with some fields, sent at these times (ms)."""
    received = {name: number for name, number in since.items() if number > whole.later.get(name, whole.fetched_at)}
    return whole._replace(later={**whole.later, **received})


def _deleted(held: StoredEntry | None, times: Meta) -> StoredEntry:
    if held is None:
        return StoredEntry(INVALID, times)
    if held.stored is INVALID:
        return held if held.times.date > times.date else StoredEntry(INVALID, times)
    stays = held.times.date > times.date and held.times.fetched_at >= times.fetched_at
    return held if stays else StoredEntry(INVALID, times)


# -- complete records --------------------------------------------------------------------------------------------------


def note_whole(change: ChangeSet, table: str, pk: str, whole: Whole, stored: object) -> None:
    """Record the last response with the complete record, unless it is the response of the change."""
    if whole.later or whole.number != change.times.fetched_at or len(whole.fields) != len(record_of(stored)):
        change.partial.setdefault(table, {})[pk] = whole


def note_part(
    change: ChangeSet, rules: Rules | None, node: EntitySchema, pk: str, record: Mapping[str, object], stored: object
) -> None:
    """Record the last response with the complete record, after a response with only some of its fields."""
    underlying = change.underlying
    before = underlying.whole(node.table_key, pk) if type(underlying) is Tables else None
    if before is not None:  # else it is new, or optimistic, so that it refreshes nothing
        note_whole(change, node.table_key, pk, whole_after(before, rules, node, record, stored, change.times), stored)


def keep_whole(change: ChangeSet) -> None:
    """Preserve the last responses with complete records, because a change does not contain data of the server."""
    underlying = change.underlying
    if type(underlying) is not Tables:
        return
    for table, written in change.entities.items():
        if table not in change.collections:
            wholes = change.partial.setdefault(table, {})
            for pk in written:
                wholes[pk] = underlying.whole(table, pk) or Whole(NEVER, 1, frozenset(), NEVER)


def keep_received(change: ChangeSet) -> None:
    """Preserve the last responses with complete records, without the fields to which a change gave values of its own.

    No response has contained these values.
    """
    keep_whole(change)
    for table, wholes in change.partial.items():
        for pk, whole in wholes.items():
            before, now = (known_record(state.get(table, pk)) or {} for state in (change.underlying, change))
            sent = {name for name in now if name not in before or not same_json(before[name], now[name])}
            later = {name: since for name, since in whole.later.items() if name not in sent}
            wholes[pk] = whole._replace(fields=whole.fields - sent, later=later)


def keep_representation(change: ChangeSet) -> list[EntityPath]:
    """Preserve the last responses with complete records, because a change has another representation of them.

    Returns the records. In each field, the request that was sent last wins, as always.
    """
    keep_whole(change)
    cells = [
        (table, pk)
        for table in change.entities.keys() - change.collections
        for pk, stored in change.entities[table].items()
        if stored is not INVALID
    ]
    for table, pk in cells:
        since = dict.fromkeys(record_of(change.entities[table][pk]), change.times.fetched_at)
        change.partial[table][pk] = with_parts(change.partial[table][pk], since)
    return cells


# -- lists -------------------------------------------------------------------------------------------------------------


def _list(held: StoredEntry | None, items: object, times: Meta) -> StoredEntry:
    """Return the entry of a list after a response with the complete list."""
    if held is None or isinstance(held.stored, Sentinel):
        return StoredEntry(items, times)
    before, were, _ = held
    is_older = times.fetched_at < were.fetched_at
    if is_partial(before) and not is_partial(items):
        # Only pages of it are known; those that overtook the list extend it.
        return StoredEntry(extended(items, before), times.with_page(were)) if is_older else StoredEntry(items, times)
    if is_older:
        return held
    return StoredEntry(before if same_json(before, items) else items, times)


def _page(operation: PutList, held: StoredEntry | None, times: Meta) -> StoredEntry:
    items = operation.items
    if held is None or held.stored is INVALID:
        return StoredEntry(PartialEntries(items) if is_dict(items) else PartialKeys(items), times)
    if _is_requested_after(held, times):
        return held  # the list was requested after the response with the page
    stored = held.stored
    return _changed(operation, held, overlay(stored, items) if is_dict(stored) else append(stored, items), times)


def _edited(operation: EditList, pk: str, held: StoredEntry | None, times: Meta) -> StoredEntry | None:
    """Return the entry of a list after items were added or removed; the same entry if nothing changes."""
    if held is None or held.stored is INVALID or _is_requested_after(held, times):
        return held  # the list was requested after the response with these items, so it contains the change
    changed = operation.change(pk, held.stored)
    if changed is held.stored and not operation.refreshes:
        return held
    return _changed(operation, held, changed, times)


def _is_requested_after(held: StoredEntry, times: Meta) -> bool:
    """Whether a list was requested after a response; in one millisecond, the numbers of the requests decide."""
    return held.times.fetched_at > max(times.date, times.fetched_at)


def _changed(operation: EditList | PutList, held: StoredEntry, changed: Any, times: Meta) -> StoredEntry:
    if operation.keeps_times or times.fetched_at < held.times.fetched_at:
        return held._replace(stored=changed)
    return StoredEntry(changed, times)


def extended(items: Any, later: Any) -> Any:
    """Return a collection extended by the entries of later pages."""
    if is_dict(items):
        return {**items, **later}
    return append(items, later)
