"""The styles of pagination: how the first and the next page of a list are requested, and where the list ends.

`restencil_generator.spec.page_styles` contains the styles of the same names for specs, importer and mock server.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast

if TYPE_CHECKING:
    from .options import EndpointOptions

_LINK: Final = re.compile(r"<([^>]*)>((?:\s*;\s*[^;,\s=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_NEXT: Final = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


class PageUrl(str):
    """A position that is the URL of a page, absolute and at the origin of its list."""

    __slots__ = ()


class LastPage(Protocol):
    """The page that was read last, with its value and the arguments of its list.

    `first` is the number of the first page, or the first offset.

    `count` is its number of items, and `longest` that of the longest page.
    """

    @property
    def value(self) -> Any: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def position(self) -> Any: ...
    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def named(self, path: str, /) -> Any:
        """Return the value for an option `next`: a path in the response, `header:NAME`, or `last.<field>`."""
        ...

    def header(self, name: str, /) -> str | None:
        """Return a header of its response; None without a response."""
        ...

    def url(self, target: str, /) -> PageUrl:
        """Return the absolute URL of a target in the response. Raises ValueError for another origin."""
        ...

    def cursor(self, value: Any, /) -> Any:
        """Return a cursor; if it is a URL at the list's origin, the URL of the next page."""
        ...


class PageStyle(ABC):
    """One style of pagination, `pagination={"style": NAME}`."""

    name: ClassVar[str]
    implied_by: ClassVar[tuple[str, ...]] = ()
    """Names of a `pagination_field` that imply this style without an option `pagination`."""
    is_counted: ClassVar[bool] = False
    """Whether positions are numbers."""
    counts_pages: ClassVar[bool] = False
    """Whether the number of a page alone determines the number of the next one."""
    start: ClassVar[int] = 0
    """The default of the first number."""
    needs_next: ClassVar[bool] = False
    """Whether the option `next` is required."""
    is_url: ClassVar[bool] = False
    """Whether URLs identify pages, so that the response itself is needed."""
    past_the_end: ClassVar[tuple[int, ...]] = ()
    """Statuses of responses to a request for a page after the last one."""

    @abstractmethod
    def next(self, page: LastPage, option: str) -> Any:
        """Return the position of the next page, None if there is none; `option` is the option `next`."""

    def sent(self, position: Any, page: LastPage) -> Any:
        """Return the value of `pagination_field` in the request for a position."""
        return position

    def count_before(self, page: LastPage) -> int | None:
        """Return the number of items before the page, or fewer; None if positions do not tell it."""
        return None

    def number(self, sent: Any) -> int:
        """Return the position for the `pagination_field` of a call, if positions are numbers."""
        return int(sent)


class PageNumber(PageStyle):
    """The style `?page=2`, which sends the number of the page."""

    name = "page"
    implied_by: ClassVar[tuple[str, ...]] = ("page",)
    is_counted = True
    counts_pages = True
    start = 1
    past_the_end: ClassVar[tuple[int, ...]] = (400, 404)

    def next(self, page: LastPage, option: str) -> Any:
        """Return the next number."""
        return page.position + 1

    def count_before(self, page: LastPage) -> int | None:
        """Return the number of items on earlier pages, if all are as long as the longest one that was read."""
        return int(page.position - page.first) * page.longest


class Offset(PageStyle):
    """The style `?offset=20`, which sends the number of items before the page."""

    name = "offset"
    implied_by: ClassVar[tuple[str, ...]] = ("offset", "skip")
    is_counted = True

    def next(self, page: LastPage, option: str) -> Any:
        """Return the offset after the items of the page."""
        return page.position + page.count

    def count_before(self, page: LastPage) -> int | None:
        """Return the offset."""
        return int(page.position - page.first)


class Cursor(PageStyle):
    """The style `?cursor=abc`, which sends a value from the previous page."""

    name = "cursor"
    needs_next = True

    def next(self, page: LastPage, option: str) -> Any:
        """Return the value for the option `next`."""
        return page.cursor(page.named(option))


class Link(PageStyle):
    """The style `Link: <…>; rel="next"`, which requests the URL in the header (RFC 8288)."""

    name = "link"
    is_url = True

    def next(self, page: LastPage, option: str) -> Any:
        """Return the target with the relation `next`."""
        target = next_link(page.header("link") or "")
        return None if target is None else page.url(target)


