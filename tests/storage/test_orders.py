"""All orders of the small steps of two processes over one storage.

A process has a thread that acts (answers, invalidations, resets, reads) and one that writes and looks at the log. Each
stops before and after each call of the storage, and one of them goes on at a time: which, is tried in all ways.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import pytest
from tests.storage.machine import BARE, DELETE, EVERY, GET, LIST, ONE, PAGE, PLAIN, PUSH, Process, Setting, World

from restencil import Storage
from restencil.cache.actions import Action, Reset
from restencil.storage import Batch, Changes, Loaded, Outcome, Page
from restencil.storage.memory import MemoryStorage

Act: TypeAlias = tuple[str, Any]
Steps: TypeAlias = Sequence[tuple[int, str, Any]]


class Threads(NamedTuple):
    """What one process does: the thread that acts, and the one that writes and looks."""

    acts: Sequence[Act] = ()
    writes: Sequence[str] = ()


class Actor:
    """A thread of a process, which goes on when it is told to."""

    def __init__(self, process: Process, work: Sequence[tuple[str, Callable[[], object]]]) -> None:
        self.process = process
        self.is_done = not work
        self.holds_lock = False
        self.is_inside = False
        """Whether it is in the middle of something."""
        self.failure: BaseException | None = None
        self._work = work
        self.next = work[0][0] if work else ""
        self._goes = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        current.actor = self
        try:
            for name, do in self._work:
                self.next, self.is_inside = name, False
                self.stop()
                self.is_inside = True
                do()
        except BaseException as error:
            self.failure = error
        self.is_done, self.is_inside = True, False
        self._stopped.release()

    def stop(self) -> None:
        """The thread waits until it is told to go on."""
        lock: Any = self.process.store.lock
        self.holds_lock = lock._is_owned()
        self._stopped.release()
        self._goes.acquire()

    def begin(self) -> None:
        """It comes to its first stop."""
        self._stopped.acquire()

    def go(self) -> None:
        """It goes on to its next stop."""
        self._goes.release()
        self._stopped.acquire()

    def end(self) -> None:
        """It comes to its end."""
        while not self.is_done:
            self.go()
        self._thread.join()


class Current(threading.local):
    """The actor of the running thread."""

    actor: Actor | None = None


current = Current()


def _stop() -> None:
    if current.actor is not None:
        current.actor.stop()


class Gated(MemoryStorage):
    """A storage that stops the threads of these processes before and after each call."""

    committed: Callable[[], object] = bool
    """Called with each commit, at the moment of it."""

    def load(self, *places: Any) -> Loaded:
        _stop()
        found = super().load(*places)
        _stop()
        return found

    def scan(self, table: str | None, after: str | None, limit: int, /) -> Page:
        _stop()
        return super().scan(table, after, limit)

    def changes(self, after: int, wait: float, /) -> Changes:
        _stop()
        found = super().changes(after, wait)
        _stop()
        return found

    def commit(self, batch: Batch, /) -> Outcome:
        _stop()
        outcome = super().commit(batch)
        if outcome.number:
            self.committed()
        _stop()
        return outcome


class Trial:
    """Two processes, in one order: `choose` says which goes on of so many that can."""

    def __init__(self, before: Steps, threads: Sequence[Threads], choose: Callable[[int], int]) -> None:
        self.world = world = World(Setting(write_behind=5), self._door)
        for step in before:
            world.step(*step)
        world.quiet(2)
        self._actors: list[Actor] = []
        for process, of_process in zip(world.processes, threads, strict=True):
            self._commits(process)
            acts = [(kind, self._act(process, kind, what)) for kind, what in of_process.acts]
            writes = [
                (name, process.persistence.write_behind.commit_waiting if name == "commit" else process.look)
                for name in of_process.writes
            ]
            self._actors += [Actor(process, work) for work in (acts, writes) if work]
        for actor in self._actors:
            actor.begin()
        self.choices: list[int] = []
        """How many could go on, each time."""
        self.taken: list[int] = []
        while any(not actor.is_done for actor in self._actors):
            ready = [actor for actor in self._actors if self._can_go(actor)]
            chosen = choose(len(ready))
            self.choices.append(len(ready))
            self.taken.append(chosen)
            ready[chosen].go()

    def _door(self, setting: Setting) -> Callable[[], Storage]:
        root = Gated(poll=inf, write_behind=setting.write_behind)

        def another() -> Storage:
            made = Gated(poll=inf, write_behind=setting.write_behind)
            made._places = root._places
            return made

        return another

    def _commits(self, process: Process) -> None:
        storage: Any = process.persistence.connection.storage

        def committed() -> None:
            batch = process.persistence.write_behind._batch
            count = len(batch.actions) if batch is not None else 0
            for action in process.waiting[:count]:
                self.world.was_committed(action)
            del process.waiting[:count]

        storage.committed = committed

    def _act(self, process: Process, kind: str, what: Any) -> Callable[[], object]:
        world = self.world

        def act() -> None:
            world.clock.advance(10)
            if kind == "read":
                process.shown(*what)
                return
            action: Action = Reset() if kind == "reset" else world.action(kind, what)
            if kind == "reset":
                world.is_late = True
            world.apply(process, action)

        return act

    def _can_go(self, actor: Actor) -> bool:
        if actor.is_done:
            return False
        others = [other for other in self._actors if other is not actor and other.process is actor.process]
        if any(other.holds_lock and other.is_inside for other in others):
            return False  # it would wait for the lock
        return not (actor.next == "reset" and any(other.is_inside for other in others))  # or for the end of a call

    def check(self) -> list[Any]:
        """What differs at the end."""
        try:
            for actor in self._actors:
                if actor.failure is not None:
                    raise actor.failure
            return self.world.differences()
        finally:
            self.world.close()


def orders(before: Steps, *threads: Threads) -> Iterator[Trial]:
    """The trials of all orders."""
    order: list[int] = []
    while True:
        rest = iter(order)
        trial = Trial(before, threads, lambda count: next(rest, 0))  # noqa: B023
        yield trial
        order = trial.taken
        while order and order[-1] + 1 >= trial.choices[len(order) - 1]:
            order.pop()
        if not order:
            return
        order[-1] += 1


def some_orders(before: Steps, *threads: Threads, count: int, seed: int) -> Iterator[Trial]:
    """The trials of some orders by chance."""
    chance = random.Random(seed)
    for _ in range(count):
        yield Trial(before, threads, chance.randrange)


def one(a: int, age: int = 0) -> Act:
    """An answer of one item."""
    return "response", (GET, ({"id": "1"},), {"id": "1", "a": a}, age)


def item(value: Any, age: int = 0) -> Act:
    """A result without a schema."""
    return "response", (BARE, ({},), value, age)


LISTED: Act = "response", (LIST, ({},), [{"id": "2"}, {"id": "1"}], 0)
PUSHED: Act = "response", (PUSH, ({}, {}), {"id": "3", "slug": "x"}, 0)
PAGED: Act = "response", (PAGE, ({"cursor": 1},), [{"id": "3"}], 0)
DELETED: Act = "response", (DELETE, ({"id": "1"},), {"id": "1"}, 0)
DIRECT: Act = "response", (ONE, ({"id": "1"},), {"id": "1", "b": 1}, 0)
DIRECTS: Act = "response", (PLAIN, ({},), [{"id": "1", "a": 1}, {"id": "2"}], 5)
ALL: Act = "response", (EVERY, ({},), [{"id": "2"}], 0)
READ_LIST: Act = "read", (LIST, ({},))
READ_ONE: Act = "read", (GET, ({"id": "1"},))
READ_BARE: Act = "read", (BARE, ({},))
READ_ALL: Act = "read", (EVERY, ({},))
INVALID: Act = "invalidate", (BARE, ({},))
ALL_INVALID: Act = "invalidate_all", BARE
ALL_STALE: Act = "expire_all", LIST
RESET: Act = "reset", None
KNOWN: Steps = ((0, *LISTED), (1, *item(0)), (0, *DIRECTS), (0, "commit", None), (1, "commit", None), (1, *READ_LIST))
KNOWN_TO_ALL: Steps = (*KNOWN, (0, *READ_BARE), (0, *READ_ALL), (1, *READ_ALL), (1, *READ_ONE))

WRITES = ("commit", "look")

SMALL: dict[str, tuple[Threads, Threads]] = {
    "conflict": (Threads([one(1)], WRITES), Threads([one(2)], ["commit"])),
    "conflict of an older one": (Threads([one(1)], ["commit"]), Threads([one(2, 30)], ["commit"])),
    "deletion": (Threads([DELETED], ["commit"]), Threads([one(2)], ["commit"])),
    "join": (Threads([PUSHED], ["commit"]), Threads([LISTED], ["commit"])),
    "page": (Threads([PAGED], ["commit"]), Threads([PUSHED], ["commit"])),
    "results": (Threads([item(1)], WRITES), Threads([item(2)], ["commit"])),
    "invalidation": (Threads([INVALID], ["commit"]), Threads([item(2)], ["commit"])),
    "load": (Threads([one(1)], ["commit"]), Threads([READ_LIST, READ_ONE])),
    "load and entry": (Threads([PUSHED], ["commit"]), Threads([READ_LIST], ["look"])),
    "all": (Threads([DIRECT], ["commit"]), Threads([READ_ALL], ["look"])),
    "expiry": (Threads([ALL_STALE], ["commit"]), Threads([READ_LIST], ["look"])),
    "sweep": (Threads([ALL_INVALID], ["commit"]), Threads([item(1)], ["commit"])),
    "reset": (Threads([RESET]), Threads([one(2)], WRITES)),
    "reset and load": (Threads([RESET, one(1)], ["commit"]), Threads([READ_LIST])),
}

LARGE: dict[str, tuple[Threads, Threads]] = {
    "conflicts": (Threads([one(1), one(3)], WRITES), Threads([one(2)], WRITES)),
    "joins": (Threads([PUSHED], WRITES), Threads([LISTED], WRITES)),
    "pages": (Threads([PAGED], WRITES), Threads([LISTED], WRITES)),
    "results": (Threads([item(1), INVALID], WRITES), Threads([item(2)], WRITES)),
    "all": (Threads([DIRECT, READ_ALL], WRITES), Threads([ALL], WRITES)),
    "deletion": (Threads([DELETED], WRITES), Threads([one(2), READ_LIST], WRITES)),
    "reset": (Threads([RESET, one(1)], WRITES), Threads([PUSHED, READ_LIST], WRITES)),
}


def check(trials: Iterable[Trial]) -> int:
    """All show the same at the end of all trials; how many there were."""
    count = 0
    for trial in trials:
        assert trial.check() == [], trial.taken
        count += 1
    return count


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("before", [(), KNOWN_TO_ALL], ids=["cold", "known"])
@pytest.mark.parametrize(("count", "seed"), [(4, 0), pytest.param(300, 1, marks=pytest.mark.slow)])
def test_order_by_chance_ends_alike(name: str, before: Steps, count: int, seed: int) -> None:
    """Whatever comes first, all processes show the same when all is quiet."""
    assert check(some_orders(before, *SMALL[name], count=count, seed=seed)) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", ["load", "sweep", "reset", "reset and load"])
@pytest.mark.parametrize("before", [(), KNOWN_TO_ALL], ids=["cold", "known"])
def test_every_order_ends_alike(name: str, before: Steps) -> None:
    """The same of all orders there are, where these are not tens of thousands."""
    assert check(orders(before, *SMALL[name])) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("before", [(), KNOWN_TO_ALL], ids=["cold", "known"])
def test_order_of_many_steps_ends_alike(name: str, before: Steps) -> None:
    """The same of many orders of longer sets, which have too many."""
    assert check(some_orders(before, *LARGE[name], count=300, seed=0)) == 300
