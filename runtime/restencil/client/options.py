"""The options of `with_options`, checked and merged."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..base.calls import CONDITIONS, INERT_HEADERS, refuse_header, refuse_parameter
from ..base.durations import timeout_of
from ..base.values import described, is_mapping
from ..http.schemes import SHORT, Schemes
from ..schema.record import to_wire
from .arguments import check_credential
from .retry import checked_retries

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy
    from ..base.durations import Timeout
    from ..http.auth import Api

_WHERE: Final = "headers of with_options"


def _comparable(value: Any) -> Hashable:
    """Return a hashable value for comparisons: the value itself, its `id` if it has no hash, or the items of a dict."""
    if is_mapping(value):
        return tuple((name, _comparable(value[name])) for name in sorted(value, key=str))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value  # type: ignore[no-any-return]  # it has a hash


class Hidden:
    """A secret, or a dict of secrets, that is comparable and has a repr without it."""

    __slots__ = ("_compared", "value")

    def __init__(self, value: Any) -> None:
        self.value = {**value} if is_mapping(value) else value  # a dict of the user's may change later
        self._compared = _comparable(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    def __repr__(self) -> str:
        return "[redacted]"


class Header(NamedTuple):
    """A header of a view: its name as given, and its value, or None if it is removed from requests.

    `apart` contains the value that selects the partition, and is empty if the header selects none. This may differ from
    the value that is sent: with `vary=False`, a view of a view stays in its partition.
    """

    name: str
    value: str | None
    apart: tuple[str | None, ...]


class Options:
    """The options of one view; equal options have equal keys.

    Headers, query parameters and `token` may change responses, if `vary` was True; `quiet_token` is sent instead of
    `token` and does not. `apart` contains the headers and the token that change responses: views with an equal,
    non-empty `apart` share a partition.
    """

    def __init__(
        self,
        headers: Mapping[str, Header],
        query: Mapping[str, tuple[Any, bool]],
        timeout: float | Timeout | None,
        retries: int | RetryPolicy | None,
        token: Any,
        quiet_token: Any,
    ) -> None:
        self.headers = headers
        """By name in lower case."""
        self.query = query
        self.timeout = timeout
        self.retries = retries
        self.token = token
        self.quiet_token = quiet_token
        secret = None if token is None else Hidden(token)
        quiet_secret = None if quiet_token is None else Hidden(quiet_token)
        repeated = _comparable(retries)
        in_order = sorted(headers.items())
        self.key: Hashable = (
            tuple((name, header.value, header.apart) for name, header in in_order),
            tuple((name, _text(value), varies) for name, (value, varies) in sorted(query.items())),
            timeout,
            repeated,
            secret,
            quiet_secret,
        )
        varying = tuple((name, header.apart) for name, header in in_order if header.apart)
        self.apart: tuple[Hashable, ...] = (varying, secret) if varying or secret is not None else ()
        self.credential = secret
        """The principal of the partition, if that is not the client's own."""
        conditions = tuple((name, header.value) for name, header in in_order if name in CONDITIONS)
        mark = (timeout, repeated, conditions, quiet_secret)
        self.vary_key: tuple[Hashable, ...] = mark if any(part not in (None, ()) for part in mark) else ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as given, of the headers that select its partition."""
        return tuple(header.name for header in self.headers.values() if header.apart)

    @property
    def sent(self) -> dict[str, tuple[str, str | None]]:
        """Its headers by name in lower case, as pairs of name and value."""
        return {lower: (header.name, header.value) for lower, header in self.headers.items()}

    def of_partition(self) -> Options:
        """Return only the options that select its partition."""
        headers = {
            lower: Header(header.name, header.apart[0], header.apart)
            for lower, header in self.headers.items()
            if header.apart
        }
        return Options(headers, {}, None, None, self.token, None)

    def searched(self, *, varies: bool) -> dict[str, Any]:
        """Return its query parameters: those that are part of keys, or with `varies=False` those only in the URL."""
        return {name: value for name, (value, varying) in self.query.items() if varying is varies}

    def __repr__(self) -> str:
        names = [*(header.name for header in self.headers.values()), *(f"query {name}" for name in self.query)]
        names += [name for name in ("timeout", "retries") if getattr(self, name) is not None]
        if self.token is not None or self.quiet_token is not None:
            names.append("token")
        return ", ".join(names)


NO_OPTIONS: Final = Options({}, {}, None, None, None, None)


def merged(
    base: Options,
    headers: object,
    query: object,
    timeout: object,
    retries: object,
    token: object,
    vary: object,
    *,
    kind: str,
    api: Api | None,
    own_token: object,
) -> Options:
    """Merge the arguments of `with_options` over the options of the view that it was called on.

    `kind` is the name of the client's class, for messages, and `own_token` is the client's own token. Raises TypeError
    and ValueError for invalid values; secrets are not in messages.
    """
    if not isinstance(vary, bool):
        raise TypeError(f"vary of with_options is {described(vary)}; expected True or False")
    if token is not None:
        token = _checked_token(token, kind, api)
    return Options(
        _headers(base.headers, headers, api, vary=vary),
        _query(base.query, query, api, vary=vary),
        base.timeout if timeout is None else timeout_of(timeout, "timeout of with_options"),
        base.retries if retries is None else checked_retries(retries, "retries of with_options"),
        *_tokens(base, token, own_token, vary=vary),
    )


def _tokens(base: Options, given: object, own: object, *, vary: bool) -> tuple[object, object]:
    """Return the token of the partition, None for the client's own, and the token that is sent instead of it."""
    if given is None:
        return base.token, base.quiet_token
    if vary:
        return None if own is not None and Hidden(given) == Hidden(own) else given, None
    current = own if base.token is None else base.token
    return base.token, None if current is not None and Hidden(given) == Hidden(current) else given


