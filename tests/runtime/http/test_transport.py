"""The way of a request: redirects, credentials, cookies, limits, aborting, streams, failures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest
from tests.libraries import httpx, name_in_use
from tests.patience import PATIENCE, eventually_async
from tests.runtime.clients import Asked
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, running

import restencil
from restencil import AbortController, AbortError, Api, Controller, Entity, NetworkError, RestEndpoint, StatusError
from restencil.http.library import library_named
from restencil.http.mock_clients import Request, Response, answering_async_client, answering_client
from restencil.http.transport import AsyncTransport, SyncTransport

pytestmark = pytest.mark.network


def called(
    endpoint: RestEndpoint[..., Any], asynchronous: bool, *args: Any, before: str | None = None, **client: Any
) -> Any:
    """The value of a direct call through a client of this kind; `before` is asked first, so that it is connected."""
    opened = client_of(asynchronous, timeout=PATIENCE, **client)
    with running(opened) as run:
        if before is not None:
            run(opened.get(before))
        return run(endpoint.extend(client=opened)(*args))


def sent(url: str, asynchronous: bool, *inits: Mapping[str, Any], **options: Any) -> list[httpx.Response]:
    """The answers to some requests through a transport of this kind that opens its own client."""
    if not asynchronous:
        with contextlib.closing(SyncTransport(**options)) as transport:
            return [transport.send(url, init) for init in inits]

    async def run() -> list[httpx.Response]:
        async with contextlib.aclosing(AsyncTransport(**options)) as transport:
            return [await transport.send(url, init) for init in inits]

    return asyncio.run(run())


# -- direct calls ----------------------------------------------------------------------------------------------------


def test_transport_relative_url_needs_a_base(asynchronous: bool) -> None:
    """Without one the request fails with a ValueError before any I/O."""
    with pytest.raises(ValueError, match="the URL '/a' is relative, but there is no base URL; set url_prefix"):
        called(RestEndpoint(path="/a"), asynchronous)


def test_transport_base_url_of_the_transport_stands_before_that_of_the_client(asynchronous: bool) -> None:
    """The controller's base_url, else the client's."""
    with Server() as server:
        for url in ("/a", "?q=1"):
            assert sent(url, asynchronous, {}, base_url=f"{server.url}/api")[0].status_code == 200
        assert [request.target for request in server.arrived] == ["/api/a", "/api?q=1"]


def test_transport_url_that_cannot_be_requested_is_a_value_error() -> None:
    """A broken port or an endless URL is told before any I/O."""
    with pytest.raises(ValueError, match="invalid URL 'http://h.test:port/a': "):
        RestEndpoint(path="/a", url_prefix="http://h.test:port")()
    with pytest.raises(ValueError, match="invalid URL '"):
        RestEndpoint(path="/a/:id", url_prefix="http://h.test")(id="x" * 70_000)


# -- redirects -------------------------------------------------------------------------------------------------------


class Token(RestEndpoint):
    """An endpoint whose every request carries credentials of all kinds."""

    def get_headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {**headers, "Access-Token": "s3cret", "Authorization": "Bearer s3cret", "Cookie": "own=s3cret"}


def redirecting(location: Callable[[], str], status: int = 302) -> Callable[[Arrived], Reply]:
    def handler(request: Arrived) -> Reply:
        if request.target.startswith("/from"):
            return Reply(status, headers={"Location": location(), "Set-Cookie": "jar=s3cret"})
        return Reply(body=b'{"ok":1}')

    return handler


def test_transport_credentials_do_not_follow_a_redirect_to_another_origin(asynchronous: bool) -> None:
    """Headers that were added and the client's auth, default headers and bare cookies stay at their origin."""
    with Server() as other, Server(redirecting(lambda: f"{other.url}/to")) as server:
        endpoint = Token(
            path="/from",
            url_prefix=server.url,
            method="PUT",
            side_effect=False,
            request_init={"headers": {"X-API-Key": "s3cret"}},
        )
        client: dict[str, Any] = {
            "auth": ("user", "s3cret"),
            "headers": {"X-Client": "s3cret", "User-Agent": "mine"},
            "cookies": {"bare": "s3cret"},
        }
        assert called(endpoint, asynchronous, {}, {"a": 1}, **client) == {}
        first, second = server.arrived[0].headers, other.arrived[0]
        assert first["access-token"] == "s3cret"
        assert first["x-client"] == "s3cret"
        assert "bare=s3cret" in first["cookie"]
        assert "own=s3cret" in first["cookie"]
        assert "s3cret" not in str({name: value for name, value in second.headers.items() if name != "cookie"})
        assert "own=" not in second.headers.get("cookie", "")
        assert "bare=" not in second.headers.get("cookie", "")
        assert (first["user-agent"], second.method) == ("mine", "GET")
        assert second.headers["user-agent"].startswith("python-")


