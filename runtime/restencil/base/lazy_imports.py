"""Standard modules that only some programs need, imported when they are first used.

Blocking code never needs asyncio, and only a storage in a folder needs sqlite3. (Benchmark: import of a package.)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["LazyModule", "asyncio", "running_loop", "sqlite3"]


class LazyModule:
    """A module that is imported when one of its names is first used: `sqlite3 = LazyModule("sqlite3")`."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__module), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import asyncio
    import sqlite3
else:
    asyncio = LazyModule("asyncio")
    sqlite3 = LazyModule("sqlite3")


def running_loop() -> AbstractEventLoop | None:
    """The asyncio loop that runs in this thread; None where none does."""
    if "asyncio" not in sys.modules:
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
