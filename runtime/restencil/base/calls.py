"""What a call can be told besides its arguments: who asks, whether it is tried again, and which headers it may set."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Protocol, TypeAlias

from .arguments import ArgumentText

__all__ = [
    "CONDITIONS",
    "CROSS_ORIGIN_BODY",
    "INERT_HEADERS",
    "USE",
    "WITHOUT",
    "RetryPolicy",
    "Token",
    "flaw_in",
    "refuse_header",
    "refuse_parameter",
]

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
