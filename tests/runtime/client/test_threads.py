"""One store under many threads: nothing torn, nothing stuck."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.effort import examples
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually, python

from restencil import AbortError, AsyncController, Controller, Entity, ResetError, RestEndpoint, Store, create_resource


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Threads take turns within a step, and not only between two of them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)
    yield
    sys.setswitchinterval(before)


class Account(Entity, key="Account"):
    id: str = ""
    version: int = 0
    balance: int = 0


class Transfer(Entity, key="Transfer"):
    id: str = ""
    version: int = 0
    source: Account | None = None
    target: Account | None = None
    schema = {"source": Account, "target": Account}


Accounts: Any = create_resource(url_prefix="http://bank", path="/accounts/:id", schema=Account, optimistic=True)
transfer: Any = RestEndpoint(url_prefix="http://bank", path="/transfer", schema=Transfer, data_expiry_length=1)
TOTAL = 1000


class Bank:
    """Moves money between two accounts with every answer: their versions are equal, their balances add up to TOTAL."""

    def __init__(self) -> None:
        self._version = 0
        self._lock = threading.Lock()

    def response(self) -> dict[str, Any]:
        with self._lock:
            self._version += 1
            version = self._version
        amount = version * 7919 % TOTAL
        return {
            "id": "t",
            "version": version,
            "source": {"id": "a", "version": version, "balance": amount},
            "target": {"id": "b", "version": version, "balance": TOTAL - amount},
        }

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/transfer":
            return httpx.Response(200, json=self.response())
        return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2], "note": "x"})

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self.answer))

    def async_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer))


def check(moved: Any) -> None:
    """No reader may see half of a response."""
    source, target = moved.source, moved.target
    assert source.version == target.version == moved.version, (source, target, moved)
    assert source.balance + target.balance == TOTAL, (source, target)


class Works:
    """What the threads of `hammer` do, over and over."""

    def __init__(self, bank: Bank, store: Store, controller: Controller, stop: threading.Event) -> None:
        self.bank, self.store, self.controller, self.stop = bank, store, controller, stop

    def read_cached(self) -> None:
        moved = self.controller.cached(transfer)
        if moved is not None:
            check(moved)

    def read(self) -> None:
        check(self.controller.read(transfer))

    def write(self) -> None:
        self.controller.set_response(transfer, self.bank.response())

    def fetch(self) -> None:
        check(self.controller.fetch(transfer))

    def mutate(self) -> None:
        self.controller.fetch(Accounts.partial_update, id="c", body={"note": "x"})

    def disturb(self) -> None:
        time.sleep(0.003)
        random.choice(
            (
                self.controller.reset_entire_store,
                lambda: self.controller.invalidate(transfer),
                lambda: self.controller.expire_all(transfer),
                lambda: self.controller.snapshot().get(Account, {"id": "a"}),
            )
        )()

    def watch(self) -> None:
        with self.controller.live(transfer) as live:
            for moved in live:
                check(moved)
                if self.stop.is_set() or random.random() < 0.05:
                    return

    def asynchronous(self) -> None:
        async def main() -> None:
            async with AsyncController(self.store, client=self.bank.async_client()) as other:
                for moved in await asyncio.gather(*(other.read(transfer) for _ in range(10))):
                    check(moved)

        asyncio.run(main())

    def all(self) -> list[Callable[[], Any]]:
        works: list[Callable[[], Any]] = [self.read_cached] * 3 + [self.read] * 3 + [self.write] * 2 + [self.fetch] * 2
        return works + [self.mutate] * 2 + [self.watch] * 2 + [self.disturb, self.asynchronous]


def hammer(seconds: float) -> None:
    """Sixteen threads read, write, subscribe, mutate, reset and collect on one store, each one at least once."""
    bank, store = Bank(), Store()
    stop = threading.Event()
    failures: list[BaseException] = []
    counts: dict[str, int] = {}
    before = threading.active_count()

    def forever(name: str, work: Callable[[], Any]) -> threading.Thread:
        def loop() -> None:
            try:
                while not stop.is_set():
                    with contextlib.suppress(ResetError, AbortError):
                        work()
                    counts[name] = counts.get(name, 0) + 1
            except BaseException as error:
                failures.append(error)
                stop.set()

        thread = threading.Thread(target=loop, name=name, daemon=True)
        thread.start()
        return thread

    with Controller(store, client=bank.client()) as controller:
        works = Works(bank, store, controller, stop).all()
        threads = [forever(f"{work.__name__}-{number}", work) for number, work in enumerate(works)]
        assert len(threads) == 16
        stop.wait(seconds)
        eventually(lambda: stop.is_set() or len(counts) == len(threads))
        stop.set()

        def ended() -> bool:
            controller.set_response(transfer, bank.response())  # a live read that waits for a change goes on
            return not any(thread.is_alive() for thread in threads)

        eventually(ended)
        controller.all_settled()
        if failures:
            raise failures[0]
        assert store.in_flight.by_id == {} and store.in_flight.joinable == {} and store.state["optimistic"] == []
    eventually(lambda: threading.active_count() <= before)  # no threads are left over


@pytest.mark.usefixtures("frequent_switches")
def test_sixteen_threads_on_one_store_never_see_half_a_response() -> None:
    hammer(examples(1, nightly=30))


# whole processes

SCRIPT = """
import os, sys, threading, time
import httpx
from restencil import Controller, Entity, create_resource

