"""The HTTP library behind small primitives, the same over httpx and httpx2: requests, sending, reading, failures.

What a request may and may not do (redirects, cookies, limits, what is shown) is decided above, in the library's own
terms.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, cast
from urllib.parse import urlencode
from urllib.request import getproxies

from ..base.bodies import BodyStart
from ..base.durations import Timeout, seconds_by_step
from ..base.transport import ImpliedHeader
from .deadlines import AsyncDeadlineTransport, DeadlineTransport
from .decompression import accepted
from .library import (
    AnyClient,
    AsyncClient,
    BodyGuard,
    Client,
    Library,
    RawHeaders,
    RawRequest,
    RawResponse,
    Url,
    library_behind,
    library_of,
)
from .user_agent import Agent

_CODING: Final = b"content-encoding"
_GUARD: Final = "restencil_guard"


# --- clients ---------------------------------------------------------------------------------------------------------


class _Nothing(DefaultCookiePolicy):
    """The policy of a jar that stores nothing."""

    def set_ok(self, cookie: Any, request: Any) -> bool:
        return False


def open_client(library: Library) -> Client:
    """A client for blocking code that keeps no cookies, whose connections respect the deadline of a request."""
    jar = CookieJar(_Nothing())
    if _environment_names_proxy():
        return library.Client(cookies=jar)
    transport: Any = library.subclass(DeadlineTransport, library.BaseTransport)(library)
    return library.Client(cookies=jar, transport=transport)


def open_async_client(library: Library) -> AsyncClient:
    """A client for asyncio that keeps no cookies, whose connections respect the deadline of a request."""
    jar = CookieJar(_Nothing())
    if _environment_names_proxy():
        return library.AsyncClient(cookies=jar)
    transport: Any = library.subclass(AsyncDeadlineTransport, library.AsyncBaseTransport)(library)
    return library.AsyncClient(cookies=jar, transport=transport)


def _environment_names_proxy() -> bool:
    """Whether requests go through a proxy, which a client finds by itself only where it has its own transports."""
    return not getproxies().keys().isdisjoint(("http", "https", "all"))


def auth_of(library: Library, client: AnyClient, url: str, guard: Callable[[RawResponse], object]) -> Any:
    """The `auth` of a request that goes to this URL in its own right, which no redirect led to: the client's own.

    `guard` is called with each response that it looks at, before it does.
    """
    if client.auth is not None:
        return library.GuardedAuth(client.auth, guard)
    if type(client) in library.own_kinds and "@" not in url:
        return library.no_auth
    return library.use_client_default


def auth_after_redirect(
    library: Library, client: AnyClient, url: Url, guard: Callable[[RawResponse], object], *, same_origin: bool
) -> Any:
    """The `auth` of a request that a redirect led to: the client's own, and none at another origin."""
    return auth_of(library, client, str(url), guard) if same_origin else None


# --- URLs and headers ------------------------------------------------------------------------------------------------


def with_client_params(client: AnyClient, url: Url) -> Url:
    """The URL with the client's own search parameters, which those in the URL override."""
    params = client.params
    if not params:
        return url
    given = url.params
    added = [(name, value) for name, value in params.multi_items() if name not in given]
    if not added:
        return url
    query = url.query.decode("ascii")
    return url.copy_with(query=f"{query}&{urlencode(added)}".lstrip("&").encode("ascii"))


def merged_headers(
    library: Library, agent: Agent, default: list[tuple[bytes, bytes]], own: Mapping[str, str], host: bytes
) -> RawHeaders:
    """The client's headers with those of a request over them, the host, and who asks.

    An implied `Accept` stands over the HTTP library's own one, not over one that the user gave the client.
    """
    if not any(name.lower() == "user-agent" for name in own):
        said = next((value.decode("latin-1") for name, value in default if name.lower() == b"user-agent"), None)
        told = agent.instead_of(said, library)
        if told is not None:
            own = {**own, "User-Agent": told}
    wanted = next((value for name, value in default if name.lower() == b"accept"), b"*/*")
    names = {
        name.lower()
        for name, value in own.items()
        if not (isinstance(value, ImpliedHeader) and wanted != b"*/*" and name.lower() == "accept")
    }
    own = {name: value for name, value in own.items() if name.lower() in names}
    defaults = [
        (
            (name, accepted(value.decode("latin-1")).encode("latin-1"))
            if name.lower() == b"accept-encoding"
            else (name, value)
        )
        for name, value in default
        if name.lower().decode("latin-1") not in names
    ]
    sent: list[tuple[Any, Any]] = [*defaults]
    sent += [(name, value if value.isascii() else value.encode("latin-1")) for name, value in own.items()]
    merged = library.Headers(sent)
    return merged if "host" in merged else library.Headers([(b"Host", host), *merged.raw])


