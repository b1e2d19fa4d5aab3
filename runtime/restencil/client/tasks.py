"""Tasks that need no turn of the loop: what has its response ready waits for nothing else.

Both devices are there for "fetch through the cache, async".
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from ..base.lazy import asyncio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

__all__ = ["is_alone", "start_task"]


def is_alone(loop: AbstractEventLoop) -> bool:
    """Nothing else waits for its turn in the running loop; False where that cannot be told."""
    ready: Any = getattr(loop, "_ready", True)  # asyncio's own loops have it, others need not
    return not ready and loop.get_task_factory() is None


def start_task(work: Coroutine[Any, Any, None], loop: AbstractEventLoop) -> Task[None] | None:
    """Runs a coroutine as a task of the running loop; None where it is over already.

    From Python 3.12 on its first step is taken at once, if this is called within a task. The loop's own task factory
    is respected: its tasks begin when they like.
    """
    if sys.version_info >= (3, 12) and asyncio.current_task(loop) is not None and loop.get_task_factory() is None:
        task = asyncio.Task(work, loop=loop, eager_start=True)
        return None if task.done() else task
    return loop.create_task(work)
