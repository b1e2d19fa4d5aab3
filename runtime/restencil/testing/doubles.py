"""A mock server in memory, its responses, and the filling of stores without requests."""

from __future__ import annotations

import asyncio
import json as jsonlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from ..base.scheduler import block
from ..http.mock_clients import Request, Response, answering_async_client, answering_client
from ..http.transport import library_for

if TYPE_CHECKING:
    from ..base.transport import AwaitingClient, BlockingClient
    from ..client.controller import AnyController, HttpLibrary
    from ..endpoint.endpoint import Endpoint
    from .clock import FakeClock

__all__ = ["Answer", "Fixture", "MockServer", "NetworkDown", "Request", "fill"]

_ABSENT: Final[Any] = object()


@dataclass(frozen=True)
class Answer:
    """A response of a mock server, sent `delay` milliseconds after the request.

    The body is one of `json`, `text` and `content`; JSON has the content type `application/json` unless `headers` has
    another.
    """

    status: int = 200
    json: Any = _ABSENT
    text: str | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0

    def on_the_wire(self) -> Response:
        """Return the HTTP response: status, headers and the encoded body."""
        headers = dict(self.headers)
        content = self.content if self.content is not None else (self.text or "").encode()
        if self.json is not _ABSENT:
            content = jsonlib.dumps(self.json).encode()
            if not any(name.lower() == "content-type" for name in headers):
                headers["Content-Type"] = "application/json"
        return Response(self.status, headers, content)


@dataclass(frozen=True)
class Fixture:
    """The response of one endpoint for some arguments: `response`, or `error`, `delay` milliseconds after the request.

    `args` are positional arguments; None matches any arguments. `response` may be a function of the request.
    `error` is an exception of the connection, an HTTP status, or an error that has a `status`.
    """

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...] | None = ()
    response: Any = None
    error: BaseException | int | None = None
    delay: float = 0

    def matches(self, request: Request) -> bool:
        """Whether a request is one of the endpoint with the arguments."""
        method = str(getattr(self.endpoint, "method", "GET"))
        if request.method != method:
            return False
        if self.args is None:
            parts = urlsplit(request.url)
            tail = parts.path + ("?" + parts.query if parts.query else "")
            return self.endpoint.test_key(f"{method} {request.url}") or self.endpoint.test_key(f"{method} {tail}")
        return _same_place(self.endpoint.request_url(self.args), request.url)

    def answer(self, request: Request) -> Answer | BaseException:
        """Return the Answer to a matching request, or the exception that it fails with."""
        error = self.error
        if error is not None:
            status = error if isinstance(error, int) else getattr(error, "status", None)
            if isinstance(error, ConnectionError):
                return NetworkDown(str(error), delay=self.delay)
            return Answer(status if isinstance(status, int) else 500, json={}, delay=self.delay)
        response = self.response(request) if callable(self.response) else self.response
        if isinstance(response, Answer):
            return response
        if response is None:
            return Answer(204, delay=self.delay)
        return Answer(json=response, delay=self.delay)


class NetworkDown(ConnectionError):
    """A failed connection: the request fails with this error after `delay` milliseconds."""

    def __init__(self, message: str = "no connection", *, delay: float = 0) -> None:
        super().__init__(message)
        self.delay = delay


Respond = Callable[[Request], "Answer | BaseException | None"]
"""Returns the Answer to a request, an exception that it fails with, or None for no response at all."""


