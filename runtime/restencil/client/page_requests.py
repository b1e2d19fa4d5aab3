"""Requests for the pages of one list, and access to their responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from ..base.steps import Outcome
from ..base.transport import has_scheme, origin_of, origin_text, public_url
from ..cache.policy import Decision
from ..endpoint.call import NOT_MODIFIED
from ..endpoint.envelopes import at_path
from ..endpoint.lists import page_params, with_page_params
from ..endpoint.page_styles import PageUrl, Pagination
from ..schema import Object, Schema, find_collection, schema_of
from ..schema.collection import identity_text
from ..schema.protocol import is_plain, schemas_in
from .in_flight import InFlight

if TYPE_CHECKING:
    from ..base.steps import StepsOf
    from ..cache.request import Request
    from ..endpoint.endpoint import Endpoint
    from .core import Core


class PageLayout:
    """The position of the list and of the pagination members in the responses of a list endpoint."""

    def __init__(self, endpoint: Endpoint[..., Any]) -> None:
        self.schema = schema_of(endpoint.schema)
        self.envelope = endpoint.unwrap
        collection = find_collection(endpoint.schema)
        self.is_plain = collection is None
        """Whether the items are in no Collection, so that each page is a separate result and equal items may repeat."""
        item = _plain_item(self.schema) if collection is None else collection.item
        self.tables = frozenset[str]() if item is None else {one.table_key for one in item.entities.values()}
        """The tables of the entities that items may be."""
        self._path = _path_to(self.schema) or ()

    def items(self, value: Any, *, in_json: bool = False) -> Sequence[Any] | None:
        """Return the items in the value of a page, or with `in_json` in its body; None without a list."""
        if self.is_plain:
            return _list_in(value)
        found, schema = value, self.schema
        for json_name in self._path:
            found = member_of(found, json_name if in_json else _python_name(schema, json_name))
            schema = _member_schema(schema, json_name)
        if isinstance(found, Mapping):
            return list(cast("Mapping[str, Any]", found).values())
        return cast("Sequence[Any]", found) if isinstance(found, list | tuple) else None

    def at(self, path: str, value: object) -> Any:
        """Return the member at a path of JSON names in the value of a page."""
        schema = self.schema
        for json_name in path.split("."):
            value = member_of(value, _python_name(schema, json_name))
            schema = _member_schema(schema, json_name)
        return value


class FetchedPage:
    """A page: the value of its fetch, and the HTTP response, if any; `url` is the URL of the request."""

    def __init__(
        self,
        layout: PageLayout,
        value: Any,
        *,
        in_flight: Any = None,
        response: Any = None,
        body: Any = None,
        url: str = "",
    ) -> None:
        self._layout = layout
        self.value = value
        self.in_flight = in_flight
        self.response = response
        self._body = body
        self.requested_url = url

    @property
    def items(self) -> Sequence[Any]:
        """Its items, in the form that users receive."""
        return self._layout.items(self.value) or ()

    @property
    def sent_items(self) -> Sequence[object] | None:
        """Its items in the JSON of the response; None if that is unknown."""
        layout = self._layout
        body = self._body if layout.envelope is None else at_path(self._body, layout.envelope)
        found = layout.items(body, in_json=True)
        return list(self.items) if found is None and layout.is_plain else found

    def at(self, path: str) -> Any:
        """Return the member at a path of JSON names in the response, including the envelope of the list."""
        layout = self._layout
        return layout.at(path, self.value) if layout.envelope is None else at_path(self._body, path)

    def header(self, name: str) -> str | None:
        """Return a header of its response; None without a response."""
        return None if self.response is None else self.response.headers.get(name)

    @property
    def url(self) -> str:
        """The URL of its response, after redirects, else of its request."""
        return public_url(self.requested_url if self.response is None else str(self.response.url))


class PageRequests:
    """Sends the requests for the pages of one list."""

    def __init__(self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...], pagination: Pagination) -> None:
        self._core = core
        self._endpoint = endpoint
        self._args = args
        self._page_endpoint: Any = None
        """The endpoint that requests pages by their URL, created for the first of them."""
        self.layout = layout = PageLayout(endpoint)
        self.needs_response = pagination.needs_response or layout.envelope is not None
        """Whether the position of the next page is only in the response, so that the first page is always requested."""
        self.urls = PageUrls(core, endpoint, args)

    def list_cell(self) -> tuple[str, str] | None:
        """Return the key of the table and the primary key of the stored list; None without a Collection."""
        collection = find_collection(self._endpoint.schema)
        if collection is None:
            return None
        return collection.table_key, identity_text(collection.args_key(*self._args))

    def stored(self) -> StepsOf[FetchedPage | None]:
        """Steps: return the stored list, if it is fresh and has the items of its last response, else None."""
        store = self._core.store
        reading = yield from store.looking(self._endpoint.request(self._args), store.read)
        if reading.decision is not Decision.GIVE:
            return None
        page = FetchedPage(self.layout, reading.data)
        if self.layout.is_plain and is_plain(self.layout.schema):
            return page  # only its own responses change it
        cell = self.list_cell()
        length = None if cell is None else store.length_in_response(cell)
        return page if len(page.items) == length else None

    def fetch(self, value: object = None) -> StepsOf[FetchedPage]:
        """Steps: request the page with this value of `pagination_field`, or at this URL; None: the list itself.

        It joins an equal request in flight, and uses its response.
        """
        request = self._request(value)
        url = self._core.locate(request.url)
        page, in_flight = yield from self._sent_or_joined(request)
        if self.needs_response and not _has_body(in_flight):
            # It was settled without headers and body, by a 304 or by another process.
            page, in_flight = yield from self._sent_or_joined(self._request(value))
        response, body = yield from _parsed(cast("Endpoint[..., Any]", request.endpoint), in_flight)
        return FetchedPage(self.layout, page, in_flight=in_flight, response=response, body=body, url=url)

    def _request(self, value: object) -> Request:
        """Return the request of a page, which extends the Collection, or requests the list endpoint without one."""
        endpoint: Any = self._endpoint
        if value is None:
            return self._located(endpoint, self._args)
        if not isinstance(value, PageUrl):
            page = endpoint if self.layout.is_plain else endpoint.get_page
            params = {**page_params(endpoint, self._args), endpoint.pagination_field: value}
            return self._located(page, with_page_params(endpoint, self._args, params))
        if self._page_endpoint is None:
            self._page_endpoint = endpoint if self.layout.is_plain else endpoint.paginated(_unchanged)
        request: Request = self._page_endpoint.request_at(self._args, self.urls.with_user(value))
        return request

    @staticmethod
    def _located(endpoint: Any, args: tuple[Any, ...]) -> Request:
        request: Request = endpoint.request(args, located=True)
        return request

    def _sent_or_joined(self, request: Request) -> StepsOf[tuple[Any, Any]]:
        request.needs_body = self.needs_response
        yield from self._core.store.opening()
        in_flight = self._core.start(request)
        return (yield Outcome("the fetch", self._core.complete(in_flight))), in_flight


class PageUrls:
    """Checks URLs of pages: they must have the origin of the client, because requests contain its credentials."""

    def __init__(self, core: Core, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> None:
        self._core = core
        self._endpoint = endpoint
        self._args = args

    def public(self, url: str) -> str:
        """Return a URL as an absolute URL without user information."""
        return public_url(self._core.transport.absolute(url))

    def has(self, url: str, base: str) -> bool:
        """Whether a URL has the origin of the client; False for an invalid URL."""
        try:
            return origin_of(url) == origin_of(self._origin(base))
        except ValueError:
            return False

    def checked(self, target: str, base: str = "") -> PageUrl:
        """Return the absolute URL of a page, without user information. Raises ValueError for another origin.

        `base` is the URL of the response with the link. Raises ValueError for an invalid URL too.
        """
        home = self._origin(base)
        try:
            url = urljoin(base or home, target)
            is_other = origin_of(url) != origin_of(home)
        except ValueError as error:
            raise ValueError(
                f"the response of {self._endpoint.name!r} has an invalid URL for the next page, "
                f"{public_url(target)!r:.200}: {error}"
            ) from None
        if is_other:
            raise ValueError(
                f"the response of {self._endpoint.name!r} has a next page at another origin ({origin_text(url)} "
                f"instead of {origin_text(home)}), to which credentials are not sent"
            )
        return PageUrl(public_url(url))

    def with_user(self, url: str) -> str:
        """Return the URL of a page with the user information of the client's own URL, which servers omit."""
        user = urlsplit(self._address()).netloc.rpartition("@")[0]
        return url.replace("//", f"//{user}@", 1) if user else url

    def _address(self) -> str:
        return self._core.address(self._endpoint.request_url(self._args))

    def _origin(self, base: str) -> str:
        home = public_url(self._address())
        return home if has_scheme(home) else base


