"""Iteration over the items or pages of a paginated list, for every pagination style."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..base.errors import NetworkError, response_status
from ..base.logs import logger
from ..base.transport import public_url
from ..base.values import described, kind_of, same_json
from ..endpoint.iterators import AsyncItems, AsyncPageRun, Items, PageRun
from ..endpoint.lists import page_params, with_page_params
from ..endpoint.page_styles import PageUrl, pagination_of
from ..schema.record import class_record, identity_of, to_wire
from .changes_in_flight import wait_for_changes
from .in_flight import InFlight, page_of
from .page_requests import FetchedPage, PageRequests, member_of

if TYPE_CHECKING:
    from typing import Self

    from ..base.response import Page
    from ..base.steps import StepsOf
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint
    from ..endpoint.page_styles import Pagination
    from .core import Core

_ABSOLUTE: Final = re.compile("https?://", re.IGNORECASE).match

_MAX_EQUAL_PAGES: Final = 1_000
"""The number of equal pages in a row after which a list ends, although each response indicates that there are more."""

_MAX_PASSES: Final = 20
"""The number of times that a run requests all pages, if records of its entity change during each."""

_MAX_FRUITLESS_PASSES: Final = 3
"""The number of times in a row that a run requests all pages once more without finding a new item."""

_BAD_REQUEST: Final = 400

_hinted: set[str] = set()
"""The endpoints for which the hint to write `style: url` was logged."""


class _Ahead(NamedTuple):
    """A fetched page that is not the current one yet; without a page the list has ended before its position."""

    position: Any
    page: FetchedPage | None


class Pages:
    """One pass over the pages of a list: `turn` goes to the next page, `items` yields its items not yielded before.

    The pagination style uses it as the current page.
    """

    def __init__(
        self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...], *, asks_always: bool = False
    ) -> None:
        self._core = core
        self._endpoint = endpoint
        self._asks_always = asks_always
        """Whether the first page is requested even if it is stored."""
        self._pagination = pagination = pagination_of(endpoint)
        self._style = pagination.style
        self.name = endpoint.name
        field = endpoint.pagination_field
        if field is None and not self._style.is_url:
            raise TypeError(
                f"iterate() cannot request the next page of {endpoint.name!r}, which has no pagination_field; "
                "set it to the query parameter that selects the page"
            )
        self._inactive = args == (None,) and not endpoint.has_body
        params = dict(page_params(endpoint, args))
        if pagination.size is not None:
            name, value = pagination.size
            params.setdefault(name, value)
        self.args: tuple[Any, ...] = with_page_params(endpoint, args, params) if params or args else ()
        self._requests = PageRequests(core, endpoint, self.args, pagination)
        self._is_plain = self._requests.layout.is_plain
        self._is_repeated = False
        """Whether it is not the first pass of its run."""
        self._since = 0.0
        """The number of its oldest request."""
        self._page: Any = None
        """The current page, which was read last."""
        self._started = False
        self._ended = False
        self._ahead: _Ahead | None = None
        """The page after the current one, if it was fetched already."""
        self._is_doubtful = False
        """Whether the current page has the items of the page before, and may be sent for every further position."""
        self.first = pagination.first
        given = params.get(field, endpoint.first_page) if field is not None else None
        counted = self.first if given is None or not self._style.is_counted else self._style.number(given)
        self._number = counted
        """The position of the current page, if positions are numbers."""
        self._last: Any = None
        self._next_item = 0
        """The index of the next item of the current page to yield."""
        self._is_one_response = True
        """Whether no other page was requested than the first one, which shows the whole list at one time."""
        self._total_count = 0
        """The number of items on all pages so far, equal ones too."""
        self._repeats = 0
        """The number of pages in a row with the same items as the page before."""
        self.count = 0
        self._sent_before: Any = None
        """The items in the response of the current page."""
        self.longest = 0
        self._received: set[Any] = set()
        """What identifies the items on all pages of this pass."""
        self._used: set[Any] = set()
        self._yielded: set[Any] = set()
        """What identifies the items that the run has yielded, in all passes."""
        self._start_after: Any = None
        """The position of the page after which the run starts."""
        self._position: Any = None

    # -- used by pagination styles ------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The value of the current page."""
        return self._page.value

    @property
    def position(self) -> Any:
        """The position of the current page."""
        return self._number if self._style.is_counted and self._started else self._position

    def named(self, path: str, /) -> Any:
        """Return the value for the option `next`: a path in the response, `header:NAME`, or `last.<field>`."""
        if path.startswith("header:"):
            return self.header(path.removeprefix("header:"))
        if path.startswith("last."):
            return to_wire(member_of(self._last, path.removeprefix("last.")))
        return self._page.at(path)

    def header(self, name: str, /) -> str | None:
        """Return a header of the response with the current page."""
        return cast("str | None", self._page.header(name))

    def url(self, target: str, /) -> PageUrl:
        """Return the absolute URL of a page linked in the response. Raises ValueError if it has another origin."""
        return self._requests.urls.checked(target, self._page.url)

    def cursor(self, value: Any, /) -> Any:
        """Return a cursor, as a PageUrl if it is an absolute URL of the client's origin, which is the next page."""
        if not isinstance(value, str) or not _ABSOLUTE(value) or not self._requests.urls.has(value, self._page.url):
            return value
        if self.name not in _hinted:
            _hinted.add(self.name)
            logger.info(
                "the cursor of %r is the URL of the next page, which is requested; set style: url in its pagination",
                self.name,
            )
        return PageUrl(public_url(value))

    # -- the pass -----------------------------------------------------------------------------------------------------

    def begin_after(self, position: Any) -> None:
        """Start after the page at this position; None: at the first page.

        Raises TypeError for other types than string and integer, ValueError if the style counts pages and this is no
        number, or if it is a URL of another origin.
        """
        if position is None:
            self._start_after = None
            return
        if isinstance(position, bool) or not isinstance(position, str | int):
            raise TypeError(
                f"the position is {described(position)}; expected the position of a run, a string or integer"
            )
        if self._style.is_counted:
            try:
                position = int(position)
            except ValueError:
                raise ValueError(
                    f"the position in {self.name!r} is {position!r:.100}; expected a number, as its pages are counted"
                ) from None
        elif isinstance(position, str) and (self._style.is_url or _ABSOLUTE(position)):
            position = self._requests.urls.checked(position)
        self._start_after = position

    def turn(self) -> StepsOf[bool]:
        """Steps: read the first page, or fetch the next one; return False if there is none.

        If the request fails, the state is unchanged, so that the same page can be requested again.
        """
        if self._inactive:
            return False
        if not self._started:
            self._since = self._core.store.next_number()
            if self._start_after is None:
                return (yield from self._begin())
            if not (yield from self._go_to(self._start_after)):
                return False
        while self._is_doubtful or (yield from self._turn_to_next()):
            if not self._is_doubtful or not (yield from self._is_sent_again()):
                return True
        return False

    def is_outdated(self) -> StepsOf[bool]:
        """Steps: return whether records of the list's entity were changed since the first of several pages was sent.

        Then an item may have moved from a page that was not requested yet to one that was. The server may make the
        changes that are under way between two pages, so they end before.
        """
        tables = self._requests.layout.tables
        if self._is_one_response or not tables:
            return False
        yield from wait_for_changes(self._core, tables, self._endpoint.signal)
        return self._core.store.last_change(tables) >= self._since

    def repeated(self) -> Pages:
        """Return another pass over the same pages, which yields only items that were not yielded before."""
        made = Pages(self._core, self._endpoint, self.args, asks_always=True)
        made._is_repeated = True
        made._yielded, made._start_after = self._yielded, self._start_after
        return made

    @property
    def yielded_count(self) -> int:
        """The number of items that the run has yielded."""
        return len(self._yielded)

    def _turn_to_next(self) -> StepsOf[bool]:
        """Steps: make the next page the current one; return False if there is none."""
        found, self._ahead = self._ahead or (yield from self._fetch_ahead()), None
        if found is None:
            return False
        if found.page is not None:
            self._set_position(found.position)
            if self._take(found.page):
                return True
        self._ended = True
        return False

    def _is_sent_again(self) -> StepsOf[bool]:
        """Steps: return whether the next page has the items of the current one too, so that the list has ended.

        A server without further pages may repeat the last one. A single repetition may also come from new items before
        it, or from equal values.
        """
        ahead = yield from self._fetch_ahead()
        self._is_doubtful = False
        page = None if ahead is None else ahead.page
        if page is None or not same_json(_content(page, is_plain=self._is_plain), self._sent_before):
            self._ahead = ahead
            return False
        self._ended = True  # as for an empty page
        return True

    def _fetch_ahead(self) -> StepsOf[_Ahead | None]:
        """Steps: fetch the page after the current one; None if there is none."""
        position = None if self._ended else self._following()
        if position is None:
            return None
        self._is_one_response = False
        return _Ahead(position, (yield from self._fetch_until_the_end(position)))

    def _fetch_until_the_end(self, position: Any) -> StepsOf[FetchedPage | None]:
        """Steps: fetch the page at a position; None if the status of the response says that there is none."""
        try:
            return (yield from self._fetch(position))
        except NetworkError as error:
            pagination = self._pagination
            declares_end = pagination.more or pagination.total or pagination.length
            status = response_status(error)
            if status not in self._style.past_the_end or (status == _BAD_REQUEST and declares_end):
                raise
            logger.warning(
                "iterate() of %r: page %s has the status %s, so it ends there; if the response indicates the end, "
                "set 'more', 'total' or 'next' in its pagination",
                self.name,
                position,
                status,
            )
            return None

    def _begin(self) -> StepsOf[bool]:
        page = yield from self._first()
        self._started = True
        self._position = self._requests.urls.public(page.requested_url) if self._style.is_url else ""
        return self._take(page)

    def _first(self) -> StepsOf[FetchedPage]:
        if not self._asks_always and not self._requests.needs_response:
            stored = yield from self._requests.stored()
            if stored is not None:
                return stored
        return (yield from self._requests.fetch())

    def _fetch(self, position: Any) -> StepsOf[FetchedPage]:
        """Steps: fetch the page at a position."""
        is_url = isinstance(position, PageUrl)
        return (yield from self._requests.fetch(position if is_url else self._style.sent(position, self)))

    def _go_to(self, position: Any) -> StepsOf[bool]:
        """Steps: go to the page at which an earlier run stopped; return False if it is the last one.

        Styles that count pages compute the next position from the number. For other styles only the page itself
        contains the next position, so it is requested again.
        """
        if self._style.counts_pages:
            self._started = True
            self._set_position(position)
            return True
        page = yield from (self._requests.fetch() if position == "" else self._fetch(position))
        self._started = True
        self._set_position(position)
        return self._take(page) and not self._ended

    def _set_position(self, position: Any) -> None:
        """Set the position of the current page."""
        self._position = _shown(position)
        self._used.add(_hashable(position))
        if self._style.is_counted:
            self._number = position

    def _take(self, page: FetchedPage) -> bool:
        """Make a page the current one; return False if the list has ended, because it is empty."""
        self._page = page
        if isinstance(page.in_flight, InFlight):  # it may have been sent before the run began
            self._since = min(self._since, page.in_flight.fetched_at)
        items, sent = page.items, page.sent_items
        self.count = len(items) if sent is None else len(sent)
        self._total_count += self.count
        self._next_item = 0
        before, self._sent_before = self._sent_before, _content(page, is_plain=self._is_plain)
        if not self.count:
            return False
        self.longest = max(self.longest, self.count)
        self._received.update(map(_identity_in_run, items))
        if items:
            self._last = items[-1]
        self._ended = self._is_last(page)
        is_repeated = before is not None and same_json(self._sent_before, before)
        self._repeats = self._repeats + 1 if is_repeated else 0
        # Values may be equal; the items of a collection are not.
        may_continue = self._is_plain and self._repeats < _MAX_EQUAL_PAGES
        has_more = may_continue and _indicates_more(self._pagination, page, self._total_count)
        self._is_doubtful = is_repeated and not self._ended and not has_more
        return True

    def _is_last(self, page: FetchedPage) -> bool:
        """Whether a member of the response indicates that this is the last page."""
        pagination = self._pagination
        if pagination.more and not page.at(pagination.more):
            return True
        total = page.at(pagination.total) if pagination.total else None
        if isinstance(total, int) and self._count_until_here() >= total:
            return True
        length = page.at(pagination.length) if pagination.length else None
        return isinstance(length, int) and self.count < length

    def _count_until_here(self) -> int:
        """Return how many items of the list are on this page and before it, or fewer."""
        before = self._style.count_before(self)
        if before is not None:
            return before + self.count
        return self._total_count if self._is_plain else len(self._received)

    def items(self) -> Iterator[Any]:
        """Yield the items of the current page in their current state, each entity once in all pages."""
        items = self._page.items
        while self._next_item < len(items):
            item = items[self._next_item]
            self._next_item += 1
            identity = _identity_in_run(item)
            is_value = self._is_plain and not self._is_repeated and identity_of(item) is None
            if identity in self._yielded and not is_value:
                continue
            self._yielded.add(identity)
            current = _current(self._core.store, item)
            if current is not None or item is None:
                yield current

    def page(self) -> Page[Any] | None:
        """Return the current page with its response; None if it was requested once more and shows no new item."""
        page = self._page
        if self._is_repeated and self.is_yielded:
            return None
        self._yielded.update(map(_identity_in_run, page.items))
        return page_of(page.in_flight, page.value, page.items, self.position, self._next_position())

    def _next_position(self) -> Any:
        if self._ended:
            return None
        if self._ahead is not None:
            return _shown(self._ahead.position)
        try:
            return _shown(self._following())
        except ValueError:
            return None  # the URL has another origin; the error is raised when the page is requested

    def _following(self) -> Any:
        """Return the position of the next page; None if there is none, or if it was requested already."""
        position = self._style.next(self, self._pagination.next)
        if position is None or position == "" or position is False:
            return None
        return None if not self._style.is_counted and _hashable(position) in self._used else position

    @property
    def is_yielded(self) -> bool:
        """Whether every item of the current page was yielded."""
        items = self._page.items
        if self._is_plain and not self._is_repeated:
            return self._next_item == len(items)
        return all(_identity_in_run(item) in self._yielded for item in items)


