"""The reducers of responses (received, revalidated, optimistic, from another store of the client) and of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ..base.errors import AbortError, ConversionError, PreconditionFailedError, ProcessingError, kept, response_status
from ..base.logs import logger
from ..base.values import INVALID, UNDEFINED, Meta, copy_in
from . import actions
from .change_effects import elsewhere, failed, gone, unread
from .denormalize import Denormalization
from .request import call_args
from .response_record import conditional, record_of_response
from .response_value import deleted_value, echo, may_fail, overtaken_value, own_value, read_back
from .snapshot import Snapshot
from .stages.entity_tags import refuse_tag, tags_of
from .stages.list_membership import extend_list
from .stages.mutation import complete_response, follow_change, withdraw_values
from .stages.normalization import normalize_response, validate_response
from .stages.other_results import run_update
from .stages.races import contents_of, note_freshness, note_overlaps
from .tables import ChangeSet, ResultMeta, Tables
from .transaction import Source, Transaction, without_response
from .transition import NoWrite, WriteChange

if TYPE_CHECKING:
    from collections.abc import Callable

    from .reader import CacheReader
    from .request import Request
    from .store_state import StoreState
    from .tables import State
    from .transition import Transition


def set_response(reader: CacheReader, action: actions.SetResponse) -> Transition:
    """Normalize a response into the tables; a response that does not match its schema becomes an error.

    If the store was reset since the request, nothing is stored, and the value of the call is built from the response
    alone.
    """
    store_state, request = reader.store_state, action.request
    rules, persistence = request.rules, store_state.persistence
    if persistence is not None and (rules.response.update is not None or rules.lists.list_key is not None):
        persistence.catch_up()  # other processes may have changed the data that it changes
    is_fetched, is_stored = action.fetch_id is not None, is_current(reader, action)
    response = action.response if is_fetched else copy_in(action.response)
    try:
        with store_state.hooks:
            tx = Transaction(
                reader,
                request,
                response,
                action.meta,
                store_state.base if is_stored else Tables(),
                source=Source.RECEIVED if is_stored else Source.OUTDATED,
                fetch_id=action.fetch_id,
                owns_response=request.rules.response.owns_response or not is_fetched,
                is_assumed=action.assumed,
                is_created=action.created,
            )
            _process(tx)
            known = deleted_value(tx, response) if request.rules.deletes else UNDEFINED
    except Exception as error:
        return misfit(reader, action, response, error)
    if not is_stored:
        with store_state.hooks:
            value = known
            if known is UNDEFINED:
                value = own_value(request, tx.writer, tx.response, Denormalization(tx.change, request.args))
        transition = NoWrite(lambda: value, ended=action.fetch_id, notifies=False)
        note_unread(reader, action, transition)
        return transition
    key, before = request.key, store_state.base.key_meta(request.key)
    contents = contents_of(tx.writer)
    tx.change.key_metas[key] = ResultMeta(
        action.meta,
        prev_expires_at=None if before is None else before.expires_at,
        terms=action.terms,
        rules=request.rules,
        contents=contents,
        is_complete=contents is None or not contents.referred,
    )
    return _written(tx, action, _outcome(tx, action, known))


def _process(tx: Transaction) -> None:
    """Run the stages of a response: it is normalized, and what follows from it is added to the transaction."""
    rules = tx.request.rules
    validate_response(tx)
    if rules.side_effect:
        complete_response(tx)
    elif rules.strict:
        withdraw_values(tx)
    normalize_response(tx)
    if rules.side_effect:
        follow_change(tx)
    if rules.lists.list_key is not None:
        extend_list(tx)
    if rules.response.update is not None:
        run_update(tx)
    if rules.side_effect or rules.strict:
        note_freshness(tx)


def _outcome(tx: Transaction, action: actions.SetResponse, known: object) -> Callable[[], object]:
    """Return what returns the value of the call; if it was set by hand, it is built only if it is used or may fail."""
    rules = tx.request.rules
    if known is UNDEFINED and action.fetch_id is not None and rules.strict and rules.schema is not None:
        known = overtaken_value(tx)
    if known is UNDEFINED and action.fetch_id is None and not (action.wanted or rules.analyze(may_fail)):
        known = None
    return (lambda: _echoed(tx)) if known is UNDEFINED else (lambda: known)


def _echoed(tx: Transaction) -> object:
    """Return the value of a call. Raises ConversionError, which says of a change that it was made."""
    try:
        return echo(tx.reader, tx.request, tx.writer, tx.response)
    except ConversionError as error:
        if not tx.request.rules.side_effect:
            raise
        failure = ConversionError(f"{error}; the change was made")
        failure.field = error.field
        raise failure from error


def _written(tx: Transaction, action: actions.SetResponse, outcome: Callable[[], object]) -> WriteChange:
    """Return the transition that commits a received response."""
    request, rules, change, validators = tx.request, tx.request.rules, tx.change, action.validators
    transition = WriteChange(change, outcome, ended=action.fetch_id)
    transition.write_set = tx.writer.write_set
    transition.is_stored = bool(rules.persistence.persist) and action.stored
    tx.note(transition)
    is_known = action.fetch_id is not None and request.key in tx.store_state.response_records
    if action.mark is not None or validators is not None or is_known:
        transition.record = request.key, record_of_response(action, change)
    if validators is not None and rules.mutation.concurrency is not None:
        transition.tags = tags_of(tx, validators)
    return transition


def freshen(reader: CacheReader, action: actions.Freshen) -> Transition:
    """Refresh the times of the last response of a key if its data is unchanged since.

    The action's value is that of a read of the request; UNDEFINED if the data has changed.
    """
    store_state, request = reader.store_state, action.request
    record = store_state.response_records.get(request.key)
    is_old = action.resets is not None and action.resets != store_state.resets
    if record is None or is_old or not record.is_of(action.mark):
        return NoWrite(lambda: UNDEFINED, notifies=False)
    change = record.freshened(request.key, store_state.base, action.meta, action.terms)
    if change is None:
        return NoWrite(lambda: UNDEFINED, notifies=False)
    validators = action.validators
    transition = WriteChange(change, lambda: read_back(reader, request, change), ended=action.fetch_id)
    transition.record = request.key, record.with_validators(conditional(validators))
    before = store_state.base.key_meta(request.key)
    if before is not None:
        change.key_metas[request.key].contents = before.contents
        change.key_metas[request.key].is_complete = before.is_complete
    tx = Transaction(
        reader, request, None, action.meta, store_state.base, source=Source.RECEIVED, fetch_id=action.fetch_id
    )
    if validators is not None and request.rules.mutation.concurrency is not None:
        transition.tags = tags_of(tx, validators)
    tx.writer.change = tx.change = change
    note_freshness(tx)
    tx.note(transition)
    return transition


def expected_change(reader: CacheReader, action: actions.Fetch, underlying: State) -> ChangeSet:
    """Return the changes of a fetch's optimistic response over a state, as if it was received."""
    request = action.request
    respond = request.rules.mutation.get_optimistic_response
    if respond is None:
        return ChangeSet(underlying, action.meta)
    snapshot = Snapshot(reader, underlying, action.meta.fetched_at)
    response = copy_in(not_awaitable(respond(snapshot, *call_args(request.args)), request, "get_optimistic_response"))
    tx = Transaction(
        reader, request, response, action.meta, underlying, source=Source.EXPECTED, fetch_id=action.fetch_id
    )
    _process(tx)
    before = underlying.key_meta(action.key)
    tx.change.key_metas[action.key] = ResultMeta(
        action.meta, prev_expires_at=None if before is None else before.expires_at
    )
    return tx.change


