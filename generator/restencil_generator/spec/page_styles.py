"""The styles of pagination: one object per style for the language, the importer and the mock server.

`restencil.client.page_styles` has the part of each style that clients need.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Protocol, TypeAlias

_LINK_HEADER: Final = re.compile(r"\blink\b[`'\"]?\s+header", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z]+")
_FIRST_CURSOR: Final = re.compile(r"\bempty string\b", re.IGNORECASE)
"""Words in descriptions of cursors that must be sent with the first request too."""
_KEYS: Final = ("id", "ids", "key", "identifier")
"""Names of the primary key of an item in descriptions."""

Position: TypeAlias = str | int
"""The value that identifies a page: a number or a cursor."""


class Window(Protocol):
    """A list of the mock server that is split into pages of `size` items; `start` is the first number."""

    @property
    def size(self) -> int: ...
    @property
    def start(self) -> int: ...
    def whole(self, text: str, least: int, /) -> int:
        """Parse the number that a client has sent. Rejects the request if it is not a number, or less than `least`."""
        ...

    def cursor(self, index: int, /) -> str:
        """Return the cursor of the page that starts with the item of this index, which is not 0."""
        ...

    def index_of(self, cursor: str, /) -> int:
        """Return the index of the first item of a cursor's page. Rejects the request if the cursor is invalid."""
        ...

    def url(self, position: Position, /) -> str:
        """Return the URL of the page with this position."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an imported list, with its JSON name.

    `start` is the first number that its document declares, as a default or as a minimum.
    """

    name: str
    is_string: bool = False
    start: int | None = None
    description: str = ""

    def mentions(self, *words: str) -> bool:
        """Return whether its description contains one of these words, ignoring case."""
        return not set(words).isdisjoint(_WORD.findall(self.description.lower()))


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A scalar next to a list in a response: its path in snake_case, and its JSON name."""

    path: tuple[str, ...]
    json_name: str
    type: str
    format: str = ""

    @property
    def name(self) -> str:
        """The last name of the path."""
        return self.path[-1]

    @property
    def is_url(self) -> bool:
        """Whether it is declared to be a URL."""
        return self.format in ("uri", "url", "uri-reference")

    @property
    def dotted(self) -> str:
        """The path as specs write it, with dots."""
        return ".".join(self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class Signs:
    """The evidence for pagination of a list in an OpenAPI document.

    `parameters` are request parameters by name, `members` are next to the list in the response, outer ones first,
    `headers` are response headers, all names in snake_case; `key` is the primary key of the items, "" for none.
    """

    parameters: Mapping[str, Parameter]
    members: tuple[Member, ...] = ()
    headers: frozenset[str] = frozenset()
    key: str = ""

    def parameter(self, names: tuple[str, ...]) -> Parameter | None:
        """Return the first parameter that has one of these names."""
        return next((self.parameters[name] for name in names if name in self.parameters), None)

    def member(self, names: tuple[str, ...], types: tuple[str, ...] = ()) -> Member | None:
        """Return the first member with one of these names and types; earlier names precede outer members."""
        fitting = [member for member in self.members if not types or member.type in types]
        return next((member for name in names for member in fitting if member.name == name), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Guess:
    """Pagination that the importer has found: the parameter of the page, keys in addition to `style`, and a comment."""

    field: Parameter | None
    keys: Mapping[str, Position] = dataclasses.field(default_factory=dict[str, Position])
    comment: str = ""


class PageStyle(ABC):
    """One style of pagination, `pagination: {style: NAME}`."""

    name: ClassVar[str]
    help: ClassVar[str]
    """What identifies a page in requests, for the reference page."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """Parameter names of this style in snake_case, by which the importer recognizes it."""
    implied_by: ClassVar[tuple[str, ...]] = ()
    """Values of `pagination_field` that imply this style if no `pagination` is given."""
    is_counted: ClassVar[bool] = False
    """Whether positions count pages or items, so that `start` has a meaning."""
    is_integer: ClassVar[bool] = False
    """Whether the parameter is an integer."""
    start: ClassVar[int] = 1
    """The first number if the spec gives no `start`."""
    needs_next: ClassVar[bool] = False
    """Whether the spec must declare `next`, the position of the next page in the response."""
    is_url: ClassVar[bool] = False
    """Whether the next page is identified by its URL."""
    response_headers: ClassVar[tuple[str, ...]] = ()
    """The response headers that contain pages, for exported documents."""

    @abstractmethod
    def guess(self, signs: Signs) -> Guess | None:
        """Return the pagination of an imported list if it is in this style."""

    @abstractmethod
    def index(self, sent: str, window: Window) -> int:
        """Return the index of the first item of the page that a client of the mock server requests."""

    @abstractmethod
    def position(self, index: int, window: Window) -> Position | None:
        """Return the position of the page that starts with the item of this index, as the mock server names it."""

    def counted(self, field: Parameter) -> Guess:
        """Return numbered pages, with a `check:` comment if no first number is declared."""
        start = self.start if field.start is None and self.named_after_what_it_counts(field) else field.start
        keys = {"start": start} if start not in (None, self.start) else dict[str, Position]()
        return Guess(field, keys, f"check: {field.name} is taken to begin at {self.start}" if start is None else "")

    def named_after_what_it_counts(self, field: Parameter) -> bool:
        """Return whether the name of a parameter shows its first number."""
        return False

    def shown(self, position: Position, window: Window) -> Position:
        """Return the position of a page as responses of the mock server show it."""
        return position

    def headers(self, pages: Mapping[str, Position | None], window: Window) -> Mapping[str, str]:
        """Return the headers for the pages `next`, `prev` and `first`."""
        return {}


class _Numbered(PageStyle):
    """A style whose pages the mock server numbers."""

    def index(self, sent: str, window: Window) -> int:
        """Convert the requested number to an index."""
        return (window.whole(sent, window.start) - window.start) * window.size

    def position(self, index: int, window: Window) -> Position | None:
        """Return the number of the page, counted from `start`."""
        return index // window.size + window.start


class PageNumber(_Numbered):
    """A page is requested by its number."""

    name = "page"
    help = "the number of the page"
    parameters: ClassVar[tuple[str, ...]] = ("page", "page_number", "pagenumber")
    implied_by: ClassVar[tuple[str, ...]] = ("page",)
    is_counted = True
    is_integer = True

    def guess(self, signs: Signs) -> Guess | None:
        """Recognize the name of the parameter; the document may declare the first number."""
        found = signs.parameter(self.parameters)
        return None if found is None else self.counted(found)


class Offset(PageStyle):
    """A page is requested by the number of items before it."""

    name = "offset"
    help = "the number of items before the page"
    parameters: ClassVar[tuple[str, ...]] = ("offset", "skip", "start", "start_index", "start_at")
    implied_by: ClassVar[tuple[str, ...]] = ("offset", "skip")
    is_counted = True
    is_integer = True
    start = 0

    def named_after_what_it_counts(self, field: Parameter) -> bool:
        """Return true for `offset` and `skip`, which count the items before the page; a `start` may count from 1."""
        return field.name.lower() in self.implied_by

    def guess(self, signs: Signs) -> Guess | None:
        """Recognize the name of the parameter; a string is not an offset."""
        found = signs.parameter(self.parameters)
        return None if found is None or found.is_string else self.counted(found)

    def index(self, sent: str, window: Window) -> int:
        """Convert the requested offset, which counts from `start`, to an index."""
        return max(0, window.whole(sent, 0) - window.start)

    def position(self, index: int, window: Window) -> Position | None:
        """Return the offset."""
        return window.start + index


class Cursor(PageStyle):
    """A response contains an opaque value for the next page."""

    name = "cursor"
    help = "a value from the previous page (`next`)"
    parameters: ClassVar[tuple[str, ...]] = (
        "cursor",
        "page_token",
        "starting_after",
        "after",
        "next_token",
        "continuation_token",
        "marker",
        "start_cursor",
        "continue",
    )
    needs_next = True

    def guess(self, signs: Signs) -> Guess | None:
        """Recognize the name of the parameter, or an offset that is a string, which the response must contain.

        A cursor that must be sent for the first page too gives way to another parameter: without it, there is no next.
        """
        field = signs.parameter(self.parameters)
        key = signs.key
        if field is not None and _FIRST_CURSOR.search(field.description) and len(positions(signs)) > 1:
            return None
        if field is None:
            field, key = signs.parameter(Offset.parameters), ""
            if field is None or not field.is_string or signs.parameter(PageNumber.parameters) is not None:
                return None
        name = next(name for name, parameter in signs.parameters.items() if parameter is field)
        sure = (f"next_{name}", "next_cursor", "next_page_token", "next_token")
        named = signs.member((*sure, name, "next", "next_page"))
        named = named or next((member for member in signs.members if member.name.startswith("next")), None)
        if named is None:
            if not key:
                return None
            comment = "the last item's key" if field.mentions(*_KEYS) else "check: the last item's key is taken for it"
            return Guess(field, {"next": f"last.{key}"}, comment)
        if named.is_url:
            return None
        is_sure = named.name in sure or (named.name == name and any("next" in part for part in named.path))
        return Guess(field, {"next": named.dotted}, f"{'' if is_sure else 'check: '}{named.json_name}")

    def index(self, sent: str, window: Window) -> int:
        """Decode the cursor of the mock server."""
        return window.index_of(sent)

    def position(self, index: int, window: Window) -> Position | None:
        """Return a cursor; the first page has none."""
        return window.cursor(index) if index else None


CURSOR: Final = Cursor()


class Link(_Numbered):
    """The `Link` header of a response has the URL of the next page."""

    name = "link"
    help = "the URL with `rel=next` in the `Link` header"
    is_url = True
    response_headers = ("Link",)

    def guess(self, signs: Signs) -> Guess | None:
        """Recognize the header of the response, or a parameter whose description refers to it."""
        fields = positions(signs)
        if "link" not in signs.headers and not any(_LINK_HEADER.search(field.description) for field in fields):
            return None
        return Guess(next(iter(fields), None))

    def headers(self, pages: Mapping[str, Position | None], window: Window) -> Mapping[str, str]:
        """Return a `Link` header as in RFC 8288."""
        known = ((relation, position) for relation, position in pages.items() if position is not None)
        return {"Link": ", ".join(f'<{window.url(position)}>; rel="{relation}"' for relation, position in known)}


class Url(_Numbered):
    """The body of a response has the URL of the next page."""

    name = "url"
    help = "the URL in the response body (`next`)"
    is_url = True
    needs_next = True

    members: ClassVar = (
        "next",
        "next_url",
        "next_link",
        "odata_next_link",
        "next_page_url",
        "next_href",
        "next_page_uri",
        "next_uri",
    )

    def guess(self, signs: Signs) -> Guess | None:
        """Recognize a member of the response; if a parameter names a page too, the member must be declared as a URL."""
        field = next(iter(positions(signs)), None)
        for member in signs.members:
            if member.name not in self.members or member.type not in ("string", "any", "one_of"):
                continue
            if member.is_url or (field is None and (member.name != "next" or not member.format)):
                return Guess(field, {"next": member.dotted}, member.json_name)
        return None

    def shown(self, position: Position, window: Window) -> Position:
        """Return the whole URL."""
        return window.url(position)


STYLES: Final[Mapping[str, PageStyle]] = {
    style.name: style for style in (Link(), CURSOR, PageNumber(), Offset(), Url())
}
"""All styles by name. The importer uses the first one that it recognizes."""


def positions(signs: Signs) -> list[Parameter]:
    """Return the parameters of any style that identify a page, in the order of the styles."""
    names = [name for style in STYLES.values() for name in style.parameters]
    return [signs.parameters[name] for name in names if name in signs.parameters]


def implied_style(field: str) -> PageStyle | None:
    """Return the style that a `pagination_field` implies if no `pagination` is given."""
    return next((style for style in STYLES.values() if field in style.implied_by), None)
