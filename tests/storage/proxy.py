"""A TCP proxy between clients and a server, for what goes wrong on the way: `with Proxy(port) as proxy: proxy.cut()`.

Connections are taken on `proxy.port`. `hold` keeps what is sent and sends it on after `release`, as a half-open
connection does that nobody ends; `cut` ends all that are there; `refuse` takes no new ones until `allow`.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_MOST = 65_536


class Proxy:
    """Passes bytes on to a port of this machine, as it is told."""

    def __init__(self, to: int) -> None:
        self.to = to
        """Where new connections lead."""
        self._open = threading.Event()
        self._open.set()
        self._refusing = threading.Event()
        self._ended = threading.Event()
        self.delay = 0.0
        """How long each piece waits before it is passed on, in seconds."""
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"valkey://127.0.0.1:{self.port}/0"
        self.connections = 0
        """How many were made so far."""

    def hold(self) -> None:
        """Nothing comes through; connections stay."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def cut(self) -> None:
        """All connections end."""
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def refuse(self) -> None:
        """All connections end, and new ones do at once: a partition."""
        self._refusing.set()
        self.cut()

    def allow(self) -> None:
        self._refusing.clear()

    def _accept(self) -> None:
        while True:
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self._refusing.is_set():
                taken.close()
                continue
            try:
                onward = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                taken.close()
                continue
            self._sockets += [taken, onward]
            if self._refusing.is_set() or self._ended.is_set():
                self.cut()  # what was taken meanwhile, too
                continue
            for source, sink in ((taken, onward), (onward, taken)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_MOST):
                self._open.wait()
                if self.delay and self._ended.wait(self.delay):
                    return
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._open.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
