"""The reducer of errors: it records a failed request at its key, and marks what it may have changed as stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ..base.errors import AbortError, PreconditionFailedError, ProcessingError, kept, response_status
from ..base.logs import logger
from ..base.values import Meta
from .change_effects import failed, gone, unread
from .stages.entity_tags import refuse_tag
from .stages.races import note_change
from .staleness import StaleSet
from .tables import ChangeSet, ResultMeta
from .transaction import Transaction, without_response
from .transition import Failure, NoWrite, WriteChange

if TYPE_CHECKING:
    from . import actions
    from .change_effects import ChangeEffects
    from .reader import CacheReader
    from .request import Request
    from .store_state import StoreState
    from .transition import Transition

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
            tx.stale = StaleSet(f"the server has another version: {request.label}")
            tx.stale.cells.update(transition.untagged)
    _note_failure(tx, action)
    transition.stale, transition.touched = tx.stale, tx.touched
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
        dropped = NoWrite(Failure(failure), ended=action.fetch_id, notifies=False)
        note_unread(reader, action, dropped)
        return dropped
    change = _recorded(store_state, request, failure, _error_times(action))
    transition = WriteChange(change, Failure(failure), ended=action.fetch_id)
    note_unread(reader, action, transition)
    return transition


def note_unread(reader: CacheReader, action: actions.SetResponse, transition: Transition) -> None:
    """Collect what a mutation makes stale whose response is not stored, as if the response was empty."""
    if action.request.rules.side_effect:
        tx = without_response(reader, action.request, action.meta, is_created=action.created)
        note_change(tx, unread(tx))
        transition.stale, transition.touched = tx.stale, tx.touched


def is_current(reader: CacheReader, action: actions.SetResponse | actions.SetError) -> bool:
    """Return whether the data of an action is stored: not if the store was reset since its request was sent."""
    is_old = action.resets is not None and action.resets != reader.store_state.resets
    return action.request.rules.read.is_stored and not is_old


def failure_effects(tx: Transaction, action: actions.SetError) -> ChangeEffects | None:
    """Return the effects of a failed mutation; None if it was never sent."""
    status = response_status(action.error)
    if action.may_be_done:
        return failed(tx, None)
    return None if status is None else failed(tx, status)


def _note_failure(tx: Transaction, action: actions.SetError) -> None:
    """Collect what a failed request makes stale."""
    siblings = tx.request.rules.siblings
    if tx.request.rules.side_effect:
        made = failure_effects(tx, action)
        if made is not None:
            note_change(tx, made)
    elif response_status(action.error) in (404, 410) and siblings is not None and siblings.is_item(tx.request.url):
        tx.stale = gone(tx)


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
