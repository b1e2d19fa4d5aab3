"""Controllers: reading, fetching and writing through both kinds, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.runtime.doubles import same_error
from tests.runtime.users import User, Users
from tests.runtime.worlds import World, worlds

import restencil
from restencil import AbortError, AsyncController, Controller, ExpiryStatus, NetworkError, NetworkManager, Store
from restencil.testing import Answer, Fixture, NetworkDown, fill

ANN = {"id": "1", "name": "Ann"}
BOB = {"id": "1", "name": "Bob"}


@pytest.fixture
def make(asynchronous: bool) -> Iterator[Callable[..., World]]:
    with worlds(partial(World, asynchronous, validate="off")) as made:
        yield made


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    return make()


# reading


def test_controller_cached_and_state_never_send_a_request(world: World) -> None:
    controller = world.controller
    assert controller.cached(Users.get, id="1") is None
    state = controller.state(Users.get, id="1")
    assert (state.data, state.error, state.loading) == (None, None, False)
    assert state.expiry_status is ExpiryStatus.InvalidIfStale and state.expires_at == 1
    assert world.urls() == []


def test_controller_none_as_the_only_argument_is_inactive(world: World) -> None:
    controller = world.controller
    assert world.do("read", Users.get, None) is None
    state = controller.state(Users.get, None)
    assert state.expiry_status is ExpiryStatus.Valid and state.expires_at == float("inf") and not state.loading
    controller.invalidate(Users.get, None)
    controller.expire(Users.get, None)
    controller.subscribe(Users.get.extend(poll_frequency=10), None)
    controller.unsubscribe(Users.get.extend(poll_frequency=10), None)
    assert "never fetches" in str(controller.explain(Users.get, None))
    world.clock.advance(100)
    assert world.urls() == []


# fetching


@pytest.mark.parametrize("operation", ["cached", "state", "invalidate", "expire", "get_error"])
def test_controller_every_operation_rejects_an_empty_path_segment(world: World, operation: str) -> None:
    with pytest.raises(ValueError, match="id"):
        getattr(world.controller, operation)(Users.get, id="")
    assert world.urls() == []


def test_controller_failed_fetch_records_its_error_and_raises_it_whatever_the_policy(world: World) -> None:
    get = Users.get.extend(error_policy=lambda error: "soft")
    world.server.on(get, response=ANN, id="1")
    world.do("fetch", get, id="1")
    world.server.respond = lambda request: NetworkDown()
    with pytest.raises(NetworkError) as caught:
        world.do("fetch", get, id="1")
    assert caught.value.status == 500 and caught.value.response is None
    assert world.controller.get_error(get, id="1") is None
    assert same_error(world.controller.get_response(get, id="1").raw_error, caught.value)
    assert world.controller.cached(get, id="1").name == "Ann"


def test_controller_aborted_fetch_raises_and_records_nothing(world: World) -> None:
    abort = restencil.AbortController()
    abort.abort("no longer wanted")
    with pytest.raises(AbortError, match="no longer wanted"):
        world.do("fetch", Users.get.extend(signal=abort.signal), id="1")
    assert world.store.state["meta"] == {} and world.store.in_flight.by_id == {}


def test_network_manager_rejects_a_negative_lifetime() -> None:
    with pytest.raises(ValueError, match="data_expiry_length of NetworkManager must not be negative: -1"):
        NetworkManager(data_expiry_length=-1)


# writing


def test_controller_resolve_writes_a_response_or_an_error_of_a_fetch_begun_earlier(world: World) -> None:
    world.controller.set_response(Users.get, ANN, id="1")
    world.controller.resolve(Users.get, BOB, world.clock() - 10, id="1")
    assert world.controller.cached(Users.get, id="1").name == "Ann"
    world.controller.resolve(Users.get, NetworkError("late"), world.clock(), id="1")
    assert str(world.controller.get_error(Users.get, id="1")) == "late"


def test_controller_invalidate_all_and_expire_all_take_an_endpoint_or_a_predicate(world: World) -> None:
    controller = world.controller
    for number in "12":
        controller.set_response(Users.get, {"id": number, "name": ""}, id=number)
    controller.expire_all(lambda key: key.endswith("/1"))
    assert [controller.get_response(Users.get, id=n).needs_fetch for n in "12"] == [True, False]
    controller.invalidate_all(Users.get)
    assert [controller.get_response(Users.get, id=n).expiry_status for n in "12"] == [ExpiryStatus.Invalid] * 2
    with pytest.raises(TypeError, match="expected an endpoint or a function of the key, got 3"):
        controller.expire_all(3)


# life


def test_controller_closing_takes_back_what_its_mutations_in_flight_were_expected_to_contain(world: World) -> None:
    """As a reset would, whatever comes back later; other controllers of the store see it at once."""
    heard: list[str] = []

    def name() -> str:
        return getattr(other.cached(Users.get, id="1"), "name", "")

    optimistic = Users.update.extend(get_optimistic_response=lambda snapshot, params, body: {**params, **body})
    with Controller(world.store) as other:
        other.set_response(Users.get, ANN, id="1")
        for status in (200, 500):
            world.server.respond = lambda request, status=status: Answer(status=status, json=BOB, delay=100)  # type: ignore[misc]
            task = world.begin("fetch", optimistic, {"id": "1"}, {"name": "Bob"})
            assert name() == "Bob"
            remove = other.add_listener(lambda: heard.append(name()))
            world.do("aclose" if isinstance(world.controller, AsyncController) else "close")
            world.clock.advance(100)
            remove()
            assert isinstance(task.error, AbortError)
            assert name() == "Ann" and world.store.state["optimistic"] == []
            world.controller.open()
    assert heard == ["Ann", "Ann"]


def test_closed_controller_rejects_to_fetch_and_an_opened_one_works_again(world: World) -> None:
    world.server.on(Users.get, response=ANN, id="1")
    assert world.controller.opened
    world.do("aclose" if isinstance(world.controller, AsyncController) else "close")
    assert not world.controller.opened
    with pytest.raises(RuntimeError, match="closed; open\\(\\) it"):
        world.do("fetch", Users.get, id="1")
    world.controller.open()
    assert world.do("read", Users.get, id="1").name == "Ann"


def test_controller_closing_drops_what_is_in_flight_and_its_waiters_get_an_abort_error(world: World) -> None:
    world.server.respond = lambda request: Answer(json=ANN, delay=50)
    task = world.begin("fetch", Users.get, id="1")
    world.do("aclose" if isinstance(world.controller, AsyncController) else "close")
    world.clock.settle()
    assert isinstance(task.error, AbortError)
    world.clock.advance(50)
    assert world.store.state["entities"] == {} and world.store.in_flight.by_id == {}


def test_controller_all_settled_waits_for_everything_in_flight_and_raises_nothing(world: World) -> None:
    world.server.respond = lambda request: Answer(status=500 if "/2" in request.url else 200, json=ANN, delay=30)
    for number in "12":
        world.begin("fetch", Users.get, id=number)
    waiting = world.begin("all_settled")
    assert waiting.state == "pending"
    world.clock.advance(30)
    assert waiting.state == "resolved" and world.store.in_flight.by_id == {}
    world.do("all_settled")


def test_controller_fetch_without_a_network_manager_says_what_is_missing(make: Callable[..., World]) -> None:
    with pytest.raises(RuntimeError, match="NetworkManager\\(\\) to managers"):
        make(managers=[]).do("fetch", Users.get, id="1")


def test_controller_manager_sees_every_action_in_order_and_may_answer_a_fetch_itself(
    make: Callable[..., World],
) -> None:
    from restencil import Manager
    from restencil.cache.actions import Action, Fetch
    from restencil.client.managers import Next

    class Spy(Manager):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def init(self, controller: Any, /) -> None:
            self.seen.append("init")

        def cleanup(self) -> None:
            self.seen.append("cleanup")

        def handle(self, action: Action, next: Next, /) -> Any:
            self.seen.append(type(action).__name__)
            if isinstance(action, Fetch) and action.key == "GET /users/0":
                return "from the manager"
            return next(action)

    spy = Spy()
    world = make(managers=[spy, NetworkManager(), restencil.SubscriptionManager()])
    world.server.on(Users.get, response=ANN, id="1")
    world.do("fetch", Users.get, id="1")
    assert world.do("fetch", Users.get, id="0") == "from the manager"
    world.do("aclose" if isinstance(world.controller, AsyncController) else "close")
    assert spy.seen == ["init", "Fetch", "SetResponse", "Fetch", "cleanup"]


def test_controller_manager_serves_one_controller_at_a_time() -> None:
    for manager in (NetworkManager(), restencil.SubscriptionManager(), restencil.LogoutManager()):
        with Controller(managers=[manager]):
            with pytest.raises(RuntimeError, match=f"this {type(manager).__name__} serves another controller"):
                Controller(managers=[manager])
        Controller(managers=[manager]).close()


def test_controller_manager_fetches_in_the_background_and_sets_timers(make: Callable[..., World]) -> None:
    from restencil.client.managers import Manager

    class Prefetch(Manager):
        """Fetches a user some time after its controller has opened, and writes another one."""

        def init(self, controller: Any, /) -> None:
            assert isinstance(controller, Controller | AsyncController)
            given: Any = controller
            request = Users.get.request(Users.get.bind_args((), {"id": "1"}))
            given.call_later(20, lambda: given.run_in_background(request))
            given.call_later(15, controller.reset_entire_store).cancel()
            given.call_later(10, lambda: controller.set_response(Users.get, {**BOB, "id": "2"}, id="2"))

    world = make(managers=[Prefetch(), NetworkManager()])
    world.server.on(Users.get, response=ANN, delay=5, id="1")
    world.clock.advance(24)
    assert world.controller.cached(Users.get, id="2") is not None
    assert world.controller.cached(Users.get, id="1") is None
    world.clock.advance(1)
    assert world.controller.cached(Users.get, id="1") is not None and len(world.server.requests) == 1


def test_async_controller_outside_of_asyncio_says_what_it_needs() -> None:
    coroutine = AsyncController().fetch(Users.get, id="1")
    with pytest.raises(RuntimeError, match="runs on asyncio, and no asyncio event loop is running"):
        coroutine.send(None)


def test_controller_parameters_may_be_called_self_endpoint_or_response(world: World) -> None:
    search = restencil.RestEndpoint(path="/search", schema=[User])
    world.server.on(search, response=[ANN], self="a", endpoint="b", response_="c")
    bound = world.controller.bind(search)
    assert world.clock.run(lambda: bound(self="a", endpoint="b", response_="c"))[0].name == "Ann"
    assert world.clock.run(lambda: bound.fetch_if_stale(self="a", endpoint="b", response_="c"))[0].name == "Ann"
    bound.set_response([BOB], self="a", endpoint="b", response="c")
    assert bound.cached(self="a", endpoint="b", response="c")[0].name == "Bob"
    assert bound.key(self="a", endpoint="b") == "GET /search?endpoint=b&self=a"


def test_controller_explain_says_why_a_read_would_or_would_not_fetch(world: World) -> None:
    controller = world.controller
    said = controller.explain(Users.get, id="1")
    assert said.verdict == "fetches and waits" and said.waits and "never fetched" in said.reasons[0]
    assert "so it counts as stale" in said.reasons
    controller.set_response(Users.get, ANN, id="1")
    world.clock.advance(20_000)
    said = controller.explain(Users.get, id="1")
    assert str(said) == (
        "GET http://mock/users/1: gives the data and does not fetch\n  - it is fresh for another 40 s\n  made of User:1"
    )
    assert said.age == 20_000 and said.entities == (("User", "1"),) and not said.held
    controller.expire(Users.get, id="1")
    said = controller.explain(Users.get, id="1")
    assert said.verdict == "gives the data at once and fetches in the background"
    assert "it is stale: it was expired" in str(said) and "stale for" not in str(said)
    controller.set_error(Users.get, NetworkError("no", status=500), id="1")
    said = controller.explain(Users.get, id="1")
    assert said.verdict == "raises the recorded NetworkError and does not fetch"
    assert "hard: reads raise it" in str(said)


def test_controller_fill_puts_fixtures_into_a_store_without_a_request(world: World) -> None:
    error = NetworkError("no", status=404)
    fill(world.controller, [Fixture(Users.get, ({"id": "1"},), ANN), Fixture(Users.get, ({"id": "2"},), error=error)])
    assert world.controller.cached(Users.get, id="1").name == "Ann"
    assert world.controller.get_error(Users.get, id="2") is error
    assert world.urls() == []


def test_controller_explain_reports_no_time_for_what_was_never_fetched_or_was_expired() -> None:
    """An `expires_at` of 1 is a mark, so nothing is said to be stale since 1970."""
    with Controller(Store(clock=lambda: 1_000_000.0)) as controller:
        endpoint: Any = restencil.RestEndpoint(path="/never/:id", schema=User)
        assert "so it counts as stale" in str(controller.explain(endpoint, {"id": "1"}))
        controller.set_response(endpoint, {"id": "1"}, {"id": "1"})
        controller.expire_all(endpoint)
        shown = str(controller.explain(endpoint, {"id": "1"}))
        assert "it is stale: it was expired" in shown and "stale for" not in shown


def test_controller_explain_does_not_call_fresh_what_a_read_fetches_in_any_case() -> None:
    """Neither something invalidated, nor something whose required part was deleted, has a time that matters."""
    with Controller(Store(clock=lambda: 1_000_000.0)) as controller:
        controller.set_response(Users.get, ANN, id="1")
        controller.invalidate(Users.get, id="1")
        controller.invalidate(Users.get, id="2")
        controller.set_response(Users.delete, {"id": "3"}, id="3")
        for number, why in (("1", "it was invalidated"), ("2", "it was invalidated"), ("3", "nothing usable")):
            said = controller.explain(Users.get, id=number)
            assert said.verdict == "fetches and waits" and why in str(said)
            assert "fresh" not in str(said) and "stale" not in str(said)
        assert controller.explain(Users.get, id="2").age is None


def test_controller_explain_says_how_long_an_error_counts_and_what_its_policy_does() -> None:
    """A soft policy needs data to show; the time of an error is called the error's."""
    now = 1_000_000.0
    with Controller(Store(clock=lambda: now)) as controller:
        soft = Users.get.extend(error_policy=lambda error: "soft")
        controller.set_error(soft, NetworkError("no", status=500), id="1")
        said = controller.explain(soft, id="1")
        assert said.verdict == "raises the recorded NetworkError and does not fetch"
        assert "soft, but there is no data to show" in str(said)
        assert "the error is fresh for another 1000 ms" in str(said)
        controller.set_response(Users.get, ANN, id="1")
        controller.set_error(soft, NetworkError("no", status=500), id="1")
        now += 1_250
        said = controller.explain(soft, id="1")
        assert said.verdict == "gives the data at once and fetches in the background"
        assert "soft: data is still shown" in str(said) and "the error has been stale for 250 ms" in str(said)


def test_controller_explain_says_that_a_mutation_is_always_sent() -> None:
    """Whatever is stored under its key."""
    with Controller() as controller:
        assert "a call always sends it" in str(controller.explain(Users.update, {"id": "1"}, {}))
