"""The calls table: what a call costs beside the bare `client.get(url).json()` of httpx."""

from __future__ import annotations

from measure import Sides, Table, python_worker


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Calls",
        "httpx with a transport that answers from memory, one flat user as the answer; time divided by that of "
        "`client.get(url).json()`.",
    )
    with python_worker("calls_worker.py") as ours, python_worker("calls_worker.py", "httpx") as plain:
        rows = Sides(made, rounds, ours, plain, "httpx")
        rows.compare("direct call", "a typed call without a cache", 0.9, "direct", "plain")
        rows.compare("fetch through the cache", "a small answer that always asks the server", 0.95, "fetch", "plain")
        rows.compare("fetch through the cache, async", "the same in asyncio", 1.0, "fetch_async", "plain_async")
    return made
