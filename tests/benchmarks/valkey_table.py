"""The table of a cache on a server: what it gives from there, and how processes wait for each other."""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final

from fellows import figure
from measure import PLACES, Table
from processes import environment

sys.path.insert(0, str(PLACES.parents[1]))

from tests.storage.servers import ValkeyServer, executable

VALKEY_PEERS: Final = ("cashews[redis]==7.6.0", "httpx==0.28.1")


def table(rounds: int, quick: bool) -> Table:
    """Runs all rows; a quick look asks for a tenth of the keys."""
    made = Table(
        "Storage on a server",
        "A store over `ValkeyStorage` and a server on loopback: what memory lacks comes from there, what others write "
        "is heard from there, and of several processes that want the same one asks for all.",
    )
    if executable() is None:
        made.notes.append("not measured: there is no valkey-server or redis-server here")
        return made
    _reads(made, 3 if quick else 9)
    _others(made)
    _together(made, 100 if quick else 1_000)
    _beside_cashews(made, 10 if quick else 40)
    return made


def _reads(made: Table, times: int) -> None:
    with ValkeyServer() as server:
        _figure("fill", server.url)
        one = [spent for _ in range(times) for spent in _figure("one", server.url)]
        whole = [spent for _ in range(times) for spent in _figure("whole_list", server.url)]
    made.value("`read` of one entity that memory lacks", "an entity that another process asked for", 1e-3, one)
    made.value("a list of 1,000 that memory lacks", "a list that another process asked for", 15e-3, whole)


def _others(made: Table) -> None:
    with ValkeyServer() as server:
        late = statistics.quantiles(_figure("shows", server.url), n=20, method="inclusive")[-1]
    work = "until another process's change shows, 95th percentile"
    made.value(work, "how long processes may differ", 15e-3, [float(late)])


def _together(made: Table, keys: int) -> None:
    told: list[list[float]] = []
    for count in (8, 1):
        with ValkeyServer() as server:
            told.append(_figure("together", server.url, str(count), str(keys)))
    (requests, many), (_, one) = told
    work = f"8 processes that ask for the same {keys:,} keys at once: requests"
    made.value(work, "whether a server is asked once for all", keys, [requests], lambda count: f"{count:,.0f}")
    made.ratio("the same: time ÷ that of one process", "what waiting costs", 1.5, [many], [one], "8 : 1")


def _beside_cashews(made: Table, keys: int) -> None:
    """Processes that want one key at the same moment, one key after another."""
    try:
        python = str(environment("valkey-peers", *VALKEY_PEERS) / "python")
    except RuntimeError as error:
        made.notes.append(f"cashews could not be installed: {str(error)[-300:]}")
        return
    sides: list[list[float]] = []
    for at, side in enumerate((sys.executable, python)):
        with ValkeyServer() as server:
            requests, *spent = _figure("one_key", server.url, str(keys), side, "cashews" if at else "restencil")
        sides.append(spent)
        name = "cashews with `lock=True`" if at else "restencil"
        made.notes.append(f"8 processes on one key, {keys} times: {requests:.0f} requests by {name}")
    work = "8 processes that want one key at the same moment, until a process has it, beside cashews"
    ours, theirs = sides
    made.ratio(work, "how long the others wait for who asks", None, ours, theirs, "restencil : cashews")


def _figure(*arguments: str) -> Any:
    return figure("valkey_worker.py", *arguments)
