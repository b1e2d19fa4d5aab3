"""What each action brings about: one function for each, which looks and computes but changes nothing.

A reducer takes the store's `CacheReader` and an action, and returns the `Transition` that `StoreState.commit` applies.
What users' hooks raise ends it before anything has happened. It runs under the store's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.errors import AbortError, PreconditionFailedError, ProcessingError
from ..base.exception_copy import kept
from ..base.freshness import is_strong
from ..base.logs import logger
from ..base.values import (
    DICT,
    INVALID,
    LIST,
    MAPPING,
    SCALARS,
    TUPLE,
    UNDEFINED,
    Meta,
    Presumed,
    Sentinel,
    copy_in,
    read_only,
    same_json,
)
from ..schema.collection import Adder, Collection, list_result
from ..schema.containers import Array, List, Object, Values
from ..schema.derived import Deletion, Invalidate
from ..schema.entity import EntitySchema, Relation
from ..schema.notation import Lazy, schema_of
from ..schema.protocol import Echo, entity_node, is_plain
from ..schema.record import is_instance
from ..schema.stored import record_of
from . import actions
from .change_effects import ChangeEffects, changed, elsewhere, failed, gone, unread
from .compiling import resolved
from .completeness import keep_whole
from .denormalize import Denormalization
from .denormalize_compiled import reader_of
from .dependency_graph import DependencyGraph
from .list_membership import follow, note_lists
from .mutations import (
    SELF,
    delete,
    expire_named,
    expire_self,
    known_before,
    meant,
    presumed_record,
    refused,
    rename,
    tags_of,
    with_sent,
    without_answer,
)
from .normalize import Normalization
from .normalize_compiled import CompiledNormalization, normalization
from .reading import INFINITE
from .request import call_args
from .request_log import Answered
from .revalidation import response_record_of
from .snapshot import Snapshot
from .staleness import StaleSet
from .store_state import Transition
from .tables import ChangeSet, ResultMeta, Tables

if TYPE_CHECKING:
    from ..schema.protocol import Schema
    from .persistence_port import PersistencePort
    from .reader import CacheReader
    from .request import Request
    from .store_state import StoreState
    from .tables import EntityPath, State


def fetch(cache_reader: CacheReader, action: actions.Fetch) -> Transition:
    """A fetch that shows at once what it is expected to bring is queued; others change nothing."""
    effects = Transition()
    is_current = action.resets is None or action.resets == cache_reader.store_state.resets
    if is_current and action.request.rules.is_optimistic:
        effects.begun = action
    else:
        effects.notifies = False
    return effects


def set_response(cache_reader: CacheReader, action: actions.SetResponse) -> Transition:
    """The response goes into the tables and its result under its key; a response that does not fit is an error.

    It gives the value of the fetch. Where the store started over meanwhile, only that, made of the response alone:
    nothing is stored.
    """
    store_state, request = cache_reader.store_state, action.request
    key, schema = request.key, request.rules.schema
    _catch_up(store_state, request)
    is_fetched = action.fetch_id is not None
    is_current = request.rules.is_stored and (action.resets is None or action.resets == store_state.resets)
    response = action.response if is_fetched else copy_in(action.response)
    effects = Transition()
    effects.ended = action.fetch_id
    try:
        with store_state.hooks:
            mode = request.rules.validate or store_state.validate
            if mode != "off" and schema is not None and not _is_empty(response, request):
                from ..schema.validation import validate

                validate(schema, response, mode, request.label)
            writer = _normalized(
                store_state.base if is_current else Tables(),
                request,
                response,
                action.meta,
                owns_response=request.rules.owns_response or not is_fetched,
                persistence=store_state.persistence,
                is_final=is_current,
            )
            if is_current:
                _note_freshness(store_state, request, writer, action.fetch_id, effects)
            known = _known_before(cache_reader, request, writer, response) if _deletes(request, schema) else UNDEFINED
    except Exception as error:
        return _misfitting(store_state, action, effects, response, error, is_current=is_current)
    if not is_current:
        effects.notifies = False
        with store_state.hooks:
            effects.value = _own_value(request, writer, writer.response) if known is UNDEFINED else known
        return effects
    before = store_state.base.key_meta(key)
    effects.change, effects.writer = writer.change, writer
    expired = None if before is None else before.expires_at
    writer.change.key_metas[key] = known_of = ResultMeta(
        action.meta, prev_expires_at=expired, terms=action.terms, rules=request.rules
    )
    known_of.received, known_of.is_complete = _received(writer)
    if not request.rules.persist or (action.validators is not None and not action.validators.stored):
        effects.is_stored = False
    if schema is None:
        effects.value = writer.change.results[key]
    elif known is not UNDEFINED:
        effects.value = known
    elif is_fetched or action.wanted or store_state.in_flight.joinable or request.rules.analyze(_may_fail):
        effects.echoed = request, writer, writer.response
    _keep_own_value(store_state, action, effects)
    if action.mark is not None or action.validators is not None or (is_fetched and key in store_state.response_records):
        effects.marked = key, *response_record_of(action, writer.change, writer.change.results.get(key, UNDEFINED))
    if action.validators is not None and request.rules.concurrency is not None:
        effects.tags = tags_of(request, action.validators, writer)
    return effects


def _misfitting(
    store_state: StoreState,
    action: actions.SetResponse,
    effects: Transition,
    response: Any,
    error: Exception,
    *,
    is_current: bool,
) -> Transition:
    """A response that cannot be stored is recorded as an error, which is raised."""
    request = action.request
    effects.failure = failure = _misfit(error, request, response)
    failure.__cause__ = error
    # Its text shows a piece of the response: that is for who asked, and not for a log.
    kind = type(error).__name__
    logger.warning("%s: the response cannot be stored (%s); what is raised says why", request.label, kind)
    if not is_current:
        effects.notifies = False
        return effects
    effects.change = _failed(store_state, request, failure, _error_times(action))
    if request.rules.side_effect:
        looking = _looking(store_state, request, action.meta)
        _note_change(store_state, request, unread(request, looking), looking, effects)
    return effects


def renew(cache_reader: CacheReader, action: actions.Freshen) -> Transition:
    """What the store has of the answer before is as fresh as this one, as long as nothing of it changed since.

    It gives what a read of it finds, UNDEFINED where something did change.
    """
    store_state, request = cache_reader.store_state, action.request
    effects = Transition()
    effects.notifies = False
    effects.value = UNDEFINED
    response_record = store_state.response_records.get(request.key)
    is_current = action.resets is None or action.resets == store_state.resets
    if response_record is None or not is_current or not response_record.is_of(action.mark):
        return effects
    change = effects.change = response_record.freshened(request.key, store_state.base, action.meta, action.terms)
    if change is None:
        return effects
    effects.notifies, effects.shown, effects.ended = True, request, action.fetch_id
    validators = action.validators
    effects.freshened = response_record, (
        validators if validators is not None and validators.condition is not None else None
    )
    before = store_state.base.key_meta(request.key)
    if before is not None:
        change.key_metas[request.key].received = before.received
        change.key_metas[request.key].is_complete = before.is_complete
    looking = _looking(store_state, request, action.meta)
    looking.change = change
    _note_freshness(store_state, request, looking, action.fetch_id, effects)
    if validators is not None and request.rules.concurrency is not None:
        effects.tags = tags_of(request, validators, Normalization(store_state.base, request.args, action.meta))
    return effects


def _keep_own_value(store_state: StoreState, action: actions.SetResponse, effects: Transition) -> None:
    """The value of a call is what its own response says, also where the store has something of a later request."""
    if effects.echoed is None or action.fetch_id is None or not action.request.rules.policy.gives_own_response:
        return
    request, written, response = effects.echoed
    base, started = store_state.base, action.meta.fetched_at
    if all(base.latest.get(table, 0) <= started for table in written.change.entities):
        return
    times = [base.meta(*cell) for cell in written.change.cells()]
    if any(meta is not None and meta.fetched_at > started for meta in times):
        latest = Meta(INFINITE, action.meta.date, action.meta.expires_at)
        with store_state.hooks:
            writer = Normalization(base, request.args, latest, replaces=written.replaces)
            writer.write(cast("Schema", request.rules.schema), response)
            effects.value = _own_value(request, writer, response)
        effects.echoed = None


def _received(writer: Normalization) -> tuple[Mapping[str, frozenset[str]] | None, bool]:
    """By table, the records and lists that a response brought, and whether it brought all that it refers to.

    None and True if it does not matter: for changes, and for endpoints that are written by hand.
    """
    rules = writer.rules
    if rules is None or not rules.policy.notes_overlaps or rules.side_effect:
        return None, True
    found = {table: frozenset(written) for table, written in writer.change.entities.items()}
    return found, not writer.has_references


def _looking(store_state: StoreState, request: Request, meta: Meta) -> Normalization:
    """A pass that writes nothing, for those who look at what is stored."""
    return Normalization(store_state.base, request.args, meta, rules=request.rules)


def _note_freshness(
    store_state: StoreState, request: Request, writer: Normalization, fetch_id: int | None, effects: Transition
) -> None:
    """Notes what a response makes stale, and what it touched, for requests that overlap with it."""
    if request.rules.side_effect:
        _note_change(store_state, request, changed(request, writer, writer.followed), writer, effects)
    elif fetch_id is not None:
        _note_overlaps(store_state, request, writer, None, effects)


def _note_change(
    store_state: StoreState, request: Request, made: ChangeEffects, writer: Normalization, effects: Transition
) -> None:
    """Notes what a change makes stale, and what it touched, for requests that overlap with it."""
    stale = made.stale
    if effects.stale is not None:  # a 412 has an event of its own
        effects.stale.update(stale)
        stale = effects.stale
    effects.stale = stale
    stale.keys.update(_expired_in_flight(store_state, writer), writer.outdated)
    stale.tables |= writer.stale_tables
    stale.cells |= writer.stale_records
    _note_overlaps(store_state, request, writer, made, effects)


def _answered(request: Request, writer: Normalization, made: ChangeEffects | None) -> Answered:
    """What a request touched: of a read what it brought, of a change also what it named."""
    reach = request.rules.reach
    collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
    received: set[EntityPath] = set()
    lists: dict[EntityPath, tuple[str, ...]] = {}
    for cell in writer.change.cells():
        if cell[0] not in collections and cell[0] not in writer.change.collections:
            received.add(cell)
        elif made is None or cell in writer.change.full_lists or cell in writer.change.pages:
            lists[cell] = collections.get(cell[0], ())
    plain = frozenset[str]() if reach is None else reach.plain_lists
    named = () if made is None else made.records
    tables = frozenset(() if made is None else made.tables)
    records = frozenset([*named, *received])
    number = writer.meta.fetched_at
    return Answered(number, made is not None, request.label, records, tables, lists, plain, request.key)


def _expired_in_flight(store_state: StoreState, writer: Normalization) -> set[str]:
    """The keys of reads under way that an endpoint's `expires` names: their responses may be older than the change."""
    keys = {one.request.key for one in store_state.in_flight.by_id.values()} if writer.expire_tests else set[str]()
    return {key for key in keys for test in writer.expire_tests if test(key)}


