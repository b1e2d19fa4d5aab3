"""Results of calls with their HTTP response: `Response` and `Page`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .response_details import method_of, request_id_in, sent_request
from .transport import public_url

if TYPE_CHECKING:
    from .transport import HttpResponse

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
