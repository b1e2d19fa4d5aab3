"""The generator table: whole runs of the command, beside generators that read the same API as OpenAPI."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from measure import Table, seconds
from processes import PythonPeers, Spent, repeated, run
from shapes import WORK
from specs import openapi, write

FOLDER = WORK / "many"
COMMAND = [sys.executable, "-m", "restencil_generator"]


def _megabytes(value: float) -> str:
    return f"{value:.0f} MB"


def _plain(value: float) -> str:
    return f"{value:.2f}"


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
    specs = {count: write(FOLDER, count) for count in (1, 100, 1000)}
    out = {count: FOLDER / f"out{count}" for count in specs}
    one = repeated(lambda: generate(specs[1], out[1], fresh=True), min(rounds, 9))
    made.value(
        "1 resource from YAML", "saving a small spec, until its package is there", 0.5, [spent.seconds for spent in one]
    )
    helps = repeated(lambda: run([*COMMAND, "--help"]), min(rounds, 9))
    made.value("--help", "the command's own start", 0.15, [spent.seconds for spent in helps])
    hundred = repeated(lambda: generate(specs[100], out[100], fresh=True), few)
    made.value("100 resources", "a usual API, whole", 2.5, [spent.seconds for spent in hundred])
    thousand = repeated(lambda: generate(specs[1000], out[1000], fresh=True), few)
    made.value("1,000 resources", "a very large API, whole", 20, [spent.seconds for spent in thousand])
    made.value(
        "1,000 resources: memory",
        "what CI has to have for it",
        200,
        [spent.megabytes for spent in thousand],
        _megabytes,
    )
    first = min(spent.seconds for spent in thousand)
    second = repeated(lambda: generate(specs[1000], out[1000], fresh=False), few)
    made.value(
        "the second run, nothing changed, 1,000",
        "generating where nothing is to be done",
        2.5,
        [spent.seconds for spent in second],
    )
    made.value(
        "the second run ÷ the first",
        "what the cache of the generator saves",
        0.25,
        [spent.seconds / first for spent in second],
        _plain,
    )
    check = [*COMMAND, "check", str(specs[1000]), "--out", str(out[1000])]
    checked = repeated(lambda: run(check, cwd=FOLDER), few)
    made.value(
        "check, nothing changed, 1,000",
        "the step in CI that compares package and spec",
        2.5,
        [spent.seconds for spent in checked],
    )
    changed = write(FOLDER, 1000, changed=True)
    told = repeated(lambda: run([*COMMAND, "diff", str(specs[1000]), str(changed), "--only", "wire"], cwd=FOLDER), few)
    made.value(
        "diff of two specs of 1,000", "the step in CI that tells what breaks", 5, [spent.seconds for spent in told]
    )
    specs[1000].write_text(changed.read_text(encoding="utf-8"), encoding="utf-8")
    made.value(
        "one of 1,000 changed",
        "an edit of a very large spec",
        3,
        [generate(specs[1000], out[1000], fresh=False).seconds],
    )
    write(FOLDER, 1000)
    files = list((out[1000] / "many").glob("*.py"))
    made.value(
        "lines a resource",
        "what reviewers read",
        120,
        [sum(len(_text(file).splitlines()) for file in files) / 1000],
        _plain,
    )
    made.value(
        "bytes a resource", "what is checked in", 5 * 1024, [sum(file.stat().st_size for file in files) / 1000], _plain
    )
    peers = PythonPeers()
    made.notes += [peers.absent] if peers.absent else _peers(peers, quick)
    return made


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _peers(peers: PythonPeers, quick: bool) -> list[str]:
    notes = []
    for count in (1, 100) if quick else (1, 100, 1000):
        document = FOLDER / f"openapi{count}.json"
        document.write_text(openapi(count), encoding="utf-8")
        told = []
        for name, command in (
            (
                "openapi-python-client",
                ["generate", "--path", str(document), "--output-path", str(FOLDER / f"opc{count}"), "--overwrite"],
            ),
            ("clientele", ["start-api", "--file", str(document), "--output", str(FOLDER / f"cl{count}"), "--regen"]),
            (
                "datamodel-codegen",
                ["--input", str(document), "--output", str(FOLDER / f"dc{count}.py"), "--formatters", "black"],
            ),
        ):
            try:
                spent = run([peers.command(name), *command], cwd=FOLDER, env=peers.env())
            except RuntimeError as error:
                told.append(f"{name} failed ({str(error).splitlines()[-1][:80]})")
            else:
                told.append(f"{name} {seconds(spent.seconds)}, {spent.megabytes:.0f} MB")
        notes.append(f"peers, {count} resources: {'; '.join(told)}")
    return notes