def _note_overlaps(
    store_state: StoreState, request: Request, writer: Normalization, made: ChangeEffects | None, effects: Transition
) -> None:
    """Notes what a request touched, where another one overlaps with it; `made` is what a change makes stale."""
    number = writer.meta.fetched_at
    others = store_state.request_log or any(one.fetched_at != number for one in store_state.in_flight.by_id.values())
    if not (others and request.rules.policy.notes_overlaps):
        return
    effects.answered = answered = _answered(request, writer, made)
    stale = store_state.request_log.overlaps(answered, store_state.base)
    if effects.stale is None or not effects.stale:
        effects.stale = stale
    else:
        effects.stale.update(stale)


def set_error(cache_reader: CacheReader, action: actions.SetError) -> Transition:
    """The error is recorded, unless the fetch was aborted or the store started over since."""
    effects = Transition()
    effects.ended = action.fetch_id
    is_old = action.resets is not None and action.resets != cache_reader.store_state.resets
    if is_old or not action.request.rules.is_stored:
        effects.notifies = False
    elif not isinstance(action.error, AbortError) and isinstance(action.error, Exception):
        effects.change = _failed(cache_reader.store_state, action.request, action.error, action.meta)
        if isinstance(action.error, PreconditionFailedError) and action.request.rules.concurrency is not None:
            writer = Normalization(cache_reader.store_state.base, action.request.args, action.meta)
            writer.change = effects.change
            effects.untagged = refused(action.request, writer)
            effects.stale = StaleSet(f"the server has another version: {action.request.label}")
            effects.stale.cells.update(effects.untagged)
    if action.resets is None or action.resets == cache_reader.store_state.resets:
        _note_failure(cache_reader.store_state, action, effects)
    return effects


