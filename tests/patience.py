"""How tests wait: for the thing itself, and far longer than it takes on the slowest machine.

No test asserts that something is quick. What should happen is waited for with PATIENCE, which only a hang uses up.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

#: Seconds.
PATIENCE = 300


def eventually(test: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Waits in this thread until it is true."""
    deadline = time.monotonic() + patience
    while not test():
        assert time.monotonic() < deadline, f"it did not happen within {patience} seconds"
        time.sleep(0.002)


def elsewhere(work: Callable[[], Any]) -> Any:
    """What a work gives in another thread, or its error; a failure where it does not end."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "another thread waits for ever"
    return found[0]


def python(*arguments: str, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """How a process of Python ends, and what it said."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=check, **options)


async def eventually_async(test: Callable[[], bool]) -> None:
    """Lets other tasks run until it is true."""
    deadline = time.monotonic() + PATIENCE
    while not test():
        assert time.monotonic() < deadline, f"it did not happen within {PATIENCE} seconds"
        await asyncio.sleep(0.002)
