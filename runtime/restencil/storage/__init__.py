"""Storages keep what a store holds beyond the life of a process, and may be shared by several.

For a storage of your own: the protocol `restencil.Storage`, and the tuples that it takes and returns.
"""

from __future__ import annotations

from .protocol import (
    Batch,
    Cell,
    Changes,
    Entry,
    IndexEntry,
    Loaded,
    Mark,
    NamespaceStats,
    Opened,
    Outcome,
    Page,
    Place,
    StoredResult,
    StoredRow,
    TableInfo,
)

__all__ = [
    "Batch",
    "Cell",
    "Changes",
    "Entry",
    "IndexEntry",
    "Loaded",
    "Mark",
    "NamespaceStats",
    "Opened",
    "Outcome",
    "Page",
    "Place",
    "StoredResult",
    "StoredRow",
    "TableInfo",
]