def _headers(base: Mapping[str, Header], given: object, api: Api | None, *, vary: bool) -> Mapping[str, Header]:
    if given is None:
        return base
    if not is_mapping(given):
        raise TypeError(f"headers of with_options is {described(given)}; expected a dict of header names and strings")
    credentials = {"cookie", *(() if api is None else api.credential_headers)}
    inert = INERT_HEADERS | {name.lower() for name in (() if api is None else api.inert_headers)}
    found = dict(base)
    for name, value in given.items():
        refuse_header(name, value, _WHERE, credentials)
        lower = name.lower()
        before = base.get(lower)
        if vary and lower not in inert:
            apart: tuple[str | None, ...] = (value,)
        else:
            apart = () if before is None else before.apart
        found[lower] = Header(name, value, apart)
    return found


def _query(base: Mapping[str, object], given: object, api: Api | None, *, vary: bool) -> Mapping[str, Any]:
    if given is None:
        return base
    if not is_mapping(given):
        raise TypeError(f"query of with_options is {described(given)}; expected a dict of names and values")
    credentials = () if api is None else api.credential_parameters
    found = dict(base)
    for name, value in cast("Mapping[Any, Any]", given).items():
        if not isinstance(name, str):
            raise TypeError(f"a name in the query of with_options is of type {type(name).__name__}; expected a string")
        refuse_parameter(name, "with_options", credentials)
        if value is None:
            found.pop(name, None)
        else:
            found[name] = (to_wire(value), vary)
    return found


def own_token(api: Api | None, credentials: Mapping[str, object]) -> object:
    """Return the token of a client in the form of the argument of `with_options`; None if it has none."""
    if not credentials or api is None:
        return None
    return credentials if isinstance(api.auth, Schemes) else credentials[SHORT]


def _checked_token(token: object, kind: str, api: Api | None) -> object:
    """Return the token, or dict of tokens by scheme. Raises TypeError if it is invalid or not supported by the API."""
    if api is None:
        raise TypeError(f"{kind} has no API, so it cannot use a token; pass it to a generated client")
    api.check_takes_token(kind)
    if not isinstance(api.auth, Schemes):
        check_credential("token of with_options", next(iter(api.schemes.values())), token)
        return token
    schemes = api.schemes
    if not is_mapping(token) or not token:
        raise TypeError(
            f"token of with_options is {described(token)}; {kind} has {named(schemes)}: pass a dict of their "
            f"credentials, such as {{{next(iter(schemes))!r}: …}}"
        )
    for name, value in token.items():
        if name not in schemes:
            raise TypeError(f"token of with_options has the unknown scheme {name!r}; {kind} has {named(schemes)}")
        check_credential(f"{name!r} in token of with_options", schemes[name], value)
    return {**token}


def named(schemes: Collection[str]) -> str:
    """Return the names of schemes for messages."""
    return f"the auth scheme{'s' if len(schemes) > 1 else ''} {', '.join(schemes)}"


def _text(value: object) -> str:
    """Serialize a value to a string that is unique among values, so that 1 and True differ."""
    return str(json.dumps([value], sort_keys=True, default=repr))
