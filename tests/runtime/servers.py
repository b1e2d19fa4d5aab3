"""A small HTTP server on loopback that keeps connections alive and shows what really arrived."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass
class Arrived:
    """A request as it came over the wire; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """What the server says; `raw` is sent instead of everything else, a `held` body not before the server ends.

    Behind `raw` the bytes of `drip` follow one by one, every 20 ms.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: bytes | None = None
    drip: bytes = b""
    held: bool = False


Handler = Callable[[Arrived], Reply]


class Server:
    """`with Server(handler) as server:` listens on `server.url`; a thread serves each connection."""

    def __init__(self, handler: Handler | None = None) -> None:
        self.arrived: list[Arrived] = []
        self._handler = handler or (lambda request: Reply())
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections: list[socket.socket] = []
        self._ended = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for opened in (self._listener, *self.connections):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                if self._ended.is_set():
                    connection.close()  # the end may have come before it was in the list
                    return
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        buffer = b""
        with suppress(OSError):
            while True:
                while b"\r\n\r\n" not in buffer:
                    chunk = connection.recv(1 << 20)
                    if not chunk:
                        return
                    buffer += chunk
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                method, target, _ = first.split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                length = int(headers.get("content-length", 0))
                while len(buffer) < length:
                    chunk = connection.recv(1 << 20)
                    if not chunk:
                        return
                    buffer += chunk
                body, buffer = buffer[:length], buffer[length:]
                request = Arrived(method, target, headers, body)
                self.arrived.append(request)
                if not self._answer(connection, self._handler(request)):
                    connection.close()
                    return

    def _answer(self, connection: socket.socket, reply: Reply) -> bool:
        if reply.raw is not None:
            connection.sendall(reply.raw)
            for byte in reply.drip:
                if self._ended.wait(0.02):
                    break
                connection.sendall(bytes([byte]))
            return False
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        start = f"HTTP/1.1 {reply.status} Status\r\n{head}\r\n".encode("latin-1")
        if reply.held:
            connection.sendall(start)
            self._ended.wait()
            return False
        connection.sendall(start + reply.body)
        return True
