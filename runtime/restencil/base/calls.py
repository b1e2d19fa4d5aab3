"""Options of calls and clients besides arguments: headers and parameters, tokens, retries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from .values import Struct, described, is_items, scalar_text

__all__ = [
    "CONDITIONS",
    "CROSS_ORIGIN_BODY",
    "INERT_HEADERS",
    "USE",
    "WITHOUT",
    "ArgumentText",
    "ClientParam",
    "HeaderParam",
    "RetryPolicy",
    "Server",
    "Token",
    "flaw_in",
    "header_text",
    "refuse_header",
    "refuse_parameter",
]

# --- headers and parameters of calls and clients ---------------------------------------------------------------------


_PARTING: Final = re.compile("tenant|account|organi[sz]ation|version").search
"""Finds words in names of headers, in lower case, that the content of entities depends on, besides `_NEGOTIATING`."""

_NEGOTIATING: Final = ("accept", "accept-language")

HIDDEN: Final = "…"
"""Replaces a secret in messages."""


class ArgumentText(str):
    """The value of a header argument, which was checked already; the repr of a secret one does not contain it."""

    secret: bool = False

    def __new__(cls, text: str, *, secret: bool = False) -> ArgumentText:
        """Create it from a string that is valid as the value of a header."""
        made = super().__new__(cls, text)
        made.secret = secret
        return made

    def __repr__(self) -> str:
        return repr(HIDDEN) if self.secret else super().__repr__()


def shown_text(text: str) -> str:
    """Return the value of a header for messages, where secrets are hidden."""
    return HIDDEN if isinstance(text, ArgumentText) and text.secret else str(text)


class HeaderParam(Struct):
    """A header that is a keyword of a call: `header_params={"scope": restencil.HeaderParam("X-Scope")}`.

    in_key       whether it is part of the key of reading endpoints; by default True unless `secret` or `partition`
    partition    whether calls have a separate store for each value, because it changes the content of entities; by
                 default True for Accept, Accept-Language and names with tenant, account, organization or version
    secret       whether its value is hidden in keys, logs, errors and reprs
    auto         "uuid": a call without a value sends a UUID, which its retries repeat, and may be repeated
    deprecated   why it should not be used; calls that use it warn

    A value is a string, number, boolean, date, UUID or similar, or a list of them, which is joined with commas.
    """

    name: str
    in_key: bool | None = None
    partition: bool | None = None
    secret: bool = False
    auto: str | None = None
    deprecated: str | None = None

    @property
    def parts(self) -> bool:
        """Whether calls have a separate store for each value."""
        if self.partition is None:
            lower = self.name.lower()
            return self.in_key is not True and (lower in _NEGOTIATING or _PARTING(lower) is not None)
        return self.partition

    @property
    def keyed(self) -> bool:
        """Whether the header is part of keys and identities."""
        return not (self.secret or self.parts) if self.in_key is None else self.in_key


def check_header_params(name: str, value: Any, endpoint: Any) -> None:
    """Raise TypeError or ValueError for an invalid option `header_params`."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} of endpoint {endpoint.label} is {described(value)}; expected a dict of HeaderParam")
    given: dict[Any, Any] = {**value}
    for parameter, param in given.items():
        where = f"{parameter!r} in {name} of endpoint {endpoint.label}"
        if not isinstance(param, HeaderParam):
            raise TypeError(f"{where} is {described(param)}; expected restencil.HeaderParam('X-Name')")
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", param.name):
            raise ValueError(
                f"{where} has the name {param.name!r}, which is not a valid header name; use letters, digits and '-'"
            )
        if param.name.lower() in ("authorization", "cookie", "proxy-authorization"):
            raise ValueError(f"{where} is the header {param.name!r}, a credential; pass a token to the client")
        if param.secret and param.in_key:
            raise ValueError(f"{where} is secret, so it cannot be part of a key; remove in_key")
        if param.auto not in (None, "uuid"):
            raise ValueError(f"{where} has auto={param.auto!r}; expected 'uuid' or None")


def header_text(value: object, what: str, *, secret: bool = False) -> ArgumentText:
    """Convert a JSON value to the value of a header; a list is joined with commas. Messages contain `what`.

    Raises TypeError for a value without a string form, and ValueError for one that is invalid in a header; messages do
    not contain a secret.
    """
    items: Iterable[Any] = value if is_items(value) else (value,)
    texts: list[str] = []
    for item in items:
        text = scalar_text(item)
        if text is None or item is None:
            raise TypeError(f"{what} is {described(item)}, which cannot be sent in a header; pass a string")
        texts.append(text)
    joined = ", ".join(texts)
    flaw = flaw_in(joined, "Latin-1")
    if flaw is not None:
        shown = ", not shown here," if secret else f" {joined!r}"
        raise ValueError(f"{what} cannot be sent: its value{shown} has {flaw}; remove it")
    return ArgumentText(joined, secret=secret)


