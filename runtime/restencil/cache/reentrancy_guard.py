"""Users' own functions that run while the store is locked: they may read it, but change nothing."""

from __future__ import annotations

import sys
from threading import Condition, RLock


class LockProbe:
    """Tells whether the current thread holds a lock: `Condition.notify` checks that, and with 0 does nothing else."""

    def __init__(self, lock: RLock) -> None:
        self._condition = Condition(lock)

    def is_held(self) -> bool:
        """Whether the current thread holds the lock."""
        try:
            self._condition.notify(0)
        except RuntimeError:
            return False
        return True


class ReentrancyGuard:
    """Knows the thread in which hooks run: `with guard.hooks: …`, under the store's lock, nested as it comes.

    It is a lock because nothing can come between it and its end: a flag that an interruption left behind would keep the
    thread from the store for ever.
    """

    def __init__(self) -> None:
        self.hooks = RLock()
        self._probe = LockProbe(self.hooks)

    def reject(self, operation: str) -> None:
        """Raises RuntimeError where the caller is a hook."""
        if self._probe.is_held():
            raise RuntimeError(
                f"{_calling_hook()} called {operation}: a hook may read the store, but not change it or fetch; "
                "do it where the fetch was started, or in a listener"
            )


def _calling_hook() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the hook is a caller of the library
    while str(frame.f_globals.get("__name__", "")).startswith("restencil.") and frame.f_back is not None:
        frame = frame.f_back
    return f"the hook {frame.f_code.co_qualname!r}"