def _note_failure(store_state: StoreState, action: actions.SetError, effects: Transition) -> None:
    """Notes what a request makes stale that failed."""
    request = action.request
    looking = _looking(store_state, request, action.meta)
    if not request.rules.side_effect:
        if (
            _status_of(action) in (404, 410)
            and request.rules.siblings is not None
            and request.rules.siblings.is_item(request.url)
        ):
            effects.stale = gone(request, looking)
        return
    made = _failure_effects(request, looking, action)
    if made is not None:
        _note_change(store_state, request, made, looking, effects)


def _status_of(action: actions.SetError) -> int | None:
    """The status of the response with which a request failed; None where there was none."""
    return getattr(action.error, "status", None) if getattr(action.error, "has_response", False) else None


def _failure_effects(request: Request, looking: Normalization, action: actions.SetError) -> ChangeEffects | None:
    """What a change makes stale that failed; None where it was never sent."""
    status = _status_of(action)
    if status is not None and status < 400:
        return unread(request, looking)
    return failed(request, looking, status) if status is not None or action.was_sent else None


def set_value(cache_reader: CacheReader, action: actions.Set) -> Transition:
    """A value goes into the tables; one that is a function is called with the value of before, if there is one."""
    schema = schema_of(action.schema)
    if schema is None:
        raise TypeError(f"set() takes a schema, found {action.schema!r}")
    store_state, args, value = cache_reader.store_state, action.args, action.value
    store_state.refresh()
    effects = Transition()
    computing = callable(value)
    try:
        with store_state.hooks:
            if computing:
                before = cache_reader.value_in(reader_of(store_state.view, args, store_state.memo), schema, args)
                if before is None:
                    effects.notifies = False
                    return effects
                value = value(before)
            computing = False
            writer = CompiledNormalization(store_state.base, args, action.meta, where=" (set)")
            if store_state.persistence is not None:
                writer.notes()
            writer.write(schema, _fitting(schema, copy_in(value)))
    except Exception as error:
        logger.error("set(%s) failed; the store is unchanged", schema.title)
        if computing or isinstance(error, ProcessingError):
            raise
        raise ProcessingError(f"set({schema.title}): the value does not fit its schema: {error!r}") from error
    effects.change, effects.writer, effects.set_as = writer.change, writer, entity_node(schema)
    return effects


