"""HTTP transports between a client and the honest server: responses are delivered at once, or when they are told to be.

Each request is carried out on the server at one moment and delivered at a later one. Requests of an operation that was
started, and not simply done, wait for both; so any order of them can be played, the same one each time.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from tests.freshness.server import NOTHING, Response
from tests.libraries import httpx

from restencil.testing import FakeClock


@dataclass(eq=False)
class Exchange:
    """A request on its way, and the response once the server has carried it out; `number` is the operation's."""

    number: int | None
    method: str
    target: str
    headers: dict[str, str]
    body: Any
    outcome: str
    response: Response | None = None
    is_delivered: bool = False
    event: threading.Event | None = None
    future: asyncio.Future[None] | None = None

    @property
    def is_change(self) -> bool:
        """Whether it is meant to change something."""
        return self.method != "GET"

    def __str__(self) -> str:
        sent = "" if self.body is None else f" {json.dumps(self.body)}"
        status = "" if self.response is None else f" -> {self.response.status or 'no response'}"
        return f"{self.method} {self.target}{sent}{status}"


class AnyServer(Protocol):
    """What carries requests out."""

    def answer(self, method: str, target: str, headers: dict[str, str], body: Any, outcome: str, /) -> Response:
        """Carries a request out and gives the response."""
        ...


class Network:
    """Where all requests of a test go; `number` and `outcome` are those of the operation that runs at the moment.

    `exchanges` are all requests in the order in which they were sent, `under_way` those not delivered yet.
    """

    def __init__(self, server: AnyServer, clock: FakeClock) -> None:
        self.server = server
        self.clock = clock
        self.number: int | None = None
        self.outcome = "whole"
        self.exchanges: list[Exchange] = []
        self.under_way: list[Exchange] = []

    def sent(self, request: httpx.Request) -> Exchange:
        """Takes a request; carries it out at once unless its operation is held."""
        url = urlsplit(str(request.url))
        target = url.path + (f"?{url.query}" if url.query else "")
        content, is_json = request.content, "json" in request.headers.get("content-type", "")
        exchange = Exchange(
            self.number,
            request.method,
            target,
            {name.lower(): value for name, value in request.headers.items()},
            json.loads(content) if content and is_json else content.decode() or None,
            self.outcome,
        )
        self.exchanges.append(exchange)
        if len(self.exchanges) > 2_000:
            raise RuntimeError("something asks without end")
        if self.number is None:
            self.carry_out(exchange)
            exchange.is_delivered = True
        else:
            self.under_way.append(exchange)
        return exchange

    def carry_out(self, exchange: Exchange) -> None:
        """The server does what is asked for, once."""
        if exchange.response is None:
            exchange.response = self.server.answer(
                exchange.method, exchange.target, exchange.headers, exchange.body, exchange.outcome
            )

    def deliver(self, exchange: Exchange) -> None:
        """The response arrives, carried out before if it was not yet."""
        self.carry_out(exchange)
        exchange.is_delivered = True
        self.under_way.remove(exchange)
        if exchange.event is not None:
            exchange.event.set()
        future = exchange.future
        if future is not None and not future.done():
            future.get_loop().call_soon_threadsafe(future.set_result, None)

    def received(self, exchange: Exchange) -> httpx.Response:
        """The response as the HTTP library has it; raises ReadError for a connection that broke."""
        response = exchange.response
        assert response is not None
        if response.status == 0:
            raise httpx.ReadError("the connection broke")
        if response.body is NOTHING:
            return httpx.Response(response.status, headers=response.headers)
        return httpx.Response(response.status, headers=response.headers, json=response.body)


class Transport(httpx.BaseTransport):
    """For blocking code: whoever sends waits on a thread of the clock."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and waits until it is delivered."""
        exchange = self.network.sent(request)
        if not exchange.is_delivered:
            exchange.event = threading.Event()
            self.network.clock.wait(exchange.event)
        return self.network.received(exchange)


class AsyncTransport(httpx.AsyncBaseTransport):
    """For asyncio: whoever sends awaits a future of the clock's loop."""

    def __init__(self, network: Network) -> None:
        self.network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and waits until it is delivered."""
        exchange = self.network.sent(request)
        if not exchange.is_delivered:
            exchange.future = asyncio.get_running_loop().create_future()
            try:
                await exchange.future
            except asyncio.CancelledError:
                if exchange in self.network.under_way:
                    self.network.under_way.remove(exchange)
                raise
        return self.network.received(exchange)
