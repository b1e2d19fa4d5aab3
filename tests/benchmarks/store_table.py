"""The store table: normalization, reads and writes, beside data-client and normalizr on V8."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from typing import Any, Final

from measure import Job, Table, Worker, in_turns, number, python_worker, ratios, seconds
from node import NodePeers
from shapes import input_file, origin

NEWEST: Final = "data-client normalizr"
CORE: Final = "data-client core"
PLAIN: Final = "normalizr"


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    file = str(input_file("projects.json"))
    made = Table(
        "Store",
        f"709 projects with 2,117 nested builds, {origin('projects.json')}. "
        "Time of restencil divided by the time of data-client's packages on V8: `core` 0.10 with the entities of "
        "`endpoint` 0.9, and the bare `normalizr` 0.18, which comes without entities, with ones of our own making. "
        "The Python process has put aside what it imported (`gc.freeze`).",
    )
    with ExitStack() as stack:
        ours = stack.enter_context(python_worker("store_worker.py"))
        peers = NodePeers()
        node = peers.worker("store.mjs")
        theirs = stack.enter_context(node) if node is not None else None
        if theirs is None:
            made.notes.append(peers.absent)
        rows = _Rows(made, ours, theirs, rounds)
        rows.compare(
            "normalize the parsed response into an empty store",
            "the cache's part in a first large answer",
            0.9,
            "empty",
            {NEWEST: "empty", CORE: "empty, core", PLAIN: "empty, normalizr"},
            file=file,
        )
        rows.compare(
            "denormalize it all cold, memo filled",
            "the first look at all of it",
            0.35,
            "cold",
            {NEWEST: "cold", CORE: "cold, core", PLAIN: "cold, normalizr"},
            file=file,
        )
        rows.compare(
            "read it again warm, identical object",
            "each later look: what a UI does at every draw",
            1 / 50,
            "warm",
            {NEWEST: "warm"},
            file=file,
        )
        rows.compare(
            "read it again after a write to another type (through the controller)",
            "a look after something else changed",
            1 / 50,
            "warm after a write",
            {NEWEST: "warm after a write"},
            file=file,
        )
        rows.absolute(
            "cached read of one entity (key, expiry, value): `cached()`",
            "asking for one record that is here",
            2.5e-6,
            "read",
            count=1000,
        )
        rows.absolute(
            "the same as a bound call that may fetch: `items.get(id=…)`",
            "the same by the call that asks the server where it must",
            2.5e-6,
            "read bound",
            count=1000,
        )
        flat: list[list[float]] = []
        for size in (1_000, 10_000, 100_000):
            writes = f"write one entity into a store of {size:,}"
            flat.append(rows.absolute(writes, "one small answer, in a store of some size", 20e-6, "write", count=size))
        growth = ratios(flat[2], flat[0])
        large = "whether a large store makes writes slower"
        made.value("a write at 100,000 ÷ at 1,000", large, 1.5, [growth.low, growth.median, growth.high], number)
        if theirs is not None:
            rows.peer("data-client at 100,000: a write", "write", count=100_000)
        rows.compare(
            "push 10 items onto a list of 10,000",
            "a page that joins a long list",
            1 / 50,
            "push",
            {CORE: "push"},
            count=10_000,
        )
        for word in ("invalidate", "expire"):
            theirs_too = {CORE: f"{word}_all"}
            everything = "telling all that is held to be asked anew"
            rows.compare(
                f"{word}_all over 10,000 keys", everything, 1 / 5, f"{word}_all", theirs_too, once=True, count=10_000
            )
            looks = "and the first look at each of them after it"
            rows.compare(
                "the same, and a look at every key", looks, 1.0, f"{word} each", theirs_too, once=True, count=10_000
            )
    return made


class _Rows:
    def __init__(self, table: Table, ours: Worker, theirs: Worker | None, rounds: int) -> None:
        self.table = table
        self.ours = ours
        self.theirs = theirs
        self.rounds = rounds

    def compare(
        self,
        work: str,
        means: str,
        goal: float | None,
        job: str,
        peers: dict[str, str],
        *,
        once: bool = False,
        **parameters: Any,
    ) -> None:
        """A row for each of data-client's packages, the fastest first."""
        self._forget()
        mine = self.ours.job(job, once=once, **parameters)
        others: dict[str, Job] = {}
        if self.theirs is not None:
            others = {name: self.theirs.job(other, **parameters) for name, other in peers.items()}
        times = in_turns([mine.run, *(other.run for other in others.values())], self.rounds)
        if not others:
            self.table.value(work, means, None, times[0])
            return
        by_name = dict(zip(others, times[1:], strict=True))
        theirs = sorted((name for name in by_name if name != PLAIN), key=lambda name: statistics.median(by_name[name]))
        for name in theirs:
            title = work if name == theirs[0] else f"the same, beside {name}"
            self.table.ratio(title, means, goal, times[0], by_name[name], name)
        if PLAIN in by_name:
            spent = by_name[PLAIN]
            median = number(ratios(times[0], spent).median)
            self.table.notes.append(f"{work}: also {median} of {PLAIN} ({seconds(statistics.median(spent))})")

    def _forget(self) -> None:
        self.ours.forget()
        if self.theirs is not None:
            self.theirs.forget()

    def absolute(self, work: str, means: str, goal: float | None, job: str, **parameters: Any) -> list[float]:
        """A row with a bound of its own."""
        self._forget()
        times = in_turns([self.ours.job(job, **parameters).run], self.rounds)[0]
        self.table.value(work, means, goal, times)
        return times

    def peer(self, work: str, job: str, **parameters: Any) -> None:
        """What a peer needs for it, as a note."""
        if self.theirs is not None:
            times = in_turns([self.theirs.job(job, **parameters).run], 3)[0]
            self.table.notes.append(f"{work} takes {seconds(statistics.median(times))}")
