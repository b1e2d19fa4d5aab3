"""Cleaning up when the server says that authorization has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.errors import AbortError, ProcessingError
from ..base.logs import logger
from ..cache.actions import Reset, SetError
from .manager import Manager, Next, client_of, serves_one

if TYPE_CHECKING:
    from ..cache.actions import Action


class LogoutManager(Manager):
    """Resets the store on the first error that means "no longer logged in". Stands first in the list of managers.

        Controller(managers=[LogoutManager(), NetworkManager(), SubscriptionManager()])

    `should_logout(error)` decides, by default `error.status == 401`; `handle_logout(controller)` acts, by default with
    `controller.reset_entire_store()`. Errors of requests that started before the last reset are not looked at, so
    requests that fail together cause one logout. Aborted requests and responses that do not fit their schema do not
    count, and a direct call of an endpoint, outside of any controller, is not seen.
    """

    def __init__(
        self,
        should_logout: Callable[[Any], bool] | None = None,
        handle_logout: Callable[[Any], object] | None = None,
    ) -> None:
        self._should_logout = should_logout or unauthorized
        self._handle_logout = handle_logout or _reset
        self._controller: Any = None
        self._one_at_a_time = threading.RLock()

    def init(self, controller: Any, /) -> None:
        """Remembers whose store is to be cleaned up. RuntimeError where the manager serves another controller."""
        serves_one(self, self._controller, controller)
        self._controller = controller

    def cleanup(self) -> None:
        """Looks at nothing any more."""
        self._controller = None

    def handle(self, action: Action, next: Next, /) -> Any:
        """Passes everything on; looks at errors after the store and the waiting callers have handled them."""
        if type(action) is not SetError:
            return next(action)
        result = next(action)
        controller = self._controller
        if controller is None or isinstance(action.error, (AbortError, ProcessingError)):
            return result
        with self._one_at_a_time:
            if action.resets is None or action.resets == controller.store.resets:
                self._look_at(action.error, controller)
        return result

    def _look_at(self, error: BaseException, controller: Any) -> None:
        try:
            if self._should_logout(error):
                self._handle_logout(client_of(controller))
        except Exception:
            # Whoever fetched is to get the error of the fetch, not that of a function which looked at it.
            logger.exception("a function of LogoutManager failed at %s", type(error).__name__)


def unauthorized(error: Any) -> bool:
    """Whether an error is that of a response with status 401."""
    return getattr(error, "status", None) == 401


def _reset(controller: Any) -> None:
    controller.dispatch(Reset())
