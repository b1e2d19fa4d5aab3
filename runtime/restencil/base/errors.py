"""The errors of the library; all derive from RestencilError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    """The request failed: an HTTP status outside 200–299, or no connection at all.

    `status` is the HTTP status, or 500 where there was no response; `response` is the response, as the HTTP library
    gives it, or None, and `has_response` says whether there was one; `url` is where the request went, without
    credentials.
    """

    def __init__(self, message: str, *, status: int = 500, response: HttpResponse | None = None, url: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.response = response
        self.has_response = response is not None
        self.url = url

    def to_dict(self) -> dict[str, Any]:
        """`name`, `status`, `message` and `url` as a plain dict, for logs and error reports."""
        return {"name": type(self).__name__, "status": self.status, "message": str(self), "url": self.url}

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class ConnectionFailedError(NetworkError):
    """There was no answer: the server was not found, refused, broke off, or redirected without end; status 500."""


class EndlessRedirectError(ConnectionFailedError):
    """The server redirected without end, so that trying again is of no use; status 500."""


class TimeoutExceededError(ConnectionFailedError):
    """There was no answer in time; status 500."""


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
        whose = owner if pk is None else f"{owner} {pk!r}"
        reason = reason or "no answer so far had it, or its entity is not in the store"
        super().__init__(
            f"{whose} has no value for its required field {field!r}: {reason}; declare it optional if the API may "
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
