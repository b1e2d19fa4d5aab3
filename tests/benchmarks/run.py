"""`make bench`: runs the tables, prints ratios with median and quartiles, and writes `results.md` beside this file.

    run.py [front] [store] [calls] [client] [generator] [import] [memory] [storage] [valkey] [--quick] [--out FILE]

Without names all tables run. With some of them alone, the others keep what `results.md` says of them. Figures on the
page on speed follow.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import PLACES, Table
from node import PACKAGES
from processes import OPENAI, PEERS
from storage_table import STORAGE_PEERS
from valkey_table import VALKEY_PEERS

PAGE: Final = PLACES.parent.parent / "docs" / "explanation" / "performance.md"
"""Tells readers some of the figures."""

HEAD: Final = """# How fast

Measured by `make bench`; lower is better, and a ratio below 1 means that restencil is faster. Both sides stay alive and
take batches of 40 ms in turn; a ratio is the median over pairs of neighbouring batches, with its quartiles. A goal that
lies between the quartiles is not decided.
"""


TABLES: Final = ("front", "store", "calls", "client", "generator", "import", "memory", "storage", "valkey")


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description="benchmarks of restencil beside its peers")
    parser.add_argument("tables", nargs="*", help=f"some of: {', '.join(TABLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, no verdict to rely on")
    parser.add_argument("--out", type=Path, default=PLACES / "results.md", help="where the report goes")
    options = parser.parse_args()
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        parser.error(f"no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    report = _sections(options.out)
    for name in options.tables or TABLES:
        print(f"{name}:", flush=True)
        made: Table = import_module(f"{name}_table").table(5 if options.quick else 21, options.quick)
        report[made.title] = made.markdown()
        options.out.write_text(_written(report), encoding="utf-8")
    if options.out == PLACES / "results.md":
        PAGE.write_text(_told_anew(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")
    print(f"written to {os.path.relpath(options.out)}")
    return 0


def _told_anew(page: str, report: dict[str, str]) -> str:
    """The page on speed, whose rows say what the report says: work, measured, verdict."""
    rows = [row.strip("| ").split(" | ") for made in report.values() for row in made.splitlines() if row[:2] == "| "]
    told = {cells[0]: f"| {cells[0]} | {cells[3]} | {cells[-1]} |" for cells in reversed(rows) if len(cells) == 7}
    return "".join(
        f"{told.get(line.split(' | ')[0][2:], line.rstrip())}\n" if line.count(" | ") == 2 else line
        for line in page.splitlines(keepends=True)
    )


def _sections(out: Path) -> dict[str, str]:
    if not out.exists():
        return {}
    parts = re.split(r"^## ", out.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: "## " + part.strip() + "\n" for part in parts}


def _written(report: dict[str, str]) -> str:
    return "\n".join([HEAD, _machine(), *report.values()])


def _machine() -> str:
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    node = "no Node"
    try:
        node = "Node " + subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    except OSError:
        pass
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{day}: {python}, {node}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}."
    here = [f"{name} {version(name)}" for name in ("httpx", "orjson", "pydantic")]
    pinned = [spec.replace("==", " ") for spec in (*PEERS, OPENAI, *STORAGE_PEERS, *VALKEY_PEERS)]
    packages = [f"{name} {number}" for name, number in PACKAGES.items()]
    return f"{machine} Peers: {', '.join(dict.fromkeys([*here, *pinned, *packages]))}.\n"


if __name__ == "__main__":
    sys.exit(main())
