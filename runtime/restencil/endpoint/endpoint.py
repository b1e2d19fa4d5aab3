"""Endpoints: callable descriptions of operations, without any cache.

`Endpoint` knows nothing of HTTP: a function, a name, options. `RestEndpoint` in `rest` is the one for HTTP.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, cast, overload

from ..base.lazy_imports import check_reference, find
from ..base.steps import Outcome, Steps, drive, drive_async, is_awaitable
from ..base.transport import AwaitingTransport, BlockingTransport
from ..base.values import described, is_items, is_mapping
from ..cache.plan import ListPlan, MutationPlan, PersistencePolicy, ReadPolicy, ResponsePlan
from ..cache.request import PAGE, Arguments, EntityParams, Request, Rules
from ..schema.codec import format_codec
from ..schema.collection import find_collection
from ..schema.notation import check_shorthand
from ..schema.record import to_wire
from .bodies import body_digest, model_of, refuse_nesting
from .call import Call, transport_for
from .call_options import NO_CALL_OPTIONS, bind_headers, key_suffix, options_of, refuse_partition, split
from .lists import is_page_of, page_request
from .options import (
    HOOKS,
    TAKES_KEYWORDS,
    UNSET,
    EndpointOptions,
    Plan,
    check_options,
    concurrency_of,
    freshness_of,
    keyword_defaults,
    known_keywords,
    refuse_keywords,
    refuse_missing,
    refuse_options,
    required_keywords,
    side_effect_of,
)
from .path import fields_of, names_entity, outer_params_of
from .typing import P, R, is_binder

if TYPE_CHECKING:
    from typing import Self

    from ..base.calls import HeaderParam
    from ..base.freshness import Concurrency
    from .bound import AsyncBoundEndpoint, BoundEndpoint
    from .typing import Awaiting, Binder, Blocking

_PLAIN: Final = frozenset({str, int, float, bool})


def _warn_deprecated(name: str, reason: str) -> None:
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()  # pyright: ignore[reportPrivateUsage] - the caller outside of the library
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{name} is deprecated" + (f": {reason}" if reason else ""), DeprecationWarning, stacklevel=level)


def lazy_function(reference: str) -> Callable[..., Any]:
    """Return the function `"package.module:name"`, which its first call imports. Raises ValueError for another form."""
    check_reference(reference)
    found: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not found:
            found.append(find(reference))
        return found[0](*args, **kwargs)

    call.__name__ = call.__qualname__ = reference.rpartition(":")[2].rpartition(".")[2]
    call.__doc__ = f"{reference}, imported at the first call."
    return call


def refuse_awaitable(value: object, owner: str, hook: str) -> None:
    """Raise TypeError if a hook that must be a plain function returned an awaitable."""
    if is_awaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"{hook} of endpoint {owner!r} returned an awaitable; this hook must be a plain function")


class Endpoint(EndpointOptions, Generic[P, R]):
    """An operation with a function that fetches its value: `Endpoint(fetch_function, name=…, schema=…, **options)`.

    A call runs `fetch` and returns its result, without reading or writing a cache. `key(*args)` is the name, a space
    and the arguments as JSON. Raises TypeError for a lambda without the option `name` or `key`.

    Options (`schema`, `side_effect`, `data_expiry_length` in ms, `error_policy`, `update`, …) become attributes,
    including unknown ones. A callable option is called with the documented parameters only, without the endpoint; a
    method of a subclass gets `self` first.
    """

    _options: dict[str, Any]
    _derived: dict[str, Any]
    _defaults: dict[str, Any]
    _keywords: frozenset[str] | None
    _required: frozenset[str]
    _binds_more: bool
    """Whether binding arguments needs more than their names and defaults: deprecations or header parameters."""
    _unset: ClassVar[dict[str, Any]] = UNSET

    def __init__(self, fetch_function: Callable[..., Any] | None = None, /, **options: Any) -> None:
        if fetch_function is not None:
            options["fetch"] = fetch_function
        self._configure(options, options, None)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in ("key", "url"):
            own = cls.__dict__.get(name)
            if isinstance(own, FunctionType) and not own.__code__.co_flags & TAKES_KEYWORDS:
                setattr(cls, name, _with_keywords(own, name))
        # An option that is not set must not hide an attribute of the class.
        cls._unset = {name: value for name, value in UNSET.items() if not hasattr(cls, name)}

    # -- construction ----------------------------------------------------------------------------------------------

    def _configure(self, options: dict[str, Any], given: Mapping[str, object], base: Endpoint[..., Any] | None) -> None:
        """Set the attributes from all options; `given` contains only those of this construction or extension."""
        refuse_options(given)
        members = self.__dict__
        members.update(self._unset)
        members.update(options)
        members["_options"] = options
        members["_derived"] = {}
        members["_defaults"] = defaults = keyword_defaults(self.signature)
        members["first_page"] = None
        if self.pagination_field is not None:
            # The first page of a list is the list, so the default of its position is part of no key or identity.
            for name in [name for name in defaults if (self.wire or {}).get(name, name) == self.pagination_field]:
                members["first_page"] = defaults.pop(name)
        only_known = self.strict if self.strict_keywords is None else self.strict_keywords
        members["_keywords"] = known_keywords(self.signature) if only_known else None
        inherited = None if base is None or "signature" in given else base._required
        required = required_keywords(self.signature) if inherited is None else inherited
        in_path = self.path_names or frozenset[str]()  # its parameters have an error of their own
        members["_required"] = required - in_path if self._keywords is not None else frozenset[str]()
        for name in ("key", "url"):
            if options.get(name) is not None:
                members[name] = _option_with_keywords(self, name, options[name])
            else:
                members.pop(name, None)
        if "key" not in members and self.header_params is not None and _has_library_key(type(self)):
            members["key"] = _key_with_headers(self, self.header_params)
        if self.remove_cursor is not None:
            members["key"] = _key_of_list(self, self.remove_cursor)
        for name in HOOKS:
            if name in options and options[name] is None and not (name == "key" and self.remove_cursor is not None):
                members.pop(name, None)
        members["side_effect"] = side_effect_of(type(self), given, None if base is None else base.side_effect)
        members["_binds_more"] = any(
            given is not None for given in (self.deprecated, self.deprecated_params, self.header_params)
        )
        members["plan"] = Plan()
        self._resolve_name(options, base)
        check_shorthand(self.schema)
        check_options(self, http=False)

    def _resolve_name(self, options: Mapping[str, object], base: Endpoint[..., Any] | None) -> None:
        if options.get("name") is not None:
            return
        self.__dict__.pop("name", None)
        if base is not None:
            # A name that is not known yet needs the schema, which may be lazy, so it is determined at first use.
            naming = base.__dict__.get("_naming") if "name" not in base.__dict__ else None
            self.__dict__["name" if naming is None else "_naming"] = base.name if naming is None else naming
        elif getattr(type(self), "name", None) is None:
            self.__dict__["name"] = self._own_name(options)

    def _own_name(self, options: Mapping[str, object]) -> str:
        function = options.get("fetch")
        name = str(getattr(function, "__name__", "")) if function is not None else type(self).__name__
        if name in ("", "<lambda>"):
            if options.get("key") is None and type(self).key is Endpoint.key:
                raise TypeError("an endpoint with a lambda needs a name, such as Endpoint(function, name='users.get')")
            name = "lambda"
        return name

    def bind_for(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[object, ...]:
        """Return the arguments for an override of `key` or `url`: the bound ones, for `url` only the parameters."""
        if not kwargs and (args or not self._defaults):
            return args
        bound = self.bind_args(args, kwargs)
        return bound if name == "key" else bound[:1]

    def extend(self, **options: object) -> Self:
        """Return a new endpoint of the same class with these options over its own; this one is unchanged.

        The value None overrides too. Members that depend on options (side effect, body) are computed again.
        """
        return type(self).assembled(options, self)

    @classmethod
    def assembled(cls, options: dict[str, Any], base: Endpoint[..., Any] | None = None) -> Self:
        """Create an endpoint of this class with these options, over those of `base` if there is one."""
        new = object.__new__(cls)
        new._configure({**base._options, **options} if base is not None else options, options, base)
        return new

    @functools.cached_property
    def _gives_pages(self) -> bool:
        """Whether a call with the pagination parameter reads a page; without `strict` it reads another list."""
        is_list = self.strict and self.pagination_field is not None and self.remove_cursor is None
        return bool(is_list) and not self.side_effect and find_collection(self.schema) is not None

    @functools.cached_property
    def _asks_apart(self) -> bool:
        """Whether a request may depend on more than the arguments: on pagination or header parameters."""
        return self._gives_pages or self.header_params is not None

    @functools.cached_property
    def rules(self) -> Rules:
        """The rules by which the cache handles all requests of this endpoint."""
        strict = bool(self.strict)
        expires: tuple[str, ...] = () if isinstance(self.expires, str) else tuple(self.expires or ())
        return Rules(
            raw_schema=self.schema,
            raw_returns=self.returns,
            side_effect=self.side_effect,
            strict=strict,
            siblings=self.siblings,
            params=EntityParams(
                fields={**fields_of(self.path_params), **(self.search_fields or {})} or None,
                path_names=self.path_names,
                outer=outer_params_of(self) if strict else frozenset(),
                names_entity=not strict or names_entity(self),
            ),
            read=ReadPolicy(
                invalid_if_stale=bool(self.invalid_if_stale),
                data_expiry_length=self.data_expiry_length,
                error_expiry_length=self.error_expiry_length,
                error_policy=self.error_policy,
                needs=_needs_of(self.needs, strict=strict),
                is_stored=self.content != "stream" or self.side_effect,
                representation=tuple(self.representation or ()),
                conditional=_is_conditional(self),
                server_lifetime=freshness_of(self.freshness),
            ),
            response=ResponsePlan(
                owns_response=self.plan.decodes,
                validate=self.validate,
                strict_shape=bool(self.strict_shape),
                replace=bool(self.replace),
                empty=self.empty,
                has_process_hook=self.plan.own_process,
                update=self.update,
            ),
            mutation=MutationPlan(
                method=cast(str, getattr(self, "method", "")),
                has_body=self.has_body,
                body_fields=self.body_fields or None,
                get_optimistic_response=self.get_optimistic_response,
                expires=expires,
                concurrency=_own_concurrency(self),
                marks_changes=strict and self.expires != "nothing",
            ),
            lists=ListPlan(
                list_key=None if self.remove_cursor is None else cast("Endpoint[..., Any]", self).key,
                total=_total_of(self.pagination),
                pages=self.pagination is not None or self.pagination_field is not None,
                exact_filters=None if self.exact_filters is None else frozenset(self.exact_filters),
            ),
            persistence=PersistencePolicy(1 if self.persist is None else int(self.persist)),
        )

    def request(self, args: tuple[Any, ...], *, located: bool = False) -> Request:
        """Return the request of a call with these bound arguments; `located` determines its URL at once.

        With `None` as the only argument of an endpoint without a body, the request is inactive. A page has a key of
        its own next to its list, also if it is requested through a strict list with its pagination parameter.
        """
        if self._asks_apart and args:
            options = options_of(args)
            if options is not None:
                refuse_partition(self, options)
            page = page_request(self, args, located=located) if self._gives_pages and is_page_of(self, args) else None
            if page is not None:
                return page
        if self.remove_cursor is not None and (located or args != (None,)):
            key, url = self.address(args)
            place = url if self.view_options is None else self.view_options.place(self, args, url)
            if self.page_member is not None and len(args) > 1:
                place += f" body={body_digest(args[-1], self.name)}"
            return Request(self, self.rules, args, key + PAGE + place, url)
        if located:
            key, url = self.address(args)
            return Request(self, self.rules, args, key + self.filed_as, url)
        if len(args) == 1 and args[0] is None and not self.has_body:
            return Request(self, self.rules, args, "", None, True)
        # Bound arguments have no keywords. A `cast` would be a call, measured by "cached read of one entity".
        key = self.key(*args)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        return Request(self, self.rules, args, key + self.filed_as)

    def request_at(self, args: tuple[object, ...], url: str) -> Request:
        """Return the request of a call at a URL that a response contained, such as that of a page."""
        options = (options_of(args) or NO_CALL_OPTIONS)._replace(url=url)
        placed = Arguments(args, args.own if isinstance(args, Arguments) else args, options)
        if self.remove_cursor is None:
            return Request(self, self.rules, placed, f"{getattr(self, 'method', '')} {url}{self.filed_as}", url)
        return Request(self, self.rules, placed, cast("Endpoint[..., Any]", self).key(*args) + PAGE + url, url)

    # -- arguments ---------------------------------------------------------------------------------------------------

    @property
    def path_names(self) -> frozenset[str] | None:
        """The parameters that identify the resource, if others only modify the call; None if all identify it."""
        return None

    def bind_args(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
        """Convert arguments to the positional form, with all values in wire form.

        Keywords other than `body` become the first argument, without those that are None; `wire` maps their names, and
        defaults of the declared signature are added. Raises TypeError if both forms are mixed, or for a body if the
        endpoint has none; with `strict`, also for a keyword that is missing in the declared signature, and for a
        missing one without a default. Warns if the endpoint is `deprecated`.
        """
        if self._keywords is not None and not self._keywords.issuperset(kwargs):
            refuse_keywords(self.name, kwargs, self._keywords)
        if not args and not self._required <= kwargs.keys():
            refuse_missing(self.name, kwargs, self._required)
        if kwargs and not args and self.plan.keywords_are_params and "body" not in kwargs:
            for value in kwargs.values():
                if type(value) not in _PLAIN:
                    break
            else:
                return ({**kwargs},)
        if self._binds_more:
            _warn(self, args, kwargs)
            if self.header_params is not None:
                return self._bind_with_headers(self.header_params, args, kwargs)
        return self._bind(args, kwargs, self._defaults)

    def _bind(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], defaults: Mapping[str, object]
    ) -> tuple[Any, ...]:
        """Convert the parameters and the body of a call to the positional form."""
        if not kwargs and (args or not defaults):
            return self._bound_body(args) if args and self.has_body else args
        if args:
            raise TypeError(
                f"endpoint {self.name!r} got positional and keyword arguments; "
                "pass only keywords, or a dict of parameters (and a body)"
            )
        given = {**defaults, **kwargs} if defaults else kwargs
        try:
            if self.search_types is not None or self.formats is not None:
                given = _formatted(_with_names(given, self.wire or {}, self.search_types or {}), self.formats or {})
            params, body = _wire_params(given, self.wire), given.get("body")
        except RecursionError:
            refuse_nesting(f"a parameter of endpoint {self.name!r}", given)
            raise
        if self.has_body:
            return self._bound_body((params, body))
        if body is not None:
            raise TypeError(
                f"endpoint {self.name!r} has no body, but got the keyword 'body'; pass a parameter with that name in "
                "a dict as the first argument"
            )
        return (params,)

    def _bind_with_headers(
        self, params: Mapping[str, HeaderParam], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[Any, ...]:
        """Bind the arguments of a call with header parameters, which are not part of URL or body."""
        args, rest, given = split(params, args, kwargs)
        defaults = {name: value for name, value in self._defaults.items() if name not in params}
        values = {} if args else {name: value for name, value in self._defaults.items() if name in params}
        values.update(given)
        if self.formats is not None:
            values = _formatted(values, self.formats)
        return bind_headers(self, self._bind(args, rest, defaults), values)

    def _bound_body(self, args: tuple[object, ...]) -> tuple[object, ...]:
        """Convert the body, which is the last argument, to wire form."""
        return args

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the key of the result for these arguments in stores: the name and the arguments as JSON."""
        bound = self.bind_for("key", args, kwargs)
        return (
            f"{self.name} {json.dumps(bound, sort_keys=True, separators=(',', ':'), ensure_ascii=False, default=str)}"
        )

    def test_key(self, key: str) -> bool:
        """Return whether the key belongs to this endpoint, for any arguments: whether it begins with the name."""
        return key.startswith(self.name)

    def request_url(self, args: tuple[Any, ...]) -> str:
        """Return the URL of a request, which distinguishes requests with the same key; empty without a URL."""
        return ""

    def address(self, args: tuple[Any, ...]) -> tuple[str, str]:
        """Return the identity of the request with these bound arguments: its `key` and `request_url`."""
        return cast("Endpoint[..., Any]", self).key(*args), self.request_url(args)

    # -- running -----------------------------------------------------------------------------------------------------

    def fetch(self, *args: object) -> Any:
        """Fetch the value for these bound arguments; may be a coroutine function."""
        raise NotImplementedError(f"endpoint {self.name!r} has no fetch; pass a function or override fetch")

    def steps(self, args: tuple[object, ...]) -> Steps:
        """Return the steps of a call with these bound arguments, for `drive` and `drive_async`."""
        value = self.fetch(*args)
        if is_awaitable(value):
            value = yield Outcome(f"fetch of endpoint {self.name!r}", value)
        return value

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Perform the operation and return its value, without a cache.

        With an asynchronous `client` it returns an awaitable; without a `client` it opens one for this call.
        """
        bound = self.bind_args(args, kwargs)
        call = Call(self, bound, options_of(bound))
        client = self.client
        # A transport over the user's own client is reused; one that serves only this call is not.
        kept = self.__dict__.get("_direct")
        if kept is not None and kept[0] is client:
            transport: BlockingTransport | AwaitingTransport = kept[1]
        else:
            transport = transport_for(client)
            if client is not None:
                self.__dict__["_direct"] = client, transport
        if isinstance(transport, AwaitingTransport):
            return drive_async(call.steps(), transport)
        if client is not None:
            return drive(call.steps(), transport)
        with contextlib.ExitStack() as stack:
            stack.callback(transport.close)
            value = drive(call.steps(), transport)
            if transport.closed_by_stream:
                stack.pop_all()  # a streamed response closes it
        return value

    # -- binding -----------------------------------------------------------------------------------------------------

    def __set_name__(self, owner: type, name: str) -> None:
        self.__dict__.setdefault("_member", name)

    @overload
    def __get__(self, instance: None, owner: object, /) -> Self: ...
    @overload
    def __get__(self, instance: Binder[Blocking], owner: object, /) -> BoundEndpoint[P, R]: ...
    @overload
    def __get__(self, instance: Binder[Awaiting], owner: object, /) -> AsyncBoundEndpoint[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: object, /) -> Self: ...
    def __get__(self, instance: object, owner: object = None, /) -> Any:
        declaration = self.__dict__.get("_declaration")
        if declaration is not None:
            # Now, because otherwise lookups would find attributes of its class instead of the declared options.
            self._become_whole(declaration)
        if instance is None or not is_binder(instance):
            return self
        bound = instance.controller.bind(self)
        member = self.__dict__.get("_member")
        if member is not None and getattr(type(instance), member, None) is self:
            # An endpoint is not a data descriptor, so later lookups find the bound endpoint in the instance.
            instance.__dict__[member] = bound
        return bound

    def _become_whole(self, declaration: Any) -> None:
        # Built separately and then copied in one step, so that no other thread sees it half built.
        built = declaration.build(self)
        self.__dict__.update({**built.__dict__, "_declaration": None})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            declaration = self.__dict__.get("_declaration")
            if declaration is not None:
                # It was declared in the body of a resource, and this is its first use.
                self._become_whole(declaration)
                return getattr(self, name)
            if name == "name" and "_naming" in self.__dict__:
                self.__dict__["name"] = made = self.__dict__["_naming"]()
                return made
            if name == "__name__":
                return self.__dict__.get("_member") or self.name.rpartition(".")[2]
            if name == "__signature__":
                return _shown_signature(self)
            found = inspect.getattr_static(type(self), name, None)
            if isinstance(found, property):
                return found.fget(self)  # the property raised AttributeError: raise it again with its message
            kind = type(self).__name__
            if name == "name" or name.startswith("__"):
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            raise AttributeError(f"endpoint {self.name!r} ({kind}) has no option or member {name!r}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _warn(endpoint: Endpoint[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Warn if the endpoint is deprecated, and about deprecated parameters of the call."""
    if endpoint.deprecated is not None:
        _warn_deprecated(endpoint.name, endpoint.deprecated)
    given: Mapping[str, Any] = args[0] if args and is_mapping(args[0]) else kwargs
    notices = dict(endpoint.deprecated_params or {})
    for name, param in (endpoint.header_params or {}).items():
        if param.deprecated is not None:
            notices[name] = param.deprecated
    for name, reason in notices.items():
        if given.get(name) is not None:
            _warn_deprecated(f"the parameter {name!r} of {endpoint.name}", reason)


