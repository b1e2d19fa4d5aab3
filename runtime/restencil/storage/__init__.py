"""Storages persist the data of stores, and may be shared by several processes.

For a storage of your own, this package exports the tuples of the protocol `restencil.Storage`.
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
