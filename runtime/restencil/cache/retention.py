"""Eviction of bounded stores: protected data, the order of last use, and evicted paths.

A store without a bound and without a collection policy does not track the order of use. Evicted and collected entities
leave a mark, so that results with references to them are fetched again instead of being shown without them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..base.values import DICT, LIST, UNDEFINED, Sentinel
from ..schema.stored import is_partial, record_of
from .tables import WHOLE_TABLE, ChangeSet, EntityPath, Tables

if TYPE_CHECKING:
    from .tables import State

T = TypeVar("T")

MARKS: Final = 64
"""The number of marks and results that are always kept."""


class Retention:
    """Protected data and bound of one store; all methods run under the store's lock."""

    def __init__(self, max_entities: int | None) -> None:
        self.max_entities = max_entities
        self.active = max_entities is not None
        self._order: dict[EntityPath, None] = {}
        self._keys: dict[str, None] = {}
        self._held: dict[str | EntityPath, int] = {}
        self.evicted: set[EntityPath] = set()
        """Paths that were evicted; with `WHOLE_TABLE` for a primary key, tables that are no longer complete."""
        self._look_at = MARKS

    def reset(self) -> None:
        """Forget everything except holds, because the store was reset."""
        for kept in (self._order, self._keys, self.evicted):
            kept.clear()
        self._look_at = MARKS

    def hold(self, places: Iterable[str | EntityPath]) -> None:
        """Protect keys and entities from eviction; calls are counted."""
        for place in places:
            self._held[place] = self._held.get(place, 0) + 1

    def release(self, places: Iterable[str | EntityPath]) -> list[str | EntityPath]:
        """Undo one `hold` of each; return those that are no longer protected."""
        return [place for place in places if self._release(place)]

    def _release(self, place: str | EntityPath) -> bool:
        count = self._held.get(place, 0) - 1
        if count > 0:
            self._held[place] = count
            return False
        self._held.pop(place, None)
        return True

    def is_held(self, place: str | EntityPath) -> bool:
        """Return whether a key or an entity is protected."""
        return place in self._held

    def used(self, key: str, cells: Iterable[EntityPath]) -> None:
        """Record that a key, and the cells that its result touches, were read now."""
        _to_the_end(self._keys, [key] if key in self._keys else [])
        _to_the_end(self._order, [cell for cell in cells if cell in self._order])

    def named(self, keys: Iterable[str]) -> list[str]:
        """Record keys without results, which count as results; return the keys over the bound."""
        if self.max_entities is None:
            return []
        fresh = dict.fromkeys(keys)
        self._keys.update(fresh)
        return self._past(fresh, self.max_entities)

    def written(
        self, change: ChangeSet, needed: Callable[[], Callable[[EntityPath], bool]]
    ) -> tuple[list[EntityPath], list[str]]:
        """Record the writes of a committed change as used now; return the entities and keys over the bound.

        `needed()` returns a test for entities that must not be evicted.
        """
        if self.evicted:
            partial = {cell for cell in change.cells() if is_partial(change.get(*cell))}
            self.evicted.difference_update(cell for cell in change.cells() if cell not in partial)
        maximum = self.max_entities
        if maximum is None:
            return [], []
        order, fresh = self._order, dict.fromkeys(change.cells())
        named = {**change.results, **change.key_metas}
        _to_the_end(order, fresh)
        _to_the_end(self._keys, named)
        over: list[EntityPath] = []
        if len(order) > maximum:
            is_needed = needed()
            free = (cell for cell in order if cell not in fresh and not is_needed(cell))
            over = _first(len(order) - maximum, free, self._held)
        return over, self._past(named, maximum)

    def came(self, change: ChangeSet) -> None:
        """Record data that was loaded from a storage as present and used now."""
        cells = [cell for cell in change.cells() if not is_partial(change.get(*cell))]
        self.evicted.difference_update(cells)
        if self.max_entities is not None:
            _to_the_end(self._order, cells)
            _to_the_end(self._keys, (*change.results, *change.key_metas))

    def over(self, needed: Callable[[], Callable[[EntityPath], bool]]) -> list[EntityPath]:
        """Return the least recently used entities over the bound."""
        maximum = self.max_entities
        if maximum is None or len(self._order) <= maximum:
            return []
        is_needed = needed()
        return _first(len(self._order) - maximum, (cell for cell in self._order if not is_needed(cell)), self._held)

    def _past(self, named: Container[str], maximum: int) -> list[str]:
        # The bound of results is higher than that of entities: an entity may be the result of several keys.
        keys = self._keys
        return _first(len(keys) - max(MARKS, 2 * maximum), (key for key in keys if key not in named), self._held)

    def listed(self, tables: Iterable[str]) -> None:
        """Record that a response has listed all entities of these tables."""
        for table in tables:
            self.evicted.discard((table, WHOLE_TABLE))

    def removed(self, cells: Iterable[EntityPath], keys: Iterable[str], base: Tables) -> None:
        """Record removed entities and keys, so that results with references to them are fetched again."""
        for cell in cells:
            self._order.pop(cell, None)
            self.evicted.add(cell)
            self.evicted.add((cell[0], WHOLE_TABLE))
        for key in keys:
            self._keys.pop(key, None)
        if len(self.evicted) > self._look_at:
            self._forget_marks(base)

    def _forget_marks(self, base: Tables) -> None:
        """Drop marks without references; the more marks remain, the later this is repeated."""
        tables = {mark for mark in self.evicted if mark[1] == WHOLE_TABLE}
        gone = [mark for mark in self.evicted if mark[1] != WHOLE_TABLE and _is_missing(base.get(*mark))]
        self.evicted = tables | _referenced(gone, base)
        self._look_at = max(MARKS, 2 * len(self.evicted))

    def misses(self, state: State, cells: Iterable[EntityPath]) -> bool:
        """Return whether a read touches evicted data."""
        evicted = self.evicted
        return any(cell in evicted and _is_missing(state.get(*cell)) for cell in cells)


def _is_missing(stored: object) -> bool:
    """Return whether evicted data was not fetched again, or only pages of it were."""
    return stored is UNDEFINED or is_partial(stored)


def _to_the_end(order: dict[T, None], places: Iterable[T]) -> None:
    for place in places:
        order.pop(place, None)
        order[place] = None


def _first(number: int, places: Iterable[T], held: Container[object]) -> list[T]:
    """Return the first places that are not protected, up to this number."""
    found: list[T] = []
    if number > 0:
        for place in places:
            if place not in held:
                found.append(place)
                if len(found) == number:
                    break
    return found


def _referenced(cells: Iterable[EntityPath], base: Tables) -> set[EntityPath]:
    """Return the cells whose primary key appears anywhere in stored data."""
    texts: set[str] = set()
    for stored in base.results.values():
        _collect_texts(stored, texts)
    for table in base.entities.values():
        for stored in table.values():
            if not isinstance(stored, Sentinel):
                _collect_texts(record_of(stored), texts)
    return {cell for cell in cells if cell[1] in texts}


def _collect_texts(value: Any, texts: set[str]) -> None:
    if isinstance(value, str):
        texts.add(value)
    elif isinstance(value, DICT):
        for item in value.values():
            _collect_texts(item, texts)
    elif isinstance(value, LIST):
        for item in value:
            _collect_texts(item, texts)
