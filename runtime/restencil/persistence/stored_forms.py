"""Conversion of records, lists and results between memory and storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.values import INVALID
from ..cache.merge import StoredEntry, requested_by
from ..schema.stored import is_collection
from .row_codec import (
    NOTHING_LEFT,
    LeftOut,
    Validator,
    encode_collection,
    encode_result,
    row_value,
    whole_of,
    with_details,
    with_left_out,
)
from .schema_fingerprint import fingerprint_of

if TYPE_CHECKING:
    from ..base.values import Meta
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
    registry: SchemaRegistry, row: StoredRow, times: Meta, number: float, known: object = None
) -> StoredEntry | None:
    """Convert a row to the form of memory; None if no known class can read it. Raises ValueError for invalid JSON.

    Members that were left out of it come from `known`, the value in memory; `number` is the number of its request.
    """
    if row.value is None:
        return StoredEntry(INVALID, times)
    if not registry.readable(row.table, row.shape):
        return None
    value, left, details = row_value(row.value)
    whole = whole_of(value, details, times, number)
    if is_collection(row.table):
        return requested_by(StoredEntry(value, times, whole), times.fetched_at)
    record = with_left_out(value, left, known)
    prints = row.shape.split("+")
    model = next((model for model in registry.classes(row.table) if fingerprint_of(model) in prints), None)
    held = StoredEntry(record if model is None else model.stored(record), times, whole)
    return requested_by(held, times.fetched_at)