def invalidate(cache_reader: CacheReader, action: actions.Invalidate) -> Transition:
    """The result of the key goes, so that the next read fetches; its entities stay."""
    return _invalidated(cache_reader.store_state, [action.key])


def invalidate_all(cache_reader: CacheReader, action: actions.InvalidateAll) -> Transition:
    """The results of all keys that the test accepts go; keys that only have an error are left alone."""
    store_state = cache_reader.store_state
    with store_state.hooks:
        keys = [key for key in store_state.base.answered_keys() if action.test(key)]
    return _invalidated(store_state, keys)


def expire_all(cache_reader: CacheReader, action: actions.ExpireAll) -> Transition:
    """Every recorded key that the test accepts turns stale, errors as well."""
    store_state = cache_reader.store_state
    effects = Transition()
    effects.stale = StaleSet("it was expired")
    effects.stale.tests.append(action.test)
    with store_state.hooks:
        effects.keys = {
            key: meta.with_expiry(1) for key, meta in list(store_state.base.key_metas.items()) if action.test(key)
        }
    return effects


def reset(cache_reader: CacheReader, action: actions.Reset) -> Transition:
    """All that is stored goes."""
    effects = Transition()
    effects.starts_over = True
    return effects


def subscription(cache_reader: CacheReader, action: actions.Subscribe | actions.Unsubscribe) -> Transition:
    """Nothing: subscriptions are the managers' business."""
    effects = Transition()
    effects.notifies = False
    return effects


def hear(cache_reader: CacheReader, action: actions.PeerMutated) -> Transition:
    """What an answer through another store would have written here is stale from now on; what it deleted is gone.

    It gives whether anything was there.
    """
    store_state, answer = cache_reader.store_state, action.answer
    base, request = store_state.base, answer.request
    effects = Transition()
    effects.notifies = False
    effects.value = False
    if isinstance(answer, actions.SetError):
        failure = _failure_effects(request, _looking(store_state, request, answer.meta), answer)
        if failure is not None and failure.stale:
            return _peer_effects(effects, request, _looking(store_state, request, answer.meta))
        return effects
    try:
        with store_state.hooks:
            writer = _normalized(base, request, answer.response, answer.meta, persistence=store_state.persistence)
            theirs = writer.change
    except Exception as error:
        logger.debug("%s: what it changed is not known in another store of the client: %s", request.key, error)
        return _peer_effects(effects, request, _looking(store_state, request, answer.meta))
    effects.change = change = ChangeSet(base, theirs.times)
    known = [cell for cell in theirs.cells() if base.get(*cell) is not UNDEFINED]
    for table, pk in theirs.cells():
        if theirs.get(table, pk) is INVALID:
            change.write(table, pk, INVALID, change.times)
    for key in {**theirs.key_metas, **theirs.results}:
        meta = None if key == request.key else base.key_meta(key)
        if meta is not None:
            change.key_metas[key] = meta.with_expiry(1)
    effects.stale = elsewhere(request, writer).stale
    effects.value = bool(known or change.key_metas)
    effects.notifies = effects.value or bool(effects.stale)
    return effects


