"""A request whose answer another process may bring: what it waits for, and what it accepts in place of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..cache.actions import WHAT_IS_FRESH
from ..cache.reading import Decision
from .timers import Pause

if TYPE_CHECKING:
    from ..cache.request import Request
    from ..cache.store import Store


class Sent(Protocol):
    """A request in flight, as far as it matters here."""

    @property
    def store(self) -> Store: ...
    @property
    def request(self) -> Request: ...
    @property
    def endpoint(self) -> Any: ...
    @property
    def fetched_at(self) -> float: ...
    @property
    def resets(self) -> int: ...
    @property
    def done(self) -> bool: ...
    def settle(self, value: Any, /) -> bool: ...


class Coalescing:
    """What a request in flight takes from other processes.

    `within` says what it accepts: `WHAT_IS_FRESH`, or another process's answer that came so many ms before the request
    began, or later.
    """

    __slots__ = ("_in_flight", "_is_woken", "_wakers", "_within", "requires_network")

    def __init__(self, in_flight: Sent, within: float) -> None:
        self._in_flight = in_flight
        self._within = within
        self._wakers: list[Callable[[], object]] = []
        self._is_woken = False
        self.requires_network = False
        """Someone joined it who was promised that the server is asked."""

    def withdraw(self) -> None:
        """The server is to be asked in any case."""
        self.requires_network = True
        self.wake()

    @property
    def is_over(self) -> bool:
        """There is an outcome."""
        return self._in_flight.done

    def accept_cached(self) -> bool:
        """Makes what is in the store the outcome, if that will do."""
        in_flight = self._in_flight
        store = in_flight.store
        with store.lock:
            if self.requires_network or in_flight.resets != store.resets:
                return False
            reading = store.read(in_flight.request)
            if reading.decision is not Decision.GIVE or not self._is_new():
                return False
            in_flight.settle(reading.data)
        return True

    def _is_new(self) -> bool:
        if self._within == WHAT_IS_FRESH:
            return True
        in_flight = self._in_flight
        store, key = in_flight.store, in_flight.request.key
        meta = store.endpoint_meta(key)
        return meta is not None and store.origin(key) is not None and meta.date > in_flight.fetched_at - self._within

    # -- waiting

    def wait(self, delay: float) -> Pause:
        """A step: lets so many ms pass, or less where something is heard; True where it is."""
        return Pause(self._in_flight.store.scheduler, delay, self._in_flight.endpoint.signal, self)

    def wake(self) -> None:
        """Something was heard: who waits looks again."""
        with self._in_flight.store.lock:
            self._is_woken = True
            wakers = [*self._wakers]
        for waker in wakers:
            waker()

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls it when something is heard, or was since the last wait; returns what removes it."""
        with self._in_flight.store.lock:
            self._wakers.append(listener)
            is_woken = self._is_woken
        if is_woken:
            listener()

        def remove() -> None:
            with self._in_flight.store.lock:
                self._wakers.remove(listener)

        return remove

    def was_woken(self) -> bool:
        """Whether something was heard since this was asked."""
        with self._in_flight.store.lock:
            found, self._is_woken = self._is_woken, False
        return found
