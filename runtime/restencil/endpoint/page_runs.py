"""What a run over the pages of a list offers: an iterator that can be bounded, and gone on with later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from ..base.response import Page

T_co = TypeVar("T_co", covariant=True)


class Run(ABC):
    """What runs of all kinds offer."""

    @property
    @abstractmethod
    def position(self) -> str | int | None:
        """The position of the last page that was taken whole; None before the first one. It can be kept as JSON."""

    @abstractmethod
    def start_at(self, position: str | int | None, /) -> Self:
        """Goes on after the page that a former run had taken whole, which is its `position`. None: from the beginning.

        Raises RuntimeError after the first item, TypeError and ValueError for what is no position of this list, such as
        a URL of another origin.
        """


class _OfItems(Run):
    @abstractmethod
    def limit(self, count: int, /) -> Self:
        """No more than this many items, and no page that they do not need. Raises ValueError for a negative number.

        `for article in news.articles.get_list.iterate().limit(100): ...`
        """


class Items(_OfItems, Iterator[T_co]):
    """The items of all pages, one page at a time, each item once; for blocking code."""


class AsyncItems(_OfItems, AsyncIterator[T_co]):
    """The items of all pages, one page at a time, each item once; for asyncio."""


class PageRun(Run, Generic[T_co]):
    """The pages of a list, one after the other, each fetched; for blocking code."""

    def __iter__(self) -> Self:
        return self

    @abstractmethod
    def __next__(self) -> Page[T_co]: ...


class AsyncPageRun(Run, Generic[T_co]):
    """The pages of a list, one after the other, each fetched; for asyncio."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> Page[T_co]: ...
