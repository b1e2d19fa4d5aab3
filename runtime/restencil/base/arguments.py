"""What is an argument and no part of path or body: headers of calls and of clients, and where an API is served."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from .values import Struct, described, is_items, scalar_text

__all__ = ["ArgumentText", "ClientParam", "HeaderParam", "Server", "header_text"]

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
