"""HTTP endpoints, which build a request from a path template and arguments, and parse its response to a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NotRequired, TypedDict, cast, overload

from ..base.bodies import Form, Multipart
from ..base.calls import CROSS_ORIGIN_BODY, USE, WITHOUT, HeaderParam
from ..base.errors import SERVER_ERROR
from ..base.response import ERROR_TYPES
from ..base.steps import Outcome, Steps, current_transport, drive, drive_async, is_awaitable
from ..base.transport import BlockingTransport, ImpliedHeader
from ..base.values import described, is_items, is_mapping, kind_of
from ..cache.request import CONTENT
from ..schema.collection import Collection, with_collections
from .bodies import (
    body_digest,
    body_to_wire,
    check_no_null,
    check_shape,
    is_json_body,
    is_wire_form,
    json_text,
    model_of,
    refuse_nesting,
)
from .call import (
    JSON_TYPE,
    current_options,
    has_schema,
    lifecycle,
    on_the_wire,
    parsed,
    parsed_later,
    returned_headers,
    transport_for,
    transport_of_call,
    with_headers,
)
from .call_options import overlaid
from .endpoint import Endpoint, text_from
from .error_types import ErrorTypes
from .lists import changer, keyed_body, paged, pager, searched_schema
from .options import (
    ANY,
    BODILESS,
    HttpOptions,
    Plan,
    check_options,
    check_request,
    http_side_effect_of,
    is_in_body,
    method_of,
    overridden,
)
from .path import PathTemplate, kinds_of, path_template, search_string
from .payloads import PAYLOADS
from .styles import styled_form, styled_string
from .typing import P2, R2, Assigns, Has, P, PageP, PageR, PushP, PushR, R, UnshiftP, UnshiftR

if TYPE_CHECKING:
    from typing import Self

    from .bound import AsyncBoundList, BoundList
    from .typing import Awaiting, Binder, Blocking


class RestGenerics(TypedDict):
    """The options that determine the type parameters of an endpoint; for type checkers only."""

    path: str
    schema: NotRequired[Any]
    method: NotRequired[str]
    body: NotRequired[Any]
    search_params: NotRequired[Any]
    process: NotRequired[Callable[..., Any]]


def always_soft(error: BaseException) -> str | None:
    """Return "soft": the error policy that keeps stale data in use after every error."""
    return "soft"


_NO_PARAMS: Final[dict[str, Any]] = {}


def soft_on_server_error(error: BaseException) -> str | None:
    """Return "soft" for a status of 500 or more: the error policy that keeps stale data in use after server errors."""
    status = getattr(error, "status", None)
    return "soft" if isinstance(status, int) and status >= SERVER_ERROR else None


class RestEndpoint(Endpoint[P, R], HttpOptions):
    """One HTTP operation: `RestEndpoint(path="/articles/:id", method="GET", schema=Article, **options)`

    | option | meaning |
    |---|---|
    | `path`, `url_prefix` | template of the path, and its prefix, joined by one slash |
    | `method` | `GET` by default, `POST` with `side_effect=True` |
    | `schema` | the location of entities in the response; None: no schema |
    | `body` | `None` disables the body; a record class or `schema.Object` names and converts its members |
    | `body_format` | encoding of the body: `json`, `form`, `multipart`, `bytes`, `text`; by default from its type |
    | `request_init` | `headers`, `credentials`, `timeout` (ms), `redirect`; others are passed to `fetch_response` |
    | `content` | `json`, `text`, `bytes` or `stream`, which override the content type of the response |
    | `timeout` | milliseconds for a whole attempt; with your own client it is checked as the response body arrives |
    | `signal` | an `AbortController().signal` |
    | `follow_see_other` | after a mutation, a response of 303 is followed by a GET; its other redirects are errors |
    | `redirects` | `{"cross_origin_body": True}`: a redirect to another origin sends the body of the request again |
    | `client` | a Client or AsyncClient of httpx or httpx2 for direct calls |
    | `strict` | for real servers: `strict_shape`, `strict_keywords`, `empty="none"` of mutations; see `Resource` |
    | `strict_keywords` | a keyword that is missing in the signature is an error |
    | `strict_shape` | an object instead of a list, or a list instead of an object, is an error |
    | `validate` | responses that do not fit the declared types: `strict` (an error), `warn` (logged), `off` |
    | `replace` | the response replaces the record instead of being merged into it |
    | `conditional` | False: no conditional requests (If-None-Match, If-Modified-Since), even if there are validators |
    | `freshness` | `client`, or `server` (lifetime from the response): `{"server": {"at_least": "5s"}}` |
    | `concurrency` | `etag`: mutations send If-Match of the last read; `{"etag": "required"}`, `{"field": NAME}` |
    | `empty` | value of a mutation whose response has no content: `error`, `none`, or `merge` (the request body) |
    | `content_type` | content type of a JSON, text or bytes body: `application/merge-patch+json` |
    | `form_styles` | styles of lists and objects in a form; by default `repeat` and `brackets` |
    | `wrap` | member that contains the body, with dots for nesting: `wrap="article"` sends `{"article": {…}}` |
    | `send_body` | the body is sent with every method: also with GET, DELETE, HEAD and OPTIONS |
    | `body_in_key` | for reads: the body is part of the key, and of the identity of lists in the response |
    | `unwrap` | path of the value in the response: names, and numbers for items of lists, with dots |
    | `ignore` | every response is treated as one without content |
    | `expires` | what a mutation makes stale in addition: `self`, members, `resource.member`, resources of the client |
    | `errors` | types of the bodies of error responses: `{404: Missing, "4XX": Problem, "default": Problem}` |
    | `error_classes` | module with the package's own error classes, which have the names of those of `restencil` |
    | `path_params` | kinds of path parameters: `{"ids": "list", "path": "slashes", "name": "metadata.name"}` |
    | `header_params` | keywords that are sent as headers: `{"scope": HeaderParam("X-Scope")}` |
    | `without` | headers and query parameters of the client that are not sent |
    | `search_styles` | styles of lists and objects in the query string: `{"tags": "repeat", "filter": "deep"}` |
    | `search_types` | record classes or `schema.Object` with the JSON names of members of objects in the query string |
    | `formats` | formats of datetimes in the URL: `{"since": "unix"}`, `"unix_ms"` or `"rfc2822"` |
    | `auth` | alternatives of authentication schemes: `(("token",), ("key", "app"))`; `((),)` for none |
    | `wire` | names of keywords in the URL, if they differ: `{"order_by": "orderBy"}` |

    The methods below may be overridden in a subclass or given as options; `get_request_init`, `get_headers`,
    `fetch_response`, `parse_response`, `process` and `fetch` may be coroutine functions, for the asynchronous client.

    Raises PathTemplateError for an invalid template, and ValueError for options that contradict each other.
    """

    _template: PathTemplate
    _placed: frozenset[str]
    """Parameters that are not part of the query string."""
    _has_body: bool
    _model: Any

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    # -- construction -------------------------------------------------------------------------------------------------

    def _configure(self, options: dict[str, Any], given: Mapping[str, object], base: Endpoint[..., Any] | None) -> None:
        members = self.__dict__
        kind = type(self)
        path = options["path"] if options.get("path") is not None else getattr(kind, "path", None)
        if path is None:
            raise TypeError(f"{kind.__name__} needs a path, such as path='/articles/:id'")
        check_request(path, options)
        members["_template"] = path_template(
            path, kinds_of(options.get("path_params", getattr(kind, "path_params", None)))
        )
        members["_model"] = ANY
        super()._configure({**options, "path": path, **_own_siblings(self, path, options, given, base)}, given, base)
        if self._keywords is not None:
            members["_keywords"] = self._keywords | self._template.names
        for name in ("url_prefix", "request_init"):
            if options.get(name) is None:
                members.pop(name, None)
                if not hasattr(kind, name):
                    members[name] = "" if name == "url_prefix" else {}
        members["method"] = method_of(kind, given, getattr(base, "method", None))
        members["side_effect"] = http_side_effect_of(kind, given, None if base is None else base.side_effect)
        members["page_member"] = None if self.side_effect or not is_in_body(self.pagination) else self.pagination_field
        if self.strict:
            if self.strict_shape is None:
                members["strict_shape"] = True
            if self.empty is None and self.side_effect:
                members["empty"] = "none"
        members["_placed"] = self._template.names.union(self.header_params or ())
        members["_has_body"] = self.body is not None and (
            bool(self.send_body) or (self.method not in ("GET", "DELETE") and self.method not in BODILESS)
        )
        members["filed_as"] = "" if self.content in (None, "json") or self.side_effect else CONTENT + str(self.content)
        own = overridden(kind, RestEndpoint, options)
        if self.body_in_key:
            own |= {"key"}
        self._separate_lists()
        check_options(self, http=True)
        members["plan"] = Plan(
            own if self.remove_cursor is None and self.header_params is None else own | {"key"},
            streams=self.content == "stream",
            converts=self.empty == "merge" or self.unwrap is not None or bool(self.ignore),
            template=self._template,
            sent=_always_sent(self),
            keywords_are_params=not (self._binds_more or self._defaults or self.wire or self._has_body),
        )
        if self.content not in (None, "json") and has_schema(self.schema):
            raise ValueError(
                f"endpoint {self.label} has a schema and content={self.content!r}, but a schema needs JSON; "
                "set schema=None or remove content"
            )
        payload = options.get("optimistic_payload") if options.get("optimistic") and self.side_effect else None
        if payload is not None and "get_optimistic_response" not in options:
            members["get_optimistic_response"] = partial(PAYLOADS[payload], self)

    def _separate_lists(self) -> None:
        """Separate the lists of different searches from each other, and lists in pages from whole ones."""
        members = self.__dict__
        if self.body_in_key:
            members["schema"] = searched_schema(self.schema, self.name, self.page_member)
        if self.strict and (self.pagination is not None or self.pagination_field is not None):
            members["schema"] = with_collections(self.schema, Collection.in_pages)

    def _own_name(self, options: Mapping[str, Any]) -> str:
        prefix = options.get("url_prefix")
        prefix = str(getattr(type(self), "url_prefix", "") if prefix is None else prefix)
        return self._template.place(prefix) + self._template.template

    @property
    def label(self) -> str:
        """Method and path, for messages; without `url_prefix`, which may contain a secret."""
        return f"{self.method} {self.path!r}"

    # -- arguments ----------------------------------------------------------------------------------------------------

    @property
    def path_names(self) -> frozenset[str]:
        """The names of the path parameters; other parameters of a call are sent in the query string."""
        return self._template.names

    @property
    def has_body(self) -> bool:
        """Whether requests have a body: not with `body=None`, nor with GET, DELETE, HEAD or OPTIONS unless `send_body`.

        May be overridden.
        """
        return self._has_body

    def _bound_body(self, args: tuple[Any, ...]) -> tuple[object, ...]:
        body = args[-1]
        try:
            return args if body is None else self._wired_body(args, body)
        except RecursionError:
            refuse_nesting(f"the body of endpoint {self.name!r}", body)
            raise

    def _wired_body(self, args: tuple[Any, ...], body: object) -> tuple[object, ...]:
        if self._model is ANY:
            self.__dict__["_model"] = model_of(self.body, self.schema)
        if self.strict:
            check_shape(body, self._model, is_list=is_items(self.body), owner=self.name)
        if type(body) is not dict and is_wire_form(body):
            return args
        wired = body_to_wire(body, self._model, self.body_format, self.name if self.strict else "")
        return args if wired is body else (*args[:-1], wired)

    # -- URL and key --------------------------------------------------------------------------------------------------

    def url(self, /, *args: Any, **keywords: Any) -> str:
        """Return the URL: `url_prefix`, the filled template, and the other parameters as query string.

        Raises MissingParameterError, TypeError for a parameter without a string form or parameters that are not a
        mapping, and ValueError for a value that would change the route.
        """
        # The one argument is the dict of parameters; `*args` lets overrides choose its name.
        url_params: Any = args[0] if args else None
        if keywords or (url_params is None and self._defaults):
            url_params = self.bind_args(args if url_params is not None else (), keywords)[0]
        params = cast("dict[str, Any]", {} if url_params is None else url_params)
        if type(params) is not dict and not is_mapping(params):
            raise TypeError(
                f"the parameters of endpoint {self.name!r} are {described(url_params)}; pass them as keywords or as "
                "one dict"
            )
        template = self._template
        prefix = self._template.place(self.url_prefix)
        url = prefix + (template.filler or template.fill)(params, prefix.rpartition("/")[2] if template.leads else "")
        names = self._placed
        if len(params) != template.exact and not names.issuperset(params):
            search = {name: value for name, value in params.items() if name not in names}
            if not all(map(_is_text, search)):
                raise TypeError(
                    f"the parameters of endpoint {self.name!r} have the names {[*search]!r:.80}; expected strings"
                )
            try:
                text = text_from(self, "search_to_string", self.search_to_string(search))
            except RecursionError:
                refuse_nesting(f"the query of endpoint {self.name!r}", search)
                raise
            if text:
                url += ("&" if template.has_query else "?") + text
        return url

    def search_to_string(self, search_params: Mapping[str, object]) -> str:
        """Encode parameters as a query string: form encoding, sorted by name, without those that are None.

        The option `search_styles` determines the form of lists and objects.
        """
        styles = self.search_styles
        return search_string(search_params) if styles is None else styled_string(search_params, styles)

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the key of a call: method, space and URL; with `body_in_key` also a space, `body=` and a digest."""
        bound: tuple[Any, ...] = args
        if kwargs or (not args and self._defaults):
            bound = self.bind_args(args, kwargs)
        given: Any = bound[0] if bound else _NO_PARAMS
        template = self.plan.template
        if (
            template is not None
            and kind_of(given) is dict
            and len(given) == template.exact
            and template.filler is not None
            and (not self._has_body or (len(bound) > 1 and not self.body_in_key))
        ):
            # The same result as `url`, faster: every parameter is in the template, and nothing is overridden.
            # Measured by the benchmark "cached read of one entity".
            prefix = self.url_prefix
            if prefix[-1:] == "/":
                prefix = template.place(prefix)
            return f"{self.method} {prefix}{template.filler(given, '')}"
        key = f"{self.method} {self.url({} if not given or (len(bound) == 1 and self.has_body) else given)}"
        if self.body_in_key and self.has_body and bound and bound[-1] is not None:
            body = keyed_body(bound[-1], self.page_member)
            if body is not None:
                key += f" body={body_digest(body, self.name)}"
        return key

    def test_key(self, key: str) -> bool:
        """Return whether the key belongs to this endpoint, for any arguments."""
        start = f"{self.method} {self._template.place(self.url_prefix)}"
        if not key.startswith(start):
            return False
        rest = key[len(start) :].partition(" ")[0]
        return self._template.matches(rest if self._template.has_query else rest.partition("?")[0])

    def request_url(self, args: tuple[Any, ...]) -> str:
        """Return the URL of a call with these bound arguments.

        Raises the errors of `url`, and ValueError if a required parameter that is a whole segment of the path is `""`.
        """
        params: Any = (args[0] if args and (len(args) != 1 or not self.has_body) else None) or {}
        options = self.view_options
        if options is not None and options.quiet and is_mapping(params):
            params = {**options.quiet, **params}
        if self.first_page is not None and not self.side_effect and is_mapping(params):
            params = {str(self.pagination_field): self.first_page, **params}
        template = self.plan.template
        if template is not None and template.filler is not None and type(params) is dict:
            given = cast("dict[str, Any]", params)
            if len(given) == template.exact:
                # As in `key`: the same result as `url`, faster; measured by the benchmark "direct call".
                if template.whole:
                    template.refuse_empty(given)
                prefix = self.url_prefix
                return (template.place(prefix) if prefix[-1:] == "/" else prefix) + template.filler(given, "")
        if self._template.whole and is_mapping(params):
            self._template.refuse_empty(params)
        return self.url(params)

    def address(self, args: tuple[Any, ...]) -> tuple[str, str]:
        """Return the identity of the request with these bound arguments: its `key` and `request_url`."""
        url = self.request_url(args)
        options = self.view_options
        is_address = self.plan.key_is_address and self.first_page is None and (options is None or not options.quiet)
        return (f"{self.method} {url}", url) if is_address else super().address(args)

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def steps(self, args: tuple[object, ...]) -> Steps:
        """Return the steps of a call with these bound arguments, for `drive` and `drive_async`.

        These are prepare, send, parse and process, or an overridden `fetch` instead.
        """
        return super().steps(args) if self.plan.own_fetch else lifecycle(self, args)

    def fetch(self, *args: object) -> Any:
        """Run the request lifecycle within the current call; an override may call it."""
        transport = transport_of_call(self.name, "fetch")
        if isinstance(transport, BlockingTransport):
            return drive(lifecycle(self, args), transport)
        return drive_async(lifecycle(self, args), transport)

    def get_request_init(self, body: object = None) -> Any:
        """Return the request: `request_init` with `method`, `signal` and `body` over it, and the headers.

        A JSON body is encoded as a string. Raises TypeError for a body that has no JSON form, and ValueError for None
        in a form.
        """
        options = current_options(self)
        request_init = self.request_init
        init: dict[str, Any] = {**request_init, "method": self.method, "signal": self.signal, "body": None}
        as_json = True
        is_empty_text = type(body) is str and not body and self.body_format != "json"
        if body is not None and not is_empty_text:
            as_json = is_json_body(body, self.body_format)
            if as_json and self.wrap is not None:
                from .envelopes import enclosed

                body = enclosed(body, self.wrap)
            elif isinstance(body, Form | Multipart):
                check_no_null(body, self.form_styles, self.name)
                if isinstance(body, Form):
                    body = Form(styled_form(body, self.form_styles))
            init["body"] = json_text(body, self.name) if as_json else body
        own = request_init.get("headers")
        if options is not None and options.headers:
            own = overlaid(own, options.headers)
        headers: dict[str, str] = {"Content-Type": JSON_TYPE} if as_json else {}
        if self.content_type is not None and not isinstance(body, Form | Multipart):
            headers = {"Content-Type": ImpliedHeader(self.content_type)}
        if own:
            own = dict(own)
            if any(str(name).lower() == "content-type" for name in own):
                headers.clear()
            headers.update(own)
        sent = self.get_headers(headers)
        if type(sent) is not dict and is_awaitable(sent):
            transport = current_transport()
            if not isinstance(transport, BlockingTransport):
                return with_headers(self, init, sent)
            Outcome(f"get_headers of endpoint {self.name!r}", sent).take(transport)
        init["headers"] = returned_headers(self, sent)
        return init

    def get_headers(self, headers: dict[str, str]) -> Any:
        """Return the headers to send, given those of the request so far; by default the same."""
        return headers

    def fetch_response(self, url: str, init: Mapping[str, object]) -> Any:
        """Send the request and return the response.

        Raises NetworkError for a final status outside 200–299 and for failed connections, AbortError if the signal is
        aborted, and ValueError for a relative URL without a base URL.
        """
        transport: Any = transport_of_call(self.name, "fetch_response")
        options, timeout, sent = current_options(self), self.timeout, on_the_wire(self, init)
        if options is not None and options.timeout is not None:
            timeout, sent = options.timeout, {name: value for name, value in sent.items() if name != "timeout"}
        return transport.send(url, sent, timeout=timeout, stream=self.content == "stream")

    def parse_response(self, response: Any) -> Any:
        """Parse a response to JSON, text, bytes or None, depending on status, content type and options.

        Returns an awaitable if the body must be awaited. Raises ParseError (400) for malformed JSON, and
        UnexpectedContentError (404) for text or binary content if the endpoint has a schema.
        """
        if response.status_code == 204 or self.method in BODILESS or self.ignore:
            return None
        if self.content == "stream":
            return (current_transport() or transport_for(None)).streamed(response)
        try:
            content = response.content
        except RuntimeError as error:
            content = (current_transport() or transport_for(None)).read(response, error)
            if not isinstance(content, bytes):
                return parsed_later(self, response, content)
        return parsed(self, response, content)

    def process(self, value: object, *args: object) -> Any:
        """Return the result of a call, given the parsed value and the bound arguments; by default the value."""
        return value

    # -- collections --------------------------------------------------------------------------------------------------

    @property
    def push(self) -> RestEndpoint[..., Any]:
        """POST that adds the created entity at the end of the collection. Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", changer(self, "push", self._derived))

    @property
    def unshift(self) -> RestEndpoint[..., Any]:
        """POST that adds the created entity at the start of the collection. Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", changer(self, "unshift", self._derived))

    @property
    def assign(self) -> RestEndpoint[..., Any]:
        """POST that adds entries to a collection of values. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "assign", self._derived))

    @property
    def remove(self) -> RestEndpoint[..., Any]:
        """PATCH that removes the entity from the collection. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "remove", self._derived))

    @property
    def move(self) -> RestEndpoint[..., Any]:
        """PATCH that moves the entity between collections. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "move", self._derived))

    @property
    def get_page(self) -> RestEndpoint[..., Any]:
        """Endpoint that fetches another page, chosen by `pagination_field`, and appends it to the list.

        With `pagination={"remove_cursor": function}` it is `paginated(function)`. Raises AttributeError without both
        options, and ValueError without a collection.
        """
        return cast("RestEndpoint[..., Any]", pager(self, self._derived))

    def paginated(self, cursor: str | Callable[..., object]) -> RestEndpoint[..., Any]:
        """Return an endpoint whose responses are pages, which are appended to this endpoint's collection.

        `cursor` is the query parameter that identifies a page, or a function that converts the arguments of a page to
        the sequence of arguments of its list. Pages are stored under the key of the list. Raises ValueError without a
        collection.
        """
        return cast("RestEndpoint[..., Any]", paged(self, cursor))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.method} {self.path}>"


def _own_siblings(
    endpoint: RestEndpoint[..., Any], path: str, options: Mapping[str, Any], given: Mapping[str, object], base: object
) -> dict[str, Any]:
    """Return the option `siblings` of an endpoint at another path than the member of a resource that it extends."""
    siblings = options.get("siblings")
    if siblings is None or "siblings" in given or path == getattr(base, "path", path):
        return {}
    return {"siblings": siblings.moved(endpoint)}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_READS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_SEE_OTHER: Final = 303
_REWRITING: Final = (301, 302, _SEE_OTHER)
"""Statuses of redirects that change other methods to GET."""


def _always_sent(endpoint: RestEndpoint[..., Any]) -> dict[str, Any]:
    """Return what a transport gets with each request of an endpoint besides the members of `get_request_init`.

    It says which redirects may change the method to GET: none for a mutation, except 303 with `follow_see_other`.
    """
    sent: dict[str, Any] = {}
    without = _without(endpoint.without, endpoint.header_params)
    if without:
        sent[WITHOUT] = without
    if endpoint.errors is not None or endpoint.error_classes is not None:
        sent[ERROR_TYPES] = ErrorTypes(endpoint.errors, endpoint.error_classes)
    if endpoint.auth is not None:
        sent[USE] = endpoint.auth
    if endpoint.method not in _READS and not endpoint.side_effect:
        sent["follow_as_get"] = _REWRITING
    elif endpoint.follow_see_other:
        sent["follow_as_get"] = (_SEE_OTHER,)
    if endpoint.redirects is not None and endpoint.redirects["cross_origin_body"]:
        sent[CROSS_ORIGIN_BODY] = True
    return sent


def _without(given: Sequence[str] | None, params: object) -> frozenset[str]:
    """Return the names of client headers and query parameters that are not sent, or replaced by `header_params`."""
    names = {name for written in given or () for name in (written, written.lower())}
    known = list(params.values()) if is_mapping(params) else []  # `check_options` rejects anything else
    return frozenset(names.union(param.name.lower() for param in known if isinstance(param, HeaderParam)))


class ListEndpoint(RestEndpoint[P, R], Generic[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    """A `RestEndpoint` whose schema contains a Collection, with types of `push` (or `assign`), `get_page`, `unshift`.

    At run time it is a `RestEndpoint`, whose schema and options determine which of these members exist.
    """

    if TYPE_CHECKING:

        @property
        def push(self: ListEndpoint[Any, Any, P2, Has[R2], Any, Any]) -> RestEndpoint[P2, R2]: ...
        @property
        def unshift(self: ListEndpoint[Any, Any, Any, Any, Any, Any, P2, Has[R2]]) -> RestEndpoint[P2, R2]: ...
        @property
        def assign(self: ListEndpoint[Any, Any, P2, Assigns[R2], Any, Any]) -> RestEndpoint[P2, R2]: ...
        @property
        def get_page(self: ListEndpoint[Any, Any, Any, Any, P2, Has[R2]]) -> RestEndpoint[P2, R2]: ...
        @overload
        def __get__(self, instance: None, owner: object, /) -> Self: ...
        @overload
        def __get__(
            self, instance: Binder[Blocking], owner: object, /
        ) -> BoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(
            self, instance: Binder[Awaiting], owner: object, /
        ) -> AsyncBoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(self, instance: object, owner: object, /) -> Self: ...
        def __get__(self, instance: object, owner: object = None, /) -> Any: ...
