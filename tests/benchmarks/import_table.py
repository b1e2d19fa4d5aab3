"""The import table: what a generated package costs before its first request, and with all its modules loaded."""

from __future__ import annotations

import json
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

ALL = """
import sys
sys.path.insert(0, {path!r})
import importlib, json, pathlib, time, resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
for file in sorted(pathlib.Path({path!r}, "many").glob("*.py")):
    if file.stem != "__init__":
        importlib.import_module("many." + file.stem)
spent = time.perf_counter() - start
print(json.dumps([spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))
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
    code = ALL.format(path=str(packages[1000]))
    _all(code)
    everything = [_all(code) for _ in range(3)]
    made.value("all thousand modules", "a program that uses all of them", 1.1, [spent for spent, _ in everything])
    made.value(
        "all thousand modules: memory",
        "what that program holds",
        60,
        [size for _, size in everything],
        lambda value: f"{value:.0f} MB",
    )
    http = sorted(one - empty for one, empty in zip(alone, bare, strict=True))[len(bare) // 2]
    made.notes.append(f"`import httpx` alone takes {seconds(http)} over a bare interpreter")
    return made


def _all(code: str) -> tuple[float, float]:
    import subprocess

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    spent, size = json.loads(found.stdout)
    return spent, size
