"""How much is tried: what the tests list in `make test`, and more of it in `make nightly` (profile `explore`)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings

IS_NIGHT = not settings().derandomize
"""Whether this run may take its time."""


def examples(count: int, /, nightly: int = 4) -> int:
    """How many examples are tried: `count` of them, and `nightly` times as many at night."""
    return count * nightly if IS_NIGHT else count


def thorough(**more: Any) -> settings:
    """Settings of properties with large examples, which take their time to draw, and are not explained."""
    return settings(
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # explaining traces every line
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        **more,
    )
