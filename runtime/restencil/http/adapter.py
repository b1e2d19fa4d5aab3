"""One exchange over httpx: the only file that knows httpx, imported when the first request or client needs it.

What happens between the request of an endpoint and the answer (building, redirects, limits, errors) is written once, as
a generator of operations that the synchronous and the asynchronous sender carry out.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, KeysView, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import urlencode
from weakref import WeakKeyDictionary, WeakSet

import httpx

from ..base.errors import NetworkError
from .cancellation import current_guard
from .transport import URL_EXTENSION, Form, Headers, Multipart, check_size, reason

if TYPE_CHECKING:
    from ..base.abort import AbortSignal
    from .cancellation import Traced

log: Final = logging.getLogger("restencil.transport")

MAX_REDIRECTS: Final = 20
_CONTENT_HEADERS: Final = ("host", "transfer-encoding", "accept-encoding", "connection")
_SHOWN_HEADERS: Final = frozenset(
    (*_CONTENT_HEADERS, "accept", "accept-language", "content-length", "content-type", "idempotency-key", "user-agent")
)
"""Headers whose values hold no secret."""
_PIECE: Final = 4096
_REDIRECTS: Final = ("follow", "error", "manual")
_CREDENTIALS: Final = ("omit", "same-origin", "include")
_WITH_LENGTH: Final = ("POST", "PUT", "PATCH")
"""Methods whose requests tell their length even where it is none."""
_NO_CONTENT: Final = httpx.ByteStream(b"")
_OWN_KINDS: Final = (httpx.Client, httpx.AsyncClient)
"""Clients whose methods nobody overrides."""
RequestError: Final = httpx.RequestError
_FAILURES: Final = (httpx.RequestError, httpx.StreamError, OSError)


def is_asynchronous(client: object) -> bool:
    """True for an `httpx.AsyncClient`, False for an `httpx.Client`. Raises TypeError for anything else."""
    if isinstance(client, httpx.Client):
        return False
    if isinstance(client, httpx.AsyncClient):
        return True
    raise TypeError(f"client is an httpx.Client or an httpx.AsyncClient, not {type(client).__name__}")


def late_content(response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
    """The body of an answer whose content was asked for before it was read. Raises `error` where it is another one."""
    if not isinstance(error, httpx.ResponseNotRead):
        raise error
    if isinstance(response.stream, httpx.SyncByteStream):
        return cast(bytes, response.read())
    return cast("Awaitable[bytes]", response.aread())


# --- cookies ---------------------------------------------------------------------------------------------------------

_with_cookies: Final[ContextVar[bool]] = ContextVar("restencil_with_cookies", default=True)


class _CookiePolicy(DefaultCookiePolicy):
    """Stores no cookie of an answer to a request that went without credentials (§13.1)."""

    def set_ok(self, cookie: Any, request: Any) -> bool:
        return _with_cookies.get() and super().set_ok(cookie, request)


def _own_cookies() -> CookieJar:
    return CookieJar(_CookiePolicy())


# --- secrets in the query --------------------------------------------------------------------------------------------

_shown_url: Final[ContextVar[str | None]] = ContextVar("restencil_shown_url", default=None)


class _Discretion(logging.Filter):
    """httpx logs the URL of each request: one that holds a secret is shown without it."""

    def filter(self, record: logging.LogRecord) -> bool:
        shown = _shown_url.get()
        if shown is not None and isinstance(record.args, tuple):
            record.args = tuple(shown if isinstance(argument, httpx.URL) else argument for argument in record.args)
        return True


_discretion: Final = _Discretion()


def _hidden(shown: str) -> Token[str | None]:
    # The logger keeps one filter, however often it is added.
    logging.getLogger("httpx").addFilter(_discretion)
    return _shown_url.set(shown)


# --- one exchange ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Send:
    request: httpx.Request
    stream: bool
    authenticate: bool

    def run(self, client: httpx.Client) -> httpx.Response:
        if self.authenticate:
            return client.send(self.request, stream=self.stream, follow_redirects=False)
        return client.send(self.request, stream=self.stream, follow_redirects=False, auth=None)

    async def run_async(self, client: httpx.AsyncClient) -> httpx.Response:
        if self.authenticate:
            return await client.send(self.request, stream=self.stream, follow_redirects=False)
        return await client.send(self.request, stream=self.stream, follow_redirects=False, auth=None)


@dataclass(slots=True)
class _Read:
    """Reads a body within a limit of size and time, both checked while it arrives."""

    response: httpx.Response
    limit: int | None
    deadline: float | None

    def run(self, client: httpx.Client) -> httpx.Response:
        response = self.response
        chunks: list[bytes] = []
        with contextlib.closing(response):
            response.stream = _SyncPieces(cast(httpx.SyncByteStream, response.stream))
            seen = 0
            for chunk in response.iter_bytes():
                seen += len(chunk)
                self._check(seen)
                chunks.append(chunk)
        return _read_response(response, b"".join(chunks))

    async def run_async(self, client: httpx.AsyncClient) -> httpx.Response:
        response = self.response
        chunks: list[bytes] = []
        try:
            response.stream = _AsyncPieces(cast(httpx.AsyncByteStream, response.stream))
            seen = 0
            async for chunk in response.aiter_bytes():
                seen += len(chunk)
                self._check(seen)
                chunks.append(chunk)
        finally:
            await response.aclose()
        return _read_response(response, b"".join(chunks))

    def _check(self, seen: int) -> None:
        check_size(self.response, seen, self.limit)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise httpx.ReadTimeout("the answer did not arrive within the timeout")


@dataclass(slots=True)
class _Close:
    response: httpx.Response

    def run(self, client: httpx.Client) -> None:
        self.response.close()

    async def run_async(self, client: httpx.AsyncClient) -> None:
        await self.response.aclose()


class _SyncPieces(httpx.SyncByteStream):
    """Hands compressed data on in small pieces, so that none of them can unfold into much."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            for start in range(0, len(chunk), _PIECE):
                yield chunk[start : start + _PIECE]

    def close(self) -> None:
        self._stream.close()


