"""What tests of packages at work share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mocked import mocked


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the mock server of the market listens."""
    with mocked("specs/market.yaml") as found:
        yield found