def _has_body(in_flight: object) -> bool:
    """Whether a settled request has a response with a body; True if that is unknown."""
    if not isinstance(in_flight, InFlight) or in_flight.endpoint.plan.own_fetch:
        return True  # another request would have the same outcome
    response = in_flight.response
    return in_flight.parsed is not None or (response is not None and response.status_code != NOT_MODIFIED)


def _parsed(endpoint: Endpoint[..., Any], in_flight: object) -> StepsOf[tuple[Any, Any]]:
    """Steps: return the HTTP response of a settled request, and its parsed body; None for missing ones.

    The body is parsed again, because the store may keep the objects of the first parse.
    """
    if not isinstance(in_flight, InFlight):
        return None, None
    if in_flight.parsed is not None:
        return in_flight.parsed
    response = in_flight.response
    if response is None or response.status_code == NOT_MODIFIED or endpoint.plan.answers_itself:
        return response, None
    parse: Callable[[Any], Any] = getattr(endpoint, "parse_response")  # noqa: B009 - of REST endpoints only
    return response, (yield Outcome(f"parse_response of endpoint {endpoint.name!r}", parse(response)))


def _path_to(raw: object) -> tuple[str, ...] | None:
    """Return the path of JSON names to the first Collection in a schema; None without one."""
    schema = schema_of(raw)
    if schema is None or schema.is_collection:
        return None if schema is None else ()
    for json_name, member in schema.members.items():
        inner = _path_to(member)
        if inner is not None:
            return (json_name, *inner)
    return None


def _plain_item(schema: Schema | None) -> Schema | None:
    """Return the schema of the items of the first list in a schema; None without one."""
    return next((one.plain_items for one in schemas_in(schema) if one.plain_items is not None), None)


def _python_name(schema: Schema | None, json_name: str) -> str:
    """Return the Python name of a member of an object schema."""
    if isinstance(schema, Object):
        return next((name for name, in_json in schema.wire.items() if in_json == json_name), json_name)
    return json_name


def _member_schema(schema: Schema | None, json_name: str) -> Schema | None:
    return None if schema is None else schema.members.get(json_name)


def _list_in(value: object) -> Sequence[object] | None:
    """Return the list in a page without a Collection: the value itself, or its first member that is a list."""
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    members = cast("Mapping[str, Any]", value).values() if isinstance(value, Mapping) else ()
    return next((cast("Sequence[Any]", one) for one in members if isinstance(one, list | tuple)), None)


def member_of(value: object, name: str) -> object:
    """Return the member of a mapping or record with this name, or None."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def _unchanged(*args: object) -> tuple[object, ...]:
    return args
