"""Execution of deeply recursive code on a thread with a large stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_FRAMES: Final = 200_000
_STACK: Final = 512 * 1024 * 1024
"""In bytes of address space: only the used part takes memory."""


def deeply(call: Callable[[], T]) -> T:
    """Call a deeply recursive function, and return or raise its result."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    frames, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(_FRAMES)
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(frames)
    if errors:
        raise errors[0]
    return results[0]
