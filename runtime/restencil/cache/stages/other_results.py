"""Results of other keys: the `update` hook changes them, and the stages of a mutation expire them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.logs import logger
from ...base.values import UNDEFINED, Meta, read_only
from ..addressed import entities_of
from ..tables import ResultMeta, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...schema.protocol import Schema
    from ..tables import ListBinding
    from ..transaction import Transaction


def run_update(tx: Transaction) -> None:
    """Run the endpoint's `update` hook: each of its functions returns a key's new result from the current one.

    If the current result is unknown because only the storage may have it, the function does not run: the key is
    invalidated, here and in the storage, so that its next read sends a request.
    """
    request, change, persistence, result = tx.request, tx.change, tx.store_state.persistence, tx.result
    update, key = request.rules.response.update, request.key
    assert update is not None
    try:
        updaters: Mapping[str, Callable[[Any], Any]] = update(
            None if result is UNDEFINED else read_only(result), *request.args
        )
        pairs = list(updaters.items())
    except Exception:
        logger.exception("%s: update failed; the response itself stays applied", key)
        return
    for other, updater in pairs:
        current = change.result(other)
        if persistence is not None and not persistence.knows_result(other, is_absent=current is UNDEFINED):
            if tx.is_final:
                times = Meta(change.times.fetched_at, change.times.date, 0)
                change.key_metas[other] = ResultMeta(times, invalidated=True)
            continue
        try:
            change.results[other] = read_only(updater(None if current is UNDEFINED else read_only(current)))
            tx.updated.add(other)
        except Exception:
            logger.exception("%s: update of %s failed; the other updates still run", key, other)


def expire_self(tx: Transaction) -> None:
    """Expire the result of `get` for the entity of the path parameters."""
    key = tx.request.item_key
    if key is not None:
        expire(tx, key.__eq__, everywhere=True)


def expire_lists(tx: Transaction, item: Schema | None, test: Callable[[ListBinding], bool]) -> None:
    """Expire lists of these entities, and pages of them, that match the test."""
    listings = (listing for schema in entities_of(item) for listing in tx.underlying.listings(schema.table_key))
    keys = {listing.key for listing in listings if test(listing)}
    expire(tx, keys.__contains__)


def expire(tx: Transaction, test: Callable[[str], bool], *, everywhere: bool = False) -> None:
    """Expire all results whose keys match the test: they are still shown, and fetched by the next read.

    Responses in flight may be older than the mutation. With `everywhere`, also results that are only in the storage.
    """
    base, write_set = tx.underlying, tx.writer.write_set
    if not isinstance(base, Tables):
        return  # an optimistic response makes nothing stale
    in_flight = (one.request.key for one in tx.store_state.in_flight.by_id.values())
    tx.stale.keys.update(key for key in in_flight if test(key))
    if everywhere and write_set is not None:
        write_set.stale.append(test)
    for key, meta in list(base.key_metas.items()):
        if key != "" and test(key):
            tx.change.key_metas[key] = meta.with_expiry(1)
            if everywhere:
                tx.stale.keys.add(key)