class _Run:
    """An iterator over the pages of a list, for blocking code or asyncio.

    If records of its entity were changed meanwhile, it requests all pages once more, until none were.
    """

    def __init__(self, core: Any, pages: Pages) -> None:
        self._core = core
        self._pages = pages
        self._passes = 1
        self._fruitless_passes: int = 0
        """The number of passes in a row, after the first one, in which there was no new item."""
        self._yielded_before: int = 0
        """The number of items that were yielded before the current pass."""
        self._taken: Any = None
        self._begun = False
        self._ended = False
        self._turning = threading.Lock()

    def _turn(self) -> StepsOf[bool]:
        """Steps: go to the next page. Raises RuntimeError if another task or thread is doing so."""
        if not self._turning.acquire(blocking=False):
            raise RuntimeError(
                "another task or thread is waiting for the next page of this run; create a separate run for each, or "
                "iterate in one of them and pass the items to the others"
            )
        try:
            while not (yield from self._pages.turn()):
                if not (yield from self._is_repeated()):
                    return False
            return True
        finally:
            self._turning.release()

    def _is_repeated(self) -> StepsOf[bool]:
        """Steps: begin another pass if records were changed during this one; return whether there is one."""
        if not (yield from self._pages.is_outdated()):
            return False
        count = self._pages.yielded_count
        is_fruitless = self._passes > 1 and count == self._yielded_before
        self._fruitless_passes = self._fruitless_passes + 1 if is_fruitless else 0
        if self._fruitless_passes == _MAX_FRUITLESS_PASSES or self._passes == _MAX_PASSES:
            logger.warning(
                "iterate() of %r: records were changed during each of %d passes over its pages, so it may have left "
                "out an item",
                self._pages.name,
                self._passes,
            )
            return False
        self._passes, self._yielded_before = self._passes + 1, count
        self._pages = self._pages.repeated()
        return True

    @property
    def position(self) -> Any:
        """The position of the last page that was consumed completely; None before the first one."""
        return self._taken

    def start_at(self, position: str | int | None, /) -> Self:
        """Continue after the page that an earlier run consumed completely, given its `position`.

        Raises RuntimeError after the first item, TypeError and ValueError for an invalid position.
        """
        if self._begun:
            raise RuntimeError("start_at() was called after the first item; create a new run to start elsewhere")
        self._pages.begin_after(position)
        self._taken = position
        return self


