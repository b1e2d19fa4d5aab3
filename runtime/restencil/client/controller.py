"""Controllers: the operations on a store, for blocking code and for asyncio.

The classes have no public members besides the documented operations, because resources of a client are attributes too
and must not collide with them. The implementation is in `_core`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, ParamSpec, Self, TypeAlias, TypeVar, Unpack, overload

from ..base.logs import read_environment
from ..base.transport import public_url
from ..cache.actions import (
    ExpireAll,
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
from ..cache.request import Request
from ..cache.store import Store
from ..endpoint.bound import AsyncBoundEndpoint, AsyncBoundList, BoundEndpoint, BoundList
from ..endpoint.call_options import has_partitions
from ..endpoint.typing import Awaiting, Blocking
from ..http.outgoing import agent_of
from ..http.transport import AsyncTransport, SyncTransport
from ..schema import find_collection
from .arguments import OPTIONS, preparation_of, store_of
from .core import bind_args_of
from .in_flight import response_of
from .sync_core import SyncCore

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy, Token
    from ..base.durations import Duration, Timeout
    from ..base.response import Response
    from ..cache.actions import Action
    from ..cache.explanation import Explanation
    from ..cache.policy import EndpointState, Reading
    from ..cache.snapshot import Snapshot
    from ..endpoint.endpoint import Endpoint
    from ..endpoint.iterators import AsyncItems, AsyncLiveRead, Items, LiveRead
    from ..http.auth import Api
    from .arguments import AsyncClientOptions, ClientOptions
    from .async_core import AsyncCore
    from .core import Core
    from .managers import Manager
    from .oauth2 import OAuth2

    E = TypeVar("E")

#: The HTTP libraries by name.
HttpLibrary: TypeAlias = Literal["httpx", "httpx2"]

P = ParamSpec("P")
R = TypeVar("R")

#: Lifetime of what `set` writes, in milliseconds.
SET_EXPIRY: Final = 60_000.0


class AnyController:
    """Base class of both kinds of controllers, with the operations that never wait.

    A subclass for one API, such as a generated client, sets `_api`, and then accepts the arguments `token` and
    `url_prefix`.
    """

    _api: ClassVar[Api | None] = None
    _view_type: ClassVar[Any] = None

    def __init__(self, core: Core) -> None:
        read_environment()
        self._core = core
        core.host = weakref.ref(self)
        self.store = core.store
        self.managers: tuple[Manager, ...] = core.managers
        """The managers, in the order in which they handle actions."""
        self.retries: int | RetryPolicy | None = core.retries
        """The argument `retries`; None: only endpoints with `retries` of their own retry requests."""
        core.open(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'open' if self.opened else 'closed'}>"

    # life

    @property
    def opened(self) -> bool:
        """Whether it is open and accepts fetches and subscriptions. A new controller is open."""
        return self._core.opened

    def open(self) -> None:
        """Start the managers. A new controller is open already; a closed one works again afterwards."""
        self._core.open(self)

    def dispatch(self, action: Action) -> Any:
        """Pass an action through the managers to the store; for managers and custom actions.

            controller.dispatch(ExpireAll(lambda key: key.startswith("GET /articles")))

        Actions are in `restencil.cache.actions`. Returns the fetched value for a SetResponse, else None.
        """
        return self._core.dispatch(action)

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """Return the endpoint with this controller's operations; lists have `push`, `get_page`, `iterate` and so on.

        `controller.bind(Articles.get)(id=1)` is `controller.read(Articles.get, id=1)`.
        """
        raise NotImplementedError

    def with_options(
        self,
        *,
        headers: Mapping[str, str | None] | None = None,
        query: Mapping[str, Any] | None = None,
        timeout: Duration | Timeout | None = None,
        retries: int | RetryPolicy | None = None,
        token: Token | Mapping[str, Token] | None = None,
        vary: bool = True,
    ) -> Self:
        """Return a view: this client with options for each of its calls. Equal options return the identical view.

            news.with_options(timeout=500, retries=2).articles.get(id=1)
            german = news.with_options(headers={"Accept-Language": "de"})

        headers   override those of endpoints; None removes a header of the spec
        query     query parameters of each call; the arguments of the call override them
        timeout   milliseconds, "30s", a timedelta, or a Timeout; `math.inf` is no limit
        retries   a number, 0 for none, or `Retries`
        token     another secret, or a function that returns it
        vary      whether these headers, query parameters or token may change the content of responses

        Views with headers or a token that may change responses have a separate store, shared by all views with the same
        headers and token; with `vary=False` the view uses the store of this client. Headers such as `traceparent` never
        need a separate store. None means "unchanged": options of a view of a view add up. A view owns no connections,
        and works as long as its client is open.

        Raises TypeError and ValueError for invalid values, TypeError for a token if the API has no authentication, and
        TypeError if a separate store is needed but the `managers` of the client are not a function.
        """
        views = self._core.views
        if views is None:
            from .views import Views

            views = self._core.views = Views(self, self._core, self._api)
        return views.view(views.base, headers, query, timeout, retries, token, vary)  # type: ignore[no-any-return]  # a view is of the client's class

    # reading, without waiting

    def cached(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Return the stored data, stale or not, or None; never sends a request."""
        data: R | None = self._core.cached(endpoint.request(endpoint.bind_args(args, kwargs)))
        return data

    def state(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> EndpointState[R]:
        """Return data, error, loading, expiry status and expires_at (ms); never sends a request."""
        return self._core.state(_request(endpoint, args, kwargs))

    def get_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Reading:
        """Return what a read would find now: `data`, `expiry_status`, `expires_at` (ms), `decision` and more."""
        return self.store.read(_request(endpoint, args, kwargs))

    def get_error(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> BaseException | None:
        """Return the error that a read would raise now; None if the error policy is soft and there is data."""
        return self.store.read(_request(endpoint, args, kwargs)).error

    @overload
    def get(self, schema: type[E], /, *args: Any, **kwargs: Any) -> E | None: ...
    @overload
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Query the stored entities with a schema (entity, Collection, Query) and args; None if nothing is found.

        `controller.get(Article, id=1)` is the article, whichever response contained it.
        """
        return self.store.query(schema, (*args, kwargs) if kwargs else args)

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """Return an immutable snapshot of the current state of the store.

        `fetched_at` is the fetch time that the snapshot reports, in milliseconds of the store's clock; default: now.
        """
        return self.store.snapshot(fetched_at)

    def explain(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Explain why a read of this endpoint would or would not fetch now; `print` the result, or read its members."""
        from ..cache.explanation import explain

        request = _request(endpoint, args, kwargs)
        request.locator = self._core
        return explain(self.store, request)

    # writing

    def set_response(self, endpoint: Endpoint[P, R], response: object, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Store a response as if it had been fetched now. Raises ProcessingError if it does not match the schema.

        controller.set_response(Articles.get, {"id": 1, "title": "A"}, id=1)
        """
        self._set_response(endpoint, response, bind_args_of(endpoint, args, kwargs))

    def set_error(self, endpoint: Endpoint[P, R], error: BaseException, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Store an error as if a fetch had failed now; reads raise it while it is fresh, if its policy is not soft."""
        self._set_error(endpoint, error, bind_args_of(endpoint, args, kwargs))

    def resolve(
        self, endpoint: Endpoint[P, R], response: object, fetched_at: float, /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Store a response, or an error if `response` is an exception, of a fetch that started at `fetched_at`.

        `fetched_at` is in milliseconds of the store's clock. Raises ProcessingError if the response does not match the
        schema.
        """
        bound = bind_args_of(endpoint, args, kwargs)
        if isinstance(response, BaseException):
            self._set_error(endpoint, response, bound, fetched_at)
        else:
            self._set_response(endpoint, response, bound, fetched_at)

    def set(self, schema: Any, value: Any, /, *args: Any, **kwargs: Any) -> None:
        """Store a value of a schema, fresh for 60 seconds; a function is called with the previous value.

            controller.set(Article, {"id": 1, "title": "B"}, id=1)
            controller.set(Article, lambda article: {"id": article.id, "votes": article.votes + 1}, id=1)

        Raises ProcessingError for a value that does not match the schema.
        """
        number, now = self.store.next_number(), self.store.now()
        meta = Meta(number, now, now + SET_EXPIRY)
        self._core.dispatch(Set(schema, (*args, kwargs) if kwargs else args, value, meta))

    def invalidate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Invalidate one result: the next read waits for a new fetch."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.dispatch(Invalidate(request.key))

    def expire(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Make one result stale: its data stays visible, and the next read fetches it again."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.dispatch(ExpireAll(request.key.__eq__))

    def invalidate_all(self, test: object, /) -> None:
        """Invalidate every result of an endpoint, or with a key for which a function returns True.

            controller.invalidate_all(Articles.get)                      # with any arguments
            controller.invalidate_all(lambda key: "/articles" in key)

        Raises TypeError for anything else.
        """
        self._core.dispatch(InvalidateAll(_key_test(test)))

    def expire_all(self, test: object, /) -> None:
        """Make every result of an endpoint stale, or those with a key for which a function returns True.

        Their data stays visible. `controller.expire_all(Articles.get)` includes calls with any arguments. Raises
        TypeError for anything but an endpoint or a function.
        """
        self._core.dispatch(ExpireAll(_key_test(test)))

    def reset_entire_store(self) -> None:
        """Empty the store; waiting reads raise ResetError, and responses to requests in flight are ignored."""
        self._core.dispatch(Reset())

    def subscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Keep the result up to date, by polling every `poll_frequency` ms, until `unsubscribe`.

        Raises RuntimeError if the controller is closed.
        """
        request = _stored_request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.dispatch(Subscribe(request))

    def unsubscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Undo one `subscribe` with these arguments; the last one ends the polling."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.dispatch(Unsubscribe(request))

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` after each change of the store, in the changing thread; return a function that removes it."""
        return self.store.add_listener(listener)

    def revalidate(self) -> None:
        """Fetch each stale `live` read of this controller again, for example when the application regains the focus."""
        self._core.revalidate()

    # shared parts

    def _form(self, endpoint: Any) -> Any:
        """Return the endpoint in the form in which this controller calls it; subclasses may override it."""
        return endpoint

    def _set_response(
        self, endpoint: Endpoint[..., Any], response: object, args: tuple[object, ...], fetched_at: float | None = None
    ) -> None:
        now, lifetimes = self.store.now(), self._core.lifetimes
        request = _written(endpoint, args)
        request.locator = self._core
        number = self.store.next_number() if fetched_at is None else fetched_at
        meta = Meta(number, now, now + lifetimes.data_length(request))
        error_expires_at = now + lifetimes.error_length(request)
        self._core.dispatch(SetResponse(request, response, meta, None, None, error_expires_at, wanted=False))

    def _set_error(
        self,
        endpoint: Endpoint[..., Any],
        error: BaseException,
        args: tuple[object, ...],
        fetched_at: float | None = None,
    ) -> None:
        now = self.store.now()
        request = _written(endpoint, args)
        request.locator = self._core
        length = self._core.lifetimes.error_length(request)
        number = self.store.next_number() if fetched_at is None else fetched_at
        self._core.dispatch(SetError(request, error, Meta(number, now, now + length)))


class Controller(AnyController, Blocking):
    """The operations on a store for blocking code; safe to use from any number of threads.

        with Controller(base_url="https://blog.example") as controller:
            article = controller.read(Articles.get, id=1)

    While other threads run, the request of a read runs on a separate thread, so that a reset of the store releases the
    caller at once; hooks then see the caller's context variables, but not its thread locals. A forked process keeps the
    content of the store, does not wait for requests in flight of its parent, and opens new connections, unless it uses
    a `client` argument, which must be replaced there.

    store               holds the state; a new one by default. Any number of controllers may share one
    client              a custom Client of httpx or httpx2 (proxies, TLS, limits, auth, event hooks), or of a subclass,
                        such as a test client; the controller never closes it
    http                "httpx" or "httpx2": the HTTP library to use without `client`; None: the environment variable
                        RESTENCIL_HTTP, else httpx if it is installed, else httpx2
    user_agent          the User-Agent header, which overrides that of `client`; False keeps that of `client`; None:
                        package, version, this library, Python and the HTTP library, unless `client` has its own
    base_url            the base of relative URLs
    managers            a list, or a function that returns one and is called for each separate store of a view too;
                        default: a NetworkManager and a SubscriptionManager
    retries             retries of requests that may be repeated: a number, or `Retries`; None: none
    timeout             of a whole attempt: milliseconds, "30s", a timedelta, or a Timeout; None: that of the HTTP
                        client. It is strict without `client`, else checked as the body arrives
    max_response_bytes  limit of a response body after decompression; reading it needs at most twice this memory; None:
                        256 MB for a body that is read whole, and no limit for a stream
    token               for clients of one API (`_api`), such as generated ones: the secret, or a function that returns
                        it and is called for every request
    url_prefix          for clients of one API: replaces the `url_prefix` of the spec, except for endpoints with a
                        separate prefix
    url_prefixes        for clients of one API: replaces the separate prefixes of endpoints:
                        `{"https://uploads.example": "http://127.0.0.1:8001"}`
    share               whether the store may be shared with a client of another server; an error otherwise

    Raises TypeError for a token or url_prefix that the API does not support, and for an async `client`; ValueError for
    a user_agent that is invalid in a header.
    """

    _core: SyncCore

    def __init__(
        self, store: Store | None = None, *, token: Token | OAuth2 | None = None, **options: Unpack[ClientOptions]
    ) -> None:
        super().__init__(_core_of(type(self), self._api, store, token, {**options}, SyncTransport, SyncCore))

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the managers, close the connections of this controller, and drop the results of requests in flight.

        Callers that wait for those raise AbortError. A second call does nothing; `open` starts the controller again.
        """
        self._core.close()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """Return the endpoint with this controller's operations; lists have `push`, `get_page`, `iterate` and so on.

        `controller.bind(Articles.get)(id=1)` is `controller.read(Articles.get, id=1)`.
        """
        return _partitioned(BoundList if _is_list(endpoint) else BoundEndpoint, endpoint)(self, endpoint)

    def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Send a request, store the response, and return its value.

        Raises NetworkError, ProcessingError, AbortError, ResetError, or an error of a hook; the first two are stored
        too.
        """
        result: R = self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True))[1]
        return result

    def fetch_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """Fetch, and return the HTTP response: `value`, `status`, `headers`, `url`, `request_id` and more.

            answer = controller.fetch_response(Articles.get, id=1)
            answer.value, answer.headers["X-RateLimit-Remaining"]

        It always sends a request, stores the response, and raises the same errors as `fetch`. A call that joins a
        request in flight returns the same members.
        """
        in_flight, value = self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True))
        return response_of(in_flight, value)

    def request(
        self,
        method: str,
        path: str,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: Any = None,
        timeout: Duration | Timeout | None = None,
    ) -> Response[Any]:
        """Send a request without an endpoint, with the credentials, redirect rule, retries and limits of the client.

            news.request("POST", "/articles/1/lock", body={"minutes": 5}).value

        `path` is appended to the URL prefix of the API. The content type of the response determines the value: JSON, a
        string, bytes or None. Nothing is stored, and equal requests are not coalesced.

        Raises NetworkError if it fails, ValueError for a path of another origin, TypeError and ValueError for invalid
        arguments.
        """
        return self._core.ask(
            _ad_hoc_request(self._form, self._core, self._api, method, path, query, headers, body, timeout)
        )

    def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the stored data if it is valid and fresh, else fetch it; raises the same errors as `fetch`.

        Optimistic updates are ignored.
        """
        request = _request(endpoint, args, kwargs)
        reading: Any = self._core.wait_for(self.store.looking(request, self.store.read_base))
        if not reading.needs_fetch:
            data: R = reading.data
            return data
        return self.fetch(endpoint, *args, **kwargs)

    def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Read through the cache: return fresh data, or stale data while it is fetched again, else wait for a fetch.

        Raises the stored error of the endpoint if its policy is not soft, and InvalidDataError if the fetched data is
        unusable.
        """
        if endpoint.remove_cursor is not None:
            return self.fetch(endpoint, *args, **kwargs)  # pages are never read from the store
        result: R = self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> LiveRead[R]:
        """Return a live read: subscribed while it is open, and an iterator that yields the data on each change.

        with controller.live(Articles.get, id=1) as live:
            for article in live:
                show(article)
        """
        from .live import BlockingLiveRead

        return BlockingLiveRead(self._core, _stored_request(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Items[Any]:
        """Iterate over the items of all pages of a paginated list, fetching one page at a time; each item occurs once.

            for article in controller.iterate(Articles.get_list, author="bob").limit(100):
                show(article)

        `limit(n)` stops after n items; `start_at(position)` continues after the `position` of an earlier iterator.

        Raises TypeError at once if the endpoint has no pagination; iteration raises the same errors as `fetch`.
        """
        from .paging import ItemsOfPages, Pages

        return ItemsOfPages(self._core, Pages(self._core, endpoint, bind_args_of(endpoint, args, kwargs)))

    def all_settled(self) -> None:
        """Wait until all requests that are in flight now have completed; their errors are not raised."""
        self._core.wait_for(self._core.idle_steps())


class AsyncController(AnyController, Awaiting):
    """The operations on a store for asyncio; a store may be shared with controllers of both kinds.

        async with AsyncController(base_url="https://blog.example") as controller:
            article = await controller.read(Articles.get, id=1)

    Arguments are those of Controller, with an AsyncClient of httpx or httpx2. Operations that wait are coroutines or
    async iterators; everything else is as in Controller. Each request runs in a separate task: cancelling a caller
    aborts the request only if no other caller waits for it.
    """

    _core: AsyncCore

    def __init__(
        self, store: Store | None = None, *, token: Token | OAuth2 | None = None, **options: Unpack[AsyncClientOptions]
    ) -> None:
        # Imported here so that blocking code does not import asyncio.
        from .async_core import AsyncCore

        super().__init__(_core_of(type(self), self._api, store, token, {**options}, AsyncTransport, AsyncCore))

    async def __aenter__(self) -> Self:
        self._core.enter_loop()
        self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the managers, close the connections of this controller, and abort the requests in flight.

        Callers that wait for those raise AbortError. A second call does nothing; `open` starts the controller again.
        """
        await self._core.close()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """Return the endpoint with this controller's operations; lists have `push`, `get_page`, `iterate` and so on.

        `await controller.bind(Articles.get)(id=1)` is `await controller.read(Articles.get, id=1)`.
        """
        return _partitioned(AsyncBoundList if _is_list(endpoint) else AsyncBoundEndpoint, endpoint)(self, endpoint)

    async def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Send a request, store the response, and return its value.

        Raises NetworkError, ProcessingError, AbortError, ResetError, or an error of a hook; the first two are stored
        too.
        """
        result: R = (await self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True)))[1]
        return result

    async def fetch_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """Fetch, and return the HTTP response: `value`, `status`, `headers`, `url`, `request_id` and more.

            answer = await controller.fetch_response(Articles.get, id=1)
            answer.value, answer.headers["X-RateLimit-Remaining"]

        It always sends a request, stores the response, and raises the same errors as `fetch`. A call that joins a
        request in flight returns the same members.
        """
        in_flight, value = await self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True))
        return response_of(in_flight, value)

    async def request(
        self,
        method: str,
        path: str,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: Any = None,
        timeout: Duration | Timeout | None = None,  # noqa: ASYNC109 - each step of the request has it, not the whole
    ) -> Response[Any]:
        """Send a request without an endpoint, with the credentials, redirect rule, retries and limits of the client.

            (await news.request("POST", "/articles/1/lock", body={"minutes": 5})).value

        `path` is appended to the URL prefix of the API. The content type of the response determines the value: JSON, a
        string, bytes or None. Nothing is stored, and equal requests are not coalesced.

        Raises NetworkError if it fails, ValueError for a path of another origin, TypeError and ValueError for invalid
        arguments.
        """
        return await self._core.ask(
            _ad_hoc_request(self._form, self._core, self._api, method, path, query, headers, body, timeout)
        )

    async def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the stored data if it is valid and fresh, else fetch it; raises the same errors as `fetch`.

        Optimistic updates are ignored.
        """
        request = _request(endpoint, args, kwargs)
        reading: Any = await self._core.wait_for(self.store.looking(request, self.store.read_base))
        if not reading.needs_fetch:
            data: R = reading.data
            return data
        return await self.fetch(endpoint, *args, **kwargs)

    async def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Read through the cache: return fresh data, or stale data while it is fetched again, else wait for a fetch.

        Raises the stored error of the endpoint if its policy is not soft, and InvalidDataError if the fetched data is
        unusable.
        """
        if endpoint.remove_cursor is not None:
            return await self.fetch(endpoint, *args, **kwargs)  # pages are never read from the store
        result: R = await self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncLiveRead[R]:
        """Return a live read: subscribed while it is open, and an async iterator that yields the data on each change.

        async with controller.live(Articles.get, id=1) as live:
            async for article in live:
                show(article)
        """
        from .live import AwaitingLiveRead

        return AwaitingLiveRead(self._core, _stored_request(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncItems[Any]:
        """Iterate over the items of all pages of a paginated list, fetching one page at a time; each item occurs once.

            async for article in controller.iterate(Articles.get_list, author="bob").limit(100):
                show(article)

        `limit(n)` stops after n items; `start_at(position)` continues after the `position` of an earlier iterator.

        Raises TypeError at once if the endpoint has no pagination; iteration raises the same errors as `fetch`.
        """
        from .paging import AwaitedItemsOfPages, Pages

        return AwaitedItemsOfPages(self._core, Pages(self._core, endpoint, bind_args_of(endpoint, args, kwargs)))

    async def all_settled(self) -> None:
        """Wait until all requests that are in flight now have completed; their errors are not raised."""
        await self._core.wait_for(self._core.idle_steps())


def _core_of(
    kind: type[Any], api: Api | None, store: Any, token: Any, given: dict[str, Any], transport: Any, core: Any
) -> Any:
    """Return the core of a client of this class, with a transport; both of the given classes."""
    options = {name: given.pop(name, None) for name in OPTIONS}
    base_url = str(options["base_url"] or "")
    store = store_of(kind, store)
    preparation = preparation_of(
        kind, api, store, token, options["url_prefix"], options["url_prefixes"], base_url, given
    )
    made = core(
        store,
        options["managers"],
        options["retries"],
        preparation,
        transport(
            options["client"],
            http=options["http"],
            base_url=base_url,
            timeout=options["timeout"],
            max_response_bytes=options["max_response_bytes"],
            preparation=preparation,
            agent=agent_of(kind, api, options["user_agent"]),
            request_id=None if api is None else api.request_id,
            **({"scheduler": store.scheduler} if transport is SyncTransport else {}),
        ),
    )
    _remember_origin(made, api, share=bool(options["share"]))
    return made


def _remember_origin(core: Core, api: Api | None, *, share: bool) -> None:
    """Remember the origin of the client in its store. Raises ValueError if clients of another origin use the store."""
    for scheme in () if api is None else api.schemes.values():
        if scheme.kind == "query":
            core.store.note_secret(scheme.name)
    try:
        origin = core.address("" if api is None else api.url_prefix)
    except ValueError:
        return  # variables of the server are read from the environment with the first request
    if core.preparation is not None:
        moved, parameters = core.preparation.url_prefixes, core.preparation.parameters
        own = () if parameters is None else parameters.distinguishing  # such as a tenant
        elsewhere = (f"{prefix} at {public_url(moved[prefix])}" for prefix in sorted(moved))
        origin = ", ".join((origin, *elsewhere, *own))
    if origin:
        core.store.remember_origin(origin, is_base=api is None, share=share)


def _ad_hoc_request(
    form: Callable[[Any], Any],
    core: Core,
    api: Api | None,
    method: str,
    path: str,
    query: Mapping[str, Any] | None,
    headers: Mapping[str, str | None] | None,
    body: Any,
    timeout: Duration | Timeout | None,
) -> Request:
    """Return the request of a call without an endpoint."""
    from ..endpoint.ad_hoc import AD_HOC, ad_hoc_endpoint, address_of, check_headers, check_query

    prefix = "" if api is None else api.url_prefix
    endpoint = form(AD_HOC)
    parameters, carriers = ((), ()) if api is None else (api.credential_parameters, api.credential_headers)
    args = endpoint.bind_args((check_query(query, parameters), body), {})
    address = address_of(path, prefix, core.address(prefix))
    options: dict[str, Any] = {}
    if api is not None and api.error_classes is not None:
        options.update(errors=api.errors, error_classes=api.error_classes)
    if api is not None and api.redirects is not None:
        options["redirects"] = api.redirects
    one = ad_hoc_endpoint(endpoint, method, address, check_headers(headers, carriers), timeout, **options)
    request: Request = one.request(args, located=True)
    return request


def _request(endpoint: Endpoint[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]) -> Request:
    """Return the request of a call; raises ValueError for `""` as a whole path segment."""
    return endpoint.request(bind_args_of(endpoint, args, kwargs))


def _stored_request(endpoint: Endpoint[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]) -> Request:
    """Return the request of a call with a stored result. Raises TypeError for a stream, which is never stored."""
    return _checked_stored(_request(endpoint, args, kwargs))


def _checked_stored(request: Request) -> Request:
    if request.rules.read.is_stored:
        return request
    raise TypeError(
        f"endpoint {request.endpoint.name!r} has content='stream', whose responses are never stored; "
        "set content='bytes' to store them"
    )


def _written(endpoint: Endpoint[..., Any], args: tuple[object, ...]) -> Request:
    """Return the request of `set_response` and similar, which is active even if its only argument is None."""
    request = endpoint.request(args, located=endpoint.remove_cursor is not None)
    if request.inactive:
        request = Request(endpoint, endpoint.rules, args, endpoint.key(*args) + endpoint.filed_as)
    return _checked_stored(request)


def _key_test(test: Any) -> Callable[[str], bool]:
    """Return a predicate on keys: that of an endpoint, or the function itself."""
    method = getattr(test, "test_key", None)
    if method is not None:
        return method  # type: ignore[no-any-return]  # an endpoint's
    if callable(test):
        return test  # type: ignore[no-any-return]  # the user is responsible for its result
    raise TypeError(f"expected an endpoint or a function of the key, got {test!r}")


def _partitioned(form: Callable[..., object], endpoint: Endpoint[..., Any]) -> Callable[..., Any]:
    """Return the class of bound endpoints for an endpoint, some of whose headers may need separate stores."""
    if not has_partitions(endpoint):
        return form
    from ..endpoint.header_partitions import partitioned

    return partitioned(form)


def _is_list(endpoint: Endpoint[..., Any]) -> bool:
    """Whether the endpoint returns a collection, which supports `push`, or a paginated list of plain values."""
    if endpoint.schema is not None and find_collection(endpoint.schema) is not None:
        return True
    has_pages = endpoint.pagination_field is not None or endpoint.pagination is not None
    return has_pages and not endpoint.side_effect
