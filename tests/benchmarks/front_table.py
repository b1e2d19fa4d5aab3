"""The front table: what users call, beside what they would use instead."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import front_package
from front_shapes import SHAPES
from measure import PLACES, Sides, Table, Worker, in_turns, python_worker, seconds
from node import NodePeers
from processes import OPENAI, PythonPeers, environment, plain_env, run
from shapes import ROOT

_COLD_OURS: Final = """
import sys
sys.path[:0] = [{path!r}, {runtime!r}]
import httpx
from ours import Ours
order = {{"id": 1, "name": "a", "state": "open", "total": "1", "created_at": "2026-01-01T00:00:00Z",
         "updated_at": "2026-01-01T00:00:00Z", "customer": 1, "product": 1}}
transport = httpx.MockTransport(lambda request: httpx.Response(200, json=order))
with Ours(client=httpx.Client(transport=transport)) as client:
    assert client.orders.get(id=1).created_at.year == 2026
"""

_COLD_OPENAI: Final = """
import httpx2
from openai import OpenAI
model = {"id": "a", "object": "model", "created": 1, "owned_by": "b"}
transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=model))
with OpenAI(api_key="none", http_client=httpx2.Client(transport=transport)) as client:
    assert client.models.retrieve("a").created == 1
"""

PYDANTIC: Final = "httpx + pydantic"

GOALS: Final[dict[str, tuple[float, float]]] = {"fresh": (1.0, 0.85), "again": (0.75, 0.6), "changed": (0.85, 0.85)}
"""By job: the goal with the standard library's `json`, and with `[fast]`."""


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Front door",
        "What users call, over a client whose transport answers from memory, each answer new; beside what they would "
        "use instead. `json` is the standard library's, `[fast]` the extra. A row says how long a user waits from the "
        "call to typed objects, and what it costs to have the cache in between.",
    )
    with ExitStack() as stack:
        ours = {
            "json": stack.enter_context(python_worker("front_worker.py", "restencil, json", "--standard")),
            "[fast]": stack.enter_context(python_worker("front_worker.py", "restencil, [fast]")),
        }
        theirs = stack.enter_context(python_worker("front_peer.py", "pydantic"))
        for shape, title in SHAPES.items():
            _shape(made, shape, title, ours, theirs, rounds)
        _generated(made, ours["[fast]"], stack, rounds)
        _cold(made, rounds)
        peers = NodePeers()
        node = peers.worker()
        if node is None:
            made.notes.append(peers.absent)
        else:
            _data_client(made, ours["[fast]"], stack.enter_context(node), rounds)
    return made


def _shape(made: Table, shape: str, title: str, ours: dict[str, Worker], theirs: Worker, rounds: int) -> None:
    fetched: dict[str, Any] = {"shape": shape}
    fetch = f"fetch of {title}, into a fresh store"
    changed = "fetched again, 1 % of the records changed, and the list read"
    rows: list[tuple[str, str, str, str, float]] = [
        (fetch, "a first answer, from the call to typed objects", "fresh", "fetch", 1),
        ("fetched again, nothing changed", "a poll that brings nothing new", "again", "fetch", 0),
        (changed, "a poll that brings a little, and a draw", "changed", "looked", 0.01),
    ]
    for work, means, job, other, share in rows:
        its: dict[str, Any] = {**fetched, "share": share}
        jobs = {name: worker.job(job, **(its if job == "changed" else fetched)) for name, worker in ours.items()}
        peer = theirs.job(other, **its)
        times = in_turns([*(one.run for one in jobs.values()), peer.run], rounds)
        for name, goal, spent in zip(jobs, GOALS[job], times, strict=False):
            made.ratio(f"{work}; {name}", means, goal, spent, times[-1], PYDANTIC)
    mine_too = ours["[fast]"].job("set_response", **fetched)
    times = in_turns([mine_too.run, theirs.job("validate", **fetched).run], rounds)
    by_hand = "data that came by another way, such as a push, put into the cache"
    work = "`set_response` of its data into a fresh store"
    made.ratio(work, by_hand, 1.0, times[0], times[1], "pydantic model_validate")
    for worker in (*ours.values(), theirs):
        worker.forget()


def _generated(made: Table, ours: Worker, stack: ExitStack, rounds: int) -> None:
    python = PythonPeers()
    if python.absent:
        made.notes.append(python.absent)
        return
    mine = ours.job("page", share=1, folder=str(front_package.ours()))
    command = [python.command("python"), str(PLACES / "peers" / "orders.py"), str(front_package.theirs(python))]
    peer = stack.enter_context(Worker("openapi-python-client", command, cwd=PLACES)).job("page", share=1)
    times = in_turns([mine.run, peer.run], rounds)
    work = "a page of 50 typed items by a generated client"
    made.ratio(work, "the usual call of an SDK", 0.8, times[0], times[1], "openapi-python-client")
    ours.forget()


def _cold(made: Table, rounds: int) -> None:
    """Whole processes, each in an environment with nothing else: from the start of Python to the first typed answer."""
    try:
        ours = environment("cold", str(ROOT)) / "python"
        theirs = environment("openai", OPENAI) / "python"
    except RuntimeError as error:
        made.notes.append(f"the cold start was not measured: {str(error)[-300:]}")
        return
    mine = [str(ours), "-c", _COLD_OURS.format(path=str(front_package.ours()), runtime=str(ROOT / "runtime"))]
    other = [str(theirs), "-c", _COLD_OPENAI]
    for command in (mine, other):
        run(command, env=plain_env())
    commands = (mine, other, [str(ours), "-c", "import httpx"], [str(ours), "-c", "pass"])
    sides = [partial(run, command, env=plain_env()) for command in commands]
    times = in_turns(sides, max(7, rounds // 2))
    library, bare = (seconds(statistics.median(spent)) for spent in times[2:])
    made.notes.append(f"of a cold process, Python itself takes {bare}, and with `import httpx` alone {library}")
    work = "import of a generated package and first typed read, cold process"
    made.ratio(work, "the start of a script, or of a serverless function", 0.25, times[0], times[1], "openai")


def _data_client(made: Table, ours: Worker, node: Worker, rounds: int) -> None:
    sides = Sides(made, rounds, ours, node, "data-client core 0.10")
    sides.compare(
        "`cached()` of 500 small entities with datetimes, cold",
        "first looks at records that a list brought",
        1.5,
        "cached",
        "cached with datetimes",
        count=500,
    )
