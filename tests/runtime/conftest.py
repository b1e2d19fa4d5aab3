"""Real servers on loopback, for tests of connections."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.clients import Asked
from tests.runtime.doubles import Desk

from restencil import Controller
from restencil.testing import FakeClock


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


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """A clock that stands still, and is closed in the end."""
    with closing(FakeClock()) as clock:
        yield clock


@pytest.fixture
def desk() -> Desk:
    """An empty store at 1000."""
    return Desk()


@pytest.fixture
def asked() -> Asked:
    """HTTP clients that are answered `{}`."""
    return Asked()


@pytest.fixture
def controller() -> Controller:
    """A controller over a store of its own."""
    return Controller()


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


SECRETS = re.compile("s3 ?cret|canary")
"""What the credentials of tests are made of."""

LOGGERS = ("restencil", "httpx", "httpcore", "httpx2", "httpcore2")


class _Search(logging.Handler):
    """Keeps those records in which a secret is."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{record.name}: {record.getMessage()} {record.args!r} {record.exc_info and record.exc_info[1]!r}"
        if SECRETS.search(text):
            self.found.append(text[:2000])


@pytest.fixture(autouse=True)
def no_secret_is_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test of the network is about: all that was logged meanwhile, at DEBUG, is searched for credentials.

    A test that looks at the log itself sets the levels.
    """
    if request.node.get_closest_marker("network") is None:
        yield
        return
    search = _Search()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(search)
        if "caplog" not in request.fixturenames:
            logger.setLevel(logging.DEBUG)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(search)
        logger.setLevel(level)
    assert search.found == []
