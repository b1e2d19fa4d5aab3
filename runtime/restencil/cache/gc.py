"""Garbage collection of data that live reads no longer use; off unless a store has a policy."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from ..base.durations import milliseconds
from .actions import Collect

if TYPE_CHECKING:
    from ..base.durations import Duration
    from ..base.scheduler import Handle, Scheduler
    from .actions import Action
    from .tables import EntityPath

    Place = TypeVar("Place", str, EntityPath)

#: However short its lifetime, data is kept at least this long after it was fetched, in milliseconds.
SHORTEST_LIFE: Final = 120_000.0


class Times(Protocol):
    """The times of a stored entity or result, in milliseconds of the store's clock."""

    @property
    def fetched_at(self) -> float:
        """When the fetch started."""
        ...

    @property
    def expires_at(self) -> float:
        """When the data becomes stale."""
        ...


class Collected(Protocol):
    """The interface of a store for its policy."""

    scheduler: Scheduler

    def now(self) -> float:
        """Return the current time of the store, in milliseconds."""
        ...

    def endpoint_meta(self, key: str) -> Times | None:
        """Return the times of a key; None if it is unknown."""
        ...

    def entity_meta(self, table: str, pk: str) -> Times | None:
        """Return the times of an entity or collection; None if it is unknown."""
        ...

    def is_held(self, place: str | EntityPath) -> bool:
        """Return whether a live read uses a key or an entity."""
        ...

    def apply(self, action: Action) -> Any:
        """Apply an action."""
        ...


class ImmortalGCPolicy:
    """A policy that never collects, as without a policy."""

    def attach(self, store: Collected, /) -> None:
        """Set the store of this policy; a policy serves one store."""

    def another(self) -> Self:
        """Return a policy of the same class and settings without a store."""
        return copy(self)

    def dropped(self, keys: Iterable[str], entities: Iterable[EntityPath], /) -> None:
        """Notify the policy that live reads no longer use these keys and entities."""


class GCPolicy(ImmortalGCPolicy):
    """Collects data that live reads no longer use, some time after it became stale.

    `interval` is the time between two sweeps (milliseconds, `"5m"` or a timedelta); the first sweep starts that long
    after a live read has released data. A candidate is collected once `expiry_multiplier` times its lifetime, and at
    least two minutes, have passed since `fetched_at`; `expires_at(times)` returns another time for that. Data that no
    live read ever used is never collected.
    """

    def __init__(
        self,
        interval: Duration = 300_000,
        expiry_multiplier: float = 2,
        expires_at: Callable[[Times], float] | None = None,
    ) -> None:
        every: float = milliseconds(interval, "interval of GCPolicy")
        if every <= 0 or expiry_multiplier < 0:
            raise ValueError(
                f"interval and expiry_multiplier of GCPolicy are {interval} and {expiry_multiplier}; expected a "
                "positive interval, and a multiplier that is not negative"
            )
        self.interval = every
        self.expiry_multiplier = expiry_multiplier
        self._expires_at = expires_at
        self._begin()

    def _begin(self) -> None:
        self._store: Collected | None = None
        self._keys: set[str] = set()
        self._entities: set[EntityPath] = set()
        self._timer: Handle | None = None
        self._lock = threading.Lock()

    def another(self) -> Self:
        """Return a policy with the same settings without a store."""
        made = copy(self)
        made._begin()
        return made

    def attach(self, store: Collected, /) -> None:
        """Set the store of this policy; raise RuntimeError if it has one."""
        if self._store is not None:
            raise RuntimeError("this GCPolicy already serves a store; create one for each store")
        self._store = store

    def dropped(self, keys: Iterable[str], entities: Iterable[EntityPath], /) -> None:
        """Make these keys and entities candidates, and schedule the next sweep."""
        with self._lock:
            self._keys.update(keys)
            self._entities.update(entities)
            self._set_timer()

    def sweep(self) -> None:
        """Collect the candidates whose time is over; called by the timer, and possibly by users."""
        store = self._store
        if store is None:
            return
        with self._lock:
            self._timer = None
            now = store.now()
            keys = self._over(self._keys, store.endpoint_meta, now)
            entities = self._over(self._entities, lambda cell: store.entity_meta(*cell), now)
        if keys or entities:
            store.apply(Collect(tuple(entities), tuple(keys)))
        with self._lock:
            self._set_timer()

    def _over(self, candidates: set[Place], times_of: Callable[[Place], Times | None], now: float) -> list[Place]:
        """Remove candidates that are in use again, unknown or due; return the due ones."""
        store = self._store
        over: list[Place] = []
        for place in list(candidates):
            times = times_of(place)
            if times is None or store is None or store.is_held(place):
                candidates.discard(place)
            elif (self._expires_at or self._end_of_life)(times) < now:
                candidates.discard(place)
                over.append(place)
        return over

    def _end_of_life(self, times: Times) -> float:
        return max((times.expires_at - times.fetched_at) * self.expiry_multiplier, SHORTEST_LIFE) + times.fetched_at

    def _set_timer(self) -> None:
        store = self._store
        if self._timer is None and store is not None and (self._keys or self._entities):
            this = weakref.ref(self)

            def fire() -> None:
                policy = this()
                if policy is not None:
                    policy.sweep()

            self._timer = store.scheduler.call_later(self.interval, fire)
