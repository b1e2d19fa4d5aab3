"""Subscriptions: polling to the millisecond, several frequencies, losing the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.runtime.users import Users
from tests.runtime.worlds import World, worlds

from restencil import Controller, NetworkManager, PollingSubscription, SubscriptionManager
from restencil.cache.actions import Subscribe
from restencil.cache.request import Request
from restencil.testing import Answer, FakeClock

Polled = Users.get.extend(poll_frequency=1000)
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
def make(asynchronous: bool) -> Iterator[Callable[..., PollingWorld]]:
    with worlds(partial(PollingWorld, asynchronous)) as made:
        yield made


def test_polling_offline_stops_and_online_starts_as_a_first_fetch_does(make: Callable[..., PollingWorld]) -> None:
    network = Network()
    world = make(network=network)
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


def test_polling_subscription_made_offline_waits_for_the_network(make: Callable[..., PollingWorld]) -> None:
    network = Network(online=False)
    world = make(network=network)
    world.subscribe()
    assert world.run(5000) == []
    network.turn(online=True)
    assert world.run(0) == [5000]
    world.unsubscribe()
    assert network.listeners == {"online": [], "offline": []}


def test_polling_subscribing_without_a_frequency_warns_and_does_nothing(
    make: Callable[..., PollingWorld], caplog: pytest.LogCaptureFixture
) -> None:
    world = make()
    world.subscribe(Users.get)
    assert "GET /users/1 has no poll_frequency; subscribing to it does nothing" in caplog.text
    assert world.run(5000) == []


def test_polling_unsubscribing_something_unknown_is_logged(
    make: Callable[..., PollingWorld], caplog: pytest.LogCaptureFixture
) -> None:
    world = make()
    world.unsubscribe()
    assert "GET /users/1 is not subscribed; nothing to unsubscribe" in caplog.text
    world.subscribe()
    world.unsubscribe(Faster)
    assert "GET /users/1 is not polled every 400 ms" in caplog.text


def test_polling_subscription_needs_a_frequency(clock: FakeClock) -> None:
    with Controller(clock.store()) as controller, pytest.raises(ValueError, match="has no poll_frequency"):
        PollingSubscription(Subscribe(Request(Users.get, Users.get.rules, (), "k")), controller, Network())
