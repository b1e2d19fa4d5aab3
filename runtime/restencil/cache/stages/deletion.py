"""The stage of a delete: which entity is gone, and what the call returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.logs import logger
from ...base.values import INVALID, UNDEFINED, is_mapping, scalar_text, text_of
from ...schema.derived import Invalidate
from ...schema.entity import value_at
from ...schema.stored import record_of
from ..addressed import AddressedEntity, entities_of, named_entities, own_params, params_of, result_of_get
from .named_expiry import expire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...schema.entity import EntitySchema
    from ..normalize import Normalization
    from ..request import Request
    from ..transaction import Transaction


def delete(tx: Transaction, schema: Invalidate) -> Any:
    """Marks the entity that a delete was of as gone; returns the result to store, UNDEFINED if none is known.

    It is the one that the response names, else that of the URL parameters, else the stored result of `get` for them,
    else the only one whose fields have their values. If there is none, the lists under the path turn stale.
    """
    request, writer, response = tx.request, tx.writer, tx.response
    params, own = params_of(request), own_params(request.rules, request.args)
    if response == own:
        response = params  # the response is empty: what the parameters name
    found = (
        named_entities(schema.item, response, params, writer)
        or named_entities(schema.item, params, params, writer)
        or result_of_get(schema.item, request, writer)
        or _by_fields(schema, request, own, writer)
    )
    if not found:
        logger.info("%s: it is not known which entity was deleted; the lists under its path turn stale", request.key)
        siblings = request.rules.siblings
        if siblings is not None:
            expire(tx, siblings.lists_test(request.args), everywhere=True)
        return UNDEFINED
    for gone in found:
        writer.write_invalid(gone.schema.table_key, gone.pk)
    tx.deleted = [(gone.schema, gone.pk) for gone in found]
    return None if schema.item is None else schema.item.reference(found[0].schema, found[0].pk)


def _by_fields(
    deletion: Invalidate, request: Request, params: Mapping[str, Any], writer: Normalization
) -> list[AddressedEntity]:
    """The only entity whose fields have the values of the path's parameters; each parameter must be a field."""
    siblings = request.rules.siblings
    names = list(params) if siblings is None else [name for name in siblings.path_names if params.get(name) is not None]
    dotted = request.rules.params.fields or {}
    found: list[AddressedEntity] = []
    for name, schema in entities_of(deletion.item):
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
                found.append(AddressedEntity(name, schema, pk))
    return found if len(found) == 1 else []


def known_before(tx: Transaction, response: Any, read: Callable[[EntitySchema, str], Any]) -> Any:
    """The value of a delete: the entity as it was known, else as the response contains it whole, else None."""
    for schema, pk in tx.deleted:
        found = read(schema, pk)
        if found is not None:
            return found
        if is_mapping(response) and response != params_of(tx.request):
            fields = schema.model.fields.values()
            if all(field.in_json in response for field in fields if field.default is not None or field.required):
                return schema.model.from_record(response)
    return None
