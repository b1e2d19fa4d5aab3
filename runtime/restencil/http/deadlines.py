"""The strict deadline of an attempt, for clients that restencil opens.

The HTTP libraries limit each wait of a request, not its total time: a server that sends one byte of its status line
every second never times out. Their transports accept neither a total timeout nor a network backend, so the transports
here open a connection pool of httpcore themselves, with a backend that limits each wait to the remaining time of the
attempt. httpcore still implements connections, TLS and HTTP/1.1.

A user's own client keeps its transport; its deadline is checked between the chunks of a body (`limits`). The same
applies if environment variables configure a proxy, because clients use these only with their default transports.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies

from .cookies import empty_jar
from .outgoing import current_request

if TYPE_CHECKING:
    from .library import AsyncClient, Client, Library, RawRequest, RawResponse

_MAX_CONNECTIONS: Final = 100
_MAX_IDLE_CONNECTIONS: Final = 20
_IDLE_SECONDS: Final = 5.0
"""Limits of a connection pool, the same as those of the clients of the HTTP libraries."""

_WRITE_SIZE: Final = 16_384
"""The size in bytes of the parts in which data is written, each with the remaining time as its timeout."""


def open_client(library: Library) -> Client:
    """Open a blocking client without cookies, whose connections respect the deadline of a request."""
    if _environment_names_proxy():
        return library.Client(cookies=empty_jar())
    transport: Any = library.subclass(_Transport, library.BaseTransport)(library)
    return library.Client(cookies=empty_jar(), transport=transport)


def open_async_client(library: Library) -> AsyncClient:
    """Open an async client without cookies, whose connections respect the deadline of a request."""
    if _environment_names_proxy():
        return library.AsyncClient(cookies=empty_jar())
    transport: Any = library.subclass(_AsyncTransport, library.AsyncBaseTransport)(library)
    return library.AsyncClient(cookies=empty_jar(), transport=transport)


def _environment_names_proxy() -> bool:
    return not getproxies().keys().isdisjoint(("http", "https", "all"))


def limit_steps(request: RawRequest, deadline: float | None) -> None:
    """Limit the timeouts of a redirected request to the remaining time of the attempt."""
    limits: Any = request.extensions.get("timeout")
    if deadline is not None and limits:
        left = max(deadline - time.monotonic(), 0.001)
        steps = {step: left if limit is None else min(left, limit) for step, limit in limits.items()}
        request.extensions = {**request.extensions, "timeout": steps}


def _deadline() -> float | None:
    in_progress = current_request.get()
    return None if in_progress is None else in_progress.deadline


def _time_left(timeout: float | None, late: type[Exception]) -> float | None:
    """Return the timeout of a step in seconds, at most the remaining time. Raises `late` if no time remains."""
    end = _deadline()
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0:
        raise late("the total timeout of the request has expired")
    return left if timeout is None else min(timeout, left)


def addresses_of(
    host: str, port: int, timeout: float | None, look_up: Callable[..., list[Any]] = socket.getaddrinfo
) -> list[Any]:
    """Return the addresses of a host, in the form of `getaddrinfo`. Raises TimeoutError after `timeout` seconds.

    A name lookup cannot be interrupted, so it runs in a thread, which ends when the operating system returns.
    """
    try:
        return look_up(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # a name, not a numeric address
        pass
    found: list[Any] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            found.extend(look_up(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="restencil-lookup", daemon=True)
    thread.start()
    thread.join(timeout)
    if errors:
        raise errors[0]
    if not found:
        raise TimeoutError(f"the host {host!r} was not resolved within the timeout")
    return found


# --- the network, as httpcore uses it --------------------------------------------------------------------------------


class _Backend:
    """The network backend of blocking clients."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._backend = core.SyncBackend()

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: object) -> _Stream:
        """Connect to the first address of the host that accepts, trying all within the remaining time."""
        late = self._core.ConnectTimeout
        if _deadline() is None:
            return _Stream(self._core, self._backend.connect_tcp(host, port, timeout, **options))
        try:
            found = addresses_of(host, port, _time_left(timeout, late))
        except TimeoutError as error:
            raise late(str(error)) from error
        except OSError as error:
            raise self._core.ConnectError(str(error)) from error
        problem: Exception = self._core.ConnectError("the host has no address")
        for *_, address in found:
            try:
                left = _time_left(timeout, late)
                return _Stream(self._core, self._backend.connect_tcp(str(address[0]), port, left, **options))
            except (self._core.ConnectError, late) as error:
                problem = error
        raise problem

    def sleep(self, seconds: float) -> None:
        """Wait between attempts to connect."""
        self._backend.sleep(seconds)


