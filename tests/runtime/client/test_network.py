"""Requests in flight, in real threads and tasks: joined, cancelled, orphaned, retried."""

from __future__ import annotations

import asyncio
import contextvars
import email.utils
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually, eventually_async
from tests.runtime.users import User

import restencil
from restencil import AbortError, AsyncController, Controller, NetworkError, RestEndpoint, Retries, Store
from restencil.cache.actions import SetResponse
from restencil.client.retry import RetryBudget
from restencil.testing import Answer, FakeClock, MockServer, NetworkDown

Users: Any = restencil.create_resource(url_prefix="http://mock", path="/users/:id", schema=User)
ANN = {"id": "1", "name": "Ann"}


class Gate:
    """A server in memory that counts requests and holds them back until it is opened."""

    def __init__(self, *, opened: bool = False) -> None:
        self.count = 0
        self.open = threading.Event()
        if opened:
            self.open.set()
        self._lock = threading.Lock()

    def enter(self, request: httpx.Request) -> None:
        with self._lock:
            self.count += 1

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.enter(request)
        assert self.open.wait(PATIENCE)
        return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2], "name": "Ann"})

    async def answer_async(self, request: httpx.Request) -> httpx.Response:
        self.enter(request)
        while not self.open.is_set():
            await asyncio.sleep(0.005)
        return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2], "name": "Ann"})

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self.answer))

    def async_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer_async))


def callers(store: Store) -> int:
    """How many wait for a request in flight, whoever began it."""
    with store.lock:
        return sum(flight.callers for flight in store.in_flight.by_id.values())


# joining


def test_network_thousand_threads_that_read_the_same_send_one_request() -> None:
    gate = Gate()
    with Controller(client=gate.client()) as controller, ThreadPoolExecutor(1000) as pool:
        reads = [pool.submit(controller.read, Users.get, id="1") for _ in range(1000)]
        eventually(lambda: callers(controller.store) == 1000)
        gate.open.set()
        users = {id(read.result(timeout=PATIENCE)) for read in reads}
    assert gate.count == 1 and len(users) == 1
    assert controller.store.in_flight.by_id == {} and controller.store.in_flight.joinable == {}


@pytest.mark.parametrize("first", [0, 1], ids=["thread", "task"])
async def test_network_threads_and_tasks_join_one_request_whichever_caller_began_it(first: int) -> None:
    gate, store = Gate(), Store()
    with Controller(store, client=gate.client()) as controller:
        async with AsyncController(store, client=gate.async_client()) as other:
            begin: list[Callable[[], Any]] = [
                lambda: asyncio.create_task(asyncio.to_thread(controller.read, Users.get, id="1")),
                lambda: asyncio.create_task(other.read(Users.get, id="1")),
            ]
            reads = [begin[first]()]
            await eventually_async(lambda: gate.count == 1)
            reads += [start() for start in begin * 5]
            await asyncio.sleep(0.05)
            gate.open.set()
            assert len({id(user) for user in await asyncio.gather(*reads)}) == 1
            assert gate.count == 1


async def test_network_blocking_call_in_the_thread_of_the_loop_that_owns_the_request_sends_its_own() -> None:
    gate, store = Gate(), Store()
    other = Gate(opened=True)
    with Controller(store, client=other.client()) as controller:
        async with AsyncController(store, client=gate.async_client()) as asynchronous:
            task = asyncio.create_task(asynchronous.read(Users.get, id="1"))
            await eventually_async(lambda: gate.count == 1)
            assert controller.read(Users.get, id="1").name == "Ann"
            assert (gate.count, other.count) == (1, 1)
            gate.open.set()
            await task


def test_network_hook_that_reads_what_its_own_request_fetches_does_not_wait_for_itself() -> None:
    gate = Gate(opened=True)
    depth: list[int] = []

    def headers(given: dict[str, str]) -> dict[str, str]:
        depth.append(1)
        if len(depth) == 1:
            controller.fetch(nosy, id="1")
        return given

    nosy = Users.get.extend(get_headers=headers)
    with Controller(client=gate.client()) as controller:
        assert controller.fetch(nosy, id="1").name == "Ann"
    assert gate.count == 2


# cancelling and aborting


