"""What stands behind a controller: what its operations, live reads, paging and managers need and users do not."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, cast

from ..base.errors import AbortError, InvalidDataError, ResetError, StatusError, copy_of
from ..base.logs import logger
from ..base.values import is_mapping, kind_of
from ..cache.actions import WHAT_IS_FRESH, Action, Fetch, Meta
from ..cache.reading import Decision, EndpointState
from ..cache.store import Store
from ..endpoint.resource import Resource
from ..http.schemes import SHORT
from .conditional_requests import refuse_unseen
from .in_flight import Completion, InFlight, response_of
from .managers import LogoutManager, Managed, SubscriptionManager
from .network import NetworkManager

if TYPE_CHECKING:
    from ..base.response import Response
    from ..base.scheduler import Handle
    from ..base.steps import Steps, StepsOf
    from ..cache.reading import Reading
    from ..cache.request import EndpointLike, Request
    from ..endpoint.call_options import ViewOptions
    from ..endpoint.endpoint import Endpoint
    from ..http.auth import Preparation
    from .managers import Manager
    from .retry import Retries

    Managers: TypeAlias = Sequence[Manager] | Callable[[], Sequence[Manager]]
    "Managers of a client, or a function that makes them, for each of its partitions too."

# --- the core --------------------------------------------------------------------------------------------------------


_OWN_MANAGERS: Final = frozenset({NetworkManager, SubscriptionManager, LogoutManager})


class _Live(Protocol):
    """What a controller does with the live reads that were opened on it."""

    def close(self) -> None: ...
    def revalidate(self) -> None: ...


class Views(Protocol):
    """What a core knows of the views before it and of its partitions."""

    base: Any

    def view(
        self, base: Any, headers: Any, query: Any, timeout: Any, retries: Any, token: Any, vary: Any, /
    ) -> Any: ...
    def open(self) -> None: ...
    def stop(self) -> None: ...


class Core(ABC):
    """The managers of a controller, the way of an action through them, and that of a fetch into the store.

    How requests are sent and waited for is the business of its two kinds, for blocking code and for asyncio. `chain`
    hands an action to the first manager, and so to the store; `dispatch` is where managers send their actions: to the
    chain, too, unless the user's controller has a `dispatch` of its own.
    """

    #: A call blocks its thread; false for the asynchronous kind.
    is_blocking: ClassVar[bool]

    def __init__(
        self,
        store: Store | None,
        managers: Managers | None,
        retries: int | Retries | None,
        preparation: Preparation | None,
        transport: Any,
    ) -> None:
        self.store = Store() if store is None else store
        self.retries = retries
        self.transport = transport
        self._given_managers = managers
        self.managers: tuple[Manager, ...] = _made_managers(managers)
        self.opened = False
        self._managed: Managed | None = None
        """The controller, as its managers know it."""
        self.is_overridden = False
        """Whether managers send their actions to a `dispatch` of the user's own."""
        self.views: Views | None = None
        """The views of the client; None as long as there are none."""
        self.views_of_it: weakref.WeakSet[Any] = weakref.WeakSet()
        """The views that stand before this core."""
        self.host: Callable[[], Any] | None = None
        """Gives the client, as long as there is one."""
        self.home: Any = None
        """Of a partition, the view that its managers know."""
        self.credential: Hashable = None
        """Of a partition, its principal if that is not the client's own."""
        self.names: tuple[str, ...] = ()
        """Of a partition, the headers for which it is there."""
        self.network = next((m for m in self.managers if isinstance(m, NetworkManager)), None)
        self.lifetimes = self.network or NetworkManager()
        self.preparation = preparation
        self._lives: weakref.WeakSet[_Live] = weakref.WeakSet()
        self.chain: Callable[[Action], Any] = self.store.apply
        for manager in reversed(self.managers):
            self.chain = _link(manager, self.chain)
        self.dispatch = self.chain
        self.sends_alone = (
            self.network is not None
            and [manager for manager in self.managers if _looks_at_requests(manager)] == [self.network]
            and type(self.network).handle is NetworkManager.handle
        )
        """No manager but the library's own one sees fetches and responses pass."""

    # resources

    def resource(self, name: str) -> Any:
        """The class of the client's resource that has this name; None where there is none."""
        client = self.home if self.home is not None or self.host is None else self.host()
        found = None if client is None else getattr(client, name, None)
        return kind_of(cast("object", found)) if isinstance(found, Resource) else None

    # life

    def open(self, controller: object) -> None:
        """Starts the managers for this controller, unless they run."""
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
        """Closes live reads and stops the managers, those of partitions too."""
        self.opened = False
        if self.views is not None:
            self.views.stop()
        for live in list(self._lives):
            live.close()
        for manager in self.managers:
            manager.cleanup()
        self._managed = None

    def override_dispatch(self, dispatch: Callable[[Action], Any]) -> None:
        """Managers send their actions here, to a method of the user's own."""
        self.dispatch = dispatch
        self.sends_alone = False
        self.is_overridden = True

    # partitions

    @property
    def makes_managers(self) -> bool:
        """Whether a function of the user's own makes the managers."""
        return callable(self._given_managers)

    def managers_anew(self, owner: object) -> tuple[Manager, ...]:
        """Managers for one more controller; TypeError where they were given as they are, as each serves one alone."""
        if self._given_managers is None or callable(self._given_managers):
            return _made_managers(self._given_managers)
        raise TypeError(
            f"a view with {owner!r} has a store of its own, and a manager serves one controller: give the client its "
            "managers as a function that makes them, such as managers=lambda: [NetworkManager(), SubscriptionManager()]"
        )

    @property
    def is_watched(self) -> bool:
        """Whether someone still waits for something of it: a live read, a subscription, or an answer."""
        subscribed = any(isinstance(manager, SubscriptionManager) and manager.is_used for manager in self.managers)
        return bool(subscribed or len(self._lives) or self.store.in_flight.by_id)

    @abstractmethod
    def sibling(self, store: Store, managers: tuple[Manager, ...], transport: Any) -> Core:
        """The core of a partition: as this one, with a store, managers and a transport of its own."""

    def transport_with(self, token: Any, *, own_cookies: bool) -> Any:
        """A transport for requests that carry this token (or these, by scheme), over the same connections."""
        credentials = token if is_mapping(token) else {SHORT: token}
        preparation = self.preparation
        if preparation is not None:
            preparation = preparation.with_credentials(credentials, is_apart=own_cookies)
        return self.transport.sibling(preparation, own_cookies=own_cookies)

    def transport_of(self, in_flight: InFlight) -> Any:
        """What the request goes through."""
        options: ViewOptions | None = in_flight.endpoint.view_options
        return self.transport if options is None or options.transport is None else options.transport

    # what is open

    def track(self, live: _Live) -> None:
        """Closes this live read together with the controller, and revalidates it."""
        self._lives.add(live)

    def revalidate(self) -> None:
        """Fetches each stale live read."""
        for live in list(self._lives):
            live.revalidate()

    def locate(self, url: str) -> str:
        """Where a request to this URL really goes: a client may have a `url_prefix` of its own."""
        return url if self.preparation is None else self.preparation.locate(url)

    def address(self, url: str) -> str:
        """Where a request to this URL really goes, in full."""
        address: str = self.transport.absolute(self.locate(url))
        return address

    def keeps_up_to_date(self, request: Request) -> bool:
        """A subscription may have an effect: the endpoint is polled, or there are managers other than the library's."""
        endpoint: Any = request.endpoint
        return endpoint.poll_frequency is not None or any(type(m) not in _OWN_MANAGERS for m in self.managers)

    # fetching

    def start(self, request: Request, within: float | None = None) -> Any:
        """Starts a fetch, or joins one of the same identity: what is in flight, for `complete`.

        A manager that answers the fetch itself gives its value in place of that. `within`: how old an answer of another
        process may be that will do, in ms; None where the server is to be asked.
        """
        store = self.store
        store.check_hook("fetch")
        endpoint: Any = request.endpoint
        options: ViewOptions | None = endpoint.view_options
        if options is not None and options.core is not self and options.core is not None:
            raise RuntimeError(
                f"endpoint {request.endpoint.name!r} is that of a view of another client, whose answers do not belong "
                "here; take it from the resource"
            )
        request.locator = self
        if request.rules.mutation.concurrency is not None:
            refuse_unseen(store, request)
        fetch_id = store.next_id()
        try:
            number, now = store.next_number(), store.clock()
            meta = Meta(number, now, now + self.lifetimes.data_length(request))
            in_flight = self.chain(Fetch(request, fetch_id, meta, store.resets, within))
        except BaseException:
            self.abandon_unsent(store.in_flight.by_id.get(fetch_id))
            raise
        if in_flight is None and self.network is None:
            raise RuntimeError("no manager took the fetch; put NetworkManager() into managers=[…]")
        return in_flight

    def ask_steps(self, request: Request) -> tuple[InFlight, StepsOf[Response[Any]]]:
        """A request that is not shared and not stored, and the steps that give its response."""
        if not self.opened:
            raise RuntimeError("this controller is closed; open() it before the next request")
        store, network = self.store, self.lifetimes
        in_flight = InFlight(network, store, request, request.identity, store.next_id(), store.next_number())
        in_flight.transport = self.transport_of(in_flight)
        return in_flight, self._answer_steps(in_flight)

    def _answer_steps(self, in_flight: InFlight) -> StepsOf[Response[Any]]:
        call = yield from self.lifetimes.fetcher.steps(in_flight, self)
        return response_of(in_flight, None if call is None else call.value)

    def abandon_unsent(self, in_flight: Any) -> None:
        """Who was to send this has been interrupted: where no one else does, it fails, so that no one waits for it."""
        if isinstance(in_flight, InFlight) and not in_flight.is_sent and not in_flight.done:
            in_flight.sender.abandon(in_flight)

    def refetch(self, request: Request, /, within: float = WHAT_IS_FRESH) -> None:
        """Fetches in the background; errors are recorded in the store and logged, never raised."""
        try:
            self.fetch_in_background(request, within)
        except Exception:
            logger.exception("background fetch of %r could not start", request.endpoint.name)

    def fetch_in_background(self, request: Request, within: float = WHAT_IS_FRESH) -> Any:
        """Fetches without anyone waiting; returns the request in flight, which may be another caller's."""
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
    def complete(self, in_flight: Any, /) -> Any:
        """Sends the request, unless that was done; the value of the fetch, once it is in the store."""

    @abstractmethod
    def complete_in_background(self, in_flight: Any) -> None:
        """Sends the request of a fetch that nobody waits for."""

    @abstractmethod
    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Does the work after `delay` milliseconds, on the store's scheduler or in the loop."""

    # reading

    def cached(self, request: Request) -> Any:
        """The data that the store has, stale or not, or None; never asks the network."""
        data = self.store.cached(request)
        if data is None:
            # Every cached read passes here, so mistakes are looked for only where nothing is found.
            refuse_empty(request.endpoint, request.args)
        return data

    def state(self, request: Request) -> EndpointState[Any]:
        """What the store knows now of the result of a request; never asks the network."""
        store = self.store
        reading = store.read(request)
        joinable = store.in_flight.joinable
        loading = bool(joinable) and not request.inactive and request.identity in joinable
        return EndpointState(reading.usable_data, reading.error, loading, reading.expiry_status, reading.expires_at)

    @abstractmethod
    def read(self, request: Request) -> Any:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else waits for it."""

    def idle_steps(self) -> Steps:
        """Steps: waits until all that is in flight now has been answered, except for what would wait for this wait."""
        for in_flight in list(self.store.in_flight.by_id.values()):
            if self.is_blocking and in_flight.owned_here:
                continue
            try:
                yield Completion(self, in_flight)
            except Exception:
                logger.debug("a fetch in flight failed", exc_info=True)


def bind_args_of(endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call in either form; ValueError for `""` as a whole path segment, as before any request."""
    bound = endpoint.bind_args(args, kwargs)
    refuse_empty(endpoint, bound)
    return bound


