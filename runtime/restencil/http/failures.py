"""What a request raises that failed or was refused: with method, address, status, and what the server said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..base.answers import ERROR_TYPES, ORDER, method_of, said_by, told_by, url_of
from ..base.bodies import not_repeated
from ..base.durations import limit_of, whole_of
from ..base.errors import (
    ConnectionFailedError,
    EndlessRedirectError,
    NetworkError,
    StatusError,
    TimeoutExceededError,
    error_of_status,
)
from ..base.transport import origin_text, public_url
from .adapter import bad_redirect, is_broken_connection, overdue_step
from .library import NOT_REPEATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.answers import ErrorTypes
    from .library import RawRequest, RawResponse
    from .outgoing import Order

_CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")
_SEE_OTHER: Final = 303
_REWRITING: Final = (301, 302, _SEE_OTHER)
"""Redirects that clients follow with a GET: some always, some by method; nobody can know what the server means."""
_UNAUTHORIZED: Final = 401


def failed(order: Order, error: BaseException) -> NetworkError:
    """What a failure on the way of this order is raised as."""
    redirect = bad_redirect(error)
    if redirect is not None:
        return leads_nowhere(order, redirect, error)
    return _failure(order.asked, error, _limit_of(order, error), order.secrets_hider(), _about(order))


def broken_off(response: Any, error: BaseException) -> NetworkError:
    """What is raised where the body of an answer breaks off that is read piece by piece."""
    order: Order | None = response.extensions.get(ORDER)
    if order is not None:
        return failed(order, error)
    members = {"url": url_of(response), "method": method_of(response)}  # a hook of the user's own brought this answer
    return _failure(f"{members['method']} {members['url']}", error, None, str, members)


def _failure(
    asked: str, error: BaseException, limit: float | None, hide: Callable[[str], str], members: dict[str, Any]
) -> NetworkError:
    step = overdue_step(error)
    if step is not None:
        within = "in time" if limit is None else f"within {limit:g} ms"
        return TimeoutExceededError(f"{asked}: no answer {within} ({step})", **members)
    reason = hide(str(error) or type(error).__name__)
    if is_broken_connection(error):
        return ConnectionFailedError(f"{asked}: no connection: {reason}", **members)
    return NetworkError(f"{asked}: {reason}", **members)


def endless(order: Order, followed: int) -> NetworkError:
    """What is raised for redirects that do not end."""
    return EndlessRedirectError(f"{order.asked}: no connection: redirected more than {followed} times", **_about(order))


def _about(order: Order) -> dict[str, Any]:
    return {"url": order.public, "method": order.method, "elapsed": order.elapsed}


def _limit_of(order: Order, error: BaseException) -> float | None:
    """The milliseconds that the step had which took too long: those of the order, else those of the client."""
    step = overdue_step(error)
    if step is None:
        return None
    whole = None if order.timeout is None else whole_of(order.timeout)
    if order.request is None or (whole is not None and order.elapsed >= whole):
        return limit_of(order.timeout, step)
    limits: Any = order.request.extensions.get("timeout", {})
    seconds: float | None = limits.get(step)
    return None if seconds is None else seconds * 1000


def leads_nowhere(order: Order, redirect: RawResponse, error: BaseException) -> StatusError:
    """What is raised for a redirect to something that is no URL, or to one that no request can go to."""
    location = order.secrets_hider()(redirect.headers.get("location", ""))[:200]
    return status_error(
        order, redirect, f"redirected, but its Location, {location!r}, is no URL that can be requested ({error})"
    )


def became_a_read(order: Order, response: RawResponse, following: RawRequest) -> StatusError | None:
    """What a redirect raises that could make a GET of a change; None for any other redirect."""
    method, status = response.request.method, response.status_code
    if status not in _REWRITING or method not in _CHANGES or status in order.init.get("follow_as_get", ()):
        return None
    target = public_url(str(following.url))
    if order.shown is not None:
        # The query may hold a secret, which the server only said after us.
        target = target.partition("?")[0]
    return status_error(
        order,
        response,
        f"redirected to {target}, which would make a GET of a {method}: the change may not have happened; if the path "
        "wants a slash at its end, write it in `path`"
        + ("; if the server answers so on purpose, give follow_see_other=True" if status == _SEE_OTHER else ""),
    )


def body_left_origin(order: Order, redirect: RawResponse, following: RawRequest) -> StatusError:
    """The error of a redirect that would send the body of the request to another origin."""
    here, there = origin_text(str(redirect.request.url)), origin_text(str(following.url))
    return status_error(
        order,
        redirect,
        f"redirected from {here} to {there}, and a body is not sent to another origin; if both are yours, give the "
        "endpoint or the resource redirects={'cross_origin_body': True}",
    )


def could_not_follow(order: Order, redirect: RawResponse, obstacle: str) -> StatusError:
    """What a redirect raises that asks for the body once more, which cannot be sent again."""
    return status_error(order, redirect, f"redirected; {not_repeated(obstacle)}")


def refused(order: Order, response: RawResponse) -> StatusError:
    """The error of a status outside 200–299: with what the server said, in one line."""
    hints: list[str] = []
    if order.lacking and response.status_code == _UNAUTHORIZED:
        hints.append(order.lacking)
    unrepeated = response.extensions.get(NOT_REPEATED)
    if unrepeated is not None:
        hints.append(unrepeated)
    return status_error(order, response, None, *hints)


def status_error(order: Order, response: RawResponse, said: str | None, *hints: str) -> StatusError:
    """The error of an answer that is none to go on with: by its status, of the package's own class where it has one.

    `said` is what went wrong, None: what the server says of it. `hints` stand behind that.
    """
    response.extensions[ORDER] = order  # the HTTP library may have kept this answer to itself
    status, members = response.status_code, told_by(response)
    if said is None:
        said = said_by(response, members["data"])
    types: ErrorTypes | None = order.init.get(ERROR_TYPES)
    kind = error_of_status(status)
    if types is not None:
        kind = types.class_of(kind)
        members["data"] = types.data_of(status, members["data"])
    text = f"{order.asked}: {status} {response.reason_phrase}".rstrip()
    return kind("; ".join([f"{text}: {said}" if said else text, *hints]), status=status, **members)
