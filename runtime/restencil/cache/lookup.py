"""Reads that find what was handed out before, or what lies ready in its table: most reads are such (§8.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.values import INVALID, UNDEFINED, kind_of
from ..schema.collection import Collection
from ..schema.entity import UNUSABLE, EntitySchema, usable_pk
from ..schema.protocol import definitions
from .policy import NONE, USABLE, decide, status_of
from .reading import INFINITE, Reading
from .tables import EMPTY, Cell, Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .memo import Memo, Node
    from .request import Request
    from .tables import KeyMeta


def known_data(base: Tables, memo: Memo, request: Request) -> tuple[Any, Sequence[Cell] | None] | None:
    """The data of a read where nothing has to be built, and the cells that it was built with where they are known.

    None where the store must look closer. No hook runs here, and nothing changes.
    """
    key = request.key
    if base.stamps:
        meta = base.key_metas.get(key)
        if meta is not None and meta.seen != base.stamped:
            return None
    stored = base.results.get(key)
    schema = request.rules.schema
    node: Node | None = None
    if type(schema) is EntitySchema:
        model = schema.model
        table = model.key
        pk = stored
        if pk is None:
            # The primary key stands in the parameters, or it takes a closer look to find it.
            first: Any = request.args[0] if request.args else None
            if kind_of(first) is not dict or model.pk_name is None:
                return None
            pk = first.get(model.pk_name)
            if type(pk) is not str or pk in UNUSABLE:
                pk = usable_pk(pk)
        if type(pk) is not str:
            return None
        data = base.entities.get(table, EMPTY).get(pk)
        if type(data) is model.cls:
            return data, ((table, pk),)
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
    return node.value, memo.touched.get(node)


Found: TypeAlias = "tuple[Any, float | None]"
"""Data, and when it turns stale; None where that takes a closer look."""


def ready(base: Tables, memo: Memo, request: Request) -> Found | None:
    """What a read finds where nothing has to be built and no error is recorded; None where the store looks closer."""
    meta = base.key_metas.get(request.key)
    if meta is not None and (meta.error is not None or meta.invalidated):
        return None
    known = known_data(base, memo, request)
    if known is None:
        return None
    data, cells = known
    return data, _expires_at(base, meta, cells)


Ready: TypeAlias = "tuple[Any, int, tuple[Any, ...], Found]"
"""What a read found under a key, behind its schema, how often schemas were redefined until then, and its args."""

LASTS: Final = (EntitySchema, Collection)
"""What is found for these only a change of the store ends; what is composed for a key, other reads may end."""


def known_reading(base: Tables, memo: Memo, request: Request, now: float) -> Reading | None:
    """The same as a reading."""
    found = ready(base, memo, request)
    if found is None:
        return None
    data, expires_at = found
    if expires_at is None:
        return None
    status = status_of(USABLE, False, NONE, request.rules.invalid_if_stale)
    decision = decide(status, now > expires_at, False)
    meta = base.key_metas.get(request.key)
    if meta is None:
        return Reading(data, status, expires_at, decision)
    return Reading(data, status, expires_at, decision, True, None, None, meta.date, meta.fetched_at)


def _expires_at(base: Tables, meta: KeyMeta | None, cells: Sequence[Cell] | None) -> float | None:
    """When the result turns stale, without a time of its own the first of its cells; None where that is not known."""
    if meta is not None and meta.expires_at:
        return meta.expires_at
    if cells is None:
        return None
    expires_at = INFINITE
    for table, pk in cells:
        times = base.metas.get(table, EMPTY).get(pk)
        if times is not None and times.expires_at < expires_at:
            expires_at = times.expires_at
    return expires_at
