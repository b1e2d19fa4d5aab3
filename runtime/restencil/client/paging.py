"""The items of all pages of a list, however its API tells where the next page is."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urljoin, urlsplit

from ..base.errors import NetworkError
from ..base.lazy_imports import logger
from ..base.steps import HookCall
from ..base.transport import has_scheme, origin_of, origin_text, public_url
from ..base.values import described, kind_of, same_json
from ..cache.reading import Decision
from ..endpoint.envelopes import at_path
from ..endpoint.headers import HeaderedArguments, headed
from ..endpoint.lifecycle import NOT_MODIFIED
from ..endpoint.page_runs import AsyncItems, AsyncPageRun, Items, PageRun
from ..schema import Collection, Object, Schema, find_collection, schema_of
from ..schema.collection import identity_text
from ..schema.protocol import is_plain
from ..schema.record import class_record, identity_of, to_wire
from .core import looking
from .in_flight import Completion, InFlight, page_of

if TYPE_CHECKING:
    from typing import Self

    from ..base.response import Page
    from ..base.steps import Step
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint
    from .core import Core

#: pagination_field → style, where the endpoint says nothing more.
STYLE_OF_FIELD: Final = {"page": "page", "offset": "offset", "skip": "offset"}

_STYLES: Final = ("page", "offset", "cursor", "link", "url")
_BEYOND: Final = (400, 404)
"""What servers answer to a page after the last one."""
_LINK: Final = re.compile(r"<([^>]*)>((?:\s*;\s*[^;,\s=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_ABSOLUTE: Final = re.compile("https?://", re.IGNORECASE).match
_NEXT: Final = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pagination:
    """How the next page is found: the endpoint option `pagination`, read.

    `style` is page, offset, cursor, link or url; `next`, for cursor, a dotted path in the response, `header:NAME` or
    `last.<field>`, for url a path; `find` a function in place of both; `size` a search parameter that is sent along.
    Paths in the response say more: `more` whether there is another page, `total` how many items there are in all,
    `length` how many a page has that is not the last one. `start` is the first page or offset.
    """

    style: str
    next: str = ""
    find: Callable[[Any, tuple[Any, ...]], Any] | None = None
    size: tuple[str, Any] | None = None
    more: str = ""
    total: str = ""
    length: str = ""
    start: int | None = None

    @property
    def needs_headers(self) -> bool:
        """The response itself is needed, not only the data that the store keeps of it."""
        return self.style in ("link", "url") or self.next.startswith("header:")

    @property
    def names_urls(self) -> bool:
        """A page is told by its URL."""
        return self.find is None and self.style in ("link", "url")

    def is_url(self, value: Any) -> bool:
        """This next page is told by its URL."""
        return self.names_urls or type(value) is _Address

    @property
    def is_counted(self) -> bool:
        """Pages are asked for by numbers, which mean another item once one before it is gone."""
        return self.find is None and self.style in ("page", "offset")

    @property
    def first(self) -> int:
        """The number of the first page, or the first offset."""
        return self.start if self.start is not None else 1 if self.style == "page" else 0


def pagination_of(endpoint: Endpoint[..., Any]) -> Pagination:
    """The pagination of a list endpoint; TypeError where it has none that could be followed."""
    option: Any = getattr(endpoint, "pagination", None)
    field: str | None = getattr(endpoint, "pagination_field", None)
    if option is None:
        style = STYLE_OF_FIELD.get(field or "")
        if style is None:
            raise TypeError(
                f"iterate() does not know how to find the next page of {endpoint.name!r}: "
                f"its pagination_field is {field!r}; give the endpoint the option pagination="
                '"page", "offset", "link", a path to the cursor such as "next" or "last.id", or a function'
            )
        return Pagination(style)
    if callable(option):
        return Pagination("cursor", find=option)
    if isinstance(option, str):
        if option in _STYLES and option != "cursor":
            return Pagination(option)
        return Pagination("cursor", option)
    if not isinstance(option, Mapping):
        raise TypeError(f"pagination of {endpoint.name!r} must be text, a function or a mapping, not {option!r}")
    given = cast("Mapping[str, Any]", option)
    path: str = given.get("next") or ""
    style = given.get("style") or ("cursor" if path else STYLE_OF_FIELD.get(field or "", "cursor"))
    if style not in _STYLES:
        raise TypeError(f"pagination style {style!r} of {endpoint.name!r} is unknown; expected one of {_STYLES}")
    if style in ("cursor", "url") and not path:
        raise TypeError(f'pagination of {endpoint.name!r} has style "{style}" but no "next" that says where it stands')
    size: Any = given.get("size")
    length = size if isinstance(size, str) else ""
    if length:
        size = None
    if size is not None and (not isinstance(size, Mapping) or "param" not in size or "value" not in size):
        raise TypeError(
            f'"size" in the pagination of {endpoint.name!r} must be {{"param": …, "value": …}} or a path, not {size!r}'
        )
    pair = cast("Mapping[str, Any]", size)
    return Pagination(
        style,
        path,
        size=None if size is None else (str(pair["param"]), pair["value"]),
        more=given.get("more") or "",
        total=given.get("total") or "",
        length=length,
        start=given.get("start"),
    )


class Pages:
    """One call of `iterate`: `turn` goes to the next page, `items` gives what it has that was not yielded yet."""

    def __init__(
        self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...], *, asks_always: bool = False
    ) -> None:
        if isinstance(args, HeaderedArguments):
            endpoint, args = headed(endpoint, args), args.plain
        self._core = core
        self._asks_always = asks_always
        """The first page is fetched too, whatever the store has."""
        self._in_flight: Any = None
        self._pagination = pagination_of(endpoint)
        self._endpoint = endpoint
        self._field: str | None = getattr(endpoint, "pagination_field", None)
        if self._field is None and self._pagination.style not in ("link", "url"):
            raise TypeError(
                f"iterate() cannot ask for the next page of {endpoint.name!r}: it has no pagination_field, "
                "the name of the search parameter that says which page is wanted"
            )
        params = dict(args[0] or {}) if args else {}
        if self._pagination.size is not None:
            name, value = self._pagination.size
            params.setdefault(name, value)
        self._inactive = args == (None,) and not endpoint.has_body
        self._params: dict[str, Any] = params
        self._args: tuple[Any, ...] = (params, *args[1:]) if params or args else ()
        self._home = _Home(core, endpoint, self._args)
        self._is_plain = find_collection(endpoint.schema) is None
        """No collection holds the items, so that each page is a result of its own, and equal items are not one."""
        self._path = collection_path(endpoint.schema)
        self._page: Any = None
        self._response: Any = None
        self._raw: Any = None
        self._answer: Any = None
        """The whole answer that brought the page, where the list stands in an envelope."""
        self._envelope: str | None = getattr(endpoint, "unwrap", None)
        self._asked_url = ""
        self._started = False
        self._ended = False
        self._last: Any = None
        given = params.get(self._field, endpoint.first_page) if self._field is not None else None
        self._handed_out = 0
        """How many items of the current page were handed out."""
        self._count = 0
        """How many items of plain values all pages had."""
        self._position: int = _number(given, self._pagination.first) if self._pagination.is_counted else 0
        self._sent = 0
        """How many items the server sent with the current page, whether they show or not."""
        self._sent_before: Any = None
        """The items that the server sent with the page before."""
        self._longest = 0
        self._met: dict[Any, tuple[str, str] | None] = {}
        """What pages of this run had, by identity: the cells of entities."""
        self._brought: set[Any] = set()
        """What pages of this run brought, by identity."""
        self._is_extended = False
        """The current page is the list as it is stored, with pages that the run will ask for again."""
        self._gone = 0
        """How many of them were gone when the current page came."""
        self._used: set[Any] = set()
        self._yielded: set[Any] = set()
        self._after: Any = None
        """The position of the page after which to begin."""
        self.position: Any = None
        """The position of the current page."""

    def begin_after(self, position: Any) -> None:
        """Goes on after the page of this position; None: from the beginning.

        Raises TypeError for what is no position, and ValueError for one that is no number where pages are counted, or
        that is a URL of another origin.
        """
        if position is None:
            self._after = None
            return
        if isinstance(position, bool) or not isinstance(position, str | int):
            raise TypeError(f"a position is a text or a whole number, as a run gives it, not {described(position)}")
        if self._pagination.is_counted:
            try:
                position = int(position)
            except ValueError:
                raise ValueError(
                    f"{position!r:.100} is no position in {self._endpoint.name!r}, whose pages are counted"
                ) from None
        elif isinstance(position, str) and (self._pagination.names_urls or _ABSOLUTE(position)):
            url = self._home.checked(position)
            position = url if self._pagination.names_urls else _Address(url)
        self._after = position

    def turn(self) -> Generator[Step, Any, bool]:
        """Steps: reads the first page, or fetches the next one; False when there is none.

        Where the request fails nothing is changed, so that the same page may be asked for again.
        """
        if self._inactive or self._ended:
            return False
        if not self._started:
            if self._after is None:
                return (yield from self._begin())
            if not (yield from self._go_to(self._after)):
                return False
        value = self._following()
        if value is None:
            return False
        try:
            page = yield from self._fetched(self._page_endpoint(value), self._page_args(value))
        except NetworkError as error:
            if self._pagination.style != "page" or error.status not in _BEYOND:
                raise
            logger.warning(
                "iterate() of %r: page %s is answered by %s, so it ends there; where the answer tells the end, "
                "write it as 'more', 'total' or 'next' of its pagination",
                self._endpoint.name,
                value,
                error.status,
            )
            self._ended = True
            return False
        back = self._pagination.is_counted and value <= self._position
        self._at(value)
        self._page = page
        return self._take(may_bring_nothing=back)

    def _begin(self) -> Generator[Step, Any, bool]:
        self._page = yield from self._first()
        self._started = True
        if self._pagination.is_counted:
            self.position = self._position
        else:
            self.position = self._home.public(self._asked_url) if self._pagination.names_urls else ""
        return self._take(may_bring_nothing=False)

    def _go_to(self, position: Any) -> Generator[Step, Any, bool]:
        """Steps: stands at a page that was taken in an earlier run; False where that was the last one.

        The number of a page is enough to know the next one. What follows another one is told by that page alone, so it
        is asked for again.
        """
        if self._pagination.style != "page" or self._pagination.find is not None:
            if position == "":
                page = yield from self._fetched(self._endpoint, self._args)
            else:
                page = yield from self._fetched(self._page_endpoint(position), self._page_args(position))
            self._page = page
            self._started = True
            self._at(position)
            return self._take(may_bring_nothing=True) and not self._ended
        self._started = True
        self._at(position)
        return True

    def _at(self, value: Any) -> None:
        """The current page is the one of this position."""
        self.position = _shown(value)
        self._used.add(_hashable(value))
        if self._pagination.is_counted:
            self._position = value

    def _take(self, *, may_bring_nothing: bool) -> bool:
        """Notes what the current page had; False where it is the end, as it brought nothing that was not met."""
        items = self._page_items()
        raw = self._items_of(self._raw)
        if raw is None and self._is_plain:
            raw = list(items)
        self._sent = len(items) if raw is None else len(raw)
        self._longest = max(self._longest, self._sent)
        self._count += self._sent
        self._handed_out = 0
        before, self._sent_before = self._sent_before, raw
        if not self._sent:
            return False
        brought = len(self._brought)
        for item in items:
            identity = _identity(item)
            self._met.setdefault(identity, _cell(item))
            if not self._is_extended:
                self._brought.add(identity)
        if self._is_extended:
            self._is_extended, may_bring_nothing = False, True
        if items:
            self._last = items[-1]
        # Items that do not show may have gone meanwhile; the same ones again are of a server that has no other page.
        is_repeated = before is not None and same_json(raw, before)
        is_all = is_repeated if self._is_plain else len(items) == self._sent or is_repeated
        if len(self._brought) == brought and is_all and not may_bring_nothing:
            return False
        self._gone = self._missing()
        self._ended = self._is_last()
        return True

    def _is_last(self) -> bool:
        """Whether the current page says that it is the last one."""
        pagination = self._pagination
        if pagination.more and not self._told(pagination.more):
            return True
        total = self._told(pagination.total) if pagination.total else None
        if isinstance(total, int) and (self._count if self._is_plain else len(self._met) - self._gone) >= total:
            return True
        length = self._told(pagination.length) if pagination.length else None
        return isinstance(length, int) and self._sent < length

    def _missing(self) -> int:
        """How many of the items that were met are in the list no more."""
        cells = [cell for cell in self._met.values() if cell is not None]
        return self._core.store.count_missing(self._list_cell(), cells) if self._pagination.is_counted else 0

    def _list_cell(self) -> tuple[str, str] | None:
        """Where the list itself is stored."""
        collection = find_collection(self._endpoint.schema)
        if collection is None:
            return None
        return collection.table_key, identity_text(collection.args_key(*self._args))

    def items(self) -> Iterator[Any]:
        """The items of the current page as the view has them now, each entity once in all pages."""
        items = self._page_items()
        while self._handed_out < len(items):
            item = items[self._handed_out]
            self._handed_out += 1
            identity = _identity(item)
            if identity in self._yielded and not (self._is_plain and identity_of(item) is None):
                continue
            self._yielded.add(identity)
            current = _current(self._core.store, item)
            if current is not None or item is None:
                yield current

    def page(self) -> Page[Any]:
        """The current page, with the answer that brought it."""
        return page_of(self._in_flight, self._page, self._page_items(), self.position, self._next_position())

    def _next_position(self) -> Any:
        if self._ended:
            return None
        try:
            return _shown(self._following())
        except ValueError:
            return None  # it is at another origin: whoever goes there is told so

    def _following(self) -> Any:
        """What names the next page; None where there is none, or where it was asked for already."""
        value = self._next_value()
        if value is None or value == "" or value is False:
            return None
        return None if not self._pagination.is_counted and _hashable(value) in self._used else value

    @property
    def is_yielded(self) -> bool:
        """Every item of the current page was yielded."""
        items = self._page_items()
        if self._is_plain:
            return self._handed_out == len(items)
        return all(_identity(item) in self._yielded for item in items)

    def _first(self) -> Generator[Step, Any, Any]:
        core, endpoint = self._core, self._endpoint
        if self._asks_always or self._pagination.needs_headers or self._envelope is not None:
            return (yield from self._fetched(endpoint, self._args))
        request = endpoint.request(self._args)
        reading = yield from looking(core.store, request)
        if reading.decision is Decision.GIVE and self._stands_as_answered(reading.data):
            return reading.data
        return (yield from self._fetched(endpoint, self._args))

    def _stands_as_answered(self, page: Any) -> bool:
        """Whether a list shows what its last answer had; with page numbers, also what further pages had."""
        if self._is_plain and is_plain(schema_of(self._endpoint.schema)):
            return True  # nothing but its own responses changes it
        cell = self._list_cell()
        answered = None if cell is None else self._core.store.answered(cell)
        if answered is None:
            return False
        length, is_extended = answered
        stands = len(self._items_of(page) or ()) == length and (self._pagination.style == "page" or not is_extended)
        self._is_extended = stands and is_extended
        return stands

    def _fetched(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Generator[Step, Any, Any]:
        current = self._response, self._raw, self._answer, self._asked_url
        try:
            return (yield from self._asking(endpoint, args))
        except BaseException:
            # What was answered before says still where the next page is.
            self._response, self._raw, self._answer, self._asked_url = current
            raise

    def _asking(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Generator[Step, Any, Any]:
        """Steps: send the request of a page, or join the same one in flight; its value."""
        self._response = self._raw = self._answer = None
        self._asked_url = self._core.locate(endpoint.request_url(args))
        page = yield from self._sent_or_joined(endpoint, args)
        if self._needs_body and not self._in_flight_has_body():
            # It was settled by something that has no headers and no body: a 304, or another process.
            page = yield from self._sent_or_joined(endpoint, args)
        response, self._answer = yield from _parsed(endpoint, self._in_flight)
        self._response = response
        self._raw = self._answer if self._envelope is None else at_path(self._answer, self._envelope)
        return page

    @property
    def _needs_body(self) -> bool:
        """Whether the next page is found in the HTTP response itself."""
        return self._pagination.needs_headers or self._envelope is not None

    def _sent_or_joined(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Generator[Step, Any, Any]:
        """Steps: send a request, or join the same one in flight; its value."""
        request = endpoint.request(args, located=True)
        request.needs_body = self._needs_body
        self._in_flight = self._core.start(request)
        return (yield Completion(self._core, self._in_flight))

    def _in_flight_has_body(self) -> bool:
        in_flight = self._in_flight
        if not isinstance(in_flight, InFlight) or in_flight.endpoint.plan.own_fetch:
            return True  # nobody can tell, and the next one would be the same
        return in_flight.own_response is not None or (
            in_flight.answer is not None and in_flight.answer.status_code != NOT_MODIFIED
        )

    def _page_items(self) -> Sequence[Any]:
        return self._items_of(self._page) or ()

    def _items_of(self, page: Any) -> Sequence[Any] | None:
        """The items of a page, as it was answered or as it is handed out; None where there is no list."""
        if self._is_plain:
            return _list_in(page)
        found, schema = page, schema_of(self._endpoint.schema)
        for name in self._path:
            members: Mapping[str, Any] = schema.members if isinstance(schema, Object) else {}
            in_json = schema.wire.get(name, name) if isinstance(schema, Object) else name
            found, schema = _member(found, in_json if page is self._raw else name), members.get(in_json)
        if isinstance(found, Mapping):
            return list(cast("Mapping[str, Any]", found).values())
        return cast("Sequence[Any]", found) if isinstance(found, list | tuple) else None

    def _told(self, path: str) -> Any:
        """What the current page says at a path of wire names: with an envelope, the answer that brought it."""
        if self._envelope is not None:
            return at_path(self._answer, path)
        found, schema = self._page, schema_of(self._endpoint.schema)
        for name in path.split("."):
            members: Mapping[str, Any] = schema.members if isinstance(schema, Object) else {}
            found = _member(found, python_name(schema, name))
            schema = members.get(name)
        return found

    def _page_endpoint(self, value: Any) -> Endpoint[..., Any]:
        """The endpoint of a further page: it adds to the collection, or is the list itself where there is none."""
        endpoint = self._endpoint
        if not self._pagination.is_url(value):
            if self._is_plain:
                return endpoint
            page: Endpoint[..., Any] = getattr(endpoint, "get_page")  # noqa: B009 - of lists only
            return page
        if not self._is_plain:
            paginated: Callable[..., Endpoint[..., Any]] = getattr(endpoint, "paginated")  # noqa: B009 - as above
            endpoint = paginated(_unchanged)
        return endpoint.extend(url=_always(self._home.with_user(value)))

    def _page_args(self, value: Any) -> tuple[Any, ...]:
        if self._pagination.is_url(value):
            return self._args
        return ({**self._params, str(self._field): value}, *self._args[1:])

    def _next_value(self) -> Any:
        pagination = self._pagination
        if pagination.find is not None:
            return pagination.find(self._page, self._args)
        if pagination.is_counted:
            # What is gone since made those that come after it move up.
            gone = self._missing() - self._gone
            if pagination.style == "offset":
                return max(pagination.first, self._position + self._sent - gone)
            return max(pagination.first, self._position + 1 - -(-gone // max(self._longest, 1)))
        if pagination.style == "link":
            target = next_link(self._response.headers.get("link", "")) if self._response is not None else None
            return None if target is None else self._home.checked(target, self._here())
        kind, _, rest = pagination.next.partition(":")
        if kind == "header":
            return None if self._response is None else self._response.headers.get(rest)
        if pagination.next.startswith("last."):
            return to_wire(_member(self._last, pagination.next.removeprefix("last.")))
        value = self._told(pagination.next)
        if pagination.style == "url":
            return None if value is None or value == "" else self._home.checked(str(value), self._here())
        return self._followed(value) if isinstance(value, str) and _ABSOLUTE(value) else value

    def _here(self) -> str:
        return public_url(self._asked_url if self._response is None else str(self._response.url))

    def _followed(self, cursor: str) -> str:
        """A cursor that is an absolute URL: of the client's origin, it is the address of the next page."""
        if not self._home.has(cursor, self._here()):
            return cursor
        if self._endpoint.name not in _hinted:
            _hinted.add(self._endpoint.name)
            logger.info(
                "the cursor of %r is the URL of the next page, and is followed; write style: url in its pagination",
                self._endpoint.name,
            )
        return _Address(public_url(cursor))


