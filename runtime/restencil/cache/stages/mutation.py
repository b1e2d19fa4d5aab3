"""The stages of a mutation: what an empty or incomplete response means for its entity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.logs import logger
from ...base.response import answered_method
from ...base.values import SCALARS, is_list, is_mapping
from ...schema.collection import Adder, identity_of_text
from ...schema.entity import EntitySchema, as_entity, completed, usable_pk, without_lists
from ...schema.stored import entries_of, entry_pk, known_record
from ..addressed import (
    cell_of,
    entities_of_url,
    entity_of_record,
    entity_of_result,
    entity_schema,
    has_several_tables,
    named_entities,
    params_of,
    result_of_get,
)
from ..merge import keep_received
from ..tables import Tables
from .list_membership import update_lists
from .other_results import expire_lists, expire_self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schema.protocol import Schema
    from ..request import Request
    from ..tables import ListBinding
    from ..transaction import Transaction


def complete_response(tx: Transaction) -> None:
    """Fill omitted fields in the response of a creation or an update from the request body.

    A response that omits a value that was sent, or has null in its place, does not confirm its records.
    """
    if tx.is_expected:
        return
    request, rules, response = tx.request, tx.request.rules, tx.response
    if tx.is_assumed:
        tx.writer.is_certain = not rules.mutation.marks_changes
        return
    model = rules.completed_model
    body = request.args[-1] if rules.mutation.has_body and request.args else None
    if rules.mutation.marks_changes and _has_null_for_value(body, response):
        tx.writer.is_certain = False
    if model is None or not is_mapping(response) or not is_mapping(body):
        return
    is_whole = rules.required_fields(model) <= response.keys()
    if is_whole and rules.read.needs != "required":
        return
    from ...schema.validation import fitting_members

    fields = {field.in_json for field in model.fields.values()}
    members = fitting_members(model, body).items()
    # A field that a complete record omits is null.
    sent = {name: value for name, value in members if name in fields and not (is_whole and value is None)}
    if not sent.keys() <= response.keys():
        tx.writer.is_certain = False
        tx.response = {**sent, **response}


def withdraw_values(tx: Transaction) -> None:
    """Set optional fields to null that `get` leaves out, and whose value was only ever sent by a change.

    Other fields that are left out keep their values, because a response may be a summary.
    """
    request, response, base = tx.request, tx.response, tx.underlying
    siblings, schema = request.rules.siblings, as_entity(request.rules.schema)
    if siblings is None or schema is None or not is_mapping(response) or not isinstance(base, Tables):
        return
    if not base.partial.get(schema.table_key):
        return  # each record is as a response contained it
    if request.selects_representation or not siblings.is_item(request.url):
        return
    for one in named_entities(schema, response, params_of(request.rules, request.args), tx.writer):
        whole, record = base.whole(schema.table_key, one.pk), known_record(base.get(schema.table_key, one.pk))
        if whole is None or record is None:
            continue
        received = {*response, *whole.fields, *whole.later}
        fields = [field.in_json for field in schema.model.fields.values() if not field.required]
        sent = [name for name in fields if name in record and name not in received]
        if sent:
            tx.response = {**dict.fromkeys(sent), **response}


def _has_null_for_value(body: object, response: object) -> bool:
    """Return whether a response has null in a member that has a value in the request body, at any depth in both.

    The server may have stored the value without returning it. Members are compared by name alone, because the response
    may have another envelope than the body.
    """
    nulls = {name for name, value in _members(response) if value is None}
    return bool(nulls) and any(value is not None and name in nulls for name, value in _members(body))


def _members(value: object) -> list[tuple[str, object]]:
    """Return the members of all objects in a JSON value."""
    found: list[tuple[str, object]] = []
    values = [value]
    for one in values:
        if is_mapping(one):
            found += one.items()
        inner = one.values() if is_mapping(one) else one if is_list(one) else ()
        values += [each for each in inner if type(each) not in SCALARS]
    return found


def follow_change(tx: Transaction) -> None:
    """Update lists after a mutation, and records whose primary key it has changed."""
    if not tx.is_expected:
        _rename(tx)
        if not tx.writer.is_certain:
            keep_received(tx.change)
            if tx.writer.write_set is not None:
                tx.writer.write_set.keeps_whole = True
    if tx.response is not None or tx.request.rules.deletes:
        update_lists(tx)


def _rename(tx: Transaction) -> None:
    """Remove the record that the one in the response has replaced.

    After an update, the response may have another primary key, unless it is that of a GET after a 303, which may be of
    any record. Of a resource with several entities, a change may have converted the one that `get` returned for the
    same URL.
    """
    item = entity_schema(tx.request.rules.schema)
    for now in entity_of_result(item, tx.result):
        table = now.schema.table_key
        replaced = [one for one in tx.addressed if one.pk != now.pk and one.schema.table_key == table]
        if replaced and not _updates_item(tx.request):
            replaced = []
        if item is not None and len(item.entities) > 1:
            returned = result_of_get(item, tx.request, tx.writer)
            replaced += [one for one in returned if one.pk == now.pk and one.schema.table_key != table]
        for gone in replaced:
            tx.writer.write_invalid(*cell_of(gone))
            tx.renamed.append(gone)


def _updates_item(request: Request) -> bool:
    """Return whether a request updates an item of its resource, and its response is that of the update."""
    rules = request.rules
    is_update = rules.mutation.method in ("PUT", "PATCH") and answered_method(request.answer) != "GET"
    return is_update and rules.siblings is not None and rules.siblings.is_item(request.url)


def assumed_record(tx: Transaction, assumed: dict[str, Any]) -> dict[str, Any] | None:
    """Return the record that replaces an empty response, with a primary key; None if none is known.

    If the record is replaced, optional fields that were not sent are removed: otherwise later responses without them
    would never remove them. A body without any field of the record (`{"new_name": …}`) changes none. Objects that the
    path identifies in part stay complete. Of a union, the record is of the class that what was sent names, or else of
    that of the stored record; if both are unknown, the record is too.
    """
    request, writer = tx.request, tx.writer
    item = entity_schema(request.rules.schema)
    schema = None if item is None else _class_of(item, tx, assumed)
    if item is None or schema is None:
        return None
    model = schema.model
    is_union = len(item.entities) > 1
    if is_union:
        from ...schema.validation import fitting_members

        fields = {field.in_json for field in model.fields.values()}
        assumed = {name: value for name, value in fitting_members(model, assumed).items() if name in fields}
    pk = known = usable_pk(model.pk(assumed, None, None, request.args))
    if pk is None or pk == schema.lenient_pk(params_of(request.rules, request.args), request.args):
        known = next((one.pk for one in result_of_get(item, request, writer)), pk)
    stored = None if known is None else writer.record_before(schema.table_key, known)
    if stored is not None and pk not in (None, known):
        assumed = {**assumed, **model.pk_part(stored)}  # the URL has another name of the record
    if stored is not None:
        stored = without_lists(model, stored)
        is_known = pk is not None and not is_union  # a union needs the members that determine the class
        part, named = model.pk_part(stored), params_of(request.rules, request.args)
        if request.rules.response.replace and assumed.keys() <= named.keys():
            return dict(stored)
        kept = _never_absent(schema, stored) if request.rules.response.replace else {} if is_known else stored
        if request.rules.response.replace:  # objects that were sent are whole but for what the server gives
            sent: Any = request.args[-1] if request.rules.mutation.has_body else None
            named = {name: value for name, value in named.items() if not is_mapping(sent) or name not in sent}
            return completed(completed({**kept, **assumed}, part, part), stored, named)
        return completed(completed({**kept, **assumed}, stored, part), stored, named)
    return None if pk is None else dict(assumed)


def _class_of(item: Schema, tx: Transaction, assumed: Mapping[str, Any]) -> EntitySchema | None:
    """Return the entity that the stored record is with what was sent; None if its class in a union is unknown."""
    request, writer = tx.request, tx.writer
    # In several tables, a record with the primary key may be one of another resource.
    named = (result_of_get if has_several_tables(item) else entities_of_url)(item, request, writer)
    stored = writer.record_before(*cell_of(named[0])) if named else None
    return entity_of_record(item, {**(stored or {}), **assumed})


def _never_absent(schema: EntitySchema, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a record that are never absent."""
    fields = schema.model.fields.values()
    names = {field.in_json for field in fields if field.required or field.default_value() is not None}
    return {name: value for name, value in record.items() if name in names}


def expire_unknown(tx: Transaction) -> None:
    """Expire what a successful mutation may have changed, if its response is empty and its entity unknown."""
    request, schema = tx.request, tx.request.rules.schema
    logger.info(
        "%s: the response is empty and identifies no entity; all data that it may have changed is now stale",
        request.key,
    )
    expire_self(tx)
    tx.stale.cells.update(map(cell_of, tx.addressed))
    pks = {gone.pk for gone in tx.addressed}

    def holds(listing: ListBinding) -> bool:
        return any(entry_pk(entry) in pks for entry in entries_of(tx.underlying.get(*listing.cell)))

    if not isinstance(schema, Adder):
        expire_lists(tx, schema, holds if pks else lambda listing: True)
        return
    collection = schema.collection
    accepts = (schema.create_filter or collection.create_collection_filter)(*request.args)

    def may_hold(listing: ListBinding) -> bool:
        table, pk = listing.cell
        joins = accepts(identity_of_text(pk)) if table == collection.table_key else bool(listing.collection.follows)
        return joins or holds(listing)

    expire_lists(tx, collection.item, may_hold)
