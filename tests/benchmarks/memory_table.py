"""The memory table: what an entity needs at rest, and whether long use of a bounded set stays flat."""

from __future__ import annotations

import json
import subprocess
import sys

from measure import PLACES, Table


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Memory",
        "An entity of 6 fields in a store of 100,000: primary key, record, table slots and times, without the values "
        "of its fields. Then a store of 1,000 entities over a million reads and writes.",
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
        f"growth over {turns:,} reads and writes of 1,000 entities",
        "whether a service that runs for weeks grows",
        64 * 1024,
        [found["growth"]],
        _bytes,
    )
    return made


def _bytes(value: float) -> str:
    return f"{value:,.0f} B"
