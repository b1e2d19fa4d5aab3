"""From the first response to the one that counts: redirects followed, the body read, refusals as NetworkError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..base.answers import ORDER
from ..base.calls import CROSS_ORIGIN_BODY
from .adapter import auth_after_redirect, bad_redirect, limit_steps, send, send_async
from .credentials import give_cookies, keep_cookies, origin_of, redirect_headers
from .failures import became_a_read, body_left_origin, could_not_follow, endless, leads_nowhere, refused, status_error
from .library import rewind
from .limits import Read

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..base.steps import Step
    from .library import AnyClient, RawRequest, RawResponse
    from .outgoing import Order

REDIRECTS: Final = ("follow", "error", "manual")
MAX_REDIRECTS: Final = 20
_NOT_MODIFIED: Final = 304


class _Send:
    """A step: sends the request that a redirect led to."""

    __slots__ = ("_auth", "_client", "_request")

    def __init__(self, client: Any, request: RawRequest, auth: Any) -> None:
        self._client = client
        self._request = request
        self._auth = auth

    def take(self, transport: object) -> RawResponse:
        return send(self._client, self._request, self._auth)

    async def take_async(self, transport: object) -> RawResponse:
        return await send_async(self._client, self._request, self._auth)


def _following(order: Order, response: RawResponse) -> RawRequest:
    """The request that a redirect leads to. Raises NetworkError for one that cannot be, or must not be, sent."""
    following = response.next_request
    if following is None:  # httpx2 gives such a redirect without a word; httpx has raised
        raise leads_nowhere(order, response, ValueError("it cannot be read"))
    if following.url.scheme not in ("http", "https"):
        raise leads_nowhere(order, response, ValueError(f"its scheme is {following.url.scheme!r}"))
    misled = became_a_read(order, response, following)
    if misled is not None:
        raise misled
    if _takes_body_elsewhere(response.request, following) and not order.init.get(CROSS_ORIGIN_BODY):
        raise body_left_origin(order, response, following)
    if following.method != response.request.method:
        following.headers.pop("content-type", None)  # it goes on without content
    obstacle = rewind(following)
    if obstacle is not None:
        raise could_not_follow(order, response, obstacle)
    return following


def _takes_body_elsewhere(request: RawRequest, following: RawRequest) -> bool:
    """True for a redirected request that sends a body to another origin than the one that redirected it."""
    headers = following.headers
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return has_body and origin_of(following.url) != origin_of(request.url)


def settled(client: AnyClient, order: Order, response: RawResponse) -> Generator[Step, Any, RawResponse]:
    """The response that counts, from the first one. Raises NetworkError where it is a refusal."""
    library = order.sender.library
    redirect = order.init.get("redirect") or "follow"
    origin = origin_of(response.request.url)
    at_home = True
    followed = 0
    while response.has_redirect_location and redirect != "manual":
        order.guard(response)
        yield Read(response)
        if redirect == "error":
            raise status_error(order, response, "redirected, which request_init['redirect'] = 'error' refuses")
        followed += 1
        if followed > MAX_REDIRECTS:
            raise endless(order, MAX_REDIRECTS)
        following = _following(order, response)
        at_home = at_home and origin_of(following.url) == origin
        order.is_conditional = order.is_conditional and at_home
        redirect_headers(library, following, order.headers, same_origin=at_home)
        give_cookies(client, order, following, at_home=at_home)
        limit_steps(following, order.deadline)
        redirected = response
        try:
            auth = auth_after_redirect(library, client, following.url, order.guard, same_origin=at_home)
            response = yield _Send(client, following, auth)
        except library.unreachable as error:
            raise leads_nowhere(order, bad_redirect(error) or redirected, error) from error
        response.extensions[ORDER] = order
        keep_cookies(order, response)
    accepted = 200 <= response.status_code < 300 or (response.status_code == _NOT_MODIFIED and order.is_conditional)
    order.guard(response, whole=not (accepted and order.stream))
    if not (accepted and order.stream):
        yield Read(response)
    if not accepted:
        raise refused(order, response)
    return response
