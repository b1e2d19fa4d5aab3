"""The interfaces of iterators over the pages of a list, which can be limited, and resumed later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from ..base.response import Page

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
