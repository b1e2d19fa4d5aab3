"""The stage of freshness: what a response makes stale, by itself or because other requests overlapped with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..change_effects import changed
from ..merge import keep_representation
from ..request_log import Answered
from ..staleness import REPRESENTED, StaleSet
from ..tables import Contents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..change_effects import ChangeEffects
    from ..normalize import Normalization
    from ..request import Rules
    from ..tables import EntityPath
    from ..transaction import Transaction


def note_freshness(tx: Transaction) -> None:
    """Collect what a response makes stale, and the data that it touched, for requests that overlap with it."""
    if not tx.is_final:
        return
    if tx.request.rules.side_effect:
        note_change(tx, changed(tx))
    elif tx.fetch_id is not None:
        _note_overlaps(tx, None)
        if tx.request.selects_representation:
            _note_representation(tx)


def _note_representation(tx: Transaction) -> None:
    """Collect the records that requests with other search arguments may have in another representation."""
    if not tx.stale:
        tx.stale = StaleSet(REPRESENTED)
    tx.stale.represented.update(dict.fromkeys(keep_representation(tx.change), tx.writer.meta.fetched_at))


def note_change(tx: Transaction, made: ChangeEffects) -> None:
    """Collect what a mutation makes stale, and the data that it touched, for requests that overlap with it."""
    if tx.stale is None:
        tx.stale = made.stale
    else:  # a 412 has an event of its own
        tx.stale.update(made.stale)
    tx.stale.keys.update(_expired_in_flight(tx), tx.outdated)
    tx.stale.cells |= tx.stale_records
    _note_overlaps(tx, made)


def contents_of(writer: Normalization) -> Contents | None:
    """Return the contents of a response; None for mutations and handwritten endpoints, where they do not matter."""
    rules = writer.rules
    if rules is None or not rules.strict or rules.side_effect:
        return None
    return Contents(
        {table: frozenset(written) for table, written in writer.change.entities.items()},
        {table: frozenset(pks) for table, pks in writer.referred.items()},
        _names_another(writer, rules),
    )


def _names_another(writer: Normalization, rules: Rules) -> bool:
    """Return whether the record of a response has another value in a field of its URL, by this response."""
    if not rules.named_fields or rules.schema is None:
        return False
    found = rules.schema.referred(writer.result)
    if found is None:
        return False
    table, pk = found[0].table_key, found[1]
    record = writer.stored_record(table, pk)
    is_newest = writer.change.times_of(table, pk) is writer.meta
    return record is not None and is_newest and rules.names_another(writer.args, table, record)


def _expired_in_flight(tx: Transaction) -> set[str]:
    """Return the keys of expired reads in flight, whose responses may be older than the mutation."""
    if not tx.expire_tests:
        return set()
    keys = {one.request.key for one in tx.store_state.in_flight.by_id.values()}
    return {key for key in keys for test in tx.expire_tests if test(key)}


def _note_overlaps(tx: Transaction, made: ChangeEffects | None) -> None:
    """Collect what is stale because another request overlapped; `made` are the effects of a mutation."""
    if not tx.request.rules.strict:
        return
    state, number = tx.store_state, tx.writer.meta.fetched_at
    if not state.request_log and all(one.fetched_at == number for one in state.in_flight.by_id.values()):
        return
    tx.touched = _touched(tx, made)
    stale = state.request_log.overlaps(tx.touched, state.base)
    if not tx.stale:
        tx.stale = stale
    else:
        tx.stale.update(stale)


def _touched(tx: Transaction, made: ChangeEffects | None) -> Answered:
    """Return the data that a request touched: received data, and for mutations also addressed entities."""
    request, change, reach = tx.request, tx.change, tx.request.rules.reach
    collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
    received: set[EntityPath] = set()
    lists: dict[EntityPath, tuple[str, ...]] = {}
    for path in change.cells():
        if path[0] not in collections and path[0] not in change.collections:
            received.add(path)
        elif made is None or path in change.full_lists or path in change.pages:
            lists[path] = collections.get(path[0], ())
    plain = frozenset[str]() if reach is None else reach.plain_lists
    named = () if made is None else made.records
    tables = frozenset(() if made is None else made.tables)
    records = frozenset([*named, *received])
    results = frozenset([request.key] if made is None else tx.updated)
    return Answered(
        tx.writer.meta.fetched_at, made is not None, request.label, records, tables, lists, plain, request.key, results
    )
