"""Real servers on loopback, for tests of connections."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.patience import PATIENCE


class _Users(BaseHTTPRequestHandler):
    """Answers every GET /users/ID with that user, over connections that are kept open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"id": "%s", "name": "Ann"}' % self.path.rpartition("/")[2].encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are what some tests are about."""


@pytest.fixture(scope="session")
def loopback() -> Iterator[str]:
    """The URL of a server on loopback that knows every user."""
    server = _Server(("127.0.0.1", 0), _Users)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE)


@pytest.fixture(autouse=True)
def one_certificate() -> Iterator[None]:
    """A client that is opened reads one certificate, of nobody: all of them take 40 ms, and nothing here speaks TLS."""
    before = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))
    yield
    if before is None:
        os.environ.pop("SSL_CERT_FILE", None)
    else:
        os.environ["SSL_CERT_FILE"] = before
