"""Renewing a token: once for all requests that a 401 answered, however many there are."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import AbortError
from ..base.lazy_imports import logger
from ..base.steps import HookCall
from .shared_future import SharedFuture, WaitFor

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..base.errors import NetworkError
    from ..base.steps import Step
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint

#: True within a token refresh: its requests neither refresh nor wait for those that do.
refreshing: Final[ContextVar[bool]] = ContextVar("restencil_refreshing", default=False)


class Refresh(SharedFuture[None]):
    """One call of a `refresh` hook; `finished` orders its end among the starts of requests."""

    __slots__ = ("abandoned", "finished", "renewed")

    def __init__(self, store: Store, *, blocking: bool) -> None:
        super().__init__(store)
        self.own(blocking=blocking)
        self.renewed = False
        self.abandoned = False
        self.finished = 0


def refresh_token(
    store: Store, endpoint: Endpoint[..., Any], error: NetworkError, started: int, *, blocking: bool
) -> Generator[Step, Any, bool]:
    """Steps: renews the token once for all requests that started before that was done; False where that failed.

    `error` is the 401, `started` the id that the store gave when its request began.
    """
    hook: Any = endpoint.refresh
    identity = getattr(hook, "__func__", hook)
    while True:
        with store.lock:
            last: Refresh | None = store.in_flight.refreshes.get(identity)
            if last is None or (last.done and (last.abandoned or last.finished < started)):
                mine = store.in_flight.refreshes[identity] = Refresh(store, blocking=blocking)
                break
        if last.done:
            return last.renewed
        if blocking and last.owned_here:
            mine = Refresh(store, blocking=blocking)
            break
        yield WaitFor(last)
    outer = refreshing.get()
    refreshing.set(True)
    try:
        mine.renewed = bool((yield HookCall(endpoint.name, "refresh", hook, (error,))))
    except AbortError:
        mine.abandoned = True
        raise
    except Exception:
        logger.exception("refresh of endpoint %r failed; its 401 stands", endpoint.name)
    except BaseException:
        mine.abandoned = True
        raise
    finally:
        refreshing.set(outer)
        try:
            mine.finished = store.next_id()
            mine.settle()
        except BaseException:  # whatever comes between: who waits would wait for ever
            mine.settle()
            raise
    return mine.renewed


def forget_refreshes(store: Store) -> None:
    """This is a forked process: what other threads were renewing stays with the parent."""
    for hook, last in list(store.in_flight.refreshes.items()):
        if not (last.done or last.owned_here):
            del store.in_flight.refreshes[hook]