class _AsyncPieces(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            for start in range(0, len(chunk), _PIECE):
                yield chunk[start : start + _PIECE]

    async def aclose(self) -> None:
        await self._stream.aclose()


def _read_response(response: httpx.Response, content: bytes) -> httpx.Response:
    """The answer with its body read; it is decompressed, so it no longer names a compression."""
    headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"]
    read = httpx.Response(
        response.status_code,
        headers=headers,
        content=content,
        request=response.request,
        extensions=response.extensions,
        history=response.history,
    )
    read.elapsed = response.elapsed
    read.next_request = response.next_request
    return read


_Operation: TypeAlias = _Send | _Read | _Close
_Exchange: TypeAlias = Generator[_Operation, Any, httpx.Response]


class Order:
    """What is to be sent, and how; `timeout` is in milliseconds, `sender` the one that carries it out."""

    __slots__ = ("apart", "deadline", "headers", "init", "public", "sender", "shown", "stream", "timeout", "url")

    def __init__(
        self,
        sender: _Sender,
        url: str,
        public: str,
        shown: str | None,
        init: Mapping[str, Any],
        headers: Headers,
        timeout: float | None,
        stream: bool,
    ) -> None:
        self.sender = sender
        self.url = url
        self.public = public
        self.shown = shown
        """The URL for logs and messages where the one that is sent holds more."""
        self.init = init
        self.headers = headers
        self.timeout = timeout
        self.stream = stream
        self.deadline = None if timeout is None else time.monotonic() + timeout / 1000
        self.apart = stream or timeout is not None or sender.limit is not None
        """Whether the body is read in a step of its own: streamed, or within limits."""


class _SentHeaders(httpx.Headers):
    """The headers of a request, which httpx looks up one by one: what they are is known until one is changed."""

    def __init__(self, headers: httpx.Headers, known: dict[str, str] | None) -> None:
        super().__init__(headers, headers.encoding if known is None else "ascii")
        self._known = known

    def keys(self) -> KeysView[str]:
        return super().keys() if self._known is None else self._known.keys()

    def __getitem__(self, key: str) -> str:
        if self._known is not None and key in self._known:
            return self._known[key]
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: str) -> None:
        self._known = None
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._known = None
        super().__delitem__(key)

    def update(self, headers: Any = None) -> None:  # type: ignore[override]  # as httpx has it
        self._known = None
        super().update(headers)


