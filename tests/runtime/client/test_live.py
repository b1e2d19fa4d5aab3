"""Live reads: they yield on change, subscribe while they are open, and end when they are closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.runtime.users import User, Users
from tests.runtime.worlds import World, worlds

import restencil
from restencil import AsyncController, Controller, InvalidDataError, NetworkError, NetworkManager, SubscriptionManager
from restencil.cache.actions import Subscribe
from restencil.cache.request import Request
from restencil.testing import Answer, FakeClock, MockServer

Polled = Users.get.extend(poll_frequency=1000)


class Server:
    """Answers with a name that tells how often it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        self.asked = 0
        self.status = 200
        self.delay = 5
        self.mock = MockServer(clock, respond=self.answer)

    def answer(self, request: Any) -> Answer:
        self.asked += 1
        return Answer(status=self.status, json={"id": "1", "name": f"n{self.asked}"}, delay=self.delay)


@pytest.fixture
def server(clock: FakeClock) -> Server:
    return Server(clock)


@pytest.fixture
def controller(clock: FakeClock, server: Server) -> Any:
    with Controller(clock.store(), client=server.mock.client(), base_url="http://mock") as controller:
        yield controller


def test_live_read_yields_first_as_a_read_does_then_on_each_change(controller: Any, clock: FakeClock) -> None:
    with controller.live(Polled, id="1") as live:
        assert [next(live).name for _ in range(3)] == ["n1", "n2", "n3"]
        assert live.data.name == "n3"
    assert clock() == 1_000_000 + 2005


def test_live_changes_that_leave_the_data_identical_are_not_yielded(controller: Any, clock: FakeClock) -> None:
    seen: list[str] = []

    def consume() -> None:
        with controller.live(Users.get, id="1") as live:
            for user in live:
                seen.append(user.name)

    controller.set_response(Users.get, {"id": "1", "name": "a"}, id="1")
    clock.start(consume)
    clock.settle()
    controller.set_response(Users.get, {"id": "2", "name": "other"}, id="2")
    clock.settle()
    controller.set_response(Users.get, {"id": "1", "name": "a"}, id="1")
    clock.settle()
    controller.set_response(Users.get, {"id": "1", "name": "b"}, id="1")
    clock.settle()
    assert seen == ["a", "b"]


def test_live_read_polls_while_it_is_open_and_not_longer(controller: Any, clock: FakeClock, server: Server) -> None:
    live = controller.live(Polled, id="1")
    clock.advance(3000)
    assert server.asked == 0
    with live:
        clock.advance(3000)
    asked = server.asked
    assert asked == 4
    clock.advance(5000)
    assert server.asked == asked


def test_live_read_polls_first_after_its_own_response(controller: Any, clock: FakeClock, server: Server) -> None:
    """It may arrive before the first poll, which is due at once."""
    server.delay = 0
    with controller.live(Polled, id="1") as live:
        assert next(live).name == "n1"
        clock.advance(999)
        assert server.asked == 1
        clock.advance(1)
        assert (server.asked, next(live).name) == (2, "n2")


def test_invalidated_live_read_fetches_again_by_itself(controller: Any, clock: FakeClock, server: Server) -> None:
    with controller.live(Users.get, id="1") as live:
        assert next(live).name == "n1"
        controller.invalidate(Users.get, id="1")
        assert next(live).name == "n2"
    assert server.asked == 2


def test_live_error_is_raised_once_and_the_read_goes_on(controller: Any, clock: FakeClock, server: Server) -> None:
    server.status = 500
    with controller.live(Users.get, id="1") as live:
        with pytest.raises(NetworkError):
            next(live)
        controller.set_response(Users.get, {"id": "1", "name": "back"}, id="1")
        assert next(live).name == "back"
    assert server.asked == 1


def test_live_time_that_passes_while_a_read_is_held_starts_no_fetch_but_revalidate_does(
    controller: Any, clock: FakeClock, server: Server
) -> None:
    with controller.live(Users.get, id="1") as live:
        assert next(live).name == "n1"
        clock.advance(100_000)
        controller.set_response(Users.get, {"id": "2", "name": "other"}, id="2")
        clock.settle()
        assert server.asked == 1
        controller.revalidate()
        assert next(live).name == "n2"
        controller.revalidate()
        clock.advance(100)
        assert server.asked == 2


def test_live_state_starts_the_fetch_of_a_read_and_waits_for_nothing(
    controller: Any, clock: FakeClock, server: Server
) -> None:
    with controller.live(Users.get, id="1") as live:
        state = live.state
        assert (state.data, state.loading) == (None, True)
        assert live.state.loading
        clock.advance(10)
        state = live.state
        assert state.data.name == "n1" and not state.loading
    assert server.asked == 1


def test_live_data_that_cannot_be_used_is_an_error_of_the_live_read(controller: Any, server: Server) -> None:
    needs_user = Users.get.extend(schema={"user": User})
    controller.set_response(Users.delete, {"id": "7"}, {"id": "7"})
    server.mock.respond = lambda request: Answer(json={"user": "7"})
    with controller.live(needs_user, id="1") as live, pytest.raises(InvalidDataError):
        next(live)


def test_live_close_from_elsewhere_ends_the_iteration(controller: Any, clock: FakeClock) -> None:
    live = controller.live(Users.get, id="1")
    task = clock.start(lambda: [user.name for user in live])
    clock.advance(10)
    assert task.state == "pending"
    live.close()
    live.close()
    clock.settle()
    assert task.result() == ["n1"]


