"""HTTP endpoints: from a path template and arguments to a request, from a response to a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NotRequired, TypedDict, cast, overload

from ..base.calls import HeaderParam
from ..base.steps import Steps, drive, drive_async
from ..base.transport import BlockingTransport
from ..base.values import copy_in, described, is_items, is_mapping, kind_of
from ..cache.request import CONTENT
from .bodies import body_digest, body_to_wire, check_shape, is_wire_form, model_of
from .call import current_options, has_schema, lifecycle, parse, prepare, send, transport_of_call
from .endpoint import Endpoint, text_from
from .error_types import ErrorTypes
from .lists import changer, keyed_body, paged, pager, searched_schema
from .options import ANY, BODILESS, OPTIONS, Plan, check_options, http_side_effect_of, is_in_body, method_of, overridden
from .path import PathTemplate, kinds_of, path_template, search_string
from .payloads import PAYLOADS
from .styles import styled_string
from .typing import P2, R2, Assigns, Has, P, PageP, PageR, PushP, PushR, R, UnshiftP, UnshiftR

if TYPE_CHECKING:
    from typing import Self

    from .bound import AsyncBoundList, BoundList
    from .typing import Awaiting, Binder, Blocking

_SERVER_ERROR: Final = 500


class RestGenerics(TypedDict):
    """The type parameters of an endpoint written as a mapping of its options; typing only."""

    path: str
    schema: NotRequired[Any]
    method: NotRequired[str]
    body: NotRequired[Any]
    search_params: NotRequired[Any]
    process: NotRequired[Callable[..., Any]]


def always_soft(error: BaseException) -> str | None:
    """The error policy "every error keeps stale data in use"."""
    return "soft"


def soft_on_server_error(error: BaseException) -> str | None:
    """The error policy "a status of 500 or more keeps stale data in use"."""
    status = getattr(error, "status", None)
    return "soft" if isinstance(status, int) and status >= _SERVER_ERROR else None


class RestEndpoint(Endpoint[P, R]):
    """One HTTP operation: `RestEndpoint(path="/articles/:id", method="GET", schema=Article, **options)`

    | option | meaning |
    |---|---|
    | `path`, `url_prefix` | template, and the text put before it, with one slash between them |
    | `method` | `GET` by default, `POST` where `side_effect=True` is given alone |
    | `schema` | where entities are in the response; None: no schema |
    | `body` | `None` disables the body; a record class or `schema.Object` gives the names and conversions of a body |
    | `body_format` | how a body is sent: `json`, `form`, `multipart`, `bytes`, `text`; by default what its type says |
    | `request_init` | `headers`, `credentials`, `timeout` (ms), `redirect`; other members reach `fetch_response` |
    | `content` | `json`, `text`, `bytes` or `stream` instead of what the response's content type says |
    | `timeout` | milliseconds for a whole attempt; on a client of one's own checked as its body arrives |
    | `signal` | an `AbortController().signal` |
    | `follow_see_other` | a change that is answered by 303 goes on with a GET; other redirects of a change are errors |
    | `redirects` | `{"cross_origin_body": True}`: a redirect to another origin takes the body of the request along |
    | `client` | a Client or AsyncClient of httpx or httpx2 for direct calls |
    | `strict` | for real servers: `strict_shape`, `strict_keywords`, `empty="none"` of mutations; see `Resource` |
    | `strict_keywords` | a keyword that the signature does not have is an error |
    | `strict_shape` | an object where a list stands, or the other way round, is an error |
    | `replace` | the answer replaces the record, and is not merged into it |
    | `conditional` | False: a server that tells its answers apart is asked for all of them all the same |
    | `freshness` | `client`, or `server`: data lives as long as the answer says, `{"server": {"at_least": "5s"}}` |
    | `concurrency` | `etag`: mutations are made for what was last read; `{"etag": "required"}`, `{"field": NAME}` |
    | `empty` | what an answer without content is to a mutation: `error`, `none`, or `merge`, which is what was sent |
    | `content_type` | that of a JSON, text or bytes body: `application/merge-patch+json` |
    | `form_styles` | how lists and objects are written in a form, if not as `repeat` and `brackets` have it |
    | `wrap` | the member that the body is sent in, dots nest: `wrap="article"` sends `{"article": {…}}` |
    | `send_body` | a body is sent whatever the method: also with GET, DELETE, HEAD and OPTIONS |
    | `body_in_key` | of what only reads: the body is part of the key, and of the identity of lists in the answer |
    | `unwrap` | where the value is in a response: names, and numbers for items of lists, with dots |
    | `ignore` | every answer counts as one without content |
    | `expires` | what turns stale after success: `self`, members, `resource.member`, resources of the client |
    | `errors` | what the body of a refusal is, by status: `{404: Missing, "4XX": Problem, "default": Problem}` |
    | `error_classes` | the module of the package's own error classes, each called as that of `restencil` |
    | `path_params` | what parameters of the path are: `{"ids": "list", "path": "slashes", "name": "metadata.name"}` |
    | `header_params` | keywords that are headers: `{"scope": HeaderParam("X-Scope")}` |
    | `without` | headers and search parameters of the client that are not sent |
    | `search_styles` | how lists and objects are written in the search string: `{"tags": "repeat", "filter": "deep"}` |
    | `search_types` | record classes or `schema.Object` that name the members of objects in the search string |
    | `formats` | how datetimes of keywords look in the URL: `{"since": "unix"}`, `"unix_ms"` or `"rfc2822"` |
    | `auth` | the schemes that requests use, as alternatives: `(("token",), ("key", "app"))`; `((),)` for none |
    | `wire` | keyword names that are other names in the URL, as `{"order_by": "orderBy"}` |

    The methods below may be overridden in a subclass or given as options; `get_request_init`, `get_headers`,
    `fetch_response`, `parse_response`, `process` and `fetch` may be coroutine functions, for the asynchronous client.

    Raises PathTemplateError for a bad template and ValueError for options that contradict each other.
    """

    path: str
    url_prefix: str
    method: str
    request_init: Mapping[str, Any]

    _template: PathTemplate
    _placed: frozenset[str]
    """Parameters that do not go into the search string."""
    _has_body: bool
    _model: Any

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    # -- construction -------------------------------------------------------------------------------------------------

    def _configure(self, options: dict[str, Any], given: Mapping[str, Any], base: Endpoint[..., Any] | None) -> None:
        members = self.__dict__
        kind = type(self)
        path = options["path"] if options.get("path") is not None else getattr(kind, "path", None)
        if path is None:
            raise TypeError(f"{kind.__name__} needs a path, such as path='/articles/:id'")
        members["_template"] = path_template(
            path, kinds_of(options.get("path_params", getattr(kind, "path_params", None)))
        )
        members["_model"] = ANY
        super()._configure({**options, "path": path}, given, base)
        if self._keywords is not None:
            members["_keywords"] = self._keywords | self._template.names
        for name in ("url_prefix", "request_init"):
            if options.get(name) is None:
                members.pop(name, None)
                if not hasattr(kind, name):
                    members[name] = copy_in(OPTIONS[name].default)
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
            members["schema"] = searched_schema(self.schema, self.name, self.page_member)
        members["plan"] = Plan(
            own if self.remove_cursor is None and self.header_params is None else own | {"key"},
            streams=self.content == "stream",
            presumes=self.empty == "merge",
            opens=self.unwrap is not None or bool(self.ignore),
            template=self._template,
            without=_without(self.without, self.header_params),
            error_types=(
                None
                if self.errors is None and self.error_classes is None
                else ErrorTypes(self.errors, self.error_classes)
            ),
            keywords_are_params=not (self._binds_more or self._defaults or self.wire or self._has_body),
        )
        check_options(self, http=True)
        if self.content not in (None, "json") and has_schema(self.schema):
            raise ValueError(
                f"endpoint {self.label} has a schema and content={self.content!r}; a schema needs JSON: "
                "give schema=None"
            )
        payload = options.get("optimistic_payload") if options.get("optimistic") and self.side_effect else None
        if payload is not None and "get_optimistic_response" not in options:
            members["get_optimistic_response"] = partial(PAYLOADS[payload], self)

    def _own_name(self, options: Mapping[str, Any]) -> str:
        prefix = options.get("url_prefix")
        prefix = str(getattr(type(self), "url_prefix", "") if prefix is None else prefix)
        return (prefix.removesuffix("/") if options["path"].startswith("/") else prefix) + str(options["path"])

    @property
    def label(self) -> str:
        """Method and path, for messages: what may hold a secret is left out."""
        return f"{self.method} {self.path!r}"

    # -- arguments ----------------------------------------------------------------------------------------------------

    @property
    def path_names(self) -> frozenset[str]:
        """The parameters of the path; what else a call gives goes into the search string."""
        return self._template.names

    @property
    def has_body(self) -> bool:
        """False for GET, DELETE, HEAD and OPTIONS without `send_body`, and for `body=None`, else true; overridable."""
        return self._has_body

    def _bound_body(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        body = args[-1]
        if body is None:
            return args
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
        """`url_prefix`, the filled template, and the other parameters as search string.

        Raises MissingParameterError, TypeError for a parameter without text or parameters that are no mapping, and
        ValueError for a value that would change the route.
        """
        # One argument, the dict of parameters; typed so that an override may name it as it likes.
        url_params: Any = args[0] if args else None
        if keywords or (url_params is None and self._defaults):
            url_params = self.bind_args(args if url_params is not None else (), keywords)[0]
        params = cast("dict[str, Any]", {} if url_params is None else url_params)
        if type(params) is not dict and not is_mapping(params):
            raise TypeError(
                f"the parameters of endpoint {self.name!r} are a dict, not {described(url_params)}; give them by name, "
                "or as one dict"
            )
        template = self._template
        prefix = self._template.place(self.url_prefix)
        url = prefix + (template.filler or template.fill)(params, prefix.rpartition("/")[2] if template.leads else "")
        names = self._placed
        if len(params) != template.exact and not names.issuperset(params):
            search = {name: value for name, value in params.items() if name not in names}
            text = text_from(self, "search_to_string", self.search_to_string(search))
            if text:
                url += ("&" if template.has_query else "?") + text
        return url

    def search_to_string(self, search_params: Mapping[str, Any]) -> str:
        """The search string of these raw values: form encoding, sorted by name, None dropped.

        Lists and objects are written as the option `search_styles` says.
        """
        styles = self.search_styles
        return search_string(search_params) if styles is None else styled_string(search_params, styles)

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """The method, a space and the URL; with `body_in_key` a space, `body=` and what tells bodies apart."""
        bound: tuple[Any, ...] = args
        if kwargs or (not args and self._defaults):
            bound = self.bind_args(args, kwargs)
        given: Any = bound[0] if bound else None
        template = self.plan.template
        if (
            template is not None
            and kind_of(given) is dict
            and len(given) == template.exact
            and template.filler is not None
            and (not self._has_body or (len(bound) > 1 and not self.body_in_key))
        ):
            # Every parameter fills the template, and nobody overrides how: what `url` would come to. This is
            # "cached read of one entity".
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
        """True when the key is this endpoint's for some arguments."""
        start = f"{self.method} {self._template.place(self.url_prefix)}"
        if not key.startswith(start):
            return False
        rest = key[len(start) :].partition(" ")[0]
        return self._template.matches(rest if self._template.has_query else rest.partition("?")[0])

    def request_url(self, args: tuple[Any, ...]) -> str:
        """The URL of a call with these bound arguments.

        Raises what `url` raises, and ValueError for `""` where a required parameter is a whole segment of the path.
        """
        params: Any = args[0] if args and (len(args) != 1 or not self.has_body) else None
        options = self.view_options
        if options is not None and options.quiet and (params is None or is_mapping(params)):
            params = {**options.quiet, **(params or {})}
        if self.first_page is not None and not self.side_effect and (params is None or is_mapping(params)):
            params = {str(self.pagination_field): self.first_page, **(params or {})}
        template = self.plan.template
        if template is not None and template.filler is not None and type(params) is dict:
            given = cast("dict[str, Any]", params)
            if len(given) == template.exact:
                # As in `key`: what `url` would come to; for "direct call".
                if template.whole:
                    template.refuse_empty(given)
                prefix = self.url_prefix
                return (template.place(prefix) if prefix[-1:] == "/" else prefix) + template.filler(given, "")
        if not params:
            params = {}
        if self._template.whole and is_mapping(params):
            self._template.refuse_empty(params)
        return self.url(params)

    def address(self, args: tuple[Any, ...]) -> tuple[str, str]:
        """`key` and `request_url` of a call with these bound arguments: together, the identity of a request."""
        url = self.request_url(args)
        options = self.view_options
        is_address = self.plan.key_is_address and self.first_page is None and (options is None or not options.quiet)
        return (f"{self.method} {url}", url) if is_address else super().address(args)

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def steps(self, args: tuple[Any, ...]) -> Steps:
        """The whole of a call with these bound arguments, for `drive` and `drive_async`: prepare, send, parse, process.

        A `fetch` of the user's own replaces them.
        """
        return super().steps(args) if self.plan.own_fetch else lifecycle(self, args)

    def fetch(self, *args: Any) -> Any:
        """Goes through the lifecycle within the call that is under way; an override may call it."""
        transport = transport_of_call(self.name, "fetch")
        if isinstance(transport, BlockingTransport):
            return drive(lifecycle(self, args), transport)
        return drive_async(lifecycle(self, args), transport)

    def get_request_init(self, body: Any = None) -> Any:
        """What is sent: `request_init` overlaid with `method`, `signal` and `body`, and the headers.

        A JSON body is encoded to text. Raises TypeError for a body that has no JSON form.
        """
        return prepare(self, body, current_options(self))

    def get_headers(self, headers: dict[str, str]) -> Any:
        """The headers that go out, from those of the request so far; identity by default."""
        return headers

    def fetch_response(self, url: str, init: Mapping[str, Any]) -> Any:
        """Sends the request and returns the response.

        Raises NetworkError for a final status outside 200–299 and for failures on the way, AbortError where the
        signal is aborted, ValueError for a relative URL without a base URL.
        """
        return send(self, transport_of_call(self.name, "fetch_response"), url, init, current_options(self))

    def parse_response(self, response: Any) -> Any:
        """The value of a response: JSON, text, bytes or None, as status, content type and options say.

        Raises ParseError (400) for malformed JSON, UnexpectedContentError (404) for text or binary content where the
        endpoint has a schema.
        """
        return parse(self, response)

    def process(self, value: Any, *args: Any) -> Any:
        """The result, from the parsed value and the bound arguments; identity by default."""
        return value

    # -- collections --------------------------------------------------------------------------------------------------

    @property
    def push(self) -> RestEndpoint[..., Any]:
        """POST that adds what is created at the end of the collection. Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", changer(self, "push", self._derived))

    @property
    def unshift(self) -> RestEndpoint[..., Any]:
        """POST that adds what is created at the start of the collection. Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", changer(self, "unshift", self._derived))

    @property
    def assign(self) -> RestEndpoint[..., Any]:
        """POST that adds entries to a collection of values. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "assign", self._derived))

    @property
    def remove(self) -> RestEndpoint[..., Any]:
        """PATCH that takes the entity out of the collection. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "remove", self._derived))

    @property
    def move(self) -> RestEndpoint[..., Any]:
        """PATCH that moves the entity between collections. Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", changer(self, "move", self._derived))

    @property
    def get_page(self) -> RestEndpoint[..., Any]:
        """Fetches a further page, found through `pagination_field`, and appends it.

        `pagination={"remove_cursor": function}` gives the function form of `paginated`. Raises AttributeError without
        either, ValueError without a collection.
        """
        return cast("RestEndpoint[..., Any]", pager(self, self._derived))

    def paginated(self, cursor: str | Callable[..., Any]) -> RestEndpoint[..., Any]:
        """An endpoint whose responses are pages, appended to this endpoint's collection.

        `cursor` is the search parameter that names a page, or a function that gives, for a page's arguments, the list
        of arguments of the list. Pages are kept under the list's key. Raises ValueError without a collection.
        """
        return cast("RestEndpoint[..., Any]", paged(self, cursor))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.method} {self.path}>"


def _without(given: Sequence[str] | None, params: Any) -> frozenset[str]:
    """What the client's own headers and search parameters do not add: headers of the endpoint replace them."""
    names = {name for written in given or () for name in (written, written.lower())}
    known = list(params.values()) if is_mapping(params) else []  # anything else is refused when options are checked
    return frozenset(names.union(param.name.lower() for param in known if isinstance(param, HeaderParam)))


class ListEndpoint(RestEndpoint[P, R], Generic[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    """A `RestEndpoint` whose schema holds a Collection, typed: what `push` (or `assign`), `get_page` and `unshift` take
    and give.

    At run time it is a `RestEndpoint`; each has what its schema and options allow.
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
        def __get__(self, instance: None, owner: Any, /) -> Self: ...
        @overload
        def __get__(
            self, instance: Binder[Blocking], owner: Any, /
        ) -> BoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(
            self, instance: Binder[Awaiting], owner: Any, /
        ) -> AsyncBoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(self, instance: object, owner: Any, /) -> Self: ...
        def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
