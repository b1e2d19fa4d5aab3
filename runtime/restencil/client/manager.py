"""Managers: components between a controller and its store.

Each operation of a controller is an action (`restencil.cache.actions`). The controller passes it to its first manager,
each manager passes it to the next, and the store applies it. A manager may observe, replace or drop an action, or
dispatch further ones:

    class Audit(Manager):
        def handle(self, action, next, /):
            result = next(action)             # applied by the managers after this one and by the store
            if isinstance(action, SetError):
                record(action.key, action.error)
            return result

Managers never block, so the same class works with synchronous and asyncio controllers. A manager for WebSockets or
server-sent events starts a thread or task in `init`, writes with `controller.set_response` or `controller.set`, and
handles the `Subscribe` and `Unsubscribe` actions of the endpoints that it keeps up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from ..base.scheduler import Handle
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store import Store

#: The next manager, or the store: accepts an action and returns its result.
Next: TypeAlias = "Callable[[Action], Any]"


class Manager(Protocol):
    """A component that observes or intercepts actions. Subclass it and override the methods that you need.

    A manager belongs to one controller at a time. Managers see actions in the order of the controller's list.

    After all managers have started, a manager may call every operation of its controller that does not block, from any
    thread: `dispatch`, `set_response`, `set_error`, `set`, `resolve`, `invalidate`, `expire`, `reset_entire_store`, and
    `store` to read and to add listeners. The controller that `init` receives has two methods more, `run_in_background`
    to fetch without waiting and `call_later` for timers.
    """

    def init(self, controller: Any, /) -> None:
        """The controller (a Controller or AsyncController) opens; the argument is a `Managed`.

            self._timer = controller.call_later(5000, self._poll)

        Called once before any action, and again each time a closed controller opens.
        """
        return  # an empty body would be abstract to type checkers

    def cleanup(self) -> None:
        """The controller closes: stop timers, threads and tasks, and stop writing to the store."""
        return

    def handle(self, action: Action, next: Next, /) -> Any:
        """Handle an action: usually pass it on and return `next(action)`.

        The result of a `Fetch` is the request in flight, that of a `SetResponse` or `Freshen` is the fetched value,
        that of all others is None. Runs in the thread that dispatched the action, without the lock of the store.
        """
        return next(action)


class Managed:
    """A controller as its managers see it: all its operations, background fetches and timers.

    `isinstance` treats it as the controller.
    """

    def __init__(self, controller: Any, core: Any) -> None:
        self._controller = controller
        self._core = core

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type[Any]:
            return type(self._controller)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._controller, name)

    def __repr__(self) -> str:
        return repr(self._controller)

    @property
    def store(self) -> Store:
        """The store of the controller."""
        store: Store = self._core.store
        return store

    def run_in_background(self, request: Request, /, *, within: float = 0) -> None:
        """Fetch in the background; errors are stored and logged, never raised.

        `request` is the request of an action, or `endpoint.request(endpoint.bind_args(args, kwargs))`. Does nothing if
        the same request is in flight. If processes share a storage, the response of another process that is at most
        `within` ms old is used instead of a request.
        """
        self._core.refetch(request, within)

    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Call `work` after `delay` milliseconds, unless the returned timer is cancelled.

        It runs on the scheduler of the store, for an AsyncController in its event loop. Raises RuntimeError if an
        AsyncController was never used in an event loop and none is running.
        """
        handle: Handle = self._core.call_later(delay, work)
        return handle


def core_of(controller: Any) -> Any:
    """Return the internal core of a controller, for the managers of this library."""
    return controller._core


def client_of(controller: Any) -> Any:
    """Return the controller itself, given what its managers receive; functions of users are called with it."""
    return controller.__dict__.get("_controller", controller)


def serves_one(manager: Manager, present: object, new: object) -> None:
    """Raise RuntimeError if a manager is added to a second controller while the first one is open."""
    if present is not None and present is not new:
        raise RuntimeError(f"this {type(manager).__name__} serves another controller; make one for each controller")
