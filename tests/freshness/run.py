"""Runs random programs: `python -m tests.freshness.run --programs 1000 --seed 1 --mode memory --api changes`.

The API is `changes` (of all kinds), `runs` (through lists in pages), `unstored` (with fields without `persist`) or
`shapes` (of data); `--api all --mode all` runs all of them in all modes. With `--overlaps`, programs are two requests
each, in all orders in which they overlap.

Prints how many programs, reads and requests there were, how many differences by kind, and the failing programs made as
small as they get, each as a text that `tests.freshness.programs.parse` reads.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from tests.freshness.driver import CHANGES, RUNS, UNSTORED, Difference, run
from tests.freshness.programs import Api, Program, at_random, overlaps, smaller, world_at_random
from tests.freshness.shapes import SHAPES
from tests.storage.servers import executable

MODES: Final = tuple(f"{kind}{way}" for kind in ("memory", "bounded", "sqlite", "valkey") for way in ("", "-async"))

WRONG: Final = ("fresh and wrong", "an iteration left out")
"""What counts over a server: how often is asked depends on when its threads hear of what others wrote."""

APIS: Final = {"changes": CHANGES, "shapes": SHAPES, "runs": RUNS, "unstored": UNSTORED}


def apis_of(mode: str) -> list[str]:
    """The APIs whose programs run in this mode: fields without `persist` are as others where there is no storage."""
    return [name for name in APIS if name != "unstored" or not mode.startswith(("memory", "bounded"))]


def random_program(
    mode: str, seed: int, number: int, api: Api = CHANGES, without: frozenset[str] = frozenset()
) -> Program:
    """The program of this number."""
    chance = random.Random(f"{mode} {seed} {number}")
    return at_random(chance, world_at_random(chance, mode), api, rules=without)


def overlapping_programs(mode: str, seed: int) -> list[Program]:
    """All programs of two requests that overlap, each in a world of its own."""
    found = enumerate(overlaps())
    return [Program(world_at_random(random.Random(f"{mode} {seed} {number}"), mode), steps) for number, steps in found]


def shrunk(program: Program, found: Difference, api: Api = CHANGES, seconds: float = 20) -> tuple[Program, Difference]:
    """A program as small as it gets that still shows a difference of this kind, and that difference."""
    end, kind = time.monotonic() + seconds, found.kind
    best, check_all = first_of(program, api, kind, check_all=True), True
    if best is None:  # comparing after each step reads more, which may hide a difference
        best, check_all = first_of(program, api, kind, check_all=False), False
    if best is None:
        return program, found
    cut = Program(program.world, program.steps[: best.step + 1])
    if first_of(cut, api, kind, check_all=check_all) is not None:
        program = cut
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                break
            smaller_one = first_of(candidate, api, kind, check_all=check_all)
            if smaller_one is not None:
                program, best, changed = candidate, smaller_one, True
                break
    return program, best


def first_of(program: Program, api: Api, kind: str, *, check_all: bool) -> Difference | None:
    """The difference of this kind that a program shows; `check_all`: compared after each step."""
    try:
        found = run(program, api, check_all=check_all).differences
    except Exception:
        return None
    return next((one for one in found if one.kind == kind), None)


def shown(program: Program, difference: Difference) -> str:
    """A failing program and its difference, ready to be pasted."""
    lines = "\n".join(f"    {line}" for line in str(program).splitlines())
    return f"{lines}\n    # {difference}"


def main() -> int:
    """Parses the command line, runs, and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.freshness.run")
    parser.add_argument("--programs", type=int, default=1000, help="how many in each mode of each API")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--mode", choices=(*MODES, "all"), default="memory")
    parser.add_argument("--api", choices=(*APIS, "all"), default="changes")
    parser.add_argument("--without", default="", help="overlaps, partitions, failures: left out, with commas")
    parser.add_argument("--cap", type=int, default=5, help="how many failing programs of one kind are made small")
    parser.add_argument("--seconds", type=float, default=20, help="how long one program is made smaller at most")
    parser.add_argument("--processes", type=int, default=1, help="how many modes run beside each other")
    parser.add_argument(
        "--overlaps", action="store_true", help="two requests in all orders in place of random programs"
    )
    given = parser.parse_args()
    # A server that is not installed is no mode of its own.
    modes = [mode for mode in MODES if executable() or "valkey" not in mode] if given.mode == "all" else [given.mode]
    walks = [(api, mode, given) for mode in modes for api in (apis_of(mode) if given.api == "all" else (given.api,))]
    failed = 0
    with ProcessPoolExecutor(given.processes) as pool:
        for text, differences in pool.map(_walk, *zip(*walks, strict=True)):
            print(text, flush=True)
            failed += differences
    return 1 if failed else 0


def _walk(name: str, mode: str, given: argparse.Namespace) -> tuple[str, int]:
    """Runs the programs of one mode of an API: what there is to print, and how many differences."""
    without = frozenset(filter(None, given.without.split(",")))
    api = APIS[name]
    lines: list[str] = []
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    small: dict[str, tuple[Program, Difference]] = {}
    begun = time.monotonic()
    numbers = range(given.first, given.first + given.programs)
    programs = (random_program(mode, given.seed, number, api, without) for number in numbers)
    for number, program in enumerate(
        overlapping_programs(mode, given.seed) if given.overlaps else programs, given.first
    ):
        try:
            outcome = run(program, api)
        except Exception as error:
            kinds[f"crash {type(error).__name__}"] += 1
            if kinds[f"crash {type(error).__name__}"] <= 2:
                lines.append(f"program {number}: {type(error).__name__}: {error}\n{program}")
            continue
        counts.update(outcome.counts)
        counts["programs"] += 1
        for one in outcome.differences:
            if "valkey" in mode and one.kind not in WRONG:
                continue
            kinds[one.kind] += 1
            if kinds[one.kind] <= given.cap:
                simple, difference = shrunk(program, one, api, given.seconds)
                small.setdefault(_signature(simple, difference), (simple, difference))
    seconds = time.monotonic() - begun
    lines.append(f"api {name}, mode {mode}, seed {given.seed}: {seconds:.0f} s")
    lines += [
        f"  {one}: {counts[one]}"
        for one in (
            "programs",
            "steps",
            "changes",
            "requests",
            "fresh values compared",
            "stale",
            "values compared",
            "live reads compared",
            "iterations compared",
        )
    ]
    lines.append(f"  differences: {sum(kinds.values())} {dict(kinds)}")
    lines += [f"\n{shown(*found)}" for found in sorted(small.values(), key=lambda one: len(one[0].steps))]
    return "\n".join(lines), sum(kinds.values())


def _signature(program: Program, difference: Difference) -> str:
    calls = " ".join(f"{step.act} {step.name} {step.outcome}" for step in program.steps)
    return f"{difference.kind} {difference.read.partition('(')[0]} {calls}"


if __name__ == "__main__":
    sys.exit(main())
