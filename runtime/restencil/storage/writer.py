"""Writing: what actions hand over waits, and is committed in whole actions, in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..base.values import Meta
    from ..cache.actions import Action
    from ..cache.contents import Contents, Effects
    from ..cache.store import Store
    from ..cache.tables import Cell
    from .below import Below
    from .pending import Pending
    from .protocol import Place


class Writer:
    """What waits for its commit, and the thread that commits it."""

    def __init__(self, store: Store, contents: Contents, below: Below) -> None:
        self._store = store
        self._contents = contents
        self._below = below

    @property
    def pending_rows(self) -> int:
        """How many rows wait."""
        return 0

    @property
    def pending_names(self) -> int:
        """Of how many only the names are known any more."""
        return 0

    def written(self, action: Action, effects: Effects) -> Pending | None:
        """What an action that is about to be carried out hands over; None for nothing (locked)."""
        return None

    def take(self, written: Pending) -> None:
        """It was carried out (locked)."""

    def is_pending(self, cell: Cell) -> bool:
        """Whether a cell waits for its commit (locked)."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether anything waits (locked)."""
        return False

    def is_pending_key(self, key: str) -> bool:
        """Whether a result waits for its commit (locked)."""
        return False

    def over(self, cell: Cell, stored: Any, times: Meta) -> tuple[Any, Meta]:
        """What is pending of a cell, laid over what was just loaded of it (locked)."""
        return stored, times

    def own(self, number: int) -> None:
        """The log says that a batch of this store has this number (locked)."""

    def use(self, places: Iterable[Place]) -> None:
        """These were loaded for a read (locked)."""

    def drop_all(self) -> None:
        """Another process began anew: what waits is dropped (locked)."""

    def flush(self, timeout: float) -> bool:
        """Waits until all that was taken so far is in the storage."""
        return True

    def close(self) -> None:
        """Nothing is committed any more."""

    def before_fork(self) -> None:
        """The process is about to fork."""

    def after_fork(self) -> None:
        """It has forked; this is the parent."""

    def forked(self) -> None:
        """It has forked; this is the child."""
