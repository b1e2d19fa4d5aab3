"""Several processes over one storage show what one store in memory shows that was given what they committed, in order.

A history is a list of steps of up to three processes, whose threads are moved by hand (`tests.storage.machine`):
answers (entities, lists, pages, pushes, moves, deletions, lists of all, results without a schema, functions of
`update`), `set`, invalidations and expiries of one key or of all that a test accepts, errors (a status, no network),
resets, evictions, reads, look-ups by an index, commits, looks at the log, restarts, kills, forks whose parent is
killed, clocks that are set; and in between it is looked whether a process shows what is committed, and over that what
it wrote itself. What is varied: commits at once or later; a storage at hand or far away; a log that is too short; a
bound of what memory holds; whether times differ.

At the end all is committed and taken in. Then all processes, and two new ones, show the same, times included. Where
nothing was committed after what came later, that is what a store in memory shows that was given the same. Who expired
all that a test accepts may show as stale what was under way meanwhile elsewhere: no storage has such a test.

`python -m tests.storage.histories FROM TO [memory | sqlite | server]` runs as many histories as one likes, each seed is
one, and prints the shortest form of those that differ.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.storage import machine
from tests.storage.histories import difference, files, history, server
from tests.storage.machine import ADD, EVERY, FRONT, GET, LIST, MOVE, ONE, PLAIN, PUSH, WORDS, Expired, Setting, World
from tests.storage.servers import ValkeyServer, needs_server

from restencil import MemoryStorage
from restencil.cache.actions import Meta, SetResponse
from restencil.storage import Batch, Outcome

MANY = [pytest.param(range(at, at + 250), marks=pytest.mark.slow) for at in range(1_000, 6_000, 250)]


@pytest.mark.parametrize("seeds", [*(range(at, at + 40) for at in range(0, 200, 40)), *MANY], ids=str)
def test_model_all_show_one_history(seeds: range) -> None:
    """When all is quiet, each process shows what a store in memory shows that was given what was committed."""
    assert [said for seed in seeds if (said := difference(seed))] == []


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(1_000, 2_000), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("place", [files, pytest.param(server, marks=needs_server)])
def test_model_all_show_one_history_over_files_or_a_server(place: Any, seeds: range) -> None:
    """The same over files of SQLite, and over a server."""
    with place() as door:
        assert [said for seed in seeds if (said := difference(seed, door, is_inline=place is files))] == []


def after(setting: Setting, *history: tuple[int, str, Any]) -> World:
    """All show one history after these steps."""
    world = World(setting)
    for place, kind, what in history:
        world.step(place, kind, what)
    world.check()
    return world


LATER = Setting(write_behind=5)


def test_model_what_a_child_writes_is_laid_over_what_is_stored() -> None:
    """What the parent alone had of a record is no part of what the child commits, nor shows in it after that."""
    parts = [{"id": "2", "a": 1}, {"id": "1", "a": 1}]
    after(
        LATER,
        (0, "response", (PLAIN, ({},), parts, 0)),
        (0, "fork", None),
        (0, "response", (ONE, ({"id": "2"},), {"id": "2"}, 5)),
    )
    after(
        Setting(1, 5, inline=False),
        (0, "response", (PLAIN, ({},), parts, 0)),
        (0, "fork", None),
        (0, "read", (EVERY, ({},))),
        (0, "response", (PLAIN, ({},), [{"id": "1"}], 30)),
    )


def test_model_late_change_of_an_index_takes_nothing_from_others() -> None:
    """What this process takes a value from does not hide the record that another one has given it."""
    world = after(
        LATER,
        (1, "response", (FRONT, ({}, {}), {"id": "2", "slug": "x"}, 30)),
        (1, "response", (machine.REMOVE, ({"a": 1}, {}), {"id": "2", "slug": "y"}, 5)),
        (0, "set", {"id": "2", "a": 0, "slug": "x"}),
        (0, "commit", None),
    )
    assert [seen["x"] for seen in world.seen] == ["2"] * len(world.seen)


def test_model_record_that_is_written_again_is_what_its_value_leads_to() -> None:
    """Of two records with one value the one is found that was written last, also by who did not know its value."""
    world = after(
        Setting(),
        (0, "set", {"id": "1", "slug": "x"}),
        (1, "response", (FRONT, ({}, {}), {"id": "2", "slug": "x"}, 30)),
        (1, "response", (MOVE, ({"id": "1"}, {"a": 1}), {"id": "1", "b": 1}, 5)),
    )
    assert [seen["x"] for seen in world.seen] == ["1"] * len(world.seen)


def test_model_index_is_requested_again_where_a_record_came_as_it_was() -> None:
    """What a value leads to changes also with a record that another process only renewed."""
    world = World(Setting())
    one: tuple[Any, ...] = GET, ({"id": "1"},), {"id": "1", "slug": "x"}, 0
    for place, kind, what in (
        (0, "response", one),
        (0, "response", (GET, ({"id": "2"},), {"id": "2", "slug": "x"}, 0)),
        (1, "read", (GET, ({"id": "1"},))),
        (1, "read", (GET, ({"id": "2"},))),
        (1, "find", "x"),
        (0, "response", one),
        (1, "look", None),
    ):
        world.step(place, kind, what)
    assert [machine.found(process.store, "x") for process in world.processes] == ["1", "1"]
    world.close()


def test_model_error_is_no_part_of_what_is_stored() -> None:
    """What a function of `update` makes of a result under an error is stale for other processes."""
    after(
        Setting(),
        (1, "response", (WORDS, (), [1], 30)),
        (1, "error", ((WORDS, ()), 500)),
        (1, "response", (ADD, ({},), 2, 0)),
    )


class Slow(MemoryStorage):
    """One that says that it has committed only once something else was done."""

    before: Sequence[Callable[[], object]] = ()
    """What is done before each commit, one after another."""
    meanwhile: Callable[[], object] = bool

    def commit(self, batch: Batch, /) -> Outcome:
        for do in self.before[:1]:
            self.before = self.before[1:]
            do()
        outcome = super().commit(batch)
        meanwhile, self.meanwhile = self.meanwhile, bool
        meanwhile()
        return outcome


def test_model_what_follows_a_commit_of_your_own_is_taken_in() -> None:
    """What others write right after a commit shows here, also where the log tells of both before the commit returns."""
    world = World(Setting())
    slow = Slow(poll=float("inf"))
    slow._places = world.root._places
    world.processes[0] = process = world.process(slow)
    args = ({"id": "1"},)

    def meanwhile() -> None:
        world.alone.apply(first)
        world.clock.advance(10)
        world.step(1, "response", (GET, args, {"id": "1", "a": 2}, 0))
        process.look()

    process.look()
    slow.meanwhile = meanwhile
    first = world.action("response", (GET, args, {"id": "1", "a": 1}, 0))
    process.store.apply(first)
    world.check()


def test_model_whole_table_is_in_the_order_of_the_storage_after_a_move() -> None:
    """What others wrote before a commit of this process moved stands in their order, also while that commit is sent."""
    world = World(Setting())
    slow = Slow(poll=float("inf"))
    slow._places = world.root._places
    world.processes[0] = process = world.process(slow)
    world.step(0, "response", (EVERY, ({},), [], 0))
    world.step(0, "read", (EVERY, ({},)))

    def others() -> None:
        world.step(1, "response", (ONE, ({"id": "3"},), {"id": "3"}, 0))
        world.step(1, "response", (ONE, ({"id": "2"},), {"id": "2"}, 0))

    slow.before = [others, process.look]
    now = world.clock() + 50
    action = SetResponse(ONE.request(({"id": "2"},)), {"id": "2", "a": 1}, Meta(now, now, now + 60_000), wanted=False)
    process.store.apply(action)
    world.alone.apply(action)
    world.clock.advance(100)
    world.check()


def test_model_move_by_who_did_not_know_the_entity_takes_it_out_of_lists() -> None:
    """A list that an entity leaves lacks it also where who moved it had never seen it, or saw it before others."""
    listed: tuple[Any, ...] = LIST, ({"a": 1},), [{"id": "2", "a": 1}], 0
    moved: tuple[Any, ...] = MOVE, ({"id": "2"}, {"a": 1}), {"id": "2", "a": 0}, 0
    for inline in (True, False):
        setting = Setting(write_behind=5, inline=inline)
        world = after(setting, (0, "response", listed), (0, "commit", None), (1, "response", moved))
        assert [seen[LIST.key({"a": 1})][0] for seen in world.seen] == [[]] * 4
        after(
            setting,
            (1, "response", (GET, ({"id": "2"},), {"id": "2", "a": 2}, 0)),
            (1, "commit", None),
            (0, "look", None),
            (0, "read", (GET, ({"id": "2"},))),
            (1, "response", listed),
            (1, "commit", None),
            (0, "response", moved),
        )
    after(Setting(), (0, "response", listed), (1, "response", moved))


def test_model_what_waits_shows_in_a_list_that_is_loaded_meanwhile() -> None:
    """Who pushed or moved something sees that in a list that comes from the storage before it is committed."""
    listed: tuple[Any, ...] = LIST, ({"a": 1},), [{"id": "1", "a": 1}], 0
    pushed: tuple[Any, ...] = PUSH, ({"a": 1}, {}), {"id": "2", "a": 1}, 0
    moved: tuple[Any, ...] = MOVE, ({"id": "1"}, {"a": 1}), {"id": "1", "a": 2}, 0
    for inline in (True, False):
        for response in (pushed, moved):
            setting = Setting(write_behind=5, inline=inline)
            after(setting, (0, "response", listed), (0, "commit", None), (1, "response", response), (1, "see", None))


def test_model_page_joins_its_list_as_others_left_it() -> None:
    """The items of a page are in the list for all, also by who never read it; its result may be asked for again."""
    page: tuple[Any, ...] = machine.PAGE, ({"a": 1, "cursor": 1},), [{"id": "1", "a": 1}], 0
    listed: tuple[Any, ...] = LIST, ({"a": 1},), [{"id": "2", "a": 1}], 30
    for inline, write_behind in ((True, 0), (True, 5), (False, 5)):
        setting = Setting(write_behind=write_behind, inline=inline)
        begin: list[tuple[int, str, Any]] = [(0, "response", listed), (0, "commit", None)]
        world = after(setting, *begin, (1, "response", page))
        assert [[item["id"] for item in seen[LIST.key({"a": 1})][0]] for seen in world.seen] == [["2", "1"]] * 4
        after(setting, *begin, (1, "response", page), (1, "see", None))
        stale: list[tuple[int, str, Any]] = [(0, "expire_all", LIST), (0, "commit", None)]
        after(setting, *begin, (1, "read", listed[:2]), *stale, (1, "response", page))


# -- processes


class Walker:
    """A process that takes steps of a history, is killed and forked."""

    def __init__(self, kind: str, where: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.model_worker", kind, where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._pid = int(self._line())
        self.is_child = False
        self.expired: list[Expired] = []
        """What it expired of all keys: it alone knows that what was under way meanwhile is stale."""

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process ended"
        return line

    def ask(self, do: str, seed: int = 0, number: int = 0) -> Any:
        """What it answers."""
        assert self._process.stdin is not None
        print(json.dumps([do, seed, number]), file=self._process.stdin, flush=True)
        return json.loads(self._line())

    def fork(self) -> None:
        """It goes on as its child."""
        self._pid = self.ask("fork")
        self.is_child = True

    def kill(self) -> None:
        """Ends it at once."""
        os.kill(self._pid, signal.SIGKILL)
        self._process.communicate()

    def is_like(self, seen: dict[str, Any], expected: dict[str, Any], *, times: bool) -> bool:
        """Whether it shows the same; a child may show as stale what its parent alone had."""
        for name, shown in seen.items():
            other = expected[name]
            if shown == other or (not times and isinstance(shown, list) and shown[0] == other[0]):
                continue
            if name.partition("?")[0].endswith("/items") and isinstance(shown, list) and shown[0] in (other[0], None):
                continue  # a page may have dropped the stored result
            if not times and "/directs/all" in name and [None, 1] in (shown, other):
                continue  # a server does not know whether it has all of a table
            if machine.has_expired(self.expired, name, shown, other):
                continue
            if not self.is_child or (isinstance(shown, list) and shown[1] > 1 and shown[0] != []):
                return False
        return True


def _walk(seed: int, kind: str, where: str) -> None:
    setting, steps = history(seed)
    walkers = [Walker(kind, where) for _ in range(3)]
    try:
        for number, (place, step, what) in enumerate(steps):
            walker = walkers[place]
            if step in ("kill", "restart"):
                if step == "restart":
                    assert walker.ask("flush")
                walker.kill()
                walkers[place] = Walker(kind, where)
            elif step == "fork":
                walker.fork()
            elif step == "commit":
                assert walker.ask("flush")
            else:
                walker.ask("step", seed, number)
                if step == "expire_all":
                    walker.expired.append(Expired(what.test_key, time.time() * 1_000))
        assert all(walker.ask("flush") for walker in walkers)
        last = Walker(kind, where)
        walkers.append(last)
        until = time.monotonic() + PATIENCE / 5
        while True:
            expected = last.ask("picture")
            seen = [walker.ask("picture") for walker in walkers]
            if all(
                walker.is_like(one, expected, times=kind == "sqlite") for walker, one in zip(walkers, seen, strict=True)
            ):
                return
            if time.monotonic() > until:
                assert seen == [expected] * len(seen), (seed, setting)
            time.sleep(0.02)
    finally:
        for walker in walkers:
            walker.kill()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("seed", range(40))
def test_real_processes_show_one_history_over_files(seed: int, tmp_path: Path) -> None:
    """Three processes with threads of their own, killed and forked in between, show the same at the end."""
    _walk(seed, "sqlite", str(tmp_path / "model"))


@pytest.mark.slow
@needs_server
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_real_processes_show_one_history_over_a_server(first: int) -> None:
    """The same over a server."""
    with ValkeyServer() as server:
        for seed in range(first, first + 10):
            _walk(seed, "server", f"unix://{server.socket_path}#{seed}")
