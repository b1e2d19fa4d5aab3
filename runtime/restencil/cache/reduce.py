"""The reducers of actions, which compute the effects of an action without changing anything.

A reducer accepts the store's `CacheReader` and an action, and returns the `Transition` that `StoreState.commit`
applies. An error of a user's hook ends it before anything has changed. It runs under the store's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import ProcessingError
from ..base.logs import logger
from ..base.values import Meta, copy_in
from ..schema.entity import as_entity
from ..schema.notation import schema_of
from ..schema.protocol import entity_node
from . import actions
from .denormalize_compiled import reader_of
from .normalize import Normalization
from .responses import freshen, hear, set_error, set_response
from .stages.normalization import fitting
from .staleness import EXPIRED, StaleSet
from .tables import ResultMeta
from .transition import NoWrite, QueueOptimistic, RecordKeys, RemoveEntries, StartOver, WriteChange

if TYPE_CHECKING:
    from .reader import CacheReader
    from .store_state import StoreState
    from .transition import Transition


def fetch(reader: CacheReader, action: actions.Fetch) -> Transition:
    """Queue a fetch with an optimistic response; other fetches change nothing."""
    is_current = action.resets is None or action.resets == reader.store_state.resets
    return QueueOptimistic(action) if is_current and action.request.rules.is_optimistic else NoWrite(notifies=False)


def set_value(reader: CacheReader, action: actions.Set) -> Transition:
    """Write a value into the tables; a function is called with the previous value, if there is one."""
    schema = schema_of(action.schema)
    if schema is None:
        raise TypeError(f"set() got {action.schema!r}; expected a schema")
    store_state, args, value = reader.store_state, action.args, action.value
    store_state.refresh()
    computing = callable(value)
    try:
        with store_state.hooks:
            if computing:
                before = reader.value_in(reader_of(store_state.view, args, store_state.memo), schema, args)
                if before is None:
                    return NoWrite(notifies=False)
                value = value(before)
            computing = False
            writer = Normalization(store_state.base, args, action.meta, where=" (set)")
            if store_state.persistence is not None:
                writer.notes()
            writer.write(schema, fitting(schema, copy_in(value)))
    except Exception as error:
        logger.error("set(%s) failed; the store is unchanged", schema.title)
        if computing or isinstance(error, ProcessingError):
            raise
        raise ProcessingError(f"set({schema.title}): the value does not fit its schema: {error!r}") from error
    transition = WriteChange(writer.change)
    transition.write_set, transition.set_as = writer.write_set, as_entity(entity_node(schema))
    return transition


def invalidate(reader: CacheReader, action: actions.Invalidate) -> Transition:
    """Remove the result of a key, so that the next read fetches; its entities stay."""
    return _invalidated(reader.store_state, [action.key])


def invalidate_all(reader: CacheReader, action: actions.InvalidateAll) -> Transition:
    """Remove the results of all keys that match the test; keys that only have an error stay."""
    store_state = reader.store_state
    with store_state.hooks:
        keys = [key for key in store_state.base.answered_keys() if action.test(key)]
    return _invalidated(store_state, keys)


def _invalidated(store_state: StoreState, keys: list[str]) -> Transition:
    metas: dict[str, ResultMeta] = {}
    for key in keys:
        meta = store_state.base.key_meta(key)
        metas[key] = (
            ResultMeta(Meta(0, 0, 0), invalidated=True) if meta is None else meta.with_expiry(0, invalidated=True)
        )
    return RecordKeys(metas, drops_results=True)


def expire_all(reader: CacheReader, action: actions.ExpireAll) -> Transition:
    """Expire all recorded keys that match the test, including those with errors."""
    store_state = reader.store_state
    with store_state.hooks:
        found = list(store_state.base.key_metas.items())
        transition = RecordKeys({key: meta.with_expiry(1) for key, meta in found if action.test(key)})
    transition.stale = StaleSet(EXPIRED)
    transition.stale.tests.append(action.test)
    return transition


def reset(reader: CacheReader, action: actions.Reset) -> Transition:
    """Remove all data."""
    return StartOver()


def subscription(reader: CacheReader, action: actions.Subscribe | actions.Unsubscribe) -> Transition:
    """Change nothing: managers handle subscriptions."""
    return NoWrite(notifies=False)


def collect(reader: CacheReader, action: actions.Collect) -> Transition:
    """Remove unused data, except data that a live read uses since the policy checked."""
    is_held, persistence = reader.store_state.retention.is_held, reader.store_state.persistence
    paths = [path for path in action.entities if not is_held(path)]
    if persistence is not None:
        paths = [path for path in paths if not persistence.is_pinned(path)]
    return RemoveEntries(paths, [key for key in action.keys if not is_held(key)])


REDUCERS: Final[Mapping[type, Callable[[CacheReader, Any], Transition]]] = {
    actions.Fetch: fetch,
    actions.SetResponse: set_response,
    actions.Freshen: freshen,
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
"""The reducer of each action."""
