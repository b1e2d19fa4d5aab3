"""What must not be shown: values of headers that may be secrets, and URLs whose query holds one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Final

from .adapter import LOGGERS, Url

CONNECTION_HEADERS: Final = ("host", "transfer-encoding", "accept-encoding", "connection")
"""Headers that describe the connection."""
SHOWN_HEADERS: Final = frozenset(
    (
        *CONNECTION_HEADERS,
        "accept",
        "accept-language",
        "content-length",
        "content-type",
        "idempotency-key",
        "user-agent",
    )
)
"""Headers whose values hold no secret."""


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be shown: only those that describe the content or the connection keep their value."""
    return {name: value if name.lower() in SHOWN_HEADERS else "[redacted]" for name, value in headers.items()}


def check_values(headers: Mapping[str, Any]) -> None:
    """Raises ValueError for a value that no header can have; the HTTP library would show it, and it may be a secret."""
    for name, value in headers.items():
        if not isinstance(value, str):
            continue
        if not value.isascii():
            found = "a character outside ASCII"
        elif not value.replace("\t", " ").isprintable():
            found = "a line break or another control character"
        elif value.strip() != value:
            found = "space at its beginning or end"
        else:
            continue
        raise ValueError(f"the header {name!r} cannot be sent: its value, not shown here, has {found}; remove it")


_shown_url: Final[ContextVar[str | None]] = ContextVar("restencil_shown_url", default=None)


class _ShownUrls(logging.Filter):
    """The HTTP library logs the URL of each request: one that holds a secret is shown without it."""

    def filter(self, record: logging.LogRecord) -> bool:
        shown = _shown_url.get()
        if shown is not None and isinstance(record.args, tuple):
            record.args = tuple(shown if isinstance(argument, Url) else argument for argument in record.args)
        return True


_filter: Final = _ShownUrls()


def hide_url(shown: str) -> Token[str | None]:
    """Logs show this URL for what is sent from now on, until `show_url`."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_filter)  # the logger keeps one, however often it is added
    return _shown_url.set(shown)


def show_url(token: Token[str | None]) -> None:
    """Ends what `hide_url` began."""
    _shown_url.reset(token)
