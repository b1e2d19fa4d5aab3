"""What a response has besides its value: where it came from, how long it took, its request id, its body as data.

Responses of the http layer know the request that was sent (`ORDER`), without what must not be shown of it. Those that
hooks make themselves have their own members alone.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from .json_text import decode_json
from .transport import public_url
from .values import is_dict, is_list

if TYPE_CHECKING:
    from .errors import StatusError

ORDER: Final = "restencil_order"
"""The extension of a response that holds the request that was sent."""

BODY_LENGTH: Final = 64 * 1024
"""Bytes of a body that an error keeps."""

DATA_LENGTH: Final = 1024 * 1024
"""Bytes of a body that is read as data, at most."""

_LINE_LENGTH: Final = 200
_PAGE_LENGTH: Final = 20_000
_REQUEST_IDS: Final = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-github-request-id")
_TELLING: Final = ("detail", "title", "message", "error_description")
"""Members of an object in which servers say what went wrong, the most telling first."""


ERROR_TYPES: Final = "error_types"
"""The member of what is sent that says as what a refusal is raised."""


class ErrorTypes(Protocol):
    """As what an endpoint wants its refusals raised."""

    def class_of(self, kind: type[StatusError], /) -> type[StatusError]:
        """The class in place of the library's own one."""
        ...

    def data_of(self, status: int, data: Any, /) -> Any:
        """What the JSON of a body with this status is; None where it does not fit."""
        ...


class SentRequest(Protocol):
    """What an answer knows of the request that it answers."""

    @property
    def method(self) -> str:
        """The method of the first request, before any redirect."""
        ...

    @property
    def public(self) -> str:
        """Where the request went, without credentials."""
        ...

    @property
    def elapsed(self) -> float:
        """Milliseconds from the request to its answer."""
        ...

    @property
    def request_id(self) -> str | None:
        """The header in which the API names its requests, if it is none of the usual ones."""
        ...

    def secrets_hider(self) -> Callable[[str], str]:
        """Hides in texts of the server what may be a secret that was sent to it."""
        ...

    def credential_hider(self) -> Callable[[str], str]:
        """Hides in texts of the server the credential that was sent to it; other headers of one's own stay."""
        ...


def sent_request(response: Any) -> SentRequest | None:
    """The request that was sent, if the http layer received this response."""
    found: SentRequest | None = getattr(response, "extensions", {}).get(ORDER)
    return found


def url_of(response: Any) -> str:
    """Where a response came from, without credentials; for messages."""
    sent = sent_request(response)
    if sent is not None:
        return sent.public
    try:
        return public_url(str(response.request.url))
    except (AttributeError, RuntimeError):
        return ""


def method_of(response: Any) -> str:
    """The method of the request, before any redirect; empty if a response knows no request."""
    sent = sent_request(response)
    if sent is not None:
        return sent.method
    try:
        return str(response.request.method)
    except (AttributeError, RuntimeError):
        return ""


def reported(response: Any) -> str:
    """The request and the status of its response, for messages: `GET https://…/posts/1: 404 Not Found`."""
    return f"{method_of(response)} {url_of(response)}: {status_line(response)}".lstrip()


def status_line(response: Any) -> str:
    """How it was answered, for messages: `404 Not Found`."""
    return f"{response.status_code} {getattr(response, 'reason_phrase', '')}".rstrip()


def error_members(response: Any) -> dict[str, Any]:
    """The members of an error that an answer tells."""
    sent, hide = sent_request(response), credential_hider(response)
    body = hide(content_of(response)[:DATA_LENGTH].decode("utf-8", "surrogateescape"))
    return {
        "response": response,
        "url": url_of(response),
        "method": method_of(response),
        "elapsed": 0.0 if sent is None else sent.elapsed,
        "request_id": request_id_in(response.headers, response),
        "retry_after": retry_after_in(response.headers, time.time() * 1000),
        "body": body.encode("utf-8", "surrogateescape")[:BODY_LENGTH],
        "data": _data_in(response, hide),
    }


def content_of(response: Any) -> bytes:
    """The body of a response; nothing where it was not read."""
    try:
        content: bytes = response.content
    except (AttributeError, RuntimeError):
        return b""
    return content


def credential_hider(response: Any) -> Callable[[str], str]:
    """Hides in texts of an answer the credential that was sent for it."""
    sent = sent_request(response)
    return str if sent is None else sent.credential_hider()


def _data_in(response: Any, hide: Callable[[str], str]) -> Any:
    content = content_of(response)
    if len(content) > DATA_LENGTH or not _may_be_json(response, content):
        return None
    try:
        return _hidden(decode_json(content), hide)
    except ValueError:
        return None


def _may_be_json(response: Any, content: bytes) -> bool:
    return "json" in str(response.headers.get("content-type", "")).lower() or content.lstrip()[:1] in (b"{", b"[")


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if is_list(value):
        return [_hidden(item, hide) for item in value]
    if is_dict(value):
        return {hide(name): _hidden(item, hide) for name, item in value.items()}
    return value


def detail_of(response: Any, data: Any) -> str:
    """What an answer says for people, in one line of 200 characters at most; `data` is the JSON of its body.

    Of an object the first telling text in it, of a page its title, else the first line; nothing where the body is no
    text. What may be a secret that was sent is `[redacted]`.
    """
    text = next((text for text in _texts_in(data) if isinstance(text, str) and text.strip()), None)
    return _shown(without_secrets(response, _first_line(response) if text is None else text))


def without_secrets(response: Any, text: str) -> str:
    """A string of an answer with `[redacted]` in place of what may be a secret that was sent."""
    sent = sent_request(response)
    return text if sent is None else sent.secrets_hider()(text)


def _texts_in(data: Any) -> Iterator[Any]:
    if not is_dict(data):
        return
    for name in _TELLING:
        yield data.get(name)
    error = data.get("error")
    if is_dict(error):
        yield error.get("message")
    yield error
    errors = data.get("errors")
    if is_list(errors) and errors and is_dict(errors[0]):
        yield errors[0].get("message")


def _first_line(response: Any) -> str:
    content = content_of(response)[:_PAGE_LENGTH]
    if b"\0" in content:
        return ""
    text = _decoded(response, content)
    if "html" in str(response.headers.get("content-type", "")).lower():
        from html import unescape

        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = "" if title is None else unescape(title[1]).replace("\n", " ")
    return next((line for line in text.splitlines() if any(map(str.isalnum, line))), "")


def _decoded(response: Any, content: bytes) -> str:
    """Bytes as text in the charset that the answer names, else UTF-8: for messages, which come of any bytes."""
    try:
        return content.decode(getattr(response, "charset_encoding", None) or "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return "".join(character for character in line if character.isprintable())[:_LINE_LENGTH]


def request_id_in(headers: Mapping[str, str], response: Any) -> str | None:
    """What the server calls the request: the header that the API names, else the first of the usual ones; or None.

    Without the credential, which a server may repeat everywhere.
    """
    sent = sent_request(response)
    own = None if sent is None else sent.request_id
    for name in _REQUEST_IDS if own is None else (own.lower(), *_REQUEST_IDS):
        text = headers.get(name)
        if text and (shown := _shown(credential_hider(response)(text))):
            return shown
    return None


def retry_after_in(headers: Mapping[str, str], now: float) -> float | None:
    """What `Retry-After` asks for, in milliseconds from `now` (ms since 1970); None without one that can be read."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text) * 1000
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # the oldest of the three forms names no zone: all dates of HTTP are UTC
            date = date.replace(tzinfo=datetime.UTC)
        return max(0.0, date.timestamp() * 1000 - now)
    except (ValueError, OverflowError):
        return None
