"""The styles of pagination: how a program requests the first and the next page of a list, and where the list ends.

`restencil_generator.spec.page_styles` holds what specs, importer and mock server need of the style of the same name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, cast

_LINK: Final = re.compile(r"<([^>]*)>((?:\s*;\s*[^;,\s=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_NEXT: Final = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


class PageUrl(str):
    """A position that is the URL of a page, absolute and at the origin of its list."""

    __slots__ = ()


class LastPage(Protocol):
    """The page that was read last: its value, and the arguments of its list.

    `first` is the number of the first page, or the first offset.

    `count` is how many items the server sent with it, `longest` how many the longest page had, and `removed` how many
    items of the pages so far have left the list since they came.
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
    @property
    def removed(self) -> int: ...
    def named(self, path: str, /) -> Any:
        """What is found under an option `next`: a path in the response, `header:NAME`, or `last.<field>`."""
        ...

    def header(self, name: str, /) -> str | None:
        """A header of its response; None without a response."""
        ...

    def url(self, target: str, /) -> PageUrl:
        """The URL that a response names, in full. Raises ValueError for one of another origin."""
        ...

    def cursor(self, value: Any, /) -> Any:
        """A cursor; one that is a URL of the list's origin is the URL of the next page."""
        ...


class PageStyle(ABC):
    """One style of pagination, `pagination={"style": NAME}`."""

    name: ClassVar[str]
    implied_by: ClassVar[tuple[str, ...]] = ()
    """The names of a `pagination_field` that have this style where the endpoint has no option `pagination`."""
    is_counted: ClassVar[bool] = False
    """Whether positions are numbers, which mean another item once one before it has left the list."""
    counts_pages: ClassVar[bool] = False
    """Whether the number of a page is all that is needed to know the number of the next one."""
    start: ClassVar[int] = 0
    """The first number where the endpoint gives none."""
    needs_next: ClassVar[bool] = False
    """Whether the option `next` has to say where the next page is named."""
    is_url: ClassVar[bool] = False
    """Whether pages are named by their URLs, so that the response itself is needed."""
    past_the_end: ClassVar[tuple[int, ...]] = ()
    """Statuses that answer a request for a page behind the last one."""

    @abstractmethod
    def next(self, page: LastPage, option: str) -> Any:
        """The position of the page behind one, None if there is none; `option` is the option `next`."""

    def sent(self, position: Any, page: LastPage) -> Any:
        """The value of `pagination_field` by which the page of a position is requested."""
        return position

    def number(self, sent: Any) -> int:
        """The position that a call names by its `pagination_field`, where positions are numbers."""
        return int(sent)


class PageNumber(PageStyle):
    """`?page=2`: the number of the page is sent."""

    name = "page"
    implied_by: ClassVar[tuple[str, ...]] = ("page",)
    is_counted = True
    counts_pages = True
    start = 1
    past_the_end: ClassVar[tuple[int, ...]] = (400, 404)

    def next(self, page: LastPage, option: str) -> Any:
        """One more; fewer where items before it have left, which moved up those behind them."""
        moved = -(-page.removed // max(page.longest, 1))
        return max(page.first, page.position + 1 - moved)


class Offset(PageStyle):
    """`?offset=20`: the number of the items before the page is sent."""

    name = "offset"
    implied_by: ClassVar[tuple[str, ...]] = ("offset", "skip")
    is_counted = True

    def next(self, page: LastPage, option: str) -> Any:
        """As many more as the server sent; fewer where items before it have left."""
        return max(page.first, page.position + page.count - page.removed)


class Cursor(PageStyle):
    """`?cursor=abc`: what the page before names is sent."""

    name = "cursor"
    needs_next = True

    def next(self, page: LastPage, option: str) -> Any:
        """What `next` names."""
        return page.cursor(page.named(option))


class Link(PageStyle):
    """`Link: <…>; rel="next"`: the URL in the header (RFC 8288) is requested."""

    name = "link"
    is_url = True

    def next(self, page: LastPage, option: str) -> Any:
        """The target with the relation `next`."""
        target = next_link(page.header("link") or "")
        return None if target is None else page.url(target)


class Url(PageStyle):
    """The URL in the body of the response is requested."""

    name = "url"
    needs_next = True
    is_url = True

    def next(self, page: LastPage, option: str) -> Any:
        """What `next` names."""
        target = page.named(option)
        return None if target is None or target == "" else page.url(str(target))


class ByFunction(PageStyle):
    """The option `pagination` is a function that gives the next position for a page and the arguments of the list."""

    name = "function"

    def __init__(self, function: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        self._function = function

    def next(self, page: LastPage, option: str) -> Any:
        """What the function gives."""
        return self._function(page.value, page.args)


CURSOR: Final = Cursor()

STYLES: Final[Mapping[str, PageStyle]] = {
    style.name: style for style in (Link(), CURSOR, PageNumber(), Offset(), Url())
}
"""All styles by name."""


@dataclass(frozen=True, slots=True)
class Pagination:
    """The endpoint option `pagination`, read.

    `next` is where a response names the next page, `size` a parameter that is sent along. Paths in the response: `more`
    whether there is another page, `total` how many items there are in all, `length` how many a page has that is not the
    last one. `first` is the first page or offset. With `in_body` position and size are members of the body.
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
        """The position of the first page, where pages have numbers."""
        return self.first if self.style.is_counted else None

    @property
    def needs_response(self) -> bool:
        """Whether the next page is found in the HTTP response, not only in the data that the store keeps of it."""
        return self.style.is_url or self.next.startswith("header:")


class PagedEndpoint(Protocol):
    """An endpoint with the options `pagination` and `pagination_field`."""

    @property
    def name(self) -> str: ...


def pagination_of(endpoint: PagedEndpoint) -> Pagination:
    """The pagination of a list endpoint; TypeError where it has none that could be followed."""
    option: Any = getattr(endpoint, "pagination", None)
    field: str | None = getattr(endpoint, "pagination_field", None)
    implied = next((style for style in STYLES.values() if field in style.implied_by), None)
    if option is None:
        if implied is None:
            raise TypeError(
                f"iterate() does not know how to find the next page of {endpoint.name!r}: "
                f"its pagination_field is {field!r}; give the endpoint the option pagination="
                '"page", "offset", "link", a path to the cursor such as "next" or "last.id", or a function'
            )
        return Pagination(implied, first=implied.start)
    if callable(option):
        return Pagination(ByFunction(option))
    if isinstance(option, str):
        style = STYLES.get(option)
        return Pagination(CURSOR, option) if style is None or style.needs_next else Pagination(style, first=style.start)
    if not isinstance(option, Mapping):
        raise TypeError(f"pagination of {endpoint.name!r} must be text, a function or a mapping, not {option!r}")
    return _from_mapping(cast("Mapping[str, Any]", option), CURSOR if implied is None else implied, endpoint.name)


def _from_mapping(given: Mapping[str, Any], implied: PageStyle, owner: str) -> Pagination:
    """The pagination of a mapping of keys; `implied` is the style where it names none."""
    path: str = given.get("next") or ""
    name: Any = given.get("style") or (CURSOR if path else implied).name
    style = STYLES.get(name)
    if style is None:
        raise TypeError(f"pagination style {name!r} of {owner!r} is unknown; expected one of {', '.join(STYLES)}")
    if style.needs_next and not path:
        raise TypeError(f'pagination of {owner!r} has style "{name}" but no "next" that says where it stands')
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
    """The target of `rel="next"` in a Link header (RFC 8288), as it stands there."""
    for match in _LINK.finditer(header):
        if _NEXT.search(match.group(2)):
            return match.group(1)
    return None
