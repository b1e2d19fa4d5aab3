"""Real processes over one folder: what one writes the others show, also after it was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.storage.histories import history
from tests.storage.machine import Expired, has_expired
from tests.storage.servers import ValkeyServer, needs_server


class Walker:
    """A process that takes steps of a history, is killed and forked."""

    def __init__(self, kind: str, where: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.model_worker", kind, where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._pid = int(self._line())
        self.is_child = False
        self.expired: list[Expired] = []
        """What it expired of all keys: it alone knows that what was under way meanwhile is stale."""

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process ended"
        return line

    def ask(self, do: str, seed: int = 0, number: int = 0) -> Any:
        """What it answers."""
        assert self._process.stdin is not None
        print(json.dumps([do, seed, number]), file=self._process.stdin, flush=True)
        return json.loads(self._line())

    def fork(self) -> None:
        """It goes on as its child."""
        self._pid = self.ask("fork")
        self.is_child = True

    def kill(self) -> None:
        """Ends it at once."""
        os.kill(self._pid, signal.SIGKILL)
        self._process.communicate()

    def is_like(self, seen: dict[str, Any], expected: dict[str, Any], *, times: bool) -> bool:
        """Whether it shows the same; a child may show as stale what its parent alone had."""
        for name, shown in seen.items():
            other = expected[name]
            if shown == other or (not times and isinstance(shown, list) and shown[0] == other[0]):
                continue
            if name.partition("?")[0].endswith("/items") and isinstance(shown, list) and shown[0] in (other[0], None):
                continue  # a page may have dropped the stored result
            if not times and "/directs/all" in name and [None, 1] in (shown, other):
                continue  # a server does not know whether it has all of a table
            if has_expired(self.expired, name, shown, other):
                continue
            if not self.is_child or (isinstance(shown, list) and shown[1] > 1 and shown[0] != []):
                return False
        return True


def _walk(seed: int, kind: str, where: str) -> None:
    setting, steps = history(seed)
    walkers = [Walker(kind, where) for _ in range(3)]
    try:
        for number, (place, step, what) in enumerate(steps):
            walker = walkers[place]
            if step in ("kill", "restart"):
                if step == "restart":
                    assert walker.ask("flush")
                walker.kill()
                walkers[place] = Walker(kind, where)
            elif step == "fork":
                walker.fork()
            elif step == "commit":
                assert walker.ask("flush")
            else:
                walker.ask("step", seed, number)
                if step == "expire_all":
                    walker.expired.append(Expired(what.test_key, time.time() * 1_000))
        assert all(walker.ask("flush") for walker in walkers)
        last = Walker(kind, where)
        walkers.append(last)
        until = time.monotonic() + PATIENCE / 5
        while True:
            expected = last.ask("picture")
            seen = [walker.ask("picture") for walker in walkers]
            if all(
                walker.is_like(one, expected, times=kind == "sqlite") for walker, one in zip(walkers, seen, strict=True)
            ):
                return
            if time.monotonic() > until:
                assert seen == [expected] * len(seen), (seed, setting)
            time.sleep(0.02)
    finally:
        for walker in walkers:
            walker.kill()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("seed", range(40))
def test_real_processes_show_one_history_over_files(seed: int, tmp_path: Path) -> None:
    """Three processes with threads of their own, killed and forked in between, show the same at the end."""
    _walk(seed, "sqlite", str(tmp_path / "model"))


@pytest.mark.slow
@needs_server
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_real_processes_show_one_history_over_a_server(first: int) -> None:
    """The same over a server."""
    with ValkeyServer() as server:
        for seed in range(first, first + 10):
            _walk(seed, "server", f"unix://{server.socket_path}#{seed}")
