"""The storage table: what a cache that lasts and is shared costs, and what it gives."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from fellows import figure
from measure import PLACES, Table, Worker, WorkerError, in_turns, python_worker, seconds
from processes import environment
from shapes import input_file

STORAGE_PEERS: Final = ("hishel[httpx]==2.0.0", "aiohttp-client-cache[sqlite]==0.15.0")


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows; quick ones take a tenth of the entities."""
    made = Table(
        "Storage",
        "A store over `SQLiteStorage`, beside one without a storage where both are named. The caller's time is what "
        "its thread works; the storage's thread works beside it. Cold: in a memory that holds nothing, from a file "
        "that the system may have at hand.",
    )
    _on_and_off(made, rounds)
    _peers(made, rounds)
    folder = Path(tempfile.mkdtemp(prefix="restencil-bench-"))
    try:
        _one_process(made, folder, 100_000 if quick else 1_000_000)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _many_processes(made)
    _at_rest(made)
    return made


def _on_and_off(made: Table, rounds: int) -> None:
    projects = str(input_file("projects.json"))
    rows: tuple[tuple[str, str, float, str, dict[str, Any]], ...] = (
        ("`cached()` of one entity, storage on ÷ off", "what a look costs with a storage", 1.05, "cached", {}),
        ("a bound call that finds fresh data, on ÷ off", "the same for a call", 1.05, "found", {}),
        ("write of one entity, on ÷ off, the caller's time", "the same for an answer", 1.15, "write", {}),
        (
            "709 projects with 2,117 builds into an empty store, on ÷ off, the caller's time",
            "the same for a long answer",
            1.15,
            "projects",
            {"file": projects},
        ),
    )
    with python_worker("storage_worker.py", "on") as on, python_worker("storage_worker.py", "off") as off:
        for work, means, goal, job, options in rows:
            sides = [worker.job(job, on=worker is on, **options).run for worker in (on, off)]
            with_storage, without = in_turns(sides, rounds)
            made.ratio(work, means, goal, with_storage, without, "on : off")
            on.forget()
            off.forget()
    made.value("the same, all threads, per row", "what it costs in all", 15e-6, [_figure("all_threads", projects)])


def _peers(made: Table, rounds: int) -> None:
    """A hit, beside caches of responses that last on the disk."""
    try:
        python = environment("storage-peers", *STORAGE_PEERS) / "python"
    except RuntimeError as error:
        made.notes.append(f"the peers could not be installed: {str(error)[-300:]}")
        return
    file = str(input_file("user.json"))
    server = subprocess.Popen(  # a script of this folder
        [sys.executable, str(PLACES / "loopback.py"), file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    address = f"http://127.0.0.1:{server.stdout.readline().strip() if server.stdout is not None else ''}/"
    try:
        for peer in ("hishel", "aiohttp"):
            name = {"hishel": "hishel", "aiohttp": "aiohttp-client-cache"}[peer]
            theirs = Worker(name, [str(python), str(PLACES / "peers" / "storage.py")], cwd=PLACES)
            with python_worker("storage_worker.py") as ours, theirs:
                sides = [ours.job("found", on=True).run, theirs.job(peer, address=address).run]
                work = f"a call whose answer is there, beside {name}"
                hits, others = in_turns(sides, rounds)
                made.ratio(work, "what a hit costs", None, hits, others, f"restencil : {name}")
    except WorkerError as error:
        made.notes.append(f"a peer did not work: {str(error)[-300:]}")
    finally:
        server.communicate()


def _one_process(made: Table, folder: Path, entities: int) -> None:
    large, small = str(folder / "large"), str(folder / "small")
    _figure("fill", large, str(entities))
    _figure("fill", small, "1000")
    first, first_of_few = in_turns([lambda: float(_figure("first", large)), lambda: float(_figure("first", small))], 9)
    work = f"open a file with {entities:,} entities and read the first, without imports"
    made.value(work, "how long a start waits for its cache", 5e-3, first)
    means = "whether a file slows down as it grows"
    made.ratio("÷ the same with 1,000 entities", means, 1.2, first, first_of_few, "large : small")
    made.value("`cached()` of an entity, cold", "an entity that is on the disk", 100e-6, _repeated("hydrate", small))
    cold = "`cached()` of a list of 1,000 that came in one response, cold"
    made.value(cold, "a list that is on the disk", 10e-3, _figure("whole_list", small, "standard"))
    made.value("the same with `[fast]`", "the same with orjson", 8e-3, _figure("whole_list", small))
    work = "10,000 responses of one entity, until all are committed"
    made.value(work, "how fast the disk takes in what the network brings", 1.0, _repeated("responses"))
    work = f"`reset_entire_store()` over {entities:,} entities, until it returns"
    made.value(work, "how long a logout takes", 2e-3, [_figure("reset", large)])


def _many_processes(made: Table) -> None:
    work = "a commit of 20 rows where 8 processes make 50 a second each, 95th percentile"
    made.value(work, "whether processes stand in each other's way", 20e-3, [_late("commits")])
    work = "until another process's change shows, with `poll` 100, 95th percentile"
    made.value(work, "how long processes may differ", 150e-3, [_late("shows")])
    together = [_figure("together", str(count)) for count in (8, 1)]
    work = "8 processes that ask for the same 1,000 keys at once: requests"
    made.value(work, "whether a server is asked once for all", 1000, [together[0][0]], lambda count: f"{count:,.0f}")
    many, one = ([float(spent)] for _, spent in together)
    made.ratio("the same: time ÷ that of one process", "what waiting costs", 1.5, many, one, "8 : 1")


def _at_rest(made: Table) -> None:
    work = "a file ÷ the dump of the same, 100,000 entities of 6 fields and 100 lists"
    made.value(work, "what the disk needs", 1.5, [_figure("size")], lambda share: f"{share:.2f}")
    known = [_figure("known")]
    made.value("memory for what is known of an entity", "what the storage adds", 120, known, lambda n: f"{n:,.0f} B")
    made.value(
        "an idle store with a storage, share of a core",
        "what it costs to be ready",
        0.002,
        [_figure("idle")],
        lambda share: f"{100 * share:.2f} %",
    )
    made.notes.append(f"95th percentiles are of 800 commits, and of 30 changes; a poll is every {seconds(0.1)}")


def _late(work: str) -> float:
    """The 95th percentile."""
    return float(statistics.quantiles(_figure(work), n=20, method="inclusive")[-1])


def _repeated(*arguments: str) -> list[float]:
    return [float(_figure(*arguments)) for _ in range(5)]


def _figure(*arguments: str) -> Any:
    return figure("storage_worker.py", *arguments)
