"""A manager of one's own: server-sent events keep subscribed endpoints up to date, against a real server."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually

from restencil import Controller, Entity, Manager, NetworkManager, RestEndpoint, SubscriptionManager
from restencil.cache.actions import Action, Subscribe, Unsubscribe
from restencil.client.managers import Next

pytestmark = pytest.mark.network


class Price(Entity, key="Price", pk="symbol"):
    symbol: str = ""
    value: float = 0.0


class EventManager(Manager):
    """Takes the subscriptions of endpoints that have `events`, the URL of an event stream, and writes what comes there.

    One thread per subscribed key reads its stream; the last unsubscribe ends it.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._streams: dict[str, tuple[int, httpx.Response]] = {}
        self._controller: Any = None

    def init(self, controller: Any, /) -> None:
        self._controller = controller

    def cleanup(self) -> None:
        for _, response in self._streams.values():
            self._stop(response)
        self._streams.clear()

    def handle(self, action: Action, next: Next, /) -> Any:
        if isinstance(action, Subscribe) and hasattr(action.endpoint, "events"):
            count, response = self._streams.get(action.key) or (0, self._open(action))
            self._streams[action.key] = (count + 1, response)
            return None
        if isinstance(action, Unsubscribe) and action.key in self._streams:
            count, response = self._streams.pop(action.key)
            if count > 1:
                self._streams[action.key] = (count - 1, response)
            else:
                self._stop(response)
            return None
        return next(action)

    def _open(self, action: Subscribe) -> httpx.Response:
        endpoint: Any = action.endpoint
        request = self._client.build_request("GET", endpoint.events(*action.args))
        response = self._client.send(request, stream=True)
        threading.Thread(target=self._read, args=(action, response), daemon=True).start()
        return response

    def _read(self, action: Subscribe, response: httpx.Response) -> None:
        library: Any = sys.modules[type(response).__module__.partition(".")[0]]  # httpx or httpx2, whichever is used
        try:
            for line in response.iter_lines():
                if line.startswith("data:"):
                    self._controller.set_response(action.endpoint, json.loads(line[5:]), *action.args)
        except (library.StreamError, library.TransportError):
            pass  # the stream was closed, here or there

    @staticmethod
    def _stop(response: httpx.Response) -> None:
        network: Any = response.extensions.get("network_stream")
        if network is not None:
            network.get_extra_info("socket").shutdown(2)


class Exchange:
    """A server of prices: the current one by GET, all later ones as events."""

    def __init__(self) -> None:
        self.streams: dict[str, list[queue.Queue[float | None]]] = {}
        self.opened = 0
        self.closed = threading.Semaphore(0)
        exchange = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path.strip("/").split("/")
                if path[0] == "prices":
                    body = json.dumps({"symbol": path[1], "value": 1.0}).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                else:
                    exchange.stream(self, path[1])

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stream(self, handler: BaseHTTPRequestHandler, symbol: str) -> None:
        events: queue.Queue[float | None] = queue.Queue()
        self.streams.setdefault(symbol, []).append(events)
        self.opened += 1
        try:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.end_headers()  # from here the client goes on, and its test may publish
            while (value := events.get(timeout=PATIENCE)) is not None:
                data = json.dumps({"symbol": symbol, "value": value})
                handler.wfile.write(f"event: price\ndata: {data}\n\n".encode())
                handler.wfile.flush()
        except OSError:
            pass  # the reader has gone
        finally:
            self.closed.release()

    def publish(self, symbol: str, value: float) -> None:
        for events in self.streams[symbol]:
            events.put(value)

    def close(self) -> None:
        for events in [e for streams in self.streams.values() for e in streams]:
            events.put(None)
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    exchange = Exchange()
    yield exchange
    exchange.close()


@pytest.fixture
def controller(exchange: Exchange) -> Iterator[Any]:
    with httpx.Client(timeout=PATIENCE) as client:
        managers = [EventManager(client), NetworkManager(), SubscriptionManager()]
        with Controller(client=client, base_url=exchange.url, managers=managers) as controller:
            yield controller


def price(exchange: Exchange) -> Any:
    return RestEndpoint(
        path="/prices/:symbol",
        schema=Price,
        events=lambda params: f"{exchange.url}/events/{params['symbol']}",
    )


def test_sse_live_read_shows_what_the_server_sends(exchange: Exchange, controller: Any) -> None:
    with controller.live(price(exchange), symbol="ACME") as live:
        assert next(live).value == 1.0
        for value in (2.0, 3.5):
            exchange.publish("ACME", value)
            assert next(live).value == value


def test_sse_one_stream_serves_all_subscribers_and_ends_with_the_last(exchange: Exchange, controller: Any) -> None:
    endpoint = price(exchange)
    with controller.live(endpoint, symbol="ACME") as first, controller.live(endpoint, symbol="ACME") as second:
        assert next(first) is next(second)
        exchange.publish("ACME", 2.0)
        assert next(first) is next(second)
        assert exchange.opened == 1

    def left() -> bool:
        exchange.publish("ACME", 3.0)  # who writes to a reader that has gone finds out, sooner or later
        return exchange.closed.acquire(blocking=False)

    eventually(left)
    assert controller.cached(endpoint, symbol="ACME").value == 2.0


def test_sse_closing_the_controller_ends_the_streams(exchange: Exchange, controller: Any) -> None:
    controller.subscribe(price(exchange), symbol="ACME")
    controller.close()
    exchange.streams["ACME"][0].put(1.0)
    exchange.streams["ACME"][0].put(None)
    assert exchange.closed.acquire(timeout=PATIENCE)
