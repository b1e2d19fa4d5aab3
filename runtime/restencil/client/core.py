"""The internals of a controller, which its operations, live reads, pagination and managers use."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, cast

from ..base.errors import AbortError, InvalidDataError, ResetError, StatusError, copy_of
from ..base.logs import logger
from ..base.steps import Outcome
from ..base.values import is_mapping, kind_of
from ..cache.actions import WHAT_IS_FRESH, Action, Fetch, Meta
from ..cache.policy import Decision, EndpointState
from ..cache.store import Store
from ..endpoint.resource import Resource
from ..http.schemes import SHORT
from .conditional_requests import refuse_unseen
from .in_flight import InFlight, response_of
from .managers import LogoutManager, Managed, SubscriptionManager
from .network import NetworkManager

if TYPE_CHECKING:
    from typing import Self

    from ..base.response import Response
    from ..base.scheduler import Handle
    from ..base.steps import Steps, StepsOf
    from ..cache.policy import Reading
    from ..cache.request import EndpointLike, Request
    from ..endpoint.call_options import ViewOptions
    from ..endpoint.endpoint import Endpoint
    from ..http.auth import Preparation
    from .managers import Manager
    from .retry import Retries

    Managers: TypeAlias = Sequence[Manager] | Callable[[], Sequence[Manager]]
    "The managers of a client, or a function that creates them and is called for each of its partitions too."

# --- the core --------------------------------------------------------------------------------------------------------


_OWN_MANAGERS: Final = frozenset({NetworkManager, SubscriptionManager, LogoutManager})


class _Live(Protocol):
    """The methods of live reads that their controller calls."""

    def close(self) -> None: ...
    def revalidate(self) -> None: ...


class Views(Protocol):
    """The views and partitions of a client, as its core uses them."""

    base: Any

    def view(
        self, base: Any, headers: Any, query: Any, timeout: Any, retries: Any, token: Any, vary: Any, /
    ) -> Any: ...
    def open(self) -> None: ...
    def stop(self) -> None: ...


class Core(ABC):
    """The managers of a controller, the chain of actions through them, and fetches through the cache.

    The subclasses for blocking code and for asyncio send requests and wait for them. `dispatch` passes an action to the
    first manager, and so to the store.
    """

    #: Whether calls block their thread; False for asyncio.
    is_blocking: ClassVar[bool]

    def __init__(
        self,
        store: Store,
        managers: Managers | None,
        retries: int | Retries | None,
        preparation: Preparation | None,
        transport: Any,
    ) -> None:
        self.store = store
        if retries is not None:
            from .retry import checked_retries

            retries = checked_retries(retries, "retries")
        self.retries = retries
        self.transport = transport
        self._given_managers = managers
        self.managers: tuple[Manager, ...] = _made_managers(managers)
        self.opened = False
        self._managed: Managed | None = None
        """The controller in the form that its managers receive."""
        self.views: Views | None = None
        """The views of the client; None until the first one is created."""
        self.views_of_it: weakref.WeakSet[Any] = weakref.WeakSet()
        """The views that use this core."""
        self.host: Callable[[], Any] | None = None
        """Returns the client, or None if it was garbage collected."""
        self.home: Any = None
        """For a partition: the view that its managers receive as their controller."""
        self.credential: Hashable = None
        """For a partition: its token, if it differs from the client's own."""
        self.names: tuple[str, ...] = ()
        """For a partition: the names of the headers that select it."""
        self.network = next((m for m in self.managers if isinstance(m, NetworkManager)), None)
        self.lifetimes = self.network or NetworkManager()
        self.preparation = preparation
        self._lives: weakref.WeakSet[_Live] = weakref.WeakSet()
        self.dispatch: Callable[[Action], Any] = self.store.apply
        for manager in reversed(self.managers):
            self.dispatch = _link(manager, self.dispatch)
        self.sends_alone = (
            self.network is not None
            and [manager for manager in self.managers if _looks_at_requests(manager)] == [self.network]
            and type(self.network).handle is NetworkManager.handle
        )
        """Whether the NetworkManager of the library is the only manager that handles fetches and responses."""

    # resources

    def resource(self, name: str) -> object:
        """Return the class of the client's resource with this name, or None."""
        client = self.home if self.home is not None or self.host is None else self.host()
        found = None if client is None else getattr(client, name, None)
        return kind_of(cast("object", found)) if isinstance(found, Resource) else None

    # opening and closing
    def open(self, controller: object) -> None:
        """Start the managers for this controller, unless they are running."""
        if self.opened:
            return
        self.opened = True
        if self._managed is None:
            self._managed = Managed(controller, self)
        for manager in self.managers:
            manager.init(self._managed)
        if self.views is not None:
            self.views.open()

    def stop(self) -> None:
        """Close live reads and stop the managers, including those of partitions."""
        self.opened = False
        if self.views is not None:
            self.views.stop()
        for live in list(self._lives):
            live.close()
        for manager in self.managers:
            manager.cleanup()
        self._managed = None

    # partitions

    @property
    def makes_managers(self) -> bool:
        """Whether the argument `managers` is a function."""
        return callable(self._given_managers)

    def managers_anew(self, owner: object) -> tuple[Manager, ...]:
        """Create the managers of a partition. Raises TypeError if the argument `managers` is a list."""
        if self._given_managers is None or callable(self._given_managers):
            return _made_managers(self._given_managers)
        raise TypeError(
            f"a view with {owner!r} has a separate store and needs its own managers; pass managers to the client as a "
            "function that creates them, such as managers=lambda: [NetworkManager(), SubscriptionManager()]"
        )

    @property
    def is_watched(self) -> bool:
        """Whether there are live reads, subscriptions or requests in flight."""
        subscribed = any(isinstance(manager, SubscriptionManager) and manager.is_used for manager in self.managers)
        return bool(subscribed or len(self._lives) or self.store.in_flight.by_id)

    def sibling(self, store: Store, managers: tuple[Manager, ...], transport: Any) -> Self:
        """Return the core of a partition: a copy of this one with another store, managers and transport."""
        return type(self)(store, managers, self.retries, self.preparation, transport)

    def transport_with(self, token: object, *, own_cookies: bool) -> object:
        """Return a transport that sends this token (or a dict of them by scheme) and shares the connections."""
        credentials = token if is_mapping(token) else {SHORT: token}
        preparation = self.preparation
        if preparation is not None:
            preparation = preparation.with_credentials(credentials, is_apart=own_cookies)
        return self.transport.sibling(preparation, own_cookies=own_cookies)

    def transport_of(self, in_flight: InFlight) -> Any:
        """Return the transport of a request."""
        options: ViewOptions | None = in_flight.endpoint.view_options
        return self.transport if options is None or options.transport is None else options.transport

    # live reads and addresses

    def track(self, live: _Live) -> None:
        """Register a live read, to close it with the controller and to revalidate it."""
        self._lives.add(live)

    def revalidate(self) -> None:
        """Fetch each stale live read again."""
        for live in list(self._lives):
            live.revalidate()

    def locate(self, url: str) -> str:
        """Return the URL of a request after replacing the prefixes that the client's arguments override."""
        return url if self.preparation is None else self.preparation.locate(url)

    def address(self, url: str) -> str:
        """Return the absolute URL of a request after replacing its prefix."""
        address: str = self.transport.absolute(self.locate(url))
        return address

    def keeps_up_to_date(self, request: Request) -> bool:
        """Whether a subscription may have an effect, because the endpoint is polled or there are custom managers."""
        endpoint: Any = request.endpoint
        return endpoint.poll_frequency is not None or any(type(m) not in _OWN_MANAGERS for m in self.managers)

    # fetching

    def start(self, request: Request, within: float | None = None) -> object:
        """Start a fetch, or join one of the same identity; return the request in flight, for `complete`.

        Returns a value instead if a manager handles the fetch itself. `within` is the maximum age, in ms, of a response
        of another process that is used instead of a request; None: always send a request.
        """
        store = self.store
        store.check_hook("fetch")
        endpoint: Any = request.endpoint
        options: ViewOptions | None = endpoint.view_options
        if options is not None and options.core is not self and options.core is not None:
            raise RuntimeError(
                f"endpoint {request.endpoint.name!r} belongs to a view of another client; pass the endpoint of the "
                "resource instead"
            )
        request.locator = self
        if request.rules.mutation.concurrency is not None:
            refuse_unseen(store, request)
        fetch_id = store.next_id()
        try:
            number, now = store.next_number(), store.clock()
            meta = Meta(number, now, now + self.lifetimes.data_length(request))
            in_flight = self.dispatch(Fetch(request, fetch_id, meta, store.resets, within))
        except BaseException:
            self.abandon_unsent(store.in_flight.by_id.get(fetch_id))
            raise
        if in_flight is None and self.network is None:
            raise RuntimeError("no manager handled the fetch; add NetworkManager() to managers=[…]")
        return in_flight

    def ask_steps(self, request: Request) -> tuple[InFlight, StepsOf[Response[Any]]]:
        """Return a request that is neither coalesced nor stored, and the steps that return its response."""
        if not self.opened:
            raise RuntimeError("this controller is closed; open() it before the next request")
        store, network = self.store, self.lifetimes
        in_flight = InFlight(network, store, request, request.identity, store.next_id(), store.next_number())
        in_flight.transport = self.transport_of(in_flight)
        return in_flight, self._answer_steps(in_flight)

    def _answer_steps(self, in_flight: InFlight) -> StepsOf[Response[Any]]:
        call = yield from self.lifetimes.fetcher.steps(in_flight, self)
        return response_of(in_flight, None if call is None else call.value)

    def abandon_unsent(self, in_flight: object) -> None:
        """Let an unsent request fail after its sender was interrupted, so that no caller waits for it forever."""
        if isinstance(in_flight, InFlight) and not in_flight.is_sent and not in_flight.done:
            in_flight.sender.abandon(in_flight)

    def refetch(self, request: Request, /, within: float = WHAT_IS_FRESH) -> None:
        """Fetch in the background; errors are stored and logged, never raised."""
        try:
            self.fetch_in_background(request, within)
        except Exception:
            logger.exception("background fetch of %r could not start", request.endpoint.name)

    def fetch_in_background(self, request: Request, within: float = WHAT_IS_FRESH) -> object:
        """Fetch without waiting; return the request in flight, which may be another caller's."""
        store = self.store
        if store.in_flight.joinable:
            present = store.in_flight.joinable.get(request.identity)
            if present is not None and present.alive:
                return present
        in_flight = self.start(request, within)
        try:
            self.complete_in_background(in_flight)
        except BaseException:
            self.abandon_unsent(in_flight)
            raise
        return in_flight

    @abstractmethod
    def complete(self, in_flight: object, /) -> object:
        """Send the request, unless it was sent; return the value of the fetch once it is stored."""

    @abstractmethod
    def complete_in_background(self, in_flight: object) -> None:
        """Send the request of a fetch without waiting for it."""

    @abstractmethod
    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Call `work` after `delay` milliseconds, on the store's scheduler or in the event loop."""

    # reading

    def cached(self, request: Request) -> Any:
        """Return the stored data, stale or not, or None; never sends a request."""
        data = self.store.cached(request)
        if data is None:
            # Arguments are checked only if nothing is found, to keep cached reads fast.
            refuse_empty(request.endpoint, request.args)
        return data

    def state(self, request: Request) -> EndpointState[Any]:
        """Return the current state of the result of a request; never sends a request."""
        store = self.store
        reading = store.read(request)
        joinable = store.in_flight.joinable
        loading = bool(joinable) and not request.inactive and request.identity in joinable
        return EndpointState(reading.usable_data, reading.error, loading, reading.expiry_status, reading.expires_at)

    @abstractmethod
    def read(self, request: Request) -> Any:
        """Read through the cache: return fresh data, or stale data while it is fetched again, else wait for a fetch."""

    def idle_steps(self) -> Steps:
        """Steps: wait until all requests in flight have completed, except those of this thread or its event loop."""
        for in_flight in list(self.store.in_flight.by_id.values()):
            if self.is_blocking and in_flight.owned_here:
                continue
            try:
                yield Outcome("the fetch", self.complete(in_flight))
            except Exception:
                logger.debug("a fetch in flight failed", exc_info=True)


