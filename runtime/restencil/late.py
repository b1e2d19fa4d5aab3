"""Modules that are imported when they are first used: each of them takes longer to import than this whole library."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class Late:
    """Stands for a module: `httpx = Late("httpx")`. A name that was looked up once is kept."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__module), name)
        setattr(self, name, found)
        return found


class LateAsyncio(Late):
    """asyncio, which blocking code never needs: where it was not imported, no loop is running."""

    def __init__(self) -> None:
        super().__init__("asyncio")

    def __getattr__(self, name: str) -> Any:
        if name == "_get_running_loop" and "asyncio" not in sys.modules:
            return _no_loop
        return super().__getattr__(name)


def _no_loop() -> None:
    return None
