"""Conversion of records, lists and results between memory and storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.values import INVALID, UNDEFINED, Sentinel, same_json
from ..cache.merge import StoredEntry, requested_by, with_parts
from ..cache.merge import whole_of as last_whole_of
from ..schema.stored import is_collection, is_partial, record_of
from .row_codec import (
    NOTHING_LEFT,
    LeftOut,
    Validator,
    encode_collection,
    encode_result,
    row_value,
    whole_of,
    with_details,
)

if TYPE_CHECKING:
    from ..base.values import Meta
    from ..cache.tables import ChangeSet, EntityPath, Tables
    from ..storage.protocol import StoredRow
    from .pending_write import Result
    from .schema_fingerprint import SchemaRegistry


def cell_json(
    registry: SchemaRegistry, table: str, stored: Any, misses: LeftOut = NOTHING_LEFT, whole: Any = None
) -> bytes | None:
    """Return the JSON of a cell; None for a tombstone. Raises Unstorable.

    `misses` are the members that were left out of the row of a record; `whole` is a result of `encoded_whole`.
    """
    if stored is INVALID:
        return None
    if is_collection(table):
        return encode_collection(stored)
    return registry.rules(table).encode(stored, misses, whole)


def result_json(registry: SchemaRegistry, result: Result, cells: int | None = None) -> bytes | None:
    """Return the JSON of a result; None for no value. Raises Unstorable.

    With `cells`, the number of cells that its response wrote, it contains the validators of the response.
    """
    schema = None if result.rules is None else result.rules.schema
    data = encode_result(result.value, schema, registry.secrets)
    meta = result.meta
    terms = None if meta.invalidated else meta.terms
    validator = None if cells is None or result.validators is None else Validator(result.validators.headers, cells)
    contents = None if meta.invalidated else meta.contents
    if terms is None and validator is None and contents is None:
        return data
    return with_details(data, meta.times, terms, validator, contents)


def entry_of(
    registry: SchemaRegistry, row: StoredRow, times: Meta, number: float, held: StoredEntry | None
) -> tuple[StoredEntry | None, LeftOut]:
    """Convert a row to the form of memory, None if no known class can read it, and return what was left out of it.

    `held` is the record in memory; `number` is the number of the row's request. Raises ValueError for invalid JSON.
    """
    if row.value is None:
        return StoredEntry(INVALID, times), NOTHING_LEFT
    if not registry.readable(row.table, row.shape):
        return None, NOTHING_LEFT
    value, left, details = row_value(row.value)
    loaded = requested_by(StoredEntry(value, times, whole_of(value, details, times, number)), times.fetched_at)
    missing = registry.rules(row.table).missing(left) if left else None
    return entry_without(loaded, missing, held) if missing else loaded, left


def entry_without(loaded: StoredEntry, missing: frozenset[str], held: StoredEntry | None) -> StoredEntry:
    """Return the entry of a row that misses members, like that of a response with only its other members.

    `held` is the record in memory, whose members stay.
    """
    whole = last_whole_of(loaded)
    since = {**dict.fromkeys(whole.fields, whole.fetched_at), **whole.later}
    received = {name: item for name, item in loaded.stored.items() if name not in missing}
    if held is None:
        return StoredEntry(received, loaded.times, whole._replace(fields=whole.fields - missing))
    known = record_of(held.stored)
    return StoredEntry(
        received | {name: known[name] for name in missing if name in known},
        loaded.times._replace(expires_at=min(loaded.times.expires_at, held.times.expires_at)),
        with_parts(last_whole_of(held), {name: since[name] for name in received if name in since}),
    )


def record_in(base: Tables, cell: EntityPath) -> StoredEntry | None:
    """Return the entry of a record in memory; None if it is unknown or deleted."""
    table, pk = cell
    stored = base.get(table, pk)
    if isinstance(stored, Sentinel):
        return None
    return StoredEntry(stored, base.metas[table][pk], base.whole(table, pk))


def write_entry(change: ChangeSet, cell: EntityPath, entry: StoredEntry) -> None:
    """Add a value from the storage to a change."""
    table, pk = cell
    change.write(table, pk, entry.stored, entry.times)
    if entry.whole is not None:
        change.partial.setdefault(table, {})[pk] = entry.whole


def is_alike(before: object, stored: object) -> bool:
    """Whether a value in memory equals a stored one in JSON."""
    if before is stored:
        return True
    if before is UNDEFINED or isinstance(before, Sentinel) or isinstance(stored, Sentinel):
        return False
    return is_partial(before) is is_partial(stored) and same_json(record_of(before), record_of(stored))
