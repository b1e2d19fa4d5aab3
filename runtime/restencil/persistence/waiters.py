"""Requests that wait for the responses to the same requests of other processes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..cache.persistence_port import PendingRequest


class Waiters:
    """The requests that wait for the responses of other processes, by key."""

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        """Start over in a forked process: the waiting requests are in the parent."""
        self._lock = threading.Lock()
        self._waiting: dict[str, list[PendingRequest]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._waiting

    def add(self, key: str, wanted: PendingRequest) -> None:
        """Add a request that waits for a key."""
        with self._lock:
            self._waiting.setdefault(key, []).append(wanted)

    def remove(self, key: str, wanted: PendingRequest) -> None:
        """Remove a request that no longer waits."""
        with self._lock:
            others = [other for other in self._waiting.get(key, ()) if other is not wanted]
            if others:
                self._waiting[key] = others
            else:
                self._waiting.pop(key, None)

    def wake(self, keys: Iterable[str] | None) -> None:
        """Wake the requests that wait for these keys, or all if None, as other processes have written them."""
        if not self._waiting:
            return
        with self._lock:
            found = [*self._waiting] if keys is None else keys
            wake = [wanted for key in found for wanted in self._waiting.get(key, ())]
        for wanted in wake:
            wanted.wake()
