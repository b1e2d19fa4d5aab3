"""Settings that all tests share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.generator import hundred

# A busy machine makes any single example slow now and then: what counts is the result, not the time. `make test` tries
# the same examples each time, `make nightly` new ones.
settings.register_profile("restencil", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("explore", settings.get_profile("restencil"), derandomize=False, print_blob=True)
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
