"""An endpoint as a view calls it: with its headers, search parameters, timeout and retries.

What `with_options` was given is written into a copy of the endpoint, once; a call of the copy is then a call like any
other. The copy has the rules of the original, so that both find the same in a store.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ..base.values import is_mapping
from ..cache.request import Arguments

if TYPE_CHECKING:
    from ..base.calls import RetryPolicy
    from ..base.durations import Timeout

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
"""What controllers do with an endpoint that they are given, and bound endpoints with their own."""


class CallOptions:
    """What a view says of each of its calls.

    `headers` are by their names in lower case, as the name and the value to send; None takes one away. `query` are
    search parameters that count as those of the call, `quiet` those that stand in the URL alone. Requests share a
    response only with those of the same `mark`. `core` stands behind the controller whose calls these are; `transport`
    is the one to send them through, if it is another than that of the core.
    """

    __slots__ = ("core", "headers", "mark", "query", "quiet", "retries", "timeout", "transport")

    def __init__(
        self,
        core: object | None,
        *,
        headers: Mapping[str, tuple[str, str | None]],
        query: Mapping[str, Any],
        quiet: Mapping[str, Any],
        timeout: float | Timeout | None,
        retries: int | RetryPolicy | None,
        mark: tuple[Hashable, ...],
        transport: Any,
    ) -> None:
        self.core = core
        self.headers = headers
        self.query = query
        self.quiet = quiet
        self.timeout = timeout
        self.retries = retries
        self.mark = mark
        self.transport = transport

    def of(self, endpoint: E) -> E:
        """An endpoint as it is called with these options; the endpoint itself is unchanged.

        Raises TypeError where its class computes what is to be set.
        """
        whole: Any = endpoint
        rules = whole.rules  # both have them, so that a read finds what lies ready, whoever asked for it
        told: dict[str, Any] = {"call_options": self}
        if self.timeout is not None:
            told["timeout"] = self.timeout
        if self.retries is not None:
            told["retries"] = self.retries
        init: Mapping[str, Any] | None = getattr(whole, "request_init", None)
        if init is not None and (self.headers or (self.timeout is not None and "timeout" in init)):
            told["request_init"] = self._init(init)
        made = copied(whole, rules=rules, _derived={}, _options={**whole._options, **told}, plain=whole, **told)
        if self.query or self.quiet:
            self._add_query(made, whole, is_http=init is not None)
        for name, value in told.items():
            if getattr(made, name) is not value:
                raise TypeError(f"endpoint {whole.name!r} computes its {name}, so with_options cannot set it")
        return cast("E", made)

    def place(self, endpoint: Any, args: tuple[Any, ...], url: str) -> str:
        """The part of the URL of a call that says what is meant, and not only how it is asked for."""
        if not self.quiet:
            return url
        found: str = copied(endpoint, call_options=None).request_url(args)
        return found

    def _init(self, init: Mapping[str, Any]) -> dict[str, Any]:
        """The request init with these headers over its own, and without its timeout where there is one here."""
        own: Any = init.get("headers") or {}
        headers = {name: value for name, value in dict(own).items() if name.lower() not in self.headers}
        headers.update((name, value) for name, value in self.headers.values() if value is not None)
        told = {name: value for name, value in init.items() if name != "timeout" or self.timeout is None}
        told["headers"] = headers
        return told

    def _add_query(self, made: Any, plain: Any, *, is_http: bool) -> None:
        names = {**self.query, **self.quiet}.keys()
        of_path = names & (plain.path_names or ())
        if of_path or not is_http:
            made.__dict__["bind_args"] = partial(_refuse_query, plain.name, min(of_path, default=""))
        elif self.query:
            made.__dict__["bind_args"] = partial(_bound, plain, self.query)


def copied(endpoint: Any, **members: Any) -> Any:
    """An endpoint that is as another one but for these members; nothing is derived anew."""
    made: Any = object.__new__(endpoint.__class__)
    made.__dict__.update(endpoint.__dict__, **members)
    return made


def _refuse_query(name: str, parameter: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if parameter:
        raise ValueError(
            f"the query of with_options has {parameter!r}, which is a parameter of the path of endpoint {name!r}; "
            "give it to the call"
        )
    raise ValueError(f"endpoint {name!r} is no HTTP endpoint: the query of with_options has no place to go")


def _bound(plain: Any, query: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The bound arguments of a call with search parameters under its own."""
    own: tuple[Any, ...] = plain.bind_args(args, kwargs)
    params: Any
    rest: tuple[Any, ...]
    if plain.has_body:
        params, rest = (own[0], own[1:]) if len(own) > 1 else ({}, own or (None,))
    else:
        if len(own) == 1 and own[0] is None:
            return own  # it wants nothing
        params, rest = (own[0], own[1:]) if own else ({}, ())
    if params is not None and not is_mapping(params):
        return own
    told = ({**query, **(params or {})}, *rest)
    return own.replaced(told) if isinstance(own, Arguments) else Arguments(told, own)
