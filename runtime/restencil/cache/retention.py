"""What a bounded store keeps: holds, the order of last use, and what was let go of (§14).

A store without a bound and without a collection policy never looks at the order of use. What was evicted or collected
leaves a mark, so that a result which refers to it is fetched again instead of being shown shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from ..base.values import UNDEFINED
from .tables import WHOLE, Cell, Change

if TYPE_CHECKING:
    from .store import Store
    from .tables import State

T = TypeVar("T")

MARKS: Final = 64
"""So many marks and results are always kept without a look at what they are good for."""


class Retention:
    """Holds and bounds of one store; everything here runs under the store's lock."""

    def __init__(self, store: Store, max_entities: int | None) -> None:
        self._store = store
        self._max = max_entities
        self.active = max_entities is not None
        self._order: dict[Cell, None] = {}
        self._keys: dict[str, None] = {}
        self._held: dict[str | Cell, int] = {}
        self.evicted: set[Cell] = set()
        """Marks: what was let go of, and with `WHOLE` for a primary key the tables that are no longer complete."""
        self._look_at = MARKS

    def reset(self) -> None:
        """The store starts over; holds stay, as their holders do."""
        for kept in (self._order, self._keys, self.evicted):
            kept.clear()
        self._look_at = MARKS

    def hold(self, key: str, paths: Iterable[Cell]) -> Callable[[], None]:
        """Counts a holder of a key and of what it touches; returns what releases it, once."""
        store = self._store
        places: list[str | Cell] = [key, *paths]
        with store.lock:
            for place in places:
                self._held[place] = self._held.get(place, 0) + 1

        def release() -> None:
            with store.lock:
                dropped = [place for place in places if self._release(place)]
                places.clear()
            if store.gc is not None and dropped:
                store.gc.dropped(
                    tuple(place for place in dropped if isinstance(place, str)),
                    tuple(place for place in dropped if not isinstance(place, str)),
                )

        return release

    def _release(self, place: str | Cell) -> bool:
        count = self._held.get(place, 0) - 1
        if count > 0:
            self._held[place] = count
            return False
        self._held.pop(place, None)
        return True

    def is_held(self, place: str | Cell) -> bool:
        """Whether someone holds a key or an entity."""
        return place in self._held

    def used(self, key: str, cells: Iterable[Cell]) -> None:
        """Someone read a key: it and what it touches were used last."""
        _to_the_end(self._keys, key)
        order = self._order
        for cell in cells:
            _to_the_end(order, cell)

    def named(self, key: str) -> None:
        """A key without a result is recorded; it counts among the results."""
        if self._max is not None:
            self._keys[key] = None
            past = self._past((key,), self._max)
            if past:
                self._store.evict((), past)

    def written(self, change: Change) -> None:
        """A change was committed: what it wrote was used last; what is over the bound goes (§14)."""
        evicted = self.evicted
        evicted.difference_update(change.cells())
        maximum = self._max
        if maximum is not None:
            self._bound(change, maximum)
        for table in change.listed:
            evicted.discard((table, WHOLE))  # the server just said what there is

    def _bound(self, change: Change, maximum: int) -> None:
        order, keys = self._order, self._keys
        fresh = dict.fromkeys(change.cells())
        for cell in fresh:
            order.pop(cell, None)
            order[cell] = None
        named = {**change.results, **change.key_metas}
        for key in named:
            keys.pop(key, None)
            keys[key] = None
        gone: list[Cell] = []
        if len(order) > maximum:
            pending = self._store.pending_cells()
            over = len(order) - maximum
            gone = _first(over, (cell for cell in order if cell not in fresh and cell not in pending), self._held)
        past = self._past(named, maximum)
        if gone or past:
            self._store.evict(gone, past)

    def _past(self, named: Container[str], maximum: int) -> list[str]:
        # Results are bounded with the entities, generously: an entity may be the result of several keys.
        keys = self._keys
        return _first(len(keys) - max(MARKS, 2 * maximum), (key for key in keys if key not in named), self._held)

    def removed(self, cells: Iterable[Cell], keys: Iterable[str]) -> None:
        """These were taken out of the tables: what refers to them must be fetched again."""
        for cell in cells:
            self._order.pop(cell, None)
            self.evicted.add(cell)
            self.evicted.add((cell[0], WHOLE))
        for key in keys:
            self._keys.pop(key, None)
        if len(self.evicted) > self._look_at:
            self._forget_marks()

    def _forget_marks(self) -> None:
        """Marks that nothing refers to any more are dropped; looked for as rarely as there are many of them."""
        store = self._store
        marks = [mark for mark in self.evicted if mark[1] != WHOLE and not store.holds(mark)]
        tables = [mark for mark in self.evicted if mark[1] == WHOLE]
        self.evicted = {*tables, *store.referenced(marks)}
        self._look_at = max(MARKS, 2 * len(self.evicted))

    def misses(self, state: State, cells: Iterable[Cell]) -> bool:
        """Whether a read touches something that was let go of (§14)."""
        evicted = self.evicted
        return any(cell in evicted and state.get(*cell) is UNDEFINED for cell in cells)


def _to_the_end(order: dict[T, None], place: T) -> None:
    if place in order:
        del order[place]
        order[place] = None


def _first(number: int, places: Iterable[T], held: Container[object]) -> list[T]:
    """The first places that are not held, at most so many."""
    found: list[T] = []
    if number > 0:
        for place in places:
            if place not in held:
                found.append(place)
                if len(found) == number:
                    break
    return found
