"""One process over a storage that others share, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.storage.here import Here

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
