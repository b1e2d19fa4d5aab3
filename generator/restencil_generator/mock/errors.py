"""Errors of the mock server: it cannot start, or it rejects a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


class CannotServe(Exception):
    """The server cannot start: an address in use, an example that does not fit. The string is for the user."""


class InvalidRecord(Exception):
    """A record does not fit the spec; the string has the reason."""


class Refusal(Exception):
    """A request is rejected: the status of the response, and a sentence."""

    def __init__(self, status: int, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})

    @property
    def word(self) -> str:
        """The stable identifier of the status, such as `not_found`; `error` for uncommon ones."""
        return _WORDS.get(self.status, "error")


_WORDS: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "request_timeout",
    409: "conflict",
    410: "gone",
    412: "precondition_failed",
    413: "content_too_large",  # the names of 413 and 422 depend on the Python version, so they are fixed here
    415: "unsupported_media_type",
    422: "unprocessable_content",
    429: "too_many_requests",
    500: "internal_server_error",
    501: "not_implemented",
    502: "bad_gateway",
    503: "service_unavailable",
    504: "gateway_timeout",
}