class ClientParam(Struct):
    """An argument of a client: a header or query parameter of all its requests, or a variable in the URL of a server.

    Create it with one of the class methods. Without an argument, the client uses the environment variable `env`, then
    `default`; if it is `required`, a missing value is an error. The value of a `secret` one is hidden everywhere.
    """

    kind: Literal["header", "query", "variable"]
    name: str = ""
    default: Any = None
    env: str | None = None
    required: bool = False
    secret: bool = False
    style: str | None = None
    deprecated: str | None = None

    @classmethod
    def header(
        cls,
        name: str,
        *,
        default: Any = None,
        env: str | None = None,
        required: bool = False,
        secret: bool = False,
        deprecated: str | None = None,
    ) -> ClientParam:
        """Return a header of this name."""
        return cls("header", name, default, env, required, secret, None, deprecated)

    @classmethod
    def query(
        cls,
        name: str,
        *,
        default: object = None,
        env: str | None = None,
        required: bool = False,
        style: str | None = None,
        deprecated: str | None = None,
    ) -> ClientParam:
        """Return a query parameter of this name; `style` is the form of a list in the URL."""
        return cls("query", name, default, env, required, style=style, deprecated=deprecated)

    @classmethod
    def variable(
        cls, *, default: Any = None, env: str | None = None, required: bool = False, deprecated: str | None = None
    ) -> ClientParam:
        """Return a variable in the URL of a server."""
        return cls("variable", "", default, env, required, deprecated=deprecated)


class Server(Struct):
    """A server of an API: its URL, where `{name}` is replaced by the variable of this name."""

    url: str
    variables: Mapping[str, ClientParam] = {}
    deprecated: str | None = None


# --- authentication, retries, and headers of a call ------------------------------------------------------------------


Token: TypeAlias = str | Callable[[], str | None] | Callable[[], Awaitable[str | None]]
"""A secret, or a function that returns it, or None if there is none now; async functions need an AsyncController."""

USE: Final = "auth"
"""The member of a `RequestInit` with the names of authentication schemes, if they differ from those of the API."""

CROSS_ORIGIN_BODY: Final = "cross_origin_body"
"""The member of a `RequestInit` that allows sending the body again when redirected to another origin."""

WITHOUT: Final = "without"
"""The member of a `RequestInit` with the names, in lower case, of client headers and parameters that are not added."""

INERT_HEADERS: Final = frozenset(
    {
        "baggage",
        "cache-control",
        "idempotency-key",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-unmodified-since",
        "pragma",
        "prefer",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-correlation-id",
        "x-request-id",
    }
)
"""Headers that do not change the content of a response, in lower case."""

CONDITIONS: Final = INERT_HEADERS & {
    "cache-control",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "pragma",
}
"""Headers that decide whether a response has content: only calls with equal values share a request."""

_OF_CONNECTION: Final = frozenset({"connection", "content-length", "content-type", "host", "transfer-encoding"})


class RetryPolicy(Protocol):
    """Decides whether and when a failed request is repeated; `Retries` is one."""

    def applies_to(self, endpoint: Any, /) -> bool:
        """Whether requests of this endpoint may be sent twice."""
        ...

    def delay(self, attempt: int, error: BaseException, now: float, /) -> float | None:
        """Milliseconds to wait after the given attempt (0 for the first one) failed; None to give up."""
        ...


def refuse_header(
    name: object, value: object, where: str, credentials: Collection[str], *, has_body: bool = False
) -> None:
    """Raise TypeError or ValueError for a header that a call cannot set; the message never contains its value.

    None as value is valid: it removes a header. `credentials` are the names, in lower case, of headers that
    authenticate. With `has_body`, `Content-Type` is allowed.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name among the {where} is of type {type(name).__name__}; expected a string")
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise ValueError(f"{name!r} among the {where} is not a valid header name; use letters, digits and '-'")
    lower = name.lower()
    if lower in credentials:
        raise ValueError(f"{name!r} among the {where} is a credential; pass token=… instead")
    if lower in _OF_CONNECTION and not (has_body and lower == "content-type"):
        raise ValueError(f"{name!r} among the {where}: the HTTP client sets this header itself; remove it")
    if value is None:
        return
    if not isinstance(value, str):
        raise TypeError(
            f"{name!r} among the {where} is of type {type(value).__name__}; expected a string, or None to "
            "remove the header"
        )
    flaw = flaw_in(value)
    if flaw is not None:
        raise ValueError(f"{name!r} among the {where} cannot be sent: its value, not shown here, has {flaw}; remove it")


def refuse_parameter(name: object, of: str, credentials: Collection[str]) -> None:
    """Raise ValueError for a query parameter that authenticates: one with a name in `credentials`."""
    if name in credentials:
        raise ValueError(f"{name!r} in the query of {of} is a credential; pass token=… instead")


def flaw_in(value: str, charset: str = "ASCII") -> str | None:
    """Return what makes a string invalid as the value of a header, for messages; None if it is valid."""
    if isinstance(value, ArgumentText):
        return None  # checked when it was created
    if not value.isprintable() and any(unicodedata.category(character) == "Cc" for character in value):
        return "a line break or another control character"
    try:
        value.encode(charset)
    except UnicodeEncodeError:
        return f"a character outside {charset}"
    return "space at its beginning or end" if value.strip() != value else None
