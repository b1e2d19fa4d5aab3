"""What the mock server cannot do: start with these specs, or do what a request asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


class CannotServe(Exception):
    """Raised before the first request: an address in use, an example that does not fit. The text is for the user."""


class InvalidRecord(Exception):
    """Raised where a record does not fit the spec; the text says how."""


class Refusal(Exception):
    """Raised where a request is answered by an error: its status and a sentence."""

    def __init__(self, status: int, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})

    @property
    def word(self) -> str:
        """The stable word for the status, such as `not_found`; `error` for one that is rare."""
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
    413: "content_too_large",  # 413 and 422 have a name of their own in each Python, so they are fixed here
    415: "unsupported_media_type",
    422: "unprocessable_content",
    429: "too_many_requests",
    500: "internal_server_error",
    501: "not_implemented",
    502: "bad_gateway",
    503: "service_unavailable",
    504: "gateway_timeout",
}