class _MergedHeaders:
    """The client's headers with those of the endpoint over them; the last ones are kept, as they seldom change."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[list[tuple[bytes, bytes]], Headers, bytes, httpx.Headers, dict[str, str] | None] | None = None

    def __call__(self, default: list[tuple[bytes, bytes]], own: Headers, host: bytes) -> httpx.Headers:
        """Headers of one's own, for one request."""
        last = self._last
        if last is None or last[2] != host or last[1] != own or last[0] != default:
            _check_values(own)
            names = {name.lower() for name in own}
            defaults = [pair for pair in default if pair[0].lower().decode() not in names]
            merged = httpx.Headers([*cast("list[tuple[Any, Any]]", defaults), *own.items()])
            if "host" not in merged:
                merged = httpx.Headers([(b"Host", host), *merged.raw])
            known = dict(merged) if merged.encoding == "ascii" else None
            self._last = last = default, dict(own), host, merged, known
        return _SentHeaders(last[3], last[4])


def _check_values(headers: Mapping[str, Any]) -> None:
    """Raises ValueError for a value that no header can have: httpx would show it, and it may be a secret."""
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


_Origin: TypeAlias = tuple[str, str, int | None]


class _NoAuth(httpx.Auth):
    """What httpx comes to by itself where nobody is to be authenticated, with fewer steps."""

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        yield request


_no_auth: Final = _NoAuth()


def _auth(client: httpx.Client | httpx.AsyncClient, order: Order) -> Any:
    """The `auth` of a request that goes where the order says: the client's own."""
    if client.auth is None and type(client) in _OWN_KINDS and "@" not in order.url:
        return _no_auth
    return httpx.USE_CLIENT_DEFAULT


def _first(client: httpx.Client | httpx.AsyncClient, order: Order) -> httpx.Request:
    """The first request of an exchange. Raises ValueError for an order that cannot be."""
    init = order.init
    redirect, credentials = init.get("redirect"), init.get("credentials")
    if redirect is not None and redirect not in _REDIRECTS:
        raise ValueError(f"redirect is 'follow', 'error' or 'manual', not {redirect!r}")
    if credentials is not None and credentials not in _CREDENTIALS:
        raise ValueError(f"credentials is 'omit', 'same-origin' or 'include', not {credentials!r}")
    request = _request(client, order)
    _give_cookies(client, order, request, at_home=True)
    return request


def _is_plain(response: httpx.Response, order: Order) -> bool:
    """True for an answer that is complete: nothing to follow, to read or to refuse."""
    response.extensions[URL_EXTENSION] = order.public
    if log.isEnabledFor(logging.DEBUG):
        method, headers = order.init.get("method"), redacted(response.request.headers)
        log.debug("%s %s: %d, sent with %s", method, order.public, response.status_code, headers)
    return 200 <= response.status_code < 300 and not order.apart


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be shown: only those that describe the content or the connection keep their value."""
    return {name: value if name.lower() in _SHOWN_HEADERS else "[redacted]" for name, value in headers.items()}


def _settled(client: httpx.Client | httpx.AsyncClient, order: Order, response: httpx.Response) -> _Exchange:
    """From the first answer to the one that counts: redirects followed, the body read, refusals as NetworkError."""
    redirect = order.init.get("redirect") or "follow"
    origin = _origin(response.request.url)
    authenticate = True
    followed = 0
    while True:
        following = response.next_request
        if following is None or redirect == "manual":
            break
        yield _Close(response)
        if redirect == "error":
            raise NetworkError(
                f"{order.public}: redirected, which request_init['redirect'] = 'error' refuses",
                status=response.status_code,
                response=response,
                url=order.public,
            )
        followed += 1
        if followed > MAX_REDIRECTS:
            raise NetworkError(
                f"{order.public}: redirected more than {MAX_REDIRECTS} times", response=response, url=order.public
            )
        authenticate = authenticate and _origin(following.url) == origin
        _redirect_headers(following, order.headers, same_origin=authenticate)
        _give_cookies(client, order, following, at_home=authenticate)
        response = yield _Send(following, order.apart, authenticate)
        response.extensions[URL_EXTENSION] = order.public
    accepted = 200 <= response.status_code < 300
    if order.apart and not (accepted and order.stream):
        response = yield _Read(response, order.sender.limit, order.deadline)
    if not accepted:
        raise NetworkError(
            f"{order.public}: {response.reason_phrase or response.status_code}",
            status=response.status_code,
            response=response,
            url=order.public,
        )
    return response


def _failed(order: Order, error: BaseException) -> NetworkError:
    return NetworkError(f"{order.public}: {reason(error)}", url=order.public)


def _origin(url: httpx.URL) -> _Origin:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


class _KnownURL(httpx.URL):
    """A URL that was put into words once: httpx asks for its text more than once for each request."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._text = super().__str__()
        self.host_header = self.netloc

    def __str__(self) -> str:
        return self._text