async def test_network_cancelled_caller_only_leaves_a_shared_request() -> None:
    gate = Gate()
    async with AsyncController(client=gate.async_client()) as controller:
        first = asyncio.create_task(controller.read(Users.get, id="1"))
        await eventually_async(lambda: gate.count == 1)
        second = asyncio.create_task(controller.read(Users.get, id="1"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert first.cancelled()
        gate.open.set()
        assert (await second).name == "Ann"
        assert gate.count == 1


async def test_network_last_cancelled_caller_aborts_the_request_and_no_error_is_recorded() -> None:
    gate = Gate()
    async with AsyncController(client=gate.async_client()) as controller:
        calls = [asyncio.create_task(controller.read(Users.get, id="1")) for _ in range(3)]
        await eventually_async(lambda: gate.count == 1)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await eventually_async(lambda: controller.store.in_flight.by_id == {})
        assert controller.get_error(Users.get, id="1") is None
        gate.open.set()
        assert (await controller.read(Users.get, id="1")).name == "Ann"
        assert gate.count == 2


async def test_network_caller_cancelled_before_its_request_began_leaves_nothing_pending() -> None:
    gate = Gate(opened=True)
    async with AsyncController(client=gate.async_client()) as controller:
        task = asyncio.create_task(controller.read(Users.get, id="1"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually_async(lambda: controller.store.in_flight.by_id == {})
        assert controller.store.in_flight.joinable == {}


@pytest.mark.network
@pytest.mark.parametrize("reads", [300, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_network_many_cancelled_reads_leave_the_pool_usable_and_nothing_pending(
    loopback: str, reads: int
) -> None:
    users = Users.get.extend(url_prefix=loopback)
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=20), timeout=PATIENCE) as client:
        async with AsyncController(client=client) as controller:
            for start in range(0, reads, 100):
                calls = [asyncio.create_task(controller.read(users, id=str(start + n))) for n in range(100)]
                for _ in range(start // 100 % 7):
                    await asyncio.sleep(0.001 * (start // 700 % 3))
                for call in calls:
                    call.cancel()
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
                assert all(isinstance(o, asyncio.CancelledError | User) for o in outcomes)
            await eventually_async(lambda: controller.store.in_flight.by_id == {})
            assert controller.store.in_flight.joinable == {}
            users_read = await asyncio.gather(*(controller.fetch(users, id=f"end{n}") for n in range(50)))
            assert [user.id for user in users_read] == [f"end{n}" for n in range(50)]
            await eventually_async(lambda: len(asyncio.all_tasks()) == 1)


async def test_network_signal_aborts_its_own_request_and_a_joined_caller_s_signal_does_not() -> None:
    gate = Gate()
    joined, own = restencil.AbortController(), restencil.AbortController()
    async with AsyncController(client=gate.async_client()) as controller:
        first = asyncio.create_task(controller.fetch(Users.get.extend(signal=own.signal), id="1"))
        await eventually_async(lambda: gate.count == 1)
        second = asyncio.create_task(controller.fetch(Users.get.extend(signal=joined.signal), id="1"))
        await asyncio.sleep(0)
        joined.abort()
        await asyncio.sleep(0.01)
        assert not first.done() and not second.done()
        own.abort("enough")
        for task in (first, second):
            with pytest.raises(AbortError, match="enough"):
                await task
        assert controller.get_error(Users.get, id="1") is None


# loops and threads that end


def test_network_waiter_in_a_thread_gets_an_abort_error_when_the_loop_that_fetches_ends() -> None:
    gate, store = Gate(), Store()
    started = threading.Event()

    async def main() -> None:
        controller = AsyncController(store, client=gate.async_client())
        dropped = asyncio.create_task(controller.read(Users.get, id="1"))
        await eventually_async(lambda: gate.count == 1)
        started.set()
        await eventually_async(lambda: callers(store) == 2)  # the thread has joined
        assert not dropped.done()

    with Controller(store, client=Gate(opened=True).client()) as controller, ThreadPoolExecutor(2) as pool:
        loop = pool.submit(asyncio.run, main())
        assert started.wait(PATIENCE)
        waiting = pool.submit(controller.read, Users.get, id="1")
        loop.result(timeout=PATIENCE)
        with pytest.raises(AbortError):
            waiting.result(timeout=PATIENCE)
        assert controller.read(Users.get, id="1").name == "Ann"


def test_network_reset_lets_a_blocked_thread_go_before_its_response_comes() -> None:
    gate = Gate()
    with Controller(client=gate.client()) as controller, ThreadPoolExecutor(1) as pool:
        read = pool.submit(controller.read, Users.get, id="1")
        eventually(lambda: gate.count == 1)
        controller.reset_entire_store()
        with pytest.raises(restencil.ResetError):
            read.result(timeout=PATIENCE)
        gate.open.set()
        eventually(lambda: controller.store.in_flight.by_id == {})
        assert controller.cached(Users.get, id="1") is None


def test_network_response_set_during_a_reset_gives_a_value_to_the_fetch_that_it_completes() -> None:
    """The request was replaced, and its successor has completed, between finding it and storing the response."""
    sent, ended = threading.Event(), threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if not sent.is_set():
            sent.set()
            assert ended.wait(PATIENCE)
        return httpx.Response(200, json=ANN)

    class Slow(restencil.Manager):
        """Lets a fetch of the same key begin and end before a response that is set by hand is stored."""

        def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
            if isinstance(action, SetResponse) and action.fetch_id is None:
                assert controller.fetch(Users.get, id="1").name == "Ann"
            return next(action)

    def on_change() -> None:
        remove()
        controller.set_response(Users.get, {"id": "1", "name": "by hand"}, id="1")

    client, managers = httpx.Client(transport=httpx.MockTransport(answer)), [restencil.NetworkManager(), Slow()]
    with Controller(client=client, managers=managers) as controller, ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(controller.fetch, Users.get, id="1")
        assert sent.wait(PATIENCE)
        remove = controller.add_listener(on_change)
        controller.reset_entire_store()
        assert fetched.result(timeout=PATIENCE) is controller.cached(Users.get, id="1") is not None
        ended.set()


def test_network_hooks_see_the_context_of_the_caller_also_on_another_thread() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    def headers(given: dict[str, str]) -> dict[str, str]:
        seen.append(who.get())
        return given

    with Controller(client=Gate(opened=True).client()) as controller, ThreadPoolExecutor(1) as pool:
        endpoint = Users.get.extend(get_headers=headers)

        def read() -> None:
            who.set("Ann")
            controller.read(endpoint, id="1")
            controller.expire(endpoint, id="1")
            controller.read(endpoint, id="1")
            controller.all_settled()

        pool.submit(read).result(timeout=PATIENCE)
    assert seen == ["Ann", "Ann"]


# retries


class Flaky:
    """Fails as told, in virtual time; `times` are the moments of the requests."""

    def __init__(self, *outcomes: Any) -> None:
        self.clock = FakeClock()
        self.outcomes = list(outcomes)
        self.times: list[float] = []
        self.server = MockServer(self.clock, respond=self.answer)

    def answer(self, request: Any) -> Any:
        self.times.append(self.clock() - 1_000_000)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        return Answer(status=outcome, json=ANN) if isinstance(outcome, int) else outcome

    def controller(self, asynchronous: bool = False, **options: Any) -> Any:
        store = self.clock.store()
        if asynchronous:
            return AsyncController(store, client=self.server.async_client(), **options)
        return Controller(store, client=self.server.client(), **options)


def steady(attempts: int = 3, **options: Any) -> Retries:
    return Retries(attempts, jitter=0, **options)


def test_network_retries_wait_exponentially_longer_and_then_give_the_response(asynchronous: bool) -> None:
    flaky = Flaky(503, NetworkDown(), 200)
    controller = flaky.controller(asynchronous, retries=steady())
    assert flaky.clock.run(lambda: controller.fetch(Users.get, id="1")).name == "Ann"
    assert flaky.times == [0, 200, 600]
    flaky.clock.close()


def test_network_retries_are_off_by_default() -> None:
    flaky = Flaky(503)
    with pytest.raises(NetworkError):
        flaky.controller().fetch(Users.get, id="1")
    assert len(flaky.times) == 1
    with pytest.raises(NetworkError):
        flaky.controller(retries=5).fetch(Users.get.extend(retries=2), id="1")
    assert len(flaky.times) == 4
    with pytest.raises(NetworkError):
        flaky.controller(retries=5).fetch(Users.get.extend(retries=0), id="1")
    assert len(flaky.times) == 5


def test_network_jitter_shortens_a_delay_by_its_share_at_most() -> None:
    for drawn, expected in ((0.0, 200.0), (1.0, 50.0)):
        flaky = Flaky(503, 200)
        retries = Retries(1, jitter=0.75, random=lambda drawn=drawn: drawn)  # type: ignore[misc]
        flaky.controller(retries=retries).fetch(Users.get, id="1")
        assert flaky.times == [0, expected]


def test_network_retry_after_in_seconds_and_as_a_date_is_respected_and_capped() -> None:
    date = email.utils.formatdate((1_000_000 + 4000) / 1000, usegmt=True)
    for header, expected in (("3", 3000), (date, 4000), ("3600", 60_000), ("soon", 200), ("-1", 200)):
        flaky = Flaky(Answer(status=429, headers={"Retry-After": header}), 200)
        flaky.controller(retries=steady()).fetch(Users.get, id="1")
        assert flaky.times == [0, expected], header


def test_retries_of_posts_are_opt_in_and_share_a_key() -> None:
    post = RestEndpoint(url_prefix="http://mock", path="/users", method="POST", schema=User)
    flaky = Flaky(503, 200)
    with pytest.raises(NetworkError):
        flaky.controller(retries=steady()).fetch(post, {"name": "Ann"})
    flaky = Flaky(503, 503, 200)
    controller = flaky.controller(retries=steady(mutations=True))
    controller.fetch(post, {"name": "Ann"})
    keys = {request.headers["idempotency-key"] for request in flaky.server.requests}
    assert len(flaky.times) == 3 and len(keys) == 1
    controller.fetch(post, {"name": "Bob"})
    assert flaky.server.requests[-1].headers["idempotency-key"] not in keys


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system has one time zone")
def test_network_retry_after_date_without_a_zone_is_utc() -> None:
    """RFC 9110, 5.6.7: all dates of HTTP are, also in the form of asctime, wherever the client stands."""
    here = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    try:
        flaky = Flaky(Answer(status=503, headers={"Retry-After": "Thu Jan  1 00:16:44 1970"}), 200)
        flaky.controller(retries=steady()).fetch(Users.get, id="1")
        assert flaky.times == [0, 4000]
    finally:
        os.environ.pop("TZ")
        if here is not None:
            os.environ["TZ"] = here
        time.tzset()


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key"])
def test_network_idempotency_key_of_the_user_s_own_stays(name: str) -> None:
    """However it is spelled."""
    flaky = Flaky(503, 200)
    init = {"headers": {name: "mine"}}
    post = RestEndpoint(url_prefix="http://mock", path="/users", method="POST", request_init=init)
    flaky.controller(retries=steady(mutations=True)).fetch(post, {"name": "Ann"})
    assert [request.headers["idempotency-key"] for request in flaky.server.requests] == ["mine", "mine"]


def test_network_what_was_answered_by_hand_while_a_retry_waited_is_neither_sent_nor_written(asynchronous: bool) -> None:
    """The response by hand is the outcome, and its times stay."""
    flaky = Flaky(503)
    controller = flaky.controller(asynchronous, retries=steady(base_delay=1000))
    task: Any = flaky.clock.start(lambda: controller.fetch(Users.get, id="1"))
    flaky.clock.advance(300)
    flaky.clock.call(lambda: controller.set_response(Users.get, {"id": "1", "name": "by hand"}, id="1"))
    flaky.clock.advance(10_000)
    assert task.result().name == "by hand" and flaky.times == [0]
    assert controller.state(Users.get, id="1").expires_at == 1_000_000 + 300 + 60_000
    flaky.clock.close()


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_network_idempotent_mutations_are_retried_without_a_key(method: str) -> None:
    endpoint = RestEndpoint(url_prefix="http://mock", path="/users/:id", method=method, body=None)
    flaky = Flaky(503, 200)
    flaky.controller(retries=steady()).fetch(endpoint, {"id": "1"})
    assert len(flaky.times) == 2
    assert all("idempotency-key" not in request.headers for request in flaky.server.requests)


def test_network_budget_bounds_retries_to_a_share_of_the_requests() -> None:
    flaky = Flaky(503)
    controller = flaky.controller(retries=steady(1, budget=RetryBudget(ratio=0.5, reserve=2)))
    for _ in range(10):
        with pytest.raises(NetworkError):
            controller.fetch(Users.get, id="1")
    assert len(flaky.times) == 10 + 2 + 4


def test_network_signal_ends_the_waiting_for_a_retry() -> None:
    flaky = Flaky(503)
    abort = restencil.AbortController()
    controller = flaky.controller(asynchronous=True, retries=steady(base_delay=60_000, max_delay=60_000))
    task = flaky.clock.start(lambda: controller.fetch(Users.get.extend(signal=abort.signal), id="1"))
    flaky.clock.advance(1000)
    abort.abort()
    flaky.clock.settle()
    assert isinstance(task.error, AbortError) and len(flaky.times) == 1
    flaky.clock.close()


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (Retries, {"attempts": -1}, "attempts of Retries must not be negative: -1"),
        (Retries, {"factor": -0.5}, "factor of Retries must not be negative: -0.5"),
        (Retries, {"jitter": 1.01}, "jitter of Retries must be between 0 and 1: 1.01"),
        (Retries, {"jitter": -0.01}, "jitter of Retries must be between 0 and 1: -0.01"),
        (RetryBudget, {"ratio": -1}, "ratio and reserve of a retry budget must not be negative: -1, 10"),
        (RetryBudget, {"reserve": -1}, "ratio and reserve of a retry budget must not be negative: 0.2, -1"),
    ],
)
def test_network_retries_reject_numbers_that_make_no_sense(kind: Any, wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**wrong)


@pytest.mark.parametrize(
    ("retries", "kind", "message"),
    [
        ("2", TypeError, "retries is a str; expected a number of retries, or Retries(…)"),
        (True, TypeError, "retries is a bool; expected a number of retries, or Retries(…)"),
        (-1, ValueError, "retries is -1; expected 0 for no retries, or more"),
    ],
)
def test_network_retries_of_a_client_are_checked_at_once(retries: Any, kind: type[Exception], message: str) -> None:
    """A wrong value is an error of the constructor, not of the first request."""
    with pytest.raises(kind) as caught:
        Controller(retries=retries)
    assert str(caught.value) == message
