"""The styles of pagination: what language, importer and mock server know of each is one object.

`restencil.client.page_styles` has what programs need of the style of the same name.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Protocol, TypeAlias

_LINK_HEADER: Final = re.compile(r"\blink\b[`'\"]?\s+header", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z]+")
_KEYS: Final = ("id", "ids", "key", "identifier")
"""What descriptions call the primary key of an item."""

Position: TypeAlias = str | int
"""What names a page: a number, a cursor."""


class Window(Protocol):
    """A list of the mock server that is cut into pages of `size` items; `start` is the first number."""

    @property
    def size(self) -> int: ...
    @property
    def start(self) -> int: ...
    def whole(self, text: str, least: int, /) -> int:
        """The number that a client has sent. Refuses the request where it is none, or less than that."""
        ...

    def cursor(self, index: int, /) -> str:
        """A cursor for the page that begins with the item of this index, which is not 0."""
        ...

    def index_of(self, cursor: str, /) -> int:
        """The index of the first item behind a cursor. Refuses the request where it is none of this list."""
        ...

    def url(self, position: Position, /) -> str:
        """The URL of the page with this position."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an imported list by its JSON name.

    `start` is the first number that its document declares, as a default or as a minimum.
    """

    name: str
    is_string: bool = False
    start: int | None = None
    description: str = ""

    def mentions(self, *words: str) -> bool:
        """Whether its description has one of these words, whatever their case."""
        return not set(words).isdisjoint(_WORD.findall(self.description.lower()))


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A scalar beside a list in a response: the names that lead to it, in snake_case, and its JSON name."""

    path: tuple[str, ...]
    json_name: str
    type: str
    format: str = ""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1]

    @property
    def is_url(self) -> bool:
        """Whether it is declared to be a URL."""
        return self.format in ("uri", "url", "uri-reference")

    @property
    def dotted(self) -> str:
        """The path as specs write it."""
        return ".".join(self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class Signs:
    """What an OpenAPI document says of a list that may have pages.

    `parameters` are those of the request by name, `members` are beside the list, outer ones first, `headers` are
    those of the response, all names in snake_case; `key` is the field that is the primary key of the items, "" for
    none.
    """

    parameters: Mapping[str, Parameter]
    members: tuple[Member, ...] = ()
    headers: frozenset[str] = frozenset()
    key: str = ""

    def parameter(self, names: tuple[str, ...]) -> Parameter | None:
        """The first parameter that has one of these names."""
        return next((self.parameters[name] for name in names if name in self.parameters), None)

    def member(self, names: tuple[str, ...], types: tuple[str, ...] = ()) -> Member | None:
        """The first member with one of these names, and of these types; earlier names go before outer places."""
        fitting = [member for member in self.members if not types or member.type in types]
        return next((member for name in names for member in fitting if member.name == name), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Guess:
    """Pages that the importer has found: the parameter that names one, keys beside `style`, and a comment."""

    field: Parameter | None
    keys: Mapping[str, Position] = dataclasses.field(default_factory=dict[str, Position])
    comment: str = ""


class PageStyle(ABC):
    """One style of pagination, `pagination: {style: NAME}`."""

    name: ClassVar[str]
    help: ClassVar[str]
    """What is sent for a page, as the reference says it behind the name."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """The names of parameters that have this style, in snake_case, by which the importer finds it."""
    implied_by: ClassVar[tuple[str, ...]] = ()
    """The names of a `pagination_field` that have this style where no `pagination` is written."""
    is_counted: ClassVar[bool] = False
    """Whether positions count pages or items, so that `start` has a meaning."""
    is_integer: ClassVar[bool] = False
    """Whether the parameter is an integer."""
    start: ClassVar[int] = 1
    """The first number where the spec writes no `start`."""
    needs_next: ClassVar[bool] = False
    """Whether the spec has to say by `next` where the next page is named."""
    is_url: ClassVar[bool] = False
    """Whether the next page is named by its URL."""
    response_headers: ClassVar[tuple[str, ...]] = ()
    """The headers in which responses name pages, for exported documents."""

    @abstractmethod
    def guess(self, signs: Signs) -> Guess | None:
        """How an imported list is paginated, if it is in this style."""

    @abstractmethod
    def index(self, sent: str, window: Window) -> int:
        """The index of the first item of the page that a client of the mock server asks for."""

    @abstractmethod
    def position(self, index: int, window: Window) -> Position | None:
        """What the mock server calls the page that begins with the item of this index."""

    def counted(self, field: Parameter) -> Guess:
        """Pages that are numbered by a parameter, with something to check where no first number is declared."""
        start = self.start if field.start is None and self.named_after_what_it_counts(field) else field.start
        keys = {"start": start} if start not in (None, self.start) else dict[str, Position]()
        return Guess(field, keys, f"check: {field.name} is taken to begin at {self.start}" if start is None else "")

    def named_after_what_it_counts(self, field: Parameter) -> bool:
        """Whether the name of a parameter says what its first number is."""
        return False

    def number(self, index: int, window: Window) -> int:
        """The number of the page that begins with the item of this index, for members such as `page`."""
        return index // window.size + 1

    def shown(self, position: Position, window: Window) -> Position:
        """How responses of the mock server name a page."""
        return position

    def headers(self, pages: Mapping[str, Position | None], window: Window) -> Mapping[str, str]:
        """Headers that name the pages `next`, `prev` and `first`."""
        return {}


class _Numbered(PageStyle):
    """The mock server numbers the pages."""

    def index(self, sent: str, window: Window) -> int:
        """The number of pages before it, from the number that was sent."""
        return (window.whole(sent, window.start) - window.start) * window.size

    def position(self, index: int, window: Window) -> Position | None:
        """Its number."""
        return self.number(index, window)

    def number(self, index: int, window: Window) -> int:
        """Numbers begin at `start`."""
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
        """By the name of the parameter, from the number that the document declares."""
        found = signs.parameter(self.parameters)
        return None if found is None else self.counted(found)


class Offset(PageStyle):
    """A page is requested by the number of items before it."""

    name = "offset"
    help = "how many items are before the page"
    parameters: ClassVar[tuple[str, ...]] = ("offset", "skip", "start", "start_index", "start_at")
    implied_by: ClassVar[tuple[str, ...]] = ("offset", "skip")
    is_counted = True
    is_integer = True
    start = 0

    def named_after_what_it_counts(self, field: Parameter) -> bool:
        """An `offset` counts the items before the page; a `start` may count from 1."""
        return field.name.lower() in self.implied_by

    def guess(self, signs: Signs) -> Guess | None:
        """By the name of the parameter; a string is no number of items."""
        found = signs.parameter(self.parameters)
        return None if found is None or found.is_string else self.counted(found)

    def index(self, sent: str, window: Window) -> int:
        """Offsets count from `start`."""
        return max(0, window.whole(sent, 0) - window.start)

    def position(self, index: int, window: Window) -> Position | None:
        """Its offset."""
        return window.start + index


class Cursor(PageStyle):
    """A response names the next page by a value that only the server understands."""

    name = "cursor"
    help = "a value that the page before names (`next`)"
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
        """By the name of the parameter; or an offset that is a string, which the response must name."""
        field = signs.parameter(self.parameters)
        key = signs.key
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
        """What a cursor means is the server's."""
        return window.index_of(sent)

    def position(self, index: int, window: Window) -> Position | None:
        """The first page has no cursor."""
        return window.cursor(index) if index else None


CURSOR: Final = Cursor()


class Link(_Numbered):
    """The `Link` header of a response has the URL of the next page."""

    name = "link"
    help = "the URL with `rel=next` in the `Link` header"
    is_url = True
    response_headers = ("Link",)

    def guess(self, signs: Signs) -> Guess | None:
        """By the header of the response, or by a parameter whose description refers to it."""
        fields = positions(signs)
        if "link" not in signs.headers and not any(_LINK_HEADER.search(field.description) for field in fields):
            return None
        return Guess(next(iter(fields), None))

    def headers(self, pages: Mapping[str, Position | None], window: Window) -> Mapping[str, str]:
        """RFC 8288."""
        known = ((relation, position) for relation, position in pages.items() if position is not None)
        return {"Link": ", ".join(f'<{window.url(position)}>; rel="{relation}"' for relation, position in known)}


class Url(_Numbered):
    """The body of a response has the URL of the next page."""

    name = "url"
    help = "the URL that the response body has (`next`)"
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
        """By a member of the response; where a parameter names a page too, by one that is declared to be a URL."""
        field = next(iter(positions(signs)), None)
        for member in signs.members:
            if member.name not in self.members or member.type not in ("string", "any", "one_of"):
                continue
            if member.is_url or (field is None and (member.name != "next" or not member.format)):
                return Guess(field, {"next": member.dotted}, member.json_name)
        return None

    def shown(self, position: Position, window: Window) -> Position:
        """The whole URL."""
        return window.url(position)


STYLES: Final[Mapping[str, PageStyle]] = {
    style.name: style for style in (Link(), CURSOR, PageNumber(), Offset(), Url())
}
"""All styles by name. The importer takes the first one that it finds."""


def positions(signs: Signs) -> list[Parameter]:
    """The parameters that name a page, of whatever style, those of the first styles first."""
    names = [name for style in STYLES.values() for name in style.parameters]
    return [signs.parameters[name] for name in names if name in signs.parameters]


def implied_style(field: str) -> PageStyle | None:
    """The style that the name of a `pagination_field` implies where no `pagination` is written."""
    return next((style for style in STYLES.values() if field in style.implied_by), None)
