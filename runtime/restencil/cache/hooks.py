"""Users' own functions that run while the store is locked: they may read it, but change nothing."""

from __future__ import annotations

import sys
from threading import get_ident


class Hooks:
    """Marks the thread in which hooks run: `with hooks: …`, under the lock, and inside each other as it comes."""

    __slots__ = ("_depth", "_thread")

    def __init__(self) -> None:
        self._depth = 0
        self._thread: int | None = None

    def __enter__(self) -> None:
        self._depth += 1
        self._thread = get_ident()

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._thread = None

    def refuse(self, operation: str) -> None:
        """Raises RuntimeError where the caller is a hook."""
        if self._thread == get_ident():
            raise RuntimeError(
                f"{_calling_hook()} called {operation}: a hook may read the store, but not change it or fetch; "
                "do it where the fetch was started, or in a listener"
            )


def _calling_hook() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the hook is a caller of the library
    while str(frame.f_globals.get("__name__", "")).startswith("restencil.") and frame.f_back is not None:
        frame = frame.f_back
    return f"the hook {frame.f_code.co_qualname!r}"
