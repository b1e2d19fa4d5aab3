"""What a call can be told besides its arguments: headers and parameters of it, tokens, retries."""

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
"""Names of headers, in lower case, on which it depends what entities say; beside them those of `_NEGOTIATING`."""

_NEGOTIATING: Final = ("accept", "accept-language")

HIDDEN: Final = "…"
"""Represents a secret in messages."""


class ArgumentText(str):
    """The value of a header that was given as an argument, checked already; one that is secret is shown nowhere."""

    secret: bool = False

    def __new__(cls, text: str, *, secret: bool = False) -> ArgumentText:
        """A string that can be the value of a header."""
        made = super().__new__(cls, text)
        made.secret = secret
        return made

    def __repr__(self) -> str:
        return repr(HIDDEN) if self.secret else super().__repr__()


def shown_text(text: str) -> str:
    """The value of a header as it may be shown."""
    return HIDDEN if isinstance(text, ArgumentText) and text.secret else str(text)


class HeaderParam(Struct):
    """A header that is a keyword of a call: `header_params={"scope": restencil.HeaderParam("X-Scope")}`.

    in_key       reading endpoints have it in their key; by default so, but for what is secret or has `partition`
    partition    calls that give it have a store of their own for each value, as it changes what entities say; by
                 default so for Accept, Accept-Language and names with tenant, account, organization or version
    secret       its value is in no key, log, error or repr
    auto         "uuid": where a call gives none, it sends a UUID, the same in its retries, and counts as one that may
                 be repeated
    deprecated   why it is no longer to be given; who gives it is warned

    What is given is a string, number, boolean, date, UUID or the like, or a list of them, which is joined with commas.
    """

    name: str
    in_key: bool | None = None
    partition: bool | None = None
    secret: bool = False
    auto: str | None = None
    deprecated: str | None = None

    @property
    def parts(self) -> bool:
        """Whether calls that give it have a store of their own."""
        if self.partition is None:
            lower = self.name.lower()
            return self.in_key is not True and (lower in _NEGOTIATING or _PARTING(lower) is not None)
        return self.partition

    @property
    def keyed(self) -> bool:
        """Whether it is part of keys and identities."""
        return not (self.secret or self.parts) if self.in_key is None else self.in_key


def check_header_params(name: str, value: Any, endpoint: Any) -> None:
    """Raises TypeError or ValueError for an option `header_params` that cannot be."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} of endpoint {endpoint.label} is {described(value)}; expected a dict of HeaderParam")
    given: dict[Any, Any] = {**value}
    for parameter, param in given.items():
        where = f"{parameter!r} in {name} of endpoint {endpoint.label}"
        if not isinstance(param, HeaderParam):
            raise TypeError(f"{where} is {described(param)}; expected restencil.HeaderParam('X-Name')")
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", param.name):
            raise ValueError(f"{where} has the name {param.name!r}, which no header can have")
        if param.name.lower() in ("authorization", "cookie", "proxy-authorization"):
            raise ValueError(f"{where} is the header {param.name!r}, which says who asks; give the client a token")
        if param.secret and param.in_key:
            raise ValueError(f"{where} is secret, so it cannot be part of a key")
        if param.auto not in (None, "uuid"):
            raise ValueError(f"{where} has auto={param.auto!r}; it is 'uuid' or None")


def header_text(value: Any, what: str, *, secret: bool = False) -> ArgumentText:
    """The text of a value in wire form as that of a header; a list is joined with commas. `what` names the parameter.

    Raises TypeError for a value without a string, ValueError for one that no header can hold; what is secret is not
    shown.
    """
    items: Iterable[Any] = value if is_items(value) else (value,)
    texts: list[str] = []
    for item in items:
        text = scalar_text(item)
        if text is None or item is None:
            raise TypeError(f"{what} is {described(item)}, which has no text in a header")
        texts.append(text)
    joined = ", ".join(texts)
    flaw = _flaw(joined)
    if flaw:
        shown = ", not shown here," if secret else f" {joined!r}"
        raise ValueError(f"{what} cannot be sent: its value{shown} has {flaw}; remove it")
    return ArgumentText(joined, secret=secret)


def _flaw(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in text):
        return "a line break or another control character"
    if any(ord(character) > 0xFF for character in text):
        return "a character outside Latin-1"
    return "space at its beginning or end" if text.strip(" ") != text else ""


class ClientParam(Struct):
    """An argument of a client: a header or a search parameter of all its requests, or a part of the URL of a server.

    Made by one of the class methods. Where the client is not given it, the environment variable `env` counts, then
    `default`; one that is `required` and has neither is an error. `secret` is shown nowhere.
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
        """A header of this name."""
        return cls("header", name, default, env, required, secret, None, deprecated)

    @classmethod
    def query(
        cls,
        name: str,
        *,
        default: Any = None,
        env: str | None = None,
        required: bool = False,
        style: str | None = None,
        deprecated: str | None = None,
    ) -> ClientParam:
        """A search parameter of this name; `style` says how a list is written."""
        return cls("query", name, default, env, required, style=style, deprecated=deprecated)

    @classmethod
    def variable(
        cls, *, default: Any = None, env: str | None = None, required: bool = False, deprecated: str | None = None
    ) -> ClientParam:
        """A variable in the URL of a server."""
        return cls("variable", "", default, env, required, deprecated=deprecated)