def bind_args_of(endpoint: Endpoint[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]) -> tuple[object, ...]:
    """Bind the arguments of a call. Raises ValueError for `""` as a whole path segment."""
    bound = endpoint.bind_args(args, kwargs)
    refuse_empty(endpoint, bound)
    return bound


def refuse_empty(endpoint: EndpointLike, args: tuple[object, ...]) -> None:
    """Raise ValueError for `""` as a whole path segment, as a request would."""
    if args and type(args[0]) is dict and "" in args[0].values():
        endpoint.request_url(args)


def recorded(reading: Reading) -> BaseException:
    """Return a copy of the stored error of a reading, which is never raised itself."""
    if reading.error is None:
        raise AssertionError("the store reported neither data nor an error")
    return copy_of(reading.error)


def unusable_data(request: Request) -> InvalidDataError:
    """Return the error of a read for which the fetched data is unusable."""
    return InvalidDataError(
        f"{request.label!r} was fetched, but its data cannot be used: the response lacks a value that the schema of "
        f"{request.endpoint.name!r} requires, or it refers to an entity that was deleted"
    )


def _made_managers(given: Managers | None) -> tuple[Manager, ...]:
    """Return the managers of one controller: the given ones, those that a function returns, or the default."""
    if given is None:
        return NetworkManager(), SubscriptionManager()
    return tuple(given() if callable(given) else given)


