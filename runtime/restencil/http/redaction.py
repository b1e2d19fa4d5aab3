"""Redaction: what of a request may be seen in logs, responses and errors.

The HTTP libraries log every URL and header as it is, and a response or an error of theirs carries its request. Only
headers that describe the content or the connection keep their value here, and URLs lose what was added to their query.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ..base.transport import public_url
from .outgoing import OutgoingRequest, current_request
from .secrets import SHOWN_HEADERS, hider_of

if TYPE_CHECKING:
    from .library import Library, RawRequest, RawResponse


_SHOWN_NAMES: Final = frozenset(name.encode("ascii") for name in SHOWN_HEADERS)


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """Redact headers: only those that describe the content or the connection keep their value."""
    return {name: value if name.lower() in SHOWN_HEADERS else "[redacted]" for name, value in headers.items()}


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
"""Headers of responses whose values contain no secret; a Location may repeat one, a Set-Cookie is one."""

_LOGGED_HEADER: Final = re.compile(r"""\(b(['"])([^'"]*)\1, b('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)""")
"""A header as the HTTP library logs it: name and value as pair of bytes."""


def _redacted_header(header: re.Match[str]) -> str:
    kept = header[2].lower() in _HARMLESS_HEADERS
    return header[0] if kept else f"(b{header[1]}{header[2]}{header[1]}, b'[redacted]')"


class _RedactingFilter(logging.Filter):
    """Removes secrets from log records of the HTTP library while a request of restencil is sent."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library

    def filter(self, record: logging.LogRecord) -> bool:
        in_progress = current_request.get()
        if in_progress is None:
            return True
        if record.name.startswith("hpack"):
            return False  # it shows each header as it is packed
        if isinstance(record.args, tuple):
            record.args = tuple(self._redacted(argument, in_progress.shown) for argument in record.args)
        if isinstance(record.msg, str) and "headers" in record.msg:
            record.msg = _LOGGED_HEADER.sub(_redacted_header, record.msg)
        return True

    def _redacted(self, argument: object, shown: str | None) -> object:
        """Redact an argument of a log record: remove user name, password and secret parameters from a URL."""
        if not isinstance(argument, self._library.URL):
            return argument
        return shown or (public_url(str(argument)) if argument.userinfo else argument)


@cache
def watch_loggers(library: Library) -> None:
    """Remove secrets from the log records of this library for requests of restencil from now on."""
    redacting = _RedactingFilter(library)
    for name in library.loggers:
        logging.getLogger(name).addFilter(redacting)


# --- responses and errors --------------------------------------------------------------------------------------------


def redact_response(outgoing: OutgoingRequest, response: RawResponse) -> None:
    """Redact the request of a response, and remove secrets that its headers repeat."""
    response.request = _redacted_request(outgoing, response.request)
    following = response.next_request
    if following is not None:
        response.next_request = _redacted_request(outgoing, following)
    for earlier in response.history:
        redact_response(outgoing, earlier)
    if outgoing.shown is not None:
        hide = hider_of(outgoing.query_secrets())
        for name, value in list(response.headers.items()):
            hidden = hide(value)
            if hidden != value:
                response.headers[name] = hidden


def redact_error(outgoing: OutgoingRequest, error: BaseException) -> None:
    """Redact the request of an error of the HTTP library."""
    if not isinstance(error, outgoing.transport.library.RequestError):
        return
    try:
        request = error.request
    except RuntimeError:  # it has none
        return
    error.request = _redacted_request(outgoing, request)


def _redacted_request(outgoing: OutgoingRequest, request: RawRequest) -> RawRequest:
    """Return a copy of a request without secrets; the request itself if it contains none."""
    library, url = outgoing.transport.library, request.url
    if outgoing.shown is not None or url.userinfo:
        text = public_url(str(url))
        if outgoing.shown is not None:
            # A server that redirects may take the query along.
            path = text.partition("?")[0]
            text = outgoing.public if path == outgoing.public.partition("?")[0] else path
        url = library.URL(text)
    # By their raw names, as reading others decodes all headers ("direct call").
    hidden = [name.decode("ascii") for name, _ in request.headers.raw if name.lower() not in _SHOWN_NAMES]
    if not hidden and url is request.url:
        return request
    headers = library.Headers(request.headers)
    for name in hidden:
        headers[name] = "[redacted]"
    stream: Any = request.stream
    shown = library.Request(request.method, url, headers=headers, stream=stream)
    if isinstance(stream, library.ByteStream):
        shown.read()
    return shown