class User(Entity, key="User"):
    id: str = ""

asked = []

def answer(request):
    asked.append(request.url.path)
    if len(asked) > 1 and hang:
        threading.Event().wait()
    return httpx.Response(status if len(asked) > 1 else 200, json={"id": "1"})

hang, status = False, 200
Users = create_resource(url_prefix="http://mock", path="/users/:id", schema=User, poll_frequency=20)
controller = Controller(client=httpx.Client(transport=httpx.MockTransport(answer)))
"""


def process(body: str) -> tuple[str, str]:
    """Runs a script to its end; what it printed, and what it complained of."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = python("-W", "ignore::DeprecationWarning", "-c", SCRIPT + textwrap.dedent(body), env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip(), run.stderr


def test_threads_background_work_never_delays_the_end_of_the_program() -> None:
    outcome = process("""
        hang = True
        controller.read(Users.get, id="1")
        controller.subscribe(Users.get, id="1")
        controller.expire(Users.get, id="1")
        controller.read(Users.get, id="1")
        while len(asked) < 2: time.sleep(0.01)
        print("end")
        """)
    assert outcome == ("end", "")


def test_threads_failures_in_the_background_print_nothing() -> None:
    outcome = process("""
        status = 500
        controller.read(Users.get, id="1")
        for _ in range(3):
            controller.expire(Users.get, id="1")
            try:
                controller.read(Users.get, id="1")
            except Exception:
                pass
            controller.all_settled()
        print(controller.get_response(Users.get, id="1").raw_error.status)
        """)
    assert outcome == ("500", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_threads_forked_process_goes_on_with_threads_of_its_own() -> None:
    outcome = process("""
        def refresh():
            controller.read(Users.get, id="1")
            controller.expire(Users.get, id="1")
            controller.read(Users.get, id="1")
            controller.all_settled()

        refresh()
        child = os.fork()
        if child == 0:
            before = len(asked)
            refresh()
            controller.subscribe(Users.get, id="1")
            while len(asked) <= before + 2: time.sleep(0.01)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
    assert outcome == ("0", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_threads_forked_process_does_not_wait_for_what_its_parent_has_in_flight() -> None:
    """Reads, mutations with their optimistic responses, and a lock that a hook of another thread runs under."""
    outcome = process("""
        def in_thread(work):
            threading.Thread(target=work, daemon=True).start()

        def slow_policy(error):
            busy.set()
            time.sleep(0.2)

        busy = threading.Event()
        hang = True
        controller.read(Users.get, id="1")
        renamed = Users.update.extend(get_optimistic_response=lambda snapshot, params, body: {"id": "3"})
        in_thread(lambda: controller.read(Users.get, id="2"))
        in_thread(lambda: controller.fetch(renamed, {"id": "3"}, {}))
        while len(asked) < 3: time.sleep(0.01)
        assert controller.cached(Users.get, id="3") is not None
        in_thread(lambda: controller.set_error(Users.get.extend(error_policy=slow_policy), ValueError("no"), id="9"))
        busy.wait()
        child = os.fork()
        if child == 0:
            hang = False
            found = controller.read(Users.get, id="2"), controller.cached(Users.get, id="3")
            controller.all_settled()
            os._exit(0 if found[0].id == "1" and found[1] is None else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), controller.cached(Users.get, id="3").id)
        """)
    assert outcome == ("0 3", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_threads_forked_process_makes_connections_of_its_own() -> None:
    """Two processes on one connection would read each other's answers."""
    outcome = process("""
        from tests.runtime.servers import Reply, Server

        def reply(request):
            return Reply(body=b'{"id":"1"}', headers={"Content-Type": "application/json", "Set-Cookie": "session=s"})

        with Server(reply) as server, Controller(base_url=server.url) as own:
            get = Users.get.extend(url_prefix="")
            own.read(get, id="1")
            child = os.fork()
            if child == 0:
                own.fetch(get, id="2")
                os._exit(0)
            os.waitpid(child, 0)
            own.fetch(get, id="3")
            print([request.headers.get("cookie") for request in server.arrived], len(server.connections))
        """)
    assert outcome == ("[None, 'session=s', 'session=s'] 2", "")


# -- hook threads


THREADS = 8


def respond(request: httpx.Request) -> httpx.Response:
    """A record with the key at the end of the path."""
    return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2]})


