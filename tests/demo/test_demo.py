"""`make demo` shows what it promises and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

HERE = Path(__file__).resolve().parent


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    """Every step takes the requests that it should, the server is told to stop and does."""
    done = subprocess.run(
        [sys.executable, str(HERE / "run.py"), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    steps = re.findall(r"\[(\d+) requests?\]$", done.stdout, re.MULTILINE)
    assert len(steps) > 10
    assert f"The server counted {sum(map(int, steps))} requests and has stopped." in done.stdout
    assert "the very object of the list" in done.stdout
    assert "'Renamed', before the answer" in done.stdout
    assert (tmp_path / "blog" / "manifest.sha256").is_file()
