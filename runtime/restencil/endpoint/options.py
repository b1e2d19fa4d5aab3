"""The options of an endpoint, and its plan, which is derived from them once, when the endpoint is created."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.calls import check_header_params
from ..base.durations import milliseconds, timeout_of
from ..base.freshness import Concurrency
from ..base.values import TUPLE, Sentinel, described, is_mapping, is_sequence
from ..cache.policy import INFINITE
from ..schema.codec import FORMATS
from ..schema.record import check_persist
from .error_types import check_error_classes, check_errors
from .path import check_path_params
from .styles import check_styles

if TYPE_CHECKING:
    from functools import cached_property
    from typing import Self

    from ..base.abort import AbortSignal
    from ..base.calls import HeaderParam
    from ..base.durations import Timeout
    from ..base.steps import Steps
    from ..base.transport import RequestInit
    from ..cache.request import Rules
    from .call_options import ViewOptions
    from .path import PathTemplate

# --- the values of options -------------------------------------------------------------------------------------------


Check: TypeAlias = Callable[[str, Any, Any], None]
"""A check called with the name of an option, its value and the endpoint; raises for an invalid value.

A duration in another form than a number is converted to milliseconds.
"""


BODILESS: Final = frozenset({"HEAD", "OPTIONS"})
"""Methods whose requests have no body by default, and whose responses are read as having none."""

TAKES_KEYWORDS: Final = 8
"""The flag of code with a `**` parameter, as in `inspect.CO_VARKEYWORDS`."""

ANY: Final = Sentinel("ANY")
"""The `body` of an endpoint that does not declare this option."""


def _length(name: str, value: Any, endpoint: Any) -> None:
    what = f"{name} of endpoint {endpoint.name!r} is"
    if not isinstance(value, int | float) or isinstance(value, bool):
        given, value = value, milliseconds(value, what.removesuffix(" is"))
        if given is value:
            raise TypeError(f"{what} {described(value)}; expected a number of milliseconds, or None")
        endpoint.__dict__[name] = value
    if value < 0:
        raise ValueError(f"{what} negative: {value!r} ms")
    if value != value or (value == 0 and name == "poll_frequency"):
        raise ValueError(f"{what} {value!r} ms; expected a positive number, or None")


def _timeout(name: str, value: Any, endpoint: Any) -> None:
    made = timeout_of(value, f"{name} of endpoint {endpoint.name!r}")
    if made is not value:
        endpoint.__dict__[name] = made


def _must(fits: Callable[[Any], bool], expected: str, error: type[Exception] = ValueError) -> Check:
    """Return a check that raises the error for a value that does not fit."""

    def check(name: str, value: Any, endpoint: Any) -> None:
        if not fits(value):
            raise error(f"{name} of endpoint {endpoint.label} is {value!r:.80}; expected {expected}")

    return check


def _one_of(*choices: str) -> Check:
    return _must(lambda value: value in choices, f"one of {', '.join(choices)}")


def _are_texts(value: Any) -> bool:
    return is_sequence(value) and all(isinstance(part, str) for part in value)


def _names_or(*words: str) -> Check:
    return _must(lambda value: value in words or _are_texts(value), "a list or tuple of names", TypeError)


_names: Final = _names_or()

_boolean: Final = _must(lambda value: isinstance(value, bool), "True or False", TypeError)

_path: Final = _must(
    lambda value: isinstance(value, str) and all(value.split(".")),
    "names and numbers separated by dots, such as 'data.items'",
)

_content_type: Final = _must(
    lambda value: isinstance(value, str) and value.isascii() and value.isprintable() and "/" in value,
    "a media type such as 'text/csv'",
)

_field_names: Final = _must(
    lambda value: is_mapping(value) and all(isinstance(field, str) and field for field in value.values()),
    "a mapping from JSON names to fields",
    TypeError,
)

_auth: Final = _must(
    lambda value: isinstance(value, TUPLE) and all(isinstance(one, TUPLE) and _are_texts(one) for one in value),
    'alternatives, each a tuple of names of schemes: (("token",), ("key", "app")), or ((),) for no credential',
    TypeError,
)

_concurrency: Final = _must(
    lambda value: value in ("etag", {"etag": "required"}) or _names_field(value),
    "'etag', {'etag': 'required'}, or {'field': NAME} for a field of the record that holds its ETag",
)

_redirects: Final = _must(
    lambda value: is_mapping(value)
    and {*value} == {"cross_origin_body"}
    and isinstance(value["cross_origin_body"], bool),
    "{'cross_origin_body': True} or {'cross_origin_body': False}",
)


def _names_field(value: Any) -> bool:
    return is_mapping(value) and {*value} == {"field"} and isinstance(value["field"], str) and bool(value["field"])


def _body_in_key(name: str, value: Any, endpoint: Any) -> None:
    if value and endpoint.side_effect:
        raise ValueError(
            f"{name} of endpoint {endpoint.label} is set, but responses of an endpoint with a side effect are not "
            "cached; remove it, or set side_effect=False if the endpoint only reads"
        )


def is_in_body(pagination: Any) -> bool:
    """Return whether an option `pagination` sends positions in the body."""
    return is_mapping(pagination) and pagination.get("in") == "body"


def _pagination(name: str, value: Any, endpoint: Any) -> None:
    if is_in_body(value) and endpoint.has_body and not endpoint.side_effect and not endpoint.body_in_key:
        raise ValueError(
            f"{name} of endpoint {endpoint.label} sends positions in the body, which is not part of the key; "
            "set body_in_key=True"
        )


def _formats(name: str, value: Any, endpoint: Any) -> None:
    if not is_mapping(value) or not {*value.values()} <= {*FORMATS}:
        raise ValueError(
            f"{name} of endpoint {endpoint.name!r} is {value!r:.80}; expected a mapping from keywords to "
            f"{', '.join(FORMATS)}"
        )


def _persistence(name: str, value: Any, endpoint: Any) -> None:
    check_persist(f"endpoint {endpoint.label}", value)


def _freshness(name: str, value: Any, endpoint: Any) -> None:
    problem = None
    if is_mapping(value):
        bounds: Any = value.get("server")
        if {*value} != {"server"} or not is_mapping(bounds) or not {*bounds} <= {"at_least", "at_most"}:
            problem = "the only members are at_least and at_most"
        else:
            freshness_of(value)
    elif value not in ("client", "server"):
        problem = "unknown value"
    if problem is not None:
        raise ValueError(
            f"{name} of endpoint {endpoint.label} is {value!r:.80}: {problem}; expected 'client', 'server', or "
            "{'server': {'at_least': '5s', 'at_most': '1h'}}"
        )


def freshness_of(value: object) -> tuple[float, float] | None:
    """Return the minimum and maximum lifetime in ms of data if the server determines it; None if the client does.

    Raises ValueError for invalid bounds.
    """
    if value is None or value == "client":
        return None
    bounds: Any = value["server"] if is_mapping(value) else {}
    least = milliseconds(bounds.get("at_least", 0), "at_least of freshness")
    most = milliseconds(bounds.get("at_most", INFINITE), "at_most of freshness")
    if not all(
        isinstance(bound, int | float) and not isinstance(bound, bool) and bound >= 0 for bound in (least, most)
    ):
        raise ValueError(
            f"freshness has the bounds {bounds!r:.80}; expected durations, such as '5s', which are not negative"
        )
    if least > most:
        raise ValueError(f"at_least of freshness, {least:g} ms, is more than at_most, {most:g} ms")
    return least, most


def concurrency_of(value: Any) -> Concurrency | None:
    """Return the rule by which mutations send a validator; None if they send none."""
    if value is None:
        return None
    return Concurrency(field=value.get("field"), is_required="etag" in value) if is_mapping(value) else Concurrency()


_CHECKS: Final[Mapping[str, Check]] = {
    "data_expiry_length": _length,
    "error_expiry_length": _length,
    "poll_frequency": _length,
    "timeout": _timeout,
    "formats": _formats,
}

_HTTP_CHECKS: Final[Mapping[str, Check]] = {
    "conditional": _boolean,
    "freshness": _freshness,
    "concurrency": _concurrency,
    "needs": _names_or("all", "required"),
    "exact_filters": _names,
    "representation": _names,
    "search_fields": _field_names,
    "body_fields": _field_names,
    "persist": _persistence,
    "validate": _one_of("strict", "warn", "off"),
    "errors": check_errors,
    "error_classes": check_error_classes,
    "empty": _one_of("error", "merge", "none"),
    "unwrap": _path,
    "expires": _names_or("nothing"),
    "pagination": _pagination,
    "redirects": _redirects,
    "wrap": _path,
    "content_type": _content_type,
    "body_in_key": _body_in_key,
    "body_format": _one_of("json", "form", "multipart", "bytes", "text"),
    "content": _one_of("json", "text", "bytes", "stream"),
    "auth": _auth,
    "path_params": check_path_params,
    "header_params": check_header_params,
    "without": _names,
    "search_styles": check_styles,
    "form_styles": check_styles,
}
"""Checks of options that only HTTP endpoints have."""

HOOKS: Final = frozenset(
    {
        "fetch",
        "fetch_response",
        "get_headers",
        "get_request_init",
        "key",
        "parse_response",
        "process",
        "search_to_string",
        "test_key",
        "url",
    }
)
"""Options that are methods if they are not set."""


is_method: Final = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*").fullmatch


def check_request(path: object, options: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for a path, `url_prefix`, `method` or `request_init` that is not valid.

    Classes may have properties of these names, which are not read before there is a request.
    """
    if not isinstance(path, str):
        raise TypeError(f"the path of an endpoint is {described(path)}; expected a string such as '/articles/:id'")
    prefix, method, init = options.get("url_prefix"), options.get("method"), options.get("request_init")
    if not isinstance(prefix, str | None):
        raise TypeError(
            f"url_prefix of endpoint {path!r} is {described(prefix)}; expected a string: 'https://api.test'"
        )
    if method is not None and not (isinstance(method, str) and is_method(method)):
        raise ValueError(f"method of endpoint {path!r} is {method!r:.80}; expected an HTTP method such as 'GET'")
    if init is not None and not (is_mapping(init) and is_mapping(init.get("headers") or {})):
        raise TypeError(
            f"request_init of endpoint {path!r} is {init!r:.80}; expected a dict such as {{'headers': {{'X-A': 'b'}}}}"
        )


