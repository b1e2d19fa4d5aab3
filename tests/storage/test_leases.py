"""One request for all processes: who asks holds a lease, and the others wait for what it brings."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, eventually, eventually_async
from tests.runtime.servers import Arrived, Reply, Server
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import PatientStore

import restencil
from restencil import AbortError, AsyncController, Controller, Entity, MemoryStorage, ResetError, create_resource
from restencil.storage import Changes


class Item(Entity):
    """What the tests ask for."""

    id: str = ""
    count: int = 0


class Counting:
    """A server that counts what it is asked, and answers with the count; while it is held, nobody is answered."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.came = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.status = 200

    def __call__(self, request: Arrived) -> Reply:
        with self._lock:
            self.asked.append(request.target)
            count = len(self.asked)
        self.came.release()
        self.may_answer.wait(PATIENCE)
        if self.status != 200:
            return Reply(503, b"{}", {"content-type": "application/json"})
        body = {"id": request.target.rpartition("/")[2], "count": count}
        return Reply(200, json.dumps(body).encode(), {"content-type": "application/json"})


class House:
    """Processes over one storage and one server: each has a store and a controller of its own."""

    def __init__(self, **options: Any) -> None:
        self.counting = Counting()
        self._stack = ExitStack()
        self.server = self._stack.enter_context(Server(self.counting))
        self.storage = MemoryStorage(poll=20, **options)
        self.items: Any = create_resource(path="/items/:id", schema=Item, error_expiry_length=0)

    def process(self) -> Controller:
        """One more process."""
        store = self._stack.enter_context(PatientStore(storage=self.storage.another()))
        return self._stack.enter_context(Controller(store, base_url=self.server.url, timeout="10m"))

    def async_process(self) -> AsyncController:
        """One more process, for asyncio; it is closed by the test."""
        return AsyncController(PatientStore(storage=self.storage.another()), base_url=self.server.url, timeout="10m")

    def asking(self, calls: Calls, items: Any = None) -> Controller:
        """A process that asks for the item 1; its request has come, and is not answered before `may_answer` is set."""
        process = self.process()
        self.counting.may_answer.clear()
        calls.call(process.read, (items or self.items).get, id="1")
        self.arrived()
        return process

    def waiting(self, calls: Calls, endpoint: Any = None) -> Controller:
        """A process that waits for what another one asked for."""
        process = self.process()
        calls.call(process.read, endpoint or self.items.get, id="1")
        eventually(lambda: bool(stats(process).leases_waited_for))
        return process

    @property
    def leases(self) -> dict[str, tuple[str, float]]:
        """What is held just now, or was and was not given back."""
        (space,) = self.storage._places.values()
        return space.leases

    def arrived(self) -> None:
        """Waits for the next request."""
        assert self.counting.came.acquire(timeout=PATIENCE)

    def answer(self, *calls: Calls) -> None:
        """All that was held is answered, and all calls are over."""
        self.counting.may_answer.set()
        for some in calls:
            some.join()

    def close(self) -> None:
        self.counting.may_answer.set()
        self._stack.close()


