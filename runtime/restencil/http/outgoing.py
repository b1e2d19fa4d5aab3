"""What is to be sent, and what the sender of it knows: the common ground of all who work on a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from http.cookiejar import CookieJar
from typing import Any, TypeAlias, cast

from ..base.answers import ORDER
from ..base.durations import Timeout, whole_of
from ..base.errors import NetworkError
from ..base.transport import ImpliedHeader, has_scheme, joined, public_url
from .adapter import guard_of, merged_headers
from .auth import Ready, Unsigned
from .library import AnyClient, Library, RawHeaders, RawRequest, RawResponse
from .limits import Guard
from .redaction import check_values, watch_loggers
from .secrets import credentials, header_secrets, hider_of, query_secrets
from .user_agent import Agent

Headers: TypeAlias = dict[str, str]


def headers_in(init: Mapping[str, Any]) -> Headers:
    """The headers that an endpoint wants sent, as a dict."""
    own: Any = init.get("headers")
    return cast("Headers", own if type(own) is dict else dict(own or ()))


class Order:
    """What is to be sent, and how; `timeout` is in milliseconds or a Timeout, `sender` the one that carries it out.

    `public` is the URL for messages, `shown` the same where it is another one than `url`, else None. `lacking` says
    that it goes without the credential that its API asks for. `request` is the first one that was made of it. One that
    goes `apart` takes nothing along that the client adds by itself: it leads to someone else than the API.
    """

    __slots__ = (
        "_began",
        "_credential_hider",
        "_ended",
        "apart",
        "deadline",
        "headers",
        "init",
        "is_conditional",
        "lacking",
        "public",
        "request",
        "sender",
        "shown",
        "stream",
        "timeout",
        "url",
    )

    def __init__(
        self,
        sender: Sender,
        url: str,
        public: str,
        shown: str | None,
        init: Mapping[str, Any],
        headers: Headers,
        timeout: float | Timeout | None,
        stream: bool,
    ) -> None:
        self.sender = sender
        self.url = url
        self.public = public
        self.shown = shown
        self.init = init
        self.headers = headers
        self.timeout = timeout
        self.stream = stream
        self.lacking = ""
        self.apart = False
        self.is_conditional = False
        """Whether it asks for an answer only if that would be another one than the last."""
        self.request: RawRequest | None = None
        self._began = time.perf_counter()
        self._ended: float | None = None
        self._credential_hider: Callable[[str], str] | None = None
        whole = None if timeout is None else whole_of(timeout)
        self.deadline = None if whole is None else time.monotonic() + whole / 1000

    def guard(self, response: RawResponse, *, whole: bool = True) -> None:
        """The body of this response is read within the limits of the order from now on, whoever reads it.

        That goes for redirects, too, and for the responses that the auth of a client looks at.
        """
        present = guard_of(response)
        if present is not None:
            present.whole = whole
            return
        response.extensions.setdefault(ORDER, self)
        Guard(self.sender.library, response, self.sender.limit, self.deadline, whole=whole)

    @property
    def method(self) -> str:
        """The method of the first request."""
        return str(self.init.get("method") or "GET").upper()

    @property
    def asked(self) -> str:
        """Method and address, for messages."""
        return f"{self.method} {self.public}"

    @property
    def request_id(self) -> str | None:
        """The header in which the API names its requests, if it is none of the usual ones."""
        return self.sender.request_id

    def end(self) -> None:
        """The answer is there, or will not come."""
        self._ended = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Milliseconds until the end, or until now."""
        return ((self._ended or time.perf_counter()) - self._began) * 1000

    def query_secrets(self) -> set[str]:
        """What was added to the query, as it was sent and as it was meant."""
        return set() if self.shown is None else query_secrets(self.url, self.public)

    def secrets_hider(self) -> Callable[[str], str]:
        """Hides in texts of the server what may be a secret that was sent to it."""
        return hider_of(self.query_secrets() | header_secrets(self._sent()))

    def credential_hider(self) -> Callable[[str], str]:
        """Hides in texts of the server the credential that was sent to it; other headers of one's own stay."""
        if self._credential_hider is None:  # an answer has several texts
            self._credential_hider = hider_of(self._credentials())
        return self._credential_hider

    def _credentials(self) -> set[str]:
        return self.query_secrets() | credentials(self._sent(), self.headers, headers_in(self.init))

    def _sent(self) -> Mapping[str, str]:
        return self.headers if self.request is None else {**self.headers, **self.request.headers}