@lru_cache(maxsize=512)
def _parsed(url: str) -> _KnownURL:
    return _KnownURL(url)


def _give_cookies(
    client: httpx.Client | httpx.AsyncClient, order: Order, request: httpx.Request, *, at_home: bool
) -> None:
    """Adds the cookies that this request may carry, and tells the jar whether to keep those of its answer (§13.1)."""
    has_cookies = next(iter(client.cookies.jar), None) is not None
    owns = order.sender.owns
    if not has_cookies and not owns:
        return
    use_jar = _uses_cookies(order.init.get("credentials") or "same-origin", order.sender.base, request.url)
    if owns:
        _with_cookies.set(use_jar)
    if use_jar and has_cookies:
        _add_cookies(client, request, everywhere=at_home)


def _uses_cookies(credentials: str, base: str, url: httpx.URL) -> bool:
    if credentials == "same-origin":
        return not base or _origin(url) == _origin(_parsed(base))
    return credentials == "include"


def _add_cookies(client: httpx.Client | httpx.AsyncClient, request: httpx.Request, *, everywhere: bool) -> None:
    """Adds the jar's cookies for this URL; away from the first origin only those that belong to a domain.

    A cookie that a user put into the jar without a domain would otherwise go to every host.
    """
    cookies = client.cookies
    if not everywhere:
        bound = CookieJar()
        for cookie in client.cookies.jar:
            if cookie.domain:
                bound.set_cookie(cookie)
        cookies = httpx.Cookies(bound)
    given = request.headers.pop("cookie", None)
    cookies.set_cookie_header(request)
    if given is not None:
        added = request.headers.get("cookie")
        request.headers["cookie"] = f"{given}; {added}" if added else given


def _redirect_headers(request: httpx.Request, given: Headers, *, same_origin: bool) -> None:
    """Credentials stay with their origin: elsewhere, what describes content and connection is left (§13.1)."""
    headers = request.headers
    headers.pop("cookie", None)
    if same_origin:
        for name, value in given.items():
            if name.lower() == "cookie":
                headers["cookie"] = value
        return
    for name in list(headers):
        if not name.startswith("content-") and name not in _CONTENT_HEADERS:
            del headers[name]
    headers["accept"] = "*/*"
    headers["user-agent"] = f"python-httpx/{httpx.__version__}"