def _peer_effects(effects: Transition, request: Request, looking: Normalization) -> Transition:
    """What a change through another store makes stale if only its request is known."""
    effects.stale = elsewhere(request, looking).stale
    effects.notifies = effects.value = bool(effects.stale)
    return effects


def tagged(cache_reader: CacheReader, request: Request) -> tuple[EntityPath | None, str | None]:
    """The entity that a mutation is of, and the ETag of what is known of it."""
    store_state, concurrency = cache_reader.store_state, request.rules.concurrency
    now = store_state.clock()
    with store_state.hooks:
        found = meant(request, Normalization(store_state.base, request.args, Meta(now, now, now)))
    if len(found) != 1 or concurrency is None:
        return None, None
    _, schema, pk = found[0]
    cell = schema.table_key, pk
    if concurrency.field is None:
        return cell, None if store_state.tags is None else store_state.tags.get(cell)
    stored = store_state.base.get(*cell)
    name = schema.model.to_json.get(concurrency.field, concurrency.field)
    tag = None if isinstance(stored, Sentinel) else record_of(stored).get(name)
    return cell, tag if type(tag) is str and is_strong(tag) else None


def collect(cache_reader: CacheReader, action: actions.Collect) -> Transition:
    """What no one holds goes; a reader may have come since the policy looked."""
    is_held, persistence = cache_reader.store_state.retention.is_held, cache_reader.store_state.persistence
    effects = Transition()
    effects.notifies = False
    effects.removed = (
        [
            cell
            for cell in action.entities
            if not (is_held(cell) or (persistence is not None and persistence.is_pending(cell)))
        ],
        [key for key in action.keys if not is_held(key)],
    )
    return effects


REDUCERS: Final[Mapping[type, Callable[[CacheReader, Any], Transition]]] = {
    actions.Fetch: fetch,
    actions.SetResponse: set_response,
    actions.Freshen: renew,
    actions.SetError: set_error,
    actions.Set: set_value,
    actions.Invalidate: invalidate,
    actions.InvalidateAll: invalidate_all,
    actions.ExpireAll: expire_all,
    actions.Reset: reset,
    actions.Subscribe: subscription,
    actions.Unsubscribe: subscription,
    actions.PeerMutated: hear,
    actions.Collect: collect,
}


def respond(cache_reader: CacheReader, action: actions.Fetch, underlying: State) -> ChangeSet:
    """The change that the optimistic response of a fetch makes over a state, as if the network had sent it."""
    request = action.request
    respond = request.rules.get_optimistic_response
    if respond is None:
        return ChangeSet(underlying, action.meta)
    snapshot = Snapshot(cache_reader, underlying, action.meta.fetched_at)
    response = copy_in(_not_awaitable(respond(snapshot, *call_args(request.args)), request, "get_optimistic_response"))
    persistence = cache_reader.store_state.persistence
    change = _normalized(
        underlying, request, response, action.meta, placeholder=action.fetch_id, persistence=persistence
    ).change
    before = underlying.key_meta(action.key)
    change.key_metas[action.key] = ResultMeta(
        action.meta, prev_expires_at=None if before is None else before.expires_at
    )
    return change


# -- responses ---------------------------------------------------------------------------------------------------------


def _normalized(
    underlying: State,
    request: Request,
    response: Any,
    meta: Meta,
    *,
    owns_response: bool = False,
    placeholder: int | None = None,
    persistence: PersistencePort | None = None,
    is_final: bool = False,
) -> Normalization:
    """A response as the change that it makes: tables, the key's result, and what the endpoint's `update` adds.

    Only what is expected, and not yet answered, has a `placeholder` for primary keys that the server will give. Only
    what `is_final` is stored, so that for it alone the storage is asked what `update` is about.
    """
    args, key, rules = request.args, request.key, request.rules
    schema, is_presumed = rules.schema, type(response) is Presumed
    replaces = rules.replace and placeholder is None
    if is_presumed:
        meta = meta._replace(expires_at=1)  # the server may have added to what was sent
    kind = Normalization if replaces else normalization(underlying)
    writer = kind(
        underlying,
        args,
        meta,
        placeholder_id=placeholder,
        where="" if placeholder is None else f" ({request.label})",
        owns_response=owns_response,
        strict=rules.strict_shape,
        replaces=replaces,
        rules=rules,
    )
    if is_final and persistence is not None:
        writer.notes()
    if placeholder is None:
        response = _with_sent(response, request, writer)
    writer.response = response
    if schema is None:
        result = _decoded(rules.returns, read_only(response), underlying, args)
    else:
        result = _written(schema, response, request, writer)
        if isinstance(result, (list, dict)) and is_plain(schema):
            result = read_only(result)
    if result is not UNDEFINED:
        stored = underlying.result(key)
        writer.change.results[key] = stored if stored is not UNDEFINED and same_json(stored, result) else result
    if writer.change.full_lists or writer.change.pages:
        note_lists(writer, request)
    if rules.side_effect:
        _follow_change(request, schema, result, writer, is_expected=placeholder is not None)
    if rules.list_key is not None:
        _extend_list(request, schema, result, rules.list_key(*args), writer)
    if rules.expires and placeholder is None:
        expire_named(request, writer)
    if rules.update is not None:
        _run_update(rules.update, result, request, writer.change, persistence, is_final=is_final)
    return writer


