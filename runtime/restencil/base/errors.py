"""The errors of the library, which all derive from RestencilError, and copies of errors."""

from __future__ import annotations

from contextlib import suppress
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .transport import HttpResponse


class RestencilError(Exception):
    """The base class of all errors of the library."""


class PathTemplateError(RestencilError, ValueError):
    """A path template has invalid syntax; raised when the endpoint is created.

    `template` is the complete template, `position` the index of the invalid character.
    """

    def __init__(self, template: str, position: int, problem: str) -> None:
        super().__init__(f"path template {template!r}, position {position}: {problem}")
        self.template = template
        self.position = position
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template, self.position, self.problem)


class MissingParameterError(RestencilError, TypeError, ValueError):
    """A required parameter of the path template is absent or None. `parameter` is its name."""

    def __init__(self, parameter: str, template: str) -> None:
        super().__init__(
            f"parameter {parameter!r} of {template!r} is missing; give it as {parameter}=… or in the first argument"
        )
        self.parameter = parameter
        self.template = template

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parameter, self.template)


class NetworkError(RestencilError):
    """A request failed: it was rejected by the server, has no response, or has a response that cannot be used.

        try:
            news.articles.get(id=1)
        except restencil.NotFoundError as error:
            print(error.request_id, error.data)
        except restencil.NetworkError as error:
            print(error.status, error.to_dict())

    status        the HTTP status, or 500 without a response
    response      the response object of the HTTP library, or None; None in pickled and copied errors
    has_response  whether there was a response
    url, method   the request, without credentials
    attempts      the number of attempts, with the first one
    elapsed       the duration of the last attempt in milliseconds
    request_id    the id that the server gave the request, or None
    retry_after   the milliseconds after which the server accepts a retry, or None
    body          the first 64 KiB of the response body, as bytes; a credential in it is `[redacted]`
    data          the body, up to 1 MB, in the type of the endpoint's `errors`, else its JSON, else None
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 500,
        response: HttpResponse | None = None,
        url: str = "",
        method: str = "",
        attempts: int = 1,
        elapsed: float = 0.0,
        request_id: str | None = None,
        retry_after: float | None = None,
        body: bytes = b"",
        data: Any = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.response = response
        self.has_response = response is not None
        self.url = url
        self.method = method
        self.attempts = attempts
        self.elapsed = elapsed
        self.request_id = request_id
        self.retry_after = retry_after
        self.body = body
        self.data: Any = data

    def __str__(self) -> str:
        notes = [] if self.request_id is None else [f"request id {self.request_id}"]
        if self.attempts > 1:
            notes.append(f"{self.attempts} attempts")
        return super().__str__() + (f" ({', '.join(notes)})" if notes else "")

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for logs and reports: `name`, `message`, and all members except response, body and data."""
        return {
            "name": type(self).__name__,
            "message": str(self),
            "status": self.status,
            "has_response": self.has_response,
            "method": self.method,
            "url": self.url,
            "attempts": self.attempts,
            "elapsed": self.elapsed,
            "request_id": self.request_id,
            "retry_after": self.retry_after,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # The response of an HTTP library contains the request, and so the credential.
        return _restored, (type(self), self.args, {**self.__dict__, "response": None})


class StatusError(NetworkError):
    """The response has a `status` outside 200–299, or is a redirect that is not followed.

    Common statuses have subclasses of their own, and so have all from 500 to 599.
    """


class BadRequestError(StatusError):
    """The request is invalid: status 400."""


class AuthenticationError(StatusError):
    """Authentication is missing or invalid: status 401."""


class PermissionDeniedError(StatusError):
    """The authenticated client may not do this: status 403."""


class NotFoundError(StatusError):
    """The resource does not exist: status 404."""


class ConflictError(StatusError):
    """The request conflicts with the current state of the resource: status 409."""


class PreconditionFailedError(StatusError):
    """A precondition such as `If-Match` is false, since the resource has changed: status 412."""


class UnprocessableEntityError(StatusError):
    """The request body is well-formed but its content is invalid: status 422."""


class RateLimitError(StatusError):
    """There were too many requests: status 429. `retry_after` is the time to wait in milliseconds, if known."""


class ServerError(StatusError):
    """The server failed: status 500 to 599."""


def response_status(error: BaseException) -> int | None:
    """Return the status of the response that an error is about; None if there was none.

    The `status` of an error may be another one: a response of 200 that cannot be parsed has the `status` 400.
    """
    status: int | None = getattr(getattr(error, "response", None), "status_code", None)
    return status


SERVER_ERROR: Final = 500
"""The lowest HTTP status of a server failure; a request without a response has such a status, too."""

_BY_STATUS: Final[Mapping[int, type[StatusError]]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def error_of_status(status: int) -> type[StatusError]:
    """Return the class of the error for a response with this status."""
    return ServerError if 500 <= status <= 599 else _BY_STATUS.get(status, StatusError)


class ConnectionFailedError(NetworkError):
    """There was no response: no connection, a broken connection, or endless redirects; status 500."""


class EndlessRedirectError(ConnectionFailedError):
    """The server redirects endlessly, so that a retry is pointless; status 500."""


class TimeoutExceededError(ConnectionFailedError):
    """There was no response in time; status 500."""


class AuthError(NetworkError):
    """No token could be obtained: the token server rejected the request, did not respond, or returned no token.

    `status` is that of its response, 500 if there was none; `url` is the URL of the token server.
    """


class ParseError(NetworkError):
    """The body of a JSON response is malformed or empty; status 400."""


class UnexpectedContentError(NetworkError):
    """A response of an endpoint with a schema is text or binary; status 404."""


class ProcessingError(RestencilError):
    """A response does not match its schema; status 400. `response` is the rejected value."""

    def __init__(self, message: str, *, status: int = 400, response: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.response = response

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class ConversionError(ProcessingError):
    """A stored value cannot be decoded or converted; the cause, if any, is the error of the conversion.

    Reads do not raise this: they treat the entity with such a value as unusable. `field` is the field of a record, with
    dots for one of a record in it; `problem` is its value and why that cannot be decoded.
    """

    field = ""
    problem = ""


class AbortError(RestencilError):
    """The request was aborted by its signal, or the request that it had joined was abandoned. It has no status."""


class AbortOptimistic(RestencilError):
    """Raise this in `get_optimistic_response` if there can be no optimistic response."""


class ResetError(RestencilError):
    """The store was reset while the caller waited."""


class StorageError(RestencilError, ValueError):
    """A storage, or a dump, cannot be used."""


class StorageDown(StorageError):
    """The storage does not respond now, but may later."""


class StorageOff(StorageError):
    """The storage can never be used: a newer format, a foreign owner, a network file system."""


class StorageCorrupt(StorageError):
    """The data of the storage is damaged."""


class InvalidDataError(RestencilError):
    """The data is still unusable after a suspending read has fetched it; status 400."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class HookScopeError(RestencilError, RuntimeError):
    """A `use_…` function was called outside of `with hook_scope():`, or inside a hook."""


class MissingFieldError(RestencilError, AttributeError):
    """A required field of a record has no value: no response had it, or its entity is not in the store.

    `reason` explains why, and which response would have the value.
    """

    def __init__(self, owner: str, pk: str | None, field: str, reason: str = "") -> None:
        subject = owner if pk is None else f"{owner} {pk!r}"
        reason = reason or "no response had it so far, or its entity is not in the store"
        super().__init__(
            f"{subject} has no value for its required field {field!r}: {reason}; declare it optional if the API may "
            "leave it out"
        )
        self.owner = owner
        self.pk = pk
        self.field = field
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.pk, self.field, self.reason)


def _restored(kind: type[RestencilError], args: tuple[object, ...], members: dict[str, Any]) -> RestencilError:
    """Create an error from its arguments and members, for copying and pickling."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(members)
    return error


def reason_of(error: BaseException) -> str:
    """Return the reason of a failure for logs, without content of a response."""
    kind = type(error).__name__
    if not isinstance(error, NetworkError):
        return kind
    return f"{kind}: {error}" if error.response is None else f"{kind} with status {error.status}"


# --- copies ----------------------------------------------------------------------------------------------------------
#
# A raised exception references all frames of its traceback and their variables, and its traceback grows each time it
# is raised. So a copy is stored, and a copy is raised to each further caller: of the same class, with the same
# arguments and attributes.


E = TypeVar("E", bound=BaseException)

_BUILT_IN = "builtins"


def copy_of(error: E) -> E:
    """Return a copy of an exception and its causes without tracebacks.

    No code of its class runs, so that the class may have any signature.
    """
    return cast("E", _copy(error, {}))


def kept(error: E) -> E:
    """Return the error to store: the error itself if it was never raised, else a copy."""
    never_raised = error.__traceback__ is None and error.__cause__ is None and error.__context__ is None
    return error if never_raised else copy_of(error)


def copy_with_traceback(error: E) -> E:
    """Return a copy to raise instead of an error, with its current traceback and causes."""
    copied = _copy(error, None)
    copied.__cause__, copied.__context__ = error.__cause__, error.__context__
    copied.__suppress_context__ = error.__suppress_context__
    return cast("E", copied.with_traceback(error.__traceback__))


def _copy(error: BaseException, made: dict[int, BaseException] | None) -> BaseException:
    """Copy an exception; with `made`, the copies by the ids of their originals, its causes are copied too."""
    cls = type(error)
    built_in: Any = next(base for base in cls.__mro__ if base.__module__ == _BUILT_IN)
    arguments: tuple[Any, ...] = built_in.__reduce__(error)[1]
    if isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = cast(Any, error)
        inner = group.exceptions if made is None else [_once(one, made) for one in group.exceptions]
        arguments = (group.message, inner)
    copied: BaseException = built_in.__new__(cls, *arguments)
    if made is not None:
        made[id(cast(object, error))] = copied
    built_in.__init__(copied, *arguments)
    if not isinstance(error, BaseExceptionGroup):
        copied.args = error.args
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                with suppress(AttributeError, TypeError):  # slots that are not set or read-only
                    value = member.__get__(error)
                    if value is not None:
                        member.__set__(copied, value)
    copied.__dict__.update(error.__dict__)
    if made is not None:
        if error.__cause__ is not None:
            copied.__cause__ = _once(error.__cause__, made)
        if error.__context__ is not None:
            copied.__context__ = _once(error.__context__, made)
        copied.__suppress_context__ = error.__suppress_context__
    return copied


def _once(error: BaseException, made: dict[int, BaseException]) -> BaseException:
    found = made.get(id(error))
    return _copy(error, made) if found is None else found