def _with_names(
    given: Mapping[str, object], wire: Mapping[str, str], types: Mapping[str, object]
) -> Mapping[str, object]:
    """Convert keywords that are objects in the query string, so that their members have their JSON names."""
    models = {name: types[wire.get(name, name)] for name in given if wire.get(name, name) in types}
    return {**given, **{name: to_wire(given[name], model_of(kind, None)) for name, kind in models.items()}}


def _shown_signature(endpoint: Endpoint[..., Any]) -> inspect.Signature:
    """Return the signature of the declaring method without `self`; without a method `(*args, **kwargs)`."""
    if endpoint.signature is not None:
        signature = inspect.signature(endpoint.signature)
        return signature.replace(parameters=list(signature.parameters.values())[1:])
    kinds = (("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds])


def _wire_params(given: Mapping[str, object], wire: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the keywords that are parameters, without `body`, with their names and values in the URL."""
    if wire or "body" in given:
        names = wire or {}
        return {
            names.get(name, name): to_wire(value)
            for name, value in given.items()
            if value is not None and name != "body"
        }
    params: dict[str, Any] = {}
    for name, value in given.items():
        if type(value) in _PLAIN:
            params[name] = value
        elif value is not None:
            params[name] = to_wire(value)
    return params


def _formatted(given: Mapping[str, object], formats: Mapping[str, str]) -> dict[str, Any]:
    """Convert datetimes among the keywords of a call to their formats in the URL."""
    found = dict(given)
    for name, format in formats.items():
        value = found.get(name)
        encode = format_codec(format).encode
        if value is not None:
            found[name] = [encode(item) for item in value] if is_items(value) else encode(value)
    return found


def text_from(endpoint: Endpoint[..., Any], hook: str, value: Any) -> str:
    """Return the result of a hook. Raises TypeError unless it is a string."""
    if isinstance(value, str):
        return value
    refuse_awaitable(value, endpoint.name, hook)
    raise TypeError(f"{hook} of endpoint {endpoint.name!r} returned {described(value)}; expected a string")


def _option_with_keywords(
    endpoint: Endpoint[..., Any], name: str, function: Callable[..., object]
) -> Callable[..., str]:
    """Wrap an option `key` or `url`, so that it accepts keywords like the method that it replaces."""

    def call(*args: Any, **kwargs: Any) -> str:
        return text_from(endpoint, name, function(*endpoint.bind_for(name, args, kwargs)))

    return call


def _with_keywords(function: Callable[..., Any], name: str) -> Callable[..., object]:
    """Wrap a method `key` or `url` of a subclass, so that it accepts keywords like the method that it overrides."""

    @functools.wraps(function)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> str:
        return text_from(self, name, function(self, *self.bind_for(name, args, kwargs)))

    return call


def _own_concurrency(endpoint: Any) -> Concurrency | None:
    """Return how mutations are made conditional; None at other paths than the entity's own, which have other ETags."""
    siblings = endpoint.siblings
    if siblings is not None and endpoint.method != "POST" and not siblings.is_of_item(endpoint.path):
        return None
    return concurrency_of(endpoint.concurrency)


def _is_conditional(endpoint: Endpoint[..., Any]) -> bool:
    """Return whether requests may be conditional: those of GET whose responses the library parses itself."""
    return (
        endpoint.conditional is not False
        and getattr(endpoint, "method", "") == "GET"
        and not (endpoint.side_effect or endpoint.plan.answers_itself)
        and endpoint.content != "stream"
    )


def _needs_of(needs: str | Iterable[str] | None, *, strict: bool) -> str | tuple[str, ...]:
    """Return the fields that an entity from other responses must have to satisfy a read."""
    if needs is None:
        return "all" if strict else ()
    return needs if isinstance(needs, str) else tuple(needs)


def _total_of(pagination: object) -> tuple[str, ...]:
    """Return the path of the total number of items in a response, from the option `pagination`."""
    total: Any = cast("Mapping[str, Any]", pagination).get("total") if isinstance(pagination, Mapping) else None
    return tuple(total.split(".")) if isinstance(total, str) and total else ()


def _has_library_key(kind: type[Any]) -> bool:
    """Return whether the `key` of a class is defined by the library."""
    return str(kind.key.__module__).partition(".")[0] == __name__.partition(".")[0]


def _key_with_headers(endpoint: Any, params: Mapping[str, HeaderParam]) -> Callable[..., str]:
    """Return the `key` function of an endpoint with header parameters, which adds them for reads."""
    own: Callable[..., str] = cast(Any, type(endpoint)).key.__get__(endpoint)

    def key(*args: Any, **kwargs: Any) -> str:
        bound = endpoint.bind_for("key", args, kwargs)
        found = own(*bound)
        if endpoint.side_effect or (len(bound) == 1 and endpoint.has_body):
            return found
        head, mark, body = found.partition(" body=")
        return head + key_suffix(params, bound[0] if bound else None) + mark + body

    return key


def _key_of_list(endpoint: Any, remove_cursor: Callable[..., Any]) -> Callable[..., str]:
    """Return the `key` function of an endpoint of pages: the key for the arguments of the list."""
    own: Callable[..., str] = endpoint.__dict__.get("key") or cast(Any, type(endpoint)).key.__get__(endpoint)

    def key(*args: Any, **kwargs: Any) -> str:
        return own(*remove_cursor(*endpoint.bind_for("key", args, kwargs)))

    return key
