"""Bound endpoints, such as `Articles(controller).get` and `blog.articles.get`, with the operations of a controller.

The operations that never wait are shared by blocking and async controllers; the others differ only in `async`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from .typing import P2, R2, Absent, Assigns, Has, HasItems, P, PageP, PageR, PushP, PushR, R, UnshiftP, UnshiftR

if TYPE_CHECKING:
    from typing import Self

    from ..base.calls import RetryPolicy, Token
    from ..base.durations import Duration, Timeout
    from ..base.response import Response
    from ..cache.explanation import Explanation
    from ..cache.policy import EndpointState, Reading
    from ..cache.request import Request
    from .iterators import AsyncItems, AsyncLiveRead, AsyncPageRun, Items, LiveRead, PageRun


class Core(Protocol):
    """The core of a controller, as bound endpoints use it; with asyncio, `read` returns a coroutine."""

    def locate(self, url: str, /) -> str: ...
    def cached(self, request: Request, /) -> Any: ...
    def read(self, request: Request, /) -> Any: ...
    def pages(self, endpoint: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...


class Operations(Protocol):
    """The operations of any controller that bound endpoints call; none of them waits."""

    @property
    def _core(self) -> Core: ...
    def bind(self, endpoint: Any, /) -> Any: ...
    def with_options(self, /, *args: Any, **options: Any) -> Any: ...
    def state(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> EndpointState[Any]: ...
    def get_response(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Reading: ...
    def get_error(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> BaseException | None: ...
    def explain(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Explanation: ...
    def set_response(self, endpoint: Any, response: Any, /, *args: Any, **kwargs: Any) -> None: ...
    def set_error(self, endpoint: Any, error: BaseException, /, *args: Any, **kwargs: Any) -> None: ...
    def resolve(self, endpoint: Any, response: Any, fetched_at: float, /, *args: Any, **kwargs: Any) -> None: ...
    def invalidate(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> None: ...
    def expire(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> None: ...
    def subscribe(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> None: ...
    def unsubscribe(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> None: ...


class BlockingOperations(Operations, Protocol):
    """The operations of a blocking controller that bound endpoints call."""

    def fetch(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def fetch_response(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Response[Any]: ...
    def fetch_if_stale(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def live(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> LiveRead[Any]: ...
    def iterate(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Items[Any]: ...


class AwaitingOperations(Operations, Protocol):
    """The operations of an async controller that bound endpoints call."""

    async def fetch(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    async def fetch_response(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Response[Any]: ...
    async def fetch_if_stale(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def live(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> AsyncLiveRead[Any]: ...
    def iterate(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> AsyncItems[Any]: ...


Kind = TypeVar("Kind", bound=Operations)


class _Documentation:
    """The descriptor of `__doc__`: the docstring of the class, or, for a bound endpoint, that of its member."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, bound: Any, owner: object = None) -> str | None:
        return self._of_class if bound is None else _documentation(bound.endpoint)


