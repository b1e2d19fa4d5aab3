"""The client table: what options per call, the HTTP answer, another HTTP library and values cost a caller."""

from __future__ import annotations

from measure import Sides, Table, python_worker
from shapes import input_file


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    file = str(input_file("user.json"))
    made = Table(
        "Client",
        "Calls of a bound endpoint over a transport that answers from memory; a ratio is to the same call without what "
        "the row names.",
    )
    with python_worker("client_worker.py") as one, python_worker("client_worker.py") as other:
        rows = Sides(made, rounds, one, other)
        rows.time(
            "a view that is known: `with_options(timeout=…)`",
            "options for one call, in a loop",
            1e-6,
            "known view",
            file=file,
            headers=0,
        )
        rows.time("the same, with two headers", "the same with headers", 1e-6, "known view", file=file, headers=2)
        rows.time("a view that is new", "options that were not used before", 20e-6, "new view", file=file)
        rows.compare(
            "a cached read through a view",
            "what options cost where the answer is here",
            1.05,
            "cached through a view",
            "cached",
            file=file,
        )
        rows.compare(
            "`fetch_response` beside `fetch`", "wanting the HTTP answer too", 1.05, "fetch_response", "fetch", file=file
        )
        rows.compare(
            "`fetch` over httpx2 beside httpx",
            "the choice of the HTTP library",
            1.05,
            "fetch",
            "fetch",
            {"library": "httpx2"},
            file=file,
        )
        asked = {"tells": True, "knows": True}
        rows.compare(
            "asked again, not modified: a 304 for a list of 100 KB, 440 items, beside its full fetch",
            "a poll of a list that seldom changes",
            0.3,
            "listed",
            "listed",
            asked,
        )
        rows.compare(
            "the same beside plain `get().json()`",
            "the same, beside what needs no cache",
            0.7,
            "listed",
            "plain list",
            asked,
        )
        rows.compare(
            "a full answer with a validator beside one without",
            "what it costs to know the answer again",
            1.03,
            "listed",
            "listed",
            {"tells": True},
        )
        rows.time(
            "an entity of 6 fields and a nested one to JSON, by pydantic",
            "a record in the answer of a FastAPI service",
            10e-6,
            "by pydantic",
            file=file,
        )
    return made
