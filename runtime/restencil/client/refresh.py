"""The `refresh` hook of endpoints: a token is renewed once for all requests that failed with 401."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import AbortError
from ..base.logs import logger
from ..base.steps import HookCall
from .in_flight import WaitFor, renewals_of

if TYPE_CHECKING:

    from ..base.errors import NetworkError
    from ..base.steps import StepsOf
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint

#: True within a token refresh: its requests neither refresh nor wait for those that do.
refreshing: Final[ContextVar[bool]] = ContextVar("restencil_refreshing", default=False)


def refresh_token(
    store: Store, endpoint: Endpoint[..., Any], error: NetworkError, started: int, *, blocking: bool
) -> StepsOf[bool]:
    """Steps: renews the token once for all requests that started before that was done; False if that failed.

    `error` is the 401, `started` the id that the store gave when its request began.
    """
    hook: Any = endpoint.refresh
    identity = getattr(hook, "__func__", hook)
    renewals, refreshed = renewals_of(store), store.in_flight.refreshed
    while True:
        ended, renewed = refreshed.get(identity, (0, False))
        if ended > started:
            return renewed
        flight, leads = renewals.join_or_lead(identity, blocking=blocking)
        if leads:
            break
        if blocking and flight.owned_here:  # within the hook: it must not wait for itself
            return (yield from _renewed(endpoint, hook, error))
        with suppress(AbortError):  # it was interrupted: another one has to
            yield WaitFor(flight)
    try:
        renewed = yield from _renewed(endpoint, hook, error)
        with store.lock:
            refreshed[identity] = store.next_id(), renewed
    except BaseException as failure:
        renewals.end(identity, flight, error=failure)
        raise
    renewals.end(identity, flight)
    return renewed


def _renewed(endpoint: Endpoint[..., Any], hook: Any, error: NetworkError) -> StepsOf[bool]:
    """Steps: whether the hook has renewed the token; what it raises is logged, and the 401 stands."""
    outer = refreshing.get()
    refreshing.set(True)
    try:
        return bool((yield HookCall(endpoint.name, "refresh", hook, (error,))))
    except AbortError:
        raise
    except Exception:
        logger.exception("refresh of endpoint %r failed; its 401 stands", endpoint.name)
        return False
    finally:
        refreshing.set(outer)
