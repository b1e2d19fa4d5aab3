"""Pages: the part of a list that a call requests, and links to its neighbors."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from restencil_generator.mock.call import Call
from restencil_generator.mock.errors import Refusal
from restencil_generator.mock.serialize import show
from restencil_generator.mock.tables import Row, Tables, scalar_of, text_of, whole
from restencil_generator.spec import model as d
from restencil_generator.spec.page_styles import CURSOR, STYLES, PageStyle, implied_style

T = TypeVar("T")

PAGE = 10
"""The default number of items per page."""


@dataclasses.dataclass(frozen=True, slots=True)
class Paging:
    """The pagination of an endpoint: the names of the arguments for the page and for its size in URLs."""

    pagination: d.Pagination
    field: str
    size: str | None

    @property
    def style(self) -> PageStyle:
        """The style of the pagination."""
        return STYLES[self.pagination.style]

    @property
    def arguments(self) -> frozenset[str]:
        """The arguments for pages, which do not filter."""
        return frozenset((self.field,) if self.size is None else (self.field, self.size))


def paging_of(endpoint: d.Endpoint) -> Paging | None:
    """Return the pagination of an endpoint; None if the spec declares none.

    Without `pagination`, the name of the `pagination_field` implies the style; by default it is a cursor.
    """
    pagination, field = endpoint.pagination, endpoint.pagination_field
    if pagination is None:
        if field is None:
            return None
        pagination = d.Pagination((implied_style(field.name) or CURSOR).name)
    size = None if pagination.size is None else pagination.size.param.wire
    return Paging(pagination, pagination.style if field is None else field.wire, size)


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The items of one page, the number of all items, and the size of pages.

    `next` is the value of the pagination parameter for the next page, None on the last one.
    """

    items: Sequence[T]
    total: int
    size: int
    next: str | int | None


class Pages:
    """Selects the requested pages of the lists of one call. Raises `Refusal` if a page does not exist.

    `first` is the first selected page, and `headers` are the response headers about it.
    """

    def __init__(self, tables: Tables, call: Call) -> None:
        self.tables = tables
        self.call = call
        self.paging = paging_of(call.endpoint)
        self.first: Page[Any] | None = None
        self.headers: dict[str, str] = {}

    def cut(self, rows: Sequence[tuple[d.Entity, Row]]) -> Page[tuple[d.Entity, Row]]:
        """Return the requested page of records; all of them if the spec declares no pages."""
        place = None if self.paging is None else self.paging.pagination.next
        path = place.path if place is not None and place.kind == "last" else None

        def name(index: int) -> str:
            entity, row = rows[index]
            if path is None:
                return self.tables.pk(row)
            return text_of(scalar_of(_at(show(self.tables, row, entity), path))) or ""

        return self._cut(rows, name)

    def cut_values(self, values: Sequence[d.Json]) -> Page[d.Json]:
        """Return the requested page of plain values."""
        return self._cut(values, lambda index: str(index + 1))

    def _cut(self, items: Sequence[T], name: Callable[[int], str]) -> Page[T]:
        if self.paging is None:
            return Page(items, len(items), max(1, len(items)), None)
        style = self.paging.style
        window = Window(self.call, self.paging, len(items), name)
        sent = window.sent(self.paging.field)
        start = 0 if sent is None else style.index(sent, window)
        end = start + window.size
        found = items[start:end]
        next_ = style.position(end, window) if found and end < len(items) else None
        page = Page(found, len(items), window.size, None if next_ is None else style.shown(next_, window))
        self.first = self.first or page
        self.headers["X-Total-Count"] = str(page.total)
        previous = style.position(max(0, start - window.size), window) if start else None
        self.headers |= style.headers({"next": next_, "prev": previous, "first": style.position(0, window)}, window)
        place = self.paging.pagination.next
        if place is not None and place.kind == "header" and page.next is not None:
            self.headers[place.path[0]] = str(page.next)
        return page


class Window:
    """A list of `count` items with `size` items per page and the first number `start`, for its page style.

    `name` returns the string by which a cursor identifies an item.
    """

    def __init__(self, call: Call, paging: Paging, count: int, name: Callable[[int], str]) -> None:
        self.call = call
        self.paging = paging
        self.count = count
        self.name = name
        pagination = paging.pagination
        self.is_named_by_last = pagination.next is not None and pagination.next.kind == "last"
        self.start = paging.style.start if pagination.start is None else pagination.start
        self.size = PAGE if pagination.size is None else pagination.size.value
        sent = None if paging.size is None else self.sent(paging.size)
        if paging.size is not None and sent is not None:
            self.size = _whole(paging.size, sent, least=1)

    def sent(self, name: str) -> str | None:
        """Return the value that the client sent for the page or its size, in the query or in the body."""
        body, sent = self.call.body, dict(self.call.query).get(name)
        if sent is None and self.paging.pagination.in_body and isinstance(body, dict):
            return text_of(scalar_of(body.get(name)))
        return sent

    def whole(self, text: str, least: int, /) -> int:
        """Parse the number of the page."""
        return _whole(self.paging.field, text, least=least)

    def cursor(self, index: int, /) -> str:
        """Return the cursor after the previous item: the member in `next: last.…`, else an opaque string."""
        name = self.name(index - 1)
        if self.is_named_by_last:
            return name
        return base64.urlsafe_b64encode(f"after {name}".encode()).decode().rstrip("=")

    def index_of(self, cursor: str, /) -> int:
        """Return the index after the item of a cursor, even if the item was deleted and ids are increasing."""
        name = cursor
        if not self.is_named_by_last:
            try:
                decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError, ValueError):
                decoded = ""
            if not decoded.startswith("after "):
                raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} is not a cursor of this list: {cursor!r}")
            name = decoded.removeprefix("after ")
        names = [self.name(index) for index in range(self.count)]
        if name in names:
            return len(names) - names[::-1].index(name)
        if (
            (limit := whole(name)) is not None
            and None not in (found := [*map(whole, names)])
            and (numbers := [number for number in found if number is not None]) == sorted(numbers)
        ):
            return sum(number <= limit for number in numbers)
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} is not an item of this list: {cursor!r}")

    def url(self, position: str | int, /) -> str:
        """Return the URL of the page with this position."""
        kept = [pair for pair in self.call.query if pair[0] != self.paging.field]
        holes = [(argument, self.call.params[name]) for argument, name in self.call.route.holes.items()]
        return f"{self.call.url}?{urlencode([*self.call.route.literals, *holes, *kept, (self.paging.field, position)])}"


def _whole(name: str, text: str, *, least: int) -> int:
    number = whole(text)
    if number is None or number < least:
        shown = text if len(text) <= 40 else f"{text[:39]}…"
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{name} must be an integer, {least} or more, not {shown!r}")
    return number


def _at(value: d.Json, path: Sequence[str]) -> d.Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