class _RunOfItems(_Run):
    """An iterator over the items of all pages; `take` returns the next one."""

    def __init__(self, core: Any, pages: Pages) -> None:
        super().__init__(core, pages)
        self._left: int | None = None
        """The remaining number of items to yield; None: all."""
        self._items: Iterator[Any] | None = None
        """The remaining items of the current page."""

    def limit(self, count: int, /) -> Self:
        """Yield at most this many items, and fetch only the pages needed. Raises ValueError for a negative number."""
        if kind_of(count) is not int:
            raise TypeError(f"limit() got {described(count)}; expected an integer")
        if count < 0:
            raise ValueError(f"limit() got {count}; expected a number of items that is not negative")
        self._left = count
        return self

    def take(self) -> StepsOf[Any]:
        """Steps: return the next item, or `_END`."""
        self._begun = True
        while not self._ended and self._left != 0:
            if self._items is None:
                if not (yield from self._turn()):
                    break
                self._items = self._pages.items()
            for item in self._items:
                if self._left is not None:
                    self._left -= 1
                    if self._left == 0 and self._pages.is_yielded:
                        self._taken = self._pages.position
                return item
            self._items = None
            self._taken = self._pages.position
        self._ended = True
        return _END


class ItemsOfPages(_RunOfItems, Items[Any]):
    """The items of all pages, for blocking code."""

    def __next__(self) -> Any:
        if self._items is not None and self._left is None:
            for item in self._items:
                return item
        item = self._core.wait_for(self.take())
        if item is _END:
            raise StopIteration
        return item


