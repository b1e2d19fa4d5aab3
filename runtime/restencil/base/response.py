"""Results of calls with their HTTP response, `Response` and `Page`, and details of it for errors and messages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from .freshness import seconds_of
from .json_text import decode_json
from .transport import public_url
from .values import is_dict, is_list

if TYPE_CHECKING:
    from .errors import StatusError
    from .transport import HttpResponse


ORDER: Final = "restencil_order"
"""The extension of a response that contains the request that was sent."""

BODY_LENGTH: Final = 64 * 1024
"""The maximum number of bytes of a body that an error contains."""

DATA_LENGTH: Final = 1024 * 1024
"""The maximum number of bytes of a body that is decoded as JSON for an error."""

_LINE_LENGTH: Final = 200
_PAGE_LENGTH: Final = 20_000
_REQUEST_IDS: Final = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-github-request-id")
_TELLING: Final = ("detail", "title", "message", "error_description")
"""Members of an object in which servers describe an error, in order of preference."""


ERROR_TYPES: Final = "error_types"
"""The member of a `RequestInit` with the `ErrorTypes` of the endpoint."""


class ErrorTypes(Protocol):
    """The error classes and error body types that an endpoint declares."""

    def class_of(self, kind: type[StatusError], /) -> type[StatusError]:
        """Return the class to raise instead of a class of the library."""
        ...

    def data_of(self, status: int, data: object, /) -> Any:
        """Convert the JSON body of an error with this status; None if it does not match the declared type."""
        ...


class SentRequest(Protocol):
    """The request of a response, as errors and messages need it."""

    @property
    def method(self) -> str:
        """The method of the first request, before any redirect."""
        ...

    @property
    def public(self) -> str:
        """The URL of the request, without credentials."""
        ...

    @property
    def elapsed(self) -> float:
        """The milliseconds from the request to its response."""
        ...

    @property
    def request_id(self) -> str | None:
        """The name of the API's header for request ids, if it is not a usual one."""
        ...

    def secrets_hider(self) -> Callable[[str], str]:
        """Return a function that redacts everything in a string that may be a secret sent with the request."""
        ...

    def credential_hider(self) -> Callable[[str], str]:
        """Return a function that redacts the credential sent with the request, but no other headers."""
        ...


def sent_request(response: object) -> SentRequest | None:
    """Return the request of a response; None if the response is not from the http layer."""
    found: SentRequest | None = getattr(response, "extensions", {}).get(ORDER)
    return found


def url_of(response: Any) -> str:
    """Return the URL of a response, without credentials, for messages."""
    sent = sent_request(response)
    if sent is not None:
        return sent.public
    try:
        return public_url(str(response.request.url))
    except (AttributeError, RuntimeError):
        return ""


def method_of(response: object) -> str:
    """Return the method of the request, before any redirect; empty if the response has no request."""
    sent = sent_request(response)
    return answered_method(response) if sent is None else sent.method


def answered_method(response: Any) -> str:
    """Return the method of the request that got this response, after redirects; empty if it has no request."""
    try:
        return str(response.request.method)
    except (AttributeError, RuntimeError):
        return ""


def reported(response: object) -> str:
    """Return the request and the status of a response for messages: `GET https://…/posts/1: 404 Not Found`."""
    return f"{method_of(response)} {url_of(response)}: {status_line(response)}".lstrip()


def status_line(response: Any) -> str:
    """Return the status of a response for messages: `404 Not Found`."""
    return f"{response.status_code} {getattr(response, 'reason_phrase', '')}".rstrip()


def error_members(response: Any) -> dict[str, Any]:
    """Return the members of a `NetworkError` for a response."""
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
    """Return the body of a response; empty if it was not read."""
    try:
        content: bytes = response.content
    except (AttributeError, RuntimeError):
        return b""
    return content


def credential_hider(response: object) -> Callable[[str], str]:
    """Return a function that redacts the credential of the request in strings of its response."""
    sent = sent_request(response)
    return str if sent is None else sent.credential_hider()


def _data_in(response: object, hide: Callable[[str], str]) -> object:
    content = content_of(response)
    if len(content) > DATA_LENGTH or not _may_be_json(response, content):
        return None
    try:
        return _hidden(decode_json(content), hide)
    except ValueError:
        return None


def _may_be_json(response: Any, content: bytes) -> bool:
    return "json" in str(response.headers.get("content-type", "")).lower() or content.lstrip()[:1] in (b"{", b"[")


