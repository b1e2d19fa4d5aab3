"""Cookies of a principal: the cookies that a request sends, and the storage of those in its response.

An HTTP client has one cookie jar, so two logged-in users that share a client would share a session. Each transport
therefore stores the cookies of its own responses; cookies that a user added to the client's jar are sent with all
requests. Cookies without a domain are sent only to the first origin; the HTTP libraries send them to every host.
"""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final

from ..base.transport import origin_of
from .outgoing import OutgoingRequest, current_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .library import AnyClient, RawRequest, RawResponse, Url

CREDENTIALS: Final = ("omit", "same-origin", "include")
"""The values of `request_init["credentials"]`."""


class _StoreNothing(DefaultCookiePolicy):
    """The policy of a jar that stays empty."""

    def set_ok(self, cookie: object, request: object) -> bool:
        return False


def empty_jar() -> CookieJar:
    """Return a jar that stores no cookies of responses."""
    return CookieJar(_StoreNothing())


class _OfOthers:
    """Replaces `extract_cookies` of a user's jar: it ignores responses whose cookies are stored by their transport."""

    def __init__(self, jar: CookieJar) -> None:
        self._jar = jar

    def __call__(self, response: Any, request: Any) -> None:
        in_progress = current_request.get()
        if in_progress is None or not in_progress.has_own_cookies:
            type(self._jar).extract_cookies(self._jar, response, request)


def protect_jar(client: AnyClient) -> None:
    """Prevent the jar of a user's client from storing cookies that transports store themselves."""
    jar = client.cookies.jar
    if not isinstance(jar.extract_cookies, _OfOthers):
        jar.extract_cookies = _OfOthers(jar)  # type: ignore[method-assign]  # of this jar alone


def add_cookies(client: AnyClient, outgoing: OutgoingRequest, request: RawRequest, *, at_home: bool) -> None:
    """Set the cookies of a request: those of its own header, of the client's jar and of the transport's jar.

    `at_home` is false once a redirect left the first origin; then only cookies with a domain are sent.
    """
    given, kept = client.cookies.jar, outgoing.transport.jar
    own = _cookie_header(outgoing.headers) if at_home else None
    if request is outgoing.request:
        own = own or client.headers.get("cookie")
    request.headers.pop("cookie", None)
    if _uses_cookies(outgoing, request.url):
        sent = CookieJar()
        for cookie in (*given, *(kept or ())):
            if at_home or cookie.domain:
                sent.set_cookie(cookie)
        outgoing.transport.library.Cookies(sent).set_cookie_header(request)
    if own is not None:
        added = request.headers.get("cookie")
        request.headers["cookie"] = f"{own}; {added}" if added else own


def has_cookies(client: AnyClient, outgoing: OutgoingRequest) -> bool:
    """Return whether a jar contains a cookie that a request could send."""
    for jar in (client.cookies.jar, outgoing.transport.jar):
        if jar is not None and next(iter(jar), None) is not None:
            return True
    return False


def keep_cookies(outgoing: OutgoingRequest, response: RawResponse) -> None:
    """Store the cookies of a response in the jar of the transport, if it has one and the request may use cookies."""
    jar = outgoing.transport.jar
    if jar is None:
        return
    for name, _ in response.headers.raw:
        if name.lower() == b"set-cookie" and _uses_cookies(outgoing, response.request.url):
            outgoing.transport.library.Cookies(jar).extract_cookies(response)
            return


def _cookie_header(headers: Mapping[str, str]) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == "cookie"), None)


def _uses_cookies(outgoing: OutgoingRequest, url: Url) -> bool:
    credentials = outgoing.init.get("credentials") or "same-origin"
    if credentials == "same-origin":
        base = outgoing.transport.base
        return not base or origin_of(str(url)) == origin_of(str(outgoing.transport.library.URL(base)))
    return bool(credentials == "include")
