"""Measuring: workers that stay resident and take short batches in turn, and what is made of their times.

Two programs compared one after the other see two different machines where the machine is noisy. So both sides stay
alive, each has its input ready, and they take batches of some 40 ms in turn; a ratio is taken for each pair of
neighbouring batches, and what is told is the median and the quartiles of these ratios.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

BATCH: Final = 0.040
"""Seconds of one side's turn."""

PLACES: Final = Path(__file__).resolve().parent


class WorkerError(RuntimeError):
    """A worker reported an error or ended."""


class Worker:
    """A program that runs jobs: one JSON object a line on its standard input, one a line as the answer."""

    def __init__(self, name: str, command: Sequence[str], **options: Any) -> None:
        self.name = name
        self._process = subprocess.Popen(  # the command is the harness's own
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", **options
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to one request. Raises WorkerError with what the worker reports."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise WorkerError(f"{self.name} has no pipes")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"{self.name} ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {answer['error']}")
        return answer

    def job(self, name: str, *, once: bool = False, **parameters: Any) -> Job:
        """A job, prepared and warmed up, with the number of turns that fills a batch; `once`: a batch is one turn."""
        self.ask(do="prepare", job=name, parameters=parameters)
        job = Job(self, name)
        if once:
            job.run()
        else:
            job.calibrate()
        return job

    def forget(self) -> None:
        """Lets go of all jobs: what one left behind is no burden to the next."""
        self.ask(do="forget")

    def close(self) -> None:
        """Ends the worker."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Job:
    """One side of a comparison."""

    def __init__(self, worker: Worker, name: str) -> None:
        self.worker = worker
        self.name = name
        self.count = 1

    def run(self) -> float:
        """Seconds per turn in one batch."""
        return float(self.worker.ask(do="run", job=self.name, count=self.count)["seconds"]) / self.count

    def calibrate(self) -> None:
        """Finds how many turns fill a batch, which also warms up."""
        for _ in range(24):
            spent = self.run() * self.count
            if spent >= BATCH * 0.7:
                break
            self.count = max(self.count + 1, min(self.count * 8, int(self.count * BATCH / max(spent, 1e-7))))
        for _ in range(3):
            self.run()


def python_worker(script: str, name: str = "restencil", *arguments: str, python: str = sys.executable) -> Worker:
    """A worker of this folder, run by this interpreter."""
    return Worker(name, [python, str(PLACES / script), *arguments], cwd=PLACES)


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The median and the quartiles of some values."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)

    def verdict(self, goal: float) -> str:
        """Whether the goal (an upper bound) is met; no answer where the quartiles lie on both its sides."""
        if self.high <= goal:
            return "met"
        return "missed" if self.low > goal else "too noisy to decide"


def in_turns(sides: Sequence[Callable[[], float]], rounds: int) -> list[list[float]]:
    """The times of each side over the rounds; who begins changes from round to round."""
    times: list[list[float]] = [[] for _ in sides]
    order = list(range(len(sides)))
    for _ in range(rounds):
        for place in order:
            times[place].append(sides[place]())
        order.append(order.pop(0))
    return times


def seconds(value: float) -> str:
    """A duration for people."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def number(value: float) -> str:
    """A ratio for people; small ones as fractions."""
    if 0 < value < 0.05:
        return f"1/{1 / value:.0f}"
    return f"{value:.2f}"


@dataclass(slots=True)
class Table:
    """One table of the report."""

    title: str
    about: str
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def ratio(
        self, work: str, means: str, goal: float | None, ours: Sequence[float], theirs: Sequence[float], against: str
    ) -> None:
        """Adds a line that compares two sides; `means` says what it is to a user."""
        spread = Spread.of([mine / other for mine, other in zip(ours, theirs, strict=True)])
        mine, other = statistics.median(ours), statistics.median(theirs)
        self._add(
            work,
            means,
            "–" if goal is None else f"≤ {number(goal)}",
            number(spread.median),
            f"{number(spread.low)} – {number(spread.high)}",
            f"{seconds(mine)} : {seconds(other)} ({against})",
            "–" if goal is None else spread.verdict(goal),
        )

    def value(
        self, work: str, means: str, goal: float | None, values: Sequence[float], show: Callable[[float], str] = seconds
    ) -> None:
        """Adds a line with a bound of its own; `means` says what it is to a user."""
        spread = Spread.of(values)
        self._add(
            work,
            means,
            "–" if goal is None else f"≤ {show(goal)}",
            show(spread.median),
            f"{show(spread.low)} – {show(spread.high)}",
            "",
            "–" if goal is None else spread.verdict(goal),
        )

    def _add(self, *cells: str) -> None:
        self.rows.append(cells)
        work, _, goal, measured, quartiles, absolute, verdict = cells
        print(f"  {work}: {measured} [{quartiles}] goal {goal}: {verdict}  {absolute}", flush=True)

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [
            f"## {self.title}",
            "",
            self.about,
            "",
            "| work | to a user | goal | measured | quartiles | ours : theirs | verdict |",
            "|---|---|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in self.rows),
        ]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"


class Sides:
    """Rows that compare the jobs of two workers, over some rounds; `against` names the other one."""

    def __init__(self, table: Table, rounds: int, ours: Worker, theirs: Worker, against: str = "") -> None:
        self.table = table
        self.rounds = rounds
        self.ours = ours
        self.theirs = theirs
        self.against = against

    def compare(
        self,
        work: str,
        means: str,
        goal: float | None,
        job: str,
        beside: str,
        own: Mapping[str, Any] = MappingProxyType({}),
        *,
        once: bool = False,
        **parameters: Any,
    ) -> None:
        """A row: our job, with parameters of its own, beside one of theirs; `once`: a batch of ours is one turn."""
        mine, other = self.ours.job(job, once=once, **parameters, **own), self.theirs.job(beside, **parameters)
        times = in_turns([mine.run, other.run], self.rounds)
        self.table.ratio(work, means, goal, times[0], times[1], self.against or beside.replace("_", " "))
        self.ours.forget()
        self.theirs.forget()

    def time(self, work: str, means: str, goal: float, job: str, **parameters: Any) -> None:
        """A row: the time of one of our jobs."""
        mine = self.ours.job(job, **parameters)
        times = [mine.run() for _ in range(self.rounds)]
        self.table.value(work, means, goal, times)
        self.ours.forget()