class _Request(httpx.Request):
    """A request of which everything is known: httpx need not look for anything, nor join its content before it is asked
    for. That takes a tenth of a whole call.
    """

    def __init__(
        self,
        method: str,
        url: httpx.URL,
        headers: httpx.Headers,
        stream: httpx.ByteStream,
        extensions: dict[str, Any],
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.stream = stream
        self.extensions = extensions

    @property
    def content(self) -> bytes:
        return self.read()


def _request(client: httpx.Client | httpx.AsyncClient, order: Order) -> httpx.Request:
    """The request as the client itself would build it, but for cookies, which the exchange adds (§13.1)."""
    try:
        known = _parsed(order.url)
    except httpx.InvalidURL as error:
        raise ValueError(f"not a URL that can be requested: {order.public!r} ({error})") from error
    url = _with_params(known, client.params) if client.params else known
    headers = order.sender.merged_headers(client.headers.raw, order.headers, known.host_header)
    extensions: dict[str, Any] = {}
    if order.timeout is not None:
        extensions["timeout"] = httpx.Timeout(order.timeout / 1000).as_dict()
    method = str(order.init.get("method") or "GET").upper()
    body = order.init.get("body")
    added: Headers = {}
    content = b""
    if body is None or body == "":
        pass
    elif isinstance(body, bytes | bytearray | memoryview):
        content = bytes(cast("bytes | bytearray", body))
    elif isinstance(body, Form):
        content = body.encoded()
        added["Content-Type"] = "application/x-www-form-urlencoded"
    elif isinstance(body, str):
        content = body.encode()
        added["Content-Type"] = "text/plain; charset=utf-8"
    else:
        return _streaming_request(client, method, url, headers, body, extensions)
    if content or method in _WITH_LENGTH:
        added["Content-Length"] = str(len(content))
    for name, value in added.items():
        headers.setdefault(name, value)
    return _Request(method, url, headers, httpx.ByteStream(content) if content else _NO_CONTENT, extensions)


def _streaming_request(
    client: httpx.Client | httpx.AsyncClient,
    method: str,
    url: httpx.URL,
    headers: httpx.Headers,
    body: Any,
    extensions: dict[str, Any],
) -> httpx.Request:
    if not isinstance(body, Multipart):
        if hasattr(body, "read") and isinstance(client, httpx.AsyncClient):
            body = _read_file(body)
        return httpx.Request(method, url, headers=headers, content=body, extensions=extensions)
    fields, files = body.split()
    # Without a file httpx would send a urlencoded form: a part without file name is a text field all the same.
    parts: Any = files or [(name, (None, text)) for name, texts in fields.items() for text in texts]
    data = fields if files else None
    return httpx.Request(method, url, headers=headers, data=data, files=parts, extensions=extensions)


def _with_params(url: httpx.URL, params: httpx.QueryParams) -> httpx.URL:
    """The URL with the client's own search parameters, which those of the endpoint override."""
    given = url.params
    added = [(name, value) for name, value in params.multi_items() if name not in given]
    if not added:
        return url
    query = url.query.decode("ascii")
    return url.copy_with(query=f"{query}&{urlencode(added)}".lstrip("&").encode("ascii"))


async def _read_file(file: Any) -> AsyncIterator[bytes]:
    while chunk := file.read(65_536):
        yield chunk


# --- the senders -----------------------------------------------------------------------------------------------------


class _Sender:
    """What both senders know: who opened the client, base URL, limit of size, and the headers that were merged last."""

    order: Final = Order

    def __init__(self, given: httpx.Client | httpx.AsyncClient | None, base: str, limit: int | None) -> None:
        self.owns = given is None
        self.limit = limit
        self.merged_headers = _MergedHeaders()
        self._given = given
        self._base = base

    @property
    def base(self) -> str:
        """Where relative URLs lead: the base URL of the transport, else that of the user's client."""
        return self._base or ("" if self._given is None else str(self._given.base_url))


class SyncSender(_Sender):
    """Carries orders out through an `httpx.Client`: the given one, never closed here, or one opened when needed."""

    def __init__(self, given: httpx.Client | None, base: str, limit: int | None) -> None:
        super().__init__(given, base, limit)
        self._client = given
        self._jar = _own_cookies()
        self._lock = threading.Lock()
        _sync_senders.add(self)

    def forked(self) -> None:
        """This is a forked process: a client that was opened has the parent's connections, so a new one follows."""
        self._lock = threading.Lock()
        if self.owns and self._client is not None:
            _inherited.append(self._client)
            self._client = None

    @property
    def client(self) -> httpx.Client:
        """The client that requests go through."""
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(cookies=self._jar)
            return self._client

    def carry_out(self, order: Order) -> httpx.Response:
        """The answer to an order. Raises NetworkError, ValueError."""
        client = self._client or self.client
        kept = _with_cookies.set(True) if self.owns else None
        hidden = _hidden(order.shown) if order.shown is not None else None
        try:
            request = _first(client, order)
            response = client.send(request, stream=order.apart, auth=_auth(client, order), follow_redirects=False)
            if _is_plain(response, order):
                return response
            exchange = _settled(client, order, response)
            operation = next(exchange)
            while True:
                try:
                    outcome = operation.run(client)
                except BaseException as error:
                    operation = exchange.throw(error)
                else:
                    operation = exchange.send(outcome)
        except StopIteration as stop:
            return cast(httpx.Response, stop.value)
        except _FAILURES as error:
            raise _failed(order, error) from error
        finally:
            if kept is not None:
                _with_cookies.reset(kept)
            if hidden is not None:
                _shown_url.reset(hidden)

    def close(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        with self._lock:
            client, self._client = (self._client, None) if self.owns else (None, self._client)
        if client is not None:
            client.close()


_sync_senders: Final[WeakSet[SyncSender]] = WeakSet()
_inherited: Final[list[httpx.Client]] = []
"""Clients of a parent process: kept, so that nothing closes them here."""


def _after_fork() -> None:
    for sender in list(_sync_senders):
        sender.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class AsyncSender(_Sender):
    """`SyncSender` for an `httpx.AsyncClient`; `owner` is the transport, which learns whether its client has a pool."""

    def __init__(self, given: httpx.AsyncClient | None, base: str, limit: int | None, owner: Traced) -> None:
        super().__init__(given, base, limit)
        self._client = given
        self._own: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        self._jar = _own_cookies()
        self._owner = owner

    @property
    def client(self) -> httpx.AsyncClient:
        """The client that requests go through: the user's, or one for the running loop: connections belong to one."""
        if self._client is not None:
            return self._client
        loop = asyncio.get_running_loop()
        own = self._own.get(loop)
        if own is None:
            own = self._own[loop] = httpx.AsyncClient(cookies=self._jar)
        return own

    async def carry_out(self, order: Order) -> httpx.Response:
        """The answer to an order. Raises NetworkError, ValueError."""
        client = self._client or self.client
        kept = _with_cookies.set(True) if self.owns else None
        hidden = _hidden(order.shown) if order.shown is not None else None
        try:
            request = _first(client, order)
            auth = _auth(client, order)
            guard = current_guard()
            if guard is None:
                response = await client.send(request, stream=order.apart, auth=auth, follow_redirects=False)
            else:
                guard.enter(self._owner, request.extensions)
                try:
                    response = await client.send(request, stream=order.apart, auth=auth, follow_redirects=False)
                finally:
                    guard.leave()
            if _is_plain(response, order):
                return response
            exchange = _settled(client, order, response)
            operation = next(exchange)
            while True:
                try:
                    outcome = await operation.run_async(client)
                except BaseException as error:
                    operation = exchange.throw(error)
                else:
                    operation = exchange.send(outcome)
        except StopIteration as stop:
            return cast(httpx.Response, stop.value)
        except _FAILURES as error:
            raise _failed(order, error) from error
        finally:
            if kept is not None or hidden is not None:
                # A coroutine that was given up is closed in another context, where there is nothing to restore.
                with contextlib.suppress(ValueError):
                    if kept is not None:
                        _with_cookies.reset(kept)
                    if hidden is not None:
                        _shown_url.reset(hidden)

    async def carry_out_unless_aborted(self, order: Order, signal: AbortSignal) -> httpx.Response:
        """`carry_out`, given up as soon as the signal is aborted. Raises AbortError then."""
        loop = asyncio.get_running_loop()
        request = loop.create_task(self.carry_out(order))
        forget = signal.add_listener(lambda: loop.call_soon_threadsafe(request.cancel))
        try:
            return await request
        except asyncio.CancelledError:
            if signal.aborted and request.cancelled():
                raise signal.error() from None
            raise
        finally:
            forget()

    async def aclose(self) -> None:
        """Closes the client if it was opened here; the next request opens another one."""
        own = self._own.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.aclose()


# --- for tests of users ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A request as `answering_client` shows it; header names are in lower case."""

    method: str
    url: str
    headers: Headers = field(default_factory=dict[str, str])
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that `answering_client` gives."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


def _asked(request: httpx.Request, content: bytes) -> Request:
    return Request(request.method, str(request.url), dict(request.headers), content)


def _answered(answer: Answer) -> httpx.Response:
    return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.content)


@contextlib.contextmanager
def _as_httpx_errors(request: httpx.Request) -> Generator[None]:
    try:
        yield
    except TimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except ConnectionError as error:
        raise httpx.ConnectError(str(error), request=request) from error


def answering_client(answer: Callable[[Request], Answer], base_url: str = "") -> httpx.Client:
    """A client whose requests are answered by a function; ConnectionError and TimeoutError are failures on the way."""

    def handle(request: httpx.Request) -> httpx.Response:
        with _as_httpx_errors(request):
            return _answered(answer(_asked(request, request.read())))

    return httpx.Client(transport=httpx.MockTransport(handle), base_url=base_url)


def answering_async_client(
    answer: Callable[[Request], Answer | Awaitable[Answer]], base_url: str = ""
) -> httpx.AsyncClient:
    """`answering_client` for the asynchronous client; the function may be a coroutine function."""

    async def handle(request: httpx.Request) -> httpx.Response:
        with _as_httpx_errors(request):
            answered = answer(_asked(request, await request.aread()))
            return _answered(await answered if inspect.isawaitable(answered) else answered)

    return httpx.AsyncClient(transport=httpx.MockTransport(handle), base_url=base_url)