class AwaitedItemsOfPages(_RunOfItems, AsyncItems[Any]):
    """The items of all pages, for asyncio."""

    async def __anext__(self) -> Any:
        if self._items is not None and self._left is None:
            for item in self._items:
                return item
        item = await self._core.wait_for(self.take())
        if item is _END:
            raise StopAsyncIteration
        return item


class _RunOfPages(_Run):
    def take(self) -> StepsOf[Any]:
        """Steps: return the next page, or `_END`."""
        self._begun = True
        while not self._ended and (yield from self._turn()):
            self._taken = self._pages.position
            page = self._pages.page()
            if page is not None:
                return page
        self._ended = True
        return _END


class PagesOfList(_RunOfPages, PageRun[Any]):
    """The pages of a list, for blocking code."""

    def __next__(self) -> Any:
        page = self._core.wait_for(self.take())
        if page is _END:
            raise StopIteration
        return page


class AwaitedPagesOfList(_RunOfPages, AsyncPageRun[Any]):
    """The pages of a list, for asyncio."""

    async def __anext__(self) -> Any:
        page = await self._core.wait_for(self.take())
        if page is _END:
            raise StopAsyncIteration
        return page


_END: Final = object()


def _shown(value: Any) -> Any:
    """Convert the position of a page to a JSON value."""
    return str(value) if isinstance(value, PageUrl) else to_wire(value)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _content(page: FetchedPage, *, is_plain: bool) -> Any:
    """Return what equal pages have in common: the values of the response, or the entities of a collection."""
    return page.sent_items if is_plain else {_identity_in_run(item) for item in page.items}


def _identity_in_run(item: Any) -> Any:
    """Return what identifies an item among those of a run: its type, and its primary key or value."""
    pk = identity_of(item)
    return (type(item), repr(item)) if pk is None else (type(item), pk)


def _indicates_more(pagination: Pagination, page: FetchedPage, count: int) -> bool:
    """Whether a response indicates that there are more items than these."""
    total = page.at(pagination.total) if pagination.total else None
    return (isinstance(total, int) and count < total) or bool(pagination.more and page.at(pagination.more))


def _current(store: Store, item: Any) -> Any:
    """Return the current state of the item, or None if it was deleted.

    If it, or a record that it refers to, was evicted, the item of the response is returned.
    """
    pk = identity_of(item)
    if pk is None:
        return item
    current = store.query(type(item), (pk,))
    if current is not None:
        return current
    table = cast(Any, class_record(kind_of(item))).key
    return None if store.is_deleted((table, pk)) else item