def _looks_at_requests(manager: Manager) -> bool:
    """Whether a manager may handle fetches and responses; False for unmodified library managers that pass them on."""
    own = "handle" not in getattr(manager, "__dict__", ())
    return not own or getattr(type(manager), "handle", None) not in (SubscriptionManager.handle, LogoutManager.handle)


def _link(manager: Manager, following: Callable[[Action], object]) -> Callable[[Action], object]:
    handle = manager.handle
    return lambda action: handle(action, following)


# --- reads through the cache -----------------------------------------------------------------------------------------


def read_through(core: Core, request: Request) -> Steps:
    """Steps: read a request for a call, after `Store.fresh` has found nothing, fetching if necessary.

    A stale reading starts a fetch in the background. If there is no usable data, it fetches and reads again; then it
    returns the data or raises the error.
    """
    reading = yield from _looking(core, request)
    decision = reading.decision
    if decision is Decision.GIVE:
        return reading.data
    if decision is Decision.GIVE_AND_REFETCH:
        fetch_stale(core, request, reading)
        return reading.data
    if decision is Decision.RAISE:
        raise recorded(reading)
    resets = core.store.resets
    if reading.references:
        reading = yield from _with_references(core, request, reading)
        if reading.decision is Decision.GIVE and core.store.resets == resets:
            return reading.data
    failure: Exception | None = None
    value: Any = None
    try:
        value = yield from fetched(core, request)
    except (AbortError, ResetError):
        raise
    except Exception as error:
        if core.store.resets != resets:
            raise  # the store was emptied meanwhile, for instance by a logout, so the error is not stored
        failure = error
    return (yield from _after_fetch(core, request, resets, value, failure))


