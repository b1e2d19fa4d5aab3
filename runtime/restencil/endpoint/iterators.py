"""The interfaces of iterators: over the pages of a list, and live reads, which follow the changes of a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from .typing import R

if TYPE_CHECKING:
    from ..base.response import Page
    from ..cache.policy import EndpointState


T_co = TypeVar("T_co", covariant=True)


class Run(ABC):
    """Base of iterators over pages or their items."""

    @property
    @abstractmethod
    def position(self) -> str | int | None:
        """The position of the last page that was consumed completely, as JSON; None before the first one."""

    @abstractmethod
    def start_at(self, position: str | int | None, /) -> Self:
        """Start after the page with this `position` of an earlier iterator. None: from the beginning.

        Raises RuntimeError after the first item, and TypeError or ValueError for an invalid position of this list, such
        as a URL of another origin.
        """


class _OfItems(Run):
    @abstractmethod
    def limit(self, count: int, /) -> Self:
        """Limit the number of items; pages after them are not fetched. Raises ValueError for a negative number.

        `for article in news.articles.get_list.iterate().limit(100): ...`
        """


class Items(_OfItems, Iterator[T_co]):
    """Iterator over the items of all pages, fetching one page at a time, each item once; for blocking code."""


class AsyncItems(_OfItems, AsyncIterator[T_co]):
    """Iterator over the items of all pages, fetching one page at a time, each item once; for asyncio."""


class PageRun(Run, Generic[T_co]):
    """Iterator that fetches the pages of a list one after the other; for blocking code."""

    def __iter__(self) -> Self:
        return self

    @abstractmethod
    def __next__(self) -> Page[T_co]: ...


class AsyncPageRun(Run, Generic[T_co]):
    """Iterator that fetches the pages of a list one after the other; for asyncio."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> Page[T_co]: ...


class AnyLiveRead(ABC, Generic[R]):
    """Base of live reads of both kinds.

    While it is open, the endpoint is subscribed to (if it has a `poll_frequency`, or if a manager of the user may keep
    it up to date), its data is not garbage collected, and `revalidate` of the controller fetches it if it is stale.
    Staleness is determined once per result: the passing of time alone does not start fetches.
    """

    @property
    @abstractmethod
    def data(self) -> R | None:
        """The data in the store now, stale or not, or None."""

    @property
    @abstractmethod
    def state(self) -> EndpointState[R]:
        """Data, error and loading; starts the fetch that a read would start, without waiting for it."""

    @abstractmethod
    def close(self) -> None:
        """End the subscription, release the data and stop iteration. A second call does nothing."""

    @abstractmethod
    def revalidate(self) -> None:
        """Fetch in the background if the data is stale."""


class LiveRead(AnyLiveRead[R]):
    """A live read for blocking code: `with bound.live(id=1) as live: for article in live: …`

    Iteration first yields the data like a read that waits, then again whenever it is another object. It raises the
    endpoint's errors as they occur, and can continue after one. `close()`, from any thread, ends it.
    """

    @abstractmethod
    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    @abstractmethod
    def __next__(self) -> R: ...


class AsyncLiveRead(AnyLiveRead[R]):
    """A live read for asyncio: `async with bound.live(id=1) as live: async for article in live: …`

    Iteration first yields the data like a read that waits, then again whenever it is another object. It raises the
    endpoint's errors as they occur, and can continue after one. `close()` ends it.
    """

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> R: ...