def refuse_empty(endpoint: EndpointLike, args: tuple[Any, ...]) -> None:
    """ValueError for `""` as a whole path segment, as before any request."""
    if args and type(args[0]) is dict and "" in args[0].values():
        endpoint.request_url(args)


def looking(store: Store, request: Request) -> StepsOf[Reading]:
    """Steps: what a view finds, once all that its storage has of it is in memory."""
    if store.is_persistent:
        yield from store.ensure_loaded(request)
    return store.read(request)


def looking_for_call(store: Store, request: Request) -> StepsOf[Reading]:
    """Steps: what a call finds, once all that its storage has of it is in memory."""
    if store.is_persistent:
        yield from store.ensure_loaded(request)
    return read_for_call(store, request)


def read_for_call(store: Store, request: Request) -> Reading:
    """What a call of a read finds: in generated packages a change under way is not yet made."""
    return store.read_base(request) if request.rules.response.gives_own_response else store.read(request)


def recorded(reading: Reading) -> BaseException:
    """The error that a reading shows as one to be raised: what the store keeps is never raised itself."""
    if reading.error is None:
        raise AssertionError("the store reported neither data nor an error")
    return copy_of(reading.error)


def unusable_data(request: Request) -> InvalidDataError:
    """What a read raises where a fetch did not help."""
    return InvalidDataError(
        f"{request.label!r} was fetched, but its data is not usable: the response lacks what "
        f"the schema of {request.endpoint.name!r} requires, or what it refers to was deleted"
    )


