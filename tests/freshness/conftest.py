"""What tests of several subjects share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import World


@pytest.fixture
def session(asynchronous: bool) -> Iterator[Session]:
    """A client of either kind before the honest server."""
    with Session(World(asynchronous=asynchronous)) as made:
        yield made