def test_live_read_that_is_dropped_unsubscribes_with_the_next_change(
    controller: Any, clock: FakeClock, server: Server
) -> None:
    live = controller.live(Polled, id="1")
    next(live)
    del live
    gc.collect()
    clock.advance(1000)
    asked = server.asked
    clock.advance(5000)
    assert server.asked == asked


def test_inactive_live_read_shows_nothing_and_asks_nothing(controller: Any, clock: FakeClock, server: Server) -> None:
    live = controller.live(Polled, None)
    task = clock.start(lambda: list(live))
    clock.advance(5000)
    live.close()
    clock.settle()
    assert task.result() == [] and server.asked == 0


async def test_async_live_read_receives_of_writes_of_threads_in_real_time() -> None:
    async with AsyncController() as controller:
        controller.set_response(Users.get, {"id": "1", "name": "a"}, id="1")
        async with controller.live(Users.get, id="1") as live:
            assert (await anext(live)).name == "a"
            await asyncio.to_thread(controller.set_response, Users.get, {"id": "1", "name": "b"}, id="1")
            assert (await anext(live)).name == "b"


# -- polling


Faster = Users.get.extend(poll_frequency=400)


class Network:
    """A connection that a test takes away and gives back."""

    def __init__(self, *, online: bool = True) -> None:
        self.online = online
        self.listeners: dict[str, list[Callable[[], object]]] = {"online": [], "offline": []}

    def is_online(self) -> bool:
        return self.online

    def add_online_listener(self, listener: Callable[[], object], /) -> None:
        self.listeners["online"].append(listener)

    def remove_online_listener(self, listener: Callable[[], object], /) -> None:
        self.listeners["online"].remove(listener)

    def add_offline_listener(self, listener: Callable[[], object], /) -> None:
        self.listeners["offline"].append(listener)

    def remove_offline_listener(self, listener: Callable[[], object], /) -> None:
        self.listeners["offline"].remove(listener)

    def turn(self, *, online: bool) -> None:
        self.online = online
        for listener in list(self.listeners["online" if online else "offline"]):
            listener()


class PollingWorld(World):
    """A polling controller of either kind; `times` are the moments of the requests, counted from the start."""

    def __init__(self, asynchronous: bool, network: Network | None = None) -> None:
        managers = [NetworkManager(), SubscriptionManager(connection_listener=network)]
        super().__init__(asynchronous, managers=managers)
        self.start = self.clock()
        self.server.respond = self.answer
        self.times: list[float] = []
        self.delay = 0.0
        self.status = 200

    def answer(self, request: Any) -> Answer:
        self.times.append(self.clock() - self.start)
        return Answer(status=self.status, json={"id": "1", "name": str(len(self.times))}, delay=self.delay)

    def subscribe(self, endpoint: Any = Polled) -> None:
        self.clock.call(lambda: self.controller.subscribe(endpoint, id="1"))

    def unsubscribe(self, endpoint: Any = Polled) -> None:
        self.clock.call(lambda: self.controller.unsubscribe(endpoint, id="1"))

    def run(self, milliseconds: float) -> list[float]:
        """Lets time pass; the moments of the requests sent meanwhile."""
        before = len(self.times)
        self.clock.advance(milliseconds)
        return self.times[before:]


@pytest.fixture
def make_polling(asynchronous: bool) -> Iterator[Callable[..., PollingWorld]]:
    with worlds(partial(PollingWorld, asynchronous)) as made:
        yield made


def test_polling_offline_stops_and_online_starts_as_a_first_fetch_does(
    make_polling: Callable[..., PollingWorld],
) -> None:
    network = Network()
    world = make_polling(network=network)
    world.subscribe()
    assert world.run(1500) == [0, 1000]
    network.turn(online=False)
    assert world.run(200) == []
    network.turn(online=True)
    assert world.run(500) == [2000]
    network.turn(online=False)
    assert world.run(5000) == []
    network.turn(online=True)
    assert world.run(1000) == [7200, 8200]


def test_polling_subscription_made_offline_waits_for_the_network(make_polling: Callable[..., PollingWorld]) -> None:
    network = Network(online=False)
    world = make_polling(network=network)
    world.subscribe()
    assert world.run(5000) == []
    network.turn(online=True)
    assert world.run(0) == [5000]
    world.unsubscribe()
    assert network.listeners == {"online": [], "offline": []}


def test_polling_subscribing_without_a_frequency_warns_and_does_nothing(
    make_polling: Callable[..., PollingWorld], caplog: pytest.LogCaptureFixture
) -> None:
    world = make_polling()
    world.subscribe(Users.get)
    assert "GET /users/1 has no poll_frequency; subscribing to it does nothing" in caplog.text
    assert world.run(5000) == []


def test_polling_unsubscribing_something_unknown_is_logged(
    make_polling: Callable[..., PollingWorld], caplog: pytest.LogCaptureFixture
) -> None:
    world = make_polling()
    world.unsubscribe()
    assert "GET /users/1 is not subscribed; nothing to unsubscribe" in caplog.text
    world.subscribe()
    world.unsubscribe(Faster)
    assert "GET /users/1 is not polled every 400 ms" in caplog.text


def test_polling_subscription_needs_a_frequency(clock: FakeClock) -> None:
    with Controller(clock.store()) as controller, pytest.raises(ValueError, match="has no poll_frequency"):
        restencil.PollingSubscription(Subscribe(Request(Users.get, Users.get.rules, (), "k")), controller, Network())
