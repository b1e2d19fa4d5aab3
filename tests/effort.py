"""How much is tried: all of it in `make nightly` (profile `explore`), a part of it, always the same, in `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

IS_NIGHT = not settings().derandomize
"""Whether this run may take its time."""


def tries(full: int, /, part: int = 4) -> int:
    """So many examples: all of them at night, one in `part` else."""
    return full if IS_NIGHT else max(1, full // part)


def some(cases: Iterable[T], /, part: int = 4) -> list[T]:
    """These cases: all of them at night, every `part`-th else."""
    return [*cases] if IS_NIGHT else [*cases][::part]
