"""`Timeout` says how long a request, and each of its steps, may take; it stands wherever `timeout` does."""

from __future__ import annotations

import asyncio
import datetime
import math
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, controller_of, running

from restencil import AsyncController, ConnectionFailedError, Controller, RestEndpoint, Timeout, TimeoutExceededError
from restencil.http.deadlines import addresses_of

pytestmark = pytest.mark.network


def steps_sent(timeout: Any, asynchronous: bool, *, at: str) -> dict[str, float | None]:
    """What the HTTP library is told of the steps of a request, in seconds; its own limits are 5 seconds each."""
    seen: list[dict[str, float | None]] = []

    def answered(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, json={})

    endpoint: Any = RestEndpoint(path="/a", url_prefix="http://mock")
    options: dict[str, Any] = {"timeout": timeout} if at == "controller" else {}
    if at == "endpoint":
        endpoint = endpoint.extend(timeout=timeout)
    elif at == "request_init":
        endpoint = endpoint.extend(request_init={"timeout": timeout})
    client = client_of(asynchronous, transport=httpx.MockTransport(answered))
    controller = controller_of(asynchronous, client=client, **options)
    with running(client, controller) as run:
        run(controller.fetch(endpoint))
    return seen[0]


@pytest.mark.parametrize("at", ["controller", "endpoint", "request_init"])
def test_timeout_steps_default_to_those_of_the_client(asynchronous: bool, at: str) -> None:
    """A given step is what it is, the others are the HTTP client's; the total bounds them all."""

    def steps(timeout: Any) -> tuple[float | None, ...]:
        found = steps_sent(timeout, asynchronous, at=at)
        return found["connect"], found["read"], found["write"], found["pool"]

    assert steps(Timeout(connect="500ms", pool=datetime.timedelta(seconds=60))) == (0.5, 5, 5, 60)
    assert steps(Timeout(total=2_000, connect=500, read="1m")) == (0.5, 2, 2, 2)
    assert steps(Timeout(read=math.inf, write="1h")) == (5, None, 3_600, 5)
    assert steps("3s") == (3, 3, 3, 3)
    assert steps(math.inf) == (None, None, None, None)


def test_timeout_message_says_which_step_took_longer_than_it_may(asynchronous: bool) -> None:
    """Of a Timeout the limit of that step, or the total where that is less."""

    def refused(timeout: Timeout) -> str:
        with Server(lambda request: Reply(held=True)) as server:
            endpoint: Any = RestEndpoint(path="/a", url_prefix=server.url, timeout=timeout)
            controller = controller_of(asynchronous)
            with pytest.raises(TimeoutExceededError) as caught, running(controller) as run:
                run(controller.fetch(endpoint))
        return str(caught.value).replace(server.url, "")

    assert "no response within 120 ms (read)" in refused(Timeout(read=120, connect="5m"))
    assert "no response within 700 ms (read)" in refused(Timeout(total=700, read="5m")), "connecting takes less"


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

DRIPS: dict[str, Reply] = {
    "status line": Reply(raw=b"", drip=b"HTTP/1.1 200 " + b"O" * 15_000),
    "headers": Reply(raw=OK, drip=b"X-Long: " + b"a" * 15_000),
    "chunk extensions": Reply(raw=OK + b"Transfer-Encoding: chunked\r\n\r\n2;", drip=b"a" * 15_000),
    "body": Reply(raw=OK + b"Content-Length: 15000\r\n\r\n", drip=b" " * 15_000),
}
"""Responses of five minutes, of which a byte comes every 20 ms."""


def answer_slowly(drip: str) -> Server:
    """A server whose `/slow` drips, and all else is answered at once."""
    return Server(lambda request: DRIPS[drip] if request.target == "/slow" else Reply())


def timed_out(call: Callable[[], Any]) -> TimeoutExceededError:
    """The error of a call that has to raise one, before its response would have ended."""
    began = time.monotonic()
    with pytest.raises(TimeoutExceededError) as caught:
        call()
    assert time.monotonic() - began < 200
    return caught.value


@pytest.mark.parametrize("drip", DRIPS)
def test_timeout_bounds_a_dripping_response(drip: str, asynchronous: bool) -> None:
    """Whatever part of a response drips, the call ends with the timeout, and its client goes on."""
    controller = controller_of(asynchronous)
    with answer_slowly(drip) as server, running(controller) as run:
        endpoint: Any = RestEndpoint(path="/:what", url_prefix=server.url)
        run(controller.fetch(endpoint, what="fast"))  # its connection is kept, and used again
        error = timed_out(lambda: run(controller.fetch(endpoint.extend(timeout=300), what="slow")))
        assert "GET " + server.url + "/slow: no response within 300 ms (" in str(error)
        assert run(controller.fetch(endpoint, what="fast")) == {}


async def test_timeout_leaves_no_connection_in_use() -> None:
    """More requests than a pool has connections time out, and the next one finds a free connection."""
    with answer_slowly("status line") as server:
        endpoint: Any = RestEndpoint(path="/:what", url_prefix=server.url)
        async with AsyncController() as controller:
            slow = endpoint.extend(timeout=500, body_in_key=False, method="POST")
            found = await asyncio.gather(
                *(controller.fetch(slow, what="slow") for _ in range(120)), return_exceptions=True
            )
            assert {type(error) for error in found} == {TimeoutExceededError}
            assert await controller.fetch(endpoint.extend(timeout="5m"), what="fast") == {}