def _made_managers(given: Managers | None) -> tuple[Manager, ...]:
    """The managers of one controller: those that were given, that a function makes, or the library's own."""
    if given is None:
        return NetworkManager(), SubscriptionManager()
    return tuple(given() if callable(given) else given)


def _looks_at_requests(manager: Manager) -> bool:
    """Fetches and responses mean something to this manager; those of the library for other things hand them on."""
    own = "handle" not in getattr(manager, "__dict__", ())
    return not own or getattr(type(manager), "handle", None) not in (SubscriptionManager.handle, LogoutManager.handle)


def _link(manager: Manager, following: Callable[[Action], Any]) -> Callable[[Action], Any]:
    handle = manager.handle
    return lambda action: handle(action, following)


# --- reads through the cache -----------------------------------------------------------------------------------------


def read_through(core: Core, request: Request, reading: Reading) -> Steps:
    """Steps: what a read gives that found this, by the decision of the policy.

    A stale reading starts a fetch in the background. One that is to wait fetches, and then looks again: it gives
    what is there now, or raises why there is nothing.
    """
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
    in_flight: Any = None
    try:
        in_flight = core.start(request, WHAT_IS_FRESH)
        value = yield Completion(core, in_flight)
    except (AbortError, ResetError):
        raise
    except Exception as error:
        if core.store.resets != resets:
            raise  # the store was emptied meanwhile, by a logout say, and holds the error no more
        failure = error
    except BaseException:
        core.abandon_unsent(in_flight)
        raise
    return (yield from _after_fetch(core, request, resets, value, failure))


