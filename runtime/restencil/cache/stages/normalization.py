"""The stages that normalize a response: it is validated, then split into records and a result.

A delete has no record to split: which entity is gone is found out here, and what the call returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...base.errors import ProcessingError
from ...base.logs import logger
from ...base.values import (
    DICT,
    INVALID,
    LIST,
    MAPPING,
    SCALARS,
    TUPLE,
    UNDEFINED,
    Sentinel,
    read_only,
    same_json,
    scalar_text,
    text_of,
)
from ...schema.derived import Invalidate
from ...schema.entity import value_at
from ...schema.protocol import Subject, is_plain
from ...schema.record import is_instance
from ...schema.stored import record_of
from ..addressed import (
    cell_of,
    entities_of,
    entities_of_url,
    has_several_tables,
    named_entities,
    own_params,
    params_of,
    result_of_get,
)
from ..denormalize import Denormalization
from ..dependency_graph import DependencyGraph
from ..tables import bind_lists
from ..transaction import Source
from .mutation import assumed_record, expire_unknown
from .other_results import expire, expire_self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schema.protocol import Schema
    from ..normalize import Normalization
    from ..request import Request
    from ..tables import State
    from ..transaction import Transaction


def validate_response(tx: Transaction) -> None:
    """Validates a received response against its schema, in the mode of the endpoint or else of the store."""
    rules = tx.request.rules
    if tx.source is not Source.RECEIVED and tx.source is not Source.OUTDATED:
        return
    mode = rules.response.validate or tx.store_state.validate
    if mode != "off" and rules.schema is not None and not is_empty(tx.response, tx.request):
        from ...schema.validation import validate

        validate(rules.schema, tx.response, mode, tx.request.label)


def is_empty(response: object, request: Request) -> bool:
    """Whether a response without content counts as a success that contains nothing."""
    return response is None and request.rules.response.empty in ("merge", "none")


def fitting(schema: Schema, value: object) -> object:
    """Return a value that fits a schema: an object, a list, or a scalar if accepted. Raises ProcessingError if not."""
    if isinstance(value, (DICT, LIST, TUPLE, MAPPING)) or is_instance(value):
        return value
    if schema.removes and type(value) in (str, int, float) and value != "":
        return value
    if schema.takes_scalars and type(value) in SCALARS:
        return value
    raise ProcessingError(
        f"expected an object or a list, found {value!r:.100}; set schema=None for a response without entities, "
        "ignore=True if its content does not matter, empty='none' if it may be empty or null, or return the object in "
        "process()"
    )


def normalize_response(tx: Transaction) -> None:
    """Normalize the response by its schema, and write its result under the key."""
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


def _written(tx: Transaction, schema: Schema) -> object:
    """Normalize a response by its schema; return the result to store, UNDEFINED for none."""
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


def _decoded(returns: Schema | None, value: object, underlying: State, args: tuple[object, ...]) -> object:
    """Return a value without entities, converted by its declared type."""
    if returns is None or value is None or not _is_json(value):
        return value
    found = Denormalization(underlying, args, DependencyGraph()).visit(returns, value)
    return None if isinstance(found, Sentinel) else found


def _is_json(value: Any) -> bool:
    """Return whether a value is entirely JSON; objects of a `process` hook are in Python form already."""
    if isinstance(value, DICT):
        return all(map(_is_json, value.values()))
    return all(map(_is_json, value)) if isinstance(value, LIST) else type(value) in SCALARS


def delete(tx: Transaction, schema: Invalidate) -> Any:
    """Mark the entity of a delete as deleted; return the result to store, UNDEFINED if no entity is known.

    It is the entity of the response, else the stored result of `get` for the URL parameters, else that of these, else
    the only one whose fields have their values. If there is none, the lists below the path become stale.
    """
    request, writer, response = tx.request, tx.writer, tx.response
    params, own = params_of(request.rules, request.args), own_params(request.rules, request.args)
    # A `delete` without content has its URL parameters as response: these, not what a server says that looks alike.
    is_empty_delete = response is own or (schema.takes_anything and response == own)
    found = [] if is_empty_delete else named_entities(schema.item, response, params, writer)
    if not found and request.rules.params.names_entity:  # else the path is that of something below the entity
        if request.rules.mutation.marks_changes and has_several_tables(schema.item):
            found = result_of_get(schema.item, request, writer)  # of others of this key some may not be stored
        else:
            found = entities_of_url(schema.item, request, writer) or _by_fields(schema, request, own, writer)
    if not found:
        logger.info("%s: the deleted entity is unknown; the lists under its path are now stale", request.key)
        siblings = request.rules.siblings
        if siblings is not None:
            expire(tx, siblings.lists_test(request.args), everywhere=True)
        return UNDEFINED
    for gone in found:
        writer.write_invalid(*cell_of(gone))
    tx.deleted = found
    return None if schema.item is None else schema.item.reference(found[0].schema, found[0].pk)


def _by_fields(
    deletion: Invalidate, request: Request, params: Mapping[str, object], writer: Normalization
) -> list[Subject]:
    """Return the only entity whose fields have the values of the path parameters; each parameter must be a field."""
    siblings = request.rules.siblings
    names = list(params) if siblings is None else [name for name in siblings.path_names if params.get(name) is not None]
    dotted = request.rules.params.fields or {}
    found: list[Subject] = []
    for schema in entities_of(deletion.item):
        model = schema.model
        fields = {field.in_json for field in model.fields.values()}
        wanted = [(model.wire_path(dotted.get(param, param)), text_of(params[param])) for param in names]
        if not wanted or not fields.issuperset(path[0] for path, _ in wanted):
            continue
        for pk in list(writer.underlying.pks(schema.table_key)):
            stored = writer.underlying.get(schema.table_key, pk)
            if stored is UNDEFINED or stored is INVALID:
                continue
            record = record_of(stored)
            values = [(value_at(record, path), text) for path, text in wanted]
            if all(value is not None and scalar_text(value) == text for value, text in values):
                found.append(Subject(schema, pk))
    return found if len(found) == 1 else []
