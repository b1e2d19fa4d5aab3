"""Real processes over one folder: what one writes the others show, also after it was killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE


class Process:
    """A process of `reader`."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.reader", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def ask(self, order: str) -> Any:
        """What it answers."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(order, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def shows(self, order: str, expected: Any) -> None:
        """Asks until it answers this."""
        until = time.monotonic() + PATIENCE
        found = self.ask(order)
        while found != expected and time.monotonic() < until:
            time.sleep(0.01)
            found = self.ask(order)
        assert found == expected

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    """Two processes over one folder."""
    made = Process(tmp_path / "news"), Process(tmp_path / "news")
    yield made
    for process in made:
        process.kill()


@pytest.mark.slow
def test_processes_share_what_they_were_answered(processes: tuple[Process, Process], tmp_path: Path) -> None:
    """What one process was answered another shows, also one that starts later; a reset by one is a reset of all."""
    first, second = processes
    assert second.ask("cached") is None
    assert first.ask('answer [{"id": "1", "title": "A"}, {"id": "2", "title": "B"}]') is True
    second.shows("cached", ["A", "B"])
    assert second.ask('answer [{"id": "1", "title": "New"}]') is True
    first.shows("cached", ["New"])
    assert first.ask("get 2") == "B"
    first.kill()
    third = Process(tmp_path / "news")
    assert third.ask("cached") == ["New"]
    third.ask("reset")
    second.shows("resets", 1)
    assert second.ask("cached") is None
    third.kill()