class Server(Struct):
    """A place where an API is served: its URL, in which `{name}` is the variable of this name."""

    url: str
    variables: Mapping[str, ClientParam] = {}
    deprecated: str | None = None


# --- who asks, what is tried again, and which headers a call may set -------------------------------------------------


Token: TypeAlias = str | Callable[[], str | None] | Callable[[], Awaitable[str | None]]
"""A secret, or a function that gives it (None: there is none now); an async one with an AsyncController only."""

USE: Final = "auth"
"""The member of what is sent that names the authentication schemes, if they are others than those of the API."""

CROSS_ORIGIN_BODY: Final = "cross_origin_body"
"""The member of what is sent that allows a redirect to another origin to take the body along."""

WITHOUT: Final = "without"
"""The member of what is sent that names, in lower case, what the client's own headers and parameters do not add."""

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
"""Headers that do not change what an answer says of a resource, in lower case."""

CONDITIONS: Final = INERT_HEADERS & {
    "cache-control",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "pragma",
}
"""Headers on which it depends whether there is an answer at all: only calls that set them alike share one."""

_OF_CONNECTION: Final = frozenset({"connection", "content-length", "content-type", "host", "transfer-encoding"})


class RetryPolicy(Protocol):
    """Whether and when a failed request is tried again, as `Retries` says it."""

    def applies_to(self, endpoint: Any, /) -> bool:
        """Whether requests of this endpoint may be sent twice."""
        ...

    def delay(self, attempt: int, error: BaseException, now: float, /) -> float | None:
        """Milliseconds to wait after the given attempt (0 for the first one) failed; None to give up."""
        ...


def refuse_header(name: Any, value: Any, where: str, credentials: Collection[str], *, has_body: bool = False) -> None:
    """Raises TypeError or ValueError for a header that nobody can set for a call; its value is never shown.

    None as value is fine: it takes a header away. `credentials` are the names, in lower case, of those that say who
    asks. With `has_body` it may say of what type that is.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name among the {where} is of type {type(name).__name__}; names of headers are texts")
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise ValueError(f"{name!r} among the {where} is no name that a header can have")
    lower = name.lower()
    if lower in credentials:
        raise ValueError(f"{name!r} among the {where} says who asks; give token=… in its place")
    if lower in _OF_CONNECTION and not (has_body and lower == "content-type"):
        raise ValueError(f"{name!r} among the {where}: the HTTP client sets this header by the request that it sends")
    if value is None:
        return
    if not isinstance(value, str):
        raise TypeError(
            f"{name!r} among the {where} is of type {type(value).__name__}; the value of a header is a string, "
            "or None to take it away"
        )
    flaw = flaw_in(value)
    if flaw is not None:
        raise ValueError(f"{name!r} among the {where} cannot be sent: its value, not shown here, has {flaw}; remove it")


def refuse_parameter(name: Any, of: str, credentials: Collection[str]) -> None:
    """Raises ValueError for a search parameter that says who asks; `credentials` are the names of such."""
    if name in credentials:
        raise ValueError(f"{name!r} in the query of {of} says who asks; give token=… in its place")


def flaw_in(value: str) -> str | None:
    """What a string has that the value of a header cannot have; None where it can be sent."""
    if isinstance(value, ArgumentText):
        return None  # it was looked at when it was given
    if not value.isascii():
        return "a character outside ASCII"
    if not value.replace("\t", " ").isprintable():
        return "a line break or another control character"
    if value.strip() != value:
        return "space at its beginning or end"
    return None
