"""Redirects: from the first response to the final one, its body read, or an error.

Where a redirect leads is worked out by the HTTP library (`next_request`). It is followed here, because the libraries
silently make a GET of a change, send a body and unknown headers to any origin, and read bodies of any size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..base.calls import CROSS_ORIGIN_BODY
from .bodies import rewind
from .cookies import add_cookies
from .deadlines import limit_steps
from .failures import (
    body_left_origin,
    body_not_repeatable,
    endless_redirects,
    method_became_get,
    rejected,
    status_error,
    unusable_location,
)
from .hooks import receive
from .limits import Read, limit_of_body
from .origins import origin_of, remove_credentials, sends_body_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..base.steps import Step, StepsOf
    from .library import AnyClient, RawRequest, RawResponse
    from .outgoing import OutgoingRequest

MAX_REDIRECTS: Final = 20
_NOT_MODIFIED: Final = 304


def _following_request(outgoing: OutgoingRequest, response: RawResponse) -> RawRequest:
    """The request that a redirect leads to. Raises StatusError for one that cannot be, or must not be, sent."""
    following = response.next_request
    if following is None:  # httpx2 gives None for a Location that is no URL; httpx has raised
        raise unusable_location(outgoing, response, ValueError("it cannot be read"))
    if following.url.scheme not in ("http", "https"):
        raise unusable_location(outgoing, response, ValueError(f"its scheme is {following.url.scheme!r}"))
    lost_change = method_became_get(outgoing, response, following)
    if lost_change is not None:
        raise lost_change
    if sends_body_elsewhere(response.request, following) and not outgoing.init.get(CROSS_ORIGIN_BODY):
        raise body_left_origin(outgoing, response, following)
    if following.method != response.request.method:
        following.headers.pop("content-type", None)  # it goes on without content
    obstacle = rewind(following)
    if obstacle is not None:
        raise body_not_repeatable(outgoing, response, obstacle)
    return following


def follow_redirects(
    client: AnyClient, outgoing: OutgoingRequest, response: RawResponse, send: Callable[[RawRequest, Any], Step]
) -> StepsOf[RawResponse]:
    """Steps: the final response, from the first one; `send(request, auth)` is the step that sends a request.

    Raises NetworkError for a final response that is an error.
    """
    library = outgoing.transport.library
    redirect = outgoing.init.get("redirect") or "follow"
    origin = origin_of(response.request.url)
    at_home = True
    followed = 0
    while response.has_redirect_location and redirect != "manual":
        yield Read(response)
        if redirect == "error":
            raise status_error(outgoing, response, "redirected, which request_init['redirect'] = 'error' refuses")
        followed += 1
        if followed > MAX_REDIRECTS:
            raise endless_redirects(outgoing, MAX_REDIRECTS)
        following = _following_request(outgoing, response)
        at_home = at_home and origin_of(following.url) == origin
        outgoing.is_conditional = outgoing.is_conditional and at_home
        if not at_home:
            remove_credentials(library, following)
        add_cookies(client, outgoing, following, at_home=at_home)
        limit_steps(following, outgoing.deadline)
        try:
            response = yield send(following, library.use_client_default if at_home else None)
        except library.unreachable as error:
            raise unusable_location(outgoing, response, error) from error
        receive(outgoing, response)
    accepted = 200 <= response.status_code < 300 or (response.status_code == _NOT_MODIFIED and outgoing.is_conditional)
    if accepted and outgoing.stream:
        limit = limit_of_body(response)
        if limit is not None:
            limit.whole = False
    else:
        yield Read(response)
    if not accepted:
        raise rejected(outgoing, response)
    return response