class _Stream:
    """A connection of a blocking client."""

    def __init__(self, core: Any, stream: Any) -> None:
        self._core = core
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received: bytes = self._stream.read(max_bytes, _time_left(timeout, self._core.ReadTimeout))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        late = self._core.WriteTimeout
        for start in range(0, len(buffer), _WRITE_SIZE):
            self._stream.write(buffer[start : start + _WRITE_SIZE], _time_left(timeout, late))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: object, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        try:
            left = _time_left(timeout, self._core.ConnectTimeout)
        except BaseException:
            self.close()
            raise
        return _Stream(self._core, self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


class _AsyncBackend:
    """The network backend of async clients."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._backend = core.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: object) -> _AsyncStream:
        left = _time_left(timeout, self._core.ConnectTimeout)
        return _AsyncStream(self._core, await self._backend.connect_tcp(host, port, left, **options))

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts to connect."""
        await self._backend.sleep(seconds)


class _AsyncStream:
    """A connection of an async client."""

    def __init__(self, core: Any, stream: Any) -> None:
        self._core = core
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received: bytes = await self._stream.read(max_bytes, _time_left(timeout, self._core.ReadTimeout))
        return received

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, _time_left(timeout, self._core.WriteTimeout))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: object, server_hostname: str | None = None, timeout: float | None = None
    ) -> _AsyncStream:
        try:
            left = _time_left(timeout, self._core.ConnectTimeout)
        except BaseException:
            await self.aclose()
            raise
        return _AsyncStream(self._core, await self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


# --- the transports, as the HTTP library uses them -------------------------------------------------------------------


class _PoolTransport:
    """Base of both transports: the connection pool, and the conversion of requests and errors from and to httpcore."""

    def __init__(self, library: Library, pool: str, backend: Any) -> None:
        self._library = library
        self._core: Any = import_module(library.core)
        self._pool = getattr(self._core, pool)(
            ssl_context=library.create_ssl_context(),
            max_connections=_MAX_CONNECTIONS,
            max_keepalive_connections=_MAX_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=backend(self._core),
        )

    def _request(self, request: RawRequest) -> object:
        url = request.url
        target = self._core.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        return self._core.Request(
            request.method, target, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )

    @contextlib.contextmanager
    def errors(self) -> Generator[None]:
        """Convert errors of httpcore to the errors of the same names of the HTTP library."""
        try:
            yield
        except Exception as error:
            names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(self._core.__name__)]
            kind = next(
                (found for name in names if (found := self._library.transport_errors.get(name)) is not None), None
            )
            if kind is None:
                raise
            raise kind(str(error)) from error


class _Transport(_PoolTransport):
    """The transport of a blocking client; each library gets a subclass that derives from its `BaseTransport` too."""

    def __init__(self, library: Library) -> None:
        super().__init__(library, "ConnectionPool", _Backend)
        self._body = library.subclass(_Body, library.SyncByteStream)

    def handle_request(self, request: RawRequest) -> RawResponse:
        """Send a request and return the response, whose body is not read yet."""
        with self.errors():
            response = self._pool.handle_request(self._request(request))
        stream: Any = self._body(self, response.stream)
        return self._library.Response(
            response.status, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Body:
    """The body of a response of a blocking client."""

    def __init__(self, transport: _PoolTransport, stream: Any) -> None:
        self._transport = transport
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with self._transport.errors():
            yield from self._stream

    def close(self) -> None:
        """Release the connection."""
        self._stream.close()


class _AsyncTransport(_PoolTransport):
    """The transport of an async client; each library gets a subclass that derives from its `AsyncBaseTransport` too."""

    def __init__(self, library: Library) -> None:
        super().__init__(library, "AsyncConnectionPool", _AsyncBackend)
        self._body = library.subclass(_AsyncBody, library.AsyncByteStream)

    async def handle_async_request(self, request: RawRequest) -> RawResponse:
        """Send a request and return the response, whose body is not read yet."""
        with self.errors():
            response = await self._pool.handle_async_request(self._request(request))
        stream: Any = self._body(self, response.stream)
        return self._library.Response(
            response.status, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _AsyncBody:
    """The body of a response of an async client."""

    def __init__(self, transport: _PoolTransport, stream: Any) -> None:
        self._transport = transport
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._transport.errors():
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        """Release the connection."""
        await self._stream.aclose()