@pytest.mark.parametrize("status", [307, 308])
def test_transport_redirect_with_body_stays_at_its_origin(status: int, asynchronous: bool) -> None:
    """A body is not sent to another origin, whoever redirects there; the error names both origins."""
    with Server() as other, Server(redirecting(lambda: f"{other.url}/to", status)) as server:
        endpoint = RestEndpoint(path="/from", url_prefix=server.url, method="POST")
        said = f"redirected from {server.url} to {other.url}, but a body is not sent to another origin"
        with pytest.raises(StatusError, match=re.escape(said)) as caught:
            called(endpoint, asynchronous, {}, {"a": 1})
        assert (caught.value.status, other.arrived) == (status, [])
        with pytest.raises(StatusError, match=re.escape(said)):
            called(endpoint, asynchronous, {}, restencil.Multipart({"file": b"in a file"}))
        assert other.arrived == []


def test_transport_redirect_with_body_to_another_origin_can_be_allowed(asynchronous: bool) -> None:
    """`redirects={"cross_origin_body": True}` sends the body on, without credentials; without a body none is needed."""
    with Server() as other, Server(redirecting(lambda: f"{other.url}/to", 308)) as server:
        given: dict[str, Any] = {"path": "/from", "url_prefix": server.url, "method": "POST"}
        allowed = Token(**given, redirects={"cross_origin_body": True})
        assert called(allowed, asynchronous, {}, {"a": 1}) == {}
        assert (other.arrived[0].method, other.arrived[0].body) == ("POST", b'{"a":1}')
        assert "access-token" not in other.arrived[0].headers
        assert "authorization" not in other.arrived[0].headers
        assert called(RestEndpoint(**given), asynchronous) == {}
        assert called(RestEndpoint(**{**given, "method": "GET"}), asynchronous) == {}
        assert len(other.arrived) == 3


def test_transport_redirects_of_an_api_and_a_resource() -> None:
    """`Api(redirects=…)` allows it for requests that no endpoint describes, the resource for its endpoints."""

    class Thing(Entity):
        id: int = 0

    with Server() as other, Server(redirecting(lambda: f"{other.url}/to", 307)) as server:

        class Strict(Controller):
            _api = Api(server.url)

        class Open(Controller):
            _api = Api(server.url, redirects={"cross_origin_body": True})

        with Strict() as strict, pytest.raises(StatusError, match="a body is not sent to another origin"):
            strict.request("POST", "/from", body={"a": 1})
        with Open() as allowed:
            assert allowed.request("POST", "/from", body={"a": 1}).value == {}
        given: dict[str, Any] = {"cross_origin_body": True}
        things: Any = restencil.create_resource(path="/from/:id", schema=Thing, redirects=given)
        assert things.update.redirects == things.create.redirects == given


def test_transport_redirects_option_is_checked() -> None:
    """Its one member is cross_origin_body, which is true or false."""
    for wrong in (True, {}, {"cross_origin_body": 1}, {"cross_origin": True}):
        with pytest.raises(ValueError, match="redirects of endpoint .*; expected {'cross_origin_body': True}"):
            RestEndpoint(path="/a", redirects=wrong)


def test_transport_credentials_that_were_dropped_do_not_come_back() -> None:
    """A redirect there and back again leads to the first origin without them."""
    home: list[Server] = []
    with Server(lambda request: Reply(302, headers={"Location": f"{home[0].url}/back"})) as other:
        with Server(redirecting(lambda: f"{other.url}/to")) as server:
            home.append(server)
            with httpx.Client(auth=("user", "s3cret")) as client:
                assert Token(path="/from", url_prefix=server.url, client=client)() == {"ok": 1}
            assert server.arrived[1].target == "/back"
            assert "s3cret" not in str({k: v for k, v in server.arrived[1].headers.items() if k != "cookie"})


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_transport_redirects_rewrite_the_method_as_http_clients_do(status: int, method: str) -> None:
    """Redirects are followed; 301, 302 and 303 turn a POST into a GET where it changes nothing."""
    with Server(redirecting(lambda: "/to", status)) as server:
        search = RestEndpoint(path="/from", url_prefix=server.url, method="POST", side_effect=False)
        assert search({"a": 1}) == {"ok": 1}
        assert server.arrived[1].method == method
        assert ("content-type" in server.arrived[1].headers) is (method == "POST")


