"""What tests of packages at work share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from tests.mocked import mocked
from tests.runtime.worlds import Run, running

import market

Opened: TypeAlias = tuple[Any, Run]
"""A client of the market, and what gives the value of a call of it."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the mock server of the market listens."""
    with mocked("specs/market.yaml") as found:
        yield found


@pytest.fixture(params=[market.Market, market.AsyncMarket], ids=["sync", "async"])
def opened(request: pytest.FixtureRequest, address: str) -> Iterator[Opened]:
    """A client in each of the worlds."""
    client = request.param(url_prefix=address)
    with running(client) as run:
        yield client, run
