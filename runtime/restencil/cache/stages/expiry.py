"""Expires results, records and lists for the stages of a mutation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..addressed import entities_of
from ..tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...schema.protocol import Schema
    from ..addressed import AddressedEntity
    from ..tables import ListBinding
    from ..transaction import Transaction


def expire_self(tx: Transaction) -> None:
    """Expire the result of `get` for the entity of the path parameters."""
    siblings = tx.request.rules.siblings
    key = None if siblings is None else siblings.item_key(tx.request.args)
    if key is not None:
        expire(tx, key.__eq__, everywhere=True)


def expire_records(tx: Transaction, found: Iterable[AddressedEntity]) -> None:
    """Expire the records of these entities: they are still shown, but are no fresh result of their `get`."""
    tx.stale_records.update((schema.table_key, pk) for _, schema, pk in found)


def expire_lists(tx: Transaction, item: Schema | None, test: Callable[[ListBinding], bool]) -> None:
    """Expire lists of these entities, and pages of them, that match the test."""
    listings = (listing for _, schema in entities_of(item) for listing in tx.underlying.listings(schema.table_key))
    keys = {listing.key for listing in listings if test(listing)}
    expire(tx, keys.__contains__)


def expire(tx: Transaction, test: Callable[[str], bool], *, everywhere: bool = False) -> None:
    """Expire all results whose keys match the test: they are still shown, and fetched by the next read.

    With `everywhere`, also results that are only in the storage.
    """
    base, write_set = tx.underlying, tx.writer.write_set
    if not isinstance(base, Tables):
        return  # an optimistic response makes nothing stale
    tx.expire_tests.append(test)
    if everywhere and write_set is not None:
        write_set.stale.append(test)
    for key, meta in list(base.key_metas.items()):
        if key != "" and test(key):
            tx.change.key_metas[key] = meta.with_expiry(1)
            if everywhere:
                tx.outdated.add(key)
