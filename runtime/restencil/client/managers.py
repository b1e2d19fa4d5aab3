"""Managers: components between a controller and its store, and those of the library for polling and logout.

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

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ..base.errors import AbortError, ProcessingError
from ..base.logs import logger
from ..cache.actions import Reset, SetError, Subscribe, Unsubscribe
from ..cache.request import Request

if TYPE_CHECKING:
    from ..base.scheduler import Handle
    from ..cache.actions import Action
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
        """Called when the controller (a Controller or AsyncController) opens; the argument is a `Managed`.

            self._timer = controller.call_later(5000, self._poll)

        Called once before any action, and again each time a closed controller opens.
        """
        return  # an empty body would be abstract to type checkers

    def cleanup(self) -> None:
        """Called when the controller closes: stop timers, threads and tasks, and stop writing to the store."""
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


def client_of(controller: object) -> object:
    """Return the controller itself, given what its managers receive; functions of users are called with it."""
    return controller.__dict__.get("_controller", controller)


def serves_one(manager: Manager, present: object, new: object) -> None:
    """Raise RuntimeError if a manager is added to a second controller while the first one is open."""
    if present is not None and present is not new:
        raise RuntimeError(f"this {type(manager).__name__} serves another controller; create one for each controller")


# --- polling ---------------------------------------------------------------------------------------------------------


class ConnectionListener(Protocol):
    """Reports whether there is a network. Listeners are called in any thread, on each change."""

    def is_online(self) -> bool:
        """Whether there is a network now."""
        ...

    def add_online_listener(self, listener: Callable[[], object], /) -> None:
        """Add a function to call whenever the network comes back."""
        return

    def remove_online_listener(self, listener: Callable[[], object], /) -> None:
        """Remove the function."""
        return

    def add_offline_listener(self, listener: Callable[[], object], /) -> None:
        """Add a function to call whenever the network is lost."""
        return

    def remove_offline_listener(self, listener: Callable[[], object], /) -> None:
        """Remove the function."""
        return


class AlwaysOnline(ConnectionListener):
    """The default listener, which always reports that there is a network; so it calls no listener."""

    def is_online(self) -> bool:
        """Return True, because interruptions are not detected."""
        return True


class Subscription(Protocol):
    """The subscription of a SubscriptionManager to one endpoint key; it exists while it has subscribers.

    Custom subscriptions fetch with `controller.run_in_background` and set timers with `controller.call_later`.
    """

    def add(self, frequency: float | None, /) -> None:
        """Add a subscriber."""

    def remove(self, frequency: float | None, /) -> bool:
        """Remove a subscriber; return True if it was the last one, so that the subscription has stopped."""
        raise NotImplementedError

    def cleanup(self) -> None:
        """Stop at once."""


#: Makes the subscription of a key for its first subscriber: (action, controller, connection_listener).
SubscriptionFactory = Callable[[Subscribe, Any, ConnectionListener], Subscription]


_YOUNG: Final = 0.9
"""A response of another process replaces a poll if its age is below this fraction of the poll interval."""


class PollingSubscription(Subscription):
    """Fetches one key periodically, at the smallest interval of its subscribers (`poll_frequency`, ms).

    The first fetch happens `frequency` milliseconds after the stored data was fetched, at once without stored data.
    """

    def __init__(self, action: Subscribe, controller: Any, connection_listener: ConnectionListener) -> None:
        frequency = action.endpoint.poll_frequency
        if frequency is None:
            raise ValueError(f"endpoint {action.endpoint.name!r} has no poll_frequency and cannot be polled")
        self._request = action.request
        self._controller = controller
        self._connection = connection_listener
        self._lock = threading.RLock()
        self._counts: dict[float, int] = {frequency: 1}
        self._frequency: float = frequency
        self._polled: tuple[float, Request] | None = None
        self._first: _Tick | None = None
        self._current: _Tick | None = None
        self._former: _Tick | None = None
        connection_listener.add_online_listener(self._online)
        connection_listener.add_offline_listener(self._offline)
        if connection_listener.is_online():
            self._online()

    @property
    def frequency(self) -> float:
        """The current polling interval in milliseconds, the smallest of all subscribers."""
        return self._frequency

    def add(self, frequency: float | None, /) -> None:
        """Add a subscriber; polling switches to its interval if that is smaller."""
        if frequency is None:
            return
        with self._lock:
            self._counts[frequency] = self._counts.get(frequency, 0) + 1
            if frequency < self._frequency:
                self._switch(frequency)

    def remove(self, frequency: float | None, /) -> bool:
        """Remove a subscriber; polling switches to the smallest interval of the remaining subscribers."""
        with self._lock:
            count = None if frequency is None else self._counts.get(frequency)
            if frequency is None or count is None:
                logger.warning("%s is not polled every %s ms; nothing to unsubscribe", self._request.key, frequency)
                return False
            if count > 1:
                self._counts[frequency] = count - 1
                return False
            del self._counts[frequency]
            if not self._counts:
                self.cleanup()
                return True
            if frequency <= self._frequency:
                self._switch(min(self._counts))
            return False

    def cleanup(self) -> None:
        """Stop all timers."""
        self._connection.remove_online_listener(self._online)
        self._connection.remove_offline_listener(self._offline)
        self._offline()

    def _switch(self, frequency: float) -> None:
        """Switch to another interval; the current timer stays active until the next fetch, to leave no gap."""
        self._frequency = frequency
        if self._first is not None or self._current is None:
            return
        if self._former is not None:
            self._former.cancel()
        self._former = self._current
        self._current = self._tick(self._controller.store.now() + frequency)

    def _online(self) -> None:
        with self._lock:
            self._stop()
            store = self._controller.store
            meta = store.endpoint_meta(self._request.key)
            now = store.now()
            due = now if meta is None else max(now, meta.date + self._frequency)
            self._first = self._tick(due)

    def _offline(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        for tick in (self._first, self._current, self._former):
            if tick is not None:
                tick.cancel()
        self._first = self._current = self._former = None

    def _fired(self, tick: _Tick) -> None:
        with self._lock:
            if tick is not self._first and tick is not self._current and tick is not self._former:
                return
            if self._former is not None:
                self._former.cancel()
            frequency, store = self._frequency, self._controller.store
            meta = store.endpoint_meta(self._request.key)
            if tick is self._first and meta is not None and meta.date >= tick.due and not meta.invalidated:
                self._first = self._tick(meta.date + frequency)  # a read was faster, such as that of `live`
                return
            answered = self._answered_elsewhere(store, frequency) if store.is_persistent else None
            if tick is self._former:
                self._former = None
            else:
                self._first = self._former = None
                begun = max(tick.due, store.now() - frequency) if answered is None else answered
                self._current = self._tick(begun + frequency)
            request = self._polling_request()
        if answered is None:
            self._controller.run_in_background(request, within=_YOUNG * frequency)

    def _answered_elsewhere(self, store: Store, frequency: float) -> float | None:
        """Return when another process received a response (ms), or None if that is not recent enough."""
        key = self._request.key
        meta = store.endpoint_meta(key)
        if meta is None or meta.invalidated or store.origin(key) is None:
            return None
        return meta.date if meta.date > store.now() - _YOUNG * frequency else None

    def _tick(self, due: float) -> _Tick:
        return _Tick(self._controller, due, self._fired)

    def _polling_request(self) -> Request:
        frequency, request = self._frequency, self._request
        if self._polled is None or self._polled[0] != frequency:
            endpoint: Any = request.endpoint
            polled = endpoint.extend(
                data_expiry_length=frequency / 2,
                error_expiry_length=frequency / 10,
                error_policy=_soft,
                key=_fixed(request.key),
            )
            self._polled = (frequency, Request(polled, polled.rules, request.args, request.key))
        return self._polled[1]


class _Tick:
    """A timer of a polling subscription; `due` is when it fires, in milliseconds of the store's clock."""

    __slots__ = ("_handle", "due")

    def __init__(self, controller: Managed, due: float, fired: Callable[[_Tick], object]) -> None:
        self.due = due
        self._handle: Handle = controller.call_later(due - controller.store.now(), lambda: fired(self))

    def cancel(self) -> None:
        self._handle.cancel()