def _after_fetch(core: Core, request: Request, resets: int, value: Any, failure: Exception | None) -> Steps:
    """Steps: what a call gives after its fetch, which gave a value or failed.

    `resets` is how often the store had been reset when the call began.
    """
    reading = yield from looking_for_call(core.store, request)
    if reading.references:
        reading = yield from _with_references(core, request, reading)
    if core.store.resets != resets:
        # Whatever is there now is not what was asked for: another user may have logged in.
        raise ResetError(f"the store was reset while {request.label!r} was being read")
    if reading.error is not None:
        raise recorded(reading)
    if reading.found:
        return reading.data
    gives_own = request.rules.response.gives_own_response and value is not None
    if failure is None and (gives_own or was_overtaken(core, request, reading)):
        return value  # its own response, which may be outdated in the store by now
    raise failure or unusable_data(request)


def _with_references(core: Core, request: Request, reading: Reading) -> StepsOf[Reading]:
    """Steps: fetches the records that alone make a reading stale; what a read finds then.

    Where one of them cannot be had, the reading stays stale, so that the request itself is sent.
    """
    requested: set[str] = set()
    while references := [one for one in reading.references if one.key not in requested]:
        for one in references:
            requested.add(one.key)
            reference = _with_options_of(request, one)
            in_flight: Any = None
            try:
                in_flight = core.start(reference, WHAT_IS_FRESH)
                yield Completion(core, in_flight)
            except (AbortError, ResetError):
                raise
            except StatusError:
                continue
            except Exception:  # the next request would fail, too, and take as long
                return (yield from looking_for_call(core.store, request))
            except BaseException:
                core.abandon_unsent(in_flight)
                raise
        reading = yield from looking_for_call(core.store, request)
    return reading


def _with_options_of(request: Request, reference: Request) -> Request:
    """The request of a record that a result refers to, with the options of the result's own call."""
    options: ViewOptions | None = cast("Any", request.endpoint).view_options
    if options is None:
        return reference
    made: Request = options.of(reference.endpoint).request(reference.args)
    return made


def fetch_stale(core: Core, request: Request, reading: Reading) -> list[Any]:
    """Fetches in the background what makes a reading stale: the records that it refers to, or all of it.

    Returns the requests in flight.
    """
    return [core.fetch_in_background(one) for one in stale_requests(request, reading)]


def stale_requests(request: Request, reading: Reading) -> list[Request]:
    """The requests that make a stale reading fresh: those of the records that it refers to, or its own."""
    return [_with_options_of(request, reference) for reference in reading.references] or [request]


def was_overtaken(core: Core, request: Request, reading: Reading) -> bool:
    """What was fetched a moment ago is gone because someone invalidated, collected or evicted it since."""
    meta = core.store.endpoint_meta(request.key)
    return meta is None or meta.invalidated or reading.expires_at == 1