def add_cookies(library: Library, request: RawRequest, jar: CookieJar) -> None:
    """Adds the cookies of the jar that belong to the URL of this request, behind those that it has."""
    given = request.headers.pop("cookie", None)
    library.Cookies(jar).set_cookie_header(request)
    if given is not None:
        added = request.headers.get("cookie")
        request.headers["cookie"] = f"{given}; {added}" if added else given


def sets_cookies(response: RawResponse) -> bool:
    """True for a response with cookies to be kept."""
    return any(name.lower() == b"set-cookie" for name, _ in response.headers.raw)


def take_cookies(library: Library, response: RawResponse, jar: CookieJar) -> None:
    """Puts the cookies of a response into the jar."""
    library.Cookies(jar).extract_cookies(response)


# --- requests --------------------------------------------------------------------------------------------------------


def shown_request(library: Library, request: RawRequest, url: Url, shown: Container[str]) -> RawRequest:
    """A request that stands for one that was sent, at this URL; only these headers have kept their value.

    It is that request itself where it holds nothing else: "fetch through the cache".
    """
    hidden = [name for name in request.headers if name not in shown]
    if not hidden and url is request.url:
        return request
    headers = library.Headers(request.headers)
    for name in hidden:
        headers[name] = "[redacted]"
    stream: Any = request.stream
    return library.CompleteRequest(request.method, url, headers, stream, {})


def request_of_failure(library: Library, error: BaseException) -> RawRequest | None:
    """The request that a failure of the HTTP library is about, where it knows one."""
    return getattr(error, "_request", None) if isinstance(error, library.RequestError) else None


def request_extensions(client: AnyClient, timeout: float | Timeout | None) -> dict[str, Any]:
    """The extensions of a request that has a timeout of its own, in milliseconds."""
    if timeout is None:
        return {}
    usual = client.timeout.as_dict() if isinstance(timeout, Timeout) else {}
    return {"timeout": seconds_by_step(timeout, usual)}


def limit_steps(request: RawRequest, deadline: float | None) -> None:
    """Gives each step of a further request of one attempt no more than the attempt has left, a free connection too."""
    limits: Any = request.extensions.get("timeout")
    if deadline is not None and limits:
        left = max(deadline - time.monotonic(), 0.001)
        steps = {step: left if limit is None else min(left, limit) for step, limit in limits.items()}
        request.extensions = {**request.extensions, "timeout": steps}


def complete_request(
    library: Library, method: str, url: Url, headers: RawHeaders, content: bytes, extensions: dict[str, Any]
) -> RawRequest:
    """A request whose body is known and whose headers say all that there is to say."""
    stream = library.ByteStream(content) if content else library.no_content
    return library.CompleteRequest(method, url, headers, stream, extensions)


def streaming_request(
    library: Library,
    client: AnyClient,
    method: str,
    url: Url,
    headers: RawHeaders,
    body: Any,
    extensions: dict[str, Any],
) -> RawRequest:
    """A request whose body is read while it is sent: an open file or an iterable of bytes."""
    start = BodyStart(body)
    if start.length is not None:
        headers.setdefault("Content-Length", str(start.length))
    if hasattr(body, "read") and isinstance(client, library.AsyncClient):
        body = _File(body)
    request = library.Request(method, url, headers=headers, content=body, extensions=extensions)
    return _repeatable(library, client, request, start)


class _File:
    """An open file as the asynchronous client takes it: each time it is iterated, it is read from where it stands."""

    def __init__(self, file: Any) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := self._file.read(65_536):
            yield chunk


