"""Standard modules that only some programs need, imported when they are first used.

Blocking code never needs asyncio, and only a storage in a folder needs sqlite3. (Benchmark: import of a package.)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "asyncio", "sqlite3"]


class LazyModule:
    """A module that is imported when one of its names is first used: `sqlite3 = LazyModule("sqlite3")`."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__module), name)
        setattr(self, name, found)
        return found


class _LazyAsyncio(LazyModule):
    """asyncio, in which no loop is running as long as nobody imported it."""

    def __getattr__(self, name: str) -> Any:
        if name == "_get_running_loop" and "asyncio" not in sys.modules:
            return _no_loop
        return super().__getattr__(name)


def _no_loop() -> None:
    return None


if TYPE_CHECKING:
    import asyncio
    import sqlite3
else:
    asyncio = _LazyAsyncio("asyncio")
    sqlite3 = LazyModule("sqlite3")
