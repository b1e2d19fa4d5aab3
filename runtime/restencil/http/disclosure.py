"""What of a request may still be seen once it was sent: its response knows it without credentials, and so do errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from ..base.transport import public_url
from .adapter import request_of_failure, shown_request
from .redaction import SHOWN_HEADERS

if TYPE_CHECKING:
    from .library import RawRequest, RawResponse
    from .order import Order

_SECRET_LENGTH: Final = 6
"""A shorter word in a header of one's own is taken for no secret."""


def hide_sent(text: str, order: Order) -> str:
    """A text of the server without the credentials that were sent to it."""
    secrets = _query_secrets(order)
    for name, value in order.headers.items():
        if name.lower() not in SHOWN_HEADERS:
            secrets.update((value, *value.replace("=", " ").replace(";", " ").split()))
    return _without(text, secrets)


def disclose(order: Order, response: RawResponse) -> None:
    """From now on the response knows of its request what may be shown: no credential is in it, nor in its repr."""
    response.request = _shown(order, response.request)
    following = response.next_request
    if following is not None:
        response.next_request = _shown(order, following)
    for earlier in response.history:
        disclose(order, earlier)
    secrets = _query_secrets(order)
    if secrets:
        for name, value in list(response.headers.items()):
            hidden = _without(value, secrets)
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


def _query_secrets(order: Order) -> set[str]:
    """What was added to the query, as it was sent and as it was meant."""
    if order.shown is None:
        return set()
    sent = {part.partition("=")[2] for part in order.url.partition("?")[2].split("&")}
    given = {part.partition("=")[2] for part in order.public.partition("?")[2].split("&")}
    return {form for secret in sent - given for form in (secret, unquote_plus(secret))}


def _without(text: str, secrets: set[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SECRET_LENGTH:
            text = text.replace(secret, "[redacted]")
    return text
