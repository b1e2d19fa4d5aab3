"""The mock server of a spec, as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]


@contextmanager
def mocked(spec: str, *options: str) -> Generator[str]:
    """Where the mock server of a spec of this repository listens; it is stopped at the end of the block."""
    command = [sys.executable, "-m", "restencil_generator", "mock", spec, "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as served:
        try:
            assert served.stdout is not None
            yield served.stdout.readline().strip()
        finally:
            served.terminate()
            served.communicate(timeout=PATIENCE)
