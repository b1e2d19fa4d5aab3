"""Outgoing requests with their state while they are sent, and their `User-Agent`."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, cast

from ..base.calls import flaw_in
from ..base.durations import Timeout, timeout_of, whole_of
from ..base.steps import CallContext, current_call
from ..base.transport import has_scheme, joined, public_url
from ..base.values import described
from .auth import Ready, Unsigned
from .secrets import credentials, header_secrets, hider_of, query_secrets

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

    from ..base.transport import RequestInit, Transport
    from .auth import Api
    from .library import Library, RawRequest, RawResponse


VERSION: Final = "0.1.0"
"""The version of this library."""

_GENERATED: Final = "_client"
"""The module of a generated package that contains its clients."""
_NO_TOKEN: Final = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Agent(NamedTuple):
    """The `User-Agent` of a client's requests, unless a call sets one.

    `given` is the argument of the client, which takes precedence over the user's HTTP client; `declared` is from the
    spec. False keeps the one of the HTTP client, and None means not set. `product` is the package and its version.
    """

    given: Any = None
    declared: Any = None
    product: str = ""

    def replacement(self, default: str | None, library: Library) -> str | None:
        """Return the `User-Agent` that replaces the one of the HTTP client; None keeps it."""
        if self.given is not None:
            return self.given or None
        if default != library.user_agent:
            return None
        if self.declared is not None:
            return self.declared or None
        python = f"python/{sys.version_info.major}.{sys.version_info.minor}"
        return f"{self.product} restencil/{VERSION} {python} {library.name}/{library.version}".lstrip()


NOBODY: Final = Agent()
"""The default, without a package."""


def agent_of(kind: type, api: Api | None, given: object) -> Agent:
    """Return the agent of a client of this class.

    Raises TypeError for a `User-Agent` that is neither a string nor False, and ValueError for one that cannot be sent.
    """
    _check(given, f"user_agent of {kind.__name__}")
    if api is None:
        return NOBODY if given is None else Agent(given)
    _check(api.user_agent, f"user_agent of the API of {kind.__name__}")
    name = api.name or _package_of(kind)
    product = "/".join(_NO_TOKEN.sub("-", part) for part in (name, api.version or "") if part) if name else ""
    return Agent(given, api.user_agent, product)


def _package_of(kind: type) -> str:
    """Return the name of the generated package of a client's class or its bases; an empty string without one."""
    home = next((base for base in kind.__mro__ if vars(base).get("_api") is not None), kind)
    package, _, module = home.__module__.rpartition(".")
    return package.rpartition(".")[2] if module == _GENERATED else ""


def _check(text: object, what: str) -> None:
    if text is None or text is False:
        return
    if not isinstance(text, str):
        raise TypeError(f"{what} is {described(text)}; expected a string, or False for the default of the HTTP library")
    flaw = flaw_in(text)
    if not text.strip():
        raise ValueError(f"{what} is empty; pass False for the default of the HTTP library")
    if flaw is not None:
        raise ValueError(f"{what} cannot be sent: it has {flaw}; remove it from {text!r}")


Headers: TypeAlias = dict[str, str]


def headers_in(init: RequestInit) -> Headers:
    """Return the headers in a `RequestInit` as a dict."""
    own: Any = init.get("headers")
    return cast("Headers", own if type(own) is dict else dict(own or ()))


