"""What must not be shown: values of headers that may be secrets, and URLs whose query holds one."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

from ..base.calls import flaw_in
from ..base.transport import public_url
from .library import Library

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
        flaw = flaw_in(value) if isinstance(value, str) else None
        if flaw is not None:
            raise ValueError(f"the header {name!r} cannot be sent: its value, not shown here, has {flaw}; remove it")


_HARMLESS_HEADERS: Final = SHOWN_HEADERS | {
    "age",
    "cache-control",
    "content-encoding",
    "date",
    "etag",
    "expires",
    "last-modified",
    "retry-after",
    "server",
    "vary",
}
"""Headers of responses whose values hold no secret; a Location may repeat one, a Set-Cookie is one."""

_LOGGED_HEADER: Final = re.compile(r"""\(b(['"])([^'"]*)\1, b('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)""")
"""A header as the HTTP library logs it: name and value as pair of bytes."""

shown_url: Final[ContextVar[str | None]] = ContextVar("restencil_shown_url", default=None)
"""Set while a request is sent, in this thread or task, to what stands for URLs that hold a secret; a text of no length
where none does. What is logged meanwhile holds no secret.
"""


def _logged(header: re.Match[str]) -> str:
    kept = header[2].lower() in _HARMLESS_HEADERS
    return header[0] if kept else f"(b{header[1]}{header[2]}{header[1]}, b'[redacted]')"


class _ShownRequests(logging.Filter):
    """What the HTTP library logs of a request: no URL that holds a secret, and no header that may repeat one."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library

    def filter(self, record: logging.LogRecord) -> bool:
        shown = shown_url.get()
        if shown is None:
            return True
        if record.name.startswith("hpack"):
            return False  # it shows each header as it is packed
        if isinstance(record.args, tuple):
            record.args = tuple(self._shown(argument, shown) for argument in record.args)
        if isinstance(record.msg, str) and "headers" in record.msg:
            record.msg = _LOGGED_HEADER.sub(_logged, record.msg)
        return True

    def _shown(self, argument: Any, shown: str) -> Any:
        """An argument of a record as it may be shown: a URL without user name and password, and no secret query."""
        if not isinstance(argument, self._library.URL):
            return argument
        return shown or (public_url(str(argument)) if argument.userinfo else argument)


@cache
def watch_loggers(library: Library) -> None:
    """From now on what this library logs of requests that are sent here holds no secret."""
    shown = _ShownRequests(library)
    for name in library.loggers:
        logging.getLogger(name).addFilter(shown)
