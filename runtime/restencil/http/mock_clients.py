"""HTTP clients of either library that respond from memory, for tests of users."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field

from .library import AsyncClient, Client, Library, RawRequest, RawResponse


@dataclass(frozen=True, slots=True)
class Request:
    """A request that `answering_client` passes to its function; header names are in lower case."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """A response that the function of `answering_client` returns."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


def _shown(request: RawRequest, content: bytes) -> Request:
    return Request(request.method, str(request.url), dict(request.headers), content)


def _given(library: Library, response: Response) -> RawResponse:
    return library.Response(response.status, headers=dict(response.headers), content=response.content)


@contextlib.contextmanager
def _as_failures(library: Library, request: RawRequest) -> Generator[None]:
    """Convert Python's connection errors to those of the library."""
    try:
        yield
    except TimeoutError as error:
        raise library.ReadTimeout(str(error), request=request) from error
    except ConnectionError as error:
        raise library.ConnectError(str(error), request=request) from error


def answering_client(library: Library, respond: Callable[[Request], Response], base_url: str = "") -> Client:
    """Return a client whose responses come from a function.

    ConnectionError and TimeoutError become errors of the library.
    """

    def handle(request: RawRequest) -> RawResponse:
        with _as_failures(library, request):
            return _given(library, respond(_shown(request, request.read())))

    return library.Client(transport=library.MockTransport(handle), base_url=base_url)


def answering_async_client(
    library: Library, respond: Callable[[Request], Response | Awaitable[Response]], base_url: str = ""
) -> AsyncClient:
    """Return an async client whose responses come from a function, which may be a coroutine function.

    ConnectionError and TimeoutError become errors of the library.
    """

    async def handle(request: RawRequest) -> RawResponse:
        with _as_failures(library, request):
            response = respond(_shown(request, await request.aread()))
            return _given(library, await response if inspect.isawaitable(response) else response)

    return library.AsyncClient(transport=library.MockTransport(handle), base_url=base_url)