def fetched(core: Core, request: Request) -> Steps:
    """Steps: fetch a request and return its value.

    If the caller is interrupted before the request is sent, callers that joined it do not wait for it.
    """
    in_flight: Any = None
    try:
        in_flight = core.start(request, WHAT_IS_FRESH)
        return (yield Outcome("the fetch", core.complete(in_flight)))
    except Exception:
        raise
    except BaseException:
        core.abandon_unsent(in_flight)
        raise


def _looking(core: Core, request: Request) -> StepsOf[Reading]:
    """Steps: read a result that `fresh` has not found, which in generated packages excludes optimistic updates."""
    store = core.store
    return store.looking(request, store.read_base if request.rules.strict else store.read, is_memoized=False)


def _after_fetch(core: Core, request: Request, resets: int, value: object, failure: Exception | None) -> Steps:
    """Steps: return the data of a call after its fetch, which returned `value` or failed with `failure`.

    `resets` is the number of resets of the store when the call began.
    """
    data = core.store.fresh(request)
    if data is not None and core.store.resets == resets:
        return data  # as any later read
    reading = yield from _looking(core, request)
    if reading.references:
        reading = yield from _with_references(core, request, reading)
        if failure is None and not reading.found and reading.may_be_unchanged:
            # A bounded store has no room for what came: the response of a new request is built with the new records.
            value = yield from fetched(core, request)
            reading = yield from _looking(core, request)
    if core.store.resets != resets:
        # The data in the store now is not that of the call: another user may have logged in.
        raise ResetError(f"the store was reset while {request.label!r} was being read")
    if reading.error is not None:
        raise recorded(reading)
    if reading.found:
        return reading.data
    gives_own = request.rules.strict and value is not None
    if failure is None and (gives_own or was_overtaken(core, request, reading)):
        return value  # its own response, which may be outdated in the store by now
    raise failure or unusable_data(request)


def _with_references(core: Core, request: Request, reading: Reading) -> StepsOf[Reading]:
    """Steps: fetch the referenced records that alone make a reading stale; return the reading after that.

    If one of these fetches fails, the reading stays stale, so that the request itself is sent.
    """
    requested: set[str] = set()
    while references := [one for one in reading.references if one.key not in requested]:
        for one in references:
            requested.add(one.key)
            try:
                yield from fetched(core, _with_options_of(request, one))
            except (AbortError, ResetError):
                raise
            except StatusError:
                continue
            except Exception:  # the next request would fail, too, and take as long
                return (yield from _looking(core, request))
        reading = yield from _looking(core, request)
    return reading


def _with_options_of(request: Request, reference: Request) -> Request:
    """Return the request of a record that a result refers to, with the view options of the result's endpoint."""
    options: ViewOptions | None = cast("Any", request.endpoint).view_options
    if options is None:
        return reference
    made: Request = options.of(reference.endpoint).request(reference.args)
    return made


def fetch_stale(core: Core, request: Request, reading: Reading) -> list[Any]:
    """Fetch in the background the referenced records that make a reading stale, or the whole result.

    Returns the requests in flight.
    """
    return [core.fetch_in_background(one) for one in stale_requests(request, reading)]


def stale_requests(request: Request, reading: Reading) -> list[Request]:
    """Return the requests that make a stale reading fresh: those of its referenced records, or its own."""
    return [_with_options_of(request, reference) for reference in reading.references] or [request]


def was_overtaken(core: Core, request: Request, reading: Reading) -> bool:
    """Whether the result just fetched was invalidated, collected or evicted since."""
    meta = core.store.endpoint_meta(request.key)
    return meta is None or meta.invalidated or reading.expires_at == 1
