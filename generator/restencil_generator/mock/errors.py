"""What the mock server cannot do: start with these specs, or do what a request asks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final


class CannotServe(Exception):
    """Raised before the first request: an address in use, an example that does not fit. The text is for the user."""


class Misfit(Exception):
    """Raised where a record does not fit the spec; the text says how."""


class Refusal(Exception):
    """Raised where a request is answered by an error: its status and a sentence."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})

    @property
    def word(self) -> str:
        """The stable word for the status, such as `not_found`."""
        return _WORDS[self.status]


_WORDS: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "content_too_large",
    422: "unprocessable_content",  # a name of its own in each Python, so it is fixed here
}