def _soft(error: object) -> str:
    return "soft"


def _fixed(key: str) -> Callable[..., str]:
    def fixed(*args: object) -> str:
        return key

    return fixed


class SubscriptionManager(Manager):
    """Counts subscribers per endpoint key; the first one creates a subscription, the last one ends it.

    `subscription` creates it, by default a PollingSubscription; `connection_listener` reports if there is a network.
    Only endpoints with a `poll_frequency` (milliseconds) are kept up to date.
    """

    def __init__(
        self,
        subscription: SubscriptionFactory = PollingSubscription,
        connection_listener: ConnectionListener | None = None,
    ) -> None:
        self._make = subscription
        self._connection = connection_listener or AlwaysOnline()
        self._subscriptions: dict[str, Subscription] = {}
        self._controller: Any = None
        self._lock = threading.RLock()

    def init(self, controller: Any, /) -> None:
        """Accept subscriptions from now on. Raises RuntimeError if the manager serves another controller."""
        serves_one(self, self._controller, controller)
        self._controller = controller

    def cleanup(self) -> None:
        """Stop all polling and remove all subscriptions."""
        with self._lock:
            self._controller = None
            subscriptions = list(self._subscriptions.values())
            self._subscriptions.clear()
        for subscription in subscriptions:
            subscription.cleanup()

    @property
    def is_used(self) -> bool:
        """Whether there are subscriptions."""
        return bool(self._subscriptions)

    def handle(self, action: Action, next: Next, /) -> Any:
        """Handle Subscribe and Unsubscribe; pass on all other actions."""
        if isinstance(action, Subscribe):
            self._subscribe(action)
            return None
        if isinstance(action, Unsubscribe):
            self._unsubscribe(action)
            return None
        return next(action)

    def _subscribe(self, action: Subscribe) -> None:
        frequency = action.endpoint.poll_frequency
        if frequency is None:
            logger.warning("%s has no poll_frequency; subscribing to it does nothing", action.key)
            return
        with self._lock:
            if self._controller is None:
                raise RuntimeError("this controller is closed; open() it before subscribing")
            subscription = self._subscriptions.get(action.key)
            if subscription is None:
                self._subscriptions[action.key] = self._make(action, self._controller, self._connection)
            else:
                subscription.add(frequency)

    def _unsubscribe(self, action: Unsubscribe) -> None:
        with self._lock:
            subscription = self._subscriptions.get(action.key)
            if subscription is None:
                if self._controller is not None:
                    logger.warning("%s is not subscribed; nothing to unsubscribe", action.key)
            elif subscription.remove(action.endpoint.poll_frequency):
                del self._subscriptions[action.key]


