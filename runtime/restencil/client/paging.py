"""The items of all pages of a list, however its API tells where the next page is."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urljoin, urlsplit

from ..cache.reading import Decision
from ..schema import Collection, Object, Schema, schema_of
from ..schema.entity import Entity
from ..schema.record import identity_of, to_wire
from .in_flight import Completion

if TYPE_CHECKING:
    from ..base.steps import Step
    from ..endpoint.endpoint import Endpoint
    from .core import Core

#: pagination_field → style, where the endpoint says nothing more.
STYLE_OF_FIELD: Final = {"page": "page", "offset": "offset", "skip": "offset"}

_STYLES: Final = ("page", "offset", "cursor", "link")
_LINK: Final = re.compile(r"<([^>]*)>((?:\s*;\s*[^;,\s=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_NEXT: Final = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next(?=[\s;,]|$))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pagination:
    """How the next page is found: the endpoint option `pagination`, read.

    `style` is page, offset, cursor or link; `next`, for cursor, a dotted path in the response, `header:NAME` or
    `last.<field>`; `find` a function in place of both; `size` a search parameter that is sent along.
    """

    style: str
    next: str = ""
    find: Callable[[Any, tuple[Any, ...]], Any] | None = None
    size: tuple[str, Any] | None = None

    @property
    def needs_headers(self) -> bool:
        """The response itself is needed, not only the data that the store keeps of it."""
        return self.style == "link" or self.next.startswith("header:")


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
    if style == "cursor" and not path:
        raise TypeError(f'pagination of {endpoint.name!r} has style "cursor" but no "next" that says where it stands')
    size: Any = given.get("size")
    if size is not None and (not isinstance(size, Mapping) or "param" not in size or "value" not in size):
        raise TypeError(
            f'"size" in the pagination of {endpoint.name!r} must be {{"param": …, "value": …}}, not {size!r}'
        )
    pair = cast("Mapping[str, Any]", size)
    return Pagination(style, path, size=None if size is None else (str(pair["param"]), pair["value"]))


class Pages:
    """One call of `iterate`: `turn` goes to the next page, `items` gives what it has that was not yielded yet."""

    def __init__(self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        self._core = core
        self._pagination = pagination_of(endpoint)
        self._endpoint = endpoint
        self._field: str | None = getattr(endpoint, "pagination_field", None)
        if self._field is None and self._pagination.style != "link":
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
        self._path = collection_path(endpoint.schema)
        self._page: Any = None
        self._response: Any = None
        self._started = False
        self._count = 0
        self._last: Any = None
        self._position = params.get(self._field) if self._field is not None else None
        self._used: set[Any] = set()
        self._yielded: set[Any] = set()

    def turn(self) -> Generator[Step, Any, bool]:
        """Steps: reads the first page, or fetches the next one; False when there is none."""
        if self._inactive:
            return False
        if not self._started:
            self._started = True
            self._page = yield from self._first()
        else:
            value = self._next_value()
            if value is None or value == "" or value is False or _hashable(value) in self._used:
                return False
            self._used.add(_hashable(value))
            self._position = value
            self._page = yield from self._fetched(self._page_endpoint(value), self._page_args(value))
        items = self._page_items()
        self._count += len(items)
        if items:
            self._last = items[-1]
        return bool(items)

    def items(self) -> Iterator[Any]:
        """The items of the current page as the view has them now, each item once in all pages."""
        for item in self._page_items():
            identity = _identity(item)
            if identity in self._yielded:
                continue
            self._yielded.add(identity)
            current = self._current(item)
            if current is not None or item is None:
                yield current

    def _first(self) -> Generator[Step, Any, Any]:
        core, endpoint = self._core, self._endpoint
        if self._pagination.needs_headers:
            return (yield from self._fetched(endpoint, self._args))
        request = endpoint.request(self._args)
        reading = core.store.read(request)
        if reading.decision is Decision.GIVE:
            return reading.data
        return (yield from core.reading_through(request, reading))

    def _fetched(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Generator[Step, Any, Any]:
        if self._pagination.needs_headers:
            self._response = None
            parse: Callable[[Any], Any] = getattr(endpoint, "parse_response")  # noqa: B009 - of REST endpoints only
            endpoint = endpoint.extend(parse_response=self._noting(parse))
        page = yield Completion(self._core, self._core.start(endpoint.request(args, located=True)))
        if self._pagination.needs_headers and self._response is None:
            # The fetch was joined to one already in flight, whose response was not seen here.
            page = yield Completion(self._core, self._core.start(endpoint.request(args, located=True)))
        return page

    def _noting(self, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def noted(response: Any) -> Any:
            self._response = response
            return parse(response)

        return noted

    def _page_items(self) -> Sequence[Any]:
        found: Any = self._page
        for name in self._path:
            found = _member(found, name)
        if isinstance(found, Mapping):
            return list(cast("Mapping[str, Any]", found).values())
        return cast("Sequence[Any]", found) if isinstance(found, list | tuple) else ()

    def _page_endpoint(self, value: Any) -> Endpoint[..., Any]:
        if self._pagination.style != "link":
            endpoint: Endpoint[..., Any] = getattr(self._endpoint, "get_page")  # noqa: B009 - of lists only
            return endpoint
        paginated: Callable[..., Endpoint[..., Any]] = getattr(self._endpoint, "paginated")  # noqa: B009
        return paginated(_unchanged).extend(url=_always(value))

    def _page_args(self, value: Any) -> tuple[Any, ...]:
        if self._pagination.style == "link":
            return self._args
        return ({**self._params, str(self._field): value}, *self._args[1:])

    def _next_value(self) -> Any:
        pagination = self._pagination
        if pagination.find is not None:
            return pagination.find(self._page, self._args)
        if pagination.style == "page":
            return _number(self._position, 1) + 1
        if pagination.style == "offset":
            return _number(self._params.get(str(self._field)), 0) + self._count
        if pagination.style == "link":
            return self._linked()
        kind, _, rest = pagination.next.partition(":")
        if kind == "header":
            return None if self._response is None else self._response.headers.get(rest)
        if pagination.next.startswith("last."):
            return to_wire(_member(self._last, pagination.next.removeprefix("last.")))
        found, schema = self._page, schema_of(self._endpoint.schema)
        for name in pagination.next.split("."):
            members: Mapping[str, Any] = schema.members if isinstance(schema, Object) else {}
            found = _member(found, python_name(schema, name))
            schema = members.get(name)
        return found

    def _linked(self) -> str | None:
        if self._response is None:
            return None
        here = str(self._response.url)
        target = next_link(self._response.headers.get("link", ""))
        if target is None:
            return None
        url = urljoin(here, target)
        if urlsplit(url)[:2] != urlsplit(here)[:2]:
            raise ValueError(
                f"the next page of {self._endpoint.name!r} is said to be at another origin "
                f"({urlsplit(url).netloc} instead of {urlsplit(here).netloc}); credentials do not follow there"
            )
        return url

    def _current(self, item: Any) -> Any:
        """The item as the view has it now; None once it is deleted, the item itself where the store let go of it."""
        pk = identity_of(item) if isinstance(item, Entity) else None
        if pk is None:
            return item
        store = self._core.store
        cls = cast("type[Entity]", type(item))
        current = store.query(cls, (pk,))
        if current is None and store.entity_meta(cls.__model__.key, pk) is None:
            return item
        return current


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


def _identity(item: Any) -> Any:
    pk = identity_of(item) if isinstance(item, Entity) else None
    return (type(item), repr(item)) if pk is None else (type(item), pk)
