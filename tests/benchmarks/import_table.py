"""The import table: what a generated package costs before its first request."""

from __future__ import annotations

import sys
from pathlib import Path

from generator_table import FOLDER, generate
from measure import Table, seconds
from processes import plain_env, run
from specs import resource_of, write

USE = """
import sys
sys.path.insert(0, {path!r})
from many import Many
client = Many()
key = client.{resource}.get.key(id=1)
assert client.{resource}.get.cached(id=1) is None
"""


def _package(count: int) -> Path:
    out = FOLDER / f"import{count}"
    generate(write(FOLDER, count), out, fresh=False)
    return out


def _spent(code: str) -> float:
    return run([sys.executable, "-c", code], env=plain_env()).seconds


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Import",
        "A generated package whose entities form one ring of relations through all resources; times over those of a "
        "bare interpreter, byte code compiled before.",
    )
    packages = {count: _package(count) for count in (10, 1000)}
    codes = {count: USE.format(path=str(out), resource=resource_of(count // 2)) for count, out in packages.items()}
    for code in codes.values():
        _spent(code)
    bare: list[float] = []
    used: dict[int, list[float]] = {count: [] for count in packages}
    alone: list[float] = []
    for _ in range(max(7, rounds)):
        bare.append(_spent("pass"))
        alone.append(_spent("import httpx"))
        for count, code in codes.items():
            used[count].append(_spent(code))
    many = [spent - empty for spent, empty in zip(used[1000], bare, strict=True)]
    few = [spent - empty for spent, empty in zip(used[10], bare, strict=True)]
    made.value(
        "import of 1,000 resources and use of one, up to the first request",
        "the start of a script that uses one resource",
        0.040,
        many,
    )
    made.value(
        "the same ÷ its own time at 10 resources",
        "whether a large package starts slower",
        1.3,
        [large / small for large, small in zip(many, few, strict=True)],
        lambda value: f"{value:.2f}",
    )
    http = sorted(one - empty for one, empty in zip(alone, bare, strict=True))[len(bare) // 2]
    made.notes.append(f"`import httpx` alone takes {seconds(http)} over a bare interpreter")
    return made
