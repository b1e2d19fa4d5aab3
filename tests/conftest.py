"""Settings that all tests share."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.generator import hundred
from tests.libraries import LIBRARIES, VARIABLE

# A busy machine makes any single example slow now and then: what counts is the result, not the time. `make test` tries
# the same examples each time, `make nightly` new ones, and more of them (tests/effort.py).
_SLOW = [HealthCheck.too_slow]
settings.register_profile("restencil", deadline=None, suppress_health_check=_SLOW, derandomize=True, max_examples=25)
settings.register_profile(
    "explore", settings.get_profile("restencil"), derandomize=False, print_blob=True, max_examples=100
)
settings.load_profile("restencil")

# A job that a shell put into the background ignores Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def hundred_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the spec and the package of a hundred resources, to be put on the path."""
    folder = tmp_path_factory.mktemp("hundred")
    hundred.write(folder)
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--http` names the HTTP library of the tests; without it those marked `network` run under both.

    `--shuffle` is for finding tests that pass only after another one, or before it. `--collect-garbage` is for finding
    the file whose tests leave open what they opened.
    """
    parser.addoption("--http", choices=(*LIBRARIES, "both"), help="the HTTP library of the tests, or both of them")
    parser.addoption("--collect-garbage", action="store_true", help="collect garbage after each file")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files in another order, and so the tests of each")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs under each library that is asked for."""
    asked = metafunc.config.getoption("--http")
    if asked == "both" or (asked is None and metafunc.definition.get_closest_marker("network") is not None):
        metafunc.parametrize("http_library", LIBRARIES, indirect=True)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True, scope="module")
def garbage_of_a_file(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--collect-garbage` what a file leaves is found in its last test."""
    yield
    if request.config.getoption("--collect-garbage"):
        gc.collect()


@pytest.fixture(autouse=True)
def http_library(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the HTTP library of this test: of its own clients and doubles, and of what the runtime opens."""
    asked = request.config.getoption("--http")
    name: str = getattr(request, "param", asked or "httpx")
    before = os.environ.pop(VARIABLE, None)
    if name != "httpx":  # what nobody has to choose
        os.environ[VARIABLE] = name
    yield name
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """Whether the client is an asynchronous one: a test that takes this runs with both kinds."""
    return bool(request.param)


LONGEST = ("tests/packaging/", "tests/test_docs.py", "tests/conformance/", "tests/servers/")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that all workers end together: each takes one file after another."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        files: dict[Path, list[pytest.Item]] = {}
        for item in items:
            files.setdefault(item.path, []).append(item)
        chance = random.Random(seed)
        items[:] = [
            item
            for file in chance.sample(list(files), len(files))
            for item in chance.sample(files[file], len(files[file]))
        ]
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection() -> None:
    """What is imported and collected is no garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Ten thousand tests are not looked through at each collection."""
    gc.collect()
    gc.freeze()
    gc.enable()
