"""Tests against real servers are coroutines; each runs in both worlds, with a client and fresh data of its own."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest
from tests.servers.packages import generated
from tests.servers.suite import Suite
from tests.servers.worlds import World, play


@pytest.fixture(params=["sync", "asyncio"])
def world(request: pytest.FixtureRequest) -> World:
    """The world that a test runs in."""
    found: World = request.param
    return found


@pytest.fixture(scope="module")
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The package that is generated from the spec that a module of tests names."""
    name: str = request.module.SPEC
    return generated(name, tmp_path_factory.mktemp(name))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in the world that it asks for; the clients that it opened are closed after it."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    funcargs: dict[str, Any] = dict(pyfuncitem.funcargs)
    given = {name: funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def program() -> None:
        try:
            await pyfuncitem.obj(**given)
        finally:
            for suite in given.values():
                if isinstance(suite, Suite):
                    await suite.close()

    play(funcargs["world"], program)
    return True
