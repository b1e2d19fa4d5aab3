"""Tasks that need no turn of the loop: what has its response ready waits for nothing else.

Both devices are there for "fetch through the cache, async".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any

from ..base.lazy_imports import asyncio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

__all__ = ["is_alone", "start_task"]


def is_alone(loop: AbstractEventLoop) -> bool:
    """Nothing else waits for its turn in the running loop; False where that cannot be told."""
    ready: Any = getattr(loop, "_ready", True)  # asyncio's own loops have it, others need not
    return not ready and loop.get_task_factory() is None


if sys.version_info < (3, 12):

    @cache
    def _starter_of_3_11() -> Callable[[Coroutine[Any, Any, None], AbstractEventLoop], Task[None] | None]:
        # It brings asyncio along, which is not there before the first request; and an `import` in each call is felt.
        from .tasks_of_3_11 import start_task_now

        return start_task_now


def start_task(work: Coroutine[Any, Any, None], loop: AbstractEventLoop) -> Task[None] | None:
    """Runs a coroutine as a task of the running loop, its first step now; None where that was all.

    The first step waits for the loop's next turn outside of a task, and in a loop with a task factory of its own: that
    is respected, and its tasks begin when they like.
    """
    if asyncio.current_task(loop) is None or loop.get_task_factory() is not None:
        return loop.create_task(work)
    if sys.version_info >= (3, 12):
        task = asyncio.Task(work, loop=loop, eager_start=True)
        return None if task.done() else task
    else:
        return _starter_of_3_11()(work, loop)
