"""Controllers: the operations on a store, for blocking code and for asyncio.

Here stand the documented operations and nothing else, so that nothing else takes a name from the resources of a client.
What they are made of stands behind `_core`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Never, ParamSpec, Self, TypeAlias, TypeVar, overload

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
from ..http.user_agent import agent_of
from ..schema import find_collection
from .arguments import preparation_of, store_of
from .core import bind_args_of
from .in_flight import response_of
from .sync_core import SyncCore

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy, Token
    from ..base.durations import Duration, Timeout
    from ..base.response import Response
    from ..base.transport import AwaitingClient, BlockingClient
    from ..cache.actions import Action
    from ..cache.explanation import Explanation
    from ..cache.reading import EndpointState, Reading
    from ..cache.snapshot import Snapshot
    from ..endpoint.endpoint import Endpoint
    from ..endpoint.live import AsyncLiveRead, LiveRead
    from ..endpoint.page_runs import AsyncItems, Items
    from ..http.auth import Api
    from .async_core import AsyncCore
    from .core import Core, Managers
    from .managers import Manager
    from .oauth2 import OAuth2
    from .retry import Retries

    E = TypeVar("E")

#: The HTTP libraries by name.
HttpLibrary: TypeAlias = Literal["httpx", "httpx2"]

P = ParamSpec("P")
R = TypeVar("R")

#: Lifetime of what `set` writes, in milliseconds.
SET_EXPIRY: Final = 60_000.0


class AnyController:
    """What both kinds of controllers share: every operation that never waits.

    A subclass that speaks to one API names it in `_api` (generated clients do); it may then be given a `token` and
    another `url_prefix`.
    """

    _api: ClassVar[Api | None] = None
    _view_type: ClassVar[Any] = None

    def __init__(self, core: Core) -> None:
        read_environment()
        self._core = core
        core.host = weakref.ref(self)
        self.store = core.store
        self.managers: tuple[Manager, ...] = core.managers
        """What stands between the operations and the store, in its order."""
        self.retries: int | RetryPolicy | None = core.retries
        """What was given as `retries`; None: requests are tried again only where their endpoint says so."""
        if type(self).dispatch is not AnyController.dispatch:
            core.override_dispatch(self.dispatch)
        core.open(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'open' if self.opened else 'closed'}>"

    # life

    @property
    def opened(self) -> bool:
        """Whether it is open: fetches and subscriptions are accepted. A new controller is."""
        return self._core.opened

    def open(self) -> None:
        """Starts the managers. A new controller is open; a closed one works again afterwards."""
        self._core.open(self)

    def dispatch(self, action: Action) -> Any:
        """Hands an action to the first manager, and so to the store; for managers and for actions of one's own.

            controller.dispatch(ExpireAll(lambda key: key.startswith("GET /articles")))

        Actions are those of `restencil.cache.actions`. Gives the value of the fetch for a SetResponse, else None.
        """
        return self._core.chain(action)

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on.

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
        """A view: this client with something told of each of its calls. Equal options give the identical view.

            news.with_options(timeout=500, retries=2).articles.get(id=1)
            german = news.with_options(headers={"Accept-Language": "de"})

        headers   over those of endpoints; None takes one of the spec away
        query     search parameters of each call, under those that it gives itself
        timeout   milliseconds, "30s", a timedelta, or a Timeout; `math.inf` is no limit
        retries   a number, 0 for none, or `Retries`
        token     another secret, or a function that gives it
        vary      whether these headers, search parameters or token may change what is answered

        What headers and token may change is kept in a store of its own, which all views have in common that agree in
        them; `vary=False` says that they change nothing, and stays in the store of what it is asked of. Headers such as
        `traceparent` never do. None means "as before": options of a view of a view add up. A view owns nothing, and
        works for as long as its client is open.

        Raises TypeError and ValueError for what cannot be sent, and TypeError for a token where the API knows none, or
        for a store of its own where the managers of the client were not given as a function.
        """
        views = self._core.views
        if views is None:
            from .views import Views

            views = self._core.views = Views(self, self._core, self._api)
        return views.view(views.base, headers, query, timeout, retries, token, vary)  # type: ignore[no-any-return]  # a view is of the client's class

    # reading, without waiting

    def cached(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """The data that the store has, stale or not, or None; never asks the network."""
        data: R | None = self._core.cached(endpoint.request(endpoint.bind_args(args, kwargs)))
        return data

    def state(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> EndpointState[R]:
        """Data, error, loading, expiry status and expires_at (ms); never asks the network."""
        return self._core.state(_request(endpoint, args, kwargs))

    def get_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Reading:
        """What a read would see now: `data`, `expiry_status`, `expires_at` (ms), `decision` and more."""
        return self.store.read(_request(endpoint, args, kwargs))

    def get_error(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> BaseException | None:
        """The error that a read would raise now: none where the policy is soft and there is data."""
        return self.store.read(_request(endpoint, args, kwargs)).error

    @overload
    def get(self, schema: type[E], /, *args: Any, **kwargs: Any) -> E | None: ...
    @overload
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def get(self, schema: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What the store's tables give for a schema (entity, Collection, Query) and args; None if unknown.

        `controller.get(Article, id=1)` is the article, whichever response it came with.
        """
        return self.store.query(schema, (*args, kwargs) if kwargs else args)

    def snapshot(self, fetched_at: float | None = None) -> Snapshot:
        """The state as it is now, for as long as the snapshot is held.

        `fetched_at` is the time that it says it was fetched at, in milliseconds of the store's clock; now by default.
        """
        return self.store.snapshot(fetched_at)

    def explain(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Why a read of this endpoint would or would not fetch now; `print` it, or look at its members."""
        from ..cache.explanation import explain

        request = _request(endpoint, args, kwargs)
        request.locator = self._core
        return explain(self.store, request)

    # writing

    def set_response(self, endpoint: Endpoint[P, R], response: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Writes a response as if it had been fetched now. Raises ProcessingError where it does not fit.

        controller.set_response(Articles.get, {"id": 1, "title": "A"}, id=1)
        """
        self._set_response(endpoint, response, bind_args_of(endpoint, args, kwargs))

    def set_error(self, endpoint: Endpoint[P, R], error: BaseException, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Records an error as if a fetch had failed now; reads raise it while it is fresh, as its policy says."""
        self._set_error(endpoint, error, bind_args_of(endpoint, args, kwargs))

    def resolve(
        self, endpoint: Endpoint[P, R], response: Any, fetched_at: float, /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Writes a response, or an error where `response` is an exception, of a fetch begun at `fetched_at`.

        `fetched_at` is in milliseconds of the store's clock. Raises ProcessingError where a response does not fit.
        """
        bound = bind_args_of(endpoint, args, kwargs)
        if isinstance(response, BaseException):
            self._set_error(endpoint, response, bound, fetched_at)
        else:
            self._set_response(endpoint, response, bound, fetched_at)

    def set(self, schema: Any, value: Any, /, *args: Any, **kwargs: Any) -> None:
        """Writes a value through a schema, fresh for 60 seconds; a function gets the previous value, if any.

            controller.set(Article, {"id": 1, "title": "B"}, id=1)
            controller.set(Article, lambda article: {"id": article.id, "votes": article.votes + 1}, id=1)

        Raises ProcessingError for a value that does not fit.
        """
        number, now = self.store.next_number(), self.store.now()
        meta = Meta(number, now, now + SET_EXPIRY)
        self._core.chain(Set(schema, (*args, kwargs) if kwargs else args, value, meta))

    def invalidate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Forces the next read to fetch and wait."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.chain(Invalidate(request.key))

    def expire(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Makes one result stale: its data stays visible, the next read fetches it anew."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.chain(ExpireAll(request.key.__eq__))

    def invalidate_all(self, test: Any, /) -> None:
        """Forces the next read to fetch and wait, for every result whose key an endpoint, or a function, accepts.

            controller.invalidate_all(Articles.get)                      # whatever its arguments
            controller.invalidate_all(lambda key: "/articles" in key)

        Raises TypeError for anything else.
        """
        self._core.chain(InvalidateAll(_key_test(test)))

    def expire_all(self, test: Any, /) -> None:
        """Makes every result stale whose key an endpoint, or a function, accepts; their data stays visible.

        `controller.expire_all(Articles.get)` means whatever arguments it was called with. Raises TypeError for what is
        neither an endpoint nor a function.
        """
        self._core.chain(ExpireAll(_key_test(test)))

    def reset_entire_store(self) -> None:
        """Starts the store over; who waits for a read gets ResetError, what was sent before is ignored."""
        self._core.chain(Reset())

    def subscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Keeps the result up to date, by polling every `poll_frequency` ms, until `unsubscribe`.

        Raises RuntimeError where the controller is closed.
        """
        request = _stored_request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.chain(Subscribe(request))

    def unsubscribe(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Takes one `subscribe` of these arguments back; the last one ends the polling."""
        request = _request(endpoint, args, kwargs)
        if not request.inactive:
            self._core.chain(Unsubscribe(request))

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` after each change of the store, in the thread that made it; returns what removes it."""
        return self.store.add_listener(listener)

    def revalidate(self) -> None:
        """The application has the focus again: fetches each stale `live` read of this controller."""
        self._core.revalidate()

    # shared parts

    def _form(self, endpoint: Any) -> Any:
        """An endpoint as this controller calls it."""
        return endpoint

    def _set_response(
        self, endpoint: Endpoint[..., Any], response: Any, args: tuple[Any, ...], fetched_at: float | None = None
    ) -> None:
        now, lifetimes = self.store.now(), self._core.lifetimes
        request = _written(endpoint, args)
        request.locator = self._core
        number = self.store.next_number() if fetched_at is None else fetched_at
        meta = Meta(number, now, now + lifetimes.data_length(request))
        error_expires_at = now + lifetimes.error_length(request)
        self._core.chain(SetResponse(request, response, meta, None, None, error_expires_at, wanted=False))

    def _set_error(
        self, endpoint: Endpoint[..., Any], error: BaseException, args: tuple[Any, ...], fetched_at: float | None = None
    ) -> None:
        now = self.store.now()
        request = _written(endpoint, args)
        request.locator = self._core
        length = self._core.lifetimes.error_length(request)
        number = self.store.next_number() if fetched_at is None else fetched_at
        self._core.chain(SetError(request, error, Meta(number, now, now + length)))


class Controller(AnyController, Blocking):
    """The operations on a store for blocking code; safe to use from any number of threads.

        with Controller(base_url="https://blog.example") as controller:
            article = controller.read(Articles.get, id=1)

    Where other threads run, the request of a read runs on a thread of its own, so that a reset of the store lets its
    caller go at once; hooks then see the caller's context variables, but not its thread locals. A forked process goes
    on with what the store holds: it waits for nothing that its parent has in flight, and opens connections of its own,
    except through a `client` of one's own, which is to be replaced there.

    store               holds the state; a new one by default. Any number of controllers may share one
    client              a Client of httpx or httpx2 of one's own (proxies, TLS, limits, auth, event hooks), or
                        of a subclass, such as a test client; never closed here
    http                "httpx" or "httpx2": the library of the client that is opened where none is given; None: what
                        the environment variable RESTENCIL_HTTP says, else httpx where it is installed, else httpx2
    user_agent          what requests say of who asks, whatever the client says; False leaves what the client says;
                        None: package, version, this library, Python and the HTTP library, unless the client has its own
    base_url            where relative URLs lead
    managers            a list, or a function that makes one, for each store that a view has apart too; default: a
                        NetworkManager and a SubscriptionManager
    retries             tries after the first for requests that may be repeated: a number, or `Retries`; None: none
    timeout             of a whole attempt: milliseconds, "30s", a timedelta, or a Timeout; None leaves it to the HTTP
                        client; strict on HTTP clients that are opened here, else checked as the body arrives
    max_response_bytes  limit of a response body after decompression, and so, twice over, of the memory that it takes;
                        None: 256 MB for one that is read whole, and none for a stream
    token               for clients of one API (`_api`), which generated ones are: the secret, or a function that gives
                        it, read for every request
    url_prefix          for clients of one API: replaces the `url_prefix` of the spec; endpoints with a prefix of their
                        own still go to theirs
    url_prefixes        for clients of one API: replaces the prefixes that single endpoints have of their own:
                        `{"https://uploads.example": "http://127.0.0.1:8001"}`
    share               the store may be that of a client, of whatever package, that talks to another place; else
                        that is an error

    Raises TypeError for a token or url_prefix that the API has no use for, and for a client of the other world;
    ValueError for a user_agent that no header can have.
    """

    _core: SyncCore

    def __init__(
        self,
        store: Store | None = None,
        *,
        token: Token | OAuth2 | None = None,
        url_prefix: str | None = None,
        url_prefixes: Mapping[str, str] | None = None,
        share: bool = False,
        client: BlockingClient | None = None,
        http: HttpLibrary | None = None,
        user_agent: str | Literal[False] | None = None,
        base_url: str = "",
        managers: Managers | None = None,
        retries: int | Retries | None = None,
        timeout: Duration | Timeout | None = None,
        max_response_bytes: int | None = None,
        **arguments: Never,
    ) -> None:
        store = store_of(type(self), store)
        preparation = preparation_of(
            type(self), self._api, store, token, url_prefix, url_prefixes, base_url, arguments, blocking=True
        )
        core = SyncCore(
            store,
            managers,
            retries,
            preparation,
            client=client,
            http=http,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            agent=agent_of(type(self), self._api, user_agent),
            request_id=None if self._api is None else self._api.request_id,
        )
        _remember_origin(core, self._api, share=share)
        super().__init__(core)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the managers, closes what this controller opened, drops the results of what is in flight.

        Who waits for one of those gets AbortError. A second call does nothing; `open` starts the controller again.
        """
        self._core.close()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on.

        `controller.bind(Articles.get)(id=1)` is `controller.read(Articles.get, id=1)`.
        """
        return _partitioned(BoundList if _is_list(endpoint) else BoundEndpoint, endpoint)(self, endpoint)

    def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Asks the network, writes the response to the store, and returns it in its own shape.

        Raises NetworkError, ProcessingError, AbortError, ResetError, or what a hook raises; errors of the first two
        kinds are in the store by then.
        """
        result: R = self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True))[1]
        return result

    def fetch_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """What `fetch` does, with the HTTP answer: `value`, `status`, `headers`, `url`, `request_id` and more.

            answer = controller.fetch_response(Articles.get, id=1)
            answer.value, answer.headers["X-RateLimit-Remaining"]

        It always asks, writes to the store, and raises what `fetch` raises. Who joins a request that is under way gets
        the same members.
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
        """Asks what no endpoint describes: with the credential, redirect rule, retries and limits of all requests.

            news.request("POST", "/articles/1/lock", body={"minutes": 5}).value

        `path` is put behind the URL prefix of the API. The value is what the content type of the answer says: JSON, a
        string, bytes or None. Nothing is stored, and no request is shared.

        Raises NetworkError where it fails, ValueError for a path of another origin, TypeError and ValueError for what
        cannot be sent.
        """
        return self._core.ask(
            _ad_hoc_request(self._form, self._core, self._api, method, path, query, headers, body, timeout)
        )

    def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The stored data where it is valid and fresh, else what `fetch` gives; raises what `fetch` raises.

        What is shown optimistically does not count as stored.
        """
        request = _request(endpoint, args, kwargs)
        if self.store.is_persistent:
            self._core.wait_for(self.store.ensure_loaded(request))
        reading = self.store.read_base(request)
        if not reading.needs_fetch:
            data: R = reading.data
            return data
        return self.fetch(endpoint, *args, **kwargs)

    def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else waits for it.

        Raises the endpoint's error where there is one and its policy is not soft, InvalidDataError where the fetched
        data is unusable.
        """
        if endpoint.remove_cursor is not None:
            return self.fetch(endpoint, *args, **kwargs)  # a page always asks
        result: R = self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> LiveRead[R]:
        """A read that stays: subscribed while it is open, and an iterator that yields on each change.

        with controller.live(Articles.get, id=1) as live:
            for article in live:
                show(article)
        """
        from .live import BlockingLiveRead

        return BlockingLiveRead(self._core, _stored_request(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Items[Any]:
        """The items of all pages of a paginated list, one page at a time, each item once.

            for article in controller.iterate(Articles.get_list, author="bob").limit(100):
                show(article)

        `limit(n)`, `start_at(position)` and `position` bound a run, and go on with it later.

        Raises TypeError at once where the endpoint does not say how its next page is found; later, what `fetch` raises.
        """
        from .paging import ItemsOfPages, Pages

        return ItemsOfPages(self._core, Pages(self._core, endpoint, bind_args_of(endpoint, args, kwargs)))

    def all_settled(self) -> None:
        """Waits until everything that is in flight now has been answered; raises nothing of it."""
        self._core.wait_for(self._core.idle_steps())


class AsyncController(AnyController, Awaiting):
    """The operations on a store for asyncio; a store may be shared with controllers of both kinds.

        async with AsyncController(base_url="https://blog.example") as controller:
            article = await controller.read(Articles.get, id=1)

    Arguments are those of Controller, with an AsyncClient of httpx or httpx2. What waits is a coroutine or an async
    iterator; everything else is as in Controller. Each request runs in a task of its own: a cancelled caller only
    leaves, and the last one to leave aborts the request.
    """

    _core: AsyncCore

    def __init__(
        self,
        store: Store | None = None,
        *,
        token: Token | OAuth2 | None = None,
        url_prefix: str | None = None,
        url_prefixes: Mapping[str, str] | None = None,
        share: bool = False,
        client: AwaitingClient | None = None,
        http: HttpLibrary | None = None,
        user_agent: str | Literal[False] | None = None,
        base_url: str = "",
        managers: Managers | None = None,
        retries: int | Retries | None = None,
        timeout: Duration | Timeout | None = None,
        max_response_bytes: int | None = None,
        **arguments: Never,
    ) -> None:
        # Blocking code does without it, and without asyncio.
        from .async_core import AsyncCore

        store = store_of(type(self), store)
        preparation = preparation_of(
            type(self), self._api, store, token, url_prefix, url_prefixes, base_url, arguments, blocking=False
        )
        core = AsyncCore(
            store,
            managers,
            retries,
            preparation,
            client=client,
            http=http,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            agent=agent_of(type(self), self._api, user_agent),
            request_id=None if self._api is None else self._api.request_id,
        )
        _remember_origin(core, self._api, share=share)
        super().__init__(core)

    async def __aenter__(self) -> Self:
        self._core.enter_loop()
        self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops the managers and closes what this controller opened; requests in flight are aborted.

        Who waits for one of those gets AbortError. A second call does nothing; `open` starts the controller again.
        """
        await self._core.close()

    def bind(self, endpoint: Endpoint[..., Any], /) -> Any:
        """The endpoint with this controller's operations on it; lists have `push`, `get_page`, `iterate` and so on.

        `await controller.bind(Articles.get)(id=1)` is `await controller.read(Articles.get, id=1)`.
        """
        return _partitioned(AsyncBoundList if _is_list(endpoint) else AsyncBoundEndpoint, endpoint)(self, endpoint)

    async def fetch(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Asks the network, writes the response to the store, and returns it in its own shape.

        Raises NetworkError, ProcessingError, AbortError, ResetError, or what a hook raises; errors of the first two
        kinds are in the store by then.
        """
        result: R = (await self._core.fetch(endpoint.request(endpoint.bind_args(args, kwargs), located=True)))[1]
        return result

    async def fetch_response(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """What `fetch` does, with the HTTP answer: `value`, `status`, `headers`, `url`, `request_id` and more.

            answer = await controller.fetch_response(Articles.get, id=1)
            answer.value, answer.headers["X-RateLimit-Remaining"]

        It always asks, writes to the store, and raises what `fetch` raises. Who joins a request that is under way gets
        the same members.
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
        """Asks what no endpoint describes: with the credential, redirect rule, retries and limits of all requests.

            (await news.request("POST", "/articles/1/lock", body={"minutes": 5})).value

        `path` is put behind the URL prefix of the API. The value is what the content type of the answer says: JSON, a
        string, bytes or None. Nothing is stored, and no request is shared.

        Raises NetworkError where it fails, ValueError for a path of another origin, TypeError and ValueError for what
        cannot be sent.
        """
        return await self._core.ask(
            _ad_hoc_request(self._form, self._core, self._api, method, path, query, headers, body, timeout)
        )

    async def fetch_if_stale(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The stored data where it is valid and fresh, else what `fetch` gives; raises what `fetch` raises.

        What is shown optimistically does not count as stored.
        """
        request = _request(endpoint, args, kwargs)
        if self.store.is_persistent:
            await self._core.wait_for(self.store.ensure_loaded(request))
        reading = self.store.read_base(request)
        if not reading.needs_fetch:
            data: R = reading.data
            return data
        return await self.fetch(endpoint, *args, **kwargs)

    async def read(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else waits for it.

        Raises the endpoint's error where there is one and its policy is not soft, InvalidDataError where the fetched
        data is unusable.
        """
        if endpoint.remove_cursor is not None:
            return await self.fetch(endpoint, *args, **kwargs)  # a page always asks
        result: R = await self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    def live(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncLiveRead[R]:
        """A read that stays: subscribed while it is open, and an async iterator that yields on each change.

        async with controller.live(Articles.get, id=1) as live:
            async for article in live:
                show(article)
        """
        from .live import AwaitingLiveRead

        return AwaitingLiveRead(self._core, _stored_request(endpoint, args, kwargs))

    def iterate(self, endpoint: Endpoint[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncItems[Any]:
        """The items of all pages of a paginated list, one page at a time, each item once.

            async for article in controller.iterate(Articles.get_list, author="bob").limit(100):
                show(article)

        `limit(n)`, `start_at(position)` and `position` bound a run, and go on with it later.

        Raises TypeError at once where the endpoint does not say how its next page is found; later, what `fetch` raises.
        """
        from .paging import AwaitedItemsOfPages, Pages

        return AwaitedItemsOfPages(self._core, Pages(self._core, endpoint, bind_args_of(endpoint, args, kwargs)))

    async def all_settled(self) -> None:
        """Waits until everything that is in flight now has been answered; raises nothing of it."""
        await self._core.wait_for(self._core.idle_steps())


def _remember_origin(core: Core, api: Api | None, *, share: bool) -> None:
    """Raises ValueError for a client that talks to another place than one that fills the same store."""
    for scheme in () if api is None else api.schemes.values():
        if scheme.kind == "query":
            core.store.note_secret(scheme.name)
    try:
        origin = core.address("" if api is None else api.url_prefix)
    except ValueError:
        return  # a variable of the server is read from the environment, and first with a request
    if core.preparation is not None:
        moved = core.preparation.url_prefixes
        origin = ", ".join((origin, *(f"{prefix} at {public_url(moved[prefix])}" for prefix in sorted(moved))))
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
    """The request of a call that no endpoint describes."""
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


def _request(endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
    """The request of a call with arguments in either form; ValueError for `""` as a whole path segment."""
    return endpoint.request(bind_args_of(endpoint, args, kwargs))


def _stored_request(endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
    """The request of a call whose result the store keeps. Raises TypeError for a stream, which is read once."""
    return _checked_stored(_request(endpoint, args, kwargs))


def _checked_stored(request: Request) -> Request:
    if request.rules.read.is_stored:
        return request
    raise TypeError(
        f"endpoint {request.endpoint.name!r} has content='stream', whose responses are read once and never stored; "
        "give content='bytes' to keep them"
    )


def _written(endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Request:
    """The request of a result that is written by hand, which is one also where its only argument is None."""
    request = endpoint.request(args, located=endpoint.remove_cursor is not None)
    if request.inactive:
        request = Request(endpoint, endpoint.rules, args, endpoint.key(*args) + endpoint.filed_as)
    return _checked_stored(request)


def _key_test(test: Any) -> Callable[[str], bool]:
    """The predicate on keys of an endpoint, or the predicate itself."""
    method = getattr(test, "test_key", None)
    if method is not None:
        return method  # type: ignore[no-any-return]  # an endpoint's
    if callable(test):
        return test  # type: ignore[no-any-return]  # what it gives is its author's matter
    raise TypeError(f"expected an endpoint or a function of the key, got {test!r}")


def _partitioned(form: Callable[..., Any], endpoint: Endpoint[..., Any]) -> Callable[..., Any]:
    """The class of bound endpoints of this form for an endpoint, some of whose headers may have stores of their own."""
    if not has_partitions(endpoint):
        return form
    from ..endpoint.header_partitions import partitioned

    return partitioned(form)


def _is_list(endpoint: Endpoint[..., Any]) -> bool:
    """Whether there is something to push to or to page through: a collection, or a list of plain values in pages."""
    if endpoint.schema is not None and find_collection(endpoint.schema) is not None:
        return True
    has_pages = endpoint.pagination_field is not None or getattr(endpoint, "pagination", None) is not None
    return has_pages and not endpoint.side_effect
