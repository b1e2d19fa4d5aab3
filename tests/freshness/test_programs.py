"""Random programs against an honest server: what counts as fresh is what the server would say now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from tests.effort import IS_NIGHT
from tests.freshness.driver import CHANGES, run
from tests.freshness.programs import Api, Program
from tests.freshness.run import APIS, MODES, WRONG, apis_of, overlapping_programs, random_program, shown, shrunk
from tests.storage.servers import needs_server


@pytest.mark.parametrize(
    ("mode", "api"),
    [pytest.param(one, api, marks=needs_server if "valkey" in one else ()) for one in MODES for api in apis_of(one)],
)
def test_programs_fresh_values_are_what_the_server_says(mode: str, api: str) -> None:
    """A few programs in each mode, the same ones each time; `make nightly` runs many more, and others each night."""
    is_shared = not mode.startswith(("memory", "bounded"))
    programs = (random_program(mode, 1, number, APIS[api]) for number in range(3 if is_shared else 8))
    try_all(programs, APIS[api], kinds=WRONG if is_shared else ())


@pytest.mark.parametrize("mode", ["memory", "memory-async"])
def test_two_requests_in_any_order_leave_nothing_fresh_that_is_wrong(mode: str) -> None:
    """Every fortieth order in which two requests overlap, and all 1,404 at night."""
    try_all(overlapping_programs(mode, 1)[:: 1 if IS_NIGHT else 40])


def try_all(programs: Iterable[Program], api: Api = CHANGES, *, kinds: Sequence[str] = ()) -> None:
    """Runs programs, and shows the first that fails as small as it gets; `kinds` of differences count, or all."""
    for number, program in enumerate(programs):
        differences = [one for one in run(program, api).differences if not kinds or one.kind in kinds]
        if differences:
            pytest.fail(f"program {number}:\n{shown(*shrunk(program, differences[0], api))}", pytrace=False)
