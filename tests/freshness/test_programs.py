"""Random programs against an honest server: what counts as fresh is what the server would say now."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.effort import IS_NIGHT
from tests.freshness.driver import CHANGES, run
from tests.freshness.programs import Api, Program
from tests.freshness.run import APIS, MODES, overlapping_programs, random_program, shown, shrunk


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("mode", [mode for mode in MODES if "valkey" not in mode])
def test_programs_fresh_values_are_what_the_server_says(mode: str, api: str) -> None:
    """A few programs in each mode, the same ones each time; `make nightly` runs many more, and others each night."""
    try_all((random_program(mode, 1, number, APIS[api]) for number in range(6 if "sqlite" in mode else 12)), APIS[api])


@pytest.mark.parametrize("mode", ["memory", "memory-async"])
def test_two_requests_in_any_order_leave_nothing_fresh_that_is_wrong(mode: str) -> None:
    """Every fortieth order in which two requests overlap, and all 1,404 at night."""
    try_all(overlapping_programs(mode, 1)[:: 1 if IS_NIGHT else 40])


def try_all(programs: Iterable[Program], api: Api = CHANGES) -> None:
    """Runs programs, and shows the first that fails as small as it gets."""
    for number, program in enumerate(programs):
        differences = run(program, api).differences
        if differences:
            pytest.fail(f"program {number}:\n{shown(*shrunk(program, differences[0], api))}", pytrace=False)
