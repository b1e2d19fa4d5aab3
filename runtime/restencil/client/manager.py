"""The protocol of managers: what stands between a controller's operations and the store (§1.1).

Each operation is an action (`restencil.actions`). A controller hands it to its first manager, and each manager hands it
to the next; behind the last one the store applies it. A manager may look at an action before and after, replace it,
send further ones, or keep it to itself:

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
    from ..cache.actions import Action
    from .controller import AnyController

#: The next manager, or the store: takes an action, gives what became of it.
Next: TypeAlias = "Callable[[Action], Any]"


class Manager(Protocol):
    """A component that observes or intercepts actions. Subclass it and override what is needed, or write the three.

    A manager belongs to one controller at a time. Its order in the controller's list is its place in the chain.
    """

    def init(self, controller: AnyController, /) -> None:
        """The controller opens: called once before any action, and again each time a closed controller opens."""

    def cleanup(self) -> None:
        """The controller closes: stop timers, threads and tasks; write nothing to the store any more."""

    def handle(self, action: Action, next: Next, /) -> Any:
        """One action passes. Returns what `next(action)` gives, unless it answers in its place.

        A `Fetch` gives the request in flight, a `SetResponse` the value of the fetch (§7.2), everything else None.
        Runs in whatever thread the action comes from; the store's lock is not held.
        """
        return next(action)


def serves_one(manager: Manager, present: AnyController | None, new: AnyController) -> None:
    """RuntimeError for a manager that is given to a second controller while the first one is open."""
    if present is not None and present is not new:
        raise RuntimeError(f"this {type(manager).__name__} serves another controller; make one for each controller")
