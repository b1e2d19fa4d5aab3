"""Options of a call or a view besides arguments: headers, timeout, URL and query parameters."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Hashable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast
from urllib import parse as urls

from ..base.calls import CONDITIONS, INERT_HEADERS, ArgumentText, HeaderParam, header_text
from ..base.values import is_mapping
from ..cache.request import Arguments
from ..schema.record import to_wire

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy
    from ..base.durations import Timeout
    from ..base.transport import RequestInit

# --- headers that are arguments --------------------------------------------------------------------------------------
#
# Header parameters are split from the arguments of a call when these are bound. Headers that are part of keys are also
# added to the other parameters, under their names in Python, for keys and identities of collections. All of them are
# options of the call, which override the headers of the endpoint when its request is sent.


def bind_headers(endpoint: Any, own: tuple[Any, ...], given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Add the header parameters of a call to its bound arguments; `given` are their values by keyword.

    Raises TypeError or ValueError for a value that is invalid in a header.
    """
    headers: dict[str, ArgumentText] = {}
    keyed: dict[str, str] = {}
    made: set[str] = set()
    partitions: list[str] = []
    params: Mapping[str, HeaderParam] = endpoint.header_params
    for keyword, param in params.items():
        value = given.get(keyword)
        if value is None:
            if param.auto is None:
                continue
            made.add(param.name)
            headers[param.name] = ArgumentText(str(uuid.uuid4()), secret=param.secret)
            continue
        what = f"the header parameter {keyword!r} of endpoint {endpoint.name!r}"
        text = headers[param.name] = header_text(to_wire(value), what, secret=param.secret)
        if param.parts:
            partitions.append(keyword)
        elif param.keyed:
            keyed[keyword] = str(text)
    if not headers or (len(own) == 1 and own[0] is None and not endpoint.has_body):
        return own
    varied = tuple(
        sorted(
            (name.lower(), text)
            for name, text in headers.items()
            if name not in made and name.lower() not in INERT_HEADERS - CONDITIONS
        )
    )
    options = CallOptions(headers, vary_key=(varied,) if varied else (), partitions=tuple(partitions))
    return Arguments(_with_keyed(own, keyed, has_body=endpoint.has_body) if keyed else own, own, options)


def _with_keyed(own: tuple[Any, ...], keyed: Mapping[str, str], *, has_body: bool) -> tuple[object, ...]:
    """Add headers that are part of keys to the parameters in bound arguments."""
    only_body = has_body and len(own) == 1
    params: Mapping[str, Any] = {} if only_body or not own else own[0] or {}
    rest = own if only_body else own[1:]
    return ({**keyed, **params}, *rest)


def has_partitions(endpoint: object) -> bool:
    """Return whether header parameters of an endpoint may require a separate store."""
    params: Mapping[str, HeaderParam] = getattr(endpoint, "header_params", None) or {}
    return any(param.parts for param in params.values())


