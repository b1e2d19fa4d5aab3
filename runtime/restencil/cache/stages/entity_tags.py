"""The stage of ETags, which mutations send to declare the version that they are based on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...base.freshness import is_strong
from ...base.values import INVALID, UNDEFINED, Meta, Sentinel
from ...schema.stored import record_of
from ..addressed import cell_of, entities_of, entities_of_url, entity_of_result, entity_schema
from ..normalize import Normalization
from .other_results import expire_self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...base.freshness import Validators
    from ...schema.protocol import Schema
    from ..reader import CacheReader
    from ..request import Request
    from ..tables import EntityPath
    from ..transaction import Transaction

_CREATED: Final = 201


def tags_of(tx: Transaction, validators: Validators) -> Mapping[EntityPath, tuple[str, float]]:
    """Return the ETag of the entity that a response describes, unless the store has newer data of it.

    A response describes the entity of its path, or the created entity whose URL it declares. Weak ETags are ignored,
    because they do not identify the bytes.
    """
    request, rules = tx.request, tx.request.rules
    tag = validators.headers.get("etag", "")
    is_created = (
        rules.mutation.method == "POST" and request.answer is not None and request.answer.status_code == _CREATED
    )
    if not is_strong(tag) or (rules.mutation.method == "POST" and not is_created):
        return {}
    paths = _created(rules.schema, tx.writer) if is_created else _paths_of_response(request, tx.writer)
    change, times = tx.change, tx.change.times
    kept = [path for path in paths if change.get(*path) not in (UNDEFINED, INVALID)]
    late = any((meta := change.meta(*path)) is not None and meta.fetched_at > times.fetched_at for path in kept)
    return {} if late or len(kept) != 1 else {kept[0]: (tag, times.fetched_at)}


def _paths_of_response(request: Request, writer: Normalization) -> list[EntityPath]:
    """Return the entity that a response describes: the one it contained, else that of its URL."""
    item = entity_schema(request.rules.schema)
    found = entity_of_result(item, writer.change.results.get(request.key, UNDEFINED))
    return [*map(cell_of, found or entities_of_url(item, request, writer))]


def _created(schema: Schema | None, writer: Normalization) -> list[EntityPath]:
    """Return the entities in a response that a schema declares at its top."""
    tables = [entity.table_key for entity in entities_of(entity_schema(schema))]
    return [(table, pk) for table in tables for pk in writer.change.entities.get(table, ())]


def refuse_tag(tx: Transaction) -> list[EntityPath]:
    """Expire an entity and the result of its `get`, because the server has another version than the mutation."""
    expire_self(tx)
    paths, change = [*map(cell_of, tx.addressed)], tx.change
    for table, pk in paths:
        stored, meta = change.get(table, pk), change.meta(table, pk)
        if stored is not UNDEFINED and stored is not INVALID and meta is not None:
            change.write(table, pk, stored, meta._replace(expires_at=1))
    return paths


def tag_of_mutation(reader: CacheReader, request: Request) -> tuple[EntityPath | None, str | None]:
    """Return the entity that a mutation addresses, and its known ETag; each is None if unknown."""
    store_state, concurrency = reader.store_state, request.rules.mutation.concurrency
    now, base = store_state.clock(), store_state.base
    with store_state.hooks:
        writer = Normalization(base, request.args, Meta(now, now, now))
        found = entities_of_url(request.rules.item, request, writer)
    if len(found) != 1 or concurrency is None:
        return None, None
    path, model = cell_of(found[0]), found[0].schema.model
    if concurrency.field is None:
        return path, None if store_state.tags is None else store_state.tags.get(path)
    stored = store_state.base.get(*path)
    name = model.to_json.get(concurrency.field, concurrency.field)
    tag = None if isinstance(stored, Sentinel) else record_of(stored).get(name)
    return path, tag if type(tag) is str and is_strong(tag) else None
