"""What tests of several subjects share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import World


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A client of either kind before the honest server."""
    with Session(World(asynchronous=request.param)) as made:
        yield made
