"""What the answer of a mutation means where it says little: which entity is gone, and what an empty answer brings.

Everything is written into the change of the pass, so that it happens with the answer or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.errors import ProcessingError
from ..base.freshness import is_strong
from ..base.logs import logger
from ..base.values import INVALID, SCALARS, UNDEFINED, Presumed, is_dict, is_list, is_mapping, scalar_text, text_of
from ..schema.collection import Adder, identity_of_text
from ..schema.derived import Invalidate
from ..schema.entity import EntitySchema, completed, params_to_fields, usable_pk, value_at
from ..schema.notation import schema_of
from ..schema.protocol import CollectionNode
from ..schema.stored import record_of
from .request import call_args
from .tables import ListBinding, Tables

if TYPE_CHECKING:
    from ..schema.protocol import Schema
    from .normalize import Normalization
    from .request import Request, Rules
    from .tables import EntityPath
    from .validators import Validators


_CREATED: Final = 201

SELF: Final = "self"
"""In `expires`: the entity that the path's parameters name."""


class Gone(NamedTuple):
    """An entity that a delete was of; `name` is its name in a polymorphic schema."""

    name: Any
    schema: EntitySchema
    pk: str


# --- delete -----------------------------------------------------------------------------------------------------------


def delete(schema: Invalidate, response: Any, request: Request, writer: Normalization) -> Any:
    """Marks the entity that a delete was of as gone; returns the result to store, UNDEFINED where none is known.

    It is the one that the answer names, else that of the URL parameters, else the one that `get` has given for them,
    else the only one whose fields have their values. Where there is none, the lists under the path turn stale.
    """
    params, own_params = _params(request), _own_params(request.rules, request.args)
    if response == own_params:
        response = params  # the server said nothing: what its parameters name
    found = (
        _named(schema.item, response, params, writer)
        or _named(schema.item, params, params, writer)
        or _known(schema.item, request, writer)
        or _looked_up(schema, request, own_params, writer)
    )
    if not found:
        logger.info("%s: it is not known which entity was deleted; the lists under its path turn stale", request.key)
        siblings = request.rules.siblings
        if siblings is not None:
            _expire(writer, siblings.lists_test(request.args), everywhere=True)
        return UNDEFINED
    for gone in found:
        writer.write_invalid(gone.schema.table_key, gone.pk)
    writer.deleted = [(gone.schema, gone.pk) for gone in found]
    return None if schema.item is None else schema.item.reference(found[0].schema, found[0].pk)


def _named(item: Schema | None, value: Any, params: Mapping[str, Any], writer: Normalization) -> list[Gone]:
    """What an answer, or the URL parameters, name: one entity, or of a polymorphic resource those with this key."""
    if item is None:
        return []
    if is_mapping(value):
        name, chosen = item.select(value, value, None)
        if isinstance(chosen, EntitySchema):
            return _gone(name, chosen, _pk_of(chosen, value, writer))
        if not item.undecided(value, value, None):
            return []
        return _held(item, lambda schema: schema.lenient_pk(value, writer.args), writer)
    pk = usable_pk(value) if type(value) in SCALARS and value != "" else None
    if pk is None:
        return []
    if not isinstance(item, EntitySchema):
        return _held(item, lambda schema: pk, writer)
    # A string such as "deleted" names nothing if the parameters name an entity.
    speaks = writer.is_stored(item.table_key, pk) or item.lenient_pk(params, writer.args) is None
    return _gone(None, item, pk if speaks else None)


def _gone(name: Any, schema: EntitySchema, pk: str | None) -> list[Gone]:
    return [] if pk is None else [Gone(name, schema, pk)]


def _held(item: Schema, pk_of: Callable[[EntitySchema], str | None], writer: Normalization) -> list[Gone]:
    """In each table that holds it, what a primary key of unknown type names."""
    found: list[Gone] = []
    for name, schema in entities_of(item):
        pk = pk_of(schema)
        if pk is not None and writer.is_stored(schema.table_key, pk):
            found.append(Gone(name, schema, pk))
    return found


def entities_of(item: Schema | None) -> Iterable[tuple[Any, EntitySchema]]:
    """The entities that a schema of one entity is about, each with its name where there are several."""
    return () if item is None else item.entities.items()


def _pk_of(schema: EntitySchema, value: Mapping[str, Any], writer: Normalization) -> str | None:
    """The primary key of an object, None where it has none, or is none of the entity's."""
    try:
        process = schema.model.process
        processed = None if process is None else process(value, value, None, writer.args)
        return schema.model.pk(
            schema.model.with_pk(value if processed is None else processed), value, None, writer.args
        )
    except (AttributeError, KeyError, TypeError, ValueError, ProcessingError):
        return None