def _with_sent(response: Any, request: Request, writer: Normalization) -> Any:
    """A response to a change in a generated package, with what was sent where it leaves something out."""
    rules = request.rules
    if not rules.side_effect:
        return response
    if type(response) is Presumed:
        writer.is_certain = not rules.policy.marks_changes
        return response
    return with_sent(response, request, writer)


def _follow_change(
    request: Request, schema: Schema | None, result: Any, writer: Normalization, *, is_expected: bool
) -> None:
    """What a response to a change means for lists, and for records that have another primary key now."""
    if not is_expected:
        rename(request, result, writer)
        if not writer.is_certain:
            keep_whole(writer.change)
            if writer.write_set is not None:
                writer.write_set.keeps_whole = True
    if writer.response is not None or _deletes(request, schema):
        writer.followed = follow(writer, request, schema, result)


def _catch_up(store_state: StoreState, request: Request) -> None:
    """An `update` and a page change what others may have changed, so memory is first brought up to date.

    So does what turns its entity stale: nobody else learns of that by a record that is not known here.
    """
    rules = request.rules
    if store_state.persistence is None:
        return
    if rules.update is not None or rules.list_key is not None:
        store_state.persistence.catch_up()
    if SELF in rules.expires and rules.siblings is not None:
        store_state.persistence.know_value(
            schema_of(rules.siblings.item_schema), rules.entity_args(call_args(request.args))
        )


def _decoded(returns: Schema | None, value: Any, underlying: State, args: tuple[Any, ...]) -> Any:
    """A value that no table takes part in, with what its type converts converted."""
    if returns is None or value is None or not _is_in_wire_form(value):
        return value
    found = Denormalization(underlying, args, DependencyGraph()).visit(returns, value)
    return None if isinstance(found, Sentinel) else found


def _is_in_wire_form(value: Any) -> bool:
    """Whether a value is JSON through and through; what a `process` made of objects is in Python form already."""
    if isinstance(value, DICT):
        return all(map(_is_in_wire_form, value.values()))
    return all(map(_is_in_wire_form, value)) if isinstance(value, LIST) else type(value) in SCALARS


def _written(schema: Schema, response: Any, request: Request, writer: Normalization) -> Any:
    """Writes a response through its schema; returns the result to store, UNDEFINED for none."""
    if _deletes(request, schema):
        return delete(cast("Invalidate", schema), response, request, writer)
    if type(response) is Presumed:
        writer.response = response = presumed_record(response, request, writer)
        expire_self(request, writer)
    if _is_empty(response, request):
        if request.rules.side_effect:
            without_answer(request, writer)
        return None
    return writer.write(schema, _fitting(schema, response))


def _deletes(request: Request, schema: Schema | None) -> bool:
    """Whether a success means that the record of the request is gone, whatever the response says."""
    return isinstance(schema, Invalidate if request.rules.policy.invalidation_removes else Deletion)


def _is_empty(response: Any, request: Request) -> bool:
    """Whether a response without content counts as a success that says nothing."""
    return response is None and request.rules.empty in ("merge", "none")


def _known_before(cache_reader: CacheReader, request: Request, writer: Normalization, response: Any) -> Any:
    """The value of a delete: the entity as it was known."""
    store_state = cache_reader.store_state
    store_state.refresh()
    base = store_state.base
    reader = reader_of(base, request.args, store_state.memo if store_state.view is base else DependencyGraph())

    def read(schema: EntitySchema, pk: str) -> Any:
        found = reader.read(schema, pk)
        return None if isinstance(found, Sentinel) else found

    return known_before(writer.deleted, response, request, read)


