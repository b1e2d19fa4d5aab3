"""What every Python worker does: reads requests, prepares jobs, runs and times them."""

from __future__ import annotations

import gc
import json
import sys
import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[int], float]
"""Does a number of turns and returns the seconds that they took."""

Prepare: TypeAlias = Callable[..., Run]


def timed(turn: Callable[[], object]) -> Run:
    """A job whose turns are all alike."""

    def run(count: int) -> float:
        turns = range(count)
        start = perf_counter()
        for _ in turns:
            turn()
        return perf_counter() - start

    return run


def in_fresh(make: Callable[[], Callable[[int], object]], turns: int) -> Run:
    """A job whose turns wear its state: after so many of them it gets a fresh one, which is not timed."""

    def run(count: int) -> float:
        spent = 0.0
        done = 0
        while done < count:
            turn = make()
            gc.collect()  # what making it left behind is not the turn's
            numbers = range(min(turns, count - done))
            start = perf_counter()
            for place in numbers:
                turn(place)
            spent += perf_counter() - start
            done += len(numbers)
        return spent

    return run


def serve(*jobs: Prepare) -> None:
    """Answers requests until the input ends; each job is called by the name of its function."""
    named = {job.__name__: job for job in jobs}
    prepared: dict[str, Run] = {}
    gc.collect()
    gc.freeze()  # what was imported is not looked through again and again, as in any long-lived process that cares
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        name = request.get("job", "")
        try:
            if request["do"] == "forget":
                prepared.clear()
                gc.collect()
                answer: dict[str, Any] = {"ready": name}
            elif request["do"] == "prepare":
                prepared[name] = named[name](**request["parameters"])
                answer = {"ready": name}
            else:
                answer = {"seconds": prepared[name](request["count"])}
        except Exception:
            answer = {"error": traceback.format_exc()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