def test_hooks_of_the_store_never_run_two_at_a_time() -> None:
    """`validate` of an entity, and `update` of an endpoint, in threads that fetch at the same time."""
    running = threading.Lock()
    overlaps: list[str] = []

    def alone(name: str) -> None:
        if running.acquire(blocking=False):
            time.sleep(0.001)  # lets the other threads run
            running.release()
        else:
            overlaps.append(name)

    class Checked(Entity):
        id: str = ""

        @classmethod
        def validate(cls, record: Mapping[str, Any]) -> str | None:
            alone("validate")
            return None

    def updated(*args: object) -> dict[str, Any]:
        alone("update")
        return {}

    get: Any = RestEndpoint(url_prefix="http://x", path="/checked/:id", schema=Checked, update=updated)
    with httpx.Client(transport=httpx.MockTransport(respond)) as client, Controller(client=client) as controller:
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(lambda number: controller.fetch(get, id=str(number)), range(4 * THREADS)))
    assert [one.id for one in found] == [str(number) for number in range(4 * THREADS)]
    assert overlaps == []


def test_process_of_an_endpoint_runs_for_several_responses_at_once() -> None:
    """Each call waits in `process` until the others are there too; and it may use the client."""
    together = threading.Barrier(THREADS)

    def process(value: Any, *args: object) -> Any:
        together.wait(PATIENCE)
        return {**value, "size": controller.fetch(size, id="1")["id"]}

    size: Any = RestEndpoint(url_prefix="http://x", path="/size/:id")
    get: Any = RestEndpoint(url_prefix="http://x", path="/waiting/:id", process=process)
    with httpx.Client(transport=httpx.MockTransport(respond)) as client, Controller(client=client) as controller:
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(lambda number: controller.fetch(get, id=str(number)), range(THREADS)))
    assert found == [{"id": str(number), "size": "1"} for number in range(THREADS)]