class Url(PageStyle):
    """The style that requests a URL in the body of the response."""

    name = "url"
    needs_next = True
    is_url = True

    def next(self, page: LastPage, option: str) -> Any:
        """Return the value for the option `next`."""
        target = page.named(option)
        return None if target is None or target == "" else page.url(str(target))


class ByFunction(PageStyle):
    """The style of an option `pagination` that is a function of a page and the list's arguments."""

    name = "function"

    def __init__(self, function: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        self._function = function

    def next(self, page: LastPage, option: str) -> Any:
        """Return the result of the function."""
        return self._function(page.value, page.args)


CURSOR: Final = Cursor()

STYLES: Final[Mapping[str, PageStyle]] = {
    style.name: style for style in (Link(), CURSOR, PageNumber(), Offset(), Url())
}
"""The styles by name."""


@dataclass(frozen=True, slots=True)
class Pagination:
    """The parsed endpoint option `pagination`.

    `next` is the location of the next position in a response, and `size` is an additional parameter. Other locations
    are `more` (whether there is another page), `total` (the number of all items) and `length` (the number of items of
    a full page). `first` is the first page or offset. With `in_body` position and size are members of the body.
    """

    style: PageStyle
    next: str = ""
    size: tuple[str, Any] | None = None
    more: str = ""
    total: str = ""
    length: str = ""
    first: int = 0
    in_body: bool = False

    @property
    def first_position(self) -> int | None:
        """The position of the first page if positions are numbers; else None."""
        return self.first if self.style.is_counted else None

    @property
    def needs_response(self) -> bool:
        """Whether the next position is part of the HTTP response and not of its stored data."""
        return self.style.is_url or self.next.startswith("header:")


def pagination_of(endpoint: EndpointOptions) -> Pagination:
    """Return the pagination of a list endpoint. Raises TypeError if it does not determine the next page."""
    option, field = endpoint.pagination, endpoint.pagination_field
    implied = next((style for style in STYLES.values() if field in style.implied_by), None)
    if option is None:
        if implied is None:
            raise TypeError(
                f"iterate() cannot determine the next page of {endpoint.name!r}, whose pagination_field is {field!r}; "
                "set the option pagination of the endpoint to "
                '"page", "offset", "link", a path to the cursor such as "next" or "last.id", or a function'
            )
        return Pagination(implied, first=implied.start)
    if callable(option):
        return Pagination(ByFunction(option))
    if isinstance(option, str):
        style = STYLES.get(option)
        return Pagination(CURSOR, option) if style is None or style.needs_next else Pagination(style, first=style.start)
    if not isinstance(option, Mapping):
        raise TypeError(f"pagination of {endpoint.name!r} is {option!r}; expected a string, a function or a mapping")
    return _from_mapping(cast("Mapping[str, Any]", option), CURSOR if implied is None else implied, endpoint.name)


def _from_mapping(given: Mapping[str, Any], implied: PageStyle, owner: str) -> Pagination:
    """Return the pagination of a mapping; `implied` is its default style. Raises TypeError for an invalid one."""
    path: str = given.get("next") or ""
    name: Any = given.get("style") or (CURSOR if path else implied).name
    style = STYLES.get(name)
    if style is None:
        raise TypeError(f"pagination style {name!r} of {owner!r} is unknown; expected one of {', '.join(STYLES)}")
    if style.needs_next and not path:
        raise TypeError(f'pagination of {owner!r} has style "{name}" but no "next"; add the path to it in the response')
    place = given.get("in", "query")
    if place not in ("query", "body"):
        raise TypeError(f'"in" in the pagination of {owner!r} must be "query" or "body", not {place!r}')
    size: Any = given.get("size")
    length = size if isinstance(size, str) else ""
    if length:
        size = None
    if size is not None and (not isinstance(size, Mapping) or "param" not in size or "value" not in size):
        raise TypeError(
            f'"size" in the pagination of {owner!r} must be {{"param": …, "value": …}} or a path, not {size!r}'
        )
    pair = cast("Mapping[str, Any]", size)
    start: Any = given.get("start")
    return Pagination(
        style,
        path,
        size=None if size is None else (str(pair["param"]), pair["value"]),
        more=given.get("more") or "",
        total=given.get("total") or "",
        length=length,
        first=style.start if start is None else start,
        in_body=place == "body",
    )


def next_link(header: str) -> str | None:
    """Return the target of `rel="next"` in a Link header (RFC 8288), unchanged; None without one."""
    for match in _LINK.finditer(header):
        if _NEXT.search(match.group(2)):
            return match.group(1)
    return None