def _hidden(value: object, hide: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return hide(value)
    if is_list(value):
        return [_hidden(item, hide) for item in value]
    if is_dict(value):
        return {hide(name): _hidden(item, hide) for name, item in value.items()}
    return value


def detail_of(response: object, data: object) -> str:
    """Return the error description in a response, one line of at most 200 characters; `data` is the JSON of its body.

    For an object it is the first member that describes an error, for an HTML page its title, else the first line; empty
    if the body is not text. Strings that may be a secret of the request are `[redacted]`.
    """
    text = next((text for text in _texts_in(data) if isinstance(text, str) and text.strip()), None)
    return _shown(without_secrets(response, _first_line(response) if text is None else text))


def without_secrets(response: object, text: str) -> str:
    """Return a string of a response with `[redacted]` in place of everything that may be a secret of the request."""
    sent = sent_request(response)
    return text if sent is None else sent.secrets_hider()(text)


def _texts_in(data: object) -> Iterator[object]:
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
    text = content.decode(charset_of(response), "replace")
    if "html" in str(response.headers.get("content-type", "")).lower():
        from html import unescape

        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = "" if title is None else unescape(title[1]).replace("\n", " ")
    return next((line for line in text.splitlines() if any(map(str.isalnum, line))), "")


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return "".join(character for character in line if character.isprintable())[:_LINE_LENGTH]


def request_id_in(headers: Mapping[str, str], response: object) -> str | None:
    """Return the request id of the server: from the header that the API declares, else from a usual one; or None.

    The credential is redacted, since a server may repeat it in any header.
    """
    sent = sent_request(response)
    own = None if sent is None else sent.request_id
    for name in _REQUEST_IDS if own is None else (own.lower(), *_REQUEST_IDS):
        text = headers.get(name)
        if text and (shown := _shown(credential_hider(response)(text))):
            return shown
    return None


def retry_after_in(headers: Mapping[str, str], now: float) -> float | None:
    """Return `Retry-After` in milliseconds from `now` (ms since 1970); None if it is absent or invalid."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text) * 1000
    date = seconds_of(text)
    return None if date is None else max(0.0, date * 1000 - now)


def charset_of(response: object) -> str:
    """Return the charset of a response if Python can decode bytes in it, else UTF-8."""
    charset: str = getattr(response, "charset_encoding", None) or "utf-8"
    try:
        b"a".decode(charset, "replace")
    except (LookupError, ValueError):
        return "utf-8"
    return charset


R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)


class AnswerHeaders(Mapping[str, str]):
    """The headers of a response, read-only: names are case-insensitive, and repeated headers are joined by `, `."""

    __slots__ = ("_headers",)

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers  # names are in lower case

    def __getitem__(self, name: str) -> str:
        return self._headers[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __repr__(self) -> str:
        return f"<headers: {', '.join(self._headers) or 'none'}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Response(Generic[R_co]):
    """The result of `fetch_response`: the result of `fetch` as `value`, and the HTTP response.

        answer = news.articles.get.fetch_response(id=1)
        answer.value, answer.status, answer.headers["X-RateLimit-Remaining"]

    value       what `fetch` returns
    status      the status of the last response; 0 if a custom `fetch` of the endpoint used no HTTP
    headers     the headers of the response; names are case-insensitive
    url         the URL of the response, after redirects, without credentials
    elapsed     the duration of the last attempt in milliseconds
    attempts    the number of attempts, with the first one
    request_id  the id that the server gave the request, or None
    http        the response object of the HTTP library; None without HTTP, and after pickling

    It is immutable, and equal only to itself.
    """

    value: R_co
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=lambda: AnswerHeaders({}))
    url: str = ""
    elapsed: float = 0.0
    attempts: int = 1
    request_id: str | None = None
    http: HttpResponse | None = None
    _method: str = ""

    def __repr__(self) -> str:
        if not self.status:
            return f"<{type(self).__name__} without HTTP>"
        return f"<{type(self).__name__} {self._method} {self.url}: {self.status} in {self.elapsed:.0f} ms>"

    def __getstate__(self) -> dict[str, Any]:
        # The response of an HTTP library contains the request, and a cookie that the server sets is a credential.
        headers = {name: value for name, value in self.headers.items() if name != "set-cookie"}
        return {**self.__dict__, "headers": AnswerHeaders(headers), "http": None}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Page(Response[Any], Generic[T_co]):
    """An item of `pages`: one page of a list, with its HTTP response.

        for page in news.articles.get_list.pages():
            page.items, page.headers["X-Total"], page.next_position

    items          the items of this page, in their order
    position       identifies this page: `start_at(page.position)` of another run continues after it
    next_position  identifies the next page; None if this is known to be the last one

    `value` is the complete result, which is `items` if the response is a list and not an object.
    """

    items: Sequence[T_co] = ()
    position: str | int | None = None
    next_position: str | int | None = None


def members_of(answer: Any) -> dict[str, Any]:
    """Return the members of a `Response` for an HTTP response; none without one."""
    if answer is None:
        return {}
    sent, headers = sent_request(answer), {name.lower(): value for name, value in answer.headers.items()}
    return {
        "status": answer.status_code,
        "headers": AnswerHeaders(headers),
        "url": public_url(str(answer.request.url)),
        "elapsed": 0.0 if sent is None else sent.elapsed,
        "request_id": request_id_in(headers, answer),
        "http": answer,
        "_method": method_of(answer),
    }
