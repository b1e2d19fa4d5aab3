"""The store table: normalization, reads and writes, beside data-client on V8."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from measure import Sides, Table, Worker, python_worker
from node import NodePeers
from shapes import input_file, origin

NEWEST: Final = "data-client normalizr"
CORE: Final = "data-client core"


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows; without Node those that compare are left out."""
    made = Table(
        "Store",
        f"709 projects with 2,117 nested builds, {origin('projects.json')}. "
        "Time of restencil divided by the time of data-client's packages on V8: `core` 0.10 with the entities of "
        "`endpoint` 0.9, or the bare `normalizr` 0.18, which comes without entities, with ones of our own making. "
        "The Python process has put aside what it imported (`gc.freeze`).",
    )
    with ExitStack() as stack:
        ours = stack.enter_context(python_worker("store_worker.py"))
        peers = NodePeers()
        node = peers.worker()
        if node is None:
            made.notes.append(peers.absent)
        else:
            _compare(made, rounds, ours, stack.enter_context(node))
        _values(made, rounds, ours)
    return made


def _compare(made: Table, rounds: int, ours: Worker, node: Worker) -> None:
    file = str(input_file("projects.json"))
    newest, core = (Sides(made, rounds, ours, node, name) for name in (NEWEST, CORE))
    normalized = "normalize the parsed response into an empty store"
    newest.compare(normalized, "the cache's part in a first large answer", 0.9, "empty", "empty", file=file)
    core.compare(
        "denormalize it all cold, memo filled", "the first look at all of it", 0.35, "cold", "cold, core", file=file
    )
    again = "each later look: what a UI does at every draw"
    newest.compare("read it again warm, identical object", again, 1 / 50, "warm", "warm", file=file)
    newest.compare(
        "read it again after a write to another type (through the controller)",
        "a look after something else changed",
        1 / 50,
        "warm_after_a_write",
        "warm after a write",
        file=file,
    )
    core.compare(
        "push 10 items onto a list of 10,000", "a page that joins a long list", 1 / 50, "push", "push", count=10_000
    )
    for work, means, goal, job in (
        ("invalidate_all over 10,000 keys", "telling all that is held to be asked anew", 1 / 5, "invalidate_all"),
        ("the same, and a look at every key", "and the first look at each of them after it", 1.0, "invalidate_each"),
    ):
        core.compare(work, means, goal, job, "invalidate_all", once=True, count=10_000)


def _values(made: Table, rounds: int, ours: Worker) -> None:
    one = Sides(made, rounds, ours, ours)
    cached = "cached read of one entity (key, expiry, value): `cached()`"
    one.time(cached, "asking for one record that is here", 2.5e-6, "read", count=1000)
    bound = "the same by the call that asks the server where it must"
    one.time("the same as a bound call that may fetch: `items.get(id=…)`", bound, 2.5e-6, "read_bound", count=1000)
    for size in (1_000, 100_000):
        work = f"write one entity into a store of {size:,}"
        one.time(work, "one small answer, in a store of some size", 20e-6, "write", count=size)
