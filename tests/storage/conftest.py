"""Processes over a storage that others share: one in virtual time, and several over a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.storage.here import Here
from tests.storage.house import House

from restencil.testing import FakeClock


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """The time of all processes."""
    clock = FakeClock()
    yield clock
    clock.close()


@pytest.fixture
def here(clock: FakeClock) -> Here:
    """This process."""
    return Here(clock)


@pytest.fixture
def house() -> Iterator[House]:
    """Processes over one server, of which there are none yet."""
    made = House()
    with made.stack:
        yield made
