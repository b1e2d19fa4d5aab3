"""What a request raises that failed or was refused: with method, address, status, and what the server said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ..base.bodies import not_repeated
from ..base.durations import limit_of
from ..base.errors import ConnectionFailedError, NetworkError, TimeoutExceededError
from ..base.transport import public_url
from .adapter import bad_redirect, is_broken_connection, overdue_step
from .disclosure import hide_sent
from .library import NOT_REPEATED

if TYPE_CHECKING:
    from ..base.durations import Timeout
    from .library import RawRequest, RawResponse
    from .order import Order

_CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")
_SEE_OTHER: Final = 303
_REWRITING: Final = (301, 302, _SEE_OTHER)
"""Redirects that clients follow with a GET: some always, some by method; nobody can know what the server means."""
_UNAUTHORIZED: Final = 401
_LINE_LENGTH: Final = 200
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL).search


def first_line(response: Any) -> str:
    """What an answer says for people: the first line of its body, of a page its title; nothing where it is no text."""
    kind = response.headers.get("content-type", "").lower()
    content: bytes = response.content[: _LINE_LENGTH * 100]
    if b"\0" in content:
        return ""
    text = content.decode("utf-8", "replace")
    if "html" in kind:
        title = _TITLE(text)
        text = title[1] if title is not None else ""
    lines = (" ".join(line.split()) for line in text.splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), "")
    return "".join(character for character in line if character.isprintable())[:_LINE_LENGTH]


def failure(asked: str, url: str, timeout: float | Timeout | None, error: BaseException) -> NetworkError:
    """What a failure on the way is raised as; `timeout` is in milliseconds."""
    reason = str(error) or type(error).__name__
    step = overdue_step(error)
    if step is not None:
        limit = limit_of(timeout, step)
        within = "in time" if limit is None else f"within {limit:g} ms"
        return TimeoutExceededError(f"{asked}: no answer {within} ({step}): {reason}", url=url)
    if is_broken_connection(error):
        return ConnectionFailedError(f"{asked}: no connection: {reason}", url=url)
    return NetworkError(f"{asked}: {reason}", url=url)


def failed(order: Order, error: BaseException) -> NetworkError:
    """What a failure on the way of this order is raised as."""
    redirect = bad_redirect(error)
    if redirect is not None:
        return leads_nowhere(order, redirect, error)
    return failure(order.asked, order.public, order.timeout, error)


def leads_nowhere(order: Order, redirect: RawResponse, error: BaseException) -> NetworkError:
    """What is raised for a redirect to something that is no URL, or to one that no request can go to."""
    location = hide_sent(redirect.headers.get("location", ""), order)[:200]
    return NetworkError(
        f"{order.asked}: {redirect.status_code} {redirect.reason_phrase}: redirected, but its Location, {location!r}, "
        f"is no URL that can be requested ({error})",
        status=redirect.status_code,
        response=redirect,
        url=order.public,
    )


def became_a_read(order: Order, response: RawResponse, following: RawRequest) -> NetworkError | None:
    """What a redirect raises that could make a GET of a change; None for any other redirect."""
    method, status = response.request.method, response.status_code
    if status not in _REWRITING or method not in _CHANGES or status in order.init.get("follow_as_get", ()):
        return None
    target = public_url(str(following.url))
    if order.shown is not None:
        # The query may hold a secret, which the server only said after us.
        target = target.partition("?")[0]
    return NetworkError(
        f"{order.asked}: {status} {response.reason_phrase}: redirected to {target}, which would make a GET of a "
        f"{method}: the change may not have happened; if the path wants a slash at its end, write it in `path`"
        + ("; if the server answers so on purpose, give follow_see_other=True" if status == _SEE_OTHER else ""),
        status=status,
        response=response,
        url=order.public,
    )


def could_not_follow(order: Order, redirect: RawResponse, obstacle: str) -> NetworkError:
    """What a redirect raises that asks for the body once more, which cannot be sent again."""
    return NetworkError(
        f"{order.asked}: {redirect.status_code} {redirect.reason_phrase}: redirected; {not_repeated(obstacle)}",
        status=redirect.status_code,
        response=redirect,
        url=order.public,
    )


def refused(order: Order, response: RawResponse) -> NetworkError:
    """The error of a status outside 200–299: with what the server said, in its first line."""
    text = f"{order.asked}: {response.status_code} {response.reason_phrase}".rstrip()
    said = hide_sent(first_line(response), order)
    if said:
        text = f"{text}: {said}"
    if order.lacking and response.status_code == _UNAUTHORIZED:
        text = f"{text}; {order.lacking}"
    unrepeated = response.extensions.get(NOT_REPEATED)
    if unrepeated is not None:
        text = f"{text}; {unrepeated}"
    return NetworkError(text, status=response.status_code, response=response, url=order.public)
