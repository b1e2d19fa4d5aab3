"""Stored forms: the table entries of entities and collections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.values import SCALARS, Sentinel, is_dict, is_list, kind_of

_NO_INSTANCE: tuple[type[Any], ...] = (dict, list, Sentinel)


def is_collection(table: str) -> bool:
    """Return whether a table contains lists or maps of primary keys."""
    return table[:1] in ("[", "{")


def item_tables(table: str) -> list[str]:
    """Return the tables of the items of a table of lists or maps, from its name: `[A;B]`, or `{A}` and a path."""
    return table[1 : table.find("]" if table[0] == "[" else "}")].removesuffix(";").split(";")


def record_of(stored: Any) -> Any:
    """Return the JSON record, or the list of primary keys, of a table entry; sentinels are returned unchanged."""
    return stored if isinstance(stored, _NO_INSTANCE) else stored.__dict__


def known_record(stored: object) -> Mapping[str, object] | None:
    """Return the JSON record of a table entry; None for sentinels, as there is no record."""
    record: Mapping[str, Any] | None = None if isinstance(stored, Sentinel) else record_of(stored)
    return record


def entry_key(entry: object) -> object:
    """Return a hashable key of an entry of a stored list; polymorphic entries are dicts, compared by value."""
    return ("", json.dumps(entry, sort_keys=True, default=str)) if isinstance(entry, (dict, list)) else entry


def entries_of(stored: object) -> Iterable[object]:
    """Return the entries of a stored list or map; none for other values."""
    return stored.values() if is_dict(stored) else stored if is_list(stored) else ()


def entry_pk(entry: object) -> str | None:
    """Return the primary key of an entry of a stored list; None for a record that has none."""
    if is_dict(entry) and entry.keys() == {"id", "schema"}:  # one of several entities
        entry = entry["id"]
    return entry if type(entry) is str else None


def is_falsy(value: object) -> bool:
    """Whether a value is None, False, zero or an empty string; an empty list or dict is not falsy."""
    return value is None or (type(value) in SCALARS and not value)


class PartialKeys(list[Any]):
    """The known items of a stored list that was fetched in pages only, or was evicted as a whole."""

    __slots__ = ()


class PartialEntries(dict[str, Any]):
    """The known entries of a stored map that was fetched in pages only, or was evicted as a whole."""

    __slots__ = ()


def is_partial(stored: Any) -> bool:
    """Whether a stored collection may have further items that are unknown, so that it is not a result by itself."""
    kind = kind_of(stored)
    return kind is PartialKeys or kind is PartialEntries


def like(existing: object, changed: Any) -> Any:
    """Return a changed collection, marked as partial if the existing one is."""
    if type(existing) is PartialKeys and type(changed) is not PartialKeys:
        return PartialKeys(changed)
    if type(existing) is PartialEntries and type(changed) is not PartialEntries:
        return PartialEntries(changed)
    return changed


def absent_entries(stored: list[Any], new: list[object]) -> list[object]:
    """Return the new entries that are not in a stored list, each once."""
    try:
        known = set(stored)
    except TypeError:  # polymorphic entries are dicts
        known = set(map(entry_key, stored))
    return [entry for entry in each_once(new) if entry_key(entry) not in known]


def each_once(stored: list[Any]) -> list[Any]:
    """Return the entries without duplicates, in their order."""
    found: dict[Any, Any] = {}
    for entry in stored:
        found.setdefault(entry_key(entry), entry)
    return [*found.values()]
