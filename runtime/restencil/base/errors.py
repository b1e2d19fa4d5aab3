"""The errors of the library; all derive from RestencilError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .transport import HttpResponse


class RestencilError(Exception):
    """Base of every error of the library."""


class PathTemplateError(RestencilError, ValueError):
    """A path template breaks the grammar; raised when the endpoint is built.

    `template` is the whole text, `position` the index of the offending character.
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
    """A request failed: refused by the server, without an answer, or with an answer that cannot be used.

        try:
            news.articles.get(id=1)
        except restencil.NotFoundError as error:
            print(error.request_id, error.data)
        except restencil.NetworkError as error:
            print(error.status, error.to_dict())

    status        the HTTP status, or 500 where there was no answer
    response      the answer, as the HTTP library gives it, or None; pickled and copied errors have None
    has_response  whether there was an answer
    url, method   what was asked, without credentials
    attempts      1 and the retries
    elapsed       milliseconds that the last attempt took
    request_id    what the server calls this request, or None
    retry_after   milliseconds after which the server wants to be asked again, or None
    body          the first 64 KiB of the answer, as bytes; a credential in it is `[redacted]`
    data          the body, up to 1 MB, as the endpoint's `errors` say, else its JSON, else None
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
        """The members for logs and error reports: `name`, `message`, and all members but response, body and data."""
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
        # The response of an HTTP library holds the request, and so the credential.
        return _restored, (type(self), self.args, {**self.__dict__, "response": None})


class StatusError(NetworkError):
    """The server answered with a status outside 200–299, or a redirect that is not followed; `status` is its status.

    The statuses that programs ask for have classes of their own, and so have all from 500 to 599.
    """


class BadRequestError(StatusError):
    """The server found the request wrong: status 400."""


class AuthenticationError(StatusError):
    """The server does not know who asks: status 401."""


class PermissionDeniedError(StatusError):
    """The server knows who asks, and refuses: status 403."""


class NotFoundError(StatusError):
    """There is nothing at this address: status 404."""


class ConflictError(StatusError):
    """The request is in conflict with what the server has now: status 409."""


class PreconditionFailedError(StatusError):
    """What the server has is no longer what the request was made for: status 412."""


class UnprocessableEntityError(StatusError):
    """The server understands the body, and finds it wrong: status 422."""


class RateLimitError(StatusError):
    """There were too many requests: status 429. `retry_after` says, in milliseconds, when to come again, if known."""


class ServerError(StatusError):
    """The server failed: status 500 to 599."""


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
    """The class of the error that a refusal with this status is."""
    return ServerError if 500 <= status <= 599 else _BY_STATUS.get(status, StatusError)


class ConnectionFailedError(NetworkError):
    """There was no answer: the server was not found, refused, broke off, or redirected without end; status 500."""


class EndlessRedirectError(ConnectionFailedError):
    """The server redirected without end, so that trying again is of no use; status 500."""


class TimeoutExceededError(ConnectionFailedError):
    """There was no answer in time; status 500."""


class AuthError(NetworkError):
    """There is no token to ask with: the token server refused, or did not answer, or not with a token.

    `status` is that of its answer, 500 where there was none; `url` is its address.
    """


class ParseError(NetworkError):
    """The body of a JSON response is malformed or empty; status 400."""


class UnexpectedContentError(NetworkError):
    """A response that should fit a schema is text or binary; status 404."""


class ProcessingError(RestencilError):
    """A response does not fit its schema; status 400. `response` is the value that was to be processed."""

    def __init__(self, message: str, *, status: int = 400, response: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.response = response

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class ConversionError(ProcessingError):
    """A stored value does not decode or convert; its cause, if any, is what the conversion raised.

    What holds such a value is unusable to its readers: none of them raises this. `field` is the field of a record.
    """

    field = ""


class AbortError(RestencilError):
    """The request was aborted by its signal, or the one it had joined went away. It has no status."""


class AbortOptimistic(RestencilError):
    """Raised in `get_optimistic_response` where no optimistic response can be made."""


class ResetError(RestencilError):
    """The store was reset while the caller waited."""


class StorageError(RestencilError, ValueError):
    """A storage, or a dump, cannot be used as it is."""


class StorageDown(StorageError):
    """The storage does not answer now; it may later."""


class StorageOff(StorageError):
    """The storage is never used: a newer format, a foreign owner, a network file system."""


class StorageCorrupt(StorageError):
    """What the storage holds is damaged."""


class InvalidDataError(RestencilError):
    """A suspending read fetched, and the data is still unusable; status 400."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class HookScopeError(RestencilError, RuntimeError):
    """A `use_…` function was called outside of `with hook_scope():`, or from within a hook."""


class MissingFieldError(RestencilError, AttributeError):
    """A required field of a record has no value: no answer had it, or its entity is not in the store.

    `reason` says which, and what would bring the value.
    """

    def __init__(self, owner: str, pk: str | None, field: str, reason: str = "") -> None:
        subject = owner if pk is None else f"{owner} {pk!r}"
        reason = reason or "no response so far had it, or its entity is not in the store"
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


def _restored(kind: type[RestencilError], args: tuple[Any, ...], members: dict[str, Any]) -> RestencilError:
    """Errors with keyword-only members survive copying and pickling."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(members)
    return error


def reason_of(error: BaseException) -> str:
    """The reason of a failure for logs, without what a server responded and without data."""
    kind = type(error).__name__
    if not isinstance(error, NetworkError):
        return kind
    return f"{kind}: {error}" if error.response is None else f"{kind} with status {error.status}"
