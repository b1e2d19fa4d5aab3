"""The generator table: whole runs of the command over a very large spec."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from measure import Table
from processes import run
from shapes import WORK
from specs import write

FOLDER = WORK / "many"
COMMAND = [sys.executable, "-m", "restencil_generator"]


def generate(spec: Path, out: Path, *, fresh: bool) -> float:
    """One run of `restencil generate`; a fresh one begins without a package and without what is cached of it."""
    if fresh:
        shutil.rmtree(out, ignore_errors=True)
    return run([*COMMAND, "generate", str(spec), "--out", str(out)], cwd=FOLDER)


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Generator",
        "Resources with 8 typed fields and 2 relations each, one ring of relations through all of them; whole "
        "processes with everything that they load.",
    )
    few = range(2 if quick else 3)
    spec, out = write(FOLDER), FOLDER / "out1000"
    thousand = [generate(spec, out, fresh=True) for _ in few]
    made.value("1,000 resources", "a very large API, whole", 20, thousand)
    second = [generate(spec, out, fresh=False) for _ in few]
    made.value("the second run, nothing changed, 1,000", "generating where nothing is to be done", 2.5, second)
    checked = [run([*COMMAND, "check", str(spec), "--out", str(out)], cwd=FOLDER) for _ in few]
    made.value("check, nothing changed, 1,000", "the step in CI that compares package and spec", 2.5, checked)
    changed = FOLDER / "changed.yaml"
    one = "        next: Thing0501?\n"
    changed.write_text(spec.read_text("utf-8").replace(one, f"{one}        added: string?\n"), "utf-8")
    told = [run([*COMMAND, "diff", str(spec), str(changed), "--only", "wire"], cwd=FOLDER) for _ in few]
    made.value("diff of two specs of 1,000", "the step in CI that tells what breaks", 5, told)
    return made
