"""A storage is kept within its bounds: now and then it is told to trim itself, by who writes to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .below import Below

_EVERY: Final = 10.0
"""So many seconds after nothing was left to drop it is looked again."""


class Tending:
    """When the storage below a store is to be trimmed again."""

    def __init__(self, below: Below) -> None:
        self._below = below
        self._due = 0.0

    def turn(self) -> None:
        """Drops some of what is over the bounds, if it is time for that; takes 50 ms at most."""
        below = self._below
        if time.monotonic() < self._due or not below.is_open or below.state != "on" or below.is_resetting:
            return
        if below.storage.writable:
            dropped = below.commit(lambda storage: storage.trim())
            self._due = 0.0 if dropped else time.monotonic() + _EVERY
