"""The stage of `expires`: the results and records that an endpoint makes stale by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...schema.notation import schema_of
from ..addressed import entities_of, named_entities, params_of, result_of_get
from ..tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...schema.protocol import Schema
    from ..addressed import AddressedEntity
    from ..tables import ListBinding
    from ..transaction import Transaction

SELF: Final = "self"
"""The name in `expires` of the entity of the path parameters."""


def expire_named(tx: Transaction) -> None:
    """Expire the results and records in `expires`: they are still shown, and fetched by the next read.

    `self` is the entity of the path parameters: its record and the result of its `get`.
    """
    request, writer = tx.request, tx.writer
    siblings, names = request.rules.siblings, request.rules.mutation.expires
    if siblings is None or not isinstance(tx.underlying, Tables):
        return
    if SELF in names:
        expire_self(tx)
        item, params = schema_of(siblings.item_schema), params_of(request)
        expire_records(tx, named_entities(item, params, params, writer) or result_of_get(item, request, writer))
    others = [name for name in names if name != SELF]
    tx.stale_tables |= siblings.stale_tables(others, request.locator)
    for test in siblings.stale_tests(request.args, others, request.locator):
        expire(tx, test, everywhere=True)
        tx.outdated.update(key for key in tx.underlying.key_metas if test(key))  # also if its record is whole


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
        write_set.expires(test)
    for key, meta in list(base.key_metas.items()):
        if key != "" and test(key):
            tx.change.key_metas[key] = meta.with_expiry(1)
            if everywhere:
                tx.outdated.add(key)
