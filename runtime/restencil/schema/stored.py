"""Stored forms: what lies in the tables of a store for entities and collections."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.lazy_imports import json
from ..base.values import Sentinel, kind_of

_NO_INSTANCE: tuple[type[Any], ...] = (dict, list, Sentinel)


def record_of(stored: Any) -> Any:
    """The record (or list of primary keys) of what a table holds, in wire form; sentinels as they are."""
    return stored if isinstance(stored, _NO_INSTANCE) else stored.__dict__


def entry_key(entry: Any) -> Any:
    """What tells an entry of a stored list from the others: polymorphic ones are dicts, compared by value."""
    return ("", json.dumps(entry, sort_keys=True, default=str)) if isinstance(entry, (dict, list)) else entry


class Growth(NamedTuple):
    """Items that a stored list is to grow by, before all others or after them."""

    items: list[Any]
    first: bool


class Keys(list[Any]):
    """The items of a stored list that others were added to, with an index of them.

    So an addition to a long list neither looks through all of it nor copies it: it grows where no one holds it as it
    was, else the index goes on to the list that is made from it. (Benchmark: push 10 items onto a list of 10,000.)
    """

    __slots__ = ("_index",)

    _index: set[Any] | None

    def lacking(self, new: list[Any]) -> list[Any]:
        """The new items that are not in it, each once."""
        index = self._indexed()
        lacking: dict[Any, Any] = {}
        for entry in new:
            key = entry if kind_of(entry) is str else entry_key(entry)
            if key not in index:
                lacking.setdefault(key, entry)
        return [*lacking.values()]

    def grow(self, growth: Growth) -> None:
        """Takes in items that it lacks; told a second time, because the first was interrupted, it is as told once."""
        items, first = growth
        size = len(items)
        if (self[:size] if first else self[-size:]) == items:
            return
        index, self._index = self._indexed(), None  # made anew, should this be interrupted
        if first:
            self[:0] = items
        else:
            self += items
        index.update(map(entry_key, items))
        self._index = index

    def grown(self, growth: Growth) -> Keys:
        """A list with items that it lacks; the index goes on to that one."""
        longer = type(self)(self)
        longer._index, self._index = self._indexed(), None
        longer.grow(growth)
        return longer

    def _indexed(self) -> set[Any]:
        index: set[Any] | None = getattr(self, "_index", None)
        if index is None:
            try:
                index = set(self)
            except TypeError:
                index = set(map(entry_key, self))
            self._index = index
        return index


class PartialKeys(Keys):
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
