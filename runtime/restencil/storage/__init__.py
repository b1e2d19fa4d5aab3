"""What outlives a process, and may be shared by several: the tier below the tables of a store.

For a storage of one's own: the protocol `restencil.Storage`, and the tuples that it is told and answers with.
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
