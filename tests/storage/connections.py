"""The connections of SQLite that this process opens, as the interpreter's own audit tells of them."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager

_collections: list[list[sqlite3.Connection]] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "sqlite3.connect/handle" and isinstance(arguments[0], sqlite3.Connection):
        for collection in _collections:
            collection.append(arguments[0])


sys.addaudithook(_audit)


@contextmanager
def opened_connections() -> Generator[list[sqlite3.Connection]]:
    """Those that are opened while the block runs; each can be used once it is returned to who opened it."""
    collection: list[sqlite3.Connection] = []
    _collections.append(collection)
    try:
        yield collection
    finally:
        _collections.remove(collection)
