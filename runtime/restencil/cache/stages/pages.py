"""The stage of a page: its list has the page's other members from then on, such as where the next page is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.values import UNDEFINED
from ...schema.collection import list_result
from ..tables import ResultMeta
from .races import received_records

if TYPE_CHECKING:
    from ..transaction import Transaction


def extend_list(tx: Transaction) -> None:
    """Updates the list that a page belongs to.

    The list is as fresh as its last page, unless it was made stale, or its last fetch failed. What was fetched after
    the page stays unchanged.
    """
    request, change, page = tx.request, tx.change, tx.result
    rules, write_set = request.rules, tx.writer.write_set
    assert rules.lists.list_key is not None
    key = rules.lists.list_key(*request.args)
    declared = list_result(rules.schema, page, request.args) if isinstance(page, dict) else UNDEFINED
    if write_set is not None:
        write_set.page = key, declared
    stored, meta = change.result(key), change.key_meta(key)
    if stored is UNDEFINED or meta is None or meta.date > change.times.date:
        return
    if isinstance(stored, dict) and declared is not UNDEFINED:
        change.results[key] = declared
    if meta.error is not None or meta.expires_at <= 1:
        return
    if rules.lists.joins_refresh:
        change.key_metas[key] = ResultMeta(change.times, prev_expires_at=meta.expires_at, rules=meta.rules)
        return
    received, is_complete = received_records(tx.writer)
    here, there = received or {}, meta.received or {}
    change.key_metas[key] = ResultMeta(
        meta.times.with_page(change.times),
        prev_expires_at=meta.expires_at,
        rules=meta.rules,
        received={table: there.get(table, frozenset()) | here.get(table, frozenset()) for table in {**there, **here}},
        is_complete=meta.is_complete and is_complete,
        number=min(meta.number, change.times.fetched_at),
    )
