"""`restencil mock` as a process: its address, its end, its errors."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.generator import projects
from tests.generator.projects import process
from tests.libraries import httpx
from tests.patience import PATIENCE

SPEC = """
restencil: 1
package: api
resources: {items: {path: /items/:id, schema: {entity: Item, fields: {id: integer}}}}
"""
COMMAND = [*projects.COMMAND, "mock"]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec in an empty folder."""
    file = tmp_path / "api.yaml"
    file.write_text(SPEC, "utf-8")
    return file


@contextlib.contextmanager
def running(*arguments: str | Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A server and its address; killed at the end of the block if it still runs."""
    pipe = subprocess.PIPE
    server = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=pipe, stderr=pipe, text=True)
    try:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_mock_server_port_0_prints_the_address_and_a_signal_ends_the_server(spec: Path, number: signal.Signals) -> None:
    """The first line on stdout is the address on loopback; requests are told on stderr; being stopped is no error."""
    with running(spec, "--port", "0") as (server, address):
        assert address.startswith("http://127.0.0.1:")
        assert len(httpx.get(f"{address}/items", timeout=PATIENCE).json()) == 5
        server.send_signal(number)
        out, err = server.communicate(timeout=PATIENCE)
        assert (server.returncode, out, err) == (0, "", "GET /items 200\n")


def test_mock_server_signal_right_after_the_address_ends_the_server(spec: Path) -> None:
    """Who is told to stop as soon as the address is known stops, whatever has been started by then."""
    with running(spec, "--port", "0") as (server, _):
        server.terminate()
        assert server.wait(timeout=PATIENCE) == 0


# The last one is the address that is asked for.
ANSWERED = """
    localhost:1 localhost: LOCALHOST localhost. localhost.:80 api.localhost v1.api.localhost:80 127.0.0.1 127.1.2.3:80
    [::1] [::1]:9 [0:0:0:0:0:0:0:1] 0.0.0.0
"""
REJECTED = """
    page.test localhost.page.test 127.0.0.1.page.test localhost.. 10.0.0.1 127.1 127.999.1.1 x@localhost
    page.test#localhost localhost:80:80 localhost:abc [::1]page.test [::2] ::1
"""


def test_mock_server_host_is_a_name_of_this_machine_or_the_address_asked_for(spec: Path) -> None:
    """With any port, in any case, and with the dot of the root; a name that only looks like one gets 421."""
    with running(spec, "--port", "0", "--host", "0.0.0.0") as (_, address):
        local = address.replace("0.0.0.0", "127.0.0.1")
        for status, hosts in ((200, ANSWERED), (421, REJECTED)):
            found = {
                host: httpx.get(f"{local}/items", headers={"Host": host}, timeout=PATIENCE).status_code
                for host in hosts.split()
            }
            assert found == dict.fromkeys(found, status)


def test_mock_server_host_must_be_given(spec: Path) -> None:
    """A request of HTTP/1.0 without `Host`, and an empty one, get 421."""
    with running(spec, "--port", "0") as (_, address):
        for request in (b"GET /items HTTP/1.0\r\n\r\n", b"GET /items HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=PATIENCE) as there:
                there.sendall(request)
                answer = b"".join(iter(lambda: there.recv(1000), b""))
            assert answer.startswith(b"HTTP/1.1 421 ")
            assert b"the request has no header `Host`; send requests to http://localhost" in answer


def test_mock_server_host_of_a_page_carries_out_nothing(spec: Path) -> None:
    """A name that a page could let point here gets 421 with the address to use, and `0.0.0.0` unasked is one."""
    with running(spec, "--port", "0") as (server, address):
        for host, port in (("page.test", ""), ("localhost.page.test:80", ":80"), ("0.0.0.0", "")):
            answer = httpx.request("DELETE", f"{address}/items/1", headers={"Host": host}, timeout=PATIENCE)
            message = f"the host {host!r} is not a name of this machine; send requests to http://localhost{port}"
            assert (answer.status_code, answer.json()) == (421, {"error": "misdirected_request", "message": message})
        assert httpx.get(f"{address}/items/1", timeout=PATIENCE).status_code == 200
        server.terminate()
        assert server.communicate(timeout=PATIENCE)[1] == "GET /items/1 200\n"


def test_mock_server_request_in_progress_is_finished_first(spec: Path) -> None:
    """Who is being answered when the signal comes gets the answer."""
    with running(spec, "--port", "0") as (server, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            connection.sendall(b"POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{")
            httpx.get(f"{address}/items", timeout=PATIENCE)  # the head of the other request has arrived by now
            server.send_signal(signal.SIGTERM)
            connection.sendall(b"}")
            assert connection.recv(100).startswith(b"HTTP/1.1 201 Created\r\n")
        assert server.wait(timeout=PATIENCE) == 0


def test_mock_server_port_in_use_is_reported_and_exit_code_2(spec: Path) -> None:
    """The message names the port and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = process("mock", str(spec), "--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port} on 127.0.0.1 is in use by another program; choose another with --port N" in done.stderr


def test_mock_server_address_that_is_not_ours_is_reported_and_exit_code_2(spec: Path) -> None:
    """A host that cannot be bound gives a message and no traceback."""
    done = process("mock", str(spec), "--host", "192.0.2.1", "--port", "0")
    assert done.returncode == 2 and "cannot listen on 192.0.2.1, port 0" in done.stderr
    assert "Traceback" not in done.stderr
