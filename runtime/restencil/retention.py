"""What a bounded store keeps: holds, the order of last use, and what was let go of (§14).

A store without a bound and without a collection policy never looks at the order of use. What was evicted or collected
leaves a mark, so that a result which refers to it is fetched again instead of being shown shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .denormalize import Denormalization
from .tables import Cell, Change
from .values import UNDEFINED

if TYPE_CHECKING:
    from .endpoint import Endpoint
    from .schema.base import Schema
    from .store import Store
    from .tables import State


class Retention:
    """Holds and bounds of one store; everything here runs under the store's lock."""

    def __init__(self, store: Store, max_entities: int | None) -> None:
        self._store = store
        self._max = max_entities
        self.active = max_entities is not None
        self._order: dict[Cell, None] = {}
        self._held: dict[str | Cell, int] = {}
        self._keys: dict[Cell, set[str]] = {}
        self.evicted: set[Cell] = set()

    def reset(self) -> None:
        """The store starts over; holds stay, as their holders do."""
        self._order.clear()
        self._keys.clear()
        self.evicted.clear()

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

    def read(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...], key: str | None) -> None:
        """Someone read the endpoint: what it touches was used last."""
        order = self._order
        for cell in self._store.paths(endpoint, args):
            if cell in order:
                del order[cell]
                order[cell] = None

    def written(self, change: Change) -> None:
        """A change was committed: what it wrote was used last; what is over the bound goes (§14)."""
        order = self._order
        for cell in change.cells():
            order.pop(cell, None)
            order[cell] = None
            self.evicted.discard(cell)
        for key, result in change.results.items():
            if isinstance(result, str):
                for table, written in change.entities.items():
                    if result in written:
                        self._keys.setdefault((table, result), set()).add(key)
        maximum = self._max
        if maximum is None or len(order) <= maximum:
            return
        over = len(order) - maximum
        fresh = set(change.cells())
        gone: list[Cell] = []
        for cell in order:
            if len(gone) == over:
                break
            if cell not in self._held and cell not in fresh and not self._store.is_pending(cell):
                gone.append(cell)
        if gone:
            self._store.evict(gone, [key for cell in gone for key in self._keys.pop(cell, ())])

    def removed(self, cells: Iterable[Cell]) -> None:
        """These were taken out of the tables: what refers to them must be fetched again."""
        for cell in cells:
            self._order.pop(cell, None)
            self._keys.pop(cell, None)
            self.evicted.add(cell)
        if self.active or self._store.gc is not None:
            self._forget_marks()

    def _forget_marks(self) -> None:
        """Marks that nothing refers to any more are dropped, once there are more of them than entities."""
        store = self._store
        if len(self.evicted) <= max(64, 2 * len(self._order)):
            return
        self.evicted &= store.referenced(self.evicted)

    def misses(self, state: State, schema: Schema, stored: Any, args: tuple[Any, ...]) -> bool:
        """Whether a stored result refers to something that was let go of (§14)."""
        cells: set[Cell] = set()
        Denormalization(state, args, trace=cells).read(schema, stored)
        return any(cell in self.evicted and state.get(*cell) is UNDEFINED for cell in cells)
