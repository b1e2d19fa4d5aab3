"""What a view was told besides arguments, checked and merged: the options of `with_options`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ..base.calls import CONDITIONS, INERT_HEADERS, refuse_header
from ..base.durations import timeout_of
from ..base.lazy import json
from ..base.values import described, is_mapping
from ..schema.record import to_wire
from .retry import Retries

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy
    from ..base.durations import Timeout
    from ..http.auth import Api

_WHERE: Final = "headers of with_options"


def _comparable(value: Any) -> Hashable:
    """A value by which two of its kind can be told apart: itself, or which object it is."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value  # type: ignore[no-any-return]  # it has a hash


class Hidden:
    """A secret that can be compared and is never shown."""

    __slots__ = ("_compared", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._compared = _comparable(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    def __repr__(self) -> str:
        return "[redacted]"


class Options:
    """The options of one view; equal ones have equal keys.

    Each header and each search parameter knows whether it `varies` what is answered. `apart` is what of them the
    answers depend on: views in which that is equal, and not empty, share a partition.
    """

    def __init__(
        self,
        headers: Mapping[str, tuple[str, str | None, bool]],
        query: Mapping[str, tuple[Any, bool]],
        timeout: float | Timeout | None,
        retries: int | RetryPolicy | None,
        token: Any,
        *,
        token_varies: bool,
    ) -> None:
        self.headers = headers
        """By name in lower case: the name as given, the value or None, and whether it varies what is answered."""
        self.query = query
        self.timeout = timeout
        self.retries = retries
        self.token = token
        self.token_varies = token_varies
        secret = None if token is None else Hidden(token)
        repeated = _comparable(retries)
        in_order = sorted(headers.items())
        self.key: Hashable = (
            tuple((name, value, varies) for name, (_, value, varies) in in_order),
            tuple((name, _text(value), varies) for name, (value, varies) in sorted(query.items())),
            timeout,
            repeated,
            secret,
            token_varies,
        )
        own_token = secret if token_varies else None
        varying = tuple((name, value) for name, (_, value, varies) in in_order if varies)
        self.apart: tuple[Hashable, ...] = (varying, own_token) if varying or own_token is not None else ()
        self.credential = own_token
        """Whose partition it is, where that is not the client's own principal."""
        conditions = tuple((name, value) for name, (_, value, _) in in_order if name in CONDITIONS)
        mark = (timeout, repeated, conditions, None if token_varies else secret)
        self.mark: tuple[Hashable, ...] = mark if any(part not in (None, ()) for part in mark) else ()

    @property
    def names(self) -> tuple[str, ...]:
        """The headers, as they were given, for which it has a partition."""
        return tuple(name for name, _, varies in self.headers.values() if varies)

    @property
    def sent(self) -> dict[str, tuple[str, str | None]]:
        """Its headers by name in lower case, as name and value."""
        return {lower: (name, value) for lower, (name, value, _) in self.headers.items()}

    def of_partition(self) -> Options:
        """Those for which it has a partition, alone."""
        headers = {name: header for name, header in self.headers.items() if header[2]}
        return Options(headers, {}, None, None, self.token if self.token_varies else None, token_varies=True)

    def searched(self, *, varies: bool) -> dict[str, Any]:
        """Its search parameters that count as those of calls, or those that stand in the URL alone."""
        return {name: value for name, (value, varying) in self.query.items() if varying is varies}

    def __repr__(self) -> str:
        told = [*(name for name, _, _ in self.headers.values()), *(f"query {name}" for name in self.query)]
        told += [name for name in ("timeout", "retries", "token") if getattr(self, name) is not None]
        return ", ".join(told)


NO_OPTIONS: Final = Options({}, {}, None, None, None, token_varies=True)


def merged(
    base: Options,
    headers: Any,
    query: Any,
    timeout: Any,
    retries: Any,
    token: Any,
    vary: Any,
    *,
    kind: str,
    api: Api | None,
    own_token: Any,
) -> Options:
    """The options of a view over those of another, or over none.

    `kind` names the class of the client, for messages, and `own_token` is what it was given itself. Raises TypeError
    and ValueError for what cannot be; no value is shown.
    """
    if not isinstance(vary, bool):
        raise TypeError(f"vary of with_options is {described(vary)}; it is True or False")
    varies = base.token_varies
    if token is None:
        token = base.token
    else:
        _check_token(token, kind, api)
        varies = vary
        if own_token is not None and Hidden(token) == Hidden(own_token):
            token = None
    return Options(
        _headers(base.headers, headers, api, vary=vary),
        _query(base.query, query, api, vary=vary),
        base.timeout if timeout is None else timeout_of(timeout, "timeout of with_options"),
        base.retries if retries is None else _retries(retries),
        token,
        token_varies=varies or token is None,
    )


def _headers(base: Mapping[str, Any], given: Any, api: Api | None, *, vary: bool) -> Mapping[str, Any]:
    if given is None:
        return base
    if not is_mapping(given):
        raise TypeError(f"headers of with_options is {described(given)}; expected a dict of names and texts")
    auth = None if api is None else api.auth
    inert = INERT_HEADERS | {name.lower() for name in (() if api is None else api.inert_headers)}
    found = dict(base)
    for name, value in given.items():
        refuse_header(name, value, _WHERE)
        lower = name.lower()
        if lower == "cookie" or (auth is not None and auth.kind != "query" and lower == auth.name.lower()):
            raise ValueError(f"{name!r} among the {_WHERE} says who asks; give token=… in its place")
        found[lower] = (name, value, vary and lower not in inert)
    return found


def _query(base: Mapping[str, Any], given: Any, api: Api | None, *, vary: bool) -> Mapping[str, Any]:
    if given is None:
        return base
    if not is_mapping(given):
        raise TypeError(f"query of with_options is {described(given)}; expected a dict of names and values")
    auth = None if api is None else api.auth
    found = dict(base)
    for name, value in cast("Mapping[Any, Any]", given).items():
        if not isinstance(name, str):
            raise TypeError(f"a name in the query of with_options is of type {type(name).__name__}; expected a text")
        if auth is not None and auth.kind == "query" and name == auth.name:
            raise ValueError(f"{name!r} in the query of with_options says who asks; give token=… in its place")
        if value is None:
            found.pop(name, None)
        else:
            found[name] = (to_wire(value), vary)
    return found


def _retries(given: Any) -> int | RetryPolicy:
    if isinstance(given, Retries):
        return given
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"retries of with_options is {described(given)}; expected a number of retries, or Retries(…)")
    if given < 0:
        raise ValueError(f"retries of with_options is negative: {given}; 0 is none")
    return given


def _check_token(token: Any, kind: str, api: Api | None) -> None:
    if api is None:
        raise TypeError(f"{kind} has no API of its own: a token belongs to generated clients")
    if api.auth is None:
        raise TypeError(f"the API of {kind} declares no auth, so a token has no place to go")
    if is_mapping(token):
        raise TypeError(
            f"token of with_options is a dict, which is for APIs with several auth schemes; that of {kind} has one: "
            "give the token itself"
        )
    if not isinstance(token, str) and not callable(token):
        raise TypeError(
            f"token of with_options is of type {type(token).__name__}; give a text (for basic auth 'user:password'), "
            "or a function that gives one"
        )


def _text(value: Any) -> str:
    """A value as a text that tells it from all others."""
    return value if isinstance(value, str) else json.dumps([value], sort_keys=True, default=repr)
