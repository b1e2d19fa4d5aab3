"""The memory table: what an entity needs at rest, and whether long use of a bounded set stays flat."""

from __future__ import annotations

import json
import subprocess
import sys

from measure import PLACES, Table

JOBS = ("at rest", "read once", "flat")


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Memory",
        "An entity of 6 fields in a store of 100,000: primary key, record, table slots and times, without the values "
        "of its fields. Then a store of 1,000 entities over a million reads and writes. Then the pauses that Python's "
        "collector of garbage makes: a full pass looks at every object that may be part of a circle, and so at every "
        "entity; a program that holds very many calls `gc.freeze()` once they are there, and is spared that.",
    )
    turns = 100_000 if quick else 1_000_000
    found = json.loads(
        subprocess.run(  # a script of this folder
            [sys.executable, str(PLACES / "memory_worker.py"), str(turns)],
            cwd=PLACES,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    made.value(
        "an entity of 6 fields at rest", "what a record costs that nobody looked at", 450, [found["at rest"]], _bytes
    )
    made.value(
        "an entity of 6 fields that was read, in a list",
        "what it costs once it was shown",
        None,
        [found["read"]],
        _bytes,
    )
    made.value(
        f"growth over {turns:,} reads and writes of 1,000 entities",
        "whether a service that runs for weeks grows",
        64 * 1024,
        [found["growth"]],
        _bytes,
    )
    held = f"longest pause of a process that reads while {turns:,} entities lie in its store"
    made.value(held, "how long a program stands still at worst", None, [found["pause"][0]])
    made.value("the same, once the program has called `gc.freeze()`", "and with the remedy", None, [found["pause"][1]])
    return made


def _bytes(value: float) -> str:
    return f"{value:,.0f} B"
