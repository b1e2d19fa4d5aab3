"""Controllers: the operations on a store, for blocking code and for asyncio (§7.1).

What never waits is written once, in `AnyController`. What waits is a generator of steps, taken by one of two
drivers; `Controller` and `AsyncController` differ in nothing but how they run a request and how they wait for one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, ClassVar, Final, ParamSpec, Self, TypeVar, overload

from ..base.errors import AbortError, InvalidDataError, ResetError
from ..base.lazy import Late, asyncio, logger
from ..base.scheduler import ThreadScheduler, WaitingScheduler
from ..base.steps import drive, drive_async
from ..cache.actions import (
    ExpireAll,
    Fetch,
    Invalidate,
    InvalidateAll,
    Meta,
    Reset,
    Set,
    SetError,
    SetResponse,
    Subscribe,
    Unsubscribe,
)
from ..cache.reading import EndpointState
from ..cache.request import Request
from ..cache.store import Store
from ..endpoint.bound import AsyncBoundEndpoint, AsyncBoundList, BoundEndpoint, BoundList
from ..endpoint.typing import Awaiting, Blocking
from ..http.auth import Api, Preparation, Token
from ..http.transport import AsyncTransport, SyncTransport
from ..schema import find_collection
from .in_flight import Flight, Landing, later
from .logout import LogoutManager
from .network import NetworkManager
from .subscription import SubscriptionManager

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Coroutine

    from ..base.scheduler import Handle, Scheduler
    from ..base.steps import Steps
    from ..cache.actions import Action
    from ..cache.explanation import Explanation
    from ..cache.reading import Reading
    from ..cache.store import Snapshot
    from ..endpoint.endpoint import Endpoint
    from ..endpoint.live import AnyLiveRead, AsyncLiveRead, LiveRead
    from ..http.adapter import AsyncClient, Client
    from ..schema.record import Record
    from . import tasks
    from .manager import Manager
    from .paging import Pages
    from .retry import Retries

    E = TypeVar("E", bound=Record)

else:
    tasks = Late("restencil.client.tasks")

P = ParamSpec("P")
R = TypeVar("R")

_OWN_MANAGERS: Final = frozenset({NetworkManager, SubscriptionManager, LogoutManager})

#: Lifetime of what `set` writes, in milliseconds (§7.1).
SET_EXPIRY: Final = 60_000.0


class AnyController:
    """What both kinds of controllers share: every operation that never waits.

    A subclass that speaks to one API names it in `_api` (generated clients do); it may then be given a `token` and
    another `url_prefix`.
    """

    _api: ClassVar[Api | None] = None
    #: A call blocks its thread; false for the asynchronous kind.
    is_blocking: ClassVar[bool]

    def __init__(
        self,
        store: Store | None,
        *,
        token: Token | None,
        url_prefix: str | None,
        managers: Sequence[Manager] | None,
        retries: int | Retries | None,
    ) -> None:
        api = self._api
        if api is None and (token is not None or url_prefix is not None):
            raise TypeError(
                f"{type(self).__name__} has no API of its own: token and url_prefix belong to generated clients"
            )
        if token is not None and api is not None and api.auth is None:
            raise TypeError(f"the API of {type(self).__name__} declares no auth, so a token has no place to go")
        self.store = Store() if store is None else store
        self.retries = retries
        self.managers: tuple[Manager, ...] = (
            (NetworkManager(), SubscriptionManager()) if managers is None else tuple(managers)
        )
        self.opened = False
        self._network = next((m for m in self.managers if isinstance(m, NetworkManager)), None)
        self._lifetimes = self._network or NetworkManager()
        self._preparation = (
            Preparation(api, token, url_prefix, blocking=self.is_blocking)
            if api is not None and (api.auth is not None or url_prefix is not None)
            else None
        )
        self._lives: weakref.WeakSet[AnyLiveRead[Any]] = weakref.WeakSet()
        self._dispatch: Callable[[Action], Any] = self.store.apply
        for manager in reversed(self.managers):
            self._dispatch = _link(manager, self._dispatch)
        looking = [manager for manager in self.managers if looks_at_requests(manager)]
        #: No manager but the library's own one sees fetches and responses pass.
        self.is_direct = (
            self._network is not None
            and looking == [self._network]
            and type(self._network).handle is NetworkManager.handle
            and type(self).dispatch is AnyController.dispatch
        )
        self.open()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'open' if self.opened else 'closed'}>"

    # life

    def open(self) -> None:
        """Starts the managers. A new controller is open; a closed one works again afterwards (§9.7)."""
        if self.opened:
            return
        self.opened = True
        for manager in self.managers:
            manager.init(self)

    def _shut(self) -> None:
        self.opened = False
        for live in list(self._lives):
            live.close()
        for manager in self.managers:
            manager.cleanup()

    def dispatch(self, action: Action) -> Any:
        """Hands an action to the first manager, and so to the store; for managers and for actions of one's own."""
        return self._dispatch(action)

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on."""
        raise NotImplementedError

    # reading, without waiting

    def cached(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """The data that the store has, stale or not, or None; never asks the network (§8.3)."""
        data: R | None = self.cached_args(endpoint, endpoint.bind_args(args, kwargs))
        return data

    def state(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> EndpointState[R]:
        """Data, error, loading, expiry status and expires_at; never asks the network (§8.3)."""
        return self.state_of(endpoint.request(bind_args(endpoint, args, kwargs)))

    def get_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Reading:
        """`data`, `expiry_status` and `expires_at` of what a read would see now (§8.1)."""
        return self.store.read(endpoint.request(bind_args(endpoint, args, kwargs)))

    def get_error(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> BaseException | None:
        """The error that a read would raise now: none where the policy is soft and there is data (§8.5)."""
        return self.store.read(endpoint.request(bind_args(endpoint, args, kwargs))).error

    @overload
    def get(self, schema: type[E], /, *args: Any, **kwargs: Any) -> E | None: ...
    @overload
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What the store's tables give for a schema (entity, Collection, Query) and args; None if unknown (§7.1)."""
        return self.store.query(schema, (*args, kwargs) if kwargs else args)

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """The state as it is now, for as long as the snapshot is held; `fetched_at` is now by default (§10.4)."""
        return self.store.snapshot(fetched_at)

    def explain(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Why a read of this endpoint would or would not fetch now; `str()` of it is for people."""
        from .explain import explain

        return explain(self, endpoint.request(bind_args(endpoint, args, kwargs)))

    # writing

    def set_response(self, endpoint: Endpoint[P, R], response: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Writes a response as if it had been fetched now (§7.1). Raises ProcessingError where it does not fit."""
        self._set_response(endpoint, response, bind_args(endpoint, args, kwargs))

    def set_error(self, endpoint: Endpoint[P, R], error: BaseException, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Records an error as if a fetch had failed now (§7.1)."""
        self._set_error(endpoint, error, bind_args(endpoint, args, kwargs))

    def resolve(
        self, endpoint: Endpoint[P, R], response: Any, fetched_at: float, /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Writes a response, or an error where `response` is an exception, of a fetch begun at `fetched_at` (§7.1)."""
        bound = bind_args(endpoint, args, kwargs)
        if isinstance(response, BaseException):
            self._set_error(endpoint, response, bound, fetched_at)
        else:
            self._set_response(endpoint, response, bound, fetched_at)

    def set(self, schema: Any, value: Any, /, *args: Any, **kwargs: Any) -> None:
        """Writes a value through a schema, fresh for 60 s; a function gets the previous value, if any (§7.1)."""
        now = self.store.now()
        self._dispatch(Set(schema, (*args, kwargs) if kwargs else args, value, Meta(now, now, now + SET_EXPIRY)))

    def invalidate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Forces the next read to fetch and wait (§7.1)."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        if not request.inactive:
            self._dispatch(Invalidate(request.key))

    def expire(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Makes one result stale: its data stays visible, the next read fetches it anew."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        if not request.inactive:
            self._dispatch(ExpireAll(request.key.__eq__))

    def invalidate_all(self, test: Any, /) -> None:
        """`invalidate` for every result whose key an endpoint (`test_key`), or a function, accepts (§7.1)."""
        self._dispatch(InvalidateAll(key_test(test)))

    def expire_all(self, test: Any, /) -> None:
        """Matching keys turn stale; their data stays visible (§7.1)."""
        self._dispatch(ExpireAll(key_test(test)))

    def reset_entire_store(self) -> None:
        """Starts the store over; who waits for a read gets ResetError, what was sent before is ignored (§9.5)."""
        self._dispatch(Reset())

    def subscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Keeps the result up to date, by polling every `poll_frequency` ms, until `unsubscribe` (§12)."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        if not request.inactive:
            self._dispatch(Subscribe(request))

    def unsubscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Takes one `subscribe` back (§12)."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        if not request.inactive:
            self._dispatch(Unsubscribe(request))

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` after each change, in the thread that made it; returns what removes it (§7.1)."""
        return self.store.add_listener(listener)

    def revalidate(self) -> None:
        """The application has the focus again: fetches each stale `live` read of this controller (§12.5)."""
        for live in list(self._lives):
            live.revalidate()

    # for managers and bound endpoints

    def refetch(self, request: Request) -> None:
        """Fetches in the background, for managers: errors are recorded in the store and logged, never raised (§9.7)."""
        try:
            self.fetch_in_background(request)
        except Exception:
            logger.exception("background fetch of %r could not start", request.endpoint.name)

    def fetch_in_background(self, request: Request) -> None:
        """Fetches without anyone waiting; does nothing where the same request is in flight, whoever runs it."""
        store = self.store
        if store.flights:
            flight = store.flights.get(request.identity)
            if flight is not None and flight.alive:
                return
        self.run_in_background(self.start_fetch(request))

    def call_later(self, delay: float, work: Callable[[], object]) -> Handle:
        """Sets a timer, `delay` in milliseconds, on the store's scheduler or the running loop (§9.7)."""
        raise NotImplementedError

    def run_in_background(self, flight: Any) -> None:
        """Runs a started fetch that nobody waits for."""
        raise NotImplementedError

    def start_fetch(self, request: Request) -> Any:
        """Starts a fetch, or joins one of the same identity: the flight to wait for (§9.2)."""
        store = self.store
        store.check_hook("fetch")
        network = self._network
        if self.is_direct and network is not None and not request.rules.simulated:
            return network.start(request, store.next_id(), store.clock())
        now = store.clock()
        meta = Meta(now, now, now + self._lifetimes.data_length(request))
        flight = self._dispatch(Fetch(request, store.next_id(), meta, store.resets))
        if flight is None and self._network is None:
            raise RuntimeError("no manager took the fetch; put NetworkManager() into managers=[…]")
        return flight

    def keeps_up_to_date(self, request: Request) -> bool:
        """A subscription may have an effect: the endpoint is polled, or there are managers other than the library's."""
        endpoint: Any = request.endpoint
        return endpoint.poll_frequency is not None or any(type(m) not in _OWN_MANAGERS for m in self.managers)

    def track_live(self, live: AnyLiveRead[Any]) -> None:
        """Closes this live read together with the controller, and revalidates it."""
        self._lives.add(live)

    def locate_url(self, url: str) -> str:
        """Where a request to this URL really goes: a client may have a `url_prefix` of its own."""
        return url if self._preparation is None else self._preparation.locate(url)

    # shared parts

    def cached_args(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Any:
        """`cached` for bound args; every cached read passes here, so mistakes are looked for where nothing is found."""
        data = self.store.cached(endpoint.request(args))
        if data is None:
            refuse_empty(endpoint, args)
        return data

    def state_of(self, request: Request) -> EndpointState[Any]:
        """`state` of a request."""
        store = self.store
        reading = store.read(request)
        loading = bool(store.flights) and not request.inactive and request.identity in store.flights
        data = reading.data if reading.found else None
        return EndpointState(data, reading.error, loading, reading.expiry_status, reading.expires_at)

    def _set_response(
        self, endpoint: Endpoint[..., Any], response: Any, args: tuple[Any, ...], fetched_at: float | None = None
    ) -> None:
        now = self.store.now()
        request = written(endpoint, args)
        meta = Meta(now if fetched_at is None else fetched_at, now, now + self._lifetimes.data_length(request))
        error_expires_at = now + self._lifetimes.error_length(request)
        self._dispatch(SetResponse(request, response, meta, None, None, error_expires_at, wanted=False))

    def _set_error(
        self, endpoint: Endpoint[..., Any], error: BaseException, args: tuple[Any, ...], fetched_at: float | None = None
    ) -> None:
        now = self.store.now()
        request = written(endpoint, args)
        meta = Meta(now if fetched_at is None else fetched_at, now, now + self._lifetimes.error_length(request))
        self._dispatch(SetError(request, error, meta))

    def read_anew(self, request: Request, reading: Reading) -> Steps:
        """A suspending read whose first look at the store did not suffice (§8.3)."""
        if not reading.needs_fetch:
            raise known(reading.error)
        if not reading.suspends:
            self.fetch_in_background(request)
            return reading.data
        resets = self.store.resets
        failure: Exception | None = None
        value: Any = None
        try:
            value = yield Landing(self, self.start_fetch(request))
        except (AbortError, ResetError):
            raise
        except Exception as error:
            if self.store.resets != resets:
                raise  # the store was emptied meanwhile, by a logout say, and holds the error no more
            failure = error
        reading = self.store.read(request)
        if reading.error is not None:
            raise known(reading.error)
        if reading.found:
            return reading.data
        if self.store.resets != resets:
            raise ResetError(f"the store was reset while {request.key!r} was being read")
        if failure is None and self.was_overtaken(reading, request.key):
            return value
        raise self.unusable_data(request, failure)

    def was_overtaken(self, reading: Reading, key: str) -> bool:
        """What was fetched a moment ago is gone because someone invalidated, collected or evicted it since."""
        meta = self.store.endpoint_meta(key)
        return meta is None or meta.invalidated or reading.expires_at == 1

    def unusable_data(self, request: Request, failure: Exception | None) -> Exception:
        """What a read raises that fetched and has no data: why the fetch failed, or that it did not help (§8.3)."""
        return failure or InvalidDataError(
            f"{request.key!r} was fetched, but its data is not usable: the response lacks what "
            f"the schema of {request.endpoint.name!r} requires, or what it refers to was deleted"
        )

    def _settled(self) -> Steps:
        for flight in list(self.store.pending.values()):
            if self.is_blocking and flight.owned_here:
                continue
            try:
                yield Landing(self, flight)
            except Exception:
                logger.debug("a fetch in flight failed", exc_info=True)


class Controller(AnyController, Blocking):
    """The operations on a store for blocking code; safe to use from any number of threads (§7.1, §9.6).

    Where other threads run, the request of a read runs on a thread of its own, so that a reset of the store lets its
    caller go at once; hooks then see the caller's context variables, but not its thread locals. A forked process goes
    on with what the store holds: it waits for nothing that its parent has in flight, and opens connections of its own,
    except through a `client` of one's own, which is to be replaced there.

    store               holds the state; a new one by default. Any number of controllers may share one
    client              an `httpx.Client` of one's own (proxies, TLS, limits, auth, event hooks); never closed here
    base_url            where relative URLs lead
    managers            default: a NetworkManager and a SubscriptionManager
    retries             tries after the first for requests that may be repeated: a number, or `Retries`; None: none
    timeout             milliseconds; None leaves it to the client
    max_response_bytes  limit of a response body after decompression
    token, url_prefix   for clients of one API (`_api`), which generated ones are: the secret, or a function that
                        gives it, read for every request; and the place of the API, if not where its spec says
    """

    is_blocking = True

    def __init__(
        self,
        store: Store | None = None,
        *,
        token: Token | None = None,
        url_prefix: str | None = None,
        client: Client | None = None,
        base_url: str = "",
        managers: Sequence[Manager] | None = None,
        retries: int | Retries | None = None,
        timeout: float | None = None,
        max_response_bytes: int | None = None,
    ) -> None:
        super().__init__(store, token=token, url_prefix=url_prefix, managers=managers, retries=retries)
        scheduler = self.store.scheduler
        self._threads = scheduler if isinstance(scheduler, ThreadScheduler | WaitingScheduler) else ThreadScheduler()
        self._transport = SyncTransport(
            client,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=self._preparation,
            scheduler=self._threads,
        )

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the managers, closes what this controller opened, drops the results of what is in flight (§9.7)."""
        if self.opened:
            self._shut()
            self._transport.close()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on."""
        form = BoundList if is_list(endpoint) else BoundEndpoint
        return form(self, endpoint)

    def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Asks the network, writes the response to the store, and returns it in its own shape (§7.2).

        Raises NetworkError, ProcessingError, AbortError, ResetError, or what a hook raises; errors of the first two
        kinds are in the store by then.
        """
        request = endpoint.request(endpoint.bind_args(args, kwargs), located=True)
        result: R = self.land_flight(self.start_fetch(request))
        return result

    def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The stored data where it is valid and fresh, else `fetch` (§7.1)."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        reading = self.store.read_base(request)
        result: R = self.land_flight(self.start_fetch(request)) if reading.needs_fetch else reading.data
        return result

    def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else waits for it (§8.3).

        Raises the endpoint's error where there is one and its policy is not soft, InvalidDataError where the fetched
        data is unusable.
        """
        result: R = self.read_args(endpoint, endpoint.bind_args(args, kwargs))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> LiveRead[R]:
        """A read that stays: context manager and iterator, subscribed while it is open, yields on change (§12.3)."""
        from .live import BlockingLiveRead

        return BlockingLiveRead(self, endpoint, bind_args(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Any]:
        """The items of all pages of a paginated list, one page at a time (§5.8.7).

        Raises TypeError at once where the endpoint does not say how its next page is found.
        """
        from .paging import Pages

        return self._items(Pages(self, endpoint, bind_args(endpoint, args, kwargs)))

    def all_settled(self) -> None:
        """Waits until everything that is in flight now has been answered; raises nothing of it (§9.7)."""
        self.wait_for(self._settled())

    # how the blocking kind waits

    def wait_for(self, steps: Steps) -> Any:
        """Takes steps to their end, blocking where they wait."""
        return drive(steps, self._transport)

    def land_flight(self, flight: Any) -> Any:
        """Runs the request of this flight, unless it runs already; the value, once it is in the store."""
        if not isinstance(flight, Flight):
            return flight  # a manager answered the fetch itself
        if flight.manager is self._network and not flight.claimed:
            if not flight.mutation and threading.active_count() > 1:
                # Another thread may reset the store, or answer in the network's place: the caller then goes on at once.
                self._send_off(flight)
            elif flight.claim():
                flight.own(blocking=True)
                return flight.manager.run(flight, self._transport)
        return flight.wait()

    def run_in_background(self, flight: Any) -> None:
        """Runs a started fetch that nobody waits for, on a thread of the scheduler."""
        if not isinstance(flight, Flight) or flight.claimed or flight.manager is not self._network:
            return
        flight.detached = True
        if self.store.scheduler is self._threads:
            self._send_off(flight)
        else:
            # A scheduler of the user's own may take its time: a caller who comes meanwhile runs the request itself.
            self._spawn(flight, self.store.scheduler)

    def call_later(self, delay: float, work: Callable[[], object]) -> Handle:
        """Sets a timer on the store's scheduler; `delay` in milliseconds (§9.7)."""
        return self.store.scheduler.call_later(delay, work)

    def _send_off(self, flight: Flight) -> None:
        """Runs the request on another thread, unless it is on its way to one."""
        if flight.launch():
            self._spawn(flight, self._threads)

    def _spawn(self, flight: Flight, scheduler: Scheduler) -> None:
        context = copy_context()
        try:
            scheduler.spawn(lambda: context.run(self._run, flight))
        except RuntimeError:  # no thread can be started
            flight.manager.abandon(flight)
            raise

    def _run(self, flight: Flight) -> None:
        if not flight.claim():
            return  # a caller who did not want to wait for this thread runs it
        flight.own(blocking=True)
        try:
            flight.manager.run(flight, self._transport)
        except Exception as error:
            flight.fail(error)

    def read_args(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Any:
        """`read` for bound args."""
        request = endpoint.request(args)
        data = self.store.fresh(request)
        if data is not None:
            return data
        reading = self.store.read(request)
        if reading.needs_fetch or reading.error is not None:
            return drive(self.read_anew(request, reading), self._transport)
        return reading.data

    def _items(self, pages: Pages) -> Iterator[Any]:
        while self.wait_for(pages.turn()):
            yield from pages.items()


class AsyncController(AnyController, Awaiting):
    """The operations on a store for asyncio; a store may be shared with controllers of both kinds (§7.1, §9.6).

    Arguments are those of Controller, with an `httpx.AsyncClient`. What waits is a coroutine or an async iterator;
    everything else is as in Controller. Each request runs in a task of its own: a cancelled caller only leaves, and the
    last one to leave aborts the request.
    """

    is_blocking = False

    def __init__(
        self,
        store: Store | None = None,
        *,
        token: Token | None = None,
        url_prefix: str | None = None,
        client: AsyncClient | None = None,
        base_url: str = "",
        managers: Sequence[Manager] | None = None,
        retries: int | Retries | None = None,
        timeout: float | None = None,
        max_response_bytes: int | None = None,
    ) -> None:
        self._loop: AbstractEventLoop | None = None
        super().__init__(store, token=token, url_prefix=url_prefix, managers=managers, retries=retries)
        self._transport = AsyncTransport(
            client,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=self._preparation,
        )

    async def __aenter__(self) -> Self:
        self._loop = running_loop()
        self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops the managers and closes what this controller opened; requests in flight are aborted (§9.6, §9.7)."""
        if self.opened:
            self._shut()
            await self._transport.aclose()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on."""
        form = AsyncBoundList if is_list(endpoint) else AsyncBoundEndpoint
        return form(self, endpoint)

    async def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Asks the network, writes the response to the store, and returns it in its own shape (§7.2).

        Raises NetworkError, ProcessingError, AbortError, ResetError, or what a hook raises; errors of the first two
        kinds are in the store by then.
        """
        result: R = await self.land_flight(
            self.start_fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True))
        )
        return result

    async def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The stored data where it is valid and fresh, else `fetch` (§7.1)."""
        request = endpoint.request(bind_args(endpoint, args, kwargs))
        reading = self.store.read_base(request)
        result: R = await self.land_flight(self.start_fetch(request)) if reading.needs_fetch else reading.data
        return result

    async def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else waits for it (§8.3).

        Raises the endpoint's error where there is one and its policy is not soft, InvalidDataError where the fetched
        data is unusable.
        """
        result: R = await self.read_args(endpoint, endpoint.bind_args(args, kwargs))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncLiveRead[R]:
        """A read that stays: async context manager and iterator, subscribed while open, yields on change (§12.3)."""
        from .live import AwaitingLiveRead

        return AwaitingLiveRead(self, endpoint, bind_args(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Any]:
        """The items of all pages of a paginated list, one page at a time (§5.8.7).

        Raises TypeError at once where the endpoint does not say how its next page is found.
        """
        from .paging import Pages

        return self._items(Pages(self, endpoint, bind_args(endpoint, args, kwargs)))

    async def all_settled(self) -> None:
        """Waits until everything that is in flight now has been answered; raises nothing of it (§9.7)."""
        await self.wait_for(self._settled())

    # how the asynchronous kind waits

    def wait_for(self, steps: Steps) -> Coroutine[Any, Any, Any]:
        """Takes steps to their end, awaiting where they wait."""
        return drive_async(steps, self._transport)

    async def land_flight(self, flight: Any) -> Any:
        """Runs the request of this flight in its own task, unless it runs already; the value, once it is stored."""
        if not isinstance(flight, Flight):
            return flight  # a manager answered the fetch itself
        loop = asyncio._get_running_loop() or running_loop()  # before the claim, which obliges to run the request
        if flight.manager is self._network and flight.claim():
            self._loop = flight.loop = loop
            try:
                if not tasks.is_alone(loop):
                    await asyncio.sleep(0)  # all who are about to ask for the same do so first
            except BaseException:
                if flight.is_left() or not loop.is_running():
                    flight.manager.abandon(flight)
                else:
                    self._launch(flight, loop)
                raise
            self._begin(flight, loop)
        if flight.done:
            return flight.result()
        try:
            return await flight.wait_async()
        finally:
            if not flight.done:
                flight.leave()

    def run_in_background(self, flight: Any) -> None:
        """Runs a started fetch that nobody waits for, as a task."""
        if not isinstance(flight, Flight) or flight.claimed or flight.manager is not self._network:
            return
        flight.detached = True
        loop = self._home()
        flight.loop = loop
        if not isinstance(self.store.scheduler, ThreadScheduler):
            self.store.scheduler.spawn(lambda: loop.call_soon_threadsafe(self._launch_detached, flight, loop))
        elif asyncio._get_running_loop() is loop:
            self._launch_detached(flight, loop)
        else:
            loop.call_soon_threadsafe(self._launch_detached, flight, loop)

    def call_later(self, delay: float, work: Callable[[], object]) -> Handle:
        """Sets a timer on the running loop, or on the store's scheduler if one was given; `delay` in ms (§9.7)."""
        loop = self._home()
        if asyncio._get_running_loop() is loop or not isinstance(self.store.scheduler, ThreadScheduler):
            return later(self.store.scheduler, loop, delay, work)
        return RemoteTimer(loop, delay, work)

    def _home(self) -> AbstractEventLoop:
        """The loop of background work: the running one, else the one this controller was last used in."""
        running = asyncio._get_running_loop()
        if running is not None:
            self._loop = running
            return running
        loop = self._loop or getattr(self.store.scheduler, "loop", None)
        if loop is None:
            raise RuntimeError(
                "an AsyncController does background work in an asyncio event loop; call this from a coroutine"
            )
        return loop

    def _begin(self, flight: Flight, loop: AbstractEventLoop) -> None:
        """Starts the request in a task of its own, its first step now."""
        if not flight.done:
            task = tasks.start_task(flight.manager.run_async(flight, self._transport), loop)
            if task is not None:
                task.add_done_callback(flight.ended)
            elif not flight.done:
                flight.manager.abandon(flight)
        elif flight.resets == self.store.resets:
            # Answered from elsewhere meanwhile: the network's own answer is still wanted in the store (§9.2).
            self._launch(flight, loop)

    def _launch(self, flight: Flight, loop: AbstractEventLoop) -> None:
        self._loop = loop
        flight.loop = loop
        flight.task = loop.create_task(flight.manager.run_async(flight, self._transport))
        flight.task.add_done_callback(flight.ended)

    def _launch_detached(self, flight: Flight, loop: AbstractEventLoop) -> None:
        if flight.claim():
            self._launch(flight, loop)

    async def read_args(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Any:
        """`read` for bound args."""
        request = endpoint.request(args)
        data = self.store.fresh(request)
        if data is not None:
            return data
        reading = self.store.read(request)
        if reading.needs_fetch or reading.error is not None:
            return await drive_async(self.read_anew(request, reading), self._transport)
        return reading.data

    async def _items(self, pages: Pages) -> AsyncIterator[Any]:
        while await self.wait_for(pages.turn()):
            for item in pages.items():
                yield item


class RemoteTimer:
    """A timer of an event loop, set and cancelled from other threads."""

    __slots__ = ("_cancelled", "_handle", "_lock", "_loop", "_work")

    def __init__(self, loop: AbstractEventLoop, delay: float, work: Callable[[], object]) -> None:
        self._loop = loop
        self._work = work
        self._lock = threading.Lock()
        self._cancelled = False
        self._handle: Handle | None = None
        loop.call_soon_threadsafe(self._set, delay)

    def _set(self, delay: float) -> None:
        with self._lock:
            if not self._cancelled:
                self._handle = self._loop.call_later(max(0.0, delay) / 1000, self._work)

    def cancel(self) -> None:
        """The work is not done any more."""
        with self._lock:
            self._cancelled = True
            handle = self._handle
        if handle is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(handle.cancel)


def bind_args(endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional args of a call in either form (§3.3); ValueError for `""` as a whole path segment (§2.2)."""
    bound = endpoint.bind_args(args, kwargs)
    refuse_empty(endpoint, bound)
    return bound


def refuse_empty(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
    """ValueError for `""` as a whole path segment, as before any request (§2.2)."""
    if args and type(args[0]) is dict and "" in args[0].values():
        endpoint.request_url(args)


def written(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Request:
    """The request of a result that is written by hand, which is one also where its only argument is None."""
    return Request(endpoint, endpoint.rules, args, endpoint.key(*args))


def key_test(test: Any) -> Callable[[str], bool]:
    """The predicate on keys that an endpoint, or a predicate, stands for."""
    method = getattr(test, "test_key", None)
    if method is not None:
        return method  # type: ignore[no-any-return]  # an endpoint's
    if callable(test):
        return test  # type: ignore[no-any-return]
    raise TypeError(f"expected an endpoint or a function of the key, got {test!r}")


def known(error: BaseException | None) -> BaseException:
    """An error that the store holds, ready to be raised once more: without the traceback of the last time."""
    if error is None:
        raise AssertionError("the store reported neither data nor an error")
    return error.with_traceback(None)


def is_list(endpoint: Endpoint[..., Any]) -> bool:
    """The endpoint's schema holds a Collection, so that there is something to push to and to page through."""
    return endpoint.schema is not None and find_collection(endpoint.schema) is not None


def running_loop() -> AbstractEventLoop:
    """The running asyncio loop; a clear error under anything else (§9.7)."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "AsyncController runs on asyncio, and no asyncio event loop is running here; "
            "use asyncio.run(…), or Controller in code without a loop"
        ) from None


def looks_at_requests(manager: Manager) -> bool:
    """Fetches and responses mean something to this manager; those of the library for other things hand them on."""
    own = "handle" not in getattr(manager, "__dict__", ())
    return not own or getattr(type(manager), "handle", None) not in (SubscriptionManager.handle, LogoutManager.handle)


def _link(manager: Manager, following: Callable[[Action], Any]) -> Callable[[Action], Any]:
    handle = manager.handle
    return lambda action: handle(action, following)


#: Names that a generated client has besides its resources.
PUBLIC_NAMES: Final = tuple(
    sorted(
        {name for kind in (Controller, AsyncController) for name in dir(kind) if not name.startswith("_")}
        | {"managers", "opened", "retries", "store"}
    )
)
