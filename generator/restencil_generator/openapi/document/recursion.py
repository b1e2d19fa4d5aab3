"""Runs deeply recursive code with a stack of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_FRAMES: Final = 200_000
_STACK: Final = 512 * 1024 * 1024
"""In bytes, of addresses: memory is taken for what is used."""


def deeply(call: Callable[[], T]) -> T:
    """What a call returns or raises that may call itself very often."""
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