def test_timeout_leaves_no_thread_behind() -> None:
    """A blocking call waits in its own thread, and its connection is closed when it ends."""
    with answer_slowly("headers") as server, Controller(timeout=200) as controller:
        endpoint: Any = RestEndpoint(path="/:what", url_prefix=server.url)
        timed_out(lambda: controller.fetch(endpoint, what="slow"))
        before = {*threading.enumerate()}
        for _ in range(3):
            timed_out(lambda: controller.fetch(endpoint, what="slow"))
        assert not [thread for thread in threading.enumerate() if thread not in before and "_serve" not in thread.name]
        eventually(lambda: all(_is_gone(connection) for connection in server.connections))


def _is_gone(connection: socket.socket) -> bool:
    try:
        return connection.fileno() == -1 or connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_timeout_bounds_redirects_together(asynchronous: bool) -> None:
    """Each response of a chain comes in time, the last one does not."""

    def answer(request: Arrived) -> Reply:
        time.sleep(0.15)
        return Reply(302, headers={"Location": f"{request.target}x"})

    with Server(answer) as server:
        endpoint: Any = RestEndpoint(path="/a", url_prefix=server.url, timeout=400)
        controller = controller_of(asynchronous)
        with running(controller) as run:
            timed_out(lambda: run(controller.fetch(endpoint)))


def test_timeout_bounds_sending_and_connecting(asynchronous: bool) -> None:
    """A server that reads a body slowly, and one that never answers a TLS handshake, are both too late."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def read_slowly() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=drain, args=(connection,), daemon=True).start()

        def drain(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                while not ended.wait(0.02) and connection.recv(50_000):
                    pass

        threading.Thread(target=read_slowly, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        endpoint: Any = RestEndpoint(path="/a", url_prefix=f"http://{address}", method="POST", timeout="800ms")
        secure: Any = RestEndpoint(path="/a", url_prefix=f"https://{address}", timeout="800ms")
        body = b"x" * 50_000_000
        controller = controller_of(asynchronous)
        with running(controller) as run:
            sending = timed_out(lambda: run(controller.fetch(endpoint, {}, body)))
            connecting = timed_out(lambda: run(controller.fetch(secure)))
        ended.set()
        assert "within 800 ms (write)" in str(sending)
        assert "within 800 ms (connect)" in str(connecting)


def test_timeout_bounds_the_lookup_of_a_host_name() -> None:
    """A name is looked up in a thread, which nobody waits for once the time is over; an address needs none."""
    asked: list[str] = []
    release = threading.Event()

    def look_up(host: str, *args: Any, **options: Any) -> list[Any]:
        asked.append(threading.current_thread().name)
        if options.get("flags") == socket.AI_NUMERICHOST:
            return socket.getaddrinfo(host, *args, **options)
        release.wait(PATIENCE)
        if host == "wrong.test":
            raise socket.gaierror("not known")
        return [(host,)]

    assert addresses_of("127.0.0.1", 80, 1, look_up)[0][-1] == ("127.0.0.1", 80)
    assert asked == [threading.current_thread().name]
    with pytest.raises(TimeoutError, match="the host 'slow.test' was not resolved within the timeout"):
        addresses_of("slow.test", 80, 0.1, look_up)
    release.set()
    assert addresses_of("slow.test", 80, PATIENCE, look_up) == [("slow.test",)]
    with pytest.raises(socket.gaierror, match="not known"):
        addresses_of("wrong.test", 80, PATIENCE, look_up)
    assert asked[-1] == "restencil-lookup"


def test_timeout_allows_host_names(asynchronous: bool) -> None:
    """A host with several addresses is reached at the first that takes a connection; one without is an error."""

    def fetched(one: Any) -> Any:
        controller = controller_of(asynchronous, timeout="10s")
        with running(controller) as run:
            return run(controller.fetch(one))

    with Server() as server:
        port = server.url.rpartition(":")[2]
        endpoint: Any = RestEndpoint(path="/a", url_prefix=f"http://localhost:{port}")
        assert fetched(endpoint) == {}
        with pytest.raises(ConnectionFailedError):
            fetched(endpoint.extend(url_prefix="http://no-such-host.invalid"))


def test_timeout_what_a_timeout_cannot_be_is_reported() -> None:
    """The member, what was found, and what is expected."""
    with pytest.raises(TypeError, match="connect of Timeout is .*; expected a number of milliseconds"):
        Timeout(connect=[])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="total of Timeout is 0; expected a positive number of milliseconds"):
        Timeout(total=0)
    for wrong in (-1, math.nan, 0):
        with pytest.raises(ValueError, match=f"timeout of endpoint '/a' is {wrong}; expected a positive number"):
            RestEndpoint(path="/a", timeout=wrong)
    with pytest.raises(
        TypeError, match="Timeout got 0 members by position and conect by name; its members are: total, connect"
    ):
        Timeout(conect=5)  # type: ignore[call-arg]
