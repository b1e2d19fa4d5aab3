"""Running of the mock server until a signal stops it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from restencil_generator.mock.app import MAX_BODY, create_app
from restencil_generator.mock.browsers import HostGuard
from restencil_generator.mock.errors import CannotServe
from restencil_generator.spec.model import Spec

LOOPBACK = "127.0.0.1"


def serve(
    specs: Sequence[Spec],
    *,
    host: str = LOOPBACK,
    port: int = 8000,
    auth: bool = True,
    auth_server: bool = False,
    max_body: int = MAX_BODY,
    announce: Callable[[str], None],
    log: Callable[[str], None],
) -> None:
    """Serve the specs until SIGINT or SIGTERM; requests in progress are completed.

    With `auth_server`, the path of each `token_url` issues tokens. A body of more than `max_body` bytes is rejected.
    Requests that are not valid HTTP get a response 400 with the reason. Requests are accepted if their `Host` is a
    loopback name, or `host` itself. Port 0 selects a free one. `announce` is called once, when connections are
    accepted, with `http://HOST:PORT`; `log` gets a line for each request. Raises `CannotServe` if the address cannot be
    bound, or if an example does not fit.
    """
    app = create_app(*specs, auth=auth, auth_server=auth_server, log=log, max_body=max_body)
    config = uvicorn.Config(
        HostGuard(app, [host]),
        http=_Protocol,
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    with _listen(host, port) as listener, _stoppable(server):
        bound = listener.getsockname()
        shown = f"[{bound[0]}]" if listener.family == socket.AF_INET6 else bound[0]
        announce(f"http://{shown}:{bound[1]}")
        server.run(sockets=[listener])


class _Protocol(H11Protocol):
    """HTTP with a reason in responses to malformed requests, such as a broken chunk or a header without a colon."""

    def send_400_response(self, msg: str) -> None:
        """Respond with 400 and the error of the parser, unless a response is already in progress."""
        if str(self.conn.our_state) not in ("IDLE", "SEND_RESPONSE"):
            self.transport.close()
            return
        reason = sys.exception() or ""  # the parser's exception, which is being handled
        super().send_400_response(f"{msg} {reason}".rstrip().encode("ascii", "backslashreplace").decode() + "\n")


def _listen(host: str, port: int) -> socket.socket:
    listener: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # on Windows this would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except (OSError, OverflowError) as error:
        if listener is not None:
            listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise CannotServe(
                f"port {port} on {host} is in use by another program; choose another with --port N, "
                "or --port 0 for any that is free"
            ) from error
        raise CannotServe(f"cannot listen on {host}, port {port}: {error}") from error
    return listener


@contextlib.contextmanager
def _stoppable(server: uvicorn.Server) -> Generator[None]:
    """Let SIGINT and SIGTERM stop the server instead of the process, from the moment its address is printed.

    uvicorn handles the signals only while it runs, and raises them again when it has stopped.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
