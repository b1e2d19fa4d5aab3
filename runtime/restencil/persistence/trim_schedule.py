"""The schedule by which the thread that writes trims the storage."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .connection import StorageConnection

_EVERY: Final = 10.0
"""So many seconds after nothing was left to drop it is looked again."""


class TrimSchedule:
    """When the storage below a store is to be trimmed again."""

    def __init__(self, connection: StorageConnection) -> None:
        self._connection = connection
        self._due = 0.0

    def run(self) -> None:
        """Drops some of what is over the bounds, if it is time for that; takes 50 ms at most."""
        connection = self._connection
        if (
            time.monotonic() < self._due
            or not connection.is_open
            or connection.state != "on"
            or connection.is_resetting
        ):
            return
        if connection.storage.writable:
            dropped = connection.commit(lambda storage: storage.trim())
            self._due = 0.0 if dropped else time.monotonic() + _EVERY
