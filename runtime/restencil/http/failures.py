"""The errors of failed and rejected requests, with method, URL, status, and the message of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from ..base.response import ERROR_TYPES, ORDER, detail_of, error_members, method_of, url_of
from ..base.transport import origin_text, public_url
from .library import library_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.response import ErrorTypes
    from .library import RawRequest, RawResponse
    from .outgoing import OutgoingRequest

NOT_REPEATED: Final = "restencil_not_repeated"
"""The extension of a response with the reason why its request body cannot be sent again."""

_CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")
_SEE_OTHER: Final = 303
_REWRITING: Final = (301, 302, _SEE_OTHER)
"""Statuses of redirects that clients follow with GET, always or depending on the method."""
_UNAUTHORIZED: Final = 401


def failure_of(outgoing: OutgoingRequest, error: BaseException) -> NetworkError:
    """Return the error for a failure of the HTTP library while it sent a request or read its response."""
    return _failure(outgoing.label, error, _limit_of(outgoing, error), outgoing.secrets_hider(), _about(outgoing))


def stream_failure(response: Any, error: BaseException) -> NetworkError:
    """Return the error for a failure while the body of a response was streamed."""
    outgoing: OutgoingRequest | None = response.extensions.get(ORDER)
    if outgoing is not None:
        return failure_of(outgoing, error)
    members = {"url": url_of(response), "method": method_of(response)}  # a response of the user's own hook
    return _failure(f"{members['method']} {members['url']}", error, None, str, members)


def _failure(
    label: str, error: BaseException, limit: float | None, hide: Callable[[str], str], members: dict[str, Any]
) -> NetworkError:
    step = _overdue_step(error)
    if step is not None:
        within = "in time" if limit is None else f"within {limit:g} ms"
        return TimeoutExceededError(f"{label}: no response {within} ({step})", **members)
    reason = hide(str(error) or type(error).__name__)
    if _is_broken_connection(error):
        return ConnectionFailedError(f"{label}: connection failed: {reason}", **members)
    return NetworkError(f"{label}: {reason}", **members)


def endless_redirects(outgoing: OutgoingRequest, followed: int) -> NetworkError:
    """Return the error for too many redirects."""
    return EndlessRedirectError(f"{outgoing.label}: redirected more than {followed} times", **_about(outgoing))


def _about(outgoing: OutgoingRequest) -> dict[str, Any]:
    return {"url": outgoing.public, "method": outgoing.method, "elapsed": outgoing.elapsed}


def _limit_of(outgoing: OutgoingRequest, error: BaseException) -> float | None:
    """Return the exceeded limit in milliseconds: that of the request, else that of the client; None if unknown."""
    step = _overdue_step(error)
    if step is None:
        return None
    whole = None if outgoing.timeout is None else whole_of(outgoing.timeout)
    if outgoing.request is None or (whole is not None and outgoing.elapsed >= whole):
        return limit_of(outgoing.timeout, step)
    limits: Any = outgoing.request.extensions.get("timeout", {})
    seconds: float | None = limits.get(step)
    return None if seconds is None else seconds * 1000


def unusable_location(outgoing: OutgoingRequest, redirect: RawResponse, error: BaseException) -> StatusError:
    """Return the error for a redirect to an invalid URL."""
    location = outgoing.secrets_hider()(redirect.headers.get("location", ""))[:200]
    return status_error(
        outgoing, redirect, f"redirected, but its Location is {location!r}, which is not a valid URL ({error})"
    )


def method_became_get(outgoing: OutgoingRequest, response: RawResponse, following: RawRequest) -> StatusError | None:
    """Return the error for a redirect that would change a mutation to GET; None for other redirects."""
    method, status = response.request.method, response.status_code
    if status not in _REWRITING or method not in _CHANGES or status in outgoing.init.get("follow_as_get", ()):
        return None
    target = public_url(str(following.url))
    if outgoing.shown is not None:
        # The query string may contain a secret that the server repeats.
        target = target.partition("?")[0]
    return status_error(
        outgoing,
        response,
        f"redirected to {target}, which would turn {method} into GET: the change may not have happened; if the URL "
        "needs a trailing slash, add it to `path`"
        + ("; if the server redirects after a change, set follow_see_other=True" if status == _SEE_OTHER else ""),
    )


def body_left_origin(outgoing: OutgoingRequest, redirect: RawResponse, following: RawRequest) -> StatusError:
    """Return the error for a redirect that would send the body of the request to another origin."""
    here, there = origin_text(str(redirect.request.url)), origin_text(str(following.url))
    return status_error(
        outgoing,
        redirect,
        f"redirected from {here} to {there}, but a body is not sent to another origin; if you trust both, set "
        "redirects={'cross_origin_body': True} on the endpoint or the resource",
    )


def body_not_repeatable(outgoing: OutgoingRequest, redirect: RawResponse, obstacle: str) -> StatusError:
    """Return the error for a redirect that requires a body that cannot be sent again."""
    return status_error(outgoing, redirect, f"redirected; {not_repeated(obstacle)}")


def rejected(outgoing: OutgoingRequest, response: RawResponse) -> StatusError:
    """Return the error for a status outside 200–299, with the message of the server in one line."""
    hints: list[str] = []
    if outgoing.missing_credential and response.status_code == _UNAUTHORIZED:
        hints.append(outgoing.missing_credential)
    unrepeated = response.extensions.get(NOT_REPEATED)
    if unrepeated is not None:
        hints.append(not_repeated(unrepeated))
    return status_error(outgoing, response, None, *hints)


def status_error(outgoing: OutgoingRequest, response: RawResponse, problem: str | None, *hints: str) -> StatusError:
    """Return the error for a response, of the class for its status, in the package's own version if there is one.

    `problem` is the message, by default that of the server; `hints` are appended to it.
    """
    response.extensions[ORDER] = outgoing
    status, members = response.status_code, error_members(response)
    if problem is None:
        problem = detail_of(response, members["data"])
    types: ErrorTypes | None = outgoing.init.get(ERROR_TYPES)
    kind = error_of_status(status)
    if types is not None:
        kind = types.class_of(kind)
        members["data"] = types.data_of(status, members["data"])
    text = f"{outgoing.label}: {status} {response.reason_phrase}".rstrip()
    return kind("; ".join([f"{text}: {problem}" if problem else text, *hints]), status=status, **members)


def _overdue_step(error: BaseException) -> str | None:
    """Return the step of a request that timed out: connect, read, write or pool; None for other failures."""
    library = library_behind(error)
    if library is None or not isinstance(error, library.TimeoutException):
        return None
    return library.timeouts.get(type(error), "read")


def _is_broken_connection(error: BaseException) -> bool:
    """Return whether a failure is one of the connection, not of parsing the response."""
    library = library_behind(error)
    return isinstance(error, OSError) or (library is not None and isinstance(error, library.TransportError))
