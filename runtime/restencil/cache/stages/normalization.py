"""The stage that takes a response apart: its records go into tables, its result under the key of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...base.values import DICT, LIST, SCALARS, UNDEFINED, Sentinel, read_only, same_json
from ...schema.protocol import is_plain
from ..denormalize import Denormalization
from ..dependency_graph import DependencyGraph
from ..list_bindings import bind_lists
from .deletion import delete
from .mutation import assumed_record, expire_unknown
from .named_expiry import expire_self
from .validation import fitting, is_empty

if TYPE_CHECKING:
    from ...schema.derived import Invalidate
    from ...schema.protocol import Schema
    from ..tables import State
    from ..transaction import Transaction


def normalize_response(tx: Transaction) -> None:
    """Writes the response through its schema, and its result under the key."""
    request, schema, change = tx.request, tx.request.rules.schema, tx.change
    if schema is None:
        result = _decoded(request.rules.returns, read_only(tx.response), tx.underlying, request.args)
    else:
        result = _written(tx, schema)
        if isinstance(result, (list, dict)) and is_plain(schema):
            result = read_only(result)
    tx.result = result
    if result is not UNDEFINED:
        stored = tx.underlying.result(request.key)
        change.results[request.key] = stored if stored is not UNDEFINED and same_json(stored, result) else result
    if change.full_lists or change.pages:
        bind_lists(change, request)


def _written(tx: Transaction, schema: Schema) -> Any:
    """Writes a response through its schema; returns the result to store, UNDEFINED for none."""
    request = tx.request
    if request.rules.deletes:
        return delete(tx, cast("Invalidate", schema))
    if tx.is_assumed:
        tx.response = assumed_record(tx, tx.response)
        expire_self(tx)
    if is_empty(tx.response, request):
        if request.rules.side_effect:
            expire_unknown(tx)
        return None
    return tx.writer.write(schema, fitting(schema, tx.response))


def _decoded(returns: Schema | None, value: Any, underlying: State, args: tuple[Any, ...]) -> Any:
    """A value without entities, with everything converted that its type converts."""
    if returns is None or value is None or not _is_json(value):
        return value
    found = Denormalization(underlying, args, DependencyGraph()).visit(returns, value)
    return None if isinstance(found, Sentinel) else found


def _is_json(value: Any) -> bool:
    """Whether a value is JSON through and through; what a `process` made of objects is in Python form already."""
    if isinstance(value, DICT):
        return all(map(_is_json, value.values()))
    return all(map(_is_json, value)) if isinstance(value, LIST) else type(value) in SCALARS