def _known(item: Schema | None, request: Request, writer: Normalization) -> list[Gone]:
    """The entity that is stored as result of `get` under the same path arguments."""
    siblings = request.rules.siblings
    key = None if siblings is None else siblings.item_key(request.args)
    return [] if key is None else _result_of(item, writer.underlying.result(key))


def _result_of(item: Schema | None, stored: Any) -> list[Gone]:
    """The entity that a stored result of one is."""
    name, pk = (stored.get("schema"), stored.get("id")) if is_dict(stored) else (None, stored)
    return [Gone(name, schema, pk) for other, schema in entities_of(item) if other == name and isinstance(pk, str)]


def _looked_up(deletion: Invalidate, request: Request, params: Mapping[str, Any], writer: Normalization) -> list[Gone]:
    """The only entity whose fields have the values of the path's parameters; each parameter must be a field."""
    siblings = request.rules.siblings
    names = list(params) if siblings is None else [name for name in siblings.path_names if params.get(name) is not None]
    dotted = request.rules.param_fields or {}
    found: list[Gone] = []
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
                found.append(Gone(name, schema, pk))
    return found if len(found) == 1 else []


def known_before(
    deleted: list[tuple[EntitySchema, str]], response: Any, request: Request, read: Callable[[EntitySchema, str], Any]
) -> Any:
    """The value of a delete: the entity as it was known, else as the answer tells it whole, else None."""
    for schema, pk in deleted:
        found = read(schema, pk)
        if found is not None:
            return found
        if is_mapping(response) and response != _params(request):
            fields = schema.model.fields.values()
            if all(field.in_json in response for field in fields if field.default is not None or field.required):
                return schema.model.from_record(response)
    return None


# --- what a response of a change says of its record ------------------------------------------------------------------


def with_sent(response: Any, request: Request, writer: Normalization) -> Any:
    """A response to a creation or an update that has only some members, with what was sent under what was answered."""
    rules = request.rules
    body = request.args[-1] if rules.has_body and request.args else None
    is_update = rules.method in ("PUT", "PATCH") and isinstance(rules.schema, EntitySchema)
    is_creation = isinstance(rules.schema, Adder) and rules.schema.is_creation
    if not (is_update or is_creation) or not is_mapping(response) or type(response) is Presumed or not is_mapping(body):
        return response
    model = next((schema.model for _, schema in entities_of(_entity_of(rules.schema))), None)
    if model is None or rules.required_fields(model)[0] <= response.keys():
        return response
    from ..schema.validation import fitting_members

    fields = {field.in_json for field in model.fields.values()}
    sent = {name: value for name, value in fitting_members(model, body).items() if name in fields}
    if sent.keys() <= response.keys():
        return response
    writer.is_certain = False
    return {**sent, **response}


def rename(request: Request, result: Any, writer: Normalization) -> None:
    """An update that is answered with another primary key than the one addressed removes the record under the old."""
    rules, siblings = request.rules, request.rules.siblings
    if rules.method not in ("PUT", "PATCH") or not isinstance(rules.schema, EntitySchema) or type(result) is not str:
        return
    if siblings is None or not siblings.is_item(request.url):
        return
    for gone in meant(request, writer):
        if gone.pk != result and gone.schema.table_key == rules.schema.table_key:
            writer.write_invalid(gone.schema.table_key, gone.pk)
            writer.renamed.append((gone.schema, gone.pk))


# --- what a mutation is made for --------------------------------------------------------------------------------------


def meant(request: Request, writer: Normalization) -> list[Gone]:
    """The entity that the path's parameters name; of a polymorphic resource one in each table that holds it."""
    rules = request.rules
    item = _item_of(rules.schema)
    if item is None and rules.siblings is not None:
        item = schema_of(rules.siblings.item_schema)  # an action whose response has no entity
    params = _params(request)
    return _named(item, params, params, writer) or _known(item, request, writer)


def _cells_meant(request: Request, writer: Normalization) -> list[EntityPath]:
    return [(gone.schema.table_key, gone.pk) for gone in meant(request, writer)]