class _Home:
    """Where pages of a list may be: at the one origin that the client's credentials are for, whoever answered."""

    def __init__(self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        self._core = core
        self._endpoint = endpoint
        self._args = args

    def _address(self) -> str:
        return self._core.address(self._endpoint.request_url(self._args))

    def public(self, url: str) -> str:
        """Where a URL leads, without the user that it may name."""
        return public_url(self._core.transport.absolute(url))

    def has(self, url: str, here: str) -> bool:
        """Whether a URL is of this origin; False for what only looks like one."""
        try:
            return origin_of(url) == origin_of(self._known(here))
        except ValueError:
            return False

    def checked(self, target: str, here: str = "") -> str:
        """The whole URL of a page, without a user. Raises ValueError for one of another origin, or for no URL.

        `here` is where it was told.
        """
        home = self._known(here)
        try:
            url = urljoin(here or home, target)
            is_other = origin_of(url) != origin_of(home)
        except ValueError as error:
            raise ValueError(
                f"the next page of {self._endpoint.name!r} is said to be at {public_url(target)!r:.200}, "
                f"which is no URL: {error}"
            ) from None
        if is_other:
            raise ValueError(
                f"the next page of {self._endpoint.name!r} is said to be at another origin "
                f"({origin_text(url)} instead of {origin_text(home)}); credentials do not follow there"
            )
        return public_url(url)

    def with_user(self, url: str) -> str:
        """The URL of a page with the user that the client's own address names: servers leave them out."""
        user = urlsplit(self._address()).netloc.rpartition("@")[0]
        return url.replace("//", f"//{user}@", 1) if user else url

    def _known(self, here: str) -> str:
        home = public_url(self._address())
        return home if has_scheme(home) else here


class _Run:
    """A run over the pages of a list, of either world."""

    def __init__(self, core: Any, pages: Pages) -> None:
        self._core = core
        self._pages = pages
        self._taken: Any = None
        self._begun = False
        self._ended = False
        self._turning = threading.Lock()

    def _turn(self) -> Generator[Step, Any, bool]:
        """Steps: goes to the next page. Raises RuntimeError where another task or thread is about it."""
        if not self._turning.acquire(blocking=False):
            raise RuntimeError(
                "another task or thread is waiting for the next page of this run: give each one a run of its own, or "
                "let one take the items and hand them to the others"
            )
        try:
            return (yield from self._pages.turn())
        finally:
            self._turning.release()

    @property
    def position(self) -> Any:
        """The position of the last page that was taken whole; None before the first one."""
        return self._taken

    def start_at(self, position: str | int | None, /) -> Self:
        """Goes on after the page that a former run had taken whole: its `position`.

        Raises RuntimeError after the first item, TypeError and ValueError for what is no position of this list.
        """
        if self._begun:
            raise RuntimeError("start_at() comes before the first item; begin another run to start elsewhere")
        self._pages.begin_after(position)
        self._taken = position
        return self


class _RunOfItems(_Run):
    """`take` says which item comes next."""

    def __init__(self, core: Any, pages: Pages) -> None:
        super().__init__(core, pages)
        self._left: int | None = None
        """How many items are still wanted; None: all."""
        self._items: Iterator[Any] | None = None
        """What the current page has left."""

    def limit(self, count: int, /) -> Self:
        """No more than this many items, and no page that they do not need. Raises ValueError for a negative number."""
        if kind_of(count) is not int:
            raise TypeError(f"limit() takes a whole number, not {described(count)}")
        if count < 0:
            raise ValueError(f"limit() takes a number of items, which is not negative: {count}")
        self._left = count
        return self

    def take(self) -> Generator[Step, Any, Any]:
        """Steps: the next item, or `_END`."""
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
    def take(self) -> Generator[Step, Any, Any]:
        """Steps: the next page, or `_END`."""
        self._begun = True
        if self._ended or not (yield from self._turn()):
            self._ended = True
            return _END
        self._taken = self._pages.position
        return self._pages.page()


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


class _Address(str):
    """A cursor that is the address of the next page."""

    __slots__ = ()


def _shown(value: Any) -> Any:
    """What names a page, as a position that can be kept as JSON."""
    return str(value) if kind_of(value) is _Address else to_wire(value)


_hinted: set[str] = set()
"""The endpoints that were hinted to write style: url."""


def collection_path(raw: Any) -> tuple[str, ...]:
    """Where in a result the first Collection of its schema stands: the names of the members that lead to it."""
    return _path_to(raw) or ()


def _path_to(raw: Any) -> tuple[str, ...] | None:
    schema = schema_of(raw)
    if isinstance(schema, Collection):
        return ()
    if isinstance(schema, Object):
        for name, member in schema.members.items():
            below = _path_to(member)
            if below is not None:
                return (python_name(schema, name), *below)
    return None


def python_name(schema: Schema | None, json_name: str) -> str:
    """The name under which a member of an object schema is handed out."""
    if isinstance(schema, Object):
        return next((name for name, in_json in schema.wire.items() if in_json == json_name), json_name)
    return json_name


def next_link(header: str) -> str | None:
    """The target of `rel="next"` in a Link header (RFC 8288), as it stands there."""
    for match in _LINK.finditer(header):
        if _NEXT.search(match.group(2)):
            return match.group(1)
    return None


def _parsed(endpoint: Endpoint[..., Any], in_flight: Any) -> Generator[Step, Any, tuple[Any, Any]]:
    """Steps: the HTTP response of a request in flight, and its parsed body; None for what there is not.

    The body is parsed once more, as the store may have taken over the objects of the first time.
    """
    if not isinstance(in_flight, InFlight):
        return None, None
    if in_flight.own_response is not None:
        return in_flight.own_response
    response = in_flight.answer
    if response is None or response.status_code == NOT_MODIFIED or endpoint.plan.answers_itself:
        return response, None
    parse: Callable[[Any], Any] = getattr(endpoint, "parse_response")  # noqa: B009 - of REST endpoints only
    return response, (yield HookCall(endpoint.name, "parse_response", parse, (response,)))


def _list_in(page: Any) -> Sequence[Any] | None:
    """The list that a page without a collection is, or the first one among its members; None if there is none."""
    if isinstance(page, list | tuple):
        return cast("Sequence[Any]", page)
    members = cast("Mapping[str, Any]", page).values() if isinstance(page, Mapping) else ()
    return next((cast("Sequence[Any]", value) for value in members if isinstance(value, list | tuple)), None)


def _number(value: Any, default: int) -> int:
    return default if value is None else int(value)


def _member(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def _always(text: str) -> Callable[[Any], str]:
    def url(url_params: Any) -> str:
        return text

    return url


def _unchanged(*args: Any) -> tuple[Any, ...]:
    return args


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _cell(item: Any) -> tuple[str, str] | None:
    """Where an entity is stored."""
    pk = identity_of(item)
    return None if pk is None else (cast(Any, class_record(kind_of(item))).key, pk)


def _identity(item: Any) -> Any:
    pk = identity_of(item)
    return (type(item), repr(item)) if pk is None else (type(item), pk)


def _current(store: Store, item: Any) -> Any:
    """Return the item as the view shows it now, or None if it was deleted.

    An item that the view cannot show is returned as its response brought it: it was evicted, or a record that it
    refers to was.
    """
    cell = _cell(item)
    if cell is None:
        return item
    current = store.query(type(item), (cell[1],))
    if current is not None:
        return current
    return None if store.is_deleted(cell) else item
