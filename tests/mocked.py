"""The mock server of a spec, in a thread of this process."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import uvicorn

from restencil_generator.api import load_all
from restencil_generator.mock.app import create_app
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]


def _nothing(line: str) -> None:
    """Nothing is printed."""


@contextlib.contextmanager
def mocked(
    *specs: str | Path,
    auth: bool = True,
    auth_server: bool = False,
    log: Callable[[str], None] = _nothing,
) -> Generator[str]:
    """Where the mock server of these specs, by their paths in this repository or anywhere, listens in this block."""
    loaded = load_all([ROOT / spec for spec in specs])
    app = create_app(*loaded, auth=auth, auth_server=auth_server, log=log)
    with served(app) as address:
        yield address


@contextlib.contextmanager
def served(app: Any) -> Generator[str]:
    """The address of an ASGI application that runs in a thread of this process."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="error", lifespan="off", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
