"""What of a request may still be seen once it was sent: its response knows it without credentials, and so do errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.transport import public_url
from .adapter import request_of_failure, shown_request
from .redaction import SHOWN_HEADERS
from .secrets import hider_of

if TYPE_CHECKING:
    from .library import RawRequest, RawResponse
    from .outgoing import Order


def disclose(order: Order, response: RawResponse) -> None:
    """From now on the response knows of its request what may be shown: no credential is in it, nor in its repr."""
    response.request = _shown(order, response.request)
    following = response.next_request
    if following is not None:
        response.next_request = _shown(order, following)
    for earlier in response.history:
        disclose(order, earlier)
    secrets = order.query_secrets()
    if secrets:
        hide = hider_of(secrets)
        for name, value in list(response.headers.items()):
            hidden = hide(value)
            if hidden != value:
                response.headers[name] = hidden


def disclose_failure(order: Order, error: BaseException) -> None:
    """From now on a failure of the HTTP library knows of its request what may be shown."""
    request = request_of_failure(order.sender.library, error)
    if request is not None:
        error.request = _shown(order, request)  # type: ignore[attr-defined]  # those that have one


def _shown(order: Order, request: RawRequest) -> RawRequest:
    library, url = order.sender.library, request.url
    if order.shown is not None or url.userinfo:
        text = public_url(str(url))
        if order.shown is not None:
            # A server that redirects may take the query along.
            text = order.public if text.partition("?")[0] == order.public.partition("?")[0] else text.partition("?")[0]
        url = library.parsed_url(text)
    return shown_request(library, request, url, SHOWN_HEADERS)