# --- logout ----------------------------------------------------------------------------------------------------------


class LogoutManager(Manager):
    """Resets the store on the first error that means "no longer logged in". Put it first in the list of managers.

        Controller(managers=[LogoutManager(), NetworkManager(), SubscriptionManager()])

    `should_logout(error)` decides, by default `error.status == 401`; `handle_logout(controller)` acts, by default with
    `controller.reset_entire_store()`. Errors of requests that started before the last reset are ignored, so requests
    that fail together cause one logout. Aborted requests and responses that do not match their schema are ignored, and
    so are direct calls of an endpoint without a controller.
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
        """Remember the controller. Raises RuntimeError if the manager serves another controller."""
        serves_one(self, self._controller, controller)
        self._controller = controller

    def cleanup(self) -> None:
        """Stop handling errors."""
        self._controller = None

    def handle(self, action: Action, next: Next, /) -> Any:
        """Pass on every action; check errors after the store and the waiting callers have handled them."""
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

    def _look_at(self, error: BaseException, controller: object) -> None:
        try:
            if self._should_logout(error):
                self._handle_logout(client_of(controller))
        except Exception:
            # The caller must get the error of the fetch, not that of a callback.
            logger.exception("a function of LogoutManager failed at %s", type(error).__name__)


def unauthorized(error: object) -> bool:
    """Whether an error is due to a response with status 401."""
    return getattr(error, "status", None) == 401


def _reset(controller: Any) -> None:
    controller.dispatch(Reset())