class Sender:
    """What senders of both kinds know: library and client, where relative URLs lead, the limit of a body's size.

    `jar` has the cookies of the responses that came through this sender: those who share a client share none of them.
    It is None where the user's client keeps them itself.
    """

    request_id: str | None = None
    """The header in which the API names its requests, if it is none of the usual ones."""

    def __init__(
        self,
        library: Library,
        given: AnyClient | None,
        base: str,
        limit: int | None,
        agent: Agent,
        *,
        keeps_cookies: bool,
    ) -> None:
        watch_loggers(library)
        self.library = library
        #: What carrying an order out may raise, and what is made one NetworkError of it.
        self.failures: tuple[type[Exception], ...] = (NetworkError, *library.failures)
        self.owns = given is None
        self.jar = CookieJar() if keeps_cookies else None
        self.limit = limit
        self._agent = agent
        self._given = given
        self._base = base
        self._last: tuple[Any, Headers, bytes, bool, RawHeaders, dict[str, str] | None] | None = None

    @property
    def base(self) -> str:
        """Where relative URLs lead: the base URL of the transport, else that of the user's client."""
        return self._base or ("" if self._given is None else str(self._given.base_url))

    def order(
        self,
        url: str,
        init: Mapping[str, Any],
        prepared: Ready | None,
        timeout: float | Timeout | None,
        stream: bool,
    ) -> Order:
        """The order for what an endpoint made; `prepared` are the URL and the headers that are really sent.

        Raises ValueError for a relative URL without a base.
        """
        if prepared is not None:
            address, headers = prepared[0], prepared[1]
        else:
            address, headers = url, headers_in(init)
        absolute = public = address if has_scheme(address) else _resolved(address, self.base)
        if prepared is not None:
            # What was added to the query may be a secret; where the request really goes is none.
            path, _, query = absolute.partition("?")
            given = url.partition("?")[2]
            if query != given:
                public = f"{path}?{given}" if given else path
        if "@" in public:
            public = public_url(public)
        shown = None if prepared is None or public == absolute else public
        order = Order(self, absolute, public, shown, init, headers, timeout, stream)
        if isinstance(prepared, Unsigned):
            order.lacking = prepared.lacking
        return order

    def headers(self, client: AnyClient, own: Headers, host: bytes) -> RawHeaders:
        """The client's headers with an endpoint's over them, for one request. Raises ValueError for one that cannot be.

        The last ones are kept, as they seldom change: "direct call".
        """
        default = client.headers.raw
        implied = type(own.get("Accept")) is ImpliedHeader  # which equals one that was given, and stands elsewhere
        last = self._last
        if last is None or last[2] != host or last[1] != own or last[3] is not implied or last[0] != default:
            check_values(own)
            merged = merged_headers(self.library, self._agent, default, own, host)
            items = dict(merged) if merged.encoding == "ascii" else None
            self._last = last = default, dict(own), host, implied, merged, items
        return self.library.SentHeaders(last[4], last[5])


def _resolved(url: str, base: str) -> str:
    """The absolute URL of a relative one. Raises ValueError without a base."""
    if not base:
        raise ValueError(
            f"the URL {url!r} is relative and there is no base URL: set url_prefix on the endpoint, "
            "or base_url on the controller or client"
        )
    return joined(base, url)