def hear(reader: CacheReader, action: actions.PeerMutated) -> Transition:
    """Expire the data that a response to another store has changed, and delete what it deleted.

    The action's value is whether the store had any of this data.
    """
    answer = action.answer
    base, request = reader.store_state.base, answer.request
    if isinstance(answer, actions.SetError):
        tx = without_response(reader, request, answer.meta)
        _mark_failed(tx, answer)
        return _stale_only(tx) if tx.stale else NoWrite(lambda: False, notifies=False)
    try:
        with reader.store_state.hooks:
            tx = Transaction(
                reader,
                request,
                answer.response,
                answer.meta,
                base,
                source=Source.PEER,
                is_assumed=answer.assumed,
                is_created=answer.created,
            )
            _process(tx)
    except Exception as error:
        logger.debug("%s: its changes could not be applied to another store of the client: %s", request.key, error)
        return _stale_only(without_response(reader, request, answer.meta))
    theirs = tx.change
    # The requests of the two stores have numbers of their own.
    change = ChangeSet(base, theirs.times._replace(fetched_at=reader.store_state.next_number()))
    known = any(base.get(*path) is not UNDEFINED for path in theirs.cells())
    for table, pk in theirs.cells():
        if theirs.get(table, pk) is INVALID:
            change.write(table, pk, INVALID, change.times)
    for key in {**theirs.key_metas, **theirs.results}:
        meta = None if key == request.key else base.key_meta(key)
        if meta is not None:
            change.key_metas[key] = meta.with_expiry(1)
    elsewhere(tx)
    was_there = bool(known or change.key_metas)
    transition = WriteChange(change, lambda: was_there, notifies=was_there or bool(tx.stale))
    tx.note(transition)
    return transition


def _stale_only(tx: Transaction) -> Transition:
    """Return the effects of a mutation of another store if only its request is known."""
    elsewhere(tx)
    transition = NoWrite(lambda: bool(tx.stale), notifies=bool(tx.stale))
    tx.note(transition)
    return transition


_CONDITIONAL: Final = (304, 412)
"""The statuses of reads that respond to a condition in their headers, and say nothing of calls without it."""