@pytest.mark.parametrize(
    ("status", "method"),
    [(status, method) for status in (301, 302, 303) for method in ("POST", "PUT", "PATCH", "DELETE")],
)
def test_transport_change_never_becomes_a_read(status: int, method: str, asynchronous: bool) -> None:
    """The error has the status and both addresses, and says what to do; nothing further is asked."""
    with Server(redirecting(lambda: "/from/", status)) as server:
        arguments = () if method == "DELETE" else ({}, {"a": 1})
        with pytest.raises(NetworkError) as caught:
            called(RestEndpoint(path="/from", url_prefix=server.url, method=method), asynchronous, *arguments)
        assert len(server.arrived) == 1
        start = f"{method} {server.url}/from: {status} "
        message = str(caught.value)
        assert message.startswith(start) and f"redirected to {server.url}/from/, " in message
        assert "the change may not have happened; if the URL needs a trailing slash, add it to `path`" in message
        assert ("follow_see_other" in message) is (status == 303)
        assert (caught.value.status, caught.value.has_response) == (status, True)


@pytest.mark.parametrize("status", [302, 303])
def test_transport_303_is_followed_where_the_endpoint_is_reported(status: int, asynchronous: bool) -> None:
    """`follow_see_other` is about 303 alone; what follows has no content, and no content type."""
    with Server(redirecting(lambda: "/to", status)) as server:
        change = RestEndpoint(path="/from", url_prefix=server.url, method="POST", follow_see_other=True)
        if status == 303:
            assert called(change, asynchronous, {}, {"a": 1}) == {"ok": 1}
            assert server.arrived[1].method == "GET" and "content-type" not in server.arrived[1].headers
        else:
            with pytest.raises(NetworkError, match="the change may not have happened"):
                called(change, asynchronous, {}, {"a": 1})


def test_transport_redirect_error_rejects_and_manual_shows_the_redirect() -> None:
    """`redirect` of request_init is follow, error or manual."""
    with Server(redirecting(lambda: "/to")) as server:
        endpoint = RestEndpoint(path="/from", url_prefix=server.url)
        with pytest.raises(NetworkError, match="redirected, which request_init.* forbids") as caught:
            endpoint.extend(request_init={"redirect": "error"})()
        assert caught.value.status == 302
        with pytest.raises(NetworkError) as caught:
            endpoint.extend(request_init={"redirect": "manual"})()
        assert caught.value.response is not None
        assert (caught.value.status, caught.value.response.headers["location"]) == (302, "/to")
        with pytest.raises(
            ValueError, match=r"request_init\['redirect'\] is 'maybe'; expected 'follow', 'error' or 'manual'"
        ):
            endpoint.extend(request_init={"redirect": "maybe"})()
        assert len(server.arrived) == 2


# -- cookies ---------------------------------------------------------------------------------------------------------


def baking(request: Arrived) -> Reply:
    return Reply(headers={"Set-Cookie": "sid=1; Path=/"})


@pytest.mark.parametrize(
    ("credentials", "base", "returned"),
    [
        (None, "own", True),
        ("same-origin", "own", True),
        ("same-origin", "other", False),
        ("same-origin", None, True),
        ("include", "other", True),
        ("omit", "own", False),
    ],
)
def test_transport_credentials_report_whether_cookies_are_kept_and_sent(
    credentials: str | None, base: str | None, returned: bool, asynchronous: bool
) -> None:
    """Omit stores and sends none, same-origin uses the jar at the base origin, include always."""
    with Server(baking) as server:
        bases = {"own": server.url, "other": "http://other.test", None: ""}
        inits = [{"credentials": word} for word in (credentials, credentials, "include")]
        sent(f"{server.url}/a", asynchronous, *inits, base_url=bases[base])
        assert ("cookie" in server.arrived[1].headers) is returned
        assert ("cookie" in server.arrived[2].headers) is returned


# -- timeouts and limits ---------------------------------------------------------------------------------------------


