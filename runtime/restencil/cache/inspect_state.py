"""The view as plain data, for debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED, is_mapping, is_sequence
from ..schema.stored import record_of
from .tables import ChangeSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .store_state import StoreState
    from .tables import State


def inspect_state(store_state: StoreState) -> dict[str, Any]:
    """Return a copy of the view as plain data.

    `entities` are the records by table and primary key, `entities_meta` their times; `endpoints` are the normalized
    results by key, `meta` what else is recorded of keys; `indexes` lead by table, field and value to a primary key;
    `optimistic` are the pending actions; `last_reset` is a time (ms).
    """
    store_state.refresh()
    top, base = store_state.view, store_state.base
    above = _changes(top)
    tables = _each(base.entities, *(change.entities for change in above))
    keys = _each(base.results, *(change.results for change in above))
    metas = _each(base.key_metas, *(change.key_metas for change in above))
    return {
        "entities": {table: {pk: _copied(record_of(top.get(table, pk))) for pk in top.pks(table)} for table in tables},
        "entities_meta": {
            table: {pk: meta._asdict() for pk in top.pks(table) if (meta := top.meta(table, pk)) is not None}
            for table in tables
        },
        "endpoints": {key: _copied(top.result(key)) for key in keys if top.result(key) is not UNDEFINED},
        "meta": {key: recorded.to_dict() for key in metas if (recorded := top.key_meta(key)) is not None},
        "indexes": _indexes(store_state, above),
        "optimistic": store_state.optimistic.actions,
        "last_reset": store_state.last_reset,
    }


def _indexes(store_state: StoreState, above: list[ChangeSet]) -> dict[str, dict[str, dict[str, str]]]:
    top, base = store_state.view, store_state.base
    indexes: dict[str, dict[str, dict[str, str]]] = {}
    own = [(table, name) for table, names in base.indexes.items() for name in names]
    for table, name in _each(own, *(change.indexes for change in above)):
        values = _each(
            base.indexes.get(table, {}).get(name, {}), *(change.indexes.get((table, name), {}) for change in above)
        )
        entries = {value: pk for value in values if (pk := top.by_index(table, name, value)) is not None}
        indexes.setdefault(table, {})[name] = entries
    return indexes


def _changes(state: State) -> list[ChangeSet]:
    """Return the changes over the base state, from the bottom up."""
    changes: list[ChangeSet] = []
    while isinstance(state, ChangeSet):
        changes.insert(0, state)
        state = state.underlying
    return changes


def _each(*names: Iterable[object]) -> list[Any]:
    """Return all names without duplicates, in order."""
    return list(dict.fromkeys(name for some in names for name in some))


def _copied(value: object) -> object:
    if is_mapping(value):
        return {name: _copied(item) for name, item in value.items()}
    if is_sequence(value):
        return [_copied(item) for item in value]
    return value
