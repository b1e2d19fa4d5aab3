"""What became stale, as changes of what a storage has: records, lists and results that expire at once.

Other stores of a storage do not know the request numbers of this one. So what an event makes stale here is written as
expired, which they read with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.values import INVALID, UNDEFINED
from .staleness import path_of, paths_above

if TYPE_CHECKING:
    from .request import Request
    from .staleness import StaleSet
    from .tables import Change, ResultMeta, Tables
    from .write_set import WriteSet

_EXPIRED = 1.0


def write_staleness(
    base: Tables, change: Change, stale: StaleSet, request: Request | None, brought: WriteSet | None
) -> None:
    """Adds to a change that all that is stale has expired; results that only the storage has by their keys."""
    cells = set(stale.cells)
    for table in stale.tables:
        cells.update((table, pk) for pk in base.pks(table))
    for table in {*stale.tables, *stale.lists}:
        cells.update(listing.cell for listing in base.listings(table))
    for table, pk in cells:
        stored, meta = change.get(table, pk), change.meta(table, pk)
        if stored is not UNDEFINED and stored is not INVALID and meta is not None and meta.expires_at > _EXPIRED:
            change.write(table, pk, stored, meta._replace(expires_at=_EXPIRED))
    keys = stale.keys | {listing.key for listing in base.all_listings() if listing.cell in cells}

    def is_stale(key: str) -> bool:
        if key in keys:
            return True
        path = path_of(key.partition(" ")[2].partition(" ")[0])
        return (path in stale.paths and key not in stale.spared) or not stale.trees.isdisjoint(paths_above(path))

    def is_of_stale_kind(meta: ResultMeta) -> bool:
        rules = meta.rules
        if rules is None:
            return False
        plain = frozenset[str]() if rules.reach is None else rules.reach.plain_lists
        return rules.resource in stale.resources or not stale.plain_lists.isdisjoint(plain)

    own = None if request is None else request.key
    for key, known in list(base.key_metas.items()):
        if key and key != own and key not in change.key_metas and (is_stale(key) or is_of_stale_kind(known)):
            change.key_metas[key] = known.with_expiry(_EXPIRED)
    if brought is not None:
        brought.expires(is_stale)