def test_transport_limits_that_cannot_be_are_rejected() -> None:
    """A timeout is positive, a limit is not negative."""
    with pytest.raises(ValueError, match="timeout is 0; expected a positive number of milliseconds"):
        SyncTransport(timeout=0)
    with pytest.raises(ValueError, match="max_response_bytes is -1; expected a number that is not negative"):
        AsyncTransport(max_response_bytes=-1)


# -- aborting --------------------------------------------------------------------------------------------------------


def test_transport_request_in_progress_is_aborted_at_once_from_another_thread(asynchronous: bool) -> None:
    """Whoever waits is released, though the server says nothing."""
    controller = AbortController()

    def respond(request: Arrived) -> Reply:
        controller.abort()
        return Reply(held=True)

    with Server(respond) as server, pytest.raises(AbortError, match="the request was aborted"):
        called(RestEndpoint(path="/a", url_prefix=server.url, signal=controller.signal), asynchronous)


def test_transport_failure_of_a_request_with_a_signal_is_its_own(asynchronous: bool) -> None:
    """A signal that is not aborted changes no error."""
    endpoint = RestEndpoint(path="/a", url_prefix="http://case.test", signal=AbortController().signal)
    client = Asked(httpx.Response(500)).of(asynchronous)
    with running(client) as run, pytest.raises(NetworkError, match="500"):
        run(endpoint.extend(client=client)())


async def test_transport_cancelled_caller_sees_its_own_cancellation() -> None:
    """A task that is cancelled from outside is no aborted request."""
    controller = AbortController()
    with Server(lambda request: Reply(held=True)) as server:
        async with httpx.AsyncClient() as client:
            endpoint = RestEndpoint(path="/a", url_prefix=server.url, signal=controller.signal, client=client)
            task = asyncio.ensure_future(endpoint())
            await eventually_async(lambda: len(server.arrived) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


def test_transport_signal_calls_each_listener_once() -> None:
    """LazyModule listeners are called at once, removed ones never; the second abort does nothing."""
    controller = AbortController()
    calls: list[str] = []
    controller.signal.add_listener(lambda: calls.append("first"))
    controller.signal.add_listener(lambda: calls.append("removed"))()
    assert repr(controller.signal) == "<AbortSignal not aborted>"
    controller.signal.raise_if_aborted()
    controller.abort("why")
    controller.abort("again")
    controller.signal.add_listener(lambda: calls.append("late"))
    assert (calls, controller.signal.reason, controller.signal.aborted) == (["first", "late"], "why", True)
    assert repr(controller) == "<AbortController aborted>"


# -- streams ---------------------------------------------------------------------------------------------------------


def test_transport_stream_is_read_piece_by_piece_and_closed_by_its_context() -> None:
    """`content="stream"`; the client that was opened for the call stays open until then."""
    body = b"first\nsecond \xc3\xa9\r\nthird"
    with Server(lambda request: Reply(body=body, headers={"X-A": "1"})) as server:
        endpoint = RestEndpoint(path="/a", url_prefix=server.url, content="stream")
        with endpoint() as answer:
            assert (answer.status, answer.headers["x-a"]) == (200, "1")
            assert b"".join(answer.iter_bytes(4)) == body
        with endpoint() as answer:
            assert list(answer.iter_lines()) == ["first", "second é", "third"]
        with endpoint() as answer:
            assert answer.read() == body
        assert repr(answer) == "<StreamedResponse 200>"


def test_transport_lines_end_at_line_ends_alone(asynchronous: bool) -> None:
    """LF, CR LF or CR, wherever the chunks end: a JSON text may have other separators in it, as they are."""
    first = json.dumps({"text": "one\u2028two\x85three\x0cfour"}, ensure_ascii=False)
    body = f"{first}\r\n\r\nsecond\rthird\n\nlast\r".encode()

    async def awaited(chunks: list[bytes]) -> list[str]:
        async def sent() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        client = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=sent())))
        async with client, await endpoint.extend(client=client)() as answer:
            return [line async for line in answer.aiter_lines()]

    def blocking(chunks: list[bytes]) -> list[str]:
        client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=iter(chunks))))
        with client, endpoint.extend(client=client)() as answer:
            return list(answer.iter_lines())

    endpoint: Any = RestEndpoint(path="/a", url_prefix="http://mock", content="stream")
    for size in (1, 2, 3, 1000):
        chunks = [body[start : start + size] for start in range(0, len(body), size)]
        lines = asyncio.run(awaited(chunks)) if asynchronous else blocking(chunks)
        assert lines == [first, "", "second", "third", "", "last"]