@pytest.fixture(params=[True, False], ids=["inline", "remote"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    made = House(inline=request.param)
    yield made
    made.close()


class Calls:
    """Calls in threads of their own, and what came of them."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.failed: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        def run() -> None:
            try:
                self.found.append(function(*args, **kwargs))
            except BaseException as error:
                self.failed.append(error)

        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def stats(controller: Controller) -> Any:
    return controller.store.storage_stats()


def count_of(item: Any) -> int:
    """What the server had counted."""
    count: int = item.count
    return count


@pytest.fixture
def calls() -> Calls:
    """Calls in threads, of which there are none yet."""
    return Calls()


def test_leases_what_several_processes_request_at_once_is_requested_once(house: House, calls: Calls) -> None:
    """One of them sends the request; the others wait for its answer, which is theirs then too."""
    processes = [house.asking(calls), house.waiting(calls), house.waiting(calls)]
    house.answer(calls)
    assert (calls.failed, [found.count for found in calls.found]) == ([], [1, 1, 1])
    assert house.counting.asked == ["/items/1"]
    assert [stats(process).requests_saved for process in processes] == [0, 1, 1]
    assert stats(processes[0]).leases == 1


def test_leases_what_another_process_asked_a_datetime_ago_is_not_asked_again(house: House) -> None:
    """Who gets the lease looks into the storage before it asks, though nothing was heard of yet."""
    first, second = house.process(), house.process()
    assert second.cached(house.items.get, id="1") is None
    first.read(house.items.get, id="1")
    assert first.store.flush()
    assert second.read(house.items.get, id="1").count == 1
    assert house.counting.asked == ["/items/1"]


def test_leases_each_process_has_an_error_of_its_own(house: House, calls: Calls) -> None:
    """A request that fails gives its lease back and leaves nothing: one request at a time, each with its own error."""
    house.counting.status = 503
    processes = [house.process() for _ in range(3)]
    house.counting.may_answer.clear()
    for process in processes:
        calls.call(process.read, house.items.get, id="1")
    house.arrived()
    eventually(lambda: sum(stats(process).leases_waited_for for process in processes) == 2)
    assert len(house.counting.asked) == 1
    house.answer(calls)
    assert [type(error).__name__ for error in calls.failed] == ["ServerError"] * 3
    assert len(set(map(id, calls.failed))) == 3
    assert len(house.counting.asked) == 3
    house.counting.status = 200
    assert processes[0].read(house.items.get, id="1").count == 4


def test_leases_fetch_always_asks(house: House, calls: Calls) -> None:
    """`fetch()` waits for nobody, and a read of this process that waits asks with it."""
    house.asking(calls)
    second = house.waiting(calls)
    calls.call(second.fetch, house.items.get, id="1")
    house.arrived()
    house.answer(calls)
    assert calls.failed == []
    assert len(house.counting.asked) == 2
    assert stats(second).requests_saved == 0


def test_leases_what_was_invalidated_is_requested_once_by_all(house: House, calls: Calls) -> None:
    """After an invalidation reads of all processes send one request together."""
    first, second = house.process(), house.process()
    first.read(house.items.get, id="1")
    second.read(house.items.get, id="1")
    first.invalidate(house.items.get, id="1")
    assert first.store.flush()
    eventually(lambda: second.state(house.items.get, id="1").expiry_status is restencil.ExpiryStatus.Invalid)
    for process in (first, second):
        calls.call(process.read, house.items.get, id="1")
    calls.join()
    assert [found.count for found in calls.found] == [2, 2]
    assert len(house.counting.asked) == 2


def test_leases_holder_that_takes_too_long_is_not_waited_for(house: House, calls: Calls) -> None:
    """After `lease_wait` a process asks by itself."""
    house.storage.lease_wait = 150
    house.asking(calls)
    house.waiting(calls)
    house.arrived()
    house.answer(calls)
    assert (calls.failed, len(house.counting.asked)) == ([], 2)


def test_without_leases_each_process_asks(house: House, calls: Calls) -> None:
    """With `lease_wait=0` nobody waits, and nothing is taken."""
    house.storage.lease_wait = 0
    first, second = house.process(), house.process()
    house.counting.may_answer.clear()
    for process in (first, second):
        calls.call(process.read, house.items.get, id="1")
        house.arrived()
    house.answer(calls)
    assert stats(first).leases == stats(second).leases == 0


def test_leases_what_is_not_stored_is_requested_by_each_process(house: House) -> None:
    """An endpoint that no storage keeps takes no lease."""
    items: Any = create_resource(path="/items/:id", schema=Item, persist=False)
    first, second = house.process(), house.process()
    first.read(items.get, id="1")
    second.read(items.get, id="1")
    assert len(house.counting.asked) == 2
    assert stats(first).leases == stats(second).leases == 0


class Outrun(MemoryStorage):
    """A storage of a process that is stopped after it looked for an answer, until another one has had its lease."""

    def __init__(self, others: Callable[[], object]) -> None:
        super().__init__(inline=False)
        self._others = others
        self._is_lost = threading.Event()
        self._goes_on = threading.Event()
        self.took = 0

    def lease(self, name: str, owner: str, length: float, /) -> bool:
        """The first one ends at once, which is told when it is to be renewed."""
        self.took += length > 0
        if self.took == 2 and length > 0:
            self._is_lost.set()
            return False
        if self.took == 3:
            self._goes_on.set()
        got = super().lease(name, owner, length)
        if self.took == 1:
            super().lease(name, owner, 0)
        return got

    def changes(self, after: int, wait: float, /) -> Changes:
        """What the process is told before it is stopped; it hears of nothing meanwhile."""
        if wait > 0 and self.took:
            self._goes_on.wait(PATIENCE)
        found = super().changes(after, wait)
        if self.took == 1 and wait == 0:
            self._others()
            assert self._is_lost.wait(PATIENCE)
        return found


def test_lease_that_was_lost_before_its_request_is_sent_is_taken_again(house: House) -> None:
    """A process that was too slow to keep its lease looks again before it asks: another one may have been answered."""
    other = house.process()

    def outrun() -> None:
        assert other.read(house.items.get, id="1").count == 1
        assert other.store.flush()

    storage = Outrun(outrun)
    storage._places = house.storage._places
    with PatientStore(storage=storage) as store, Controller(store, base_url=house.server.url) as process:
        assert process.read(house.items.get, id="1").count == 1
    assert storage.took >= 3
    assert house.counting.asked == ["/items/1"]


class Deaf(MemoryStorage):
    """A storage that tells nobody what comes, nor that a lease is free; who asks it is answered."""

    def changes(self, after: int, wait: float, /) -> Changes:
        """Nothing new where one waits for it."""
        found = super().changes(after, wait)
        return found._replace(number=after, entries=[]) if wait > 0 else found

    def leases(self, wanted: Sequence[tuple[str, str]], length: float, /) -> list[bool]:
        """None is free."""
        return [False for _ in wanted]


def test_leases_who_receives_of_nothing_looks_again_after_a_second(house: House, calls: Calls) -> None:
    """An answer that was missed is found all the same, and not asked for again when there is no more patience."""
    house.asking(calls)
    storage = Deaf(inline=False, lease_wait=1_000_000)
    storage._places = house.storage._places
    with PatientStore(storage=storage) as store, Controller(store, base_url=house.server.url) as process:
        calls.call(process.read, house.items.get, id="1")
        eventually(lambda: bool(stats(process).leases_waited_for))
        house.answer(calls)
        assert (calls.failed, [found.count for found in calls.found]) == ([], [1, 1])
        assert stats(process).requests_saved == 1
    assert house.counting.asked == ["/items/1"]


@pytest.mark.slow
@pytest.mark.parametrize("house", [True], indirect=True)
def test_lease_is_renewed_while_its_request_is_in_flight(house: House, calls: Calls) -> None:
    """A holder that lives is waited for, also for longer than a lease lasts."""
    house.asking(calls)
    house.waiting(calls)
    assert not house.counting.came.acquire(timeout=4.5)
    house.answer(calls)
    assert (calls.failed, len(house.counting.asked)) == ([], 1)


def test_leases_waiting_ends_with_a_reset(house: House) -> None:
    """Who waits while the store is reset gets ResetError, at once."""
    calls, waiting = Calls(), Calls()
    house.asking(calls)
    house.waiting(waiting).reset_entire_store()
    waiting.join()
    assert [type(error) for error in waiting.failed] == [ResetError]
    house.answer(calls)
    assert len(house.counting.asked) == 1


def test_leases_waiting_ends_with_an_abort(house: House) -> None:
    """Who waits with a signal gets AbortError when that is aborted."""
    abort = restencil.AbortController()
    items: Any = create_resource(path="/items/:id", schema=Item)
    calls, waiting = Calls(), Calls()
    house.asking(calls, items)
    house.waiting(waiting, items.get.extend(signal=abort.signal))
    abort.abort()
    waiting.join()
    assert [type(error) for error in waiting.failed] == [AbortError]
    house.answer(calls)


def test_leases_waiting_ends_when_the_store_is_closed(house: House, calls: Calls) -> None:
    """Who waits for another process when its store lets the storage go asks by itself."""
    house.asking(calls)
    house.waiting(calls).store.close()
    house.arrived()
    house.answer(calls)
    assert (calls.failed, len(house.counting.asked)) == ([], 2)


def test_leases_storage_that_is_down_lets_everyone_ask(house: House) -> None:
    """Where no lease can be taken the request is sent, and nobody hears of it."""

    class Down(MemoryStorage):
        """A storage that takes no leases."""

        def lease(self, name: str, owner: str, length: float, /) -> bool:
            raise OSError("not today")

    storage = Down(inline=house.storage.inline)
    with PatientStore(storage=storage) as store, Controller(store, base_url=house.server.url) as controller:
        assert controller.read(house.items.get, id="1").count == 1
        assert store.storage_stats().errors == {"OSError": 1}


def test_leases_stale_data_is_refetched_by_one_process(house: House) -> None:
    """A refetch in the background is sent by one process as well."""
    first, second = house.process(), house.process()
    for process in (first, second):
        assert process.read(house.items.get, id="1").count == 1
    house.arrived()
    first.expire(house.items.get, id="1")
    assert first.store.flush()
    eventually(lambda: second.explain(house.items.get, id="1").expires_in <= 0)
    house.counting.may_answer.clear()
    assert first.read(house.items.get, id="1").count == 1
    house.arrived()
    assert second.read(house.items.get, id="1").count == 1
    eventually(lambda: bool(stats(second).leases_waited_for))
    house.counting.may_answer.set()
    eventually(lambda: count_of(second.cached(house.items.get, id="1")) == 2)
    assert len(house.counting.asked) == 2


async def test_leases_tasks_of_processes_ask_once(house: House) -> None:
    """Under asyncio many tasks of several processes send one request for each key."""
    processes = [house.async_process() for _ in range(3)]
    for process in processes:
        process.open()
    reads = [process.read(house.items.get, id=str(key)) for process in processes for key in range(20)]
    counts = [item.count for item in await asyncio.gather(*reads)]
    for process in processes:
        await process.aclose()
        await process.store.aclose()
    assert sorted(house.counting.asked) == sorted(f"/items/{key}" for key in range(20))
    assert counts[:20] == counts[20:40] == counts[40:]


async def test_leases_task_that_is_cancelled_gives_its_lease_back(house: House) -> None:
    """What a task held that nobody wants any more is free for others."""
    other = house.process()
    house.counting.may_answer.clear()
    process = house.async_process()
    process.open()
    task = asyncio.ensure_future(process.read(house.items.get, id="1"))
    await asyncio.to_thread(house.arrived)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually_async(lambda: not house.leases)
    house.counting.may_answer.set()
    await asyncio.to_thread(other.read, house.items.get, id="1")
    await process.aclose()
    await process.store.aclose()
    assert len(house.counting.asked) == 2


# -- real processes


class Process:
    """A process that reads keys over a shared storage when it is told to begin."""

    def __init__(self, house: House, storage: str, *, keys: int, tasks: int = 0) -> None:
        plan = json.dumps({"upstream": house.server.url, "storage": storage, "keys": keys, "tasks": tasks})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.lease_worker", plan],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def begin(self) -> None:
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def found(self) -> dict[str, int]:
        """The count that each key came with."""
        said, _ = self._process.communicate(timeout=3 * PATIENCE)
        counts: dict[str, int] = json.loads(said)
        return counts


def together(processes: list[Process]) -> list[dict[str, int]]:
    """What processes found that began at once."""
    for process in processes:
        process.ready()
    for process in processes:
        process.begin()
    return [process.found() for process in processes]


@pytest.fixture
def plain() -> Iterator[House]:
    """A server that counts; the processes are real ones."""
    made = House()
    yield made
    made.close()


def test_leases_processes_ask_once_for_each_key(plain: House, tmp_path: Path) -> None:
    """Processes that ask for the same keys at once send one request for each, and have the same."""
    found = together([Process(plain, str(tmp_path / "cache"), keys=15) for _ in range(3)])
    assert sorted(plain.counting.asked) == sorted(f"/items/{key}" for key in range(15))
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [0, 200])
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("valkey", marks=needs_server)])
def test_leases_eight_processes_ask_once_for_each_of_a_thousand_keys(
    plain: House, tmp_path: Path, kind: str, tasks: int
) -> None:
    """1,000 keys are 1,000 requests, in plain code and in 200 tasks of each process."""
    with ExitStack() as stack:
        storage = str(tmp_path / "cache") if kind == "sqlite" else stack.enter_context(ValkeyServer()).url
        found = together([Process(plain, storage, keys=1_000, tasks=tasks) for _ in range(8)])
    assert len(plain.counting.asked) == len(set(plain.counting.asked)) == 1_000
    assert all(counts == found[0] for counts in found)


@pytest.mark.slow
def test_leases_process_that_is_killed_costs_one_more_request(plain: House, tmp_path: Path) -> None:
    """The holder of a lease is killed while it waits for its answer: one of seven others asks, and all have that."""
    storage = str(tmp_path / "cache")
    holder = Process(plain, storage, keys=1)
    others = [Process(plain, storage, keys=1) for _ in range(7)]
    plain.counting.may_answer.clear()
    for process in (holder, *others):
        process.ready()
    holder.begin()
    assert plain.counting.came.acquire(timeout=PATIENCE)
    holder.kill()
    for process in others:
        process.begin()
    assert plain.counting.came.acquire(timeout=PATIENCE)
    plain.counting.may_answer.set()
    assert [process.found() for process in others] == [{"0": 2}] * 7
    assert len(plain.counting.asked) == 2