class AnyBoundEndpoint(Generic[Kind, P, R]):
    """An `endpoint` bound to a `controller` of either kind, with the operations that never wait.

    Its `__name__`, `__doc__` and `__signature__` are those of the member, for `help` and similar tools.
    """

    if not TYPE_CHECKING:

        def __init_subclass__(cls) -> None:
            super().__init_subclass__()
            cls.__doc__ = _Documentation(cls.__doc__)

        def __getattr__(self, name: str) -> Any:
            if name in ("__name__", "__signature__") and "endpoint" in self.__dict__:
                return getattr(self.endpoint, name)
            hint = ""
            if name in ("request", "extend", "remove_cursor"):  # a controller uses these members of an endpoint
                hint = (
                    "; a bound endpoint has the operations of its client, such as .fetch(…). Pass its attribute "
                    ".endpoint to a controller"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

        def __get__(self, instance: object, owner: object = None) -> Any:
            # Makes it a descriptor, so that `help` treats it like a method and shows its parameters.
            return self

    def __init__(self, controller: Kind, endpoint: Any) -> None:
        self.controller = controller
        self.endpoint: Any = endpoint
        self._core = controller._core  # pyright: ignore[reportPrivateUsage] - it takes no name from resources

    def __repr__(self) -> str:
        return f"<{self.endpoint.name} of {self.controller!r}>"

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
        """Return this endpoint with options for each call, like `with_options` of its client.

        It is the same object as the member of the view that the client returns for these options.

            news.articles.get_list.with_options(query={"expand": "author"})(tag="intro")
        """
        view = self.controller.with_options(
            headers=headers, query=query, timeout=timeout, retries=retries, token=token, vary=vary
        )
        bound: Self = self if view is self.controller else view.bind(self.endpoint.plain or self.endpoint)
        return bound

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the key of the result in the store."""
        endpoint = self.endpoint
        key: str = endpoint.key(*endpoint.bind_args(args, kwargs))
        return key

    def url(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the URL of the request."""
        endpoint = self.endpoint
        return self._core.locate(endpoint.request_url(endpoint.bind_args(args, kwargs)))

    def cached(self, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Return the data in the store, stale or not, or None; never sends a request."""
        endpoint = self.endpoint
        data: R | None = self._core.cached(endpoint.request(endpoint.bind_args(args, kwargs)))
        return data

    def state(self, /, *args: P.args, **kwargs: P.kwargs) -> EndpointState[R]:
        """Return data, error, loading, expiry status and expires_at; never sends a request."""
        return self.controller.state(self.endpoint, *args, **kwargs)

    def get_response(self, /, *args: P.args, **kwargs: P.kwargs) -> Reading:
        """Return `data`, `expiry_status` and `expires_at` as a read would see them now."""
        return self.controller.get_response(self.endpoint, *args, **kwargs)

    def get_error(self, /, *args: P.args, **kwargs: P.kwargs) -> BaseException | None:
        """Return the error that a read would raise now, or None."""
        return self.controller.get_error(self.endpoint, *args, **kwargs)

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Explain why a read would or would not fetch now."""
        return self.controller.explain(self.endpoint, *args, **kwargs)

    def set_response(self, response: object, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Write a response to the store as if it had been fetched now."""
        self.controller.set_response(self.endpoint, response, *args, **kwargs)

    def set_error(self, error: BaseException, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Record an error as if a fetch had failed now."""
        self.controller.set_error(self.endpoint, error, *args, **kwargs)

    def resolve(self, response: object, fetched_at: float, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Write a response, or an error, of a fetch that began at `fetched_at` (ms of the store's clock)."""
        self.controller.resolve(self.endpoint, response, fetched_at, *args, **kwargs)

    def invalidate(self, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Make the next read fetch and wait for the response."""
        self.controller.invalidate(self.endpoint, *args, **kwargs)

    def expire(self, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Make the result stale: its data stays visible, and the next read fetches it again."""
        self.controller.expire(self.endpoint, *args, **kwargs)

    def subscribe(self, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Keep the result up to date until `unsubscribe`."""
        self.controller.subscribe(self.endpoint, *args, **kwargs)

    def unsubscribe(self, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Undo one `subscribe`."""
        self.controller.unsubscribe(self.endpoint, *args, **kwargs)


class BoundEndpoint(AnyBoundEndpoint[BlockingOperations, P, R]):
    """An endpoint of a Controller. A call reads through the cache; a call of a mutation always sends a request."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Read through the cache; a mutation or a page always sends a request."""
        endpoint = self.endpoint
        result: R
        if endpoint.side_effect or endpoint.remove_cursor is not None:
            result = self.controller.fetch(endpoint, *args, **kwargs)
        else:
            result = self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    def fetch(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Fetch the data with a request, whatever the cache contains."""
        result: R = self.controller.fetch(self.endpoint, *args, **kwargs)
        return result

    def fetch_response(self, /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """Fetch the data, and return it with the HTTP response: status, headers, URL, request id and more."""
        answer: Response[R] = self.controller.fetch_response(self.endpoint, *args, **kwargs)
        return answer

    def fetch_if_stale(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the stored data if it is valid and fresh, else `fetch`."""
        result: R = self.controller.fetch_if_stale(self.endpoint, *args, **kwargs)
        return result

    def live(self, /, *args: P.args, **kwargs: P.kwargs) -> LiveRead[R]:
        """Return a live read: a context manager and iterator that yields on each change."""
        return self.controller.live(self.endpoint, *args, **kwargs)


class AsyncBoundEndpoint(AnyBoundEndpoint[AwaitingOperations, P, R]):
    """An endpoint of an AsyncController. A call reads through the cache; one of a mutation always sends a request."""

    async def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Read through the cache; a mutation or a page always sends a request."""
        endpoint = self.endpoint
        result: R
        if endpoint.side_effect or endpoint.remove_cursor is not None:
            result = await self.controller.fetch(endpoint, *args, **kwargs)
        else:
            result = await self._core.read(endpoint.request(endpoint.bind_args(args, kwargs)))
        return result

    async def fetch(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Fetch the data with a request, whatever the cache contains."""
        result: R = await self.controller.fetch(self.endpoint, *args, **kwargs)
        return result

    async def fetch_response(self, /, *args: P.args, **kwargs: P.kwargs) -> Response[R]:
        """Fetch the data, and return it with the HTTP response: status, headers, URL, request id and more."""
        answer: Response[R] = await self.controller.fetch_response(self.endpoint, *args, **kwargs)
        return answer

    async def fetch_if_stale(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the stored data if it is valid and fresh, else `fetch`."""
        result: R = await self.controller.fetch_if_stale(self.endpoint, *args, **kwargs)
        return result

    def live(self, /, *args: P.args, **kwargs: P.kwargs) -> AsyncLiveRead[R]:
        """Return a live read: an async context manager and iterator that yields on each change."""
        return self.controller.live(self.endpoint, *args, **kwargs)


class BoundList(BoundEndpoint[P, R], Generic[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    """A list endpoint of a Controller, with the endpoints that change the list or fetch its pages."""

    def __init__(self, controller: BlockingOperations, endpoint: Any) -> None:
        super().__init__(controller, endpoint)
        self._derived: dict[str, Any] = {}

    @property
    def push(self: BoundList[..., Any, P2, Has[R2], ..., Any]) -> BoundEndpoint[P2, R2]:
        """Creates an entity at the end of the list."""
        bound: BoundEndpoint[P2, R2] = extender(self, "push")
        return bound

    @property
    def unshift(self: BoundList[..., Any, ..., Any, ..., Any, P2, Has[R2]]) -> BoundEndpoint[P2, R2]:
        """Creates an entity at the start of the list."""
        bound: BoundEndpoint[P2, R2] = extender(self, "unshift")
        return bound

    @property
    def assign(self: BoundList[..., Any, P2, Assigns[R2], ..., Any]) -> BoundEndpoint[P2, R2]:
        """Creates entries of a list that is a map (a Collection of Values)."""
        bound: BoundEndpoint[P2, R2] = extender(self, "assign")
        return bound

    @property
    def remove(self) -> BoundEndpoint[..., Any]:
        """Changes an entity and removes it from the list."""
        bound: BoundEndpoint[..., Any] = extender(self, "remove")
        return bound

    @property
    def move(self) -> BoundEndpoint[..., Any]:
        """Changes an entity and moves it to the lists that it then belongs to."""
        bound: BoundEndpoint[..., Any] = extender(self, "move")
        return bound

    @property
    def get_page(self: BoundList[..., Any, ..., Any, P2, Has[R2]]) -> BoundEndpoint[P2, R2]:
        """Fetches one more page, appends it to the list, and returns the value of that page."""
        bound: BoundEndpoint[P2, R2] = extender(self, "get_page")
        return bound

    @overload
    def iterate(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Sequence[R2], Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> Items[R2]: ...
    @overload
    def iterate(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Any, Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> Items[Any]: ...
    @overload
    def iterate(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Any, R2]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> Items[R2]: ...
    def iterate(self: Any, /, *args: Any, **kwargs: Any) -> Items[Any]:
        """Iterate over the items of all pages, fetching one page at a time.

        Raises TypeError if the position of the next page cannot be determined.
        """
        items: Items[Any] = self.controller.iterate(self.endpoint, *args, **kwargs)
        return items

    @overload
    def pages(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Sequence[R2], Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> PageRun[R2]: ...
    @overload
    def pages(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Any, Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> PageRun[Any]: ...
    @overload
    def pages(
        self: BoundList[P2, Any, ..., Any, ..., HasItems[Any, R2]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> PageRun[R2]: ...
    def pages(self: Any, /, *args: Any, **kwargs: Any) -> PageRun[Any]:
        """Fetch the pages of the list, each with `items`, `position`, `next_position`, and the members of a Response.

        Ends like `iterate`. Raises TypeError if the position of the next page cannot be determined.
        """
        pages: PageRun[Any] = self._core.pages(self.endpoint, args, kwargs)
        return pages


class AsyncBoundList(AsyncBoundEndpoint[P, R], Generic[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    """A list endpoint of an AsyncController, with the endpoints that change the list or fetch its pages."""

    def __init__(self, controller: AwaitingOperations, endpoint: Any) -> None:
        super().__init__(controller, endpoint)
        self._derived: dict[str, Any] = {}

    @property
    def push(self: AsyncBoundList[..., Any, P2, Has[R2], ..., Any]) -> AsyncBoundEndpoint[P2, R2]:
        """Creates an entity at the end of the list."""
        bound: AsyncBoundEndpoint[P2, R2] = extender(self, "push")
        return bound

    @property
    def unshift(self: AsyncBoundList[..., Any, ..., Any, ..., Any, P2, Has[R2]]) -> AsyncBoundEndpoint[P2, R2]:
        """Creates an entity at the start of the list."""
        bound: AsyncBoundEndpoint[P2, R2] = extender(self, "unshift")
        return bound

    @property
    def assign(self: AsyncBoundList[..., Any, P2, Assigns[R2], ..., Any]) -> AsyncBoundEndpoint[P2, R2]:
        """Creates entries of a list that is a map (a Collection of Values)."""
        bound: AsyncBoundEndpoint[P2, R2] = extender(self, "assign")
        return bound

    @property
    def remove(self) -> AsyncBoundEndpoint[..., Any]:
        """Changes an entity and removes it from the list."""
        bound: AsyncBoundEndpoint[..., Any] = extender(self, "remove")
        return bound

    @property
    def move(self) -> AsyncBoundEndpoint[..., Any]:
        """Changes an entity and moves it to the lists that it then belongs to."""
        bound: AsyncBoundEndpoint[..., Any] = extender(self, "move")
        return bound

    @property
    def get_page(self: AsyncBoundList[..., Any, ..., Any, P2, Has[R2]]) -> AsyncBoundEndpoint[P2, R2]:
        """Fetches one more page, appends it to the list, and returns the value of that page."""
        bound: AsyncBoundEndpoint[P2, R2] = extender(self, "get_page")
        return bound

    @overload
    def iterate(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Sequence[R2], Absent]],
        /,
        *args: P2.args,
        **kwargs: P2.kwargs,
    ) -> AsyncItems[R2]: ...
    @overload
    def iterate(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Any, Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> AsyncItems[Any]: ...
    @overload
    def iterate(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Any, R2]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> AsyncItems[R2]: ...
    def iterate(self: Any, /, *args: Any, **kwargs: Any) -> AsyncItems[Any]:
        """Iterate over the items of all pages, fetching one page at a time.

        Raises TypeError if the position of the next page cannot be determined.
        """
        items: AsyncItems[Any] = self.controller.iterate(self.endpoint, *args, **kwargs)
        return items

    @overload
    def pages(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Sequence[R2], Absent]],
        /,
        *args: P2.args,
        **kwargs: P2.kwargs,
    ) -> AsyncPageRun[R2]: ...
    @overload
    def pages(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Any, Absent]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> AsyncPageRun[Any]: ...
    @overload
    def pages(
        self: AsyncBoundList[P2, Any, ..., Any, ..., HasItems[Any, R2]], /, *args: P2.args, **kwargs: P2.kwargs
    ) -> AsyncPageRun[R2]: ...
    def pages(self: Any, /, *args: Any, **kwargs: Any) -> AsyncPageRun[Any]:
        """Fetch the pages of the list, each with `items`, `position`, `next_position`, and the members of a Response.

        Ends like `iterate`. Raises TypeError if the position of the next page cannot be determined.
        """
        pages: AsyncPageRun[Any] = self._core.pages(self.endpoint, args, kwargs)
        return pages


def extender(bound: Any, name: str) -> Any:
    """Return a derived endpoint of a list, such as `push`, bound. Raises AttributeError or ValueError without one."""
    found = bound._derived.get(name)
    if found is None:
        # Derived from the endpoint without a view, so that the view's options override those inherited from the list.
        found = bound._derived[name] = bound.controller.bind(getattr(bound.endpoint.plain or bound.endpoint, name))
    return found


def _documentation(endpoint: Any) -> str | None:
    """Return the docstring of a member's declaration, else its purpose with method and path of its requests."""
    declared = endpoint.__dict__.get("__doc__")
    for function in (endpoint.signature, endpoint.__dict__.get("fetch")):
        if function is not None:  # None has a docstring since Python 3.13
            declared = declared or function.__doc__
    if declared:
        return str(declared)
    name = endpoint.__name__
    derived = BoundList.__dict__.get("push" if name == "create" else name)
    path = getattr(endpoint, "path", None)
    parts = (derived.__doc__ if isinstance(derived, property) else None, path and f"`{endpoint.method} {path}`")
    return "\n\n".join(part for part in parts if part) or None
