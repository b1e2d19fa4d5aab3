"""Credentials stay with their origin: which cookies a request carries, and what a redirect takes along."""

from __future__ import annotations

from contextvars import ContextVar, Token
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeAlias

from .adapter import USER_AGENT, AnyClient, RawRequest, Url, add_cookies, parsed_url
from .order import Headers, Order
from .redaction import CONNECTION_HEADERS

CREDENTIALS: Final = ("omit", "same-origin", "include")

Origin: TypeAlias = tuple[str, str, int | None]


def origin_of(url: Url) -> Origin:
    """Scheme, host and port of a URL."""
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


_with_cookies: Final[ContextVar[bool]] = ContextVar("restencil_with_cookies", default=True)


class _CookiePolicy(DefaultCookiePolicy):
    """Stores no cookie of a response to a request that went without credentials."""

    def set_ok(self, cookie: Any, request: Any) -> bool:
        return _with_cookies.get() and super().set_ok(cookie, request)


def own_cookies() -> CookieJar:
    """The jar of a client that is opened here."""
    return CookieJar(_CookiePolicy())


def keep_cookies() -> Token[bool]:
    """The jar keeps the cookies of responses from now on, as `give_cookies` decides; `forget_cookies` ends it."""
    return _with_cookies.set(True)


def forget_cookies(token: Token[bool]) -> None:
    """Ends what `keep_cookies` began."""
    _with_cookies.reset(token)


def give_cookies(client: AnyClient, order: Order, request: RawRequest, *, at_home: bool) -> None:
    """Adds the cookies that this request may carry, and tells the jar whether to keep those of its response.

    `at_home` is false away from the first origin: there, only cookies are sent that belong to a domain, as one that a
    user put into the jar without a domain would otherwise go to every host.
    """
    has_cookies = next(iter(client.cookies.jar), None) is not None
    owns = order.sender.owns
    if not has_cookies and not owns:
        return
    use_jar = _uses_cookies(order.init.get("credentials") or "same-origin", order.sender.base, request.url)
    if owns:
        _with_cookies.set(use_jar)
    if use_jar and has_cookies:
        add_cookies(request, client.cookies.jar if at_home else _of_domains(client.cookies.jar))


def _uses_cookies(credentials: str, base: str, url: Url) -> bool:
    if credentials == "same-origin":
        return not base or origin_of(url) == origin_of(parsed_url(base))
    return credentials == "include"


def _of_domains(jar: CookieJar) -> CookieJar:
    """The cookies that belong to a domain."""
    bound = CookieJar()
    for cookie in jar:
        if cookie.domain:
            bound.set_cookie(cookie)
    return bound


def redirect_headers(request: RawRequest, given: Headers, *, same_origin: bool) -> None:
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
    headers["user-agent"] = USER_AGENT