def multipart_request(
    library: Library,
    client: AnyClient,
    method: str,
    url: Url,
    headers: RawHeaders,
    fields: dict[str, list[str]],
    files: list[tuple[str, Any]],
    extensions: dict[str, Any],
) -> RawRequest:
    """A request whose body is `multipart/form-data` of these text fields and files."""
    # Without a file a urlencoded form would be sent: a part without file name is a text field all the same.
    parts: Any = files or [(name, (None, text)) for name, texts in fields.items() for text in texts]
    data = fields if files else None
    start = BodyStart({name: [file] for name, file in files})
    request = library.Request(method, url, headers=headers, data=data, files=parts, extensions=extensions)
    return _repeatable(library, client, request, start)


def _repeatable(library: Library, client: AnyClient, request: RawRequest, start: BodyStart) -> RawRequest:
    """The request, whose body is put back to its start where the HTTP library sends it again."""
    asynchronous = isinstance(client, library.AsyncClient)
    wanted = library.AsyncByteStream if asynchronous else library.SyncByteStream
    stream: Any = request.stream
    if isinstance(stream, wanted):  # else the HTTP library says what is wrong
        request.stream = (library.SentAsync if asynchronous else library.Sent)(cast(Any, stream), start)
    return request


# --- sending and reading ---------------------------------------------------------------------------------------------


def send(client: Client, request: RawRequest, auth: Any) -> RawResponse:
    """The response to this very request, its body still to be read; redirects are not followed."""
    return client.send(request, stream=True, auth=auth, follow_redirects=False)


def send_async(client: AsyncClient, request: RawRequest, auth: Any) -> Awaitable[RawResponse]:
    """The response to this very request, to be awaited, its body still to be read; redirects are not followed."""
    return client.send(request, stream=True, auth=auth, follow_redirects=False)


def content_coding(response: RawResponse) -> str:
    """How the body is packed that is still to come, as the response says."""
    if response.is_stream_consumed:
        return ""
    return ",".join(value.decode("latin-1") for name, value in response.headers.raw if name.lower() == _CODING)


def is_read(response: RawResponse) -> bool:
    """True for a response whose body came with it."""
    return response.is_stream_consumed


def guard_body(library: Library, response: RawResponse, guard: BodyGuard, *, packed: bool) -> None:
    """A body that is still to come goes through the guard. One that was `packed` is so no more for whoever reads it."""
    asynchronous = isinstance(response.stream, library.AsyncByteStream)
    response.stream = (library.GuardedAsync if asynchronous else library.Guarded)(cast(Any, response.stream), guard)
    response.extensions[_GUARD] = guard
    if packed:
        del response.headers["content-encoding"]


def guard_of(response: RawResponse) -> Any:
    """The guard of the body of this response, if it has one."""
    return response.extensions.get(_GUARD)


def unread_content(response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
    """The body of a response whose content was asked for before it was read. Raises `error` where it is another one."""
    library = library_behind(error)
    if library is None or not isinstance(error, library.ResponseNotRead):
        raise error
    if isinstance(response.stream, library.SyncByteStream):
        return cast(bytes, response.read())
    return cast("Awaitable[bytes]", response.aread())


# --- failures --------------------------------------------------------------------------------------------------------


def read_failures(response: object) -> tuple[type[Exception], ...]:
    """Failures while the body of this response is read piece by piece."""
    return (library_of(response).RequestError,)


def bad_redirect(error: BaseException) -> RawResponse | None:
    """The redirect that leads to no URL, where this failure of the HTTP library is about one.

    httpx looks at the place where a redirect leads before anyone else sees the response.
    """
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "_build_redirect_request":
            found: Any = trace.tb_frame.f_locals.get("response")
            return cast("RawResponse", found) if library_behind(found) is not None else None
        trace = trace.tb_next
    return None


def overdue_step(error: BaseException) -> str | None:
    """The step of a request that took longer than it may: connect, read, write or pool; None for another failure."""
    library = library_behind(error)
    if library is None or not isinstance(error, library.TimeoutException):
        return None
    return library.timeouts.get(type(error), "read")


def is_broken_connection(error: BaseException) -> bool:
    """True for a failure of the connection, false for an answer that came and cannot be read."""
    library = library_behind(error)
    return isinstance(error, OSError) or (library is not None and isinstance(error, library.TransportError))
