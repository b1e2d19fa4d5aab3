"""Servers that others wrote, started on a free port of loopback; where one is missing, the test is skipped."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"
PYTHON = ROOT / ".servers" / "python"
NODE = ROOT / ".servers" / "node"


@contextlib.contextmanager
def gunicorn(application: str, **environment: str) -> Generator[str]:
    """The address of a WSGI application, served by threads of one process."""
    options = ["--worker-class=gthread", "--threads=8", "--keep-alive=75", "--graceful-timeout=1", f"--chdir={APPS}"]
    command = [_python(), "-m", "gunicorn", "--no-control-socket", "--bind=127.0.0.1:0", *options, application]
    with _running(command, environment, r"Listening at: (http://127\.0\.0\.1:\d+)") as address:
        yield address


@contextlib.contextmanager
def uvicorn(application: str) -> Generator[str]:
    """The address of an ASGI application."""
    command = [_python(), "-m", "uvicorn", "--port", "0", "--app-dir", str(APPS), application]
    with _running(command, {}, r"running on (http://127\.0\.0\.1:\d+)") as address:
        yield address


@contextlib.contextmanager
def node(file: str) -> Generator[str]:
    """The address that one of our programs for node prints."""
    with _running(["node", str(_node() / file)], {}, r"(http://127\.0\.0\.1:\d+)") as address:
        yield address


@contextlib.contextmanager
def json_server(major: int, data: Path) -> Generator[str]:
    """The address of json-server in this major version, with the data of a file, which it writes to."""
    program = {0: "json-server-0/lib/cli/bin.js", 1: "json-server-1/lib/bin.js"}[major]
    script = str(_node() / "node_modules" / program)
    # It takes no free port by itself, so one is looked for; whoever else takes it meanwhile makes the program end.
    while True:
        port = free_port()
        command = ["node", script, "--port", str(port), str(data)]
        # While it watches its own file, version 1 may read it back between two changes, and lose one. It does not in
        # production, where it wants a folder of this name.
        (data.parent / "public").mkdir(exist_ok=True)
        production = {"NODE_ENV": "production"}
        with _running(command, production, None, f"http://127.0.0.1:{port}", data.parent) as address:
            if address:
                yield address
                return


def part(folder: Path, pins: str) -> Path:
    """The folder, where `make servers` has filled it with the versions that are pinned; else the test is skipped."""
    if not (folder / ".installed").is_file():
        pytest.skip(f"the servers written for {folder.name} are not installed here; `make servers` installs them")
    summed = subprocess.run(["cksum"], input=(APPS / pins).read_bytes(), capture_output=True, check=True).stdout
    if not (folder / ".installed").read_text("utf-8").endswith(summed.decode().strip()):
        pytest.skip(f"the servers written for {folder.name} are here in other versions; `make servers` mends that")
    return folder


def _python() -> str:
    return str(part(PYTHON, "requirements.txt") / "bin" / "python")


def _node() -> Path:
    """The folder with the packages; our programs are put there, since node looks for packages beside a program."""
    folder = part(NODE, "package-lock.json")
    for program in APPS.glob("*.mjs"):
        text = program.read_text("utf-8")
        copy = folder / program.name
        if not copy.is_file() or copy.read_text("utf-8") != text:
            partial = folder / f"{program.name}.{os.getpid()}"
            partial.write_text(text, "utf-8")
            partial.replace(copy)
    return folder


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def _running(
    command: list[str], environment: dict[str, str], announced: str | None, address: str = "", folder: Path = ROOT
) -> Generator[str]:
    """Runs a server until the block ends; the address that it announces, or the given one once it is answered there."""
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **environment}
    with started(command, folder, variables) as (server, printed):

        def found() -> re.Match[str] | None:
            return re.search(announced or "$^", printed())

        def ready() -> bool:
            return server.poll() is not None or (found() is not None if announced else _answers(address))

        eventually(ready)
        if server.poll() is not None:
            if announced is None and "EADDRINUSE" in printed():
                yield ""
                return
            raise AssertionError(f"the server ended: {' '.join(command)}\n{printed()}")
        match = found()
        yield address if match is None else match.group(1)


@contextlib.contextmanager
def started(
    command: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> Generator[tuple[subprocess.Popen[str], Callable[[], str]]]:
    """A program that runs in a folder until the block ends, and what gives all that it has printed so far."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    reader = threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True)
    reader.start()

    def printed() -> str:
        if process.poll() is not None:
            reader.join(PATIENCE)
        return "".join(list(lines))

    try:
        yield process, printed
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)
        reader.join(PATIENCE)
        process.stdout.close()


def _answers(address: str) -> bool:
    try:
        httpx.get(address, timeout=PATIENCE)
    except httpx.ConnectError:
        return False
    return True