def test_transport_stream_of_a_rejected_request_is_an_error_with_a_body() -> None:
    """Other statuses raise, their bodies are read."""
    with Server(lambda request: Reply(404, b'{"detail":"no"}')) as server:
        with pytest.raises(NetworkError) as caught:
            RestEndpoint(path="/a", url_prefix=server.url, content="stream")()
        assert caught.value.response is not None
        assert caught.value.response.json() == {"detail": "no"}


def test_transport_client_that_was_opened_for_a_failed_stream_is_closed() -> None:
    """What fails after the answer leaves nothing open."""

    def process(value: Any, *args: Any) -> Any:
        raise LookupError(value.status)

    with Server() as server, pytest.raises(LookupError):
        RestEndpoint(path="/a", url_prefix=server.url, content="stream", process=process)()


def body_of_two(between: Callable[[], object]) -> Any:
    """A body of two pieces; the second one comes after `between`, or never where the asynchronous client waits."""

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        closed = False

        def __iter__(self) -> Iterator[bytes]:
            yield b"first"
            between()
            yield b"second"

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"first"
            threading.Thread(target=between).start()
            await asyncio.Event().wait()

        def close(self) -> None:
            self.closed = True

        async def aclose(self) -> None:
            self.closed = True

    return Body()


def test_transport_aborting_ends_a_stream_that_is_being_read(asynchronous: bool) -> None:
    """The next chunk is an AbortError, which asyncio code need not wait for, and the answer is closed."""
    controller = AbortController()
    body = body_of_two(lambda: controller.abort("page left"))
    asked = Asked(lambda request: httpx.Response(200, stream=body))
    endpoint = RestEndpoint(path="/a", content="stream", signal=controller.signal)
    seen: list[bytes] = []

    async def run() -> None:
        async with await endpoint.extend(client=asked.asynchronous)() as answer:
            seen.extend([chunk async for chunk in answer.aiter_bytes()])

    def run_blocking() -> None:
        with endpoint.extend(client=asked.sync)() as answer:
            seen.extend(answer.iter_bytes())

    with pytest.raises(AbortError, match="the request was aborted: page left"):
        asyncio.run(run()) if asynchronous else run_blocking()
    assert body.closed
    assert asynchronous or seen == [b"first"]


async def test_transport_task_that_is_cancelled_while_it_reads_a_stream_sees_its_own_cancellation() -> None:
    """Also where the request has a signal."""
    reading = asyncio.Event()
    asked = Asked(lambda request: httpx.Response(200, stream=body_of_two(lambda: None)))
    endpoint = RestEndpoint(path="/a", content="stream", signal=AbortController().signal, client=asked.asynchronous)

    async def read() -> None:
        async with await endpoint() as answer:
            async for _ in answer.aiter_bytes():
                reading.set()

    task = asyncio.ensure_future(read())
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# -- clients for tests -----------------------------------------------------------------------------------------------


def test_transport_function_can_answer_a_client() -> None:
    """The seam that testing tools build on: requests and answers without any name of the HTTP library."""

    def answer(request: Request) -> Response:
        if request.url.endswith("/down"):
            raise ConnectionError("down")
        if request.url.endswith("/slow"):
            raise TimeoutError("slow")
        text = f'["{request.method}", "{request.headers["x-a"]}", "{request.content.decode()}"]'
        return Response(201, {"Content-Type": "application/json"}, text.encode())

    async def later(request: Request) -> Response:
        return answer(request)

    init, library = {"headers": {"X-A": "1"}}, library_named(name_in_use())
    with answering_client(library, answer, "http://h.test") as client:
        endpoint = RestEndpoint(path="/a", method="PUT", request_init=init, client=client)
        assert endpoint({}, b"b") == ["PUT", "1", "b"]
        with pytest.raises(restencil.ConnectionFailedError, match="PUT http://h.test/down: connection failed: down"):
            endpoint.extend(path="/down")({}, b"")
        with pytest.raises(
            restencil.TimeoutExceededError, match=r"PUT http://h.test/slow: no response within 5000 ms \(read\)$"
        ):
            endpoint.extend(path="/slow")({}, b"")
    for function in (answer, later):
        opened = answering_async_client(library, function, "http://h.test")
        assert asyncio.run(RestEndpoint(path="/a", request_init=init, client=opened)()) == ["GET", "1", ""]