def _extend_list(request: Request, schema: Schema | None, page: Any, key: str, writer: Normalization) -> None:
    """What a page says beside its items, such as where the next page is, its list says from then on.

    The list is as fresh as its last page, unless it was told to be stale, or its last fetch failed. What came after the
    page stays as it is.
    """
    change = writer.change
    declared = list_result(schema, page, request.args) if isinstance(page, dict) else UNDEFINED
    if writer.write_set is not None:
        writer.write_set.page = key, declared
    stored, meta = change.result(key), change.key_meta(key)
    if stored is UNDEFINED or meta is None or meta.date > change.times.date:
        return
    if isinstance(stored, dict) and declared is not UNDEFINED:
        change.results[key] = declared
    if meta.error is not None or meta.expires_at <= 1:
        return
    if request.rules.policy.joins_refresh:
        change.key_metas[key] = ResultMeta(change.times, prev_expires_at=meta.expires_at, rules=meta.rules)
        return
    # A list that is made of pages is as old as the oldest of them.
    times = change.times
    fetched_at, until = min(meta.fetched_at, times.fetched_at), min(meta.expires_at, times.expires_at)
    received, is_complete = _received(writer)
    here, there = received or {}, meta.received or {}
    change.key_metas[key] = ResultMeta(
        Meta(fetched_at, times.date, until),
        prev_expires_at=meta.expires_at,
        rules=meta.rules,
        received={table: there.get(table, frozenset()) | here.get(table, frozenset()) for table in {**there, **here}},
        is_complete=meta.is_complete and is_complete,
        number=min(meta.number, times.fetched_at),
    )


_LISTS: Final = frozenset({List, Array, Values})
"""Of what these hold, values that do not decode are left out."""


def echo(cache_reader: CacheReader, request: Request, writer: Normalization, response: Any) -> Any:
    """The value of a fetch: the response in its own shape, in which every entity is the instance that a read gives."""
    schema, store_state = request.rules.schema, cache_reader.store_state
    if schema is None:
        return writer.change.results[request.key]
    store_state.refresh()
    base, view = store_state.base, store_state.view
    if type(schema) is EntitySchema and type(writer.result) is str and view is base:
        stored = base.get(schema.model.key, writer.result)
        if type(stored) is schema.model.cls:
            return stored
    if (
        request.rules.policy.gives_own_response and view is not base
    ):  # a call gives the state before a change that is under way
        reader = cache_reader.reader_of_base(request.args)
    else:
        reader = reader_of(view, request.args, store_state.memo)
    with store_state.hooks:
        value = Echo(writer, reader).visit(schema, response)
    return None if isinstance(value, Sentinel) else value


def _may_fail(schema: Schema | None) -> bool:
    """Whether the value of a fetch may fail to be made of what was stored: then who brought that is to hear of it.

    Benchmark: `set_response` of its data into a fresh store.
    """
    return _is_risky(schema, set(), in_list=False)


def _is_risky(schema: Schema | None, seen: set[tuple[int, bool]], *, in_list: bool) -> bool:
    """Whether making a value may fail; where it is `in_list`, one that does not decode is left out."""
    place = id(schema), in_list
    if schema is None or place in seen:
        return False
    seen.add(place)
    children: Iterable[Any] = schema.children()
    if isinstance(schema, EntitySchema):
        model = schema.model
        converted = model.codecs.keys() - {relation.name for relation in model.relations}
        if model.validate or model.from_js or model.create_if_valid or model.whole or (converted and not in_list):
            return True
        children = map(resolved, model.relations)
    elif isinstance(schema, Collection):
        children = (schema.inner,)
    elif type(schema) in _LISTS:
        in_list = True
    elif not (type(schema) in (Object, Lazy) or isinstance(schema, Adder)):
        return True
    return any(isinstance(child, Relation) or _is_risky(child, seen, in_list=in_list) for child in children)


def shown(cache_reader: CacheReader, request: Request) -> Any:
    """The value of a fetch that was answered as before: what the store has of it."""
    store_state, schema = cache_reader.store_state, request.rules.schema
    store_state.refresh()
    result = store_state.base.result(request.key)
    if schema is None:
        return result
    with store_state.hooks:
        value = reader_of(store_state.view, request.args, store_state.memo).visit(schema, result)
    return None if isinstance(value, Sentinel) else value


def _own_value(request: Request, writer: Normalization, response: Any) -> Any:
    """The value of a fetch as it would be were this response the last that came."""
    if request.rules.schema is None:
        return read_only(response)
    value = Echo(writer, Denormalization(writer.change, request.args)).visit(request.rules.schema, response)
    return None if isinstance(value, Sentinel) else value