def check_options(endpoint: object, *, http: bool) -> None:
    """Raise TypeError or ValueError for an invalid option of this endpoint."""
    for name, check in (_HTTP_CHECKS if http else _CHECKS).items():
        value = getattr(endpoint, name)
        if value is not None:
            check(name, value, endpoint)


RESERVED: Final = frozenset(
    {
        "address",
        "assembled",
        "assign",
        "bind_args",
        "bind_for",
        "extend",
        "get_page",
        "has_body",
        "move",
        "paginated",
        "path_names",
        "plain",
        "plan",
        "push",
        "remove",
        "request",
        "request_at",
        "request_url",
        "rules",
        "steps",
        "unshift",
        "view_options",
    }
)
"""Members that options must not hide."""


_FUNCTIONS: Final = HOOKS | {"error_policy", "get_optimistic_response", "remove_cursor", "update"}
"""Options that are functions."""


def refuse_options(given: Mapping[str, object]) -> None:
    """Raise TypeError for an option that would hide a member of every endpoint, or that is no function but must be."""
    reserved = RESERVED.intersection(given)
    if reserved:
        raise TypeError(f"{min(reserved)!r} is a member of every endpoint, not an option; remove it")
    for name in _FUNCTIONS.intersection(given):
        value = given[name]
        if value is not None and not callable(value):
            raise TypeError(f"the option {name} of an endpoint is {described(value)}; expected a function")


