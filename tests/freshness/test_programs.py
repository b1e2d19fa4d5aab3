"""Random programs against an honest server: what counts as fresh is what the server would say now."""

from __future__ import annotations

import pytest
from tests.effort import examples
from tests.freshness.driver import run
from tests.freshness.run import random_program, shown, shrunk

MODES = ("memory", "memory-async", "bounded", "bounded-async")
"""Programs over SQLite are in `test_storages.py`."""


@pytest.mark.parametrize("mode", MODES)
def test_programs_fresh_values_are_what_the_server_says(mode: str) -> None:
    """Fifty programs in each mode, the same ones each time, and more at night."""
    try_programs(mode, examples(50, 6))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_programs_fresh_values_are_what_the_server_says_for_long(mode: str) -> None:
    """Five thousand more programs in each mode."""
    try_programs(mode, 5_000, first=1_000)


def try_programs(mode: str, programs: int, first: int = 0) -> None:
    """Runs programs of one mode, and shows the first that fails as small as it gets."""
    for number in range(first, first + programs):
        program = random_program(mode, 1, number)
        differences = run(program).differences
        if differences:
            pytest.fail(f"program {number}:\n{shown(*shrunk(program, differences[0]))}", pytrace=False)
