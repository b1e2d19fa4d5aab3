"""Pages: which part of a list a call asks for, and what its answer says about the parts before and behind it."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlencode

from restencil_generator.mock import fake_values
from restencil_generator.mock.call import Call
from restencil_generator.mock.errors import Refusal
from restencil_generator.mock.serialize import show
from restencil_generator.mock.tables import Row, Tables, scalar_of, text_of, whole
from restencil_generator.spec.model import MISSING, Endpoint, Entity, Json, Missing, Pagination
from restencil_generator.spec.page_styles import CURSOR, STYLES, PageStyle, implied_style

PAGE = 10
"""Items a page where the spec does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Paging:
    """How an endpoint is asked for pages: the wire names of the arguments for the page and for its size."""

    pagination: Pagination
    field: str
    size: str | None

    @property
    def style(self) -> PageStyle:
        """What is known of its style."""
        return STYLES[self.pagination.style]

    @property
    def arguments(self) -> frozenset[str]:
        """The arguments that ask for a page and search for nothing."""
        return frozenset((self.field,) if self.size is None else (self.field, self.size))


def paging_of(endpoint: Endpoint) -> Paging | None:
    """How an endpoint is asked for pages; None where the spec knows none.

    Without `pagination`, the name of its `pagination_field` implies the style; where it implies none, it is a cursor.
    """
    pagination, field = endpoint.pagination, endpoint.pagination_field
    if pagination is None:
        if field is None:
            return None
        pagination = Pagination((implied_style(field.name) or CURSOR).name)
    size = None if pagination.size is None else pagination.size.param.wire
    return Paging(pagination, pagination.style if field is None else field.wire, size)


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """The items of one page, and what its neighbours and the whole are.

    `next` is the value of the pagination parameter for the next page, None on the last one.
    """

    items: Sequence[tuple[Entity, Row]]
    total: int
    size: int
    number: int
    offset: int
    next: str | int | None
    previous: str | int | None

    def fact(self, name: str) -> Json | Missing:
        """The value of a wrapper's member that tells something about the page, by the names that APIs use for it."""
        facts: dict[str, Json] = {
            "total": self.total,
            "count": self.total,
            "total count": self.total,
            "total items": self.total,
            "total results": self.total,
            "limit": self.size,
            "size": self.size,
            "page size": self.size,
            "per page": self.size,
            "page": self.number,
            "current page": self.number,
            "page number": self.number,
            "pages": -(-self.total // self.size),
            "total pages": -(-self.total // self.size),
            "page count": -(-self.total // self.size),
            "last page": -(-self.total // self.size),
            "offset": self.offset,
            "skip": self.offset,
            "next": self.next,
            "next cursor": self.next,
            "next page": self.next,
            "next token": self.next,
            "next page token": self.next,
            "cursor": self.next,
            "previous": self.previous,
            "prev": self.previous,
            "previous page": self.previous,
            "prev page": self.previous,
            "has more": self.next is not None,
            "has next": self.next is not None,
            "has next page": self.next is not None,
            "has previous": self.previous is not None,
            "has previous page": self.previous is not None,
        }
        return facts.get(fake_values.words(name), MISSING)


class Pages:
    """Cuts the lists of one call into the pages that it asks for. Raises `Refusal` where it asks for none that exists.

    `first` is the first page that was cut, and `headers` are those that tell of it.
    """

    def __init__(self, tables: Tables, call: Call) -> None:
        self.tables = tables
        self.call = call
        self.paging = paging_of(call.endpoint)
        self.first: Page | None = None
        self.headers: dict[str, str] = {}

    def cut(self, rows: Sequence[tuple[Entity, Row]]) -> Page:
        """The page that the call asks for; all rows where the spec knows no pages."""
        if self.paging is None:
            return Page(rows, len(rows), max(1, len(rows)), 1, 0, None, None)
        style, arguments = self.paging.style, dict(self.call.query)
        window = Window(self.tables, self.call, self.paging, rows, arguments)
        sent = arguments.get(self.paging.field)
        start = 0 if sent is None else style.index(sent, window)
        end = start + window.size
        items = rows[start:end]
        next_ = style.position(end, window) if items and end < len(rows) else None
        previous = style.position(max(0, start - window.size), window) if start else None
        shown = [None if one is None else style.shown(one, window) for one in (next_, previous)]
        page = Page(items, len(rows), window.size, style.number(start, window), start, shown[0], shown[1])
        self.first = self.first or page
        self.headers["X-Total-Count"] = str(page.total)
        self.headers |= style.headers({"next": next_, "prev": previous, "first": style.position(0, window)}, window)
        place = self.paging.pagination.next
        if place is not None and place.kind == "header" and page.next is not None:
            self.headers[place.path[0]] = str(page.next)
        return page


class Window:
    """The rows of one call as its style cuts them: `size` to a page, the first one numbered `start`."""

    def __init__(
        self,
        tables: Tables,
        call: Call,
        paging: Paging,
        rows: Sequence[tuple[Entity, Row]],
        arguments: Mapping[str, str],
    ) -> None:
        self.tables = tables
        self.call = call
        self.paging = paging
        self.rows = rows
        pagination = paging.pagination
        self.start = paging.style.start if pagination.start is None else pagination.start
        self.size = PAGE if pagination.size is None else pagination.size.value
        if paging.size is not None and paging.size in arguments:
            self.size = _whole(paging.size, arguments[paging.size], least=1)

    def whole(self, text: str, least: int, /) -> int:
        """The number that was sent for the page."""
        return _whole(self.paging.field, text, least=least)

    def cursor(self, index: int, /) -> str:
        """The cursor behind the row before: the member that `next: last.…` names, else an opaque text."""
        return self._cursor(*self.rows[index - 1])

    def _cursor(self, entity: Entity, row: Row) -> str:
        place = self.paging.pagination.next
        if place is not None and place.kind == "last":
            return text_of(scalar_of(_at(show(self.tables, row, entity), place.path))) or ""
        return base64.urlsafe_b64encode(f"after {self.tables.pk(row)}".encode()).decode().rstrip("=")

    def index_of(self, cursor: str, /) -> int:
        """The index behind the row that a cursor names, also of one deleted meanwhile where ids count up."""
        place = self.paging.pagination.next
        texts = [self._cursor(entity, row) for entity, row in self.rows]
        if cursor in texts:
            return len(texts) - texts[::-1].index(cursor)
        last = cursor
        if place is None or place.kind != "last":
            try:
                decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError, ValueError):
                decoded = ""
            if not decoded.startswith("after "):
                raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} is no cursor of this list: {cursor!r}")
            last = decoded.removeprefix("after ")
            texts = [self.tables.pk(row) for _, row in self.rows]
        if (
            (limit := whole(last)) is not None
            and None not in (found := [*map(whole, texts)])
            and (numbers := [number for number in found if number is not None]) == sorted(numbers)
        ):
            return sum(number <= limit for number in numbers)
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} names no item of this list: {cursor!r}")

    def url(self, position: str | int, /) -> str:
        """Where the list has the page of this position."""
        kept = [pair for pair in self.call.query if pair[0] != self.paging.field]
        holes = [(argument, self.call.params[name]) for argument, name in self.call.route.holes.items()]
        return f"{self.call.url}?{urlencode([*self.call.route.literals, *holes, *kept, (self.paging.field, position)])}"


def _whole(name: str, text: str, *, least: int) -> int:
    number = whole(text)
    if number is None or number < least:
        shown = text if len(text) <= 40 else f"{text[:39]}…"
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{name} is a whole number from {least} on, not {shown!r}")
    return number


def _at(value: Json, path: Sequence[str]) -> Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