def _fitting(schema: Schema, value: Any) -> Any:
    """A value for a schema as it is, if it is an object or a list. Raises ProcessingError for anything else."""
    if isinstance(value, (DICT, LIST, TUPLE, MAPPING)) or is_instance(value):
        return value
    if isinstance(schema, Invalidate) and type(value) in (str, int, float) and value != "":
        return value
    if schema.takes_scalars and type(value) in SCALARS:
        return value
    raise ProcessingError(
        f"expected an object or a list, found {value!r:.100}; an endpoint whose response holds no entity has "
        "schema=None, or a process() that returns the object"
    )


def _run_update(
    update: Callable[..., Any],
    result: Any,
    request: Request,
    change: ChangeSet,
    persistence: PersistencePort | None,
    *,
    is_final: bool,
) -> None:
    """Runs the endpoint's `update`: each of its functions makes a key's new result from the current one.

    Where nobody knows here what that is, as it lies in a storage that is far away, the function does not run: the key
    is invalidated, here and in the storage, so that whoever reads it next asks the network.
    """
    args, key = request.args, request.key
    try:
        updaters: Mapping[str, Callable[[Any], Any]] = update(None if result is UNDEFINED else read_only(result), *args)
        pairs = list(updaters.items())
    except Exception:
        logger.exception("%s: update failed; the response itself stays applied", key)
        return
    for other, updater in pairs:
        current = change.result(other)
        if persistence is not None and (current is UNDEFINED or persistence.is_unverified(other)):
            if not persistence.finds(other, asks=is_final):
                if is_final:
                    times = Meta(change.times.fetched_at, change.times.date, 0)
                    change.key_metas[other] = ResultMeta(times, invalidated=True)
                continue
            current = change.result(other)  # it may have been loaded
        try:
            change.results[other] = read_only(updater(None if current is UNDEFINED else read_only(current)))
        except Exception:
            logger.exception("%s: update of %s failed; the other updates still run", key, other)


def _not_awaitable(value: Any, request: Request, hook: str) -> Any:
    if hasattr(value, "__await__"):
        if hasattr(value, "close"):
            value.close()
        raise TypeError(f"{request.endpoint.name}: {hook} returned an awaitable; it must be a plain function")
    return value


# -- errors ------------------------------------------------------------------------------------------------------------


def _failed(store_state: StoreState, request: Request, error: Exception, meta: Meta) -> ChangeSet:
    """An error as the change that it makes: it is recorded at its key, with the endpoint's policy for it."""
    key, error_policy = request.key, request.rules.error_policy
    policy = None
    if error_policy is not None:
        try:
            with store_state.hooks:
                policy = _checked_policy(_not_awaitable(error_policy(error), request, "error_policy"))
        except Exception:
            logger.exception("%s: error_policy failed; the error counts as hard", key)
    change = ChangeSet(store_state.base, meta)
    before = store_state.base.key_meta(key)
    terms = None if before is None else before.terms
    change.key_metas[key] = ResultMeta(meta, error=kept(error), error_policy=policy, terms=terms, rules=request.rules)
    return change


def _checked_policy(policy: Any) -> str | None:
    if policy not in (None, "soft", "hard"):
        raise ValueError(f"error_policy returned {policy!r}; expected 'soft', 'hard' or None")
    return cast("str | None", policy)


def _misfit(error: Exception, request: Request, response: Any) -> ProcessingError:
    schema = request.rules.schema
    title = "no schema" if schema is None else f"{type(schema).__name__.removesuffix('Schema')} of {schema.title}"
    made = "; the change was made, and what it may have changed is stale" if request.rules.side_effect else ""
    return ProcessingError(
        f"{request.label_with_status}: the response does not fit its schema ({title}): {error}{made}", response=response
    )


def _error_times(action: actions.SetResponse) -> Meta:
    """A response that does not fit its schema lives as long as an error."""
    expires_at = action.error_expires_at
    if expires_at is None:
        length = action.request.rules.error_expiry_length
        expires_at = action.meta.date + (1000 if length is None else length)
    return Meta(action.meta.fetched_at, action.meta.date, expires_at)


# -- keys --------------------------------------------------------------------------------------------------------------


def _invalidated(store_state: StoreState, keys: list[str]) -> Transition:
    metas: dict[str, ResultMeta] = {}
    for key in keys:
        meta = store_state.base.key_meta(key)
        metas[key] = (
            ResultMeta(Meta(0, 0, 0), invalidated=True) if meta is None else meta.with_expiry(0, invalidated=True)
        )
    effects = Transition()
    effects.keys = metas
    effects.drops_results = True
    return effects
