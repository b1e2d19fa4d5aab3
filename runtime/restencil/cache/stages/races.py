"""The stage of freshness: what a response makes stale, by itself or because other requests overlapped with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..change_effects import changed, named_cells, tables_changed
from ..merge import keep_representation
from ..request_log import Answered
from ..tables import Contents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..normalize import Normalization
    from ..request import Rules
    from ..tables import EntityPath
    from ..transaction import Transaction


def note_freshness(tx: Transaction) -> None:
    """Collect what a response makes stale, and the data that it touched, for requests that overlap with it."""
    if not tx.is_final:
        return
    if tx.request.rules.side_effect:
        changed(tx)
        note_overlaps(tx)
    elif tx.fetch_id is not None:
        note_overlaps(tx)
        if tx.request.selects_representation:  # requests with other search arguments may have it in another form
            tx.stale.represented.update(dict.fromkeys(keep_representation(tx.change), tx.writer.meta.fetched_at))


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


def note_overlaps(tx: Transaction) -> None:
    """Collect the data that a request touched, and what is stale because another request overlapped."""
    if not tx.request.rules.strict:
        return
    state, number = tx.store_state, tx.writer.meta.fetched_at
    if not state.request_log and all(one.fetched_at == number for one in state.in_flight.by_id.values()):
        return
    tx.touched = _touched(tx)
    state.request_log.mark_overlaps(tx.stale, tx.touched, state.base)


def _touched(tx: Transaction) -> Answered:
    """Return the data that a request touched: received data, and for mutations also addressed entities."""
    request, change, reach = tx.request, tx.change, tx.request.rules.reach
    is_change = request.rules.side_effect
    collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
    received: set[EntityPath] = set()
    lists: dict[EntityPath, tuple[str, ...]] = {}
    for path in change.cells():
        if path[0] not in collections and path[0] not in change.collections:
            received.add(path)
        elif not is_change or path in change.full_lists or path in change.pages:
            lists[path] = collections.get(path[0], ())
    plain = frozenset[str]() if reach is None else reach.plain_lists
    records = frozenset([*named_cells(tx), *received] if is_change else received)
    tables = frozenset(tables_changed(request.rules) if is_change else ())
    results = frozenset(tx.updated if is_change else [request.key])
    return Answered(
        tx.writer.meta.fetched_at, is_change, request.label, records, tables, lists, plain, request.key, results
    )
