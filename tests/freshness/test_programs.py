"""Random programs against an honest server: what counts as fresh is what the server would say now."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.effort import IS_NIGHT, examples
from tests.freshness.driver import run
from tests.freshness.programs import Program
from tests.freshness.run import overlapping_programs, random_program, shown, shrunk

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


@pytest.mark.parametrize("mode", ["memory", "memory-async"])
def test_two_requests_in_any_order_leave_nothing_fresh_that_is_wrong(mode: str) -> None:
    """Every fortieth order in which two requests overlap, and all 1,404 at night."""
    try_all(overlapping_programs(mode, 1)[:: 1 if IS_NIGHT else 40])


def try_programs(mode: str, programs: int, first: int = 0) -> None:
    """Runs random programs of one mode."""
    try_all(random_program(mode, 1, number) for number in range(first, first + programs))


def try_all(programs: Iterable[Program]) -> None:
    """Runs programs, and shows the first that fails as small as it gets."""
    for number, program in enumerate(programs):
        differences = run(program).differences
        if differences:
            pytest.fail(f"program {number}:\n{shown(*shrunk(program, differences[0]))}", pytrace=False)
