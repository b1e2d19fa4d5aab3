"""Prefect, Label Studio and MLflow, started on a free port of loopback from virtual environments that someone has made.

RESTENCIL_PRODUCTS names a folder with one virtual environment per product: `prefect` (`pip install prefect`),
`label_studio` (`pip install label-studio`) and `mlflow` (`pip install mlflow`). Without it, or without the product, the
test is skipped.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.libraries import httpx
from tests.patience import eventually
from tests.servers.running import free_port, started

TOKEN = "0123456789abcdef0123456789abcdef01234567"
START = 3600
"""Seconds. On a loaded machine a product loads its packages and migrates for many minutes."""


def command_of(product: str, name: str) -> str:
    """The program of a product."""
    folder = os.environ.get("RESTENCIL_PRODUCTS")
    if folder is None:
        pytest.skip("RESTENCIL_PRODUCTS names no folder with virtual environments of the products")
    found = Path(folder).absolute() / product / "bin" / name
    if not found.is_file():
        pytest.skip(f"{product} is not installed in {folder}")
    return str(found)


@contextlib.contextmanager
def prefect(folder: Path) -> Generator[str]:
    """The address of the API of a Prefect server with a database of its own, and without its background services."""
    port = free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-services"]
    settings = {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    command = [command_of("prefect", "prefect"), "server", "start", *options]
    address = f"http://127.0.0.1:{port}/api"
    with _answering(command, folder, settings, f"{address}/health"):
        yield address


@contextlib.contextmanager
def mlflow(folder: Path) -> Generator[str]:
    """The address of an MLflow server with a database of its own."""
    port = free_port()
    stores = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.sqlite", "--artifacts-destination", f"{folder}/files"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1", *stores]
    settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    address = f"http://127.0.0.1:{port}"
    with _answering([command_of("mlflow", "mlflow"), "server", *options], folder, settings, f"{address}/health"):
        yield address


def label_studio_database(folder: Path) -> None:
    """Makes an empty database of Label Studio in a folder.

    Its hundreds of migrations take minutes on a loaded machine, so tests begin with copies of one.
    """
    command = [command_of("label_studio", "label-studio"), "version"]  # each command migrates first
    variables = {**_inherited(), **_label_studio(folder)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def label_studio(folder: Path) -> Generator[str]:
    """The address of a Label Studio with the database in a folder and one user, whose token is TOKEN."""
    port = free_port()
    options = ["--no-browser", "--port", str(port), "--internal-host", "127.0.0.1"]
    user = ["--username", "ann@example.com", "--password", "secret-secret", "--user-token", TOKEN]
    command = [command_of("label_studio", "label-studio"), "start", *options, *user]
    address = f"http://127.0.0.1:{port}"
    with _answering(command, folder, _label_studio(folder), f"{address}/health"):
        yield address


def _label_studio(folder: Path) -> dict[str, str]:
    return {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
    }


def _inherited() -> dict[str, str]:
    """The environment without what leads to packages of the tests: a product has its own."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@contextlib.contextmanager
def _answering(command: list[str], folder: Path, settings: dict[str, str], url: str) -> Generator[None]:
    with started(command, folder, {**_inherited(), "PYTHONUNBUFFERED": "1", **settings}) as (server, printed):

        def ready() -> bool:
            if server.poll() is not None:
                raise AssertionError(f"the server ended: {' '.join(command)}\n{printed()}")
            try:
                return httpx.get(url, timeout=5).is_success
            except httpx.TransportError:
                return False

        eventually(ready, START)
        yield