def tags_of(request: Request, validators: Validators, writer: Normalization) -> Mapping[EntityPath, tuple[str, float]]:
    """The ETag that an answer had of the entity that it is about, unless the store has something newer of that.

    An answer at an entity's own path is about that, and one that says where the entity is that was created. A weak ETag
    says nothing of the bytes, so it is none here.
    """
    tag, rules = validators.headers.get("etag", ""), request.rules
    is_created = rules.method == "POST" and request.answer is not None and request.answer.status_code == _CREATED
    if not is_strong(tag) or (rules.method == "POST" and not is_created):
        return {}
    cells = _created(rules.schema, writer) if is_created else _cells_answered(request, writer)
    change, times = writer.change, writer.change.times
    kept = [cell for cell in cells if change.get(*cell) not in (UNDEFINED, INVALID)]
    late = any((meta := change.meta(*cell)) is not None and meta.fetched_at > times.fetched_at for cell in kept)
    return {} if late or len(kept) != 1 else {kept[0]: (tag, times.fetched_at)}


def _cells_answered(request: Request, writer: Normalization) -> list[EntityPath]:
    """The entity that an answer is about: that of the path, and where it names none by its key, what was answered."""
    item, params = _item_of(request.rules.schema), _params(request)
    found = _named(item, params, params, writer) or _result_of(item, writer.change.results.get(request.key, UNDEFINED))
    return [(gone.schema.table_key, gone.pk) for gone in found or _known(item, request, writer)]


def _created(schema: Schema | None, writer: Normalization) -> list[EntityPath]:
    """The entities of a schema's own kinds that an answer brought."""
    tables = [entity.table_key for _, entity in entities_of(_item_of(schema))]
    return [(table, pk) for table in tables for pk in writer.change.entities.get(table, ())]


def _item_of(schema: Schema | None) -> Schema | None:
    return schema.item if isinstance(schema, Invalidate) else _entity_of(schema)


def refused(request: Request, writer: Normalization) -> list[EntityPath]:
    """The server has something else than what a mutation was made for: the entity turns stale, and its `get`."""
    expire_self(request, writer)
    cells, change = _cells_meant(request, writer), writer.change
    for table, pk in cells:
        stored, meta = change.get(table, pk), change.meta(table, pk)
        if stored is not UNDEFINED and stored is not INVALID and meta is not None:
            change.write(table, pk, stored, meta._replace(expires_at=1))
    return cells


# --- empty answers ----------------------------------------------------------------------------------------------------


def presumed_record(presumed: Presumed, request: Request, writer: Normalization) -> dict[str, Any] | None:
    """What an empty answer counts as, with a primary key; None where none is known.

    Where the answer is to replace the record, what was not sent and may be absent is gone: were it kept, a later answer
    that does not have it either would leave it there for good. Objects that the path identifies in part are kept whole.
    """
    for _, schema in entities_of(_entity_of(request.rules.schema)):
        model = schema.model
        pk = usable_pk(model.pk(presumed, None, None, request.args))
        pks = [gone.pk for gone in _known(schema, request, writer)] if pk is None else [pk]
        records = (writer.record_before(schema.table_key, pk) for pk in pks)
        stored = next((record for record in records if record is not None), None)
        if stored is not None:
            stored = _without_lists(schema, stored)
            kept = _never_absent(schema, stored) if request.rules.replace else {} if pk is not None else stored
            part, named = model.pk_part(stored), _params(request)
            if request.rules.replace:  # objects that were sent are whole but for what the server gives
                sent: Any = request.args[-1] if request.rules.has_body else None
                named = {name: value for name, value in named.items() if not is_mapping(sent) or name not in sent}
                return completed(completed({**kept, **presumed}, part, part), stored, named)
            return completed(completed({**kept, **presumed}, stored, part), stored, named)
        if pk is not None:
            return dict(presumed)
    return None


