"""The calls table: what a call costs beside the bare `client.get(url).json()` of httpx."""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

from measure import PLACES, Table, Worker, in_turns, python_worker, seconds
from shapes import input_file


def table(rounds: int) -> Table:
    """Runs all rows."""
    file = str(input_file("user.json"))
    made = Table(
        "Calls",
        "httpx with a transport that answers from memory, one flat user as the answer; time divided by that of "
        "`client.get(url).json()`, or of 200 of them at the same time.",
    )
    with python_worker("calls_worker.py") as ours, python_worker("calls_worker.py", "httpx") as plain:
        rows = _Rows(made, ours, plain, rounds)
        rows.compare("direct call", "a typed call without a cache", 0.9, "direct", "plain", file=file)
        rows.compare(
            "fetch through the cache", "a small answer that always asks the server", 0.95, "fetch", "plain", file=file
        )
        rows.compare("direct call, async", "the same in asyncio", 0.9, "direct async", "plain async", file=file)
        rows.compare(
            "fetch through the cache, async", "the same in asyncio", 1.0, "fetch async", "plain async", file=file
        )
        rows.compare(
            "200 identical concurrent fetches",
            "many parts of a program that want the same at once",
            0.15,
            "fetch together",
            "plain together",
            file=file,
        )
        jobs = [ours.job(job, file=file) for job in ("direct", "applied", "fetch")]
        direct, applied, fetch = (statistics.median(spent) for spent in in_turns([job.run for job in jobs], rounds))
        made.notes.append(
            f"a fetch of {seconds(fetch)} is a direct call of {seconds(direct)}, {seconds(applied)} in which the store "
            f"takes the answer in and gives the entity, and {seconds(max(fetch - direct - applied, 0))} in which the "
            "request is in flight, found by others who want the same, and told to managers"
        )
        server = subprocess.Popen(  # a script of this folder
            [sys.executable, str(PLACES / "loopback.py"), file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            port = server.stdout.readline().strip() if server.stdout is not None else ""
            rows.compare(
                "the same over loopback",
                "the same with a real server",
                0.03,
                "fetch together, loopback",
                "plain together, loopback",
                file=file,
                url=f"http://127.0.0.1:{port}",
            )
        finally:
            if server.stdin is not None:
                server.stdin.close()
            server.wait(10)
    return made


class _Rows:
    def __init__(self, table: Table, ours: Worker, plain: Worker, rounds: int) -> None:
        self.table = table
        self.ours = ours
        self.plain = plain
        self.rounds = rounds

    def compare(self, work: str, means: str, goal: float, job: str, other: str, **parameters: Any) -> None:
        """A row: ours beside httpx alone."""
        mine, theirs = self.ours.job(job, **parameters), self.plain.job(other, **parameters)
        times = in_turns([mine.run, theirs.run], self.rounds)
        self.table.ratio(work, means, goal, times[0], times[1], "httpx")