def set_error(reader: CacheReader, action: actions.SetError) -> Transition:
    """Record an error, unless the fetch was aborted or the store was reset since."""
    request, error, store_state = action.request, action.error, reader.store_state
    tx = without_response(reader, request, action.meta)
    is_recorded = is_current(reader, action)
    transition: NoWrite | WriteChange = NoWrite(ended=action.fetch_id, notifies=is_recorded)
    is_conditional = not request.rules.side_effect and response_status(error) in _CONDITIONAL
    if is_recorded and isinstance(error, Exception) and not isinstance(error, AbortError) and not is_conditional:
        transition = WriteChange(_recorded(store_state, request, error, action.meta), ended=action.fetch_id)
        if isinstance(error, PreconditionFailedError) and request.rules.mutation.concurrency is not None:
            refused = without_response(reader, request, action.meta)
            refused.writer.change = refused.change = transition.change
            transition.untagged = refuse_tag(refused)
            tx.stale.event = f"the server has another version: {request.label}"
            tx.stale.cells.update(transition.untagged)
    if request.rules.side_effect:
        if _mark_failed(tx, action):
            note_overlaps(tx)
    elif response_status(error) in (404, 410):
        gone(tx)
    tx.note(transition)
    return transition


def misfit(reader: CacheReader, action: actions.SetResponse, response: object, error: Exception) -> Transition:
    """Record a response that cannot be stored as an error, which the action raises."""
    request, store_state = action.request, reader.store_state
    failure = _misfit_error(error, request, response)
    failure.__cause__ = error
    # Its text contains a part of the response, which must not be logged.
    kind = type(error).__name__
    logger.warning("%s: the response cannot be stored (%s); the raised error has the reason", request.label, kind)
    if not is_current(reader, action):
        transition: NoWrite | WriteChange = NoWrite(ended=action.fetch_id, notifies=False)
    else:
        change = _recorded(store_state, request, failure, _error_times(action))
        transition = WriteChange(change, ended=action.fetch_id)
    transition.error = failure
    note_unread(reader, action, transition)
    return transition


def note_unread(reader: CacheReader, action: actions.SetResponse, transition: Transition) -> None:
    """Collect what a mutation makes stale whose response is not stored, as if the response was empty."""
    if action.request.rules.side_effect:
        tx = without_response(reader, action.request, action.meta, is_created=action.created)
        unread(tx)
        note_overlaps(tx)
        tx.note(transition)


def is_current(reader: CacheReader, action: actions.SetResponse | actions.SetError) -> bool:
    """Return whether the data of an action is stored: not if the store was reset since its request was sent."""
    is_old = action.resets is not None and action.resets != reader.store_state.resets
    return action.request.rules.read.is_stored and not is_old


def _mark_failed(tx: Transaction, action: actions.SetError) -> bool:
    """Mark what a failed mutation makes stale; return False if it was never sent."""
    status = None if action.may_be_done else response_status(action.error)
    if status is None and not action.may_be_done:
        return False
    failed(tx, status)
    return True


def _recorded(store_state: StoreState, request: Request, error: Exception, meta: Meta) -> ChangeSet:
    """Return the change that records an error at its key, with the endpoint's policy for it."""
    key, error_policy = request.key, request.rules.read.error_policy
    policy = None
    if error_policy is not None:
        try:
            with store_state.hooks:
                policy = _checked_policy(not_awaitable(error_policy(error), request, "error_policy"))
        except Exception:
            logger.exception("%s: error_policy failed; the error counts as hard", key)
    change = ChangeSet(store_state.base, meta)
    before = store_state.base.key_meta(key)
    terms = None if before is None else before.terms
    change.key_metas[key] = ResultMeta(meta, error=kept(error), error_policy=policy, terms=terms, rules=request.rules)
    return change


def not_awaitable(value: Any, request: Request, hook: str) -> object:
    """Return the value of a hook; raise TypeError for an awaitable, because hooks run under the lock of the store."""
    if hasattr(value, "__await__"):
        if hasattr(value, "close"):
            value.close()
        raise TypeError(f"{request.endpoint.name}: {hook} returned an awaitable; it must be a plain function")
    return value


def _checked_policy(policy: Any) -> str | None:
    if policy not in (None, "soft", "hard"):
        raise ValueError(f"error_policy returned {policy!r}; expected 'soft', 'hard' or None")
    return cast("str | None", policy)


def _misfit_error(error: Exception, request: Request, response: object) -> ProcessingError:
    schema = request.rules.schema
    title = "no schema" if schema is None else f"{type(schema).__name__.removesuffix('Schema')} of {schema.title}"
    made = "; the change was made, and what it may have changed is stale" if request.rules.side_effect else ""
    return ProcessingError(
        f"{request.label_with_status}: the response does not fit its schema ({title}): {error}{made}",
        response=response,
    )


def _error_times(action: actions.SetResponse) -> Meta:
    """Return the times of a response that does not match its schema: it expires like an error."""
    expires_at = action.error_expires_at
    if expires_at is None:
        length = action.request.rules.read.error_expiry_length
        expires_at = action.meta.date + (1000 if length is None else length)
    return Meta(action.meta.fetched_at, action.meta.date, expires_at)
