"""The pytest plugin with the fixtures of `restencil.testing`; it imports the library when one of them is used."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .. import AsyncController, Controller, Store
    from ..testing import FakeClock, MockServer


@pytest.fixture
def restencil_clock() -> Iterator[FakeClock]:
    """Virtual time: a clock and scheduler, closed after the test."""
    from ..testing import FakeClock

    clock = FakeClock()
    yield clock
    clock.close()


@pytest.fixture
def restencil_server(restencil_clock: FakeClock) -> MockServer:
    """A mock server in virtual time."""
    from ..testing import MockServer

    return MockServer(restencil_clock)


@pytest.fixture
def restencil_store(restencil_clock: FakeClock) -> Store:
    """An empty store in virtual time that rejects responses which do not match their declarations."""
    return restencil_clock.store()


@pytest.fixture
def restencil_controller(restencil_store: Store, restencil_server: MockServer) -> Iterator[Controller]:
    """A Controller of the store, whose requests go to the mock server at http://mock."""
    from ..client.controller import Controller

    with Controller(restencil_store, client=restencil_server.client(), base_url="http://mock") as controller:
        yield controller


@pytest.fixture
def restencil_async_controller(
    restencil_clock: FakeClock, restencil_store: Store, restencil_server: MockServer
) -> Iterator[AsyncController]:
    """An AsyncController of the store, whose requests go to the mock server at http://mock."""
    from ..client.controller import AsyncController

    controller = AsyncController(restencil_store, client=restencil_server.async_client(), base_url="http://mock")
    yield controller
    restencil_clock.run(controller.aclose)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function and uses `restencil_clock` on the event loop of the clock."""
    clock: Any = pyfuncitem.funcargs.get("restencil_clock")
    if clock is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    clock.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
