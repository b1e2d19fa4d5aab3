"""How much is tried: what the tests list in `make test`, and more of it in `make nightly` (profile `explore`)."""

from __future__ import annotations

from hypothesis import settings

IS_NIGHT = not settings().derandomize
"""Whether this run may take its time."""


def examples(count: int, /, nightly: int = 4) -> int:
    """How many examples are tried: `count` of them, and `nightly` times as many at night."""
    return count * nightly if IS_NIGHT else count