def split(params: Mapping[str, HeaderParam], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
    """Split arguments of a call: return positional and keyword arguments without headers, and the headers."""
    if args and is_mapping(args[0]) and not params.keys().isdisjoint(args[0]):
        first = args[0]
        rest = {name: value for name, value in first.items() if name not in params}
        return (rest, *args[1:]), kwargs, {name: first[name] for name in params if name in first}
    if params.keys().isdisjoint(kwargs):
        return args, kwargs, {}
    rest = {name: value for name, value in kwargs.items() if name not in params}
    return args, rest, {name: kwargs[name] for name in params if name in kwargs}


def key_suffix(params: Mapping[str, HeaderParam], given: object) -> str:
    """Return the end of the key of a read: a space and the header parameters that are part of it, sorted."""
    if not is_mapping(given):
        return ""
    found = {
        param.name.lower(): str(header_text(given[keyword], keyword))
        for keyword, param in params.items()
        if param.keyed and given.get(keyword) is not None
    }
    return f" {urls.urlencode(sorted(found.items()))}" if found else ""


def refuse_partition(endpoint: Any, options: CallOptions) -> None:
    """Raise RuntimeError for a header parameter with separate stores, if the call does not use the store for it."""
    if options.partitions:
        keyword = options.partitions[0]
        name = endpoint.header_params[keyword].name
        raise RuntimeError(
            f"the parameter {keyword!r} of endpoint {endpoint.name!r} needs a separate store for each value, which "
            f"this call does not use; call client.resource.member(…), or set the header {name!r} with with_options"
        )


# --- options of calls and of views -----------------------------------------------------------------------------------
#
# A view applies the arguments of `with_options` to a copy of each endpoint that it calls, made once. The copy shares
# the rules of the original, so that both find the same data in a store.


E = TypeVar("E")

OPERATIONS: Final = (
    "cached",
    "expire",
    "explain",
    "fetch",
    "fetch_if_stale",
    "fetch_response",
    "get_error",
    "get_response",
    "invalidate",
    "iterate",
    "live",
    "resolve",
    "set_error",
    "set_response",
    "state",
    "subscribe",
    "unsubscribe",
)
"""The methods of controllers that accept an endpoint, which bound endpoints have for their own."""

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class CallOptions(NamedTuple):
    """Options of one call besides its arguments, which are the same for all attempts to send its request.

    `headers` override those of the endpoint, `url` replaces that of the arguments, and `timeout` is the remaining time
    in milliseconds. Only requests with the same `vary_key` share a response. `partitions` are keywords of headers that
    have a store for each value.
    """

    headers: Mapping[str, str] = NO_HEADERS
    timeout: float | Timeout | None = None
    url: str | None = None
    vary_key: tuple[Hashable, ...] = ()
    partitions: tuple[str, ...] = ()


NO_CALL_OPTIONS: Final = CallOptions()


def options_of(args: tuple[object, ...]) -> CallOptions | None:
    """Return the options of the call with these bound arguments; None without any."""
    return cast("CallOptions | None", args.options) if isinstance(args, Arguments) else None


def with_options(args: tuple[Any, ...], changed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return changed arguments with the options of the original ones."""
    options = options_of(args)
    return changed if options is None else Arguments(changed, changed, options)


def overlaid(headers: Any, over: Mapping[str, str]) -> dict[str, Any]:
    """Override headers with others, comparing names without case."""
    names = {name.lower() for name in over}
    return {**{name: value for name, value in dict(headers or {}).items() if name.lower() not in names}, **over}


_KEPT_FORMS: Final = 4_096
"""The maximum number of copies of endpoints that a view caches."""


class ViewOptions:
    """The options that a view applies to each of its calls, from the arguments of `with_options`.

    `headers` map names in lower case to name and value; the value None removes a header. `query` are query parameters
    that are treated like those of the call, `quiet` are only part of the URL. Only requests with the same `vary_key`
    share a response. `core` is the core of the view's controller; `transport` sends the requests, if it is not that of
    the core.
    """

    __slots__ = ("_forms", "core", "headers", "query", "quiet", "retries", "timeout", "transport", "vary_key")

    def __init__(self, core: object | None, options: Any, transport: Any) -> None:
        self.core = core
        self.headers: Mapping[str, tuple[str, str | None]] = options.sent
        self.query: Mapping[str, Any] = options.searched(varies=True)
        self.quiet: Mapping[str, Any] = options.searched(varies=False)
        self.timeout: float | Timeout | None = options.timeout
        self.retries: int | RetryPolicy | None = options.retries
        self.vary_key: tuple[Hashable, ...] = options.vary_key
        self.transport = transport
        self._forms: dict[Any, Any] = {}

    def of(self, endpoint: E) -> E:
        """Return the view's copy of an endpoint, made once; the endpoint itself is unchanged.

        Raises TypeError if the class of the endpoint computes an option that the view sets.
        """
        found = self._forms.get(endpoint)
        if found is None:
            if len(self._forms) >= _KEPT_FORMS:
                self._forms.clear()
            found = self._forms.setdefault(endpoint, self._form(endpoint))
        return cast("E", found)

    def _form(self, whole: Any) -> object:
        rules = whole.rules  # shared, so that reads of both find the same cached results
        members: dict[str, Any] = {"view_options": self}
        if self.timeout is not None:
            members["timeout"] = self.timeout
        if self.retries is not None:
            members["retries"] = self.retries
        init: RequestInit | None = getattr(whole, "request_init", None)
        if init is not None and (self.headers or (self.timeout is not None and "timeout" in init)):
            members["request_init"] = self._init(init)
        made: Any = object.__new__(whole.__class__)
        options = {**whole._options, **members}
        made.__dict__.update(whole.__dict__, rules=rules, _derived={}, _options=options, plain=whole, **members)
        if self.query or self.quiet:
            self._add_query(made, whole, is_http=init is not None)
        for name, value in members.items():
            if getattr(made, name) is not value:
                raise TypeError(
                    f"endpoint {whole.name!r} computes {name} in a property, so with_options cannot set it; set it in "
                    "the endpoint"
                )
        return made

    def place(self, endpoint: Any, args: tuple[Any, ...], url: str) -> str:
        """Return the URL of a call without the `quiet` parameters, which do not identify its result."""
        if not self.quiet:
            return url
        derived: dict[str, Any] = endpoint._derived
        bare = derived.get("without view")
        if bare is None:
            bare = derived["without view"] = copy.copy(endpoint)
            bare.__dict__["view_options"] = None
        found: str = bare.request_url(args)
        return found

    def _init(self, init: RequestInit) -> dict[str, Any]:
        """Return a request init with the headers of the view, and without its timeout if the view has one."""
        own: Any = init.get("headers") or {}
        headers = {name: value for name, value in dict(own).items() if name.lower() not in self.headers}
        headers.update((name, value) for name, value in self.headers.values() if value is not None)
        members = {name: value for name, value in init.items() if name != "timeout" or self.timeout is None}
        members["headers"] = headers
        return members

    def _add_query(self, made: Any, plain: Any, *, is_http: bool) -> None:
        names = {**self.query, **self.quiet}.keys()
        of_path = names & (plain.path_names or ())
        if of_path or not is_http:
            made.__dict__["bind_args"] = partial(_refuse_query, plain.name, min(of_path, default=""))
        elif self.query:
            made.__dict__["bind_args"] = partial(_bound, plain, self.query)


def _refuse_query(name: str, parameter: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    if parameter:
        raise ValueError(
            f"the query of with_options has {parameter!r}, which is a path parameter of endpoint {name!r}; "
            "pass it to the call"
        )
    raise ValueError(
        f"endpoint {name!r} is not an HTTP endpoint, so it cannot send the query of with_options; call it without one"
    )


def _bound(
    plain: Any, query: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[object, ...]:
    """Bind the arguments of a call, with query parameters of the view as defaults."""
    own: tuple[Any, ...] = plain.bind_args(args, kwargs)
    params: Any
    rest: tuple[Any, ...]
    if plain.has_body:
        params, rest = (own[0], own[1:]) if len(own) > 1 else ({}, own or (None,))
    else:
        if len(own) == 1 and own[0] is None:
            return own  # an inactive request
        params, rest = (own[0], own[1:]) if own else ({}, ())
    if params is not None and not is_mapping(params):
        return own
    whole = ({**query, **(params or {})}, *rest)
    return own.replaced(whole) if isinstance(own, Arguments) else Arguments(whole, own)
