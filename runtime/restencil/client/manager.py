"""The protocol of managers: what stands between a controller's operations and the store.

Each operation is an action (`restencil.cache.actions`). A controller hands it to its first manager, and each manager
hands it to the next; behind the last one the store applies it. A manager may look at an action before and after,
replace it, send further ones, or keep it to itself:

    class Audit(Manager):
        def handle(self, action, next, /):
            result = next(action)             # the store and the managers behind this one are done with it
            if isinstance(action, SetError):
                record(action.key, action.error)
            return result

Managers never wait, so one class serves both worlds: a `WebSocket` or server-sent-events manager starts its own thread
or task in `init`, writes with `controller.set_response` or `controller.set`, and takes Subscribe and Unsubscribe
actions of the endpoints that it keeps up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from ..base.scheduler import Handle
    from ..cache.actions import Action
    from ..cache.request import Request
    from ..cache.store import Store

#: The next manager, or the store: takes an action, gives what became of it.
Next: TypeAlias = "Callable[[Action], Any]"


class Manager(Protocol):
    """A component that observes or intercepts actions. Subclass it and override what is needed, or write the three.

    A manager belongs to one controller at a time. Its order in the controller's list is its place in the chain.

    Once all managers have started, it may call whatever operation of its controller never waits, in any thread:
    `dispatch` for actions of its own, `set_response`, `set_error`, `set`, `resolve`, `invalidate`, `expire`,
    `reset_entire_store`, and `store` to read and to hear of changes. What is to be fetched without anyone waiting, and
    what is to be done later, `init` is given as well: `controller.run_in_background`, `controller.call_later`.
    """

    def init(self, controller: Any, /) -> None:
        """The controller (a Controller or AsyncController) opens; what is given is a `Managed`.

            self._timer = controller.call_later(5000, self._poll)

        Called once before any action, and again each time a closed controller opens.
        """
        return  # an empty body would be abstract to type checkers

    def cleanup(self) -> None:
        """The controller closes: stop timers, threads and tasks; write nothing to the store any more."""
        return

    def handle(self, action: Action, next: Next, /) -> Any:
        """One action passes. Returns what `next(action)` gives, unless it answers in its place.

        A `Fetch` gives the request in flight, a `SetResponse` the value of the fetch, everything else None.
        Runs in whatever thread the action comes from; the store's lock is not held.
        """
        return next(action)


class Managed:
    """A controller as its managers know it: all its operations, and what is done where nobody waits.

    `isinstance` shows the kind of the controller.
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
        """Fetches in the background; errors are recorded in the store and logged, never raised.

        `request` is that of an action, or `endpoint.request(endpoint.bind_args(args, kwargs))`. Does nothing where the
        same request is in flight. Where processes share a storage, an answer that another one got from now on will do,
        or one that it got `within` so many ms before.
        """
        self._core.refetch(request, within)

    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Does `work` after `delay` milliseconds, unless the timer that it returns is cancelled.

        It is done on the store's scheduler, for an AsyncController in its event loop. Raises RuntimeError where an
        AsyncController was never used in a loop and none is running.
        """
        handle: Handle = self._core.call_later(delay, work)
        return handle


def core_of(controller: Any) -> Any:
    """What stands behind a controller, for the managers of this library."""
    return controller._core


def client_of(controller: Any) -> Any:
    """The controller itself, of what its managers are given: for functions of users."""
    return controller.__dict__.get("_controller", controller)


def serves_one(manager: Manager, present: object, new: object) -> None:
    """RuntimeError for a manager that is given to a second controller while the first one is open."""
    if present is not None and present is not new:
        raise RuntimeError(f"this {type(manager).__name__} serves another controller; make one for each controller")
