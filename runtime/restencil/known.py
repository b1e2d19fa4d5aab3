"""Reads that find what was handed out before, or what lies ready in its table: most reads are such (§8.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .expiry import INFINITE, ExpiryStatus, Reading
from .schema.base import definitions
from .schema.collection import Collection
from .schema.entity import UNUSABLE, EntitySchema, usable_pk
from .tables import EMPTY, KeyMeta, Tables
from .values import INVALID, UNDEFINED, kind_of

if TYPE_CHECKING:
    from .denormalize import Memo, Node
    from .endpoint import Endpoint

_VALID: Final = ExpiryStatus.Valid
_IF_FRESH: Final = ExpiryStatus.InvalidIfStale


def known_reading(
    base: Tables, memo: Memo, endpoint: Endpoint[..., Any], args: tuple[Any, ...], key: str, now: float
) -> Reading | None:
    """What a read finds where nothing has to be built and no error is recorded; None where the store must look closer.

    No hook runs here, and nothing changes.
    """
    meta = base.key_metas.get(key)
    if meta is not None and (meta.error is not None or meta.invalidated or meta.seen != base.stamped):
        return None
    stored = base.results.get(key)
    schema = endpoint.schema_node
    node: Node | None = None
    if type(schema) is EntitySchema:
        model = schema.model
        table = model.key
        pk = stored
        if pk is None:
            # The primary key stands in the parameters, or it takes a closer look to find it.
            if not args or kind_of(args[0]) is not dict or model.pk_name is None:
                return None
            pk = args[0].get(model.pk_name)
            if type(pk) is not str or pk in UNUSABLE:
                pk = usable_pk(pk)
        if type(pk) is not str:
            return None
        data = base.entities.get(table, EMPTY).get(pk)
        if type(data) is model.cls:
            expires_at = meta.expires_at if meta is not None else 0
            if not expires_at:
                times = base.metas[table].get(pk)
                expires_at = INFINITE if times is None else times.expires_at
            return _reading(endpoint, data, meta, expires_at, now)
        homes = memo.entities.get(table)
        node = None if homes is None else homes.get(model.cls, EMPTY).get(pk)
    elif isinstance(schema, Collection):
        homes = memo.entities.get(schema.table_key) if type(stored) is str else None
        node = None if homes is None or stored is None else homes.get(schema.identity(), EMPTY).get(stored)
    elif stored is not None:
        node = memo.results.get((key, schema))
        if node is not None and (node.source is not stored or node.args is not None):
            return None
    if node is None or memo.definitions != definitions.count or node.value is INVALID or node.value is UNDEFINED:
        return None
    expires_at = meta.expires_at if meta is not None else 0
    if not expires_at:
        cells = memo.touched.get(node)
        if cells is None:
            return None
        found = [base.metas[table].get(pk) for table, pk in cells if table in base.metas]
        expires_at = min([times.expires_at for times in found if times is not None], default=INFINITE)
    return _reading(endpoint, node.value, meta, expires_at, now)


def _reading(endpoint: Endpoint[..., Any], data: Any, meta: KeyMeta | None, expires_at: float, now: float) -> Reading:
    status = _IF_FRESH if endpoint.invalid_if_stale else _VALID
    if meta is None:
        return Reading(data, status, expires_at, True, None, None, now)
    return Reading(data, status, expires_at, True, None, None, now, meta.date, meta.fetched_at)
