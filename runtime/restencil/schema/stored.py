"""Stored forms: what lies in the tables of a store for entities and collections."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..base.values import SCALARS, Sentinel, is_dict, is_list, kind_of

_NO_INSTANCE: tuple[type[Any], ...] = (dict, list, Sentinel)


def record_of(stored: Any) -> Any:
    """The record (or list of primary keys) of what a table holds, in wire form; sentinels as they are."""
    return stored if isinstance(stored, _NO_INSTANCE) else stored.__dict__


def entry_key(entry: Any) -> Any:
    """What tells an entry of a stored list from the others: polymorphic ones are dicts, compared by value."""
    return ("", json.dumps(entry, sort_keys=True, default=str)) if isinstance(entry, (dict, list)) else entry


def entries_of(stored: Any) -> Iterable[Any]:
    """What a stored list or map holds."""
    return stored.values() if is_dict(stored) else stored if is_list(stored) else ()


def is_falsy(value: Any) -> bool:
    """Whether a value is None, False, zero or empty text; an empty list or dict is not."""
    return value is None or (type(value) in SCALARS and not value)


class PartialKeys(list[Any]):
    """The items of a stored list that only pages have written: the list itself was never answered, or was let go of."""

    __slots__ = ()


class PartialEntries(dict[str, Any]):
    """The entries of a stored map that only pages have written."""

    __slots__ = ()


def is_partial(stored: Any) -> bool:
    """Whether of a stored collection only pages are known, so that nobody is shown it as the whole."""
    kind = kind_of(stored)
    return kind is PartialKeys or kind is PartialEntries


def like(existing: Any, changed: Any) -> Any:
    """A changed collection, partial where the existing one was."""
    if type(existing) is PartialKeys and type(changed) is not PartialKeys:
        return PartialKeys(changed)
    if type(existing) is PartialEntries and type(changed) is not PartialEntries:
        return PartialEntries(changed)
    return changed


def absent_entries(stored: list[Any], new: list[Any]) -> list[Any]:
    """The new entries that a stored list does not have, each once."""
    try:
        known = set(stored)
    except TypeError:  # polymorphic entries are dicts
        known = set(map(entry_key, stored))
    found: dict[Any, Any] = {}
    for entry in new:
        key = entry_key(entry)
        if key not in known:
            found.setdefault(key, entry)
    return [*found.values()]


def each_once(stored: list[Any]) -> list[Any]:
    """The entries without those that stood there before."""
    if len(stored) < 2:
        return stored
    try:
        if len(set(stored)) == len(stored):
            return stored
    except TypeError:  # polymorphic entries are dicts
        pass
    found: dict[Any, Any] = {}
    for entry in stored:
        found.setdefault(entry_key(entry), entry)
    return [*found.values()]
