"""How tests wait: for the thing itself, and far longer than it takes on the slowest machine.

No test asserts that something is quick. What should happen is waited for with PATIENCE, which only a hang uses up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

#: Seconds.
PATIENCE = 300


def eventually(test: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Waits in this thread until it is true."""
    deadline = time.monotonic() + patience
    while not test():
        assert time.monotonic() < deadline, f"it did not happen within {patience} seconds"
        time.sleep(0.002)


async def eventually_async(test: Callable[[], bool]) -> None:
    """Lets other tasks run until it is true."""
    deadline = time.monotonic() + PATIENCE
    while not test():
        assert time.monotonic() < deadline, f"it did not happen within {PATIENCE} seconds"
        await asyncio.sleep(0.002)