def _without_lists(schema: EntitySchema, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record without its nested collections: it has their keys, and a response has items there."""
    nested = {relation.in_json for relation in schema.model.relations if isinstance(relation.node, CollectionNode)}
    return {name: value for name, value in record.items() if name not in nested} if nested else record


def _never_absent(schema: EntitySchema, record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record has of fields that are never absent."""
    fields = schema.model.fields.values()
    names = {field.in_json for field in fields if field.required or field.default_value() is not None}
    return {name: value for name, value in record.items() if name in names}


def _entity_of(schema: Schema | None) -> Schema | None:
    return schema.collection.item if isinstance(schema, Adder) else schema


def without_answer(request: Request, writer: Normalization) -> None:
    """A mutation succeeded and nothing is known of what it brought: what it may have changed turns stale."""
    schema = request.rules.schema
    logger.info(
        "%s: the answer is empty, and no entity is known by it; what it may have changed turns stale", request.key
    )
    expire_self(request, writer)
    found = meant(request, writer)
    _expire_records(found, writer)
    pks = {gone.pk for gone in found}

    def holds(listing: ListBinding) -> bool:
        stored = writer.underlying.get(*listing.cell)
        entries = stored.values() if is_dict(stored) else stored if is_list(stored) else ()
        return any((entry["id"] if is_dict(entry) else entry) in pks for entry in entries)

    if isinstance(schema, Adder):
        collection = schema.collection
        accepts = (schema.create_filter or collection.create_collection_filter)(*request.args)

        def may_hold(listing: ListBinding) -> bool:
            table, pk = listing.cell
            joins = accepts(identity_of_text(pk)) if table == collection.table_key else bool(listing.collection.follows)
            return joins or holds(listing)

        _expire_lists(collection.item, writer, may_hold)
        return
    _expire_lists(schema, writer, holds if pks else lambda listing: True)


def expire_self(request: Request, writer: Normalization) -> None:
    """The result of `get` for the entity that the path's parameters name turns stale."""
    siblings = request.rules.siblings
    key = None if siblings is None else siblings.item_key(request.args)
    if key is not None:
        _expire(writer, key.__eq__, everywhere=True)


def expire_named(request: Request, writer: Normalization) -> None:
    """What the endpoint says that it leaves stale turns stale: shown still, and fetched by the next read.

    `self` is the entity that the path's parameters name, its record and its `get`.
    """
    siblings, names = request.rules.siblings, request.rules.expires
    if siblings is None or not isinstance(writer.underlying, Tables):
        return
    if SELF in names:
        expire_self(request, writer)
        item, params = schema_of(siblings.item_schema), _params(request)
        _expire_records(_named(item, params, params, writer) or _known(item, request, writer), writer)
    writer.stale_tables |= siblings.stale_tables([name for name in names if name != SELF], request.locator)
    for test in siblings.stale_tests(request.args, [name for name in names if name != SELF], request.locator):
        _expire(writer, test, everywhere=True)
        writer.outdated.update(
            key for key in writer.underlying.key_metas if test(key)
        )  # also where its record is whole


def _expire_records(found: list[Gone], writer: Normalization) -> None:
    """The records of these entities turn stale: shown still, and no answer to their `get`."""
    writer.stale_records.update((schema.table_key, pk) for _, schema, pk in found)


def _expire_lists(item: Schema | None, writer: Normalization, test: Callable[[ListBinding], bool]) -> None:
    """Lists of these entities, and pages of them, that the test accepts turn stale."""
    listings = (listing for _, schema in entities_of(item) for listing in writer.underlying.listings(schema.table_key))
    keys = {listing.key for listing in listings if test(listing)}
    _expire(writer, keys.__contains__)


def _expire(writer: Normalization, test: Callable[[str], bool], *, everywhere: bool = False) -> None:
    """Every result whose key the test accepts turns stale: shown still, and fetched by the next read.

    With `everywhere` that goes for results of the storage as well that are not in memory.
    """
    base = writer.underlying
    if not isinstance(base, Tables):
        return  # what is only expected of a mutation leaves nothing stale
    writer.expire_tests.append(test)
    if everywhere and writer.write_set is not None:
        writer.write_set.expires(test)
    for key, meta in list(base.key_metas.items()):
        if key != "" and test(key):
            writer.change.key_metas[key] = meta.with_expiry(1)
            if everywhere:
                writer.outdated.add(key)


def _params(request: Request) -> Mapping[str, Any]:
    return params_of_record(request.rules, request.args)


def params_of_record(rules: Rules, args: tuple[Any, ...]) -> Mapping[str, Any]:
    """The parameters that name a record: those of the URL, and where these name none, members of the body."""
    params = rules.params_to_fields(_own_params(rules, args))
    body = args[-1] if rules.has_body and args else None
    if not is_mapping(body):
        return params
    schemas = [schema for _, schema in entities_of(_item_of(rules.schema))]
    if not schemas and rules.siblings is not None:
        schemas = [schema for _, schema in entities_of(schema_of(rules.siblings.item_schema))]
    if not schemas or any(schema.lenient_pk(params, args) is not None for schema in schemas):
        return params
    named = {name: body[name] for name in rules.body_fields or {} if name in body}
    named_by_body = params_to_fields(named, rules.body_fields or {}, schemas[0])
    pk_name = schemas[0].model.pk_name
    pk = None if named or pk_name is None else body.get(pk_name)
    if pk_name is not None and pk is not None and type(pk) in SCALARS:
        named_by_body = {pk_name: pk}
    return {**params, **named_by_body} if named_by_body else params


def _own_params(rules: Rules, args: tuple[Any, ...]) -> Mapping[str, Any]:
    """The URL parameters under their own names."""
    own = call_args(args)
    first = own[0] if own else None
    return first if is_mapping(first) and not (len(own) == 1 and rules.has_body) else {}
