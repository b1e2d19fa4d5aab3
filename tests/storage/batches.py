"""Rows, results and batches as tests spell them."""

from __future__ import annotations

from typing import Any

from restencil.base.values import Meta
from restencil.storage import Batch, Entry, StoredResult, StoredRow

TIMES = Meta(1000.0, 2000.0, 3000.0)


def row(pk: str, rev: int = 0, value: bytes | None = b"{}", table: str = "A", times: Meta = TIMES) -> StoredRow:
    """A row to be written, over one of this rev."""
    return StoredRow(table, pk, rev, 0, times, "s" if value is not None else "", value)


def result(key: str, value: bytes | None = b"[]", times: Meta = TIMES) -> StoredResult:
    """A result to be written."""
    return StoredResult(key, 0, times, "e", False, value)


def batch(epoch: int, *rows: StoredRow, **members: Any) -> Batch:
    """A batch that writes rows, and whatever else is given; its entry names rows and results."""
    changed: dict[str, list[str]] = {}
    for each in rows:
        changed.setdefault(each.table, []).append(each.pk)
    keys = [one.key for one in members.get("results", ())]
    entry = Entry(0, "me", None, changed, {}, {}, keys, False)
    return Batch(epoch, [*rows], [], [], {}, {}, [], [], [], [], entry)._replace(**members)
