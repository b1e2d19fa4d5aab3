"""Collecting what no one holds any more; off unless a policy is given to the store."""

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
        """When its fetch started."""
        ...

    @property
    def expires_at(self) -> float:
        """When it turns stale."""
        ...


class Collected(Protocol):
    """What a policy asks of the store that it serves."""

    scheduler: Scheduler

    def now(self) -> float:
        """The moment by the store's clock, in milliseconds."""
        ...

    def endpoint_meta(self, key: str) -> Times | None:
        """The times of a key, None where nothing is recorded of it."""
        ...

    def entity_meta(self, table: str, pk: str) -> Times | None:
        """The times of an entity or collection, None where there is none."""
        ...

    def is_held(self, place: str | EntityPath) -> bool:
        """Whether someone holds a key or an entity."""
        ...

    def apply(self, action: Action) -> Any:
        """Carries out an action."""
        ...


class ImmortalGCPolicy:
    """Keeps everything: what a store does without a policy."""

    def attach(self, store: Collected, /) -> None:
        """The store that this policy serves; a policy serves one."""

    def another(self) -> Self:
        """A policy of the same kind, with the same settings, that serves no store yet."""
        return copy(self)

    def dropped(self, keys: Iterable[str], entities: Iterable[EntityPath], /) -> None:
        """No one holds these keys and entities any more."""


class GCPolicy(ImmortalGCPolicy):
    """Collects what was held by a live read and is not any more, some time after it turned stale.

    `interval`: between two sweeps, in milliseconds, as `"5m"` or a timedelta; the first one comes that long after
    something was let go. A candidate is collected once `expiry_multiplier` times its lifetime, and at least two
    minutes, have passed since `fetched_at`; `expires_at(times)` gives another moment for that. What no one ever held is
    never collected.
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
                f"GCPolicy takes an interval above 0 and no negative expiry_multiplier: {interval}, {expiry_multiplier}"
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
        """A policy with the same settings that serves no store yet."""
        made = copy(self)
        made._begin()
        return made

    def attach(self, store: Collected, /) -> None:
        """The store that this policy serves; RuntimeError for a second one."""
        if self._store is not None:
            raise RuntimeError("this GCPolicy serves a store already; make one for each store")
        self._store = store

    def dropped(self, keys: Iterable[str], entities: Iterable[EntityPath], /) -> None:
        """They become candidates, and the next sweep is set."""
        with self._lock:
            self._keys.update(keys)
            self._entities.update(entities)
            self._set_timer()

    def sweep(self) -> None:
        """Collects the candidates whose time is over; the timer calls it, and anyone may."""
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
        """Takes out of the candidates what is held again, gone, or to be collected now; the last of these it gives."""
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
