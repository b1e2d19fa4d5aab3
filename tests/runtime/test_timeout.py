"""`Timeout` says how long a request, and each of its steps, may take; it stands wherever `timeout` does."""

from __future__ import annotations

import asyncio
import datetime
import math
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.servers import Reply, Server

from restencil import AsyncController, Controller, RestEndpoint, Timeout, TimeoutExceededError

pytestmark = pytest.mark.network

BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


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
    if not asynchronous:
        with Controller(client=httpx.Client(transport=httpx.MockTransport(answered)), **options) as controller:
            controller.fetch(endpoint)
    else:

        async def run() -> None:
            client = httpx.AsyncClient(transport=httpx.MockTransport(answered))
            async with client, AsyncController(client=client, **options) as controller:
                await controller.fetch(endpoint)

        asyncio.run(run())
    return seen[0]


@BOTH
@pytest.mark.parametrize("at", ["controller", "endpoint", "request_init"])
def test_steps_that_a_timeout_says_nothing_of_are_the_clients_own_but_for_the_total(
    asynchronous: bool, at: str
) -> None:
    """A given step is what it is, the others are the HTTP client's; the total bounds them all."""

    def steps(timeout: Any) -> tuple[float | None, ...]:
        found = steps_sent(timeout, asynchronous, at=at)
        return found["connect"], found["read"], found["write"], found["pool"]

    assert steps(Timeout(connect="500ms", pool=datetime.timedelta(seconds=60))) == (0.5, 5, 5, 60)
    assert steps(Timeout(total=2_000, connect=500, read="1m")) == (0.5, 2, 2, 2)
    assert steps(Timeout(read=math.inf, write="1h")) == (5, None, 3_600, 5)
    assert steps("3s") == (3, 3, 3, 3)
    assert steps(math.inf) == (None, None, None, None)


@BOTH
def test_the_message_says_which_step_took_longer_than_it_may(asynchronous: bool) -> None:
    """Of a Timeout the limit of that step, or the total where that is less."""

    def refused(timeout: Timeout) -> str:
        with Server(lambda request: Reply(held=True)) as server:
            endpoint: Any = RestEndpoint(path="/a", url_prefix=server.url, timeout=timeout)
            with pytest.raises(TimeoutExceededError) as caught:
                (fetch_async if asynchronous else fetch)(endpoint)
        return str(caught.value).replace(server.url, "")

    def fetch(endpoint: Any) -> None:
        with Controller() as controller:
            controller.fetch(endpoint)

    def fetch_async(endpoint: Any) -> None:
        async def run() -> None:
            async with AsyncController() as controller:
                await controller.fetch(endpoint)

        asyncio.run(run())

    assert "no answer within 120 ms (read)" in refused(Timeout(read=120))
    assert "no answer within 110 ms (read)" in refused(Timeout(total=110, read="5s"))


def test_a_total_cuts_off_a_body_that_drips() -> None:
    """Each piece comes in time, the whole does not; without a total it may take as long as it likes."""

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            import time

            for _ in range(20):
                time.sleep(0.02)
                yield b" "
            yield b"{}"

    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"Content-Type": "application/json"}, stream=Dripping())
    )
    endpoint: Any = RestEndpoint(path="/a", url_prefix="http://mock")
    with Controller(client=httpx.Client(transport=transport)) as controller:
        assert controller.fetch(endpoint.extend(timeout=Timeout(read=200))) == {}
        with pytest.raises(TimeoutExceededError, match="within 150 ms"):
            controller.fetch(endpoint.extend(timeout=Timeout(total=150, read="1s")))


def test_what_a_timeout_cannot_be_is_told() -> None:
    """The member, what was found, and what is expected."""
    with pytest.raises(TypeError, match="connect of Timeout is .*; expected a number of milliseconds"):
        Timeout(connect=[])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="total of Timeout is a positive number of milliseconds, not 0"):
        Timeout(total=0)
    for wrong in (-1, math.nan, 0):
        with pytest.raises(ValueError, match=f"timeout of endpoint '/a' is a positive number of .*, not {wrong}"):
            RestEndpoint(path="/a", timeout=wrong)
    with pytest.raises(TypeError, match="Timeout has no conect; its members are: total, connect, read, write, pool"):
        Timeout(conect=5)  # type: ignore[call-arg]


def test_a_timeout_is_a_value() -> None:
    """Equal where its members are the same durations, however they were written; it never changes."""
    assert Timeout("5s", connect=500) == Timeout(total=5_000, connect="0.5s")
    assert hash(Timeout("5s")) == hash(Timeout(5_000))
    assert repr(Timeout("5s")) == "Timeout(total=5000.0, connect=None, read=None, write=None, pool=None)"
    with pytest.raises(AttributeError):
        Timeout("5s").total = 1  # type: ignore[misc]