def keyword_defaults(signature: object) -> dict[str, Any]:
    """Return the defaults in the declared signature of an endpoint, except `body` and None, which is not sent."""
    defaults: Mapping[str, Any] = getattr(signature, "__kwdefaults__", None) or {}
    return {name: value for name, value in defaults.items() if value is not None and name != "body"}


def known_keywords(signature: object) -> frozenset[str] | None:
    """Return the keywords in the declared signature of an endpoint; None if it accepts any."""
    code = getattr(signature, "__code__", None)
    if code is None or code.co_flags & TAKES_KEYWORDS:
        return None
    return frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])


def required_keywords(signature: Any) -> frozenset[str]:
    """Return the keywords without a default in the declared signature of an endpoint."""
    code = getattr(signature, "__code__", None)
    if code is None:
        return frozenset()
    names: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return frozenset(names) - (signature.__kwdefaults__ or {}).keys()


def refuse_missing(name: str, given: Mapping[str, object], required: frozenset[str]) -> None:
    """Raise TypeError for required keywords that are missing in a call."""
    missing = sorted(required - given.keys())
    if missing:
        needed = " and ".join(f"{keyword}=…" for keyword in missing)
        raise TypeError(f"endpoint {name!r} needs {needed}, which the call does not pass")


def refuse_keywords(name: str, given: Mapping[str, object], known: frozenset[str]) -> None:
    """Raise TypeError for an unknown keyword, with similar ones as a hint."""
    unknown = next((keyword for keyword in given if keyword not in known), None)
    if unknown is None:
        return
    from difflib import get_close_matches

    near = get_close_matches(unknown, sorted(known), n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it takes {', '.join(sorted(known)) or 'none'}"
    raise TypeError(f"endpoint {name!r} has no keyword {unknown!r}; {hint}")


def side_effect_of(kind: type[object], given: Mapping[str, object], base: bool | None) -> bool:
    """Return whether an endpoint has a side effect: from its options, the endpoint it extends, or its class."""
    explicit = given.get("side_effect")
    if explicit is None and base is None:
        explicit = getattr(kind, "side_effect", None)
    return bool(base if explicit is None else explicit)


def http_side_effect_of(kind: type[object], given: Mapping[str, object], base: bool | None) -> bool:
    """Return whether an HTTP endpoint has a side effect: by default if its method is not GET."""
    if given.get("side_effect") is None:
        method = given.get("method")
        if method is None and base is None and getattr(kind, "side_effect", None) is None:
            method = getattr(kind, "method", None)
        if method is not None:
            return str(method).upper() != "GET"
    return side_effect_of(kind, given, base)


def method_of(kind: type[object], given: Mapping[str, object], base: str | None) -> str:
    """Return the method of an HTTP endpoint: from its options, the endpoint it extends, its class, or side effect."""
    method = given.get("method")
    if method is None:
        if base is not None:
            return base
        method = getattr(kind, "method", None)
    if method is not None:
        return str(method).upper()
    explicit = given.get("side_effect")
    return "POST" if (getattr(kind, "side_effect", None) if explicit is None else explicit) else "GET"


# --- the plan --------------------------------------------------------------------------------------------------------


_OVERRIDABLE: Final = HOOKS | {"has_body", "request_url", "steps"}
STEPS: Final = _OVERRIDABLE - {"key", "test_key"}
"""Methods in the lifecycle of a request that users may override."""

_DECODING: Final = frozenset({"fetch", "parse_response", "process", "steps"})
_ANSWERING: Final = frozenset({"fetch", "fetch_response", "parse_response", "steps"})


_NOTHING: Final[Mapping[str, Any]] = {}


class Plan:
    """Facts about an endpoint that allow shortcuts; each is False or None if overrides make the shortcut invalid."""

    __slots__ = (
        "answers_itself",
        "converts",
        "decodes",
        "is_standard",
        "key_is_address",
        "keywords_are_params",
        "own_fetch",
        "own_process",
        "sent",
        "template",
    )

    def __init__(
        self,
        own: frozenset[str] | None = None,
        *,
        streams: bool = False,
        converts: bool = False,
        template: PathTemplate | None = None,
        keywords_are_params: bool = False,
        sent: Mapping[str, Any] = _NOTHING,
    ) -> None:
        decided = own is not None
        own = own or frozenset()
        self.is_standard = decided and not streams and not own & STEPS
        """Whether no step of the lifecycle is overridden, so that they run without checking the type of results."""
        self.converts = converts
        """Whether the parsed value of a response is not that of the call, by `unwrap`, `ignore` or `empty`."""
        self.own_fetch = "fetch" in own
        """Whether an overridden `fetch` replaces the lifecycle."""
        self.own_process = "process" in own
        """Whether an overridden `process` may convert a response to a value that matches the schema."""
        self.decodes = decided and not own & _DECODING
        """Whether the library decodes a response for its call only, so that nothing else references its objects."""
        self.answers_itself = not decided or bool(own & _ANSWERING)
        """Whether user code processes the HTTP response before the library reads it."""
        self.key_is_address = decided and "key" not in own
        """Whether the key of a request is its method and its URL."""
        fills = template is not None and template.rooted and not own & {"url", "has_body"}
        self.template = template if fills else None
        """The template, if it alone determines the URL for parameters that fill it; else None."""
        self.sent = sent
        """The members that a transport gets with each request besides those of `get_request_init`."""
        self.keywords_are_params = keywords_are_params and "has_body" not in own
        """Whether keywords are used unchanged as parameters: without other names, defaults, a body or warnings."""


def overridden(kind: type[object], library: type[object], options: Mapping[str, object]) -> frozenset[str]:
    """Return the hooks that options override, or a class compared with its base class in the library."""
    return frozenset(
        name
        for name in _OVERRIDABLE
        if options.get(name) is not None or getattr(kind, name) is not getattr(library, name)
    )


# --- the options as attributes ---------------------------------------------------------------------------------------


class _Options:
    """The options of an endpoint as attributes. Each is given to the constructor or to `extend`, or set by a class.

    Options that are not listed here become attributes too.
    """

    schema: Any
    body: Any
    client: Any
    follow_see_other: bool | None
    redirects: Mapping[str, bool] | None
    """Whether a redirect to another origin sends the body of the request again: `{"cross_origin_body": True}`."""
    signal: AbortSignal | None
    content: str | None
    timeout: float | Timeout | None
    data_expiry_length: float | None
    error_expiry_length: float | None
    poll_frequency: float | None
    invalid_if_stale: bool | None
    pagination_field: str | None
    pagination: Any
    remove_cursor: Callable[..., Any] | None
    retries: Any
    wire: Mapping[str, str] | None
    formats: Mapping[str, str] | None
    body_format: str | None
    path_params: Mapping[str, str] | None
    header_params: Mapping[str, HeaderParam] | None
    """Keywords of calls that are sent as headers."""
    without: Sequence[str] | None
    """Headers and query parameters of the client that are not sent."""
    deprecated_params: Mapping[str, str] | None
    """Deprecated parameters, each with the reason, which may be empty."""
    search_styles: Mapping[str, str] | None
    form_styles: Mapping[str, str] | None
    search_types: Mapping[str, Any] | None
    optimistic: bool | None
    optimistic_payload: str | None
    item_path: str | None
    deprecated: str | None
    signature: Any
    signatures: Mapping[str, Any] | None
    needs: str | Sequence[str] | None
    exact_filters: Sequence[str] | None
    representation: Sequence[str] | None
    search_fields: Mapping[str, str] | None
    body_fields: Mapping[str, str] | None
    strict_keywords: bool | None
    validate: str | None
    persist: bool | int | None
    """Whether a storage persists responses, or the version of their format."""
    strict: bool | None
    strict_shape: bool | None
    replace: bool | None
    empty: str | None
    conditional: bool | None
    """Whether requests are conditional (If-None-Match, If-Modified-Since) if there are validators."""
    freshness: Any
    """Whether the client or the server determines how long data is fresh."""
    concurrency: Any
    """How mutations send the validator of the version that they change."""
    siblings: Any
    expires: str | Sequence[str] | None
    unwrap: str | None
    ignore: bool | None
    wrap: str | None
    content_type: str | None
    send_body: bool | None
    body_in_key: bool | None
    returns: Any
    error_policy: Any
    errors: Mapping[Any, Any] | None
    """Types of the bodies of error responses: record classes, tuples or Any, by `404`, `"4XX"`, `"default"`."""
    error_classes: str | None
    """The module with the error classes of this API, which have the names of those of restencil."""
    auth: tuple[tuple[str, ...], ...] | None
    get_optimistic_response: Any
    update: Any
    refresh: Any


UNSET: Final[dict[str, Any]] = {**dict.fromkeys(_Options.__annotations__), "body": ANY}
"""The values of options that are not set."""


class EndpointOptions(_Options):
    """The options of an endpoint, and what follows from them; `Endpoint` is built on it."""

    name: str
    side_effect: bool
    filed_as: str = ""
    """The suffix of keys in the store, because bytes and JSON of the same URL are separate results."""
    first_page: Any
    """The default of the pagination parameter in the signature of a list."""
    page_member: str | None = None
    """The member of the body that identifies a page, with `pagination={"in": "body"}`."""

    view_options: ViewOptions | None = None
    """The options that a view (`with_options`) applies to each call; None without a view."""
    plain: Self | None = None
    """The endpoint without a view, from which the endpoint of a view was created."""
    plan: Plan
    """Which hooks of the endpoint are overridden, and what follows from that."""

    @property
    def has_body(self) -> bool:
        """Whether the last argument is a body."""
        return False

    if TYPE_CHECKING:  # defined by `Endpoint`

        @cached_property
        def rules(self) -> Rules: ...
        def extend(self, **options: Any) -> Self: ...
        def key(self, /, *args: Any, **kwargs: Any) -> str: ...
        def request_url(self, args: tuple[Any, ...]) -> str: ...
        def steps(self, args: tuple[Any, ...]) -> Steps: ...


class HttpOptions(EndpointOptions):
    """The options and hooks of an HTTP endpoint; `RestEndpoint` is built on it."""

    path: str
    url_prefix: str
    method: str
    request_init: Mapping[str, Any]

    if TYPE_CHECKING:  # defined by `RestEndpoint`

        def get_request_init(self, body: Any = None) -> Any: ...
        def get_headers(self, headers: dict[str, str]) -> Any: ...
        def fetch_response(self, url: str, init: RequestInit) -> Any: ...
        def parse_response(self, response: Any) -> Any: ...
        def process(self, value: Any, *args: Any) -> Any: ...


def outcome_note(endpoint: EndpointOptions) -> str:
    """Return the end of the message of an error that is raised although the server accepted the request."""
    return "; the change was made" if endpoint.side_effect else ""
