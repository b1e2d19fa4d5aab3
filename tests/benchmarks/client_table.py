"""The client table: what options per call, the HTTP answer, another HTTP library and values cost a caller."""

from __future__ import annotations

from typing import Any, Final

from measure import Sides, Table, python_worker

_ASKED: Final = {"tells": True, "knows": True}
_LIST: Final = "asked again, not modified: a 304 for a list of 100 KB, 440 items, beside its full fetch"
_PLAIN: Final = "the same beside plain `get().json()`"
_TELLS: Final = "a full answer with a validator beside one without"
_VIEW: Final = "cached_through_a_view"
_OTHER: Final = {"library": "httpx2"}
_JSON: Final = "an entity of 6 fields and a nested one to JSON, by pydantic"
COMPARED: Final[tuple[tuple[str, str, float, str, str, dict[str, Any]], ...]] = (
    ("a cached read through a view", "what options cost where the answer is here", 1.05, _VIEW, "cached", {}),
    ("`fetch_response` beside `fetch`", "wanting the HTTP answer too", 1.05, "fetch_response", "fetch", {}),
    ("`fetch` over httpx2 beside httpx", "the choice of the HTTP library", 1.05, "fetch", "fetch", _OTHER),
    (_LIST, "a poll of a list that seldom changes", 0.3, "listed", "listed", _ASKED),
    (_PLAIN, "the same, beside what needs no cache", 0.7, "listed", "plain_list", _ASKED),
    (_TELLS, "what it costs to know the answer again", 1.03, "listed", "listed", {"tells": True}),
)
"""Rows of two jobs: the row, what it means to a user, the goal, both jobs, and what the first one is asked for."""


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows."""
    made = Table(
        "Client",
        "Calls of a bound endpoint over a transport that answers from memory; a ratio is to the same call without what "
        "the row names.",
    )
    with python_worker("client_worker.py") as one, python_worker("client_worker.py") as other:
        rows = Sides(made, rounds, one, other)
        known = "a view that is known: `with_options(timeout=…)`"
        rows.time(known, "options for one call, in a loop", 1e-6, "known_view", headers=0)
        rows.time("the same, with two headers", "the same with headers", 1e-6, "known_view", headers=2)
        rows.time("a view that is new", "options that were not used before", 20e-6, "new_view")
        for row in COMPARED:
            rows.compare(*row)
        rows.time(_JSON, "a record in the answer of a FastAPI service", 10e-6, "by_pydantic")
    return made
