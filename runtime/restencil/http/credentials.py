"""Credentials stay with their origin: which cookies a request carries, and what a redirect takes along."""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from http.cookiejar import CookieJar
from typing import Any, Final, TypeAlias, cast

from .adapter import add_cookies, sets_cookies, take_cookies
from .library import AnyClient, Library, RawRequest, RawResponse, Url
from .outgoing import Headers, Order
from .redaction import CONNECTION_HEADERS

CREDENTIALS: Final = ("omit", "same-origin", "include")

Origin: TypeAlias = tuple[str, str, int | None]


def origin_of(url: Url) -> Origin:
    """Scheme, host and port of a URL."""
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


kept_elsewhere: Final[ContextVar[bool]] = ContextVar("restencil_cookies_elsewhere", default=False)
"""Set while the jar of a user's client is to store nothing, in this thread or task: see `watch_jar`."""


class _UsersOwn:
    """The policy of the jar of a user's client: stores nothing of responses whose cookies are kept elsewhere.

    For what the user asks through that client without this library, it is the policy that the jar had before: of its
    class, with its members.
    """

    def set_ok(self, cookie: Any, request: Any) -> bool:
        return not kept_elsewhere.get() and bool(cast(Any, super()).set_ok(cookie, request))

    def __reduce__(self) -> tuple[Any, ...]:
        kind: Any = type(self).__mro__[2]
        policy: Any = object.__new__(kind)
        policy.__dict__ = {**self.__dict__}
        return _users_own, (policy,)


@cache
def _users_own_kind(kind: Any) -> Any:
    return type(_UsersOwn.__name__, (_UsersOwn, kind), {})


def _users_own(policy: Any) -> _UsersOwn:
    kind: Any = policy.__class__
    made: _UsersOwn = object.__new__(_users_own_kind(kind))
    made.__dict__ = policy.__dict__  # what one of them is told from now on, the other one knows
    return made


def watch_jar(client: AnyClient) -> None:
    """From now on the jar of the client stores nothing while `kept_elsewhere` is set."""
    jar: Any = client.cookies.jar
    if not isinstance(jar._policy, _UsersOwn):  # a jar shows its policy nowhere else
        jar.set_policy(_users_own(jar._policy))


def give_cookies(client: AnyClient, order: Order, request: RawRequest, *, at_home: bool) -> None:
    """Adds the cookies that this request may carry: what the user put into the jar of the client, and what was kept.

    `at_home` is false away from the first origin: there, only cookies are sent that belong to a domain, as one that a
    user put into the jar without a domain would otherwise go to every host.
    """
    given, kept = client.cookies.jar, order.sender.jar
    if _is_empty(given) and (kept is None or _is_empty(kept)):
        return
    if not _uses_cookies(order, request.url):
        return
    sent = CookieJar()
    for cookie in (*given, *(kept or ())):
        if at_home or cookie.domain:
            sent.set_cookie(cookie)
    add_cookies(order.sender.library, request, sent)


def keep_cookies(order: Order, response: RawResponse) -> None:
    """Keeps the cookies of a response in the jar of the sender, if it has one and its request went with cookies."""
    jar = order.sender.jar
    if jar is None or not sets_cookies(response):
        return
    if _uses_cookies(order, response.request.url):
        take_cookies(order.sender.library, response, jar)


def _is_empty(jar: CookieJar) -> bool:
    return next(iter(jar), None) is None


def _uses_cookies(order: Order, url: Url) -> bool:
    credentials = order.init.get("credentials") or "same-origin"
    if credentials == "same-origin":
        base = order.sender.base
        return not base or origin_of(url) == origin_of(order.sender.library.parsed_url(base))
    return bool(credentials == "include")


def redirect_headers(library: Library, request: RawRequest, given: Headers, *, same_origin: bool) -> None:
    """Makes the headers of a redirected request those that it may have.

    At another origin only what describes content and connection is left of them.
    """
    headers = request.headers
    headers.pop("cookie", None)
    if same_origin:
        for name, value in given.items():
            if name.lower() == "cookie":
                headers["cookie"] = value
        return
    for name in list(headers):
        if not name.startswith("content-") and name not in CONNECTION_HEADERS:
            del headers[name]
    headers["accept"] = "*/*"
    headers["user-agent"] = library.user_agent