class MockServer:
    """A server in memory that responds with fixtures, or by a function `respond(request)`.

        server = MockServer(clock)
        server.on(Articles.get, response={"id": 1, "title": "A"}, delay=150, id=1)
        controller = Controller(clock.store(), client=server.client(), base_url="http://mock")

    `respond` returns an Answer, an exception that the request fails with (ConnectionError, TimeoutError), or None for
    no response at all. The response to a request without a matching fixture has status 404. `requests` contains all
    requests in order. Without a clock, delays are in real time.
    """

    def __init__(
        self, clock: FakeClock | None = None, fixtures: Iterable[Fixture] = (), respond: Respond | None = None
    ) -> None:
        self.clock = clock
        self.requests: list[Request] = []
        self.respond: Respond = respond or self._by_fixture
        self._fixtures: list[Fixture] = list(fixtures)
        self._never = threading.Event()

    def on(
        self,
        endpoint: Endpoint[..., Any],
        /,
        *args: Any,
        response: Any = None,
        error: BaseException | int | None = None,
        delay: float = 0,
        **kwargs: Any,
    ) -> None:
        """Add a fixture of an endpoint, with the arguments of a call; `Fixture` documents the other parameters.

        Several fixtures for one request are its responses in turn, and the last one repeats.
        """
        bound = endpoint.bind_args(args, kwargs)
        self._fixtures.append(Fixture(endpoint, bound, response, error, delay))

    def client(self, base_url: str = "", *, http: HttpLibrary | None = None) -> BlockingClient:
        """Return a synchronous HTTP client whose requests go to this server; close it after use.

        `http` selects the HTTP library, by default that of the environment variable RESTENCIL_HTTP, else the installed
        one. Raises ImportError if it is not installed.
        """
        return answering_client(library_for(http), self._answer, base_url)

    def async_client(self, base_url: str = "", *, http: HttpLibrary | None = None) -> AwaitingClient:
        """Return an asyncio HTTP client whose requests go to this server; close it after use. `http` as in `client`."""
        return answering_async_client(library_for(http), self._answer_async, base_url)

    def _by_fixture(self, request: Request) -> Answer | BaseException | None:
        matching = [fixture for fixture in self._fixtures if fixture.matches(request)]
        if not matching:
            return Answer(404, json={"detail": f"no fixture for {request.method} {request.url}"})
        if len(matching) > 1:
            self._fixtures.remove(matching[0])
        return matching[0].answer(request)

    def _recorded(self, request: Request) -> Answer | BaseException | None:
        self.requests.append(request)
        return self.respond(request)

    def _answer(self, request: Request) -> Response:
        answer = self._recorded(request)
        if answer is None:
            if self.clock is None:
                raise TimeoutError("the mock server does not answer this request")
            block(self.clock, self._never)
        delay = getattr(answer, "delay", 0.0)
        if delay:
            if self.clock is None:
                time.sleep(delay / 1000)
            else:
                self.clock.sleep(delay)
        return _delivered(answer)

    async def _answer_async(self, request: Request) -> Response:
        answer = self._recorded(request)
        if answer is None:
            await asyncio.get_running_loop().create_future()
        delay = getattr(answer, "delay", 0.0)
        if delay:
            await asyncio.sleep(delay / 1000)
        return _delivered(answer)


def fill(controller: AnyController, fixtures: Iterable[Fixture]) -> None:
    """Store the responses and errors of fixtures in the store of a controller, as if fetched now, without requests.

    Raises ProcessingError for a response that does not match its schema, and TypeError for a fixture whose `error` is a
    status and not an exception.
    """
    for fixture in fixtures:
        args = fixture.args or ()
        if fixture.error is None:
            controller.set_response(fixture.endpoint, fixture.response, *args)
        elif isinstance(fixture.error, BaseException):
            controller.set_error(fixture.endpoint, fixture.error, *args)
        else:
            raise TypeError(f"fill() takes errors as exceptions, found status {fixture.error} for {fixture.endpoint!r}")


def _delivered(answer: Answer | BaseException | None) -> Response:
    if isinstance(answer, Answer):
        return answer.on_the_wire()
    assert answer is not None
    raise answer


def _same_place(expected: str, url: str) -> bool:
    wanted, got = urlsplit(expected), urlsplit(url)
    if wanted.netloc and (wanted.scheme, wanted.netloc) != (got.scheme, got.netloc):
        return False
    return unquote(wanted.path) == unquote(got.path) and unquote(wanted.query) == unquote(got.query)