class OutgoingRequest:
    """The outgoing request of a `RequestInit`, and its state while it is sent.

    `prepared` contains the URL and headers with credentials. The timeout is that of `init`, else the given one, else
    that of the transport. Raises ValueError for a relative URL without a base URL.

    method                of the first request
    url                   its URL; `public` is the URL for messages, `shown` the same if a `url` with secrets differs
    init                  the `RequestInit` of the endpoint: method, body, redirect and so on
    headers               its headers, including those with credentials
    timeout               milliseconds or a Timeout; `deadline` is the time of the monotonic clock at which it ends
    stream                whether the body of the response is not read
    call                  while it is sent, its call; None for a request to a server other than the API
    missing_credential    the message, with a fix, if it lacks the credential that its API requires
    is_bare               whether it omits headers, parameters and auth of the HTTP client, as for a token server
    is_conditional        whether 304 is a valid status of its response
    has_own_cookies       whether its transport stores cookies, instead of the client of the user
    request               its first request object of the HTTP library
    last_response         the response to the last request, whose body may be unread; None while a request is sent
    """

    __slots__ = (
        "_began",
        "_credential_hider",
        "_ended",
        "call",
        "deadline",
        "has_own_cookies",
        "headers",
        "init",
        "is_bare",
        "is_conditional",
        "last_response",
        "method",
        "missing_credential",
        "public",
        "request",
        "shown",
        "stream",
        "timeout",
        "transport",
        "url",
    )

    def __init__(
        self,
        transport: Transport,
        url: str,
        init: RequestInit,
        prepared: Ready | None,
        timeout: float | Timeout | None,
        *,
        stream: bool = False,
        is_bare: bool = False,
    ) -> None:
        self.transport = this = cast("SendingTransport", transport)  # pyright takes no cached property for a property
        own: Any = init.get("timeout")
        if own is not None:
            timeout = timeout_of(own, "timeout of request_init")
        elif timeout is None:
            timeout = this.timeout
        address, self.headers = (url, headers_in(init)) if prepared is None else (prepared[0], prepared[1])
        absolute = public = address if has_scheme(address) else _absolute(address, this.base)
        if prepared is not None:
            # Additions to the query string may be secret; the rest of the URL is not.
            path, _, query = absolute.partition("?")
            given = url.partition("?")[2]
            if query != given:
                public = f"{path}?{given}" if given else path
        if "@" in public:
            public = public_url(public)
        self.url = absolute
        self.public = public
        self.shown = None if prepared is None or public == absolute else public
        self.init = init
        self.method = str(init.get("method") or "GET").upper()
        self.timeout = timeout
        self.stream = stream
        self.is_bare = is_bare
        self.missing_credential = prepared.missing if isinstance(prepared, Unsigned) else ""
        call = current_call.get()
        is_other = call is None or is_bare or call.transport is not transport
        self.call: CallContext | None = None if is_other else call
        self.is_conditional = False
        self.has_own_cookies = this.jar is not None and not this.owns_client
        self.request: RawRequest | None = None
        self.last_response: RawResponse | None = None
        self._began = time.perf_counter()
        self._ended: float | None = None
        self._credential_hider: Callable[[str], str] | None = None
        whole = None if timeout is None else whole_of(timeout)
        self.deadline = None if whole is None else time.monotonic() + whole / 1000

    @property
    def label(self) -> str:
        """Method and URL, for messages."""
        return f"{self.method} {self.public}"

    @property
    def request_id(self) -> str | None:
        """The response header with the request id, if it is not one of the usual ones."""
        return self.transport.request_id

    def end(self) -> None:
        """Stop measuring the elapsed time, because the response arrived or failed."""
        self._ended = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """The milliseconds from the start until `end`, or until now."""
        return ((self._ended or time.perf_counter()) - self._began) * 1000

    def query_secrets(self) -> set[str]:
        """Return the values that were added to the query string, both encoded and not encoded."""
        return set() if self.shown is None else query_secrets(self.url, self.public)

    def secrets_hider(self) -> Callable[[str], str]:
        """Return a function that hides all possible secrets of this request in strings of the server."""
        return hider_of(self.query_secrets() | header_secrets(self._sent_headers()))

    def credential_hider(self) -> Callable[[str], str]:
        """Return a function that hides the credential of this request in strings of the server."""
        if self._credential_hider is None:  # cached, because a response has several strings
            found = credentials(self._sent_headers(), self.headers, headers_in(self.init))
            self._credential_hider = hider_of(self.query_secrets() | found)
        return self._credential_hider

    def _sent_headers(self) -> Mapping[str, str]:
        return self.headers if self.request is None else {**self.headers, **self.request.headers}


current_request: Final[ContextVar[OutgoingRequest | None]] = ContextVar("restencil_request", default=None)
"""The request that this thread or task is sending; None for requests of the user through the same HTTP client.

The HTTP library calls some of our code without the request: the network backend, the cookie jar, the event hooks and
the filters of its loggers.
"""


class SendingTransport(Protocol):
    """The members of a blocking or async transport that an outgoing request uses."""

    request_id: str | None
    limit: int | None
    timeout: float | Timeout | None
    agent: Agent
    owns_client: bool

    @property
    def library(self) -> Library: ...
    @property
    def base(self) -> str: ...
    @property
    def jar(self) -> CookieJar | None: ...


def _absolute(url: str, base: str) -> str:
    """Join a relative URL with the base URL. Raises ValueError without a base URL."""
    if not base:
        raise ValueError(
            f"the URL {url!r} is relative, but there is no base URL; set url_prefix on the endpoint, "
            "or base_url on the controller or client"
        )
    return joined(base, url)
