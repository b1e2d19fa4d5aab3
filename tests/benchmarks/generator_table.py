"""The generator table: whole runs of the command over a very large spec."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from measure import Table
from processes import Spent, repeated, run
from shapes import WORK
from specs import write

FOLDER = WORK / "many"
COMMAND = [sys.executable, "-m", "restencil_generator"]


def generate(spec: Path, out: Path, *, fresh: bool) -> Spent:
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
    few = 2 if quick else 3
    spec, out = write(FOLDER, 1000), FOLDER / "out1000"
    thousand = repeated(lambda: generate(spec, out, fresh=True), few)
    made.value("1,000 resources", "a very large API, whole", 20, [spent.seconds for spent in thousand])
    second = repeated(lambda: generate(spec, out, fresh=False), few)
    made.value(
        "the second run, nothing changed, 1,000",
        "generating where nothing is to be done",
        2.5,
        [spent.seconds for spent in second],
    )
    check = [*COMMAND, "check", str(spec), "--out", str(out)]
    checked = repeated(lambda: run(check, cwd=FOLDER), few)
    made.value(
        "check, nothing changed, 1,000",
        "the step in CI that compares package and spec",
        2.5,
        [spent.seconds for spent in checked],
    )
    changed = write(FOLDER, 1000, changed=True)
    told = repeated(lambda: run([*COMMAND, "diff", str(spec), str(changed), "--only", "wire"], cwd=FOLDER), few)
    made.value(
        "diff of two specs of 1,000", "the step in CI that tells what breaks", 5, [spent.seconds for spent in told]
    )
    return made
