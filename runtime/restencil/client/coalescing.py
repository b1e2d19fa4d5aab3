"""Coalescing of requests across processes that share a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..cache.actions import WHAT_IS_FRESH
from ..cache.policy import Decision
from .timers import Pause

if TYPE_CHECKING:
    from .in_flight import InFlight


class Coalescing:
    """The coalescing of a request in flight with those of other processes.

    `within` is the maximum age of an accepted response of another process, in ms before the start of the request, or
    `WHAT_IS_FRESH` to accept any fresh data.
    """

    __slots__ = ("_in_flight", "_is_woken", "_wakers", "_within", "requires_network")

    def __init__(self, in_flight: InFlight, within: float) -> None:
        self._in_flight = in_flight
        self._within = within
        self._wakers: list[Callable[[], object]] = []
        self._is_woken = False
        self.requires_network = False
        """Whether the request must be sent, because a caller that requires this joined it."""

    def withdraw(self) -> None:
        """Send the request in any case, whatever other processes receive."""
        self.requires_network = True
        self.wake()

    @property
    def is_over(self) -> bool:
        """Whether the request is settled."""
        return self._in_flight.done

    def accept_cached(self, *, is_known: bool) -> bool:
        """Settle the request with the stored data if that is acceptable; return whether it was."""
        in_flight = self._in_flight
        store = in_flight.store
        with store.lock:
            if self.requires_network or in_flight.resets != store.resets:
                return False
            reading = store.read(in_flight.request, is_known=is_known)
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
        """Return a step that pauses for `delay` ms, or until `wake` is called; its result is True then."""
        return Pause(self._in_flight.store.scheduler, delay, self._in_flight.endpoint.signal, self)

    def wake(self) -> None:
        """End the pause, so that the store is checked again."""
        with self._in_flight.store.lock:
            self._is_woken = True
            wakers = [*self._wakers]
        for waker in wakers:
            waker()

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call the listener on `wake`, at once if that was called before the pause; return a function to remove it."""
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
        """Return whether `wake` was called since the last call of this method."""
        with self._in_flight.store.lock:
            found, self._is_woken = self._is_woken, False
        return found
