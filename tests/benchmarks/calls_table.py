"""The calls table: what a call costs beside the bare `client.get(url).json()` of httpx."""

from __future__ import annotations

import subprocess
import sys

from measure import PLACES, Sides, Table, python_worker
from shapes import input_file


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    file = str(input_file("user.json"))
    made = Table(
        "Calls",
        "httpx with a transport that answers from memory, one flat user as the answer; time divided by that of "
        "`client.get(url).json()`, or of 200 of them at the same time.",
    )
    with python_worker("calls_worker.py") as ours, python_worker("calls_worker.py", "httpx") as plain:
        rows = Sides(made, rounds, ours, plain, "httpx")
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
