"""Random programs for an API of many shapes: what is fresh is what the server says."""

from __future__ import annotations

import random

import pytest
from tests.effort import examples
from tests.freshness.programs import world_at_random
from tests.freshness.shapes import at_random, differences


@pytest.mark.parametrize("mode", ["memory", "memory-async", "bounded", "sqlite", "sqlite-async"])
def test_shapes_fresh_values_are_what_the_server_says(mode: str) -> None:
    """After each step; a read sends no request while it is fresh, and is fresh after one; one entity is one object."""
    for number in range(examples(12 if mode.startswith("sqlite") else 40, 20)):
        chance = random.Random(f"{mode} {number}")
        world = world_at_random(chance, mode)
        steps = at_random(chance, world)
        found = differences(world, steps)
        assert found is None, "\n".join([found, str(world), *map(str, steps)])
