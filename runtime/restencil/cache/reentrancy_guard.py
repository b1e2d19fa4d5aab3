"""Users' own functions that run while the store is locked: they may read it, but change nothing."""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any, TypeAlias

Hooks: TypeAlias = Any
"""Marks the thread in which hooks run: `with hooks: …`, under the store's lock, and inside each other as it comes."""


def reentrancy_guard() -> Hooks:
    """A lock, used only because it knows its thread, and because nothing can come between it and
    its end: a marker that an interruption left behind would keep the thread from the store for ever.
    """
    return RLock()


def reject_reentry(hooks: Hooks, operation: str) -> None:
    """Raises RuntimeError where the caller is a hook."""
    if hooks._is_owned():
        raise RuntimeError(
            f"{_calling_hook()} called {operation}: a hook may read the store, but not change it or fetch; "
            "do it where the fetch was started, or in a listener"
        )


def _calling_hook() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the hook is a caller of the library
    while str(frame.f_globals.get("__name__", "")).startswith("restencil.") and frame.f_back is not None:
        frame = frame.f_back
    return f"the hook {frame.f_code.co_qualname!r}"
