"""Pages: which part of a list a call asks for, and what its answer says about the parts before and behind it."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlencode

from restencil_generator.mock import fake_values
from restencil_generator.mock.call import Call
from restencil_generator.mock.errors import Refusal
from restencil_generator.mock.serialize import show
from restencil_generator.mock.tables import Row, Tables, scalar_of, text_of, whole
from restencil_generator.spec.model import MISSING, Endpoint, Entity, Json, Missing, Pagination

PAGE = 10
"""Items a page where the spec does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Paging:
    """How an endpoint is asked for pages: the wire names of the arguments for the page and for its size.

    `style` is None where the spec knows no pages.
    """

    style: Pagination | None
    field: str
    size: str | None

    @property
    def arguments(self) -> frozenset[str]:
        """The arguments that ask for a page and search for nothing."""
        names = () if self.style is None else (self.field, self.size)
        return frozenset(name for name in names if name is not None)


def paging_of(endpoint: Endpoint) -> Paging:
    """How an endpoint is asked for pages. Without `pagination`, the name of its `pagination_field` tells the style."""
    style, field = endpoint.pagination, endpoint.pagination_field
    if style is None and field is not None:
        style = Pagination(
            "page" if field.name == "page" else "offset" if field.name in ("offset", "skip") else "cursor"
        )
    default = "page" if style is None or style.style in ("link", "url") else style.style
    size = None if style is None or style.size is None else style.size.param.wire
    return Paging(style, default if field is None else field.wire, size)


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
        style = self.paging.style
        if style is None:
            return Page(rows, len(rows), max(1, len(rows)), 1, 0, None, None)
        arguments = dict(self.call.query)
        size = PAGE if style.size is None else style.size.value
        size_field = self.paging.size
        if size_field is not None and size_field in arguments:
            size = _whole(size_field, arguments[size_field], least=1)
        name = self.paging.field
        given = arguments.get(name)
        first = style.start if style.start is not None else 0 if style.style == "offset" else 1
        if style.style == "cursor":
            start = 0 if given is None else self._after(rows, given)
        elif given is None:
            start = 0
        elif style.style == "offset":
            start = max(0, _whole(name, given, least=0) - first)
        else:
            start = (_whole(name, given, least=first) - first) * size
        items = rows[start : start + size]
        more = start + size < len(rows)
        number = start // size + (1 if style.style == "offset" else first)
        next_: str | int | None = None
        if more and items:
            offset = first + start + size if style.style == "offset" else number + 1
            next_ = self._cursor(*items[-1]) if style.style == "cursor" else offset
            if style.style == "url":
                next_ = self._url(number + 1)
        previous: str | int | None = {"page": number - 1, "link": number - 1, "offset": max(0, start - size)}.get(
            style.style
        )
        page = Page(items, len(rows), size, number, start, next_, previous if start else None)
        self.first = self.first or page
        self._page_headers(style, page)
        return page

    def _cursor(self, entity: Entity, row: Row) -> str:
        """The cursor after a row: the member that `next: last.…` names, else an opaque text."""
        style = self.paging.style
        if style is not None and style.next is not None and style.next.kind == "last":
            return text_of(scalar_of(_at(show(self.tables, row, entity), style.next.path))) or ""
        return base64.urlsafe_b64encode(f"after {self.tables.pk(row)}".encode()).decode().rstrip("=")

    def _after(self, rows: Sequence[tuple[Entity, Row]], cursor: str) -> int:
        """The index after the row that a cursor names, also of one deleted meanwhile where ids count up."""
        style = self.paging.style
        texts = [self._cursor(entity, row) for entity, row in rows]
        if cursor in texts:
            return len(texts) - texts[::-1].index(cursor)
        last = cursor
        if style is None or style.next is None or style.next.kind != "last":
            try:
                decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError, ValueError):
                decoded = ""
            if not decoded.startswith("after "):
                raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} is no cursor of this list: {cursor!r}")
            last = decoded.removeprefix("after ")
            texts = [self.tables.pk(row) for _, row in rows]
        if (
            (limit := whole(last)) is not None
            and None not in (found := [*map(whole, texts)])
            and (numbers := [number for number in found if number is not None]) == sorted(numbers)
        ):
            return sum(number <= limit for number in numbers)
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{self.paging.field} names no item of this list: {cursor!r}")

    def _page_headers(self, style: Pagination, page: Page) -> None:
        self.headers["X-Total-Count"] = str(page.total)
        if style.next is not None and style.next.kind == "header" and page.next is not None:
            self.headers[style.next.path[0]] = str(page.next)
        if style.style == "link":
            self.headers["Link"] = ", ".join(
                f'<{self._url(value)}>; rel="{relation}"'
                for relation, value in (("next", page.next), ("prev", page.previous), ("first", 1))
                if value is not None
            )

    def _url(self, value: str | int) -> str:
        """Where the list has this page."""
        kept = [pair for pair in self.call.query if pair[0] != self.paging.field]
        holes = [(argument, self.call.params[name]) for argument, name in self.call.route.holes.items()]
        return f"{self.call.url}?{urlencode([*self.call.route.literals, *holes, *kept, (self.paging.field, value)])}"


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
