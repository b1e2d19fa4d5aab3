"""Modules that are imported when they are first used: each of them takes longer than most of this library.

They are taken from here as they would be imported: `from .lazy import asyncio, json`.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "LazyModule",
    "asyncio",
    "base64",
    "dataclasses",
    "datetime",
    "decimal",
    "email_utils",
    "hashlib",
    "inspect",
    "json",
    "linecache",
    "logger",
    "logging",
    "sqlite3",
    "unicodedata",
    "urls",
    "uuid",
]


class LazyModule:
    """Stands for a module: `json = LazyModule("json")`. A name that was looked up once is kept."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__module), name)
        setattr(self, name, found)
        return found


class _LazyAsyncio(LazyModule):
    """asyncio, which blocking code never needs: where it was not imported, no loop is running."""

    def __getattr__(self, name: str) -> Any:
        if name == "_get_running_loop" and "asyncio" not in sys.modules:
            return _no_loop
        return super().__getattr__(name)


def _no_loop() -> None:
    return None


class _LazyLogger:
    def __getattr__(self, name: str) -> Any:
        found = getattr(_logger(), name)
        setattr(self, name, found)
        return found


@cache
def _logger() -> Any:
    found = logging.getLogger("restencil")
    found.addHandler(logging.NullHandler())
    return found


if TYPE_CHECKING:
    import asyncio
    import base64
    import dataclasses
    import datetime
    import decimal
    import email.utils as email_utils
    import hashlib
    import inspect
    import json
    import linecache
    import logging
    import sqlite3
    import unicodedata
    import urllib.parse as urls
    import uuid

    logger: logging.Logger
    """The logger of the library; what nobody asked to see is not printed."""
else:
    asyncio = _LazyAsyncio("asyncio")
    base64 = LazyModule("base64")
    dataclasses = LazyModule("dataclasses")
    datetime = LazyModule("datetime")
    decimal = LazyModule("decimal")
    email_utils = LazyModule("email.utils")
    hashlib = LazyModule("hashlib")
    inspect = LazyModule("inspect")
    json = LazyModule("json")
    linecache = LazyModule("linecache")
    logging = LazyModule("logging")
    sqlite3 = LazyModule("sqlite3")
    unicodedata = LazyModule("unicodedata")
    urls = LazyModule("urllib.parse")
    uuid = LazyModule("uuid")
    logger = _LazyLogger()
