"""The import table: what a generated package costs before its first request."""

from __future__ import annotations

import sys

from generator_table import FOLDER, generate
from measure import Table, seconds
from processes import plain_env, run
from specs import write

USE = """
import sys
sys.path.insert(0, {path!r})
from many import Many
client = Many()
key = client.things_0500.get.key(id=1)
assert client.things_0500.get.cached(id=1) is None
"""


def _spent(code: str) -> float:
    return run([sys.executable, "-c", code], env=plain_env())


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Import",
        "A generated package whose entities form one ring of relations through all resources; times over those of a "
        "bare interpreter, byte code compiled before.",
    )
    out = FOLDER / "import1000"
    generate(write(FOLDER), out, fresh=False)
    code = USE.format(path=str(out))
    _spent(code)
    sides = ["pass", "import httpx", code]
    bare, alone, used = zip(*([_spent(side) for side in sides] for _ in range(max(7, rounds))), strict=True)
    made.value(
        "import of 1,000 resources and use of one, up to the first request",
        "the start of a script that uses one resource",
        0.040,
        [spent - empty for spent, empty in zip(used, bare, strict=True)],
    )
    http = sorted(one - empty for one, empty in zip(alone, bare, strict=True))[len(bare) // 2]
    made.notes.append(f"`import httpx` alone takes {seconds(http)} over a bare interpreter")
    return made
